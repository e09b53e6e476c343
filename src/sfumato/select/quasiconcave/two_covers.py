"""The best of an ordered domain of any size when the score rises and then falls: two covers, recursively."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from sfumato.errors import ParameterError
from sfumato.exact import Number, above_zero, exact, positive_integer
from sfumato.mechanism import NOTHING, Mechanism
from sfumato.noise import Noise
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Approximate, Bound, Everything, Loss, Pure, Relation, attributes
from sfumato.select.candidates import normalise
from sfumato.select.exponential_choice import Exponential, exponential
from sfumato.select.fit import needs_delta, settle
from sfumato.select.quasiconcave.profile import (
    Walked,
    heights_by_width,
    joined,
    level_scores,
    restricted,
    unnumbered,
    window_at,
    window_heights,
)
from sfumato.select.scores import StepFunction
from sfumato.select.stable_choice import Stable, stable

BLOCK = 8
"""How many times wider than the chosen width the intervals of a cover are."""
SMALL = 32
"""The recursion ends at domains of at most one more candidate than this."""


class CoverPath(NamedTuple):
    """All that a run draws; the whole of it is within the loss."""

    level: int
    first: Any
    second: Any
    """The numbers of the chosen interval of either cover, or NOTHING."""
    answer: int


@dataclass(frozen=True, kw_only=True)
class TwoCovers(Walked):
    """Choose a width, then an interval of each of two covers, then a candidate of their union.

    1. The width 2^k by `level_choice`, score min(L(k) - low, high - L(k+1)): by the exponential mechanism, or by
       another TwoCovers, since the score of widths is quasi-concave itself.
    2. Intervals of `block`·2^k candidates, and the same moved by half an interval; the highest of each cover by
       `first_choice` and `second_choice`, or nothing.
    3. A candidate of what was chosen by `point_choice`; a uniform one of the domain if nothing was.

    Promise, for `relation` neighbours and any score that moves by at most its sensitivity: the sum of the losses of
    its parts for the whole path, ((3N-2)·e, 2(N-1)·delta) for depth N with e and delta each (PL-REC, by composition;
    printed as (3N·e, 3N·delta) with a stable choice that is not private). A cover of one interval costs nothing.

    Input: a StepFunction over the public domain, or an integer sequence. Answer: a candidate.
    Time O(pieces·log(pieces) + log(size)), memory O(pieces).
    """

    spec: ClassVar[str] = "PL-REC"

    level_choice: Mechanism
    first_choice: Stable
    second_choice: Stable
    point_choice: Exponential
    low: int
    high: int
    block: int = BLOCK

    def loss(self) -> Loss:
        """Return the sum of the losses of the parts."""
        covers = self.first_choice.loss() + self.second_choice.loss()
        return self.level_choice.loss() + covers + self.point_choice.loss()

    def path(self, exact: Any, noise: Noise) -> CoverPath:
        """Draw width, intervals and answer; releasing all of them costs no more than the answer alone."""
        score = normalise(exact).scores
        level = self.level_choice.run(level_scores(heights_by_width(score), self.low, self.high), noise)
        width = self.block << level
        first = self.first_choice.run(window_heights(score, width), noise)
        second = self._second(score, width, noise)
        chosen = [window_at(score, width, first)] if first is not NOTHING else []
        if second is not NOTHING:
            chosen.append(window_at(score, width, second, -(width // 2)))
        if not chosen:
            return CoverPath(level, first, second, score.first + noise.uniform(score.size))
        intervals = joined(chosen)
        rank = self.point_choice.run(restricted(score, intervals), noise)
        return CoverPath(level, first, second, unnumbered(intervals, rank))

    def _second(self, score: StepFunction, width: int, noise: Noise) -> Any:
        """Choose from the moved cover, which leaves out the first half interval and may be empty: a public fact."""
        start = score.first + width // 2
        if start >= score.end:
            return NOTHING
        rest = restricted(score, [(start, score.end)])
        return self.second_choice.run(window_heights(rest, width), noise)


def covering_parts(
    bound: Approximate, depth: int, sensitivity: int, relation: Relation, reads: Iterable[str] | str | Everything
) -> tuple[Exponential, Stable]:
    """Return the two choices that all levels share: an equal part of the spend for each of 3·depth - 2 choices."""
    epsilon, delta = bound.epsilon / (3 * depth - 2), bound.delta / (2 * (depth - 1))
    pick = exponential(Pure(epsilon), sensitivity, relation=relation, reads=reads)
    return pick, stable(Approximate(epsilon, delta), sensitivity, relation=relation, reads=reads)


def covering_levels(
    parts: tuple[Exponential, Stable], size: int, depth: int, promise: Fraction, alpha: Fraction
) -> Exponential | TwoCovers:
    """Return the choice of this depth; small domains end the recursion early, since nothing is gained there."""
    pick, clear = parts
    if depth == 1 or size <= SMALL + 1:
        return pick
    return TwoCovers(
        level_choice=covering_levels(parts, size.bit_length(), depth - 1, alpha * promise / 2, Fraction(1, 4)),
        first_choice=clear,
        second_choice=clear,
        point_choice=pick,
        low=math.floor((1 - alpha) * promise),
        high=math.ceil(promise),
        relation=pick.relation,
        reads=pick.reads,
    )


def two_covers(
    spend: Bound,
    size: int,
    *,
    promise: Number,
    alpha: Number = "1/2",
    sensitivity: int = 1,
    relation: Relation = REPLACE_ONE,
    reads: Iterable[str] | str | Everything = EVERYTHING,
) -> Exponential | TwoCovers:
    """Return PL-REC of depth 2 for an Approximate spend, or the exponential mechanism on a domain of at most 33.

    `promise` is the public score that the best candidate reaches; answers below (1 - alpha)·promise are failures.
    `shifted_windows` needs less than half of the promise at any size; this is the printed recursion, made private.

    >>> from sfumato import Approximate
    >>> pick = two_covers(Approximate(1, 1e-6), size=2**512, promise=2000, alpha="0.35")
    >>> pick.low, pick.high, pick.loss().person.epsilon
    (1300, 2000, Fraction(1, 1))
    """
    bound = needs_delta(spend, "quasiconcave.two_covers")
    peak, part = promise_and_alpha(promise, alpha)
    parts = covering_parts(bound, 2, sensitivity, relation, attributes(reads))
    return settle(covering_levels(parts, positive_integer(size, "size"), 2, peak, part), bound)


def promise_and_alpha(promise: Number, alpha: Number) -> tuple[Fraction, Fraction]:
    """Return the promise and the part of it that may be lost, refusing what the recursion does not cover."""
    peak, part = above_zero(promise, "promise"), exact(alpha, "alpha")
    if not 0 < part * 2 <= 1:
        raise ParameterError("alpha must be above 0 and at most 1/2; write for example alpha=0.1.")
    return peak, part
