from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato import audit
from sfumato.audit.branching import ONE, BranchingNoise, BranchTable
from sfumato.audit.conversations import converse
from sfumato.audit.outcomes import freeze
from sfumato.errors import CertificationError, ParameterError
from sfumato.exact.enclosure import precision
from sfumato.mechanism import NOTHING
from sfumato.noise import Binomial, DiscreteGaussian, DiscreteLaplace, Noise, SinhNormal, Top
from tests.audit.mechanisms import FirstAbove


@dataclass
class Pair:
    low: int
    high: int


def test_outcomes_keep_content_and_order() -> None:
    assert freeze(np.array([[1, 2], [3, 4]])) == ((1, 2), (3, 4))
    assert freeze(np.int64(3)) == 3
    assert freeze({"a": [1, None], "b": NOTHING}) == (("a", (1, None)), ("b", NOTHING))
    assert freeze({"a": 1, "b": 2}) != freeze({"b": 2, "a": 1})
    assert freeze(Pair(1, 2)) == ("Pair", 1, 2)
    assert freeze({2, 1}) == freeze({1, 2})
    assert freeze(-0.0) != freeze(0.0)
    assert freeze(float("nan")) == freeze(float("nan"))
    with pytest.raises(ParameterError, match="cannot be audited"):
        freeze(object())


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (lambda _, noise: noise.uniform(3), {0: "1/3", 1: "1/3", 2: "1/3"}),
        (lambda _, noise: noise.uniform(2, size=2), {(0, 0): "1/4", (0, 1): "1/4", (1, 0): "1/4", (1, 1): "1/4"}),
        (lambda _, noise: noise.bernoulli(Fraction(1, 5)), {True: "1/5", False: "4/5"}),
        (lambda _, noise: noise.bernoulli(1), {True: 1}),
        (lambda _, noise: noise.permutation(3), dict.fromkeys(itertools.permutations(range(3)), "1/6")),
        (lambda _, noise: noise.subset(4, 2), dict.fromkeys(itertools.combinations(range(4), 2), "1/6")),
        (lambda _, noise: noise.choose([5, 5], 1, lengths=[3, 1]), {0: "3/4", 1: "1/4"}),
        (lambda _, noise: noise.choose([0, 9, 0], 0), {0: "1/3", 1: "1/3", 2: "1/3"}),
        (lambda _, noise: noise.choose([4, 9], 1, lengths=[1, 0]), {0: 1}),
    ],
)
def test_each_rational_primitive_has_its_law(run, expected) -> None:
    law = audit.law(run, None)
    assert law.complete
    assert set(law) == set(expected)
    for outcome, mass in expected.items():
        assert 0 <= Fraction(mass) - law[outcome] <= Fraction(8, ONE)


def test_exponential_primitives_have_their_law() -> None:
    yes = audit.law(lambda _, noise: noise.bernoulli_exp(Fraction(1, 3)), None)
    assert float(yes[True]) == pytest.approx(math.exp(-1 / 3), rel=1e-15)
    tiny = audit.law(lambda _, noise: noise.bernoulli_exp(690), None)
    assert float(tiny[True]) == pytest.approx(math.exp(-690), rel=1e-12)
    chosen = audit.law(lambda _, noise: noise.choose([0, 3, 1], Fraction(1, 2)), None)
    total = 1 + math.exp(1.5) + math.exp(0.5)
    assert float(chosen[1]) == pytest.approx(math.exp(1.5) / total, rel=1e-15)
    assert chosen.remainder < Fraction(1, 10**300)


@pytest.mark.parametrize(
    "drawn", [DiscreteLaplace(2), DiscreteGaussian(3), SinhNormal(4, 3), Binomial(9, Top(DiscreteLaplace(1), 0))]
)
def test_infinite_laws_leave_their_tail_in_the_remainder(drawn) -> None:
    law = audit.law(lambda shift, noise: shift + noise.draw(drawn), 5, tail=1e-6)
    assert 0 <= law.remainder <= Fraction(1, 10**6)
    assert not law.complete
    with precision(200):
        for outcome in (5, 6, 7):
            assert abs(float(law[outcome]) - float(drawn.mass(outcome - 5))) < 1e-15


def test_sugar_goes_through_the_primitives() -> None:
    law = audit.law(lambda _, noise: noise.largest(DiscreteLaplace(1), count=3, top=1)[0][0], None, tail=1e-6)
    masses = {j: math.tanh(0.5) * math.exp(-abs(j)) for j in range(-40, 41)}
    below = sum(mass for j, mass in masses.items() if j < 0)
    assert float(law[0]) == pytest.approx((below + masses[0]) ** 3 - below**3, abs=1e-5)


def test_rejection_loops_end_where_no_mass_is_left() -> None:
    def loop(_, noise):
        while True:
            value = noise.uniform(4)
            if value < 3:
                return value

    law = audit.law(loop, None)
    assert [float(law[value]) for value in range(3)] == pytest.approx([1 / 3] * 3, rel=1e-15)
    cut = audit.law(loop, None, lightest=1e-6)
    assert 0 < cut.remainder < Fraction(1, 10**5)
    assert not cut.complete


