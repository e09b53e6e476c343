"""Rules for everybody, seen or not, that keep the promise (FA-EXT)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sfumato.errors import ParameterError
from sfumato.fair.grid import Floats, Integers, binary_rows, to_grid_rows
from sfumato.fair.metric.base import Metric
from sfumato.fair.pairs.envelope import lower_envelope, upper_envelope

SLACK = 2.0**-16
"""The share of the distance that a landmark rule leaves unused, more than the rounding of its sums."""
BLOCK = 512


class LipschitzRule(Protocol):
    """Probabilities for any people of a metric; Lipschitz over all of them together."""

    def probabilities(self, people: Metric) -> Floats:
        """Return one distribution a person."""
        ...


@dataclass(frozen=True, eq=False)
class Interpolation:
    """Two outcomes, total variation: as near to `middle` as the anchors allow, or halfway between what they allow.

    Whitney's and McShane's extensions bound every Lipschitz extension from below and above. A constant clipped between
    them is the median of three Lipschitz functions, hence Lipschitz, and agrees with the anchors; so does their mean. A
    decision is best left at the best constant for people far from all anchors; a score is best kept halfway, where it
    still says who is nearer to the high scores.
    """

    anchors: Metric
    second: Floats
    middle: float | None

    def probabilities(self, people: Metric) -> Floats:
        """Return (1 - p, p) for each person."""
        least = upper_envelope(self.anchors, self.second, people)
        most = lower_envelope(self.anchors, self.second, people)
        if self.middle is None:
            return binary_rows((np.maximum(least, 0.0) + np.minimum(most, 1.0)) / 2)
        middle = float(binary_rows(np.array([self.middle]))[0, 1])
        return binary_rows(np.minimum(np.maximum(middle, least), most))


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Any outcomes: draw a landmark near the person, then the outcome that the landmark stands for.

    The weight of a landmark falls as exp(-rate · d). Rate 1/2 keeps log ratios within d (F11) and rate 1 keeps total
    variation within tanh(d) <= d, for every choice of the landmarks' outcomes.
    """

    landmarks: Metric
    outcomes: Floats
    rate: float
    distance: str

    def probabilities(self, people: Metric) -> Floats:
        """Return one distribution a person; somebody infinitely far from all landmarks gets their mean."""
        parts = [self.mixture(people, slice(s, min(s + BLOCK, people.size))) for s in range(0, people.size, BLOCK)]
        rows = np.concatenate(parts) @ self.outcomes
        rows /= rows.sum(axis=1, keepdims=True)
        return to_grid_rows(rows) if self.distance == "tv" else rows

    def mixture(self, people: Metric, rows: slice) -> Floats:
        """Return the probabilities of the landmarks for some people."""
        apart = people.block(rows, other=self.landmarks)
        nearest = apart.min(axis=1, keepdims=True)
        far = ~np.isfinite(nearest)[:, 0]
        weight = np.exp(
            -self.rate * (1 - SLACK) * (np.where(far[:, None], 0.0, apart) - np.where(far[:, None], 0.0, nearest))
        )
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def landmark_rate(distance: str) -> float:
    """Return the largest rate at which a landmark rule is proved Lipschitz."""
    return 1.0 if distance == "tv" else 0.5


def landmark_rule(
    metric: Metric, loss: object, landmarks: Integers, *, distance: str = "tv", weights: object = None
) -> Landmarks:
    """Return the best rule "draw a landmark, take its outcome": no program is solved, and it holds for everybody.

    Good where people are far apart compared with 1; else it comes near one distribution for everybody.

    >>> from sfumato.fair.metric import Metric
    >>> metric = Metric.from_scores([0.0, 9.0])
    >>> rule = landmark_rule(metric, [[0, 1], [1, 0]], np.array([0, 1]))
    >>> rule.probabilities(metric).round(3)
    array([[1., 0.],
           [0., 1.]])
    """
    from sfumato.fair.mapping.problem import make_problem

    problem = make_problem(metric, loss, distance, weights=weights)
    index = np.asarray(landmarks, dtype=np.int64)
    if index.ndim != 1 or not len(index):
        raise ParameterError("landmarks must be a list with the index of at least one person.")
    rule = Landmarks(
        metric.subset(index),
        np.eye(problem.outcomes)[np.zeros(len(index), dtype=int)],
        landmark_rate(distance),
        distance,
    )
    totals = np.zeros((len(index), problem.outcomes))
    for start in range(0, problem.people, BLOCK):
        rows = slice(start, min(start + BLOCK, problem.people))
        totals += rule.mixture(metric, rows).T @ problem.costs[rows]
    chosen = np.eye(problem.outcomes)[totals.argmin(axis=1)]
    if distance == "inf":
        # Full support, so that no ratio is infinite after rounding.
        chosen = 0.999 * chosen + 0.001 / problem.outcomes
    return Landmarks(rule.landmarks, chosen, rule.rate, distance)


@dataclass(frozen=True, eq=False)
class Cascade:
    """Many outcomes, total variation: a tree of two-way splits, each Lipschitz in a share of the distance.

    Two people's laws differ by at most the sum over levels of the largest difference of a split, since the chances to
    reach the splits of one level add up to one. So with `levels` levels each split may use d / levels.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    split: Interpolation
    first: Cascade | None
    second: Cascade | None
    outcomes: int

    def probabilities(self, people: Metric) -> Floats:
        """Return one distribution a person."""
        return to_grid_rows_exactly(self._raw(people))

    def _raw(self, people: Metric) -> Floats:
        # The split's own metric is a scaled one; its anchors carry the factor.
        share = self.split.probabilities(_like(self.split.anchors, people))
        one = _leaf(self.left, self.outcomes) if self.first is None else self.first._raw(people)
        two = _leaf(self.right, self.outcomes) if self.second is None else self.second._raw(people)
        return share[:, :1] * one + share[:, 1:] * two


def to_grid_rows_exactly(rows: Floats) -> Floats:
    """Return rows on the grid; the slack of the splits covers what rounding moves."""
    return to_grid_rows(rows / rows.sum(axis=1, keepdims=True))


def _leaf(outcomes: tuple[int, ...], count: int) -> Floats:
    return np.eye(count)[list(outcomes)]


def _like(anchors: Metric, people: Metric) -> Metric:
    from sfumato.fair.metric.points import PointMetric

    if isinstance(anchors, PointMetric) and isinstance(people, PointMetric):
        return people.like(anchors)
    return people
