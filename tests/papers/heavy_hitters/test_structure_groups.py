"""Group privacy, max-information and tests chosen after the reports."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sfumato import Approximate, Concentrated, Noise, Pure
from sfumato.errors import AccuracyWarning, NotProvable, ParameterError, UnsupportedSpend
from sfumato.papers.heavy_hitters.structure import (
    adaptive_p_value,
    add_information,
    group_leak,
    group_privacy,
    largest_group,
    loss_quantile,
    max_information,
)

ROUNDED_UP = Fraction(1, 1 << 56)
"""A leak is rounded up to 64 significant bits."""


def random_pair(noise, epsilon, outcomes=3):
    """Two laws whose ratios stay within e^±epsilon: weights of one within [1, e^epsilon] times those of the other."""
    base = 1 + noise.uniform(1000, outcomes)
    factors = np.exp(epsilon * noise.uniform(1001, outcomes) / 1000)
    return base / base.sum(), base * factors / (base * factors).sum()


def joint(laws):
    out = np.ones(1)
    for law in laws:
        out = np.multiply.outer(out, law).ravel()
    return out


def hockey_stick(first, second, epsilon):
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum())


@pytest.mark.parametrize(("people", "epsilon"), [(1, 1.0), (2, 0.5), (3, 1.0), (4, 0.3), (6, 0.7)])
def test_no_product_of_randomizers_leaks_more_than_the_exact_calculator_says(people, epsilon):
    noise = Noise(insecure_seed=people)
    levels = [people * epsilon * part / 7 for part in range(7)]
    leaks = [float(group_leak(Pure(epsilon), people, level)) for level in levels]
    for _ in range(60):
        pairs = [random_pair(noise, epsilon) for _ in range(people)]
        first, second = joint([pair[0] for pair in pairs]), joint([pair[1] for pair in pairs])
        for level, leak in zip(levels, leaks, strict=True):
            assert hockey_stick(first, second, level) <= leak + 1e-12
            assert hockey_stick(second, first, level) <= leak + 1e-12
    true = 1 / (1 + math.exp(-epsilon))
    first, second = joint([(true, 1 - true)] * people), joint([(1 - true, true)] * people)
    for level, leak in zip(levels, leaks, strict=True):
        assert hockey_stick(first, second, level) == pytest.approx(leak, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize(
    ("people", "epsilon", "delta", "expected"),
    [
        (100, 0.1, 1e-6, 4.775),
        (100, 0.5, 1e-6, 33.32),
        (100, 1, 1e-6, 83.53),
        (1000, 0.1, 1e-6, 19.345),
        (10_000, 0.05, 1e-9, 41.80),
    ],
)
def test_known_numbers_and_the_printed_formula_without_its_two(people, epsilon, delta, expected):
    found = group_privacy(Pure(epsilon), people, delta)
    assert float(found.epsilon) == pytest.approx(expected, abs=0.006)
    assert group_leak(Pure(epsilon), people, found.epsilon) <= found.delta * (1 + ROUNDED_UP)
    assert group_leak(Pure(epsilon), people, found.epsilon - Fraction(1, 10**9)) > found.delta
    # The mutant: √(k·log(1/delta)) in place of √(2k·log(1/delta)).
    short = people * epsilon**2 / 2 + epsilon * math.sqrt(people * -math.log(delta))
    if epsilon < 1:  # at epsilon 1 the print has so much slack that the mutant stays above the truth
        assert group_leak(Pure(epsilon), people, short) > found.delta


def test_the_exact_calculator_is_never_above_print_or_sum_and_grows_like_the_root():
    for people in (1, 3, 30, 1000):
        for epsilon in ("0.01", "0.2", "1", "3"):
            for delta in (0.1, 1e-5, 1e-20):
                best, print_, sum_ = (
                    group_privacy(Pure(epsilon), people, delta, method=method).epsilon
                    for method in ("exact", "paper", "basic")
                )
                assert best <= print_ <= sum_
    small, large = (float(group_privacy(Pure("0.001"), people, 1e-6).epsilon) for people in (1_000, 16_000))
    assert math.log(large / small, 16) == pytest.approx(0.5, abs=0.04)


def test_losses_of_approximate_devices():
    spend = Approximate(1, "0.001")
    found = group_privacy(spend, 4, "0.01")
    assert group_leak(spend, 4, found.epsilon) <= Fraction(1, 100) * (1 + ROUNDED_UP)
    assert found.epsilon > group_privacy(Pure(1), 4, "0.01").epsilon
    assert found.epsilon <= group_privacy(spend, 4, "0.01", method="paper").epsilon
    # The dominating pair itself: revealed with probability delta, else randomized response.
    true, own = 1 / (1 + math.exp(-1)), 0.001
    first = joint([(own, 0, (1 - own) * true, (1 - own) * (1 - true))] * 4)
    second = joint([(0, own, (1 - own) * (1 - true), (1 - own) * true)] * 4)
    assert hockey_stick(first, second, float(found.epsilon)) == pytest.approx(0.01, rel=1e-9)
    with pytest.raises(NotProvable, match="larger delta"):
        group_privacy(spend, 20, "0.01")
    with pytest.raises(NotProvable, match="larger delta"):
        group_privacy(spend, 20, "0.01", method="paper")


def test_the_quantile_bounds_the_loss_itself_where_the_exact_epsilon_does_not():
    people, epsilon, delta = 6, 0.3, 0.05
    quantile = float(loss_quantile(Pure(epsilon), people, delta))
    noise = Noise(insecure_seed=9)
    for _ in range(40):
        pairs = [random_pair(noise, epsilon, 2) for _ in range(people)]
        first, second = joint([pair[0] for pair in pairs]), joint([pair[1] for pair in pairs])
        assert first[np.log(first / second) > quantile].sum() <= delta
    true = 1 / (1 + math.exp(-epsilon))
    first, second = joint([(true, 1 - true)] * people), joint([(1 - true, true)] * people)
    indistinguishable = float(group_privacy(Pure(epsilon), people, delta).epsilon)
    assert first[np.log(first / second) > indistinguishable + 1e-9].sum() > delta


def test_the_largest_group_is_the_largest():
    within = Approximate(1, 1e-6)
    found = largest_group(Pure("0.02"), within).people
    assert group_leak(Pure("0.02"), found, 1) <= within.delta < group_leak(Pure("0.02"), found + 1, 1)
    assert found > 50, "fifty times 0.02 is what any protocol gives"
    with pytest.raises(NotProvable, match="one device"):
        largest_group(Pure(5), within)


def prior_laws():
    """Joint laws of three bits: independent, all equal, nearly constant, exactly one."""
    states = list(product((0, 1), repeat=3))
    yield dict.fromkeys(states, 1 / 8)
    yield {(0, 0, 0): 0.5, (1, 1, 1): 0.5}
    yield {(0, 0, 0): 0.95, (1, 1, 1): 0.05}
    yield {(0, 0, 1): 0.2, (0, 1, 0): 0.3, (1, 0, 0): 0.5}


@pytest.mark.parametrize("epsilon", [0.5, 1.5])
@pytest.mark.parametrize("beta", [0.3, 0.05, 0.01])
def test_max_information_covers_every_joint_law_of_the_data(epsilon, beta):
    nats = float(max_information(3, Pure(epsilon), beta).nats)
    true = 1 / (1 + math.exp(-epsilon))
    answers = list(product((0, 1), repeat=3))
    worst = 0.0
    for prior in prior_laws():
        rows = {
            state: np.array(
                [
                    math.prod(true if a == b else 1 - true for a, b in zip(state, answer, strict=True))
                    for answer in answers
                ]
            )
            for state in prior
        }
        output = sum(prior[state] * rows[state] for state in prior)
        excess = sum(prior[state] * np.maximum(rows[state] - math.exp(nats) * output, 0).sum() for state in prior)
        assert excess <= beta + 1e-12
        tight = sum(prior[state] * np.maximum(rows[state] - math.exp(nats / 4) * output, 0).sum() for state in prior)
        worst = max(worst, tight)
    if nats and beta == 0.01:
        assert worst > beta, "a quarter of the nats would be caught"


def test_a_curator_at_the_same_epsilon_tells_more_than_the_local_bound():
    """People whose data follow one shared number: a curator's noisy count tells it, local reports cannot."""
    nats = float(max_information(10_000, Pure("0.01"), "0.005").nats)
    outputs = np.arange(-2_000, 12_001)
    rows = np.array([np.exp(-np.abs(outputs - level) / 100) for level in range(0, 10_001, 500)])
    rows /= rows.sum(axis=1, keepdims=True)
    excess = np.maximum(rows - math.exp(nats) * rows.mean(axis=0), 0).sum() / len(rows)
    assert excess > 0.2, "forty times the beta at which the local bound holds"


