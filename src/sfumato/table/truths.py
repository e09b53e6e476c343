"""Conditions of a statement, in three values as in SQL: comparisons, and what joins them (SQ-EXPR)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sfumato.domain.calendar import day_of_number
from sfumato.errors import ParameterError
from sfumato.table.expression import Build, Expression, alike, case, cell_of, number, require, together
from sfumato.table.predicate import folded

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compared(left: Expression, sign: str, right: Expression) -> Expression:
    """Return a comparison: of a column with a literal as conditions read it, of numbers on a common grid."""
    text = f"{left.shown} {sign} {right.shown}"
    for one, other, how in ((left, right, sign), (right, left, _FLIPPED[sign])):
        if one.compares is not None and other.constant:
            return replace(one.compares(how, [_literal(other)]), text=text, compound=True)
    if left.kind in ("text", "time") or right.kind in ("text", "time"):
        raise ParameterError(f"{text} cannot be compared; compare the column with a literal.")
    if "label" in (left.kind, right.kind) and sign not in ("=", "<>"):
        raise ParameterError(f"{text}: the order of text differs between engines; write IN (…).")
    first, second = alike([left, right], text)
    compare = _COMPARE[sign]
    return Expression(
        text,
        "truth",
        lambda rows: compare(cell_of(first, rows), cell_of(second, rows)),
        **_condition([left, right]),
    )


def _condition(parts: Sequence[Expression]) -> dict[str, Any]:
    """Return what a condition has of its parts; it is no literal, even if every part is one."""
    return {**together(parts), "constant": False, "compound": True}


def _literal(part: Expression) -> Any:
    """Return the value of a literal."""
    if part.kind == "number":
        return part.ends[0]
    if part.kind == "date":
        return day_of_number(part.low)
    return part.labels[0] if part.kind == "label" else part.text == "TRUE"


def between(of: Expression, low: Expression, high: Expression, negated: bool) -> Expression:
    """Return [NOT] BETWEEN."""
    found = joined([compared(of, ">=", low), compared(of, "<=", high)], "AND")
    found = opposite(found) if negated else found
    text = f"{of.shown} {'NOT ' if negated else ''}BETWEEN {low.shown} AND {high.shown}"
    return replace(found, text=text, compound=True)


def among(of: Expression, values: Sequence[Expression], negated: bool) -> Expression:
    """Return [NOT] IN."""
    if of.compares is not None:
        found = of.compares("IN", [_literal(value) for value in values])
    else:
        found = joined([compared(of, "=", value) for value in values], "OR")
    found = opposite(found) if negated else found
    text = f"{of.shown} {'NOT ' if negated else ''}IN ({', '.join(value.text for value in values)})"
    return replace(found, text=text, compound=True)


def is_missing(of: Expression, negated: bool) -> Expression:
    """Return IS [NOT] NULL, which is never unknown."""
    if not of.nullable:
        raise ParameterError(f"{of.text} is never missing, so IS NULL says nothing about it; leave the condition out.")
    build = of.build
    found: Build = (lambda rows: build(rows).notnull()) if negated else (lambda rows: build(rows).isnull())
    text = f"{of.shown} IS {'NOT ' if negated else ''}NULL"
    return Expression(text, "truth", found, compound=True, reads=of.reads, columns=of.columns)


def present(of: Expression) -> Expression:
    """Return 1 where a value is there, for what is only counted: texts and times have no numbers to add up."""
    one = number(Fraction(1))
    return replace(case([(is_missing(of, negated=True), one)], None) if of.nullable else one, text=of.text)


def is_truth(of: Expression, what: bool, negated: bool) -> Expression:
    """Return IS [NOT] TRUE or FALSE, which is never unknown."""
    require("truth", of, "IS")
    build = of.build

    def built(rows: Any) -> Any:
        found = build(rows) if what else ~build(rows)
        certain = found.fill_null(False) if of.nullable else found
        return ~certain if negated else certain

    text = f"{of.shown} IS {'NOT ' if negated else ''}{'TRUE' if what else 'FALSE'}"
    return Expression(text, "truth", built, compound=True, reads=of.reads, columns=of.columns)


def opposite(of: Expression) -> Expression:
    """Return NOT."""
    require("truth", of, "NOT")
    build = of.build
    return Expression(f"NOT {of.shown}", "truth", lambda rows: ~build(rows), **_condition([of]))


def joined(parts: Sequence[Expression], word: str) -> Expression:
    """Return AND or OR."""
    for part in parts:
        require("truth", part, word)

    def built(rows: Any) -> Any:
        return folded([part.build(rows) for part in parts], word == "AND")

    text = f" {word} ".join(part.shown for part in parts)
    return Expression(text, "truth", built, **_condition(parts))
