"""Words of a publication file, each read with a sentence that says what to write."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError
from sfumato.ledger.budget import UNITS
from sfumato.words import nearest

FORMATS = ("parquet", "csv", "json", "html")


def known(where: str, given: Mapping[str, Any], words: Sequence[str]) -> None:
    """Refuse a word that nobody knows, with the nearest one."""
    for name in given:
        if name not in words:
            raise ParameterError(f"{where} has no {name!r}; {nearest(name, words)}")


def require_time(record: Mapping[str, Any]) -> None:
    """Refuse units other than a person and a person in a period, with what to write in their place."""
    if "unit" in record:
        raise ParameterError(
            "What is protected stands in [limits], and how many rows of a person count in the schema: leave "
            f"[unit] out, write day = 'Concentrated(0.01)' in [limits], say (one of {', '.join(UNITS)}, person), and "
            "rows_per_person = 10 in the schema."
        )
    for name in record.get("limits", {}):
        if name not in (*UNITS, "person") and "did you mean" not in nearest(name, (*UNITS, "person")):
            raise ParameterError(
                f"[limits] protects a person, or a person for each {', '.join(UNITS[:-1])} or {UNITS[-1]}; for each "
                f"{name} of a person there is no limit. A limit on the person holds over all of them; where a "
                f"household or a device is to be protected whole, its column is the schema's person = {name!r}."
            )


def wanted(given: Mapping[str, Any], name: str, example: str) -> Any:
    """Return what must be there."""
    if name not in given:
        raise ParameterError(f"A publication needs {name}; write {name} = {example!r}.")
    return given[name]


def read_unit(word: Any, name: str) -> str:
    """Read the name of a period."""
    if word not in UNITS:
        raise ParameterError(f"{name} = {word!r} is no period; write one of {', '.join(UNITS)}.")
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
