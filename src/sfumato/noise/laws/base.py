"""What a law is: public rationals that enclose their own probabilities."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one, exact, rational_ball, to_text
from sfumato.exact.enclosure import Ball, precision
from sfumato.exact.rational import show
from sfumato.exact.search import smallest
from sfumato.registry import Registry

if TYPE_CHECKING:
    from sfumato.privacy.cost import Cost
    from sfumato.privacy.sensitivity import Sensitivity

SMALLEST_SCALE = Fraction(1, 100)
LARGEST_SCALE = Fraction(10**9)
HALF_LIFE = Fraction(7, 10)
"""A little above log 2: exp(-HALF_LIFE) is below one half."""


class Law(ABC):
    """A distribution over the integers.

    Balls are Arb balls at the precision in force (see `sfumato.exact.enclosure.precision`): they always
    contain the true probability, and shrink as the precision grows.
    """

    symmetric: ClassVar[bool] = False
    """Whether j and -j are equally likely."""

    @abstractmethod
    def mass(self, j: int) -> Ball:
        """Enclose the probability of exactly `j`."""

    @abstractmethod
    def tail(self, j: int) -> Ball:
        """Enclose the probability of more than `j`."""

    def head(self, j: int) -> Ball:
        """Enclose the probability of less than `j`."""
        return self.tail(-j) if self.symmetric else 1 - self.tail(j - 1)

    def between(self, least: int | None, most: int | None) -> Ball:
        """Enclose the probability of `least` to `most`, both included; None means no end."""
        # Subtract on the side where both terms are small, so that little cancels.
        if most is None:
            return rational_ball(1) if least is None else self.tail(least - 1)
        if least is None:
            return self.head(most + 1)
        if least > 0:
            return self.tail(least - 1) - self.tail(most)
        if most < 0:
            return self.head(most + 1) - self.head(least)
        return 1 - self.head(least) - self.tail(most)

    def window(self, tail: Number) -> range:
        """Return a range of values outside which at most the probability `tail` lies.

        >>> from sfumato.noise import DiscreteLaplace
        >>> DiscreteLaplace(1).window("1e-9")
        range(-21, 22)
        """
        target = between_zero_and_one(tail, "tail") / 2
        with precision(64 + 2 * (target.denominator // target.numerator).bit_length()):
            edge = rational_ball(target)
            last = smallest(lambda j: bool(self.tail(j) <= edge))
            first = -smallest(lambda j: bool(self.head(-j) <= edge), -last)
        return range(first, last + 1)


class Priced(Law):
    """A law of noise with a known price: everything that the rest of the house asks of a new kind of noise.

    A subclass is a frozen dataclass of rationals. It names the ID of its mathematics and the word by which pages call
    it, and says what it costs on exact integers that move, and how wide it is. It is known by its class's name.
    """

    spec: ClassVar[str]
    """The ID of its mathematics, in events."""
    word: ClassVar[str]
    """What pages call it: "Laplace" noise."""
    pure: ClassVar[bool] = False
    """Whether its price is an epsilon, in l1; it is a bound on Rényi divergences otherwise, in l2."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        LAWS.add(cls.__name__, cls)

    @abstractmethod
    def cost(self, moves: Sensitivity) -> Cost:
        """Return what this noise costs on integers that move so far."""

    @abstractmethod
    def deviation(self) -> float:
        """Return the standard deviation of a draw, or about it."""

    @abstractmethod
    def sum_width(self, draws: int, least: float) -> float:
        """Return a half-width that the sum of so many draws exceeds with probability at most 2·exp(-least)."""

    def spread(self) -> float:
        """Return about the variance of a draw, from its parameters alone, for what follows released numbers."""
        return self.deviation() ** 2

    def size(self) -> float:
        """Return about how far a draw is from zero."""
        return math.sqrt(2 / math.pi * self.spread())

    def quieter(self, times: int) -> Self:
        """Return the noise that so many times its price buys, of a law with one parameter by which the price falls.

        >>> from sfumato.noise import DiscreteGaussian
        >>> DiscreteGaussian(100).quieter(4)
        DiscreteGaussian(variance=Fraction(25, 1))
        """
        (part,) = fields(self)  # type: ignore[arg-type]
        return replace(self, **{part.name: getattr(self, part.name) / times})  # type: ignore[type-var]

    def described(self) -> dict[str, Any]:
        """Return its name and its exact parameters, as events hold them."""
        return {"name": type(self).__name__, **vars(self)}

    def to_json(self) -> dict[str, str]:
        """Return its name and its parameters as text."""
        numbers = {part.name: to_text(getattr(self, part.name)) for part in fields(self)}  # type: ignore[arg-type]
        return {"name": type(self).__name__, **numbers}


