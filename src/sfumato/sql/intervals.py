"""Intervals of what is computed from aggregates by + - * /, from theirs."""

from __future__ import annotations

from typing import Any

from sfumato.grammar import tree
from sfumato.sql.scope import bare
from sfumato.table.where import read_number


def ends_of(node: tree.Expression, of: Any) -> tuple[Any, Any]:
    """Return the interval of an expression from those of its aggregates; None where it has no end."""
    node = bare(node)
    if isinstance(node, tree.Number):
        value = float(read_number(node.text))
        return value, value
    if isinstance(node, tree.Negative):
        low, high = ends_of(node.of, of)
        return (None if high is None else -high), (None if low is None else -low)
    if isinstance(node, tree.Aggregate):
        low, high = of(node)
        return low, high
    assert isinstance(node, tree.Chain)
    found = ends_of(node.parts[0], of)
    for sign, part in zip(node.signs, node.parts[1:], strict=True):
        found = _joined(found, sign, ends_of(part, of))
    return found


def _joined(left: tuple[Any, Any], sign: str, right: tuple[Any, Any]) -> tuple[Any, Any]:
    if None in (*left, *right):
        return None, None
    if sign == "+":
        return left[0] + right[0], left[1] + right[1]
    if sign == "-":
        return left[0] - right[1], left[1] - right[0]
    if sign == "/" and right[0] <= 0 <= right[1]:
        return None, None
    corners = [a * b if sign == "*" else a / b for a in left for b in right]
    return min(corners), max(corners)
