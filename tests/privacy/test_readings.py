"""What a loss means: the numbers of C-15, C-16, C-17, C-KL, C-MI and the loss tails."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from sfumato.errors import ParameterError
from sfumato.exact import INFINITY
from sfumato.privacy import Approximate, Concentrated, Pure, Truncated
from sfumato.privacy.readings import (
    belief_change,
    guess,
    guess_concentrated,
    information,
    loss_tail,
    membership_advantage,
    table_information,
)


def test_guess():
    assert float(guess(10)) == pytest.approx(0.99995, abs=5e-6)
    assert guess(0) == Fraction(1, 2)
    assert guess(INFINITY) == 1
    assert float(guess(1, prior="0.9")) == pytest.approx(0.9 * math.e / (0.9 * math.e + 0.1))
    assert float(guess(1, delta="0.1")) == pytest.approx((math.e + 0.1) / (1 + math.e))
    with pytest.raises(ParameterError, match="likelier"):
        guess(1, prior="0.1")  # there the formula would be false
    with pytest.raises(ParameterError, match="prior"):
        guess(1, prior="0.9", delta="0.1")


def test_guess_is_attained_by_randomized_response():
    for epsilon in (0.1, 1.0, 3.0):
        assert float(guess(epsilon)) == pytest.approx(1 / (1 + math.exp(-epsilon)), rel=1e-12)


def test_belief_and_information():
    assert float(belief_change(1)) == pytest.approx(0.46212, abs=1e-5)
    assert float(belief_change(1, independent=True)) == pytest.approx(math.tanh(0.25), rel=1e-12)
    assert belief_change(INFINITY) == 1
    assert information("0.3") == Fraction(3, 10)
    assert float(information(5, values=2)) == pytest.approx(math.log(2))
    assert information(INFINITY) == INFINITY


def test_total_variation():
    assert float(membership_advantage("0.02")) == pytest.approx(0.1)
    assert float(guess_concentrated("0.02")) == pytest.approx(0.55)
    assert guess_concentrated(100) == 1


def test_table_information():
    assert table_information("0.1", INFINITY, 10) == 10
    assert table_information("0.1", INFINITY, 10, independent=True) == 1
    spread = (3 / 2) ** 10 - 1
    assert float(table_information("0.1", Fraction(3), 10)) == pytest.approx(spread * 6 * 0.1)
    assert table_information("0.1", Fraction(100), 10) <= 10
    assert table_information(1, Fraction(2), 10**9) == INFINITY  # no digits of e^(10^9) are computed


def test_loss_tail():
    rho = Fraction(1, 10)
    assert float(loss_tail(rho, INFINITY, "1.1")) == pytest.approx(math.exp(-1 / 0.4))
    assert float(loss_tail(rho, Fraction(3), "1.1")) == pytest.approx(math.exp(0.4 - 2))
    assert loss_tail(rho, INFINITY, "0.05") == 1
    assert loss_tail(0, INFINITY, 1) == 0


def test_explanations_are_sentences():
    for bound in (Pure(1), Concentrated(0.1), Truncated(0.1, 5), Approximate(1, 1e-6), Pure(1).per_attribute()):
        assert bound.explain().endswith(".")
    assert "one attribute" in Pure(1).per_attribute().explain()
