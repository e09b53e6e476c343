"""Worlds of several tables: people, two tables of their events and public ones, and what one person can make of them.

Events of somebody who is not among the people, of nobody, links that lead nowhere or are missing, a person who is there
twice, people without an event and people with more rows than count are in every base; neighbours differ in one person's
records in all tables at once, in one or two attributes of them, or in one person more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import pyarrow
import pytest

from sfumato import Database, Link, PublicTable, Schema
from sfumato.domain import categories, fixed, integers, text
from sfumato.table import own
from sfumato.table.own import OpenDatabase, open_database
from tests.replay import harness, seam
from tests.replay.worlds import Draws

Row = dict[str, Any]
Data = dict[str, list[Row]]
"""The private tables by name."""

KINDS = {
    "people": {"id": pyarrow.string(), "sex": pyarrow.string(), "age": pyarrow.int64(), "town": pyarrow.string()},
    "visits": {"id": pyarrow.string(), "kind": pyarrow.string(), "cost": pyarrow.float64(), "note": pyarrow.string(),
               "place": pyarrow.int64(), "visit": pyarrow.int64()},
    "drugs": {"id": pyarrow.string(), "dose": pyarrow.int64(), "visit": pyarrow.int64()},
}  # fmt: skip
PUBLIC = {
    "towns": pyarrow.table({"town": ["A", "B", "C"], "region": ["north", "south", None]}),
    "places": pyarrow.table({"place": [1, 2, 3, 4], "mark": ["u", "u", "v", None], "beds": [2, -1, 2, None], "town": ["A", "B", "X", None]}),
}  # fmt: skip
LOW: Mapping[str, Row] = {
    "people": {"sex": "f", "age": 0, "town": "A"},
    "visits": {"kind": "a", "cost": -1.0, "note": "s", "place": 2},
    "drugs": {"dose": 0},
}
HIGH: Mapping[str, Row] = {
    "people": {"sex": "m", "age": 7, "town": "B"},
    "visits": {"kind": "b", "cost": 2.0, "note": "t", "place": 3},
    "drugs": {"dose": 3},
}
INSIDE: Mapping[str, Row] = {**HIGH, "visits": {**HIGH["visits"], "kind": "a", "place": 1}}
"""High values that pass every condition that is asked with."""
CUT = 0.5
"""A cost at the end of what a condition lets pass; the other one is -0.5."""
ODD: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "people": {"sex": (None, "zz"), "age": (None, 99), "town": (None, "nowhere")},
    "visits": {"kind": (None, "zz"), "cost": (None, CUT, -CUT, float("nan"), float("inf")), "note": (None, "7", ""), "place": (None, 9, 4)},
    "drugs": {"dose": (None, -5)},
}  # fmt: skip


@dataclass(frozen=True)
class DatabaseWorld:
    """A database, and how many of a person's events count."""

    name: str
    schema: Database
    rows: int
    scale: int = 6

    @property
    def attributes(self) -> tuple[str, ...]:
        """What limits may name."""
        return self.schema.attributes

    @property
    def tables(self) -> tuple[str, ...]:
        """The private tables."""
        return tuple(self.schema.private)


def database_worlds() -> list[DatabaseWorld]:
    """Return databases with a people table and without one, with events that count once or twice."""
    found = []
    for name, rows, roster in (("two events", 2, True), ("one event", 1, True), ("all who occur", 2, False)):
        private = {
            "people": Schema({"sex": categories("f", "m"), "age": integers(0, 7)}, person="id", row_key=()),
            "visits": Schema(
                {
                    "kind": categories("a", "b", missing="a"),
                    "cost": fixed(-1, 2, step="0.5"),
                    "note": text(max_bytes=2),
                },
                person="id",
                rows_per_person=rows,
            ),
            "drugs": Schema({"dose": integers(0, 3, missing=0)}, person="id", rows_per_person=1),
        }
        links = (Link("people.town", "towns"), Link("visits.place", "places"), Link("places.town", "towns"))
        if not roster:
            private.pop("people")
            links = links[1:]
        tables = {**private, "towns": PublicTable("town"), "places": PublicTable("place")}
        found.append(DatabaseWorld(name, Database(tables, "people" if roster else None, links), rows))
    return found


