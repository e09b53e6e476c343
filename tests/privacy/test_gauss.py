"""The Gaussian coordinate of a cost: calibration, charges, sums, groups and unions (AC-GAUSS, AC-GDP)."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sfumato.errors import CertificationError, ParameterError
from sfumato.exact import INFINITY, rational_ball
from sfumato.exact.enclosure import precision
from sfumato.noise import DiscreteGaussian, RoundedNormal
from sfumato.noise.laws import PrivateNormal
from sfumato.noise.laws.base import Priced
from sfumato.privacy import Approximate, Cost, union, worst_of
from sfumato.privacy.gauss import (
    NONE,
    UNKNOWN_GAUSS,
    Exactly,
    Randomized,
    gauss_from_json,
    largest,
    randomized_charge,
    smallest,
)
from sfumato.privacy.gaussian import gaussian_delta, gaussian_epsilon, gaussian_m, keeps

UNIT = 1 << 64
GOLDEN_M = {
    ("1", "1e-6"): ".0560289638",
    ("3", "1e-6"): ".419549658",
    (".1", "1e-9"): ".000396663921",
    ("10", "1e-6"): "3.41559264",
    ("1", ".85e-6"): ".0551572799",
    ("3", ".85e-6"): ".413972901",
}
GOLDEN_CHARGES = {
    ".0551572799": {
        "1/10": 269449431127671858,
        "1/30": 23338380365208216,
        "1/100": 1872038182838401,
        "1/1000": 18449529791146,
    },
    ".413972901": {
        "3/10": 2447179377309450528,
        "1/10": 213986326820046830,
        "3/100": 16895780995339262,
        "3/1000": 166050706031537,
    },
}


@pytest.mark.parametrize(("spend", "m"), GOLDEN_M.items())
def test_golden_calibration(spend, m):
    epsilon, delta = map(Fraction, spend)
    assert gaussian_m(epsilon, delta) == Fraction(m)
    assert not keeps(Fraction(m) * (1 + Fraction(1, 10**8)), epsilon, delta)


@pytest.mark.parametrize("reserve", GOLDEN_CHARGES)
def test_golden_charges(reserve):
    for epsilon, units in GOLDEN_CHARGES[reserve].items():
        assert randomized_charge(Fraction(epsilon), Fraction(reserve) / 50) * UNIT == units


def test_a_pure_release_alone_is_the_gaussian_of_equal_total_variation():
    assert float(randomized_charge(Fraction(1), Fraction(0))) == pytest.approx(1.23203538534**2, abs=1e-10)


def test_a_spend_on_a_grid_is_used_up_to_nine_digits():
    for epsilon, delta in product(("0", "0.01", "0.5", "2", "10"), ("1e-3", "1e-6", "1e-9", "0.4")):
        eps, chance = Fraction(epsilon), Fraction(delta)
        m = gaussian_m(eps, chance)
        assert keeps(m, eps, chance) and not keeps(m * (1 + Fraction(1, 10**8)), eps, chance)
        assert gaussian_epsilon(m, chance) <= eps
        assert gaussian_delta(m, eps) <= chance < gaussian_delta(m * (1 + Fraction(1, 10**7)), eps)


def test_a_delta_that_no_gaussian_keeps_says_what_to_use():
    with pytest.raises(CertificationError, match="use Laplace noise"):
        gaussian_m(Fraction(0), Fraction(1, 10**40))


def call(v, x):
    """Enclose V(v, x) = E (x exp(sqrt(v) Z - v/2) - 1)_+, with x given as an exact exponential of its logarithm."""
    import flint

    root, at = rational_ball(v).sqrt(), rational_ball(x)
    if v == 0:
        return (at.exp() - 1).max(flint.arb(0))
    two = flint.arb(2).sqrt()
    return (at.exp() * (-(at / root + root / 2) / two).erfc() - (-(at / root - root / 2) / two).erfc()) / 2


def worst_ratio(epsilon, reserve, charge, places):
    """Return the largest ratio of both sides of the definition of a charge, over logarithms of x."""
    with precision(256):
        eps = rational_ball(epsilon)
        truth, lie = 1 / (1 + (-eps).exp()), 1 / (1 + eps.exp())
        found = []
        for place in places:
            # Under the second law randomized response has ratio e^eps with the small probability.
            left = lie * call(reserve, place + epsilon) + truth * call(reserve, place - epsilon)
            found.append(left / call(reserve + charge, place))
        return max(found, key=lambda ball: float(ball))


@pytest.mark.parametrize("epsilon", ["1/100", "1/10", "1/2", "1", "2", "4"])
def test_lemma_2_holds_at_every_place_and_fails_a_thousandth_below(epsilon):
    eps = Fraction(epsilon)
    for part in ("1/100", "1/10", "1/4", "1", "3", "5", "10", "30", "1/50", "1/2"):
        reserve = Fraction(part) * eps**2
        charge = randomized_charge(eps, reserve)
        wide = 3 * math.sqrt(float(reserve + charge)) + float(eps)
        places = [Fraction(round(wide * step / 200 * 2**40), 2**40) for step in range(-200, 201)]
        assert float(worst_ratio(eps, reserve, charge, places)) <= 1 + 1e-15
        # A larger reserve keeps the inequality: what is left in a ledger is at least the reserve.
        assert float(worst_ratio(eps, 3 * reserve, charge, places[::20])) <= 1 + 1e-15
        assert worst_ratio(eps, reserve, charge * Fraction(999, 1000), [Fraction(0)]) > 1


def test_the_charge_falls_with_the_reserve():
    charges = [randomized_charge(Fraction(1, 10), Fraction(part, 1000)) for part in (0, 1, 2, 5, 10, 100)]
    assert charges == sorted(charges, reverse=True) and charges[-1] > Fraction(1, 100)


def test_sums_are_exact_and_do_not_depend_on_their_order():
    one, two = Cost.gaussian("1/100"), Cost.pure("1/10")
    assert (one + two + one).gauss == (two + 2 * one).gauss
    assert (10 * one).gauss == Exactly(Fraction(1, 10))
    reserve = Fraction(1, 1000)
    assert (one + 3 * two).gauss.at(reserve) == Fraction(1, 100) + 3 * randomized_charge(Fraction(1, 10), reserve)
    assert (one + Cost.concentrated("1/10")).gauss == UNKNOWN_GAUSS
    assert (one + Cost.zero()).gauss == one.gauss


def test_groups_and_unions():
    assert Cost.gaussian("1/100").for_group(3).gauss == Exactly(Fraction(9, 100))
    assert Cost.pure("1/10").for_group(3).gauss == Randomized(Fraction(3, 10))
    assert Cost.approximate("1/10", "1e-9").for_group(2).gauss == Randomized(Fraction(1, 5))
    assert (Cost.pure(1) + Cost.gaussian(1)).for_group(2).gauss == (Cost.pure(2) + Cost.gaussian(4)).gauss
    joined = union([Cost.gaussian("1/100"), Cost.gaussian("1/25")]).gauss.amount
    assert Fraction(9, 100) <= joined <= Fraction(9, 100) + Fraction(2, UNIT)
    assert union([Cost.pure("1/10"), Cost.pure("1/5")]).gauss == Randomized(Fraction(3, 10))
    assert union([Cost.pure("1/10"), Cost.gaussian("1/5")]).gauss == UNKNOWN_GAUSS


def test_one_of_several_is_covered_by_the_largest():
    assert worst_of([Cost.gaussian("1/2"), Cost.gaussian("1/3")]).gauss == Exactly(Fraction(1, 2))
    mixed = worst_of([Cost.gaussian("1/2"), Cost.pure(1)]).gauss
    assert mixed.at(Fraction(0)) == randomized_charge(Fraction(1), Fraction(0))
    assert mixed.group(2) == UNKNOWN_GAUSS
    assert worst_of([Cost.gaussian("1/2"), Cost.concentrated(1)]).gauss == UNKNOWN_GAUSS


def test_a_curve_with_a_leak_of_its_own_has_no_gaussian_charge():
    """Trap: one leak, one lost part. A good set's curve and randomized response's charge are two certificates."""
    certified = Cost(Fraction(1, 2), Cost.concentrated("1/100").curve, Fraction(1, 10**9))
    assert certified.gauss == UNKNOWN_GAUSS and certified.gauss.at(Fraction(1)) == INFINITY
    leaky = Cost.approximate("1/10", "1e-9").merge(Cost.gaussian("1/100"))
    assert leaky.leak == Fraction(1, 10**9)  # the leak is never lost with the smaller entry
    assert Cost.approximate("1/10", "1e-9").merge(Cost.approximate("1/5", "1e-9")).leak == Fraction(2, 10**9)


def test_discrete_gaussian_noise_has_no_gaussian_charge():
    assert Cost.concentrated("1/100").gauss == UNKNOWN_GAUSS
    assert Cost.truncated("1/100", 20).gauss == UNKNOWN_GAUSS


def test_a_gaussian_is_within_the_spend_that_it_was_made_for():
    spend = Approximate(1, "1e-6")
    m = gaussian_m(spend.epsilon, spend.delta)
    assert Cost.gaussian(m).within(spend)
    assert not Cost.gaussian(m * (1 + Fraction(1, 10**8))).within(spend)
    assert Cost.gaussian(m).epsilon_at(spend.delta) <= 1 < Cost.concentrated(m / 2).epsilon_at(spend.delta)
    assert Cost.gaussian(m).delta_at(1) <= spend.delta < Cost.concentrated(m / 2).delta_at(1)


@pytest.mark.parametrize(
    "gauss",
    [
        NONE,
        Exactly(Fraction(1, 3)),
        Randomized(Fraction(2, 7)),
        Exactly(Fraction(1)) + 4 * Randomized(Fraction(1)),
        smallest((Exactly(Fraction(1)), Randomized(Fraction(1, 2)))),
        largest((Exactly(Fraction(1)), Randomized(Fraction(1, 2)))),
    ],
)
def test_charges_are_read_back_as_they_were_written(gauss):
    assert gauss_from_json(gauss.to_json()) == gauss
    cost = Cost(INFINITY, Cost.concentrated(1).curve, gauss=gauss)
    assert Cost.from_json(cost.to_json()) == cost


def test_a_cost_stored_before_knows_no_gaussian_charge():
    record = Cost.pure(1).to_json()
    del record["gauss"]
    assert Cost.from_json(record).gauss == UNKNOWN_GAUSS
    with pytest.raises(ParameterError, match="newer version"):
        gauss_from_json({"form": "ranged"})


# The rounded law against its profile, enumerated.


def masses(law, shift=0):
    """Return the masses of a law moved by a whole number, on the places -60 to 60."""
    with precision(160):
        return np.array([float(law.mass(j - shift)) for j in range(-60, 61)])


def beyond(first, second, epsilon):
    """Return H_e = sum of (p - e^e q)_+."""
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum())


EPSILONS = [-4 + 0.2 * place for place in range(50)]


def profile_ratio(first, second, m):
    """Return the largest ratio of what two laws reach to a Gaussian's profile, in both orders, at 50 epsilons."""
    found = []
    for epsilon in EPSILONS:
        claimed = float(gaussian_delta(m, Fraction(epsilon)))
        reached = max(beyond(first, second, epsilon), beyond(second, first, epsilon))
        found.append(reached / claimed if claimed > 1e-12 else 0.0)
    return max(found)


