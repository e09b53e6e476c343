"""Total variation with many outcomes and side conditions: one variable more for each pair and outcome, on HiGHS.

For a pair, s(a) >= M(x)(a) - M(y)(a), s >= 0 and sum s <= d say exactly that the total variation is at most d. Parity
between two groups is one more such pair, of averages. Pairs are added as they are violated.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from sfumato.fair.grid import Floats, Integers
from sfumato.fair.mapping.problem import Problem
from sfumato.fair.mapping.rows import RowAnswer, violation

FIRST_NEIGHBOURS = 3
PER_PERSON = 3
BLOCK = 512


def solve_extended(problem: Problem, tolerance: float, deadline: float | None) -> RowAnswer:
    """Return the best mapping found, by rounds of solving and adding the worst violated pairs."""
    people = problem.people
    near = problem.metric.neighbours(FIRST_NEIGHBOURS)
    keys = _keys(people, np.repeat(np.arange(people), near.shape[1]), near.ravel())
    bound, rows, prices, rounds = float(problem.costs.min(axis=1).sum()), None, np.zeros(0), 0
    used = keys[:0]
    finished = False
    while not finished:
        left = None if deadline is None else deadline - time.monotonic()
        answer = None if left is not None and left <= 0 else solve_pairs(problem, keys // people, keys % people, left)
        if answer is None:
            break
        rows, proved, prices = answer
        bound, used, rounds = max(bound, proved), keys, rounds + 1
        fresh = np.setdiff1d(_violated(problem, rows, tolerance), keys)
        finished = not len(fresh)
        keys = np.union1d(keys, fresh)
    return RowAnswer(rows, bound, used // people, used % people, prices, finished, rounds)


def _keys(people: int, first: Integers, second: Integers) -> Integers:
    return np.unique(np.minimum(first, second) * people + np.maximum(first, second))


def _violated(problem: Problem, rows: Floats, tolerance: float) -> Integers:
    found = [np.zeros(0, dtype=np.int64)]
    for start in range(0, problem.people, BLOCK):
        here = slice(start, min(start + BLOCK, problem.people))
        over, _ = violation(problem, rows, here)
        worst = np.argsort(-over, axis=1)[:, :PER_PERSON]
        person = np.repeat(np.arange(here.stop - here.start), worst.shape[1])
        keep = over[person, worst.ravel()] > tolerance
        found.append(_keys(problem.people, person[keep] + start, worst.ravel()[keep]))
    return np.unique(np.concatenate(found))


def _contrasts(problem: Problem, first: Integers, second: Integers) -> tuple[Any, Floats]:
    """Return one row a pair (+1 and -1) and one for each condition on averages, and their limits."""
    from scipy.sparse import csr_matrix, vstack

    count = len(first)
    place = (np.tile(np.arange(count), 2), np.concatenate([first, second]))
    values = np.concatenate([np.ones(count), -np.ones(count)])
    pairs = csr_matrix((values, place), shape=(count, problem.people))
    limits = problem.metric.between(first, second)
    averages = [one - two for one, two, _ in problem.parity] + ([problem.weights] if problem.image else [])
    gaps = [gap for _, _, gap in problem.parity] + ([problem.image[1]] if problem.image else [])
    if not averages:
        return pairs, limits
    return vstack([pairs, csr_matrix(np.array(averages))], format="csr"), np.append(limits, gaps)


def _offsets(problem: Problem, count: int) -> Floats:
    """Return what each contrast is compared with: nothing, or the target of all people together (the last row)."""
    offsets = np.zeros((count, problem.outcomes))
    if problem.image is not None:
        offsets[-1] = problem.image[0]
    return offsets


def solve_pairs(
    problem: Problem, first: Integers, second: Integers, left: float | None
) -> tuple[Floats, float, Floats] | None:
    """Return the best mapping under these pairs alone, a proved lower bound of its objective, and a price a pair."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, hstack, identity, kron, vstack

    people, outcomes = problem.people, problem.outcomes
    contrasts, limits = _contrasts(problem, first, second)
    count = len(limits)
    each = identity(outcomes)
    differences = hstack([kron(contrasts, each), -identity(count * outcomes)])
    sums = hstack([csr_matrix((count, people * outcomes)), kron(identity(count), np.ones((1, outcomes)))])
    blocks, right = [differences, sums], [_offsets(problem, count).ravel(), limits]
    if problem.capacity is not None:
        room = kron(problem.weights[None, :], each)
        blocks.append(hstack([room, csr_matrix((outcomes, count * outcomes))]))
        right.append(problem.capacity)
    equal = hstack([kron(identity(people), np.ones((1, outcomes))), csr_matrix((people, count * outcomes))])
    scale = max(1e-300, float(np.abs(problem.costs).max()))
    options = {} if left is None else {"time_limit": left}
    answer = linprog(
        np.append(problem.costs.ravel() / scale, np.zeros(count * outcomes)),
        A_ub=vstack(blocks, format="csr"), b_ub=np.concatenate(right), A_eq=equal.tocsr(), b_eq=np.ones(people),
        bounds=(0, 1), method="highs", options=options,
    )  # fmt: skip
    if answer.status != 0:
        return None
    prices = np.maximum(-answer.ineqlin.marginals, 0.0) * scale
    return _proved(problem, contrasts, limits, answer.x[: people * outcomes].reshape(people, outcomes), prices)


def _proved(
    problem: Problem, contrasts: Any, limits: Floats, rows: Floats, prices: Floats
) -> tuple[Floats, float, Floats]:
    """Return rows, the bound that the prices prove by weak duality, and one price a pair."""
    count, outcomes = len(limits), problem.outcomes
    each = prices[: count * outcomes].reshape(count, outcomes)
    reduced = problem.costs + contrasts.T @ each
    dearest = each.max(axis=1, initial=0.0)
    bound = -float(limits @ dearest) - float((_offsets(problem, count) * each).sum())
    if problem.capacity is not None:
        room = prices[count * outcomes + count :]
        reduced = reduced + problem.weights[:, None] * room
        bound -= float(problem.capacity @ room)
    return (
        rows,
        bound + float(reduced.min(axis=1).sum()),
        dearest[: count - len(problem.parity) - (problem.image is not None)],
    )
