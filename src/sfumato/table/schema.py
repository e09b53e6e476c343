"""The public description of a table: columns and their domains, whose row it is, how much a person may count."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sfumato.domain import Bins, Derivation, Derived, Domain
from sfumato.errors import ParameterError, SchemaError
from sfumato.exact import positive_integer
from sfumato.privacy import Secrets
from sfumato.show.views import View, Viewed
from sfumato.table.mistakes import raise_all, read_columns
from sfumato.table.toml import read_toml, write_toml
from sfumato.words import Understood, guide, nearest

_PART_OF_DATE = re.compile(r"""(month|year|weekday|dow|dayofweek)s?\s*\(\s*"?([^"()]+?)"?\s*\)""", re.IGNORECASE)
LARGEST_CODE = 2**62
"""Codes are 64-bit integers in every engine; one bit is left for offsets."""

MOST_ADDED = 8
"""Of up to so many derived columns any may have been added to a ledger's schema; of more, one or all of them."""

NO_COLUMNS = "A schema needs columns; write Schema({'age': integers(17, 90)})."

RESERVED = "sfumato_"
"""The table's own columns start like this."""
_OF_DATA = (".csv", ".csv.gz", ".tsv", ".parquet", ".pq", ".parq", ".duckdb", ".ddb", ".xlsx", ".arrow", ".feather")
_TYPED = guide(
    {
        # words for a type: the domain that is written here
        "int integer integers uint number numeric": "integers(0, 120)",
        "float double decimal fixed real": "fixed(0, 1000, step=0.01)",
        "bool boolean booleans": "booleans()",
        "date dates datetime": "dates('1900-01-01', '2030-12-31')",
        "text": "text(max_bytes=40)",
    }
)


def refuse_part_of_date(name: str) -> None:
    """Refuse the month, the year or the weekday of a column where a column is asked for, saying how to derive it.

    >>> refuse_part_of_date("month(admitted)")
    Traceback (most recent call last):
    sfumato.errors.SchemaError: 'month(admitted)' is no column; months of dates stand in the schema: write \
months('admitted') there, or [columns.months] with type = "months" and of = "admitted", and ask for its name.
    """
    part = _PART_OF_DATE.fullmatch(name.strip())
    if part is None:
        return
    rule = {"month": "months", "year": "years"}.get(part[1].lower(), "weekdays")
    raise SchemaError(
        f"{name!r} is no column; {rule} of dates stand in the schema: write {rule}({part[2]!r}) there, or "
        f'[columns.{rule}] with type = "{rule}" and of = "{part[2]}", and ask for its name.'
    )


