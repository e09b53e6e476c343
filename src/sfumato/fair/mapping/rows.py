"""The general program on HiGHS, with only the rows that matter: violated ones are added until none is left."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.errors import DomainTooLarge
from sfumato.fair.grid import Floats, Integers
from sfumato.fair.mapping.problem import Problem

FIRST_NEIGHBOURS = 6
PER_PERSON = 3
LARGEST_LOG_RATIO = 13.8
"""Beyond this a log-ratio row is hopelessly scaled; a smaller distance is stricter, hence safe for a mapping."""
LISTED_OUTCOMES = 10
SUBSET_OUTCOMES = 6
"""Up to so many outcomes a row for each violated set of outcomes is quicker than extra variables."""
BLOCK = 512
ROUNDING = 1e-14


@dataclass
class RowState:
    """The rows so far, as pairs with an outcome (log ratios) or a set of outcomes (total variation)."""

    first: Integers
    second: Integers
    sets: np.ndarray[Any, np.dtype[np.bool_]]
    known: set[bytes] = field(default_factory=set)


@dataclass(frozen=True, eq=False)
class RowAnswer:
    """Probabilities within the solver's tolerance, a proved lower bound, and the price of each row used."""

    probabilities: Floats | None
    bound: float
    first: Integers
    second: Integers
    prices: Floats
    finished: bool
    rounds: int


def solve_rows(problem: Problem, tolerance: float, deadline: float | None) -> RowAnswer:
    """Return the best mapping found, by rounds of solving and adding the worst violated rows."""
    state = _first_rows(problem)
    best: RowAnswer | None = None
    bound, rounds = float(problem.costs.min(axis=1).sum()), 0
    while True:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            break
        answer = solve_state(problem, state, left)
        if answer is None:
            break
        rounds += 1
        rows, proved, prices = answer
        bound = max(bound, _bound_of_the_metric(problem, state, proved, prices))
        best = RowAnswer(rows, bound, state.first, state.second, prices, False, rounds)
        if not _add_violated(problem, state, rows, tolerance):
            return RowAnswer(rows, bound, best.first, best.second, prices, True, rounds)
    if best is None:
        none = np.zeros(0, dtype=np.int64)
        return RowAnswer(None, bound, none, none, np.zeros(0), False, 0)
    return best


def _bound_of_the_metric(problem: Problem, state: RowState, capped: float, prices: Floats) -> float:
    """Return what a bound under the cap on log ratios proves about the metric itself.

    The same, if no capped row has a price. Otherwise: a fair mapping M mixed with a constant c of full support,
    (1 - s)·M + s·c at s = 1 / (1 + min c · (e^cap - 1)), is fair under the cap and keeps the side conditions that c
    keeps. So (1 - s)·loss(M) + s·loss(c) is at least the bound.
    """
    far = problem.metric.between(state.first, state.second) > LARGEST_LOG_RATIO
    if problem.distance == "tv" or not np.any(far & (prices > 0)):
        return capped
    free = float(problem.costs.min(axis=1).sum())
    constant = problem.spread_constant()
    least = float(constant.min())
    if least <= 0:
        return free
    share = (1 + ROUNDING) / (1 + least * float(np.expm1(LARGEST_LOG_RATIO)))
    costs = constant @ problem.costs.sum(axis=0)
    proved = (capped - share * costs) / (1 - share)
    return max(free, float(proved - ROUNDING * (abs(capped) + abs(costs))))


def _first_rows(problem: Problem) -> RowState:
    """Start with the nearest neighbours, as if everybody got their own cheapest outcome."""
    empty = np.zeros(0, dtype=np.int64)
    state = RowState(empty, empty, np.zeros((0, problem.outcomes), dtype=bool))
    near = problem.metric.neighbours(FIRST_NEIGHBOURS)
    first = np.repeat(np.arange(problem.people), near.shape[1])
    second = near.ravel()
    favourite = problem.costs.argmin(axis=1)
    differ = favourite[first] != favourite[second]
    first, second = first[differ], second[differ]
    sets = np.zeros((len(first), problem.outcomes), dtype=bool)
    sets[np.arange(len(first)), favourite[first]] = True
    append_rows(state, first, second, sets)
    return state


def append_rows(state: RowState, first: Integers, second: Integers, sets: Any) -> int:
    """Add rows that are not there yet; return how many were new."""
    fresh = []
    for place in range(len(first)):
        key = first[place].tobytes() + second[place].tobytes() + sets[place].tobytes()
        if key not in state.known:
            state.known.add(key)
            fresh.append(place)
    state.first = np.concatenate([state.first, first[fresh]])
    state.second = np.concatenate([state.second, second[fresh]])
    state.sets = np.concatenate([state.sets, sets[fresh]])
    return len(fresh)


def _limits(problem: Problem, state: RowState) -> Floats:
    return np.minimum(problem.metric.between(state.first, state.second), LARGEST_LOG_RATIO)


def _matrix(problem: Problem, state: RowState) -> tuple[Any, Floats]:
    """Return the rows as a sparse matrix over people × outcomes, and their right-hand sides."""
    from scipy.sparse import csr_matrix

    people, outcomes = problem.people, problem.outcomes
    row, outcome = np.nonzero(state.sets)
    plus = state.first[row] * outcomes + outcome
    minus = state.second[row] * outcomes + outcome
    limits = _limits(problem, state)
    if problem.distance == "tv":
        up, down, right = np.ones(len(row)), np.ones(len(row)), limits
    else:
        # Balanced scaling: both coefficients multiply to one.
        up, down, right = np.exp(-limits[row] / 2), np.exp(limits[row] / 2), np.zeros(len(limits))
    values = np.concatenate([up, -down])
    place = (np.concatenate([row, row]), np.concatenate([plus, minus]))
    return csr_matrix((values, place), shape=(len(limits), people * outcomes)), right


