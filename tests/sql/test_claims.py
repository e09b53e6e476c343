from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from sfumato.errors import CertificationError
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from sfumato.sql import plan
from sfumato.sql.select import Made, Select
from sfumato.table.flat import Flat, FlatSchema
from sfumato.table.gauge import Basis
from sfumato.table.measure import Ordered, People, Totals
from sfumato.table.statistics import COUNT, Part
from tests.sql.claims import (
    Claim,
    World,
    claims_of,
    gauge_of,
    person_claims,
    person_statements,
    person_world,
    row_statements,
    rows_world,
)


@pytest.fixture(scope="module")
def rows() -> Any:
    world = rows_world(2, 2)
    yield world
    world.opened.close()


@pytest.fixture(scope="module")
def people() -> Any:
    world = person_world(2, 3)
    yield world
    world.opened.close()


def _reached(claims: list[Claim]) -> float:
    assert not [one for one in claims if one.exceeded]
    return sum(one.attained for one in claims) / len(claims)


def test_no_change_moves_flat_rows_by_more_than_is_claimed(rows: World) -> None:
    assert _reached([one for text in islice(row_statements(), 0, None, 3) for one in claims_of(rows, text)]) >= 0.85


def test_no_person_moves_flat_rows_by_more_than_is_claimed(rows: World) -> None:
    assert _reached([one for text in islice(row_statements(), 1, None, 8) for one in person_claims(rows, text)]) > 0.5


def test_no_change_moves_rows_of_a_person_by_more_than_is_claimed(people: World) -> None:
    listed = islice((text for text, _ in person_statements()), 0, None, 5)
    assert _reached([one for text in listed for one in claims_of(people, text)]) >= 0.8


@pytest.mark.audit
def test_all_claims_about_flat_rows_and_rows_of_a_person() -> None:
    found: list[Claim] = []
    for limit in (1, 2):
        world = rows_world(limit, 2)
        found += [one for text in row_statements() for one in claims_of(world, text)]
        world.opened.close()
    assert len(found) == 1344
    for limit in (1, 2):
        world = person_world(limit, 3)
        listed = [text for text, weighed in person_statements() if weighed or limit == 2]
        found += [one for text in listed for one in claims_of(world, text)]
        world.opened.close()
    assert len(found) == 1344 + 1280
    assert _reached(found) >= 0.85


# Mutants: what the enumeration must find


def _exceeded(world: World, statement: str) -> bool:
    return any(one.exceeded for one in claims_of(world, statement))


def test_a_missing_value_charged_as_a_changed_one_is_found(rows: World, monkeypatch: Any) -> None:
    statement = "SELECT SUM(x) FROM visits"
    assert not _exceeded(rows, statement)
    monkeypatch.setattr(Part, "may_be_missing", lambda part, schema: False)
    assert _exceeded(rows, statement)


def test_an_attribute_charged_as_a_person_who_comes_or_goes_is_found(rows: World) -> None:
    statement = "SELECT COUNT(*) FROM visits GROUP BY k"
    gauge = gauge_of(rows, statement, ADD_REMOVE)
    assert max(one.found[0] for one in claims_of(rows, statement)) > gauge.sensitivity(COUNT).l1


@pytest.mark.parametrize(
    ("forgotten", "statement"),
    [
        ("visits.link", "SELECT COUNT(*) FROM visits JOIN places ON link = place"),
        ("visits.link", "SELECT SUM(number) FROM visits LEFT JOIN places ON link = place"),
        ("visits.link", "SELECT COUNT(number) FROM visits LEFT JOIN places ON link = place"),
        ("visits.x", "SELECT COUNT(*) FROM visits WHERE x > 1"),
        ("visits.k", "SELECT COUNT(*) FROM visits GROUP BY k"),
    ],
)
def test_an_attribute_that_is_not_charged_is_found(
    rows: World, monkeypatch: Any, forgotten: str, statement: str
) -> None:
    assert not _exceeded(rows, statement)
    reads = FlatSchema.reads
    monkeypatch.setattr(FlatSchema, "reads", lambda schema, names: reads(schema, names) - {forgotten})
    assert _exceeded(rows, statement)