def opened_data(world: DatabaseWorld, data: Data) -> OpenDatabase:
    """Open a tiny database."""
    sources: dict[str, Any] = dict(PUBLIC)
    for name in world.tables:
        rows = data[name]
        sources[name] = pyarrow.table(
            {column: pyarrow.array([row.get(column) for row in rows], kind) for column, kind in KINDS[name].items()}
        )
    return open_database(sources, world.schema, scale=world.scale)


# The base, and its neighbours


@dataclass(frozen=True)
class Beside:
    """Another database: the attributes of one person that changed, or None where the person did."""

    name: str
    rows: Data
    changed: frozenset[str] | None
    relation: str = "both"


def record(person: str, cells: Mapping[str, Row], visits: int, drugs: int = 1) -> Data:
    """Return somebody with so many equal events."""
    return {
        "people": [{"id": person, **cells["people"]}],
        "visits": [{"id": person, **cells["visits"]} for _ in range(visits)],
        "drugs": [{"id": person, **cells["drugs"]} for _ in range(drugs)],
    }


def base(draw: Draws, world: DatabaseWorld) -> Data:
    """Return people of every sort, and rows that belong to nobody."""
    records = [
        record("p", LOW, world.rows),
        record("h", INSIDE, world.rows),
        record("n", LOW, 0, 0) if "people" in world.tables else record("n", LOW, 0, 1),
        _random(draw, "q", 5, 2),
        _random(draw, "r", 1, 1),
        _spread("e", world),
    ]
    twice = record("d", LOW, world.rows)
    twice["people"].append({"id": "d", **HIGH["people"]})
    found = _joined([*records, twice])
    # Somebody who is not among the people, and nobody.
    stray = record("g", INSIDE, 3)
    for name in ("visits", "drugs"):
        found[name] += [*(stray[name] if "people" in world.tables else []), {"id": None, **HIGH[name]}]
    found["people"].append({"id": None, **HIGH["people"]})
    return found


def _spread(person: str, world: DatabaseWorld) -> Data:
    """Return somebody with one event in each cell: they move numbers of people furthest."""
    cells = [{**INSIDE["visits"], "kind": kind, "place": place} for kind in ("a", "b", "zz") for place in (1, 3, 9)]
    return {**record(person, INSIDE, 0), "visits": [{"id": person, **one} for one in cells]}


def _random(draw: Draws, person: str, visits: int, drugs: int) -> Data:
    counts = {"people": 1, "visits": visits, "drugs": drugs}
    return {
        name: [{"id": person, **{column: _cell(draw, name, column) for column in LOW[name]}} for _ in range(count)]
        for name, count in counts.items()
    }


def _cell(draw: Draws, table: str, column: str) -> Any:
    odd = draw.chance(0.25)
    return draw.one_of(ODD[table][column]) if odd else draw.one_of((LOW[table][column], HIGH[table][column]))


def _joined(records: Sequence[Data]) -> Data:
    return {name: [row for one in records for row in one[name]] for name in KINDS}


def _without(data: Data, person: str) -> Data:
    return {name: [row for row in rows if row["id"] != person] for name, rows in data.items()}


def _exchanged(data: Data, person: str, other: Data) -> Data:
    return _joined([_without(data, person), other])


def _changed(data: Data, person: str, cells: Mapping[str, Callable[[int], Any]]) -> Data:
    """Return the data in which attributes of one person are others; `cells` has the cell of their n-th row."""
    found = dict(data)
    for name, made in cells.items():
        table, column = name.split(".")
        count = 0
        rows = []
        for row in found[table]:
            rows.append({**row, column: made(count)} if row["id"] == person else row)
            count += row["id"] == person
        found[table] = rows
    return found


def neighbours(draw: Draws, world: DatabaseWorld, data: Data) -> Iterator[Beside]:
    """Yield one person for another, one person more or less, and every attribute of one person."""
    yield from _persons(draw, world, data)
    for name in world.attributes:
        yield from _attribute(draw, data, name)


