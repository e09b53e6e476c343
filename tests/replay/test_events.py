"""Statements about events that lead to other events move no further than they claim, and as far as that."""

from __future__ import annotations

import pytest

from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from sfumato.sql import select as selects
from sfumato.sql.select import Select
from sfumato.table import own
from sfumato.table.flat import FlatSchema
from sfumato.table.statistics import Part
from tests.replay import harness
from tests.replay.databases import opened
from tests.replay.events import STATEMENTS, base, events_worlds, neighbours, pairs
from tests.replay.exemptions import ENOUGH

WORLDS = {world.name: world for world in events_worlds()}
RELATIONS = (REPLACE_ONE, ADD_REMOVE)
FEW = (
    "p: high", "p: no event", "p: many of one", "i: without visits", "i: missing", "without i", "g comes",
    "drugs.visit of p to 1", "drugs.visit of i to 9", "visits.cost of i to None",
)  # fmt: skip
"""What the gate opens."""
ASKED = ("drops", "left by kind", "left sum", "left present", "visits", "box", "per left")
LOOSE = {
    "box": "nobody is in one of the two cells before and in the other one after, and in no third (reaches 2/3)",
    "persons": "nobody goes from two kinds of visits with drugs to two others (reaches 1/2)",
    "visits": "nobody has two visits of one kind here that both change (reaches 3/8)",
    "costs of visits": "nobody has two visits whose costs both go from one end to none (reaches 5/8 and 25/64)",
}
"""Claims that no pair reaches here, why, and how far."""


@pytest.fixture(scope="module")
def tables():
    with opened(WORLDS["1 of a visit"], 3, lambda name: name in FEW, neighbours, base) as found:
        yield found


def survey(tables, name, relation=REPLACE_ONE, count=1):
    """Return the cells of one statement, planned anew."""
    for kept in (selects.compiled, selects._made):
        kept.cache_clear()
    return harness.survey(name, Select(STATEMENTS[name]), tables, relation, count)


def broken(tables, name, relation=REPLACE_ONE):
    """Tell whether somebody moves a statement further than it claims."""
    cells = survey(tables, name, relation)
    assert cells
    return any(cell.breaches for cell in cells)


def test_statements_about_events_of_events_tell_no_more_than_is_stated(tables):
    cells = [cell for place, name in enumerate(ASKED) for cell in survey(tables, name, RELATIONS[place % 2])]
    cells += survey(tables, "drops", ADD_REMOVE)
    told = harness.shown(cells, tables) + "".join(harness.miscounted(tables))
    assert not told, told
    assert {cell.question for cell in cells} == set(ASKED)
    assert [cell.name for cell in cells if cell.question not in LOOSE and cell.worst("person") < ENOUGH] == []


@pytest.mark.audit
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("made", [neighbours, pairs])
def test_events_of_events_tell_no_more_than_is_stated_at_any_spend(world, made):
    cells = []
    with opened(WORLDS[world], 3, made=made, first_of=base) as found:
        for name in STATEMENTS:
            for relation in RELATIONS:
                cells += survey(found, name, relation, 3 if made is neighbours else 1)
        told = harness.shown(cells, found) + "".join(harness.miscounted(found))
    assert not told, told
    assert {cell.question for cell in cells} == set(STATEMENTS)
    if made is neighbours:
        short = {cell.question for cell in cells if not cell.free and cell.worst("person") < ENOUGH}
        assert short <= set(LOOSE), short


# Mutants


@pytest.mark.parametrize("name", ["drops", "left by kind", "left sum"])
def test_a_link_that_is_not_charged_is_found(tables, monkeypatch, name):
    reads = FlatSchema.reads
    monkeypatch.setattr(FlatSchema, "reads", lambda schema, names: reads(schema, names) - {"drugs.visit"})
    assert broken(tables, name)


def test_a_missing_partner_charged_as_a_changed_value_is_found(tables, monkeypatch):
    monkeypatch.setattr(Part, "may_be_missing", lambda part, schema: False)
    assert broken(tables, "left sum")


def test_visits_of_others_that_are_met_are_found(monkeypatch):
    """One person then decides where the drugs of all others lead."""

    def anybodys(opening, owned, link, to, found):
        keys = found[to].select(sfumato_of=found[to].sfumato_key, sfumato_partner=found[to].sfumato_place)
        joined = owned.left_join(keys, [owned[link] == keys.sfumato_of])
        kept = {name: joined[name] for name in owned.columns if name != link}
        return joined.select(**kept, **{link: joined.sfumato_partner})

    plain = own._Opening._led
    mutant = lambda opening, owned, link, to, found: (anybodys if to == "visits" else plain)(opening, owned, link, to, found)  # noqa: E731  # fmt: skip
    monkeypatch.setattr(own._Opening, "_led", mutant)
    with opened(WORLDS["1 of a visit"], 3, lambda name: name == "without i", neighbours, base) as found:
        assert broken(found, "drops", ADD_REMOVE)


def test_numbers_that_are_there_twice_and_met_twice_are_found(monkeypatch):
    """A drug would count once for each visit of its number."""
    monkeypatch.setattr(own, "told_apart", lambda raw, schema, links: raw)
    with opened(WORLDS["1 of a visit"], 3, lambda name: name == "without t", neighbours, base) as found:
        assert broken(found, "drops", ADD_REMOVE)