def test_a_condition_inside_with_that_is_not_charged_is_found(people: World, monkeypatch: Any) -> None:
    statement = "WITH per AS (SELECT id, COUNT(*) AS v FROM visits WHERE w = 'a' GROUP BY id) SELECT COUNT(*) FROM per"
    assert not _exceeded(people, statement)
    from sfumato.sql import select

    for kept in (select.compiled, select._made):
        kept.cache_clear()
    monkeypatch.setattr(Flat, "presence", property(lambda flat: frozenset()))
    with pytest.raises(CertificationError, match="different columns"):
        _exceeded(people, statement)
    monkeypatch.setattr(plan, "check_charged", lambda *_: None)
    try:
        assert _exceeded(people, statement)
    finally:
        for kept in (select.compiled, select._made):
            kept.cache_clear()


# What is free, and what is not

PER = "WITH per AS (SELECT id, COUNT(*) AS v FROM visits GROUP BY id) "


def _gauge(world: World, statement: str, measure: Any = None, relation: Any = REPLACE_ONE) -> Any:
    database = world.opened.database
    made = Made.of(Select(statement).canonical(database).statement, database)
    basis = Basis(made.schema, len(world.records), relation)
    return basis.gauge(measure(made) if measure is not None else Totals(made.keys, (COUNT,), made.schema.where))


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT COUNT(*) FROM visits",
        PER + "SELECT COUNT(*) FROM per",
        PER + "SELECT COUNT(*) FROM people JOIN per ON people.id = per.id",
        "SELECT COUNT(*) FROM people WHERE z = 'm'",
    ],
)
def test_only_the_roster_has_a_public_size(people: World, monkeypatch: Any, statement: str) -> None:
    gauge = _gauge(people, statement)
    assert gauge.public() is None and gauge.total is None and gauge.sensitivity().l1 > 0
    monkeypatch.setattr(Flat, "filtered", property(lambda flat: False))
    mutant = _gauge(people, statement)
    # Taken for the roster, the number would be public, or a person of one row could not come and go.
    assert mutant.public() is not None or statement == "SELECT COUNT(*) FROM visits"


def test_the_roster_is_public_where_people_are_replaced_and_private_where_they_come_and_go(people: World) -> None:
    for statement in (
        "SELECT COUNT(*) FROM people",
        PER + "SELECT COUNT(*) FROM people LEFT JOIN per ON people.id = per.id",
    ):
        assert _gauge(people, statement).public() == len(people.records)
        assert _gauge(people, statement, relation=ADD_REMOVE).public() is None


def test_people_with_an_event_are_private(people: World, monkeypatch: Any) -> None:
    def counted(made: Made) -> Any:
        return People(made.keys, made.schema.where)

    assert _gauge(people, "SELECT COUNT(DISTINCT id) FROM visits", counted).sensitivity().l1 == 1
    monkeypatch.setattr(Flat, "filtered", property(lambda flat: False))
    assert _gauge(people, "SELECT COUNT(DISTINCT id) FROM visits", counted).sensitivity().l1 == 0


def test_the_number_of_values_of_a_quantile_over_persons_with_events_is_private(
    people: World, monkeypatch: Any
) -> None:
    def ordered(made: Made) -> Any:
        return Ordered("value_1", made.schema.where)

    assert _gauge(people, PER + "SELECT MEDIAN(v) FROM per", ordered).total is None
    monkeypatch.setattr(Flat, "filtered", property(lambda flat: False))
    assert _gauge(people, PER + "SELECT MEDIAN(v) FROM per", ordered).total == len(people.records)


def test_a_roster_that_is_public_although_people_come_and_go_is_found(people: World, monkeypatch: Any) -> None:
    assert _gauge(people, "SELECT COUNT(*) FROM people", relation=ADD_REMOVE).public() is None
    monkeypatch.setattr(Basis, "__post_init__", lambda basis: None)
    # One person more is another number, and it would be given away.
    assert _gauge(people, "SELECT COUNT(*) FROM people", relation=ADD_REMOVE).public() == len(people.records)
