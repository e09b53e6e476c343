"""The law of what statements release, enumerated over all outputs: joins, rows of a person, clamped numbers.

A statement's mechanism is the one that ships, planned for a person's one row. What two records add to the totals is
read by the code that ships; everybody else adds the same to both. Each attribute has the pair that moves furthest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from sfumato import Pure, audit
from sfumato.audit import Neighbours
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE, Relation
from sfumato.sql import select as selects
from sfumato.sql.select import Made, Select
from sfumato.table import boxes, gauge, sensitivity
from sfumato.table.boxes import Box
from sfumato.table.flat import Flat, FlatSchema
from sfumato.table.gauge import Basis
from sfumato.table.measure import Boxed
from sfumato.table.statistics import Part
from tests.promises.case import PromiseCase
from tests.promises.found import measured, reaches
from tests.replay.exemptions import ENOUGH
from tests.sql.claims import World, added, changes, groups, person_world, rows_world
from tests.sql.test_boxes import shares

PLACES = "FROM visits v {}JOIN places p ON v.link = p.place"
PER = "WITH per AS (SELECT id, {} AS v FROM visits{} GROUP BY id) "
BOUND = "contribution_bounds_per_group =>"
ROWS = {
    "visits": "SELECT COUNT(*) FROM visits",
    "values": "SELECT SUM(x) FROM visits",
    "values there": "SELECT COUNT(x) FROM visits",
    "by kind": "SELECT k, COUNT(*) FROM visits GROUP BY k",
    "partners": f"SELECT COUNT(*) {PLACES.format('')}",
    "numbers of partners": f"SELECT SUM(p.number) {PLACES.format('LEFT ')}",
    "by label": f"SELECT p.mark, COUNT(*) {PLACES.format('LEFT ')} GROUP BY p.mark",
    "where": f"SELECT SUM(v.x) {PLACES.format('')} WHERE p.mark = 'p'",
    "box": f"SELECT SUM(x, {BOUND} (1, 3)) FROM visits",
    "box by kind": f"SELECT k = 'a', COUNT(*, {BOUND} (0, 1)) FROM visits GROUP BY k = 'a'",
    "persons, some": "SELECT COUNT(DISTINCT id) FILTER (WHERE x > 1) FROM visits",
    "box, one kind": "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1) k = 'a', "
    f"COUNT(*, {BOUND} (0, 1)) FROM visits GROUP BY k = 'a'",
}
PEOPLE = {
    "with visits": PER.format("COUNT(*)", "") + "SELECT COUNT(*) FROM per",
    "sums": PER.format("LEAST(SUM(x), 4)", "") + "SELECT SUM(v) FROM per",
    "least": PER.format("MIN(x)", " WHERE w = 'a'") + "SELECT SUM(v) FROM per",
    "kinds": PER.format("COUNT(DISTINCT w)", "") + "SELECT v, COUNT(*) FROM per GROUP BY v",
    "left": PER.format("COUNT(*)", "") + "SELECT SUM(COALESCE(v, 0)) FROM people LEFT JOIN per ON per.id = people.id",
    "left, missing": PER.format("COUNT(*)", "") + "SELECT SUM(v) FROM people LEFT JOIN per ON per.id = people.id",
    "of a per": "WITH per AS (SELECT id, COUNT(*) AS v FROM visits GROUP BY id), more AS (SELECT id, SUM(v) AS u FROM per "
    "WHERE v > 1 GROUP BY id) SELECT SUM(u) FROM more",
    "events": PER.format("MAX(x)", "") + "SELECT SUM(per.v) FROM visits JOIN per ON per.id = visits.id",
}
ONE = 1
"""Units of a row, so that a law has few outputs."""
LOOSE = {("box by kind", ADD_REMOVE): ("person",)}
"""Claims that are not reached here: with one visit a person is in one of two cells, and both are charged for."""


@pytest.fixture(scope="module")
def worlds() -> Any:
    found = {"rows": rows_world(1, 1, scale=ONE), "people": person_world(2, 2, scale=ONE)}
    yield found
    for world in found.values():
        world.opened.close()


@dataclass(frozen=True)
class Asked:
    """A statement as it would be asked: what runs, and what every record adds, as it runs on it."""

    mechanism: Any
    exact: list[Any]
    vectors: np.ndarray


def asked(world: World, statement: str, relation: Relation) -> Asked:
    """Plan a statement at a small spend, and read what every record adds to its totals."""
    for kept in (selects.compiled, selects._made):
        kept.cache_clear()
    database = world.opened.database
    made = Made.of(Select(statement).canonical(database).statement, database)
    basis = Basis(database, len(world.records), relation, scale=ONE)
    prepared = Select(statement).canonical(database).prepare(basis, Pure(2))
    measure: Any = prepared.gauge.measure
    if isinstance(measure, Boxed):
        vectors = shares(world, made, measure.boxes[0])
    else:
        vectors = added(world, prepared.gauge, measure.parts[0])
    shape = [made.schema.domain(name).size for name in made.keys]
    exact = [prepared.arrange([one.reshape(shape) if shape else int(one[0])]) for one in vectors]
    return Asked(prepared.mechanism, exact, vectors)


def pairs_of(world: World, one: Asked, relation: Relation) -> list[Any]:
    """Return the records that are furthest apart: for the person, and for every set of attributes."""
    nobody = next(place for place, (_, record) in enumerate(world.records) if not record)
    everybody = np.arange(len(world.records))
    if relation is REPLACE_ONE:
        found: list[Any] = [_furthest(one, [everybody])]
    else:
        found = [_furthest(one, [np.array([nobody, place]) for place in everybody])]
    for changed in changes(world):
        pair = _furthest(one, groups(world, changed))
        found.append(Neighbours(*pair, frozenset(changed)))
    return found


def _furthest(one: Asked, members: list[np.ndarray]) -> tuple[Any, Any]:
    best, found = -1, (0, 0)
    for places in members:
        apart = np.abs(one.vectors[places][:, None, :] - one.vectors[places][None, :, :]).sum(axis=2)
        if apart.max() > best:
            best = int(apart.max())
            first, second = np.unravel_index(apart.argmax(), apart.shape)
            found = (int(places[first]), int(places[second]))
    return one.exact[found[0]], one.exact[found[1]]


def case_of(world: World, name: str, statement: str, relation: Relation) -> PromiseCase:
    """Return the promise case of a statement."""
    one = asked(world, statement, relation)
    return PromiseCase(
        name, ("SQ-FLAT", "SQ-PERSON", "SQ-BOX"), one.mechanism, pairs_of(world, one, relation), tail=1e-6
    )


def _world(worlds: Any, name: str) -> tuple[World, str]:
    return (worlds["rows"], ROWS[name]) if name in ROWS else (worlds["people"], PEOPLE[name])


LONG = ("by label",)
"""What has four cells, and so many outputs."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.audit] * (name in LONG)) for name in (*ROWS, *PEOPLE)]
)
def test_what_a_statement_releases_loses_what_is_stated_and_no_more(worlds: Any, name: str) -> None:
    for relation in (REPLACE_ONE, ADD_REMOVE):
        world, statement = _world(worlds, name)
        case = case_of(world, name, statement, relation)
        report = measured(case)
        assert report.ok, f"{name} breaks its promise: {report.worst}"
        short = {change: part for change, part in reaches(report).items() if part < ENOUGH}
        assert set(short) == set(LOOSE.get((name, relation), ())), short


