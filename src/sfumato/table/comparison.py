"""One comparison of a column with a literal, however it was written, as a set of codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from fractions import Fraction
from operator import ge, gt
from typing import Any

from sfumato.domain import Dates, Derived, Domain, FixedPoint, Integers, Text, Times, Weekdays
from sfumato.domain.calendar import as_date
from sfumato.errors import ParameterError
from sfumato.exact import exact
from sfumato.exact.search import smallest_between
from sfumato.table.predicate import (
    Condition,
    Predicate,
    codes_between,
    comparison,
    every,
    negated,
    some,
    texts_among,
)
from sfumato.table.schema import Schema


def compare(schema: Schema, column: str, how: str, value: Any) -> Condition:
    """Return that a cell stands in the relation `how` to a literal, checked against the column's type."""
    domain = schema.domain(column)
    if not _has_order(domain):
        if how not in ("=", "<>"):
            raise ParameterError(f"The values of {column!r} have no order; compare with =, <> or IN.")
        equal = _among(schema, column, [value])
    else:
        literal = _typed(column, domain, value)
        if how not in ("=", "<>"):
            return comparison(schema, column, _ordered(schema, column, how, literal))
        equal = _equal(schema, column, literal)
    found = comparison(schema, column, equal)
    return found if how == "=" else negated(found)


def among(schema: Schema, column: str, values: Sequence[Any]) -> Condition:
    """Return that a cell is one of the literals."""
    return comparison(schema, column, _among(schema, column, values))


def _has_order(domain: Domain) -> bool:
    if isinstance(domain, Derived):
        return not isinstance(domain.rule, Weekdays)
    return isinstance(domain, (Integers, FixedPoint, Dates, Times))


def _equal(schema: Schema, column: str, literal: Any) -> Predicate:
    domain = schema.domain(column)
    if isinstance(domain, Derived):
        _strict(column, domain.code, literal)
    return every([_ordered(schema, column, side, literal) for side in ("<=", ">=")], schema)


def _among(schema: Schema, column: str, values: Sequence[Any]) -> Predicate:
    domain = schema.domain(column)
    if isinstance(domain, Text):
        for value in values:
            _strict(column, domain.code, value)
        return texts_among(schema, column, values)
    if _has_order(domain):
        return some([_equal(schema, column, _typed(column, domain, value)) for value in values], schema)
    whole = [int(value) if isinstance(value, Fraction) and value.denominator == 1 else value for value in values]
    codes = [_strict(column, domain.code, value) for value in whole]
    return codes_between(schema, column, [(code, code) for code in codes])


def _strict(column: str, code: Callable[[Any], int], value: Any) -> int:
    try:
        return code(value)
    except ParameterError as refused:
        raise ParameterError(f"A condition on {column!r} cannot be read: {refused}") from None


def _typed(column: str, domain: Domain, value: Any) -> Any:
    """Refuse a literal of another type than the column's before anything compares the two."""
    if isinstance(domain, Times):
        try:
            return domain.instant(value)
        except ParameterError:
            raise ParameterError(f"{column!r} holds times; compare it with one, like '2020-05-17 10:30:00'.") from None
    if isinstance(domain.decode(domain.first), date):
        try:
            return as_date(value)
        except ParameterError:
            raise ParameterError(f"{column!r} holds dates; compare it with one, like DATE '2020-05-17'.") from None
    if isinstance(value, (bool, str, date)):
        raise ParameterError(f"{column!r} holds numbers; compare it with a number, not with {value!r}.")
    try:
        return exact(value, f"the number compared with {column!r}")
    except ParameterError as refused:
        raise ParameterError(f"where= cannot be read: {refused}") from None


def _ordered(schema: Schema, column: str, how: str, literal: Any) -> Predicate:
    """Turn an order comparison into an interval of codes; values grow with codes, so halving finds its end."""
    domain = schema.domain(column)
    assert domain.highest is not None
    first, highest = domain.first, domain.highest
    # Moments are compared in nanoseconds, which no type of Python's calendar has.
    value_of: Callable[[int], Any] = domain.nanoseconds.__mul__ if isinstance(domain, Times) else domain.decode
    beyond = gt if how in ("<=", ">") else ge
    turn = smallest_between(first - 1, highest + 1, lambda code: beyond(value_of(code), literal))
    interval = (first, turn - 1) if how in ("<", "<=") else (turn, highest)
    return codes_between(schema, column, [interval])
