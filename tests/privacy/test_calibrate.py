"""Which noise for which bound: the tables of tcdp.md section 6, exactness, and refusals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato import Approximate, Concentrated, Cost, Pure, Truncated
from sfumato.errors import NotProvable, ParameterError, UnsupportedSpend
from sfumato.privacy import SinhNormalCurve
from sfumato.privacy.calibrate import (
    GaussianParameters,
    LaplaceParameters,
    RoundedParameters,
    candidates,
    choose,
    concentrated_within,
    gaussian_variance,
    laplace_scale,
    rounded_cost,
    rounded_variance,
    sensitivity,
    sinh_cost,
)
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.privacy.sinh import SinhParameters, level, log_failure, short_up, sinh_normal
from sfumato.privacy.sinh_search import float_tau

HISTOGRAM = sensitivity(largest=1, changed=2)
POWERS = (10, 20, 64, 256, 1024)
CALIBRATED = {
    (".01", "7.07"): (42.1, 49.8, 63.6, 81.0, 98.5),
    (".1", "2.24"): (13.0, 15.2, 19.3, 24.2, 29.1),
    (".1", "8.94"): (14.1, 18.4, 27.8, 40.4, 53.0),
    (".5", "2"): (6.1, 7.3, 9.5, 12.2, 14.9),
}
PRINTED = {
    (".01", "7.08"): (106, 120, 149, 186, 225),
    (".1", "2.24"): (33.4, 37.9, 47.0, 58.9, 71.2),
    (".1", "8.94"): (51.7, 64.4, 93.8, 138, 186),
    (".5", "2"): (19.8, 23.5, 31.2, 41.7, 52.6),
}


def tail_bound(noise: SinhParameters | GaussianParameters | RoundedParameters, draws: int) -> float:
    """The spec's t(k, beta) at beta = 0.05, from the tail bound exp(-z²/2) instead of the exact normal tail."""
    spread = math.sqrt(2 * (math.log(draws) - math.log(0.05)))
    if isinstance(noise, (GaussianParameters, RoundedParameters)):
        return math.sqrt(noise.variance) * spread
    return float(noise.bend) * math.asinh(math.sqrt(noise.variance) / float(noise.bend) * spread)


@pytest.mark.parametrize(("bound", "row"), CALIBRATED.items(), ids=str)
def test_table_of_calibrated_errors(bound, row):
    spend = Truncated(*bound)
    for power, expected in zip(POWERS, row, strict=True):
        for gaussians in ("wide", "rounded", "discrete"):
            chosen = choose(spend, HISTOGRAM, draws=2**power, gaussians=gaussians)
            assert tail_bound(chosen, 2**power) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("bound", "row"), PRINTED.items(), ids=str)
def test_table_of_the_papers_constants(bound, row):
    spend = Truncated(*bound)
    for power, expected in zip(POWERS, row, strict=True):
        printed = sinh_normal(spend, 1, 2, draws=2**power, method="paper")
        assert tail_bound(printed, 2**power) == pytest.approx(expected, rel=0.01)
        assert printed.cost.within(spend)


def test_parameters_behind_the_table():
    found = sinh_normal(Truncated("0.1", "2.24"), 1, 2, draws=2**64)
    assert float(found.bend) == pytest.approx(7.75, rel=0.02)
    assert float(1 / (2 * found.variance) / Fraction("0.1")) == pytest.approx(0.220, rel=0.05)


@pytest.mark.parametrize(("delta", "row"), [("1e-6", (37.4, 58.1, 106)), ("1e-12", (56.6, 93.8, 193))])
def test_one_approximate_release(delta, row):
    spend = Approximate(1, delta)
    for power, expected in zip((20, 64, 1024), row, strict=True):
        found = sinh_normal(spend, 1, 2, draws=2**power)
        assert found.cost.within(spend)
        assert tail_bound(found, 2**power) == pytest.approx(expected, rel=0.02)
        assert tail_bound(found, 2**power) <= expected * 1.001


def test_approximate_takes_the_best_of_three():
    """Laplace for few numbers, Gaussian in between, sinh-normal for astronomically many (section 6).

    A rounded Gaussian is charged by its own profile, not by rho, and wins earlier and for longer (AC-GAUSS).
    """
    spend = Approximate(1, "1e-6")

    def kinds(gaussians):
        found = (choose(spend, HISTOGRAM, draws=2**power, gaussians=gaussians) for power in (0, 20, 30, 64, 1024))
        return [type(one).__name__ for one in found]

    assert kinds("discrete") == ["LaplaceParameters"] * 2 + ["GaussianParameters"] + ["SinhParameters"] * 2
    assert kinds("wide") == ["LaplaceParameters"] + ["RoundedParameters"] * 3 + ["SinhParameters"]


