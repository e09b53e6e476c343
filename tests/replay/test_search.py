"""Random tables, neighbours, questions and spends, for as long as there is time: nothing tells more than is stated."""

from __future__ import annotations

import time

import pytest

from sfumato.noise import Noise
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from tests.replay import harness
from tests.replay.questions import every_question
from tests.replay.worlds import Draws, worlds

MINUTES = 10


@pytest.mark.audit
def test_a_random_search_finds_no_answer_that_tells_more_than_is_stated():
    seed = Noise().uniform(1 << 32)
    print(f"seed {seed}")
    draw, until, tried = Draws(seed), time.process_time() + 60 * MINUTES, 0
    while time.process_time() < until:
        world = draw.one_of(worlds())
        asked = every_question(world.schema)
        names = list(asked)
        at = draw.below(1 << 31)
        with harness.opened(world, at, tries=2) as tables:
            for _ in range(12):
                name = draw.one_of(names)
                relation = draw.one_of((REPLACE_ONE, ADD_REMOVE))
                cells = harness.survey(name, asked[name], tables, relation, 3)
                told = harness.shown(cells, tables)
                assert not told, f"seed {seed}, tables {at}: {told}\n{_neighbours(tables, cells)}"
                tried += len(cells)
    assert tried > 50


def _neighbours(tables: harness.Tables, cells: list[harness.Cell]) -> str:
    """Return the tables that the breaches speak of, as Python literals."""
    said = " ".join(breach for cell in cells for breach in cell.breaches)
    return "\n".join(f"{one.name} = {one.rows!r}" for one, _ in tables.others if one.name in said)
