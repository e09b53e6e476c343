"""A column in one line, as somebody types it: `integer 0 120`, `category F, M`, `text 40`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.domain import column_from_json, nearest
from sfumato.domain.base import SKIP
from sfumato.domain.figures import KEYS
from sfumato.errors import ParameterError
from sfumato.table.names import FILL

GRAMMAR = (
    "integer 0 120 | fixed 0 1000 0.01 [decimal=, thousands=. unit=€] | category F, M | boolean | "
    "date 1900-01-01 2030-12-31 [%d.%m.%Y] | time 2020-01-01 2030-01-01 1min [format] | text 40."
)
_PARTS = {
    "integer": ("low", "high"),
    "fixed": ("low", "high", "step"),
    "boolean": (),
    "date": ("earliest", "latest", "format"),
    "time": ("earliest", "latest", "step", "format"),
    "text": ("max_bytes",),
}
_WHOLE = ("max_bytes",)
_SAID = re.compile(rf"\b({'|'.join(KEYS)})=(\S+)")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:(?:\.\d{3})+|(?:,\d{3})+)")
_COMMA = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_SPACE = "space"
_NONE = "none"
_WAYS = (*KEYS, "format")
"""How cells are written, which somebody who corrects a range seldom writes again."""


def example_of(kind: str) -> str:
    """Return how a column of a type is written, and how it is left out.

    >>> example_of("date")
    'date 1900-01-01 2030-12-31, or drop to leave the column out'
    """
    known = {part.split()[0]: part.split(" [")[0].rstrip(".") for part in GRAMMAR.split(" | ")}
    return f"{known.get(kind, known['category'])}, or drop to leave the column out"


def read_column(text: str) -> dict[str, Any]:
    """Return the column that a line describes, as a schema writes it; checked as a schema checks it.

    >>> read_column("integer 0 120"), read_column("category F, M")["values"]
    ({'type': 'integer', 'low': 0, 'high': 120, 'missing': 'skip'}, ['F', 'M'])
    """
    return _checked(_parsed(text))


def _checked(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return a column without the signs that were taken off, checked as a schema checks it."""
    record = {key: value for key, value in written.items() if key not in KEYS or value != _NONE}
    _require_plain(record)
    column_from_json(record)
    return record


def _require_plain(record: Mapping[str, Any]) -> None:
    """Refuse a number that is written as the cells are, with a decimal comma or signs between thousands."""
    swapped = record.get("decimal") == "," or record.get("thousands") == "."
    for key in ("low", "high", "step"):
        text = record.get(key)
        if record["type"] not in ("integer", "fixed") or not isinstance(text, str):
            continue
        whole = re.sub("[.,]", "", text)
        if _GROUPED.fullmatch(text) and ("," in text or swapped or record["type"] == "integer"):
            small = text.replace(",", ".") if text.count(".") + text.count(",") == 1 else ""
            other = small.rstrip("0").removesuffix(".") if small.endswith("000") else f"{small}0"
            meant = f", or {other} if that is meant" if small and record["type"] == "fixed" else ""
            raise ParameterError(
                f"{text} can be read in two ways; numbers of a schema have a point before their decimals and nothing "
                f"between thousands: write {whole}{meant}."
            )
        if _COMMA.fullmatch(text):
            plain = text.replace(".", "").replace(",", ".")
            raise ParameterError(
                f"Numbers of a schema have a point before their decimals, whatever cells have; write {plain} in place "
                f"of {text}."
            )


def _parsed(text: str) -> dict[str, Any]:
    kind, _, rest = text.strip().partition(" ")
    kind = kind.lower()
    if kind != "category" and kind not in _PARTS:
        raise ParameterError(f"{kind!r} is no type of column; {nearest(kind, (*_PARTS, 'category'))} Write {GRAMMAR}")
    if kind == "category":
        values = [part.strip().strip("'\"") for part in rest.split(",") if part.strip()]
        record: dict[str, Any] = {"type": kind, "values": values}
    else:
        rest, figures = _figures(rest) if kind in ("integer", "fixed") else (rest, {})
        keys = _PARTS[kind]
        parts = rest.strip().split(maxsplit=max(0, len(keys) - 1))
        record = {"type": kind, **{key: _value(kind, key, part) for key, part in zip(keys, parts, strict=False)}}
        record |= figures
        if kind == "time" and _DAY.fullmatch(str(record.get("latest", ""))):
            record["latest"] += "T23:59:59"  # whoever names the last day means all of it
    record["missing"] = SKIP
    return record


def corrected(text: str, before: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the column that a line describes in place of a proposal, and what of the proposal is kept beside it.

    Whoever corrects a range seldom writes again how cells are written, and without that none of them could be read.

    >>> corrected("fixed 0 20 0.01 unit=none", {"type": "fixed", "decimal": ",", "unit": "€"})[1]
    'decimal=,'
    """
    first = text.strip().partition(" ")[0].lower()
    known = first in (*_PARTS, "category")
    listed = before["type"] == "category" and "," in text and not known
    ranged = "low" in _PARTS.get(before["type"], ()) or "earliest" in _PARTS.get(before["type"], ())
    ends = ranged and not known and len(text.split()) > 1 and all(part[:1] in "+-.0123456789" for part in text.split())
    written = _parsed(f"{before['type']} {text}" if listed or ends else text)
    if ends and "step" in before and before["step"] != FILL:
        written.setdefault("step", before["step"])
    same = written["type"] == before["type"]
    kept = {key: before[key] for key in _WAYS if same and key in before and key not in written}
    undecided = [key for key, value in kept.items() if value == FILL]
    if undecided:
        how = (
            "format, such as %d.%m.%Y, behind the days" if undecided[0] == "format" else "mark, decimal=, or decimal=."
        )
        raise ParameterError(f"These cells can be read in two ways; write the {how} too.")
    return _checked({**written, **kept}), " ".join(_settings(kept, _WAYS))


def _figures(rest: str) -> tuple[str, dict[str, str]]:
    """Take what says how numbers are written off a line."""
    said = dict(_SAID.findall(rest))
    return _SAID.sub("", rest), {key: " " if sign == _SPACE else sign for key, sign in said.items()}


def _value(kind: str, key: str, part: str) -> Any:
    whole = kind == "integer" or key in _WHOLE or (kind == "fixed" and key != "step")
    return int(part) if whole and re.fullmatch(r"[+-]?\d+", part) else part


def column_text(column: Mapping[str, Any]) -> str:
    """Return the line that describes a column.

    >>> column_text({"type": "fixed", "low": 0, "high": 9, "step": "0.01", "decimal": ",", "missing": "skip"})
    'fixed 0 9 0.01 decimal=,'
    """
    kind = column["type"]
    if kind == "category":
        return f"category {', '.join(map(_listed, column['values']))}"
    return " ".join([kind, *(str(column[key]) for key in _PARTS[kind] if key in column), *_settings(column, KEYS)])


def _listed(value: Any) -> str:
    """Return a value as it is typed: in quotes where a blank at its end tells it from another."""
    text = str(value)
    return text if text == text.strip() else f'"{text}"'


def _settings(column: Mapping[str, Any], keys: Sequence[str]) -> list[str]:
    return [f"{key}={_SPACE if column[key] == ' ' else column[key]}" for key in keys if key in column]
