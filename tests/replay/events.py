"""A world in which events lead to other events of the same person, and what one person can make of it.

Fan-out (many drugs of one visit), links that lead nowhere, to others' visits only, or are missing, numbers that are there
twice or are missing, and events of somebody who is not among the people are in the base; neighbours differ in one
person's records in all tables at once, in one person more, or in one attribute or two of one person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from sfumato import Database, Link, PublicTable, Schema
from sfumato.domain import categories, fixed, integers
from tests.replay.databases import Beside, Data, DatabaseWorld, Row, _changed, _exchanged, _joined, _without
from tests.replay.worlds import Draws

LOW: Row = {"kind": "a", "cost": -1.0, "place": 2}
HIGH: Row = {"kind": "b", "cost": 2.0, "place": 3}
INSIDE: Row = {"kind": "b", "cost": 2.0, "place": 1}
ABSENT: Row = {"kind": None, "cost": None, "place": None}


def events_worlds() -> list[DatabaseWorld]:
    """Return databases in which drugs belong to visits, of which one drug counts, or two."""
    found = []
    for rows in (1, 2):
        private = {
            "people": Schema({"sex": categories("f", "m")}, person="id"),
            "visits": Schema(
                {"kind": categories("a", "b"), "cost": fixed(-1, 2, step="0.5")},
                person="id",
                rows_per_person=2,
                row_key="visit",
            ),
            "drugs": Schema({"dose": integers(0, 3, missing=0)}, person="id", rows_per_person=rows),
        }
        links = (Link("visits.place", "places"), Link("places.town", "towns"), Link("drugs.visit", "visits"))
        tables = {**private, "towns": PublicTable("town"), "places": PublicTable("place")}
        found.append(DatabaseWorld(f"{rows} of a visit", Database(tables, "people", links), rows))
    return found


def somebody(
    person: str | None, visits: Sequence[tuple[int | None, Row]], drugs: Sequence[tuple[int | None, int]]
) -> Data:
    """Return somebody with visits of some numbers, and with drugs that lead to some numbers."""
    return {
        "people": [{"id": person, "sex": "f"}],
        "visits": [{"id": person, "visit": number, **cells} for number, cells in visits],
        "drugs": [{"id": person, "visit": number, "dose": dose} for number, dose in drugs],
    }


def shapes(person: str, rows: int) -> dict[str, Data]:
    """Return all that a person may look like, by name."""
    two = [(0, LOW), (1, INSIDE)]
    return {
        "low": somebody(person, two, [(0, 3)] * rows),
        "high": somebody(person, [(0, LOW), (1, HIGH)], [(1, 3)] * rows),
        "inside": somebody(person, [(0, INSIDE)], [(0, 3)] * rows),
        "missing": somebody(person, [(0, ABSENT)], [(0, 3)] * rows),
        "many of one": somebody(person, [(5, INSIDE)], [(5, 3)] * (rows + 3)),
        "each of another": somebody(person, [*two, (2, HIGH), (3, ABSENT)], [(at, 3) for at in (0, 1, 2, 3)]),
        "nowhere": somebody(person, [(4, INSIDE)], [(7, 3)] * rows),
        "of no number": somebody(person, [(None, INSIDE), (0, HIGH)], [(None, 3)] * rows),
        "without visits": somebody(person, [], [(0, 3)] * rows),
        "without drugs": somebody(person, two, []),
        "a number twice": somebody(person, [(0, LOW), (0, INSIDE), (1, HIGH)], [(0, 3)] * rows),
        "no number twice": somebody(person, [(None, LOW), (None, HIGH), (1, LOW)], [(1, 3), (None, 3)]),
        "no event": somebody(person, [], []),
    }


def base(_: Draws, world: DatabaseWorld) -> Data:
    """Return one person of every shape, somebody who is not among the people, and nobody."""
    names = "plimfenowvtzx"
    everybody = [
        one
        for name, place in zip(names, range(len(names)), strict=True)
        for one in [[*shapes(name, world.rows).values()][place]]
    ]
    stray = {**shapes("g", world.rows)["inside"], "people": []}
    nobody = somebody(None, [(0, INSIDE)], [(0, 3)])
    return _joined([*everybody, stray, nobody])


def neighbours(_: Draws, world: DatabaseWorld, data: Data) -> Iterator[Beside]:
    """Yield every shape in the place of two people, one person more or less, and every attribute of some."""
    for person in "pi":
        for name, other in shapes(person, world.rows).items():
            yield Beside(f"{person}: {name}", _exchanged(data, person, other), None, "replace")
    yield Beside("another name", _exchanged(data, "p", shapes("y", world.rows)["inside"]), None, "replace")
    coming = {**data, "people": [*data["people"], {"id": "g", "sex": "m"}]}
    yield Beside("g in the place of x", _without(coming, "x"), None, "replace")
    yield Beside("g comes", coming, None, "add-remove")
    for person in "plimfent":
        yield Beside(f"without {person}", _without(data, person), None, "add-remove")
    for name, cells in CHANGES.items():
        for person in "pift":
            for cell in cells:
                yield Beside(
                    f"{name} of {person} to {cell}",
                    _changed(data, person, {name: lambda _, c=cell: c}),
                    frozenset({name}),
                )
            turned = lambda at, c=cells: c[(at + 1) % len(c)]  # noqa: E731
            yield Beside(f"{name} of {person}", _changed(data, person, {name: turned}), frozenset({name}))


def pairs(_: Draws, world: DatabaseWorld, data: Data) -> Iterator[Beside]:
    """Yield changes of two attributes at once."""
    for both in combinations(CHANGES, 2):
        for person in "pit":
            made = {name: lambda _, n=name: CHANGES[n][1] for name in both}
            yield Beside(f"{both} of {person}", _changed(data, person, made), frozenset(both))


CHANGES: dict[str, tuple[object, ...]] = {
    "people.sex": ("m", None),
    "visits.kind": ("a", "b", None),
    "visits.cost": (-1.0, 2.0, None),
    "visits.place": (1, 3, 4, 9, None),
    "drugs.dose": (0, 3),
    "drugs.visit": (0, 1, 9, None),
}
VISIT = "drugs.id = visits.id AND drugs.visit = visits.visit"
BOUND = "CONTRIBUTION_BOUNDS_PER_GROUP =>"
STATEMENTS = {
    "drops": f"SELECT COUNT(*) FROM drugs JOIN visits ON {VISIT}",
    "left by kind": f"SELECT kind, COUNT(*) FROM drugs LEFT JOIN visits ON {VISIT} GROUP BY kind",
    "sum by kind": f"SELECT kind, SUM(dose) FROM visits JOIN drugs ON {VISIT} GROUP BY kind",
    "left sum": f"SELECT SUM(cost + 2) FROM drugs LEFT JOIN visits ON {VISIT}",
    "left present": f"SELECT COUNT(cost) FROM drugs LEFT JOIN visits ON {VISIT}",
    "left where": f"SELECT SUM(dose) FROM drugs LEFT JOIN visits ON {VISIT} WHERE kind = 'b'",
    "left is null": f"SELECT COUNT(*) FROM drugs LEFT JOIN visits ON {VISIT} WHERE cost IS NULL",
    "place of the visit": f"SELECT mark, COUNT(*) FROM drugs LEFT JOIN visits ON {VISIT} LEFT JOIN places ON visits.place = "
    "places.place GROUP BY mark",
    "place drops": f"SELECT SUM(dose) FROM drugs JOIN visits ON {VISIT} JOIN places ON visits.place = places.place",
    "by sex": f"SELECT sex, SUM(cost) FROM people JOIN visits ON people.id = visits.id JOIN drugs ON {VISIT} GROUP BY sex",
    "visits": "SELECT kind, COUNT(*) FROM visits GROUP BY kind",
    "costs of visits": "SELECT SUM(cost + 2) FROM visits",
    "persons": f"SELECT kind, COUNT(DISTINCT drugs.id) FROM drugs JOIN visits ON {VISIT} GROUP BY kind",
    "box": f"SELECT kind = 'b', COUNT(*, {BOUND} (0, 1)) FROM drugs JOIN visits ON {VISIT} GROUP BY kind = 'b'",
    "per": f"WITH per AS (SELECT drugs.id, LEAST(SUM(cost), 2) AS v FROM drugs JOIN visits ON {VISIT} GROUP BY drugs.id) "
    "SELECT SUM(v) FROM per",
    "per left": f"WITH per AS (SELECT drugs.id, COUNT(cost) AS v FROM drugs LEFT JOIN visits ON {VISIT} WHERE kind = 'b' "
    "GROUP BY drugs.id) SELECT SUM(COALESCE(v, 0)) FROM people LEFT JOIN per ON people.id = per.id",
}  # fmt: skip
