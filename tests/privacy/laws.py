"""Exact divergences of small finite laws, in floats with far more digits than the tests need."""

from __future__ import annotations

import math
from collections.abc import Sequence

SLACK = 1e-11
"""What floats may be wrong by in these sums."""

Law = Sequence[float]


def renyi(first: Law, second: Law, order: float) -> float:
    """Return D_a(first || second)."""
    logs = []
    for p, q in zip(first, second, strict=True):
        if p == 0:
            continue
        if q == 0:
            return math.inf
        logs.append(order * math.log(p) + (1 - order) * math.log(q))
    top = max(logs)
    return (top + math.log(math.fsum(math.exp(value - top) for value in logs))) / (order - 1)


def worst_renyi(first: Law, second: Law, order: float) -> float:
    return max(renyi(first, second, order), renyi(second, first, order))


def largest_ratio(first: Law, second: Law) -> float:
    """Return D_infinity in both orders."""
    worst = 0.0
    for p, q in zip(first, second, strict=True):
        if (p == 0) != (q == 0):
            return math.inf
        if p:
            worst = max(worst, abs(math.log(p / q)))
    return worst


def mixture(rate: float, first: Law, second: Law) -> list[float]:
    return [rate * p + (1 - rate) * q for p, q in zip(first, second, strict=True)]


def product(first: Law, second: Law) -> list[float]:
    return [p * q for p in first for q in second]


def orders(last: float, count: int = 50) -> list[float]:
    """Return orders from near 1 to last, some whole and some not."""
    start = math.log(0.01)
    span = math.log(last - 1) - start
    smooth = [1 + math.exp(start + span * i / (count - 1)) for i in range(count)]
    return sorted({*smooth[:-1], *(float(k) for k in range(2, math.floor(last) + 1, max(1, int(last) // 10)))})