class OfVariance:
    """What Gaussian laws share: they are named by a variance, within the range that can be drawn."""

    word: ClassVar[str] = "Gaussian"
    variance: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", variance_in_range(self.variance, "variance"))

    def spread(self) -> float:
        """Return the variance that it is named by."""
        return float(self.variance)


LAWS: Registry[type[Priced]] = Registry("law of noise", "laws")


def require_priced(law: Any) -> Priced:
    """Return a law of noise with a known price, refusing everything else."""
    if not isinstance(law, Priced):
        raise ParameterError(
            f"law must be one of {', '.join(LAWS)}, not {type(law).__name__}; for no other is the loss known."
        )
    return law


def law_from_json(record: Mapping[str, str]) -> Priced:
    """Read what `Priced.to_json` wrote."""
    numbers = dict(record)
    made = LAWS[numbers.pop("name", None)]
    return made(**{name: Fraction(text) for name, text in numbers.items()})


class Smooth(ABC):
    """What a law adds whose masses lie on a smooth curve over |j| >= 1; `noise.table` draws from it in bulk."""

    symmetric: ClassVar[bool]

    @abstractmethod
    def mass(self, j: int) -> Ball:
        """Enclose the probability of exactly `j`."""

    @abstractmethod
    def feature(self) -> int:
        """Return a length, rounded down, over which the masses change by a moderate factor."""

    @abstractmethod
    def curvature(self, first: int, last: int) -> Ball:
        """Bound the absolute second derivative of the curve from `first` to `last`, 0 < first <= last."""

    @abstractmethod
    def halving(self, start: int) -> int | None:
        """Return a distance over which the masses from `start` on surely halve, or None if there is none."""


class Peaked(ABC):
    """What a law adds whose masses are log-concave around one peak; `noise.hat` draws from it."""

    @abstractmethod
    def mass(self, j: int) -> Ball:
        """Enclose the probability of exactly `j`."""

    @abstractmethod
    def peak(self) -> int:
        """Return a value at most one away from the most likely one."""

    @abstractmethod
    def halving(self, start: int, direction: int) -> int:
        """Return a distance over which the masses from `start` on, up (1) or down (-1), surely halve."""


def scale_in_range(value: Number, name: str) -> Fraction:
    """Return a scale exactly, refusing what is not between 0.01 and 1e9."""
    return _in_range(value, name, SMALLEST_SCALE, LARGEST_SCALE)


def variance_in_range(value: Number, name: str) -> Fraction:
    """Return a variance exactly, refusing standard deviations that are not between 0.01 and 1e9."""
    return _in_range(value, name, SMALLEST_SCALE**2, LARGEST_SCALE**2)


def bend_in_range(value: Number, name: str) -> Fraction:
    """Return a bend exactly; beyond a thousand of the largest scales it bends nothing."""
    return _in_range(value, name, SMALLEST_SCALE, 1000 * LARGEST_SCALE)


def _in_range(value: Number, name: str, low: Fraction, high: Fraction) -> Fraction:
    number = exact(value, name)
    if not low <= number <= high:
        raise ParameterError(
            f"{name} must lie between {show(low)} and {float(high):g}, and {show(number)} does not; "
            f"measure in smaller or larger units so that it does."
        )
    return number