@dataclass(frozen=True)
class Schema(Viewed, metaclass=Understood):
    """Everything that is public about a table, written by somebody who knows the data and never read from it.

    `columns` maps names to domains and to rules for derived columns. `person` names the column that says whose row
    it is; without it every row is one person. A person counts with at most `rows_per_person` rows and, in answers
    by group, at most `groups_per_person` groups. Columns in `public` are known to everybody. `groups` are columns
    that carry one secret together, `dependencies` pairs of columns of which one determines the other.

    `row_key` names the columns that tell the rows of a person apart, such as the number of a visit: written when a row
    is made and saying nothing else. Which rows count then depends on these columns alone, and every other attribute
    can be charged by itself. `row_key=()` says that a person has one row. Without a row key, questions that need
    whole rows charge every attribute what they charge the person.

    Without columns a schema says whose row it is and nothing else: so it may stand in a `Database`, whose links and
    other tables say the rest.

    >>> from sfumato.domain import bins, integers
    >>> schema = Schema({"age": integers(17, 90), "decade": bins("age", step=10)})
    >>> schema.domain("decade").size, schema.reads(["decade"]), schema.attributes
    (10, frozenset({'age'}), ('age',))
    """

    columns: Mapping[str, Domain | Derivation]
    person: str | None = None
    rows_per_person: int = 1
    groups_per_person: int | None = None
    row_key: tuple[str, ...] | None = None
    public: tuple[str, ...] = ()
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    dependencies: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping) or (not self.columns and self.person is None):
            raise SchemaError(NO_COLUMNS)
        columns = dict(self.columns)
        raise_all([said for name, column in columns.items() if (said := _wrong(name, column))])
        raise_all(_same_names(columns, self.person))
        for name in self.public:
            known = columns.get(name)
            if not isinstance(known, Domain):
                raise SchemaError(f"public names {name!r}, which is no base column; {nearest(name, columns)}")
            columns[name] = replace(known, public=True)
        for name, column in columns.items():
            base = columns.get(column.of) if isinstance(column, Derivation) else None
            if isinstance(column, Derivation) and isinstance(base, Domain):
                columns[name] = column.over(base)
        set_field = object.__setattr__
        set_field(self, "columns", MappingProxyType(columns))
        named = (name for name, column in columns.items() if isinstance(column, Domain) and column.public)
        set_field(self, "public", tuple(named))
        if self.person is not None:
            _check_name(self.person)
        set_field(self, "rows_per_person", positive_integer(self.rows_per_person, "rows_per_person"))
        if self.person is None and self.rows_per_person != 1:
            raise SchemaError(
                "rows_per_person counts the rows of a person; name the column that tells them by person=."
            )
        if self.groups_per_person is not None:
            set_field(self, "groups_per_person", positive_integer(self.groups_per_person, "groups_per_person"))
        self._check_row_key()
        groups = {str(name): tuple(members) for name, members in dict(self.groups or {}).items()}
        set_field(self, "groups", MappingProxyType(groups))
        set_field(self, "dependencies", tuple((str(a), str(b)) for a, b in self.dependencies))
        raise_all([said for name in columns if (said := self._misfit(name))])
        self.secrets  # noqa: B018  reading it checks groups and dependencies

    def _check_row_key(self) -> None:
        if self.row_key is None:
            return
        given: Any = self.row_key
        names = (given,) if isinstance(given, str) else tuple(given)
        object.__setattr__(self, "row_key", names)
        if self.person is None:
            raise SchemaError("row_key tells the rows of a person apart; name the column that tells people by person=.")
        for name in names:
            _check_name(name)
            if isinstance(self.columns.get(name), Derivation):
                raise SchemaError(f"The row key {name!r} is derived; name the column that it is derived from.")
        if len(set(names)) != len(names) or self.person in names:
            raise SchemaError("A row key names each column once, and not the person column; drop what is there twice.")
        if not names and self.rows_per_person != 1:
            raise SchemaError("row_key=() says that a person has one row; leave rows_per_person=1, or name the key.")

    def _misfit(self, name: str) -> str | None:
        """Say what is wrong with a column that was read: its base, or a range that no engine counts in."""
        try:
            domain = self.domain(name)
        except SchemaError as refused:
            return str(refused)
        if domain.last is not None and max(abs(domain.first), abs(domain.last)) > LARGEST_CODE:
            return f"The range of {name!r} goes beyond 2^62, which no engine counts in; narrow it."
        return None

    def with_columns(self, **columns: Domain | Derivation) -> Schema:
        """Return the schema with further columns, such as bins; a ledger made for this schema takes it, too.

        >>> from sfumato.domain import bins, integers
        >>> Schema({"age": integers(0, 99)}).with_columns(decade=bins("age", step=10)).names
        ('age', 'decade')
        """
        return replace(self, columns={**self.columns, **columns})

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All columns, derived ones too, in the order they were written."""
        return tuple(self.columns)

    @cached_property
    def _domains(self) -> dict[str, Domain]:
        return {}

    def domain(self, name: str) -> Domain:
        """Return the domain of a column, derived columns resolved."""
        given: Any = name
        if not isinstance(given, str):
            kind = type(given).__name__
            raise SchemaError(f"A column is named by its name, one column at a time; write 'age', not {kind}.")
        if name not in self._domains:
            self._domains[name] = self._resolve(name)
        return self._domains[name]

    def _resolve(self, name: str) -> Domain:
        column = self.columns.get(name)
        if column is None and any(sign in name for sign in "=<>"):
            raise SchemaError(
                f"There is no column {name!r} in the schema; a condition is written as where={name!r}. For the share "
                "that fulfils it divide how many people do, People(where), by the public number of people, or ask for "
                "the mean of a boolean column."
            )
        if column is None:
            refuse_part_of_date(name)
        if column is None and self.person is not None and str(name).casefold() == self.person.casefold():
            raise SchemaError(
                f"{self.person!r} is the person column: it tells people apart, and no question is about one of them; "
                "People('age > 40') counts people, and by= takes a column of the schema."
            )
        if column is None:
            raise SchemaError(f"There is no column {name!r} in the schema; {nearest(str(name), self.columns)}")
        if isinstance(column, Domain):
            return column
        base = self.columns.get(column.of)
        if base is None:
            raise SchemaError(
                f"{name!r} is derived from {column.of!r}, which is no column; {nearest(column.of, self.columns)}"
            )
        if isinstance(base, Derivation):
            raise SchemaError(f"{name!r} is derived from {column.of!r}, itself derived; derive it from {base.of!r}.")
        try:
            return column.on(base)
        except ParameterError as refused:
            raise SchemaError(f"The column {name!r} does not fit its base: {refused}") from None

    def base(self, name: str) -> str:
        """Return the column that a column is read from: itself, or the base of a derived one."""
        domain = self.domain(name)
        return domain.rule.of if isinstance(domain, Derived) else name

    @cached_property
    def key_attributes(self) -> frozenset[str]:
        """The private attributes that are part of the row key, so that they decide which rows count."""
        return frozenset(self.row_key or ()) & frozenset(self.attributes)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The private attributes: base columns that are not public."""
        return tuple(name for name, column in self.columns.items() if isinstance(column, Domain) and not column.public)

    def reads(self, names: Iterable[str]) -> frozenset[str]:
        """Return the private attributes that these columns reveal something about."""
        return frozenset(self.base(name) for name in names).intersection(self.attributes)

    def one_cell_each(self, keys: Iterable[str]) -> bool:
        """Tell whether all rows of a person are in one cell of some keys: here, because there is one row."""
        return self.person is None or self.row_key == ()

    @cached_property
    def secrets(self) -> Secrets:
        """Which attributes carry the same secret; derived names stand for their base, public ones for nothing."""
        groups = {}
        for label, members in self.groups.items():
            groups[label] = sorted(self.reads(members))
        pairs = []
        for first, second in self.dependencies:
            linked = (self.base(first), self.base(second))
            if linked[0] != linked[1] and self.reads(linked) == frozenset(linked):
                pairs.append(linked)
        return Secrets(self.attributes, groups, tuple(pairs))

    def view(self) -> View:
        """Return the columns with what may stand in them."""
        from sfumato.table.described import schema_view

        return schema_view(self)

    # Text forms

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back; what is at its default is left out."""
        record: dict[str, Any] = {}
        if self.person is not None:
            record["person"] = self.person
        record["rows_per_person"] = self.rows_per_person
        if self.row_key is not None:
            record["row_key"] = list(self.row_key)
        if self.groups_per_person is not None:
            record["groups_per_person"] = self.groups_per_person
        if self.dependencies:
            record["dependencies"] = [list(pair) for pair in self.dependencies]
        record["columns"] = {name: column.to_json() for name, column in self.columns.items()}
        if self.groups:
            record["groups"] = {name: list(members) for name, members in self.groups.items()}
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Schema:
        """Read what `to_json` wrote; a draft that is not filled in is refused with all that is wrong with it."""
        columns = read_columns(record)
        parts: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in record.items() if key != "columns"
        }
        return cls(columns, **parts)

    @classmethod
    def as_stored(cls, record: Mapping[str, Any]) -> Schema:
        """Read what `to_json` wrote beside an answer, with every code as it stood then: see `Bins.earlier`."""
        found = cls.from_json(record)
        return found.earlier or found

    def to_toml(self) -> str:
        """Return the schema as TOML, for people to read and edit."""
        return write_toml(self.to_json())

    @classmethod
    def from_toml(cls, text: str) -> Schema:
        """Read a schema from TOML.

        >>> Schema.from_toml("columns.age = {type = 'integer', low = 17, high = 90}").names
        ('age',)
        """
        if "=" not in str(text) and str(text).strip().endswith(".toml"):
            raise SchemaError(f"from_toml reads the text of a schema, not its file; write Schema.load({str(text)!r}).")
        return cls.from_json(read_toml(text, "schema"))

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema from a `.toml` or `.json` file."""
        text = schema_text(path)
        if Path(path).suffix.lower() != ".json":
            return cls.from_toml(text)
        try:
            return cls.from_json(json.loads(text))
        except json.JSONDecodeError as error:
            raise SchemaError(f"The schema {str(path)!r} is no JSON: {error}.") from None

    @cached_property
    def fingerprint(self) -> str:
        """A SHA-256 of the canonical JSON form: equal schemas have equal fingerprints."""
        return digest_of(self.to_json())

    @cached_property
    def fingerprints(self) -> tuple[str, ...]:
        """Its own fingerprint first, then those of the same schema without some of its derived columns.

        What a derived column holds follows from its base by a public rule, so that whoever may ask about the base may
        ask about it, at the same price and from the same limits: a ledger for one of these schemas takes this one.

        >>> from sfumato.domain import bins, integers
        >>> plain = Schema({"age": integers(0, 99)})
        >>> plain.fingerprint in plain.with_columns(decade=bins("age", step=10)).fingerprints
        True
        """
        return tuple(shorter.fingerprint for shorter in self.shorter)

    @cached_property
    def shorter(self) -> tuple[Schema, ...]:
        """The schema, and itself without some of its derived columns, as far as `fingerprints` knows them."""
        return tuple(self._shorter())

    def _shorter(self) -> Iterator[Schema]:
        """Yield the schema, and itself without some of its derived columns."""
        yield self
        derived = [name for name, column in self.columns.items() if isinstance(column, Derivation)]
        sizes = range(1, len(derived) + 1) if len(derived) <= MOST_ADDED else (1, len(derived))
        for left_out in chain.from_iterable(combinations(derived, size) for size in sizes):
            kept = {name: column for name, column in self.columns.items() if name not in left_out}
            with suppress(SchemaError):  # what else names a column that is left out is no such schema
                yield replace(self, columns=kept)

    @cached_property
    def earlier(self) -> Schema | None:
        """The schema as an earlier version read it, None if it read it the same way: see `Bins.earlier`."""
        columns = {name: one.earlier if isinstance(one, Bins) else one for name, one in self.columns.items()}
        return None if columns == dict(self.columns) else replace(self, columns=columns)

    def as_kept(self, fingerprint: str | None) -> Schema:
        """Return the schema as a ledger reads it that was made for this fingerprint: a code keeps what it stands for.

        Only bins between edges were read otherwise by earlier versions, and those that were added since are new.
        """
        if fingerprint is None or self.earlier is None or fingerprint in self.fingerprints:
            return self
        then = next((one for one in self.earlier.shorter if one.fingerprint == fingerprint), None)
        return self if then is None else replace(self, columns={**self.columns, **then.columns})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def schema_text(path: str | Path) -> str:
    """Return what stands in the file of a schema; a file of data in its place was given in the place of the schema."""
    if str(path).lower().endswith(_OF_DATA):
        raise SchemaError(
            f"{str(path)!r} is a file of data and no schema: the two were swapped, or the schema is missing; the data "
            "come first and the schema second, people.csv and then people.toml."
        )
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SchemaError(
            f"There is no file {str(path)!r}, so the schema cannot be read; write its path, or draft one by "
            "sf.draft('people.csv')."
        ) from None
    except (OSError, UnicodeDecodeError, TypeError) as error:
        why = getattr(error, "strerror", None) or error
        raise SchemaError(f"The schema {str(path)!r} cannot be read: {why}.") from None


