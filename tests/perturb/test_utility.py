"""The errors that theory predicts, measured: fixed seeds, false alarms below 1e-6 (5 standard errors)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato import Approximate, Concentrated, Noise, Pure, Truncated
from sfumato.exact.enclosure import precision
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, RoundedNormal, SinhNormal
from sfumato.perturb import AdditiveNoise, calibrate
from sfumato.privacy.sinh import sinh_normal

SCALE = 1000
ERRORS = 5


def largest_errors(scale: float, size: int, trials: int) -> np.ndarray:
    mechanism = AdditiveNoise(law=DiscreteLaplace(scale), sensitivity=1)
    return np.abs(mechanism(np.zeros((trials, size), np.int64), Noise(insecure_seed=size))).max(axis=1)


def standard_errors_off(found: np.ndarray, size: int) -> float:
    """How far the mean largest error lies from b·H_d, for b = SCALE."""
    harmonic = sum(1 / i for i in range(1, size + 1))
    return abs(found.mean() - SCALE * harmonic) / (found.std() / math.sqrt(len(found)))


@pytest.mark.parametrize("size", [1, 10, 100])
def test_mean_largest_laplace_error_is_b_times_the_harmonic_number(size):
    assert standard_errors_off(largest_errors(SCALE, size, 10_000), size) < ERRORS


def test_a_scale_that_is_off_by_half_a_per_cent_is_seen():
    assert standard_errors_off(largest_errors(SCALE, 1, 4_000_000), 1) < ERRORS
    assert standard_errors_off(largest_errors(SCALE * 1.005, 1, 4_000_000), 1) > ERRORS
    assert standard_errors_off(largest_errors(SCALE * 0.995, 1, 4_000_000), 1) > ERRORS


MECHANISMS = [
    calibrate(Pure(0.1), sensitivity=1),
    calibrate(Concentrated(0.01), sensitivity=1),
    calibrate(Truncated(0.1, 2.24), largest=1, changed=2, draws=2**64),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: repr(mechanism.law))
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_intervals_cover_at_the_stated_rate(mechanism, confidence):
    trials, truth = 400_000, 77
    half = mechanism.error(confidence)
    values = mechanism(np.full(trials, truth), Noise(insecure_seed=5))
    covered = float(np.mean(np.abs(values - truth) <= half))
    with precision(128):
        stated = float(1 - 2 * mechanism.law.tail(half))
    assert stated >= confidence
    assert abs(covered - stated) < ERRORS * math.sqrt(stated * (1 - stated) / trials)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: repr(mechanism.law))
def test_the_largest_of_many_errors_is_covered_too(mechanism):
    trials, size = 4_000, 100
    half = mechanism.error(0.9, coordinates=size)
    values = mechanism(np.zeros((trials, size), np.int64), Noise(insecure_seed=6))
    covered = float(np.mean(np.abs(values).max(axis=1) <= half))
    assert covered > 0.9 - ERRORS * math.sqrt(0.09 / trials)


@pytest.mark.parametrize("power", [0, 10, 20, 64])
def test_rounded_sinh_noise_stays_within_its_deviation_and_a_half(power):
    """TCDP-SAMPLER (b): the exact law's quantile of the largest of 2^20 (and other) draws is at most t + 1/2."""
    found = sinh_normal(Truncated(0.1, 2.24), 1, 2, draws=2**power)
    law = SinhNormal(found.variance, found.bend)
    half = AdditiveNoise(law=law, sensitivity=1).error(0.95, coordinates=2**power)
    assert half <= found.deviation(2**power) + 0.5
    assert half >= found.deviation(2**power) - 0.5


@pytest.mark.parametrize("spend", [Truncated(0.1, 2.24), Truncated(0.01, 7.07), Truncated(0.5, 2)], ids=repr)
@pytest.mark.parametrize("power", [0, 10, 20, 256])
def test_truncated_beats_gaussian_on_the_exact_laws(spend, power):
    chosen = calibrate(spend, largest=1, changed=2, draws=2**power)
    gaussian = calibrate(Concentrated(spend.rho), largest=1, changed=2)
    ours, theirs = (mechanism.error(0.95, coordinates=2**power) for mechanism in (chosen, gaussian))
    assert ours <= theirs
    if power >= 20:
        assert ours < theirs and isinstance(chosen.law, SinhNormal)
    if power == 0:
        assert isinstance(chosen.law, (DiscreteGaussian, RoundedNormal))


def test_growth_is_doubly_logarithmic():
    """TCDP-HIST (b): squaring the number of cells adds about the same to the error each time."""
    errors = [
        calibrate(Truncated(0.1, 2.24), largest=1, changed=2, draws=2**power).error(0.95, 2**power)
        for power in (64, 128, 256, 512, 1024)
    ]
    steps = np.diff(errors)
    assert steps.max() <= 4 and steps.min() >= 2


def test_single_approximate_release_is_best_served_by_laplace():
    """The guide says so: for a few numbers at one (epsilon, delta), delta buys nothing here."""
    assert isinstance(calibrate(Approximate(1, 1e-6), sensitivity=1).law, DiscreteLaplace)
