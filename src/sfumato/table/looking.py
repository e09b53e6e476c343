"""A look at the data, by a curator who consents to it: candidates for a schema. Outside of every promise.

Nothing here is private. What comes out is for the curator's eyes, and becomes public only by being confirmed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from sfumato.domain import nearest
from sfumato.errors import SchemaError
from sfumato.table.candidates import Candidate, candidate_of
from sfumato.table.engine import Source
from sfumato.table.failures import guarded
from sfumato.table.names import (
    FILL,
    LEFT_OUT,
    NOBODY,
    is_amount,
    is_key_of_people,
    is_person,
    may_be_person,
    names_somebody,
)
from sfumato.table.reading import all_readable
from sfumato.table.repeats import Sizes, asked_about, whose_rows
from sfumato.table.unread import in_the_index, unread_columns, whole_ids, without_zone

MOST_ROWS = 100_000
"""Of a longer table every k-th row is looked at, so that about as many are."""

FEWEST_PEOPLE = 100
MOST_REPEATS = 20
"""A column whose values stand in more rows than this, on the average, is no person's: it tells groups apart."""
MOST_ROWS_EACH = 1000
AMOUNTS = ("fixed", "date", "time", "boolean")
"""What is added up or put into order tells nobody apart; nor does a column whose name says so (amount, hours)."""
DIFFERS = 0.95
"""A key that differs in so many rows tells rows apart, not people."""

Notes = dict[str, list[str]]


def looked(
    source: Source, kinds: Mapping[str, Any], person: str | None = None
) -> tuple[dict[str, Any], Notes, dict[str, Sizes]]:
    """Return a drafted schema with candidates read from the data, what was noticed on the way, and rows a person.

    The last is by column: of the one that tells people apart, which `person` may name, or of those that perhaps do.
    """
    with source.turn:
        opened = guarded(lambda: all_readable(source, list(kinds)))
        rows = int(opened.table.count().to_pyarrow().as_py())
        if rows == 0:
            raise SchemaError(
                "There is no row to look at; leave the look out, and fill in the draft from what you know."
            )
        cells = guarded(lambda: _sampled(opened.table, rows))
        notes: Notes = {"": [f"{_sample_size(rows)} rows were looked at."]}
        cells |= {name: _on_the_wall(values, source.zones.get(name)) for name, values in cells.items()}
        people = _people(opened.table, list(cells), rows, person, source.index)
        drafted = _candidates({name: values for name, values in cells.items() if name not in people})
        perhaps = {} if people else _perhaps_people(opened.table, cells, drafted, rows)
    whose = _whose(people, perhaps, notes)
    columns: dict[str, dict[str, Any]] = {}
    left_out: list[str] = []
    for name, found in drafted.items():
        if found.record is None:
            left_out.append(f"{name}: {' '.join(found.notes)}")
            continue
        columns[name] = found.record
        if found.notes:
            notes[name] = list(found.notes)
    notes[""] += [f"{LEFT_OUT}{said}" for said in left_out]
    notes[""] += unread_columns(kinds, list(cells), source.refused, source.kind)
    add_what_to_write_first(notes, kinds, columns, source)
    add_whole_ids(notes, kinds, whose.get("person"), source)
    if not columns:
        raise SchemaError(" ".join(["No column is left that a schema could describe.", *notes[""]]))
    return {**whose, "columns": columns}, notes, {**people, **perhaps}


def add_what_to_write_first(
    notes: Notes, kinds: Mapping[str, Any], columns: Mapping[str, Mapping[str, Any]], source: Source
) -> None:
    """Add to the notes of a draft what types, time zones and an index ask for before a table can be opened."""
    if source.index:
        notes.setdefault("", []).append(f"Is it needed? {in_the_index(source.index)}")
    for name in columns:
        kind = kinds[name]
        if kind.is_timestamp() and kind.timezone is not None:
            first = without_zone(name, source.kind)
            said = f"It has a time zone, so its day depends on who looks: {first}."
            if columns[name].get("zone") is not None:
                said = (
                    f"Its moments are counted in UTC, days too; for days and hours as its own zone shows them {first}."
                )
            notes[name] = [said, *notes.get(name, ())]


def add_whole_ids(notes: Notes, kinds: Mapping[str, Any], person: Any, source: Source) -> None:
    """Add to the notes of a draft that ids with a fraction are refused, and how they become whole."""
    if person in kinds and kinds[person].is_floating():
        said = f"{person} holds numbers with a fraction, which tell nobody apart; {whole_ids(person, source.kind)}."
        notes.setdefault("", []).append(said)


def _on_the_wall(values: list[Any], zone: str | None) -> list[Any]:
    """Return moments as a clock of their zone shows them, which is what is left without the zone.

    Those of a zone that has no name here stay as they are read, in UTC.
    """
    if zone is None:
        return values
    try:
        place = ZoneInfo(zone)
    except (KeyError, ValueError, OSError):  # an offset such as +02:00, or a zone that this machine does not know
        return values
    return [
        value.astimezone(place).replace(tzinfo=None) if isinstance(value, datetime) and value.tzinfo else value
        for value in values
    ]


