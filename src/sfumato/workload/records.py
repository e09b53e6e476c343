"""The exact integers that workloads are answered from: which rows occur, and how often."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.table.gauge import Gauge
from sfumato.table.marginals import Binned
from sfumato.table.measure import Distinct, Marginals, Numbered, Rows
from sfumato.table.schema import RESERVED
from sfumato.table.statistics import MOST_PLACES
from sfumato.workload.space import LISTED, Space


@dataclass(frozen=True, eq=False)
class Records:
    """The distinct rows of a table over some columns, sorted, and the number of times that each occurs.

    The order is that of the codes, so it says nothing about the order in which people were stored.
    """

    space: Space
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, space: Space, found: Distinct) -> Records:
        """Return the rows that were read over the columns of a space, with codes that start at 0.

        Time: about a second for a million rows of fourteen columns; memory: one number for each column of each
        distinct row.
        """
        firsts = np.array([domain.first for domain in space.domains], dtype=np.int64)
        return cls(space, np.asfortranarray(found.codes - firsts), found.counts)

    @classmethod
    def from_rows(cls, space: Space, rows: Iterable[Sequence[int]]) -> Records:
        """Count rows of codes that start at 0, one after the other.

        >>> from sfumato.domain import booleans
        >>> from sfumato.table.schema import Schema
        >>> space = Space.of(Schema({"rain": booleans(missing=False), "wind": booleans(missing=False)}))
        >>> Records.from_rows(space, [(1, 0), (0, 1), (1, 0)]).counts
        array([1, 2])
        """
        listed = np.array([tuple(row) for row in rows], dtype=np.int64).reshape(-1, len(space.names))
        codes, counts = np.unique(listed, axis=0, return_counts=True)
        return cls(space, np.asfortranarray(codes), counts.astype(np.int64))

    @property
    def total(self) -> int:
        """How many rows there are, equal ones counted each."""
        return int(self.counts.sum())

    def table(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the exact counts over some columns, one axis for each in the order asked for.

        Time: one pass over the distinct rows. Sums of counts stay below 2^53, where doubles are exact.

        >>> from sfumato.domain import booleans
        >>> from sfumato.table.schema import Schema
        >>> space = Space.of(Schema({"rain": booleans(missing=False), "wind": booleans(missing=False)}))
        >>> Records.from_rows(space, [(1, 0), (0, 1), (1, 0)]).table(["wind"])
        array([2, 1])
        """
        shape = self.space.listed(names)
        cells = int(np.prod(shape, dtype=np.int64))
        index = np.zeros(len(self.counts), dtype=np.int64)
        for place, size in zip(self.space.places(names), shape, strict=True):
            index *= size
            index += self.codes[:, place]
        found = np.bincount(index, weights=self.counts, minlength=cells)
        return found.astype(np.int64).reshape(shape)


FEW_ROWS = 2**16
"""Up to so many different rows are read as they are; of more only the tables that are looked at."""
PLACES_AT_ONCE = 2**18
"""So many rows are looked up at a time, so that what is worked out of them stays small."""
MOST_CELLS = 2**25
"""So many cells all tables of one reading have together at most."""


