"""A plain Python twin of the exact statistics: one person's rows in, that person's share of every cell out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from sfumato.domain import Text
from sfumato.table.bounding import Bounding, Way
from sfumato.table.order import keyed_hash, limbs, person_limbs, text_number
from sfumato.table.predicate import Predicate, holds
from sfumato.table.schema import Schema
from sfumato.table.statistics import Part, Power

Row = Mapping[str, Any]


def person_parts(person: Any) -> list[int]:
    return limbs(text_number(person), 0, 2**60 - 1) if isinstance(person, str) else person_limbs(person)


def cell_parts(schema: Schema, name: str, code: Any) -> list[int]:
    domain = schema.domain(name)
    if isinstance(domain, Text):
        return limbs(0 if code is None else text_number(code), 0, 2**60 - 1)
    assert domain.last is not None
    return limbs(code, domain.first, domain.last)


def key_of(schema: Schema, row: Row) -> str:
    """Return the row key as one text, as the engine writes it."""
    cells = [row[name] for name in schema.row_key or ()]
    return "".join("-" if cell is None else f"{len(str(cell))}:{cell}" for cell in cells)


def told_apart(schema: Schema, rows: Sequence[Row]) -> list[Row]:
    """Return the rows, with one empty row in place of those that have the same key."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(key_of(schema, row), []).append(row)
    empty = {name: schema.domain(name).missing_code for name in schema.names}
    keys = schema.row_key or ()
    return [
        {**empty, **{name: same[0][name] for name in keys if name not in empty}} if len(same) > 1 else same[0]
        for same in found.values()
    ]


def zip_keys(schema: Schema, rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Return for one row of each key what stands in its place."""
    first = {key_of(schema, row): row for row in reversed(rows)}
    order = list(dict.fromkeys(key_of(schema, row) for row in rows))
    return list(zip([first[key] for key in order], told_apart(schema, rows), strict=True))


def picked(schema: Schema, rule: Bounding, person: Any, rows: Sequence[Row]) -> list[Row]:
    if schema.row_key:
        apart = {key_of(schema, row): one for row, one in zip_keys(schema, rows)}

        def order(key: str) -> tuple[Any, ...]:
            parts = person_parts(person) + limbs(text_number(key), 0, 2**60 - 1)
            return keyed_hash(parts, f"rows {rule.key}"), key

        return [apart[key] for key in sorted(apart, key=order)[: rule.rows]]

    def place(row: Row) -> tuple[Any, ...]:
        parts = person_parts(person)
        for name in sorted(schema.names):
            if schema.base(name) == name:
                parts = parts + cell_parts(schema, name, row[name])
        cells = ((row[name] is None, "" if row[name] is None else row[name]) for name in schema.names)
        return (keyed_hash(parts, f"rows {rule.key}"), *cells)

    return sorted(rows, key=place)[: rule.rows]


def added(schema: Schema, measure: Part, row: Row) -> int:
    """Return what one row adds to a total; a row whose cell is missing adds nothing."""
    if measure.column is None:
        return 1
    code, domain = row[measure.column], schema.domain(measure.column)
    if domain.may_be_missing and (code is None or code == domain.missing_code):
        return 0
    if measure.power is Power.PRESENT:
        return 1
    distance = int(code) - measure.center
    return distance**2 if measure.power is Power.SQUARE else distance


def share(
    schema: Schema,
    rule: Bounding,
    person: Any,
    rows: Sequence[Row],
    keys: Sequence[str],
    measure: Part,
    where: Predicate,
) -> Any:
    """Return one person's share as a dense array over the cells of the keys."""
    sizes = tuple(schema.domain(name).size or 1 for name in keys)
    counted, weight = list(rows), rule.scale
    if schema.row_key == ():
        counted = told_apart(schema, rows)
    if rule.way is Way.WEIGH and len(rows) > rule.rows:
        weight = rule.rows * rule.scale // len(rows)
    elif rule.way is Way.PICK:
        counted = picked(schema, rule, person, rows)
    groups: dict[tuple[int, ...], int] = {}
    for row in counted:
        if holds(where, row):
            cell = tuple(row[name] for name in keys)
            groups[cell] = groups.get(cell, 0) + weight * added(schema, measure, row)
    if rule.groups is not None and keys:

        def place(cell: tuple[int, ...]) -> tuple[int, ...]:
            parts = person_parts(person)
            for name, code in zip(keys, cell, strict=True):
                parts = parts + cell_parts(schema, name, code)
            return (keyed_hash(parts, f"groups {rule.key}"), *cell)

        groups = {cell: groups[cell] for cell in sorted(groups, key=place)[: rule.groups]}
    found = np.zeros(sizes, np.int64)
    for cell, total in groups.items():
        found[tuple(code - schema.domain(name).first for name, code in zip(keys, cell, strict=True))] = total
    return found


def all_rows(schema: Schema) -> list[Row]:
    """Return every possible row of a tiny schema."""
    ranges = [range(schema.domain(name).first, (schema.domain(name).last or 0) + 1) for name in schema.names]
    return [dict(zip(schema.names, codes, strict=True)) for codes in product(*ranges)]
