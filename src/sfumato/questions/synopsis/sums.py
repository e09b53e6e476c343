"""Exact sums over all small sets of columns: for every set, the weights of the rows in which all of it is flagged.

Sets of j columns are numbered in the order of their bit masks: {a < b < c} has number C(a,1) + C(b,2) + C(c,3).
"""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

LATTICE = 16
"""Up to so many columns all of their subsets are written out."""

CHUNK = 8192
"""So many rows are multiplied at a time."""

EXACT = 2**53
"""Doubles add integers exactly below this."""

LIMB = 26
"""Weights whose sums would not be exact are cut into pieces of so many bits."""


def sets_up_to(size: int, degree: int) -> int:
    """Return how many sets of at most `degree` columns there are.

    >>> sets_up_to(200, 2)
    20101
    """
    return sum(comb(size, width) for width in range(degree + 1))


@lru_cache(maxsize=16)
def listed_sets(size: int, width: int) -> NDArray[np.int32]:
    """Return all sets of `width` columns in their order, one a row, members rising.

    >>> listed_sets(4, 2).tolist()
    [[0, 1], [0, 2], [1, 2], [0, 3], [1, 3], [2, 3]]
    """
    if width == 0:
        return np.zeros((1, 0), np.int32)
    smaller = listed_sets(size, width - 1)
    found = np.empty((comb(size, width), width), np.int32)
    for last in range(width - 1, size):
        start, stop = comb(last, width), comb(last + 1, width)
        found[start:stop, :-1] = smaller[: stop - start]
        found[start:stop, -1] = last
    found.setflags(write=False)
    return found


@lru_cache(maxsize=64)
def ranks(size: int, width: int) -> Integers:
    """Return C(a, width) for every column a: what a column adds to the number of a set as its member `width`."""
    found = np.array([comb(column, width) for column in range(size)], dtype=np.int64)
    found.setflags(write=False)
    return found


def subset_sums(flags: Flags, weights: Integers) -> list[Integers]:
    """Return for each width j, and each set of j columns, the sum of `weights[:, j]` over rows where all are flagged.

    Every sum is exact. Time: products of matrices, about rows·columns^degree/degree! additions; memory: the result.

    >>> flags = np.array([[True, True, False], [True, True, True]])
    >>> [level.tolist() for level in subset_sums(flags, np.array([[1, 1, 1], [4, 4, 4]]))]
    [[5], [5, 5, 4], [5, 4, 4]]
    """
    if int(weights.max(initial=0)) * max(len(weights), 1) < EXACT:
        return _sums(flags, weights)
    low = weights & ((1 << LIMB) - 1)
    return [
        small + (large << LIMB) for small, large in zip(_sums(flags, low), _sums(flags, weights >> LIMB), strict=True)
    ]


def _sums(flags: Flags, weights: Integers) -> list[Integers]:
    size, degree = flags.shape[1], weights.shape[1] - 1
    if size <= LATTICE:
        return [_lattice(flags, weights[:, width], width) for width in range(degree + 1)]
    found = []
    for width in range(degree + 1):
        level = np.zeros(comb(size, width), np.float64)
        _level(flags, weights[:, width].astype(np.float64), width, level)
        found.append(level.astype(np.int64))
    return found


def _lattice(flags: Flags, weights: Integers, width: int) -> Integers:
    """Add up over supersets in the lattice of all sets, one column at a time."""
    size = flags.shape[1]
    masks = flags @ (1 << np.arange(size, dtype=np.int64))
    table = np.bincount(masks, weights=weights, minlength=1 << size).astype(np.int64)
    for column in range(size):
        halves = table.reshape(-1, 2, 1 << column)
        halves[:, 0] += halves[:, 1]
    chosen = np.bitwise_count(np.arange(1 << size, dtype=np.uint64)) == width
    return np.asarray(table[chosen], dtype=np.int64)


def _level(flags: Flags, weights: Floats, width: int, found: Floats) -> None:
    """Add the sums of all sets of one width into `found`; wider sets column by column, the largest member first."""
    if width == 0:
        found += weights.sum()
    elif width == 1:
        for start in range(0, len(flags), CHUNK):
            found += weights[start : start + CHUNK] @ flags[start : start + CHUNK]
    elif width == 2:
        _pairs(flags, weights, found)
    else:
        for last in range(width - 1, flags.shape[1]):
            mine = flags[:, last]
            part = found[comb(last, width) : comb(last + 1, width)]
            _level(flags[mine, :last], weights[mine], width - 1, part)


def _pairs(flags: Flags, weights: Floats, found: Floats) -> None:
    size = flags.shape[1]
    gram = np.zeros((size, size))
    for start in range(0, len(flags), CHUNK):
        block = flags[start : start + CHUNK].astype(np.float64)
        gram += (block * weights[start : start + CHUNK, None]).T @ block
    found += gram[np.tril_indices(size, -1)]


def downward(level: Floats, size: int, width: int) -> Floats:
    """Return for every set of width - 1 the sum of `level` over the sets of `width` that contain it.

    >>> downward(np.array([1.0, 2.0, 4.0]), 3, 2).tolist()
    [3.0, 5.0, 6.0]
    """
    sets = listed_sets(size, width)
    found = np.zeros(comb(size, width - 1))
    for left_out in range(width):
        number = np.zeros(len(sets), np.int64)
        for place, member in enumerate(np.delete(sets, left_out, axis=1).T, start=1):
            number += ranks(size, place)[member]
        found += np.bincount(number, weights=level, minlength=len(found))
    return found
