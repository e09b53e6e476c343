"""How far cuts among rows lie off the ranks that they stand for, measured as one noisy number (MD-QBAR)."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sfumato.answer import NoisyPart, Released, one_sided_width
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.perturb import AdditiveNoise, calibrate
from sfumato.privacy import Approximate, Bound, Concentrated, Everything, Loss, Pure, Truncated
from sfumato.select.fit import pure_epsilon
from sfumato.table.gauge import Gauge

PART = "rank error"
"""The name of the measured number among what was released."""
MANY = 5
SHARE, SHARE_OF_FEW = Fraction(8, 100), Fraction(1, 10)
"""Which part of a spend the measurement gets; of fewer cuts than `MANY` more, because they need less."""


def share_of_error(cuts: int) -> Fraction:
    """Return which part of the spend measures how far so many cuts are off."""
    return SHARE if cuts >= MANY else SHARE_OF_FEW


def divided(spend: Bound, part: Fraction) -> tuple[Bound, Bound]:
    """Return what is left of a spend for the cuts, and the part that measures their error; together they fit it.

    The measurement always gets a pure part: whatever shows that the cuts fit the rest shows the sum, and quantiles
    keep a finite epsilon, so that every kind of limit can pay for them.
    """
    rest = 1 - part
    match spend:
        case Pure():
            return replace(spend, epsilon=spend.epsilon * rest), replace(spend, epsilon=spend.epsilon * part)
        case Approximate():
            return replace(spend, epsilon=spend.epsilon * rest), Pure(spend.epsilon * part, unit=spend.unit)
        case Concentrated() | Truncated():
            measures = pure_epsilon(replace(spend, rho=spend.rho * part))
            return replace(spend, rho=spend.rho * rest), Pure(measures, unit=spend.unit)
    raise AssertionError("There are four bounds.")


def farthest(codes: Any, counts: Any, cuts: Sequence[int], chances: Sequence[Fraction], scale: int = 1) -> int:
    """Return how many rows the worst cut is off its rank: E = max(0, #{x < v} - ceil(p·n), floor(p·n) - #{x <= v}).

    `scale` units make a row; parts of rows are rounded up. Replacing, adding or removing one unit moves the number of
    units by at most one, because each count and each rounded p·n moves by at most one, both in the same direction.

    >>> farthest(np.array([3, 5, 9]), np.array([10, 20, 30]), [5, 9], [Fraction(1, 10), Fraction(1, 2)])
    4
    """
    sums = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    rows, worst = int(sums[-1]), 0
    for cut, chance in zip(cuts, chances, strict=True):
        below, upto = (int(sums[find(codes, cut)]) for find in (bisect_left, bisect_right))
        wanted = chance * rows
        worst = max(worst, below - math.ceil(wanted), math.floor(wanted) - upto)
    return -(-worst // scale)


@dataclass(frozen=True, kw_only=True)
class MeasuredCuts(Mechanism):
    """Cuts chosen by some mechanism, and after them one noisy number: how many rows the worst of them is off its rank.

    Promise, for `relation` neighbours: the loss of `cuts` plus that of `error`, which is noise on one number that a
    person of so many rows moves by at most as many, whatever the cuts are, and whether people are replaced, added or
    removed (MD-QBAR). An attribute that is read moves it no further, under both relations.

    Input: as `cuts` takes it, the codes that occur, sorted, and what each counts. Output: the cuts, then the number.
    Time: that of the cuts and one pass over the counts.
    """

    spec: ClassVar[str] = "MD-QBAR"

    cuts: Mechanism
    chances: tuple[Fraction, ...]
    error: AdditiveNoise
    scale: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", self.cuts.relation)
        object.__setattr__(self, "reads", self.cuts.reads)

    @property
    def weighed(self) -> bool:  # type: ignore[override]
        """Whether the cuts take parts of rows; the number does."""
        return self.cuts.weighed

    def loss(self) -> Loss:
        """Return the sum of both losses."""
        return self.cuts.loss() + self.error.loss()

    def run(self, exact: tuple[Any, Any], noise: Noise) -> tuple[int, ...]:
        """Draw the cuts, then measure them."""
        cuts = tuple(self.cuts.run(exact, noise))
        return *cuts, self.error.run(farthest(*exact, cuts, self.chances, self.scale), noise)

    def part(self, raw: Sequence[int]) -> NoisyPart:
        """Return the measured number of a draw, with the law of its noise."""
        return NoisyPart(PART, (int(raw[-1]),), self.error.law)


def measured(cuts: Mechanism, chances: Sequence[Fraction], spend: Bound, gauge: Gauge) -> MeasuredCuts:
    """Return the cuts with their error measured at this spend, for the rows and people of a gauge."""
    named = () if isinstance(cuts.reads, Everything) else sorted(cuts.reads)
    error = calibrate(
        spend,
        gauge.rows,
        by_attribute=dict.fromkeys(named, gauge.rows) or None,
        relation=cuts.relation,
        reads=cuts.reads,
    )
    return MeasuredCuts(cuts=cuts, chances=tuple(chances), error=error, scale=gauge.rule.scale)


def is_measured(released: Released) -> bool:
    """Tell whether the error of the cuts was measured."""
    return any(part.name == PART for part in released.parts)


def stated_error(released: Released, confidence: Fraction) -> int:
    """Return how many rows every cut is off at most, with at least this probability and for any data.

    The noise hides a larger error only if it is below -t. A number below 0 says that noise took much away, not that
    the cuts are right: it is taken as 0, so that no luck states less than what the noise alone can hide.
    """
    part = released.part(PART)
    assert part.law is not None
    return max(part.released[0], 0) + one_sided_width(part.law, confidence)
