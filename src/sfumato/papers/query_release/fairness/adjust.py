"""Change the metric instead of the people: bring two groups nearer (Remark 4), or compare them no more (Remark 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.errors import ParameterError
from sfumato.fair.grid import Floats, Integers
from sfumato.fair.groups.affirmative import two_groups
from sfumato.fair.groups.earth import earthmover
from sfumato.fair.mapping.mapping import fair_mapping
from sfumato.fair.mapping.problem import Parity, group_share
from sfumato.fair.metric.base import Metric

LARGEST = 60
ROUNDS = 20


@dataclass(frozen=True, eq=False)
class AdjustedMetric:
    """A metric in which two groups are at most `target` apart, and the cross pairs that changed most, for review."""

    metric: Metric
    before: float
    after: float
    changed: tuple[tuple[int, int, float, float], ...]


def adjust_metric(metric: Metric, first: object, second: object, target: float) -> AdjustedMetric:
    """Lower distances between the groups, none inside them, until their earthmover distance is at most the target.

    Alternates between the cheapest plan and the least change of cross distances that keeps every triangle; a
    demonstrator for up to 60 people.

    >>> moved = adjust_metric(Metric.from_scores([0.0, 1.0]), [0], [1], target=0.5)
    >>> moved.after, moved.changed
    (0.5, ((0, 1, 1.0, 0.5),))
    """
    if metric.size > LARGEST:
        raise ParameterError(
            f"adjust_metric takes at most {LARGEST} people, and there are {metric.size}; group them first."
        )
    if not target >= 0:
        raise ParameterError(f"target must be zero or more, and {target} is not.")
    one, two = (np.flatnonzero(group_share(group, metric.size)) for group in (first, second))
    original = metric.block()
    before = earthmover(metric, one, two).value
    current, value = original, before
    plans: list[Floats] = []
    for _ in range(ROUNDS):
        moved = earthmover(Metric.from_matrix(current, repair=True), one, two)
        value = moved.value
        if value <= target + 1e-9:
            break
        plan = np.zeros(original.shape)
        plan[moved.giver, moved.taker] = moved.amount
        plans = [plan]
        current = _closest(original, one, two, plans, target)
    changed = [(int(x), int(y), float(original[x, y]), float(current[x, y])) for x in one for y in two]
    changed = sorted((c for c in changed if abs(c[2] - c[3]) > 1e-9), key=lambda c: c[3] - c[2])
    return AdjustedMetric(Metric.from_matrix(current, repair=True), before, value, tuple(changed[:20]))


def _closest(original: Floats, one: Integers, two: Integers, plans: list[Floats], target: float) -> Floats:
    """Minimise the sum of |d' - d| over cross pairs under all triangles and the plans' costs."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    cross = [(int(x), int(y)) for x in one for y in two]
    number = {pair: place for place, pair in enumerate(cross)}
    number |= {(y, x): place for (x, y), place in list(number.items())}
    size = len(cross)
    triples = _triangles(original, cross, number, one, two)
    rows, columns, values, right = [], [], [], []
    for row, (terms, limit) in enumerate(triples):
        for place, sign in terms:
            rows.append(row)
            columns.append(place)
            values.append(sign)
        right.append(limit)
    triangle = csr_matrix((values, (rows, columns)), shape=(len(triples), 2 * size)).toarray()
    start = np.array([original[pair] for pair in cross])
    eye = np.eye(size)
    change = np.vstack([np.hstack([eye, -eye]), np.hstack([-eye, -eye])])
    cost = np.array([[plan[x, y] + plan[y, x] for x, y in cross] + [0.0] * size for plan in plans])
    answer = linprog(
        np.concatenate([np.zeros(size), np.ones(size)]),
        A_ub=np.vstack([triangle, change, cost]),
        b_ub=np.concatenate([right, start, -start, np.full(len(plans), target)]),
        bounds=(0, None),
        method="highs",
    )
    if answer.status != 0:
        raise ParameterError(
            f"No distances between the groups bring them within {target:.3g} of each other while those inside the "
            "groups stay: two sides of a triangle are never shorter than the third. Choose a larger target."
        )
    out = original.copy()
    for (x, y), value in zip(cross, np.round(answer.x[:size], 9), strict=True):
        out[x, y] = out[y, x] = value
    return out


def _triangles(
    original: Floats, cross: list[tuple[int, int]], number: dict[tuple[int, int], int], one: Integers, two: Integers
) -> list[tuple[list[tuple[int, float]], float]]:
    """Return every triangle with two cross sides as rows.

    One cross side exceeds another by at most the inner side, and both together are at least as long as it.
    """
    rows: list[tuple[list[tuple[int, float]], float]] = []
    for x, y in cross:
        for side, fixed in ((one, y), (two, x)):
            for other in side:
                mine = x if fixed == y else y
                if int(other) == mine:
                    continue
                inside = float(original[mine, int(other)])
                rows.append(([(number[x, y], 1.0), (number[int(other), fixed], -1.0)], inside))
                rows.append(([(number[x, y], -1.0), (number[int(other), fixed], -1.0)], -inside))
    return rows


def parity_without_cross(metric: Metric, loss: object, first: object, second: object) -> Floats:
    """Return Remark 3's mapping: parity, and no metric between the groups.

    It invites the self-fulfilling prophecy, because the least qualified of one group may be chosen; shown for
    comparison, and `audit` flags it (E5).
    """
    index_one, index_two = two_groups(metric, first, second)
    apart = metric.dense().copy()
    apart[np.ix_(index_one, index_two)] = np.inf
    apart[np.ix_(index_two, index_one)] = np.inf
    return fair_mapping(Metric.from_matrix(apart), loss, parity=Parity(index_one, index_two)).probabilities
