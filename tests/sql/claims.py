"""Every record that a person of a tiny database may have, what each adds to a statement's totals, and all neighbours.

A total is a sum over people, so that what one person moves is the difference of what two records add. All records are
people of one database, opened and read by the code that ships; the claims are those of the gauge of the statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.domain import categories, integers
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE, Relation
from sfumato.sql.select import Made, Select
from sfumato.table.bounding import WEIGHT, Way
from sfumato.table.database import Database, Link, PublicTable
from sfumato.table.gauge import Basis, Gauge
from sfumato.table.measure import Totals
from sfumato.table.own import ROSTER, OpenDatabase, open_database
from sfumato.table.repair import PERSON
from sfumato.table.schema import Schema
from sfumato.table.statistics import Part, Power

SCALE = 6
Row = tuple[Any, ...]
Record = tuple[Row, ...]
PLACES = pa.table({"place": [1, 2, 3, 4], "mark": ["p", "p", "q", "q"], "number": [2, -1, 2, -1]})


@dataclass(frozen=True)
class World:
    """All records: the cells of the people row first, then rows of visits; and the tables that hold them."""

    opened: OpenDatabase
    records: tuple[tuple[Row, Record], ...]
    attributes: tuple[str, ...]

    def kept(self, number: int, changed: Sequence[str]) -> Any:
        """Return what stays of a record when some attributes of it are others: equal for neighbours."""
        person, record = self.records[number]
        people = [name for name in self.attributes if name.startswith("people.")]
        visits = [name for name in self.attributes if name.startswith("visits.")]
        stays = [place for place, name in enumerate(visits) if name not in changed]
        rows = tuple(sorted(tuple(str(row[place]) for place in stays) for row in record))
        return tuple(cell for cell, name in zip(person, people, strict=True) if name not in changed), len(record), rows


@dataclass(frozen=True)
class EventsWorld(World):
    """Records are rows of visits(key, n) and of drugs(visit, x), of which each leads to a visit of the same person."""

    def kept(self, number: int, changed: Sequence[str]) -> Any:
        """Return what stays: the keys of visits always do."""
        visits, drugs = self.records[number]
        names = (("key", "visits.n"), ("drugs.visit", "drugs.x"))
        return tuple(
            tuple(
                sorted(
                    tuple(str(cell) for cell, name in zip(row, cells, strict=True) if name not in changed)
                    for row in rows
                )
            )
            for rows, cells in zip((visits, drugs), names, strict=True)
        )


def rows_world(rows: int, most: int, scale: int = SCALE) -> World:
    """Return people with up to `most` visits(k, x nullable, link), the partner of one link value missing."""
    cells = list(product("ab", (None, 1, 3), (1, 2, 3, 4, 5)))
    records = tuple(((), record) for n in range(most + 1) for record in combinations_with_replacement(cells, n))
    database = Database(
        {
            "people": Schema({"z": categories("m", missing="m")}, person="id", row_key=()),
            "visits": Schema(
                {"k": categories("a", "b", missing="a"), "x": integers(1, 3)}, person="id", rows_per_person=rows
            ),
            "places": PublicTable("place"),
        },
        population="people",
        links=(Link("visits.link", "places"),),
    )
    visits = [(person, *row) for person, (_, record) in enumerate(records) for row in record]
    tables = {
        "people": pa.table({"id": range(len(records)), "z": ["m"] * len(records)}),
        "visits": _table(("id", "k", "x", "link"), visits),
        "places": PLACES,
    }
    return World(open_database(tables, database, scale=scale), records, ("visits.k", "visits.x", "visits.link"))


def person_world(rows: int, most: int, scale: int = SCALE) -> World:
    """Return people(z) with up to `most` visits(w, x nullable)."""
    cells = list(product("ab", (None, 1, 3)))
    records = tuple(
        ((z,), record) for z in "mn" for n in range(most + 1) for record in combinations_with_replacement(cells, n)
    )
    database = Database(
        {
            "people": Schema({"z": categories("m", "n", missing="m")}, person="id", row_key=()),
            "visits": Schema(
                {"w": categories("a", "b", missing="a"), "x": integers(1, 3)}, person="id", rows_per_person=rows
            ),
        },
        population="people",
    )
    visits = [(person, *row) for person, (_, record) in enumerate(records) for row in record]
    tables = {
        "people": pa.table({"id": range(len(records)), "z": [cells[0] for cells, _ in records]}),
        "visits": _table(("id", "w", "x"), visits),
    }
    return World(open_database(tables, database, scale=scale), records, ("people.z", "visits.w", "visits.x"))


def events_world(rows: int, most: int, scale: int = SCALE) -> EventsWorld:
    """Return up to two visits(key, n nullable), keys repeated or missing too, and up to `most` drugs(visit, x)."""
    visits = list(product((1, 2, None), (None, -1, 2)))
    drugs = list(product((1, 2, None), (1, 3)))
    records = tuple(
        (one, other)
        for one in (record for n in range(3) for record in combinations_with_replacement(visits, n))
        for other in (record for n in range(most + 1) for record in combinations_with_replacement(drugs, n))
    )
    database = Database(
        {
            "people": Schema({"z": categories("m", missing="m")}, person="id", row_key=()),
            "visits": Schema({"n": integers(-1, 2)}, person="id", rows_per_person=2, row_key=("key",)),
            "drugs": Schema({"x": integers(1, 3, missing=1)}, person="id", rows_per_person=rows),
        },
        population="people",
        links=(Link("drugs.visit", "visits"),),
    )
    cells = [[(person, *row) for person, one in enumerate(records) for row in one[place]] for place in (0, 1)]
    tables = {
        "people": pa.table({"id": range(len(records)), "z": ["m"] * len(records)}),
        "visits": _table(("id", "key", "n"), cells[0]),
        "drugs": _table(("id", "visit", "x"), cells[1]),
    }
    return EventsWorld(open_database(tables, database, scale=scale), records, ("visits.n", "drugs.visit", "drugs.x"))


def _table(names: Sequence[str], rows: Sequence[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True))
    return pa.table(dict(zip(names, map(list, columns), strict=True)))


def gauge_of(world: World, statement: str, relation: Relation = REPLACE_ONE) -> Gauge:
    """Return the gauge of a statement's totals."""
    database = world.opened.database
    made = Made.of(Select(statement).canonical(database).statement, database)
    parts = tuple(term.part for one in made.formulas for term in one.aggregate.terms(made.schema))
    basis = Basis(made.schema, len(world.records), relation, scale=SCALE)
    return basis.gauge(Totals(made.keys, parts, made.schema.where))


