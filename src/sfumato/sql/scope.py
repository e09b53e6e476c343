"""Which column a name means: the tables of a FROM clause, how each is reached, what reading it reads (SQ-FLAT)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sfumato.errors import ParameterError
from sfumato.grammar import printed, tree
from sfumato.grammar.printing import printed_name
from sfumato.table.database import Database, PublicTable
from sfumato.table.expression import Expression
from sfumato.table.flat import Flat, Joined, PersonTable, Place, Side, computed, leaf
from sfumato.table.schema import RESERVED
from sfumato.table.where import declared
from sfumato.words import nearest

MOST_TABLES = 12


@dataclass(frozen=True)
class Written:
    """What a table of WITH reads by what was written: to have a row at all, and for each of its items."""

    presence: frozenset[str]
    items: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Per:
    """A resolved table of WITH: its name, what the person is called in it, and its rows."""

    name: str
    person: str
    table: PersonTable
    text: str
    written: Written
    """What it reads by what was written."""

    @property
    def presence(self) -> frozenset[str]:
        """What decides whether a person has a row."""
        return self.table.flat.presence


@dataclass(eq=False)
class _Seat:
    """One table of a FROM clause while it is being placed."""

    written: tree.Table
    table: str
    kind: str
    name: str
    reads: frozenset[str] = frozenset()
    """What is read by being led here: the links on the way."""
    absent: bool = False
    placed: bool = False


@dataclass(eq=False)
class Scope:
    """The names of one FROM clause."""

    database: Database
    pers: Mapping[str, Per]
    seats: list[_Seat] = field(default_factory=list)
    flat: Flat | None = None
    source: str = ""
    """The FROM clause in canonical form, made from the plan."""
    extra: list[tree.Expression] = field(default_factory=list)
    """Conditions of ON that belong to WHERE."""

    # Names

    def seat(self, name: tree.Name) -> _Seat:
        """Return the table that a name before a dot means."""
        called = {(seat.written.alias or seat.written.name): seat for seat in self.seats}
        for alias, seat in called.items():
            if _same(name, alias, seat.table):
                return seat
        raise ParameterError(
            f"There is no table {name.text!r} here; {nearest(name.text, [one.text for one in called])}"
        )

    def _has(self, seat: _Seat, name: tree.Name) -> str | None:
        """Return the column of a table that a name means, None if it has none."""
        found = declared(name, self.columns(seat))
        return found if found in self.columns(seat) else None

    def columns(self, seat: _Seat) -> list[str]:
        """Return all names that a table has, its person and its links too."""
        if seat.kind == "person":
            per = self.pers[seat.table]
            return [*per.table.items, per.person]
        if seat.kind == "public":
            return [*self.database.known[seat.table].schema.names, *self.database.links_of(seat.table)]
        schema = self.database.private[seat.table]
        person = [] if schema.person is None else [schema.person]
        key = self.database.key_of(seat.table)
        return [*schema.names, *person, *self.database.links_of(seat.table), *([] if key is None else [key])]

    def found(self, column: tree.Column) -> tuple[_Seat, str]:
        """Return the table and the name of a column."""
        if column.table is not None:
            seat = self.seat(column.table)
            name = self._has(seat, column.name)
            if name is None:
                raise ParameterError(
                    f"{seat.name} has no column {column.name.text!r}; {nearest(column.name.text, self.columns(seat))}"
                )
            return seat, name
        found = [(seat, name) for seat in self.seats if (name := self._has(seat, column.name)) is not None]
        if not found:
            known = [name for seat in self.seats for name in self.columns(seat)]
            text = f" A text stands in single quotes: '{column.name.text}'." if column.name.quoted else ""
            raise ParameterError(f"There is no column {column.name.text!r}; {nearest(column.name.text, known)}{text}")
        if len(found) > 1 and not all(self.is_person(seat, name) for seat, name in found):
            listed = " or ".join(f"{seat.name}.{name}" for seat, name in found)
            raise ParameterError(f"Several tables have {column.name.text!r}; write {listed}.")
        return next((one for one in found if not one[0].absent), found[0])

    def is_person(self, seat: _Seat, name: str) -> bool:
        """Tell whether a column says whose row it is."""
        if seat.kind == "person":
            return name == self.pers[seat.table].person
        return seat.kind != "public" and name == self.database.private[seat.table].person

    def names_person(self, node: tree.Expression) -> bool:
        """Tell whether an expression is the person column of some table here; refuse one that may be missing."""
        node = bare(node)
        if not isinstance(node, tree.Column) or not self.has(node) or not self.is_person(*self.found(node)):
            return False
        self.require_there(self.found(node)[0])
        return True

    def require_there(self, seat: _Seat) -> None:
        """Refuse to know a person by a table of a LEFT JOIN, in which they are missing if they have no row there."""
        if seat.absent:
            there = next(one for one in self.seats if not one.absent and one.kind != "public")
            raise ParameterError(
                f"{seat.name}.{_person(self, seat)} is missing for people without a row in {seat.name}; write "
                f"{there.name}.{_person(self, there)}."
            )

    def has(self, column: tree.Column) -> bool:
        """Tell whether some table here has a column."""
        try:
            self.found(column)
        except ParameterError:
            return False
        return True

    def expression(self, column: tree.Column) -> Expression:
        """Return a column as an expression."""
        seat, name = self.found(column)
        text = f"{printed_name(seat.name)}.{printed_name(name)}"
        if self.is_person(seat, name):
            raise ParameterError(
                f"{text} says who somebody is; count it by COUNT(DISTINCT {name}), or group by it inside WITH."
            )
        if name in self.database.links_of(seat.table) and seat.kind != "person":
            raise ParameterError(f"{text} is a link; {self._joining(seat, name)}")
        if seat.kind == "person":
            item = self.pers[seat.table].table.items[name]
            reads = item.reads | self.pers[seat.table].presence
            return computed(seat.name, name, item, text, absent=seat.absent, reads=reads)
        if seat.kind == "public":
            return leaf(Place(seat.name, self.database.known[seat.table].schema, seat.reads, seat.absent), name, text)
        if name == self.database.key_of(seat.table):
            raise ParameterError(f"{text} is what links lead to and no attribute; it is joined on, and nothing else.")
        schema = self.database.private[seat.table]
        base = schema.base(name)
        private = frozenset({self.database.attribute(seat.table, base)}) if base in schema.attributes else frozenset()
        return leaf(Place(seat.name, schema, private | seat.reads, seat.absent), name, text)

    def _joining(self, seat: _Seat, link: str) -> str:
        """Return what to write for a link: a column of the table that it leads to, and the join of it."""
        to = self.database.links_of(seat.table)[link]
        key, name = printed_name(str(self.database.key_of(to))), printed_name(to)
        is_events = to in self.database.private
        if any(other.kind != "person" and other.table == to for other in self.seats):
            return f"write a column of {to}, which is joined already{'' if is_events else f', such as its {key}'}."
        on = [f"{seat.name}.{printed_name(link)} = {name}.{key}"]
        if is_events:
            people = [str(self.database.private[table].person) for table in (seat.table, to)]
            on.insert(0, f"{seat.name}.{printed_name(people[0])} = {name}.{printed_name(people[1])}")
        such = "" if is_events else f", such as {name}.{key}"
        return f"write JOIN {name} ON {' AND '.join(on)}, and then a column of {to}{such}."


def bare(node: tree.Expression) -> tree.Expression:
    """Return an expression without the brackets around it."""
    while isinstance(node, tree.Brackets):
        node = node.inside
    return node


def _same(name: tree.Name, alias: tree.Name, table: str) -> bool:
    known = alias.text if alias.quoted else alias.text.casefold()
    return name.text == alias.text if name.quoted else name.text.casefold() == known.casefold()


def given(name: tree.Name, *, keep_case: bool = False) -> str:
    """Return a name that a statement gives to something; it becomes a part of the names of columns in an engine.

    With a dot in it `"a.b".x` and `a."b.x"` would be one column, of which one is read and the other is charged for.
    """
    if "." in name.text or "\x00" in name.text or not name.text or name.text.casefold().startswith(RESERVED):
        raise ParameterError(
            f"{name.text!r} cannot be a name here; write one without a dot that does not start with {RESERVED!r}."
        )
    return name.text if name.quoted or keep_case else name.text.lower()


def open_scope(source: tree.Source, database: Database, pers: Mapping[str, Per]) -> Scope:
    """Return the names and the flat rows of a FROM clause."""
    scope = Scope(database, pers)
    written = [source.table, *(join.table for join in source.joins)]
    if len(written) > MOST_TABLES:
        raise ParameterError(f"A statement reads at most {MOST_TABLES} tables; write fewer.")
    scope.seats = [_seat(table, database, pers) for table in written]
    _check_seats(scope)
    links = [_link(scope, join, place + 1) for place, join in enumerate(source.joins)]
    anchor = _anchor(scope, links)
    anchor.placed = True
    joins, text = _placed(scope, anchor, links)
    side = Side(anchor.name, anchor.table, anchor.kind, *_rows_of(anchor, pers))
    people = anchor.kind == "people"
    rows = 1 if anchor.kind != "event" else database.private[anchor.table].rows_per_person
    occurs = people or (anchor.kind == "event" and len(database.private) == 1)
    scope.flat = Flat(side, joins, rows, anchor.kind != "event", occurs)
    scope.source = text
    return scope


def _rows_of(seat: _Seat, pers: Mapping[str, Per]) -> tuple[frozenset[str], PersonTable | None]:
    return (pers[seat.table].presence, pers[seat.table].table) if seat.kind == "person" else (frozenset(), None)


def _seat(table: tree.Table, database: Database, pers: Mapping[str, Per]) -> _Seat:
    name = declared(table.name, [*pers, *database.tables])
    if name in pers:
        return _Seat(table, name, "person", name)
    if name not in database.tables:
        raise ParameterError(
            f"There is no table {table.name.text!r}; {nearest(table.name.text, [*pers, *database.tables])}"
        )
    if isinstance(database.tables[name], PublicTable):
        return _Seat(table, name, "public", name)
    return _Seat(table, name, "people" if name == database.people_table else "event", name)


def _check_seats(scope: Scope) -> None:
    aliases = [(seat.written.alias or seat.written.name).text.casefold() for seat in scope.seats]
    if len(set(aliases)) != len(aliases):
        raise ParameterError("Two tables have one name here; write AS and another name for one.")
    for seat in scope.seats:
        twins = [one for one in scope.seats if one.table == seat.table]
        if len(twins) > 1 and seat.kind != "public":
            raise ParameterError(_TWICE.format(people=scope.database.people_table or "one of them"))
        if len(twins) > 1:
            seat.name = given(seat.written.alias or seat.written.name, keep_case=True)
    if len({seat.name.casefold() for seat in scope.seats}) != len(scope.seats):
        raise ParameterError("A table has the name of another one here; write AS and another name for it.")


_TWICE = (
    "Two private tables, or one twice, would put rows of a person beside each other; write one WITH per table, grouped "
    "by the person, and LEFT JOIN them to {people}."
)


def _anchor(scope: Scope, links: Sequence[_Condition]) -> _Seat:
    """Return the table whose rows are counted: of events the one that no other leads to, and there is one of these."""
    led = [link.ends[1] for link in links if link.link is not None]
    if sum(seat.kind == "event" and seat not in led for seat in scope.seats) > 1:
        raise ParameterError(_TWICE.format(people=scope.database.people_table or "one of them"))
    for kind in ("event", "people", "person"):
        for seat in scope.seats:
            if seat.kind == kind and seat not in led:
                return seat
    raise ParameterError(f"{scope.seats[0].table} is public; query it directly.")


@dataclass(frozen=True, eq=False)
class _Condition:
    """What joins two tables: by the person, or from a child's link to the key of a parent."""

    left: bool
    new: _Seat
    ends: tuple[_Seat, _Seat]
    link: str | None
    by: _Seat | None = None
    """Of events that lead to events, the table whose person was written as that of the new one."""