def _persons(draw: Draws, world: DatabaseWorld, data: Data) -> Iterator[Beside]:
    rows, roster = world.rows, "people" in world.tables
    for name, person, other in (
        ("low to high", "p", record("p", HIGH, rows)),
        ("low to inside", "p", record("p", INSIDE, rows)),
        ("inside to low", "h", record("h", LOW, rows)),
        ("inside to high", "h", record("h", HIGH, rows)),
        ("no event", "h", record("h", INSIDE, 0, 0 if roster else 1)),
        ("one event more", "h", record("h", INSIDE, rows + 1, 2)),
        ("one event for many", "q", _random(draw, "q", 1, 0)),
        ("another name", "p", record("m", INSIDE, rows)),
        ("everywhere", "p", _spread("p", world)),
        ("nowhere", "e", record("e", LOW, 0, 0 if roster else 1)),
    ):
        yield Beside(name, _exchanged(data, person, other), None, "replace")
    if roster:
        there = _without(data, "p")
        yield Beside(
            "g in the place of p",
            {**there, "people": [*there["people"], {"id": "g", **HIGH["people"]}]},
            None,
            "replace",
        )
        twice = {**data, "people": [*data["people"], {"id": "h", **LOW["people"]}]}
        yield Beside("h is there twice", twice, None, "replace")
        yield Beside(
            "g comes", {**data, "people": [*data["people"], {"id": "g", **HIGH["people"]}]}, None, "add-remove"
        )
    for person in "pheqd":
        yield Beside(f"without {person}", _without(data, person), None, "add-remove")
    yield Beside("with m", _joined([data, record("m", HIGH, rows)]), None, "add-remove")
    edge = {**INSIDE, "visits": {**INSIDE["visits"], "cost": CUT}}
    yield Beside("with m at the cut", _joined([data, record("m", edge, rows)]), None, "add-remove")


def _attribute(draw: Draws, data: Data, name: str) -> Iterator[Beside]:
    table, column = name.split(".")
    one = frozenset({name})
    for person, cells in (("p", HIGH), ("p", INSIDE), ("h", LOW), ("h", HIGH)):
        yield Beside(f"{name} of {person}", _changed(data, person, {name: lambda _, c=cells: c[table][column]}), one)
    for odd in ODD[table][column]:
        yield Beside(f"{name} of h to {odd!r}", _changed(data, "h", {name: lambda _, c=odd: c}), one)
    yield Beside(f"{name} of d", _changed(data, "d", {name: lambda _: HIGH[table][column]}), one)
    turned = (LOW[table][column], HIGH[table][column], ODD[table][column][-1])
    yield Beside(f"{name} of e to one", _changed(data, "e", {name: lambda _: INSIDE[table][column]}), one)
    yield Beside(f"{name} of e", _changed(data, "e", {name: lambda at: turned[(at + 1) % 3]}), one)
    yield Beside(f"{name} of q", _changed(data, "q", {name: lambda _: _cell(draw, table, column)}), one)


def pairs(draw: Draws, world: DatabaseWorld, data: Data) -> Iterator[Beside]:
    """Yield changes of two attributes at once."""
    for both in combinations(world.attributes, 2):
        for person, cells in (("p", HIGH), ("h", LOW)):
            made = {name: lambda _, n=name, c=cells: c[n.split(".")[0]][n.split(".")[1]] for name in both}
            yield Beside(f"{both} of {person}", _changed(data, person, made), frozenset(both))
        drawn = {name: lambda _, n=name: _cell(draw, *n.split(".")) for name in both}
        yield Beside(f"{both} of q", _changed(data, "q", drawn), frozenset(both))


@contextmanager
def opened(
    world: DatabaseWorld,
    seed: int,
    only: Callable[[str], bool] = lambda _: True,
    made: Any = neighbours,
    first_of: Any = base,
) -> Iterator[harness.Tables]:
    """Open a base, which `first_of` makes, and its neighbours; `only` tells by name which are wanted."""
    draw = Draws(seed)
    data = first_of(draw, world)
    opened_here: dict[str, OpenDatabase] = {}

    def open_one(cells: Data) -> OpenDatabase:
        # What some neighbours change is there already, or reaches no table here: equal rows are opened once.
        rows = repr([cells[name] for name in world.tables])
        if rows not in opened_here:
            opened_here[rows] = opened_data(world, cells)
        return opened_here[rows]

    with seam.remembering(), pytest.MonkeyPatch.context() as patch:
        # The public tables are the same for all.
        public = own.read_public_tables(PUBLIC, world.schema)
        patch.setattr(own, "read_public_tables", lambda *_: public)
        try:
            first = open_one(data)
            # What was read from the public tables is part of the database from here on.
            found = harness.Tables(replace(world, schema=first.database), [data], first, [])  # type: ignore[arg-type, list-item]
            for one in made(draw, world, data):
                if only(one.name):
                    found.others.append((one, open_one(one.rows)))
            yield found
        finally:
            for table in opened_here.values():
                table.close()


