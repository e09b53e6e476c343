"""Statements over several tables move no further than they claim on neighbouring dirty databases, and as far as that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from sfumato import Pure
from sfumato.errors import CertificationError, ParameterError
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from sfumato.sql import narrowing
from sfumato.sql import plan as plans
from sfumato.sql import select as selects
from sfumato.sql.select import Select
from sfumato.table import gauge as gauges
from sfumato.table import own, person_parts, sensitivity
from sfumato.table.flat import Flat, FlatSchema
from sfumato.table.own import OpenDatabase
from sfumato.table.repair import PERSON
from sfumato.table.statistics import Part
from tests.replay import harness, seam
from tests.replay.databases import (
    DatabaseWorld,
    base,
    database_worlds,
    neighbours,
    opened,
    opened_data,
    pairs,
    statements,
)
from tests.replay.exemptions import ENOUGH
from tests.replay.worlds import Draws

WORLDS = {world.name: world for world in database_worlds()}
RELATIONS = (REPLACE_ONE, ADD_REMOVE)
FEW = (
    "low to high", "low to inside", "inside to low", "inside to high", "no event", "g in the place of p",
    "h is there twice", "without h", "g comes", "visits.kind of h", "visits.cost of h to None", "visits.place of h to 9",
    "people.sex of d",
)  # fmt: skip
"""What the gate opens; a database takes as long to open as twenty statements to read."""
ASKED = (
    "visits", "sum by kind", "join drops", "left sum", "left present", "persons", "per where", "per clamped", "people",
    "people by sex", "left per", "left per missing", "texts", "box", "box by kind",
    "box, one group", "persons, one group", "persons, some",
)  # fmt: skip
LOOSE = {
    "expression": "hulls of CASE: no cell goes from one end to the other by the condition alone (reaches 5/6)",
    "filter": "a condition of FILTER moves M, and a value that may be missing is charged s (reaches M/s = 2/3)",
    "per median": "depends on no attribute, and is charged to all of them (reaches 0; of one event each, all are 1)",
    "box, two groups": "two of three kinds: nobody here changes from two to two of which one is another (reaches 1/2)",
    "box, one group, where": "a cost empties the kind that is kept and fills no other at once (reaches 1/2)",
    "found, of events": "nobody here is in two groups of the kind with the largest number each (reaches 1/4)",
    "visits": "depends on no attribute, and is charged to all of them",
    "found where": "the key is the value, so that who leaves the group of 2 enters that of 1 (reaches 1/2)",
    "events with per": "where one event counts nobody passes `v > 1`, so that nothing moves at all (reaches 0)",
}
"""Claims that no pair can reach, why, and how far they are reached by one Laplace step."""


@pytest.fixture(scope="module")
def tables():
    with opened(WORLDS["two events"], 3, lambda name: name in FEW) as found:
        yield found


def survey(tables, name, relation=REPLACE_ONE, count=1):
    """Return the cells of one statement, planned anew."""
    for kept in (selects.compiled, selects._made):
        kept.cache_clear()
    return harness.survey(name, Select(statements(tables.world)[name]), tables, relation, count)


def broken(tables, name, relation=REPLACE_ONE):
    """Tell whether somebody moves a statement further than it claims."""
    cells = survey(tables, name, relation)
    assert cells
    return any(cell.breaches for cell in cells)


# Nothing tells more than is stated


def test_statements_over_several_tables_tell_no_more_than_is_stated(tables):
    cells = [
        cell
        for place, name in enumerate(ASKED)
        for cell in survey(tables, name, RELATIONS[place % 2])
    ]  # fmt: skip
    told = harness.shown(cells, tables) + "".join(harness.miscounted(tables))
    assert not told, told
    assert {cell.question for cell in cells} == set(ASKED)  # what is refused would pass without having been asked
    live = [cell for cell in cells if not cell.free]
    assert len(live) >= len(ASKED) - 2
    assert [cell.name for cell in live if cell.worst("person") < ENOUGH] == []


@pytest.mark.audit
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("made", [neighbours, pairs])
def test_statements_tell_no_more_than_is_stated_at_any_spend(world, made):
    cells = []
    with opened(WORLDS[world], list(WORLDS).index(world) + 10, made=made) as tables:
        for name in statements(tables.world):
            for relation in RELATIONS:
                cells += survey(tables, name, relation, len(harness.SPENDS) if made is neighbours else 2)
        told = harness.shown(cells, tables) + "".join(harness.miscounted(tables))
    assert not told, told
    assert {cell.question for cell in cells} == set(statements(WORLDS[world]))
    if made is neighbours:
        short = {cell.question for cell in cells for reach in cell.reaches().values() if reach < ENOUGH}
        assert short <= set(LOOSE), short
        assert len({cell.question for cell in cells} - short) >= 0.8 * len(statements(WORLDS[world]))


@pytest.mark.audit
@pytest.mark.parametrize("seed", range(3))
def test_any_two_people_of_a_random_database_are_within_what_is_stated(seed):
    cells = []
    with opened(WORLDS["two events"], 100 + seed) as tables:
        for name in statements(tables.world):
            cells += survey(tables, name, RELATIONS[seed % 2])
        told = harness.shown(cells, tables)
    assert not told, told


# Mutants of what is claimed


def test_groups_kept_by_the_number_of_a_person_are_found(monkeypatch):
    """Numbers depend on who else is there: then one person decides which groups of all others count."""
    with opened(
        WORLDS["two events"], 3, lambda name: name in ("without h", "without p", "g comes", "with m")
    ) as tables:
        assert not broken(tables, "box, one group", ADD_REMOVE)
        monkeypatch.setattr(OpenDatabase, "by_id", lambda database, rows: rows)
        assert broken(tables, "box, one group", ADD_REMOVE)


@dataclass(frozen=True)
class Cheaper(seam.Plan):
    """A plan that draws the noise of one spend and states the loss of another."""

    stated: seam.Plan | None = None

    @property
    def loss(self):
        assert self.stated is not None
        return self.stated.loss


@pytest.mark.parametrize(
    "name", ["sum by kind", "left sum", pytest.param("per clamped", marks=pytest.mark.audit), "persons", "box"]
)
def test_noise_that_is_five_percent_too_small_is_found(tables, name):
    question, world = Select(statements(tables.world)[name]), tables.world
    honest, dear = (
        seam.plan(question, world, tables.people, REPLACE_ONE, Pure(epsilon)) for epsilon in (Fraction(95, 100), 1)
    )
    for made, breaks in ((honest, False), (Cheaper(dear.prepared, world, REPLACE_ONE, honest), True)):
        cell = harness.Cell(f"{name} | | |", "")
        harness.measure(cell, made, tables)
        assert bool(cell.breaches) is breaks


def test_half_the_sensitivity_is_found(tables, monkeypatch):
    for moved in ("person_replaced", "attributes_changed"):
        plain = getattr(sensitivity, moved)

        def half(*given, _plain=plain, **more):
            found = _plain(*given, **more)
            return replace(found, l1=found.l1 / 2, l2_squared=found.l2_squared / 4, largest=found.largest / 2)

        monkeypatch.setattr(gauges, moved, half)
    assert broken(tables, "join drops") and broken(tables, "per clamped")


def test_rows_that_are_weighed_in_another_unit_are_refused_and_would_be_found(tables, monkeypatch):
    smaller = replace(tables, world=replace(tables.world, scale=3))
    with pytest.raises(ParameterError, match="opened with rows in units of 1/6"):
        broken(smaller, "visits")
    monkeypatch.setattr(OpenDatabase, "weighing", lambda held, scale: held)
    assert broken(smaller, "visits")


@pytest.mark.parametrize(
    ("attribute", "name"),
    [("visits.place", "join drops"), ("visits.place", "left sum"), ("visits.place", "left present"),
     ("visits.kind", "sum by kind"), ("visits.kind", "per where"), ("visits.cost", "left per missing")],
)  # fmt: skip
def test_an_attribute_that_is_not_charged_is_found(tables, monkeypatch, attribute, name):
    reads = FlatSchema.reads
    monkeypatch.setattr(FlatSchema, "reads", lambda schema, names: reads(schema, names) - {attribute})
    assert broken(tables, name)


def test_a_condition_inside_with_that_decides_nothing_is_found(tables, monkeypatch):
    monkeypatch.setattr(Flat, "presence", property(lambda flat: frozenset()))
    for kept in (selects.compiled, selects._made):
        kept.cache_clear()
    with pytest.raises(CertificationError, match="different columns"):
        Select(statements(tables.world)["left per"]).canonical(tables.world.schema)
    monkeypatch.setattr(plans, "check_charged", lambda *_: None)
    assert broken(tables, "left per") and broken(tables, "join drops")


def test_a_missing_value_charged_as_a_changed_one_is_found(tables, monkeypatch):
    monkeypatch.setattr(Part, "may_be_missing", lambda part, schema: False)
    assert broken(tables, "sum above zero")


def test_an_attribute_charged_as_a_person_who_comes_or_goes_is_found(tables, monkeypatch):
    monkeypatch.setattr(gauges, "attributes_changed", lambda shape, names, **_: sensitivity.person_there_or_not(shape))
    assert broken(tables, "sum by kind", ADD_REMOVE)


@pytest.mark.parametrize("name", ["per", "persons", "people and towns"])
def test_people_who_may_have_no_row_taken_for_everybody_are_found(tables, monkeypatch, name):
    assert not broken(tables, name)
    monkeypatch.setattr(Flat, "filtered", property(lambda flat: False))
    # The number is given away as public, or nobody is thought to move it.
    assert all(cell.breaches or cell.free for cell in survey(tables, name))


def test_a_range_that_is_narrowed_by_a_condition_under_or_is_found(tables, monkeypatch):
    assert not broken(tables, "narrowed") and not broken(tables, "not narrowed")

    def either(node):
        node = narrowing.bare(node)
        return list(node.parts) if isinstance(node, narrowing.tree.Chain) else [node]

    monkeypatch.setattr(narrowing, "conjuncts", either)
    assert broken(tables, "not narrowed")


# Mutants of what is read


def _moved(world: DatabaseWorld, name, neighbour, relation=REPLACE_ONE):
    """Tell whether one neighbour moves a statement too far, both opened anew."""
    with opened(world, 3, lambda one: one == neighbour) as found:
        return broken(found, name, relation) or bool(harness.miscounted(found))


def test_a_person_who_is_there_twice_and_picked_by_content_is_found(monkeypatch):
    """Which of two rows is picked would let one attribute decide another's cell."""

    def picked(owned, schema, links):
        import ibis

        window = ibis.window(group_by=PERSON, order_by=[owned.age, owned.sex])
        return owned.mutate(first=ibis.row_number().over(window)).filter(lambda t: t["first"] == 0).drop("first")

    monkeypatch.setattr(own, "told_apart", picked)
    world = WORLDS["two events"]
    data = base(Draws(3), world)
    turned = {**data, "people": [{**row, "age": 7 - row["age"]} if row["id"] == "d" else row for row in data["people"]]}
    first, second = (opened_data(world, one) for one in (data, turned))
    plan = seam.plan(Select(statements(world)["people by sex"]), replace(world, schema=first.database), first.people,
                     REPLACE_ONE, Pure(1))  # fmt: skip
    assert not plan.charged("people.age") and not harness.same(plan.read(first), plan.read(second))
    first.close(), second.close()


@pytest.mark.audit
def test_people_outside_the_roster_who_are_counted_are_found(monkeypatch):
    """With the events of strangers, one person more among the people changes nothing that is public, and is not all."""
    assert not _moved(WORLDS["two events"], "persons", "g in the place of p")
    plain = own._Opening._roster

    def everybody(opening, raw):
        opening.database = replace(opening.database, population=None)
        try:
            return plain(opening, raw)
        finally:
            opening.database = replace(opening.database, population="people")

    monkeypatch.setattr(own._Opening, "_roster", everybody)
    assert _moved(WORLDS["two events"], "persons", "g in the place of p")


@pytest.mark.audit
def test_a_clamp_before_the_sum_of_a_person_is_found(monkeypatch):
    """Of more rows than count, each inside its range, the sum is outside of the range of all."""
    assert not _moved(WORLDS["two events"], "per where", "everywhere")
    monkeypatch.setattr(person_parts, "inside", lambda code, value: code)
    assert _moved(WORLDS["two events"], "per where", "everywhere")
