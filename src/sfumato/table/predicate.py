"""Which rows a question is about: a small closed logic over codes, total on every table.

A predicate is never text at this point. Each comparison has become a set of codes of one column, so equal
questions compare equal however they were written, nothing in it can raise on a value, and the text that a person
wrote never reaches an engine.

A predicate holds or not. What a person writes has three values, as in SQL: a comparison with a missing cell is
unknown. A `Condition` keeps the rows for which it is true apart from those for which it is false; NOT exchanges the
two, AND and OR join them by De Morgan's rules, and only the true rows pass. On false < unknown < true AND is the
minimum and OR the maximum, and "is true" and "is false" commute with both, so nothing is lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sfumato.domain import Text
from sfumato.errors import ParameterError
from sfumato.table.schema import Schema

Interval = tuple[int, int]
"""Codes from the first number to the second, both included."""


@dataclass(frozen=True)
class Codes:
    """The rows whose code in `column` lies in one of `intervals`, which are sorted and do not touch."""

    column: str
    intervals: tuple[Interval, ...]


@dataclass(frozen=True)
class Texts:
    """The rows whose text in `column` is one of `values`, or is none of them, and with `missing` those without text."""

    column: str
    values: tuple[str, ...]
    included: bool = True
    missing: bool = False


@dataclass(frozen=True)
class All:
    """The rows for which every part holds; without parts, all rows."""

    parts: tuple[Predicate, ...] = ()


@dataclass(frozen=True)
class Some:
    """The rows for which some part holds; without parts, no row."""

    parts: tuple[Predicate, ...] = ()


Predicate = Codes | Texts | All | Some

EVERY_ROW = All()
NO_ROW = Some()


def columns(predicate: Predicate) -> frozenset[str]:
    """Return the columns that a predicate reads."""
    if isinstance(predicate, (Codes, Texts)):
        return frozenset((predicate.column,))
    return frozenset[str]().union(*(columns(part) for part in predicate.parts))


def codes_between(schema: Schema, column: str, intervals: Iterable[Interval]) -> Predicate:
    """Return the rows whose code lies in one of the intervals, reduced to what the domain allows."""
    domain = schema.domain(column)
    first, last = domain.first, domain.last
    assert last is not None
    clipped = [(max(low, first), min(high, last)) for low, high in intervals]
    kept = _merged([interval for interval in clipped if interval[0] <= interval[1]])
    if kept == ((first, last),):
        return EVERY_ROW
    return Codes(column, kept) if kept else NO_ROW


def texts_among(schema: Schema, column: str, values: Iterable[str]) -> Predicate:
    """Return the rows whose text is one of the values."""
    listed = tuple(sorted(set(values)))
    for value in listed:
        schema.domain(column).code(value)
    return _texts(schema, column, listed, True, False)


def _texts(schema: Schema, column: str, values: Iterable[str], included: bool, missing: bool) -> Predicate:
    """Return a set of texts in canonical form."""
    listed = tuple(sorted(values))
    # Where no cell may be missing, all that is said about missing ones says nothing.
    missing = missing and schema.domain(column).may_be_missing
    if not listed and not included and missing is schema.domain(column).may_be_missing:
        return EVERY_ROW
    return Texts(column, listed, included, missing) if listed or not included or missing else NO_ROW


def is_missing(schema: Schema, column: str) -> Predicate:
    """Return the rows whose cell is missing: none where missing cells became a value."""
    return _by_presence(schema, column, missing=True)


def is_present(schema: Schema, column: str) -> Predicate:
    """Return the rows whose cell is there: all of them where missing cells became a value."""
    return _by_presence(schema, column, missing=False)


def _by_presence(schema: Schema, column: str, *, missing: bool) -> Predicate:
    domain = schema.domain(column)
    if not domain.may_be_missing:
        return NO_ROW if missing else EVERY_ROW
    if isinstance(domain, Text):
        return _texts(schema, column, (), missing, missing)
    assert domain.highest is not None
    ends = (domain.missing_code, domain.missing_code) if missing else (domain.first, domain.highest)
    return codes_between(schema, column, [ends])


@dataclass(frozen=True)
class Condition:
    """What a person wrote: the rows for which it is true, and those for which it is false. The others are unknown.

    `otherwise` works out the false ones, which hardly anybody asks for: NOT does, and who joins conditions.
    """

    true: Predicate
    otherwise: Callable[[], Predicate]

    @cached_property
    def false(self) -> Predicate:
        """The rows for which it is false."""
        return self.otherwise()


ALWAYS = Condition(EVERY_ROW, lambda: NO_ROW)
NEVER = Condition(NO_ROW, lambda: EVERY_ROW)


def comparison(schema: Schema, column: str, true: Predicate) -> Condition:
    """Return the condition that a cell of the column lies in a set of values; with a missing cell it is unknown."""
    return Condition(true, lambda: every([complement(true, schema), is_present(schema, column)], schema))


def negated(condition: Condition) -> Condition:
    """Return NOT of a condition; what is unknown stays so."""
    return Condition(condition.false, lambda: condition.true)


def conjunction(parts: Sequence[Condition], schema: Schema) -> Condition:
    """Return AND: true where every part is, false where some part is."""
    return _known(every((part.true for part in parts), schema), some((part.false for part in parts), schema))


def disjunction(parts: Sequence[Condition], schema: Schema) -> Condition:
    """Return OR: true where some part is, false where every part is."""
    return _known(some((part.true for part in parts), schema), every((part.false for part in parts), schema))


def _known(true: Predicate, false: Predicate) -> Condition:
    """Return a condition both of whose sides are worked out: put off, a long chain would nest as deep as it is long."""
    return Condition(true, lambda: false)


def complement(predicate: Predicate, schema: Schema) -> Predicate:
    """Return all other rows, those with missing cells too: a predicate itself has no third value."""
    if isinstance(predicate, Texts):
        return _texts(schema, predicate.column, predicate.values, not predicate.included, not predicate.missing)
    if isinstance(predicate, Codes):
        domain = schema.domain(predicate.column)
        assert domain.last is not None
        ends = [domain.first - 1, *(end for interval in predicate.intervals for end in interval), domain.last + 1]
        gaps = [(ends[place] + 1, ends[place + 1] - 1) for place in range(0, len(ends), 2)]
        return codes_between(schema, predicate.column, gaps)
    parts = [complement(part, schema) for part in predicate.parts]
    return some(parts, schema) if isinstance(predicate, All) else every(parts, schema)


def every(parts: Iterable[Predicate], schema: Schema) -> Predicate:
    """Return the rows for which all parts hold, in canonical form."""
    return _joined(parts, schema, every=True)


def some(parts: Iterable[Predicate], schema: Schema) -> Predicate:
    """Return the rows for which some part holds, in canonical form."""
    return _joined(parts, schema, every=False)


def _joined(parts: Iterable[Predicate], schema: Schema, every: bool) -> Predicate:
    """Flatten, fold constants, merge the parts on one column, sort."""
    shape, neutral, absorbing = (All, EVERY_ROW, NO_ROW) if every else (Some, NO_ROW, EVERY_ROW)
    flat: list[Predicate] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, shape) and part != absorbing else (part,))
    if absorbing in flat:
        return absorbing
    by_column: dict[tuple[type, str], Predicate] = {}
    others: list[Predicate] = []
    for part in flat:
        if isinstance(part, (Codes, Texts)):
            place = (type(part), part.column)
            by_column[place] = _merge(by_column[place], part, schema, every) if place in by_column else part
        elif part != neutral:
            others.append(part)
    merged = [part for part in by_column.values() if part != neutral]
    if absorbing in merged:
        return absorbing
    unique = sorted({*merged, *others}, key=_sort_key)
    return unique[0] if len(unique) == 1 else shape(tuple(unique))


def _merge(first: Predicate, second: Predicate, schema: Schema, every: bool) -> Predicate:
    if isinstance(first, Codes) and isinstance(second, Codes):
        if not every:
            return codes_between(schema, first.column, (*first.intervals, *second.intervals))
        both = ((max(a, c), min(b, d)) for a, b in first.intervals for c, d in second.intervals)
        return codes_between(schema, first.column, both)
    if first in (EVERY_ROW, NO_ROW):
        return second if (first == EVERY_ROW) is every else first
    assert isinstance(first, Texts) and isinstance(second, Texts)
    if every:
        # Not in either list is not in the other's complement: De Morgan turns it into the case below.
        return complement(_merge(complement(first, schema), complement(second, schema), schema, False), schema)
    one, two = set(first.values), set(second.values)
    missing = first.missing or second.missing
    if first.included and second.included:
        return _texts(schema, first.column, one | two, True, missing)
    left_out = one & two if first.included is second.included else (two - one if first.included else one - two)
    return _texts(schema, first.column, left_out, False, missing)


def _merged(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    merged: list[Interval] = []
    for low, high in sorted(intervals):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _sort_key(predicate: Predicate) -> str:
    return json.dumps(to_json(predicate), sort_keys=True, ensure_ascii=False)


def to_json(predicate: Predicate) -> dict[str, Any]:
    """Return the canonical JSON form: equal questions have equal forms."""
    if isinstance(predicate, Codes):
        return {"column": predicate.column, "codes": [list(interval) for interval in predicate.intervals]}
    if isinstance(predicate, Texts):
        listed = {"column": predicate.column, "in" if predicate.included else "not_in": list(predicate.values)}
        return {**listed, "missing": True} if predicate.missing else listed
    parts = [to_json(part) for part in predicate.parts]
    return {"all": parts} if isinstance(predicate, All) else {"some": parts}


def from_json(record: Mapping[str, Any], schema: Schema) -> Predicate:
    """Read what `to_json` wrote, checked against the schema and canonical again."""
    match record:
        case {"column": str(column), "codes": list(intervals)} if schema.domain(column).last is not None:
            return codes_between(schema, column, [(int(low), int(high)) for low, high in intervals])
        case {"column": str(column), "in": list(values)} if isinstance(schema.domain(column), Text):
            return some([texts_among(schema, column, values), *_with_missing(record, schema)], schema)
        case {"column": str(column), "not_in": list(values)} if isinstance(schema.domain(column), Text):
            others = comparison(schema, column, texts_among(schema, column, values)).false
            return some([others, *_with_missing(record, schema)], schema)
        case {"all": list(parts)}:
            return every((from_json(part, schema) for part in parts), schema)
        case {"some": list(parts)}:
            return some((from_json(part, schema) for part in parts), schema)
    raise ParameterError("This is no predicate; a stored one has the keys column and codes, all, or some.")


def _with_missing(record: Mapping[str, Any], schema: Schema) -> list[Predicate]:
    return [is_missing(schema, record["column"])] if record.get("missing") is True else []


def holds(predicate: Predicate, row: Mapping[str, Any]) -> bool:
    """Tell whether a predicate holds for one row of codes; text columns hold text, or None."""
    if isinstance(predicate, Codes):
        return any(low <= row[predicate.column] <= high for low, high in predicate.intervals)
    if isinstance(predicate, Texts):
        text = row[predicate.column]
        return predicate.missing if text is None else (text in predicate.values) is predicate.included
    results = (holds(part, row) for part in predicate.parts)
    return all(results) if isinstance(predicate, All) else any(results)


def expression(predicate: Predicate, table: Any, schema: Schema) -> Any:
    """Return the predicate as an engine expression on repaired codes."""
    import ibis

    if isinstance(predicate, Codes):
        cell = table[predicate.column]
        points = [low for low, high in predicate.intervals if low == high]
        tests = [cell.between(low, high) for low, high in predicate.intervals if low != high]
        if points:
            tests.append(cell == points[0] if len(points) == 1 else cell.isin(points))
        return folded(tests, every=False)
    if isinstance(predicate, Texts):
        domain = schema.domain(predicate.column)
        assert isinstance(domain, Text)
        cell = table[predicate.column]
        tests = [_is_text(cell, value, domain) for value in predicate.values] or [ibis.literal(False)]
        found = folded(tests, every=False)
        found = found if predicate.included else ~found
        if not domain.may_be_missing:
            return found
        # Null is decided before it is compared, so that no engine's own third value is left.
        return ibis.ifelse(cell.isnull(), ibis.literal(predicate.missing), found)
    if not predicate.parts:
        return ibis.literal(isinstance(predicate, All))
    return folded([expression(part, table, schema) for part in predicate.parts], every=isinstance(predicate, All))


def folded(tests: list[Any], every: bool) -> Any:
    """Join conditions by AND or OR, by halves: a long chain would nest as deep as it is long."""
    if len(tests) == 1:
        return tests[0]
    middle = len(tests) // 2
    left, right = folded(tests[:middle], every), folded(tests[middle:], every)
    return left & right if every else left | right


def _is_text(cell: Any, value: str, domain: Text) -> Any:
    """Compare with a text as if the cell had been cut to its bytes, which happens later and in Python.

    A longer cell is cut to `value` when it starts with it and its next character does not fit any more.
    """
    room = domain.max_bytes - len(value.encode("utf-8"))
    if room >= 4:
        return cell == value
    too_wide = {0: "\x00", 1: "\u0080", 2: "\u0800", 3: "\U00010000"}[room]
    start = cell.substr(0, len(value)) == value
    return (cell == value) | (start & (cell.substr(len(value), 1) >= too_wide))
