"""Answers to many linear queries at once, from tables over the columns that they touch and no others."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DomainTooLarge
from sfumato.questions.conversation.queries import Box, LinearQuery
from sfumato.workload.space import LISTED, Space

MOST_NUMBERS = 2**24
"""Numbers kept in running totals at a time: 128 MiB."""

GROUP = 16
"""Cells of the groups of axes over which sums of a large table are kept."""
DENSE = 2**20
"""Up to so many cells the exact counts are written out once; sums over them are quicker than passes over the rows."""

CORNERS = 8
"""Up to so many columns a box is read from the corners of running totals, 2 for each; above it is summed."""


class QuickSums:
    """Sums over cells, exact for integers and quick for boxes: running totals over the touched columns are kept.

    `table` gives the counts, or the probabilities, over some columns. Memory: 8 bytes for each cell of the column
    sets that were asked about, 128 MiB at most; the oldest go first.
    """

    def __init__(self, space: Space, table: Callable[[Sequence[str]], NDArray[Any]]) -> None:
        self._space = space
        self._table = table
        self._totals = _Kept(self._running)
        self._tables = _Kept(lambda names: np.asarray(table(names)))

    def of(self, queries: Sequence[LinearQuery]) -> NDArray[Any]:
        """Return the sum of each query's whole numbers over all cells, weighed by the table."""
        if len(queries) == 1:
            return np.array([self.one(queries[0])])
        places: dict[tuple[str, ...], list[int]] = {}
        found: list[Any] = [0] * len(queries)
        for place, query in enumerate(queries):
            if isinstance(query, Box) and len(query.columns) <= CORNERS:
                places.setdefault(query.columns, []).append(place)
            else:
                found[place] = self.one(query)
        if not places:
            return np.array(found)
        for names, members in places.items():
            ends = np.array([(queries[place].lows, queries[place].highs) for place in members], dtype=np.int64)  # type: ignore[union-attr]
            for place, value in zip(members, self._boxes(names, ends), strict=True):
                found[place] = value
        return np.array(found)

    def _boxes(self, names: tuple[str, ...], ends: NDArray[np.int64]) -> list[Any]:
        width = len(names)
        lows, highs = ends[:, 0], ends[:, 1]
        if (highs - lows == 1).all():
            # Single cells: no running totals are needed.
            table = self._tables.of(names)
            cells: list[Any] = table.ravel()[lows @ _strides(table.shape)].tolist()
            return cells
        totals = self._totals.of(names)
        flat, strides = totals.ravel(), _strides(totals.shape)
        steps = ends * strides
        value: Any = np.zeros(len(ends), dtype=totals.dtype)
        for corner in product((0, 1), repeat=width):
            index = sum(steps[:, end, axis] for axis, end in enumerate(corner))
            value = value + flat[index] if (width - sum(corner)) % 2 == 0 else value - flat[index]
        listed: list[Any] = value.tolist()
        return listed

    def one(self, query: LinearQuery) -> Any:
        """Return the sum of one query."""
        table = self._tables.of(query.columns)
        if not isinstance(query, Box):
            return (table * query.table(table.shape)).sum().item()
        if all(high - low == 1 for low, high in zip(query.lows, query.highs, strict=True)):
            return table[query.lows].item()
        return table[tuple(slice(low, high) for low, high in zip(query.lows, query.highs, strict=True))].sum().item()

    def _running(self, names: tuple[str, ...]) -> NDArray[Any]:
        table = self._tables.of(names)
        totals = np.zeros(tuple(size + 1 for size in table.shape), dtype=table.dtype)
        totals[(slice(1, None),) * table.ndim] = table
        for axis in range(table.ndim):
            np.cumsum(totals, axis=axis, out=totals)
        return totals


class _Kept:
    """Tables by what they are about, made when first wanted; the longest unused go when they are too many."""

    def __init__(self, make: Callable[[Any], NDArray[Any]], most: int = MOST_NUMBERS) -> None:
        self._make, self._most, self._numbers = make, most, 0
        self._known: OrderedDict[tuple[Any, ...], NDArray[Any]] = OrderedDict()

    def of(self, names: tuple[Any, ...]) -> NDArray[Any]:
        found = self._known.get(names)
        if found is not None:
            self._known.move_to_end(names)
            return found
        found = self._known[names] = self._make(names)
        self._numbers += found.size
        while len(self._known) > 1 and self._numbers > self._most:
            self._numbers -= self._known.popitem(last=False)[1].size
        return found