def _link(scope: Scope, join: tree.Join, place: int) -> _Condition:
    new, before = scope.seats[place], scope.seats[:place]
    on = bare(join.on)
    parts = list(on.parts) if isinstance(on, tree.Chain) and set(on.signs) == {"AND"} else [on]
    known = [(part, condition) for part in parts if (condition := _condition(scope, part, new, before, join.left))]
    found = _both(known) or known[:1]
    if not found:
        raise ParameterError(_not_linked(scope, new, join))
    others = [part for part in parts if all(part is not one for one, _ in found)]
    scope.extra += others
    if join.left and others:
        raise ParameterError(
            "The ON of a LEFT JOIN is the link alone; write the other conditions in WHERE, or inside the WITH."
        )
    condition, *persons = (one for _, one in found)
    if not persons and {seat.kind for seat in condition.ends} == {"event"}:
        raise ParameterError(_half(scope, condition))
    return replace(condition, by=persons[0].ends[0]) if persons else condition


_Known = tuple[tree.Expression, _Condition]


def _both(known: Sequence[_Known]) -> Sequence[_Known]:
    """Return the link of events to events and the person beside it, without which it would lead to other people's."""
    links = [one for one in known if one[1].link is not None and one[1].ends[1].kind == "event"]
    persons = [one for one in known if one[1].link is None]
    return [links[0], persons[0]] if links and persons else []