def test_paths_and_branches_are_capped_with_the_name_of_the_draw() -> None:
    with pytest.raises(ParameterError, match=r"uniform\(1000000\)"):
        audit.law(lambda _, noise: noise.uniform(10**6), None)
    with pytest.raises(ParameterError, match=r"more than 100 paths.*uniform\(7\)"):
        audit.law(lambda _, noise: [noise.uniform(7) for _ in range(5)], None, paths=100)


def test_a_mechanism_without_a_noise_is_refused_in_a_sentence() -> None:
    for wrong in (lambda exact: exact, lambda: 0, lambda exact, noise, other: exact):
        with pytest.raises(ParameterError, match="the exact input and the noise"):
            audit.law(wrong, 1)
    assert audit.law(lambda exact, noise, *, more=0: exact + more, 1)[1] == 1


def test_mechanisms_that_draw_elsewhere_are_detected() -> None:
    own = Noise(insecure_seed=1)
    with pytest.raises(CertificationError, match="returned another value"):
        audit.law(lambda _, noise: own.uniform(10), None)
    with pytest.raises(CertificationError, match="asked for"):
        audit.law(lambda _, noise: noise.uniform(2 + own.uniform(2)) * 0, None)
    with pytest.raises(CertificationError, match="no further draw"):
        audit.law(lambda _, noise: noise.uniform(2) and own.uniform(2) and noise.uniform(3) and 0, None)


def test_laws_that_do_not_add_up_are_detected() -> None:
    class Liar(DiscreteLaplace):
        def mass(self, j):
            return super().mass(j) / 2

    with pytest.raises(CertificationError, match="is wrong"):
        audit.law(lambda _, noise: noise.draw(Liar(2)), None)


def test_a_mechanism_cannot_swallow_the_end_of_a_path() -> None:
    def careful(_, noise):
        try:
            return noise.bernoulli_exp(10**6)
        except Exception:
            return "fallback"

    assert list(audit.law(careful, None)) == [False]


def test_branching_noise_owns_no_key() -> None:
    noise = BranchingNoise(BranchTable(Fraction(1, 10)))
    with pytest.raises(AttributeError):
        Noise.uniform(noise, 3)


def test_bad_draws_are_refused_as_the_real_noise_refuses_them() -> None:
    for run in (
        lambda _, noise: noise.uniform(0),
        lambda _, noise: noise.bernoulli(2),
        lambda _, noise: noise.bernoulli_exp(-1),
        lambda _, noise: noise.subset(2, 3),
        lambda _, noise: noise.choose([], 1),
    ):
        with pytest.raises(ParameterError):
            audit.law(run, None)
        with pytest.raises(ParameterError):
            run(None, Noise(insecure_seed=1))


def test_a_subset_of_a_population_that_nobody_can_list_is_refused() -> None:
    with pytest.raises(ParameterError, match="more than the"):
        audit.law(lambda _, noise: noise.subset(2**40, 3), None)


@pytest.mark.parametrize("tail", [0, -1, 1, "x"])
def test_tail_must_be_a_small_positive_number(tail) -> None:
    with pytest.raises(ParameterError):
        audit.law(lambda _, noise: 0, None, tail=tail)


def test_finite_laws_from_masses() -> None:
    law = audit.FiniteLaw.of({"a": "1/3", "b": "1/3"})
    assert not law.complete
    assert law.interval("c") == (0, law.remainder)
    assert law.interval("a")[1] >= Fraction(2, 3)
    with pytest.raises(ParameterError):
        audit.FiniteLaw.of({"a": "2/3", "b": "2/3"})
    with pytest.raises(ParameterError):
        audit.FiniteLaw.of({})


def test_conversations_with_fixed_and_adaptive_analysts() -> None:
    probe = FirstAbove(epsilon=Fraction(2))
    law = audit.law_of_interaction(probe, [0, 0], tail=1e-4)
    assert set(law) == {(True, NOTHING), (False, True), (False, False)}

    def stubborn(values):
        return None if len(values) == 2 or (values and values[-1]) else 0

    adaptive = audit.law_of_interaction(probe, stubborn, tail=1e-4)
    assert set(adaptive) == {(True,), (False, True), (False, False)}
    assert adaptive[(True,)] == law[(True, NOTHING)]
    assert audit.law_of_interaction(replace(probe, noisy_threshold=False), [], tail=1e-4)[()] == 1


def test_joining_equal_states_gives_the_law_of_all_paths() -> None:
    probe = FirstAbove(epsilon=Fraction(8))
    joined = audit.law_of_interaction(probe, [1, 0, 1], tail=1e-3)
    every = audit.law(converse(probe), [1, 0, 1], tail=1e-3)
    assert set(joined) == set(every)
    assert all(abs(joined[values] - every[values]) < Fraction(1, 10**300) for values in every)
    assert joined.paths < every.paths


def test_the_state_of_a_conversation_must_be_json() -> None:
    class Careless(FirstAbove):
        def start(self, noise):
            return {"threshold": Fraction(1, 2), "open": True}

    with pytest.raises(ParameterError, match="must be JSON"):
        audit.law_of_interaction(Careless(epsilon=Fraction(2)), [0])
    with pytest.raises(ParameterError, match="paths"):
        audit.law_of_interaction(FirstAbove(epsilon=Fraction(2)), [0, 0], paths=60, tail=1e-3)
