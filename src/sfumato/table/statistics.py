"""Exact integer totals inside an engine: what is asked, the query, and Python integers out of its halves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.domain import Domain, FixedPoint, Integers, Text
from sfumato.errors import DomainTooLarge, ParameterError, SchemaError
from sfumato.exact.rational import show
from sfumato.table.bounding import WEIGHT, Bounding
from sfumato.table.schema import Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir

DENSE_CELLS = 2**22
"""Up to here the cells of a table of counts are listed; beyond, only those that occur."""

MOST_PLACES = 2**62
"""Below so many cells each has a place that is a number of 64 bits in every engine."""

MOST_ROWS = 2**40
"""More rows than any table here has; a sum whose terms are this many times below 2^62 needs no halves."""

CELL = "sfumato_cell"


def part_name(place: int) -> str:
    """Return the column of an answer that holds a total, by its place; no column of a table may be called so."""
    return f"sfumato_part_{place}"


class Power(Enum):
    """What is added up over rows: ones, codes, squares of codes, or ones for cells that are there."""

    COUNT = 0
    SUM = 1
    SQUARE = 2
    PRESENT = 3


@dataclass(frozen=True)
class Part:
    """One total: how many rows, how many cells of a column are there, or the sum of (code - center) or its square.

    A missing cell adds nothing to a total over its column.
    """

    power: Power = Power.COUNT
    column: str | None = None
    center: int = 0

    def __post_init__(self) -> None:
        if (self.power is Power.COUNT) is not (self.column is None):
            raise ParameterError("A count of rows has no column, and every other total has one; write it so.")

    def may_be_missing(self, schema: Schema) -> bool:
        """Tell whether a row may add nothing because its cell is missing."""
        return self.column is not None and schema.domain(self.column).may_be_missing

    def range(self, schema: Schema) -> tuple[int, int]:
        """Return the smallest and the largest value of one row whose cell is there.

        >>> from sfumato.domain import integers
        >>> Part(Power.SQUARE, "age", center=5).range(Schema({"age": integers(0, 9)}))
        (0, 25)
        """
        if self.column is None:
            return 1, 1
        domain = schema.domain(self.column)
        if self.power is Power.PRESENT:
            return 1, 1
        if domain.highest is None:
            raise SchemaError(f"{self.column!r} holds text, which has no sum; ask for counts.")
        low, high = domain.first - self.center, domain.highest - self.center
        if self.power is Power.SUM:
            return low, high
        return (0 if low <= 0 <= high else min(low**2, high**2)), max(low**2, high**2)

    def largest(self, schema: Schema) -> int:
        """Return the largest size of one row's value."""
        return max(map(abs, self.range(schema)))


COUNT = Part()


def engine_largest(measure: Part, schema: Schema) -> int:
    """Return the largest size of one row's value inside the engine, where sums are not centred yet."""
    bare = Part(Power.SUM, measure.column) if measure.power is Power.SUM else measure
    return bare.largest(schema)


def check_fits(measure: Part, schema: Schema, rule: Bounding) -> None:
    """Refuse, from the schema alone, what does not fit 62 bits: one row, or one person's share of a group.

    Sums over many rows are added in halves; only where groups are picked is a person's share added by itself.
    """
    rows = 1 if rule.groups is None else rule.rows
    if engine_largest(measure, schema) * rows * rule.scale >= 2**62:
        what = "squared and added" if measure.power is Power.SQUARE else "added"
        raise SchemaError(
            f"The values of {measure.column!r} are too large to be {what} exactly with {rule.rows} rows a person; give "
            f"the column a larger step or a narrower range{_step_that_fits(measure, schema, rows * rule.scale)}."
        )


def _step_that_fits(measure: Part, schema: Schema, times: int) -> str:
    """Say which round step is the smallest that fits, where a column of numbers has one; the schema is public."""
    domain = schema.domain(str(measure.column))
    if not isinstance(domain, (FixedPoint, Integers)):
        return ""
    step, low, high = Fraction(getattr(domain, "step", 1)), Fraction(domain.low), Fraction(domain.high)
    farthest = max(abs(domain.first - measure.center), abs(domain.highest - measure.center))
    power = 2 if measure.power is Power.SQUARE else 1
    for larger in (step * factor * 10**zeros for zeros in range(13) for factor in (1, 2, 5)):
        whole = (low / larger).denominator == (high / larger).denominator == 1
        if whole and larger > step and (farthest * step / larger + 1) ** power * times < 2**62:
            ends = f"{show(low, 15)}, {show(high, 15)}"
            return f": step = \"{show(larger, 15)}\" fits, in Python fixed({ends}, step='{show(larger, 15)}')"
    return ""


