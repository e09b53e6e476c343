"""The one object: what it returns, what it refuses, and that sugar rests on the seven primitives."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.errors import CertificationError, ParameterError
from sfumato.exact import rational_ball
from sfumato.noise import Binomial, DiscreteGaussian, DiscreteLaplace, Geometric, Maximum, Noise, SinhNormal
from sfumato.noise.laws import Law
from sfumato.noise.samplers import FEW, Inverse, Samplers, Tally
from sfumato.noise.table import Table
from sfumato.noise.uniform import Uniform
from tests.noise.fit import chi_square
from tests.noise.scripted import Scripted

PRIMITIVES = ("uniform", "bernoulli", "bernoulli_exp", "draw", "choose", "permutation", "subset")


def test_one_draw_is_an_int_and_many_are_an_array():
    noise = Noise()
    for law in (DiscreteLaplace(3), DiscreteGaussian(10**10), SinhNormal(9, 3), Maximum(Geometric(1), 3)):
        assert type(noise.draw(law)) is int
        many = noise.draw(law, 3)
        assert (many.dtype, many.shape) == (np.int64, (3,))
        assert noise.draw(law, np.int64(2)).shape == (2,)
        assert noise.draw(law, 0).shape == (0,)
    assert type(noise.uniform(5)) is int
    assert type(noise.bernoulli(0.5)) is bool
    assert type(noise.bernoulli_exp(1)) is bool
    assert type(noise.choose([1, 2], 1)) is int


@pytest.mark.parametrize("probability", [Fraction(0), Fraction(1), Fraction(1, 3), "0.7"])
def test_bernoulli_has_its_probability(probability):
    noise, count = Noise(insecure_seed=401), 4000
    yes = sum(noise.bernoulli(probability) for _ in range(count))
    assert abs(yes - count * float(Fraction(probability))) <= 6 * math.sqrt(count / 4) * (0 < Fraction(probability) < 1)


@pytest.mark.parametrize("exponent", [0, Fraction(1, 3), 2, 10**9])
def test_bernoulli_exp_has_its_probability(exponent):
    noise, count = Noise(insecure_seed=402), 2000
    yes = sum(noise.bernoulli_exp(exponent) for _ in range(count))
    assert abs(yes - count * math.exp(-exponent)) <= 6 * math.sqrt(count / 4) * (0 < exponent < 100)


def test_a_uniform_number_keeps_its_bits_between_comparisons():
    third = Uniform(Scripted([2**62, 0]))
    assert third.below(lambda: rational_ball(Fraction(1, 3)))
    assert not third.below(lambda: rational_ball(Fraction(1, 5)))
    # U begins with the bits 01 and then zeros: below any number above one quarter, however close.
    assert third.below(lambda: rational_ball(Fraction(1, 4) + Fraction(1, 2**65)))
    stream = Scripted()
    assert Uniform(stream).below(lambda: rational_ball(1))
    assert not Uniform(stream).below(lambda: rational_ball(0))
    assert stream.read == 0


def test_a_broken_enclosure_is_reported_and_not_waited_for():
    with pytest.raises(CertificationError, match="no draw was made"):
        Uniform(Scripted()).below(lambda: rational_ball(0) / 0)


class Recorder(Noise):
    """Counts how often each primitive is asked, and refuses to hand out a key stream to anything else."""

    def __init__(self) -> None:
        super().__init__(insecure_seed=403)
        self.asked: list[str] = []


def _recorded(name: str):
    def primitive(self, *arguments, **named):
        self.asked.append(name)
        return getattr(Noise, name)(self, *arguments, **named)

    return primitive


for _name in PRIMITIVES:
    setattr(Recorder, _name, _recorded(_name))


def test_sugar_rests_on_the_primitives_alone():
    noise = Recorder()
    streams = []
    take = noise._source.stream
    noise._source.stream = lambda: streams.append(1) or take()
    noise.discrete_laplace(3)
    noise.discrete_gaussian(3, size=2)
    noise.sinh_normal(9, 3)
    noise.geometric(2, size=3)
    noise.largest(DiscreteLaplace(3), 100, 4)
    assert set(noise.asked) == {"draw"}
    assert len(streams) == len(noise.asked)


def law_of_largest(law: Law, count: int, top: int, low: int, high: int) -> dict[tuple, float]:
    """Enumerate all draws of `count` values within [low, high] and what `largest` says of them."""
    masses = {value: float(law.mass(value)) for value in range(low, high + 1)}
    found: dict[tuple, float] = {(): 1.0}
    for _ in range(count):
        found = {(*values, value): chance * mass for values, chance in found.items() for value, mass in masses.items()}
    answers: dict[tuple, float] = {}
    for values, chance in found.items():
        pairs: list[tuple[int, int]] = []
        for value in sorted(set(values), reverse=True):
            if sum(ties for _, ties in pairs) < top:
                pairs.append((value, values.count(value)))
        answers[tuple(pairs)] = answers.get(tuple(pairs), 0.0) + chance
    return answers


@pytest.mark.parametrize(
    ("law", "count", "top"), [(DiscreteLaplace("1/2"), 4, 2), (Geometric("3/4"), 3, 3), (SinhNormal(1, 2), 4, 1)]
)
def test_the_largest_have_the_law_of_the_sorted_draws(law, count, top):
    noise, trials = Noise(insecure_seed=404), 1200
    expected = law_of_largest(law, count, top, -6 if law.symmetric else 0, 6)
    found: dict[tuple, int] = {}
    for _ in range(trials):
        answer = tuple(noise.largest(law, count, top))
        found[answer] = found.get(answer, 0) + 1
    likely = [answer for answer, chance in expected.items() if chance * trials > 8]
    counts = [found.get(answer, 0) for answer in likely]
    chances = [expected[answer] * trials for answer in likely]
    other = trials - sum(counts), trials - sum(chances)
    assert chi_square(np.array([*counts, other[0]]), np.array([*chances, other[1]])) > 1e-8


def test_the_largest_of_astronomically_many():
    noise = Noise(insecure_seed=405)
    for law in (DiscreteLaplace(2), DiscreteGaussian(100), SinhNormal(25, 10)):
        pairs = noise.largest(law, 2**256, 5)
        values = [value for value, _ in pairs]
        assert values == sorted(set(values), reverse=True)
        assert sum(ties for _, ties in pairs) >= 5
        assert sum(ties for _, ties in pairs[:-1]) < 5
        assert law.window(Fraction(1, 2**300)).start < values[-1] < law.window(Fraction(1, 2**300)).stop
    assert noise.largest(Geometric("0.1"), 3, 10) in ([(0, 3)], [(1, 1), (0, 2)])
    assert sum(ties for _, ties in noise.largest(DiscreteGaussian(4), 50, 50)) == 50


@pytest.mark.parametrize("size", [-1, 1.0, "3", True, (2, 2), math.nan])
@pytest.mark.parametrize(
    "draw", [lambda noise, size: noise.uniform(3, size), lambda noise, size: noise.draw(DiscreteLaplace(1), size)]
)
def test_bad_sizes_are_refused(draw, size):
    with pytest.raises(ParameterError, match=r"size must be .*\.$"):
        draw(Noise(), size)


@pytest.mark.parametrize(
    "ask",
    [
        lambda noise: noise.uniform(0),
        lambda noise: noise.uniform(-3),
        lambda noise: noise.uniform(2.5),
        lambda noise: noise.uniform(True),
        lambda noise: noise.uniform("6"),
        lambda noise: noise.bernoulli(1.5),
        lambda noise: noise.bernoulli(-1),
        lambda noise: noise.bernoulli(math.nan),
        lambda noise: noise.bernoulli(True),
        lambda noise: noise.bernoulli_exp(-1),
        lambda noise: noise.bernoulli_exp(math.inf),
        lambda noise: noise.bernoulli_exp(None),
        lambda noise: noise.draw(3),
        lambda noise: noise.draw(DiscreteLaplace),
        lambda noise: noise.discrete_laplace(0),
        lambda noise: noise.discrete_laplace(math.nan),
        lambda noise: noise.discrete_laplace("wide"),
        lambda noise: noise.discrete_gaussian(-4),
        lambda noise: noise.discrete_gaussian(1e19),
        lambda noise: noise.discrete_gaussian(True),
        lambda noise: noise.sinh_normal(1, 0),
        lambda noise: noise.sinh_normal(math.inf, 1),
        lambda noise: noise.geometric(1e-3),
        lambda noise: noise.permutation(-1),
        lambda noise: noise.permutation(2.0),
        lambda noise: noise.subset(3, 4),
        lambda noise: noise.subset(-1, 0),
        lambda noise: noise.subset(3, True),
        lambda noise: noise.largest(DiscreteLaplace(1), 0, 1),
        lambda noise: noise.largest(DiscreteLaplace(1), 5, 0),
        lambda noise: noise.largest("law", 5, 1),
        lambda noise: noise.draw(Binomial(2**256, Fraction(1, 2)), 2),
    ],
)
def test_bad_arguments_are_refused_in_a_sentence(ask):
    with pytest.raises(ParameterError, match=r"\.$"):
        ask(Noise())


def test_a_seed_reproduces_its_draws_whatever_was_asked_before():
    law = DiscreteLaplace("98765/43")
    first = [Noise(insecure_seed=5).draw(law) for _ in range(2)]
    for _ in range(40):
        Noise().draw(law)
    assert [Noise(insecure_seed=5).draw(law) for _ in range(2)] == first


def test_a_few_draws_need_no_table_and_many_share_one():
    samplers = Samplers()
    law = DiscreteLaplace("98765/44")
    ways = [type(samplers.of(law, 1, samplers.process)).__name__ for _ in range(FEW + 2)]
    assert ways == ["Inverse"] * FEW + ["Table"] * 2
    assert isinstance(samplers.of(law, FEW + 1, Tally()), Table)
    assert isinstance(samplers.of(law, 1, Tally()), Inverse)  # whatever tables there are
    assert isinstance(Samplers().of(law, 1, None), Table)
