"""LEAST and GREATEST as the CASE that they are here, for people who know them from engines that differ (SQ-EXPR).

A statement is stored so: null stays null, whoever reads it. The CASE has the range of the clamp (`clamp_of`), so that
it is drawn with the same noise, whether it was written as a clamp or as a CASE.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from sfumato.grammar import printed, tree
from sfumato.sql.scope import bare
from sfumato.table.where import read_number

CLAMPS = {"LEAST": (">", min), "GREATEST": ("<", max)}
_SIGNS = {">": "LEAST", ">=": "LEAST", "<": "GREATEST", "<=": "GREATEST"}


MOST_NESTED = 4
"""A clamp is there twice in the CASE of the one around it, so that every level doubles the text."""


def clamps_in(node: Any) -> int:
    """Return how many LEAST and GREATEST a tree holds inside each other: 0 for none."""
    if isinstance(node, tuple):
        return max(map(clamps_in, node), default=0)
    if not is_dataclass(node):
        return 0
    named = isinstance(node, tree.Call) and node.function in CLAMPS
    return named + max((clamps_in(getattr(node, one.name)) for one in fields(node)), default=0)


def spelled_out(node: Any) -> Any:
    """Return a tree in which every clamp is written as CASE: null stays null.

    >>> from sfumato.grammar import parse_statement, printed
    >>> printed(spelled_out(parse_statement("SELECT SUM(LEAST(x, 9, 7)) FROM data")))
    'SELECT SUM(CASE WHEN x > 7 THEN 7 ELSE x END) FROM data'
    """
    made = _changed(node, spelled_out)
    return _case(made) if isinstance(made, tree.Call) and made.function in CLAMPS else made


def asked_in_cases(statement: tree.Statement, is_key: Callable[[tree.Expression], bool]) -> tree.Statement:
    """Return a statement whose clamps are CASE wherever data are read; what is computed from the answers is left.

    That is all of WITH, of the tables and of WHERE, and elsewhere aggregates and keys. Outputs keep their names.
    """

    def read(node: Any) -> Any:
        if isinstance(node, tree.Aggregate) or (isinstance(node, _MAY_BE_KEYS) and clamps_in(node) and is_key(node)):
            return spelled_out(node)
        return _changed(node, read)

    def item(one: tree.Item) -> tree.Item:
        made: tree.Item = read(one)
        if made == one or one.alias is not None:
            return made
        return replace(made, alias=tree.Name(printed(bare(one.of)), quoted=True))

    def private(select: tree.Select) -> tree.Select:
        if isinstance(select.source, tree.Inner):
            return replace(select, source=replace(select.source, select=private(select.source.select)))
        return replace(
            select,
            items=tuple(item(one) for one in select.items),
            source=spelled_out(select.source),
            where=spelled_out(select.where),
            keys=spelled_out(select.keys),
            having=read(select.having),
            order=read(select.order),
        )

    return replace(statement, tables=spelled_out(statement.tables), select=private(statement.select))


_MAY_BE_KEYS = (
    tree.Brackets, tree.Call, tree.Case, tree.Chain, tree.Comparison, tree.Negative, tree.Not, tree.Is, tree.Between,
    tree.In,
)  # fmt: skip


def clamp_of(node: tree.Case) -> str | None:
    """Return LEAST or GREATEST, if a CASE is one of an expression and a number; else None.

    A number in brackets is none: so a CASE is planned as earlier versions did (`apart`).
    """
    if len(node.branches) != 1 or node.otherwise is None:
        return None
    ((condition, value),) = node.branches
    condition = bare(condition)
    if not isinstance(condition, tree.Comparison) or isinstance(value, tree.Brackets) or _value(value) is None:
        return None
    alike = bare(condition.right) == value and bare(condition.left) == bare(node.otherwise)
    return _SIGNS.get(condition.sign) if alike else None


def apart(node: Any) -> Any:
    """Return a tree in which no CASE is a clamp, with the same canonical form: as earlier versions planned it."""
    made = _changed(node, apart)
    if not isinstance(made, tree.Case):
        return made
    return replace(made, branches=tuple((condition, tree.Brackets(value)) for condition, value in made.branches))


def _changed(node: Any, change: Callable[[Any], Any]) -> Any:
    """Return a tree with all its parts changed."""
    if isinstance(node, tuple):
        return tuple(change(part) for part in node)
    if not is_dataclass(node):
        return node
    return replace(node, **{one.name: change(getattr(node, one.name)) for one in fields(node)})  # type: ignore[type-var]


def _case(node: tree.Call) -> tree.Expression:
    sign, pick = CLAMPS[node.function]
    ends = {_value(one): bare(one) for one in node.arguments if _value(one) is not None}
    others = [bare(one) for one in node.arguments if _value(one) is None]
    if len(others) != 1 or not ends:
        return node
    end, other = ends[pick(ends)], others[0]
    return tree.Case(((tree.Comparison(sign, _part(other), _part(end)), end),), other)


def _part(node: tree.Expression) -> tree.Expression:
    """Return an expression as one side of a comparison."""
    return node if isinstance(node, (tree.Column, tree.Number, tree.Call, tree.Aggregate)) else tree.Brackets(node)


def _value(node: tree.Expression) -> Any:
    node = bare(node)
    if isinstance(node, tree.Negative):
        inner = _value(node.of)
        return None if inner is None else -inner
    return read_number(node.text) if isinstance(node, tree.Number) else None
