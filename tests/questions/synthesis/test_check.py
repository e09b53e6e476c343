"""The paid check: how far distances move, what is stated, what is chosen, and when the error is not known."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sfumato import ADD_REMOVE, REPLACE_ONE, Approximate, Concentrated, Noise, Pure, Schema
from sfumato.model import Factored
from sfumato.privacy import Relation
from sfumato.questions.synthesis import Synthesize
from sfumato.questions.synthesis.check import CheckedTables, compared
from sfumato.table.gauge import Basis
from sfumato.workload import Records, Space
from tests.imputed import integers
from tests.questions.synthesis.test_synthesis import PEOPLE, chained, distance, released, setting_of

FIVE = Schema({f"x{place}": integers(0, 3) for place in range(5)})
TINY = Schema({"a": integers(0, 1), "b": integers(0, 2)})


def checking(schema: Schema, relation: Relation = REPLACE_ONE, people: int = PEOPLE) -> CheckedTables:
    found = Synthesize().prepare(setting_of(schema, relation, people), Concentrated("0.05")).mechanism
    assert isinstance(found, CheckedTables)
    return found


@pytest.mark.parametrize(("relation", "most"), [(ADD_REMOVE, 1), (REPLACE_ONE, 2)])
def test_neighbours_move_a_distance_as_far_as_stated_and_no_further(relation: Relation, most: int) -> None:
    space = Space.of(TINY)
    mechanism = checking(TINY, relation)
    cells = list(product(range(2), range(3)))
    model = Factored.product(space, 3, {"a": np.array([0.9, 0.1]), "b": np.array([0.8, 0.1, 0.1])})
    before = Records.from_rows(space, [(0, 0), (1, 1), (1, 1)])
    after = [Records.from_rows(space, [*([(0, 0)] if most == 1 else []), (1, 1), (1, 1), cell]) for cell in cells]
    first = np.array(mechanism._distances(before, model))
    moved = [np.abs(np.array(mechanism._distances(one, model)) - first) for one in after]
    bound = most * mechanism.grid * np.array([len(listed) for listed in mechanism.lists])
    assert (np.max(moved, axis=0) <= bound).all() and (np.max(moved, axis=0) == bound).all()


def test_the_whole_costs_what_was_spent() -> None:
    for spend in (Pure(1), Concentrated("0.05"), Approximate(1, "1e-6")):
        for relation in (REPLACE_ONE, ADD_REMOVE):
            prepared = Synthesize().prepare(Basis(FIVE, PEOPLE, relation), spend)
            assert isinstance(prepared.mechanism, CheckedTables)
            assert prepared.loss().within(spend)
            looser = replace(prepared.mechanism, spread=prepared.mechanism.spread / 2)
            assert not looser.loss().within(spend), "the check has no money to spare"


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE], ids=str)
def test_the_stated_error_is_the_true_one(relation: Relation) -> None:
    records = chained(FIVE)
    found = released(Synthesize(), records, setting_of(FIVE, relation), Concentrated("0.05"))
    true = distance(Synthesize().value(found), records)
    low, high = Synthesize().interval(found, Fraction(95, 100))
    assert low < true < high
    assert 0.7 < true / found.made["error"] < 1.5
    assert "are off by" in found.made["notes"][0]


def test_a_check_that_drowns_says_so_and_chooses_nothing() -> None:
    records = chained(FIVE, 100)
    found = released(Synthesize(), records, setting_of(FIVE, people=100), Concentrated("0.001"))
    assert "not known" in found.made["notes"][0]
    assert found.made["check"]["chosen"] == 0


def test_a_model_that_is_clearly_worse_is_not_taken() -> None:
    mechanism = checking(FIVE)
    sizes = np.array([len(listed) for listed in mechanism.lists])
    steps = 2 * mechanism.grid * PEOPLE * sizes
    margin = 2 * np.sqrt(2 * len(sizes)) * mechanism.deviation(PEOPLE) / len(sizes)
    near, far = (steps * (0.2 - share * margin) for share in (0.9, 1.1))
    worse = steps * 0.2
    assert mechanism.chosen(np.array([worse, near]).astype(np.int64), PEOPLE) == 0
    assert mechanism.chosen(np.array([worse, far]).astype(np.int64), PEOPLE) == 1


def test_lists_follow_from_the_schema_alone() -> None:
    space = Space.of(Schema({f"x{place}": integers(0, 1) for place in range(20)}))
    lists = compared(space, 3)
    assert [len(listed) for listed in lists] == [20, 150, 150]
    assert lists == compared(space, 3)
    assert compared(space, 3, [frozenset((0, 1)), frozenset((2,))]) == (((0,), (1,), (2,)), ((0, 1),))


@pytest.mark.audit
def test_intervals_cover_the_true_error() -> None:
    records = chained(FIVE, 3000)
    question, setting = Synthesize(), setting_of(FIVE, ADD_REMOVE, 3000)
    prepared = question.prepare(setting, Concentrated("0.02"))
    inside = 0
    for seed in range(60):
        found = prepared.finish(prepared.mechanism.run(records, Noise(insecure_seed=seed)))
        low, high = question.interval(found, Fraction(95, 100))
        inside += low <= distance(question.value(found), records) <= high
    assert inside >= 50, "fewer would happen once in a million if 95 of 100 intervals cover"
