"""The Gaussian route against every adaptive analyst: printed values are reached, wrong rules exceed delta (AC-GDP)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from sfumato.audit import ReleaseKind, worst_adaptive
from sfumato.exact.enclosure import precision
from sfumato.noise import RoundedNormal
from sfumato.privacy import Approximate, Cost
from sfumato.privacy.filters import Filter, Meter
from sfumato.privacy.gaussian import gaussian_m
from sfumato.privacy.settlement import PRESETS, Shares, own_order, settled

NOTHING = Fraction(0)


@dataclass(frozen=True)
class Kind:
    """A release of the menu and its certificate."""

    release: ReleaseKind
    cost: Cost


def response(epsilon: str) -> Kind:
    return Kind(ReleaseKind.randomized_response(epsilon), Cost.pure(epsilon))


def lattice(variance: str, cut: str) -> Kind:
    return Kind(ReleaseKind.lattice_gaussian(variance, "0.05", cut), Cost.gaussian(variance))


def leaking(delta: Fraction) -> Kind:
    return Kind(ReleaseKind.leaking(delta), Cost.leaking(NOTHING, delta))


def accepted(gate: Filter, menu: Sequence[Kind]) -> Callable[[Sequence[int]], bool]:
    """Tell whether so many of each kind fit a filter, by the very sums that ledgers keep."""
    charges = [gate.charge(kind.cost) for kind in menu]

    def fits(counts: Sequence[int]) -> bool:
        sums = [NOTHING] * len(gate.meters)
        for count, charge in zip(counts, charges, strict=True):
            if count:
                sums = [used + part * count for used, part in zip(sums, charge, strict=True)]
        return gate.fits(tuple(sums))

    return fits


def value(limit: Approximate, fits: Callable[[Sequence[int]], bool], menu: Sequence[Kind]) -> float:
    return worst_adaptive(fits, [kind.release for kind in menu], limit.epsilon) / float(limit.delta)


def preset(limit: Approximate, name: str, cost: Cost | None = None) -> Filter:
    leaks, order, gauss, reserve = PRESETS[name]
    chosen = own_order(limit.epsilon, order * limit.delta, cost or Cost.gaussian("1/1000"))
    return Shares(name, leaks, order, gauss, reserve, chosen).gate(limit)


def whole(limit: Approximate, reserve: Fraction, total: Fraction | None = None) -> Filter:
    """All of delta for Gaussians, less a reserve; `total` replaces the ceiling that goes with it."""
    m = gaussian_m(limit.epsilon, limit.delta)
    ceiling = m * (1 - reserve) if total is None else total
    routes = (Meter("epsilon", limit.epsilon), Meter("gauss", ceiling, reserve=m * reserve))
    return Filter((Meter("leak", NOTHING),), routes)


E2, E4, E6 = "1/100", "1/10000", "1/1000000"
FIFTIETH = Fraction(1, 50)


def leaks_of(delta: str) -> Kind:
    """Return a leak of which two fill the share of the Gaussian preset."""
    return leaking(Fraction(delta) / 40)


SHIPPED = [
    (Approximate(1, E2), (response("0.05"), response("0.2")), 0.623),
    (Approximate(1, E2), (response("0.05"), response("0.2"), leaks_of(E2)), 0.673),
    (Approximate(1, E2), (response("0.2"), lattice("0.02", "0.6"), leaks_of(E2)), 0.819),
    (Approximate(3, E4), (response("0.1"), response("1"), leaks_of(E4)), 0.222),
]


@pytest.mark.parametrize(("limit", "menu", "printed"), SHIPPED)
def test_the_shipped_preset_reaches_the_printed_value_and_stays_below_delta(limit, menu, printed):
    assert value(limit, accepted(preset(limit, "G"), menu), menu) == pytest.approx(printed, abs=1e-3)


@pytest.mark.audit
@pytest.mark.parametrize(
    ("menu", "printed"),
    [
        ((response("0.02"), response("0.1"), leaks_of(E6)), 0.322),
        ((response("0.02"), response("0.06"), response("0.2")), 0.281),
    ],
)
def test_many_small_responses_stay_below_delta(menu, printed):
    limit = Approximate(1, E6)
    assert value(limit, accepted(preset(limit, "G"), menu), menu) == pytest.approx(printed, abs=1e-3)


LARGE = [
    (Approximate(1, "1/20"), (response("0.6"), lattice("0.02", "0.8")), 0.989),
    (Approximate("1/2", "1/10"), (response("0.6"), response("0.25"), lattice("0.02", "0.8")), 0.963),
    (Approximate(0, "1/5"), (response("0.5"), response("0.25"), lattice("0.02", "0.8")), 0.967),
    (Approximate("1/5", "1/5"), (response("0.7"), response("0.2"), lattice("0.02", "0.8")), 0.982),
]


@pytest.mark.parametrize(("limit", "menu", "printed"), LARGE)
def test_large_deltas_are_nearly_used_up_and_a_charge_of_epsilon_squared_passes_them(limit, menu, printed):
    gate = whole(limit, NOTHING)
    assert value(limit, accepted(gate, menu), menu) == pytest.approx(printed, abs=2e-3)
    cheap = [Kind(kind.release, squared(kind.cost)) for kind in menu]
    assert value(limit, accepted(gate, cheap), menu) > 1


def squared(cost: Cost) -> Cost:
    """The mutant that charges a pure release by epsilon²."""
    return cost if cost.epsilon > 99 else Cost(cost.epsilon, cost.curve, gauss=Cost.gaussian(cost.epsilon**2).gauss)


@pytest.mark.parametrize(("limit", "menu", "_"), LARGE)
def test_a_ceiling_that_is_not_reduced_by_the_reserve_is_refuted(limit, menu, _):
    reserve = Fraction(3, 10)
    right = value(limit, accepted(whole(limit, reserve), menu), menu)
    wrong = value(limit, accepted(whole(limit, reserve, gaussian_m(limit.epsilon, limit.delta)), menu), menu)
    assert right <= 0.9 and wrong > 1


@pytest.mark.parametrize("menu", [(response("0.05"), response("0.2")), (response("0.2"), lattice("0.02", "0.8"))])
def test_all_of_delta_for_leaks_beside_all_of_it_for_gaussians_is_refuted(menu):
    limit = Approximate(1, E2)
    gate = whole(limit, FIFTIETH)
    doubled = Filter((Meter("leak", limit.delta),), gate.routes)
    with_leaks = (*menu, leaking(limit.delta / 2))
    assert value(limit, accepted(doubled, with_leaks), with_leaks) > 1
    assert value(limit, accepted(preset(limit, "G"), with_leaks), with_leaks) < 1


@pytest.mark.parametrize(
    ("limit", "menu", "printed"),
    [
        (Approximate(1, E2), (response("0.05"), response("0.2")), 1.069),
        (Approximate(1, E4), (response("0.05"), response("0.25")), 1.009),
    ],
)
def test_dividing_delta_after_a_look_is_refuted(limit, menu, printed):
    """No leak yet: all of delta for Gaussians. Or leaks of all of delta beside the way of epsilons."""
    with_leaks = (*menu, leaking(limit.delta))
    gauss = accepted(whole(limit, FIFTIETH), menu)

    def late(counts):
        if counts[-1] == 0 and gauss(counts[:-1]):
            return True
        spent = sum(count * kind.cost.epsilon for count, kind in zip(counts, menu, strict=False))
        return counts[-1] <= 1 and spent <= limit.epsilon

    assert value(limit, late, with_leaks) > 1
    for first in with_leaks:
        gate = settled(limit, (first.cost,)).gate
        assert value(limit, accepted(gate, with_leaks), with_leaks) <= 1 + 1e-9


def test_an_exact_accountant_used_as_a_filter_is_caught():
    """What was answered composes to (1, 0.01) exactly, and yet analysts who choose as they go pass it."""
    limit, steps = Approximate(1, E2), (1, 4)  # randomized responses of 0.05 and 0.2, in units of 0.05
    menu = (response("0.05"), response("0.2"))
    known: dict[tuple[int, ...], bool] = {}

    def laws(counts):
        law = np.ones(1)
        for count, step in zip(counts, steps, strict=True):
            truth = 1 / (1 + math.exp(-0.05 * step))
            one = np.zeros(2 * step + 1)
            one[0], one[-1] = 1 - truth, truth
            for _ in range(count):
                law = np.convolve(law, one)
        return law

    def exact(counts):
        counts = tuple(counts)
        if counts not in known:
            law = laws(counts)
            half = len(law) // 2
            losses = 0.05 * np.arange(-half, half + 1)
            known[counts] = float(np.sum(law * np.maximum(0, -np.expm1(1 - losses)))) <= float(limit.delta) * (1 + 1e-9)
        return known[counts]

    assert value(limit, exact, menu) == pytest.approx(1.211, abs=2e-3)


# End to end: the law of rounded noise itself, a coin and a leak, each chosen after what was seen.


@dataclass(frozen=True)
class Drawn:
    """A release by its two exact laws: what it shows has these probabilities in the two worlds."""

    cost: Cost
    first: tuple[float, ...]
    second: tuple[float, ...]


def rounded(variance: str) -> Drawn:
    law = RoundedNormal(Fraction(variance))
    window = law.window(Fraction(1, 1 << 60))
    with precision(128):
        masses = {j: float(law.mass(j)) for j in range(window.start - 1, window.stop + 1)}
    places = range(window.start, window.stop + 1)
    one = tuple(masses.get(j, 0.0) for j in places)
    return Drawn(Cost.gaussian(1 / Fraction(variance)), one, tuple(masses.get(j - 1, 0.0) for j in places))


def coin(epsilon: str) -> Drawn:
    truth = 1 / (1 + math.exp(-float(Fraction(epsilon))))
    return Drawn(Cost.pure(epsilon), (truth, 1 - truth), (1 - truth, truth))


def leak(delta: str) -> Drawn:
    chance = float(Fraction(delta))
    return Drawn(Cost.leaking(NOTHING, Fraction(delta)), (chance, 1 - chance, 0.0), (0.0, 1 - chance, chance))


def best(gate: Filter, menu: Sequence[Drawn], level: float, depth: int) -> Callable[..., float]:
    """Return the most that analysts can still gain, from the sums and the probabilities of what was seen."""

    def gain(sums, p: float, q: float, left: int) -> float:
        found = max(0.0, p - level * q)
        if left and p > 0:
            for release in menu:
                after = gate.add(sums, gate.charge(release.cost))
                if gate.fits(after):
                    pairs = zip(release.first, release.second, strict=True)
                    found = max(found, math.fsum(gain(after, p * a, q * b, left - 1) for a, b in pairs))
        return found

    return lambda first: math.fsum(
        gain(gate.add(gate.zero(), gate.charge(first.cost)), a, b, depth - 1)
        for a, b in zip(first.first, first.second, strict=True)
    )


@pytest.mark.parametrize(
    ("limit", "menu"),
    [
        (Approximate(1, "1/20"), (rounded("4"), coin("1/2"), leak("1/100"))),
        (Approximate("1/2", "1/10"), (rounded("5"), coin("3/5"), leak("1/20"))),
    ],
)
def test_whichever_request_comes_first_the_limit_is_met_by_the_laws_that_are_drawn(limit, menu):
    level = math.exp(float(limit.epsilon))
    reached = []
    for first in menu:
        found = settled(limit, (first.cost,))
        if found is not None:
            reached.append(best(found.gate, menu, level, 3)(first) / float(limit.delta))
    assert reached and max(reached) <= 1
    assert max(reached) > 0.2  # the limit is used, not only kept


@pytest.mark.audit
@pytest.mark.parametrize(
    ("limit", "menu"),
    [
        (Approximate(2, "1/50"), (rounded("2"), rounded("9"), coin("4/5"), leak("1/200"))),
        (Approximate("1/5", "1/5"), (rounded("4"), coin("7/10"), coin("1/5"), leak("1/10"))),
        (Approximate(0, "1/5"), (rounded("9"), coin("1/4"), leak("1/20"))),
        (Approximate(1, "1/100"), (rounded("6"), coin("1/5"), leak("1/2000"))),
    ],
)
def test_more_limits_are_met_whichever_request_comes_first(limit, menu):
    """Bits of two people: Gaussian counts, randomized response and leaks, each chosen after all answers so far."""
    test_whichever_request_comes_first_the_limit_is_met_by_the_laws_that_are_drawn(limit, menu)