def test_max_information_numbers():
    assert float(max_information(10_000, Pure("0.01"), "0.005").nats) == pytest.approx(2.5875, abs=0.001)
    assert float(max_information(10_000, Pure("0.01"), "0.005", method="paper").nats) == pytest.approx(3.755, abs=0.001)
    found = max_information(1000, Pure("0.05"), "0.01")
    assert float(found.nats) == pytest.approx(4.318, abs=0.001)
    assert found.bits == pytest.approx(float(found.nats) / math.log(2))


def test_levels_for_tests_chosen_after_the_reports():
    chosen = adaptive_p_value("0.05", 10_000, Pure("0.01"))
    fixed = adaptive_p_value("0.05", 10_000, Pure("0.01"), beta="0.005")
    assert chosen.threshold >= fixed.threshold
    assert float(fixed.threshold) == pytest.approx(0.045 * math.exp(-2.58754), rel=1e-4)
    # What is promised: e^nats·p + beta is at most the level.
    information = chosen.information
    assert math.exp(float(information.nats)) * float(chosen.threshold) + float(information.beta) <= 0.05 + 1e-12
    twice = add_information([fixed.information, fixed.information])
    assert twice.nats == 2 * fixed.information.nats and twice.beta == Fraction(1, 100)
    assert twice.threshold("0.05") < fixed.threshold
    with pytest.warns(AccuracyWarning, match="useless"):
        adaptive_p_value("0.05", 10_000, Pure(1))
    with pytest.raises(NotProvable, match="smaller beta"):
        adaptive_p_value("0.05", 100, Pure("0.01"), beta="0.05")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: group_privacy(Pure(1), 0, 1e-6), ParameterError, "at least 1"),
        (lambda: group_privacy(Pure(1), 10**9, 1e-6), ParameterError, "at most"),
        (lambda: group_privacy(Pure(1), 2, 0), ParameterError, "strictly between"),
        (lambda: group_privacy(Pure(1), 2, "1e-301"), ParameterError, "1e-300"),
        (lambda: group_privacy(Pure(0), 2, 1e-6), ParameterError, "above zero"),
        (lambda: group_privacy(1, 2, 1e-6), ParameterError, "Pure"),
        (lambda: group_privacy(Concentrated(1), 2, 1e-6), UnsupportedSpend, "Pure"),
        (lambda: group_privacy(Pure(1), 2, 1e-6, method="best"), ParameterError, "method"),
        (lambda: group_privacy(Pure(1), 2, 1e-6, interactive=True), NotProvable, "basic"),
        (lambda: group_privacy(Approximate(1, 1e-9), 2, 1e-6, method="basic"), UnsupportedSpend, "exact"),
        (lambda: group_leak(Pure(1), 2, -1), ParameterError, "zero or more"),
        (lambda: loss_quantile(Approximate(1, 1e-9), 2, 1e-6), UnsupportedSpend, "Pure"),
        (lambda: largest_group(Pure(1), Pure(2)), UnsupportedSpend, "Approximate"),
        (lambda: max_information(10, Approximate(1, 1e-6), 0.1), UnsupportedSpend, "Pure"),
        (lambda: add_information([]), ParameterError, "max_information"),
        (lambda: adaptive_p_value(1.5, 10, Pure(1)), ParameterError, "strictly between"),
    ],
)
def test_refusals_say_what_to_write(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_an_interactive_protocol_gets_the_sum():
    assert group_privacy(Pure("0.1"), 100, 1e-6, method="basic", interactive=True).epsilon == 10
