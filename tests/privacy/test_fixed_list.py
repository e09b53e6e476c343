"""Certified loss distributions (AC-PLAN): goldens, exact composition where it is known, and the mutants."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pytest

from sfumato import Approximate, Event
from sfumato.errors import BudgetExceeded, CertificationError
from sfumato.exact import INFINITY
from sfumato.ledger import Budget, Ledger
from sfumato.perturb import calibrate
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE, Cost, Loss, subsample
from sfumato.privacy import fixed_list as lists
from sfumato.privacy import loss_distribution as distributions
from sfumato.privacy.fixed_list import FixedList, chosen_step, lists_of
from sfumato.privacy.gauss import Smallest
from sfumato.privacy.loss_distribution import ONE, LossDistribution, TooWide, spread
from sfumato.privacy.pairs import GaussPair, Leak, Pair, Revealed, SampledGauss, TwoPoint

MILLIONTH = Fraction(1, 10**6)
TENTH = TwoPoint(Fraction(1, 10))


def composed(pair: Pair, count: int, step: Fraction, cut: int, reverse: bool = False) -> LossDistribution:
    return spread(pair, step, cut, reverse=reverse).power(count, cut)


def sampled(sigma_squared: Fraction | int, rate: str, relation=ADD_REMOVE) -> SampledGauss:
    return SampledGauss(1 / Fraction(sigma_squared), Fraction(rate), relation)


SMALL = sampled(16, "1/10")
SMALL_FIXED = sampled(16, "1/10", REPLACE_ONE)
LARGE = sampled(1, "1/100")
LARGE_FIXED = sampled(1, "1/100", REPLACE_ONE)
ROWS = [
    (TENTH, 100, "1/10", False, 4.774568),
    (GaussPair(Fraction(1, 100)), 100, "1/100", False, 4.891169),
    (GaussPair(Fraction(1, 100)), 100, "1/400", False, 4.886844),
    (SMALL, 100, "1/512", False, 1.132446),
    (SMALL, 100, "1/512", True, 1.019522),
    (SMALL_FIXED, 100, "1/512", False, 1.186108),
]
LONG_ROWS = [
    (SMALL, 100, "1/1000", False, 1.132056, "1e-6"),
    (LARGE, 1000, "1/512", False, 2.127339, "1e-6"),
    (LARGE, 1000, "1/1024", False, 2.125217, "1e-6"),
    (LARGE, 1000, "1/2000", False, 2.124699, "1e-6"),
    (LARGE, 1000, "1/1024", True, 1.590243, "1e-6"),
    (LARGE_FIXED, 1000, "1/1024", False, 2.513261, "1e-6"),
    (sampled(Fraction(64, 100), "4/1000"), 1000, "1/2000", False, 2.969001, "1e-9"),
]


@pytest.mark.parametrize(("pair", "count", "step", "reverse", "epsilon"), ROWS)
def test_golden_lists(pair: Pair, count: int, step: str, reverse: bool, epsilon: float) -> None:
    found = composed(pair, count, Fraction(step), math.floor(MILLIONTH * ONE / count) >> 60, reverse)
    assert float(found.epsilon(MILLIONTH)) == pytest.approx(epsilon, abs=6e-7)


@pytest.mark.audit
@pytest.mark.parametrize(("pair", "count", "step", "reverse", "epsilon", "delta"), LONG_ROWS)
def test_golden_long_lists(pair: Pair, count: int, step: str, reverse: bool, epsilon: float, delta: str) -> None:
    level = Fraction(delta)
    found = composed(pair, count, Fraction(step), math.floor(level * ONE / count) >> 60, reverse)
    assert float(found.epsilon(level)) == pytest.approx(epsilon, abs=6e-7)


def test_a_mixed_list_on_two_grids() -> None:
    def total(step: str) -> float:
        cut = math.floor(MILLIONTH * ONE / 21) >> 60
        answers = composed(TENTH, 20, Fraction(step), cut)
        return float(answers.compose(spread(GaussPair(Fraction(1, 4)), Fraction(step), cut), cut).epsilon(MILLIONTH))

    assert (total("1/50"), total("1/100")) == pytest.approx((3.062376, 3.062284), abs=6e-7)


def responses(epsilon: float, count: int) -> list[tuple[float, float]]:
    """Return (loss, mass under the first law) of randomized responses, as a binomial law."""
    p = 1 / (1 + math.exp(-epsilon))
    return [
        (epsilon * (2 * yes - count), math.comb(count, yes) * p**yes * (1 - p) ** (count - yes))
        for yes in range(count + 1)
    ]


def gaussian_profile(m: float, epsilon: float) -> float:
    mu = math.sqrt(m)
    return (
        math.erfc((epsilon / mu - mu / 2) / math.sqrt(2)) / 2
        - math.exp(epsilon) * math.erfc((epsilon / mu + mu / 2) / math.sqrt(2)) / 2
    )


def exact_delta(epsilon: float, m: float, count: int, loss: float) -> float:
    """Return delta of randomized responses and one Gaussian: the Gaussian's profile averaged over the binomial."""
    if not m:
        return sum(mass * -math.expm1(epsilon - at) for at, mass in responses(loss, count) if at > epsilon)
    return sum(mass * gaussian_profile(m, epsilon - at) for at, mass in responses(loss, count))


