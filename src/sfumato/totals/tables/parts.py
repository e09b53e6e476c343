"""Tables that are measured together, and how far one row moves each: exact, from sizes alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.exact import exact
from sfumato.mechanism import plain
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Priced, RoundedNormal
from sfumato.privacy import Cost
from sfumato.privacy.sensitivity import sensitivity
from sfumato.totals.tables.contrasts import Floats, Integers, contrasted, restored, squared_scale

Columns = tuple[int, ...]
"""Some columns by their places, in rising order."""

MOST = 2**62
"""Integers are not multiplied beyond this: noise still fits on top."""


@dataclass(frozen=True)
class Part:
    """One table: the counts over some columns, or their contrasts, each with independent noise of one law.

    No columns at all stand for the number of rows. `times` is what the integers are multiplied by before noise is
    added: three times the number with three times the noise says the same and costs the same, and lets tables with
    noise of different widths share one law.
    """

    columns: Columns
    sizes: tuple[int, ...]
    centred: bool
    law: Priced
    times: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.law, (DiscreteLaplace, DiscreteGaussian, RoundedNormal)):
            raise ParameterError("A table is measured with discrete Laplace or with Gaussian noise.")
        if self.law.pure and self.centred and set(self.sizes) - {2}:
            raise ParameterError("Laplace noise is for plain tables and for contrasts of bits; use plain tables.")
        if self.times < 1:
            raise ParameterError(f"Integers are multiplied by a whole number from 1 on, not by {self.times}.")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the released integers."""
        return tuple(1 if self.centred and size == 2 else size for size in self.sizes)

    def added(self) -> Fraction:
        """Return what one row more or less costs: l2²/(2·variance) for Gaussian noise, l1/scale for Laplace."""
        weight, factors = self.factors()
        return weight / (1 if self._parity else 2) * prod(stays for stays, _ in factors)

    def factors(self) -> tuple[Fraction, list[tuple[int, int]]]:
        """Return what a change of one row is priced by: a weight, and for each column a number if it stays or changes.

        A change costs weight·(Π of all that stay - Π of what stays and what changes). With u_i = e_i - 1/d, the row's
        centred table is the product of the u of its codes, and |u_i|² = 1 - 1/d while u_i·u_j = -1/d; contrasts are
        d² times as long, squared, or twice for two codes. A plain table is left for another cell if anything changes,
        and a parity turns around with every bit that does.
        """
        if not self.centred:
            return 2 * self._step, [(1, 0)] * len(self.sizes)
        if self._parity:
            return self._step, [(1, -1)] * len(self.sizes)
        return 2 * self._step, [(1, -1) if size == 2 else (size * (size - 1), -size) for size in self.sizes]

    def replaced(self, changed: frozenset[int]) -> Fraction:
        """Return what it costs when exactly these columns of one row change."""
        if changed.isdisjoint(self.columns):
            return Fraction(0)
        weight, factors = self.factors()
        mixed = prod(
            (changes if column in changed else stays)
            for column, (stays, changes) in zip(self.columns, factors, strict=True)
        )
        return weight * (prod(stays for stays, _ in factors) - mixed)

    def most(self, free: frozenset[int] | None = None) -> Fraction:
        """Return the most that any change of one row costs, or any change of the `free` columns.

        One column is as bad as any set of them: what changes is never longer than what stays, so that a product is
        lowest where one of its factors changes.
        """
        mine = self.columns if free is None else sorted(free.intersection(self.columns))
        return max((self.replaced(frozenset((column,))) for column in mine), default=Fraction(0))

    def exact(self, table: Integers) -> Integers:
        """Return the integers that noise is added to, from the counts over the columns.

        Beyond what 64 bits hold they are cut, which moves neighbours no further apart.
        """
        found = np.asarray(contrasted(table) if self.centred else table, dtype=np.int64)
        most = MOST // self.times
        return found if self.times == 1 else np.clip(found, -most, most) * self.times

    def estimate(self, released: Integers) -> Floats:
        """Return the table, or the centred table, that released integers speak of."""
        found = restored(released, self.sizes) if self.centred else np.asarray(released, dtype=np.float64)
        return found / self.times

    def variance(self) -> float:
        """Return the variance of a cell of the table, or of its centred table, that the noise leads to."""
        spread = self.law.spread() if self.law.pure else self.law.deviation() ** 2
        return spread / (self.scale() * self.times**2)

    def scale(self) -> int:
        """Return by how much longer, squared, the contrasts are than the centred table; 1 for a plain one."""
        return prod(squared_scale(size) for size in self.sizes) if self.centred else 1

    @property
    def _parity(self) -> bool:
        return self.centred and self.law.pure

    @cached_property
    def _step(self) -> Fraction:
        """What it costs if the integers move by one: in l1 for Laplace noise, in squares for Gaussian noise."""
        cost = self.law.cost(sensitivity(self.times))
        return exact(cost.epsilon if self.law.pure else cost.rho(), "price")  # type: ignore[arg-type]

    def to_json(self) -> dict[str, Any]:
        """Return the table and its noise for the public record."""
        found = {"columns": list(self.columns), "centred": self.centred, "law": plain(self.law.described())}
        return found if self.times == 1 else {**found, "times": self.times}


def cost_of(parts: Sequence[Part], price: Fraction) -> Cost:
    """Return the certificate of an epsilon or a rho of such tables: rounded noise is Gaussian throughout."""
    if parts[0].law.pure:
        return Cost.pure(price)
    rounded = all(isinstance(part.law, RoundedNormal) for part in parts)
    return Cost.gaussian(2 * price) if rounded else Cost.concentrated(price)
