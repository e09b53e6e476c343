"""The scores of cuts and sides: what brute force counts, moved by at most one person a person."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as some

from sfumato import Noise, Pure, select
from sfumato.learn import PrivateBox, PrivatePoint, PrivateThreshold
from sfumato.learn.facts import Sample
from sfumato.learn.threshold import ThresholdChoice
from sfumato.papers.private_learning.box import side_scores
from tests.imputed import integers

SIZE = 6
person = some.tuples(some.integers(0, SIZE - 1), some.integers(0, 1))
tables = some.lists(person, min_size=1, max_size=8)


def sample(rows: list[tuple[int, int]]) -> Sample:
    return Sample.of([[3 + code] for code, _ in rows], [label for _, label in rows])


def values(score: select.StepFunction) -> list[int]:
    return [score(place) for place in range(score.first, score.end)]


def cuts(direction: str) -> ThresholdChoice:
    return ThresholdChoice(choice=select.exponential(Pure(1)), place=0, first=3, size=SIZE, direction=direction)


@settings(max_examples=60, deadline=None)
@given(rows=tables, other=person)
def test_cuts_are_counted_as_by_hand_and_move_by_at_most_one(rows, other):
    upward = [sum((code >= cut) == (label == 1) for code, label in rows) for cut in range(SIZE + 1)]
    downward = [sum((code < cut) == (label == 1) for code, label in rows) for cut in range(SIZE + 1)]
    for direction, wanted in (("above", upward), ("below", downward), ("either", upward + downward)):
        found = values(cuts(direction).scores(sample(rows)))
        assert found == wanted
        moved = values(cuts(direction).scores(sample([other, *rows[1:]])))
        assert max(abs(a - b) for a, b in zip(found, moved, strict=True)) <= 1


@settings(max_examples=60, deadline=None)
@given(rows=tables, other=person, kappa=some.integers(1, 6))
def test_sides_are_counted_as_by_hand_rise_and_then_fall_and_move_by_at_most_one(rows, other, kappa):
    def scored(people: list[tuple[int, int]]) -> list[int]:
        chosen = np.array([code for code, label in people if label == 1], dtype=np.int64)
        return values(side_scores(chosen, np.ones(len(chosen), dtype=np.int64), SIZE, kappa))

    found = scored(rows)
    inside = [code for code, label in rows if label == 1]
    assert found == [
        min(sum(code <= z for code in inside), kappa - sum(code < z for code in inside)) for z in range(SIZE)
    ]
    peak = found.index(max(found))
    assert sorted(found[: peak + 1]) == found[: peak + 1] and sorted(found[peak:], reverse=True) == found[peak:]
    assert max(abs(a - b) for a, b in zip(found, scored([other, *rows[1:]]), strict=True)) <= 1
    if 2 * len(inside) >= kappa:
        assert 2 * max(found) >= kappa


@settings(max_examples=30, deadline=None)
@given(rows=tables)
def test_neither_the_order_of_rows_nor_how_they_are_listed_matters(rows):
    counted = {row: rows.count(row) for row in rows}
    listed = Sample.of(
        [[3 + code] for code, _ in counted], [label for _, label in counted], [counted[row] for row in counted]
    )
    for kind in (PrivateThreshold, PrivateBox, PrivatePoint):
        mechanism = kind(Pure(2), integers(3, 3 + SIZE - 1), (0, 1)).mechanism(len(rows))
        drawn = [
            mechanism(one, Noise(insecure_seed=4))
            for one in (sample(rows), sample(rows[::-1]), sample(sorted(rows)), listed)
        ]
        assert all(value == drawn[0] for value in drawn)
