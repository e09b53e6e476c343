"""The earthmover distance between two groups (FA-EMD): the least total way that turns one into the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.errors import ParameterError
from sfumato.fair.grid import Floats, Integers
from sfumato.fair.mapping.problem import group_share
from sfumato.fair.mapping.transport import LARGEST_EDGES, _emd, near_edges
from sfumato.fair.metric.base import DENSE_PEOPLE, Metric


@dataclass(frozen=True, eq=False)
class Earthmover:
    """A cheapest plan and its proof.

    `value` is the plan's cost and `bound` what the potential proves; they agree up to rounding. `potential` gives one
    number a person of the two groups: the most biased Lipschitz score.
    """

    value: float
    bound: float
    giver: Integers
    taker: Integers
    amount: Floats
    members: Integers
    potential: Floats


def earthmover(metric: Metric, first: object, second: object) -> Earthmover:
    """Return the earthmover distance between two groups (masks, indices or weights) of the metric's people.

    >>> earthmover(Metric.from_scores([0.0, 0.5, 1.0]), [0, 1], [1, 2]).value
    0.5
    """
    one, two = _share(first, metric.size), _share(second, metric.size)
    # Mass that both groups have at one person stays there.
    common = np.minimum(one, two)
    gives, takes = np.flatnonzero(one > common), np.flatnonzero(two > common)
    members = np.flatnonzero((one > 0) | (two > 0))
    if not len(gives):
        none = np.zeros(0, dtype=np.int64)
        return Earthmover(0.0, 0.0, none, none, np.zeros(0), members, np.zeros(len(members)))
    supply, demand = (one - common)[gives], (two - common)[takes]
    if len(gives) + len(takes) <= DENSE_PEOPLE or not _cap(metric) <= 1.0:
        cost = np.ascontiguousarray(metric.block(gives, takes))
        if not np.all(np.isfinite(cost)):
            raise ParameterError("Some members are infinitely far apart; cap the metric with metric.capped(1).")
        if cost.size > LARGEST_EDGES:
            raise ParameterError("The groups are too large for an uncapped metric; write metric.capped(1).")
        plan, log = _emd(supply, demand, cost)
        row, column = np.nonzero(plan)
        amount, anchor = plan[row, column], -log["v"]
        giver, taker = gives[row], takes[column]
    else:
        giver, taker, amount, anchor = _capped_plan(metric, gives, takes, supply, demand)
    value = float((amount * metric.between(giver, taker)).sum())
    potential = _potential(metric, takes, anchor, members)
    weight = (one - two)[members]
    return Earthmover(value, float(weight @ potential), giver, taker, amount, members, potential)


def _cap(metric: Metric) -> float:
    return float(getattr(metric, "cap", np.inf))


def _share(group: object, people: int) -> Floats:
    array = np.asarray(group)
    if array.dtype.kind == "f":
        if array.shape != (people,) or array.min() < 0 or not np.isclose(array.sum(), 1.0):
            raise ParameterError("A group given as weights needs one weight of zero or more a person, summing to one.")
        return np.asarray(array / array.sum(), dtype=np.float64)
    return group_share(array, people)


def _capped_plan(
    metric: Metric, gives: Integers, takes: Integers, supply: Floats, demand: Floats
) -> tuple[Integers, Integers, Floats, Floats]:
    """Only pairs nearer than 1, and a hub that joins all others at the cost 1: exact, and sparse."""
    from scipy.sparse import coo_matrix

    rows, columns, costs = near_edges(metric, gives, takes)
    people, others = len(gives), len(takes)
    rows = np.concatenate([rows, np.arange(people), np.full(others + 1, people)])
    columns = np.concatenate([columns, np.full(people, others), np.arange(others + 1)])
    # Raising all costs by one changes no plan; POT takes zeros of a sparse matrix for missing entries.
    costs = np.concatenate([costs, np.ones(people), np.zeros(others + 1)]) + 1.0
    cost = coo_matrix((costs, (rows, columns)), shape=(people + 1, others + 1))
    plan, log = _emd(np.append(supply, demand.sum()), np.append(demand, supply.sum()), cost)
    moved = plan.tocoo()
    real = (moved.row < people) & (moved.col < others) & (moved.data > 0)
    giver, taker, amount = gives[moved.row[real]], takes[moved.col[real]], moved.data[real]
    # What goes through the hub is matched in order; every such pair costs 1 at most.
    left = supply - np.bincount(moved.row[real], amount, people)
    right = demand - np.bincount(moved.col[real], amount, others)
    extra = _in_order(np.maximum(left, 0.0), np.maximum(right, 0.0))
    return (
        np.concatenate([giver, gives[extra[0]]]),
        np.concatenate([taker, takes[extra[1]]]),
        np.concatenate([amount, extra[2]]),
        log["v"][-1] - log["v"][:-1],
    )


def _in_order(left: Floats, right: Floats) -> tuple[Integers, Integers, Floats]:
    edges = np.unique(np.concatenate([[0.0], np.cumsum(left), np.cumsum(right)]))
    edges = edges[edges <= min(left.sum(), right.sum())]
    middle = (edges[:-1] + edges[1:]) / 2
    giver = np.searchsorted(np.cumsum(left), middle)
    taker = np.searchsorted(np.cumsum(right), middle)
    return giver, taker, np.diff(edges)


def _potential(metric: Metric, takes: Integers, anchor: Floats, members: Integers) -> Floats:
    from sfumato.fair.pairs.envelope import lower_envelope

    # Whole steps of the grid keep the sums exact, so the potential is exactly Lipschitz.
    start = np.floor((anchor - anchor.min()) * 2.0**40) / 2.0**40
    return lower_envelope(metric.subset(takes), start, metric.subset(members))