@pytest.mark.parametrize(
    ("count", "loss", "m"),
    [(1, "1/10", 0), (7, "1/3", 0), (100, "1/10", 0), (20, "1/10", "1/4"), (20, "1/10", "1/400"), (3, "0.7", "4")],
)
@pytest.mark.parametrize("delta", ["1e-2", "1e-6", "1e-9"])
def test_never_below_exact_and_within_a_thousandth(count: int, loss: str, m: str | int, delta: str) -> None:
    parts: list[tuple[int, Pair]] = [(count, TwoPoint(Fraction(loss)))]
    if m:
        parts.append((1, GaussPair(Fraction(m))))
    found = FixedList.of(parts)
    epsilon = float(found.epsilon(Fraction(delta)))
    if epsilon:
        below = exact_delta(epsilon * (1 - 1e-3), float(Fraction(m)), count, float(Fraction(loss)))
        assert exact_delta(epsilon, float(Fraction(m)), count, float(Fraction(loss))) <= float(Fraction(delta)) * (
            1 + 1e-7
        )
        assert below > float(Fraction(delta)) * (1 - 1e-7)
    at = Fraction(round(epsilon / 2 * 1000), 1000)
    truth = exact_delta(float(at), float(Fraction(m)), count, float(Fraction(loss)))
    assert truth * (1 - 1e-9) <= float(found.delta(at)) <= truth * 1.005 + 1e-15


@pytest.mark.parametrize(("m", "rate"), [("1/16", "1/10"), ("1", "1/100"), ("4", "1/2"), ("1", "9/10")])
@pytest.mark.parametrize("delta", ["1e-3", "1e-7"])
def test_one_sampled_step_against_its_closed_form(m: str, rate: str, delta: str) -> None:
    """One step: H*(e) = q delta_mu(log(1 + (e^e - 1)/q)); both directions of a Poisson sample are within it."""
    both = FixedList.of([(1, SampledGauss(Fraction(m), Fraction(rate)))])
    epsilon = float(both.epsilon(Fraction(delta)))

    def truth(at: float) -> float:
        return float(Fraction(rate)) * gaussian_profile(
            float(Fraction(m)), math.log1p(math.expm1(at) / float(Fraction(rate)))
        )

    assert truth(epsilon) <= float(Fraction(delta)) * (1 + 1e-9) and truth(epsilon * (1 - 2e-3)) > float(
        Fraction(delta)
    )
    one = FixedList.of([(1, SampledGauss(Fraction(m), Fraction(rate), ADD_REMOVE))])
    assert float(one.epsilon(Fraction(delta))) == pytest.approx(epsilon, rel=2e-3)


