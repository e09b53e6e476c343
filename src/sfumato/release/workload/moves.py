"""How far stacked integers move when one row comes, goes or changes: exact where it is small, a bound elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.sensitivity import Sensitivity

PAIRED = 2**24
"""Differences of all pairs of cells are looked at up to so many numbers."""

NOTHING = Sensitivity(Fraction(0), Fraction(0), Fraction(0), 0)


def counted(changed: int) -> Sensitivity:
    """Return the bounds where so many counts move by one each.

    >>> counted(2).l2_squared
    Fraction(2, 1)
    """
    return Sensitivity(Fraction(changed), Fraction(changed), Fraction(min(changed, 1)), changed)


def stacked(parts: Iterable[Sensitivity]) -> Sensitivity:
    """Return bounds for vectors written below each other, each with its own bounds.

    >>> stacked([counted(2), counted(2), counted(1)]).l1
    Fraction(5, 1)
    """
    l1 = squares = largest = Fraction(0)
    changed = 0
    for part in parts:
        l1 += part.l1
        squares += part.l2_squared
        largest = max(largest, part.largest)
        changed += part.changed
    return Sensitivity(l1, squares, largest, changed)


def repeated(moves: Sensitivity, rows: int) -> Sensitivity:
    """Return the bounds where up to so many rows move, each as far as one.

    Norms add up: l1, the root of l2² and the largest coordinate grow by the number of rows.
    """
    return Sensitivity(rows * moves.l1, rows**2 * moves.l2_squared, rows * moves.largest, rows * moves.changed)


def added_to(matrix: NDArray[np.int64]) -> Sensitivity:
    """Return the exact bounds of one column of a matrix, whichever it is."""
    return _largest(matrix)


def replaced_in(matrix: NDArray[np.int64], shape: Sequence[int], moving: Sequence[bool]) -> Sensitivity:
    """Return the bounds of the difference of two columns whose cells agree on all axes that do not move.

    Exact over all pairs where these are few. Elsewhere: the range of every query, added up (PDP-PROJ), or what two
    whole columns add up to.
    """
    fibres = _fibres(matrix, shape, moving)  # queries × fixed cells × moving cells
    queries, fixed, cells = fibres.shape
    if cells < 2:
        return NOTHING
    if queries * fixed * cells**2 <= 4 * PAIRED:
        found = NOTHING
        for place in range(cells):
            apart = fibres - fibres[:, :, place : place + 1]
            found = found.cover(_largest(apart.reshape(queries, -1)))
        return found
    ranges = (fibres.max(axis=2) - fibres.min(axis=2)).max(axis=1)
    bound = _largest(ranges.reshape(-1, 1))
    single = _largest(matrix)
    # |a - b|² <= 2(|a|² + |b|²) for any two columns; without the factor where no entry is below zero.
    factor = 2 if (matrix < 0).any() else 1
    twice = Sensitivity(2 * single.l1, 2 * factor * single.l2_squared, 2 * single.largest, 2 * single.changed)
    return bound.narrow(twice)


def _fibres(matrix: NDArray[np.int64], shape: Sequence[int], moving: Sequence[bool]) -> NDArray[np.int64]:
    table = matrix.reshape(len(matrix), *shape)
    still = [1 + axis for axis, free in enumerate(moving) if not free]
    free = [1 + axis for axis, free in enumerate(moving) if free]
    fixed = prod(shape[axis - 1] for axis in still)
    return table.transpose(0, *still, *free).reshape(len(matrix), fixed, -1)


def _largest(columns: NDArray[np.int64]) -> Sensitivity:
    """Return the largest norms of any column."""
    if not columns.size:
        return NOTHING
    sizes = np.abs(columns)
    return Sensitivity(
        Fraction(int(sizes.sum(axis=0).max())),
        Fraction(int((sizes**2).sum(axis=0).max())),
        Fraction(int(sizes.max())),
        int((sizes > 0).sum(axis=0).max()),
    )


def odd_overlaps(sets: Sequence[frozenset[str]], names: Sequence[str]) -> int | None:
    """Return the largest number of sets that one subset of `names` meets in an odd number of elements.

    The number for a subset x is (m - Σ_A (-1)^|A ∩ x|)/2, and the sums over all x at once are one Walsh-Hadamard
    transform of 2^names numbers. None if there are too many names for it.
    """
    if len(names) > 20:
        return None
    places = {name: place for place, name in enumerate(names)}
    sums = np.zeros(1 << len(names), dtype=np.int64)
    for members in sets:
        sums[sum(1 << places[name] for name in members if name in places)] += 1
    for place in range(len(names)):
        pairs = sums.reshape(-1, 2, 1 << place)
        sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
    return int((len(sets) - sums.min()) // 2)


def even_meeting(width: int, attributes: int, changing: int) -> int:
    """Return the most sets of `width` out of `attributes` that meet some subset of `changing` of them oddly.

    max over c' <= c of Σ_{j odd} C(c', j)·C(d - c', k - j) (PDP-PROJ; printed: all sets, true for odd k only).

    >>> even_meeting(2, 6, 6), even_meeting(3, 6, 6)
    (9, 20)
    """
    return max(
        sum(comb(moved, odd) * comb(attributes - moved, width - odd) for odd in range(1, width + 1, 2) if odd <= moved)
        for moved in range(changing + 1)
    )
