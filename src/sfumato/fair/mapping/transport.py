"""Two outcomes under total variation: the program's dual is optimal transport, solved by POT's network simplex.

People who had better get the second outcome send mass to those who had better not, at the cost of their distance; the
potential of the best plan is the best fair probability. Where masses differ, the surplus goes to a ground point.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import DomainTooLarge
from sfumato.fair.grid import Floats, Integers, binary_rows
from sfumato.fair.mapping.problem import Problem
from sfumato.fair.metric.base import DENSE_PEOPLE, Metric
from sfumato.fair.pairs.envelope import lower_envelope, settled

PIVOTS = 50_000_000
LARGEST_EDGES = 120_000_000
BLOCK = 512


@dataclass(frozen=True, eq=False)
class Flow:
    """A transport plan: `amount[i]` moves from person `giver[i]` to `taker[i]`, -1 being the ground."""

    giver: Integers
    taker: Integers
    amount: Floats


def solve_transport(problem: Problem) -> tuple[Floats, float, Flow]:
    """Return probabilities on the grid, a proved lower bound of the objective, and the plan that proves it."""
    costs = problem.costs
    slope = costs[:, 1] - costs[:, 0]
    metric = problem.metric.capped(1.0)
    gives, takes = np.flatnonzero(slope < 0), np.flatnonzero(slope > 0)
    if not len(gives) or not len(takes):
        second = np.full(problem.people, 1.0 if len(gives) else 0.0)
        none = np.zeros(0, dtype=np.int64)
        return binary_rows(second), float(costs.min(axis=1).sum()), Flow(none, none, np.zeros(0))
    value, flow = _transport(metric, gives, takes, -slope[gives], slope[takes])
    return binary_rows(_to_everybody(metric, takes, value)), _bound(costs, slope, metric, flow), flow


def _to_everybody(metric: Metric, takes: Integers, value: Floats) -> Floats:
    # Whole units keep the sums with distances exact, so the extension is exactly Lipschitz.
    start = binary_rows(value)[:, 1]
    reached = lower_envelope(metric.subset(takes), start, metric)
    return settled(metric, np.clip(np.minimum(reached, 1.0), 0.0, 1.0))


def _transport(metric: Metric, gives: Integers, takes: Integers, supply: Floats, demand: Floats) -> tuple[Floats, Flow]:
    """Return the potential at the takers, and the plan."""
    surplus = float(supply.sum() - demand.sum())
    if metric.size <= DENSE_PEOPLE:
        plan, potential = _dense(metric.block(gives, takes), supply, demand, surplus)
    else:
        plan, potential = _sparse(metric, gives, takes, supply, demand)
    giver, taker, amount = plan
    giver = np.where(giver < len(gives), gives[np.minimum(giver, len(gives) - 1)], -1)
    taker = np.where(taker < len(takes), takes[np.minimum(taker, len(takes) - 1)], -1)
    return potential, Flow(giver, taker, amount)


Plan = tuple[Integers, Integers, Floats]


def _dense(cost: Floats, supply: Floats, demand: Floats, surplus: float) -> tuple[Plan, Floats]:
    """All pairs, and one ground point on the side that lacks mass."""
    if surplus > 0:
        cost = np.hstack([cost, np.ones((len(cost), 1))])
        demand = np.append(demand, surplus)
    else:
        cost = np.vstack([cost, np.zeros((1, cost.shape[1]))])
        supply = np.append(supply, -surplus)
    plan, log = _emd(supply, demand, np.ascontiguousarray(cost))
    giver, taker = np.nonzero(plan)
    ground = log["v"][-1] if surplus > 0 else -log["u"][-1]
    takers = len(demand) - (1 if surplus > 0 else 0)
    return (giver, taker, plan[giver, taker]), ground - log["v"][:takers]


def _sparse(metric: Metric, gives: Integers, takes: Integers, supply: Floats, demand: Floats) -> tuple[Plan, Floats]:
    """Only pairs nearer than 1, and a ground point that joins all others at the cost 1: the same optimum."""
    from scipy.sparse import coo_matrix

    rows, columns, costs = near_edges(metric, gives, takes)
    people, others = len(gives), len(takes)
    rows = np.concatenate([rows, np.arange(people), np.full(others, people), [people]])
    columns = np.concatenate([columns, np.full(people, others), np.arange(others), [others]])
    # POT drops explicit zeros of a sparse matrix; raising every cost by one changes no plan and shifts one potential.
    costs = np.concatenate([costs, np.ones(people), np.zeros(others), [0.0]]) + 1.0
    cost = coo_matrix((costs, (rows, columns)), shape=(people + 1, others + 1))
    plan, log = _emd(np.append(supply, demand.sum()), np.append(demand, supply.sum()), cost)
    moved = plan.tocoo()
    keep = moved.data > 0
    value = log["v"][-1] - log["v"][:-1]
    return (moved.row[keep].astype(np.int64), moved.col[keep].astype(np.int64), moved.data[keep]), value


def near_edges(metric: Metric, rows: Integers, columns: Integers) -> tuple[Integers, Integers, Floats]:
    """Return the pairs nearer than 1 as (place in rows, place in columns, distance)."""
    found: list[tuple[Integers, Integers, Floats]] = []
    edges = 0
    for start in range(0, len(rows), BLOCK):
        block = metric.block(rows[start : start + BLOCK], columns)
        here, there = np.nonzero(block < 1.0)
        found.append((here + start, there, block[here, there]))
        edges += len(here)
        if edges > LARGEST_EDGES:
            raise DomainTooLarge(
                f"More than {LARGEST_EDGES} pairs of people are closer than 1; solve for a sample of the people and "
                "extend to the others, as FairClassifier(solve_for=...) does, or sharpen the metric.",
                method="FairClassifier",
            )
    return tuple(np.concatenate(part) for part in zip(*found, strict=True))  # type: ignore[return-value]


def _emd(supply: Floats, demand: Floats, cost: Any) -> tuple[Any, dict[str, Any]]:
    import ot

    demand = demand * (supply.sum() / demand.sum())
    with warnings.catch_warnings():
        # A plan that is not optimal still proves a bound, and the gap says how far it is.
        warnings.simplefilter("ignore")
        plan, log = ot.emd(supply, demand, cost, numItermax=PIVOTS, log=True, center_dual=False)
    return plan, log


def _bound(costs: Floats, slope: Floats, metric: Metric, flow: Flow) -> float:
    """Return a lower bound of the objective that any plan proves.

    A plan with amounts f gives sum f · (p(giver) - p(taker)) <= sum f · d; what the plan leaves unmatched of the
    slopes is worth at most its absolute value, because probabilities lie between 0 and 1.
    """
    real = (flow.giver >= 0) & (flow.taker >= 0)
    giver, taker, amount = flow.giver[real], flow.taker[real], flow.amount[real]
    left = slope + np.bincount(giver, amount, len(slope)) - np.bincount(taker, amount, len(slope))
    carried = float((amount * metric.between(giver, taker)).sum())
    return float(costs[:, 0].sum() - carried + np.minimum(left, 0.0).sum())