def test_gaussians_are_one_and_need_no_grid() -> None:
    found = FixedList.of([(100, GaussPair(Fraction(1, 100))), (4, SampledGauss(Fraction(1, 4), Fraction(1)))])
    assert found == FixedList.of([(1, GaussPair(Fraction(2)))])
    hundred = FixedList.of([(100, GaussPair(Fraction(1, 100)))])
    assert float(hundred.epsilon(MILLIONTH)) == pytest.approx(4.886554, abs=6e-7)
    assert (100 * Cost.gaussian("1/100")).epsilon_at("1e-6") == hundred.epsilon(MILLIONTH)


def test_leaks_are_lost_once() -> None:
    """Optimal composition of (e, d) releases: 1 - (1 - d)^n (1 - delta of the responses)."""
    found = FixedList.of([(10, TENTH), (10, Leak(Fraction(1, 10**7)))])
    lost = 1 - (1 - 1e-7) ** 10
    for epsilon in (Fraction(1, 4), Fraction(3, 4), Fraction(2)):
        truth = lost + (1 - lost) * exact_delta(float(epsilon), 0, 10, 0.1)
        assert float(found.delta(epsilon)) == pytest.approx(truth, rel=1e-6) and found.delta(epsilon) >= lost
    assert found.epsilon(Fraction(9, 10**7)) == INFINITY
    assert found.epsilon(Fraction(2, 10**6)) < 1
    assert lists_of(10 * Cost.approximate("1/10", "1e-7")) == (FixedList.of([(10, TENTH), (1, Leak(MILLIONTH))]),)


def test_the_grid_follows_the_losses() -> None:
    assert chosen_step([(TENTH, 100), (TwoPoint(Fraction(1, 4)), 3)]) == Fraction(1, 20)
    mixed = chosen_step([(TENTH, 20), (GaussPair(Fraction(1, 4)), 1)])
    assert (Fraction(1, 10) / mixed).denominator == 1
    odd = [(TENTH, 50), (TwoPoint(Fraction("0.031415926")), 50)]
    assert chosen_step(odd) == Fraction(1, 5 * 10**8)  # too fine: the list falls back to a grid that fits
    found = FixedList.of([(50, TENTH), (50, TwoPoint(Fraction("0.031415926")))])
    near = FixedList.of([(50, TENTH), (50, TwoPoint(Fraction("0.0315")))])
    below = FixedList.of([(50, TENTH), (50, TwoPoint(Fraction("0.0310")))])
    assert below.epsilon(MILLIONTH) < found.epsilon(MILLIONTH) < near.epsilon(MILLIONTH) * Fraction(1001, 1000)
    assert lists.coarse(found, MILLIONTH) and not lists.coarse(near, MILLIONTH)


def test_a_grid_too_fine_for_memory_is_made_coarser() -> None:
    with pytest.raises(TooWide):
        spread(GaussPair(Fraction(10**6)), Fraction(1, 100))
    with pytest.raises(TooWide):
        spread(TwoPoint(Fraction(10**6)), Fraction(1, 100))


def test_a_list_is_priced_by_its_cost() -> None:
    """Costs know their parts, so totals of any loss are exact: per person and per attribute."""
    noisy = Loss.stated(Cost.gaussian("1/4"), {"age": Cost.gaussian("1/16")}, REPLACE_ONE)
    pure = Loss.flat(Cost.pure("1/10"), reads={"age", "sex"})
    total = noisy + 20 * pure
    person = FixedList.of([(1, GaussPair(Fraction(1, 4))), (20, TENTH)])
    assert total.person.epsilon_at("1e-6") == person.epsilon(MILLIONTH)
    assert 3.062213 < float(person.epsilon(MILLIONTH)) < 3.062214 * 1.001
    assert lists_of(total.at("age")) == (FixedList.of([(1, GaussPair(Fraction(1, 16))), (20, TENTH)]),)
    assert total.at("sex").epsilon_at("1e-6") < 2  # the noisy part does not read it
    assert lists_of(2 * Cost.concentrated("1/10")) == ()


def test_a_part_without_pair_leaves_the_curve() -> None:
    mixed = Cost.concentrated("1/8") + 3 * Cost.pure("1/10")
    assert lists_of(mixed) == ()
    assert mixed.epsilon_at("1e-6") < INFINITY


