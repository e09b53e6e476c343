"""Closed forms against exact sums, quadrature and the numbers in the specs."""

from __future__ import annotations

import math
import random  # noqa: TID251  (fixed seeds, no privacy rests on it)
from fractions import Fraction
from itertools import pairwise

import pytest
from scipy.integrate import quad

from sfumato.exact import INFINITY
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE, Cost, Curve, LinearCurve, PureCurve, SinhNormalCurve, parallel
from sfumato.privacy.conversion import classical_epsilon
from sfumato.privacy.curve import grid
from tests.privacy.laws import SLACK, largest_ratio, orders, product, renyi, worst_renyi

E6 = Fraction(1, 10**6)


@pytest.mark.parametrize("epsilon", ["1/100", "1/2", "1", "4", "30"])
def test_pure_curve_is_randomized_response(epsilon):
    """C-PURE+: equality with the two-point law, at every order."""
    value = float(Fraction(epsilon))
    heads, tails = 1 / (1 + math.exp(-value)), 1 / (1 + math.exp(value))
    curve = Cost.pure(epsilon).curve
    for order in orders(60.0):
        exact = renyi([heads, tails], [tails, heads], order)
        assert float(curve.at(order)) == pytest.approx(exact, rel=1e-9, abs=1e-12)
        assert float(curve.at(order)) <= min(value, float(curve.supremum(INFINITY)) * order) * (1 + 1e-12)


def test_pure_curve_numbers():
    assert float(Fraction(8) / Cost.pure(4).rho(INFINITY)) == pytest.approx(2.07, abs=0.01)


def test_pure_curve_covers_random_pure_laws():
    draw = random.Random(1)
    for _ in range(200):
        size, epsilon = draw.randint(2, 5), draw.uniform(0.05, 3)
        first = [draw.random() + 0.01 for _ in range(size)]
        second = [p * math.exp(draw.uniform(-1, 1) * epsilon / 2) for p in first]
        first, second = ([p / sum(law) for p in law] for law in (first, second))
        curve = PureCurve(Fraction(largest_ratio(first, second)) + Fraction(1, 10**12))
        for order in (1.05, 2, 3.5, 20):
            assert worst_renyi(first, second, order) <= float(curve.at(order)) + SLACK


def test_gaussian_is_linear():
    """C-GAUSS: D_a of two shifted Gaussians is a·shift²/(2 sigma²), by quadrature."""
    sigma, shift = 3.0, 1.0
    cost = Cost.concentrated(Fraction(1, 18))
    for order in (1.1, 2, 5, 9):

        def integrand(x, order=order):
            return math.exp(-(order * (x - shift) ** 2 + (1 - order) * x**2) / (2 * sigma**2))

        area = quad(integrand, -60, 60 + 2 * order, limit=400)[0] / (sigma * math.sqrt(2 * math.pi))
        assert math.log(area) / (order - 1) == pytest.approx(float(cost.tau(order)), rel=1e-8)


def test_range_bound_of_the_exponential_mechanism():
    """C-EXPM, PDP:C-12: log-ratios in a window of width epsilon; 2000 random laws, and the bound is nearly reached."""
    draw = random.Random(2)
    worst = 0.0
    for _ in range(2000):
        epsilon = draw.choice([0.01, 0.3, 1.0, 3.0])
        size = draw.randint(2, 5)
        second = [draw.random() ** 3 + 1e-4 for _ in range(size)]
        tilt = [draw.choice([0.0, draw.random(), 1.0]) * epsilon for _ in range(size)]
        first = [q * math.exp(t) for q, t in zip(second, tilt, strict=True)]
        first, second = ([p / sum(law) for p in law] for law in (first, second))
        cost = Cost.range_bounded(epsilon)
        for order in (1.1, 2, 7):
            found = renyi(first, second, order)
            assert found <= float(cost.tau(order)) + SLACK
            worst = max(worst, found / (order * epsilon**2 / 8))
    assert 0.98 < worst <= 1.0000001
    # Half of the constant would be caught.
    assert worst > 0.5


def chain(draw, length, order, rho):
    """Return laws each of whose steps has D_b <= rho·b for all b <= order, pushed to the limit."""
    laws = [[0.5, 0.3, 0.15, 0.05]]
    while len(laws) <= length:
        direction = [draw.uniform(-1, 1) for _ in range(4)]
        low, high = 0.0, 8.0
        for _ in range(40):
            middle = (low + high) / 2
            step = [p * math.exp(middle * d) for p, d in zip(laws[-1], direction, strict=True)]
            step = [p / sum(step) for p in step]
            grid_orders = [1.001, *(1 + (order - 1) * i / 40 for i in range(1, 41))]
            fits = all(worst_renyi(laws[-1], step, b) <= rho * b for b in grid_orders)
            low, high = (middle, high) if fits else (low, middle)
        step = [p * math.exp(low * d) for p, d in zip(laws[-1], direction, strict=True)]
        laws.append([p / sum(step) for p in step])
    return laws


