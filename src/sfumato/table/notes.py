"""What was done to the cells of a reading, in sentences from public facts alone (SM-NOTES).

An answer says by which public rules it was counted: how much of a person counts, what values were clamped to, and what
became of cells that are missing or not listed. The rules follow from the schema and the measure, never from the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sfumato.domain import Booleans, Categories, Derived, Domain
from sfumato.domain.labels import OTHER
from sfumato.show.titles import ONLY
from sfumato.table.bounding import Way
from sfumato.table.measure import Found, Occurring, Ordered, People, Totals
from sfumato.table.predicate import EVERY_ROW, All, Codes, Predicate, Some, Texts
from sfumato.table.predicate import columns as predicate_columns

if TYPE_CHECKING:
    from sfumato.table.gauge import Gauge
    from sfumato.table.schema import Schema

MOST_SAID = 6
"""Of a long list of values a note names so many."""

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
        *_condition(gauge),
        *_people(gauge),
        *(note for name in dict.fromkeys([*valued, *bases]) for note in clamped(name, gauge.schema.domain(name))),
        *(note for name in bases for note in _missing(gauge, name, name in valued, told)),
        *(note for name in bases for note in unlisted(name, gauge.schema.domain(name), told)),
        *_contradicting(gauge),
    )


def _contradicting(gauge: Gauge) -> list[str]:
    """Say of groups by a column and by another that is worked out of it that most of their cells can hold nobody."""
    keys: tuple[str, ...] = getattr(gauge.measure, "keys", ())
    same: dict[str, list[str]] = {}
    for name in keys:
        same.setdefault(gauge.schema.base(name), []).append(name)
    return [
        f"{' and '.join(map(repr, names))} are both read from {base!r}: a cell in which they contradict each other "
        "holds nobody, and its number is noise alone; ask for one of them."
        for base, names in same.items()
        if len(names) > 1
    ]


def _valued(gauge: Gauge) -> tuple[str, ...]:
    """Return the columns whose values are added up or put into order."""
    measure = gauge.measure
    if isinstance(measure, (Totals, Occurring)):
        return tuple(dict.fromkeys(part.column for part in measure.parts if part.column is not None))
    return (measure.column,) if isinstance(measure, Ordered) else ()


def _bases(gauge: Gauge) -> list[str]:
    return sorted({gauge.schema.base(name) for name in gauge.columns})


def _condition(gauge: Gauge) -> list[str]:
    where = _where(gauge)
    if where == EVERY_ROW:
        return []
    said = in_words(where, gauge.schema)
    return [f"{ONLY}{said}." if said else "No row fulfils the condition."]


def _where(gauge: Gauge) -> Predicate:
    found: Predicate = getattr(gauge.measure, "where", EVERY_ROW)
    return found


def in_words(predicate: Predicate, schema: Schema) -> str:
    """Return a condition as a person would say it.

    >>> from sfumato.domain import categories, integers
    >>> from sfumato.table.schema import Schema
    >>> from sfumato.table.where import read_where
    >>> schema = Schema({"age": integers(0, 120), "sex": categories("F", "M")})
    >>> in_words(read_where("age > 64 and sex = 'F'", schema), schema)
    "sex is 'F' and age is 65 or more"
    """
    match predicate:
        case Codes():
            return _codes_in_words(predicate, schema.domain(predicate.column))
        case Texts():
            listed = [repr(value) for value in predicate.values]
            if predicate.included:
                return f"{predicate.column} is {_one_of([*listed, *(['missing'] if predicate.missing else [])])}"
            if not listed:
                return f"{predicate.column} is not missing"
            return f"{predicate.column} is not {_one_of(listed)}{'' if predicate.missing else ', and not missing'}"
        case All():
            return " and ".join(_in_brackets(part, schema) for part in predicate.parts)
        case Some():
            return " or ".join(_in_brackets(part, schema) for part in predicate.parts)


def _in_brackets(predicate: Predicate, schema: Schema) -> str:
    said = in_words(predicate, schema)
    return f"({said})" if isinstance(predicate, (All, Some)) else said


def _codes_in_words(codes: Codes, domain: Domain) -> str:
    """Say a set of codes: single values one by one, and ranges by their ends. Missing cells have the last code."""
    last = domain.highest
    assert last is not None
    missing = codes.intervals[-1][1] > last
    if codes.intervals == ((domain.first, last),) and domain.may_be_missing:
        return f"{codes.column} is not missing"
    shown = [(low, min(high, last)) for low, high in codes.intervals if low <= last]
    said = [part for low, high in shown for part in _range_in_words(low, high, domain)]
    return f"{codes.column} is {_one_of([*said, *(['missing'] if missing else [])])}"


def _range_in_words(low: int, high: int, domain: Domain) -> list[str]:
    if low == high or isinstance(domain, (Booleans, Categories)):
        return [_quoted(domain.decode(code)) for code in range(low, high + 1)]
    first, last = _shown(domain.decode(low)), _shown(domain.decode(high))
    if high == domain.highest:
        return [f"{first} or more"]
    return [f"{last} or less" if low == domain.first else f"from {first} to {last}"]


def _one_of(said: Sequence[str]) -> str:
    """Return a list with "or" before its last part; of a long one the first parts and how many more there are."""
    if len(said) > MOST_SAID:
        return f"{', '.join(said[:MOST_SAID])} or one of {len(said) - MOST_SAID} more"
    return " or ".join([", ".join(said[:-1]), said[-1]]) if len(said) > 1 else "".join(said)


def _quoted(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, str) else _shown(value)


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
    people = "write COUNT(DISTINCT …) of the person" if table else "ask `people`"
    alone = " (or row_key = [], if everybody has one row)" if rows == 1 and not table else ""
    return (
        f"{rule} If some have more, counts of rows are too low, sums too near to 0 and means lean towards people with "
        "few rows, by an unknown amount that the interval does not contain: for rows write a larger rows_per_person in "
        f"the schema{alone}; for people {people}."
    )


def _limited_groups(groups: int) -> str:
    return (
        f"A person counts in at most {_number(groups, 'group')}. If some are in more, counts and sums by group are too "
        "low by an unknown amount that the interval does not contain: write a larger groups_per_person in the schema."
    )


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'s' if count > 1 else ''}"


def clamped(name: str, domain: Domain) -> list[str]:
    """Say between which values the numbers or dates of a column are taken, if it holds any."""
    if domain.highest is None or isinstance(domain, (Booleans, Categories, Derived)):
        return []
    low, high = domain.decode(domain.first), domain.decode(domain.highest)
    return [f"Values of {name!r} are clamped to {_shown(low)} … {_shown(high)}."]


def _shown(value: Any) -> str:
    return f"{float(value):.12g}" if isinstance(value, Fraction) else str(value)


def filled(name: str, domain: Domain) -> list[str]:
    """Say as which value missing cells of a column count, where the schema names one."""
    if domain.may_be_missing or domain.missing is None:
        return []
    fill = _shown(domain.missing)
    seen = fill if fill.strip() else repr(fill)  # an empty text would not be seen
    return [f"Missing cells of {name!r} count as {seen}, as the schema says."]


def missing_row(name: str) -> str:
    """Say what a condition on a column makes of rows without it."""
    return f"A row whose cell of {name!r} is missing fulfils no condition on it, except IS NULL."


def _missing(gauge: Gauge, name: str, valued: bool, told: Mapping[str, str]) -> list[str]:
    if name in told:
        return [told[name]]
    domain = gauge.schema.domain(name)
    if not domain.may_be_missing:
        return filled(name, domain)
    used = {gauge.schema.base(one) for one in predicate_columns(_where(gauge))}
    if valued:
        return [f"Cells of {name!r} that are missing or cannot be read are left out."]
    if name in used:
        return [missing_row(name)]
    return [f"Missing cells of {name!r} are a value of their own."]


def unlisted(name: str, domain: Domain, told: Mapping[str, str] = NOTHING) -> list[str]:
    """Say what becomes of cells that are none of the listed categories, where that is a level of its own."""
    if UNLISTED + name in told:
        return [said] if (said := told[UNLISTED + name]) else []
    if not isinstance(domain, Categories) or domain.other_code is None:
        return []
    if domain.other is None and OTHER in domain.values and domain.labels[domain.other_code] == OTHER:
        return [
            f"Values of {name!r} that are not listed count as {OTHER!r}, together with the listed category of that name"
            f'; list one more for them to keep the two apart: values = […, "{OTHER}", "unlisted"] and '
            'other = "unlisted" under the column in the schema.'
        ]
    return [f"Values of {name!r} that are not listed count as {_shown(domain.decode(domain.other_code))!r}."]
