"""Compare people of different groups: by their rank within their own group, or by counterparts in the other.

Ranks encode one reading of affirmative action: equal standing among one's peers is equal potential, so the best of one
group are similar to the best of the other whatever their raw scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.fair.grid import Floats, Integers
from sfumato.fair.metric.points import PointMetric
from sfumato.fair.people import as_text

SWEEPS = 50


@dataclass(frozen=True, eq=False)
class RankReader:
    """The sorted scores of each group, to rank newcomers against; people are given as (scores, groups)."""

    ladders: dict[str, Floats]
    columns: tuple[str | int, ...] = ()

    def points(self, people: Any) -> Floats:
        """Return each person's mid-rank within the group, between 0 and 1."""
        scores, groups = people
        return _ranks(np.asarray(scores, dtype=np.float64), as_text(np.asarray(groups)), self.ladders)


def group_rank(scores: object, groups: object, scale: float) -> PointMetric:
    """Return the metric |rank(x) - rank(y)| / scale of ranks within groups; see `Metric.group_rank`.

    >>> group_rank([1, 2, 10, 20], ["s", "s", "t", "t"], 1.0).block()[0]
    array([0. , 0.5, 0. , 0.5])
    """
    values = np.asarray(scores, dtype=np.float64)
    labels = as_text(np.asarray(groups))
    if values.ndim != 1 or values.shape != labels.shape or not len(values):
        raise ParameterError("scores and groups must be two vectors of the same length, one entry a person.")
    if not np.all(np.isfinite(values)):
        raise ParameterError("scores must be finite numbers; fill in or drop missing ones.")
    if not scale > 0:
        raise ParameterError(
            f"scale must be above zero, and {scale} is not; write the rank difference that counts as 1."
        )
    ladders = {str(label): np.sort(values[labels == label]) for label in np.unique(labels)}
    metric = PointMetric.of_points(_ranks(values, labels, ladders), reader=RankReader(ladders))
    return metric.scaled(1.0 / scale)


def _ranks(scores: Floats, labels: NDArray[np.str_], ladders: dict[str, Floats]) -> Floats:
    ranks = np.empty(len(scores))
    for label in np.unique(labels):
        if str(label) not in ladders:
            raise ParameterError(f"Nobody of group {str(label)!r} was ranked; known groups are {sorted(ladders)}.")
        ladder, here = ladders[str(label)], labels == label
        below, upto = (np.searchsorted(ladder, scores[here], side) for side in ("left", "right"))
        ranks[here] = (below + upto) / (2 * len(ladder))
    return ranks[:, None]


def assign_counterparts(costs: object, similarity: object, distances: object) -> Integers:
    """Return a counterpart phi(x) for each x that keeps similar people's counterparts near each other.

    Metric labelling (§8.6.1.2): minimises the sum of costs[x, phi(x)] and of similarity[x, x'] · distances[phi(x),
    phi(x')] by local moves from the best independent choice; the result cannot be improved by moving one person.

    >>> assign_counterparts([[0, 1], [0.6, 0.5]], [[0, 0.1], [0.1, 0]], [[0, 2], [2, 0]])
    array([0, 0])
    """
    cost = np.asarray(costs, dtype=np.float64)
    similar = np.asarray(similarity, dtype=np.float64)
    far = np.asarray(distances, dtype=np.float64)
    people, labels = cost.shape
    if similar.shape != (people, people) or far.shape != (labels, labels):
        raise ParameterError("similarity must be people × people and distances counterparts × counterparts.")
    if not np.allclose(similar, similar.T) or not np.allclose(far, far.T):
        raise ParameterError("similarity and distances must be symmetric.")
    chosen = cost.argmin(axis=1)
    for _ in range(SWEEPS):
        before = chosen.copy()
        for person in range(people):
            others = similar[person].copy()
            others[person] = 0.0
            chosen[person] = int((cost[person] + 2 * far[:, chosen] @ others).argmin())
        if np.array_equal(before, chosen):
            break
    return np.asarray(chosen, dtype=np.int64)


def labelling_cost(chosen: Integers, costs: Floats, similarity: Floats, distances: Floats) -> float:
    """Return the cost of an assignment of counterparts."""
    return float(costs[np.arange(len(chosen)), chosen].sum() + (similarity * distances[np.ix_(chosen, chosen)]).sum())
