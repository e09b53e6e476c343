"""A demonstrator: give each member of one group a counterpart in the other (metric labelling, §8.6.1.2)."""

from __future__ import annotations

import numpy as np

from sfumato.errors import ParameterError
from sfumato.fair.grid import Floats, Integers

SWEEPS = 50


def assign_counterparts(costs: object, similarity: object, distances: object) -> Integers:
    """Return a counterpart phi(x) for each x that keeps similar people's counterparts near each other.

    Minimises the sum of costs[x, phi(x)] and of similarity[x, x'] · distances[phi(x), phi(x')] by local moves from the
    best independent choice; the result cannot be improved by moving one person.

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