def test_several_bounds_of_one_release_are_taken_in_step() -> None:
    told = subsample(Cost.gaussian(25), 3, 1, "without_replacement").cost.merge(Cost.gaussian(1))
    assert isinstance(told.gauss, Smallest)
    assert len(lists_of(3 * told + Cost.pure(1))) == 2
    assert (100 * told).epsilon_at("1e-6") <= (100 * Cost.gaussian(1)).epsilon_at("1e-6")


@pytest.mark.parametrize("name", ["nearest", "thrown away", "nothing raised"])
def test_mutants_of_the_rounding_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With masses of 20 bits rounding is seen: rounded up, delta stays above the truth, and every mutant falls below."""
    monkeypatch.setattr(distributions, "MASS_BITS", 20)
    monkeypatch.setattr(distributions, "ONE", 1 << 20)
    truth = exact_delta(1.0, 0, 60, 0.1)

    def found() -> float:
        distributions._halves.cache_clear()
        return float(composed(TENTH, 60, Fraction(1, 10), 1 << 12).delta(Fraction(1)))

    shipped = found()
    assert shipped >= truth
    if name == "nearest":
        monkeypatch.setattr(distributions, "_up", lambda number: (number + (1 << 19)) >> 20)
        monkeypatch.setattr(distributions, "_ceiling", lambda mass: round(float(mass) * (1 << 20)))
        monkeypatch.setattr(distributions, "trimmed", _kept(distributions.trimmed, 0))
    else:
        keep = _thrown_away if name == "thrown away" else _unraised
        monkeypatch.setattr(distributions, "trimmed", keep(distributions.trimmed))
    mutant = found()
    distributions._halves.cache_clear()
    assert mutant < (truth if name != "nothing raised" else shipped)


def _kept(trim, cut: int):
    return lambda step, low, masses, infinite, _: trim(step, low, masses, infinite, cut)


def _thrown_away(trim):
    def cut_off(step, low, masses, infinite, cut):
        found = trim(step, low, masses, infinite, cut)
        return LossDistribution(found.step, found.low, found.masses, infinite)

    return cut_off


def _unraised(trim):
    def forgotten(step, low, masses, infinite, cut):
        lost, kept = 0, list(masses)
        while len(kept) > 1 and lost + kept[0] <= cut:
            lost += kept.pop(0)
            low += 1
        return trim(step, low, kept, infinite, cut)

    return forgotten


def test_a_float_fourier_transform_would_be_below_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = exact_delta(9.5, 0, 100, 0.1)

    def by_fourier() -> float:
        law = np.zeros(256)
        for loss, mass in responses(0.1, 1):
            law[round(loss / 0.1) % 256] = mass
        powered = np.fft.ifft(np.fft.fft(law) ** 100).real
        return sum(mass * -math.expm1(9.5 - 0.1 * place) for place, mass in enumerate(powered) if 95 < place <= 100)

    assert truth < 1e-20
    assert float(composed(TENTH, 100, Fraction(1, 10), 0).delta(Fraction("9.5"))) == pytest.approx(truth, rel=1e-6)
    assert abs(by_fourier() - truth) > 100 * truth


def test_one_direction_of_a_list_is_below_the_other() -> None:
    found = FixedList.of([(100, SMALL)])
    forward, reverse = found._distributions(MILLIONTH)
    assert found.epsilon(MILLIONTH) == forward.epsilon(MILLIONTH) > reverse.epsilon(MILLIONTH)


def test_a_revealed_list() -> None:
    """Loss 0 with probability 1 - q, else Gaussian: the profile of one step is q times the Gaussian's."""
    one = FixedList.of([(1, Revealed(Fraction(1, 4), Fraction(1, 10)))])
    for epsilon in (Fraction(1, 10), Fraction(1, 2), Fraction(3, 2)):
        truth = gaussian_profile(0.25, float(epsilon)) / 10
        assert truth * (1 - 1e-9) <= float(one.delta(epsilon)) <= truth * 1.01
    told, person = (FixedList.of([(100, pair)]) for pair in (Revealed(Fraction(1, 16), Fraction(1, 10)), SMALL_FIXED))
    # The claim that the attribute's own distance with the rate would make is far below what is proved.
    assert told.epsilon(MILLIONTH) > 2 * person.epsilon(MILLIONTH)


