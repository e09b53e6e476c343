"""Floors: golden numbers, the printed forms they sharpen, and that nothing shipped lies below them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato import Truncated
from sfumato.bounds import (
    histogram_people,
    histogram_people_per_attribute,
    histogram_people_pure,
    people_for_information,
    selection_gap,
    selection_gaps,
    subsampled_order,
    subsampled_rho,
    threshold_people,
)
from sfumato.errors import ParameterError
from sfumato.exact import INFINITY
from sfumato.privacy.readings import table_information
from sfumato.privacy.sinh import sinh_normal

GRID = [("0.1", "2.24"), ("0.01", "7.07"), ("0.5", "2"), ("0.001", "40"), ("0.1", "1.05")]


@pytest.mark.parametrize(("rho", "omega"), GRID)
@pytest.mark.parametrize("nats", ["0.5", 3, 40])
@pytest.mark.parametrize("independent", [False, True])
def test_people_for_information_inverts_the_bound_on_information(rho, omega, nats, independent):
    """One person fewer could not carry that much, and that many people could, for all the bound says (LB-MI)."""
    people = int(people_for_information(nats, rho, omega, independent).value)
    carried = [table_information(rho, Fraction(omega), count, independent) for count in (people - 1, people) if count]
    assert carried[-1] >= Fraction(nats) * Fraction(999_999_999, 10**9)
    assert len(carried) == 1 or carried[0] < Fraction(nats) or people == math.ceil(Fraction(omega))


def test_concentrated_information_needs_a_square_root():
    assert people_for_information(40, "0.1") == people_for_information(40, "0.1", INFINITY)
    assert people_for_information(40, "0.1").value == 20


@pytest.mark.parametrize(("rho", "omega"), GRID)
@pytest.mark.parametrize("power", [3, 64, 1024])
def test_histogram_floor_is_above_print_and_below_what_is_reached(rho, omega, power):
    floor = histogram_people(2**power, rho, omega).value
    level = (power - 2) * math.log(2) / (2 * float(omega) ** 2 * float(rho))
    printed = (float(omega) - 1) * math.log(level) if level > 1 else 0.0
    noise = sinh_normal(Truncated(rho, omega), 1, 2, draws=2**power, failure="0.5")
    assert printed <= floor <= 2 * (noise.deviation(2**power, "0.5") + 0.5)


def test_histogram_floor_golden_values():
    assert histogram_people(2**64, "0.1", "2.24").value == 8
    assert histogram_people(2**1024, "0.1", "2.24").binding == "groups of any size"
    assert histogram_people(2**64, "0.001", 1000).binding == "groups of fewer than omega people"
    assert histogram_people(4, "0.1", "2.24").value == 0


@pytest.mark.parametrize("columns", [1, 2, 50, 10**6])
@pytest.mark.parametrize("epsilon", ["0.1", 1, 20])
@pytest.mark.parametrize("accuracy", ["0.01", "0.1", "0.49"])
def test_planted_copies(columns, epsilon, accuracy):
    """The floor is the smallest n that epsilon·(floor(2·accuracy·n) + 1) >= log(...) does not exclude."""

    def allowed(people: int, needed: float) -> bool:
        return float(epsilon) * (math.floor(2 * Fraction(accuracy) * people) + 1) >= needed - 1e-6

    for floor, needed in (
        (histogram_people_per_attribute(columns, epsilon, accuracy, "0.9"), math.log(0.9 * columns)),
        (histogram_people_pure(columns, epsilon, accuracy, "0.9"), columns * math.log(2) + math.log(0.9)),
    ):
        people = int(floor.value)
        assert allowed(people, needed)
        assert people == 0 or not allowed(people - 1, needed + 2e-6)


def test_whole_people_cost_more_than_attributes():
    attribute = histogram_people_per_attribute(1000, "0.1", "0.01").value
    person = histogram_people_pure(1000, "0.1", "0.01").value
    assert (attribute, person) == (3100, 346200)


def test_selection_gaps_rank_the_kinds():
    gaps = {kind: floor.value for kind, floor in selection_gaps(2**64, 1, 1e-6, 0.1, 2.24).items()}
    assert gaps["pure"] == pytest.approx(64 * math.log(2))
    assert gaps["approximate"] == pytest.approx(6 * math.log(10))
    assert gaps["concentrated"] == pytest.approx(math.sqrt(640 * math.log(2)))
    assert gaps["truncated"] == pytest.approx(2.24 * math.log1p(gaps["concentrated"] / 2.24))
    assert gaps["truncated"] < gaps["approximate"] < gaps["concentrated"] < gaps["pure"]


def test_selection_falls_back_where_delta_does_not_help():
    assert selection_gap(8, epsilon=1, delta=1e-6).binding == "pure"
    assert selection_gap(2**64, rho=1, omega=10**9).value == pytest.approx(selection_gap(2**64, rho=1).value, rel=1e-6)


def test_thresholds():
    assert threshold_people(2**64, epsilon=1).value == pytest.approx(64 * math.log(2))
    assert threshold_people(2**64, rho=1).value == pytest.approx(math.sqrt(64 * math.log(2)))
    reached = threshold_people(2**64, rho=1, omega=3)
    assert reached.binding == "truncated, reachable" and reached.value == pytest.approx(4 * math.log(64 * math.log(2)))
    assert threshold_people(1, rho=1, omega=3).value == 4


def sampled_gaussian_at(order: float, rho: float, rate: float) -> float:
    """The same divergence at any real order, by a sum over a fine grid."""
    mu = math.sqrt(2 * rho)
    x = np.linspace(-15, 15 + order * mu, 200_001)
    logs = order * np.logaddexp(math.log1p(-rate), math.log(rate) + mu * x - rho) - x**2 / 2
    top = logs.max()
    summed = np.exp(logs - top).sum() * (x[1] - x[0]) / math.sqrt(2 * math.pi)
    return float(top + math.log(summed)) / (order - 1)


@pytest.mark.parametrize(("rho", "rate"), [(0.1, 0.1), (0.1, 0.01), (1.0, 0.1), (2.0, 0.2)])
def test_the_sampled_gaussian_is_above_its_floor_just_beyond_the_ceiling(rho, rate):
    ceiling = subsampled_order(rho, rate).value
    assert ceiling == pytest.approx(1 + math.log(1 / rate) / (rho * (1 - 13 * rate**2)))
    assert sampled_gaussian_at(2, rho, rate) == pytest.approx(sampled_gaussian(2, rho, rate))
    for beyond in (0.001, 0.3, 0.999):
        order = ceiling + beyond
        assert sampled_gaussian_at(order, rho, rate) > 13 * rate**2 * rho * order


def sampled_gaussian(order: int, rho: float, rate: float) -> float:
    """Exact divergence of the sampled Gaussian from the plain one at an integer order (TCDP:C-SUB15)."""
    logs = [
        math.log(math.comb(order, k)) + (order - k) * math.log1p(-rate) + k * math.log(rate) + (k - 1) * rho * k
        for k in range(order + 1)
    ]
    top = max(logs)
    return (top + math.log(math.fsum(math.exp(term - top) for term in logs))) / (order - 1)


@pytest.mark.parametrize(("rho", "rate"), [(0.1, 0.1), (0.1, 0.01), (0.05, 0.01), (0.5, 0.001)])
def test_no_theorem_beats_the_sampled_gaussian(rho, rate):
    assert sampled_gaussian(2, rho, rate) >= 2 * subsampled_rho(rho, rate).value
    for factor in (1, 10, 13):
        ceiling = subsampled_order(rho, rate, factor).value
        last = 2
        while sampled_gaussian(last, rho, rate) <= factor * rate**2 * rho * last:
            last += 1
        # It breaks at the integer `last`, and at every one above the ceiling: none of those is passed.
        assert last <= math.floor(ceiling) + 1


def test_a_large_sample_has_no_ceiling():
    assert subsampled_order("0.1", "0.5").value == math.inf


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: histogram_people(0, 1, 2), "at least 1"),
        (lambda: histogram_people(10, 0, 2), "above zero"),
        (lambda: histogram_people(10, 1, 1), "omega must be above 1"),
        (lambda: people_for_information(0, 1), "above zero"),
        (lambda: histogram_people_pure(5, 1, "0.5"), "between 0 and 1/2"),
        (lambda: histogram_people_pure(5, 1, "0.1", success=0), "write 0.9"),
        (lambda: selection_gap(5), "epsilon="),
        (lambda: selection_gap(5, epsilon=1, rho=1), "epsilon="),
        (lambda: selection_gap(5, rho=1, delta=1e-6), "leave it out"),
        (lambda: threshold_people(5), "epsilon="),
        (lambda: subsampled_rho(1, 1), "between 0 and 1"),
        (lambda: subsampled_order(1, "0.1", factor="0.5"), "at least 1"),
    ],
)
def test_refusals_say_what_to_write(make, says):
    with pytest.raises(ParameterError, match=says):
        make()
