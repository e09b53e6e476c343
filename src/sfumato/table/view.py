"""What a question sees of a table: exact integers over the columns that it declared, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import ParameterError, SchemaError
from sfumato.table.bounding import Bounding, Way, ordered_groups
from sfumato.table.boxes import Box, clamped_shares, kept_groups
from sfumato.table.engine import Query
from sfumato.table.marginals import Binned, count_sets
from sfumato.table.predicate import EVERY_ROW, Predicate, columns, expression
from sfumato.table.repair import PERSON
from sfumato.table.statistics import (
    CELL,
    COUNT,
    DENSE_CELLS,
    MOST_PLACES,
    MOST_ROWS,
    Part,
    Power,
    cell_index,
    check_fits,
    dense,
    engine_largest,
    packed,
    part_name,
    parts,
    read_total,
    sizes,
    sparse,
    totals,
)
from sfumato.table.where import read_where

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from sfumato.table.data import Table
    from sfumato.table.schema import Schema


@dataclass(frozen=True)
class View:
    """The declared columns of a table, bounded by a public rule.

    Every number is exact and counts in units of 1/`scale` of a row. Reading a column that was not declared raises:
    it would be read without being charged for.
    """

    table: Table
    columns: frozenset[str]
    rule: Bounding

    def __init__(self, table: Table, names: Iterable[str], rule: Bounding) -> None:
        declared = frozenset(names)
        for name in declared:
            table.schema.domain(name)
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "columns", declared)
        object.__setattr__(self, "rule", rule)

    @property
    def snapshot(self) -> str:
        """The caller's name for the state of the data."""
        return self.table.snapshot

    @property
    def scale(self) -> int:
        """How many units a whole row counts."""
        return self.rule.scale

    @property
    def reads(self) -> frozenset[str]:
        """The private attributes that answers depend on: picked rows are ordered by all of their contents."""
        schema = self.table.schema
        return frozenset(schema.attributes) if self.rule.way is Way.PICK else schema.reads(self.columns)

    def people(self) -> int:
        """Return the public number of people in the table."""
        return self.table.people

    def count(self, where: Any = None) -> int:
        """Return how many rows there are, in units of 1/scale."""
        return int(self.counts((), where))

    def counts(self, keys: Sequence[str], where: Any = None) -> Any:
        """Return the counts of all cells over some columns: an array with one axis for each, in code order."""
        return self.totals(keys, [COUNT], where)[0]

    def sums(self, column: str, keys: Sequence[str] = (), where: Any = None, *, center: int = 0) -> Any:
        """Return the sums of (code - center) over the cells of the column that are there, by group."""
        return self.totals(keys, [Part(Power.SUM, column, center)], where)[0]

    def presents(self, column: str, keys: Sequence[str] = (), where: Any = None) -> Any:
        """Return how many cells of a column are there, by group."""
        return self.totals(keys, [Part(Power.PRESENT, column)], where)[0]

    def squares(self, column: str, keys: Sequence[str] = (), where: Any = None, *, center: int = 0) -> Any:
        """Return the sums of (code - center)² over the cells of the column that are there, by group."""
        return self.totals(keys, [Part(Power.SQUARE, column, center)], where)[0]

    def totals(self, keys: Sequence[str], measures: Sequence[Part], where: Any = None) -> list[Any]:
        """Return several measures in one pass, each an array over the cells of the keys.

        Arrays hold 64-bit integers where the schema proves that all totals fit, Python integers elsewhere.
        """
        keys = _listed(keys)
        shape = sizes(self.table.schema, keys)
        asked = with_counts(measures)
        answer = self._ask(keys, asked, where, as_cells=True)
        found = {measure: dense(answer, part_name(place), shape) for place, measure in enumerate(asked)}
        return [self._centered(measure, found) for measure in measures]

    def sparse_counts(self, keys: Sequence[str], where: Any = None) -> dict[tuple[int, ...], int]:
        """Return the counts of the cells that occur, sorted by code, for any columns, text included."""
        keys = _listed(keys)
        answer = self._ask(keys, [COUNT], where, as_cells=False)
        return sparse(answer, part_name(0), {name: self.table.schema.domain(name) for name in keys})

    def distinct(self, keys: Sequence[str], where: Any = None) -> tuple[Any, Any]:
        """Return the combinations of codes that occur, one a row and sorted, and the count of each, all columnar."""
        keys = _listed(keys)
        domains = [self.table.schema.domain(name) for name in keys]
        if not keys or any(domain.last is None for domain in domains):
            raise SchemaError("Distinct rows are of columns with finitely many values; name some, and no text.")
        answer = self._ask(keys, [COUNT], where, as_cells=False)
        columns = [answer.column(name).to_numpy().astype(np.int64) for name in keys]
        arranged = np.lexsort(packed(columns, domains)[::-1])
        codes = np.empty((len(arranged), len(keys)), np.int64, order="F")
        for place, column in enumerate(columns):
            codes[:, place] = column[arranged]
        return codes, read_total(answer, part_name(0))[arranged]

    def places(self, keys: Sequence[str], where: Any = None) -> tuple[Any, Any]:
        """Return the combinations of codes that occur, each by its place in the flat table of all, and their counts.

        They are sorted, which is in the order of their codes. Two numbers are held of each, whatever its columns.
        """
        keys = _listed(keys)
        known = [self.table.schema.domain(name).size for name in keys]
        if None in known or prod(size or 1 for size in known) >= MOST_PLACES:
            raise SchemaError(
                "Combinations are numbered where there are less than 2^62 of them; name fewer columns, and no text."
            )
        answer = self._ask(keys, [COUNT], where, as_cells=True)
        counts = read_total(answer, part_name(0))
        if CELL not in answer.column_names:
            return np.zeros(1, np.int64)[counts > 0], counts[counts > 0]
        found = answer.column(CELL).to_numpy().astype(np.int64)
        arranged = np.argsort(found)
        return found[arranged], counts[arranged]

    def margins(self, sets: Sequence[tuple[str, ...]], binned: Sequence[Binned] = ()) -> list[Any]:
        """Return the counts of all cells over several sets of columns; only these reach this process."""
        bases = {one.name: one.base for one in binned}
        read = {bases.get(name, name) for one in sets for name in one}
        self._check(read)
        if self.rule.way is Way.WEIGH:
            raise ParameterError("Tables of several sets are of whole rows; ask for counts of weighed ones.")
        return count_sets(self.table, self.table.bounded(self.rule, read), sets, binned)

    def people_in(self, keys: Sequence[str], where: Any = None, groups: int | None = None) -> Any:
        """Return in how many people's rows each cell of some columns occurs; all rows of a person are looked at.

        With a limit on the groups of a person, `groups` or that of the schema, a person counts in the first of their
        cells only.
        """
        schema, keys = self.table.schema, _listed(keys)
        if schema.person is None or schema.row_key == ():
            return self.counts(keys, where)
        predicate = read_where(where, schema)
        self._check({*keys, *columns(predicate)})
        shape = sizes(schema, keys)
        asked = ("people", self.rule, keys, predicate, groups)
        if (answer := self.table.run_as_planned(asked)) is not None:
            return dense(answer, part_name(0), shape)
        rows = self.table.everybody()
        if predicate != EVERY_ROW:
            rows = rows.filter(expression(predicate, rows, schema))
        rows = rows.select(PERSON, *keys).distinct()
        limit = kept_groups(schema, keys, groups) if groups is not None else schema.groups_per_person
        limited = limit is not None and bool(keys)
        if limited:
            rows = self._first_cells(rows, keys, limit or 1)
        query = _grouped(rows, self._groups(rows, keys, True), {part_name(0): rows.count()})
        # The groups that are kept are those of one reading; a plan over them would not outlive it.
        answer = self.table.run(query, prod(shape), None if limited else asked)
        if limited:
            self.table.forget(rows)
        return dense(answer, part_name(0), shape)

    def _first_cells(
        self, rows: ir.Table, keys: tuple[str, ...], limit: int, hidden: Sequence[str] = (PERSON,)
    ) -> ir.Table:
        """Keep the first cells of each person in a keyed order of who they are and of the cell, and nothing else.

        Numbers that people were given at opening depend on who else is there; ids do not.
        """
        rule = Bounding(Way.PICK, 1, limit, key=self.rule.key)
        return self.table.keep_first(
            self.table.by_id(rows),
            lambda part: ordered_groups(part, self.table.schema, keys, rule, self.table.source),
            limit,
            keys,
            hidden,
        )

    def boxed(
        self, keys: Sequence[str], boxes: Sequence[Box], where: Any = None, groups: int | None = None
    ) -> list[Any]:
        """Return totals by cell to which each person adds one clamped number of all their rows there.

        With a limit on the groups of a person they add to the first of their cells only.
        """
        schema, keys = self.table.schema, _listed(keys)
        predicate = read_where(where, schema)
        self._check({*keys, *columns(predicate), *(box.part.column for box in boxes if box.part.column)})
        shape = sizes(schema, keys)
        names = [part_name(place) for place in range(len(boxes))]
        asked = ("boxes", self.rule, keys, tuple(boxes), predicate, groups)
        if (answer := self.table.run_as_planned(asked)) is not None:
            return [dense(answer, name, shape) for name in names]
        rows = self.table.everybody()
        if predicate != EVERY_ROW:
            rows = rows.filter(expression(predicate, rows, schema))
        limit = kept_groups(schema, keys, groups)
        shares = clamped_shares(rows, schema, keys, boxes, by_key=limit is not None)
        if limit is not None:
            kept = self._first_cells(shares, keys, limit)
            shares = kept.mutate(**self._groups(kept, keys, True))
        largest = [max(abs(box.low), abs(box.high)) for box in boxes]
        cells = {CELL: shares[CELL]} if CELL in shares.columns else {}
        query = _grouped(shares, cells, totals(shares, {name: shares[name] for name in names}, largest))
        answer = self.table.run(query, prod(shape), None if limit is not None else asked)
        if limit is not None:
            self.table.forget(kept)
        return [dense(answer, name, shape) for name in names]

    def shares_found(self, keys: tuple[str, ...], boxes: Sequence[Box], where: Any, groups: int) -> Any:
        """Return the Arrow answer of people and clamped totals by cell, for keys that nobody can list.

        All cells of a person with a row that passes are ordered, and the first of them count.
        """
        schema = self.table.schema
        predicate = read_where(where, schema)
        self._check({*keys, *columns(predicate), *(box.part.column for box in boxes if box.part.column)})
        rows = self.table.everybody()
        if predicate != EVERY_ROW:
            rows = rows.filter(expression(predicate, rows, schema))
        kept = self._first_cells(clamped_shares(rows, schema, keys, boxes, by_key=True), keys, groups)
        # The first total is the number of people, and then come those of the boxes.
        shares = {part_name(place + 1): kept[part_name(place)] for place in range(len(boxes))}
        largest = [max(abs(box.low), abs(box.high)) for box in boxes]
        counted = {part_name(0): kept.count()} | totals(kept, shares, largest)
        answer = self.table.run(
            _grouped(kept, {name: kept[name] for name in keys}, counted), self._at_most(keys, groups)
        )
        self.table.forget(kept)
        return answer

    def distribution(self, column: str, where: Any = None) -> tuple[Any, Any]:
        """Return the codes of a column that occur, sorted, and the count of each in units of 1/scale.

        Cells that are missing have no place in the order of values; they are left out.
        """
        domain = self.table.schema.domain(column)
        if domain.last is None:
            raise SchemaError(f"{column!r} holds text, which has no order here; ask for sparse_counts.")
        answer = self._ask((column,), [COUNT], where, as_cells=False)
        codes = answer.column(column).to_numpy().astype(np.int64)
        arranged = np.argsort(codes)
        if domain.may_be_missing:
            arranged = arranged[codes[arranged] != domain.missing_code]
        return codes[arranged], read_total(answer, part_name(0))[arranged]

    def grid_counts(self, column: str, starts: Sequence[int], where: Any = None) -> Any:
        """Return the counts below the first of the codes `starts`, from each one to the next, and from the last on."""
        edges = np.asarray(starts, np.int64)
        if edges.ndim != 1 or (np.diff(edges) <= 0).any():
            raise ParameterError("The starts of a grid grow from one to the next; sort them and drop equal ones.")
        codes, counts = self.distribution(column, where)
        found = np.zeros(len(edges) + 1, np.int64)
        np.add.at(found, np.searchsorted(edges, codes, side="right"), counts)
        return found

    def sorted_codes(self, column: str, where: Any = None) -> Any:
        """Return the codes of all rows, sorted; a list of rows has no weights, so weighed views refuse."""
        if self.rule.way is Way.WEIGH:
            raise ParameterError("Weighed rows cannot be listed; ask a view with way=Way.PICK, or for distribution.")
        codes, counts = self.distribution(column, where)
        return np.repeat(codes, counts)

    # How a question becomes one query

    def _ask(self, keys: tuple[str, ...], measures: Sequence[Part], where: Any, *, as_cells: bool) -> Any:
        """Return the Arrow answer to one query; the totals of a measure are called by its place."""
        schema = self.table.schema
        predicate = read_where(where, schema)
        read = {*keys, *columns(predicate), *(measure.column for measure in measures if measure.column)}
        self._check(read)
        asked = (self.rule, keys, tuple(measures), predicate, as_cells)
        if (answer := self.table.run_as_planned(asked)) is not None:
            return answer
        for measure in measures:
            check_fits(measure, schema, self.rule)
        rows = self.table.bounded(self.rule, read)
        limited = self.rule.groups is not None and bool(keys)
        # Rows that are cut are told apart by all of their columns.
        narrow = frozenset() if limited or not self.table.uncut(rows) else frozenset(read)
        if not limited:
            # The key by which rows were picked has no part in it, so that it is not kept either.
            told = (schema.fingerprint, self.rule.scale, keys, tuple(measures), predicate, as_cells)
            query = Query(lambda: self._summed(rows, keys, measures, predicate, as_cells), rows, told)
            return self.table.run_query(query, self._most(keys), asked, narrow)
        first = self._first_groups(_picked(rows, predicate, schema), keys, measures)
        values = {part_name(place): first[part_name(place)] for place in range(len(measures))}
        share = self.rule.scale * self.rule.rows
        largest = [engine_largest(measure, schema) * share for measure in measures]
        grouped = _grouped(first, self._groups(first, keys, as_cells), totals(first, values, largest))
        answer = self.table.run(grouped, self._most(keys), asked, narrow)
        self.table.forget(first)
        return answer

    def _summed(
        self, rows: ir.Table, keys: tuple[str, ...], measures: Sequence[Part], predicate: Predicate, as_cells: bool
    ) -> ir.Table:
        """Return the query for the totals of some rows by group: of public facts and the names of the rows alone."""
        schema = self.table.schema
        picked = _picked(rows, predicate, schema)
        values = {part_name(place): value for place, value in enumerate(parts(picked, measures, schema))}
        largest = [engine_largest(measure, schema) * self.rule.scale for measure in measures]
        return _grouped(picked, self._groups(picked, keys, as_cells), totals(picked, values, largest))

    def _most(self, keys: Sequence[str]) -> int | None:
        """Return how many cells there can be at most: all that exist, or one for every row that counts.

        None where neither says much: how many rows are weighed, and of how many people where they come and go, nobody
        knows beforehand unless somebody said how many rows there are, and of a wide column hardly any value may occur.
        """
        return self._at_most(keys, None if self.rule.way is Way.WEIGH else self.rule.rows)

    def _at_most(self, keys: Sequence[str], each: int | None) -> int | None:
        """Return how many cells there can be at most, of which a person has `each` at most, None for any number."""
        sizes = [self.table.schema.domain(name).size for name in keys]
        cells = None if None in sizes else prod(size or 1 for size in sizes)
        people, said = self.table.public_people, self.table.public_rows
        known = [] if said is None else [said]
        if people is not None and each is not None:
            known.append(people * each)
        if not known:
            return cells if cells is not None and cells <= DENSE_CELLS else None
        return min(known) if cells is None else min(cells, *known)

    def _groups(self, rows: ir.Table, keys: tuple[str, ...], as_cells: bool) -> dict[str, Any]:
        if not as_cells:
            return {name: rows[name] for name in keys}
        index = cell_index(rows, self.table.schema, keys)
        return {} if index is None else {CELL: index}

    def _first_groups(self, rows: ir.Table, keys: tuple[str, ...], measures: Sequence[Part]) -> ir.Table:
        """Add up each person's rows by group, then keep the first groups of each person."""
        rule, schema, source = self.rule, self.table.schema, self.table.source

        def place(rows: ir.Table) -> ir.Table:
            # The schema proved that a share fits 62 bits; the cast says so to an engine that adds in 128.
            shares = {
                part_name(number): rows.count() if value is None else value.sum().try_cast("int64").fill_null(0)
                for number, value in enumerate(parts(rows, measures, schema))
            }
            return ordered_groups(rows.group_by([PERSON, *keys]).agg(**shares), schema, keys, rule, source)

        assert rule.groups is not None
        return self.table.keep_first(rows, place, rule.groups, keys)

    def _check(self, names: set[str]) -> None:
        hidden = sorted(names - self.columns)
        if hidden:
            raise SchemaError(
                f"This view was declared to read {', '.join(sorted(self.columns)) or 'no column'}, so it hands out no "
                f"{', '.join(hidden)}; declare what a question reads, and it is charged for it."
            )

    def _centered(self, measure: Part, found: Mapping[Part, Any]) -> Any:
        """Take the centre off a sum: Σ(c - m) = Σc - m·Σ1 over the cells that are there, in integers."""
        value = found[measure]
        if measure.power is not Power.SUM or not measure.center:
            return value
        # An array without axes would decay to a bare integer.
        present = found[Part(Power.PRESENT, measure.column)].astype(object)
        exact = np.asarray(value.astype(object) - measure.center * present, object)
        fits = measure.largest(self.table.schema) * self.rule.rows * self.rule.scale * MOST_ROWS < 2**62
        return exact.astype(np.int64) if fits else exact


def with_counts(measures: Sequence[Part]) -> list[Part]:
    """Add the counts of cells that centred sums need, and drop repetitions."""
    centred = [measure for measure in measures if measure.power is Power.SUM and measure.center]
    return list(dict.fromkeys([*measures, *(Part(Power.PRESENT, measure.column) for measure in centred)]))


def _picked(rows: ir.Table, predicate: Predicate, schema: Schema) -> ir.Table:
    return rows if predicate == EVERY_ROW else rows.filter(expression(predicate, rows, schema))


def _grouped(rows: ir.Table, groups: Mapping[str, Any], values: Mapping[str, Any]) -> ir.Table:
    return rows.group_by(groups).agg(**values) if groups else rows.aggregate(**values)


def _listed(keys: Sequence[str]) -> tuple[str, ...]:
    if isinstance(keys, str):
        raise ParameterError(f"keys is a list of columns; write [{keys!r}].")
    if len(set(keys)) != len(keys):
        raise ParameterError("The same key is listed twice; list each one once.")
    return tuple(keys)
