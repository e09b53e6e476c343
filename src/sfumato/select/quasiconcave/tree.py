"""The binary tree over an ordered domain: how many people share a node, at every level at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any


def inside(values: Iterable[Any], last: int) -> list[int]:
    """Return the values sorted, each moved into [0, last]: data are repaired one by one, never refused.

    Fractions are rounded down; what is no finite number counts as 0.

    >>> inside([7.9, -3, 2**80, float("nan"), None], last=9)
    [0, 0, 0, 7, 9]
    """
    return sorted(min(max(_whole(value), 0), last) for value in values)


def _whole(value: Any) -> int:
    if isinstance(value, Integral):
        return int(value)
    return math.floor(float(value)) if isinstance(value, Real) and math.isfinite(value) else 0


def clamped(values: Iterable[Any], bits: int) -> list[int]:
    """Return the values sorted, each moved into [0, 2^bits)."""
    return inside(values, (1 << bits) - 1)


def fullest(ordered: Sequence[int], bits: int) -> list[int]:
    """Return for each level 0, ..., bits the largest number of values that share a node x >> level.

    Neighbours in order share a node from the level on at which their first different bit is gone, so runs are
    joined level by level. Time O(n·log(n) + bits), memory O(n).

    >>> fullest([0, 0, 3, 4], bits=3)
    [2, 2, 3, 4]
    """
    count = len(ordered)
    joins: list[list[int]] = [[] for _ in range(bits + 1)]
    for place in range(count - 1):
        joins[(ordered[place] ^ ordered[place + 1]).bit_length()].append(place)
    # A run is known by its two ends, each of which names the other one.
    first, last = list(range(count)), list(range(count))
    best, found = min(count, 1), []
    for places in joins:
        for place in places:
            start, end = first[place], last[place + 1]
            last[start], first[end] = end, start
            best = max(best, end - start + 1)
        found.append(best)
    return found


def node_counts(ordered: Sequence[int], level: int) -> dict[int, int]:
    """Return how many values are in each node of a level that holds any, in rising order of the nodes."""
    counts: dict[int, int] = {}
    for value in ordered:
        node = value >> level
        counts[node] = counts.get(node, 0) + 1
    return counts