def parts(table: ir.Table, measures: Sequence[Part], schema: Schema) -> list[Any]:
    """Return what one row adds to each measure, an engine integer, or None for a count of whole rows.

    Centres of sums are taken off later, in Python.
    """
    weight = table[WEIGHT].cast("int64") if WEIGHT in table.columns else None
    found: list[Any] = []
    for measure in measures:
        value = None if measure.column is None else _added(table[measure.column], measure, schema)
        if value is None:
            value = weight
        elif weight is not None:
            value = value.cast("int64") * weight
        found.append(value)
    return found


def _added(cell: Any, measure: Part, schema: Schema) -> Any:
    """Return what a cell adds, nothing if it is missing, or None where every cell adds one."""
    import ibis

    assert measure.column is not None
    domain = schema.domain(measure.column)
    value = cell
    if measure.power is Power.PRESENT:
        if not domain.may_be_missing:
            return None
        value = ibis.literal(1, "int64")
    elif measure.power is Power.SQUARE:
        distance = cell.cast("int64") - ibis.literal(measure.center, "int64")
        value = distance * distance
    if not domain.may_be_missing:
        return value
    absent = cell.isnull() if isinstance(domain, Text) else cell == domain.missing_code
    return ibis.ifelse(absent, ibis.literal(0, "int64"), value.cast("int64"))


def totals(rows: ir.Table, values: Mapping[str, Any], largest: Sequence[int]) -> dict[str, Any]:
    """Return the aggregates of row parts: plain sums where the schema proves that they fit, halves elsewhere.

    No plain 64-bit sum is left to chance: engines raise when one passes 2^63, which would be a fact about the data.
    """
    found = {}
    for (name, value), bound in zip(values.items(), largest, strict=True):
        if value is None:
            found[name] = rows.count()
        elif bound * MOST_ROWS < 2**62:
            found[name] = value.sum()
        else:
            wide = value.cast("int64")
            found[f"{name}_high"] = (wide >> 32).sum()
            found[f"{name}_low"] = (wide & 0xFFFFFFFF).sum()
    return found


def read_total(answer: Any, name: str) -> Any:
    """Return one total for every row of an Arrow answer: 64-bit integers, or Python integers from two halves."""
    if name in answer.column_names:
        return _numbers(answer.column(name))
    high = _numbers(answer.column(f"{name}_high")).astype(object)
    return high * 2**32 + _numbers(answer.column(f"{name}_low")).astype(object)


def _numbers(column: Any) -> Any:
    # A sum over no rows is null, and it is zero.
    return column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)


def sizes(schema: Schema, keys: Sequence[str]) -> tuple[int, ...]:
    """Return the shape of a dense table of counts, refusing what is too large to list."""
    found = tuple(size for name in keys if (size := schema.domain(name).size) is not None)
    if len(found) < len(keys) or prod(found) > DENSE_CELLS:
        raise DomainTooLarge(
            f"A table over {', '.join(keys)} has too many cells to list; ask for the cells that occur.",
            method="sparse_counts",
        )
    return found


def cell_index(table: ir.Table, schema: Schema, keys: Sequence[str]) -> Any:
    """Return the place of a row's cell in the flat table of all cells, of which there are less than 2^62."""
    index: Any = None
    found = [schema.domain(name).size or 1 for name in keys]
    few = prod(found) <= DENSE_CELLS
    for name, size in zip(keys, found, strict=True):
        if size == 1:
            continue
        first = schema.domain(name).first
        offset = table[name].cast("int32" if few and abs(first) < 2**30 else "int64")
        offset = offset if first == 0 else offset - first
        index = offset if index is None else index * size + offset
    return index


def dense(answer: Any, name: str, shape: tuple[int, ...]) -> Any:
    """Return totals by cell as an array of the given shape."""
    found = read_total(answer, name)
    flat = np.zeros(prod(shape), found.dtype)
    if CELL in answer.column_names:
        flat[answer.column(CELL).to_numpy()] = found
    elif len(found):
        flat[0] = found[0]
    return flat.reshape(shape)


def sparse(answer: Any, name: str, domains: Mapping[str, Domain]) -> dict[tuple[int, ...], int]:
    """Return totals by code tuple, sorted; text is cut to its bytes here, so cells may merge."""
    columns = []
    for key, domain in domains.items():
        cells = answer.column(key).to_pylist()
        columns.append([domain.encode(cell) for cell in cells] if isinstance(domain, Text) else cells)
    found: dict[tuple[int, ...], int] = {}
    for cell, total in zip(zip(*columns, strict=True), read_total(answer, name).tolist(), strict=True):
        found[cell] = found.get(cell, 0) + total
    return dict(sorted(found.items()))


def packed(columns: Sequence[Any], domains: Sequence[Domain]) -> list[Any]:
    """Return few 64-bit numbers for each row that sort as its codes do: sorting by each column would be slow."""
    found: list[Any] = []
    room = 0
    for column, domain in zip(columns, domains, strict=True):
        size = domain.size or 1
        if size > room:
            found.append(np.zeros(len(column), np.int64))
            room = 2**62
        found[-1] = found[-1] * size + (column - domain.first)
        room //= size
    return found