def _half(scope: Scope, condition: _Condition) -> str:
    """Say what is missing where two tables of events are joined by the person alone, or by a link alone."""
    for child, parent in (condition.ends, condition.ends[::-1]):
        for link, to in scope.database.links_of(child.table).items():
            if to == parent.table:
                ends = [(_person(scope, child), _person(scope, parent)), (link, scope.database.key_of(to))]
                shown = " AND ".join(f"{child.name}.{one} = {parent.name}.{two}" for one, two in ends)
                return f"A row of {child.name} leads to one of the same person in {parent.name}; write ON {shown}."
    return _TWICE.format(people=scope.database.people_table or "one of them")


def _not_linked(scope: Scope, new: _Seat, join: tree.Join) -> str:
    for other in scope.seats:
        if other is not new and other.kind == new.kind == "event":
            return _half(scope, _Condition(False, new, (other, new), None))
        if other is not new and "public" not in (other.kind, new.kind):
            ends = [f"{seat.name}.{_person(scope, seat)}" for seat in (other, new)]
            return (
                f"{other.name} and {new.name} are linked by {ends[0]} = {ends[1]}; {printed(join.on)} links different "
                "people."
            )
    links = [f"{link.column} = {link.to}.{scope.database.key_of(link.to)}" for link in scope.database.links]
    return f"{printed(join.on)} is no declared link; the links are {', '.join(links) or 'none'}."


