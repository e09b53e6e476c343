"""Opening several tables: whose row it is, how much it counts, and which public row it leads to (SQ-OWN).

Each private table is stored once, in codes, with the number of its person, the weight of the row and the place of every
partner; this is all that a statement ever reads. A row belongs to the person in its own person cell if they are in the
roster, and to nobody otherwise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

from sfumato.errors import DataChanged, ParameterError, SchemaError
from sfumato.table.bounding import SCALE, WEIGHT, Bounding, Way, bounding_of, rows_by_person, told_apart, weighed
from sfumato.table.data import Table
from sfumato.table.database import Database, Known
from sfumato.table.engine import Source, duckdb_engine
from sfumato.table.failures import guarded
from sfumato.table.flat import LINK, PLACE, FlatSchema
from sfumato.table.identity import files_of
from sfumato.table.public import PublicColumns, read_public_tables
from sfumato.table.reading import readable
from sfumato.table.repair import KEY, PERSON, check_columns, repaired_cell
from sfumato.table.resources import Resources
from sfumato.table.schema import Schema
from sfumato.table.source import open_source
from sfumato.words import nearest

if TYPE_CHECKING:
    import ibis.expr.types as ir

ROWS_AT_ONCE = 2**20


def open_database(
    sources: Mapping[str, Any],
    database: Database,
    *,
    snapshot: str = "",
    order_key: str = "",
    resources: Resources | None = None,
    scale: int = SCALE,
) -> OpenDatabase:
    """Open the sources of a database; raises on public facts only, and on what is wrong with a public table."""
    if not isinstance(sources, Mapping) or set(sources) != set(database.tables):
        given = sorted(sources) if isinstance(sources, Mapping) else []
        lacking = [name for name in database.tables if name not in given]
        unknown = [name for name in given if name not in database.tables]
        said = (
            f"{unknown[0]!r} is no table; {nearest(unknown[0], database.tables)}"
            if unknown
            else f"{lacking[0]!r} has no source."
        )
        raise SchemaError(f"A database takes one source for each table: {said}")
    files = {name: files_of(source, None) for name, source in sources.items()}
    states = {name: one.state() for name, one in files.items() if one is not None}
    before = {name: None if one is None else one.identity() for name, one in files.items()}
    public = read_public_tables(sources, database)
    known = {name: Known(one.schema, one.digest) for name, one in public.items()}
    opening = _Opening(replace(database, known=known), public, resources or Resources(), scale)
    try:
        held = opening.held({name: sources[name] for name in database.private})
    except BaseException:
        opening.close()
        raise
    found = OpenDatabase(opening.store, opening.database, snapshot, order_key, held=held, opening=opening)
    found.all_files = {name: (one, states[name]) for name, one in files.items() if one is not None}
    if len(found.all_files) == len(files):
        digest = "".join(f"{name}:{before[name]};" for name in sorted(files))
        found.identity = hashlib.sha256(digest.encode()).hexdigest()
    return found


class OpenDatabase(Table):
    """The tables of a database, stored in codes; statements read them through gauges."""

    def __init__(
        self,
        source: Source,
        database: Database,
        snapshot: str,
        order_key: str,
        *,
        held: Mapping[str, ir.Table],
        opening: _Opening,
    ) -> None:
        super().__init__(source, database, snapshot, order_key)  # type: ignore[arg-type]
        self.database = database
        self.all_files: dict[str, Any] = {}
        self._held = dict(held)
        self._opening = opening

    def held(self, table: str) -> ir.Table:
        """Return a stored table."""
        return self._held[table]

    def weighing(self, scale: int) -> OpenDatabase:
        """Return the stored tables, whose rows were weighed when they were opened; noise for other units is refused."""
        if scale != self._opening.scale:
            raise ParameterError(
                f"These tables were opened with rows in units of 1/{self._opening.scale}, and the noise is made for "
                f"1/{scale}; open them with scale={scale}."
            )
        return self

    @cached_property
    def people(self) -> int:
        """How many people there are."""
        roster = self._held[ROSTER]
        return int(self.run(roster.aggregate(people=roster.count())).column("people")[0].as_py())

    def _rows_of(self, schema: Schema) -> Table:
        return FlatTable(self, self, schema)

    def by_id(self, rows: ir.Table) -> ir.Table:
        """Put the id of every person in place of their number, which depends on who else is in the roster."""
        roster = self._held[ROSTER]
        known = roster.select(sfumato_id=roster[PERSON], sfumato_of=roster.sfumato_number)
        joined = rows.join(known, [rows[PERSON] == known.sfumato_of])
        kept = {name: joined[name] for name in rows.columns if name != PERSON}
        return joined.select({**kept, **{PERSON: joined.sfumato_id}})

    def require_unchanged(self) -> None:
        """Refuse to go on if a file behind a table is no longer the one that was opened."""
        same = all(files.state() == before for files, before in self.all_files.values())
        if not (same and self._opening.unchanged()):
            raise DataChanged(
                "The data changed since they were opened; open them again. What was asked before stays stored under "
                f"the snapshot {self.snapshot!r}."
            )

    def close(self) -> None:
        """Let go of everything that was stored."""
        self._opening.close()


class FlatTable(Table):
    """The flat rows of one statement, as views read a table: already bounded, because weights were made at opening."""

    flat = True

    def __init__(self, table: Table, holdings: Any, schema: Schema) -> None:
        super().__init__(table.source, schema, table.snapshot, table.order_key)
        assert isinstance(schema, FlatSchema)
        self._of = table
        self._holdings = holdings
        self._flat = schema

    @cached_property
    def people(self) -> int:
        """How many people there are in all tables."""
        return self._of.people

    def by_id(self, rows: ir.Table) -> ir.Table:
        """Return rows with the id of their person."""
        return self._of.by_id(rows)

    def bounded(self, rule: Bounding, names: Iterable[str]) -> ir.Table:
        """Return the codes of some columns, with the weight of each row where rows are weighed."""
        holdings = self._holdings.weighing(rule.scale) if rule.way is Way.WEIGH else self._holdings
        return self._flat.codes(holdings, names, weighed=rule.way is Way.WEIGH).drop(PERSON)

    def everybody(self) -> ir.Table:
        """Return the codes of all rows, with the person of each."""
        return self._flat.codes(self._holdings, self._flat.values, weighed=False)


ROSTER = "sfumato_roster"


class _Opening:
    """Reads every private table once and stores it in one engine."""

    def __init__(
        self, database: Database, public: Mapping[str, PublicColumns], resources: Resources, scale: int
    ) -> None:
        self.database = database
        self.public = public
        self.resources = resources
        self.scale = scale
        self._open: list[Source] = []
        self._numbers: dict[str, bool] = {}  # whether the ids of a table are numbers
        self._store: Source | None = None

    @property
    def store(self) -> Source:
        """Where everything is kept."""
        assert self._store is not None
        return self._store

    def close(self) -> None:
        """Let go of all sources."""
        for source in [*self._open, *([] if self._store is None else [self._store])]:
            source.close()

    def unchanged(self) -> bool:
        """Tell whether all that is read in place is what was opened."""
        return all(source.unchanged() for source in self._open)

    def held(self, sources: Mapping[str, Any]) -> dict[str, ir.Table]:
        """Return all tables as statements read them."""
        opened = {name: self._opened(name, source) for name, source in sources.items()}
        kinds = {source.is_duckdb for source, _ in opened.values()}
        if len(kinds) > 1:
            raise SchemaError(
                "Some tables are in Spark and some are not; write all of them to Parquet, or load all into Spark."
            )
        _require_one_kind(self._numbers)
        queries = _spelled_alike({name: query for name, (_, query) in opened.items()})
        self._store = self._made(next(iter(opened.values()))[0])
        raw = {name: self._moved(source, queries[name]) for name, (source, _) in opened.items()}
        found = {ROSTER: self._roster(raw)}
        for name, columns in self.public.items():
            found[name] = self._public(columns)
        for name in self.database.parents_first:
            found[name] = self._owned(name, raw[name], found)
        return found

    def _opened(self, name: str, source: Any) -> tuple[Source, ir.Table]:
        schema, links, key = self.database.private[name], self.database.links_of(name), self.database.key_of(name)
        # The links are read as a row key is: as they are, without a domain.
        reading = (
            replace(schema, row_key=(*links, *([key] if key else [])) or None, rows_per_person=schema.rows_per_person)
            if schema.person
            else schema
        )
        opened = open_source(source, among=name).using(self.resources)
        self._open.append(opened)
        written = opened.table.schema().get(schema.person)
        opened = readable(opened, reading)
        self._open[-1] = opened
        check_columns(opened.table, reading, opened.kind)
        table = opened.table
        cells: dict[str, Any] = {column: repaired_cell(table, schema, column) for column in schema.names}
        cells |= {LINK + link: table[link] for link in links} | ({KEY: table[key]} if key else {})
        if schema.person is None and links:
            raise SchemaError(f"{name!r} has links and no person column; name it by person=.")
        if schema.person is None:
            chosen = table.select(cells)
            number = _numbers(chosen.columns, opened).cast("int64")
            return opened, chosen.mutate(**{PERSON: number})
        self._numbers[name] = bool(written.is_numeric())
        person = table[schema.person]
        present = person.notnull() & (person != "") if person.type().is_string() else person.notnull()
        return opened, table.filter(present).select({**cells, **{PERSON: person}})

    def _made(self, first: Source) -> Source:
        if not first.is_duckdb:
            return replace(first, _closers=[], _kept={})
        engine = duckdb_engine()
        # What is stored here are whole codes, which no statistics of a file decide how to read.
        engine.raw_sql("SET disabled_optimizers = ''")
        store = Source(None, engine, "duckdb", _closers=[engine.disconnect])
        return store.using(self.resources)

    def _moved(self, source: Source, query: ir.Table) -> ir.Table:
        """Return the rows of a source inside the one engine."""
        if not source.is_duckdb:
            named = source.named(query)
            return self.store.engine.table(named.get_name())
        with source.turn:  # a connection that was handed in holds one answer at a time
            reader = source.engine.con.sql(source.engine.compile(query)).to_arrow_reader(ROWS_AT_ONCE)
            shown = self.store.registered(reader)
            kept = guarded(lambda: self.store.stored(shown))
        self.store.forget(shown.get_name())
        return kept

    def _roster(self, raw: Mapping[str, ir.Table]) -> ir.Table:
        people = self.database.people_table
        persons = [table.select(PERSON) for name, table in raw.items() if people in (None, name)]
        everybody = reduce(lambda a, b: a.union(b), persons).distinct()
        numbered = everybody.mutate(sfumato_number=_numbers([PERSON], self.store).cast("int32"))
        return self.store.stored(numbered)

    def _public(self, columns: PublicColumns) -> ir.Table:
        if self.store.is_duckdb:
            return self.store.stored(self.store.registered(columns.data))
        session = self.store.engine._session
        name = f"sfumato_public_{columns.digest[:16]}"
        session.createDataFrame(columns.data.to_pandas()).createOrReplaceTempView(name)
        return self.store.engine.table(name)

    def _owned(self, name: str, raw: ir.Table, found: Mapping[str, ir.Table]) -> ir.Table:
        """Return the rows that belong to somebody, with the number of their person, their weight and their partners."""
        schema, links = self.database.private[name], self.database.links_of(name)
        people, key = name == self.database.people_table, self.database.key_of(name)
        if key is not None:
            raw = self._each_once(raw, schema, [LINK + link for link in links])
        owners = self._owners(raw, found[ROSTER], None if people else schema.rows_per_person)
        owned = raw.join(owners, [raw[PERSON] == owners.sfumato_owner])
        cells = {column: owned[column] for column in raw.columns if column != PERSON}
        more = {} if people else {WEIGHT: owned[WEIGHT]}
        owned = owned.select({**cells, **more, **{PERSON: owned.sfumato_number}})
        for link, to in links.items():
            owned = self._led(owned, LINK + link, to, found)
        if people and schema.person is not None:
            owned = told_apart(owned, schema, [LINK + link for link in links])
        if key is not None:
            owned = owned.mutate(**{PLACE: _numbers([PERSON, KEY], self.store).cast("int32")})
        kept = guarded(lambda: self.store.stored(owned))
        if self.store.is_duckdb:
            self.store.forget(raw.get_name())
        return kept

    def _each_once(self, raw: ir.Table, schema: Schema, links: Sequence[str]) -> ir.Table:
        """Return events that others look up, one row of a person for each key; how many they have is counted then."""
        once = guarded(lambda: self.store.stored(told_apart(raw, schema, links)))
        if self.store.is_duckdb:
            self.store.forget(raw.get_name())
        return once

    def _owners(self, raw: ir.Table, roster: ir.Table, rows: int | None) -> ir.Table:
        """Return the number of every person and, of a table of events, the weight of each of their rows in it."""
        import ibis

        people = roster.select(sfumato_owner=roster[PERSON], sfumato_number=roster.sfumato_number)
        if rows is None:
            return people
        # As `bounding.weighed` does it: a person with N > r rows counts floor(r·S/N) units for each.
        counted = self.store.stored(rows_by_person(raw))
        total = ibis.literal(rows * self.scale, "int64")
        many = counted.sfumato_rows > rows
        share = ibis.ifelse(many, (total // counted.sfumato_rows).cast("int64"), ibis.literal(self.scale, "int64"))
        counted = counted.select(sfumato_counted=counted[PERSON], **{WEIGHT: share.cast("int32")})
        return people.join(counted, [people.sfumato_owner == counted.sfumato_counted]).drop("sfumato_counted")

    def _led(self, owned: ir.Table, link: str, to: str, found: Mapping[str, ir.Table]) -> ir.Table:
        """Replace the cells of a link by the place of its partner, null where there is none.

        Events are partners of events of the same person only, whoever else uses their keys.
        """
        events, keys = to in self.database.private, found[to]
        kinds = (owned[link].type(), keys[KEY].type())
        text = kinds[0].is_string()
        if text is not kinds[1].is_string() or (
            events and not all(kind.is_string() or kind.is_integer() for kind in kinds)
        ):
            raise SchemaError(
                f"The link {link.removeprefix(LINK)!r} and the key of {to!r} have different types; store both as text, "
                "or both as whole numbers."
            )
        cell, key = (one if text else one.try_cast("int64") for one in (owned[link], keys[KEY]))
        keys = keys.select(sfumato_of=key, sfumato_holder=keys[PERSON] if events else key, sfumato_partner=keys[PLACE])
        same = [cell == keys.sfumato_of, *([owned[PERSON] == keys.sfumato_holder] if events else [])]
        joined = owned.left_join(keys, same)
        kept = {name: joined[name] for name in owned.columns if name != link}
        return joined.select({**kept, **{link: joined.sfumato_partner}})


def _require_one_kind(numbers: Mapping[str, bool]) -> None:
    """Refuse tables of which some hold ids as numbers and some as texts, in which 7 may be 007 or 7.0."""
    if len(set(numbers.values())) > 1:
        raise SchemaError(
            f"The person column of {_some(numbers, True)} holds numbers and that of {_some(numbers, False)} texts; "
            "store the ids of all tables as whole numbers, or all as text."
        )


def _some(numbers: Mapping[str, bool], kind: bool) -> str:
    return ", ".join(repr(name) for name, one in numbers.items() if one is kind)


def _spelled_alike(queries: Mapping[str, ir.Table]) -> dict[str, ir.Table]:
    """Return the tables with ids of one type: signed whole numbers where all are, and otherwise their digits."""
    kinds = [query[PERSON].type() for query in queries.values()]
    one = "int64" if all(kind.is_integer() and not kind.is_uint64() for kind in kinds) else "string"
    return {name: query.mutate(**{PERSON: query[PERSON].cast(one)}) for name, query in queries.items()}


def _numbers(columns: Sequence[str], source: Source) -> Any:
    """Return the places of rows: on Spark in the order of their cells, so that they are the same in every run.

    Spark computes what it lost again. Without an order people would get other numbers then than those under which the
    rows of other tables are stored; rows that are equal in all cells may change places. DuckDB stores them at once.
    """
    import ibis

    number = ibis.row_number()
    return number if source.is_duckdb else number.over(order_by=list(columns))


class _Alone:
    """The one table of a schema, as statements read stored tables."""

    def __init__(self, table: Table, scale: int = SCALE) -> None:
        self._table, self._scale = table, scale

    def weighing(self, scale: int) -> _Alone:
        """Return the same rows, weighed in the units that the noise is made for."""
        return self if scale == self._scale else _Alone(self._table, scale)

    def held(self, table: str) -> ir.Table:
        """Return the rows with their person, and their weight where a person may have several."""
        import ibis

        rows, schema = self._table.everybody(), self._table.schema
        if schema.person is None:
            return rows.mutate(**{PERSON: ibis.literal(0, "int32")})
        rule = bounding_of(schema, whole=False, scale=self._scale)
        if rule.way is Way.ROWS:
            return told_apart(rows, schema)
        return weighed(rows, self._table._rows_by_person, rule)


def flat_table(table: Table, schema: Schema) -> Table:
    """Return the flat rows of a statement about one table."""
    return FlatTable(table, _Alone(table), schema)
