"""One form for a day in a condition: '2025-07-01' beside a column of dates is DATE '2025-07-01'."""

from __future__ import annotations

import re
from dataclasses import replace

from sfumato.domain.calendar import as_date
from sfumato.errors import ParameterError
from sfumato.grammar import tree
from sfumato.sql.scope import Scope, bare

_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


def with_days(node: tree.Expression, scope: Scope) -> tree.Expression:
    """Return a condition in which every text that a column of dates is compared with is written as DATE."""
    match node:
        case tree.Brackets(inside):
            return replace(node, inside=with_days(inside, scope))
        case tree.Not(of):
            return replace(node, of=with_days(of, scope))
        case tree.Chain(parts, ("AND" | "OR", *_)):
            return replace(node, parts=tuple(with_days(part, scope) for part in parts))
        case tree.Comparison(_, left, right) if _holds_days(left, scope):
            return replace(node, right=_day(right))
        case tree.Comparison(_, left, right) if _holds_days(right, scope):
            return replace(node, left=_day(left))
        case tree.Between(of, low, high) if _holds_days(of, scope):
            return replace(node, low=_day(low), high=_day(high))
        case tree.In(of, values) if _holds_days(of, scope):
            return replace(node, values=tuple(_day(value) for value in values))
    return node


def _holds_days(node: tree.Expression, scope: Scope) -> bool:
    column = bare(node)
    return isinstance(column, tree.Column) and scope.expression(column).kind == "date"


def _day(node: tree.Expression) -> tree.Expression:
    """Return a text as the day that it is; another text stays what it is, and is refused where it is compared."""
    text = bare(node)
    if not isinstance(text, tree.Text) or not _DAY.fullmatch(text.value):
        return node
    try:
        as_date(text.value, "DATE")
    except ParameterError:
        return node
    return tree.Moment("DATE", text.value)
