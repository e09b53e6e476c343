"""Domains and rules from JSON or TOML objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.domain.base import Domain
from sfumato.domain.calendar import Dates
from sfumato.domain.clock import Times
from sfumato.domain.derived import Bins, Derivation, Months, Weekdays, Years
from sfumato.domain.labels import Booleans, Categories, Text
from sfumato.domain.numbers import FixedPoint, Integers
from sfumato.errors import ParameterError
from sfumato.words import nearest

_SHAPES: dict[str, tuple[Callable[..., Domain | Derivation], tuple[str, ...], tuple[str, ...]]] = {
    # word: (class, keys that must be there, keys that may be there)
    "integer": (Integers, ("low", "high"), ("missing", "public")),
    "fixed": (FixedPoint, ("low", "high", "step"), ("missing", "public")),
    "category": (Categories, ("values",), ("other", "missing", "public")),
    "boolean": (Booleans, (), ("missing", "public")),
    "date": (Dates, ("earliest", "latest"), ("format", "missing", "public")),
    "time": (Times, ("earliest", "latest"), ("step", "zone", "format", "missing", "public")),
    "text": (Text, ("max_bytes",), ("missing", "public")),
    "bins": (Bins, ("of",), ("step", "edges")),
    "months": (Months, ("of",), ()),
    "years": (Years, ("of",), ()),
    "weekdays": (Weekdays, ("of",), ()),
}


def column_keys(kind: str) -> tuple[str, ...]:
    """Return what must be written for a column of this type."""
    return _SHAPES[kind][1]


def column_from_json(record: Mapping[str, Any]) -> Domain | Derivation:
    """Read what `to_json` of a domain or of a rule wrote, or what a person wrote in TOML.

    >>> column_from_json({"type": "integer", "low": 17, "high": 90})
    Integers(missing=None, public=False, low=17, high=90)
    """
    kind = record.get("type") if isinstance(record, Mapping) else None
    if kind not in _SHAPES:
        raise ParameterError(f"{kind!r} is no type of column; {nearest(str(kind), _SHAPES)}")
    make, needed, allowed = _SHAPES[kind]
    for key in record:
        if key != "type" and key not in needed + allowed:
            raise ParameterError(f"A column of type {kind!r} has no {key!r}; {nearest(key, needed + allowed)}")
    lacking = [key for key in needed if key not in record]
    if lacking:
        raise ParameterError(f"A column of type {kind!r} needs {' and '.join(lacking)}; write it down.")
    return make(**{key: value for key, value in record.items() if key != "type"})


def domain_from_json(record: Mapping[str, Any]) -> Domain:
    """Read a domain that stands on its own; a derived column needs its base and is refused."""
    column = column_from_json(record)
    if isinstance(column, Derivation):
        raise ParameterError(f"A column of {column.kind} is derived from {column.of!r} and has no domain without it.")
    return column
