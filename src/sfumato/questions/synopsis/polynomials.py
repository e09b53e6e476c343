"""Answers of the form: for each query, a weighted sum of known numbers over all small subsets of its columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from sfumato.questions.synopsis.queries import Conjunctions
from sfumato.questions.synopsis.sums import ranks

Floats = NDArray[np.float64]

Factors = Callable[[int, int], Floats]
"""From the number of plain and of negated columns of a query to the factor of a subset with so many of each."""

CHUNK = 16384
"""So many queries are answered at a time."""

WIDE = 64
"""A query with more subsets than so many per column is answered by products of matrices."""


def evaluate(levels: Sequence[Floats], queries: Conjunctions, factors: Factors) -> Floats:
    """Return Σ over subsets T of each query of factor(plain in T, negated in T)·levels[|T|][T].

    Time: as many look-ups as a query has subsets of at most `degree` columns, about 10 ns each, or one product of
    matrices for wide queries.
    """
    found = np.zeros(len(queries))
    for width, negations, rows in queries.by_shape():
        table = factors(width - negations, negations)
        wide = sum(comb(width, size) for size in range(len(levels))) > WIDE * queries.size
        for start in range(0, len(rows), CHUNK):
            part = rows[start : start + CHUNK]
            places = queries.places[part, :width]
            if wide and not negations:
                found[part] = _by_matrices(levels, places, queries.size, table)
            else:
                found[part] = _by_subsets(levels, places, queries.negated[part, :width], queries.size, table)
    return found


def smallest_pair(level: Floats, queries: Conjunctions) -> Floats:
    """Return the smallest number of any two plain columns of each query; infinity if it has fewer than two.

    >>> asked = Conjunctions.of("abc", [("a", "b", "c"), ("a", "c"), ("b", "not c")])
    >>> smallest_pair(np.array([0.5, 0.25, 0.75]), asked).tolist()
    [0.25, 0.25, inf]
    """
    found = np.full(len(queries), np.inf)
    for width, _, rows in queries.by_shape():
        for start in range(0, len(rows), CHUNK):
            part = rows[start : start + CHUNK]
            places, minus = queries.places[part, :width], queries.negated[part, :width]
            for one, two in combinations(range(width), 2):
                number = ranks(queries.size, 1)[places[:, one]] + ranks(queries.size, 2)[places[:, two]]
                value = np.where(minus[:, one] | minus[:, two], np.inf, level[number])
                found[part] = np.minimum(found[part], value)
    return found


def _by_subsets(
    levels: Sequence[Floats],
    places: NDArray[np.int32],
    negated: NDArray[np.bool_],
    size: int,
    table: Floats,
) -> Floats:
    count, width = places.shape
    signed = bool(negated.any())
    numbers = [[ranks(size, order)[places[:, place]] for place in range(width)] for order in range(1, len(levels))]
    found = np.full(count, levels[0][0] * table[0, 0])
    for chosen in range(1, min(len(levels) - 1, width) + 1):
        for members in combinations(range(width), chosen):
            number = numbers[0][members[0]]
            for order, place in enumerate(members[1:], start=1):
                number = number + numbers[order][place]
            if signed:
                minus = np.count_nonzero(negated[:, members], axis=1)
                found += table[chosen - minus, minus] * levels[chosen][number]
            else:
                found += table[chosen, 0] * levels[chosen][number]
    return found


def _by_matrices(levels: Sequence[Floats], places: NDArray[np.int32], size: int, table: Floats) -> Floats:
    flags = np.zeros((len(places), size))
    np.put_along_axis(flags, places.astype(np.int64), 1.0, axis=1)
    return sum(
        (table[width, 0] * _product(level, flags, width) for width, level in enumerate(levels)),
        start=np.zeros(len(places)),
    )


def _product(level: Floats, flags: Floats, width: int) -> Floats:
    """Return Σ of `level` over the subsets of `width` flagged columns, the largest member first."""
    size = flags.shape[1]
    if width == 0:
        return np.full(len(flags), level[0])
    if width == 1:
        return np.asarray(flags @ level)
    if width == 2:
        triangle = np.zeros((size, size))
        triangle[np.tril_indices(size, -1)] = level
        return np.asarray(((flags @ triangle) * flags).sum(axis=1))
    found = np.zeros(len(flags))
    for last in range(width - 1, size):
        mine = np.flatnonzero(flags[:, last])
        part = level[comb(last, width) : comb(last + 1, width)]
        found[mine] += _product(part, flags[mine, :last], width - 1)
    return found
