"""Trees as text: what is printed, read again, is the same tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from sfumato.grammar import tree
from sfumato.grammar.words import RESERVED


def printed(node: Any) -> str:
    """Return the text of a tree, with the words of the language in capitals and nothing left out."""
    return str(_PRINTERS[type(node)](node))


def printed_name(text: str) -> str:
    """Return a declared name as it is written in a statement: in quotes if it is not plain.

    >>> printed_name("cost"), printed_name("my cost"), printed_name("order")
    ('cost', '"my cost"', '"order"')
    """
    plain = text.isidentifier() and text == text.lower() and text.upper() not in RESERVED
    return text if plain else '"' + text.replace('"', '""') + '"'


def printed_number(value: Fraction) -> str:
    """Return a number that was written in digits, exactly and without an exponent.

    >>> printed_number(Fraction("0.050")), printed_number(Fraction("1e3"))
    ('0.05', '1000')
    """
    digits = next(digits for digits in range(200) if (value * 10**digits).denominator == 1)
    whole = str(abs(int(value * 10**digits))).rjust(digits + 1, "0")
    text = whole if not digits else f"{whole[:-digits]}.{whole[-digits:]}"
    return f"-{text}" if value < 0 else text


def printed_text(text: str) -> str:
    """Return a text in single quotes."""
    return "'" + text.replace("'", "''") + "'"


def _name(node: tree.Name) -> str:
    return '"' + node.text.replace('"', '""') + '"' if node.quoted else node.text


def _column(node: tree.Column) -> str:
    return printed(node.name) if node.table is None else f"{printed(node.table)}.{printed(node.name)}"


def _listed(nodes: Iterable[Any]) -> str:
    return ", ".join(printed(node) for node in nodes)


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


def _chain(node: tree.Chain) -> str:
    rest = zip(node.signs, node.parts[1:], strict=True)
    return printed(node.parts[0]) + "".join(f" {sign} {printed(part)}" for sign, part in rest)


def _case(node: tree.Case) -> str:
    branches = " ".join(f"WHEN {printed(condition)} THEN {printed(value)}" for condition, value in node.branches)
    otherwise = "" if node.otherwise is None else f" ELSE {printed(node.otherwise)}"
    return f"CASE {branches}{otherwise} END"


def _aggregate(node: tree.Aggregate) -> str:
    return aggregate_text(node, printed, printed)


def aggregate_text(node: tree.Aggregate, written: Callable[[Any], str], chance: Callable[[Any], str]) -> str:
    """Return an aggregate whose parts are `written` so, and its chance, if it has one, by `chance`."""
    inside = "*" if node.of is None else ("DISTINCT " if node.distinct else "") + written(node.of)
    if node.chance is not None:
        inside += f", {chance(node.chance)}"
    if node.bounds is not None:
        inside += f", CONTRIBUTION_BOUNDS_PER_GROUP => ({', '.join(map(written, node.bounds))})"
    where = "" if node.where is None else f" FILTER (WHERE {written(node.where)})"
    return f"{node.function}({inside}){where}"


def _ends(node: tree.Ends) -> str:
    more = "" if node.confidence is None else f", {printed(node.confidence)}"
    return f"{node.function}({printed(node.output)}{more})"


def _named(node: Any, what: str) -> str:
    return what if node.alias is None else f"{what} AS {printed(node.alias)}"


def _source(node: tree.Source) -> str:
    joins = "".join(
        f"{' LEFT' if join.left else ''} JOIN {printed(join.table)} ON {printed(join.on)}" for join in node.joins
    )
    return printed(node.table) + joins


def _clauses(node: Any) -> str:
    found = f" FROM {printed(node.source)}"
    return found if node.where is None else f"{found} WHERE {printed(node.where)}"


def _select(node: tree.Select) -> str:
    options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS ({_listed(node.options)}) " if node.options else ""
    found = f"SELECT {options}{_listed(node.items)}{_clauses(node)}"
    if node.keys:
        found += f" GROUP BY {_listed(node.keys)}"
    if node.having is not None:
        found += f" HAVING {printed(node.having)}"
    if node.order:
        found += f" ORDER BY {_listed(node.order)}"
    return found if node.limit is None else f"{found} LIMIT {printed(node.limit)}"


def _per(node: tree.Per) -> str:
    keys = _listed((node.key, *node.groups))
    return f"{printed(node.name)} AS (SELECT {_listed(node.items)}{_clauses(node)} GROUP BY {keys})"


def _statement(node: tree.Statement) -> str:
    tables = f"WITH {_listed(node.tables)} " if node.tables else ""
    return ("EXPLAIN " if node.explain else "") + tables + printed(node.select)


_PRINTERS: dict[type, Any] = {
    tree.Name: _name,
    tree.Column: _column,
    tree.Number: lambda node: node.text,
    tree.Text: lambda node: printed_text(node.value),
    tree.Moment: lambda node: f"{node.kind} {printed_text(node.value)}",
    tree.Truth: lambda node: "TRUE" if node.value else "FALSE",
    tree.Null: lambda node: "NULL",
    tree.Brackets: lambda node: f"({printed(node.inside)})",
    tree.Negative: lambda node: f"- {printed(node.of)}",
    tree.Not: lambda node: f"NOT {printed(node.of)}",
    tree.Chain: _chain,
    tree.Comparison: lambda node: f"{printed(node.left)} {node.sign} {printed(node.right)}",
    tree.Is: lambda node: f"{printed(node.of)} IS {_not(node.negated)}{node.what}",
    tree.Between: lambda node: (
        f"{printed(node.of)} {_not(node.negated)}BETWEEN {printed(node.low)} AND {printed(node.high)}"
    ),
    tree.In: lambda node: f"{printed(node.of)} {_not(node.negated)}IN ({_listed(node.values)})",
    tree.Case: _case,
    tree.Extract: lambda node: f"EXTRACT({node.part} FROM {printed(node.of)})",
    tree.Call: lambda node: f"{node.function}({_listed(node.arguments)})",
    tree.Aggregate: _aggregate,
    tree.Ends: _ends,
    tree.Item: lambda node: _named(node, printed(node.of)),
    tree.Table: lambda node: _named(node, printed(node.name)),
    tree.Source: _source,
    tree.Inner: lambda node: _named(node, f"({printed(node.select)})"),
    tree.Arranged: lambda node: printed(node.of) + (" DESC" if node.descending else ""),
    tree.Option: lambda node: f"{printed(node.name)} = {printed(node.value)}",
    tree.Select: _select,
    tree.Per: _per,
    tree.Statement: _statement,
}
