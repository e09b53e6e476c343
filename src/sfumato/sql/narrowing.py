"""What WHERE leaves of a column's range, for what is added up (SQ-EXPR, narrowing).

A total adds the values of rows that pass, and nothing for the others, so that only values of passing rows matter; they
lie in the ranges that the conditions joined by AND at the top of WHERE leave. Nothing is narrowed by a condition under
OR or NOT, and keys keep their whole range. The engine computes what it would have computed: only the range that is
claimed is smaller, and the whole expression was checked to be safe on all rows before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

from sfumato.grammar import tree
from sfumato.sql.charged import conjuncts
from sfumato.sql.scope import Scope, bare
from sfumato.sql.typing import Leaves, typed
from sfumato.table.expression import Expression

Range = tuple[int, int]
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def narrowed(node: tree.Expression, where: Sequence[tree.Expression], scope: Scope, leaves: Leaves) -> Expression:
    """Return an expression with the range that it has in rows that pass all of some conditions."""
    whole = typed(node, leaves)
    ranges = _ranges(where, scope)
    if not ranges:
        return whole

    def inside(part: tree.Expression) -> Expression | None:
        found = leaves(part)
        if found is None or not isinstance(part, tree.Column) or found.text not in ranges:
            return found
        low, high = ranges[found.text]
        return replace(found, low=low, high=high, raw=None)

    small = typed(node, inside)
    # A part that is nothing but zero has no step of its own; then the codes would be others.
    same = small.step == whole.step and small.kind == whole.kind and small.labels == whole.labels
    return replace(whole, low=small.low, high=small.high, raw=None) if same else whole


def _ranges(where: Sequence[tree.Expression], scope: Scope) -> dict[str, Range]:
    """Return the codes that are left of numbers and dates, by the canonical names of the columns."""
    found: dict[str, Range] = {}
    for condition in [part for node in where for part in _all(node)]:
        for column, sign, values in _bounds(condition):
            leaf = scope.expression(column)
            left = _left(leaf, sign, [typed(value, lambda _: None) for value in values])
            if left is not None:
                low, high = found.get(leaf.text, (leaf.low, leaf.high))
                found[leaf.text] = (max(low, left[0]), min(high, left[1]))
    # Where nothing can pass the range is left as it is: the total is zero anyhow.
    return {name: ends for name, ends in found.items() if ends[0] <= ends[1]}


def _all(node: tree.Expression) -> list[tree.Expression]:
    """Return the conditions that all hold in a row that passes, brackets opened."""
    parts = conjuncts(node)
    return [bare(parts[0])] if len(parts) == 1 else [one for part in parts for one in _all(part)]


def _bounds(node: tree.Expression) -> list[tuple[tree.Column, str, tuple[tree.Expression, ...]]]:
    """Return the columns that a condition compares with literals, how, and with which."""
    compared: list[tuple[tree.Expression, str, tuple[tree.Expression, ...]]]
    match node:
        case tree.Comparison(sign, left, right) if sign in _FLIPPED:
            compared = [(left, sign, (right,)), (right, _FLIPPED[sign], (left,))]
        case tree.Between(of, low, high, False):
            compared = [(of, ">=", (low,)), (of, "<=", (high,))]
        case tree.In(of, values, False):
            compared = [(of, "IN", values)]
        case _:
            return []
    columns = [(bare(of), sign, values) for of, sign, values in compared if all(map(_is_literal, values))]
    return [(of, sign, values) for of, sign, values in columns if isinstance(of, tree.Column)]


def _is_literal(node: tree.Expression) -> bool:
    node = bare(node)
    if isinstance(node, tree.Negative):
        node = bare(node.of)
    return isinstance(node, (tree.Number, tree.Moment))


def _left(leaf: Expression, sign: str, literals: Sequence[Expression]) -> Range | None:
    """Return the codes of a column that pass a comparison; None for what has no order here."""
    if leaf.kind not in ("number", "date") or any(one.kind != leaf.kind for one in literals):
        return None
    step = leaf.step if leaf.kind == "number" else Fraction(1)
    places = [one.low * (one.step if one.kind == "number" else 1) / step for one in literals]
    least, most = min(places), max(places)
    return {
        ">": (floor(least) + 1, leaf.high),
        ">=": (ceil(least), leaf.high),
        "<": (leaf.low, ceil(most) - 1),
        "<=": (leaf.low, floor(most)),
        "=": (ceil(least), floor(most)),
        "IN": (ceil(least), floor(most)),
    }[sign]
