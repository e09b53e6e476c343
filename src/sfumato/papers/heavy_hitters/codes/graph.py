"""Circulant graphs: coordinate m is joined to m + o for a few offsets o, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations


def second_eigenvalue(coordinates: int, offsets: Sequence[int]) -> float:
    """Return the second largest eigenvalue of the graph: the smaller, the better its parts hang together.

    >>> round(second_eigenvalue(14, (2, 3)), 2), round(second_eigenvalue(12, (2, 3)), 2)
    (1.69, 1.0)
    """
    return max(
        sum(2 * math.cos(2 * math.pi * turn * offset / coordinates) for offset in offsets)
        for turn in range(1, coordinates)
    )


@lru_cache(maxsize=64)
def best_offsets(coordinates: int, count: int = 2) -> tuple[int, ...]:
    """Return the offsets, below half of the coordinates, with the smallest second eigenvalue.

    A graph in several pieces has a second eigenvalue as large as its degree, so the best one is in one piece.

    >>> best_offsets(12), round(second_eigenvalue(14, best_offsets(14)), 2)
    ((2, 3), 1.69)
    """
    choices = list(combinations(range(1, (coordinates + 1) // 2), count))
    return min(choices, key=lambda offsets: (round(second_eigenvalue(coordinates, offsets), 9), offsets))
