"""A table of people: repaired, bounded once, and handed out through views."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sfumato.errors import SchemaError
from sfumato.show.progress import watched
from sfumato.table.bounding import (
    Bounding,
    Way,
    bounding_of,
    ordered,
    pick_in_engine,
    pick_in_memory,
    rows_by_person,
    weigh_in_memory,
    weighed,
)
from sfumato.table.identity import Files, files_of
from sfumato.table.repair import PERSON, check_columns, repaired
from sfumato.table.schema import Schema
from sfumato.table.source import Source, copied_to_duckdb, open_source

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from sfumato.table.view import View


CELLS_AT_ONCE = 2**26
"""How many cells are held in memory while rows are weighed; above, the engine does it."""

PEOPLE_AT_ONCE = 2**18
"""How many people's rows are arranged in memory at a time."""


def open_table(
    source: Any, schema: Schema, *, snapshot: str = "", table: str | None = None, order_key: str = ""
) -> Table:
    """Open a source under a schema; raises on public facts only.

    `snapshot` is the caller's own name for this state of the data: it says nothing about their content.
    `order_key` chooses which rows are picked of people who have too many. The people are counted and their rows
    weighed here, once, because no question can change that.
    """
    if not isinstance(schema, Schema):
        raise SchemaError(f"A table needs a Schema, not {type(schema).__name__}; draft_schema(source) drafts one.")
    files = files_of(source, table)
    before = None if files is None else files.identity()  # taken before the first byte is read
    opened = open_source(source, table=table)
    try:
        check_columns(opened.table, schema)
        if files is not None and opened.kind == "duckdb" and files.identity() == before:
            files = Files(files.source, opened.table.get_name())
            before = files.identity()
        names = [*{schema.base(name): None for name in schema.names}, *([schema.person] if schema.person else [])]
        if opened.engine.name not in ("duckdb", "pyspark"):
            opened = copied_to_duckdb(opened, names)
            check_columns(opened.table, schema)
        elif opened.kind == "csv":
            # Which lines of a CSV file can be read depends on the columns that are asked for, so it is read once.
            raw = opened.table.select(*names)
            opened = replace(opened, table=_guarded(lambda: opened.stored(raw)))
        found = Table(opened, schema, snapshot, order_key)
        found.files, found.identity = files, before
        if schema.person is not None:
            found.bounded(Way.WEIGH)
    except BaseException:
        opened.close()
        raise
    return found