def _candidates(cells: Mapping[str, Sequence[Any]]) -> dict[str, Candidate]:
    """Return what each column could be; where its own cells do not tell the mark before decimals, others may."""
    found = {name: _told(name, values) or candidate_of(name, values) for name, values in cells.items()}
    fixed = [one.record for one in found.values() if one.record is not None and one.record["type"] == "fixed"]
    marks = {record.get("decimal", ".") for record in fixed} - {FILL}
    if len(marks) == 1 and any(record.get("decimal") == FILL for record in fixed):
        (mark,) = marks
        return {name: _told(name, values) or candidate_of(name, values, mark) for name, values in cells.items()}
    return found


def _sample_size(rows: int) -> str:
    every = -(-rows // MOST_ROWS)
    return f"All {rows:,}" if every == 1 else f"Every {every}th of {rows:,}"


def _sampled(table: Any, rows: int) -> dict[str, list[Any]]:
    import ibis

    every = -(-rows // MOST_ROWS)
    if every > 1:
        numbered = table.mutate(sfumato_row=ibis.row_number())
        table = numbered.filter(numbered.sfumato_row % every == 0).drop("sfumato_row")
    found = table.to_pyarrow()
    return {name: found.column(name).to_pylist() for name in found.column_names}


def _told(name: str, values: Sequence[Any]) -> Candidate | None:
    """Return that a column is to be left out, where its name says enough."""
    if names_somebody(name):
        return Candidate(None, ("by its name it names or reaches a person, which no statistic needs.",))
    if may_be_person(name) and len(set(values)) > DIFFERS * len(values):
        return Candidate(None, ("it is a key that differs in nearly every row.",))
    return None


def _people(
    table: Any, names: Sequence[str], rows: int, given: str | None, index: Sequence[str] = ()
) -> dict[str, Sizes]:
    """Return the column that tells people apart, by its name or because somebody says so, and their rows."""
    if given is not None:
        require_person(given, names, index)
        return {given: _rows_by_person(table, given)}
    sure = [name for name in names if is_person(name)]
    perhaps = [name for name in names if may_be_person(name) and not is_person(name)]
    for name in [*sure, *perhaps]:
        sizes = _rows_by_person(table, name)
        people = sum(sizes.values())
        few = people * MOST_REPEATS < rows
        # A member may be yes or no, a household may be its size, and a ward has an id, too: none tells people apart.
        fewest = 3 if is_key_of_people(name) else FEWEST_PEOPLE
        if (few and people < fewest) or (name in perhaps and people >= rows * DIFFERS):
            continue
        return {name: sizes}
    return {}


def require_person(given: str, names: Iterable[str], index: Sequence[str]) -> None:
    """Refuse a person who is no column; the index of a frame is none."""
    if given in names:
        return
    if given in index:
        raise SchemaError(f"There is no column {given!r} to tell people apart: {in_the_index([given])}")
    raise SchemaError(f"There is no column {given!r} to tell people apart; {nearest(given, names)}")


def _perhaps_people(
    table: Any, cells: Mapping[str, Sequence[Any]], drafted: Mapping[str, Candidate], rows: int
) -> dict[str, Sizes]:
    """Return the columns of many values that repeat a few times each, as those do that tell people apart."""
    found: dict[str, Sizes] = {}
    for name, values in cells.items():
        record = drafted[name].record
        kind = None if record is None else record["type"]
        present = {value for value in values if value is not None and value != ""}
        if kind in AMOUNTS or is_amount(name) or len(present) < max(FEWEST_PEOPLE, len(values) / MOST_REPEATS):
            continue
        if not all(isinstance(value, (str, int)) and not isinstance(value, bool) for value in present):
            continue
        sizes = _rows_by_person(table, name)
        people = sum(sizes.values())
        if FEWEST_PEOPLE <= people < rows * DIFFERS and people * MOST_REPEATS >= rows and max(sizes) <= MOST_ROWS_EACH:
            found[name] = sizes
    return found


def _whose(people: Mapping[str, Sizes], perhaps: Mapping[str, Sizes], notes: Notes) -> dict[str, Any]:
    """Return the lines of a schema that say whose row it is, and say how they were found."""
    for name, sizes in people.items():
        record, said = whose_rows(name, sizes)
        notes[""].append(said)
        return record
    notes[""].append(f"{NOBODY}, so every row is taken for one person; write person if that is wrong.")
    for name, sizes in perhaps.items():
        notes[""].append(asked_about(name, sizes))
    return {"rows_per_person": 1}


def _rows_by_person(table: Any, name: str) -> dict[int, int]:
    """Return how many people have each number of rows."""
    counted = table.filter(table[name].notnull()).group_by(name).aggregate(sfumato_rows=lambda found: found.count())
    sizes = counted.group_by("sfumato_rows").aggregate(sfumato_people=lambda found: found.count()).to_pyarrow()
    pairs = zip(sizes["sfumato_rows"].to_pylist(), sizes["sfumato_people"].to_pylist(), strict=True)
    return {int(size): int(people) for size, people in pairs}
