"""One clamped number for each person and cell (SQ-BOX): how far one person moves its totals, and how an engine adds it.

All rows of a person in a cell are added up first, unweighed, and the sum is then clamped to public ends. A person adds
to at most g of G cells, to each nothing or something between a and b. What a filter or a missing cell changes is a
clamped sum over other rows, so that its reach is that of a value which comes from nothing (s), and not the largest
value (M), which is right for weighed rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

from sfumato.privacy.sensitivity import Sensitivity
from sfumato.table.predicate import EVERY_ROW, NO_ROW, Predicate, columns
from sfumato.table.repair import PERSON
from sfumato.table.schema import Schema
from sfumato.table.statistics import CELL, MOST_ROWS, Part, Power, cell_index, engine_largest, part_name

if TYPE_CHECKING:
    import ibis.expr.types as ir

HALF = 2**32


@dataclass(frozen=True)
class Box:
    """A total whose share of each person and cell is clamped to `low` … `high`, in the units of its part."""

    part: Part
    low: int
    high: int

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the most that a person with a row in a cell adds there, if the value is there."""
        least = {Power.COUNT: 1, Power.PRESENT: 0}.get(self.part.power)
        return (self.low if least is None else min(max(self.low, least), self.high)), self.high

    def vanishes(self, schema: Schema) -> bool:
        """Tell whether a person with a row may add nothing: where all values of a sum are missing."""
        return self.part.power is Power.SUM and self.part.may_be_missing(schema)


@dataclass(frozen=True)
class Reach:
    """What the bounds on one clamped total are made of: g of G cells, and the ends of what a person adds to each."""

    groups: int
    cells: int
    low: int
    high: int

    @property
    def size(self) -> int:
        """M: the most that a person adds to a cell, up or down."""
        return max(abs(self.low), abs(self.high))

    @property
    def spread(self) -> int:
        """How far what a person adds lies from something else, or from nothing (s)."""
        return max(self.high, 0) - min(self.low, 0)

    def there_or_not(self) -> Sensitivity:
        """Return how far a person moves the cells who is there or not: g cells by M."""
        return self._alike(self.size)

    def within(self, reach: int) -> Sensitivity:
        """Return how far a change moves that keeps the cells of a person and moves each by at most `reach`."""
        return self._alike(reach)

    def _alike(self, reach: int) -> Sensitivity:
        changed = self.groups if reach else 0
        return Sensitivity(
            Fraction(self.groups * reach), Fraction(self.groups * reach**2), Fraction(reach), changed
        )  # fmt: skip

    def exchanged(self) -> Sensitivity:
        """Return how far two people differ: at least t = 2g - G of their cells are the same."""
        groups, size, spread = self.groups, self.size, self.spread
        if not size:
            return self._alike(0)
        same = max(0, 2 * groups - self.cells)
        apart = 2 * (groups - same)
        return Sensitivity(
            Fraction(same * spread + apart * size),
            Fraction(max(same * spread**2 + apart * size**2, groups * spread**2)),
            Fraction(spread),
            min(2 * groups, self.cells),
        )


def kept_groups(schema: Schema, keys: Sequence[str], groups: int | None) -> int | None:
    """Return how many groups of a person are kept where that cuts some; None where all that a person can have are.

    Sensitivity and reading ask here, so that they agree on when a choice among groups is made.
    """
    if groups is None or not keys or schema.one_cell_each(keys):
        return None
    sizes = [schema.domain(name).size for name in keys]
    return groups if None in sizes or groups < prod(size or 1 for size in sizes) else None


def box_moved(
    schema: Schema,
    keys: Sequence[str],
    where: Predicate,
    box: Box,
    changed: frozenset[str] | None,
    *,
    replaced: bool,
    groups: int | None = None,
) -> Sensitivity:
    """Return how far the cells of a clamped total move; `changed` is None for the whole person.

    Where only some `groups` of a person are kept, a row that enters or leaves may exchange them for others.
    """
    cells = prod(schema.domain(name).size or 1 for name in keys)
    kept = kept_groups(schema, keys, groups)
    most = cells if kept is None else kept
    reach = Reach(1 if schema.one_cell_each(keys) else most, cells, *box.ends)
    if where == NO_ROW:
        return reach.within(0)
    if changed is None and not replaced:
        return reach.there_or_not()
    low, high = box.ends
    vanishes = box.vanishes(schema)
    if changed is None:
        # Who is in the only cell with a value in any case goes from one end to the other at most.
        stays = cells == 1 and where == EVERY_ROW and not vanishes
        return reach.within(high - low) if stays else reach.exchanged()

    def touched(names: Iterable[str]) -> bool:
        return not schema.reads(names).isdisjoint(changed)

    if touched(name for name in keys if schema.domain(name).size != 1):
        return reach.exchanged()
    value = box.part.column is not None and touched([box.part.column])
    enters = touched(columns(where))
    if enters and kept is not None:
        return reach.exchanged()
    if enters or (value and vanishes):
        return reach.within(reach.spread)
    return reach.within(high - low if value else 0)


