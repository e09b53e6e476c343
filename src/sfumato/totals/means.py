"""A mean as one release: the sum around the middle of the range and the count beside it, with one noise (SM-MISSING).

Split evenly, the sum of a mean gets half of a spend, because the count is paid for too. As one vector they share the
whole: each row adds (2x - a - b, f), a value that changes moves the sum alone by 2(b - a), and a row that comes or goes
moves the sum by at most b - a and the count by f. With f = b - a the count therefore costs nothing, and the sum has the
noise of one whose number of rows is public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from sfumato.answer import NoisyPart, half_width
from sfumato.noise import Priced
from sfumato.perturb import AdditiveNoise
from sfumato.privacy import Bound, Pure
from sfumato.table.gauge import Gauge
from sfumato.table.statistics import MOST_ROWS
from sfumato.totals.aggregates import Term
from sfumato.totals.noisy import Moves, Total, noise_on_grid

USUAL = Fraction(95, 100)


@dataclass(frozen=True)
class MeanTotals:
    """Twice the sum of a column around the exact middle of its range, and a public multiple of its count."""

    sum: Term
    count: Term
    mechanism: AdditiveNoise
    grid: int
    factor: int
    ends: tuple[int, int]
    unit: Fraction
    narrow: bool
    """Whether the schema proves that both fit 64 bits; the data never decide in which form they are held."""

    @property
    def names(self) -> tuple[str, ...]:
        """The totals that it needs."""
        return (self.sum.name, self.count.name)

    @property
    def law(self) -> Priced:
        """The law of the noise on both."""
        return self.mechanism.law

    def exact(self, total: Any, count: Any) -> Any:
        """Return both as one array of integers on the grid, from the sum around a whole code and the count."""
        low, high = self.ends
        whole, number = np.asarray(total, object), np.asarray(count, object)
        twice = 2 * whole + (2 * self.sum.part.center - low - high) * number
        # Arithmetic on an array without axes gives a bare integer, whose size would decide the form of the stack.
        both = np.stack([np.asarray(part, object) for part in (twice, self.factor * number)])
        rounded = Total(self.mechanism, self.law, self.grid, self.unit).rounded(both)
        return rounded.astype(np.int64) if self.narrow else rounded

    def measured(self, raw: Any) -> list[NoisyPart]:
        """Return the released sum and count, each in its own unit."""
        sums, counts = (tuple(map(int, part)) for part in np.asarray(raw, object).reshape(2, -1).tolist())
        step = self.unit * self.grid
        return [
            NoisyPart(self.sum.name, sums, self.law, step * self.sum.step / 2),
            NoisyPart(self.count.name, counts, self.law, step / self.factor),
        ]

    @property
    def center(self) -> Fraction:
        """The exact middle of the range, around which the sum is taken."""
        return Fraction(sum(self.ends), 2) * self.sum.step


def mean_totals(gauge: Gauge, spend: Bound, pair: tuple[Term, Term], size: int) -> MeanTotals:
    """Return the vector of a mean's sum and count with the smallest noise."""
    low, high = _ends(gauge, pair[0])
    width = max(high - low, 1)
    keyed = bool(getattr(gauge.measure, "keys", ()))
    # Gaussian noise looks at the sum of squares, which leaves more room for the count where there are no groups.
    factors = [width] if keyed or isinstance(spend, Pure) else [isqrt(3 * width**2), width]
    found = [_with_factor(gauge, spend, pair, size, factor) for factor in factors]
    return min(found, key=lambda one: half_width(one.law, USUAL) * one.grid)


def _with_factor(gauge: Gauge, spend: Bound, pair: tuple[Term, Term], size: int, factor: int) -> MeanTotals:
    sum_, count = pair
    moves = Moves.of_mean(gauge, sum_.part, factor, Fraction(1))
    mechanism, grid = noise_on_grid(spend, moves, 2 * size)
    narrow = moves.person.largest * MOST_ROWS < 2**62
    return MeanTotals(sum_, count, mechanism, grid, factor, _ends(gauge, sum_), moves.unit, narrow)


def _ends(gauge: Gauge, term: Term) -> tuple[int, int]:
    domain = gauge.schema.domain(term.part.column or "")
    assert domain.highest is not None
    return domain.first, domain.highest


def pairs_of(means: Sequence[tuple[Term, Term]], free: Sequence[str]) -> list[tuple[Term, Term]]:
    """Return the sums and counts that are released together: each count once, and nothing that everybody knows."""
    taken, found = set(free), []
    for sum_, count in means:
        if sum_.name not in taken and count.name not in taken:
            found.append((sum_, count))
            taken |= {sum_.name, count.name}
    return found
