"""What every mechanism is given moves no further than it claims, and no output tells more than is stated."""

from __future__ import annotations

import pytest

from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from tests.replay import harness
from tests.replay.questions import every_question, uncovered
from tests.replay.worlds import worlds

WORLDS = {world.name: world for world in worlds()}
RELATIONS = (REPLACE_ONE, ADD_REMOVE)
NEVER_HERE = {"no person": set()}


@pytest.mark.parametrize("world", WORLDS)
def test_no_answer_tells_more_than_is_stated(world):
    cells = []
    with harness.opened(WORLDS[world], seed=list(WORLDS).index(world)) as tables:
        for name, question in every_question(WORLDS[world].schema).items():
            for relation in RELATIONS:
                cells += harness.survey(name, question, tables, relation)
        told = harness.shown(cells, tables)
    assert not told, told
    assert len(cells) > 100


def test_every_kind_method_engine_and_learner_is_asked():
    assert uncovered(WORLDS["no person"].schema) == []