@pytest.mark.parametrize(("rho", "omega"), [(0.05, 6.0), (0.3, 2.5), (0.02, 1.5)])
def test_groups_cover_exact_chains(rho, omega):
    """C-GRP for g < omega and C-GRPBIG for every g, against exact divergences of chains of laws."""
    draw = random.Random(3)
    cost = Cost.truncated(Fraction(str(rho)) * Fraction(1001, 1000), Fraction(str(omega)))
    worst = 0.0
    for _ in range(12):
        laws = chain(draw, 5, omega, rho)
        for people in range(1, 6):
            group = cost.for_group(people)
            for share in (0.25, 0.7, 1.0):
                order = 1 + (group.curve.end - 1) * Fraction(share)
                found = worst_renyi(laws[0], laws[people], float(order))
                worst = max(worst, found / float(group.tau(order)))
    assert 0.4 < worst <= 1.0 + 1e-9


def test_group_of_a_general_curve_covers_exact_chains():
    """The recursion on a curve that is not linear: randomized response in a chain of three."""
    base = PureCurve(Fraction(1))
    from sfumato.privacy.derived import Group

    for people in (2, 3):
        heads = 1 / (1 + math.exp(-1.0))
        logit = math.log(heads / (1 - heads))
        far = 1 / (1 + math.exp(-(logit - people)))
        for order in (1.2, 2, 4):
            exact = worst_renyi([heads, 1 - heads], [far, 1 - far], order)
            assert exact <= float(Group(base, people).at(order)) + SLACK
            assert exact <= float(base.group(people).at(order)) + SLACK


def sinh_divergence(sigma, bend, shift, order):
    """Return D_a of sinh-normal noise against its shift, by quadrature of the log-density."""

    def log_density(x):
        u = abs(x / bend)
        log_cosh = u + math.log1p(math.exp(-2 * u)) - math.log(2)
        return log_cosh - (bend * math.sinh(x / bend)) ** 2 / (2 * sigma**2) - math.log(sigma * math.sqrt(2 * math.pi))

    def integrand(x):
        exponent = order * log_density(x - shift) + (1 - order) * log_density(x)
        return math.exp(exponent) if exponent > -700 else 0.0

    width = bend * math.asinh(sigma / bend * 60)
    pieces = [-width, -width / 4, 0, shift, width / 4, width]
    area = sum(quad(integrand, a, b, limit=400)[0] for a, b in pairwise(pieces))
    return math.log(area) / (order - 1)


@pytest.mark.parametrize(("times", "overshoot"), [(1, 1.67), (2, 1.26), (10, 1.011)])
@pytest.mark.parametrize("start", [0.001, 0.05, 0.3])
def test_sinh_normal_curve(times, overshoot, start):
    """C-SINH: never below quadrature, and above it by no more than the spec says at A·sqrt(rho0) = times."""
    bend = times / math.sqrt(start)
    sigma = 1 / math.sqrt(2 * start)
    curve = SinhNormalCurve(
        Fraction(1) / (2 * Fraction(str(start))), Fraction(bend).limit_denominator(10**6), Fraction(1)
    )
    end = float(curve.end)
    for share in (0.02, 0.2, 0.5, 0.8):
        order = 1 + (end - 1) * share
        exact = sinh_divergence(sigma, float(curve.bend), 1.0, order)
        ratio = exact / float(curve.at(order))
        assert ratio <= 1 + 1e-8
        if share <= 0.5:
            assert 1 / ratio <= overshoot


def test_sinh_normal_ends_where_the_divergence_is_infinite():
    curve = SinhNormalCurve(Fraction(25), Fraction(20), Fraction(1))
    assert float(curve.end) == pytest.approx(1 / (1 - math.exp(-0.1)), rel=1e-12)
    assert curve.at(curve.end + 1) == INFINITY
    assert curve.supremum(curve.end + 1) == INFINITY


@pytest.mark.parametrize(
    ("omega", "epsilon"), [("2.23607", 10.16), ("4.47214", 3.74), ("22.4", 2.142), (INFINITY, 2.142)]
)
def test_conversion_numbers(omega, epsilon):
    """TCDP section 6: rho = .1, delta = 1e-6; the true Gaussian value is 1.995."""
    cost = Cost.concentrated("0.1") if omega is INFINITY else Cost.truncated("0.1", omega)
    assert float(cost.epsilon_at(E6)) == pytest.approx(epsilon, abs=0.006)
    assert float(cost.epsilon_at(E6)) > 1.995
    paper = classical_epsilon(Fraction(1, 10), omega if omega is INFINITY else Fraction(omega), E6)
    assert cost.epsilon_at(E6) <= paper
    if omega is INFINITY:
        assert float(paper) == pytest.approx(2.451, abs=0.001)


@pytest.mark.parametrize(
    ("rho", "delta", "epsilon", "classical"),
    [("2.63", "1e-6", 13.792, 14.69), ("1.02", "1e-6", 7.856, 8.53), ("2.56", "1e-10", None, None)],
)
def test_census_numbers(rho, delta, epsilon, classical):
    """PDP section 6: the 2020 census, C-6 against C-5."""
    cost = Cost.concentrated(rho)
    if epsilon is None:
        assert float(cost.epsilon_at(delta)) == pytest.approx(17.158, abs=0.02)
        return
    assert float(cost.epsilon_at(delta)) == pytest.approx(epsilon, abs=0.001)
    assert float(classical_epsilon(Fraction(rho), INFINITY, Fraction(delta))) == pytest.approx(classical, abs=0.01)


