"""A table of people: repaired, bounded once, and handed out through views."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence, Set
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sfumato.errors import DataChanged, SchemaError
from sfumato.show.progress import watched
from sfumato.table.bounding import (
    ORDER,
    Bounding,
    Way,
    bounding_of,
    one_each,
    ordered,
    pick_in_engine,
    pick_in_memory,
    pick_shown,
    rows_by_person,
    told_apart,
    weigh_in_memory,
    weighed,
)
from sfumato.table.engine import PlannedQuery, Query, Source
from sfumato.table.failures import guarded
from sfumato.table.identity import Files, files_of
from sfumato.table.owners import Owners, owners_of
from sfumato.table.periods import Span
from sfumato.table.reading import readable
from sfumato.table.repair import KEY, PERSON, check_columns, repaired
from sfumato.table.resources import Resources
from sfumato.table.schema import NO_COLUMNS, Schema
from sfumato.table.source import open_source

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from sfumato.table.view import View


CELLS_AT_ONCE = 2**26
"""How many cells are held in memory while rows are weighed; above, the engine does it."""

PEOPLE_AT_ONCE = 2**18
"""How many people's rows are arranged in memory at a time."""

ROWS_AT_ONCE = 2**20
"""How many rows are looked at together where they come past in batches."""

PLANS_AT_ONCE = 64
"""How many queries stay planned; a question is planned and read at once, and a list has few parts."""

NARROW = 32
"""Up to so many columns all are kept when the first question is asked; of more only those that a question reads."""


def open_table(
    source: Any,
    schema: Schema,
    *,
    snapshot: str = "",
    table: str | None = None,
    order_key: str = "",
    resources: Resources | None = None,
    span: Span | None = None,
) -> Table:
    """Open a source under a schema; raises on public facts only.

    `snapshot` is the caller's own name for this state of the data: it says nothing about their content.
    `order_key` chooses which rows are picked of people who have too many; `resources` are what may be used of the
    machine. Every declared column is checked and the people are counted here; what a person may count is worked out
    when the first question is asked, of the columns that questions read. `span` leaves all rows out but those of some
    days, before anything is done with them; who is there then is private, so nobody is counted here.
    """
    if not isinstance(schema, Schema):
        raise SchemaError(f"A table needs a Schema, not {type(schema).__name__}; sf.draft(source) drafts one.")
    if not schema.columns:
        raise SchemaError(NO_COLUMNS)  # a person and links are enough for a table of a database alone
    files = files_of(source, table)
    # Taken before the first byte is read.
    state, before = (None, None) if files is None else (files.state(), files.identity())
    opened = open_source(source, table=table).using(resources or Resources())
    try:
        if files is not None and opened.kind == "duckdb" and files.state() == state:
            files = Files(files.source, opened.table.get_name())
            state, before = files.state(), files.identity()
        opened = readable(opened, schema)
        local = None if span is None else span.local(opened.table)
        if local is not None:
            opened = replace(opened, table=opened.named(local), scan="", footers="")
        check_columns(opened.table, schema, opened.kind)
        if span is not None:
            span.check(schema)
        found = Table(opened, schema, snapshot, order_key, span)
        found.files, found.state, found.identity = files, state, before
        if schema.person is not None and span is None:
            found.people  # noqa: B018  counted here, before anything is asked
    except BaseException:
        opened.close()
        raise
    return found