class Table:
    """One snapshot of the data of some people under a public schema. Make one with `open_table`."""

    def __init__(self, source: Source, schema: Schema, snapshot: str, order_key: str) -> None:
        self.schema = schema
        self.snapshot = snapshot
        self.order_key = order_key
        self.files: Files | None = None
        self.identity: str | None = None  # private: sizes and times of files depend on cells
        self._source = source
        self._kept: dict[Way, ir.Table] = {}

    def __repr__(self) -> str:
        return f"Table({self._source.kind}, {len(self.schema.names)} columns, snapshot {self.snapshot!r})"

    def require_unchanged(self) -> None:
        """Refuse to go on if the files behind the table are no longer those that were opened (SM-SOURCE)."""
        if self.files is not None and self.files.identity() != self.identity:
            raise SchemaError(
                "The data changed since they were opened; open them again. What was asked before stays stored under "
                f"the snapshot {self.snapshot!r}."
            )

    @property
    def engine(self) -> str:
        """The engine that runs the questions: duckdb or pyspark."""
        return str(self._source.engine.name)

    @cached_property
    def people(self) -> int:
        """How many people there are: the one public fact about the data."""
        counted = self._coded if self.schema.person is None else self._rows_by_person
        return int(self.run(counted.aggregate(people=counted.count())).column("people")[0].as_py())

    def rule(self, way: Way | None = None) -> Bounding:
        """Return the rule that bounds what a person counts, by default the one for linear statistics."""
        if way is None:
            way = Way.ROWS if self.schema.person is None else Way.WEIGH
        return bounding_of(self.schema, way, key=self.order_key)

    def view(self, columns: Iterable[str], way: Way | None = None) -> View:
        """Return a view that hands out these columns and no others."""
        from sfumato.table.view import View

        return View(self, columns, self.rule(way))

    def bounded(self, way: Way) -> ir.Table:
        """Return the codes of all columns, cut to what a person may count; computed once and kept."""
        if way not in self._kept:
            self._kept[way] = self._bound(way)
        return self._kept[way]

    def _bound(self, way: Way) -> ir.Table:
        if self.schema.person is None:
            return self._coded
        rule = self.rule(way)
        # Whose row it is matters again only where groups are picked.
        hidden = [] if rule.groups is not None else [PERSON]
        if way is Way.WEIGH and self._fits_memory():
            rows, people = weigh_in_memory(self.run(self._coded), rule)
            self.__dict__["people"] = people  # counted on the way
            shown = self._source.registered(rows.drop_columns(hidden))
            kept = self._cached(shown)
            self._source.forget(shown)
            return kept
        if way is Way.WEIGH:
            return self._cached(weighed(self._coded, self._rows_by_person, rule).drop(*hidden))
        return self.keep_first(
            self._coded,
            lambda rows: ordered(rows, self.schema, rule, self.engine),
            rule.rows,
            self.schema.names,
            hidden,
        )

    def _fits_memory(self) -> bool:
        """Tell whether all codes fit memory comfortably; the answer changes the speed and not one number."""
        if not self._source.is_duckdb:
            return False
        rows = self.run(self._source.table.aggregate(rows=self._source.table.count())).column("rows")[0].as_py()
        return bool(rows * (len(self.schema.names) + 2) <= CELLS_AT_ONCE)

    def keep_first(
        self,
        rows: ir.Table,
        place: Callable[[ir.Table], ir.Table],
        limit: int,
        ties: Iterable[str],
        hidden: Sequence[str] = (PERSON,),
    ) -> ir.Table:
        """Keep the first of each person's rows as `place` arranges them; next to DuckDB this happens in memory."""
        if not self._source.is_duckdb:
            return self._cached(pick_in_engine(place(rows), limit, tuple(ties)).drop(*hidden))
        import pyarrow

        shards = 1 << (self.people // PEOPLE_AT_ONCE).bit_length()
        kept = []
        for shard in range(shards):
            # Whole people go into one shard, so it does not matter which; it only keeps the memory small. A mask and
            # no remainder: the engine's hash is signed.
            part = rows if shards == 1 else rows.filter(rows[PERSON].hash() & (shards - 1) == shard)
            kept.append(pick_in_memory(self.run(place(part)), limit, tuple(ties)).drop_columns(list(hidden)))
        return self._source.registered(pyarrow.concat_tables(kept))

    @cached_property
    def _coded(self) -> ir.Table:
        return _guarded(lambda: self._source.named(repaired(self._source.table, self.schema)))

    @cached_property
    def _rows_by_person(self) -> ir.Table:
        return self._cached(rows_by_person(self._coded))

    def _cached(self, table: ir.Table) -> ir.Table:
        with watched("Bounding what a person adds", self._source.part_done):
            return _guarded(lambda: self._source.stored(table))

    def forget(self, table: ir.Table) -> None:
        """Let go of a table that `keep_first` made for one question."""
        self._source.forget(table)

    def run(self, query: ir.Table) -> Any:
        """Run a query and return an Arrow table."""
        with watched("Reading the table", self._source.part_done):
            return _guarded(query.to_pyarrow)

    def close(self) -> None:
        """Let go of the source and of what was kept."""
        self._kept.clear()
        for name in ("_rows_by_person", "_coded"):
            self.__dict__.pop(name, None)
        self._source.close()

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _guarded(work: Any) -> Any:
    """Run engine work; an engine's message can quote a cell, so only the kind of failure leaves."""
    try:
        return work()
    except (AttributeError, NameError, TypeError, NotImplementedError):
        raise  # a bug of ours or of a library, not a word about the data
    except Exception as error:
        kind = type(error).__name__
    raise SchemaError(
        f"The engine could not read the source ({kind}): a file is damaged, or breaks its own format; check it with "
        "the tool that wrote it."
    )