# Mutants: the law that ships against what a forgetful claim would state, or noise that a wrong claim would draw


def broken(worlds: Any, name: str, relation: Relation = REPLACE_ONE) -> bool:
    """Tell whether a statement, planned as things are now, breaks what it states."""
    world, statement = _world(worlds, name)
    return not measured(case_of(world, name, statement, relation)).ok


MUTANTS: dict[str, tuple[str, Relation, Callable[[Any], None]]] = {
    "half the sensitivity of a person": ("visits", REPLACE_ONE, lambda patch: _half(patch)),
    "a missing value charged as a changed one": (
        "values",
        REPLACE_ONE,
        lambda patch: patch.setattr(Part, "may_be_missing", lambda part, schema: False),
    ),
    "a missing value of a clamped sum charged as a changed one": (
        "box",
        REPLACE_ONE,
        lambda patch: patch.setattr(Box, "vanishes", lambda box, schema: False),
    ),
    "an attribute charged as a person who comes": (
        "by kind",
        ADD_REMOVE,
        lambda patch: patch.setattr(
            gauge, "attributes_changed", lambda shape, names, **_: sensitivity.person_there_or_not(shape)
        ),
    ),
    "a JOIN that does not read its link": ("partners", REPLACE_ONE, lambda patch: _forget(patch, "visits.link")),
    "a LEFT JOIN that does not read its link": (
        "numbers of partners",
        REPLACE_ONE,
        lambda patch: _forget(patch, "visits.link"),
    ),
    "a condition inside WITH that reads nothing": ("least", REPLACE_ONE, lambda patch: _forget(patch, "visits.w")),
    "people under a condition that reads nothing": (
        "persons, some",
        REPLACE_ONE,
        lambda patch: _forget(patch, "visits.x"),
    ),
    "people with visits taken for everybody": (
        "with visits",
        REPLACE_ONE,
        lambda patch: patch.setattr(Flat, "filtered", property(lambda flat: False)),
    ),
    "a null of a LEFT JOIN that is not announced": (
        "left, missing",
        REPLACE_ONE,
        lambda patch: patch.setattr(Part, "may_be_missing", lambda part, schema: False),
    ),
    "kept groups that never change": (
        "box, one kind",
        REPLACE_ONE,
        lambda patch: patch.setattr(boxes.Reach, "exchanged", lambda reach: reach.within(reach.spread)),
    ),
    "a clamp that is forgotten": ("box by kind", REPLACE_ONE, lambda patch: _one_cell(patch)),
}


