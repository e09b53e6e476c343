"""One table of one engine, what is kept next to it, and how it is let go of."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sfumato.errors import SchemaError
from sfumato.moved import moved
from sfumato.table.frames import Frame, arrow_frame
from sfumato.table.resources import Resources, in_bytes

if TYPE_CHECKING:
    import ibis.expr.types as ir

_names = itertools.count()
_turns: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_making = Lock()


PLAIN_CLAUSES = 2
"""What is selected, and from where: a query with more clauses than these chooses or arranges rows."""

FEW_ROWS = 2**10
"""Up to so many rows an answer comes as Python values: it is ready at once, where DuckDB runs a second query to hand a
plan's answer over in columns."""


@dataclass(frozen=True)
class PlannedQuery:
    """A query that an engine has planned and not run: its name there, and the columns of its answer as Arrow types.

    `few` says that its answer has few rows, whatever the data are.
    """

    name: str
    kind: Any
    few: bool = False


TEXTS_AT_ONCE, LONGEST_TEXT = 2**10, 2**16
_texts: dict[Hashable, tuple[str, str, Any]] = {}
"""Queries in SQL by what is asked of which types: what stands before the name of the rows and after it, and the types
of the answer. All of it follows from schemas and questions."""


@dataclass(frozen=True)
class Query:
    """A query that is built when it is needed: what is `asked` of which `rows`, where that alone decides it."""

    made: Callable[[], ir.Table] = field(repr=False)
    rows: ir.Table | None = None
    asked: Hashable = None

    @cached_property
    def table(self) -> ir.Table:
        """The query, built once."""
        return self.made()

    @property
    def named(self) -> Any:
        """The rows as the engine knows them by name; None where they are a query themselves, or nobody says which."""
        from ibis.expr.operations import DatabaseTable

        found = None if self.asked is None or self.rows is None else self.rows.op()
        return found if isinstance(found, DatabaseTable) else None


@dataclass(frozen=True)
class Written:
    """A query of DuckDB that has a name, in SQL: what each column is computed by, and the rows that it is of."""

    cells: Mapping[str, str]
    rows: str

    def only(self, names: Iterable[str]) -> str:
        """Return the query for some of its columns."""
        cells = ", ".join(f"{self.cells[name]} AS {quoted(name)}" for name in names)
        return f"SELECT {cells} FROM {self.rows}"


