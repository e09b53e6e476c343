"""Quasi-concave choices: their exact structures against brute force, their predicted errors, their use."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import ADD_REMOVE, NOTHING, Approximate, Concentrated, Noise, Pure, Truncated, audit, select
from sfumato.errors import AccuracyWarning, ParameterError, UnsupportedSpend
from sfumato.noise import DiscreteGaussian
from sfumato.select.quasiconcave import (
    HeaviestCell,
    ShiftedWindows,
    TwoCovers,
    depth,
    interior_point,
    shifted_windows,
    solve_quasiconcave,
    two_covers,
)
from sfumato.select.quasiconcave.interior_point import NODE_MOVES
from sfumato.select.quasiconcave.profile import (
    heights_by_width,
    joined,
    level_scores,
    restricted,
    run_lengths,
    unnumbered,
    window_at,
    window_heights,
)
from sfumato.select.quasiconcave.requirement import covering_requirement
from sfumato.select.quasiconcave.tree import clamped, fullest, node_counts

SPEND = Approximate(1, 1e-6)

heights = st.lists(st.integers(-3, 6), min_size=1, max_size=18)
moves = st.lists(st.integers(-1, 1), min_size=18, max_size=18)


def steps(values: list[int], first: int = 0) -> select.StepFunction:
    starts = [place for place in range(len(values)) if place == 0 or values[place] != values[place - 1]]
    return select.StepFunction([first + place for place in starts], [values[s] for s in starts], first + len(values))


def dense(score: select.StepFunction) -> list[int]:
    return [score(place) for place in range(score.first, score.end)]


def brute_heights(values: list[int]) -> list[int]:
    return [
        max(min(values[start : start + 2**j]) for start in range(len(values) - 2**j + 1))
        for j in range(len(values).bit_length())
    ]


def brute_windows(values: list[int], width: int, shift: int) -> dict[int, int]:
    found: dict[int, int] = {}
    for place, value in enumerate(values):
        index = (place + shift) // width
        found[index] = max(value, found.get(index, value))
    return found


@settings(max_examples=300, deadline=None)
@given(heights, st.integers(-5, 5))
def test_structures_equal_brute_force_on_any_score(values: list[int], first: int) -> None:
    score = steps(values, first)
    assert heights_by_width(score) == brute_heights(values)
    for width in (1, 2, 3, 8):
        for shift in range(width):
            got = window_heights(score, width, shift)
            want = brute_windows(values, width, shift)
            assert {index: got(index) for index in range(got.first, got.end)} == want
            places = [window_at(score, width, index, shift) for index in want]
            assert [place for start, end in places for place in range(start, end)] == list(range(first, score.end))


@settings(max_examples=300, deadline=None)
@given(heights, moves)
def test_structures_move_by_at_most_one_on_any_score(values: list[int], steps_: list[int]) -> None:
    other = [value + step for value, step in zip(values, steps_, strict=False)]
    one, two = heights_by_width(steps(values)), heights_by_width(steps(other))
    assert max(abs(x - y) for x, y in zip(one, two, strict=True)) <= 1
    for low, high in ((2, 2), (1, 4)):
        first, second = dense(level_scores(one, low, high)), dense(level_scores(two, low, high))
        assert max(abs(x - y) for x, y in zip(first, second, strict=True)) <= 1
    first, second = dense(window_heights(steps(values), 3, 1)), dense(window_heights(steps(other), 3, 1))
    assert max(abs(x - y) for x, y in zip(first, second, strict=True)) <= 1


@settings(max_examples=200, deadline=None)
@given(heights, st.integers(-2, 5), st.integers(0, 3))
def test_level_scores_are_quasi_concave_for_any_score(values: list[int], low: int, more: int) -> None:
    found = dense(level_scores(heights_by_width(steps(values)), low, low + more))
    for middle in range(len(found)):
        assert found[middle] >= min(max(found[: middle + 1]), max(found[middle:]))


def test_structures_on_domains_beyond_any_machine_word() -> None:
    score = select.StepFunction([0, 2**300, 2**300 + 2**77], [0, 9, 4], end=2**1024 + 1)
    found = heights_by_width(score)
    assert len(found) == 1025
    assert found[77] == 9
    assert found[78] == found[1023] == 4
    assert found[1024] == 0
    assert run_lengths(score) == [2**1024 + 1, 2**77, 2**1024 + 1 - 2**300]
    assert window_heights(score, 2**400).values[0] == 9


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 6)), min_size=1, max_size=3), heights)
def test_a_union_of_intervals_counts_each_candidate_once(pairs: list[tuple[int, int]], values: list[int]) -> None:
    values = (values * 18)[:18]
    intervals = joined([(start, start + length) for start, length in pairs])
    places = sorted({place for start, length in pairs for place in range(start, start + length)})
    assert [unnumbered(intervals, rank) for rank in range(len(places))] == places
    assert dense(restricted(steps(values), intervals)) == [values[place] for place in places]
    with pytest.raises(IndexError):
        unnumbered(intervals, len(places))


TABLE = {16: 248, 32: 256, 64: 263, 128: 271, 192: 275, 256: 278, 512: 285, 1024: 292, 65536: 332}
COVERS = {16: 462, 32: 504, 64: 548, 128: 591, 192: 617, 256: 636, 512: 680, 1024: 724, 65536: 990}


@pytest.mark.parametrize("bits", TABLE)
def test_predicted_errors_are_those_of_the_table(bits: int) -> None:
    pick = shifted_windows(SPEND, 2**bits, promise=1000)
    assert pick.error(0.95, 2**bits) == pytest.approx(TABLE[bits], rel=0.015)
    assert round(covering_requirement(2**bits, 0.25, 5e-7, 0.05, 2)) == COVERS[bits]


def test_predicted_errors_of_depth_three() -> None:
    assert round(covering_requirement(2**64, 1 / 7, 2.5e-7, 0.05, 3)) == 6171
    assert round(covering_requirement(2**1024, 1 / 7, 2.5e-7, 0.05, 3)) == 6576


def spy(monkeypatch: pytest.MonkeyPatch) -> list[select.Stable]:
    seen: list[select.Stable] = []
    plain = select.Stable.run

    def run(self: select.Stable, exact: Any, noise: Noise) -> Any:
        seen.append(self)
        return plain(self, exact, noise)

    monkeypatch.setattr(select.Stable, "run", run)
    return seen


@pytest.mark.parametrize(("build", "calls"), [(shifted_windows, 1), (two_covers, 2)])
def test_every_window_is_chosen_by_the_repaired_stable_choice(
    monkeypatch: pytest.MonkeyPatch, build: Any, calls: int
) -> None:
    seen = spy(monkeypatch)
    build(SPEND, 2**100, promise=2000)(select.sparse({5: 2000}, end=2**100), Noise(insecure_seed=1))
    assert [choice.gap_sensitivity for choice in seen] == [2] * calls


def hard_score(bits: int, people: int) -> select.StepFunction:
    """Return the correct labels of a cut-off where all is decided between two neighbouring values.

    One candidate scores `people`; all others miss an eighth, which every test below must count as a failure.
    """
    middle = 2**bits // 3
    part = people // 8
    return select.StepFunction([0, middle, middle + 1], [people - part, people, people - part], end=2**bits)


@pytest.mark.parametrize("bits", [64, 256, 1024])
def test_shifted_windows_answer_within_their_error(bits: int) -> None:
    people, noise = 4000, Noise(insecure_seed=bits)
    pick = shifted_windows(SPEND, 2**bits, promise=people)
    needed = pick.error(0.95, 2**bits)
    score = hard_score(bits, people)
    assert score(0) < people - needed
    good = sum(score(pick(score, noise)) >= people - needed for _ in range(60))
    assert good >= 54


def test_shifted_windows_beat_the_exponential_mechanism_five_times_at_1024_bits() -> None:
    size = 2**1024
    plain = select.exponential(Pure(1)).error(0.95, size)
    assert plain > 4.8 * shifted_windows(SPEND, size, promise=1000).error(0.95, size)
    noise, score = Noise(insecure_seed=5), hard_score(1024, 3000)
    pick = shifted_windows(SPEND, size, promise=3000)
    assert sum(score(pick(score, noise)) == 3000 for _ in range(20)) >= 18
    assert sum(score(select.exponential(Pure(1))(score, noise)) == 3000 for _ in range(20)) == 0


@pytest.mark.parametrize("bits", [64, 1024])
def test_measured_needs_are_those_of_the_table(bits: int) -> None:
    """EM-hard input at alpha = 0.1: windows work from about 900 people at any size, the others later."""
    noise = Noise(insecure_seed=bits)

    def successes(pick: Any, people: int) -> int:
        part = people // 10 + 1
        ends = [people - part, people, people - part]
        score = select.StepFunction([0, 2**bits // 3, 2**bits // 3 + 1], ends, end=2**bits)
        return sum(score(pick(score, noise)) == people for _ in range(40))

    assert successes(shifted_windows(SPEND, 2**bits, promise=1100, allowed=110), 1100) >= 37
    assert successes(shifted_windows(SPEND, 2**bits, promise=600, allowed=60), 600) <= 20
    assert successes(two_covers(SPEND, 2**bits, promise=900, alpha="0.1"), 900) <= 20
    assert successes(two_covers(SPEND, 2**bits, promise=1450, alpha="0.1"), 1450) >= 37
    assert successes(select.exponential(Pure(1)), 700) == 0
    assert successes(select.exponential(Pure(1)), 1200) >= 37 * (bits == 64)


def test_two_covers_answer_within_their_requirement() -> None:
    bits, people, noise = 256, 7000, Noise(insecure_seed=3)
    pick = two_covers(SPEND, 2**bits, promise=people, alpha="0.1")
    assert isinstance(pick, TwoCovers)
    assert covering_requirement(2**bits, 0.25, 5e-7, 0.05, 2) <= people / 10
    score = hard_score(bits, people)
    assert score(0) < pick.low == 6300
    assert sum(score(pick(score, noise)) >= pick.low for _ in range(40)) >= 36
    plain = select.exponential(Pure(1))
    small = hard_score(bits, 1600)
    assert sum(small(plain(small, noise)) == 1600 for _ in range(20)) == 0


def test_two_covers_of_a_small_domain_are_the_exponential_mechanism() -> None:
    assert isinstance(two_covers(SPEND, 33, promise=10), select.Exponential)
    assert isinstance(two_covers(SPEND, 34, promise=10), TwoCovers)


@pytest.mark.parametrize(
    "score",
    [
        select.StepFunction([0], [0], end=2**64),
        select.StepFunction([0], [7], end=1),
        select.StepFunction([0, 5, 9], [8, -4, 8], end=40),
        select.sparse({3: 9, 2**63: 9}, end=2**64),
        [0, 3, 1, 9, 9, 0, 2],
    ],
)
def test_any_score_has_an_answer(score: Any) -> None:
    size = score.size if isinstance(score, select.StepFunction) else len(score)
    for pick in (shifted_windows(SPEND, size, promise=9), two_covers(SPEND, max(size, 40), promise=9)):
        noise = Noise(insecure_seed=2)
        for _ in range(20):
            assert 0 <= pick(score, noise) < size


def test_nothing_clear_gives_a_uniform_answer_and_says_so_in_the_path() -> None:
    pick = shifted_windows(SPEND, 2**64, promise=9)
    path = pick.path(select.StepFunction([0], [0], end=2**64), Noise(insecure_seed=4))
    if path.window is not NOTHING:  # one window met the domain
        assert path.level > 50
    flat = two_covers(SPEND, 2**64, promise=1000).path(select.sparse({}, end=2**64), Noise(insecure_seed=4))
    assert 0 <= flat.answer < 2**64


def test_the_crossing_lies_in_proportion_to_the_room() -> None:
    tight = shifted_windows(SPEND, 2**256, promise=1000)
    loose = shifted_windows(SPEND, 2**256, promise=1000, allowed=900)
    assert loose.crossing < tight.crossing < 1000
    assert tight.crossing < shifted_windows(SPEND, 2**256, promise=1000, allowed=90).crossing < 1000


def test_a_small_failure_asks_for_wider_windows() -> None:
    assert shifted_windows(SPEND, 2**256, promise=1000, failure="0.001").factor > 4000
    assert math.isinf(shifted_windows(SPEND, 2**256, promise=1000).error(0.99999, 2**256))


def test_a_larger_sensitivity_scales_the_error() -> None:
    one = shifted_windows(SPEND, 2**256, promise=1000)
    ten = shifted_windows(SPEND, 2**256, promise=10000, sensitivity=10)
    assert ten.window_choice.gap_sensitivity == 20
    assert ten.error(0.95, 2**256) == pytest.approx(10 * one.error(0.95, 2**256), rel=0.02)


@pytest.mark.parametrize("build", [shifted_windows, two_covers])
def test_a_spend_without_delta_is_refused_with_a_way_out(build: Any) -> None:
    with pytest.raises(UnsupportedSpend, match="Approximate"):
        build(Pure(1), 2**64, promise=100)
    with pytest.raises(ParameterError):
        build(SPEND, 0, promise=100)


def test_bad_public_numbers_are_refused() -> None:
    with pytest.raises(ParameterError, match="alpha"):
        two_covers(SPEND, 2**64, promise=100, alpha="0.6")
    with pytest.raises(ParameterError, match="promise"):
        two_covers(SPEND, 2**64, promise=0)
    with pytest.raises(ParameterError, match="failure"):
        shifted_windows(SPEND, 2**64, promise=100, failure="1e-13")


def test_events_hold_only_public_numbers() -> None:
    event = shifted_windows(SPEND, 2**64, promise=100).event().to_json()
    assert event["spec"] == ShiftedWindows.spec
    assert event["parameters"]["window_choice"]["name"] == "Stable"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 63), min_size=1, max_size=12), st.integers(0, 63), st.integers(0, 11))
def test_the_tree_equals_brute_force_and_moves_by_one(values: list[int], new: int, who: int) -> None:
    found = fullest(clamped(values, 6), 6)
    assert found == [max(node_counts(sorted(values), level).values()) for level in range(7)]
    assert found[-1] == len(values)
    other = [new if place == who else value for place, value in enumerate(values)]
    assert max(abs(x - y) for x, y in zip(found, fullest(clamped(other, 6), 6), strict=True)) <= 1


def test_interior_point_needs_as_many_people_as_the_table_says() -> None:
    spend = Truncated("0.1", "2.24")
    table = {16: 179, 32: 195, 64: 211, 128: 227, 256: 246, 1000: 278}
    for bits, people in table.items():
        assert interior_point(spend, bits, 400, failure="0.1").needed("0.1") == pytest.approx(people, rel=0.04)


SHAPES = {
    "one point": [7] * 216,
    "two neighbours across the root": [2**63 - 1] * 108 + [2**63] * 108,
    "cluster": list(range(10**6, 10**6 + 216)),
    "every scale": [2 ** (place % 64) for place in range(216)],
    "outside": [-5] * 100 + [2**70] * 116,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_interior_point_is_inside_at_the_number_it_needs(shape: str) -> None:
    values, noise = SHAPES[shape], Noise(insecure_seed=8)
    inside = interior_point(Truncated("0.1", "2.24"), 64, len(values), failure="0.1")
    assert inside.needed("0.1") <= len(values)
    repaired = clamped(values, 64)
    assert sum(repaired[0] <= inside(values, noise) <= repaired[-1] for _ in range(25)) >= 22


@pytest.mark.parametrize("values", [[], [3], [3, 3, 3], [2**80, -1]])
def test_interior_point_always_answers(values: list[int]) -> None:
    noise = Noise(insecure_seed=2)
    for spend in (Concentrated("0.5"), Truncated("0.5", 3)):
        assert 0 <= interior_point(spend, 64, max(1, len(values)))(values, noise) < 2**64


def test_interior_point_refuses_other_spends_with_a_way_out() -> None:
    for spend in (Pure(1), SPEND):
        with pytest.raises(UnsupportedSpend, match="solve_quasiconcave"):
            interior_point(spend, 64, 100)
    with pytest.raises(ParameterError):
        interior_point(Concentrated(1), 0, 100)


def test_an_empty_cell_may_be_the_heaviest_and_each_is_as_likely() -> None:
    heaviest = HeaviestCell(law=DiscreteGaussian(1), moves=NODE_MOVES)
    law = audit.law(heaviest, ({1: 1}, 4), tail=1e-6)
    assert float(law[0]) == pytest.approx(float(law[2]), abs=1e-4) == pytest.approx(float(law[3]), abs=1e-4)
    assert law[1] > law[0] > 0.1


def test_the_crossovers_are_those_of_the_table() -> None:
    def method(bits: int, spend: Any = SPEND, **facts: Any) -> str:
        return solve_quasiconcave(spend, 2**bits, **(facts or {"promise": 5000})).method

    assert [method(bits) for bits in (16, 64, 128, 192, 205, 256, 1024)] == ["exponential"] * 4 + [
        "shifted-windows"
    ] * 3
    assert [method(bits, Approximate(1, 1e-9)) for bits in (215, 235)] == ["exponential", "shifted-windows"]
    assert method(1024, Pure(1), promise=9000) == "exponential"
    truncated = Truncated("0.1", "2.24")
    assert [method(bits, truncated, people=4000, failure="0.1") for bits in (32, 80, 256)] == [
        "exponential",
        "interior-point",
        "interior-point",
    ]
    assert method(1000, truncated, promise=9000) == "exponential"


def test_the_solver_says_why_and_what_it_costs() -> None:
    solver = solve_quasiconcave(SPEND, 2**1024, promise=5000)
    assert solver.why.startswith("shifted-windows loses least: at most 294 units")
    assert "exponential 1426" in solver.why
    assert "two-covers 724" in solver.why
    assert "no data were read" in solver.why
    assert solver.loss().within(SPEND)
    assert "was asked for" in solve_quasiconcave(SPEND, 2**64, promise=5000, method="two-covers").why


@pytest.mark.parametrize("spend", [Pure(1), SPEND, Concentrated("0.125"), Truncated("0.125", 3)])
def test_the_solver_finds_a_value_inside_of_values(spend: Any) -> None:
    values = [2**40 + 17 * place for place in range(2000)]
    noise = Noise(insecure_seed=6)
    for bits in (64, 256):
        solver = solve_quasiconcave(spend, 2**bits, people=2000)
        assert all(values[0] <= solver(values, noise) <= values[-1] for _ in range(5))


@given(st.lists(st.integers(-3, 12), max_size=8), st.integers(1, 9))
def test_depth_is_what_it_says(values: list[int], size: int) -> None:
    inside = [min(max(value, 0), size - 1) for value in values]
    want = [min(sum(x <= z for x in inside), sum(x >= z for x in inside)) for z in range(size)]
    assert dense(depth(values, size)) == want


def test_the_shortfall_is_what_was_allowed_where_that_is_more() -> None:
    assert solve_quasiconcave(SPEND, 2**1024, promise=5000, allowed=900).shortfall == 900
    assert solve_quasiconcave(SPEND, 2**1024, promise=5000).shortfall == pytest.approx(294, abs=1)


def test_too_few_people_are_said_from_public_numbers() -> None:
    with pytest.warns(AccuracyWarning, match="Spend more"):
        solver = solve_quasiconcave(SPEND, 2**256, people=10)
    assert 0 <= solver([1] * 10, Noise(insecure_seed=1)) < 2**256


def test_the_solver_refuses_what_cannot_be_meant() -> None:
    with pytest.raises(ParameterError, match="promise= for a score"):
        solve_quasiconcave(SPEND, 10)
    with pytest.raises(ParameterError, match="method is one of"):
        solve_quasiconcave(SPEND, 10, promise=100, method="best")
    with pytest.raises(UnsupportedSpend, match="Approximate"):
        solve_quasiconcave(Pure(1), 2**64, promise=1000, method="shifted-windows")
    with pytest.raises(ParameterError, match="replaced"):
        solve_quasiconcave(SPEND, 2**64, people=100, relation=ADD_REMOVE)
    with pytest.raises(ParameterError, match="10 candidates"):
        solve_quasiconcave(SPEND, 10, promise=100)([1, 2, 3])
