"""Domains and rules from JSON or TOML objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.domain.base import Domain
from sfumato.domain.calendar import Dates
from sfumato.domain.clock import Times
from sfumato.domain.derived import Bins, Derivation, Months, Weekdays, Years
from sfumato.domain.figures import KEYS
from sfumato.domain.labels import Booleans, Categories, Text
from sfumato.domain.numbers import FixedPoint, Integers
from sfumato.errors import ParameterError
from sfumato.words import guide, nearest

_SHAPES: dict[str, tuple[Callable[..., Domain | Derivation], tuple[str, ...], tuple[str, ...]]] = {
    # word: (class, keys that must be there, keys that may be there)
    "integer": (Integers, ("low", "high"), ("missing", "public", *KEYS)),
    "fixed": (FixedPoint, ("low", "high", "step"), ("missing", "public", *KEYS)),
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


_TYPES = guide(
    {
        # what other libraries call a type: what is written here
        "int int64 Integer number long": "write type = 'integer'.",
        "float float64 double decimal numeric real money": "write type = 'fixed', with a step such as step = '0.01'.",
        "str string object enum categorical categories factor": "write type = 'category', or 'text' if there "
        "are too many to list.",
        "bool binary logical": "write type = 'boolean'.",
        "datetime timestamp": "write type = 'time', or 'date' for days.",
    }
)


_ENDS = {"min", "max", "minimum", "maximum", "lower", "upper", "from", "to", "start", "end", "bounds", "range"}
"""What the ends of a range are called elsewhere."""


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
        if not isinstance(record, Mapping):
            raise ParameterError(f"a column is described by its type and range, not by {record!r}; write type = ….")
        raise ParameterError(f"{kind!r} is no type of column; {_TYPES.get(str(kind)) or nearest(str(kind), _SHAPES)}")
    make, needed, allowed = _SHAPES[kind]
    for key in record:
        if key != "type" and key not in needed + allowed:
            raise ParameterError(f"A column of type {kind!r} has no {key!r}; {_instead(key, needed, allowed)}")
    lacking = [key for key in needed if key not in record]
    if lacking:
        lines = " and ".join(f"{key} = …" for key in lacking)
        raise ParameterError(f"A column of type {kind!r} needs {' and '.join(lacking)}; write {lines}.")
    _require_list(record.get("values", ()))
    return make(**{key: value for key, value in record.items() if key != "type"})


def _instead(key: str, needed: tuple[str, ...], allowed: tuple[str, ...]) -> str:
    """Say which key was meant; the ends of a range have other names elsewhere."""
    ends = [name for name in needed if name in ("low", "high", "earliest", "latest")]
    if key.lower() in _ENDS and ends:
        return f"the ends of its range are {' and '.join(ends)}; write {' and '.join(f'{end} = …' for end in ends)}."
    return nearest(key, needed + allowed)


def _require_list(values: Any) -> None:
    """Refuse one text in place of a list of categories: its letters would be taken for them."""
    if isinstance(values, str):
        listed = ", ".join(f'"{part.strip()}"' for part in values.split(",") if part.strip())
        raise ParameterError(f"values is a list of categories, not one text; write values = [{listed}].")


def domain_from_json(record: Mapping[str, Any]) -> Domain:
    """Read a domain that stands on its own; a derived column needs its base and is refused."""
    column = column_from_json(record)
    if isinstance(column, Derivation):
        raise ParameterError(f"A column of {column.kind} is derived from {column.of!r} and has no domain without it.")
    return column
