"""The canonical form of a tree: names resolved and brackets settled, and nothing else looked at (SQ-PARSE, check 2).

A plan prints itself. What it prints must be what is printed here from the tree, on every statement: a compiler that
forgets a word of it, be it DISTINCT, a FILTER or LEFT, is caught before anything is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato.domain.calendar import as_date
from sfumato.grammar import printed, tree
from sfumato.grammar.printing import aggregate_text, printed_number
from sfumato.table.where import read_number

Names = Callable[[tree.Column], str]
_COMPOUND = (tree.Chain, tree.Comparison, tree.Not, tree.Negative, tree.Is, tree.Between, tree.In)


def canonical(node: tree.Expression, names: Names) -> str:
    """Return the canonical text of an expression."""
    if isinstance(node, tree.Brackets):
        return canonical(node.inside, names)
    if isinstance(node, tree.Column):
        return names(node)
    made = _TEXTS.get(type(node))
    return printed(node) if made is None else made(node, names)


def _part(node: tree.Expression, names: Names) -> str:
    while isinstance(node, tree.Brackets):
        node = node.inside
    text = canonical(node, names)
    return f"({text})" if isinstance(node, _COMPOUND) else text


def _all(nodes: Any, names: Names) -> str:
    return ", ".join(canonical(node, names) for node in nodes)


def _chain(node: tree.Chain, names: Names) -> str:
    rest = zip(node.signs, node.parts[1:], strict=True)
    return _part(node.parts[0], names) + "".join(f" {sign} {_part(part, names)}" for sign, part in rest)


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


def _between(node: tree.Between, names: Names) -> str:
    low, high = _part(node.low, names), _part(node.high, names)
    return f"{_part(node.of, names)} {_not(node.negated)}BETWEEN {low} AND {high}"


def _case(node: tree.Case, names: Names) -> str:
    branches = [f"WHEN {canonical(a, names)} THEN {canonical(b, names)}" for a, b in node.branches]
    otherwise = "" if node.otherwise is None else f" ELSE {canonical(node.otherwise, names)}"
    return f"CASE {' '.join(branches)}{otherwise} END"


def _aggregate(node: tree.Aggregate, names: Names) -> str:
    return aggregate_text(
        node, lambda part: canonical(part, names), lambda chance: printed_number(read_number(chance.text))
    )


def _moment(node: tree.Moment, names: Names) -> str:
    return f"DATE '{as_date(node.value, 'DATE').isoformat()}'" if node.kind == "DATE" else printed(node)


_TEXTS: dict[type, Callable[[Any, Names], str]] = {
    tree.Number: lambda node, names: printed_number(read_number(node.text)),
    tree.Moment: _moment,
    tree.Negative: lambda node, names: f"- {_part(node.of, names)}",
    tree.Not: lambda node, names: f"NOT {_part(node.of, names)}",
    tree.Chain: _chain,
    tree.Comparison: lambda node, names: f"{_part(node.left, names)} {node.sign} {_part(node.right, names)}",
    tree.Is: lambda node, names: f"{_part(node.of, names)} IS {_not(node.negated)}{node.what}",
    tree.Between: _between,
    tree.In: lambda node, names: f"{_part(node.of, names)} {_not(node.negated)}IN ({_all(node.values, names)})",
    tree.Case: _case,
    tree.Extract: lambda node, names: f"EXTRACT({node.part} FROM {canonical(node.of, names)})",
    tree.Call: lambda node, names: f"{node.function}({_all(node.arguments, names)})",
    tree.Aggregate: _aggregate,
}
