"""A first schema: from types and names alone, or, on the curator's word, from a look at the data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sfumato.domain import Derivation, Domain, nearest
from sfumato.domain.figures import KEYS
from sfumato.durable import require_new
from sfumato.errors import SchemaError
from sfumato.show.tables import table as draw
from sfumato.show.views import View, Viewed
from sfumato.table.described import EVERY_ROW, whose_row
from sfumato.table.engine import Source
from sfumato.table.looking import add_what_to_write_first, add_whole_ids, looked, require_person
from sfumato.table.mistakes import CONFIRM, unfilled
from sfumato.table.names import (
    CODE,
    CODE_BYTES,
    CODE_IN_DECIMALS,
    FILL,
    LEFT_OUT,
    MODELS_NEED_ONE,
    NOBODY,
    PERHAPS,
    ROWS_PROPOSED,
    blank,
    is_code,
    is_person,
    kind_by_name,
    may_be_person,
    names_somebody,
)
from sfumato.table.proposed_bins import with_bins_in_python
from sfumato.table.repeats import Sizes, asked_in_file, whose_rows
from sfumato.table.resources import Resources
from sfumato.table.schema import Schema
from sfumato.table.source import open_source
from sfumato.table.toml import write_toml
from sfumato.table.unread import unread_columns
from sfumato.words import understood

_HEADER = f"""\
A draft from the types and the names of the columns; no cell was looked at.
Ranges and categories are public facts: write what you know about such data in general, never what you see in
these. Replace every "{FILL}".
"""
_LOOKED = """\
DRAFTED BY LOOKING AT THE DATA, a private act outside of every promise. The ranges, categories, formats and counts of
rows below are candidates that were read from private cells: a range that is read from data is a fact about somebody.
Compare each with what is publicly known about such data, change it where it says more, and only then remove the
line that begins with "confirm", and with it the comments, which hold private figures: a schema is public. Ranges are
rounded outward and categories in fewer than 10 rows are left out, which protects nobody.
"""
_CONFIRMED = "read from the data: check each line, then remove this one and the comments with private figures"
_RULES = """\
person names the column that tells people apart; remove its line if every row is one person. Columns that no question
needs can be removed. A missing cell is left out of sums and means and counted on its own; write missing = 0, say,
where it means a value. Beside person, row_key = [] says that everybody has one row, and row_key = ["visit"] names a
column that tells a person's rows apart and says nothing else: then an attribute costs only what it shows.
"""


_EXAMPLES: Mapping[str, Any] = {
    "low": 0,
    "high": 99,
    "step": "0.01",
    "values": ["…", "…"],
    "earliest": "1900-01-01",
    "latest": "2030-12-31",
    "max_bytes": 40,
    "decimal": ",",
    "format": "%d/%m/%Y",
}
_ENDS = (("low", "earliest"), ("high", "latest"))
LOOKS = (
    "LOOKING AT PRIVATE CELLS, as you asked. This is outside of every promise: what is read is for the curator's "
    "eyes, and a range that is read from data is a fact about somebody. Compare every candidate with what is publicly "
    "known."
)


@dataclass(frozen=True)
class Draft(Viewed):
    """A schema with gaps. `missing` lists them, `fill` fills some, `schema` hands it over once none is left.

    `notes` are what was noticed, by column and under "" for the whole. A draft that `looked` holds candidates, which
    are handed over after `confirm`.

    >>> draft = Draft({"person": "id", "columns": {"age": {"type": "integer", "low": FILL, "high": FILL}}})
    >>> draft.missing
    ('columns.age.low', 'columns.age.high')
    >>> draft.fill(age={"low": 17, "high": 90}).schema().names
    ('age',)
    """

    record: Mapping[str, Any]
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    repeats: Mapping[str, Sizes] = field(default_factory=dict, repr=False, compare=False)
    """How many people have how many rows, by the columns that tell them apart or may; only a look knows it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "record", MappingProxyType(dict(self.record)))

    @property
    def looked(self) -> bool:
        """Whether it holds candidates that were read from the data and that nobody has confirmed."""
        return CONFIRM in self.record

    @property
    def missing(self) -> tuple[str, ...]:
        """What must still be filled in, as dotted names."""
        return tuple(unfilled(self.record))

    def confirm(self) -> Draft:
        """Return the draft with its candidates confirmed: somebody compared them with what is publicly known."""
        return Draft({key: value for key, value in self.record.items() if key != CONFIRM}, self.notes, self.repeats)

    def fill(
        self,
        *,
        person: str | None = FILL,
        rows_per_person: int | None = None,
        **columns: Mapping[str, Any] | Domain | Derivation,
    ) -> Draft:
        """Return the draft with more filled in; `person=None` says that every row is one person.

        A column that is derived from another is added: `decade={"type": "bins", "of": "age", "step": 10}`, or
        `decade=bins("age", step=10)`. One that the draft left out is taken in where its `type` is written. What was
        noticed about a proposal that is replaced is left out. After a look, a column that is named as the person gets
        the number of rows that the look proposes for it, unless you write another.
        """
        record = {**self.record, "columns": dict(self.record["columns"])}
        said = []
        if person is None:
            record = {key: value for key, value in record.items() if key not in ("person", "row_key")}
            record["rows_per_person"] = 1
        elif person != FILL:
            if person != record.get("person"):
                record.pop("row_key", None)  # it was about other people
            record["person"] = person
            record["columns"].pop(person, None)
        if rows_per_person is not None:
            record["rows_per_person"] = rows_per_person
        whose = record.get("person")
        if whose is not None and whose in self.repeats and (rows_per_person is not None or person != FILL):
            lines, told = whose_rows(whose, self.repeats[whose], rows_per_person)
            record, said = {**record, **lines}, [told]
        for name, said_of in columns.items():
            known = said_of.to_json() if isinstance(said_of, (Domain, Derivation)) else said_of
            _require_described(name, known)
            if "of" in known:
                record["columns"][name] = dict(known)
                continue
            if "type" in known and self._left_out(name) and name not in record["columns"]:
                record["columns"][name] = dict(known)
                continue
            self._require(name)
            before = record["columns"][name]
            fresh = known.get("type", before["type"]) != before["type"]
            record["columns"][name] = dict(known) if fresh else {**before, **known}
        notes = self._notes_without(columns, rows=rows_per_person is not None or person != FILL, whose=person != FILL)
        if said:
            notes[""] = [*notes.get("", ()), *said]
        if whose not in (None, FILL):
            notes.pop(whose, None)
        return Draft(record, notes, self.repeats)

    def _notes_without(self, columns: Iterable[str], *, rows: bool, whose: bool) -> dict[str, Sequence[str]]:
        """Return what was noticed, without what is about columns, rows a person or people that are filled in now."""
        kept = {name: said for name, said in self.notes.items() if name not in columns}
        if "" in kept:
            added = tuple(_why_left_out(name) for name in columns)
            kept[""] = [said for said in kept[""] if not said.startswith(added)]
        if rows and "" in kept:
            kept[""] = [said for said in kept[""] if not said.startswith(ROWS_PROPOSED)]
        if whose and "" in kept:
            asked = tuple(f"{name} {PERHAPS} " for name in self.repeats)
            kept[""] = [said for said in kept[""] if not said.startswith((NOBODY, *asked))]
        return kept

    def drop(self, *columns: str) -> Draft:
        """Return the draft without some columns."""
        for name in columns:
            self._require(name)
        kept = {name: column for name, column in self.record["columns"].items() if name not in columns}
        return Draft({**self.record, "columns": kept}, self.notes, self.repeats)

    def _left_out(self, name: str) -> bool:
        """Tell whether a column of the source is not in the draft, for a reason that its notes name."""
        return any(said.startswith(_why_left_out(name)) for said in self.notes.get("", ()))

    def _require(self, name: str) -> None:
        if name not in self.record["columns"] and self._left_out(name):
            raise SchemaError(
                f"The draft leaves {name!r} out; fill takes it in if you write its type too, as in {{'type': 'text', "
                "'max_bytes': 40} or {'type': 'date', 'earliest': '2020-01-01', 'latest': '2029-12-31'}."
            )
        if name not in self.record["columns"]:
            raise SchemaError(f"The draft has no column {name!r}; {nearest(name, self.record['columns'])}")

    def to_toml(self) -> str:
        """Return the draft as TOML, with what to do and what was noticed as comments."""
        header = [*(_LOOKED if self.looked else _HEADER).splitlines(), *_RULES.splitlines()]
        header += [asked_in_file(said) for said in self.notes.get("", ())]
        comments: dict[tuple[str, ...], Sequence[str]] = {
            ("columns", name): said for name, said in self.notes.items() if name
        }
        return "".join(f"# {line}\n" for line in header) + "\n" + write_toml(self.record, comments=comments)

    @understood
    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the draft as TOML and return its path; over a file only with `overwrite`."""
        target = require_new(path, overwrite=overwrite, in_folder=True)
        target.write_text(self.to_toml(), encoding="utf-8")
        return target

    def schema(self) -> Schema:
        """Return the schema, or refuse with all that is missing."""
        if self.looked and not self.missing:
            raise SchemaError(
                "The draft holds candidates that were read from the data; compare each with what is publicly known, "
                "and then write draft.confirm().schema()."
            )
        return Schema.from_json(self.record)

    def view(self) -> View:
        """Return what is known, what must be filled in, and what was noticed."""
        rows = [
            [name, column["type"], _held(column), " ".join(with_bins_in_python(self.notes.get(name, ())))]
            for name, column in self.record["columns"].items()
        ]
        looked = [" ".join(_LOOKED.split())] if self.looked else []
        tables = (draw("", ["column", "type", "may hold", "noticed"], rows),)
        filling = f"In Python {self._filling()} fills in a column." if self.missing else ""
        hint = "In Python write draft.confirm().schema()." if self.looked else filling
        return View("Draft of a schema", tables, (*looked, self._whose(), *self.notes.get("", ())), (self.to_do, hint))

    def _filling(self) -> str:
        """Return a call that fills in all that one column lacks, numbers first, because of them each is open."""
        gaps = {name: list(unfilled(column)) for name, column in self.record["columns"].items()}
        lacking = [name for name in gaps if gaps[name]]
        if not lacking:
            return "draft.fill(person='patient_id')"
        name = next((one for one in lacking if "low" in gaps[one]), lacking[0])
        known = {key: _EXAMPLES.get(key, "…") for key in gaps[name]}
        return f"draft.fill({name}={known})" if name.isidentifier() else f"draft.fill(**{{{name!r}: {known}}})"

    @property
    def to_do(self) -> str:
        """What is left to do before it is a schema."""
        places = (
            f"Fill in {', '.join(self.missing)}: public facts, never what you see in the data." if self.missing else ""
        )
        compare = "Compare each candidate with what is publicly known, then remove the line that begins with confirm."
        return (
            " ".join(part for part in (places, compare if self.looked else "") if part) or "Nothing is left to fill in."
        )

    def _whose(self) -> str:
        person = self.record.get("person")
        if person is None:
            return EVERY_ROW
        if person == FILL:
            return (
                "It is not known whose row it is: write draft.fill(person='…') with the column that tells people "
                "apart, or draft.fill(person=None) if every row is one person."
            )
        if self.record.get("row_key") == []:
            return f"The column {person!r} says whose row it is; everybody has one row."
        return whose_row(person, self.record["rows_per_person"])


def _why_left_out(name: str) -> str:
    return f"{LEFT_OUT}{name}: "


def _require_described(name: str, known: Any) -> None:
    """Refuse what does not say, by name, what a column may hold, with the words that do."""
    if isinstance(known, Mapping):
        if isinstance(known.get("values"), str):
            listed = [part.strip() for part in known["values"].split(",") if part.strip()]
            raise SchemaError(
                f"values of {name!r} is a list of categories, not one text; write values = {json.dumps(listed)}, in "
                f"Python {{'values': {listed!r}}}."
            )
        return
    pair = isinstance(known, (tuple, list)) and len(known) == 2 and all(isinstance(end, (int, float)) for end in known)
    meant: dict[str, Any] = {"values": ["…", "…"]}
    if pair:
        meant = {"low": known[0], "high": known[1]}
    elif isinstance(known, (tuple, list)) and known:
        meant = {"values": list(known)}
    raise SchemaError(f"A column is filled in by the names of what is known about it; write {name}={meant!r}.")


def _held(column: Mapping[str, Any]) -> str:
    """Say what a column may hold, as far as that is known, and what is to be filled in."""
    gaps = list(unfilled({key: value for key, value in column.items() if key != "values"}))
    if "values" in column:
        listed = column["values"]
        return "fill in its values" if FILL in listed else ", ".join(map(str, listed))
    low, high = (next((column[key] for key in keys if key in column), FILL) for keys in _ENDS)
    ends = {(True, True): f"{low} to {high}", (True, False): f"from {low}", (False, True): f"up to {high}"}
    known = [ends[low != FILL, high != FILL]] if (low, high) != (FILL, FILL) else []
    known += [
        f"{key} {column[key]}" for key in ("step", "zone", "format", "max_bytes") if key in column and key not in gaps
    ]
    known += [f"{key} {column[key]!r}" for key in KEYS if key in column and key not in gaps]
    *first, last = gaps or [""]
    needed = [f"fill in {', '.join(first)}{' and ' if first else ''}{last}"] if gaps else []
    return "; ".join([*known, *needed])


@understood
def draft(
    source: Any,
    *,
    look: bool = False,
    table: str | None = None,
    person: str | None = None,
    memory_limit: str | int | None = None,
    temp_directory: str | Path | None = None,
) -> Draft:
    """Draft a schema of a file, a frame or a database from the types and names of its columns; no cell is looked at.

    `look=True` is the curator's consent to look: candidates for types, ranges, categories, formats, the person column
    and rows a person are then read from the data, which is outside of every promise; the draft says so. `person` names
    the column that tells people apart, where its name does not say so; `memory_limit` and `temp_directory` say what
    DuckDB may use of the machine for the look, as they do in `curate`.
    """
    resources = Resources(memory_limit, temp_directory)
    opened = open_source(source, table=table).using(resources)
    try:
        kinds = dict(opened.table.schema().items())
        if look:
            record, notes, repeats = looked(opened, kinds, person)
            return Draft({CONFIRM: _CONFIRMED, **record}, notes, repeats)
    finally:
        opened.close()
    if person is not None:
        require_person(person, kinds, opened.index)
    found = _by_name(kinds, opened)
    found = found if person is None else found.fill(person=person)
    notes = {name: list(said) for name, said in found.notes.items()}
    add_whole_ids(notes, kinds, found.record["person"], opened)
    return Draft(found.record, notes)


def _by_name(kinds: Mapping[str, Any], source: Source) -> Draft:
    columns: dict[str, dict[str, Any]] = {}
    notes: dict[str, list[str]] = {}
    people = [name for name, kind in kinds.items() if is_person(name) and not kind.is_boolean()]
    person = people[0] if len(people) == 1 else FILL
    for name, kind in kinds.items():
        column = _column(name, kind)
        if column is None or name == person:
            continue
        columns[name] = column
        if names_somebody(name):
            notes[name] = ["By its name it names or reaches a person: remove it, no statistic needs it."]
        elif may_be_person(name):
            notes[name] = ["By its name it is a key: write it as person if it tells people apart, and remove it here."]
        elif column["type"] == "fixed" and is_code(name):
            notes[name] = [*CODE_IN_DECIMALS]
        elif column["type"] == "category" and is_code(name):
            many = f'Where there are too many to list write type = "text" and max_bytes = {CODE_BYTES}.'
            notes[name] = [CODE, *([many] if kind.is_string() else [])]
        elif kind.is_string() and column["type"] != "category":
            notes[name] = [
                "The type is guessed from the name; if it is wrong, write category, text, integer, fixed, date, time "
                "or boolean."
            ]
    unread = unread_columns(kinds, [*columns, person], source.refused, source.kind)
    if not columns:
        raise SchemaError(" ".join(["No column of this source has a type that a schema can describe.", *unread]))
    if person != FILL:
        notes[""] = [
            f"{person} tells people apart by its name; if a person may have several rows, write how many count. "
            f"{MODELS_NEED_ONE}"
        ]
    if unread:
        notes[""] = [*notes.get("", ()), *unread]
    add_what_to_write_first(notes, kinds, columns, source)
    return Draft({"person": person, "rows_per_person": 1, "columns": columns}, notes)


def _column(name: str, kind: Any) -> dict[str, Any] | None:
    """Return what type and name say about a column; every cell of a CSV file is text, so there the name decides."""
    known = kind_by_name(name)
    if kind.is_boolean():
        return blank("boolean")
    if kind.is_integer() and is_code(name):
        return blank("category")
    if kind.is_integer():
        return known if known is not None and known["type"] == "integer" else blank("integer")
    if kind.is_floating() or kind.is_decimal():
        return blank("fixed")
    if kind.is_date():
        return blank("date")
    if kind.is_timestamp():
        return blank("date")
    if kind.is_string():
        return known or blank("category")
    return None
