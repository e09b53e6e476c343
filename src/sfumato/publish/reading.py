"""Words of a publication file, each read with a sentence that says what to write."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError
from sfumato.ledger.units import UNITS, Unit, is_period
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE, Relation
from sfumato.table.schema import Schema
from sfumato.words import nearest

FORMATS = ("parquet", "csv", "json", "html")


def known(where: str, given: Mapping[str, Any], words: Sequence[str]) -> None:
    """Refuse a word that nobody knows, with the nearest one."""
    for name in given:
        if name not in words:
            raise ParameterError(f"{where} has no {name!r}; {nearest(name, words)}")


def require_column(where: str, unit: Unit, schema: Schema) -> None:
    """Refuse a unit whose column the schema does not have."""
    if unit.column and unit.column not in schema.names:
        raise ParameterError(
            f"{where} protects a person, a person for each period (one of {', '.join(UNITS)}, 'every 14 days from "
            f"2026-01-01') or for each value of a category column, and the schema has no column {unit.column!r}; "
            f"{nearest(unit.column, (*UNITS, 'person', *schema.names))} A limit on the person holds over all values; "
            f"where a household or a device is to be protected whole, its column is the schema's person = "
            f"{unit.column!r}."
        )


def read_relation(word: Any) -> Relation:
    """Read whether what somebody did is left out, or exchanged too."""
    found = {"add remove": ADD_REMOVE, "replace one": REPLACE_ONE}.get(str(word))
    if found is None:
        raise ParameterError(
            f"relation = {word!r} is none; write 'add remove', what somebody did is left out, or 'replace one', it is "
            "exchanged for something else too."
        )
    return found


def wanted(given: Mapping[str, Any], name: str, example: str) -> Any:
    """Return what must be there."""
    if name not in given:
        raise ParameterError(f"A publication needs {name}; write {name} = {example!r}.")
    return given[name]


def read_unit(word: Any, name: str) -> str:
    """Read the name of a period."""
    if not is_period(str(word)):
        raise ParameterError(
            f"{name} = {word!r} is no period; write one of {', '.join(UNITS)}, or 'every 14 days from 2026-01-01'."
        )
    return str(word)


def read_day(word: Any, name: str) -> date:
    """Read a day."""
    try:
        return word if isinstance(word, date) else date.fromisoformat(str(word))
    except ValueError:
        raise ParameterError(f"{name} = {word!r} is no day; write {name} = '2026-01-01'.") from None


def read_days(word: Any, name: str = "wait") -> int:
    """Read a number of days."""
    found = re.fullmatch(r"([0-9]{1,4}) days?", str(word))
    if found is None:
        raise ParameterError(f"{name} = {word!r} is no number of days; write {name} = '3 days'.")
    return int(found[1])


def read_positive(word: Any, name: str) -> int:
    """Read a whole number from 1 on."""
    if not isinstance(word, int) or isinstance(word, bool) or word < 1:
        raise ParameterError(f"{name} is a whole number from 1 on, not {word!r}.")
    return word


def read_formats(words: Any) -> tuple[str, ...]:
    """Read the formats of files."""
    wrong = [word for word in words if word not in FORMATS]
    if wrong:
        raise ParameterError(f"No format is called {wrong[0]!r}; write some of {', '.join(FORMATS)}.")
    return tuple(words)


def shown(place: str) -> str:
    """Return where a ledger is as it may be shown: the address of a server can hold a password.

    >>> shown("visits.ledger"), shown("postgresql://me:secret@host/db")
    ("'visits.ledger'", 'in the database')
    """
    return "in the database" if "://" in place else repr(place)


def beside(home: Path, place: str) -> str:
    """Return a path as it is seen from the file."""
    return place if "://" in place else str(home / place)