@pytest.mark.parametrize("rho", ["0.001", "0.1", "2"])
@pytest.mark.parametrize("omega", ["1.05", "3", "20"])
@pytest.mark.parametrize("power", [0, 64])
def test_truncated_is_never_worse_than_gaussian(rho, omega, power):
    spend, draws = Truncated(rho, omega), 2**power
    variance = gaussian_variance(spend, HISTOGRAM)
    gaussian, rounded = GaussianParameters(variance), RoundedParameters(variance)
    simple = {"discrete": gaussian, "rounded": rounded, "wide": rounded if variance >= 4 else gaussian}
    for gaussians, known in simple.items():
        chosen = choose(spend, HISTOGRAM, draws=draws, gaussians=gaussians)
        assert chosen.deviation(draws) <= known.deviation(draws)
        if isinstance(chosen, SinhParameters):
            assert sinh_cost(chosen.variance, chosen.bend, HISTOGRAM).within(spend)
        else:
            assert chosen == known
    # What rounding adds to the variance is 1/12, so "wide" is never worse by more than 1.04 % of the error.
    assert choose(spend, HISTOGRAM, draws=draws).deviation(draws) <= math.sqrt(1 + 1 / 48) * gaussian.deviation(draws)


def test_pure_and_concentrated_are_exact():
    assert laplace_scale(Pure("1/3"), sensitivity(l1=7)) == 21
    assert gaussian_variance(Concentrated("1/7"), sensitivity(l2_squared=3)) == Fraction(21, 2)
    assert choose(Pure("0.1"), sensitivity(3)) == LaplaceParameters(Fraction(30))
    assert choose(Concentrated("0.02"), sensitivity(3), gaussians="discrete") == GaussianParameters(Fraction(225))
    assert choose(Concentrated("0.02"), sensitivity(3)) == RoundedParameters(Fraction(225))
    assert rounded_variance(Concentrated("1/7"), sensitivity(l2_squared=3)) == Fraction(21, 2)


def test_narrow_gaussians_are_rounded_on_request_only():
    """Below a variance of 4 the discrete law is narrower by more than its price (AC-GAUSS)."""
    spend, just = Concentrated("1/2"), Concentrated("1/8")
    assert choose(spend, sensitivity(1)) == GaussianParameters(Fraction(1))
    assert choose(spend, sensitivity(1), gaussians="rounded") == RoundedParameters(Fraction(1))
    assert choose(just, sensitivity(1)) == RoundedParameters(Fraction(4))
    assert choose(just, sensitivity(1), gaussians="discrete") == GaussianParameters(Fraction(4))


@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-6"), (10, "1e-6"), ("0.01", "1e-9"), ("0.1", "1e-300")])
def test_rho_of_an_approximate_spend_is_certified_and_nearly_largest(epsilon, delta):
    spend = Approximate(epsilon, delta)
    rho = concentrated_within(spend.epsilon, spend.delta)
    assert Cost.concentrated(rho).within(spend)
    assert not Cost.concentrated(rho * Fraction(10001, 10000)).within(spend)


def test_a_larger_sensitivity_scales_everything():
    one = sinh_normal(Truncated("0.5", 2), 1, draws=2**64)
    hundred = sinh_normal(Truncated("0.5", 2), 100, draws=2**64)
    assert hundred.deviation(2**64) == pytest.approx(100 * one.deviation(2**64), rel=1e-3)
    assert hundred.cost.within(Truncated("0.5", 2))


def test_the_float_search_follows_the_exact_curve():
    for bend, variance, order in itertools.product((3, 8, 100), (Fraction(1, 2), 5, 300), ("1.01", "1.5", "1.9")):
        exact = SinhNormalCurve(Fraction(variance), Fraction(bend), Fraction(1)).at(order)
        start = 1 / (2 * float(variance))
        found = float_tau(np.array(1 / bend), np.array(start), np.array(float(Fraction(order))))
        assert float(found) == pytest.approx(float(exact), rel=1e-9)


def test_level_is_the_exact_quantile_of_the_largest():
    assert level(1, 0.05) == pytest.approx(1.959964, abs=1e-6)
    inside = math.erf(level(1000, 0.05) / math.sqrt(2)) ** 1000
    assert inside == pytest.approx(0.95, abs=1e-9)
    assert log_failure(2**40 - 1, 0.05) == pytest.approx(log_failure(2**40 + 1, 0.05), abs=1e-9)
    assert math.isfinite(level(2**100_000, "1e-300"))


def test_results_are_short_and_remembered():
    found = sinh_normal(Truncated("0.5", 2), 1, draws=2**64)
    assert found is sinh_normal(Truncated("0.5", 2), 1, draws=2**64)
    assert max(found.variance.denominator, found.bend.denominator) <= 10**4
    assert short_up(0.0123456) == Fraction(12346, 10**6) and short_up(4.0) == 4


def vectors(size: int, top: int):
    return itertools.product(range(-top, top + 1), repeat=size)


