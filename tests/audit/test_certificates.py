from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest

from sfumato.audit import FiniteLaw, certified_grid, certify, law, renyi
from sfumato.errors import CertificationError, ParameterError
from sfumato.exact import INFINITY


def response(epsilon: float) -> tuple[FiniteLaw, FiniteLaw]:
    truth = Fraction(1 / (1 + math.exp(-epsilon)))
    return FiniteLaw.of({0: truth, 1: 1 - truth}), FiniteLaw.of({0: 1 - truth, 1: truth})


def test_the_grid_is_dense_near_one_and_ends_at_omega() -> None:
    orders = certified_grid(20)
    assert orders[0] == 1 and orders[-1] == 20
    assert all(b / a <= Fraction(1001, 1000) for a, b in pairwise(orders))
    with pytest.raises(ParameterError):
        certified_grid(1)


def test_randomized_response_is_certified_at_its_rho_and_not_below() -> None:
    rho = Fraction(math.tanh(0.25) / 2)
    found = certify([response(0.5)], rho * Fraction("1.002"), 16)
    assert 0.99 < found.used <= 1
    with pytest.raises(CertificationError, match="breaks it"):
        certify([response(0.5)], rho * Fraction("0.99"), 16)
    with pytest.raises(CertificationError, match="not proved"):
        certify([response(0.5)], rho, 16)


def test_without_truncation_the_max_divergence_takes_over() -> None:
    found = certify([response(0.5)], 0.2, INFINITY)
    assert found.omega is INFINITY and found.used < 1
    one_sided = FiniteLaw.of({0: 1}), FiniteLaw.of({0: "1/2", 1: "1/2"})
    with pytest.raises(CertificationError, match="no finite upper bound"):
        certify([one_sided], 1, INFINITY)


def test_a_law_that_fits_at_integer_orders_only_is_rejected() -> None:
    # The tampered pair has KL above rho although every integer order from 8 on is below rho times the order.
    pair = response(0.5)
    rho = Fraction(renyi(*pair, 8).upper) / 8
    assert all(Fraction(renyi(*pair, order).upper) <= rho * order for order in range(8, 17))
    with pytest.raises(CertificationError):
        certify([pair], rho, 16)


def test_a_law_tampered_at_one_order_is_rejected() -> None:
    # A rare, very telling outcome leaves low orders untouched and lifts the highest one.
    def tampered(rare: Fraction) -> tuple[FiniteLaw, FiniteLaw]:
        return (
            FiniteLaw.of({0: Fraction(1, 2), 1: Fraction(1, 2) - rare, 2: rare}),
            FiniteLaw.of({0: Fraction(1, 2), 1: Fraction(1, 2) - rare / 4000, 2: rare / 4000}),
        )

    certify([tampered(Fraction(1, 10**32))], 0.05, 8)
    with pytest.raises(CertificationError, match=r"order [78]"):
        certify([tampered(Fraction(1, 10**23))], 0.05, 8)


def test_laws_with_a_tail_and_empty_lists_are_not_certified() -> None:
    tailed = law(lambda x, noise: x + noise.discrete_laplace(1), 0, 1e-6)
    with pytest.raises(CertificationError, match="not proved"):
        certify([(tailed, tailed)], 1, 4)
    with pytest.raises(ParameterError):
        certify([], 1, 4)
