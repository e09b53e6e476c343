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
from sfumato.table.statistics import Measure, Power

Row = Mapping[str, Any]


def person_parts(person: Any) -> list[int]:
    return limbs(text_number(person), 0, 2**60 - 1) if isinstance(person, str) else person_limbs(person)


def cell_parts(schema: Schema, name: str, code: Any) -> list[int]:
    domain = schema.domain(name)
    if isinstance(domain, Text):
        return limbs(0 if code is None else text_number(code), 0, 2**60 - 1)
    assert domain.last is not None
    return limbs(code, domain.first, domain.last)


def picked(schema: Schema, rule: Bounding, person: Any, rows: Sequence[Row]) -> list[Row]:
    def place(row: Row) -> tuple[Any, ...]:
        parts = person_parts(person)
        for name in sorted(schema.names):
            if schema.base(name) == name:
                parts = parts + cell_parts(schema, name, row[name])
        cells = ((row[name] is None, "" if row[name] is None else row[name]) for name in schema.names)
        return (keyed_hash(parts, f"rows {rule.key}"), *cells)

    return sorted(rows, key=place)[: rule.rows]


def added(schema: Schema, measure: Measure, row: Row) -> int:
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
    measure: Measure,
    where: Predicate,
) -> Any:
    """Return one person's share as a dense array over the cells of the keys."""
    sizes = tuple(schema.domain(name).size or 1 for name in keys)
    counted, weight = list(rows), rule.scale
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
