"""Means: intervals hold for every population, and what a plan says of its error is what comes out."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import sfumato as sf
from sfumato import Noise, Pure, local
from sfumato.errors import ParameterError

NUMBERS = {
    "the same for all, in the middle": [300],
    "spread out": list(range(601)),
    "mostly small": [0] * 20 + [30] * 8 + [600],
    "at the ends": [0, 600],
    "at one end": [0],
}
RUNS = 200


def mean_plan(epsilon: int = 4, users: int = 2000) -> local.Plan:
    return local.plan(users=users, spend=Pure(epsilon), numbers=sf.fixed(0, 600, step=1), seed=bytes(32))


@pytest.mark.parametrize("kind", [float, np.float32, np.float64])
def test_a_float_that_is_a_whole_number_is_that_number(kind: type) -> None:
    """It counted as the middle of the range: a column with a gap, or 30.0 of a device, moved the mean in silence."""
    plan = local.plan(users=4000, spend=Pure(8), numbers=sf.integers(0, 600), seed=bytes(32))
    assert plan.items.code(kind(30)) == plan.check(kind(30)) == 30
    held = [30] * plan.users
    told = [
        plan.client().reports(one, Noise(insecure_seed=1))
        for one in (held, list(map(kind, held)), np.array(held, kind))
    ]
    assert all(np.array_equal(told[0], one) for one in told[1:])
    for wrong in (kind(30.5), kind("nan"), kind("inf"), True):
        assert plan.items.code(wrong) is None


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("epsilon", [1, 4, 8])
def test_intervals_hold_whatever_the_numbers_are(name: str, epsilon: int) -> None:
    plan = mean_plan(epsilon)
    held = np.resize(NUMBERS[name], plan.users)
    client, truth = plan.client(), float(held.mean())
    inside = 0
    for seed in range(RUNS):
        server = plan.server()
        server.ingest(client.reports(held, Noise(insecure_seed=seed)))
        low, high = server.mean().interval(0.95)
        assert 0 <= low < high <= 600
        inside += low <= truth <= high
    # So few hits have a chance below 10^-6 if each interval holds with 95 %.
    assert inside >= binom.ppf(1e-6, RUNS, 0.95)


def test_the_test_above_sees_intervals_of_the_response_alone() -> None:
    plan = mean_plan()
    held, misses = np.full(plan.users, 300), 0
    oracle = plan.method.roles[0].oracle
    narrow = 600 * local.response(Pure(4)).deviation(plan.users) / plan.users
    for seed in range(RUNS):
        server = plan.server()
        server.ingest(plan.client().reports(held, Noise(insecure_seed=seed)))
        misses += abs(server.mean().value - 300) > 1.96 * narrow
    assert RUNS - misses < binom.ppf(1e-6, RUNS, 0.95)
    assert oracle.deviation(plan.users, plan.users / 2) > 2 * oracle.deviation(plan.users, 0)


def test_the_error_is_what_the_runs_spread() -> None:
    plan = mean_plan()
    held, found, errors = np.full(plan.users, 300), [], []
    for seed in range(RUNS):
        server = plan.server()
        server.ingest(plan.client().reports(held, Noise(insecure_seed=seed)))
        found.append(server.mean().value)
        errors.append(server.mean().error)
    # Everybody holds the middle, where the bound is the variance itself.
    assert np.std(found) == pytest.approx(np.mean(errors), rel=0.25)
    assert max(errors) <= plan.expected_error * (1 + 1e-9)


def test_a_plan_for_a_mean_states_its_error_and_no_share() -> None:
    plan = mean_plan(users=200_000)
    assert plan.expected_error == pytest.approx(600 * 0.5 / np.sqrt(200_000) / plan.method.roles[0].oracle.signal)
    assert "standard error of at most 0.696, which is 0.116% of the range from 0 to 600" in str(plan)
    with pytest.raises(ParameterError, match="expected_error"):
        _ = plan.detectable
    with pytest.raises(ParameterError, match="detectable"):
        _ = local.plan(users=1000, spend=Pure(4), candidates=["a", "b"]).expected_error


def test_no_reports_have_no_mean() -> None:
    with pytest.raises(ParameterError, match="no reports"):
        mean_plan().server().mean()


def test_a_double_beside_a_step_is_shown_in_full_and_says_how_to_round():
    tenths = sf.local.plan(users=50_000, spend=sf.Pure(1), numbers=sf.fixed(0, 1, step=0.1))
    with pytest.raises(ParameterError, match=r"^0\.30000000000000004 is none of the values.*; write round\(x, 1\)\.$"):
        tenths.check(0.1 * 3)
    assert tenths.check(round(0.1 * 3, 1)) == Fraction(3, 10)
    thirds = sf.local.plan(users=50_000, spend=sf.Pure(1), numbers=sf.fixed(0, 6, step="0.3"))
    with pytest.raises(ParameterError, match=r"; write round\(round\(x / 0\.3\) \* 0\.3, 1\)\.$"):
        thirds.check(0.3 * 3)
    assert thirds.check(round(round(0.3 * 3 / 0.3) * 0.3, 1)) == Fraction(9, 10)
    with pytest.raises(ParameterError, match=r"^0\.35 is none of the values 0 to 1 in steps of 0\.1\.$"):
        tenths.check(0.35)
