"""The demonstrators: private by the same proofs, poor by their constants."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Approximate, Concentrated, Noise, Pure, Truncated, select
from sfumato.errors import AccuracyWarning, ParameterError, UnsupportedSpend
from sfumato.papers.private_learning.deep_covers import deep_covers
from sfumato.papers.private_learning.general_interior import GeneralInterior, general_interior, node_rises, ranks
from sfumato.select.quasiconcave import TwoCovers
from sfumato.select.quasiconcave.requirement import covering_requirement

SPEND = Approximate(1, 1e-6)
INSIDE = general_interior(Concentrated(1), last=8, total=2000)


def test_three_levels_answer_within_their_requirement() -> None:
    size, people = 2**64, 16000
    assert covering_requirement(size, 1 / 7, 2.5e-7, 0.05, 3) < people / 2
    pick = deep_covers(SPEND, size, 3, promise=people)
    score = select.StepFunction([0, 2**40, 2**40 + 1], [0, people, 0], end=size)
    noise = Noise(insecure_seed=3)
    assert sum(pick(score, noise) == 2**40 for _ in range(20)) >= 19


def test_the_loss_of_three_levels_is_seven_and_four_parts() -> None:
    pick = deep_covers(SPEND, 2**64, 3, promise=16000)
    assert isinstance(pick, TwoCovers)
    assert pick.loss().person.epsilon == 1
    assert pick.loss().person.leak <= SPEND.delta
    inner = pick.level_choice
    assert isinstance(inner, TwoCovers)
    assert (inner.low, inner.high) == (3000, 4000)  # alpha·r/2 and a quarter of it


def test_every_cover_of_every_level_has_gap_sensitivity_two() -> None:
    pick: Any = deep_covers(SPEND, 2**64, 3, promise=16000)
    for level in (pick, pick.level_choice):
        assert level.first_choice.gap_sensitivity == level.second_choice.gap_sensitivity == 2


def test_depths_that_are_none_are_refused() -> None:
    with pytest.raises(ParameterError, match="exponential"):
        deep_covers(SPEND, 2**64, 1, promise=1000)
    with pytest.raises(UnsupportedSpend):
        deep_covers(Pure(1), 2**64, 3, promise=1000)


rising = st.lists(st.integers(-2, 12), min_size=9, max_size=9)
moves = st.lists(st.integers(-1, 1), min_size=9, max_size=9)


def steps(values: list[int]) -> select.StepFunction:
    return select.StepFunction(range(len(values)), values, len(values))


@settings(max_examples=300, deadline=None)
@given(rising, moves)
def test_parts_of_the_general_interior_move_no_further_than_it_charges(values: list[int], shifts: list[int]) -> None:
    choice = GeneralInterior(
        last=8,
        total=10,
        step=1,
        level_choice=INSIDE.level_choice,
        node_choice=INSIDE.node_choice,
        end_law=INSIDE.end_law,
    )
    other = [value + shift for value, shift in zip(values, shifts, strict=True)]
    one, two = choice.rises(steps(values)), choice.rises(steps(other))
    assert sum(one.values()) == sum(two.values()) == 10
    assert min(one.values()) >= 0
    pairs = zip(choice.stretched(one), choice.stretched(two), strict=True)
    assert max(abs(x - y) for x, y in pairs) <= 10
    for level in range(4):
        first, second = node_rises(one, level), node_rises(two, level)
        cut = [[max(part.get(node, 0) - 1, 0) for node in range(8)] for part in (first, second)]
        differences = [abs(x - y) for x, y in zip(*cut, strict=True)]
        assert max(differences) <= 2
        assert sum(map(bool, differences)) <= 20


@pytest.mark.parametrize(("spend", "depth", "people"), [(Concentrated(1), 1, 3000), (Truncated(4, 3), 2, 30000)])
def test_the_general_interior_is_inside(spend: Any, depth: int, people: int) -> None:
    inside = general_interior(spend, 2**64, people, depth=depth)
    assert isinstance(inside.level_choice, GeneralInterior) == (depth == 2)
    noise = Noise(insecure_seed=4)
    for values in ([9] * people, [2**63 - 1] * (people // 2) + [2**63] * (people // 2), [0] * 7 + [2**50] * people):
        found = [inside(ranks(values[:people], 64), noise) - 1 for _ in range(4)]
        assert sum(min(values) <= answer <= max(values) for answer in found) >= 3


@pytest.mark.parametrize("function", [[0] * 9, [5] * 9, [9, 8, 7, 0, 0, -4, 0, 0, 0], [0, 99, 99, 99, 1, 1, 1, 1, 1]])
def test_any_function_has_an_answer(function: list[int]) -> None:
    noise = Noise(insecure_seed=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        for depth in (1, 2):
            assert 1 <= general_interior(Concentrated(1), 8, 10, depth=depth)(steps(function), noise) <= 8
        assert general_interior(Concentrated(1), 1, 10)(steps([0, 10]), noise) == 1


def test_a_total_or_a_promise_below_what_is_proved_is_said_before_anything_runs() -> None:
    inside = general_interior(Concentrated(1), 2**64, 3000)
    assert inside.needed(0.05) == 1200
    general_interior(Concentrated(1), 2**64, 1200)
    with pytest.warns(AccuracyWarning, match="1,200 on, and it is 1,199"):
        general_interior(Concentrated(1), 2**64, 1199)
    with pytest.warns(AccuracyWarning, match="12,343 on, and it is 1,000"):
        deep_covers(SPEND, 2**64, 3, promise=1000)


def test_the_general_interior_is_inside_from_the_total_on_that_it_asks_for() -> None:
    inside, noise = general_interior(Concentrated(1), 2**16, 1200), Noise(insecure_seed=9)
    assert inside.needed(0.05) <= 1200
    for values in ([2**15 - 1] * 600 + [2**15] * 600, [0] * 1199 + [2**16 - 1], [7] * 1200):
        found = [inside(ranks(values, 16), noise) - 1 for _ in range(40)]
        assert sum(min(values) <= answer <= max(values) for answer in found) >= 36


def test_the_general_interior_refuses_other_spends() -> None:
    with pytest.raises(UnsupportedSpend, match="Concentrated"):
        general_interior(SPEND, 2**64, 100)