class Sums:
    """One large table and its sums over all axes but some.

    Axes that lie together form groups of up to 16 cells. A table over whole groups is kept, so that the next sum over
    some of their axes starts from it and not from the large table.
    """

    def __init__(self, table: NDArray[Any]) -> None:
        self._table = table
        self._groups: list[list[int]] = []
        for axis, size in enumerate(table.shape):
            last = self._groups[-1] if self._groups else []
            if last and size * prod(table.shape[place] for place in last) <= GROUP:
                last.append(axis)
            else:
                self._groups.append([axis])
        self._wide = _Kept(lambda axes: summed(table, axes))

    def over(self, kept: Sequence[int]) -> NDArray[Any]:
        """Return the sums over all axes but these, which are in their order.

        >>> Sums(np.ones((2,) * 16, dtype=np.int64)).over([3, 9]).tolist()
        [[16384, 16384], [16384, 16384]]
        """
        wanted = set(kept)
        wide = tuple(axis for group in self._groups if wanted.intersection(group) for axis in group)
        if prod(self._table.shape[axis] for axis in wide) * 4 > self._table.size:
            return summed(self._table, kept)
        return summed(self._wide.of(wide), [wide.index(axis) for axis in kept])


def _strides(shape: tuple[int, ...]) -> NDArray[np.int64]:
    return np.array([prod(shape[axis + 1 :]) for axis in range(len(shape))], dtype=np.int64)


def summed(table: NDArray[Any], kept: Sequence[int]) -> NDArray[Any]:
    """Add up a table over all axes but some, in their order; blocks of axes at a time, from the largest on.

    The axes of a table of many bits are short, and adding over each of them alone would be slow.

    >>> summed(np.arange(8).reshape(2, 2, 2), [1])
    array([10, 18])
    """
    shape, runs, start = table.shape, [], 0
    for axis in [*kept, len(shape)]:
        runs.append((prod(shape[start:axis]), False))
        if axis < len(shape):
            runs.append((shape[axis], True))
        start = axis + 1
    sizes = [size for size, _ in runs]
    found = table.reshape(sizes)
    gone = sorted((place for place, (_, stays) in enumerate(runs) if not stays), key=lambda place: -sizes[place])
    for place in gone:
        before, after = prod(sizes[:place]), prod(sizes[place + 1 :])
        found = found.reshape(before, sizes[place], after).sum(axis=1)
        sizes[place] = 1
    return found.reshape([shape[axis] for axis in kept])


def quick_counts(space: Space, table: Callable[[Sequence[str]], NDArray[np.int64]]) -> Callable[..., NDArray[np.int64]]:
    """Return a function that gives the same counts as `table`, quicker where all cells can be written out."""
    if space.cells > DENSE:
        return table
    sums = Sums(table(space.names))

    def counts(names: Sequence[str]) -> NDArray[np.int64]:
        places = space.places(names)
        kept = sorted(places)
        return np.transpose(sums.over(kept), [kept.index(place) for place in places])

    return counts


def require_askable(space: Space) -> None:
    """Refuse to open a conversation in which a question about two of its columns could not be asked."""
    widest = sorted(space.names, key=lambda name: space.shape((name,)), reverse=True)[:2]
    cells = prod(space.shape(widest))
    if cells > LISTED:
        raise DomainTooLarge(
            f"A question about {' and '.join(map(repr, widest))} together needs a table of {cells} cells, more than "
            f"{LISTED}, so it could not be asked, and nothing was spent; derive coarser bins in the schema, or leave "
            "one of them out by domain=.",
            method="bins",
        )


def refuse_wide(space: Space, query: LinearQuery) -> None:
    """Refuse a query about more columns than a table over them can be written out for."""
    space.listed(query.columns, LISTED)