@pytest.mark.parametrize("variance", ["1/20", "1/4", "1", "4", "25"])
@pytest.mark.parametrize("shift", [1, 2, 3])
def test_the_rounded_law_is_within_its_profile(variance, shift):
    law = RoundedNormal(Fraction(variance))
    m = Fraction(shift**2) / Fraction(variance)
    assert profile_ratio(masses(law), masses(law, shift), m) <= 1 + 1e-9
    if law.variance >= 1:  # narrower ones stay far below: a claim that is a tenth too small is seen
        assert profile_ratio(masses(law), masses(law, shift), m / Fraction(11, 10)) > 1


@pytest.mark.parametrize("variance", ["1/4", "1", "9"])
@pytest.mark.parametrize("shift", [(1, 1), (1, 2), (3, 0)])
def test_two_rounded_coordinates_are_within_their_profile(variance, shift):
    law = RoundedNormal(Fraction(variance))
    still = np.outer(masses(law), masses(law)).ravel()
    moved = np.outer(masses(law, shift[0]), masses(law, shift[1])).ravel()
    m = Fraction(sum(one**2 for one in shift)) / Fraction(variance)
    assert profile_ratio(still, moved, m) <= 1 + 1e-9


def test_discrete_noise_breaks_the_profile():
    """Mutant: a discrete Gaussian given a Gaussian charge; at deviation 1 its total variation is that of 1.0458²."""
    law = DiscreteGaussian(Fraction(1))
    weights = np.exp(-(np.arange(-60, 61) ** 2) / 2)
    still, moved = weights / weights.sum(), np.roll(weights, 1) / weights.sum()
    assert law.variance == 1 and profile_ratio(still, moved, Fraction(1)) > 1.01
    assert beyond(still, moved, 0) == pytest.approx(
        float(gaussian_delta(Fraction("1.0458") ** 2, Fraction(0))), abs=1e-4
    )


def test_a_private_width_breaks_the_profile():
    """Mutant: noise whose width moves with the data, given the charge of its shift alone."""
    narrow, wide = masses(RoundedNormal(Fraction(4))), masses(RoundedNormal(Fraction(5)), 1)
    assert profile_ratio(narrow, wide, Fraction(1, 4)) > 1.05
    assert not issubclass(PrivateNormal, Priced)  # it has no price of its own, so nobody can read a charge off it
