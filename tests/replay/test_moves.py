"""What every mechanism is given moves no further than it claims, and no output tells more than is stated."""

from __future__ import annotations

import pytest

from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from tests.replay import exemptions, harness
from tests.replay.questions import every_question, uncovered
from tests.replay.worlds import worlds

WORLDS = {world.name: world for world in worlds()}
RELATIONS = (REPLACE_ONE, ADD_REMOVE)
GATE = ("no person", "one row", "two keyed")
"""Every way once; the others are for the audit, `row_key=()` among them, which reads as no person column does."""
LONG = [pytest.param(name, marks=pytest.mark.audit) for name in ("declared", "keyed groups")]
READ = ("no person", "declared")
"""Worlds whose reaches were read one by one: here every mutant of a number must be seen, or have its entry."""


def surveyed(world: str, count: int = 2) -> tuple[list[harness.Cell], str]:
    """Return all cells of a world, and what is wrong with them."""
    cells: list[harness.Cell] = []
    with harness.opened(WORLDS[world], seed=list(WORLDS).index(world)) as tables:
        for name, question in every_question(WORLDS[world].schema).items():
            for relation in RELATIONS:
                cells += harness.survey(name, question, tables, relation, count)
        told = harness.shown(cells, tables)
    return cells, told


@pytest.mark.parametrize("world", [*GATE, *LONG])
def test_no_answer_tells_more_than_is_stated(world):
    cells, told = surveyed(world)
    assert not told, told
    assert len({cell.question for cell in cells}) > 40
    if world in READ:
        missing = exemptions.problems(world, cells, exemptions.listed())
        assert not missing, "\n".join(missing)


@pytest.mark.audit
@pytest.mark.parametrize("world", WORLDS)
def test_no_answer_tells_more_than_is_stated_at_any_spend(world):
    _, told = surveyed(world, len(harness.SPENDS))
    assert not told, told


def test_every_kind_method_engine_and_learner_is_asked():
    assert uncovered(WORLDS["no person"].schema) == []
