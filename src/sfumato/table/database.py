"""Several tables of one population: people, their events, and what everybody may know (SQ-DATABASE)."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from sfumato.domain import Domain
from sfumato.domain import text as any_text
from sfumato.errors import SchemaError
from sfumato.privacy import Secrets
from sfumato.show.views import View, Viewed
from sfumato.table.schema import RESERVED, Schema, digest_of, schema_text
from sfumato.table.toml import read_toml, write_toml
from sfumato.words import Understood, nearest

ONLY = "data"
"""What the one table of a schema without a database is called in a statement."""

IN_SQL = 'A database of several tables is asked in SQL; write curator.sql("SELECT …", spend=Pure(0.1)).'


@dataclass(frozen=True)
class PublicTable(metaclass=Understood):
    """A table that everybody may know, about towns or products and about nobody: `key` tells its rows apart.

    Its types, labels and ranges are read from it. A table that was itself made from private ones is not public.
    """

    key: str


@dataclass(frozen=True)
class Link(metaclass=Understood):
    """A column, as `table.column`, whose cells are keys of a public table, or row keys of the same person's events."""

    column: str
    to: str


@dataclass(frozen=True)
class Known:
    """What was read from a public table when it was opened: its columns, and a digest of its content."""

    schema: Schema
    digest: str


