from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato import Approximate, Pure, audit
from sfumato.audit import attacks
from sfumato.errors import ParameterError
from sfumato.noise import Noise
from tests.audit.mechanisms import FirstAbove, Laplace, TruthOrCoin

LAPLACE = Laplace(scale=Fraction(2))


def vector(exact, noise):
    return [value + drawn for value, drawn in zip(exact, noise.discrete_laplace(2, size=len(exact)), strict=True)]


def test_laplace_noise_is_attacked_close_to_its_epsilon_and_never_refuted() -> None:
    found = audit.attack(LAPLACE, 5, 6, trials=10_000, noise=Noise(insecure_seed=5))
    assert 0.3 < found.epsilon <= 0.5
    assert not found.refutes(LAPLACE.loss())
    assert found.refutes(Pure("0.25"))
    assert "epsilon >=" in str(found)


def test_half_the_noise_is_refuted_by_samples() -> None:
    halved = replace(LAPLACE, scale=Fraction(1))
    found = audit.attack(halved, 5, 6, trials=6_000, noise=Noise(insecure_seed=5))
    assert found.refutes(LAPLACE.loss())


def test_vectors_are_scored_jointly() -> None:
    found = audit.attack(vector, [0] * 4, [1] * 4, trials=10_000, noise=Noise(insecure_seed=2))
    assert 1.2 < found.epsilon <= 2


def test_the_learnt_event_is_counted_on_fresh_samples_only() -> None:
    # Nothing differs, so whatever looks best on the learning half must vanish on the other.
    refuted = [
        audit.attack(vector, [0] * 3, [0] * 3, trials=200, confidence=0.9, noise=Noise(insecure_seed=seed)).epsilon > 0
        for seed in range(12)
    ]
    assert sum(refuted) <= 5


def test_a_given_event_is_counted_in_both_directions() -> None:
    coin = TruthOrCoin(truth=Fraction(3, 4), claimed=Fraction("1.1"))
    for inputs in [(0, 1), (1, 0)]:
        found = audit.attack(coin, *inputs, trials=5_000, event=lambda value: value == 1, noise=Noise(insecure_seed=1))
        assert found.inputs == (1, 0)
        assert 0.95 < found.epsilon < math.log(3)
        assert found.trials == 5_000


def test_delta_is_bounded_from_below() -> None:
    def reveals(bit, noise):
        return ("seen", bit) if noise.bernoulli(Fraction(1, 20)) else "hidden"

    found = audit.attack(reveals, 0, 1, trials=4_000, delta=0.01, noise=Noise(insecure_seed=3))
    assert found.delta_at(1) > 0.01
    assert found.refutes(Approximate(1, 0.01))
    assert not found.refutes(Approximate(1, 0.06))


def test_conversations_are_attacked() -> None:
    probe = FirstAbove(epsilon=Fraction(2))
    found = audit.attack(probe, [0, 0], [4, 4], trials=2_000, noise=Noise(insecure_seed=4))
    assert found.epsilon > 0.1


def test_confidence_bounds_are_exact() -> None:
    lower, upper = attacks._clopper_pearson(np.array([0.0, 5.0, 10.0]), 10, 0.05)
    assert lower[0] == 0 and upper[2] == 1
    # The textbook interval for 5 of 10 at 90 %.
    assert lower[1] == pytest.approx(0.2224, abs=1e-4)
    assert upper[1] == pytest.approx(0.7776, abs=1e-4)


@pytest.mark.parametrize(
    "options", [{"trials": 99}, {"trials": 1.5}, {"confidence": 1}, {"confidence": 0}, {"delta": -1}]
)
def test_bad_input_is_refused(options) -> None:
    with pytest.raises(ParameterError):
        audit.attack(LAPLACE, 5, 6, **{"trials": 100, **options})


def test_only_losses_can_be_refuted() -> None:
    found = audit.attack(LAPLACE, 5, 6, trials=100, noise=Noise(insecure_seed=5))
    with pytest.raises(ParameterError, match="Pure"):
        found.refutes(0.5)