def added(world: World, gauge: Gauge, part: Part) -> np.ndarray:
    """Return what every record adds to each cell of one total, in units of the gauge; read by the code that ships."""
    schema: Any = gauge.schema
    measure: Any = gauge.measure
    names = [*measure.keys, *([] if part.column is None else [part.column])]
    weighed = gauge.rule.way is Way.WEIGH
    rows = world.opened.run(schema.codes(world.opened, names, weighed=weighed)).to_pydict()
    roster = world.opened.run(world.opened.held(ROSTER)).to_pydict()
    who = dict(zip(roster["sfumato_number"], roster[PERSON], strict=True))
    sizes = [schema.domain(name).size for name in measure.keys]
    found = np.zeros((len(world.records), int(np.prod(sizes, dtype=int))), dtype=np.int64)
    for place, number in enumerate(rows[PERSON]):
        cell = 0
        for name, size in zip(measure.keys, sizes, strict=True):
            cell = cell * size + rows[name][place] - schema.domain(name).first
        weight = rows[WEIGHT][place] if weighed else 1
        value = 1
        if part.column is not None:
            domain = schema.domain(part.column)
            code = rows[part.column][place]
            there = not domain.is_missing(code)
            value = int(there) if part.power is Power.PRESENT else (code - part.center if there else 0)
        found[who[number], cell] += weight * value
    return found


def changes(world: World) -> list[tuple[str, ...]]:
    """Return the sets of attributes in which a person may differ: of one, of two, and all."""
    a, b, c = world.attributes
    both = [(a,), (b,), (c,), (b, c), (a, c)]
    return both if a.startswith("people.") else [*both, (a, b), (a, b, c)]


@lru_cache(maxsize=256)
def groups(world: World, changed: tuple[str, ...]) -> list[np.ndarray]:
    """Return the records that are neighbours of each other: equal but for the changed attributes, row by row."""
    found: dict[Any, list[int]] = {}
    for number in range(len(world.records)):
        found.setdefault(world.kept(number, changed), []).append(number)
    return [np.array(members) for members in found.values() if len(members) > 1]


def moved(vectors: np.ndarray, members: Sequence[np.ndarray]) -> tuple[int, int, int]:
    """Return the largest l1, l2 squared and coordinate by which two neighbours differ."""
    best = [0, 0, 0]
    for one in members:
        unique = np.unique(vectors[one], axis=0)
        for start in range(0, len(unique), 256):
            apart = np.abs(unique[start : start + 256, None, :] - unique[None, :, :])
            best[0] = max(best[0], int(apart.sum(axis=2).max()))
            best[1] = max(best[1], int((apart**2).sum(axis=2).max()))
            best[2] = max(best[2], int(apart.max()))
    return best[0], best[1], best[2]


