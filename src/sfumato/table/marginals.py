"""Exact tables of counts over several sets of columns, counted where the rows are: only the tables are held here.

Next to DuckDB rows come past in batches, and every table adds what it finds in them; a cluster counts all sets in few
queries. Time grows with rows times sets, memory with the cells of the tables, however many rows are different.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.table.engine import quoted
from sfumato.table.statistics import sizes

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from sfumato.table.view import View

Set = tuple[str, ...]

SETS_AT_ONCE = 64
"""How many sets of columns a cluster counts in one query: it copies every row once for each before it counts."""


def count_sets(view: View, rows: ir.Table, sets: Sequence[Set]) -> list[Any]:
    """Return the counts of all cells of each set, an array with one axis for each of its columns."""
    schema = view.table.schema
    shapes = {one: sizes(schema, one) for one in sets}
    widest = _widest(sets)
    shapes |= {one: sizes(schema, one) for one in widest}
    found = {one: np.zeros(prod(shapes[one]), np.int64) for one in widest}
    count = _in_batches if view.table.source.is_duckdb else _in_cluster
    for one, places, counts in count(view, rows, widest):
        if counts is None:
            found[one] += np.bincount(places, minlength=len(found[one]))
        else:
            found[one][places] = counts
    shaped = {one: counts.reshape(shapes[one]) for one, counts in found.items()}
    return [_margin(one, shaped) for one in sets]


def _widest(sets: Sequence[Set]) -> list[Set]:
    """Return the sets that no other one contains, each once: the others are sums of these."""
    kept: list[Set] = []
    for one in sorted({tuple(sorted(one)) for one in sets}, key=len, reverse=True):
        if not any(set(one) <= set(other) for other in kept):
            kept.append(one)
    return kept


def _margin(wanted: Set, found: dict[Set, Any]) -> Any:
    """Return the table of a set from one that contains it."""
    held = next(one for one in found if set(wanted) <= set(one))
    others = tuple(place for place, name in enumerate(held) if name not in wanted)
    left = [name for name in held if name in wanted]
    table = found[held].sum(axis=others) if others else found[held]
    return np.transpose(table, [left.index(name) for name in wanted]).copy()


Counted = Iterator[tuple[Set, Any, Any]]
"""Sets, with the places of the cells of some rows and None, or with places that occur once and their counts."""


def _place(columns: dict[str, Any], view: View, one: Set) -> Any:
    """Return the places of the cells of rows in the flat table of a set."""
    schema = view.table.schema
    index: Any = None
    for name, size in zip(one, sizes(schema, one), strict=True):
        index = columns[name] if index is None else index * size + columns[name]
    return np.zeros(len(next(iter(columns.values()))), np.int64) if index is None else index


def _columns(batch: Any, view: View, names: Sequence[str]) -> dict[str, Any]:
    """Return codes that start at 0; the tables are small enough to be numbered in 32 bits."""
    schema = view.table.schema
    found = {}
    for name in names:
        codes = batch.column(name).to_numpy(zero_copy_only=False).astype(np.int64)
        found[name] = (codes - schema.domain(name).first).astype(np.int32)
    return found


def _in_batches(view: View, rows: ir.Table, sets: Sequence[Set]) -> Counted:
    names = sorted({name for one in sets for name in one})
    for batch in view.table.batches(rows.select(*names) if names else rows):
        if not names:
            yield (), np.zeros(batch.num_rows, np.int64), None
            continue
        columns = _columns(batch, view, names)
        for one in sets:
            yield one, _place(columns, view, one), None


def _in_cluster(view: View, rows: ir.Table, sets: Sequence[Set]) -> Counted:
    for start in range(0, len(sets), SETS_AT_ONCE):
        some = sets[start : start + SETS_AT_ONCE]
        names = sorted({name for one in some for name in one})
        if not names:
            answer = view.table.run(rows.aggregate(sfumato_rows=rows.count()), 1)
            yield (), slice(None), sum(answer.column("sfumato_rows").to_pylist())
            continue
        cells = sum(prod(sizes(view.table.schema, one)) for one in some)
        answer = view.table.run_sql(rows.select(*names), grouping_sets(names, some), cells)
        place = answer.column("sfumato_set").to_numpy()
        for one in some:
            # One bit for each column, set where the column is not part of the set; the first column is the highest.
            mask = int("".join("0" if name in one else "1" for name in names), 2)
            part = answer.filter(place == mask)
            columns = _columns(part, view, one)
            yield one, _place(columns, view, one), part.column("sfumato_rows").to_numpy()


def grouping_sets(names: Sequence[str], sets: Sequence[Set]) -> str:
    """Return a query of Spark that counts several sets of columns of a table {rows} at once.

    >>> grouping_sets(["a", "b"], [("a",), ("b",)])[-43:]
    'GROUP BY GROUPING SETS ((`a`), (`b`))'
    """
    listed = ", ".join(quoted(name, "`") for name in names)
    groups = ", ".join("(" + ", ".join(quoted(name, "`") for name in one) + ")" for one in sets)
    counted = "grouping_id() AS sfumato_set, count(*) AS sfumato_rows"
    return f"SELECT {listed}, {counted} FROM {{rows}} GROUP BY GROUPING SETS ({groups})"
