"""What every mechanism is given moves no further than it claims, and no output tells more than is stated."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest

from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from tests.replay import exemptions, harness, refusals
from tests.replay.extreme import pairs_of_attributes
from tests.replay.questions import every_question, uncovered
from tests.replay.worlds import worlds

WORLDS = {world.name: world for world in worlds()}
RELATIONS = (REPLACE_ONE, ADD_REMOVE)
GATE = (("no person", 2), ("one row", 1), ("two keyed", 1))
"""Every way once, with so many spends; the rest is for the audit, `row_key=()` too, which reads as no person column."""
ENTERED = 2
"""With so many spends of a cell the entries of what falls short were measured."""
MOST = 0.8
"""In which part of all cells a person's claim must be reached, but for those of linear models with a private number of
rows: their gradients of so few people are shorter than the clip, and a test of their own reaches them."""
ELSEWHERE = "reached in tests/learn/test_linear_counted.py"
ADDED = ("AdditiveNoise", "FoundGroups", "Several", "SparseNoise", "StableHistogram")
"""Mechanisms that add noise and do nothing else: their claims are reached by some pair."""
UNREACHED = ("Count()", "Variance", "Synthesize barak", "Synopsize parities")
"""But for numbers of rows of people who have several: none has fewer than one, and none of the tests has millions."""


def surveyed(world: str, count: int = 2) -> tuple[list[harness.Cell], str]:
    """Return all cells of a world, and what is wrong with them."""
    cells: list[harness.Cell] = []
    with harness.opened(WORLDS[world], seed=list(WORLDS).index(world)) as tables:
        for place, (name, question) in enumerate(every_question(WORLDS[world].schema).items()):
            # With one spend a question has one relation, and the other one in the next world, or if it is refused.
            turn = place + list(WORLDS).index(world)
            for relation in RELATIONS if turn % 2 == 0 else RELATIONS[::-1]:
                found = harness.survey(name, question, tables, relation, count)
                cells += found
                if found and count == 1:
                    break
        told = harness.shown(cells, tables) + "".join(harness.miscounted(tables))
    return cells, told


def _judge(world: str, cells: list[harness.Cell], whole: bool) -> None:
    """Where less is reached than is stated, a mutant of the noise would survive: each such cell has its entry."""
    silent = refusals.surprises(WORLDS[world], {cell.question for cell in cells})
    assert not silent, "\n".join(silent)
    missing = exemptions.problems(world, cells, exemptions.listed(), whole=whole)
    assert not missing, "\n".join(missing)
    live = [cell for cell in cells if not cell.free and not _reached_elsewhere(world, cell)]
    reached = [cell for cell in live if cell.worst("person") >= exemptions.ENOUGH]
    assert len(reached) >= MOST * len(live)
    added = [cell for cell in live if cell.mechanism in ADDED and cell not in reached]
    assert {cell.question for cell in added} <= (set(UNREACHED) if WORLDS[world].rows > 1 else set())


def _reached_elsewhere(world: str, cell: harness.Cell) -> bool:
    """Tell whether a cell that falls short has an entry that names the test in which its claim is reached."""
    if cell.worst("person") >= exemptions.ENOUGH:
        return False
    key = (cell.question, cell.relation, "person")
    return any(
        one.reason.endswith(ELSEWHERE) and world in one.worlds and (one.question, one.relation, one.change) == key
        for one in exemptions.listed()
    )


@pytest.mark.parametrize(("world", "spends"), GATE)
def test_no_answer_tells_more_than_is_stated_and_hardly_any_less(world, spends):
    cells, told = surveyed(world, spends)
    assert not told, told
    _judge(world, cells, whole=spends >= ENTERED)


@pytest.mark.audit
@pytest.mark.parametrize("world", WORLDS)
def test_no_answer_tells_more_than_is_stated_at_any_spend(world):
    cells, told = surveyed(world, len(harness.SPENDS))
    assert not told, told
    seen: Counter[tuple[str, str]] = Counter()
    first = []
    for cell in cells:
        seen[cell.question, cell.relation] += 1
        if seen[cell.question, cell.relation] <= ENTERED:
            first.append(cell)
    _judge(world, first, whole=True)


def _some_pairs(draw, world, rows, tries):
    """Return one in fifteen of the changes of two attributes, others for every world."""
    turn = list(WORLDS).index(world.name)
    return islice(pairs_of_attributes(draw, world, rows, tries), turn, None, 15)


@pytest.mark.parametrize(
    ("world", "made", "spends"),
    [
        ("two keyed", _some_pairs, 1),
        *(pytest.param(name, pairs_of_attributes, 2, marks=pytest.mark.audit) for name in WORLDS),
    ],
)
def test_two_attributes_at_once_tell_no_more_than_is_stated(world, made, spends):
    cells: list[harness.Cell] = []
    with harness.opened(WORLDS[world], seed=60, tries=2, made=made) as tables:
        for place, (name, question) in enumerate(every_question(WORLDS[world].schema).items()):
            for relation in RELATIONS if spends > 1 else RELATIONS[place % 2 :][:1]:
                cells += harness.survey(name, question, tables, relation, spends)
        told = harness.shown(cells, tables)
    assert not told, told


def test_every_kind_method_engine_and_learner_is_asked():
    assert uncovered(WORLDS["no person"].schema) == []