def test_every_order_is_valid_and_the_best_one_is_found():
    """C-DP+ against a fine scan of orders."""
    from sfumato.privacy.conversion import float_price

    for cost in (Cost.concentrated("0.1"), Cost.pure(2), Cost.truncated("0.5", 3), 20 * Cost.pure("0.2")):
        last = min(float(cost.curve.end), 2000.0)
        scan = min(float(cost.tau(a)) + float_price(a, math.log(1e-6)) for a in orders(last, 400))
        assert float(cost.epsilon_at(E6)) <= min(scan, float(cost.epsilon)) * (1 + 1e-6)


def test_composition_adds_curves_of_products():
    """C-COMP: the divergence of a product is the sum, so the sum of curves covers it."""
    draw = random.Random(4)
    for _ in range(50):
        pairs = []
        for _ in range(2):
            law = [draw.random() + 0.05 for _ in range(4)]
            other = [draw.random() + 0.05 for _ in range(4)]
            pairs.append(([p / sum(law) for p in law], [p / sum(other) for p in other]))
        (p1, q1), (p2, q2) = pairs
        costs = [Cost.pure(Fraction(largest_ratio(p, q)) + E6) for p, q in pairs]
        for order in (1.1, 2, 6):
            exact = renyi(product(p1, p2), product(q1, q2), order)
            assert exact == pytest.approx(renyi(p1, q1, order) + renyi(p2, q2, order), rel=1e-9)
            assert exact <= float((costs[0] + costs[1]).curve.at(order)) + SLACK


def test_parallel_replace_one_is_not_twice_the_part():
    """C-PAR (ii): a sum of values in [-1, 1] with Gaussian noise costs tau under add-remove and 4 tau when replaced."""
    variance = 50
    add_remove = Cost.concentrated(Fraction(1, 2 * variance))
    inside = Cost.concentrated(Fraction(4, 2 * variance))  # from -1 to 1: sensitivity 2
    both = parallel([add_remove, add_remove], REPLACE_ONE)
    assert both.rho() == 4 * add_remove.rho()
    assert both.rho() > 2 * add_remove.rho()  # what the missing case would have claimed
    assert parallel([add_remove, add_remove], REPLACE_ONE, inside=[inside, inside]).rho() == inside.rho()
    assert parallel([add_remove, add_remove], ADD_REMOVE).rho() == add_remove.rho()


def test_parallel_moves_between_different_parts():
    parts = [Cost.pure(1), Cost.pure(3), Cost.pure(2)]
    known = [Cost.pure(1), Cost.pure(1), Cost.pure(1)]
    assert parallel(parts, ADD_REMOVE).epsilon == 3
    assert parallel(parts, REPLACE_ONE).epsilon == 6
    assert parallel(parts, REPLACE_ONE, inside=known).epsilon == 5  # the record moves from part 2 to part 3
    assert parallel(parts, REPLACE_ONE, inside=known, moves=False).epsilon == 1
    many = [Cost.pure(Fraction(i, 100)) for i in range(1, 101)]
    assert parallel(many, REPLACE_ONE, inside=many).epsilon == 2  # more than 64 different costs
    assert parallel([], REPLACE_ONE).is_zero


def test_parallel_with_leaks_pays_for_both_records():
    """PL:C-PAR: (2e, (1 + e^e) delta), not (2e, 2 delta)."""
    part = Cost.approximate(1, 1e-6)
    cost = parallel([part, part], REPLACE_ONE)
    assert cost.epsilon == 2
    assert float(cost.leak) == pytest.approx((1 + math.e) * 1e-6, rel=1e-12)


class Tampered(LinearCurve):
    """A Gaussian curve that is too high at one order of the grid, and only there."""

    def ball(self, order):
        return super().ball(order) * (2 if order == TAMPERED_AT else 1)


TAMPERED_AT = grid(Fraction(8))[700]


def test_grid_certificate_rejects_a_curve_tampered_at_one_order():
    honest: Curve = LinearCurve(Fraction(1, 10), Fraction(8))
    assert honest.certified_rho(8) <= Fraction(1, 10) * Fraction(1001, 1000)
    tampered = Tampered(Fraction(1, 10), Fraction(8))
    assert tampered.certified_rho(8) > Fraction(19, 100)
    # Looking at whole orders only, as must never be done, would accept it.
    assert all(tampered.at(order) <= Fraction(order, 9) for order in range(2, 9))


def test_one_order_is_no_slope():
    """C-RDP: a loss known at one order omega gives rho = tau, not tau/omega."""
    from sfumato.privacy import OrderCurve

    curve = OrderCurve(Fraction(10), Fraction(1, 2))
    assert curve.rho(10) == Fraction(1, 2)
    assert curve.rho(11) == INFINITY
