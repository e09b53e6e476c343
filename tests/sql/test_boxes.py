"""One clamped number a person and group (SQ-BOX): claims over every record of a tiny database, and their mutants."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Pure
from sfumato.domain import integers
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from sfumato.sql.select import Made, Select
from sfumato.table import boxes, gauge, view
from sfumato.table.boxes import Box, Reach, clamped_shares
from sfumato.table.database import Database
from sfumato.table.gauge import Basis
from sfumato.table.measure import Boxed
from sfumato.table.own import ROSTER, FlatTable, open_database
from sfumato.table.repair import PERSON
from sfumato.table.schema import Schema
from sfumato.table.statistics import CELL, part_name
from tests.sql.claims import SCALE, Claim, World, changes, groups, moved, rows_world

BOUND = "contribution_bounds_per_group =>"
VALUES = (
    f"SUM(v.x, {BOUND} (1, 3))",
    f"SUM(v.x, {BOUND} (0, 5))",
    f"SUM(v.x - 2, {BOUND} (-1, 1))",
    f"SUM(COALESCE(v.x, 1), {BOUND} (2, 5))",
    f"COUNT(*, {BOUND} (0, 2))",
    f"COUNT(v.x, {BOUND} (0, 1))",
)
FILTERS = ("", " WHERE v.x > 1", " WHERE v.k = 'a'", " WHERE p.mark = 'p'")


def statements() -> Iterator[str]:
    """Yield clamped totals by three keys, with four filters, with JOIN and LEFT JOIN."""
    for value, key, where, join in product(VALUES, ("", " GROUP BY v.k", " GROUP BY p.mark"), FILTERS, ("", "LEFT ")):
        yield f"SELECT {value} FROM visits v {join}JOIN places p ON v.link = p.place{where}{key}"


@pytest.fixture(scope="module")
def rows() -> Any:
    world = rows_world(2, 2)
    yield world
    world.opened.close()


def box_claims(world: World, statement: str) -> list[Claim]:
    """Return all claims about one clamped total: of attributes, of a person replaced, and of one who comes or goes."""
    database = world.opened.database
    made = Made.of(Select(statement).canonical(database).statement, database)
    ((box,),) = [tuple(one.box for one in made.boxes)]
    measure = Boxed(made.keys, (box,), made.schema.where)
    replaced, added = (
        Basis(made.schema, len(world.records), relation, scale=SCALE).gauge(measure)
        for relation in (REPLACE_ONE, ADD_REMOVE)
    )
    vectors = shares(world, made, box)
    found = []
    for changed in changes(world):
        # The same under both relations: somebody who changes an attribute is there in both tables.
        claims = {one.sensitivity(box, set(changed)) for one in (replaced, added)}
        found.append(_claim(statement, changed, claims.pop(), moved(vectors, groups(world, changed))))
        assert not claims
    found.append(_claim(statement, "replaced", replaced.sensitivity(box), moved(vectors, [np.arange(len(vectors))])))
    size = np.abs(vectors)
    there = (int(size.sum(axis=1).max()), int((size**2).sum(axis=1).max()), int(size.max()))
    return [*found, _claim(statement, "there or not", added.sensitivity(box), there)]


def _claim(statement: str, change: Any, claim: Any, found: tuple[int, int, int]) -> Claim:
    return Claim(statement, change, (claim.l1, claim.l2_squared, claim.largest), found)


def shares(world: World, made: Made, box: Box) -> np.ndarray:
    """Return what every record adds to each cell, read by the code that ships."""
    table = FlatTable(world.opened, world.opened, made.schema)
    found = world.opened.run(clamped_shares(table.everybody(), made.schema, made.keys, [box])).to_pydict()
    roster = world.opened.run(world.opened.held(ROSTER)).to_pydict()
    who = dict(zip(roster["sfumato_number"], roster[PERSON], strict=True))
    cells = int(np.prod([made.schema.domain(name).size for name in made.keys], dtype=int))
    vectors = np.zeros((len(world.records), cells), np.int64)
    for place, number in enumerate(found[PERSON]):
        vectors[who[number], found[CELL][place] if CELL in found else 0] += found[part_name(0)][place]
    return vectors


def test_no_change_moves_a_clamped_total_by_more_than_is_claimed(rows: World) -> None:
    found = [one for text in list(statements())[::9] for one in box_claims(rows, text)]
    assert not [one for one in found if one.exceeded]
    # People of two visits are in two cells of three at most, and bounds (0, 5) and (2, 5) need more visits than that.
    assert sum(one.attained for one in found) >= 0.5 * len(found)


@pytest.mark.audit
def test_all_claims_about_clamped_totals(rows: World) -> None:
    found = [one for text in statements() for one in box_claims(rows, text)]
    assert len(found) == 144 * 9
    assert not [one for one in found if one.exceeded]
    # All who have few cells reach what is claimed of them.
    alone = [one for one in found if "GROUP BY" not in one.statement and "(0, 5)" not in one.statement]
    assert sum(one.attained for one in alone) >= 0.85 * len(alone)


@pytest.mark.parametrize(
    ("groups", "cells", "ends", "l1", "l2_squared"),
    [(2, 3, (-2, 3), 11, 50), (2, 4, (-1, 3), 12, 36), (2, 3, (0, 3), 9, 27)],
)
def test_the_table_of_exchanged_people(
    groups: int, cells: int, ends: tuple[int, int], l1: int, l2_squared: int
) -> None:
    reach = Reach(groups, cells, *ends)
    assert (reach.exchanged().l1, reach.exchanged().l2_squared) == (l1, l2_squared)
    # Every vector with so many cells in {0} or between the ends, against every other one.
    values = [0, *range(ends[0], ends[1] + 1)]
    vectors = {
        tuple(dict(zip(where, found, strict=True)).get(cell, 0) for cell in range(cells))
        for where in combinations(range(cells), groups)
        for found in product(values, repeat=groups)
    }
    listed = np.array(sorted(vectors))
    assert moved(listed, [np.arange(len(listed))])[:2] == (l1, l2_squared)


# Mutants


def _exceeded(world: World, statement: str) -> bool:
    return any(one.exceeded for one in box_claims(world, statement))


def test_the_reach_of_weighed_rows_for_a_filter_is_found(rows: World, monkeypatch: Any) -> None:
    statement = f"SELECT SUM(x - 2, {BOUND} (-1, 1)) FROM visits WHERE k = 'a'"
    assert not _exceeded(rows, statement)
    monkeypatch.setattr(Reach, "spread", property(lambda reach: reach.size))
    assert _exceeded(rows, statement)


def test_cells_that_are_always_shared_are_found(rows: World, monkeypatch: Any) -> None:
    """With t = g two people would be in the same cells."""
    statement = f"SELECT k, SUM(x, {BOUND} (1, 3)) FROM visits JOIN people ON people.id = visits.id GROUP BY k"
    assert not _exceeded(rows, statement)
    monkeypatch.setattr(Reach, "exchanged", lambda reach: reach.within(reach.spread))
    monkeypatch.setattr(boxes, "Reach", lambda groups, cells, low, high: Reach(1, cells, low, high))
    assert _exceeded(rows, statement)


def test_a_missing_value_charged_as_a_changed_one_is_found(rows: World, monkeypatch: Any) -> None:
    statement = f"SELECT SUM(x, {BOUND} (1, 3)) FROM visits"
    assert not _exceeded(rows, statement)
    monkeypatch.setattr(Box, "vanishes", lambda box, schema: False)
    assert _exceeded(rows, statement)


def test_an_attribute_charged_as_a_person_who_comes_or_goes_is_found(rows: World, monkeypatch: Any) -> None:
    statement = f"SELECT SUM(x - 2, {BOUND} (-1, 1)) FROM visits GROUP BY k = 'a'"
    assert not _exceeded(rows, statement)
    plain = boxes.box_moved
    monkeypatch.setattr(gauge, "box_moved", lambda *given, replaced: plain(*given[:4], None, replaced=False))
    assert _exceeded(rows, statement)


def test_a_clamp_before_the_sum_of_a_person_is_found(rows: World, monkeypatch: Any) -> None:
    statement = f"SELECT SUM(x, {BOUND} (1, 3)) FROM visits"
    assert not _exceeded(rows, statement)
    monkeypatch.setattr(boxes, "inside", lambda code, ends: code)
    assert _exceeded(rows, statement)


def test_keys_of_events_taken_for_those_of_a_person_are_found(rows: World, monkeypatch: Any) -> None:
    statement = f"SELECT k, COUNT(*, {BOUND} (0, 1)) FROM visits WHERE x > 1 GROUP BY k"
    assert not _exceeded(rows, statement)
    monkeypatch.setattr(type(_schema(rows, statement)), "one_cell_each", lambda schema, keys: True)
    assert _exceeded(rows, statement)


def _schema(world: World, statement: str) -> Any:
    database = world.opened.database
    return Made.of(Select(statement).canonical(database).statement, database).schema


# What an engine does


def _large(cells: list[tuple[int, int]]) -> Any:
    """Open visits of values up to 2^61, of which a person has several."""
    schema = Schema({"x": integers(-(2**61), 2**61)}, person="id", rows_per_person=1)
    table = pa.table({"id": [person for person, _ in cells], "x": pa.array([cell for _, cell in cells], pa.int64())})
    return open_database({"visits": table}, Database({"visits": schema}))


def test_sums_of_a_person_beyond_64_bits_are_clamped_and_do_not_fail() -> None:
    """Seven times 2^61 fits no 64-bit integer; what is left of it after clamping does."""
    cells = [(0, 2**61)] * 7 + [(1, -(2**61))] * 7 + [(2, 5), (2, 6)]
    with _large(cells) as opened:
        for statement in (
            f"SELECT SUM(x, {BOUND} (-3, 2305843009213693952)) FROM visits",
            "WITH per AS (SELECT id, GREATEST(LEAST(SUM(x), 2305843009213693952), -3) AS v FROM visits GROUP BY id) "
            "SELECT SUM(v) FROM per",
        ):
            prepared = Select(statement).canonical(opened.database).prepare(Basis(opened.database, 3), Pure(1))
            assert prepared.gauge.read(opened) == [2**61 - 3 + 11]


def test_what_was_planned_before_anything_is_charged_is_what_runs(rows: World, monkeypatch: Any) -> None:
    """Building a query costs more than running it, so it is built once; numbers of people likewise."""
    database, built = rows.opened.database, []
    plain = view.clamped_shares
    monkeypatch.setattr(view, "clamped_shares", lambda *given: built.append(1) or plain(*given))
    for statement in (
        f"SELECT k, SUM(x, {BOUND} (0, 2)), COUNT(*, {BOUND} (0, 2)) FROM visits GROUP BY k",
        "SELECT k, COUNT(DISTINCT id) FROM visits GROUP BY k",
    ):
        prepared = Select(statement).canonical(database).prepare(Basis(database, len(rows.records)), Pure(1))
        before = prepared.gauge.read(rows.opened)
        prepared.gauge.check(rows.opened)
        built.clear()
        queries = len(planned_runs(rows, monkeypatch, prepared, before))
        assert (len(built), queries) == (0, 1)


def planned_runs(world: World, monkeypatch: Any, prepared: Any, before: list[Any]) -> list[Any]:
    """Read once more, and return the plans that were run for it."""
    ran: list[Any] = []
    carried_out = type(world.opened.source).carried_out
    monkeypatch.setattr(
        type(world.opened.source), "carried_out", lambda source, plan: ran.append(plan) or carried_out(source, plan)
    )
    after = prepared.gauge.read(world.opened)
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))
    return ran