@dataclass(frozen=True)
class Source:
    """One table of one engine: `engine` is the Ibis backend that runs it, `kind` says what it was made from.

    Where there is a `load`, `table` is there for its types, and `loaded` brings the cells. `refused` are columns of
    types that no engine is handed. `scan` is how a file is read in SQL: an engine looks at the statistics of every
    column that it binds, so undeclared columns are never bound. `footers` is how SQL reads what Parquet files say of
    their columns, each for itself; `rows` are those that a CSV file has by its lines. `copies` says that rows can
    change, so that the declared columns are copied; `unchanged` tells whether what is read in place is what was opened.
    `index` and `zones` are the names of a frame's index and the time zones of its moments, which are not read.
    """

    table: ir.Table
    engine: Any
    kind: str
    load: Callable[[Sequence[str], str | None], Any] | None = field(default=None, repr=False)
    refused: Mapping[str, str] = field(default_factory=dict, repr=False)
    scan: str = field(default="", repr=False)
    footers: str = field(default="", repr=False)
    rows: int | None = field(default=None, repr=False)
    resources: Resources = field(default_factory=Resources, repr=False)
    copies: bool = field(default=False, repr=False)
    unchanged: Callable[[], bool] = field(default=lambda: True, repr=False, compare=False)
    index: tuple[str, ...] = field(default=(), repr=False)
    zones: Mapping[str, str] = field(default_factory=dict, repr=False)
    _closers: list[Callable[[], Any]] = field(default_factory=list, repr=False)
    _kept: dict[str, Callable[[], Any]] = field(default_factory=dict, repr=False)
    _written: dict[str, Written] = field(default_factory=dict, repr=False)
    turn: Any = field(default=None, repr=False, compare=False)
    """A connection holds one answer at a time: whoever asks has it until the answer was taken."""

    def __post_init__(self) -> None:
        if self.turn is None:
            object.__setattr__(self, "turn", turn_of(self.engine))

    @property
    def is_duckdb(self) -> bool:
        """Whether DuckDB runs it, in this process."""
        return bool(self.engine.name == "duckdb")

    @property
    def relation(self) -> str:
        """The table as SQL names it after FROM."""
        return self.scan or f"({self.engine.compile(self.table)})"

    def using(self, resources: Resources) -> Source:
        """Return the source with what it may use of the machine; a connection that was handed in stays as it is."""
        if self.is_duckdb and self.kind != "ibis":
            self._closers.append(resources.apply(self.engine))
        return replace(self, resources=resources)

    def loaded(self, names: Sequence[str], person: str | None = None) -> Source:
        """Return the source with some columns in a DuckDB of this process; files and clusters stay where they are.

        What leaves another engine or another library does so here, once, before anything is asked.
        """
        if self.load is None:
            return self
        data = self.load(names, person)
        if self.is_duckdb:
            with self.turn:
                self.engine.con.unregister(self.table.get_name())  # it was there for its types
            return replace(self, table=self.registered(data), load=None)
        opened = frame_source(arrow_frame(data), self.kind).using(self.resources)
        return replace(opened, load=None)

    def part_done(self) -> float | None:
        """Return how far the engine is with what it runs now, where it says so."""
        percent = self.engine.con.query_progress() if self.is_duckdb else -1.0
        return percent / 100 if percent >= 0 else None

    def stored(self, table: ir.Table) -> ir.Table:
        """Compute a table once and keep it next to the data, until it is forgotten or the source is closed."""
        name = fresh_name()
        with self.turn:
            if self.is_duckdb:
                self.engine.create_table(name, table, temp=True)
                self._kept[name] = lambda: self.engine.con.execute(f'DROP TABLE IF EXISTS "{name}"')
            else:
                frame = self.frame(table).persist(self._level())
                frame.createOrReplaceTempView(name)
                self._kept[name] = lambda: (frame.unpersist(), frame.sparkSession.catalog.dropTempView(name))
            return self.engine.table(name)

    def copied(self, names: Sequence[str]) -> ir.Table:
        """Keep columns of a Spark table as they are now, until the source is closed; a cell that fails does so here.

        A copy forgets where it came from: a part that is lost with an executor ends with an error and is not read anew.
        """
        name = fresh_name()
        frame = self.frame(self.table.select(*names)).localCheckpoint(True, self._level())
        frame.createOrReplaceTempView(name)
        rows = frame._jdf.queryExecution().analyzed().rdd()
        self._kept[name] = lambda: (frame.sparkSession.catalog.dropTempView(name), rows.unpersist(False))
        return self.engine.table(name)

    def frame(self, table: ir.Table) -> Any:
        """Return a query as a frame of Spark: parsed, analysed, and not run."""
        return self.engine.raw_sql(self.engine.compile(table))

    def _level(self) -> Any:
        from pyspark import StorageLevel

        return getattr(StorageLevel, self.resources.storage)

    def planned(self, query: Query, most: int | None = None, read: Set[str] = frozenset()) -> PlannedQuery | None:
        """Have the engine read and plan a query, and run nothing: what it cannot do at all, it says here.

        `most` is a public bound on the rows of its answer; `read` are the only columns that the query means, if it says
        so. DuckDB keeps the plan until it is forgotten; Spark plans again.
        """
        if not self.is_duckdb:
            self.frame(query.table)
            return None
        text, kind = self._text(query)
        name = fresh_name()
        with self.turn:
            self.engine.con.execute(f'PREPARE "{name}" AS {self._narrow(text, read)}')
            self._kept[name] = lambda: self.engine.con.execute(f'DEALLOCATE "{name}"')
        return PlannedQuery(name, kind, most is not None and most <= FEW_ROWS)

    def _text(self, query: Query) -> tuple[str, Any]:
        """Return a query in SQL, and its columns as Arrow types; written once for all rows of the same types.

        What is kept follows from the schema and the question: the name of the rows is put in where it is used.
        """
        called = query.named
        if called is None:
            return self.engine.compile(query.table), query.table.schema().to_pyarrow()
        key = (query.asked, called.namespace, called.schema)
        if (known := _texts.get(key)) is None:
            text, kind = self.engine.compile(query.table), query.table.schema().to_pyarrow()
            before, _, after = text.partition(quoted(called.name))
            if called.name in before or called.name in after or len(text) > LONGEST_TEXT:
                return text, kind  # a text in a condition may hold the name, too
            if len(_texts) >= TEXTS_AT_ONCE:
                _texts.clear()
            known = _texts[key] = before, after, kind
        return quoted(called.name).join(known[:2]), known[2]

    def _narrow(self, query: str, read: Set[str]) -> str:
        """Return a query in SQL over only those columns of named ones that it reads, where it is known which.

        An engine binds and plans every column that a name stands for: of a wide table nearly all of it is in vain.
        """
        if not read or query.startswith("WITH"):
            return query
        known = {name: one for name, one in self._written.items() if quoted(name) in query and one.cells.keys() >= read}
        parts = ", ".join(f"{quoted(name)} AS ({one.only(read)})" for name, one in known.items())
        return f"WITH {parts} {query}" if parts else query

    def carried_out(self, plan: PlannedQuery) -> Any:
        """Run a query as it was planned and return an Arrow table."""
        run = f'EXECUTE "{plan.name}"'
        if not plan.few:
            with self.turn:
                return self.engine.con.sql(run).to_arrow_table().cast(plan.kind)
        import pyarrow

        with self.turn:
            rows = self.engine.con.execute(run).fetchall()
        columns = zip(*rows, strict=True) if rows else [()] * len(plan.kind)
        cells = [pyarrow.array(column, field.type) for column, field in zip(columns, plan.kind, strict=True)]
        return pyarrow.table(cells, plan.kind)

    def fetched(self, table: ir.Table, most: int | None = None) -> Any:
        """Run a query and return an Arrow table; `most` is a public bound on its rows, None if nobody knows one.

        Spark hands over at most maxResultSize at once. A larger answer is kept where it was computed and handed over in
        parts: every row is in the part of its own hash.
        """
        if self.is_duckdb:
            with self.turn:
                return table.to_pyarrow()
        return self._handed_over(self.frame(table), table.schema().to_pyarrow(), most)

    def each_batch(self, table: ir.Table, rows: int, take: Callable[[Any], None]) -> None:
        """Hand the answer of DuckDB to a query over in Arrow batches, without holding it as a whole.

        It is handed over and not yielded: nobody can stop half way and leave the connection taken for ever.
        """
        with self.turn:
            reader = self.engine.con.sql(self.engine.compile(table)).to_arrow_reader(rows)
            try:
                for batch in reader:
                    take(batch)
            finally:
                reader.close()  # whatever was left of it, if something went wrong

    def fetched_sql(self, rows: ir.Table, sql: str, most: int | None = None) -> Any:
        """Run a query of Spark that is written in SQL over some rows, called {rows} in it."""
        frame = self.engine.raw_sql(sql.format(rows=f"({self.engine.compile(rows)})"))
        return self._handed_over(frame, None, most)

    def _handed_over(self, frame: Any, kind: Any, most: int | None) -> Any:
        import pyarrow
        from pyspark.sql import functions

        def handed(part: Any) -> Any:
            found = part.toArrow()
            return found if kind is None else found.cast(kind)

        room, each = self._room(), 16 * (len(frame.columns) + 1)
        if most is not None and most * each <= room:
            return handed(frame)
        kept = frame.persist(self._level())
        try:
            parts = 1 + kept.count() * each // room
            place = functions.pmod(functions.hash(*kept.columns), functions.lit(parts))
            return pyarrow.concat_tables([handed(kept.where(place == part)) for part in range(parts)])
        finally:
            kept.unpersist()

    def _room(self) -> int:
        """Return how many bytes Spark may hand over at once, a quarter of what it allows."""
        size = in_bytes(self.engine._session.conf.get("spark.driver.maxResultSize", "1g"))
        return (size or 2**30) // 4

    def named(self, table: ir.Table) -> ir.Table:
        """Give a query a name inside the engine, so that it is not written out and read again for every question."""
        if not self.is_duckdb:
            return self._shown(self.frame(table))
        written = _written(self.engine, table)
        if written is None:
            return self._viewed(self.engine.compile(table))
        viewed = self._viewed(written.only(written.cells))
        self._written[viewed.get_name()] = written
        return viewed

    def _viewed(self, query: str) -> ir.Table:
        """Give SQL of DuckDB a name that is kept."""
        name = fresh_name()
        with self.turn:
            self.engine.con.execute(f'CREATE TEMP VIEW "{name}" AS {query}')
            self._kept[name] = lambda: self.engine.con.execute(f'DROP VIEW IF EXISTS "{name}"')
            return self.engine.table(name)

    def _shown(self, frame: Any) -> ir.Table:
        """Give a frame of Spark a name that is kept."""
        name = fresh_name()
        with self.turn:
            frame.createOrReplaceTempView(name)
            self._kept[name] = lambda: frame.sparkSession.catalog.dropTempView(name)
            return self.engine.table(name)

    def selected(self, cells: Mapping[str, str]) -> ir.Table:
        """Return a table whose columns are computed by SQL of the engine, under a name that is kept."""
        quote = '"' if self.is_duckdb else "`"
        columns = ", ".join(f"{cell} AS {quoted(column, quote)}" for column, cell in cells.items())
        query = f"SELECT {columns} FROM {self.relation} AS raw"
        return self._viewed(query) if self.is_duckdb else self._shown(self.engine.raw_sql(query))

    def registered(self, data: Any) -> ir.Table:
        """Show an Arrow table to DuckDB without copying it, until it is forgotten or the source is closed."""
        name = fresh_name()
        with self.turn:
            self.engine.con.register(name, data)
            self._kept[name] = lambda: self.engine.con.unregister(name)
            return self.engine.table(name)

    def forget(self, name: str) -> None:
        """Let go of one table that was stored or registered, or of a plan."""
        with self.turn:
            self._kept.pop(name)()

    def close(self) -> None:
        """Let go of what was opened or kept for this source; what the caller handed in stays open."""
        with self.turn:
            for forget in [*self._kept.values(), *self._closers]:
                forget()
            self._kept.clear()
            self._closers.clear()


