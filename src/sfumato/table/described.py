"""A schema in plain words: for people who read it, not for engines."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.domain import Derived, Domain
from sfumato.domain.figures import KEYS
from sfumato.show.tables import table
from sfumato.show.views import View
from sfumato.table.schema import Schema

SHOWN_VALUES = 8
EVERY_ROW = "Every row is one person."


def schema_view(schema: Schema) -> View:
    """Return the columns of a schema, with what may stand in them."""
    rows = [[name, *described(schema.domain(name))] for name in schema.names]
    drawn = table("", ["column", "type", "may hold", "a missing cell"], rows)
    return View("Schema", (drawn,), (_people(schema),))


def _people(schema: Schema) -> str:
    return EVERY_ROW if schema.person is None else whose_row(schema.person, schema.rows_per_person)


def whose_row(person: str, rows_per_person: int) -> str:
    """Say which column tells people apart, and how many of their rows count."""
    rows = "one row counts" if rows_per_person == 1 else f"at most {rows_per_person} rows count"
    return f"The column {person!r} says whose row it is; {rows} for each person."


def described(domain: Domain) -> list[str]:
    """Say of a domain its type, what it may hold, and what a missing cell is."""
    public = ", public" if domain.public else ""
    missing = "stays missing" if domain.may_be_missing else f"counts as {domain.missing}"
    if isinstance(domain, Derived):
        record = domain.rule.to_json()
        more = "".join(f", {key} {record[key]}" for key in ("step", "edges") if record.get(key) is not None)
        return [f"{record['type']} of {domain.rule.of}", f"{domain.size} values{more}", "as its base"]
    record = domain.to_json()
    if "values" in record:
        listed = [str(value) for value in record["values"]]
        held = ", ".join(listed[:SHOWN_VALUES]) + (f", … ({len(listed)})" if len(listed) > SHOWN_VALUES else "")
    elif "max_bytes" in record:
        held = f"text of at most {record['max_bytes']} bytes"
    else:
        ends = [record[key] for key in ("low", "high", "earliest", "latest") if key in record]
        held = " to ".join(_typed(end) for end in ends) or "true, false"
        held += f" in steps of {_typed(record['step'])}" if "step" in record else ""
        held += "".join(f", {key} {record[key]!r}" for key in ("format", *KEYS) if key in record)
    return [f"{record['type']}{public}", held, missing]


def _typed(end: Any) -> str:
    """Return an end of a range as it is typed: 0.01 for a hundredth, a date as it is."""
    try:
        return f"{float(Fraction(str(end))):.12g}"
    except ValueError:
        return str(end)
