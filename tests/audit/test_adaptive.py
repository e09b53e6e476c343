"""The rows of ledger-filters section 9: the shipped rule reaches the printed values, refuted rules exceed delta."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

from sfumato.audit import ReleaseKind, worst_adaptive
from sfumato.errors import ParameterError
from sfumato.exact import INFINITY, rational_ball
from sfumato.privacy import Approximate, Cost, Curve
from sfumato.privacy.filters import filter_of

HAIR = 1e-12


def price(order: float, delta: float) -> float:
    """The constant c(a, d) of LF:L3."""
    return (math.log(1 / delta) + order * math.log(1 - 1 / order) - math.log(order - 1)) / (order - 1)


def best_order(epsilon: float, delta: float) -> float:
    low, high, golden = 1.001, 4000.0, (math.sqrt(5) - 1) / 2
    for _ in range(200):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if (epsilon - price(left, delta)) / left < (epsilon - price(right, delta)) / right:
            low = left
        else:
            high = right
    return (low + high) / 2


@dataclass(frozen=True, eq=False)
class Kind:
    """A release of the menu with what it costs: epsilon, curve, leak."""

    release: ReleaseKind
    epsilon: float = 0.0
    leak: float = 0.0

    def tau(self, order: float) -> float:
        power = math.fsum(mass * math.exp((order - 1) * float(loss)) for loss, mass in self.release.losses.items())
        return math.log(power) / (order - 1)


def response(epsilon: str) -> Kind:
    return Kind(ReleaseKind.randomized_response(epsilon), float(epsilon))


def lattice(variance: str, cut: str) -> Kind:
    return Kind(ReleaseKind.lattice_gaussian(variance, "0.05", cut), float(cut))


def leaking(delta: float) -> Kind:
    return Kind(ReleaseKind.leaking(delta), leak=delta)


@dataclass(frozen=True)
class Row:
    epsilon: float
    delta: float
    menu: tuple[Kind, ...]
    full: float
    halves: float

    @property
    def name(self) -> str:
        return f"{self.epsilon}, {self.delta}, {len(self.menu)} kinds, {self.full}"

    def total(self, counts, cost: Callable[[Kind], float]) -> float:
        return sum(count * cost(kind) for count, kind in zip(counts, self.menu, strict=True))

    def worst(self, fits) -> float:
        return worst_adaptive(fits, [kind.release for kind in self.menu], str(self.epsilon)) / self.delta


E2, E4, E6, E8 = 1e-2, 1e-4, 1e-6, 1e-8
ROWS = [
    Row(1, E2, (response("0.05"), response("0.2")), 0.580, 0.301),
    Row(1, E2, (response("0.05"), response("0.2"), leaking(E2 / 8)), 0.580, 0.798),
    Row(1, E4, (response("0.05"), response("0.25"), leaking(E4 / 8)), 0.335, 0.671),
    Row(1, E4, (response("0.05"), leaking(E4 / 16)), 0.197, 0.610),
    Row(1, E2, (lattice("0.05", "0.6"), leaking(E2 / 16)), 0.243, 0.560),
    Row(1, E2, (lattice("0.02", "0.3"), response("0.2")), 0.567, 0.240),
    Row(1, E6, (response("0.02"), response("0.1")), 0.440, 0.201),
    Row(1, E6, (response("0.02"), response("0.06"), response("0.2")), 0.497, 0.236),
    Row(1, E8, (response("0.02"), response("0.1")), 0.336, 0.161),
    Row(3, E4, (response("0.1"), response("1")), 0.288, 0.122),
]
NAMES = [row.name for row in ROWS]


@dataclass(frozen=True)
class MenuCurve(Curve):
    """The Rényi curve of a release of the menu, as its losses give it."""

    form: ClassVar[str] = "menu"
    kind: Kind

    def ball(self, order: Fraction):
        return rational_ball(Fraction(self.kind.tau(float(order))))

    def supremum(self, omega):
        return INFINITY

    @property
    def end(self):
        return INFINITY

    def parameters(self):
        return {}

    def __hash__(self) -> int:
        return id(self.kind)


def cost(kind: Kind) -> Cost:
    return Cost(Fraction(str(kind.epsilon)), MenuCurve(kind), Fraction(str(kind.leak)))


def shipped(row: Row, leaks: str):
    """The filter of `Approximate(E, D, leaks)`, the very object that ledgers use."""
    delta = Fraction(str(row.delta))
    gate = filter_of(Approximate(str(row.epsilon), delta, leaks=Fraction(leaks) * delta))
    charges = [gate.charge(cost(kind)) for kind in row.menu]

    def fits(counts) -> bool:
        sums = zip(
            *([part * count for part in charge] for charge, count in zip(charges, counts, strict=True)), strict=True
        )
        return gate.fits(tuple(sum(column, Fraction(0)) for column in sums))

    return fits


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_the_shipped_rule_reaches_the_printed_value_and_stays_below_delta(row: Row) -> None:
    full, halves = row.worst(shipped(row, "0")), row.worst(shipped(row, "1/2"))
    assert full == pytest.approx(row.full, abs=1e-3)
    assert halves == pytest.approx(row.halves, abs=1e-3)


def test_the_pure_route_alone_loses_nothing_beyond_epsilon() -> None:
    row = ROWS[0]
    assert row.worst(lambda counts: row.total(counts, lambda kind: kind.epsilon) <= row.epsilon + HAIR) < 1e-10


def best_order_at_the_end(row: Row):
    """Accept while some order fits: false, because the order may follow the answers."""
    orders = [order for order in 1 + np.geomspace(0.5, 600, 1200) if row.epsilon > price(order, row.delta)]
    taus = np.array([[kind.tau(order) for kind in row.menu] for order in orders])
    ceilings = np.array([row.epsilon - price(order, row.delta) for order in orders])
    return lambda counts: bool(np.any(taus @ np.array(counts) <= ceilings + HAIR))


@pytest.mark.parametrize(
    ("row", "printed"),
    [(ROWS[0], 0.605), (ROWS[6], 1.018), (ROWS[7], 1.563), (ROWS[8], 1.157), (ROWS[9], 0.838)],
    ids=[NAMES[place] for place in (0, 6, 7, 8, 9)],
)
def test_the_best_order_without_a_price_is_refuted(row: Row, printed: float) -> None:
    found = row.worst(best_order_at_the_end(row))
    assert found == pytest.approx(printed, abs=1e-2)
    assert (found > 1) == (printed > 1)


LEAKY = [ROWS[1], ROWS[2], ROWS[3]]


@pytest.mark.parametrize("row", LEAKY, ids=[row.name for row in LEAKY])
def test_leaks_beside_the_full_delta_are_refuted(row: Row) -> None:
    within = shipped(row, 0.0)

    def fits(counts) -> bool:
        silent = [count if kind.leak == 0 else 0 for count, kind in zip(counts, row.menu, strict=True)]
        return row.total(counts, lambda kind: kind.leak) <= row.delta * (1 + HAIR) and within(silent)

    assert row.worst(fits) > 1


@pytest.mark.parametrize("row", LEAKY, ids=[row.name for row in LEAKY])
def test_a_joint_split_is_refuted(row: Row) -> None:
    order = best_order(row.epsilon, row.delta)
    factor = (1 - 1 / order) ** order / (order - 1)

    def fits(counts) -> bool:
        spent = row.total(counts, lambda kind: kind.tau(order))
        missed = factor * math.exp((order - 1) * (spent - row.epsilon)) if any(counts) else 0.0
        return row.total(counts, lambda kind: kind.leak) + missed <= row.delta * (1 + HAIR)

    assert row.worst(fits) > 1


@pytest.mark.parametrize("row", LEAKY, ids=[row.name for row in LEAKY])
def test_a_pure_route_that_may_leak_all_of_delta_is_refuted(row: Row) -> None:
    order = best_order(row.epsilon, row.delta / 2)
    ceiling = row.epsilon - price(order, row.delta / 2)

    def fits(counts) -> bool:
        leaks = row.total(counts, lambda kind: kind.leak)
        pure = row.total(counts, lambda kind: kind.epsilon) <= row.epsilon + HAIR
        renyi = row.total(counts, lambda kind: kind.tau(order)) <= ceiling
        return (pure and leaks <= row.delta * (1 + HAIR)) or (renyi and leaks <= row.delta / 2 * (1 + HAIR))

    assert row.worst(fits) > 1


def test_small_games_by_hand() -> None:
    # One randomized response and nothing else: delta at 0 is its total variation.
    one = worst_adaptive(lambda counts: counts[0] <= 1, [ReleaseKind.randomized_response(1)], 0)
    assert one == pytest.approx(math.tanh(0.5))
    # A leak after it is used only if the answer pointed the right way or not at all: always worth its delta.
    leak = worst_adaptive(lambda counts: counts[0] <= 1, [ReleaseKind.leaking("1/8")], 2)
    assert leak == pytest.approx(1 / 8)
    assert worst_adaptive(lambda counts: False, [ReleaseKind.randomized_response(1)], 0) == 0


def test_adaptivity_gains_over_every_fixed_plan() -> None:
    # After a first look: one sharp release if it pointed the right way, four blunt ones if it did not.
    menu = [ReleaseKind.randomized_response("0.5"), ReleaseKind.randomized_response("1")]

    def five_blunt(counts) -> bool:
        return counts[0] <= 5 and counts[1] == 0

    def one_of_each(counts) -> bool:
        return counts[0] <= 1 and counts[1] <= 1

    either = worst_adaptive(lambda counts: five_blunt(counts) or one_of_each(counts), menu, 1)
    assert either > 1.05 * max(worst_adaptive(rule, menu, 1) for rule in (five_blunt, one_of_each))


def test_bad_games_are_refused() -> None:
    with pytest.raises(ParameterError, match="menu is empty"):
        worst_adaptive(lambda counts: True, [], 1)
    with pytest.raises(ParameterError, match="states="):
        worst_adaptive(lambda counts: True, [ReleaseKind.randomized_response(1)], 1, states=50)
    with pytest.raises(ParameterError, match="add up to 1"):
        ReleaseKind({})
    with pytest.raises(ParameterError):
        ReleaseKind.leaking(2)
