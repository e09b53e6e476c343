"""A table of WITH by person and group, written as totals with bounds: they are the same thing (SQ-BOX).

`WITH per AS (SELECT person, k, SUM(x) AS s … GROUP BY person, k) SELECT k, SUM(s) FROM per GROUP BY k` adds up one
clamped number a person and group. It is rewritten, tree by tree, as `SELECT k, SUM(x, bounds) … GROUP BY k`, with the
range of what stands in WITH as the bounds, and goes the one way from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

from sfumato.errors import ParameterError
from sfumato.grammar import parse_statement, printed, tree
from sfumato.grammar.printing import printed_number
from sfumato.sql.days import with_days
from sfumato.sql.narrowing import narrowed
from sfumato.sql.plan import aggregates_in, column_leaves, conditions_of, name_inside, resolved_pers, same_name
from sfumato.sql.scope import Scope, bare, open_scope
from sfumato.sql.typing import typed
from sfumato.table.database import Database
from sfumato.table.person_parts import filtered, person_part

Ends = tuple[Fraction, Fraction]


def understood(text: str, database: Database) -> tree.Statement:
    """Return a statement as it is planned: tables of WITH by person and group are totals with bounds."""
    parsed = parse_statement(text)
    grouped = [per for per in parsed.tables if per.groups]
    if not grouped:
        return parsed
    if len(grouped) > 1:
        raise ParameterError("One table of WITH may be grouped by person and group; group the others by the person.")
    (per,) = grouped
    before = parsed.tables[: parsed.tables.index(per)]
    scope = open_scope(per.source, database, resolved_pers(before, database, True))
    rest = tuple(one for one in parsed.tables if one is not per)
    return replace(parsed, select=_outer(parsed.select, _Table.of(per, scope)), tables=rest)


def _outer(select: tree.Select, table: _Table) -> tree.Select:
    if isinstance(select.source, tree.Inner):
        return replace(select, source=replace(select.source, select=_outer(select.source.select, table)))
    return table.rewritten(select)


@dataclass(frozen=True)
class _Table:
    """A table by person and group: its keys and its numbers by the names that they have outside."""

    per: tree.Per
    scope: Scope
    keys: Mapping[str, tree.Expression]
    numbers: Mapping[str, tree.Aggregate]

    @classmethod
    def of(cls, per: tree.Per, scope: Scope) -> _Table:
        """Tell the person, the keys and the numbers of a table apart."""
        if not scope.names_person(per.key):
            raise ParameterError(
                f"A WITH holds rows of one person, and {per.name.text!r} is grouped by something else first; write the "
                "person first."
            )
        wanted = {_spelled(key, per, scope) for key in per.groups}
        keys: dict[str, tree.Expression] = {}
        numbers: dict[str, tree.Aggregate] = {}
        for item in per.items:
            of = bare(item.of)
            if scope.names_person(of):
                continue
            name = name_inside(item)
            if name.casefold() in {one.casefold() for one in (*keys, *numbers)}:
                raise ParameterError(f"Two things are called {name}; rename the output.")
            if _spelled_item(item, scope) in wanted:
                keys[name] = of
            else:
                numbers[name] = _bounded(item.of, per, scope)
        if {_spelled_item(item, scope) for item in per.items} & wanted != wanted:
            raise ParameterError(
                f"Select all that {per.name.text!r} is grouped by, and group the outer select by it; "
                "for one row a person group by the person alone."
            )
        return cls(per, scope, keys, numbers)

    def rewritten(self, select: tree.Select) -> tree.Select:
        """Return the private select over the rows that the table is made of."""
        source = select.source
        assert isinstance(source, tree.Source)
        name = self.per.name
        if source.joins or not same_name(source.table.name, name) or select.where is not None:
            raise ParameterError(
                f"{name.text!r} has a row for each person and group, and is read alone; write conditions and joins "
                "inside the WITH."
            )
        asked = [self._key(_meant(key, select)) for key in select.keys]
        if sorted(asked) != sorted(self.keys):
            raise ParameterError(f"Group by exactly what {name.text!r} is grouped by: {', '.join(self.keys)}.")
        items = tuple(self._item(item) for item in select.items)
        return replace(
            select,
            items=items,
            source=self.per.source,
            where=self.per.where,
            keys=tuple(self.keys[key] for key in asked),
            having=self._inside(select.having),
            order=self._inside(select.order),
        )

    def _item(self, item: tree.Item) -> tree.Item:
        if item.alias is not None:
            return replace(item, of=self._inside(item.of))
        of = bare(item.of)
        called = tree.Name(of.name.text if isinstance(of, tree.Column) else printed(of), quoted=True)
        return tree.Item(self._inside(item.of), called)

    def _inside(self, node: Any) -> Any:
        """Return a tree in which keys and aggregates are those of the rows."""
        if isinstance(node, tuple):
            return tuple(self._inside(part) for part in node)
        if isinstance(node, tree.Aggregate):
            return self._total(node)
        if isinstance(node, tree.Column):
            key = self._key(node, strict=False)
            return self.keys.get(key, node)
        if not is_dataclass(node) or isinstance(node, tree.Name):
            return node
        return replace(node, **{one.name: self._inside(getattr(node, one.name)) for one in fields(node)})  # type: ignore[type-var]

    def _total(self, node: tree.Aggregate) -> tree.Aggregate:
        plain = not (node.distinct or node.bounds or node.where or node.chance)
        if plain and node.function == "COUNT" and node.of is None:
            return tree.Aggregate("COUNT", self.per.key, distinct=True)
        of = None if node.of is None else bare(node.of)
        named = self._key(of, strict=False) if isinstance(of, tree.Column) else ""
        if not plain or node.function != "SUM" or named not in self.numbers:
            raise ParameterError(
                f"Of {self.per.name.text!r}, with a row for each person and group, COUNT(*) and SUM of its numbers are "
                f"asked; {printed(node)} is none of them."
            )
        return self.numbers[named]

    def _key(self, node: tree.Expression, *, strict: bool = True) -> str:
        """Return the name of a column of the table that a node is; with `strict`, refuse what is no key of it."""
        node = bare(node)
        if isinstance(node, tree.Column) and (node.table is None or same_name(node.table, self.per.name)):
            for name in (*self.keys, *self.numbers):
                if node.name.text == name or (not node.name.quoted and node.name.text.casefold() == name.casefold()):
                    return name
        if strict:
            raise ParameterError(f"Group by exactly what {self.per.name.text!r} is grouped by: {', '.join(self.keys)}.")
        return ""


def _spelled(key: tree.Column, per: tree.Per, scope: Scope) -> str:
    """Return what a table is grouped by: a column, or the item of that name where no table has such a column."""
    columns = {name.casefold() for seat in scope.seats for name in scope.columns(seat)}
    if key.table is None and key.name.text.casefold() not in columns:
        for item in per.items:
            if item.alias is not None and same_name(item.alias, key.name):
                return _spelled_item(item, scope) or _no_key(item, scope)
    return _place(key, scope)


def _no_key(item: tree.Item, scope: Scope) -> str:
    """Refuse to group by an item that is no column here, an aggregate, or a number."""
    of = bare(item.of)
    if isinstance(of, tree.Column):
        return _place(of, scope)
    raise ParameterError(
        f"{printed(of)} AS {name_inside(item)} makes no groups; group by a column, or what is made of it."
    )


def _spelled_item(item: tree.Item, scope: Scope) -> str:
    """Return what an item is, as far as a table may be grouped by it: a column, or an expression that has a name."""
    of = bare(item.of)
    if isinstance(of, tree.Column):
        return _place(of, scope) if scope.has(of) else ""
    # A bare number in GROUP BY would be a place among the items.
    computed = not isinstance(of, tree.Number) and not aggregates_in(of)
    return f"{printed(of)} AS {name_inside(item)}" if computed and item.alias is not None else ""


def _place(column: tree.Column, scope: Scope) -> str:
    seat, name = scope.found(column)
    return f"{seat.name}.{name}"


def _meant(node: tree.Expression, select: tree.Select) -> tree.Expression:
    """Return the item at a place, the item of a name, or what is written."""
    node = bare(node)
    if isinstance(node, tree.Number) and node.text.isdigit() and 1 <= int(node.text) <= len(select.items):
        return bare(select.items[int(node.text) - 1].of)
    if isinstance(node, tree.Column) and node.table is None:
        for item in select.items:
            if item.alias is not None and same_name(item.alias, node.name):
                return bare(item.of)
    return node


def _bounded(node: tree.Expression, per: tree.Per, scope: Scope) -> tree.Aggregate:
    """Return SUM or COUNT inside clamps as one aggregate with bounds."""
    found, (low, high) = _ends(node, per, scope)
    return replace(found, bounds=(_number(low), _number(high)))


def _ends(node: tree.Expression, per: tree.Per, scope: Scope) -> tuple[tree.Aggregate, Ends]:
    """Return the aggregate and the range to which it and the clamps around it bring a person's number."""
    node = bare(node)
    if isinstance(node, tree.Aggregate) and node.function in ("SUM", "COUNT") and not node.distinct and not node.bounds:
        leaves = column_leaves(scope)
        where = None if per.where is None else with_days(per.where, scope)
        of = None if node.of is None else narrowed(node.of, conditions_of(where, scope), scope, leaves)
        value = of if node.where is None else filtered(of, typed(node.where, leaves))
        assert scope.flat is not None
        return node, person_part(node.function, value, False, scope.flat.rows_per_person, 0).value.ends
    if isinstance(node, tree.Call) and node.function in ("LEAST", "GREATEST"):
        parts = [bare(part) for part in node.arguments]
        numbers = [end for part in parts if (end := _value(part)) is not None]
        others = [part for part in parts if _value(part) is None]
        if len(others) == 1 and numbers:
            pick = min if node.function == "LEAST" else max
            found, ends = _ends(others[0], per, scope)
            return found, (pick(ends[0], *numbers), pick(ends[1], *numbers))
    raise ParameterError(
        f"In {per.name.text!r}, by person and group, a number is SUM or COUNT, perhaps inside LEAST and GREATEST with "
        f"numbers; {printed(node)} is not."
    )


def _value(node: tree.Expression) -> Fraction | None:
    node = bare(node)
    if isinstance(node, tree.Negative):
        inner = _value(node.of)
        return None if inner is None else -inner
    if not isinstance(node, tree.Number):
        return None
    return typed(node, lambda _: None).ends[0]


def _number(value: Fraction) -> tree.Expression:
    written = tree.Number(printed_number(abs(value)))
    return tree.Negative(written) if value < 0 else written