@dataclass(frozen=True, eq=False)
class Margins:
    """The exact counts over some sets of columns of one set of records: what `Records` would count, and nothing else.

    They are counted where the data are, so that time and memory here do not grow with the number of different rows.
    """

    space: Space
    tables: Mapping[tuple[str, ...], NDArray[np.int64]]

    def table(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the exact counts over one of the sets, or over some columns of one: sums of the smallest.

        >>> from sfumato.domain import booleans
        >>> from sfumato.table.schema import Schema
        >>> space = Space.of(Schema({"rain": booleans(missing=False), "wind": booleans(missing=False)}))
        >>> Margins(space, {("rain", "wind"): np.array([[5, 1], [0, 2]])}).table(["wind"])
        array([5, 3])
        """
        wanted = tuple(names)
        if wanted in self.tables:
            return self.tables[wanted]
        fitting = (held for held in self.tables if set(wanted) <= set(held))
        least = min(fitting, key=lambda held: self.tables[held].size)
        kept = [name for name in least if name in wanted]
        found = self.tables[least].sum(axis=tuple(at for at, name in enumerate(least) if name not in wanted))
        return np.asarray(found).transpose([kept.index(name) for name in wanted])

    @property
    def total(self) -> int:
        """How many rows there are: what every table adds up to."""
        return int(next(iter(self.tables.values())).sum())


@dataclass(frozen=True, eq=False)
class Places:
    """The distinct rows of a table over some columns as `Records` has them, each as one number: its place among all.

    Two numbers are held for each row, however many columns it has; a table takes as many divisions as it has columns.
    """

    space: Space
    places: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def total(self) -> int:
        """How many rows there are, equal ones counted each."""
        return int(self.counts.sum())

    def table(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the exact counts over some columns, one axis for each in the order asked for.

        >>> from sfumato.domain import booleans
        >>> from sfumato.table.schema import Schema
        >>> space = Space.of(Schema({"rain": booleans(missing=False), "wind": booleans(missing=False)}))
        >>> Places(space, np.array([1, 2]), np.array([1, 2])).table(["wind"])
        array([2, 1])
        """
        shape = self.space.listed(names)
        found = np.zeros(prod(shape), dtype=np.int64)
        # The rest of a place, after the columns that stand behind one.
        after = {place: prod(self.space.sizes[place + 1 :]) for place in self.space.places(names)}
        for start in range(0, len(self.places), PLACES_AT_ONCE):
            part = slice(start, start + PLACES_AT_ONCE)
            index = np.zeros(len(self.places[part]), dtype=np.int64)
            for (place, stride), size in zip(after.items(), shape, strict=True):
                before = self.places[part] // stride
                index *= size
                # By a second division: taking the remainder is several times slower.
                index += before - before // self.space.sizes[place] * self.space.sizes[place]
            found += np.bincount(index, weights=self.counts[part], minlength=len(found)).astype(np.int64)
        return found.reshape(shape)


Tabled = Records | Margins | Places
"""What tables can be looked up in."""

Arrange = Callable[[Any], Tabled]


def tabled(gauge: Gauge, space: Space, sets: Iterable[Sequence[str]]) -> tuple[Gauge, Arrange]:
    """Return the gauge that reads what tables over some sets of columns need, and what brings it into their form.

    Decided by public facts: rows are read where there can be few different ones, and counted elsewhere. Both depend on
    the same columns of the same whole rows, so that they cost the same.
    """
    wanted = tuple(dict.fromkeys(tuple(one) for one in sets))
    cells = sum(prod(space.shape(one)) for one in wanted)
    if _most_rows(gauge, space) <= FEW_ROWS or cells > MOST_CELLS:
        return all_tabled(gauge, space)
    return _counted(gauge, space, wanted)


def all_tabled(gauge: Gauge, space: Space) -> tuple[Gauge, Arrange]:
    """Return the gauge that reads what any table over a space needs, and what brings it into a form to look them up in.

    Decided by public facts: the table of all cells where it is no larger than the rows that may differ, and else these
    rows, each as one number. All of it depends on the same columns of the same whole rows, so that it costs the same.
    """
    most = _most_rows(gauge, space)
    if most <= FEW_ROWS or space.cells >= MOST_PLACES:
        return gauge.basis.gauge(Rows(space.names)), lambda found: Records.of(space, found)
    if space.cells <= min(LISTED, 2 * most):
        return _counted(gauge, space, (space.names,))
    return gauge.basis.gauge(Numbered(space.names)), lambda found: Places(space, *found)


def _most_rows(gauge: Gauge, space: Space) -> int:
    """Return how many rows may differ, as everybody knows."""
    return space.cells if gauge.people is None else min(space.cells, gauge.people * gauge.rows)


def _counted(gauge: Gauge, space: Space, sets: tuple[tuple[str, ...], ...]) -> tuple[Gauge, Arrange]:
    measured = gauge.basis.gauge(Marginals(sets, space.names))
    return measured, lambda found: Margins(space, dict(zip(sets, found, strict=True)))


def binned(
    gauge: Gauge, coarse: Space, finer: Space, bins: Mapping[str, Any], looks: Sequence[Sequence[int]]
) -> tuple[Gauge, Callable[[Any], tuple[Margins, Margins]]]:
    """Return the gauge that counts some tables of columns in bins, and the one-way tables of their finer bins.

    `bins` says, for every wide column, the first code of each of its bins and finer bins, from 0 on.
    """
    first = {name: domain.first for name, domain in zip(coarse.names, coarse.domains, strict=True)}
    # Names that no column of a table may have: one that is called like the bins would be read in their place.
    named = {name: (f"{RESERVED}bins {name}", f"{RESERVED}finer_bins {name}") for name in bins}
    columns = tuple(
        Binned(own, name, tuple(first[name] + start for start in starts))
        for name, held in bins.items()
        for own, starts in zip(named[name], (held.starts, held.finer), strict=True)
    )
    sets = [tuple(coarse.names[place] for place in one) for one in looks]
    inside = [(name,) for name in coarse.names if name in bins]
    counted = [tuple(named[name][0] if name in bins else name for name in one) for one in sets]
    counted += [(named[name][1],) for (name,) in inside]
    measured = gauge.basis.gauge(Marginals(tuple(counted), coarse.names, columns))

    def arrange(found: Any) -> tuple[Margins, Margins]:
        tables = dict(zip(sets, found[: len(sets)], strict=True))
        return Margins(coarse, tables), Margins(finer, dict(zip(inside, found[len(sets) :], strict=True)))

    return measured, arrange
