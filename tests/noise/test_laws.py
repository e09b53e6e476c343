"""Laws enclose the right numbers: sums, direct formulas, tails, windows and bounds."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from scipy.special import erfc
from scipy.stats import binom

from sfumato.errors import ParameterError
from sfumato.exact import rational_ball
from sfumato.exact.enclosure import precision
from sfumato.noise import (
    Above,
    Between,
    Binomial,
    DiscreteGaussian,
    DiscreteLaplace,
    Geometric,
    Maximum,
    RoundedNormal,
    SinhNormal,
    Top,
)
from sfumato.noise.laws import gaussian
from tests.noise import cases

DERIVED = [
    Between(DiscreteGaussian(9), least=2),
    Between(DiscreteLaplace(2), least=-3, most=1),
    Between(SinhNormal(9, 3), most=-2),
    Maximum(DiscreteLaplace(2), 50),
    Maximum(Between(DiscreteGaussian(9), most=3), 5),
    Maximum(Geometric(1), 3),
    Binomial(20, Fraction(1, 3)),
    Binomial(20, Fraction(1, 3), least=1),
    Binomial(10**6, Above(DiscreteLaplace(1), 12)),
    Binomial(40, Top(DiscreteGaussian(4), 3), least=1),
    Binomial(7, Top(Geometric(2), 0), least=1),
    Binomial(5, 1),
    Binomial(600, Fraction(1, 2)),
]


def overlap(one, two) -> bool:
    return not (one < two or one > two)


@pytest.mark.parametrize("law", cases.NARROW + DERIVED, ids=cases.name)
def test_masses_sum_to_one(law):
    window = law.window("1e-30")
    with precision(256):
        total = sum((law.mass(j) for j in window), rational_ball(0))
        assert total.rad() < 1e-40
        assert total > 1 - rational_ball(Fraction("1e-30"))
        assert total < 1 + rational_ball(Fraction("1e-40"))


@pytest.mark.parametrize("law", cases.ALL + DERIVED, ids=cases.name)
def test_masses_are_differences_of_tails_and_heads(law):
    window = law.window("1e-12")
    picks = {window.start, window.start + 1, window.stop - 1, 0, 1, -1, (window.start + window.stop) // 2}
    with precision(256):
        for j in picks:
            mass = law.mass(j)
            assert mass.rad() < 1e-50
            assert overlap(mass, law.tail(j - 1) - law.tail(j))
            assert overlap(mass, law.head(j + 1) - law.head(j))
            assert overlap(law.head(j) + law.tail(j - 1), rational_ball(1))
            assert overlap(law.between(j, j), mass)
            assert overlap(law.between(j - 2, j + 3), law.tail(j - 3) - law.tail(j + 3))
        assert law.between(None, None) == 1


@pytest.mark.parametrize("law", cases.ALL + DERIVED, ids=cases.name)
@pytest.mark.parametrize("tail", ["1e-3", "1e-20"])
def test_windows_leave_out_at_most_the_tail_and_not_much_less(law, tail):
    window, edge = law.window(tail), Fraction(tail)
    with precision(256):
        assert law.head(window.start) + law.tail(window.stop - 1) <= rational_ball(edge)
        narrower = law.tail(window.stop - 2) > rational_ball(edge) / 2
        assert narrower or window.stop == window.start + 1


@pytest.mark.parametrize("law", cases.ALL, ids=cases.name)
def test_formulas_directly(law):
    unit = max(law.feature(), 1)
    with precision(128):
        for j in (0, unit, 2 * unit):
            if isinstance(law, DiscreteGaussian):
                ratio = math.exp(-(j * j) / (2 * law.variance))
            elif isinstance(law, RoundedNormal):
                ratio = rounded_mass(law, j) / rounded_mass(law, 0)
            elif isinstance(law, SinhNormal):
                ratio = sinh_mass(law, j) / sinh_mass(law, 0) if sinh_mass(law, 0) else 0
            else:
                ratio = math.exp(-j / law.scale)
            assert float(law.mass(j) / law.mass(0)) == pytest.approx(ratio, rel=1e-6, abs=1e-300)


def rounded_mass(law: RoundedNormal, j: int) -> float:
    """The density for wide laws, where the difference of two float tails would cancel."""
    variance = float(law.variance)
    if variance > 10**8:
        return math.exp(-(j * j) / (2 * variance))
    edges = [abs(j + half) / math.sqrt(2 * variance) for half in (-0.5, 0.5)]
    return 1 - erfc(edges[1]) if j == 0 else (erfc(edges[0]) - erfc(edges[1])) / 2


def sinh_mass(law: SinhNormal, j: int) -> float:
    """The density for wide laws, where the difference of two float tails would cancel."""
    variance, bend = float(law.variance), float(law.bend)
    if variance > 10**8:
        return math.cosh(j / bend) * math.exp(-((bend * math.sinh(j / bend)) ** 2) / (2 * variance))
    edges = [bend * math.sinh(min(abs(j + half) / bend, 300)) / math.sqrt(2 * variance) for half in (-0.5, 0.5)]
    return 1 - erfc(edges[1]) if j == 0 else (erfc(edges[0]) - erfc(edges[1])) / 2


def test_sums_of_gaussian_terms_agree_by_all_three_ways():
    for variance in (Fraction(4096), Fraction(5000), Fraction(10**5, 3)):
        for start in (0, 1, 17, 300, 2000):
            with precision(160):
                slow = gaussian._sum_by_terms(variance, start)
                fast = gaussian._sum_by_formula(variance, start)
                assert overlap(slow, fast)
                assert fast.rad() / slow < 1e-30
                both = 2 * gaussian._sum_by_terms(variance, 0) - 1
                assert overlap(both, gaussian._total(variance))
    with precision(160):
        for variance in (Fraction(1), Fraction(3, 2)):
            assert overlap(2 * gaussian._sum_by_terms(variance, 0) - 1, gaussian._total(variance))


@pytest.mark.parametrize("law", cases.WIDE, ids=cases.name)
def test_curvature_bounds_second_differences(law):
    step = max(law.feature() // 64, 2)
    with precision(256):
        for first in (1, 7 * step, 64 * step, 200 * step):
            last = first + step
            bow = law.mass(first) - 2 * law.mass(first + step // 2) + law.mass(first + 2 * (step // 2))
            assert abs(bow) <= law.curvature(first, last) * (step // 2) ** 2


@pytest.mark.parametrize("law", cases.ALL, ids=cases.name)
def test_masses_halve_over_the_stated_distance(law):
    unit = max(law.feature(), 1)
    with precision(256):
        for start in (1, unit, 3 * unit, 20 * unit):
            distance = law.halving(start)
            if distance is None or not law.mass(start) > 0:
                continue
            for value in (start, start + 1, start + unit):
                assert 2 * law.mass(value + distance) <= law.mass(value)
                assert law.mass(value + 1) < law.mass(value)


def test_a_law_with_two_humps_does_not_halve_between_them():
    law = SinhNormal(10**8, 300)
    assert law.halving(1) is None
    assert law.halving(4000) is not None


def test_binomials_agree_with_scipy():
    law = Binomial(50, Fraction(3, 10))
    given = Binomial(50, Fraction(3, 10), least=1)
    with precision(128):
        for j in range(51):
            assert float(law.mass(j)) == pytest.approx(binom.pmf(j, 50, 0.3))
            assert float(law.tail(j)) == pytest.approx(binom.sf(j, 50, 0.3), abs=1e-12)
            if j:
                assert float(given.mass(j)) == pytest.approx(binom.pmf(j, 50, 0.3) / (1 - 0.7**50))
        assert given.mass(0) == 0
        assert abs(law.peak() - 15) <= 1


def test_windows_of_huge_binomials_come_from_a_bound():
    law = Binomial(2_000_000, Fraction(1, 10**5))
    window = law.window("1e-9")
    assert binom.cdf(window.start - 1, law.count, 1e-5) + binom.sf(window.stop - 1, law.count, 1e-5) <= 1e-9
    assert len(window) < 100
    wide = Binomial(2**256, Fraction(1, 2)).window("1e-9")
    assert 2**129 < wide.stop - wide.start < 2**133


def test_chances_and_their_complements():
    law = DiscreteLaplace(3)
    with precision(256):
        for chance in (Above(law, 4), Above(law, -4), Top(law, 2), Top(law, -9)):
            assert overlap(chance.yes() + chance.no(), rational_ball(1))
        assert overlap(Top(law, 2).yes(), law.mass(2) / (1 - law.tail(2)))


def test_the_largest_of_many_by_brute_force():
    law, many = DiscreteGaussian(9), Maximum(DiscreteGaussian(9), 4)
    with precision(192):
        for j in range(-6, 7):
            expected = (1 - law.tail(j)) ** 4 - (1 - law.tail(j - 1)) ** 4
            assert overlap(many.mass(j), expected)
        far = Maximum(law, 2**200)
        assert far.tail(0) > 1 - rational_ball(Fraction("1e-50"))
        assert far.head(-1000) < rational_ball(Fraction("1e-50"))


@pytest.mark.parametrize(
    "make",
    [
        DiscreteLaplace,
        Geometric,
        DiscreteGaussian,
        RoundedNormal,
        lambda value: SinhNormal(value, 1),
        lambda value: SinhNormal(1, value),
        lambda value: Maximum(DiscreteLaplace(1), value),
    ],
)
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "many", None, True, [1], 1e-9, 1e30])
def test_bad_parameters_are_refused_in_a_sentence(make, value):
    with pytest.raises(ParameterError, match=r"\.$"):
        make(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SinhNormal(1, 0),
        lambda: SinhNormal(1, 1e13),
        lambda: Between(DiscreteLaplace(1), least=3, most=2),
        lambda: Maximum("law", 3),
        lambda: Binomial(0, Fraction(1, 2)),
        lambda: Binomial(3, Fraction(3, 2)),
        lambda: Binomial(3, -1),
        lambda: Binomial(3, Fraction(1, 2), least=2),
        lambda: Binomial(3, 0, least=1),
        lambda: DiscreteLaplace(1).window(0),
        lambda: DiscreteLaplace(1).window(1),
    ],
)
def test_inconsistent_parameters_are_refused(make):
    with pytest.raises(ParameterError, match=r"\.$"):
        make()


def test_the_ends_of_the_range_are_allowed():
    for law in (DiscreteLaplace("0.01"), DiscreteLaplace(1e9), DiscreteGaussian("1e-4"), DiscreteGaussian(10**18)):
        assert len(law.window("1e-6")) >= 1
    assert DiscreteLaplace(0.1) == DiscreteLaplace(Fraction(1, 10))