PLACES = "visits {join} JOIN places ON visits.place = places.place"
PER = "WITH per AS (SELECT id, {what} AS v FROM visits{where} GROUP BY id) "
LEFT = "FROM people LEFT JOIN per ON people.id = per.id"

STATEMENTS = {
    "visits": "SELECT COUNT(*) FROM visits",
    "visits by kind": "SELECT kind, COUNT(*) FROM visits GROUP BY kind",
    "sum": "SELECT SUM(cost) FROM visits",
    "sum by kind": "SELECT kind, SUM(cost) FROM visits GROUP BY kind",
    "sum above zero": "SELECT SUM(cost + 2) FROM visits",
    "narrowed": "SELECT SUM(cost + 2) FROM visits WHERE cost <= 0.5",
    "not narrowed": "SELECT SUM(cost) FROM visits WHERE cost <= 0.5 OR kind = 'a'",
    "mean where": "SELECT AVG(cost) FROM visits WHERE kind = 'a'",
    "texts": "SELECT COUNT(note) FROM visits",
    "drugs": "SELECT SUM(dose) FROM drugs",
    "join drops": f"SELECT COUNT(*) FROM {PLACES.format(join='')}",
    "left by mark": f"SELECT mark, COUNT(*) FROM {PLACES.format(join='LEFT')} GROUP BY mark",
    "join sum": f"SELECT SUM(beds) FROM {PLACES.format(join='')}",
    "left sum": f"SELECT SUM(beds) FROM {PLACES.format(join='LEFT')}",
    "left present": f"SELECT COUNT(beds) FROM {PLACES.format(join='LEFT')}",
    "left where": f"SELECT SUM(cost) FROM {PLACES.format(join='LEFT')} WHERE mark = 'u'",
    "two lookups": f"SELECT region, COUNT(*) FROM {PLACES.format(join='')} LEFT JOIN towns ON places.town = towns.town GROUP BY region",
    "expression": "SELECT SUM(CASE WHEN kind = 'a' THEN -cost * 2 ELSE 1 END) FROM visits",
    "filter": "SELECT kind, SUM(cost) FILTER (WHERE note = 't') FROM visits GROUP BY kind",
    "persons": "SELECT COUNT(DISTINCT id) FROM visits",
    "persons by kind": "SELECT kind, COUNT(DISTINCT id) FROM visits GROUP BY kind",
    "persons, some": "SELECT COUNT(DISTINCT id) FILTER (WHERE cost > 0) FROM visits",
    "per": PER.format(what="COUNT(*)", where="") + "SELECT COUNT(*) FROM per",
    "per where": PER.format(what="COUNT(*)", where=" WHERE kind = 'a'") + "SELECT SUM(v) FROM per",
    "per clamped": PER.format(what="LEAST(SUM(cost), 2)", where="") + "SELECT SUM(v) FROM per",
    "per least": PER.format(what="MIN(cost)", where="") + "SELECT SUM(v) FROM per WHERE v > -1",
    "per median": PER.format(what="COUNT(*)", where="") + "SELECT MEDIAN(v) FROM per",
    "per by kinds": PER.format(what="COUNT(DISTINCT kind)", where="") + "SELECT v, COUNT(*) FROM per GROUP BY v",
    "per of a per": "WITH per AS (SELECT id, COUNT(*) AS v FROM visits GROUP BY id), more AS (SELECT drugs.id, SUM(dose * per.v) AS w "
    "FROM drugs JOIN per ON per.id = drugs.id GROUP BY drugs.id) SELECT SUM(w) FROM more",
    "events with per": PER.format(what="COUNT(*)", where="")
    + "SELECT SUM(per.v) FROM visits JOIN per ON per.id = visits.id WHERE per.v > 1",
}
BOUND = "CONTRIBUTION_BOUNDS_PER_GROUP =>"
STATEMENTS |= {
    "box": f"SELECT SUM(cost, {BOUND} (-1, 2)) FROM visits",
    "box by kind": f"SELECT kind = 'a', COUNT(*, {BOUND} (0, 1)) FROM visits GROUP BY kind = 'a'",
    "box where": f"SELECT SUM(cost + 2, {BOUND} (0, 3)) FROM visits WHERE kind = 'a'",
    "found": PER.format(what="SUM(cost)", where="") + "SELECT v + 0.0000001, COUNT(*) FROM per GROUP BY v + 0.0000001",
    "found where": PER.format(what="COUNT(*)", where=" WHERE kind = 'a'")
    + "SELECT v + 0.0000001, COUNT(*), SUM(v) FROM per GROUP BY v + 0.0000001",
    "box present": f"SELECT COUNT(cost, {BOUND} (0, 1)) FROM visits",
}
FIRST = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = {}) kind, "
STATEMENTS |= {
    "box, one group": f"{FIRST.format(1)}COUNT(*, {BOUND} (0, 1)) FROM visits GROUP BY kind",
    "box, two groups": f"{FIRST.format(2)}SUM(cost + 2, {BOUND} (0, 3)) FROM visits GROUP BY kind",
    "box, one group, where": f"{FIRST.format(1)}COUNT(*, {BOUND} (0, 1)) FROM visits WHERE cost <= 0.5 GROUP BY kind",
    "found, of events": f"{FIRST.format(2).replace('kind', 'note')}COUNT(DISTINCT id), SUM(cost + 2, {BOUND} (0, 3)) "
    "FROM visits WHERE kind = 'a' GROUP BY note",
    "persons, one group": f"{FIRST.format(1)}COUNT(DISTINCT id) FROM visits GROUP BY kind",
}
OF_PEOPLE = {
    "box by sex": f"SELECT sex, COUNT(*, {BOUND} (0, 1)) FROM visits JOIN people ON visits.id = people.id GROUP BY sex",
    "people": "SELECT COUNT(*) FROM people",
    "people by sex": "SELECT sex, COUNT(*) FROM people GROUP BY sex",
    "people where": "SELECT COUNT(*) FROM people WHERE age > 3",
    "ages": "SELECT AVG(age) FROM people",
    "median age": "SELECT MEDIAN(age) FROM people",
    "people and towns": "SELECT COUNT(*) FROM people JOIN towns ON people.town = towns.town",
    "people left towns": "SELECT region, SUM(age) FROM people LEFT JOIN towns ON people.town = towns.town GROUP BY region",
    "visits by sex": "SELECT sex, SUM(cost) FROM visits JOIN people ON visits.id = people.id GROUP BY sex",
    "persons of visits": "SELECT sex, COUNT(DISTINCT visits.id) FROM visits JOIN people ON visits.id = people.id GROUP BY sex",
    "left per": PER.format(what="COUNT(*)", where=" WHERE kind = 'a'") + f"SELECT sex, AVG(COALESCE(v, 0)) {LEFT} GROUP BY sex",
    "left per missing": PER.format(what="SUM(cost)", where="") + f"SELECT SUM(v) {LEFT}",
    "left per is null": PER.format(what="COUNT(*)", where=" WHERE cost > 0") + f"SELECT COUNT(*) {LEFT} WHERE v IS NULL",
    "two pers": "WITH per AS (SELECT id, COUNT(*) AS v FROM visits GROUP BY id), d AS (SELECT id, MAX(dose) AS w FROM drugs GROUP BY id) "
    f"SELECT SUM(COALESCE(v, 0) * COALESCE(w, 0)) {LEFT} LEFT JOIN d ON people.id = d.id",
}  # fmt: skip


def statements(world: DatabaseWorld) -> dict[str, str]:
    """Return what is asked of a world."""
    return {**STATEMENTS, **(OF_PEOPLE if "people" in world.tables else {})}