def found_box_moved(
    schema: Schema, measured: Sequence[str], box: Box, changed: frozenset[str] | None, *, replaced: bool, groups: int
) -> Sensitivity:
    """Return how far clamped totals of groups that are found in the data move; `measured` is all that they read.

    Texts are cut to their bytes after a person's groups are chosen, so that several of them may become one: what a
    person adds to one cell is then up to g times as much, and only the sum over all cells is as for listed keys. A
    changed attribute is charged as an exchanged person, whatever it decides.
    """
    low, high = box.ends
    size, spread = max(abs(low), abs(high)), max(high, 0) - min(low, 0)
    still = changed is not None and schema.reads(measured).isdisjoint(changed)
    if still or not size:
        return Sensitivity(Fraction(0), Fraction(0), Fraction(0), 0)
    if changed is None and not replaced:
        each = Fraction(groups * size)
        return Sensitivity(each, each**2, each, groups)
    both = groups**2 * max(2 * size**2, spread**2)
    return Sensitivity(Fraction(2 * groups * size), Fraction(both), Fraction(groups * spread), 2 * groups)


# Inside an engine


def inside(code: Any, ends: Any) -> Any:
    """Clamp a number to the `low` and the `high` of something; what is missing stays missing."""
    import ibis

    low, high = ibis.literal(ends.low, "int64"), ibis.literal(ends.high, "int64")
    return ibis.cases((code < low, low), (code > high, high), else_=code)


def from_halves(high: Any, low: Any, ends: Any) -> Any:
    """Clamp a sum of two halves before it is put together, so that it fits."""
    import ibis

    carried = high + (low >> 32)
    least, most = ibis.literal(ends.low >> 32, "int64"), ibis.literal(ends.high >> 32, "int64")
    safe = ibis.cases((carried < least, least), (carried > most, most), else_=carried)
    whole = inside(safe * HALF + (low & (HALF - 1)), ends)
    outer = (ibis.literal(ends.low, "int64"), ibis.literal(ends.high, "int64"))
    return ibis.cases((carried < least, outer[0]), (carried > most, outer[1]), else_=whole)


def clamped_shares(
    rows: ir.Table, schema: Schema, keys: Sequence[str], boxes: Sequence[Box], *, by_key: bool = False
) -> ir.Table:
    """Return one row for each person and cell: the place of the cell, and what the person adds to each total there.

    With `by_key` the keys stand there in place of the place, so that groups can be told apart that nobody can list. A
    cell with rows is there also if what the person adds is missing, so that no value decides which cells there are.
    """
    groups = {PERSON: rows[PERSON]}
    if by_key:
        groups |= {name: rows[name] for name in keys}
    elif (cell := cell_index(rows, schema, keys)) is not None:
        groups |= {CELL: cell}
    if schema.row_key == ():
        # One row a person is their share; where there is no person column all rows are called alike.
        return rows.select(**groups, **{part_name(at): _of_row(rows, box, schema) for at, box in enumerate(boxes)})
    sums: dict[str, Any] = {"sfumato_rows": rows.count()}
    for place, box in enumerate(boxes):
        sums |= _sums(rows, box.part, schema, part_name(place))
    grouped = rows.group_by(**groups).agg(**sums)
    shares = {part_name(place): _share(grouped, box, part_name(place)) for place, box in enumerate(boxes)}
    return grouped.select(**{name: grouped[name] for name in groups}, **shares)


def _there(rows: ir.Table, column: str, schema: Schema) -> Any:
    """Return the code of a column, null where it is missing."""
    domain = schema.domain(column)
    value = rows[column].cast("int64")
    return value.nullif(domain.missing_code) if domain.may_be_missing else value


def _of_row(rows: ir.Table, box: Box, schema: Schema) -> Any:
    import ibis

    if box.part.column is None:
        return inside(ibis.literal(1, "int64"), box)
    there = _there(rows, box.part.column, schema)
    value = there.notnull().cast("int64") if box.part.power is Power.PRESENT else there
    return inside(value, box).fill_null(0)


def _sums(rows: ir.Table, part: Part, schema: Schema, name: str) -> dict[str, Any]:
    """Return what is added up of a person's rows in a cell; of sums that may not fit, two halves."""
    if part.column is None:
        return {}
    there = _there(rows, part.column, schema)
    if part.power is Power.PRESENT:
        return {name: there.count()}
    return sums_of(rows, there, engine_largest(part, schema), name)


def sums_of(rows: ir.Table, value: Any, largest: int, name: str) -> dict[str, Any]:
    """Return the sum of a number over rows of a person, in halves where an engine's own sum might not fit.

    DuckDB adds 64-bit integers in 128 bits, where 2^40 rows of them fit; Spark stops, or wraps, at 2^63.
    """
    if largest * MOST_ROWS < 2**62 or rows.get_backend().name == "duckdb":
        return {name: value.sum()}
    return {f"{name}_high": (value >> 32).sum(), f"{name}_low": (value & (HALF - 1)).sum()}


def clamped_sum(grouped: ir.Table, name: str, ends: Any) -> Any:
    """Return a sum of `sums_of` inside its ends, as 64 bits; null where nothing was added up."""
    if name in grouped.columns:
        return inside(grouped[name], ends).try_cast("int64")
    return from_halves(grouped[f"{name}_high"].cast("int64"), grouped[f"{name}_low"].cast("int64"), ends)


def _share(grouped: ir.Table, box: Box, name: str) -> Any:
    if box.part.column is None:
        return inside(grouped.sfumato_rows.cast("int64"), box)
    return clamped_sum(grouped, name, box).fill_null(0)
