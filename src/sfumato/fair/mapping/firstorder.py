"""Many outcomes under total variation: a first-order method whose every stop has a proved gap.

Chambolle and Pock's primal-dual iteration. The primal step projects rows on the simplex, the dual step prices each pair
by projecting on an L1 ball; any prices prove a lower bound by weak duality, and any rows become fair by shrinking.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.fair.grid import Floats, Integers
from sfumato.fair.mapping.exactness import make_exact
from sfumato.fair.mapping.problem import Problem

FIRST_NEIGHBOURS = 8
STEPS = 100
PER_PERSON = 5
MOST_ROUNDS = 400


@dataclass(frozen=True, eq=False)
class FirstOrderAnswer:
    """The best fair mapping met, the best bound proved, and the price of each pair."""

    probabilities: Floats
    bound: float
    first: Integers
    second: Integers
    prices: Floats
    finished: bool


def solve_first_order(problem: Problem, gap: float, deadline: float | None) -> FirstOrderAnswer:
    """Return a fair mapping whose objective is within a relative `gap` of the optimum, or the best one in time."""
    scale = float(np.abs(problem.costs).mean()) or 1.0
    costs = problem.costs / scale
    rows = np.full(problem.loss.shape, 1.0 / problem.outcomes)
    first, second = _first_pairs(problem)
    prices = np.zeros((len(first), problem.outcomes))
    best = np.tile(problem.best_constant(), (problem.people, 1))
    value, bound = problem.objective(best), float(problem.costs.min(axis=1).sum())
    finished = False
    for _ in range(MOST_ROUNDS):
        apart = problem.metric.between(first, second)
        rows, prices, mean = _iterate(costs, apart, first, second, (rows, prices))
        for candidate, dual in ((rows, prices), mean):
            bound = max(bound, scale * _dual_value(costs, apart, first, second, dual))
            fair = make_exact(problem, candidate)
            if problem.objective(fair) < value:
                best, value = fair, problem.objective(fair)
        rows, prices = mean
        finished = value - bound <= gap * max(abs(value), 1e-12)
        if finished or (deadline is not None and time.monotonic() > deadline):
            break
        first, second, prices = _more_pairs(problem, rows, first, second, prices)
    spread = prices.max(axis=1) - prices.min(axis=1) if len(prices) else np.zeros(0)
    return FirstOrderAnswer(best, bound, first, second, spread * scale, finished)


def _first_pairs(problem: Problem) -> tuple[Integers, Integers]:
    near = problem.metric.neighbours(FIRST_NEIGHBOURS)
    first = np.repeat(np.arange(problem.people), near.shape[1])
    return _unordered(problem.people, first, near.ravel())


def _unordered(people: int, first: Integers, second: Integers) -> tuple[Integers, Integers]:
    keys = np.unique(np.minimum(first, second) * people + np.maximum(first, second))
    return keys // people, keys % people


def _iterate(
    costs: Floats, apart: Floats, first: Integers, second: Integers, start: tuple[Floats, Floats]
) -> tuple[Floats, Floats, tuple[Floats, Floats]]:
    """Return the last point and the mean of all points of a number of steps."""
    rows, prices = start
    difference = _differences(len(costs), first, second)
    transposed = difference.T.tocsr()
    degree = np.maximum(np.bincount(first, minlength=len(costs)) + np.bincount(second, minlength=len(costs)), 1)
    primal, dual = 1.0 / degree[:, None], 0.5
    row_sum, price_sum = np.zeros_like(rows), np.zeros_like(prices)
    for _ in range(STEPS):
        moved = project_simplex(rows - primal * (costs + transposed @ prices))
        pull = prices + dual * (difference @ (2 * moved - rows))
        prices = pull - dual * project_l1(pull / dual, 2 * apart)
        rows = moved
        row_sum += rows
        price_sum += prices
    return rows, prices, (row_sum / STEPS, price_sum / STEPS)


def _differences(people: int, first: Integers, second: Integers) -> Any:
    from scipy.sparse import csr_matrix

    count = len(first)
    values = np.concatenate([np.ones(count), -np.ones(count)])
    place = (np.tile(np.arange(count), 2), np.concatenate([first, second]))
    return csr_matrix((values, place), shape=(count, people))


def _dual_value(costs: Floats, apart: Floats, first: Integers, second: Integers, prices: Floats) -> float:
    """Return the bound that the prices prove: what each person saves at best, less what the distances allow."""
    reduced = costs + _differences(len(costs), first, second).T @ prices
    if not len(prices):
        return float(reduced.min(axis=1).sum())
    return float(reduced.min(axis=1).sum() - (apart * (prices.max(axis=1) - prices.min(axis=1))).sum())


def _more_pairs(
    problem: Problem, rows: Floats, first: Integers, second: Integers, prices: Floats
) -> tuple[Integers, Integers, Floats]:
    found = [np.zeros((2, 0), dtype=np.int64)]
    for start in range(0, problem.people, 512):
        here = slice(start, min(start + 512, problem.people))
        over = -problem.metric.block(here)
        for column in rows.T:
            over += np.maximum(np.subtract.outer(column[here], column), 0.0)
        worst = np.argpartition(-over, min(PER_PERSON, over.shape[1] - 1), axis=1)[:, :PER_PERSON]
        person = np.repeat(np.arange(here.stop - here.start), worst.shape[1])
        keep = over[person, worst.ravel()] > 1e-9
        found.append(np.stack([person[keep] + start, worst.ravel()[keep]]))
    fresh = np.concatenate(found, axis=1)
    people = problem.people
    old = first * people + second
    one, two = _unordered(people, np.concatenate([first, fresh[0]]), np.concatenate([second, fresh[1]]))
    grown = np.zeros((len(one), problem.outcomes))
    grown[np.searchsorted(one * people + two, old)] = prices
    return one, two, grown


def project_simplex(rows: Floats) -> Floats:
    """Return the nearest distributions.

    >>> project_simplex(np.array([[0.9, 0.5]])).round(3)
    array([[0.7, 0.3]])
    """
    return np.maximum(rows - _threshold(rows, np.ones(len(rows)))[:, None], 0.0)


def project_l1(rows: Floats, radius: Floats) -> Floats:
    """Return the nearest points whose absolute values sum to at most the radius."""
    size = np.abs(rows)
    outside = size.sum(axis=1) > radius
    out = rows.copy()
    if outside.any():
        cut = _threshold(size[outside], radius[outside])
        out[outside] = np.sign(rows[outside]) * np.maximum(size[outside] - cut[:, None], 0.0)
    return out


def _threshold(rows: Floats, total: Floats) -> Floats:
    """Return what to subtract from each row so that its positive part sums to the total."""
    falling = -np.sort(-rows, axis=1)
    excess = np.cumsum(falling, axis=1) - total[:, None]
    count = (falling - excess / np.arange(1, rows.shape[1] + 1) > 0).sum(axis=1)
    count = np.maximum(count, 1)
    return np.asarray(excess[np.arange(len(rows)), count - 1] / count)
