"""Randomizers that can be made pure: how likely an outcome is under an input, against a public reference input."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any

from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.exact import Number, above_zero, at_least_zero, positive_integer
from sfumato.privacy import Approximate

WORD = 8
"""Bytes of the public stream for one number."""


class Reference(ABC):
    """A randomizer with a reference input that everybody knows.

    Write a subclass for a randomizer of your own. Privacy never depends on it: ratios are clamped afterwards.

    >>> class Half(Reference):
    ...     "Says `True` with chance 1/2 for the reference input, and with the chance of the value otherwise."
    ...     stream_bytes = 1
    ...     def outcome(self, stream):
    ...         return stream[0] < 128
    ...     def ratio(self, value, outcome):
    ...         return 2 * (value if outcome else 1 - value)
    >>> Half().outcome(bytes(1)), Half().ratio(0.55, True)
    (True, 1.1)
    """

    @property
    @abstractmethod
    def stream_bytes(self) -> int:
        """How many public bytes one outcome takes."""

    @abstractmethod
    def outcome(self, stream: bytes) -> Any:
        """Return an outcome of the reference input, made from uniform public bytes alone."""

    @abstractmethod
    def ratio(self, value: Any, outcome: Any) -> float | Fraction:
        """Return how many times likelier the outcome is under the value than under the reference input."""


@dataclass(frozen=True)
class TableReference(Reference):
    """A randomizer over a finite list of outcomes, by its table of chances; `reference` is one of its inputs.

    >>> coin = TableReference({"no": [Fraction(3, 4), Fraction(1, 4)], "yes": ["1/4", "3/4"]}, reference="no")
    >>> coin.outcome(bytes(8)), coin.ratio("yes", 1)
    (0, Fraction(3, 1))
    """

    chances: Mapping[Hashable, Sequence[Number]]
    reference: Hashable

    def __post_init__(self) -> None:
        rows = {value: tuple(at_least_zero(part, "A chance") for part in row) for value, row in self.chances.items()}
        if self.reference not in rows:
            raise ParameterError("reference must be one of the inputs in the table.")
        if len({len(row) for row in rows.values()}) != 1 or any(sum(row) != 1 for row in rows.values()):
            raise ParameterError("Every row of chances must list the same outcomes and add up to 1 exactly.")
        object.__setattr__(self, "chances", rows)

    @property
    def stream_bytes(self) -> int:
        """One number."""
        return WORD

    @cached_property
    def _steps(self) -> list[Fraction]:
        return [Fraction(step) for step in itertools.accumulate(self.chances[self.reference])]

    def outcome(self, stream: bytes) -> int:
        """Return the place of the outcome in the list."""
        drawn = Fraction(int.from_bytes(stream[:WORD], "big"), 1 << 8 * WORD)
        return bisect_right(self._steps, drawn)

    def ratio(self, value: Any, outcome: Any) -> Fraction:
        """Return the ratio of two chances."""
        return Fraction(self.chances[value][outcome]) / Fraction(self.chances[self.reference][outcome])


@dataclass(frozen=True)
class GaussianReference(Reference):
    """Normal noise on a vector of length at most `radius`; the reference input is 0.

    A value that is longer is shortened; outcomes are tuples of floats.

    >>> noise = GaussianReference(radius=1, deviation=10)
    >>> [round(part, 3) for part in noise.outcome(bytes([128] * 8))]
    [0.049]
    >>> f"{noise.ratio(1, (5.0,)):.4f}"
    '1.0460'
    """

    radius: float
    deviation: float
    dimensions: int = 1

    def __post_init__(self) -> None:
        above_zero(self.radius, "radius")
        above_zero(self.deviation, "deviation")
        positive_integer(self.dimensions, "dimensions")

    @property
    def stream_bytes(self) -> int:
        """One number for each dimension."""
        return WORD * self.dimensions

    def outcome(self, stream: bytes) -> tuple[float, ...]:
        """Return normal numbers: the quantiles of 53-bit points inside (0, 1)."""
        words = (int.from_bytes(stream[WORD * place : WORD * (place + 1)], "big") for place in range(self.dimensions))
        quantile = NormalDist(0, self.deviation).inv_cdf
        return tuple(quantile(((word >> 12) + 0.5) / 2**52) for word in words)

    def ratio(self, value: Any, outcome: Any) -> float:
        """Return the ratio of two normal densities."""
        given = [float(part) for part in (value if hasattr(value, "__iter__") else [value])]
        length = math.hypot(*given)
        scale = min(1.0, self.radius / length) if length else 1.0
        product = sum(scale * part * seen for part, seen in zip(given, outcome, strict=True))
        return math.exp((product - (scale * length) ** 2 / 2) / self.deviation**2)


def gaussian_reference(claim: Approximate, radius: Number, dimensions: int = 1) -> GaussianReference:
    """Return normal noise that is (epsilon, delta)-private for all vectors of length at most `radius`.

    The classical deviation, 2·radius·√(2·log(1.25/delta))/epsilon, for an epsilon of at most 1.

    >>> from sfumato import Approximate
    >>> round(gaussian_reference(Approximate(0.2, 1e-6), radius=1).deviation, 1)
    53.0
    """
    if not isinstance(claim, Approximate) or not 0 < claim.epsilon <= 1:
        raise UnsupportedSpend("claim must be Approximate with an epsilon of at most 1; write Approximate(0.2, 1e-6).")
    length = float(above_zero(radius, "radius"))
    deviation = 2 * length * math.sqrt(2 * math.log(1.25 / float(claim.delta))) / float(claim.epsilon)
    return GaussianReference(length, deviation, positive_integer(dimensions, "dimensions"))
