"""A whole statement: the questions that it asks, what it spends, and what is computed from the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sfumato.answer import Answer, Frame
from sfumato.errors import ParameterError
from sfumato.exact import between_zero_and_one
from sfumato.grammar import parse_statement, printed, tree
from sfumato.privacy import Bound
from sfumato.sql.by_group import understood
from sfumato.sql.canonical import canonical
from sfumato.sql.options import spend_of
from sfumato.sql.plan import StatementPlan, aggregates_of, innermost, plan_of, same_name, scope_names
from sfumato.sql.post import Query, query_of, run
from sfumato.sql.scope import Scope, bare
from sfumato.sql.select import Made, Select, parts_of
from sfumato.sql.spelled import MOST_NESTED, asked_in_cases, clamps_in
from sfumato.table.database import Database
from sfumato.table.where import read_number

USUAL = Fraction(95, 100)
QUANTILES = ("MEDIAN", "QUANTILE_CONT")
RANK_ERROR = "rank error"
Ends = Mapping[str, tuple[Sequence[Any], Sequence[Any]]]


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of the select that reads tables: which items are keys, all items, ends, and what is not known."""

    keys: tuple[str, ...]
    items: dict[str, tuple[Any, ...]]
    ends: dict[str, tuple[Any, ...]]
    unknown: dict[str, tuple[bool, ...]]

    @property
    def known(self) -> dict[str, tuple[Any, ...]]:
        """All items, and None where nothing is known of a number."""
        return self.items | {
            name: tuple(None if doubt else cell for cell, doubt in zip(self.items[name], marks, strict=True))
            for name, marks in self.unknown.items()
        }


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement made ready from public facts."""

    parsed: tree.Statement
    database: Database
    plan: StatementPlan
    scope: Scope
    selects: tuple[Select, ...]
    texts: tuple[str, ...]
    """The canonical text of every aggregate, in the order of the released columns."""
    before: tuple[Statement, ...] = ()
    """The same as earlier versions stored it: in the order and with the dates that were written, or with clamps."""
    clamped: bool = False
    """Whether LEAST or GREATEST was written of what is read."""

    def answered_by(self, answers: Sequence[Answer]) -> Statement:
        """Return the form of the statement whose questions these answers are of."""
        asked = tuple(one.question for one in answers)
        return next((one for one in self.before if one.selects == asked), self)

    @property
    def private(self) -> tree.Select:
        """The select that reads tables."""
        return innermost(self.parsed.select)

    @property
    def sql(self) -> str:
        """The private part in canonical form."""
        return self.plan.text()

    def spend(self, given: Bound | None) -> Bound | None:
        """Return what is spent: what stands in the statement, or what was given with it."""
        return spend_of(self.private.options, given, self.scope)

    def check(self) -> None:
        """Refuse, before anything is paid, what could not be computed from the answers."""
        select = self.private
        _check_outputs(select, self.scope)
        for item in select.items:
            of = bare(item.of)
            if isinstance(of, tree.Ends):
                self._named(of)
        self._query([])
        columns: dict[str, tuple[Any, ...]] = dict.fromkeys(names_of(select), ())
        for outer in _outside(self.parsed.select):
            columns = dict.fromkeys(_outer(outer, columns).names, ())

    # What is computed from the answers

    def columns(self, answers: Sequence[Answer]) -> dict[str, tuple[Any, ...]]:
        """Return the released table: a column for each key, k0, k1, …, and for each aggregate, a0, a1, …."""
        made = [Made.of(select.statement, self.database) for select in self.selects]
        cells = answers[0].released.cells if self.plan.keys else ((),)
        found = {f"k{place}": tuple(cell[place] for cell in cells) for place in range(len(self.plan.keys))}
        values: dict[str, tuple[Any, ...]] = {}
        for one, answer in zip(made, answers, strict=True):
            values |= one.columns(answer.released)
        return found | {f"a{place}": values[text] for place, text in enumerate(self.texts)}

    def ends(self, answers: Sequence[Answer], confidence: Fraction) -> dict[str, Any]:
        """Return the ends of every aggregate in every cell, by its canonical text."""
        found: dict[str, Any] = {}
        for select, answer in zip(self.selects, answers, strict=True):
            found |= Made.of(select.statement, self.database).ends(answer.released, confidence)
        return found

    def frame(self, answers: Sequence[Answer], confidence: Fraction | None = None) -> Frame:
        """Return the rows of the statement; with a confidence, the ends of its numbers instead of them."""
        if confidence is not None:
            if not self.has_ends:
                raise ParameterError("Intervals are of the inner select; write DP_INTERVAL_LOW('…') there.")
            rows = self._rows(answers, confidence)
            return Frame(rows.keys, {**{name: rows.items[name] for name in rows.keys}, **rows.ends})
        outside = _outside(self.parsed.select)
        # Noise alone stands where nothing is known of a mean; SQL's mean of no rows is missing.
        rows = self._rows(answers, USUAL if outside else None)
        keys, whole = rows.keys, rows.known if outside else rows.items
        for outer in outside:
            (_, whole), keys = _computed(outer, whole), ()
        return Frame(keys, whole)

    def shown(self, answers: Sequence[Answer], confidence: Fraction) -> Frame:
        """Return the rows with the ends of their numbers beside them, and of which numbers nothing is known.

        What outer selects compute has no ends, and neither has a number whose ends the statement selects itself.
        """
        if not self.has_ends:
            return self.frame(answers)
        rows = self._rows(answers, confidence)
        asked = (bare(item.of) for item in self.private.items)
        named = {node.output.value for node in asked if isinstance(node, tree.Ends)}
        ends = {
            name: cells
            for name, cells in rows.ends.items()
            if name not in rows.items and name.removesuffix(", low").removesuffix(", high") not in named
        }
        return Frame(rows.keys, {**rows.items, **ends}, unknown=rows.unknown)

    @property
    def has_ends(self) -> bool:
        """Whether its rows are those of the select that reads tables, so that its numbers can have ends."""
        return not isinstance(self.parsed.select.source, tree.Inner)

    def _rows(self, answers: Sequence[Answer], confidence: Fraction | None = None) -> _Rows:
        """Return the rows of the private select, in their order, with ends and marks of the numbers that have some."""
        select, released = self.private, self.columns(answers)
        marks = {} if confidence is None else self._unknown(answers)
        extra: dict[str, str] = {}  # what goes through HAVING, ORDER BY and LIMIT beside the items, and its name
        shown = names_of(select)
        for place, item in enumerate(select.items):
            if isinstance(bare(item.of), tree.Ends):
                released[f"d{place}"] = self._interval(answers, bare(item.of))  # type: ignore[arg-type]
            elif confidence is not None and self._bounded(item.of):
                low, high = self._between(answers, item.of, confidence)
                released |= {f"l{place}": low, f"h{place}": high, f"u{place}": self._marked(item.of, marks, len(low))}
                extra |= {f"l{place}": f"{shown[place]}, low", f"h{place}": f"{shown[place]}, high"}
                extra[f"u{place}"] = shown[place]
            elif confidence is not None and _is_quantile(item.of):
                (text,) = self._texts(item.of)
                released[f"r{place}"] = (self._rank_errors(answers, confidence)[text],)
                extra[f"r{place}"] = f"{shown[place]}, {RANK_ERROR}"
        found = run(self._query([*extra]), released)
        beside = {column: (name, found[f"e{place}"]) for place, (column, name) in enumerate(extra.items())}
        return _Rows(
            tuple(name for name, item in zip(shown, select.items, strict=True) if not _refers(item.of)),
            {name: found[f"c{place}"] for place, name in enumerate(shown)},
            dict(pair for column, pair in beside.items() if not column.startswith("u")),
            {name: cells for column, (name, cells) in beside.items() if column.startswith("u") and any(cells)},
        )

    def _rank_errors(self, answers: Sequence[Answer], confidence: Fraction) -> dict[str, int]:
        """Return by how many ranks every quantile may be off, by its canonical text."""
        found: dict[str, int] = {}
        for select, answer in zip(self.selects, answers, strict=True):
            found |= Made.of(select.statement, self.database).rank_errors(answer.released, confidence)
        return found

    def _unknown(self, answers: Sequence[Answer]) -> dict[str, tuple[bool, ...]]:
        """Return in which cells nothing is known of an aggregate, by its canonical text."""
        found: dict[str, tuple[bool, ...]] = {}
        for select, answer in zip(self.selects, answers, strict=True):
            found |= Made.of(select.statement, self.database).unknown(answer.released)
        return found

    def _marked(self, node: tree.Expression, marks: Mapping[str, tuple[bool, ...]], rows: int) -> tuple[bool, ...]:
        """Mark the rows in which nothing is known of an aggregate that an output is made of."""
        own = [marks[text] for text in self._texts(node) if text in marks]
        return tuple(any(mark[row] for mark in own) for row in range(rows))

    def _texts(self, node: tree.Expression) -> set[str]:
        """Return the canonical texts of the aggregates in an expression."""
        totals = aggregates_of(tree.Select((tree.Item(node),), self.private.source))
        return {canonical(one, scope_names(self.scope)) for one in totals}

    def _query(self, extra: Sequence[str]) -> Query:
        select = self.private
        places = {id(bare(item.of)): place for place, item in enumerate(select.items)}

        def stands(node: tree.Expression) -> str | None:
            if isinstance(node, tree.Ends):
                if id(node) not in places:
                    raise ParameterError("DP_INTERVAL_LOW and DP_INTERVAL_HIGH stand alone among what is selected.")
                return f"d{places[id(node)]}"
            if isinstance(node, tree.Column) and node.table is None and not self._is_key(node):
                named = [item for item in select.items if item.alias is not None and same_name(item.alias, node.name)]
                if named and bare(named[0].of) is not node:
                    return inner(bare(named[0].of))
            return self._column(node)

        def inner(node: tree.Expression) -> str:
            from sfumato.sql.post import Printer

            printer = Printer(stands)
            text = printer.text(node)
            if printer.texts:
                raise ParameterError(f"{printed(node)} holds a text; write it out instead of its name.")
            return f"({text})"

        return query_of(select, stands, names_of(select), outer=False, extra=extra)

    def _column(self, node: tree.Expression) -> str | None:
        """Return the released column that an expression is: an aggregate, or a key."""
        if isinstance(node, (tree.Number, tree.Text, tree.Truth, tree.Null, tree.Moment, tree.Brackets)):
            return None
        if isinstance(node, tree.Aggregate):
            return f"a{self.texts.index(canonical(node, scope_names(self.scope)))}"
        if _refers(node):
            return None
        try:
            text = canonical(node, scope_names(self.scope))
        except ParameterError:
            if isinstance(node, tree.Column):
                raise
            return None
        keys = [key.text for key in self.plan.keys]
        if text in keys:
            return f"k{keys.index(text)}"
        if isinstance(node, tree.Column):
            raise ParameterError(
                f"{printed(node)} is neither a key nor an aggregate: rows are not released; write an aggregate of "
                "it, or GROUP BY it."
            )
        return None

    def _is_key(self, node: tree.Column) -> bool:
        try:
            text = canonical(node, scope_names(self.scope))
        except ParameterError:
            return False
        return text in [key.text for key in self.plan.keys]

    # Intervals

    @property
    def without_ends(self) -> tuple[str, ...]:
        """The outputs that are computed from quantiles, or by functions, and so have no interval."""
        pairs = zip(names_of(self.private), self.private.items, strict=True)
        return tuple(
            name
            for name, item in pairs
            if _refers(item.of)
            and not isinstance(bare(item.of), tree.Ends)
            and not self._bounded(item.of)
            and not _is_quantile(item.of)
        )

    @property
    def numbers(self) -> int:
        """How many outputs have ends."""
        return sum(self._bounded(item.of) for item in self.private.items)

    def _interval(self, answers: Sequence[Answer], node: tree.Ends) -> tuple[Any, ...]:
        confidence = (
            USUAL if node.confidence is None else between_zero_and_one(read_number(node.confidence.text), "confidence")
        )
        found = self._named(node)
        return self._between(answers, found.of, confidence)[node.function == "DP_INTERVAL_HIGH"]

    def _named(self, node: tree.Ends) -> tree.Item:
        """Return the output that an interval is of."""
        select = self.private
        found = [item for item, name in zip(select.items, names_of(select), strict=True) if name == node.output.value]
        if not found or not self._bounded(found[0].of):
            raise ParameterError(
                f"{node.function} names an output that is an aggregate, or + - * / of some; {node.output.value!r} is "
                "none."
            )
        return found[0]

    def _bounded(self, node: tree.Expression) -> bool:
        node = bare(node)
        match node:
            case tree.Aggregate(function):
                return function not in QUANTILES
            case tree.Negative(of):
                return self._bounded(of)
            case tree.Chain(parts, signs):
                alike = set(signs) <= {"+", "-", "*", "/"}
                return (
                    alike
                    and all(isinstance(bare(part), tree.Number) or self._bounded(part) for part in parts)
                    and _refers(node)
                )
        return False

    def _between(
        self, answers: Sequence[Answer], node: tree.Expression, confidence: Fraction
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        each = 1 - (1 - confidence) / max(1, len(self._texts(node)))
        ends = self.ends(answers, each)
        rows = len(answers[0].released.cells) if self.plan.keys else 1
        pairs = [
            _ends(
                node, lambda one, cell=cell: tuple(side[cell] for side in ends[canonical(one, scope_names(self.scope))])
            )
            for cell in range(rows)
        ]
        return tuple(low for low, _ in pairs), tuple(high for _, high in pairs)


def _is_quantile(node: tree.Expression) -> bool:
    node = bare(node)
    return isinstance(node, tree.Aggregate) and node.function in QUANTILES


def _refers(node: object) -> bool:
    """Tell whether an expression holds an aggregate or an interval."""
    if isinstance(node, (tree.Aggregate, tree.Ends)):
        return True
    if isinstance(node, tuple):
        return any(_refers(part) for part in node)
    fields = getattr(node, "__dataclass_fields__", ())
    return any(_refers(getattr(node, name)) for name in fields)


def _ends(node: tree.Expression, of: Any) -> tuple[Any, Any]:
    """Return the interval of an expression from those of its aggregates; None where it has no end."""
    node = bare(node)
    if isinstance(node, tree.Number):
        value = float(read_number(node.text))
        return value, value
    if isinstance(node, tree.Negative):
        low, high = _ends(node.of, of)
        return (None if high is None else -high), (None if low is None else -low)
    if isinstance(node, tree.Aggregate):
        low, high = of(node)
        return low, high
    assert isinstance(node, tree.Chain)
    found = _ends(node.parts[0], of)
    for sign, part in zip(node.signs, node.parts[1:], strict=True):
        found = _joined(found, sign, _ends(part, of))
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


def names_of(select: tree.Select) -> list[str]:
    """Return the names of the outputs, all different."""
    found: list[str] = []
    for item in select.items:
        of = bare(item.of)
        if item.alias is not None:
            name = item.alias.text if item.alias.quoted else item.alias.text.lower()
        elif isinstance(of, tree.Column):
            name = of.name.text if of.name.quoted else of.name.text.lower()
        else:
            name = printed(of)
        if name.casefold() in {one.casefold() for one in found}:
            raise ParameterError(f"Two things are called {name}; rename the output by AS.")
        found.append(name)
    return found


def _outside(select: tree.Select) -> list[tree.Select]:
    """Return the selects around the private one, from the inside out."""
    found = []
    while isinstance(select.source, tree.Inner):
        found.append(select)
        select = select.source.select
    return found[::-1]


def _check_outputs(select: tree.Select, scope: Scope) -> None:
    """Refuse an output that is called like a column which is used: which of the two is meant nobody can tell."""
    for item in select.items:
        of = bare(item.of)
        if item.alias is None or (isinstance(of, tree.Column) and same_name(item.alias, of.name)):
            continue
        for column in _columns(select):
            if column.table is None and same_name(item.alias, column.name) and scope.has(column):
                raise ParameterError(f"Two things are called {item.alias.text}; rename the output.")


def _columns(node: object) -> list[tree.Column]:
    if isinstance(node, tree.Column):
        return [node]
    if isinstance(node, tuple):
        return [found for part in node for found in _columns(part)]
    fields = getattr(node, "__dataclass_fields__", ())
    return [found for name in fields for found in _columns(getattr(node, name))]


def _computed(
    select: tree.Select, columns: Mapping[str, tuple[Any, ...]]
) -> tuple[list[str], dict[str, tuple[Any, ...]]]:
    """Return the rows of an outer select."""
    query = _outer(select, columns)
    found = run(query, {f"i{place}": column for place, column in enumerate(columns.values())})
    return list(query.names), {name: found[f"c{place}"] for place, name in enumerate(query.names)}


def _outer(select: tree.Select, columns: Mapping[str, tuple[Any, ...]]) -> Query:
    """Return an outer select over the outputs of the one inside."""
    known = {name.casefold(): f"i{place}" for place, name in enumerate(columns)}
    exact = {name: f"i{place}" for place, name in enumerate(columns)}
    shown = names_of(select)

    def stands(node: tree.Expression) -> str | None:
        if not isinstance(node, tree.Column):
            return None
        name = node.name
        found = exact.get(name.text) if name.quoted else known.get(name.text.casefold())
        if found is None:
            places = [
                place
                for place, item in enumerate(select.items)
                if item.alias is not None and same_name(item.alias, name) and not isinstance(bare(item.of), tree.Column)
            ]
            found = f"c{places[0]}" if places else None
        if found is None:
            raise ParameterError(f"{printed(node)} is not an output of the private part.")
        return found

    return query_of(select, stands, shown, outer=True)


def read_statement(text: str, database: Database) -> Statement:
    """Return a statement made ready, or refuse it."""
    parsed = understood(text, database)
    written = _statement(parsed, database, *plan_of(parsed, database))
    written.check()
    ordered = _settled(parsed, database)
    found = _in_cases(ordered) or ordered
    earlier = {one.selects: one for one in (written, ordered) if one.selects != found.selects}
    return replace(found, before=tuple(earlier.values())) if earlier else found


def _settled(parsed: tree.Statement, database: Database) -> Statement:
    """Return the one form of what differs in the order of its items, and in how its days are written."""
    plan, scope = plan_of(parsed, database, days=True)
    # Which aggregate is named first changes no number, so all orders are one question, paid once.
    alike = replace(plan, totals=tuple(sorted(plan.totals, key=lambda total: total.text)))
    return _statement(parsed, database, alike, scope)


def _in_cases(statement: Statement) -> Statement | None:
    """Return a statement with its clamps as CASE; None if it has none, or if they are too long to be written so."""
    if not 1 <= clamps_in(parse_statement(statement.sql)) <= MOST_NESTED:
        return None
    keys, names = {key.text for key in statement.plan.keys}, scope_names(statement.scope)

    def is_key(node: tree.Expression) -> bool:
        try:
            return canonical(node, names) in keys
        except ParameterError:
            return False

    try:
        found = _settled(asked_in_cases(statement.parsed, is_key), statement.database)
        for select in found.selects:
            select.canonical(statement.database)
    except ParameterError:
        return None
    return replace(found, clamped=True)


def _statement(parsed: tree.Statement, database: Database, plan: StatementPlan, scope: Scope) -> Statement:
    selects = tuple(Select(plan.text(totals)) for _, totals in parts_of(plan))
    return Statement(parsed, database, plan, scope, selects, tuple(total.text for total in plan.totals))
