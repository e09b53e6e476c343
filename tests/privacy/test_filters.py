"""The budget rule: golden values, exactness, order, and the two-route rule (ledger-filters sections 3, 10, 12)."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.exact import INFINITY
from sfumato.privacy import Approximate, Concentrated, Cost, LinearCurve, Pure, Truncated
from sfumato.privacy.filters import Filter, filter_of, odometer
from sfumato.privacy.implied import bound_for_group, bound_for_union
from sfumato.privacy.settlement import largest_part, settled

UNITS = 1 << 64


def halved(epsilon, delta):
    """Return a limit that keeps half of delta for leaks and the rest for one Rényi order, as LF-APPROX has it."""
    return Approximate(epsilon, delta, leaks=Fraction(delta) / 2)


def divided(epsilon, delta):
    """Return a limit that keeps a part of delta for leaks and one for Gaussians, and the rest for one Rényi order."""
    return Approximate(epsilon, delta, leaks=Fraction(delta) / 20, gauss=Fraction(delta) * Fraction(17, 20))


def admitted(gate: Filter, cost: Cost) -> int:
    """Return how often a cost fits, found from the sums alone."""
    low, high = 0, 1 << 40
    charge = gate.charge(cost)
    while low + 1 < high:
        middle = (low + high) // 2
        fits = gate.fits(tuple(part * middle for part in charge))
        low, high = (middle, high) if fits else (low, middle)
    return low


GOLDEN = [
    (1, "1e-6", Fraction(93, 4), 9837567274423676951, {10: 10, 30: 45, 50: 118, 100: 462, 1000: 45878}),
    (3, "1e-6", Fraction(75, 8), 30393738990173340714, {10: 10, 50: 102, 100: 395, 1000: 39059}),
    (1, "1e-9", Fraction(289, 8), None, {50: 77, 100: 294}),
]
TAUS = {10: 1319141261657985495, 50: 82970097600097718, 100: 21261785656892392, 1000: 214424895498571}


@pytest.mark.parametrize(("epsilon", "delta", "order", "ceiling", "counts"), GOLDEN)
def test_golden_values(epsilon, delta, order, ceiling, counts):
    gate = filter_of(halved(epsilon, delta))
    pure, route = gate.routes
    assert (pure.kind, route.order) == ("epsilon", order)
    if ceiling is not None:
        assert route.ceiling * UNITS == ceiling
    for parts, count in counts.items():
        assert admitted(gate, Cost.pure(Fraction(epsilon, parts))) == count


def test_golden_taus():
    route = filter_of(halved(1, "1e-6")).routes[1]
    for parts, units in TAUS.items():
        assert route.reading(Cost.pure(Fraction(1, parts))) * UNITS == units


def test_ten_tenths_fit_and_an_eleventh_does_not():
    for limit, part in ((Pure(1), Cost.pure(0.1)), (Concentrated(1), Cost.concentrated(0.1))):
        gate = filter_of(limit)
        sums = gate.zero()
        for _ in range(10):
            assert gate.accepts(sums, part)
            sums = gate.add(sums, gate.charge(part))
        assert not gate.accepts(sums, part)
        assert gate.accepts(sums, Cost.zero())


def test_a_smaller_request_fits_after_a_refusal():
    gate = filter_of(Pure(1))
    sums = gate.add(gate.zero(), gate.charge(Cost.pure("9/10")))
    assert not gate.accepts(sums, Cost.pure("2/10"))
    assert gate.accepts(sums, Cost.pure("1/10"))


def test_limits_without_delta_refuse_leaks():
    leaking = Cost.approximate("1/100", "1e-12")
    for limit in (Pure(1), Concentrated(1), Truncated(1, 4)):
        gate = filter_of(limit)
        assert not gate.accepts(gate.zero(), leaking)


def test_truncated_refuses_a_curve_that_ends_too_early():
    gate = filter_of(Truncated(1, 8))
    assert gate.accepts(gate.zero(), Cost.truncated("1/100", 8))
    assert not gate.accepts(gate.zero(), Cost.truncated("1/100", 7))


def test_leaks_count_on_the_pure_route_too():
    limit = halved(1, "1e-6")
    gate = filter_of(limit)
    assert gate.accepts(gate.zero(), Cost.approximate("1/10", limit.leaks))
    assert not gate.accepts(gate.zero(), Cost.approximate("1/10", limit.leaks * 2))


def test_a_gaussian_closes_the_pure_route_for_good():
    gate = filter_of(halved(1, "1e-6"))
    sums = gate.add(gate.zero(), gate.charge(Cost.concentrated("1/1000")))
    assert gate.fits(sums)
    assert gate.left(sums)[1] is None


def test_all_delta_for_leaks_leaves_the_pure_route_only():
    assert [m.kind for m in filter_of(Approximate(1, "1e-6", leaks="1e-6")).routes] == ["epsilon"]


def test_routes_pay_for_being_alternatives():
    one = filter_of(Approximate(1, "1e-6", routes=((20, 1),))).routes[1]
    two = filter_of(Approximate(1, "1e-6", routes=((20, "1/2"), (40, "1/2")))).routes[1]
    price = math.log(2) / 19
    assert float(one.ceiling - two.ceiling) == pytest.approx(price, rel=1e-9)


def test_a_refusal_names_the_leak_alone_or_every_route():
    gate = filter_of(halved(1, "1e-6"))
    leak = gate.broken(gate.zero(), Cost.approximate("1/10", "1e-3"))
    assert [meter.kind for meter, _, _ in leak] == ["leak"]
    both = gate.broken(gate.zero(), Cost.pure(50))
    assert [meter.kind for meter, _, _ in both] == ["epsilon", "tau"]
    assert gate.broken(gate.zero(), Cost.pure(1)) == []


def test_filters_round_trip_through_json():
    for limit in (Pure(1), Concentrated("1/3"), Truncated("1/3", 4), halved(1, "1e-6"), divided(1, "1e-6")):
        gate = filter_of(limit)
        assert Filter.from_json(gate.to_json()) == gate


def test_long_denominators_are_rounded_up():
    gate = filter_of(Pure(10))
    sums, exact_sum = gate.zero(), Fraction(0)
    for prime in (2**521 - 1, 2**607 - 1, 2**127 - 1):
        part = Fraction(1, prime)
        sums = gate.add(sums, gate.charge(Cost.pure(part)))
        exact_sum += part
    assert sums[1] >= exact_sum
    assert sums[1].denominator.bit_length() <= 1024
    assert sums[1] - exact_sum <= Fraction(2, 1 << 128)


costs = st.builds(
    lambda kind, n: {0: Cost.pure, 1: Cost.concentrated, 2: lambda x: Cost.approximate(x, Fraction(1, 10**8))}[kind](
        Fraction(n, 50)
    ),
    st.integers(0, 2),
    st.integers(1, 20),
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(costs, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_order_of_requests_does_not_matter(parts, shuffler):
    gate = filter_of(halved(1, "1e-6"))
    mixed = list(parts)
    shuffler.shuffle(mixed)
    sums = other = gate.zero()
    for left, right in zip(parts, mixed, strict=True):
        sums, other = gate.add(sums, gate.charge(left)), gate.add(other, gate.charge(right))
    assert sums == other


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(costs, min_size=2, max_size=6))
def test_what_fits_whole_fits_in_part(parts):
    gate = filter_of(halved(2, "1e-6"))
    sums, fitted = gate.zero(), []
    for cost in parts:
        sums = gate.add(sums, gate.charge(cost))
        fitted.append(gate.fits(sums))
    assert fitted == sorted(fitted, reverse=True)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 100, 1000])
def test_a_split_fits_as_often_as_it_says(count):
    for limit in (
        Pure(1),
        Concentrated("1/7"),
        Truncated("1/7", 5),
        Approximate(1, "1e-6"),
        Approximate("1/10", "1e-9"),
        halved(1, "1e-6"),
        divided(1, "1e-6"),
    ):
        part = limit.split(count)
        if count == 1 and isinstance(limit, Approximate):
            continue  # the whole of an Approximate limit is one spend whose delta is not all for leaks
        cost = Cost.of(part)
        open_ = isinstance(limit, Approximate) and not limit.divided
        gate = settled(limit, (cost,)).gate if open_ else filter_of(limit)
        assert gate.fits(tuple(amount * count for amount in gate.charge(cost)))


def test_a_split_of_many_parts_gains_from_the_order_route():
    part = largest_part(halved(1, "1e-6"), 462)[0]
    assert Fraction(99, 10000) < part <= Fraction(101, 10000)


def test_the_odometer_ignores_closed_orders_and_charges_for_weights():
    half = Fraction(1, 2)
    reading = odometer(
        INFINITY, [(Fraction(8), half, Fraction(1, 10)), (Fraction(4), half, INFINITY)], Fraction(1, 10**6)
    )
    assert float(reading) == pytest.approx(0.1 + math.log(2e6) / 7)
    assert odometer(Fraction(1, 100), [(Fraction(8), half, Fraction(1, 10))], Fraction(1, 10)) == Fraction(1, 100)
    with pytest.raises(ParameterError):
        odometer(INFINITY, [(Fraction(8), Fraction(2), Fraction(1))], Fraction(1, 10))


def test_groups_and_unions_of_limits():
    assert bound_for_group(Pure(1), 3) == Pure(3)
    assert bound_for_group(Truncated("1/10", 6), 3) == Truncated("9/10", 2)
    assert bound_for_group(Truncated("1/10", 6), 6) is None
    grown = bound_for_group(Approximate("1/10", "1e-9"), 2)
    assert grown.epsilon == Fraction(1, 5)
    assert float(grown.delta) == pytest.approx(1e-9 * math.expm1(0.2) / math.expm1(0.1))
    assert bound_for_union(Pure(1), Pure(2)) == Pure(3)
    assert float(bound_for_union(Concentrated("1/4"), Concentrated("1/4")).rho) == pytest.approx(1)
    assert bound_for_union(Pure(1), Concentrated(1)) is None


def test_a_linear_curve_is_charged_exactly():
    gate = filter_of(Truncated("3/10", 4))
    cost = Cost(INFINITY, LinearCurve(Fraction(1, 10), Fraction(4)))
    assert gate.fits(tuple(part * 3 for part in gate.charge(cost)))