@dataclass(frozen=True)
class Database(Viewed, metaclass=Understood):
    """Everything that is public about several tables of one population.

    `tables` maps names to a `Schema` for every private table, each of which names its person column, and to a
    `PublicTable` for what everybody knows. `population` is the people table, in which a person has one row; without it
    the people are all who occur in some private table. Links lead to the keys of public tables, and from one table of
    events to the row key of another. Attributes are called `table.column`. `known` is what opening reads from public
    tables, and is not written by hand.

    >>> from sfumato.domain import integers
    >>> visits = Schema({"cost": integers(0, 9)}, person="id", rows_per_person=3)
    >>> Database({"visits": visits, "towns": PublicTable("town")}, links=[Link("visits.town", "towns")]).attributes
    ('visits.cost', 'visits.town')
    """

    tables: Mapping[str, Schema | PublicTable]
    population: str | None = None
    links: tuple[Link, ...] = ()
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    dependencies: tuple[tuple[str, str], ...] = ()
    known: Mapping[str, Known] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.tables, Mapping) or not self.tables:
            raise SchemaError("A database needs tables; write Database({'visits': Schema(…)}).")
        tables = dict(self.tables)
        _check_names(tables, "table")
        for name, table in tables.items():
            if not isinstance(table, (Schema, PublicTable)):
                raise SchemaError(f"The table {name!r} is a Schema or a PublicTable, not {type(table).__name__}.")
        set_field = object.__setattr__
        set_field(self, "links", tuple(self.links))
        set_field(
            self, "tables", MappingProxyType({name: self._settled(name, table) for name, table in tables.items()})
        )
        set_field(self, "groups", MappingProxyType({str(name): tuple(part) for name, part in self.groups.items()}))
        set_field(self, "dependencies", tuple((str(a), str(b)) for a, b in self.dependencies))
        if not self.private:
            raise SchemaError("A database needs a private table; what is public alone is queried directly.")
        self._check_population()
        self._check_links()
        self.secrets  # noqa: B018  reading it checks groups and dependencies

    def _settled(self, name: str, table: Schema | PublicTable) -> Schema | PublicTable:
        if isinstance(table, PublicTable):
            return table
        _check_names(table.columns, f"column of {name}")
        only = sum(isinstance(one, Schema) for one in self.tables.values()) == 1
        if table.person is None and not only:
            raise SchemaError(f"{name!r} has no person column; add the owner's column to it before opening.")
        if table.groups_per_person is not None and (name == self.population or table.row_key == ()):
            raise SchemaError(f"A person has one row in {name!r}, and so one group; leave groups_per_person out.")
        if table.groups or table.dependencies:
            raise SchemaError(f"Groups and dependencies of {name!r} belong to the database; write table.column there.")
        if name == self.population and table.row_key is None and table.person is not None:
            return replace(table, row_key=(), rows_per_person=1)
        return table

    def _check_population(self) -> None:
        if self.population is None:
            return
        people = self.tables.get(self.population)
        if not isinstance(people, Schema):
            raise SchemaError(
                f"population={self.population!r} is no private table; {nearest(self.population, self.private)}"
            )
        if people.person is not None and people.row_key != ():
            raise SchemaError(
                f"A person has one row in {self.population!r}; leave its row_key and rows_per_person out."
            )

    def _check_links(self) -> None:
        seen: set[str] = set()
        for link in self.links:
            table, _, column = link.column.partition(".")
            if table not in self.tables or not column or "." in column:
                raise SchemaError(f"A link starts at a column as table.column, and {link.column!r} is none.")
            if not isinstance(self.tables.get(link.to), PublicTable):
                self._check_events(table, link.to)
            known = self.tables[table]
            if isinstance(known, Schema) and column in known.names:
                raise SchemaError(
                    f"{link.column!r} is declared twice, as a column and as a link; leave columns.{column} out: what a "
                    f"link may hold comes from the key of {link.to!r}."
                )
            if isinstance(known, Schema) and column == known.person:
                raise SchemaError(f"{link.column!r} tells people apart and is declared as a link; leave the link out.")
            if link.column in seen:
                raise SchemaError(f"{link.column!r} is declared twice as a link; leave one of them out.")
            seen.add(link.column)
        self._check_cycles()

    def _check_events(self, table: str, to: str) -> None:
        """Check a link to events: it starts at other events, and leads to a column that is no attribute of anybody."""
        events = [name for name in self.private if name != self.people_table]
        if to not in events:
            raise SchemaError(
                f"Links lead to public tables and to tables of events, and {to!r} is none; join people by the person."
            )
        if table not in events:
            raise SchemaError(f"A link to the events {to!r} starts at other events, and {table!r} holds none.")
        target = self.private[to]
        key = (target.row_key or ())[:1]
        if key != target.row_key:
            raise SchemaError(
                f"A link to {to!r} needs the one column that tells a person's rows apart there; write row_key in its "
                "schema."
            )
        if key[0] in target.names or any(link.column == f"{to}.{key[0]}" for link in self.links):
            raise SchemaError(
                f"The row key {key[0]!r} of {to!r} is what links lead to and no attribute; leave it out of the columns "
                "and links."
            )

    def _check_cycles(self) -> None:
        ways = {(link.column.partition(".")[0], link.to) for link in self.links}
        reached = {name: {name} for name in self.tables}
        for _ in self.tables:
            for start, end in ways:
                if start in reached[end]:
                    raise SchemaError(
                        f"The links from {start!r} and {end!r} lead back to where they start; leave one out."
                    )
                reached[end] = reached[end] | {end}
                reached[start] |= reached[end]

    @property
    def private(self) -> dict[str, Schema]:
        """The private tables."""
        return {name: table for name, table in self.tables.items() if isinstance(table, Schema)}

    @property
    def people_table(self) -> str | None:
        """The table that holds everybody once: the population, or the only private one if it says so."""
        if self.population is not None:
            return self.population
        only = [name for name, table in self.private.items() if table.person is None or table.row_key == ()]
        return only[0] if len(self.private) == 1 and only else None

    def person_of(self, name: str) -> str | None:
        """Return the person column of a private table."""
        return self.private[name].person

    def links_of(self, name: str) -> dict[str, str]:
        """Return the columns of a table that lead to public tables, and where."""
        found = ((link.column.partition("."), link.to) for link in self.links)
        return {column: to for (table, _, column), to in found if table == name}

    def key_of(self, name: str) -> str | None:
        """Return the column of a table that links lead to; None where none does and the table is not public."""
        table = self.tables[name]
        if isinstance(table, PublicTable):
            return table.key
        return table.row_key[0] if table.row_key and any(link.to == name for link in self.links) else None

    @cached_property
    def parents_first(self) -> tuple[str, ...]:
        """The private tables, each after those that its links lead to."""
        found: list[str] = []
        while len(found) < len(self.private):
            found += [
                name
                for name in self.private
                if name not in found and {*self.links_of(name).values()} & {*self.private} <= {*found}
            ]
        return tuple(found)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The private attributes of all tables, as table.column; links of private tables are among them."""
        found: list[str] = []
        for name, table in self.private.items():
            found += [self.attribute(name, column) for column in (*table.attributes, *self.links_of(name))]
        return tuple(found)

    def attribute(self, table: str, column: str) -> str:
        """Return what a column of a private table is called in limits and losses."""
        return f"{table}.{column}"

    @cached_property
    def secrets(self) -> Secrets:
        """Which attributes carry the same secret."""
        for name in [
            *(one for part in self.groups.values() for one in part),
            *(a for p in self.dependencies for a in p),
        ]:
            if name not in self.attributes:
                raise SchemaError(f"There is no attribute {name!r}; {nearest(name, self.attributes)}")
        groups = {label: sorted(members) for label, members in self.groups.items()}
        return Secrets(self.attributes, groups, self.dependencies)

    @property
    def names(self) -> tuple[str, ...]:
        """All private attributes: what limits and reports may name."""
        return self.attributes

    def domain(self, name: str) -> Domain:
        """Return what an attribute, as table.column, may hold; a link holds what the key of its public table does."""
        table, _, column = str(name).partition(".")
        if table in self.private and column in self.private[table].names:
            return self.private[table].domain(column)
        if name in self.attributes:
            return any_text(max_bytes=64)
        raise SchemaError(IN_SQL)

    def reads(self, names: Iterable[str]) -> NoReturn:
        """Refuse, for the same reason."""
        raise SchemaError(IN_SQL)

    def view(self) -> View:
        """Return the columns of every private table."""
        tables = tuple(part for table in self.private.values() for part in table.view().tables)
        public = [name for name in self.tables if name not in self.private]
        people = self.population or "all who occur"
        said = f"Tables {', '.join(self.private)}; public {', '.join(public) or 'none'}; people: {people}."
        return View("Database", tables, (said,))

    # Text forms

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back."""
        record: dict[str, Any] = {} if self.population is None else {"population": self.population}
        if self.dependencies:
            record["dependencies"] = [list(pair) for pair in self.dependencies]
        record["tables"] = {name: self._table_json(name, table) for name, table in self.tables.items()}
        if self.groups:
            record["groups"] = {name: list(members) for name, members in self.groups.items()}
        return record

    def _table_json(self, name: str, table: Schema | PublicTable) -> dict[str, Any]:
        shown = {"public": True, "key": table.key} if isinstance(table, PublicTable) else table.to_json()
        links = {column: {"to": to} for column, to in self.links_of(name).items()}
        return {**shown, "links": links} if links else shown

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Database:
        """Read what `to_json` wrote, or what a person wrote."""
        known = ("population", "tables", "groups", "dependencies")
        for key in record:
            if key not in known:
                raise SchemaError(f"A database has no {key!r}; {nearest(key, known)}")
        tables: dict[str, Schema | PublicTable] = {}
        links: list[Link] = []
        for name, given in dict(record.get("tables", {})).items():
            part = dict(given)
            part.pop("source", None)  # where the data are says nothing about them
            for column, where in dict(part.pop("links", {})).items():
                links.append(Link(f"{name}.{column}", str(where["to"] if isinstance(where, Mapping) else where)))
            tables[name] = _table(name, part)
        pairs = tuple((str(a), str(b)) for a, b in record.get("dependencies", ()))
        return cls(tables, record.get("population"), tuple(links), record.get("groups", {}), pairs)

    def to_toml(self) -> str:
        """Return the database as TOML."""
        return write_toml(self.to_json())

    @classmethod
    def from_toml(cls, text: str) -> Database:
        """Read a database from TOML."""
        return cls.from_json(read_toml(text, "database"))

    @cached_property
    def fingerprint(self) -> str:
        """A SHA-256 of the canonical JSON form and, once they are opened, of the public tables' content."""
        record = self.to_json()
        if self.known:
            record["known"] = {name: one.digest for name, one in self.known.items()}
        return digest_of(record)

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """Its fingerprint: a ledger for several tables is made for all of their columns."""
        return (self.fingerprint,)

    @property
    def earlier(self) -> Database | None:
        """The database as an earlier version read it, None if it read it the same way."""
        before = {name: table.earlier for name, table in self.private.items()}
        if not any(before.values()):
            return None
        return replace(self, tables={name: before.get(name) or table for name, table in self.tables.items()})

    def as_kept(self, fingerprint: str | None) -> Database:
        """Return the database as a ledger reads it that was made for this fingerprint; see `Schema.as_kept`."""
        earlier = self.earlier
        return earlier if earlier is not None and fingerprint == earlier.fingerprint else self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Database) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


