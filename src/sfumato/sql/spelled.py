"""LEAST and GREATEST as the CASE that they are here, for people who know them from engines that differ (SQ-EXPR)."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from sfumato.grammar import tree
from sfumato.sql.scope import bare
from sfumato.table.where import read_number

CLAMPS = {"LEAST": (">", min), "GREATEST": ("<", max)}


def clamps_in(node: Any) -> bool:
    """Tell whether a tree holds LEAST or GREATEST."""
    if isinstance(node, tuple):
        return any(clamps_in(part) for part in node)
    if not is_dataclass(node):
        return False
    named = isinstance(node, tree.Call) and node.function in CLAMPS
    return named or any(clamps_in(getattr(node, one.name)) for one in fields(node))


def spelled_out(node: Any) -> Any:
    """Return a tree in which every clamp of the part that reads tables is written as CASE: null stays null.

    >>> from sfumato.grammar import parse_statement, printed
    >>> printed(spelled_out(parse_statement("SELECT SUM(LEAST(x, 9, 7)) FROM data")))
    'SELECT SUM(CASE WHEN x > 7 THEN 7 ELSE x END) FROM data'
    """
    if isinstance(node, tuple):
        return tuple(spelled_out(part) for part in node)
    if not is_dataclass(node):
        return node
    changed = {one.name: spelled_out(getattr(node, one.name)) for one in fields(node)}
    made = replace(node, **changed)  # type: ignore[type-var]
    return _case(made) if isinstance(made, tree.Call) and made.function in CLAMPS else made


def _case(node: tree.Call) -> tree.Expression:
    sign, pick = CLAMPS[node.function]
    ends = {_value(one): one for one in node.arguments if _value(one) is not None}
    others = [one for one in node.arguments if _value(one) is None]
    if len(others) != 1 or not ends:
        return node
    end = ends[pick(ends)]
    return tree.Case(((tree.Comparison(sign, others[0], end), end),), others[0])


def _value(node: tree.Expression) -> Any:
    node = bare(node)
    if isinstance(node, tree.Negative):
        inner = _value(node.of)
        return None if inner is None else -inner
    return read_number(node.text) if isinstance(node, tree.Number) else None
