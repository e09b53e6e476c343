"""What no local protocol can do: floors under the error of a count (LB-BAYES, LB-TAIL, LB-ANTI)."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from sfumato.bounds.floors import Floor, highest, positive
from sfumato.errors import NotProvable
from sfumato.exact import Number, between_zero_and_one, exact, positive_integer
from sfumato.exact.rational import show

_SAFETY = 1 - 1e-6
"""Floats of log-gamma lose up to seven digits for the largest blocks; the floor is lowered by more than that."""
_WINDOW = 12
_MOST_BLOCK = 10**10


def local_count_floor(users: int, epsilon: Number) -> Floor:
    """Return the root-mean-square error that every one-round pure local protocol has when it counts, on some data.

    To a planner: the count of an item held by fewer devices than this is noise on some data, whatever the protocol.
    Blocks of g devices share a fair bit. Their reports tell the bit no better than g randomized responses do, so
    each block keeps a variance of g²·E[s(L)·s(-L)], L being the loss of the responses and s the logistic function;
    blocks are independent. The best g binds. About 0.69·√users/epsilon for a small epsilon.

    >>> round(local_count_floor(10_000, 1).value, 1)
    69.9
    """
    people, rate = positive_integer(users, "users"), positive(epsilon, "epsilon")
    return highest(_block_floor(people, rate, size) for size in _blocks(people, rate))


def local_tail_floor(users: int, epsilon: Number, failure: Number, items: int = 1) -> Floor:
    """Return about which error is exceeded with probability `failure` by the worst of `items` counts.

    A rule of thumb, no theorem: the normal quantile times `local_count_floor`. That the error must grow like
    √log(items/failure) is proved, the constant is not.

    >>> round(local_tail_floor(10_000, 1, 0.05).value)
    137
    """
    missed, count = between_zero_and_one(failure, "failure"), positive_integer(items, "items")
    floor = local_count_floor(users, epsilon)
    quantile = max(0.0, -NormalDist().inv_cdf(max(float(missed / (2 * count)), 1e-300)))
    return Floor(floor.value * quantile, f"{floor.binding}; heuristic")


def leaving_chance(users: int, length: Number, spread: Number = "0.1") -> float:
    """Return how likely a sum of independent bits leaves any given interval of `length`, at least (LB-ANTI).

    `spread` says that every mean lies in [spread, 1 - spread]. The chance is exp(-72·length²/(spread·users)), proved
    for √(1.5·spread·users) <= 2·length <= spread·users/4. To a planner: sums of reports that carry noise cannot be
    concentrated better than this, so errors grow like √(users·log(1/failure)).

    >>> f"{leaving_chance(10_000, 20):.2e}"
    '3.11e-13'
    """
    people, part = positive_integer(users, "users"), exact(spread, "spread")
    width = exact(length, "length")
    if not 0 < part <= 1 / 2:
        raise NotProvable(f"spread must be above 0 and at most 1/2, and {show(part)} is not.", {"spread": part})
    mass = part * people
    if not (3 * mass / 2 <= 4 * width**2 and width > 0 and 8 * width <= mass):
        least, most = math.sqrt(1.5 * mass) / 2, float(mass / 8)
        raise NotProvable(
            f"The bound holds for lengths from {least:.4g} to {most:.4g}, and {show(width)} is outside; "
            "it needs more users if no length is between them.",
            {"length": width, "least": least, "most": most},
        )
    return math.exp(-72 * float(width**2 / mass)) * (1 - 1e-12)


def _blocks(people: int, rate: float) -> list[int]:
    """Return sizes of blocks to try: all small ones, then a fine geometric grid up to far beyond the best."""
    most = min(people, _MOST_BLOCK, int(64 / rate**2) + 16)
    grid = (int(16 * 1.05**step) for step in range(int(math.log(max(most, 16) / 16) / math.log(1.05)) + 2))
    return sorted({size for size in (*range(1, 17), *grid) if size <= most} | {most})


def _block_floor(people: int, rate: float, size: int) -> Floor:
    variance = people // size * size**2 * _left_variance(size, rate) * _SAFETY
    return Floor(math.sqrt(variance), f"blocks of {size}")


def _left_variance(size: int, rate: float) -> float:
    """Return E[s(L)·s(-L)] for L = rate·(2J - size); what lies far from the mean is left out, which lowers it."""
    true = 1 / (1 + math.exp(-rate))
    mean, spread = size * true, math.sqrt(size * true * (1 - true))
    first, last = max(0, int(mean - _WINDOW * spread) - 1), min(size, int(mean + _WINDOW * spread) + 1)
    count = np.arange(first, last + 1, dtype=np.float64)
    ratio = np.log((size - count[:-1]) / (count[:-1] + 1)) + rate
    start = math.lgamma(size + 1) - math.lgamma(first + 1) - math.lgamma(size - first + 1)
    start += first * math.log(true) + (size - first) * math.log1p(-true)
    mass = np.exp(start + np.concatenate([[0.0], np.cumsum(ratio)]))
    loss = np.abs(rate * (2 * count - size))
    small = np.exp(-loss)
    return float(mass @ (small / (1 + small) ** 2))