def digest_of(record: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON form of a public description."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _check_name(name: object) -> None:
    wrong = _wrong_name(name)
    if wrong is not None:
        raise SchemaError(wrong)


def _wrong_name(name: object) -> str | None:
    if not isinstance(name, str) or not name or "\x00" in name:
        return f"{name!r} is no name of a column; write it as text."
    if name.lower().startswith(RESERVED):
        return f"Names that start with {RESERVED!r} are taken; rename the column {name!r}."
    return None


def _wrong(name: object, column: Any) -> str | None:
    """Say what is wrong with a column as it was written."""
    wrong = _wrong_name(name)
    if wrong is None and (not isinstance(column, (Domain, Derivation)) or isinstance(column, Derived)):
        return f"The column {name!r} needs a domain such as {_domain_for(column)}, not {column!r}."
    return wrong


def _domain_for(given: Any) -> str:
    """Return the domain that somebody probably meant who wrote a type or a list."""
    if isinstance(given, (list, tuple, set)) and given:
        return f"categories({', '.join(map(repr, given))})"
    if isinstance(given, str) and (meant := _TYPED.get(given.lower().rstrip("0123456789"))):
        return meant
    made = {float: "fixed(0, 1000, step=0.01)", str: "categories('F', 'M')", bool: "booleans()"}
    return made.get(given if isinstance(given, type) else type(given), "integers(17, 90)")


def _same_names(columns: Mapping[str, Any], person: str | None) -> list[str]:
    """Say which names engines would mix up."""
    first: dict[str, str] = {}
    said = []
    for name in columns:
        if name.casefold() in first:
            said.append(f"{first[name.casefold()]!r} and {name!r} are the same name up to case; rename one.")
        first[name.casefold()] = name
    if person is not None and str(person).casefold() in first:
        name = first[str(person).casefold()]
        said.append(
            f"{name!r} is the person column and a column too, the same name up to case; leave it out of the columns, "
            "because nobody asks about an id."
        )
    return said