@pytest.mark.parametrize(
    "known",
    [
        {"l1": 3},
        {"l2_squared": 5},
        {"l1": 3, "largest": 2},
        {"largest": 2, "changed": 2},
        {"l1": 4, "l2_squared": 6, "changed": 3},
        {"l2_squared": "7/2", "largest": 3},
    ],
    ids=str,
)
def test_derived_sensitivities_hold_for_every_integer_vector(known):
    moves = sensitivity(**known)
    limits = {name: Fraction(value) for name, value in known.items()}
    for vector in vectors(4, 3):
        sizes = {
            "l1": sum(map(abs, vector)),
            "l2_squared": sum(value**2 for value in vector),
            "largest": max(map(abs, vector)),
            "changed": sum(value != 0 for value in vector),
        }
        if all(sizes[name] <= limit for name, limit in limits.items()):
            assert all(sizes[name] <= getattr(moves, name) for name in sizes), vector


def test_copies_cover_unequal_moves():
    """Top-m moves 2m coordinates by 2m together and each by at most 2: m copies of a shift by 2 suffice."""
    assert sensitivity(l1=6, largest=2, changed=6).copies == 3
    assert sensitivity(l1=5, largest=2).copies == 3
    assert sensitivity(largest=2, changed=2).copies == 2
    curve = SinhNormalCurve(Fraction(9), Fraction(8), Fraction(2))
    for order in ("1.1", "1.5", "2"):
        halves = 2 * SinhNormalCurve(Fraction(9), Fraction(8), Fraction(1)).at(order)
        assert halves <= curve.at(order)


def test_cover_and_narrow():
    first, second = sensitivity(3), sensitivity(largest=1, changed=4)
    assert first.cover(second) == Sensitivity(Fraction(4), Fraction(9), Fraction(3), 4)
    assert first.narrow(second) == Sensitivity(Fraction(3), Fraction(4), Fraction(1), 1)


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: sensitivity(), ParameterError, "write sensitivity=1"),
        (lambda: sensitivity(largest=1), ParameterError, "both largest= and changed="),
        (lambda: sensitivity(0), ParameterError, "above zero"),
        (lambda: sensitivity("1/2"), ParameterError, "fixed point"),
        (lambda: sensitivity(float("nan")), ParameterError, "finite"),
        (lambda: sensitivity(1, l1=2), ParameterError, "leave it out"),
        (lambda: sensitivity(l1=2, changed=1.5), ParameterError, "whole number"),
        (lambda: choose(0.1, HISTOGRAM), ParameterError, r"write Pure\(0.1\)"),
        (lambda: choose(Pure(0), HISTOGRAM), UnsupportedSpend, "above zero"),
        (lambda: choose(Concentrated(0), HISTOGRAM), UnsupportedSpend, "above zero"),
        (lambda: choose(Truncated(0, 2), HISTOGRAM), UnsupportedSpend, "above zero"),
        (lambda: choose(Approximate(0, 1e-6), HISTOGRAM), UnsupportedSpend, "above zero"),
        (lambda: sinh_normal(Truncated(0, 2), 1), UnsupportedSpend, "above zero"),
        (lambda: sinh_normal(Pure(1), 1), UnsupportedSpend, "write Truncated"),
        (lambda: sinh_normal(Concentrated(1), 1), UnsupportedSpend, "write Truncated"),
        (lambda: sinh_normal(Truncated(1, 2), 0), ParameterError, "above zero"),
        (lambda: sinh_normal(Truncated(1, 2), 1, 0), ParameterError, "at least 1"),
        (lambda: sinh_normal(Truncated(1, 2), 1, draws=0), ParameterError, "at least 1"),
        (lambda: sinh_normal(Truncated(1, 2), 1, failure=1), ParameterError, "between 0 and 1"),
        (lambda: sinh_normal(Truncated(1, 2), 1, method="best"), ParameterError, "'tight' or 'paper'"),
        (lambda: sinh_normal(Truncated("0.1", 2), 1, 2, method="paper"), NotProvable, "leave method= out"),
        (lambda: sinh_normal(Truncated(40, 2), 1, 2, method="paper"), NotProvable, "leave method= out"),
        (lambda: sinh_normal(Approximate(1, 1e-6), 1, method="paper"), UnsupportedSpend, "write Truncated"),
        (lambda: laplace_scale(Concentrated(1), HISTOGRAM), UnsupportedSpend, r"Pure\(epsilon\)"),
        (lambda: gaussian_variance(Pure(1), HISTOGRAM), UnsupportedSpend, r"write Concentrated\(rho\)"),
    ],
)
def test_refusals_say_what_to_write(make, error, says):
    with pytest.raises(error, match=says):
        make()


def test_every_candidate_fits():
    spend = Approximate(1, "1e-6")
    laplace, rounded, gaussian, bent = candidates(spend, HISTOGRAM, draws=2**20)
    assert [laplace, gaussian, bent] == candidates(spend, HISTOGRAM, draws=2**20, gaussians="discrete")
    assert Cost.pure(HISTOGRAM.l1 / laplace.scale).within(spend)
    assert rounded_cost(rounded.variance, HISTOGRAM).within(spend)
    assert not rounded_cost(rounded.variance * Fraction(9999, 10000), HISTOGRAM).within(spend)
    assert rounded.variance < gaussian.variance
    assert Cost.concentrated(HISTOGRAM.l2_squared / (2 * gaussian.variance)).within(spend)
    assert bent.cost.within(spend)
