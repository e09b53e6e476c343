from __future__ import annotations

import math
import time
from fractions import Fraction
from itertools import pairwise

import flint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.audit import Comparison, FiniteLaw, hockey_stick, max_divergence, renyi
from sfumato.audit.branching import ONE
from sfumato.errors import ParameterError

ORDERS = [Fraction("1.001"), Fraction("1.5"), Fraction(2), Fraction(17), Fraction(512)]


def exact_renyi(p: list[Fraction], q: list[Fraction], order: Fraction) -> float:
    """An independent evaluation with 400-bit balls."""
    before = flint.ctx.prec
    flint.ctx.prec = 400
    try:
        a = flint.arb(flint.fmpq(order.numerator, order.denominator))
        balls = [
            (flint.arb(flint.fmpq(x.numerator, x.denominator)), flint.arb(flint.fmpq(y.numerator, y.denominator)))
            for x, y in zip(p, q, strict=True)
            if x
        ]
        return float(sum((x**a * y ** (1 - a) for x, y in balls), flint.arb(0)).log() / (a - 1))
    finally:
        flint.ctx.prec = before


def normal(weights: list[int]) -> list[Fraction]:
    return [Fraction(weight, sum(weights)) for weight in weights]


def as_law(masses: list[Fraction]) -> FiniteLaw:
    return FiniteLaw.of(dict(enumerate(masses)))


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 6).flatmap(lambda n: st.tuples(*[st.lists(st.integers(1, 10**9), min_size=n, max_size=n)] * 2)))
def test_bounds_enclose_the_truth_tightly(pair) -> None:
    p, q = normal(pair[0]), normal(pair[1])
    compared = Comparison(as_law(p), as_law(q))
    for order, bounds in zip(ORDERS, compared.renyi(ORDERS), strict=True):
        truth = exact_renyi(p, q, order)
        assert bounds.lower <= truth + 1e-15 * (1 + truth) and truth <= bounds.upper + 1e-15 * (1 + truth)
        assert bounds.upper - bounds.lower <= 1e-9 * (1 + truth)
    largest = max(math.log(x / y) for x, y in zip(p, q, strict=True))
    found = compared.max_divergence()
    assert found.lower <= largest + 1e-14 and largest <= found.upper + 1e-14
    assert found.upper - found.lower <= 1e-12 * (1 + largest)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_lower_bounds_hold_wherever_the_remainder_sits(data) -> None:
    size = data.draw(st.integers(2, 4))
    masses = st.lists(st.integers(1, 1000), min_size=size + 1, max_size=size + 1)
    first, second = normal(data.draw(masses)), normal(data.draw(masses))
    listed = Comparison(as_law(first[:size]), as_law(second[:size]))
    # The last cell of each law is its remainder; here it is poured out over the outcomes, old and new.
    parts = st.lists(st.sampled_from([0, 0, 1, 5]), min_size=size + 1, max_size=size + 1).filter(any)
    spread = [normal(data.draw(parts)) for _ in range(2)]
    p, q = (
        [mass + law[size] * part for mass, part in zip([*law[:size], Fraction(0)], parts, strict=True)]
        for law, parts in zip((first, second), spread, strict=True)
    )
    if not all(p) or not all(q):
        return
    for order, bounds in zip(ORDERS, listed.renyi(ORDERS), strict=True):
        assert bounds.upper == math.inf
        assert bounds.lower <= exact_renyi(p, q, order) + 1e-12
    assert listed.max_divergence().lower <= max(math.log(x / y) for x, y in zip(p, q, strict=True)) + 1e-12
    for epsilon in (Fraction(0), Fraction(1, 2)):
        truth = sum(max(0.0, float(x) - math.exp(epsilon) * float(y)) for x, y in zip(p, q, strict=True))
        bounds = listed.hockey_stick(epsilon)
        assert bounds.lower <= truth + 1e-12 and truth <= bounds.upper + 1e-12


def test_the_least_favourable_filling_is_reached() -> None:
    # Ratios 4, 1, 1/4; a remainder of 1/16 of Q fills the first outcome until the ratio is 16/5.
    first = FiniteLaw.of({"a": "1/2", "b": "1/4", "c": "1/4"})
    second = FiniteLaw.of({"a": "1/8", "b": "1/4", "c": "9/16"})
    level = math.log(Fraction(1, 2) / Fraction(3, 16))
    assert max_divergence(first, second).lower == pytest.approx(level, rel=1e-13)
    filled = [Fraction(3, 16), Fraction(1, 4), Fraction(9, 16)]
    truth = exact_renyi([Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], filled, Fraction(3))
    assert renyi(first, second, 3).lower == pytest.approx(truth, rel=1e-12)


def test_masses_down_to_1e_300_are_told_apart() -> None:
    tiny = Fraction(1, 10**300)
    first = FiniteLaw.of({0: 1 - 2 * tiny, 1: 2 * tiny})
    second = FiniteLaw.of({0: 1 - tiny, 1: tiny})
    assert max_divergence(first, second).lower == pytest.approx(math.log(2), rel=1e-12)
    far = FiniteLaw.of({0: tiny, 1: 1 - tiny})
    bounds = renyi(far, second, 400)
    truth = exact_renyi([tiny, 1 - tiny], [1 - tiny, tiny], Fraction(400))
    assert bounds.lower <= truth <= bounds.upper
    assert bounds.upper - bounds.lower < 1e-9 * truth


def test_a_value_that_only_one_input_can_give_is_an_infinite_loss() -> None:
    first, second = FiniteLaw.of({0: "1/2", 1: "1/2"}), FiniteLaw.of({0: 1})
    assert max_divergence(first, second).lower == math.inf
    assert renyi(first, second, "1.001").lower == math.inf
    assert hockey_stick(first, second, 3).lower == 0.5
    assert max_divergence(second, first).upper == pytest.approx(math.log(2))


def test_equal_laws_lose_nothing_and_never_less() -> None:
    same = FiniteLaw.of({0: "1/3", 1: "1/3"})
    assert max_divergence(same, same).lower == 0
    assert renyi(same, same, 2).lower == 0
    assert hockey_stick(same, same, 0).lower == 0


def test_orders_and_epsilons_are_checked() -> None:
    law = FiniteLaw.of({0: 1})
    with pytest.raises(ParameterError, match="above 1"):
        renyi(law, law, 1)
    with pytest.raises(ParameterError):
        hockey_stick(law, law, -1)


def test_a_hundred_thousand_outcomes_at_sixty_orders_are_quick() -> None:
    size = 100_000
    whole = size * (size + 1) // 2
    first = FiniteLaw({i: ONE * (i + 1) // whole for i in range(size)}, complete=True)
    second = FiniteLaw(dict.fromkeys(range(size), ONE // size), complete=True)
    started = time.process_time()
    found = Comparison(first, second).renyi([1 + Fraction(k + 1, 7) for k in range(60)])
    assert time.process_time() - started < 5
    assert all(low.lower <= high.upper for low, high in pairwise(found))
