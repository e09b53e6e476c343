"""From a solver's answer to a mapping that is exactly fair: mix it with a constant by just enough.

Solvers hold constraints up to a tolerance; fairness is relative to distances that may be smaller than it.
"""

from __future__ import annotations

import numpy as np

from sfumato.fair.grid import ONE, Floats, to_grid_rows
from sfumato.fair.mapping.problem import Problem
from sfumato.fair.metric.base import Metric
from sfumato.fair.pairs.divergence import divergence_block, rounding_factor

BLOCK = 512
ROUNDS = 6


def make_exact(problem: Problem, probabilities: Floats) -> Floats:
    """Return a mapping near the given one that keeps every distance exactly.

    Total variation: shrink towards the best constant (F5). Log ratios: mix with the uniform distribution, which also
    gives everybody full support.
    """
    rows = np.maximum(probabilities, 0.0)
    rows /= rows.sum(axis=1, keepdims=True)
    if problem.distance == "tv":
        return _shrink(problem, rows)
    return _mix_uniform(problem.metric, rows)


def _shrink(problem: Problem, rows: Floats) -> Floats:
    constant = problem.best_constant()
    # Rounding to whole units can move a pair apart by this much, so the shrinking leaves that room.
    room = 4.0 * rows.shape[1] / ONE
    share = _share_to_shrink(problem.metric, rows, room)
    mixed = to_grid_rows((1.0 - share) * rows + share * constant)
    return mixed if share < 1.0 else np.tile(to_grid_rows(constant[None, :]), (len(rows), 1))


def _share_to_shrink(metric: Metric, rows: Floats, room: float) -> float:
    share = 0.0
    for start in range(0, len(rows), BLOCK):
        here = slice(start, min(start + BLOCK, len(rows)))
        treated = divergence_block(rows[here], rows, "tv")
        apart = metric.block(here)
        over = treated > np.maximum(apart - room, 0.0)
        if over.any():
            share = max(share, float((1.0 - np.maximum(apart[over] - room, 0.0) / treated[over]).max()))
    return min(1.0, share * (1 + 1e-12) + (1e-15 if share else 0.0))


def _mix_uniform(metric: Metric, rows: Floats) -> Floats:
    factor = rounding_factor("inf", rows.shape[1], exact=False)
    outcomes = rows.shape[1]
    for _ in range(ROUNDS):
        share = 0.0
        for start in range(0, len(rows), BLOCK):
            here = slice(start, min(start + BLOCK, len(rows)))
            apart = np.minimum(metric.block(here), 700.0)
            treated = divergence_block(rows[here], rows, "inf") * factor
            first, second = np.nonzero(treated > apart)
            if len(first):
                share = max(share, _uniform_share(rows[here][first], rows[second], apart[first, second], outcomes))
        if share == 0.0:
            break
        share = min(1.0, share * (1 + 1e-9) + 1e-13)
        rows = (1.0 - share) * rows + share / outcomes
    return rows


def _uniform_share(first: Floats, second: Floats, apart: Floats, outcomes: int) -> float:
    """Return the share of the uniform distribution that brings each pair within its distance."""
    allowed = np.exp(apart * (1 - 1e-12))[:, None]
    over = np.maximum(first - allowed * second, second - allowed * first).max(axis=1)
    over = np.maximum(over, 0.0) + 1e-16
    slack = np.expm1(apart * (1 - 1e-12)) / outcomes
    return float((over / (over + slack)).max())