@dataclass(frozen=True)
class Claim:
    """What is claimed of one total under one change, and what was found."""

    statement: str
    change: Any
    claimed: tuple[Fraction, Fraction, Fraction]
    found: tuple[int, int, int]

    @property
    def exceeded(self) -> bool:
        """Whether somebody moves the total by more than is claimed."""
        return any(found > claimed for found, claimed in zip(self.found, self.claimed, strict=True))

    @property
    def attained(self) -> bool:
        """Whether the claimed l1 is what somebody moves."""
        return self.found[0] == self.claimed[0]


def claims_of(world: World, statement: str) -> Iterator[Claim]:
    """Yield the claims about the attributes of one total."""
    gauge = gauge_of(world, statement)
    measure: Any = gauge.measure
    (part,) = measure.parts
    vectors = added(world, gauge, part)
    for changed in changes(world):
        claim = gauge.sensitivity(part, set(changed))
        yield Claim(
            statement, changed, (claim.l1, claim.l2_squared, claim.largest), moved(vectors, groups(world, changed))
        )


def person_claims(world: World, statement: str) -> Iterator[Claim]:
    """Yield the claims about the whole person, under both relations."""
    everybody = np.arange(len(world.records))
    for relation in (REPLACE_ONE, ADD_REMOVE):
        gauge = gauge_of(world, statement, relation)
        measure: Any = gauge.measure
        (part,) = measure.parts
        vectors = added(world, gauge, part)
        claim = gauge.sensitivity(part)
        if relation is REPLACE_ONE:
            found = moved(vectors, [everybody])
        else:
            size = np.abs(vectors)
            found = (int(size.sum(axis=1).max()), int((size**2).sum(axis=1).max()), int(size.max()))
        yield Claim(statement, relation, (claim.l1, claim.l2_squared, claim.largest), found)


KEYS = ("", "v.k", "p.mark", "v.k, p.mark")
MEASURES = ("COUNT(*)", "SUM(v.x)", "SUM(p.number)")
FILTERS = ("", "v.x > 1", "v.k = 'a'", "p.mark = 'p'")


def row_statements() -> Iterator[str]:
    """Yield four keys times three measures times four filters, with JOIN and with LEFT JOIN."""
    for key, total, condition, join in product(KEYS, MEASURES, FILTERS, ("JOIN", "LEFT JOIN")):
        where = f" WHERE {condition}" if condition else ""
        by = f" GROUP BY {key}" if key else ""
        yield f"SELECT {total} FROM visits v {join} places p ON v.link = p.place{where}{by}"


def event_statements() -> Iterator[str]:
    """Yield statements about drugs that look up their visits, and one about visits of which each key counts once."""
    on = "ON d.id = v.id AND d.visit = v.key"
    for key, total, condition, join in product(
        ("", "v.n"),
        ("COUNT(*)", "SUM(v.n)", "COUNT(v.n)", "SUM(d.x)"),
        ("", "v.n > 0", "d.x > 1"),
        ("JOIN", "LEFT JOIN"),
    ):
        if not (key and "v.n)" in total):  # where the value is the key, a count is sharper
            where = f" WHERE {condition}" if condition else ""
            yield f"SELECT {total} FROM drugs d {join} visits v {on}{where}{f' GROUP BY {key}' if key else ''}"
    yield "SELECT COUNT(*) FROM visits"
    yield "SELECT SUM(n) FROM visits WHERE n > 0"


AGGREGATES = ("COUNT(*)", "COUNT(x)", "LEAST(SUM(x), 4)", "MIN(x)")


def person_statements() -> Iterator[tuple[str, bool]]:
    """Yield statements over tables of one row a person, and whether each reads visits, which are weighed."""
    for aggregate, inner, outer in product(AGGREGATES, ("", " WHERE w = 'a'"), ("", " WHERE per.v > 1")):
        head = f"WITH per AS (SELECT id, {aggregate} AS v FROM visits{inner} GROUP BY id) "
        for key in ("", " GROUP BY per.v"):
            yield f"{head}SELECT {_total('per.v', key)} FROM per{outer}{key}", False
        left = "FROM people LEFT JOIN per ON per.id = people.id"
        for value, key in product(("per.v", "COALESCE(per.v, 0)"), ("", " GROUP BY people.z", " GROUP BY per.v")):
            yield f"{head}SELECT {_total(value, key)} {left}{outer}{key}", False
        joined = "FROM visits JOIN per ON per.id = visits.id JOIN people ON people.id = visits.id"
        for key in ("", " GROUP BY visits.w", " GROUP BY people.z", " GROUP BY per.v"):
            yield f"{head}SELECT {_total('per.v', key)} {joined}{outer}{key}", True


def _total(value: str, key: str) -> str:
    """Return what is added up: where the value is the key itself, cells and values go together and a count is sharper."""
    return "COUNT(*)" if "per.v" in key else f"SUM({value})"
