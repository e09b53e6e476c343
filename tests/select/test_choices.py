"""Each choice does what its theorem predicts: exact laws where they can be written down, fixed seeds elsewhere.

Bounds on frequencies leave a false alarm of less than one in a million; seeds are fixed, so they never alarm twice.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from sfumato import NOTHING, Approximate, Concentrated, Noise, Pure, Truncated, audit, select
from sfumato.papers import truncated_cdp
from sfumato.select.threshold import exceedance, rare_level

ALARM = 1e-7


def frequency_fits(hits: int, trials: int, probability: float) -> bool:
    """Tell whether so many hits are plausible on both sides."""
    return bool(binom.cdf(hits, trials, probability) > ALARM and binom.sf(hits - 1, trials, probability) > ALARM)


def count(pick: Any, scores: Any, trials: int, seed: int) -> Counter[Any]:
    noise = Noise(insecure_seed=seed)
    return Counter(pick(scores, noise) for _ in range(trials))


def exponential_law(scores: list[int], rate: float) -> list[float]:
    weights = [math.exp(rate * (score - max(scores))) for score in scores]
    return [weight / sum(weights) for weight in weights]


def permute_and_flip_law(scores: list[int], rate: float) -> list[float]:
    """Return the law as it is defined: every order, every flip."""
    law = [0.0] * len(scores)
    takes = [math.exp(rate * (score - max(scores))) for score in scores]
    for order in permutations(range(len(scores))):
        left = 1 / math.factorial(len(scores))
        for place in order:
            law[place] += left * takes[place]
            left *= 1 - takes[place]
    return law


@pytest.mark.parametrize("scores", [[0, 1, 2], [3, 3, 0], [1, 1, 1, 1], [0, 5, 2, 2], [-7, -7]])
def test_exact_laws(scores: list[int]) -> None:
    drawn = audit.law(select.exponential(Pure(1)), scores)
    assert np.allclose([float(drawn[i]) for i in range(len(scores))], exponential_law(scores, 0.5), atol=1e-12)
    flipped = audit.law(select.permute_and_flip(Pure(2)), scores, tail=1e-8)
    expected = permute_and_flip_law(scores, 1)
    assert np.allclose([float(flipped[i]) for i in range(len(scores))], expected, atol=1e-6)
    loss = [
        sum(p * (max(scores) - s) for p, s in zip(law, scores, strict=True))
        for law in (expected, exponential_law(scores, 1))
    ]
    assert loss[0] <= loss[1] + 1e-12  # permute-and-flip is never worse


def test_exponential_loss_with_a_thousand_candidates() -> None:
    # QR:C-11: P[score <= best - (ln k + l)/c] <= e^-l, nearly attained when all others lie just there.
    pick = select.exponential(Pure(1))
    distance = math.ceil(pick.error("0.9", 1000))
    scores = np.full(1000, -distance)
    scores[123] = 0
    weight = 999 * math.exp(-0.5 * distance)
    trials = 2000
    hits = count(pick, scores, trials, seed=11)[123]
    assert frequency_fits(hits, trials, 1 / (1 + weight))
    assert weight / (1 + weight) < 0.1


@pytest.mark.parametrize("bits", [8, 64, 200])
def test_exponential_over_huge_domains(bits: int) -> None:
    pick = select.exponential(Pure(1))
    good = 2**bits // 3
    score = math.ceil(pick.error("0.9", 2**bits))
    assert score == pytest.approx(2 * (bits * math.log(2) + math.log(10)), abs=1)  # linear in the bits
    hits = count(pick, select.sparse({good: score}, end=2**bits), 400, seed=bits)[good]
    assert binom.cdf(hits, 400, 0.9) > ALARM
    near = count(pick, select.StepFunction([0, good, good + 5], [0, score, 0], end=2**bits), 50, seed=bits)
    assert all(0 <= place < 2**bits for place in near)


@pytest.mark.parametrize("bits", [3, 64])
def test_permute_and_flip_over_huge_domains(bits: int) -> None:
    pick = select.permute_and_flip(Pure(1))
    score = math.ceil(pick.error("0.9", 2**bits))
    hits = count(pick, select.sparse({5: score}, end=2**bits), 150, seed=bits)[5]
    assert binom.cdf(hits, 150, 0.9) > ALARM


def test_stable_release_curve() -> None:
    pick = select.stable(Approximate(1, "0.001"))
    decay = math.exp(-0.5)
    for lead in (0, 1, 5, 13, 14, 15, 16, 17, 20, 30):
        law = audit.law(pick, [lead, 0, 0], tail=1e-12)
        level = pick.threshold - lead
        closed = decay**level / (1 + decay) if level >= 1 else 1 - decay ** (1 - level) / (1 + decay)
        assert float(law[0]) == pytest.approx(closed, abs=1e-11)
        assert pick.release_probability(lead) == pytest.approx(closed)
    gap = pick.gap("0.95")
    assert pick.release_probability(gap) >= 0.95 > pick.release_probability(gap - 1)
    trials = 2000
    hits = count(pick, {"a": gap, "b": 0}, trials, seed=3)["a"]
    assert frequency_fits(hits, trials, pick.release_probability(gap))


def test_stable_numbers_of_the_spec() -> None:
    # Continuous noise: 2 + 2(13.1 + 2.3) = 33; whole numbers add at most one unit for each rounding.
    assert 33 <= select.stable(Approximate(1, 1e-6)).gap("0.95") <= 35
    assert select.stable(Approximate(1, "0.001")).threshold == 2 + 13


def test_stable_counts_those_not_listed() -> None:
    pick = select.stable(Approximate(1, "0.001"))
    for scores in (select.sparse({4: 30}, end=2**64), select.Unbounded({4: 30}), {4: 30, 5: 0}):
        assert count(pick, scores, 50, seed=1)[4] >= 49
    for scores in (select.Unbounded({}), select.Unbounded({"a": -5}), select.Unbounded({"a": 0, "b": 0})):
        assert audit.law(pick, scores)[NOTHING] > 1 - Fraction(1, 10**8)
    assert pick({"only": -3}) == "only"  # one public candidate needs no noise
    assert audit.law(pick, select.Unbounded({"a": 7, "b": 7}), tail=1e-9)[NOTHING] > Fraction(99, 100)


def test_thresholds_are_tight() -> None:
    for scale in (Fraction(1, 10), Fraction(2), Fraction(37, 3), Fraction(500)):
        for delta in (Fraction(49, 100), Fraction(1, 1000), Fraction(1, 10**12), Fraction(1, 10**40)):
            level = rare_level(scale, delta)
            assert exceedance(scale, level) <= delta
            assert level == 1 or exceedance(scale, level - 1) > delta
    assert exceedance(Fraction(2), 0) + exceedance(Fraction(2), 1) >= 1
    assert float(exceedance(Fraction(3), -2)) == pytest.approx(1 - float(exceedance(Fraction(3), 3)))


@pytest.mark.parametrize("end", [2**8, 2**64, 2**256])
def test_choosing_near_its_threshold(end: int) -> None:
    pick = select.choosing(Approximate(1, 1e-6))
    needed = pick.required("0.95")
    trials = 400
    hits = count(pick, select.sparse({77: needed, 5: 3}, end=end), trials, seed=9)[77]
    assert binom.cdf(hits, trials, 0.95) > ALARM
    assert count(pick, select.sparse({77: 20}, end=end), 100, seed=9)[NOTHING] == 100


def test_choosing_takes_every_shape() -> None:
    pick = select.choosing(Approximate(2, "0.01"), growth=3)
    heavy = 10 * pick.threshold
    for scores, best in (
        (Counter({"dog": heavy, "cat": 1}), "dog"),
        (select.Unbounded({None: heavy}), None),
        (np.array([0, heavy, 0]), 1),
        ([heavy, 0], 0),
    ):
        assert pick(scores, Noise(insecure_seed=1)) == best
    for scores in ({}, select.Unbounded({}), [0, 0], {"a": -3, "b": 0}):
        assert pick(scores, Noise(insecure_seed=1)) is NOTHING


def test_choosing_numbers_of_the_spec() -> None:
    # Continuous noise and the spec's split: tau = 79.9; whole numbers move it by less than one.
    pick = select.choosing(Approximate(1, 1e-6), growth=1)
    assert pick.threshold == 80
    assert select.choosing(Approximate(1, 1e-6), growth=50).threshold > pick.threshold
    assert pick.error("0.95", people=10**6) == pytest.approx((math.log(10**6) + math.log(20)) / float(pick.rate))


def test_obvious_success_curve() -> None:
    pick = truncated_cdp.obvious(Truncated("0.1", "2.236"), candidates=2**10)
    for lead in (0, 1, 2, 7, 8, 15, 16, 40):
        law = audit.law(pick, select.sparse({77: lead}, end=2**10))
        assert law.interval(77)[0] <= pick.success(lead) <= law.interval(77)[1]
    trials = 1500
    hits = count(pick, select.sparse({2**9: 14}, end=2**10), trials, seed=5)[2**9]
    assert frequency_fits(hits, trials, float(pick.success(14)))
    huge = truncated_cdp.obvious(Concentrated("0.1"), candidates=2**256)
    assert huge(select.sparse({9: 500}, end=2**256), Noise(insecure_seed=1)) == 9


@pytest.mark.parametrize(
    "pick",
    [select.top(Pure(2), count=2), select.top(Concentrated("0.5"), count=2), select.top(Truncated("0.5", 2), count=2)],
    ids=["laplace", "gaussian", "sinh-normal"],
)
def test_top_names_the_best_at_the_predicted_gap(pick: select.Top) -> None:
    gap = pick.gap("0.95", candidates=2**20)
    scores = select.sparse({11: gap, 2**19: gap + 3}, end=2**20)
    trials = 60
    hits = sum(amount for chosen, amount in count(pick, scores, trials, seed=2).items() if set(chosen) == {11, 2**19})
    assert binom.cdf(hits, trials, 0.95) > ALARM


def test_top_is_exactly_the_noisy_order() -> None:
    """Compare with noise on every candidate: the efficient form has the same law."""
    pick = select.top(Pure(6), count=2)

    def plain(scores: list[int], noise: Noise) -> tuple[int, ...]:
        floor = sorted(scores)[-3]
        noisy = [max(score - floor, 0) + noise.draw(pick.law) for score in scores]
        order = noise.permutation(len(scores))
        return tuple(sorted(order, key=lambda place: -noisy[place])[:2])

    for scores in ([2, 1, 0], [1, 1, 1]):
        quick, slow = audit.law(pick, scores, tail=1e-7), audit.law(plain, scores, tail=1e-7)
        assert set(quick) == set(slow)
        assert all(abs(quick[outcome] - slow[outcome]) < Fraction(1, 10**5) for outcome in slow)


def test_top_with_a_cut() -> None:
    pick = select.top(Pure(4), count=3, cut=20)
    assert pick([100, 90, 0, 0, 0], Noise(insecure_seed=1)) == (0, 1)
    assert pick([0, 0, 0, 0, 0], Noise(insecure_seed=1)) == ()
    chosen = select.top(Pure(1), count=3)(select.sparse({}, end=2**300), Noise(insecure_seed=1))
    assert len(set(chosen)) == 3


def test_sparse_vector_stops_and_never_looks_again() -> None:
    probe = select.sparse_vector(Pure(4), positives=2, threshold=50, answers="1/2")
    noise = Noise(insecure_seed=1)
    state = probe.start(noise)
    answers = []
    for query in (0, 100, 0, 120, 130, 0):
        state, reply, changed = probe.step(state, query, noise)
        assert changed is bool(reply)
        answers.append(reply)
    assert [bool(reply) for reply in answers] == [False, True, False, True, False, False]
    assert abs(answers[1].answer - 100) < 40
    assert answers[0].answer is None
    assert answers[4:] == [NOTHING, NOTHING]

    class Untouchable:
        """Anything done with it raises."""

    assert probe.step(state, Untouchable(), noise) == (state, NOTHING, False)


def test_sparse_vector_is_right_beyond_its_noise() -> None:
    probe = select.sparse_vector(Pure(1), positives=3)
    # All of a thousand queries stay on their side of the threshold but with probability 1e-7 a query.
    margin = math.ceil(float(probe.query_scale + probe.threshold_scale) * math.log(2e10))
    noise = Noise(insecure_seed=4)
    state = probe.start(noise)
    for place in range(1000):
        above = place in (200, 400)
        state, reply, _ = probe.step(state, margin if above else -margin, noise)
        assert bool(reply) is above


def test_the_same_seed_gives_the_same_choice() -> None:
    scores = {"b": 3, "a": 2, "c": 3}
    swapped = dict(reversed(scores.items()))
    for pick in (select.exponential(Pure(1)), select.permute_and_flip(Pure(1)), select.top(Pure(1), count=1)):
        assert [pick(scores, Noise(insecure_seed=s)) for s in range(20)] == [
            pick(swapped, Noise(insecure_seed=s)) for s in range(20)
        ]
