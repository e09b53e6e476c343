"""What every mechanism is given moves no further than it claims: for a person, and for each attribute."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from sfumato import Approximate, Pure
from sfumato.errors import SfumatoError
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from sfumato.privacy.relations import Relation
from tests.replay import seam
from tests.replay.moves import applies, moves
from tests.replay.questions import every_question, uncovered
from tests.replay.worlds import Draws, Neighbour, World, base, neighbours, worlds

WORLDS = {world.name: world for world in worlds()}
SPENDS = (Pure(1), Approximate(1, "1e-6"), Pure(1).per_attribute())
RELATIONS = (REPLACE_ONE, ADD_REMOVE)
CELLS = [
    pytest.param(name, world, relation, id=f"{name}, {world}, {relation.value}")
    for world in WORLDS
    for relation in RELATIONS
    for name in every_question(WORLDS[world].schema)
]
CROWD = 10_000
"""A public number of people for plans that refuse four; a reading does not depend on it."""


@pytest.fixture(scope="module", autouse=True)
def _remembering():
    patch = seam.remembering()
    yield
    patch.undo()


@cache
def opened(world: str) -> tuple[seam.Table, list[tuple[Neighbour, seam.Table]]]:
    """Open a base table and all of its neighbours, once for all questions."""
    draw, found = Draws(list(WORLDS).index(world)), WORLDS[world]
    rows = base(draw, found)
    others = [(one, seam.open_rows(found, one.rows)) for one in neighbours(draw, found, rows, tries=2)]
    return seam.open_rows(found, rows), others


def plans(name: str, world: World, relation: Relation, people: int) -> Iterator[seam.Plan]:
    """Yield the plans of a question that differ in what runs."""
    question = every_question(world.schema)[name]
    for spend in SPENDS:
        try:
            yield seam.plan(question, world, people, relation, spend)
        except SfumatoError:
            continue


def live(name: str, world: World, relation: Relation) -> list[seam.Plan]:
    """Return the plans for the people there are; where all are refused, for a crowd."""
    return list(plans(name, world, relation, 4)) or list(plans(name, world, relation, CROWD))


@pytest.mark.parametrize(("name", "world", "relation"), CELLS)
def test_nothing_moves_further_than_it_claims(name, world, relation):
    table, others = opened(world)
    for plan in live(name, WORLDS[world], relation):
        readings = [(one, plan.read(other)) for one, other in others if applies(one, relation)]
        far = [str(move) for move in moves(plan, plan.read(table), iter(readings)) if move.too_far]
        assert not far, f"{type(plan.mechanism).__name__}: {far[0]}, and {len(far) - 1} more"


def test_every_kind_method_engine_and_learner_is_asked():
    assert uncovered(WORLDS["no person"].schema) == []


def test_every_question_is_answered_somewhere():
    names = every_question(WORLDS["no person"].schema)
    dead = [n for n in names if not any(live(n, w, r) for w in WORLDS.values() for r in RELATIONS)]
    assert not dead, (
        f"No spend is answered for {', '.join(dead)}; give the question columns that it can be asked about."
    )