class Table:
    """One snapshot of the data of some people under a public schema. Make one with `open_table`."""

    flat = False
    """Whether its rows are those of a statement, bounded before."""

    def __init__(self, source: Source, schema: Schema, snapshot: str, order_key: str, span: Span | None = None) -> None:
        self.schema = schema
        self.snapshot = snapshot
        self.order_key = order_key
        self.span = span
        self.files: Files | None = None
        self.state: str | None = None
        self.identity: str | None = None  # private, as the state: sizes and times of files depend on cells
        self.planned: set[Any] = set()  # gauges whose queries the engine has planned, and what their rows take
        self._source = source
        self.public_people: int | None = None  # what a plan may know; everybody who only runs queries need not
        self.public_rows: int | None = None  # so is this, and it is what somebody said
        self._kept: dict[tuple[Bounding, frozenset[str]], ir.Table] = {}
        self._orders: dict[str, ir.Table] = {}  # the rows in the order of a key, as queries
        self._plans: dict[Hashable, PlannedQuery] = {}  # by what was asked, the oldest first
        self._flats: dict[str, Table] = {}  # the rows of statements, by their schema, the oldest first

    def __repr__(self) -> str:
        return f"Table({self._source.kind}, {len(self.schema.names)} columns, snapshot {self.snapshot!r})"

    def require_unchanged(self) -> None:
        """Refuse to go on if the files behind the table are no longer those that were opened (SM-SOURCE)."""
        same = self.files is None or self.files.state() == self.state
        if not (same and self._source.unchanged()):
            raise DataChanged(
                "The data changed since they were opened; open them again. What was asked before stays stored under "
                f"the snapshot {self.snapshot!r}."
            )

    @property
    def source(self) -> Source:
        """The table inside its engine."""
        return self._source

    @property
    def engine(self) -> str:
        """The engine that runs the questions: duckdb or pyspark."""
        return str(self._source.engine.name)

    @cached_property
    def people(self) -> int:
        """How many people there are: the one public fact about the data."""
        counted = self._coded if self.schema.person is None else self._rows_by_person
        return int(self.run(counted.aggregate(people=counted.count())).column("people")[0].as_py())

    def rule(self, *, whole: bool = False) -> Bounding:
        """Return the rule that bounds what a person counts: whole rows are picked, others weighed."""
        return bounding_of(self.schema, whole=whole, key=self.order_key)

    def view(self, columns: Iterable[str], rule: Bounding | None = None) -> View:
        """Return a view that hands out these columns and no others, cut by a rule; questions read through gauges."""
        from sfumato.table.view import View

        return View(self, columns, self.rule() if rule is None else rule)

    def bounded(self, rule: Bounding, names: Iterable[str]) -> ir.Table:
        """Return the codes of some columns, cut to what a person may count; computed once and kept.

        Of a narrow table all columns are kept at once: telling people apart costs more than a few columns do.
        """
        # Groups are cut question by question; what is kept is the same with them and without.
        groups = None if rule.way is Way.ROWS else self.schema.groups_per_person
        cut = rule if rule.groups == groups else replace(rule, groups=groups)
        wanted = frozenset(self.schema.names if len(self.schema.names) <= NARROW else names)
        for (known, held), table in self._kept.items():
            if known == cut and wanted <= held:
                return table
        found = self._bound(cut, tuple(name for name in self.schema.names if name in wanted))
        return self._keep((cut, wanted), found)

    def _keep(self, key: tuple[Bounding, frozenset[str]], table: ir.Table) -> ir.Table:
        self._kept[key] = table
        return table

    def under(self, schema: Schema) -> Table:
        """Return what a gauge of this schema reads: the table itself, or the rows of a statement about it."""
        if type(schema) is Schema or schema == self.schema:
            return self
        if schema.fingerprint not in self._flats:
            if len(self._flats) >= PLANS_AT_ONCE:
                self._flats.pop(next(iter(self._flats))).forget_plans()
            self._flats[schema.fingerprint] = self._rows_of(schema)
        return self._flats[schema.fingerprint]

    def _rows_of(self, schema: Schema) -> Table:
        from sfumato.table.own import flat_table

        return flat_table(self, schema)

    def forget_plans(self) -> None:
        """Let go of all queries that stay planned."""
        for plan in self._plans.values():
            self._source.forget(plan.name)
        self._plans.clear()

    def everybody(self) -> ir.Table:
        """Return the codes of all rows, uncut, with the person of each."""
        return self._coded

    def by_id(self, rows: ir.Table) -> ir.Table:
        """Return rows with the id of their person, which depends on nobody else: here they have it."""
        return rows

    def uncut(self, rows: ir.Table) -> bool:
        """Tell whether these are the codes of all rows, as the engine knows them by one name."""
        return not self.flat and rows is self._coded

    def _bound(self, rule: Bounding, names: Sequence[str]) -> ir.Table:
        if self.schema.person is None:
            return self._coded
        if rule.way is Way.ROWS:
            return self._one_row_each()
        # Whose row it is matters again only where groups are picked.
        hidden = [] if rule.groups is not None else [PERSON]
        if rule.way is Way.PICK:
            # A frame without a column has no rows for an engine, so that of a bare count one is kept.
            read = names or self.schema.names[:1]
            unread = [name for name in self.schema.names if name not in read]
            return self._picked(rule, [*hidden, *unread])
        rows = self._coded.select(*names, PERSON)
        found = self._owned(rows) if self._fits_memory(len(names)) else None
        if found is None:
            return self._cached(weighed(rows, self._rows_by_person, rule).drop(*hidden))
        shown = self._source.registered(weigh_in_memory(*found, rule).drop_columns(hidden))
        if self.span is not None:
            return shown  # of one period a few questions are asked, once: a copy inside the engine would cost more
        kept = self._cached(shown)
        self._source.forget(shown.get_name())
        return kept

    def _picked(self, rule: Bounding, hidden: list[str]) -> ir.Table:
        keyed, rows = bool(self.schema.row_key), self._pickable
        return self.keep_first(
            rows,
            lambda part: self._arranged(rule) if part is rows else ordered(part, self.schema, rule, self.source),
            rule.rows,
            # Equal hashes are told apart by the bytes of the key, and never by a cell where there is one.
            [KEY] if keyed else self.schema.names,
            [*hidden, KEY] if keyed else hidden,
        )

    @cached_property
    def _pickable(self) -> ir.Table:
        """The rows that whole rows are picked from: one for every row key of a person."""
        return told_apart(self._coded, self.schema) if self.schema.row_key else self._coded

    def _arranged(self, rule: Bounding) -> ir.Table:
        """Return these rows with the order in which those of a person are picked, by a query that is written once.

        Of a row of hundreds of columns it is long: to write it takes longer than to run it, unless rows are many.
        """
        if rule.key not in self._orders:
            rows = self._pickable
            self._orders[rule.key] = guarded(lambda: ordered(rows, self.schema, rule, self._source))
        return self._orders[rule.key]

    def _one_row_each(self) -> ir.Table:
        """Return the rows of a table whose people have one row by declaration; who has more counts as an empty row."""
        rows = int(self.run(self._coded.aggregate(rows=self._coded.count())).column("rows")[0].as_py())
        if rows == self.people:
            return self._coded
        return self._cached(told_apart(self._coded, self.schema).drop(PERSON))

    def _fits_memory(self, columns: int) -> bool:
        """Tell whether the codes fit memory comfortably; the answer changes the speed and not one number."""
        if not self._in_memory:
            return False
        rows = self.run(self._source.table.aggregate(rows=self._source.table.count())).column("rows")[0].as_py()
        return bool(rows * (columns + 2) <= CELLS_AT_ONCE)

    @property
    def _in_memory(self) -> bool:
        """Whether rows are picked and weighed in this process, next to the engine."""
        return self._source.is_duckdb

    def keep_first(
        self,
        rows: ir.Table,
        place: Callable[[ir.Table], ir.Table],
        limit: int,
        ties: Iterable[str],
        hidden: Sequence[str] = (PERSON,),
    ) -> ir.Table:
        """Keep the first of each person's rows as `place` arranges them; next to DuckDB this happens in memory."""
        if not self._in_memory:
            return self._cached(pick_in_engine(place(rows), limit, tuple(ties)).drop(*hidden))
        import pyarrow

        shards = 1 << (self.people // PEOPLE_AT_ONCE).bit_length()
        kept = []
        for shard in range(shards):
            # Whole people go into one shard, so it does not matter which; it only keeps the memory small. A mask and
            # no remainder: the engine's hash is signed.
            part = rows if shards == 1 else rows.filter(rows[PERSON].hash() & (shards - 1) == shard)
            kept.append(self._first_of(place(part), limit, tuple(ties), hidden))
        return self._source.registered(pyarrow.concat_tables(kept))

    def _first_of(self, placed: ir.Table, limit: int, ties: Sequence[str], hidden: Sequence[str]) -> Any:
        """Return the first of each person's rows as an Arrow table of the columns that are not hidden.

        Only these are read. Who has rows of equal order that differ in them is looked up with all that tells rows
        apart: that is an accident of the hash, since otherwise such rows are equal in everything.
        """
        import pyarrow

        shown = [PERSON, *(name for name in placed.columns if name not in {*hidden, PERSON, ORDER})]
        rows = self.run(placed.select(*shown, ORDER))
        found, left = pick_shown(rows, limit, ties, self._owning(rows.column(PERSON)))
        if left is not None:
            people = self._source.registered(pyarrow.table({PERSON: left}))
            whole = pick_in_memory(self.run(placed.semi_join(people, PERSON)), limit, ties)
            self._source.forget(people.get_name())
            found = pyarrow.concat_tables([found.select(shown), whole.select(shown)])
        return found.select([name for name in shown if name not in hidden])

    def _owning(self, ids: Any) -> Owners:
        """Return whose rows these are: as they were told apart at opening, where they are those rows."""
        known: Owners | None = self.__dict__.get("_owners")
        return known if known is not None and known.own(ids) else one_each(ids)

    @cached_property
    def _coded(self) -> ir.Table:
        rows = repaired(self._source.table, self.schema)
        return guarded(lambda: self._source.named(rows if self.span is None else self.span.rows(rows)))

    def people_here(self) -> list[Any]:
        """Return the ids of everybody who has a row, each once, in no order that means anything."""
        ids = self.run(self._coded.select(PERSON).distinct()).column(PERSON)
        found: list[Any] = ids.to_pylist()
        return found

    def keep_people(self, ids: Sequence[Any]) -> None:
        """Leave all rows out but those of some people, before anything is done with them; next to DuckDB only."""
        import pyarrow

        read = {"_rows_by_person", "_pickable"} & self.__dict__.keys()
        assert not self._kept and not read, "Something was read of everybody before."
        kind = self._coded.select(PERSON).schema().to_pyarrow().field(0).type
        shown = self._source.registered(pyarrow.table({PERSON: pyarrow.array(ids, kind)}))
        self.__dict__["_coded"] = guarded(lambda: self._source.named(self._coded.semi_join(shown, PERSON)))

    @cached_property
    def _rows_by_person(self) -> ir.Table:
        if self._owners is None:
            return self._cached(rows_by_person(self._coded))
        return self._source.registered(self._owners.counted())

    @cached_property
    def _owners(self) -> Owners | None:
        """Whose rows they are, None where the engine tells people apart: too many rows, or rows that nobody weighs."""
        if not self._told_in_memory:
            return None
        return owners_of(self.run(self._coded.select(PERSON)).column(PERSON))

    @property
    def _told_in_memory(self) -> bool:
        return self.rule().way is Way.WEIGH and self._fits_memory(1)

    def _owned(self, query: ir.Table) -> tuple[Any, Owners] | None:
        """Return rows as an Arrow table and who owns them, None where the engine tells people apart."""
        if self.span is not None and "_owners" not in self.__dict__ and self._told_in_memory:
            # Of a period nobody was counted before, so the ids come with the first rows, and are not read twice.
            rows = self.run(query)
            owners = self.__dict__["_owners"] = owners_of(rows.column(PERSON))
            return None if owners is None else (rows, owners)
        if self._owners is None:
            return None
        rows = self.run(query)
        ids = rows.column(PERSON)
        owners = self._owners if self._owners.own(ids) else owners_of(ids)
        return None if owners is None else (rows, owners)

    def _cached(self, table: ir.Table) -> ir.Table:
        with watched("Bounding what a person adds", self._source.part_done):
            return guarded(lambda: self._source.stored(table))

    def forget(self, table: ir.Table) -> None:
        """Let go of a table that `keep_first` made for one question."""
        self._source.forget(table.get_name())

    def run(
        self, query: ir.Table, most: int | None = None, asked: Hashable = None, read: Set[str] = frozenset()
    ) -> Any:
        """Run a query and return an Arrow table; `most` is a public bound on its rows, `asked` what it answers.

        `read` are the columns that it means, for those who only plan it.
        """
        with watched("Reading the table", self._source.part_done):
            return guarded(lambda: self._source.fetched(query, most))

    def run_query(
        self, query: Query, most: int | None = None, asked: Hashable = None, read: Set[str] = frozenset()
    ) -> Any:
        """Run a query that is built when it is needed."""
        return self.run(query.table, most, asked, read)

    def run_as_planned(self, asked: Hashable) -> Any:
        """Run what was planned for a question before it was charged, None if nothing was."""
        plan = self._plans.get(asked)
        if plan is None:
            return None
        with watched("Reading the table", self._source.part_done):
            return guarded(lambda: self._source.carried_out(plan))

    def keep_plan(self, asked: Hashable, plan: PlannedQuery) -> None:
        """Keep a plan until it is run; of many the oldest is let go."""
        if len(self._plans) >= PLANS_AT_ONCE:
            self._source.forget(self._plans.pop(next(iter(self._plans))).name)
        self._plans[asked] = plan

    def each_batch(self, query: ir.Table, take: Callable[[Any], None]) -> None:
        """Hand the answer to a query of DuckDB over in batches, without holding it as a whole."""
        with watched("Counting the rows", self._source.part_done):
            guarded(lambda: self._source.each_batch(query, ROWS_AT_ONCE, take))

    def run_sql(self, rows: ir.Table, sql: str, most: int) -> Any:
        """Run a query of Spark in SQL over some rows, called {rows} there; `most` is a public bound on its answer."""
        return guarded(lambda: self._source.fetched_sql(rows, sql, most))

    def close(self) -> None:
        """Let go of the source and of what was kept."""
        self._kept.clear()
        self._plans.clear()
        self._orders.clear()
        for name in ("_rows_by_person", "_owners", "_coded", "_pickable"):
            self.__dict__.pop(name, None)
        self._source.close()

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
