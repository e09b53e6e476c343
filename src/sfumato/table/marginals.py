"""Exact tables of counts over several sets of columns, counted where the rows are: only the tables are held here.

Next to DuckDB rows come past in batches, and every table adds what it finds in them; a cluster counts all sets in few
queries. Time grows with rows times tables, memory with the cells of the tables, however many rows are different. Sets
that fit into one table are counted together there, and are sums of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfumato.errors import DomainTooLarge
from sfumato.table.engine import quoted
from sfumato.table.moments import quotient
from sfumato.table.repair import bin_place
from sfumato.table.statistics import DENSE_CELLS

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from sfumato.table.data import Table

Set = tuple[str, ...]

SETS_AT_ONCE = 64
"""How many sets of columns a cluster counts in one query: it copies every row once for each before it counts."""

MOST_NAMES = 60

TOGETHER = (2**16, 2**14, 2**12, 2**10)
"""Up to so many cells a table has that sets are counted in together: a processor keeps it close. Fewer where there
would be too many such tables."""

ROOM = 2**23
"""So many cells such tables have together, above those of the sets themselves."""

ROWS_AT_ONCE = 2**17
"""So many rows are placed in all tables before the next ones are: their codes stay close to the processor, too."""


@dataclass(frozen=True)
class Binned:
    """A column in public bins, under a name of its own: bin k holds the codes from starts[k] to before the next."""

    name: str
    base: str
    starts: tuple[int, ...]


class Axis(NamedTuple):
    """The codes of a column: the first one, and how many there are."""

    first: int
    size: int


def count_sets(table: Table, rows: ir.Table, sets: Sequence[Set], binned: Sequence[Binned] = ()) -> list[Any]:
    """Return the counts of all cells of each set, an array with one axis for each of its columns."""
    for column in binned:
        rows = rows.mutate(**{column.name: _bin(rows[column.base].cast("int64"), column.starts).cast("int32")})
    listed = sorted({tuple(sorted(one)) for one in sets}, key=lambda one: (-len(one), one))
    axes = _axes(table, listed, binned)
    near = table.source.is_duckdb
    held = held_together(listed, {name: axis.size for name, axis in axes.items()}, TOGETHER if near else ())
    shapes = {one: tuple(axes[name].size for name in one) for one in held.values()}
    found = {one: np.zeros(prod(shape), np.int64) for one, shape in shapes.items()}
    count = _in_batches if near else _in_cluster

    def add(one: Set, places: Any, counts: Any) -> None:
        if counts is None:
            found[one] += np.bincount(places, minlength=len(found[one]))
        else:
            found[one][places] = counts

    count(table, rows, list(found), axes, add)
    return [_margin(one, held[tuple(sorted(one))], shapes, found) for one in sets]


def _bin(code: Any, starts: Sequence[int]) -> Any:
    """Return the bin of a code: the last that starts at or below it, and nothing lies below the first one.

    Bins of one width, of which the last may have another, are found by a division, others by halving.
    """
    import ibis

    steps = np.diff(starts)
    if len(steps) < 2 or (steps[:-1] != steps[0]).any() or steps[-1] > steps[0]:
        return bin_place(code, starts[1:])
    last = ibis.literal(len(steps), "int64")
    return ibis.ifelse(code >= starts[-1], last, quotient(code - starts[0], int(steps[0])))


def _axes(table: Table, sets: Sequence[Set], binned: Sequence[Binned]) -> dict[str, Axis]:
    """Return the codes of all columns of some sets, refusing a set whose table is too large to list."""
    found = {one.name: Axis(0, len(one.starts)) for one in binned}
    for name in {name for one in sets for name in one if name not in found}:
        domain = table.schema.domain(name)
        found[name] = Axis(domain.first, domain.size or DENSE_CELLS + 1)
    for one in sets:
        if prod(found[name].size for name in one) > DENSE_CELLS:
            raise DomainTooLarge(
                f"A table over {', '.join(one)} has too many cells to list; ask for fewer columns at a time.",
                method="bins",
            )
    return found


def held_together(sets: Sequence[Set], sizes: Mapping[str, int], together: Sequence[int] = ()) -> dict[Set, Set]:
    """Return for each set of sorted names the one that it is counted in; the widest sets come first.

    A set inside of another is a sum of it. Beyond that sets are joined while they have few cells together: of the
    limits on that, the first is taken under which all of them fit the room there is.

    >>> found = held_together([("a", "b"), ("a", "c"), ("b", "c"), ("a",)], {"a": 2, "b": 3, "c": 4}, [100])
    >>> set(found.values())
    {('a', 'b', 'c')}
    """
    alone = sum(prod(sizes[name] for name in one) for one in sets)
    for most in together:
        if (found := _joined(sets, sizes, most, alone + ROOM)) is not None:
            return found
    found = _joined(sets, sizes, 0, alone)
    assert found is not None, "Sets that are not joined have no more cells than they have."
    return found


def _joined(sets: Sequence[Set], sizes: Mapping[str, int], most: int, room: int) -> dict[Set, Set] | None:
    """Return what each set is counted in, of at most so many cells where it holds several; None beyond the room."""
    left: dict[str, list[Set]] = {name: [] for name in sizes}
    for one in sets:
        for name in one:
            left[name].append(one)
    found: dict[Set, Set] = {}
    for one in sets:
        if one in found:
            continue
        names, inside = _grown(one, left, sizes, most)
        held = tuple(sorted(names))
        found |= dict.fromkeys(inside or [one], held)
        room -= prod(sizes[name] for name in held)
        if room < 0:
            return None
        for name in names:
            left[name] = [other for other in left[name] if other not in found]
    if () in found:
        found[()] = next(iter(found.values()))  # any table adds up to the number of rows
    return found


def _grown(first: Set, left: Mapping[str, Sequence[Set]], sizes: Mapping[str, int], most: int) -> tuple[set[str], Any]:
    """Return columns that hold a set and as many of those that are left as few cells allow, and the sets they hold."""
    names: set[str] = set()
    lacking: dict[Set, int] = {}
    gained: dict[str, int] = {}
    cells, inside, wanted = 1, [], list(first)
    while wanted:
        name = wanted.pop()
        names.add(name)
        gained.pop(name, None)
        cells *= sizes[name]
        for one in left[name]:
            lacking[one] = lacking.get(one, len(one)) - 1
            if lacking[one] == 0:
                inside.append(one)
            elif lacking[one] == 1:
                other = next(other for other in one if other not in names)
                gained[other] = gained.get(other, 0) + 1
        fitting = [other for other in gained if cells * sizes[other] <= most]
        if not wanted and fitting:
            wanted = [max(fitting, key=lambda other: (gained[other], -sizes[other], other))]
    return names, inside


def _margin(wanted: Set, held: Set, shapes: Mapping[Set, tuple[int, ...]], found: dict[Set, Any]) -> Any:
    """Return the table of a set from one that contains it."""
    others = tuple(place for place, name in enumerate(held) if name not in wanted)
    left = [name for name in held if name in wanted]
    table = found[held].reshape(shapes[held])
    table = table.sum(axis=others) if others else table
    return np.transpose(table, [left.index(name) for name in wanted]).copy()


Add = Callable[[Set, Any, Any], None]
"""Takes a set, with the places of the cells of some rows and None, or with places that occur once and their counts."""


def _place(columns: Mapping[str, Any], axes: Mapping[str, Axis], one: Set) -> Any:
    """Return the places of the cells of rows in the flat table of a set."""
    index = columns[one[0]]
    for name in one[1:]:
        index = index * axes[name].size + columns[name]
    return index


def _columns(batch: Any, axes: Mapping[str, Axis], names: Sequence[str]) -> dict[str, Any]:
    """Return codes that start at 0; the tables are small enough to be numbered in 32 bits."""
    found = {}
    for name in names:
        codes = batch.column(name).to_numpy(zero_copy_only=False).astype(np.int64)
        found[name] = (codes - axes[name].first).astype(np.int32)
    return found


def _in_batches(table: Table, rows: ir.Table, sets: Sequence[Set], axes: Mapping[str, Axis], add: Add) -> None:
    names = sorted({name for one in sets for name in one})

    def take(batch: Any) -> None:
        for start in range(0, batch.num_rows, ROWS_AT_ONCE):
            part = batch.slice(start, ROWS_AT_ONCE)
            columns = _columns(part, axes, names)
            for one in sets:
                add(one, _place(columns, axes, one) if one else np.zeros(part.num_rows, np.int64), None)

    table.each_batch(rows.select(*names) if names else rows, take)


def _at_once(sets: Sequence[Set]) -> Iterator[list[Set]]:
    """Yield some sets at a time: Spark tells at most 64 columns of a query apart by the bits of one number."""
    some: list[Set] = []
    for one in sets:
        names = {name for other in (*some, one) for name in other}
        if some and (len(some) >= SETS_AT_ONCE or len(names) > MOST_NAMES):
            yield some
            some = []
        some.append(one)
    yield some


def _in_cluster(table: Table, rows: ir.Table, sets: Sequence[Set], axes: Mapping[str, Axis], add: Add) -> None:
    for some in _at_once(sets):
        names = sorted({name for one in some for name in one})
        if not names:
            answer = table.run(rows.aggregate(sfumato_rows=rows.count()), 1)
            add((), slice(None), sum(answer.column("sfumato_rows").to_pylist()))
            continue
        cells = sum(prod(axes[name].size for name in one) for one in some)
        answer = table.run_sql(rows.select(*names), grouping_sets(names, some), cells)
        place = answer.column("sfumato_set").to_numpy()
        for one in some:
            # One bit for each column, set where the column is not part of the set; the first column is the highest.
            mask = int("".join("0" if name in one else "1" for name in names), 2)
            part = answer.filter(place == mask)
            add(one, _place(_columns(part, axes, one), axes, one), part.column("sfumato_rows").to_numpy())


def grouping_sets(names: Sequence[str], sets: Sequence[Set]) -> str:
    """Return a query of Spark that counts several sets of columns of a table {rows} at once.

    Columns are named before the sets, so that the bits of the set's number stand in their order.

    >>> grouping_sets(["a", "b"], [("b",), ("a",)])[-46:]
    'GROUP BY `a`, `b` GROUPING SETS ((`b`), (`a`))'
    """
    listed = ", ".join(quoted(name, "`") for name in names)
    groups = ", ".join("(" + ", ".join(quoted(name, "`") for name in one) + ")" for one in sets)
    counted = "grouping_id() AS sfumato_set, count(*) AS sfumato_rows"
    return f"SELECT {listed}, {counted} FROM {{rows}} GROUP BY {listed} GROUPING SETS ({groups})"
