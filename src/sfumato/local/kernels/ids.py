"""A table from report ids of sixteen bytes to numbers: open addressing, keyed so that nobody can aim at one place."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

EMPTY = -1


@numba.njit(cache=True, inline="always")
def _turn(word, bits):  # type: ignore[no-untyped-def]
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


@numba.njit(cache=True, inline="always")
def _round(a, b, c, d):  # type: ignore[no-untyped-def]
    a += b
    b = _turn(b, 13) ^ a
    a = _turn(a, 32)
    c += d
    d = _turn(d, 16) ^ c
    a += d
    d = _turn(d, 21) ^ a
    c += b
    b = _turn(b, 17) ^ c
    c = _turn(c, 32)
    return a, b, c, d


@numba.njit(cache=True)
def keyed_hash(first, second, key):  # type: ignore[no-untyped-def]
    """Return SipHash-1-3 of sixteen bytes, given as two words."""
    a = key[0] ^ np.uint64(0x736F6D6570736575)
    b = key[1] ^ np.uint64(0x646F72616E646F6D)
    c = key[0] ^ np.uint64(0x6C7967656E657261)
    d = key[1] ^ np.uint64(0x7465646279746573)
    for word in (first, second, np.uint64(16 << 56)):
        d ^= word
        a, b, c, d = _round(a, b, c, d)
        a ^= word
    c ^= np.uint64(0xFF)
    for _ in range(3):
        a, b, c, d = _round(a, b, c, d)
    return a ^ b ^ c ^ d


@numba.njit(cache=True, inline="always")
def _slot(keys, values, first, second, key):  # type: ignore[no-untyped-def]
    """Return the place of an id, or the empty place where it belongs."""
    mask = np.uint64(len(values) - 1)
    at = keyed_hash(first, second, key) & mask
    while values[at] != EMPTY and (keys[at, 0] != first or keys[at, 1] != second):
        at = (at + np.uint64(1)) & mask
    return at


@numba.njit(cache=True, nogil=True)
def put(keys, values, key, ids, numbers, counts):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Give every id its smallest number, keep `counts` of the numbers in step; return a mask of what changed.

    The mask is 1 where an id was new, 2 where a known one got a smaller number, 0 where nothing changed.
    """
    changed = np.zeros(len(ids), dtype=np.uint8)
    for row in range(len(ids)):
        at = _slot(keys, values, ids[row, 0], ids[row, 1], key)
        old = values[at]
        if old == EMPTY:
            keys[at, 0], keys[at, 1] = ids[row, 0], ids[row, 1]
            changed[row] = 1
        elif numbers[row] < old:
            counts[old] -= 1
            changed[row] = 2
        else:
            continue
        values[at] = numbers[row]
        counts[numbers[row]] += 1
    return changed


@numba.njit(cache=True, nogil=True)
def move(keys, values, key, new_keys, new_values):  # type: ignore[no-untyped-def]
    """Move all ids into a larger table."""
    for row in range(len(values)):
        if values[row] != EMPTY:
            at = _slot(new_keys, new_values, keys[row, 0], keys[row, 1], key)
            new_keys[at, 0], new_keys[at, 1] = keys[row, 0], keys[row, 1]
            new_values[at] = values[row]


def empty_table(slots: int) -> tuple[Any, Any]:
    """Return keys and values of a table with a power of two of places."""
    return np.zeros((slots, 2), dtype=np.uint64), np.full(slots, EMPTY, dtype=np.int64)