def _person(scope: Scope, seat: _Seat) -> str:
    return scope.pers[seat.table].person if seat.kind == "person" else str(scope.database.private[seat.table].person)


def _condition(scope: Scope, part: tree.Expression, new: _Seat, before: list[_Seat], left: bool) -> _Condition | None:
    part = bare(part)
    if not isinstance(part, tree.Comparison) or part.sign != "=":
        return None
    sides = [bare(part.left), bare(part.right)]
    columns = [scope.found(side) for side in sides if isinstance(side, tree.Column)]
    if len(columns) != 2:
        return None
    (one, first), (two, second) = columns if columns[0][0] is not new else columns[::-1]
    if two is not new or one not in before:
        return None
    if scope.is_person(one, first) and scope.is_person(two, second):
        return _Condition(left, new, (one, two), None)
    for child, link, parent, key in ((one, first, two, second), (two, second, one, first)):
        to = scope.database.links_of(child.table).get(link) if child.kind != "person" else None
        if to is not None and parent.kind != "person" and parent.table == to and key == scope.database.key_of(to):
            return _Condition(left, new, (child, parent), link)
    return None


def _placed(scope: Scope, anchor: _Seat, links: list[_Condition]) -> tuple[tuple[Joined, ...], str]:
    """Reach every table from the anchor; refuse a LEFT JOIN whose right side is not what is looked up."""
    joins: list[Joined] = []
    text = printed_name(anchor.table)
    waiting = list(links)
    while waiting:
        ready = next((one for one in waiting if _lookup(one) is not None), None)
        if ready is None:
            raise ParameterError(
                "A table is joined to nothing that leads to it; join it along its link or by the person."
            )
        waiting.remove(ready)
        found = _lookup(ready)
        assert found is not None
        if found.placed:
            continue
        if ready.link is None:
            scope.require_there(ready.ends[0] if found is ready.ends[1] else ready.ends[1])
        if ready.left and found is not ready.new:
            ready = _turned(scope, ready, found)
        joins.append(_join(scope, ready, found))
        text += _join_text(scope, ready, found, anchor)
        found.placed = True
    for link in links:
        if link.by is not None and link.by not in link.ends:
            scope.require_there(link.by)
    return tuple(joins), text