def _half(patch: Any) -> None:
    plain = gauge.person_replaced
    patch.setattr(gauge, "person_replaced", lambda shape: plain(shape).__class__(*_halved(plain(shape))))


def _halved(found: Any) -> tuple[Any, ...]:
    return found.l1 / 2, found.l2_squared / 4, found.largest / 2, found.changed


def _forget(patch: Any, attribute: str) -> None:
    reads = FlatSchema.reads
    patch.setattr(FlatSchema, "reads", lambda schema, names: reads(schema, names) - {attribute})


def _one_cell(patch: Any) -> None:
    """Take a person for one who stays in a cell."""
    plain = boxes.Reach
    patch.setattr(boxes, "Reach", lambda _groups, cells, low, high: plain(1, 1, low, high))


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_of_a_statement_are_caught(worlds: Any, monkeypatch: Any, mutant: str) -> None:
    name, relation, change = MUTANTS[mutant]
    assert not broken(worlds, name, relation)
    change(monkeypatch)
    world, statement = _world(worlds, name)
    case = case_of(world, name, statement, relation)
    # What is given away as public has no law at all: it is told apart with certainty, and nothing is paid for it.
    free = case.mechanism.loss().person.is_zero
    assert free or not measured(case).ok


def test_noise_of_five_percent_less_is_caught(worlds: Any) -> None:
    world, statement = _world(worlds, "sums")
    case = case_of(world, "sums", statement, REPLACE_ONE)
    dear = Select(statement).canonical(world.opened.database)
    basis = Basis(world.opened.database, len(world.records), REPLACE_ONE, scale=ONE)
    mutant = dear.prepare(basis, Pure("21/10")).mechanism
    claim = case.mechanism.loss()
    assert not all(audit.check(mutant, [pair], claim=claim, tail=case.tail).ok for pair in case.pairs)