BARS = [
    (SMALL_FIXED, 100, 1.188),
    (SMALL, 100, 1.131920 * 1.002),
]
LONG_BARS = [
    (LARGE_FIXED, 1000, 2.518),
    (LARGE, 1000, 2.124512 * 1.002),
]


@pytest.mark.parametrize(("pair", "count", "bar"), BARS)
def test_bars_of_sampled_lists(pair: Pair, count: int, bar: float) -> None:
    assert float(FixedList.of([(count, pair)]).epsilon(MILLIONTH)) <= bar


@pytest.mark.audit
@pytest.mark.parametrize(("pair", "count", "bar"), LONG_BARS)
def test_bars_of_long_sampled_lists(pair: Pair, count: int, bar: float) -> None:
    lists._composed.cache_clear()
    distributions._halves.cache_clear()
    began = time.process_time()
    assert float(FixedList.of([(count, pair)]).epsilon(MILLIONTH)) <= bar
    assert time.process_time() - began <= 6


def epsilons(parts: Iterable[tuple[int, Pair]]) -> float:
    return float(FixedList.of(parts).epsilon(MILLIONTH))


def test_order_and_grouping_do_not_matter() -> None:
    assert epsilons([(2, TENTH), (1, SMALL), (3, TENTH)]) == epsilons([(1, SMALL), (5, TENTH)])
    assert epsilons([]) == 0


# Numbers at the ends of what can be written.


def test_deltas_far_below_the_smallest_float_are_safe_and_quick() -> None:
    mixed = Cost.gaussian("1/10") + 3 * Cost.pure("1/10")
    began = time.process_time()
    found = [float(mixed.epsilon_at(delta)) for delta in ("1e-6", "1e-300", "1e-1000", "1e-3000")]
    assert found == sorted(found) and math.isfinite(found[-1])
    assert FixedList.of([(1, GaussPair(Fraction(1, 10)))]).epsilon(Fraction(1, 10**3000)) == INFINITY
    assert (3 * Cost.pure("1/10")).epsilon_at("1e-300") <= Fraction(3, 10)
    assert time.process_time() - began < 10


def test_a_limit_with_such_a_delta_takes_what_is_pure() -> None:
    for delta in ("1e-300", "1e-3000"):
        with Ledger(None, Budget(Approximate(1, delta))) as ledger:
            ledger.reserve("pure", Event("Laplace", "QR-LAP"), Loss.flat(Cost.pure("9/10")))
            with pytest.raises(BudgetExceeded):
                ledger.reserve("list", Event("Laplace", "QR-LAP"), (10 * Loss.flat(Cost.pure("1/10"))).together())
            assert ledger.verify()
    with pytest.raises(CertificationError, match=r"delta 1e-3000; use Laplace noise"):
        calibrate(Approximate(1, "1e-3000"), sensitivity=1)
    with Ledger(None, Budget(Approximate(10**400, "1e-6"))) as wide:
        wide.reserve("noisy", Event("Gaussian", "AC-GAUSS"), Loss.flat(Cost.gaussian(3)))
        assert wide.verify()


def test_a_million_releases() -> None:
    many = 10**6 * Cost.pure("1/1000")
    assert float(many.epsilon_at("1e-6")) == pytest.approx(4.886554, rel=1e-3)  # a Gaussian of mu² = 1, in the limit
    assert float((10**6 * Cost.gaussian("1e-6")).epsilon_at("1e-6")) == pytest.approx(4.886554, abs=1e-6)
    assert float((Cost.gaussian(Fraction(1, 10**400)) + Cost.pure(1)).epsilon_at("1e-6")) <= 1


@pytest.mark.audit
def test_a_billion_sampled_releases() -> None:
    step = subsample(Cost.gaussian("1/16"), 10**4, 1, "without_replacement").cost
    found = [float((count * step).epsilon_at("1e-6")) for count in (10**3, 10**6, 10**9)]
    assert found == sorted(found) and found[-1] == pytest.approx(4.5283, rel=2e-2)
