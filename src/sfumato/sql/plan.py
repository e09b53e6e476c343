"""The plan of a statement: tables of one row a person, flat rows, keys and totals, and how it prints itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.errors import CertificationError, ParameterError
from sfumato.grammar import printed, tree
from sfumato.grammar.printing import printed_name, printed_number
from sfumato.moved import moved
from sfumato.sql.canonical import Names, canonical
from sfumato.sql.charged import Reader, check_charged, conjuncts
from sfumato.sql.days import with_days
from sfumato.sql.limits import check_found, check_limited
from sfumato.sql.narrowing import narrowed
from sfumato.sql.options import groups_of, printed_groups, written_groups
from sfumato.sql.scope import Per, Scope, Written, bare, given, open_scope, with_condition
from sfumato.sql.typing import Leaves, typed
from sfumato.table.database import Database
from sfumato.table.expression import LARGEST, Expression, require
from sfumato.table.flat import Flat, Joined, PersonPart, PersonTable, listable
from sfumato.table.person_parts import ONLY_COMPARED, filtered, person_part
from sfumato.table.truths import present
from sfumato.table.where import read_number

MOST_WITHS = 8


@dataclass(frozen=True, eq=False)
class Total:
    """One aggregate outside WITH; `of` is None for COUNT(*) and for COUNT(DISTINCT person)."""

    function: str
    of: Expression | None
    distinct: bool
    chance: Fraction | None
    where: Expression | None
    person: str = ""
    bounds: tuple[Fraction, Fraction] | None = None
    """The ends to which one number a person and group is clamped (SQ-BOX)."""

    @property
    def text(self) -> str:
        """The aggregate in canonical form."""
        inside = "*" if self.of is None else self.of.text
        if self.distinct:
            inside = f"DISTINCT {self.person}"
        if self.chance is not None:
            inside += f", {printed_number(self.chance)}"
        if self.bounds is not None:
            ends = ", ".join(f"- {printed_number(-end)}" if end < 0 else printed_number(end) for end in self.bounds)
            inside += f", CONTRIBUTION_BOUNDS_PER_GROUP => ({ends})"
        where = "" if self.where is None else f" FILTER (WHERE {self.where.text})"
        return f"{self.function}({inside}){where}"

    @property
    def value(self) -> Expression | None:
        """What is added up: with FILTER, what fails it is missing."""
        if self.where is not None:
            return filtered(self.of, self.where)
        return present(self.of) if self.of is not None and self.of.kind in ONLY_COMPARED else self.of


@dataclass(frozen=True, eq=False)
class StatementPlan:
    """The private part of a statement: what is read from the data, and nothing that is computed afterwards."""

    pers: tuple[Per, ...]
    flat: Flat
    source: str
    keys: tuple[Expression, ...]
    totals: tuple[Total, ...]
    groups: int | None = None
    """In how many groups a person counts at most, as written; None where nothing is."""

    @property
    def found(self) -> bool:
        """Whether the groups are found in the data, because nobody can list them."""
        return not listable(self.keys)

    @property
    def reads(self) -> frozenset[str]:
        """The attributes that the rows, the keys and the totals depend on."""
        parts = [part for total in self.totals for part in (total.of, total.where) if part is not None]
        return self.flat.presence.union(*(part.reads for part in (*self.keys, *parts)))

    def text(self, totals: Sequence[Total] | None = None) -> str:
        """Return the statement that asks for the keys and some of the totals, in canonical form."""
        listed = self.totals if totals is None else totals
        items = ", ".join([*(key.text for key in self.keys), *(total.text for total in listed)])
        pers = _with({per.name: per for per in self.pers})
        where = "" if self.flat.where is None else f" WHERE {self.flat.where.text}"
        keys = f" GROUP BY {', '.join(key.text for key in self.keys)}" if self.keys else ""
        return f"{pers}SELECT {printed_groups(self.groups)}{items} FROM {self.source}{where}{keys}"


def _with(pers: Mapping[str, Per]) -> str:
    return f"WITH {', '.join(per.text for per in pers.values())} " if pers else ""


def plan_of(statement: tree.Statement, database: Database, *, days: bool = False) -> tuple[StatementPlan, Scope]:
    """Return the plan of the private part of a statement, checked against the tree, and its names.

    With `days` a text that WHERE compares with a column of dates is written as DATE; stored statements are read as
    they are.
    """
    pers = resolved_pers(statement.tables, database, days)
    select = innermost(statement.select)
    assert isinstance(select.source, tree.Source)
    scope = open_scope(select.source, database, pers)
    assert scope.flat is not None
    source, select = select.source, replace(select, where=_dated(select.where, scope, days))
    _check_source(source, scope, scope.flat)
    flat = with_condition(scope.flat, _where(select.where, scope))
    keys = tuple(_key(key, select, scope) for key in select.keys)
    if len({key.text for key in keys}) != len(keys):
        raise ParameterError("The same key is there twice in GROUP BY; write it once.")
    found: dict[str, Total] = {}
    passing = conditions_of(select.where, scope)
    for node in aggregates_of(select):
        total = _total(node, scope, passing)
        found[total.text] = total
    groups = groups_of(select.options, select.keys)
    if not listable(keys) and not flat.everybody:
        check_found(found.values(), keys, flat, groups or database.private[flat.anchor.table].groups_per_person)
    if groups is not None:
        check_limited(found.values(), keys)
    plan = StatementPlan(tuple(pers.values()), flat, scope.source, keys, tuple(found.values()), groups)
    written_items = [canonical(node, scope_names(scope)) for node in (*_written_keys(select), *aggregates_of(select))]
    _check_canonical(
        plan.text(),
        _with(pers)
        + _as_written(
            list(dict.fromkeys(written_items)), select.where, _written_keys(select), scope, written_groups(select)
        ),
    )
    reader = Reader(source, scope, {name: per.written for name, per in pers.items()})
    written = reader.presence(select.where) | reader.reads((*aggregates_of(select), *_written_keys(select)))
    check_charged(plan.reads, written, frozenset(database.attributes))
    return plan, scope


def _dated(where: tree.Expression | None, scope: Scope, days: bool) -> tree.Expression | None:
    return with_days(where, scope) if days and where is not None else where


def innermost(select: tree.Select) -> tree.Select:
    """Return the private select: the one that reads tables."""
    while isinstance(select.source, tree.Inner):
        if select.options:
            raise ParameterError("The spend stands in the select that reads the tables; move OPTIONS there.")
        select = select.source.select
    return select


def aggregates_of(select: tree.Select) -> list[tree.Aggregate]:
    """Return the aggregates of a select in order: of what is selected, of HAVING and of ORDER BY."""
    nodes: list[tree.Expression] = [item.of for item in select.items]
    nodes += [] if select.having is None else [select.having]
    nodes += [part.of for part in select.order]
    return [found for node in nodes for found in aggregates_in(node)]


def aggregates_in(node: object) -> list[tree.Aggregate]:
    """Return the aggregates in a tree in order."""
    if isinstance(node, tree.Aggregate):
        return [node]
    if isinstance(node, tuple):
        return [found for part in node for found in aggregates_in(part)]
    if not hasattr(node, "__dataclass_fields__"):
        return []
    return [found for name in node.__dataclass_fields__ for found in aggregates_in(getattr(node, name))]


def scope_names(scope: Scope) -> Names:
    """Return how a scope names a column in canonical form."""

    def named(column: tree.Column) -> str:
        seat, name = scope.found(column)
        return f"{printed_name(seat.name)}.{printed_name(name)}"

    return named


def _check_canonical(plan: str, written: str) -> None:
    """Compare what the plan says with what was written; they differ only if the compiler forgot something."""
    if plan != written:
        raise CertificationError(f"The plan says {plan!r} and the statement {written!r}; please report it.")


def _check_source(source: tree.Source, scope: Scope, flat: Flat) -> None:
    """Compare the tables that flat rows are made of with those that were written, and which of them are LEFT."""
    joined = list(zip(scope.seats[1:], source.joins, strict=True))
    # Everybody is in the people table, so that LEFT JOIN of it is JOIN.
    left = (seat.name for seat, join in joined if join.left and seat.kind != "people")
    conditions = [_alike(part, scope) for join in source.joins for part in conjuncts(join.on)]
    written = [[seat.name for seat in scope.seats], left, conditions]
    sides = [flat.anchor, *(join.side for join in flat.joins)]
    followed = [part for join in flat.joins for part in _followed(join, scope)]
    followed += [_alike(part, scope) for part in scope.extra]
    planned = [[side.name for side in sides], (join.side.name for join in flat.joins if join.left), followed]
    for plan, text in zip(planned, written, strict=True):
        _check_canonical(", ".join(sorted(plan)), ", ".join(sorted(text)))


def _alike(node: tree.Expression, scope: Scope) -> str:
    """Return a condition of ON in canonical form: the sides of an equation in order, and the person as one thing."""
    node = bare(node)
    if isinstance(node, tree.Comparison) and node.sign == "=":
        ends = [bare(node.left), bare(node.right)]
        if all(isinstance(end, tree.Column) and scope.is_person(*scope.found(end)) for end in ends):
            return "the person"
        return " = ".join(sorted(canonical(end, scope_names(scope)) for end in ends))
    return canonical(node, scope_names(scope))


def _followed(join: Joined, scope: Scope) -> list[str]:
    """Return what a join follows in the plan: the person, a link, or to events both."""
    person = ["the person"] if join.link is None or join.side.kind == "event" else []
    if join.link is None:
        return person
    ends = [join.link, (join.side.name, str(scope.database.key_of(join.side.table)))]
    return [*person, " = ".join(sorted(f"{printed_name(side)}.{printed_name(name)}" for side, name in ends))]


def conditions_of(node: tree.Expression | None, scope: Scope) -> list[tree.Expression]:
    """Return what all rows pass: WHERE, and what stands beside a link in ON."""
    return [*scope.extra, *([] if node is None else [node])]


def _where(node: tree.Expression | None, scope: Scope) -> Expression | None:
    whole = _together(conditions_of(node, scope))
    return None if whole is None else typed(whole, column_leaves(scope))


def _together(parts: Sequence[tree.Expression]) -> tree.Expression | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return tree.Chain(tuple(parts), ("AND",) * (len(parts) - 1))


def _as_written(
    items: Sequence[str],
    where: tree.Expression | None,
    keys: Sequence[tree.Expression],
    scope: Scope,
    options: str = "",
) -> str:
    """Return a select in canonical form from its tree; its FROM is compared by itself, because order is free there."""
    names = scope_names(scope)
    whole = _together(conditions_of(where, scope))
    condition = "" if whole is None else f" WHERE {canonical(whole, names)}"
    by = f" GROUP BY {', '.join(canonical(key, names) for key in keys)}" if keys else ""
    return f"SELECT {options}{', '.join(items)} FROM {scope.source}{condition}{by}"


def column_leaves(scope: Scope) -> Leaves:
    """Return what stands for itself in the rows of a scope: its columns."""
    return lambda node: scope.expression(node) if isinstance(node, tree.Column) else None


def _written_keys(select: tree.Select) -> list[tree.Expression]:
    return [_meant(key, select) for key in select.keys]


def _meant(node: tree.Expression, select: tree.Select) -> tree.Expression:
    """Return what a key means: itself, the item at a place, or the item of a name."""
    node = bare(node)
    if isinstance(node, tree.Number):
        place = read_number(node.text)
        if place.denominator != 1 or not 1 <= place <= len(select.items):
            raise ParameterError(f"GROUP BY {node.text} names no item; write a place from 1 to {len(select.items)}.")
        return bare(select.items[int(place) - 1].of)
    if isinstance(node, tree.Column) and node.table is None:
        named = [item for item in select.items if item.alias is not None and same_name(item.alias, node.name)]
        return bare(named[0].of) if named else node
    return node


def _key(node: tree.Expression, select: tree.Select, scope: Scope) -> Expression:
    """Return a key: an expression, the place of an item, or the name of an output."""
    node = _meant(node, select)
    if aggregates_in(node):
        raise ParameterError("A key is no aggregate; group by a column.")
    if scope.names_person(node):
        raise ParameterError(
            "One row a person is a row about a person, also in a sub-query; group by it inside WITH and aggregate the "
            "result: WITH per AS (SELECT … GROUP BY person) SELECT AVG(m) FROM per."
        )
    key = typed(node, column_leaves(scope))
    if key.kind == "time":
        raise ParameterError(f"The values of {key.text} cannot be listed; declare labels, or bins, of it.")
    return key


def same_name(one: tree.Name, other: tree.Name) -> bool:
    """Tell whether two names mean the same output."""
    if one.quoted or other.quoted:
        return one.text == other.text
    return one.text.casefold() == other.text.casefold()


def _total(node: tree.Aggregate, scope: Scope, passing: Sequence[tree.Expression]) -> Total:
    if node.function in ("MIN", "MAX"):
        end = "0.99" if node.function == "MAX" else "0.01"
        each = " of one value a person, made in WITH" if scope.flat is not None and not scope.flat.everybody else ""
        raise ParameterError(f"The end of the values is one person's; write QUANTILE_CONT(x, {end}){each}.")
    where = None if node.where is None else typed(node.where, column_leaves(scope))
    if where is not None and where.kind != "truth":
        raise ParameterError(f"{where.text} is no condition; write a comparison.")
    if node.distinct:
        return _people(node, scope, where)
    of = None if node.of is None else narrowed(node.of, passing, scope, column_leaves(scope))
    chance = None if node.chance is None else read_number(node.chance.text)
    if (
        of is not None
        and node.function != "COUNT"
        and of.kind not in (("number",) if _adds(node) else ("number", "date"))
    ):
        instead = f"COUNT(*) FILTER (WHERE {of.text})" if of.kind == "truth" else "COUNT, or GROUP BY it"
        raise ParameterError(f"{of.text} holds no numbers, so it has no {node.function}; write {instead}.")
    if not _adds(node):
        _check_quantile(scope, node)
    found = Total(node.function, of, False, chance, where, bounds=_ends(node))
    if found.bounds is not None:
        boxed(found)
    return found


def _ends(node: tree.Aggregate) -> tuple[Fraction, Fraction] | None:
    """Return the bounds that stand in an aggregate."""
    if node.bounds is None:
        return None
    low, high = (typed(end, lambda _: None) for end in node.bounds)
    for end in (low, high):
        require("number", end, "CONTRIBUTION_BOUNDS_PER_GROUP")
    if low.ends[0] > high.ends[0]:
        raise ParameterError("The first bound of a contribution is the lower one; write them the other way round.")
    return low.ends[0], high.ends[0]


def boxed(total: Total) -> tuple[int, int]:
    """Return the bounds of a total in its steps, refusing what is between two of them."""
    assert total.bounds is not None
    value = total.value
    step = value.step if value is not None and total.function == "SUM" else Fraction(1)
    low, high = (end / step for end in total.bounds)
    if low.denominator != 1 or high.denominator != 1:
        raise ParameterError(
            f"{total.text} counts in steps of {printed_number(step)}; write bounds that are whole steps."
        )
    if max(abs(low), abs(high)) > LARGEST:
        raise ParameterError(f"The bounds of {total.text} need more than 62 bits; write closer ones.")
    return int(low), int(high)


def _adds(node: tree.Aggregate) -> bool:
    return node.function not in ("MEDIAN", "QUANTILE_CONT")


def _check_quantile(scope: Scope, node: tree.Aggregate) -> None:
    assert scope.flat is not None
    if not scope.flat.everybody:
        raise ParameterError(f"{node.function} is of one value a person; make one in WITH first.")


def _people(node: tree.Aggregate, scope: Scope, where: Expression | None) -> Total:
    if node.function != "COUNT" or node.of is None or not scope.names_person(node.of):
        people = next((name for name in scope.database.private.values()), None)
        person = people.person if people is not None and people.person else "person"
        raise ParameterError(f"Only persons are counted as distinct; write COUNT(DISTINCT {person}), or GROUP BY x.")
    if where is not None:
        raise ParameterError(
            "People are counted where a condition holds; write it in WHERE, or, beside others, COUNT(*, "
            "contribution_bounds_per_group => (0, 1)) FILTER (WHERE …)."
        )
    return Total("COUNT", None, True, None, None, canonical(node.of, scope_names(scope)))


# Tables of one row a person


def resolved_pers(written: Sequence[tree.Per], database: Database, days: bool) -> dict[str, Per]:
    """Return the tables of WITH by their names, each resolved with those before it."""
    if len(written) > MOST_WITHS:
        raise ParameterError(f"A statement has at most {MOST_WITHS} tables of WITH; write fewer.")
    found: dict[str, Per] = {}
    for node in written:
        name = given(node.name)
        if name.casefold() in {one.casefold() for one in (*database.tables, *found)}:
            raise ParameterError(f"Two things are called {name}; rename the table of WITH.")
        found[name] = _per(name, node, database, found, days)
    return found


def _per(name: str, node: tree.Per, database: Database, pers: Mapping[str, Per], days: bool) -> Per:
    scope = open_scope(node.source, database, pers)
    assert scope.flat is not None
    node = replace(node, where=_dated(node.where, scope, days))
    if not scope.names_person(node.key):
        raise ParameterError(
            f"A WITH holds one row a person, and {name!r} is grouped by something else; group it by the person."
        )
    _check_source(node.source, scope, scope.flat)
    flat = with_condition(scope.flat, _where(node.where, scope))
    reader = Reader(node.source, scope, {one: per.written for one, per in pers.items()})
    written = Written(reader.presence(node.where), {name_inside(item): reader.reads(item.of) for item in node.items})
    check_charged(flat.presence, written.presence, frozenset(database.attributes))
    parts: dict[str, PersonPart] = {}
    items: dict[str, Expression] = {}
    texts: list[str] = []
    person = ""
    for item in node.items:
        called = name_inside(item)
        if scope.names_person(item.of):
            if person:
                raise ParameterError(f"The person is there twice in {name!r}; write it once.")
            person = called
            texts.append(canonical(item.of, scope_names(scope)) + _as(called))
            continue
        value = typed(item.of, _person_leaves(scope, flat, parts, conditions_of(node.where, scope)))
        if called.casefold() in {one.casefold() for one in items}:
            raise ParameterError(f"Two things are called {called}; rename the output.")
        items[called] = value
        texts.append(value.text + _as(called))
    if not person:
        _, person = scope.found(node.key)
    key = canonical(node.key, scope_names(scope))
    where = "" if flat.where is None else f" WHERE {flat.where.text}"
    text = f"{printed_name(name)} AS (SELECT {', '.join(texts)} FROM {scope.source}{where} GROUP BY {key})"
    items_written = [canonical(item.of, scope_names(scope)) + _as(name_inside(item)) for item in node.items]
    _check_canonical(text, f"{printed_name(name)} AS ({_as_written(items_written, node.where, [node.key], scope)})")
    if person.casefold() in {one.casefold() for one in items}:
        raise ParameterError(f"Two things are called {person}; rename the output.")
    return Per(name, person, PersonTable(flat, tuple(parts.values()), items), text, written)


def _as(name: str) -> str:
    return f" AS {printed_name(name)}"


def name_inside(item: tree.Item) -> str:
    """Return the name of an item of WITH."""
    if item.alias is not None:
        return given(item.alias)
    of = bare(item.of)
    if isinstance(of, tree.Column):
        return of.name.text if of.name.quoted else of.name.text.lower()
    raise ParameterError(f"{printed(item.of)} needs a name inside WITH; write {printed(item.of)} AS n.")


def _person_leaves(
    scope: Scope, flat: Flat, parts: dict[str, PersonPart], passing: Sequence[tree.Expression]
) -> Leaves:
    """Return what stands for itself inside WITH: aggregates; a bare column is many values."""

    def leaves(node: tree.Expression) -> Expression | None:
        if isinstance(node, tree.Column):
            raise ParameterError(f"{printed(node)} has several values a person; write an aggregate of it, such as MAX.")
        if not isinstance(node, tree.Aggregate):
            return None
        if node.bounds is not None:
            raise ParameterError("Inside WITH a person has one group; write LEAST(SUM(x), 500) instead of bounds.")
        if node.function not in ("COUNT", "SUM", "AVG", "MIN", "MAX", "MEDIAN"):
            raise ParameterError(
                f"{node.function} is not known inside WITH; write COUNT, SUM, AVG, MIN, MAX or MEDIAN."
            )
        of = None if node.of is None else narrowed(node.of, passing, scope, column_leaves(scope))
        where = None if node.where is None else typed(node.where, column_leaves(scope))
        if node.distinct and of is not None and of.kind in ONLY_COMPARED and where is not None:
            raise ParameterError(f"{of.text} is counted as distinct in all rows; write the condition in WHERE.")
        value = of if where is None else filtered(of, where)
        text = canonical(node, scope_names(scope))
        if text not in parts:
            made = person_part(node.function, value, node.distinct, flat.rows_per_person, len(parts))
            inside = "*" if of is None else ("DISTINCT " if node.distinct else "") + of.text
            shown = f"{node.function}({inside})" + ("" if where is None else f" FILTER (WHERE {where.text})")
            reads = made.value.reads | flat.presence
            parts[text] = replace(made, value=replace(made.value, text=shown, reads=reads))
        return parts[text].value

    return leaves


__getattr__ = moved(__name__, {"Plan": "sfumato.sql.plan.StatementPlan"})