@dataclass(frozen=True, eq=False)
class OnlyTable(Database):
    """The one table of a schema: its columns keep their names in limits and losses."""

    def attribute(self, table: str, column: str) -> str:
        """Return the column itself."""
        return column

    def domain(self, name: str) -> Domain:
        """Return what a column of the one table may hold."""
        return self.private[ONLY].domain(str(name))

    def __eq__(self, other: object) -> bool:
        # A database of one table called `data` has the same text, and other names for its attributes.
        return isinstance(other, OnlyTable) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash((ONLY, self.fingerprint))


def database_of(schema: Schema | Database) -> Database:
    """Return the database of one table that a schema is, called `data` in statements."""
    return schema if isinstance(schema, Database) else _only(schema)


@lru_cache(maxsize=64)
def _only(schema: Schema) -> Database:
    return OnlyTable({ONLY: replace(schema, groups={}, dependencies=(), groups_per_person=None)})


def accepted(described: Schema | Database) -> tuple[str, ...]:
    """Return the fingerprints of the schemas for which a ledger may have been made: the first is that of a new one."""
    earlier = described.earlier
    return described.fingerprints if earlier is None else (*described.fingerprints, *earlier.fingerprints)


def sources_in(path: str | Path) -> dict[str, str]:
    """Return where the tables of a database are, as far as its file says so: beside it, or at an address."""
    place = Path(path)
    text = place.read_text(encoding="utf-8")
    record = json.loads(text) if place.suffix.lower() == ".json" else tomllib.loads(text)
    named = {name: part["source"] for name, part in record.get("tables", {}).items() if "source" in part}
    return {name: one if "://" in one else str(place.parent / one) for name, one in named.items()}


def load(path: str | Path) -> Schema | Database:
    """Read a schema, or a database if the file has tables."""
    place, text = Path(path), schema_text(path)
    try:
        record = json.loads(text) if place.suffix.lower() == ".json" else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError):
        return Schema.load(path)  # which says what is wrong with it
    return Database.from_json(record) if isinstance(record, dict) and "tables" in record else Schema.load(path)


def _table(name: str, part: dict[str, Any]) -> Schema | PublicTable:
    if part.pop("public", False) is True:
        if set(part) != {"key"}:
            raise SchemaError(f'A public table has a key and nothing else; write key = "…" for {name!r}.')
        return PublicTable(str(part["key"]))
    return Schema.from_json(part)


def _check_names(names: Iterable[object], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or not name or "\x00" in name or "." in name:
            raise SchemaError(f"{name!r} is no name of a {what}; write it as text without a dot.")
        if name.casefold() in seen or name.casefold().startswith(RESERVED):
            raise SchemaError(f"The {what} {name!r} is there twice up to case, or its name is taken; rename it.")
        seen.add(name.casefold())