def _written(engine: Any, table: ir.Table) -> Written | None:
    """Return the columns of a query that computes each by itself, None if it does something else too."""
    from sqlglot import exp

    query = engine.compiler.to_sqlglot(table)
    rows = query.find(exp.From)
    clauses = [name for name, value in query.args.items() if value]
    computed = all(isinstance(cell, exp.Alias) for cell in query.expressions)
    if rows is None or len(clauses) != PLAIN_CLAUSES or not computed:
        return None
    cells = {cell.alias: cell.this.sql(engine.dialect) for cell in query.expressions}
    return Written(cells, rows.this.sql(engine.dialect))


def turn_of(engine: Any) -> Any:
    """Return the lock of a connection: whoever was handed the same one waits for the same turn."""
    with _making:
        return _turns.setdefault(engine.con if engine.name == "duckdb" else engine, RLock())


def quoted(name: str, quote: str = '"') -> str:
    """Return a column's name as SQL writes it."""
    return quote + name.replace(quote, 2 * quote) + quote


def fresh_name() -> str:
    """Return a name that no other table of this process has."""
    return f"sfumato_{next(_names)}"


def duckdb_engine(path: str | None = None) -> Any:
    """Return a DuckDB of this process, set so that nothing around it reaches an exact statistic."""
    import duckdb
    import ibis

    engine = ibis.duckdb.connect(path, read_only=True) if path else ibis.duckdb.connect()
    # Time zones come from the surroundings; they may not reach an exact statistic.
    engine.raw_sql("SET TimeZone = 'UTC'")
    # The engine counts its own progress and prints nothing: `show.progress` draws the bar.
    # In a notebook without ipywidgets it refuses to count, and then the bar only pulses.
    with suppress(duckdb.InvalidInputException):
        engine.raw_sql("SET enable_progress_bar = true")
        engine.raw_sql("SET enable_progress_bar_print = false")
    # Statistics of a file are other people's cells. Filters are on codes, which no file answers from its statistics;
    # that no filter moves down into the scan is a second net below that rule.
    engine.raw_sql("SET disabled_optimizers = 'filter_pushdown'")
    return engine


def frame_source(frame: Frame, kind: str) -> Source:
    """Return a frame as a table of a DuckDB of its own."""
    if not frame.data.column_names:
        kinds = ", ".join(f"{name!r} is {kind}" for name, kind in frame.refused.items())
        raise SchemaError(f"The source has no column of a type that is read: {kinds or 'it has no column at all'}.")
    engine = duckdb_engine()
    engine.con.register("sfumato_source", frame.data)
    opened = Source(
        engine.table("sfumato_source"), engine, kind, frame.load, frame.refused, _closers=[engine.disconnect]
    )
    return replace(opened, index=frame.index, zones=frame.zones)


__getattr__ = moved(__name__, {"Plan": "sfumato.table.engine.PlannedQuery"})
