"""The smallest correction that makes existing scores fair (FA-REPAIR), in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.errors import ParameterError
from sfumato.fair.grid import ONE, Floats, binary_rows, check_probabilities
from sfumato.fair.mapping.exactness import make_exact
from sfumato.fair.mapping.problem import make_problem
from sfumato.fair.metric.base import Metric
from sfumato.fair.pairs.envelope import lower_envelope, settled, upper_envelope


def repair_scores(
    scores: object, metric: Metric, *, kappa: float = 1.0, norm: str = "sup", weights: object = None
) -> Floats:
    """Return the nearest scores that differ by at most kappa · d(x, y).

    `norm="sup"` is the closed form (U + W) / 2 with U(x) = max(p(y) - kappa · d) and W(x) = min(p(y) + kappa · d): no
    kappa-Lipschitz score changes the most-changed person less. `norm="l1"` changes the weighted sum least, by a linear
    program, for a few thousand people. Sup repair of 10^5 people takes seconds and no n² memory.

    >>> from sfumato.fair.metric import Metric
    >>> repair_scores([0.0, 1.0], Metric.from_scores([0.0, 0.5]))
    array([0.25, 0.75])
    """
    values = _checked(scores, metric)
    if not np.isfinite(kappa) or kappa < 0:
        raise ParameterError(
            f"kappa must be a finite number of zero or more, and {kappa} is not; 1 is the metric itself."
        )
    if kappa == 0:
        return np.full(len(values), (values.min() + values.max()) / 2)
    scaled = metric if kappa == 1.0 else metric.scaled(kappa)
    if norm == "sup":
        grid = binary_rows(values)[:, 1]
        middle = (upper_envelope(scaled, grid, scaled) + lower_envelope(scaled, grid, scaled)) / 2
        return settled(scaled, np.asarray(np.floor(middle * ONE) / ONE))
    if norm == "l1":
        return _nearest_in_sum(values, scaled, weights)
    raise ParameterError(f'norm must be "sup" or "l1", and {norm!r} is neither.')


@dataclass(frozen=True)
class RepairCost:
    """What a repair changed: the largest change, the mean change, and the people who changed most."""

    largest: float
    mean: float
    most_changed: tuple[int, ...]


def repair_cost(before: object, after: object) -> RepairCost:
    """Return how much a repair changed.

    >>> repair_cost([0.0, 1.0], [0.25, 0.75])
    RepairCost(largest=0.25, mean=0.25, most_changed=(0, 1))
    """
    change = np.abs(np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64))
    order = np.argsort(-change, kind="stable")[:10]
    return RepairCost(float(change.max()), float(change.mean()), tuple(int(place) for place in order))


def repair_probabilities(probabilities: object, metric: Metric, *, kappa: float = 1.0) -> Floats:
    """Return fair probabilities near the given ones: the closed form for two outcomes, shrinking (F5) for more.

    Shrinking mixes with the mean distribution by the share that the worst pair needs, so one bad pair moves everybody;
    `fair_mapping` with a loss is better where it matters.
    """
    rows = check_probabilities(probabilities, metric.size)
    if rows.shape[1] == 2:
        return binary_rows(repair_scores(rows[:, 1], metric, kappa=kappa))
    scaled = metric if kappa == 1.0 else metric.scaled(kappa)
    # The constant that costs least under this loss is the most frequent outcome's.
    return make_exact(make_problem(scaled, -rows), rows)


def _checked(scores: object, metric: Metric) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != (metric.size,):
        raise ParameterError(f"scores must be a vector with {metric.size} entries, one a person of the metric.")
    if not np.all(np.isfinite(values)) or values.min() < 0 or values.max() > 1:
        raise ParameterError("scores must be probabilities between 0 and 1; rescale them first.")
    return values


def _nearest_in_sum(values: Floats, metric: Metric, weights: object) -> Floats:
    """Minimise sum w |p' - p|: a fair program in which everybody may go up or down at the price of their weight.

    |p' - p| is convex in p', so it is written with one variable more a person and solved with lazily added rows.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix, hstack, identity, vstack

    people = metric.size
    weight = make_problem(metric, np.zeros((people, 2)), weights=weights).weights
    apart = metric.dense()
    first, second = np.nonzero((values[:, None] - values[None, :]) > apart)
    known = first * people + second
    eye = identity(people)
    while True:
        count = len(known)
        row = np.arange(count)
        place = (np.concatenate([row, row]), np.concatenate([known // people, known % people]))
        pairs = coo_matrix((np.concatenate([np.ones(count), -np.ones(count)]), place), shape=(count, 2 * people))
        limit = vstack([hstack([eye, -eye]), hstack([-eye, -eye]), pairs], format="csr")
        right = np.concatenate([values, -values, apart[known // people, known % people]])
        cost = np.concatenate([np.zeros(people), weight])
        answer = linprog(cost, A_ub=limit, b_ub=right, bounds=(0, 1), method="highs")
        found = answer.x[:people]
        over = (found[:, None] - found[None, :]) - apart
        fresh = np.setdiff1d(np.flatnonzero(over > 1e-9), known)
        if not len(fresh):
            break
        known = np.concatenate([known, fresh])
    grid = binary_rows(found)[:, 1]
    return settled(metric, lower_envelope(metric, grid, metric))
