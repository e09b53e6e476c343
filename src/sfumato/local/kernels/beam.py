"""Room in a beam: no prefix may fill it with its descendants."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def _thin(families, score, passes, most):  # type: ignore[no-untyped-def]
    start = 0
    while start < len(score):
        end = start
        count = 0
        while end < len(score) and families[end] == families[start]:
            count += passes[end]
            end += 1
        if count > most:
            values = score[start:end][passes[start:end]]
            least = np.partition(values, count - most)[count - most]
            for place in range(start, end):
                if score[place] < least:
                    passes[place] = False
        start = end


def thin_families(families: Any, score: Any, passes: Any, most: int) -> None:
    """Leave in `passes` only the `most` best of each family; members of one family stand together.

    >>> passes = np.ones(5, dtype=np.bool_)
    >>> thin_families(np.array([7, 7, 7, 9, 9]), np.array([1.0, 3.0, 2.0, 0.0, 5.0]), passes, 2)
    >>> passes.tolist()
    [False, True, True, True, True]
    """
    _thin(families, score, passes, most)
