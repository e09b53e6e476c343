"""No question is refused everywhere without leave: it would pass every replay without having been asked."""

from __future__ import annotations

import pytest

from sfumato.questions import Sum
from tests.replay import refusals
from tests.replay.questions import every_question
from tests.replay.worlds import worlds

WORLDS = {world.name: world for world in worlds()}


@pytest.mark.parametrize("world", WORLDS)
def test_every_question_is_answered_somewhere_or_refused_for_the_reason_that_is_listed(world):
    said = {
        name: refusals.reasons(name, question, WORLDS[world])
        for name, question in every_question(WORLDS[world].schema).items()
    }
    assert refusals.surprises(WORLDS[world], [name for name, reasons in said.items() if not reasons]) == []
    for name, reason in refusals.expected(WORLDS[world]).items():
        assert any(reason in one for one in said[name]), (name, said[name][0])


def test_every_listed_refusal_is_met():
    for refusal in refusals.EXPECTED:
        for question in refusal.questions:
            assert any(
                name.startswith(question) and refusals.expected(world)[name] == refusal.reason
                for world in WORLDS.values()
                for name in refusals.expected(world)
            )


def test_a_question_that_is_refused_everywhere_is_found():
    """Text cannot be added up, at any spend."""
    world = WORLDS["no person"]
    assert refusals.reasons("Sum", every_question(world.schema)["Sum"], world) == []
    assert refusals.reasons("Sum", Sum("town"), world)
    answered = [name for name in every_question(world.schema) if name != "Sum"]
    assert refusals.surprises(world, answered) == ["Sum is refused everywhere in 'no person', and nobody expects it"]


def test_a_question_that_is_answered_where_it_is_listed_as_refused_is_found():
    world = WORLDS["two keyed"]
    told = refusals.surprises(world, list(every_question(world.schema)))
    assert len(told) == len(refusals.expected(world)) and all("drop it" in one for one in told)