def _side_rows(problem: Problem) -> tuple[Any, Floats]:
    """Return parity and capacity as rows; parity takes one row a set of outcomes, up to a sign."""
    from scipy.sparse import csr_matrix

    parts: list[Floats] = []
    right: list[float] = []
    for one, two, gap in problem.parity:
        for outcomes in _outcome_sets(problem.outcomes, gap):
            parts.append(np.outer(one - two, outcomes).ravel())
            right.append(gap)
    if problem.image is not None:
        target, gap = problem.image
        for outcomes in _outcome_sets(problem.outcomes, gap):
            parts.append(np.outer(problem.weights, outcomes).ravel())
            right.append(float(target @ outcomes) + gap)
    if problem.capacity is not None:
        for outcome in range(problem.outcomes):
            parts.append(np.outer(problem.weights, np.eye(problem.outcomes)[outcome]).ravel())
            right.append(float(problem.capacity[outcome]))
    if not parts:
        return csr_matrix((0, problem.people * problem.outcomes)), np.zeros(0)
    return csr_matrix(np.array(parts)), np.array(right)


def _outcome_sets(outcomes: int, gap: float) -> Floats:
    """Return the sets of outcomes that a condition on averages needs: single ones if no gap is allowed, else all.

    Shares that sum to one and are nowhere above their target meet it, so without a gap single outcomes are enough.
    """
    if gap == 0.0:
        return np.eye(outcomes)
    if outcomes > LISTED_OUTCOMES:
        raise DomainTooLarge(
            f"A gap above 0 between averages of {outcomes} outcomes takes a row for each set of outcomes here; allow "
            'no gap, or write distance="tv".',
            method="tv",
        )
    numbers = np.arange(1, 2**outcomes - 1)
    return ((numbers[:, None] >> np.arange(outcomes)) & 1).astype(np.float64)


def solve_state(problem: Problem, state: RowState, left: float | None) -> tuple[Floats, float, Floats] | None:
    """Return the best mapping under these rows, a proved lower bound of its objective, and the rows' prices."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, vstack

    people, outcomes = problem.people, problem.outcomes
    size = people * outcomes
    pairs, right = _matrix(problem, state)
    sides, side_right = _side_rows(problem)
    equal = csr_matrix((np.ones(size), (np.repeat(np.arange(people), outcomes), np.arange(size))))
    options: dict[str, Any] = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
    if left is not None:
        options["time_limit"] = left
    scale = max(1e-300, float(np.abs(problem.costs).max()))
    limit = vstack([pairs, sides], format="csr")
    full_right = np.concatenate([right, side_right])
    answer = linprog(
        problem.costs.ravel() / scale, A_ub=limit, b_ub=full_right, A_eq=equal, b_eq=np.ones(people),
        bounds=(0, 1), method="highs", options=options,
    )  # fmt: skip
    if answer.status != 0:
        return None
    prices = np.maximum(-answer.ineqlin.marginals, 0.0) * scale
    # Weak duality with the solver's prices: a bound that holds whatever the solver's word is worth.
    reduced = problem.costs + (limit.T @ prices).reshape(people, outcomes)
    bound = float(reduced.min(axis=1).sum() - full_right @ prices)
    return answer.x.reshape(people, outcomes), bound, prices[: len(right)]


def _add_violated(problem: Problem, state: RowState, rows: Floats, tolerance: float) -> int:
    """Add each person's worst violated rows; return how many are new."""
    found: list[tuple[Integers, Integers, Any]] = []
    for start in range(0, problem.people, BLOCK):
        here = slice(start, min(start + BLOCK, problem.people))
        over, outcome = violation(problem, rows, here)
        over[np.arange(here.stop - here.start), np.arange(here.start, here.stop)] = -1.0
        worst = np.argsort(-over, axis=1)[:, :PER_PERSON]
        first = np.repeat(np.arange(here.stop - here.start), worst.shape[1])
        second = worst.ravel()
        keep = over[first, second] > tolerance
        first, second = first[keep], second[keep]
        person = first + here.start
        if problem.distance == "tv":
            sets = rows[person] > rows[second]
        else:
            sets = np.zeros((len(first), problem.outcomes), dtype=bool)
            sets[np.arange(len(first)), outcome[first, second]] = True
        found.append((person, second, sets))
    first, second, sets = (np.concatenate(part) for part in zip(*found, strict=True))
    return append_rows(state, first, second, sets)


def violation(problem: Problem, rows: Floats, here: slice) -> tuple[Floats, Integers]:
    """Return by how much each pair breaks its row, and for log ratios at which outcome."""
    apart = np.minimum(problem.metric.block(here), LARGEST_LOG_RATIO)
    over = np.zeros(apart.shape)
    outcome = np.zeros(apart.shape, dtype=np.int64)
    if problem.distance == "tv":
        for column in rows.T:
            over += np.maximum(np.subtract.outer(column[here], column), 0.0)
        return over - apart, outcome
    up, down = np.exp(-apart / 2), np.exp(apart / 2)
    over -= 1.0
    for number, column in enumerate(rows.T):
        part = up * column[here, None] - down * column[None, :]
        better = part > over
        over[better], outcome[better] = part[better], number
    return over, outcome
