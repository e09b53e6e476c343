"""Choices have exactly the stated law, for scores and lengths of any size."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.exact import rational_ball
from sfumato.exact.enclosure import precision
from sfumato.noise import Noise, choice
from sfumato.noise.choice import Candidates
from tests.noise.fit import chi_square
from tests.noise.mutants import mutant
from tests.noise.scripted import Scripted

CASES = [
    ([3, 9, 4], Fraction(1, 2), None),
    ([3, 9, 4], Fraction(-1, 2), None),
    ([0, 0, 0, 0], Fraction(5), None),
    ([5, -7, 3, 3], Fraction(0), None),
    ([0, 1, 2, 3, 4, 5], Fraction(1, 10), [2**64, 1, 0, 5, 2**63, 2**64 - 3]),
    ([10**30, 10**30 - 1, 10**30 - 2], Fraction(2, 3), [1, 2, 4]),
    ([0, 100], Fraction(1), [2**144, 1]),
    ([0, 700, 709], Fraction(1), [2**1024, 3, 0]),
    ([-(2**63), 2**63 - 1, 2**63 - 1], Fraction(1, 2**62), None),
]


def masses(scores, rate, lengths) -> list[float]:
    with precision(2048):
        best = max(rate * score for score in scores)
        weights = [
            rational_ball(rate * score - best).exp() * (1 if lengths is None else lengths[i])
            for i, score in enumerate(scores)
        ]
        total = sum(weights, rational_ball(0))
        return [float(weight / total) for weight in weights]


@pytest.mark.parametrize(("scores", "rate", "lengths"), CASES)
def test_choices_fit_their_law(scores, rate, lengths):
    noise, count = Noise(insecure_seed=201), 3000
    expected = np.array(masses(scores, rate, lengths)) * count
    found = np.bincount([noise.choose(scores, rate, lengths) for _ in range(count)], minlength=len(scores))
    assert found[expected == 0].sum() == 0
    enough = expected > 5
    assert found[~enough].sum() < 30
    if enough.sum() > 1:
        assert chi_square(found[enough], expected[enough] * found[enough].sum() / expected[enough].sum()) > 1e-8


def implied(module, scores, rate, lengths) -> list[float]:
    """Return the law that proposals and acceptances imply, from the levels that the code formed."""
    candidates = module._candidates(scores, rate, lengths)
    with precision(2048):
        weights = []
        for index in range(len(scores)):
            level, distance = int(candidates.levels[index]), abs(candidates.best - int(candidates.scores[index]))
            chance = module._chance(-distance * abs(rate), level)
            assert chance >= 0
            assert not chance > 1
            weights.append(chance * (1 if lengths is None else lengths[index]) / 2**level)
        total = sum(weights, rational_ball(0))
        return [float(weight / total) for weight in weights]


@pytest.mark.parametrize(("scores", "rate", "lengths"), CASES)
def test_levels_imply_exactly_the_law(scores, rate, lengths):
    assert implied(choice, scores, rate, lengths) == pytest.approx(masses(scores, rate, lengths), rel=1e-12)
    if all(abs(score) < 2**63 for score in scores) and (lengths is None or sum(lengths) < 2**62):
        array = np.array(scores, dtype=np.int64)
        sizes = None if lengths is None else np.array(lengths, dtype=np.int64)
        assert implied(choice, array, rate, sizes) == pytest.approx(masses(scores, rate, lengths), rel=1e-12)
        drawn = [
            [Noise(insecure_seed=seed).choose(*given) for seed in range(20)]
            for given in ((scores, rate, lengths), (array, rate, sizes))
        ]
        assert drawn[0] == drawn[1]


def test_proposals_are_proportional_to_lengths_and_levels():
    """Every number below the total, one by one."""
    lengths = [3, 1, 4, 2, 0]
    for sizes in (lengths, np.array(lengths)):
        candidates = Candidates([0, 1, 1, 5, 9], 0, np.array([0, 1, 1, 2, 0]), sizes, [3, 5, 2])
        total = 3 * 4 + 5 * 2 + 2
        width = (total - 1).bit_length()
        found = [candidates.propose(Scripted([number << (64 - width)])) for number in range(total)]
        assert [found.count(pair) for pair in ((0, 0), (1, 1), (2, 1), (3, 2))] == [12, 2, 8, 2]


def test_arrays_of_lengths_that_do_not_fit_together_are_counted_in_long_integers():
    lengths = np.array([2**62, 2**62, 2**62, 0], dtype=np.int64)
    assert sum(choice._candidates(np.zeros(4, np.int64), Fraction(1), lengths).totals) == 3 * 2**62


def test_acceptance_reads_more_bits_of_the_same_number():
    """The chance of index 1 is exp(-1/2): words just below and just above it decide, the next word breaks the tie."""
    with precision(256):
        scaled = rational_ball(Fraction(-1, 2)).exp() * 2**64
        edge = int(scaled.floor().unique_fmpz())
        rest = int(((scaled - edge) * 2**64).floor().unique_fmpz())
    second = [2**63]
    for following, expected in (([edge - 1], 1), ([edge + 1, 0], 0), ([edge, rest - 1], 1), ([edge, rest + 1, 0], 0)):
        assert choice.choose(Scripted([*second, *following]), [1, 0], Fraction(1, 2), None) == expected


def test_distant_scores_stay_possible_and_cost_nothing():
    start = time.process_time()
    scores = np.array([0, 10**9, 5], dtype=np.int64)
    noise = Noise(insecure_seed=202)
    assert {noise.choose(scores, rate=1) for _ in range(50)} == {1}
    assert {noise.choose([0, 2**4000], rate=10**9) for _ in range(50)} == {1}
    assert time.process_time() - start < 1
    candidates = choice._candidates(scores, Fraction(1), None)
    assert all(candidates.totals[int(level)] >= 1 for level in candidates.levels)
    with precision(64):
        assert choice._chance(Fraction(-(10**9)), int(candidates.levels[0])) > 0


def test_a_million_scores_and_a_hundred_thousand_lengths_are_quick():
    noise = Noise(insecure_seed=203)
    scores = noise.uniform(2**40, size=10**6)
    start = time.process_time()
    noise.choose(scores, Fraction(1, 2**30))
    assert time.process_time() - start < 0.5
    lengths = [noise.uniform(2**1024) for _ in range(10**4)] * 10
    start = time.process_time()
    noise.choose(scores[: 10**5], Fraction(1, 2**38), lengths)
    assert time.process_time() - start < 1


MUTANTS = {
    "levels one too high": ("edge = -(-(level << shift) // halvings)", "edge = (level << shift) // halvings // 2"),
    "distance from the wrong end": ("if rate > 0 else (np.int64(best), part)", "if rate < 0 else (np.int64(best), part)"),
    "acceptance forgets the level": ("+ level * flint.arb.const_log2()", "+ 0 * level * flint.arb.const_log2()"),
    "sign of the rate lost": ("return max(numbers) if rate > 0 else min(numbers)", "return max(numbers)"),
}  # fmt: skip


@pytest.mark.parametrize("change", MUTANTS.values(), ids=MUTANTS.keys())
def test_mutants_of_the_choice_are_caught(change):
    changed = mutant(choice, *change)
    with pytest.raises(AssertionError):
        for scores, rate, lengths in CASES[:4] + CASES[8:]:
            for given in (scores, np.array(scores, dtype=np.int64)):
                found, expected = implied(changed, given, rate, lengths), masses(scores, rate, lengths)
                assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("scores", "rate", "lengths"),
    [
        ([], 1, None),
        (np.array([]), 1, None),
        (np.array([1.5, 2.0]), 1, None),
        (np.array([[1, 2]]), 1, None),
        (np.array([True, False]), 1, None),
        ([1.0, 2], 1, None),
        ([True, 2], 1, None),
        ("12", 1, None),
        (7, 1, None),
        ([1, 2], math.nan, None),
        ([1, 2], math.inf, None),
        ([1, 2], "fast", None),
        ([1, 2], None, None),
        ([1, 2], 1, [1]),
        ([1, 2], 1, [1, -1]),
        ([1, 2], 1, [0, 0]),
        ([1, 2], 1, [1.5, 1]),
        ([1, 2], 1, 3),
    ],
)
def test_bad_choices_are_refused_in_a_sentence(scores, rate, lengths):
    with pytest.raises(ParameterError, match=r"\.$"):
        Noise().choose(scores, rate, lengths)
