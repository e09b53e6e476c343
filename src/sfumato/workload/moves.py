"""How far stacked integers move when one row comes, goes or changes: exact where it is small, a bound elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import UnsupportedSpend
from sfumato.noise import Priced
from sfumato.perturb import calibrate
from sfumato.privacy import EVERYTHING, Attributes, Bound
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.table.gauge import Gauge

PAIRED = 2**24
"""Differences of all pairs of cells are looked at up to so many numbers."""

AT_ONCE = 2**21
"""So many pairs are held in memory at a time."""

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
    return moves.times(rows)


def added_to(matrix: NDArray[np.int64]) -> Sensitivity:
    """Return the exact bounds of one column of a matrix, whichever it is."""
    return _largest(matrix)


def replaced_in(matrix: NDArray[np.int64], shape: Sequence[int], moving: Sequence[bool]) -> Sensitivity:
    """Return the bounds of the difference of two columns whose cells agree on all axes that do not move.

    Exact over all pairs of different columns where these are few: cells that every query treats alike are one.
    Elsewhere the largest coordinate is exact, and the sums are bounded by the range of every query, added up
    (PDP-PROJ), or by what two whole columns add up to.

    >>> disjoint = np.repeat(np.eye(3, 4, dtype=np.int64), 50_000, axis=1)
    >>> replaced_in(disjoint, (200_000,), (True,)).l1
    Fraction(2, 1)
    """
    fibres = _fibres(matrix, shape, moving)  # queries × fixed cells × moving cells
    if fibres.shape[2] < 2:
        return NOTHING
    different: dict[bytes, NDArray[np.int64]] = {}
    for fibre in fibres.transpose(1, 2, 0):
        found = distinct(fibre)
        if len(found) > 1:
            different[found.tobytes()] = found
    ranges = (fibres.max(axis=2) - fibres.min(axis=2)).max(axis=1)
    bound = _largest(ranges.reshape(-1, 1)).narrow(twice(_largest(matrix), bool((matrix < 0).any())))
    if sum(pairing_work(fibre) for fibre in different.values()) > 4 * PAIRED:
        return bound
    exact = NOTHING
    for fibre in different.values():
        step = max(1, AT_ONCE // len(fibre))
        for start in range(0, len(fibre), step):
            l1, squares, changed = (int(sums.max()) for sums in apart(fibre[start : start + step], fibre))
            exact = exact.cover(Sensitivity(Fraction(l1), Fraction(squares), bound.largest, changed))
    return exact


def apart(some: NDArray[np.int64], others: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return for all pairs of rows the sum of |a - b|, that of (a - b)², and how many entries differ.

    >>> [sums.tolist() for sums in apart(np.array([[1, 0]]), np.array([[1, 0], [0, 3]]))]
    [[[0, 4]], [[0, 10]], [[0, 2]]]
    """
    if _zeros_and_ones(some) and _zeros_and_ones(others):
        # |a| + |b| - 2ab; sums of so few ones are exact in doubles, and doubles have the fast product.
        both = (some.astype(np.float64) @ others.astype(np.float64).T).astype(np.int64)
        found = some.sum(axis=1)[:, None] + others.sum(axis=1)[None, :] - 2 * both
        return found, found, found
    sums = np.zeros((3, len(some), len(others)), dtype=np.int64)
    for place, row in enumerate(some):
        sizes = np.abs(others - row)
        sums[:, place] = sizes.sum(axis=1), (sizes**2).sum(axis=1), (sizes > 0).sum(axis=1)
    return tuple(sums)


def pairing_work(vectors: NDArray[np.int64]) -> int:
    """Return about how many numbers `apart` looks at; products of zeros and ones are much faster."""
    cells, queries = vectors.shape
    return int(cells**2 * (1 + queries // 400 if _zeros_and_ones(vectors) else queries))


def _zeros_and_ones(vectors: NDArray[np.int64]) -> bool:
    return bool(((vectors == 0) | (vectors == 1)).all())


def twice(single: Sensitivity, signed: bool) -> Sensitivity:
    """Return bounds of the difference of two vectors from those of each.

    |a - b|² <= 2(|a|² + |b|²) for any two; without the factor where no entry is below zero.
    """
    squares = (4 if signed else 2) * single.l2_squared
    return Sensitivity(2 * single.l1, squares, (2 if signed else 1) * single.largest, 2 * single.changed)


def distinct(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return every row of a matrix once, in the order in which they first occur.

    >>> distinct(np.array([[1, 0], [0, 1], [1, 0]])).tolist()
    [[1, 0], [0, 1]]
    """
    fresh = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))  # neighbours are alike more often than not
    rows = rows[fresh[: len(rows)]]
    # One byte a number where it fits: hashing then reads an eighth.
    fits = bool(rows.size) and rows.min() >= -128 and rows.max() < 128
    short: NDArray[Any] = np.ascontiguousarray(rows.astype(np.int8) if fits else rows)
    first: dict[bytes, int] = {}
    for place, row in enumerate(short):
        first.setdefault(row.tobytes(), place)
    return np.ascontiguousarray(rows[list(first.values())])


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


def odd_moves(sets: Sequence[Sequence[str]], moving: Mapping[str, bool], signed: bool) -> Sensitivity:
    """Return how far the parities of some sets of bits move together when some columns may.

    Exact for all sets of one width and where at most 20 bits move; elsewhere every set with such a bit is counted.

    >>> pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    >>> odd_moves(pairs, dict.fromkeys("abc", True), signed=False).l1
    Fraction(2, 1)
    """
    seen = {name for members in sets for name in members}
    free = [name for name in sorted(seen) if moving[name]]
    members = [frozenset(names) for names in sets]
    widths = {len(names) for names in members}
    width = min(widths)
    if len(widths) == 1 and len(set(members)) == len(members) == comb(len(seen), width):
        odd: int | None = even_meeting(width, len(seen), len(free))
    else:
        odd = odd_overlaps(members, free)
    moves = counted(sum(not names.isdisjoint(free) for names in members) if odd is None else odd)
    step = 2 if signed else 1
    return Sensitivity(step * moves.l1, step**2 * moves.l2_squared, step * moves.largest, moves.changed)


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


def fitted_noise(
    gauge: Gauge, spend: Bound, moves: Sensitivity, singles: Mapping[str, Sensitivity], draws: int
) -> tuple[Priced, Attributes]:
    """Return the noise of so many numbers that fits a spend, and the attributes whose loss it counts.

    `moves` is how far a person moves the numbers, `singles` how far each attribute does that moves them on its own.
    """
    if spend.unit == "attribute" and not singles:
        raise UnsupportedSpend(
            "No single attribute moves these numbers, only whole people do, so no spend per attribute pays for them; "
            "spend per person."
        )
    reads = (frozenset(singles) if singles and gauge.matched else gauge.attributes) or EVERYTHING
    noise = calibrate(
        spend,
        moves,
        by_attribute=singles or None,
        draws=draws,
        relation=gauge.relation,
        reads=reads,
        gaussians=gauge.gaussians,
    )
    return noise.law, reads
