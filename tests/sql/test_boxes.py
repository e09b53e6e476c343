"""One clamped number a person and group (SQ-BOX): claims over every record of a tiny database, and their mutants."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato import Pure
from sfumato.domain import integers
from sfumato.errors import CertificationError, ParameterError
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from sfumato.sql import plan as plans
from sfumato.sql import select as selects
from sfumato.sql.select import Made, Select
from sfumato.sql.statement import read_statement
from sfumato.table import boxes, gauge, view
from sfumato.table.bounding import ordered_groups
from sfumato.table.boxes import Box, Reach, clamped_shares, kept_groups
from sfumato.table.database import Database
from sfumato.table.gauge import Basis
from sfumato.table.measure import Boxed, FoundBoxes
from sfumato.table.own import ROSTER, FlatTable, open_database
from sfumato.table.repair import PERSON
from sfumato.table.schema import Schema
from sfumato.table.statistics import CELL, cell_index, part_name
from sfumato.table.view import View
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
    measure = Boxed(made.keys, (box,), made.schema.where, made.groups)
    replaced, added = (
        Basis(made.schema, len(world.records), relation, scale=SCALE).gauge(measure)
        for relation in (REPLACE_ONE, ADD_REMOVE)
    )
    # Which cells of somebody are kept depends on who they are: who changes an attribute keeps the name.
    called = [shares(world, made, box, who) for who in ((0, 1, 2) if made.groups else (0,))]
    found = []
    for changed in changes(world):
        # The same under both relations: somebody who changes an attribute is there in both tables.
        claims = {one.sensitivity(box, set(changed)) for one in (replaced, added)}
        furthest = [moved(vectors, groups(world, changed)) for vectors in called]
        most = tuple(max(ends) for ends in zip(*furthest, strict=True))
        found.append(_claim(statement, changed, claims.pop(), most))
        assert not claims
    vectors = np.vstack(called)
    found.append(_claim(statement, "replaced", replaced.sensitivity(box), moved(vectors, [np.arange(len(vectors))])))
    size = np.abs(vectors)
    there = (int(size.sum(axis=1).max()), int((size**2).sum(axis=1).max()), int(size.max()))
    return [*found, _claim(statement, "there or not", added.sensitivity(box), there)]


def _claim(statement: str, change: Any, claim: Any, found: Any) -> Claim:
    return Claim(statement, change, (claim.l1, claim.l2_squared, claim.largest), found)


def shares(world: World, made: Made, box: Box, who: int = 0) -> np.ndarray:
    """Return what every record adds to each cell, read by the code that ships; `who` the records belong to."""
    table = FlatTable(world.opened, world.opened, made.schema)
    limit = kept_groups(made.schema, made.keys, made.groups)
    if limit is not None:
        return kept_shares(world, made, box, limit, who)
    found = world.opened.run(clamped_shares(table.everybody(), made.schema, made.keys, [box])).to_pydict()
    roster = world.opened.run(world.opened.held(ROSTER)).to_pydict()
    who = dict(zip(roster["sfumato_number"], roster[PERSON], strict=True))
    cells = int(np.prod([made.schema.domain(name).size for name in made.keys], dtype=int))
    vectors = np.zeros((len(world.records), cells), np.int64)
    for place, number in enumerate(found[PERSON]):
        vectors[who[number], found[CELL][place] if CELL in found else 0] += found[part_name(0)][place]
    return vectors


def kept_shares(world: World, made: Made, box: Box, limit: int, who: int) -> np.ndarray:
    """Return what every record of somebody adds to each cell where only the first cells of a person are kept."""
    table = FlatTable(world.opened, world.opened, made.schema)
    rule = Basis(made.schema, 1, scale=SCALE).gauge(Boxed(made.keys, (box,))).rule
    rows = clamped_shares(table.everybody(), made.schema, made.keys, [box], by_key=True)

    def as_of_one(part: Any, *given: Any) -> Any:
        renamed = part.mutate(sfumato_record=part[PERSON])
        placed = ordered_groups(renamed.mutate(**{PERSON: renamed[PERSON] * 0 + who}), *given)
        return placed.mutate(**{PERSON: placed.sfumato_record}).drop("sfumato_record")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(view, "ordered_groups", as_of_one)
        kept = View(table, made.schema.values, rule)._first_cells(rows, made.keys, limit, hidden=())
    found = world.opened.run(kept.mutate(**{CELL: cell_index(kept, made.schema, made.keys)})).to_pydict()
    cells = int(np.prod([made.schema.domain(name).size for name in made.keys], dtype=int))
    vectors = np.zeros((len(world.records), cells), np.int64)
    for person, cell, share in zip(found[PERSON], found[CELL], found[part_name(0)], strict=True):
        vectors[person, cell] += share
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


def limited(groups: int, key: str, value: str, where: str = "", join: str = "LEFT ") -> str:
    """Return a clamped total of which a person adds to some groups only."""
    option = f"WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = {groups}) "
    return f"SELECT {option}{key}, {value} FROM visits v {join}JOIN places p ON v.link = p.place{where} GROUP BY {key}"


def limited_statements() -> Iterator[str]:
    """Yield totals by two cells of which one is kept, and by three of which one or two are: (2, 1), (3, 1), (3, 2)."""
    for (most, key), value, where in product(((1, "v.k = 'a'"), (2, "p.mark"), (1, "p.mark")), VALUES, FILTERS):
        yield limited(most, key, value, where)


def test_no_change_moves_a_total_over_some_groups_by_more_than_is_claimed(rows: World) -> None:
    found = [one for text in list(limited_statements())[::11] for one in box_claims(rows, text)]
    assert not [one for one in found if one.exceeded]
    assert sum(one.attained for one in found) >= 0.5 * len(found)


@pytest.mark.audit
def test_all_claims_about_totals_over_some_groups(rows: World) -> None:
    found = [one for text in limited_statements() for one in box_claims(rows, text)]
    assert len(found) == 72 * 9
    assert not [one for one in found if one.exceeded]
    one_group = [one for one in found if "= 1)" in one.statement and "(0, 5)" not in one.statement]
    assert sum(one.attained for one in one_group) >= 0.6 * len(one_group)


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
    monkeypatch.setattr(gauge, "box_moved", lambda *given, **_: plain(*given[:4], None, replaced=False))
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


def test_a_filter_that_exchanges_kept_groups_charged_as_one_that_does_not_is_found(
    rows: World, monkeypatch: Any
) -> None:
    statement = limited(1, "p.mark", f"COUNT(*, {BOUND} (0, 1))", " WHERE v.k = 'a'")
    assert not _exceeded(rows, statement)
    monkeypatch.setattr(Reach, "exchanged", lambda reach: reach.within(reach.spread))
    assert _exceeded(rows, statement)


def test_cells_kept_by_values_that_are_there_are_found(rows: World, monkeypatch: Any) -> None:
    """Whether a value is missing must not decide which cells of a person count."""
    statement = limited(1, "v.k = 'a'", f"SUM(v.x, {BOUND} (1, 3))")
    assert not _exceeded(rows, statement)

    plain = clamped_shares

    def there(shares: Any, *given: Any, **more: Any) -> Any:
        found = plain(shares, *given, **more)
        return found.filter(found[part_name(0)] != 0)

    monkeypatch.setitem(globals(), "clamped_shares", there)
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
    monkeypatch.setattr(view, "clamped_shares", lambda *given, **more: built.append(1) or plain(*given, **more))
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


def test_groups_of_a_person_are_limited_by_the_schema_too() -> None:
    visits = Schema({"k": integers(0, 2)}, person="id", rows_per_person=9, groups_per_person=1)
    rows = pa.table({"id": [1, 1, 1, 2, None], "k": [0, 1, 2, 1, 2]})
    with sf.curate({"visits": rows}, Database({"visits": visits}), Pure(10**9)) as curator:
        for what in (f"COUNT(*, {BOUND} (0, 1))", "COUNT(DISTINCT id)"):
            found = curator.sql(f"SELECT k, {what} AS n FROM visits GROUP BY k", spend=Pure(10**7))
            assert sum(found.frame["n"]) == 2
            assert any("at most 1 of their groups" in note for note in found.notes)
        wider = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 2) k, COUNT(*, {BOUND} (0, 1)) AS n"
        assert sum(curator.sql(f"{wider} FROM visits GROUP BY k", spend=Pure(10**7)).frame["n"]) == 3
    assert Database.from_toml(Database({"visits": visits}).to_toml()) == Database({"visits": visits})


def test_a_limit_on_groups_that_the_plan_forgets_is_caught(rows: World, monkeypatch: Any) -> None:
    asked = limited(1, "p.mark", f"COUNT(*, {BOUND} (0, 1))")
    Select(asked).canonical(rows.opened.database)
    monkeypatch.setattr(plans, "groups_of", lambda options, keys: None)
    selects.compiled.cache_clear()
    with pytest.raises(CertificationError):
        Select(asked).canonical(rows.opened.database)


PAIRS = {
    "SELECT id, k, LEAST(SUM(x), 4) AS s FROM visits WHERE x > 1 GROUP BY id, k": f"SUM(visits.x, {BOUND} (2, 4))",
    "SELECT id, k, GREATEST(LEAST(SUM(x - 2), 1), -1) AS s FROM visits GROUP BY id, k": f"SUM(x - 2, {BOUND} (-1, 1))",
    "SELECT id, k, SUM(x - 2) AS s FROM visits GROUP BY id, k": f"SUM(x - 2, {BOUND} (-2, 2))",
    "SELECT id, k, COUNT(*) AS s FROM visits GROUP BY id, k": f"COUNT(*, {BOUND} (1, 2))",
    "SELECT id, k, COUNT(x) AS s FROM visits GROUP BY id, k": f"COUNT(x, {BOUND} (0, 2))",
    "SELECT id, k, LEAST(COUNT(*) FILTER (WHERE x = 3), 1) AS s FROM visits GROUP BY id, k": (
        f"COUNT(*, {BOUND} (0, 1)) FILTER (WHERE x = 3)"
    ),
}


@pytest.mark.parametrize("inside", PAIRS)
def test_a_table_by_person_and_group_is_totals_with_bounds(rows: World, inside: str) -> None:
    """One statement under two spellings: it is one question, and costs and says the same."""
    database, option = rows.opened.database, "WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1) "
    where = " WHERE x > 1" if "WHERE x > 1" in inside else ""
    for more in ("", option):
        spelled = f"WITH per AS ({inside}) SELECT {more}k, SUM(s) FROM per GROUP BY k"
        bounds = f"SELECT {more}k, {PAIRS[inside]} FROM visits{where} GROUP BY k"
        assert Select(spelled).canonical(database) == Select(bounds).canonical(database)
    counted = Select(f"WITH per AS ({inside}) SELECT k, COUNT(*) FROM per GROUP BY k").canonical(database)
    assert counted == Select(f"SELECT k, COUNT(DISTINCT id) FROM visits{where} GROUP BY k").canonical(database)


def test_a_table_may_be_grouped_by_the_names_of_what_is_computed(rows: World) -> None:
    """It said that there is no such column; as in the engine, a column goes before an item of its name."""
    database = rows.opened.database
    inside = "SELECT id, x > 1 AS big, k AS kind, COUNT(*) AS n FROM visits GROUP BY id, big, kind"
    spelled = f"WITH per AS ({inside}) SELECT kind, big, SUM(n) FROM per GROUP BY 1, big"
    plain = f"SELECT k, x > 1, COUNT(*, {BOUND} (1, 2)) FROM visits GROUP BY k, x > 1"
    assert Select(spelled).canonical(database) == Select(plain).canonical(database)
    hidden = "SELECT id, x > 1 AS k, COUNT(*) AS n FROM visits GROUP BY id, k"
    with pytest.raises(ParameterError, match="perhaps inside LEAST"):
        Select(f"WITH per AS ({hidden}) SELECT k, SUM(n) FROM per GROUP BY k").canonical(database)


def test_what_both_spellings_read_is_what_the_engine_says(rows: World) -> None:
    """Per person and kind at most 4 of the sums above 1; the engine is asked the statement as it was written."""
    spelled = (
        "WITH per AS (SELECT id, k, LEAST(SUM(x), 4) AS s FROM visits WHERE x > 1 GROUP BY id, k) "
        "SELECT k, SUM(s) AS paid, COUNT(*) AS people FROM per GROUP BY k"
    )
    visits = [(person, *row) for person, (_, record) in enumerate(rows.records) for row in record]
    engine = duckdb.connect()
    engine.execute("CREATE TABLE visits (id INT, k TEXT, x INT, link INT)")
    engine.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", visits)
    database = rows.opened.database
    found: dict[str, list[int]] = {}
    for select in read_statement(spelled, database).selects:
        prepared = select.canonical(database).prepare(Basis(database, len(rows.records)), Pure(1))
        for array in prepared.gauge.read(rows.opened):
            for label, number in zip("ab", array, strict=False):
                found.setdefault(label, []).append(int(number))
    assert {k: sorted(more) for k, *more in engine.execute(spelled).fetchall()} == {
        k: sorted(numbers) for k, numbers in found.items()
    }


def test_groups_that_are_found_move_no_further_than_is_claimed(rows: World) -> None:
    """What a person adds to the first of their groups is the same, be the keys listed or found."""
    for statement in list(limited_statements())[::17]:
        database = rows.opened.database
        made = Made.of(Select(statement).canonical(database).statement, database)
        (box,) = (one.box for one in made.boxes)
        measure = FoundBoxes(made.keys, (box,), made.schema.where, made.groups)
        vectors = shares(rows, made, box)
        everybody = [np.arange(len(vectors))]
        for relation in (REPLACE_ONE, ADD_REMOVE):
            found = Basis(made.schema, len(vectors), relation, scale=SCALE).gauge(measure)
            for changed in changes(rows):
                one = _claim(
                    statement, changed, found.sensitivity(box, set(changed)), moved(vectors, groups(rows, changed))
                )
                assert not one.exceeded
        replaced = Basis(made.schema, len(vectors), scale=SCALE).gauge(measure).sensitivity(box)
        assert not _claim(statement, "replaced", replaced, moved(vectors, everybody)).exceeded
