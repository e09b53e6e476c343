"""Uniform integers, permutations and subsets, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.noise.source import Stream, integer, words

WORD = 1 << 64
LARGEST_ARRAY_BOUND = 1 << 63
DENSE = 32
"""A population up to so many times the size of a subset is worth a flag for each member."""


def uniform_array(stream: Stream, bound: int, size: int) -> NDArray[Any]:
    """Return `size` uniform integers of [0, bound): int64, or Python ints for a bound above 2^63."""
    if bound > LARGEST_ARRAY_BOUND:
        return np.array([integer(stream, bound) for _ in range(size)] or [], dtype=object)
    fresh = words(stream, size)
    # Words from the last incomplete run of `bound` numbers are drawn again, in their own slots.
    surplus = WORD % bound
    slots = np.flatnonzero(fresh > np.uint64(WORD - surplus - 1)) if surplus else ()
    while len(slots):
        fresh[slots] = words(stream, len(slots))
        slots = slots[fresh[slots] > np.uint64(WORD - surplus - 1)]
    return np.remainder(fresh, np.uint64(bound), out=fresh).view(np.int64)


def permutation(stream: Stream, n: int) -> list[int]:
    """Return 0 … n - 1 in a uniformly random order."""
    while True:
        keys = words(stream, n)
        order = np.argsort(keys)
        ranked = keys[order]
        # All orders of distinct keys are equally likely; equal keys, at 2^-64 a pair, start again.
        if not np.any(ranked[1:] == ranked[:-1]):
            ordered: list[int] = order.tolist()
            return ordered


def subset(stream: Stream, population: int, size: int) -> list[int]:
    """Return `size` distinct integers of [0, population), sorted; every such set is equally likely."""
    if population > LARGEST_ARRAY_BOUND:
        return _subset_of_many(stream, population, size)
    if population <= DENSE * size:
        marked = _marked(stream, population, min(size, population - size))
        chosen = np.flatnonzero(marked == (2 * size <= population))
    else:
        chosen = _distinct(stream, population, size)
    numbers: list[int] = chosen.tolist()
    return numbers


def _marked(stream: Stream, population: int, size: int) -> NDArray[np.bool_]:
    """Return flags over the whole population, of which a random `size` are set."""
    marks = np.zeros(population, dtype=np.bool_)
    missing = size
    while missing:
        marks[uniform_array(stream, population, missing)] = True
        missing = size - int(np.count_nonzero(marks))
    return marks


def _distinct(stream: Stream, population: int, size: int) -> NDArray[np.int64]:
    """Draw until `size` numbers differ; never more than are missing, so that none must be dropped."""
    chosen = np.empty(0, dtype=np.int64)
    while len(chosen) < size:
        more = uniform_array(stream, population, size - len(chosen))
        both = np.sort(np.concatenate([chosen, more]))
        chosen = both[np.append(True, both[1:] != both[:-1])]
    return chosen


def _subset_of_many(stream: Stream, population: int, size: int) -> list[int]:
    """Draw one by one; for a large part of a population the complement would be no smaller a list."""
    chosen: set[int] = set()
    while len(chosen) < size:
        chosen.add(integer(stream, population))
    return sorted(chosen)
