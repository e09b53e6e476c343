"""Fewer rows at a bounded price: the program on the edges of a spanner, with distances divided by its stretch (F13).

Where every pair nearer than the largest distance that matters is joined by a path of at most `stretch` times its
distance, rows D <= d / stretch on the edges imply D <= d for all pairs, because D is a metric itself. Under total
variation the best fair mapping mixed with the best constant, 1 to stretch - 1, keeps those rows: so the price is at
most (1 - 1/stretch) of the gap between the best constant and the best fair mapping (F5).
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.fair.grid import Floats, Integers
from sfumato.fair.mapping.extended import solve_pairs
from sfumato.fair.mapping.problem import Problem
from sfumato.fair.mapping.rows import (
    LARGEST_LOG_RATIO,
    SUBSET_OUTCOMES,
    RowAnswer,
    RowState,
    append_rows,
    solve_state,
)
from sfumato.fair.metric.base import Metric

STRETCH = 2.0
FIRST_NEIGHBOURS = 4
PER_PERSON = 2
BLOCK = 256
ROUNDING = 1e-12
ROWS_AT_ONCE = 60_000


def spanner(metric: Metric, stretch: float, reach: float) -> tuple[Integers, Integers]:
    """Return edges over whose paths every pair nearer than `reach` is at most `stretch` times its distance away.

    It begins with everybody's nearest neighbours and adds everybody's worst served pairs until none is left.

    >>> first, second = spanner(Metric.from_scores([0.0, 0.1, 0.2, 0.3]), 1.5, 1.0)
    >>> sorted(zip(first.tolist(), second.tolist()))[:2]
    [(0, 1), (0, 2)]
    """
    people = metric.size
    near = metric.neighbours(FIRST_NEIGHBOURS)
    keys = _keys(people, np.repeat(np.arange(people), near.shape[1]), near.ravel())
    # An edge as long as the reach carries nobody: what it would forbid is allowed anyway.
    keys = keys[metric.between(keys // people, keys % people) < reach]
    while True:
        missing = _badly_served(metric, keys, stretch, reach)
        if not len(missing):
            return keys // people, keys % people
        keys = np.union1d(keys, missing)


def _keys(people: int, first: Integers, second: Integers) -> Integers:
    return np.unique(np.minimum(first, second) * people + np.maximum(first, second))


def _badly_served(metric: Metric, keys: Integers, stretch: float, reach: float) -> Integers:
    """Return everybody's pairs with the longest detours beyond the stretch, two at most."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    people = metric.size
    first, second = keys // people, keys % people
    graph: Any = csr_matrix((metric.between(first, second), (first, second)), shape=(people, people))
    limit = stretch * reach * (1 + ROUNDING) if np.isfinite(reach) else np.inf
    found = [np.zeros(0, dtype=np.int64)]
    for start in range(0, people, BLOCK):
        here = np.arange(start, min(start + BLOCK, people))
        way = dijkstra(graph, directed=False, indices=here, limit=limit)
        apart = metric.block(here)
        with np.errstate(divide="ignore", invalid="ignore"):
            detour = np.where((apart < reach) & (apart > 0), way / apart, 0.0)
        worst = np.argpartition(-detour, min(PER_PERSON, people - 1), axis=1)[:, :PER_PERSON]
        row = np.repeat(np.arange(len(here)), worst.shape[1])
        keep = detour[row, worst.ravel()] > stretch * (1 + ROUNDING)
        found.append(_keys(people, here[row][keep], worst.ravel()[keep]))
    return np.unique(np.concatenate(found))


