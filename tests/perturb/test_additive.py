"""Additive noise: what goes in, what comes out, what it claims, what it refuses."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from sfumato import ADD_REMOVE, EVERYTHING, Approximate, Concentrated, Loss, Noise, Pure, Truncated
from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.exact.enclosure import precision
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Geometric, RoundedNormal, SinhNormal
from sfumato.perturb import AdditiveNoise, calibrate, sensitivity
from sfumato.perturb.additive import HIGHEST, LOWEST
from sfumato.privacy import REPLACE_ONE, PerAttribute
from sfumato.privacy.bounds import bound_of

LAWS = [DiscreteLaplace(3), DiscreteGaussian(20), SinhNormal(20, 9)]
COUNT = AdditiveNoise(law=DiscreteLaplace(2), sensitivity=1)


def noise() -> Noise:
    return Noise(insecure_seed=11)


class Fixed(Noise):
    """Noise that is always the same number."""

    def __init__(self, value: int) -> None:
        super().__init__(insecure_seed=0)
        self.value = value

    def draw(self, law, size=None):
        return self.value if size is None else np.full(size, self.value, dtype=np.int64)


@pytest.mark.parametrize("value", [0, -5, 10**30, np.int64(7), np.uint8(7)])
def test_a_number_stays_a_python_int(value):
    found = COUNT.run(value, Fixed(3))
    assert type(found) is int and found == int(value) + 3


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 4)])
def test_arrays_keep_their_shape_as_int64(dtype, shape):
    found = COUNT.run(np.ones(shape, dtype=dtype), Fixed(-3))
    assert found.dtype == np.int64 and found.shape == shape and (found == -2).all()


def test_python_ints_and_uint64_stay_exact():
    big = np.array([[2**200, -(2**200)], [1, 0]], dtype=object)
    assert COUNT.run(big, Fixed(5)).tolist() == [[2**200 + 5, -(2**200) + 5], [6, 5]]
    assert COUNT.run(np.array([2**64 - 1], dtype=np.uint64), Fixed(5)).tolist() == [2**64 + 4]


def test_a_sum_outside_int64_stays_at_the_end_of_the_range():
    edge = np.array([HIGHEST, HIGHEST - 2, LOWEST, LOWEST + 2, 0])
    assert COUNT.run(edge, Fixed(3)).tolist() == [HIGHEST, HIGHEST, LOWEST + 3, LOWEST + 5, 3]
    assert COUNT.run(edge, Fixed(-3)).tolist() == [HIGHEST - 3, HIGHEST - 5, LOWEST, LOWEST, -3]


def test_a_cell_that_is_no_int_counts_as_zero():
    """What a cell holds is private, so it is repaired on its own and never raises."""
    cells = np.array([1, 2.5, None, "x", float("nan"), np.int64(4)], dtype=object)
    assert COUNT.run(cells, Fixed(1)).tolist() == [2, 1, 1, 1, 1, 5]


@pytest.mark.parametrize(
    "value", [1.0, np.float64(1), True, "1", None, [1, 2], np.ones(2), np.ones(2, bool), np.array(["a"])], ids=repr
)
def test_floats_are_refused_by_their_type(value):
    with pytest.raises(ParameterError, match="fixed point"):
        COUNT(value)


def test_the_input_is_not_changed():
    exact = np.arange(5)
    COUNT(exact, noise())
    assert exact.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_draws_are_independent_and_reproducible(law):
    mechanism = AdditiveNoise(law=law, sensitivity=1)
    first, again = (mechanism(np.zeros(1000, np.int64), noise()) for _ in range(2))
    assert (first == again).all() and len(set(first.tolist())) > 5
    assert type(mechanism(3)) is int


def test_losses_come_from_law_and_sensitivity():
    moves = sensitivity(l1=4, l2_squared=6, largest=2, changed=3)
    laplace, gaussian, bent = (AdditiveNoise(law=law, sensitivity=moves).loss().person for law in LAWS)
    assert laplace.epsilon == Fraction(4, 3)
    assert gaussian.rho() == Fraction(6, 40)
    single = AdditiveNoise(law=LAWS[2], sensitivity=2).loss().person
    assert bent.tau("1.5") == pytest.approx(2 * single.tau("1.5"))
    assert bent.tau(50) > 10**9


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_error_is_the_smallest_half_width(law):
    mechanism = AdditiveNoise(law=law, sensitivity=1)
    for confidence, count in (("0.5", 1), ("0.95", 1), ("0.999999", 1), ("0.9", 1000), ("0.95", 2**100)):
        half = mechanism.error(confidence, count)
        with precision(400):
            inside = [(1 - 2 * law.tail(width)) ** count for width in (half - 1, half) if width >= 0]
        assert float(inside[-1]) >= float(confidence)
        assert len(inside) == 1 or float(inside[0]) < float(confidence)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_quantiles_are_those_of_the_law(law):
    mechanism = AdditiveNoise(law=law, sensitivity=1)
    for probability in (0.001, 0.3, 0.5, 0.975, "0.999999999"):
        found = mechanism.quantile(probability)
        with precision(400):
            above, below = float(law.tail(found)), float(law.tail(found - 1))
        assert above <= 1 - float(probability) < below + 1e-15


def test_the_event_is_json_and_names_the_mathematics():
    event = calibrate(Pure(1), l1=2, reads={"age"}, relation=ADD_REMOVE).event().to_json()
    assert json.loads(json.dumps(event)) == event
    assert event["spec"] == "QR-LAP" and event["parameters"]["law"] == {"name": "DiscreteLaplace", "scale": "2"}
    assert event["parameters"]["relation"] == "add_remove" and event["parameters"]["reads"] == ["age"]
    specs = [AdditiveNoise(law=law, sensitivity=1).event().spec for law in LAWS]
    assert specs == ["QR-LAP", "PDP:C-13", "TCDP-SAMPLER"]


@pytest.mark.parametrize(
    ("spend", "law"),
    [
        (Pure("0.5"), DiscreteLaplace(4)),
        (Concentrated("0.1"), RoundedNormal(10)),
        (Concentrated(2), DiscreteGaussian("0.5")),
        (Truncated("0.1", 3), RoundedNormal(10)),
        (Approximate(1, 1e-6), DiscreteLaplace(2)),
    ],
    ids=repr,
)
def test_calibrate_takes_the_noise_of_the_bound(spend, law):
    mechanism = calibrate(spend, largest=1, changed=2)
    assert mechanism.law == law and mechanism.loss().within(spend)
    assert mechanism.relation is REPLACE_ONE and mechanism.reads is EVERYTHING


def test_many_draws_call_for_sinh_normal_noise():
    for spend, draws in ((Truncated("0.1", "2.24"), 2**64), (Approximate(1, 1e-6), 2**256)):
        mechanism = calibrate(spend, largest=1, changed=2, draws=draws)
        assert isinstance(mechanism.law, SinhNormal) and mechanism.loss().within(spend)
        assert Loss.from_json(mechanism.loss().to_json()) == mechanism.loss()


def test_more_epsilon_than_the_sampler_needs_rounds_the_noise_up():
    assert calibrate(Pure(10**6), sensitivity=1).law == DiscreteLaplace("0.01")
    assert calibrate(Concentrated(10**6), sensitivity=1).law == DiscreteGaussian("0.0001")


COLUMNS = {"smoker": 1, "children": 2}


def test_a_spend_per_attribute_is_calibrated_to_attributes():
    spend = Pure("0.5").per_attribute()
    mechanism = calibrate(spend, l1=3, l2_squared=5, by_attribute=COLUMNS)
    loss = mechanism.loss()
    assert mechanism.law == DiscreteLaplace(4) and mechanism.reads == frozenset(COLUMNS)
    assert [loss.at(names).epsilon for names in ("smoker", "children", set(COLUMNS), "age")] == [
        Fraction(1, 4),
        Fraction(1, 2),
        Fraction(3, 4),
        0,
    ]
    assert loss.within(spend) and not loss.within(Pure("0.5"))


def test_rho_of_several_attributes_adds_as_square_roots_do():
    mechanism = calibrate(Concentrated(2).per_attribute(), l1=3, l2_squared=9, by_attribute=COLUMNS)
    loss = mechanism.loss()
    assert mechanism.law == DiscreteGaussian(1)
    assert loss.at("smoker").rho() == Fraction(1, 2) and loss.at("children").rho() == 2
    assert loss.at(set(COLUMNS)).rho() == Fraction(9, 2) == loss.person.rho()
    assert Loss.from_json(loss.to_json()) == loss


def test_three_attributes_cost_the_union_of_two():
    mechanism = AdditiveNoise(
        law=DiscreteGaussian(2), sensitivity=sensitivity(l2_squared=100), by_attribute={"a": 1, "b": 2, "c": 3}
    )
    loss = mechanism.loss()
    assert [float(loss.at(names).rho()) for names in ("a", {"a", "b"}, {"b", "c"})] == [0.25, 2.25, 6.25]
    assert loss.person.rho() == 25


def test_an_attribute_without_its_own_bound_moves_as_the_person_does():
    mechanism = calibrate(Pure(1).per_attribute(), l1=3, by_attribute={"smoker": 1}, reads={"smoker", "age"})
    assert mechanism.law == DiscreteLaplace(3)
    assert mechanism.loss().at("smoker").epsilon == Fraction(1, 3) and mechanism.loss().at("age").epsilon == 1


def test_an_attribute_never_moves_farther_than_the_person():
    mechanism = AdditiveNoise(law=DiscreteLaplace(1), sensitivity=1, by_attribute={"a": 5, "b": 5})
    assert mechanism.loss().at("a").epsilon == 1


def test_attributes_of_one_release_are_joined_before_releases_are_added():
    cells = {"a": sensitivity(largest=1, changed=1), "b": sensitivity(largest=2, changed=1)}
    gaussian = AdditiveNoise(law=DiscreteGaussian(2), sensitivity=sensitivity(l2_squared=100), by_attribute=cells)
    loss = gaussian.loss()
    assert isinstance(loss.profile, PerAttribute)
    assert Loss.from_json(loss.to_json()) == loss
    both = loss.at({"a", "b"}).rho()
    assert float(both) == pytest.approx(2.25) and both >= Fraction(9, 4)
    assert (3 * loss).at({"a", "b"}).rho() == 3 * both
    assert loss.at("c").is_zero and loss.for_group(2).at("a").rho() == 4 * loss.at("a").rho()


def test_sinh_noise_has_attributes_too():
    spend = Truncated("0.5", 2).per_attribute()
    cells = {"a": sensitivity(largest=1, changed=1), "b": sensitivity(largest=1, changed=2)}
    mechanism = calibrate(spend, largest=1, changed=3, by_attribute=cells, draws=2**64)
    assert isinstance(mechanism.law, SinhNormal) and mechanism.loss().within(spend)
    one, two, person = (mechanism.loss().at(names).tau(2) for names in ("a", "b", {"a", "b"}))
    assert one < two < person


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: calibrate(0.1, sensitivity=1), ParameterError, r"write Pure\(0.1\)"),
        (lambda: calibrate(Pure(1)), ParameterError, "write sensitivity=1"),
        (lambda: calibrate(Pure(0), sensitivity=1), UnsupportedSpend, "above zero"),
        (lambda: calibrate(Pure(1), sensitivity=0.5), ParameterError, "fixed point"),
        (lambda: calibrate(Pure(1), sensitivity=-1), ParameterError, "above zero"),
        (lambda: calibrate(Pure("1e-12"), sensitivity=1), ParameterError, "larger units"),
        (lambda: calibrate(Truncated(1, 2), sensitivity=1, draws=0), ParameterError, "at least 1"),
        (lambda: calibrate(Truncated(1, 2), sensitivity=1, failure=0), ParameterError, "between 0 and 1"),
        (lambda: calibrate(Pure(1).per_attribute(), sensitivity=1), ParameterError, "attributes by name"),
        (
            lambda: calibrate(Pure(1), sensitivity=1, by_attribute={"a": 1}, reads={"b"}),
            ParameterError,
            "add it to reads=",
        ),
        (lambda: AdditiveNoise(law=Geometric(2), sensitivity=1), ParameterError, "must be one of DiscreteGaussian"),
        (lambda: AdditiveNoise(law=3, sensitivity=1), ParameterError, "must be one of DiscreteGaussian"),
        (lambda: AdditiveNoise(law=DiscreteLaplace(2), sensitivity="big"), ParameterError, "finite number"),
        (lambda: COUNT.error(1), ParameterError, "between 0 and 1"),
        (lambda: COUNT.error(0.9, 0), ParameterError, "at least 1"),
        (lambda: COUNT.quantile(0), ParameterError, "between 0 and 1"),
    ],
)
def test_refusals_say_what_to_write(make, error, says):
    with pytest.raises(error, match=says):
        make()


def test_where_people_come_and_go_an_attribute_may_cost_more_than_a_person() -> None:
    noise = calibrate(Pure(1), l1=1, by_attribute={"a": sensitivity(largest=1, changed=2)}, relation=ADD_REMOVE)
    assert noise.loss().person.epsilon == 1 and noise.loss().at("a").epsilon == 2
    each = calibrate(Pure(1).per_attribute(), l1=1, reads={"a"}, relation=ADD_REMOVE)
    assert each.loss().person.epsilon == Fraction(1, 2), (
        "without a number of its own it is one who leaves and one who enters"
    )


@pytest.mark.parametrize("spend", [Pure(Fraction(1, 10**10)), Concentrated(Fraction(1, 10**20))])
def test_a_spend_that_is_next_to_nothing_is_told_to_be_more(spend):
    with pytest.raises(ParameterError, match=r"So small a spend .* spend more"):
        calibrate(spend, 1)


def test_one_number_that_is_no_spend_is_told_in_the_singular():
    with pytest.raises(ParameterError, match=r"^delta= does not make a spend"):
        bound_of(delta="1e-6")
