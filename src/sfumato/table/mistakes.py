"""All mistakes of a written schema at once, each with the line to write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfumato.domain import Derivation, Domain, column_from_json, nearest
from sfumato.errors import ParameterError, SchemaError
from sfumato.table.names import FILL

KEYS = ("columns", "person", "rows_per_person", "row_key", "groups_per_person", "public", "groups", "dependencies")
CONFIRM = "confirm"
"""The line of a draft whose candidates were read from the data; it is removed by whoever has confirmed them."""

_LINES = {
    # what a draft leaves open: a line that fills it
    "low": "low = …, the lowest number that may stand there",
    "high": "high = …, the highest number that may stand there",
    "step": 'step = "0.01"',
    "values": 'values = ["…", "…"], all words that may stand there',
    "earliest": 'earliest = "1900-01-01"',
    "latest": 'latest = "2030-12-31"',
    "max_bytes": "max_bytes = 40",
    "person": 'person = "patient_id", or remove the line if every row is one person',
    "decimal": 'decimal = "," with thousands = "." below it, or "." with thousands = ","',
    "format": 'format = "%d/%m/%Y", or "%m/%d/%Y"',
}


def raise_all(mistakes: Sequence[str]) -> None:
    """Refuse with everything that is wrong; one mistake is a sentence, several are numbered."""
    if len(mistakes) == 1:
        raise SchemaError(mistakes[0])
    if mistakes:
        listed = "".join(f"\n  {number}. {said}" for number, said in enumerate(mistakes, 1))
        raise SchemaError(f"The schema has {len(mistakes)} mistakes:{listed}")


def read_columns(record: Any) -> dict[str, Domain | Derivation]:
    """Return the columns of a written schema, or refuse with all that is wrong with what was written."""
    if not isinstance(record, Mapping):
        raise SchemaError("A schema is an object with columns; see docs/tables.md for one.")
    listed = record.get("columns", {})
    mistakes = [*_open(record), *_confirmation(record), *_keys(record)]
    if not isinstance(listed, Mapping):
        raise_all(
            [*mistakes, "columns holds one part for each column; write [columns.age] and the lines of age below it."]
        )
    mistakes += _person(record, listed)
    columns = {}
    for name, column in listed.items():
        if any(True for _ in unfilled(column)):
            continue  # said above
        try:
            columns[name] = column_from_json(column)
        except (ParameterError, TypeError) as refused:
            mistakes.append(f"The column {name!r} cannot be read: {refused}")
    raise_all(mistakes)
    return columns


def _open(record: Mapping[str, Any]) -> list[str]:
    places = list(unfilled(record))
    if not places:
        return []
    if len(places) == 1:
        return [f"The schema is a draft; fill in {places[0]}: write {_LINES.get(_last(places[0]), 'a value')}."]
    lines = [f"{place}: write {_LINES.get(_last(place), 'a value')}" for place in places]
    return [f"The schema is a draft; fill in {'; '.join(lines)}."]


def _last(place: str) -> str:
    return place.rpartition(".")[2]


def _confirmation(record: Mapping[str, Any]) -> list[str]:
    if CONFIRM not in record:
        return []
    return [
        "The schema holds candidates that were read from the data; compare each range and list with what is publicly "
        f"known, and then remove the line that begins with {CONFIRM}."
    ]


def _keys(record: Mapping[str, Any]) -> list[str]:
    unknown = [key for key in record if key not in (*KEYS, CONFIRM)]
    return [f"A schema has no {key!r}; {_instead(key, record[key])}" for key in unknown]


def _instead(key: str, value: Any) -> str:
    if isinstance(value, Mapping) and "type" in value:
        return f"if it is a column, write [columns.{key}]."
    return nearest(key, KEYS)


def _person(record: Mapping[str, Any], listed: Mapping[str, Any]) -> list[str]:
    person = record.get("person")
    twice = [name for name in listed if isinstance(person, str) and name.casefold() == person.casefold()]
    return [
        f"{name!r} is the person column and is described as a column too, with the same name up to case; remove "
        f"[columns.{name}], because nobody asks about an id."
        for name in twice
    ]


def unfilled(record: Any, path: str = "") -> Iterator[str]:
    """Name every place of a record that a draft left open."""
    if record == FILL:
        yield path
    elif isinstance(record, Mapping):
        for key, value in record.items():
            yield from unfilled(value, f"{path}.{key}" if path else str(key))
    elif isinstance(record, list) and any(True for value in record for _ in unfilled(value)):
        yield path