class _Sets:
    """Rows of an edge in one direction and a set of outcomes, as they are violated."""

    def __init__(self, problem: Problem, first: Integers, second: Integers) -> None:
        self.problem = problem
        self.edges = np.concatenate([first, second]), np.concatenate([second, first])
        empty = np.zeros(0, dtype=np.int64)
        self.state = RowState(empty, empty, np.zeros((0, problem.outcomes), dtype=bool))
        if len(first) * (2**problem.outcomes - 2) <= ROWS_AT_ONCE:
            self._all_rows(first, second)

    def _all_rows(self, first: Integers, second: Integers) -> None:
        """Begin with every row: along chains of short edges violations would wander from round to round."""
        outcomes = self.problem.outcomes
        if self.problem.distance == "tv":
            # A set one way is its complement the other way.
            sets = (np.arange(1, 2**outcomes - 1)[:, None] >> np.arange(outcomes)) & 1 == 1
        else:
            sets, (first, second) = np.eye(outcomes, dtype=bool), self.edges
        append_rows(
            self.state, np.repeat(first, len(sets)), np.repeat(second, len(sets)), np.tile(sets, (len(first), 1))
        )

    @property
    def used(self) -> tuple[Integers, Integers]:
        return self.state.first, self.state.second

    def solve(self, left: float | None) -> tuple[Floats, float, Floats] | None:
        return solve_state(self.problem, self.state, left)

    def add(self, rows: Floats, tolerance: float) -> int:
        first, second = self.edges
        apart = np.minimum(self.problem.metric.between(first, second), LARGEST_LOG_RATIO)
        if self.problem.distance == "tv":
            sets = rows[first] > rows[second]
            over = np.maximum(rows[first] - rows[second], 0.0).sum(axis=1) - apart
        else:
            parts = np.exp(-apart / 2)[:, None] * rows[first] - np.exp(apart / 2)[:, None] * rows[second]
            sets = np.arange(self.problem.outcomes) == parts.argmax(axis=1)[:, None]
            over = parts.max(axis=1)
        bad = over > tolerance
        return append_rows(self.state, first[bad], second[bad], sets[bad])


class _Pairs:
    """Whole edges in the extended form, for many outcomes, as they are violated."""

    def __init__(self, problem: Problem, first: Integers, second: Integers) -> None:
        self.problem, self.first, self.second = problem, first, second
        self.active = np.zeros(len(first), dtype=bool)

    @property
    def used(self) -> tuple[Integers, Integers]:
        return self.first[self.active], self.second[self.active]

    def solve(self, left: float | None) -> tuple[Floats, float, Floats] | None:
        return solve_pairs(self.problem, *self.used, left)

    def add(self, rows: Floats, tolerance: float) -> int:
        moved = np.abs(rows[self.first] - rows[self.second]).sum(axis=1) / 2
        fresh = (moved > self.problem.metric.between(self.first, self.second) + tolerance) & ~self.active
        self.active |= fresh
        return int(fresh.sum())


def solve_spanner(problem: Problem, stretch: float, tolerance: float, deadline: float | None) -> RowAnswer:
    """Return the best mapping found on a spanner's edges, and a lower bound for the whole program.

    People at distance 0 must have been joined before. Rows are added as they are violated, on the edges only.
    """
    reach = 1.0 if problem.distance == "tv" else np.inf
    tight = replace(problem, metric=problem.metric.scaled(1.0 / stretch))
    many = problem.distance == "tv" and problem.outcomes > SUBSET_OUTCOMES
    program = (_Pairs if many else _Sets)(tight, *spanner(problem.metric, stretch, reach))
    rows, bound, prices, rounds = None, float(problem.costs.min(axis=1).sum()), np.zeros(0), 0
    finished, used = False, program.used
    while not finished:
        left = None if deadline is None else deadline - time.monotonic()
        answer = None if left is not None and left <= 0 else program.solve(left)
        if answer is None:
            break
        rows, proved, prices = answer
        used, rounds = program.used, rounds + 1
        bound = max(bound, _bound_of_all(problem, tight, used, proved, prices))
        finished = not program.add(rows, tolerance)
    return RowAnswer(rows, bound, *used, prices, finished, rounds)


def _bound_of_all(
    problem: Problem, tight: Problem, used: tuple[Integers, Integers], proved: float, prices: Floats
) -> float:
    """Return what a bound of the tightened program proves about the untightened one, under total variation.

    Either the same prices at the full distances, or the price of tightening (F5) turned round.
    """
    if problem.distance != "tv":
        return -np.inf
    apart, allowed = problem.metric.between(*used), tight.metric.between(*used)
    at_full = proved - float(prices @ (apart - allowed)) * (1 + ROUNDING)
    # Tightened distances are rounded to the grid, so the stretch is what they came out as.
    stretch = float((apart / np.maximum(allowed, 1e-300)).max(initial=1.0)) * (1 + ROUNDING)
    constant = float(problem.best_constant() @ problem.costs.sum(axis=0))
    return max(at_full, stretch * proved - (stretch - 1) * constant)
