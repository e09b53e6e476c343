"""What was done to the cells of a reading, in sentences from public facts alone (SM-NOTES).

An answer says by which public rules it was counted: how much of a person counts, what values were clamped to, and what
became of cells that are missing or not listed. The rules follow from the schema and the measure, never from the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sfumato.domain import Booleans, Categories, Derived, Domain
from sfumato.domain.labels import OTHER
from sfumato.table.bounding import Way
from sfumato.table.measure import Found, Occurring, Ordered, People, Totals
from sfumato.table.predicate import EVERY_ROW
from sfumato.table.predicate import columns as predicate_columns

if TYPE_CHECKING:
    from sfumato.table.gauge import Gauge


NOTHING: Mapping[str, str] = MappingProxyType({})
UNLISTED = "unlisted values of "
"""What stands before the name of a column whose unlisted values a question has its own rule for."""


def notes_of(gauge: Gauge, told: Mapping[str, str] = NOTHING) -> tuple[str, ...]:
    """Return the rules by which a reading is made, in a fixed order.

    `told` holds the sentences about missing cells of columns for which the question has its own rule, and behind
    `UNLISTED` those about values that are not listed, none where all is said already.
    """
    written = getattr(gauge.schema, "rules", None)
    if written is not None:
        return tuple(written)  # a statement knows its columns; its flat table has only values
    valued, bases = _valued(gauge), _bases(gauge)
    return (
        *_people(gauge),
        *(note for name in valued for note in _clamped(name, gauge.schema.domain(name))),
        *(note for name in bases for note in _missing(gauge, name, name in valued, told)),
        *(note for name in bases for note in _unlisted(name, gauge.schema.domain(name), told)),
    )


def _valued(gauge: Gauge) -> tuple[str, ...]:
    """Return the columns whose values are added up or put into order."""
    measure = gauge.measure
    if isinstance(measure, (Totals, Occurring)):
        return tuple(dict.fromkeys(part.column for part in measure.parts if part.column is not None))
    return (measure.column,) if isinstance(measure, Ordered) else ()


def _bases(gauge: Gauge) -> list[str]:
    return sorted({gauge.schema.base(name) for name in gauge.columns})


def _people(gauge: Gauge) -> list[str]:
    schema, rule = gauge.schema, gauge.rule
    if schema.person is None:
        return []
    groups = getattr(gauge.measure, "keys", ()) and schema.groups_per_person
    limited = [_limited_groups(groups)] if groups else []
    if isinstance(gauge.measure, People) and schema.row_key != ():
        return ["A person counts once, however many rows they have.", *limited]
    if rule.way is Way.ROWS:
        return ["A person who has more than one row counts as one row in which every cell is missing.", *limited]
    rows = _number(rule.rows, "row")
    if rule.way is Way.WEIGH:
        return [weighed_rows(rule.rows, averaged=isinstance(gauge.measure, Ordered)), *limited]
    left = "Rows beyond are left out, so totals of rows are too low by an unknown amount that no interval contains."
    if schema.row_key:
        key = ", ".join(map(repr, schema.row_key))
        kept = f"At most {rows} of a person are used, chosen by the row key {key}; equal keys count as one empty row."
        return [f"{kept} {left}", *(limited if isinstance(gauge.measure, Found) else [])]
    kept = (
        f"At most {rows} of a person are used, chosen by all of their cells, so every attribute is charged what the "
        "person is; a row_key in the schema would charge each by itself."
    )
    return [f"{kept} {left}", *(limited if isinstance(gauge.measure, Found) else [])]


def weighed_rows(rows: int, table: str = "", *, averaged: bool = False) -> str:
    """Say that rows of people with many are weighed down, and that no interval knows by how much that moves a number.

    `averaged` says that no total is shown, which would be too low, but a value that leans towards some people.
    """
    most = _number(rows, "row") + (f" of {table}" if table else "")
    rule = f"A person counts as at most {most}; the rows of a person with more count {rows} in all."
    if averaged:
        return f"{rule} So it leans towards people with few rows, by an unknown amount that no interval contains."
    alone = " (or row_key = [], if everybody has one row)" if rows == 1 and not table else ""
    return (
        f"{rule} If some have more, counts of rows are too low, sums too near to 0 and means lean towards people with "
        "few rows, by an unknown amount that the interval does not contain: for rows write a larger rows_per_person in "
        f"the schema{alone}; for people ask people()."
    )


def _limited_groups(groups: int) -> str:
    return (
        f"A person counts in at most {_number(groups, 'group')}. If some are in more, counts and sums by group are too "
        "low by an unknown amount that the interval does not contain: write a larger groups_per_person in the schema."
    )


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'s' if count > 1 else ''}"


def _clamped(name: str, domain: Domain) -> list[str]:
    if domain.highest is None or isinstance(domain, (Booleans, Categories, Derived)):
        return []
    low, high = domain.decode(domain.first), domain.decode(domain.highest)
    return [f"Values of {name!r} are clamped to {_shown(low)} … {_shown(high)}."]


def _shown(value: Any) -> str:
    return f"{float(value):.12g}" if isinstance(value, Fraction) else str(value)


def _missing(gauge: Gauge, name: str, valued: bool, told: Mapping[str, str]) -> list[str]:
    if name in told:
        return [told[name]]
    domain = gauge.schema.domain(name)
    if not domain.may_be_missing:
        if domain.missing is None:
            return []
        return [f"Missing cells of {name!r} count as {_shown(domain.missing)}, as the schema says."]
    used = {gauge.schema.base(one) for one in predicate_columns(getattr(gauge.measure, "where", EVERY_ROW))}
    if valued:
        return [f"Cells of {name!r} that are missing or cannot be read are left out."]
    if name in used:
        return [f"A row whose cell of {name!r} is missing fulfils no condition on it, except IS NULL."]
    return [f"Missing cells of {name!r} are a value of their own."]


def _unlisted(name: str, domain: Domain, told: Mapping[str, str]) -> list[str]:
    if UNLISTED + name in told:
        return [said] if (said := told[UNLISTED + name]) else []
    if not isinstance(domain, Categories) or domain.other_code is None:
        return []
    if domain.other is None and OTHER in domain.values and domain.labels[domain.other_code] == OTHER:
        return [
            f"Values of {name!r} that are not listed count as {OTHER!r}, together with the listed category of that name"
            f"; list one more for them to keep the two apart, such as categories(…, {OTHER!r}, 'unlisted', "
            "other='unlisted')."
        ]
    return [f"Values of {name!r} that are not listed count as {_shown(domain.decode(domain.other_code))!r}."]
