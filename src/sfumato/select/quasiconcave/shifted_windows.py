"""The best of an ordered domain of any size when the score rises and then falls: windows at a random shift."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from sfumato.exact import Number, above_zero, between_zero_and_one, exact
from sfumato.mechanism import NOTHING
from sfumato.noise import Noise
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Approximate, Bound, Everything, Loss, Pure, Relation, attributes
from sfumato.select.candidates import normalise
from sfumato.select.exponential_choice import Exponential, exponential
from sfumato.select.fit import needs_delta, settle, shortfall
from sfumato.select.quasiconcave.profile import (
    Walked,
    heights_by_width,
    level_scores,
    restricted,
    window_at,
    window_heights,
)
from sfumato.select.quasiconcave.requirement import best_factor, best_shares, levels_of
from sfumato.select.stable_choice import Stable, stable


class ShiftedPath(NamedTuple):
    """All that a run draws; the whole of it is within the loss."""

    level: int
    shift: int
    window: Any
    """The number of the window, or NOTHING where no window was clear and the answer is uniform."""
    answer: int


@dataclass(frozen=True, kw_only=True)
class ShiftedWindows(Walked):
    """Choose a width, then a window of that width, then a candidate in the window.

    1. The width 2^k by `level_choice`, score min(L(k) - s, s - L(k+1)), s = `crossing`, where L(j) is the largest
       minimum of the score over 2^j neighbours: about as wide as the score is above s.
    2. Windows of `factor`·2^k candidates at a fresh uniform shift; the one with the highest peak by
       `window_choice`, or nothing.
    3. A candidate of that window by `point_choice`; a uniform one of the domain if no window was clear.

    Promise, for `relation` neighbours and any score that moves by at most its sensitivity, quasi-concave or not: the
    sum of the three losses, (e1 + e2 + e3, delta), for the whole path and so for the answer (PL-REC2). L, the level
    scores and the peaks of windows are maxima and minima of the score, so they move no further than it does.

    Input: a StepFunction over the public domain, or an integer sequence. Answer: a candidate. With a quasi-concave
    score that reaches the promise somewhere, the answer scores at least promise - `error(...)`.
    Time O(pieces·log(pieces) + log(size)), memory O(pieces).
    """

    spec: ClassVar[str] = "PL-REC2"

    level_choice: Exponential
    window_choice: Stable
    point_choice: Exponential
    crossing: int
    factor: int

    def loss(self) -> Loss:
        """Return the sum of the three losses."""
        return self.level_choice.loss() + self.window_choice.loss() + self.point_choice.loss()

    def path(self, exact: Any, noise: Noise) -> ShiftedPath:
        """Draw width, shift, window and answer; releasing all of them costs no more than the answer alone."""
        score = normalise(exact).scores
        level = self.level_choice.run(level_scores(heights_by_width(score), self.crossing, self.crossing), noise)
        width = self.factor << level
        shift = noise.uniform(width)
        window = self.window_choice.run(window_heights(score, width, shift), noise)
        if window is NOTHING:
            return ShiftedPath(level, shift, window, score.first + noise.uniform(score.size))
        interval = window_at(score, width, window, shift)
        answer = self.point_choice.run(restricted(score, [interval]), noise)
        return ShiftedPath(level, shift, window, interval[0] + answer)

    def error(self, confidence: Number, candidates: int) -> float:
        """Return how far below the promise the answer may lie at this confidence (PL-REC2: G + 2·E1 + E3).

        One unit more for the crossing, which is a whole number and lies where it does when no `allowed` is given;
        with an `allowed` above this error, all that is allowed may be lost.
        """
        failure = 1 - between_zero_and_one(confidence, "confidence")
        if failure * self.factor <= 4:
            return math.inf
        width, lead, inside = self.errors(failure, candidates)
        return lead + 2 * width + inside + 1

    def errors(self, failure: Fraction, candidates: int) -> tuple[float, float, float]:
        """Return E1, G and E3, the parts that width, window and candidate have in the error."""
        sure = 1 - (failure - Fraction(4, self.factor)) / 3
        width = shortfall(self.level_choice.rate, sure, levels_of(candidates))
        inside = shortfall(self.point_choice.rate, sure, self.factor)
        return width, self.window_choice.gap(sure), inside


def shifted_windows(
    spend: Bound,
    size: int,
    *,
    promise: Number,
    failure: Number = 0.05,
    allowed: Number | None = None,
    sensitivity: int = 1,
    relation: Relation = REPLACE_ONE,
    reads: Iterable[str] | str | Everything = EVERYTHING,
) -> ShiftedWindows:
    """Return the choice by shifted windows for an Approximate spend: the recursion to use above 200 bits.

    `size` is the public number of candidates, `promise` the public score that the best one reaches, `allowed` how far
    below it an answer may lie; the crossing is placed in proportion to it. The spend is split so that the error is
    smallest.

    >>> from sfumato import Approximate, Noise, select
    >>> pick = shifted_windows(Approximate(1, 1e-6), size=2**256, promise=1000)
    >>> round(pick.error(0.95, 2**256))
    281
    >>> score = select.StepFunction([0, 2**200, 2**200 + 1], [0, 1000, 0], end=2**256)
    >>> pick(score, Noise(insecure_seed=1)) == 2**200
    True
    """
    bound = needs_delta(spend, "quasiconcave.shifted_windows")
    peak, chance = exact(promise, "promise"), between_zero_and_one(failure, "failure")
    factor, weights = best_factor(levels_of(size), bound.delta, float(chance))
    first, second, third = (share * bound.epsilon for share in best_shares(weights))
    draft = ShiftedWindows(
        level_choice=exponential(Pure(first), sensitivity, relation=relation, reads=reads),
        window_choice=stable(Approximate(second, bound.delta), sensitivity, relation=relation, reads=reads),
        point_choice=exponential(Pure(third), sensitivity, relation=relation, reads=reads),
        crossing=0,
        factor=factor,
        relation=relation,
        reads=attributes(reads),
    )
    needed = draft.error(1 - chance, size)
    # Below what is needed nothing is proved, but a crossing in proportion still tells a peak from what surrounds it.
    room = needed if allowed is None else float(above_zero(allowed, "allowed"))
    width, lead, _ = draft.errors(chance, size)
    crossing = math.floor(float(peak) - room * (lead + width) / needed)
    return settle(replace(draft, crossing=crossing), bound)
