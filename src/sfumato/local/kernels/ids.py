"""Ids in sorted records: the smallest value under each of many sorted ids, by galloping from one to the next."""

from __future__ import annotations

import numba
import numpy as np

NONE = -1
"""In place of a value where an id is not there."""


@numba.njit(cache=True, inline="always")
def _order(records, at, ids, row):  # type: ignore[no-untyped-def]
    """Return -1, 0 or 1 as the id of a record is before, equal to or after another one."""
    for place in range(ids.shape[1]):
        one, other = records[at, place], ids[row, place]
        if one != other:
            return -1 if one < other else 1
    return 0


@numba.njit(cache=True, inline="always")
def _first(records, start, ids, row):  # type: ignore[no-untyped-def]
    """Return the first place from `start` on whose id is not before this one."""
    size = len(records)
    low, high, step = start, start, 1
    while high < size and _order(records, high, ids, row) < 0:
        low = high + 1
        high += step
        step *= 2
    high = min(high, size)
    while low < high:
        middle = (low + high) // 2
        if _order(records, middle, ids, row) < 0:
            low = middle + 1
        else:
            high = middle
    return low


@numba.njit(cache=True, nogil=True)
def look_up(records, ids, found):  # type: ignore[no-untyped-def]
    """Lower `found` to the smallest value that the records hold under each id; both are sorted."""
    at = 0
    for row in range(len(ids)):
        at = _first(records, at, ids, row)
        if at < len(records) and _order(records, at, ids, row) == 0:
            value = np.int64(0)
            for place in range(ids.shape[1], records.shape[1]):
                value = value << 8 | np.int64(records[at, place])
            if found[row] == NONE or value < found[row]:
                found[row] = value


@numba.njit(cache=True, nogil=True)
def places(records, ids):  # type: ignore[no-untyped-def]
    """Return where each of some sorted ids begins, or would begin, in sorted records."""
    out = np.zeros(len(ids), dtype=np.int64)
    at = 0
    for row in range(len(ids)):
        at = _first(records, at, ids, row)
        out[row] = at
    return out