def _turned(scope: Scope, link: _Condition, found: _Seat) -> _Condition:
    """Return a LEFT JOIN whose right side is not what is looked up as a JOIN, if that is the same; else refuse it."""
    new = link.new
    if new.kind == "people" and found.kind == "person":
        return replace(link, left=False)  # everybody of the left side is among the people
    if found.kind in ("public", "event"):
        raise ParameterError(
            f"{new.name} LEFT JOIN {found.name} keeps the rows of {new.name}; write it that way round, or JOIN."
        )
    person = _person(scope, new)
    raise ParameterError(
        f"{new.name} has several rows a person; write WITH v AS (SELECT {person}, … FROM {new.table} GROUP BY "
        f"{person}) and LEFT JOIN v."
    )


def _lookup(link: _Condition) -> _Seat | None:
    """Return the end that is looked up from the other one, None if nothing leads to it yet."""
    child, parent = link.ends
    if link.link is not None:
        return parent if child.placed else None
    if child.placed and parent.placed:
        return parent
    return parent if child.placed else child if parent.placed else None


def _join(scope: Scope, link: _Condition, found: _Seat) -> Joined:
    people = found.kind == "people"
    found.absent = link.left and not people
    if link.link is None:
        presence = scope.pers[found.table].presence if found.kind == "person" else frozenset()
        side = Side(found.name, found.table, found.kind, *_rows_of(found, scope.pers))
        return Joined(side, link.left and not people, None, presence, drops=not people)
    child = link.ends[0]
    found.reads = child.reads
    if child.kind != "public":
        found.reads |= {scope.database.attribute(child.table, link.link)}
    return Joined(Side(found.name, found.table, found.kind), link.left, (child.name, link.link), found.reads)


def _join_text(scope: Scope, link: _Condition, found: _Seat, anchor: _Seat) -> str:
    other = link.ends[0] if found is link.ends[1] else link.ends[1]
    equal: list[tuple[_Seat, str, str | None]] = []
    if link.link is None or link.by is not None:
        # Whose rows they are is told by the anchor, which is always there.
        whose = other if link.link is None else anchor
        equal.append((whose, _person(scope, whose), _person(scope, found)))
    if link.link is not None:
        equal.append((other, link.link, scope.database.key_of(found.table)))
    word = " LEFT JOIN" if link.left else " JOIN"
    alias = "" if found.name == found.table else f" AS {printed_name(found.name)}"
    on = (
        f"{printed_name(seat.name)}.{printed_name(one)} = {printed_name(found.name)}.{printed_name(str(two))}"
        for seat, one, two in equal
    )
    return f"{word} {printed_name(found.table)}{alias} ON {' AND '.join(on)}"


def with_condition(flat: Flat, where: Expression | None) -> Flat:
    """Return the flat rows for which a condition is true."""
    if where is not None and where.kind != "truth":
        raise ParameterError(f"{where.text} is no condition; write a comparison.")
    return replace(flat, where=where)
