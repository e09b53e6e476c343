"""Two tables that differ in one person give the same bytes, once the noisy values are the same."""

from __future__ import annotations

from itertools import islice

import pytest

from sfumato.errors import SfumatoError
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from sfumato.table.gauge import Basis
from tests.replay import harness, seam
from tests.replay.extreme import neighbours
from tests.replay.frozen import differing, drawn, seen
from tests.replay.questions import every_question
from tests.replay.worlds import worlds

WORLDS = {world.name: world for world in worlds()}
SHOWN = 2
"""How many neighbours of a cell are looked at: one that changed a person, one that changed an attribute."""


def _beside(tables, relation, name):
    """Return a few neighbours, others for every question."""
    found = tables.beside(relation)
    people = [pair for pair in found if pair[0].changed is None]
    attributes = [pair for pair in found if pair[0].changed is not None]
    turn = sum(map(ord, name))
    return [people[turn % len(people)], attributes[turn % len(attributes)]][:SHOWN]


def _wants_a_crowd(question, tables, relation, spend):
    """Tell whether a question is refused for want of people; then nobody can be answered here."""
    try:
        seam.plan(question, tables.world, tables.people, relation, spend)
    except SfumatoError:
        return True
    return False


def _differences(tables, names, relations=(REPLACE_ONE, ADD_REMOVE)):
    asked = every_question(tables.world.schema)
    for name in names:
        question = asked[name]
        for relation in relations:
            for spend, plan in harness.live_plans(name, question, tables, relation, 1):
                kept = []
                with drawn(type(plan.mechanism), kept):
                    first = seen(tables.base, question, spend, relation)
                    if '"refused"' in first and not _wants_a_crowd(question, tables, relation, spend):
                        yield f"{name}, {relation.value}, {spend!r} is planned, and refused when it is asked"
                    for neighbour, table in _beside(tables, relation, name):
                        second = seen(table, question, spend, relation)
                        if first != second:
                            yield f"{name}, {relation.value}, {spend!r}, {neighbour.name}: {differing(first, second)}"


def _some(draw, world, rows, tries):
    """Return one in four of the neighbours: opening a table takes longer than two answers from it."""
    return islice(neighbours(draw, world, rows, tries), 0, None, 4)


SAMPLE = 4
"""One question in so many is looked at in the gate."""
AUDITED = ("no person", "one row", "two keyed", "keyed groups")
LONG = [pytest.param(name, neighbours, marks=pytest.mark.audit) for name in AUDITED]


@pytest.mark.parametrize(("world", "made"), [("one row", _some), *LONG])
def test_all_but_the_noisy_values_is_the_same_on_neighbouring_tables(world, made):
    with harness.opened(WORLDS[world], seed=90, made=made) as tables:
        asked = list(every_question(tables.world.schema))
        told = list(_differences(tables, asked[::SAMPLE] if made is _some else asked))
    assert not told, "\n".join(told)


def test_a_number_of_people_that_a_plan_can_see_is_found(monkeypatch):
    """Where people come and go their number is private: a plan that sees it shows it."""
    monkeypatch.setattr(Basis, "__post_init__", lambda basis: None)
    with harness.opened(WORLDS["no person"], seed=90) as tables:
        tables.others = [pair for pair in tables.others if pair[0].name == "without p" or pair[0].changed is not None][
            :2
        ]
        told = list(_differences(tables, ["Synopsize labels", "Quantiles auto"], (ADD_REMOVE,)))
    assert told, "Nothing that is shown depends on the number of people, or it is not looked at."
