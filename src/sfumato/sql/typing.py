"""Expressions of a statement with their ranges: each node of the tree becomes one of `table.expression` (SQ-EXPR)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato.domain.calendar import as_date, day_number
from sfumato.errors import ParameterError
from sfumato.grammar import printed, tree
from sfumato.sql.spelled import clamp_of
from sfumato.table import expression as make
from sfumato.table import truths
from sfumato.table.expression import Expression
from sfumato.table.where import read_number

Leaves = Callable[[tree.Expression], Expression | None]
"""What stands for itself: columns, and inside WITH aggregates."""


def typed(node: tree.Expression, leaves: Leaves) -> Expression:
    """Return an expression with its range, or refuse what has none."""
    found = leaves(node)
    if found is not None:
        return found
    for kinds, made in _MADE.items():
        if isinstance(node, kinds):
            return made(node, leaves)
    raise ParameterError(
        _REFUSED.get(type(node), f"{printed(node)[:60]} cannot stand here; write a column or a number.")
    )


_REFUSED: dict[type, str] = {
    tree.Aggregate: "An aggregate stands in no WHERE, no key and no other aggregate; make one value a person in "
    "WITH first.",
    tree.Null: "NULL stands for itself in no expression; write IS NULL, or CASE without ELSE.",
    tree.Ends: "DP_INTERVAL_LOW and DP_INTERVAL_HIGH stand alone among what is selected.",
}


def _all(nodes: Any, leaves: Leaves) -> list[Expression]:
    return [typed(node, leaves) for node in nodes]


def _chain(node: tree.Chain, leaves: Leaves) -> Expression:
    parts, sign = _all(node.parts, leaves), node.signs[0]
    if sign in ("AND", "OR"):
        return truths.joined(parts, sign)
    return make.add(parts, node.signs) if sign in ("+", "-") else make.multiply(parts, node.signs)


def _is(node: tree.Is, leaves: Leaves) -> Expression:
    of = typed(node.of, leaves)
    if node.what == "NULL":
        return truths.is_missing(of, node.negated)
    return truths.is_truth(of, node.what == "TRUE", node.negated)


def _case(node: tree.Case, leaves: Leaves) -> Expression:
    branches = [(typed(condition, leaves), typed(value, leaves)) for condition, value in node.branches]
    otherwise = None if node.otherwise is None else typed(node.otherwise, leaves)
    found = make.case(branches, otherwise)
    name = clamp_of(node)
    if name is None or otherwise is None or otherwise.constant or otherwise.kind != "number":
        return found
    return make.clamping(found, name, otherwise, branches[0][1])


def _call(node: tree.Call, leaves: Leaves) -> Expression:
    parts = _all(node.arguments, leaves)
    if node.function in ("LEAST", "GREATEST"):
        return make.clamped(node.function, parts)
    if node.function == "COALESCE":
        return make.coalesced(parts)
    if node.function == "ROUND" and len(parts) in (1, 2):
        return make.rounded(parts[0], parts[1] if len(parts) == 2 else None)
    if node.function in ("FLOOR", "ABS") and len(parts) == 1:
        return make.floored(parts[0]) if node.function == "FLOOR" else make.absolute(parts[0])
    if node.function in ("SQRT", "LN", "EXP", "NULLIF"):
        raise ParameterError(f"{node.function} is computed from released numbers only; write it around an aggregate.")
    raise ParameterError(f"{node.function} takes one value, and ROUND a second one for the digits; write it so.")


def _moment(node: tree.Moment, leaves: Leaves) -> Expression:
    if node.kind == "TIMESTAMP":
        return make.label(node.value, f"TIMESTAMP '{node.value}'")
    day = as_date(node.value, "DATE")
    return make.day(day, day_number(day))


def _text(node: tree.Text, leaves: Leaves) -> Expression:
    return make.label(node.value, printed(node))


_MADE: dict[Any, Callable[[Any, Leaves], Expression]] = {
    tree.Brackets: lambda node, leaves: typed(node.inside, leaves),
    tree.Number: lambda node, leaves: make.number(read_number(node.text)),
    tree.Text: _text,
    tree.Moment: _moment,
    tree.Truth: lambda node, leaves: make.truth(node.value),
    tree.Negative: lambda node, leaves: make.negative(typed(node.of, leaves)),
    tree.Not: lambda node, leaves: truths.opposite(typed(node.of, leaves)),
    tree.Chain: _chain,
    tree.Comparison: lambda node, leaves: truths.compared(
        typed(node.left, leaves), node.sign, typed(node.right, leaves)
    ),
    tree.Is: _is,
    tree.Between: lambda node, leaves: truths.between(
        typed(node.of, leaves), typed(node.low, leaves), typed(node.high, leaves), node.negated
    ),
    tree.In: lambda node, leaves: truths.among(typed(node.of, leaves), _all(node.values, leaves), node.negated),
    tree.Case: _case,
    tree.Extract: lambda node, leaves: make.extracted(node.part, typed(node.of, leaves)),
    tree.Call: _call,
}
