"""Tables that are measured together, and how far one row moves each: exact, from sizes alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

from sfumato.errors import ParameterError
from sfumato.mechanism import plain
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Priced, RoundedNormal
from sfumato.privacy import Cost
from sfumato.totals.tables.contrasts import squared_scale

Columns = tuple[int, ...]
"""Some columns by their places, in rising order."""


@dataclass(frozen=True)
class Part:
    """One table: the counts over some columns, or their contrasts, each with independent noise of one law.

    No columns at all stand for the number of rows.
    """

    columns: Columns
    sizes: tuple[int, ...]
    centred: bool
    law: Priced

    def __post_init__(self) -> None:
        if not isinstance(self.law, (DiscreteLaplace, DiscreteGaussian, RoundedNormal)):
            raise ParameterError("A table is measured with discrete Laplace or with Gaussian noise.")
        if isinstance(self.law, DiscreteLaplace) and self.centred and set(self.sizes) - {2}:
            raise ParameterError("Laplace noise is for plain tables and for contrasts of bits; use plain tables.")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the released integers."""
        return tuple(1 if self.centred and size == 2 else size for size in self.sizes)

    def added(self) -> Fraction:
        """Return what one row more or less costs: l2²/(2·variance) for Gaussian noise, l1/scale for Laplace."""
        if not self.centred or isinstance(self.law, DiscreteLaplace):
            return self._priced(Fraction(1))
        shares = prod((1 - Fraction(1, size) for size in self.sizes), start=Fraction(1))
        return self._priced(shares * self._scale())

    def replaced(self, changed: frozenset[int]) -> Fraction:
        """Return what it costs when exactly these columns of one row change.

        With u_i = e_i - 1/d, the row's table is the product of the u of its codes, and |u_i|² = 1 - 1/d while
        u_i·u_j = -1/d: the squared distance is 2·(Π(1 - 1/d) - Π over changed(-1/d)·Π over the others(1 - 1/d)).
        """
        moved = [column in changed for column in self.columns]
        if not any(moved):
            return Fraction(0)
        if not self.centred:
            return self._priced(Fraction(2))
        if isinstance(self.law, DiscreteLaplace):
            return self._priced(Fraction(2 * (sum(moved) % 2)))
        whole = prod((1 - Fraction(1, size) for size in self.sizes), start=Fraction(1))
        mixed = prod(
            (-Fraction(1, size) if moves else 1 - Fraction(1, size))
            for size, moves in zip(self.sizes, moved, strict=True)
        )
        return self._priced(2 * (whole - mixed) * self._scale())

    def most(self) -> Fraction:
        """Return the most that any change of one row costs."""
        count = len(self.columns)
        subsets = (
            frozenset(column for bit, column in enumerate(self.columns) if mask >> bit & 1)
            for mask in range(1, 1 << count)
        )
        return max((self.replaced(subset) for subset in subsets), default=Fraction(0))

    def variance(self) -> float:
        """Return the variance of a cell of the table, or of its centred table, that the noise leads to."""
        laplace = isinstance(self.law, DiscreteLaplace)
        spread = 2 * float(self.law.scale) ** 2 if laplace else self.law.deviation() ** 2  # type: ignore[attr-defined]
        return spread / self._scale()

    def _scale(self) -> int:
        return prod(squared_scale(size) for size in self.sizes) if self.centred else 1

    def _priced(self, moved: Fraction) -> Fraction:
        if isinstance(self.law, DiscreteLaplace):
            return moved / self.law.scale
        assert isinstance(self.law, (DiscreteGaussian, RoundedNormal))
        return moved / (2 * self.law.variance)

    def to_json(self) -> dict[str, Any]:
        """Return the table and its noise for the public record."""
        law = self.law.described()
        return {"columns": list(self.columns), "centred": self.centred, "law": plain(law)}


def cost_of(parts: Sequence[Part], price: Fraction) -> Cost:
    """Return the certificate of an epsilon or a rho of such tables: rounded noise is Gaussian throughout."""
    if isinstance(parts[0].law, DiscreteLaplace):
        return Cost.pure(price)
    rounded = all(isinstance(part.law, RoundedNormal) for part in parts)
    return Cost.gaussian(2 * price) if rounded else Cost.concentrated(price)
