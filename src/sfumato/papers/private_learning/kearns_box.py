"""Boxes as in the paper: cut every axis at noisy quantiles, count the second label in each part, keep what is full."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sfumato.errors import UnsupportedSpend
from sfumato.learn.cells import rounded_up
from sfumato.learn.estimator import PrivateLearner, learner
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.learn.rules import Rule, about
from sfumato.learn.sampling import nearly_consistent
from sfumato.mechanism import NOTHING, Mechanism
from sfumato.noise import DiscreteLaplace, Noise
from sfumato.papers.private_learning.box import BoxRule
from sfumato.privacy import Bound, Cost, Loss, Pure
from sfumato.questions.quantiles.quantile_choice import QuantileChoice, rank_error

Interval = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class KearnsAxes(Mechanism):
    """For each axis: quantiles of everybody, then a noisy histogram of the second label over the parts between them.

    Promise, replace-one: for each axis the quantiles' loss, and 2/scale for a histogram in which one person moves two
    counts by one (PL-RECT-K; the source writes no constant). Parts come from released quantiles only. The interval of
    an axis goes from the first part whose noisy count reaches `least` to the last. Value: the intervals as codes, or
    NOTHING where an axis has no such part.
    """

    spec: ClassVar[str] = "PL-RECT-K"

    quantiles: tuple[QuantileChoice, ...]
    scale: Fraction
    least: int
    firsts: tuple[int, ...]

    def loss(self) -> Loss:
        """Return the losses of all quantiles and histograms."""
        total = Loss.flat(len(self.firsts) * Cost.pure(2 / self.scale), self.reads)
        for choice in self.quantiles:
            total = total + choice.loss()
        return total

    def run(self, exact: Sample, noise: Noise) -> Any:
        """Cut, count, and keep."""
        box: list[Interval] = []
        for place, (choice, first) in enumerate(zip(self.quantiles, self.firsts, strict=True)):
            places = exact.codes[:, place] - first
            cuts = choice.run(_distribution(places, exact.counts), noise)
            found = self._interval(places, exact, parts(cuts, choice.size), noise)
            if found is None:
                return NOTHING
            box.append((first + found[0], first + found[1]))
        return tuple(box)

    def _interval(self, places: Any, exact: Sample, bins: list[Interval], noise: Noise) -> Interval | None:
        chosen = exact.labels == 1
        starts = [low for low, _ in bins]
        where = np.searchsorted(np.array(starts, dtype=places.dtype), places[chosen], side="right") - 1
        counts = np.zeros(len(bins), dtype=np.int64)
        np.add.at(counts, where, exact.counts[chosen])
        noisy = counts + noise.draw(DiscreteLaplace(self.scale), len(bins))
        full = np.flatnonzero(noisy >= self.least)
        return (bins[int(full[0])][0], bins[int(full[-1])][1]) if len(full) else None


def _distribution(places: Any, counts: Any) -> tuple[Any, Any]:
    found, where = np.unique(places, return_inverse=True)
    totals = np.zeros(len(found), dtype=np.int64)
    np.add.at(totals, where.ravel(), counts)
    return found.astype(object), totals


def parts(cuts: Sequence[int], size: int) -> list[Interval]:
    """Return each cut as a part of its own, and what lies between; a heavy value is then alone.

    >>> parts((3, 3, 7), 9)
    [(0, 2), (3, 3), (4, 6), (7, 7), (8, 8)]
    """
    found, reached = [], 0
    for cut in sorted(set(cuts)):
        if cut > reached:
            found.append((reached, cut - 1))
        found.append((cut, cut))
        reached = cut + 1
    if reached < size:
        found.append((reached, size - 1))
    return found


@learner
class KearnsBox(PrivateLearner):
    """Learn a box by noisy quantiles and noisy histograms of every axis; `PrivateBox` needs far fewer people.

    Spec: PL-RECT-K, with the exponential mechanism for the quantiles. Needs a pure spend.
    """

    def _plan(self, facts: LearningFacts, people: int, spend: Bound) -> Mechanism:
        return self._axes(facts, spend, float(self.accuracy), float(self.failure))

    def _axes(self, facts: LearningFacts, spend: Bound, accuracy: float, failure: float) -> KearnsAxes:
        if not isinstance(spend, Pure) or spend.epsilon == 0:
            raise UnsupportedSpend(
                f"KearnsBox takes a pure spend, and {spend!r} is none; write Pure(1), or PrivateBox."
            )
        axes = len(facts.features)
        each = spend.epsilon / (2 * axes)
        many = _cuts(axes, accuracy)
        chances = tuple(Fraction(place, many + 1) for place in range(1, many + 1))
        quantiles = tuple(
            QuantileChoice(size=size, probabilities=chances, epsilon=each / many, reads=facts.reads)
            for size in facts.sizes()
        )
        scale = 2 / each
        level = float(scale) * math.log(2 * axes * (2 * many + 1) / failure)
        firsts = tuple(domain.first for domain in facts.domains)
        return KearnsAxes(quantiles=quantiles, scale=scale, least=math.ceil(level), firsts=firsts, reads=facts.reads)

    def _rule(self, facts: LearningFacts, value: Any) -> Rule:
        return BoxRule(**about(facts), box=None if value is NOTHING else value)

    def _needed(self, facts: LearningFacts, spend: Bound, accuracy: float, failure: float) -> int:
        axes = len(facts.features)
        mechanism = self._axes(facts, spend, accuracy, failure)
        many = len(mechanism.quantiles[0].probabilities)
        # Parts that are not full, and up to two ranks of every edge, may all be wrong.
        lost = 2 * axes * (2 * many + 1) * 2 * mechanism.least
        off = max(rank_error(size, mechanism.quantiles[0].steepness(), many, 1 - failure / 4) for size in facts.sizes())
        sampled = nearly_consistent(accuracy, failure / 4, 2 * axes, None)
        return rounded_up(max(4 / accuracy * lost, 4 / accuracy * 4 * axes * off, sampled))


def _cuts(axes: int, accuracy: float) -> int:
    """Return so many cuts that all edge parts together hold a fourth of the accuracy."""
    return math.ceil(8 * axes / accuracy)
