"""Linear hashing in bulk: placing reports, looking items up, taking them out; and the room of each family in a beam."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_ROW_BLOCK = 1 << 12
"""So many sums are kept at a time."""


@numba.njit(cache=True, inline="always")
def _parity(word):  # type: ignore[no-untyped-def]
    word ^= word >> np.uint32(16)
    word ^= word >> np.uint32(8)
    word ^= word >> np.uint32(4)
    word ^= word >> np.uint32(2)
    word ^= word >> np.uint32(1)
    return word & np.uint32(1)


@numba.njit(cache=True, nogil=True)
def _place(words, drawn, column_bits, symbol_bits, out):  # type: ignore[no-untyped-def]
    mask = np.uint32((1 << column_bits) - 1)
    for row in range(len(drawn)):
        column = np.uint32(drawn[row]) & mask
        symbol = np.int64(0)
        for place in range(symbol_bits):
            word = words[row, place]
            symbol |= np.int64(_parity(word & column) ^ (word >> np.uint32(31))) << place
        out[row] = symbol << column_bits | np.int64(column)


def place_words(words: Any, drawn: Any, column_bits: int, symbol_bits: int) -> Any:
    """Return the reports that speak for the hashed items, moved from uniform ones."""
    out = np.empty(len(drawn), dtype=np.int64)
    _place(np.asarray(words, dtype=np.uint32), drawn, column_bits, symbol_bits, out)
    return out


@numba.njit(cache=True, inline="always")
def _load(words, column_bits, unit, sums):  # type: ignore[no-untyped-def]
    """Write the xor of every set of words: a cell in the low bits, a sign in the highest one.

    With `unit`, each word also carries the bit of its own symbol.
    """
    keep = np.uint32((1 << column_bits) - 1) | np.uint32(1 << 31)
    sums[0] = 0
    size = 1
    for place in range(len(words)):
        word = words[place] & keep
        if unit:
            word |= np.uint32(1 << (column_bits + place))
        for at in range(size):
            sums[size + at] = sums[at] ^ word
        size *= 2


@numba.njit(cache=True, nogil=True, fastmath=True)
def _look_up(table, words, children, column_bits, out):  # type: ignore[no-untyped-def]
    """Go through the symbols outside and the rows inside: one symbol's part of the table stays in the first cache."""
    size = 1 << words.shape[1]
    kinds = len(children)
    child = np.zeros((kinds, size), dtype=np.uint32)
    for place in range(kinds):
        _load(children[place], column_bits, False, child[place])
    by_symbol = np.ascontiguousarray(child.T)
    mask = np.uint32(len(table) - 1)
    block = max(1, _ROW_BLOCK // kinds)
    parents = np.zeros((block, size), dtype=np.uint32)
    total = np.zeros((block, kinds), dtype=np.float32)
    for start in range(0, len(words), block):
        rows = min(block, len(words) - start)
        for row in range(rows):
            _load(words[start + row], column_bits, True, parents[row])
        total[:] = 0
        for at in range(1, size):
            for row in range(rows):
                parent = parents[row, at]
                for place in range(kinds):
                    entry = parent ^ by_symbol[at, place]
                    sign = np.float32(1) - np.float32(2) * np.float32(entry >> np.uint32(31))
                    total[row, place] += sign * np.float32(table[entry & mask])
        out[start : start + rows] = total[:rows]


def look_up(table: Any, words: Any, column_bits: int) -> Any:
    """Return the sum of the q - 1 cells of each hashed item."""
    return look_up_children(table, words, np.zeros((1, words.shape[1]), dtype=np.uint32), column_bits)[:, 0]


def look_up_children(table: Any, words: Any, children: Any, column_bits: int) -> Any:
    """Return the sums of items whose hash is that of a parent (row) xor that of a child (column)."""
    out = np.empty((len(words), len(children)), dtype=np.float32)
    _look_up(table, words, children, column_bits, out)
    return out


@numba.njit(cache=True, nogil=True)
def _take_out(table, words, column_bits, amounts):  # type: ignore[no-untyped-def]
    size = 1 << words.shape[1]
    sums = np.zeros(size, dtype=np.uint32)
    mask = np.uint32(len(table) - 1)
    for row in range(len(words)):
        _load(words[row], column_bits, True, sums)
        for at in range(1, size):
            sign = 1.0 - 2.0 * (sums[at] >> np.uint32(31))
            table[sums[at] & mask] -= sign * amounts[row]


def take_out(table: Any, words: Any, column_bits: int, amounts: Any) -> None:
    """Subtract the signed amount of each hashed item from its q - 1 cells, in place."""
    _take_out(table, words, column_bits, np.asarray(amounts, dtype=np.float64))


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
