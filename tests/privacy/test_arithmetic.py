"""What holds for all losses: order, multiplicity, monotonicity, storage."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError, RelationMismatch
from sfumato.exact import INFINITY
from sfumato.privacy import (
    ADD_REMOVE,
    EVERYTHING,
    REPLACE_ONE,
    Approximate,
    ByCount,
    Concentrated,
    Cost,
    Cover,
    Flat,
    LinearCurve,
    Loss,
    Minimum,
    OrderCurve,
    Pure,
    PureCurve,
    SinhNormalCurve,
    Sum,
    Tree,
    Truncated,
    Weighted,
    bound_from_json,
    curve_from_json,
    greatest,
    least,
    total,
    union,
)
from sfumato.privacy.derived import Group
from sfumato.privacy.profile import profile_from_json
from sfumato.privacy.sampled import Sampled
from sfumato.privacy.subsample import Subsampled

quick = settings(max_examples=40, deadline=None, derandomize=True)
small = st.fractions(Fraction(1, 50), Fraction(3), max_denominator=50)
omegas = st.fractions(Fraction(11, 10), Fraction(40), max_denominator=10)
ORDERS = (Fraction(11, 10), Fraction(2), Fraction(7, 2), Fraction(9))


@st.composite
def costs(draw, leaks=False):
    kinds = ["pure", "concentrated", "truncated", "range"] + (["approximate"] if leaks else [])
    match draw(st.sampled_from(kinds)):
        case "pure":
            return Cost.pure(draw(small))
        case "concentrated":
            return Cost.concentrated(draw(small))
        case "truncated":
            return Cost.truncated(draw(small), draw(omegas))
        case "range":
            return Cost.range_bounded(draw(small))
        case _:
            return Cost.approximate(draw(small), Fraction(1, draw(st.integers(100, 10**9))))


def at_least(larger: Cost, smaller: Cost) -> bool:
    """Tell whether one cost is at least the other in every entry that the tests look at."""
    return (
        larger.epsilon >= smaller.epsilon
        and larger.leak >= smaller.leak
        and all(larger.tau(order) >= smaller.tau(order) for order in ORDERS)
    )


@quick
@given(costs(leaks=True), st.integers(0, 6))
def test_k_times_is_k_additions(cost, count):
    added = Cost.zero()
    for _ in range(count):
        added = added + cost
    assert count * cost == added


@quick
@given(st.lists(costs(leaks=True), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_order_does_not_matter(parts, shuffler):
    other = list(parts)
    shuffler.shuffle(other)
    left = right = Cost.zero()
    for first, second in zip(parts, other, strict=True):
        left, right = left + first, right + second
    assert left == right
    assert hash(left) == hash(right)


@quick
@given(costs(leaks=True), costs(leaks=True))
def test_a_sum_is_never_below_its_parts(first, second):
    assert at_least(first + second, first)
    assert at_least(first + second, second)


@quick
@given(small, st.integers(1, 12))
def test_split_parts_fit_together(amount, parts):
    for bound in (Pure(amount), Concentrated(amount), Truncated(amount, 9)):
        part = Cost.of(bound.split(parts))
        assert (parts * part).within(bound)
        assert not ((parts + 1) * part).within(bound)


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        (Cost.pure(0.1), Pure(1)),
        (Cost.concentrated(0.1), Concentrated(1)),
        (Cost.truncated(0.1, 8), Truncated(1, 8)),
        (Cost.approximate(0.1, 1e-7), Approximate(1, 1e-6)),
    ],
)
def test_ten_tenths_fit_exactly(part, whole):
    assert (10 * part).within(whole)
    assert not (11 * part).within(whole)


@quick
@given(costs(), st.integers(1, 5), st.integers(1, 5))
def test_groups_are_monotone_and_one_is_the_identity(cost, fewer, more):
    assert cost.for_group(1) == cost
    small_group, large_group = sorted((fewer, more))
    one, two = cost.for_group(small_group), cost.for_group(large_group)
    assert two.epsilon >= one.epsilon
    delta = Fraction(1, 10**6)
    assert two.epsilon_at(delta) >= one.epsilon_at(delta) * Fraction(999_999, 1_000_000)


@quick
@given(small, small, omegas)
def test_monotone_in_every_parameter(first, second, omega):
    low, high = sorted((first, second))
    for build in (Cost.pure, Cost.concentrated, Cost.range_bounded, lambda rho: Cost.truncated(rho, omega)):
        assert at_least(build(high), build(low))
        assert build(high).delta_at(1) >= build(low).delta_at(1) * Fraction(999_999, 1_000_000)
    assert at_least(Cost.truncated(low, omega), Cost.truncated(low, omega + 1))
    wide, narrow = (SinhNormalCurve(Fraction(25), Fraction(30), step * first) for step in (2, 1))
    assert wide.at(2) >= narrow.at(2)


@quick
@given(small)
def test_conversions_never_lower_a_loss(epsilon):
    pure = Cost.pure(epsilon)
    rho = pure.rho(INFINITY)
    concentrated = Cost.concentrated(rho)
    truncated = Cost.truncated(rho, 12)
    assert rho <= epsilon**2 / 2  # never worse than the paper's conversion
    for order in ORDERS:
        assert pure.tau(order) <= concentrated.tau(order) <= truncated.tau(order)
    for delta in (Fraction(1, 100), Fraction(1, 10**6)):
        chain = [cost.epsilon_at(delta) for cost in (pure, concentrated, truncated)]
        # The search for an order may stop a hair beside the best one.
        assert all(after >= before * (1 - Fraction(1, 10**6)) for before, after in pairwise(chain))
        assert pure.epsilon_at(delta) <= epsilon


@quick
@given(costs(leaks=True), st.integers(2, 9))
def test_epsilon_and_delta_agree(cost, digits):
    delta = cost.leak + Fraction(1, 10**digits)
    epsilon = cost.epsilon_at(delta)
    if epsilon != INFINITY:
        assert cost.delta_at(epsilon) <= delta * (1 + Fraction(1, 1000))


CURVES = [
    PureCurve(Fraction(1, 3)),
    LinearCurve(Fraction(1, 7)),
    LinearCurve(Fraction(1, 7), Fraction(9, 2)),
    OrderCurve(Fraction(5), Fraction(1, 2)),
    SinhNormalCurve(Fraction(25), Fraction(20), Fraction(1)),
    total([(3, PureCurve(Fraction(1))), (10**30, LinearCurve(Fraction(1, 9))), (1, PureCurve(Fraction(2)))]),
    least([PureCurve(Fraction(1)), LinearCurve(Fraction(1, 8))]),
    greatest([PureCurve(Fraction(1)), LinearCurve(Fraction(1, 8))]),
    Group(SinhNormalCurve(Fraction(25), Fraction(20), Fraction(1)), 3),
    Subsampled(LinearCurve(Fraction(1, 8)), 1000, 10),
    Subsampled(least([PureCurve(Fraction(1)), LinearCurve(Fraction(1, 8))]), 50, 7, "poisson", "binomial"),
    Subsampled(LinearCurve(Fraction(1, 8), Fraction(11, 2)), 50, 7, "without_replacement", "numeric"),
]


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.form)
def test_curves_round_trip(curve):
    again = curve_from_json(json.loads(json.dumps(curve.to_json())))
    assert again == curve
    assert again.at(2) == curve.at(2)
    cost = Cost(INFINITY, curve, Fraction(1, 10**9))
    assert Cost.from_json(json.loads(json.dumps(cost.to_json()))) == cost


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.form)
def test_curves_rise_and_their_supremum_covers_them(curve):
    end = min(Fraction(20), curve.end)
    points = [1 + (end - 1) * Fraction(i, 40) for i in range(1, 41)]
    values = [curve.at(order) for order in points]
    unit = Fraction(1, 1 << 62)
    assert all(after >= before - unit for before, after in pairwise(values))
    for bound in (curve.supremum(end), curve.certified_rho(end)):
        assert all(value <= bound * order + unit for order, value in zip(points, values, strict=True))
    assert curve.at(curve.end + 1) == INFINITY if curve.end != INFINITY else curve.supremum(INFINITY) > 0


PROFILES = [
    Flat(Cost.pure(1)),
    Flat(Cost.approximate(1, 1e-6), frozenset({"a"})),
    ByCount((Cost.concentrated(1), Cost.concentrated(3)), frozenset({"a", "b", "c"})),
    Cover(((frozenset({"a"}), Cost.pure(1)), (frozenset({"a", "b"}), Cost.pure(2)), (EVERYTHING, Cost.pure(1)))),
    Weighted((("b", Fraction(1)), ("a", Fraction(1, 3)))),
    Tree(
        (
            (frozenset({"a"}), Cost.pure(3)),
            (frozenset({"b"}), Cost.pure(2)),
            (frozenset({"a", "b"}), Cost.pure(2)),
            (frozenset({"a", "b", "c"}), Cost.pure(1)),
        )
    ),
    Sum(((2, Flat(Cost.pure(1), frozenset({"a"}))), (10**30, Weighted((("b", Fraction(1)),))))),
    Minimum((Flat(Cost.pure(2)), Weighted((("a", Fraction(1)), ("b", Fraction(3)))))),
    Sampled(ByCount((Cost.pure(1), Cost.pure(2)), frozenset({"a", "b", "c"})), 10, 3),
]
SETS = [frozenset(), frozenset("a"), frozenset("b"), frozenset("c"), frozenset("ab"), frozenset("abc"), EVERYTHING]


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.shape)
def test_profiles_round_trip(profile):
    for relation in (REPLACE_ONE, ADD_REMOVE):
        loss = Loss(profile, relation)
        assert Loss.from_json(json.loads(json.dumps(loss.to_json()))) == loss
    assert profile_from_json(profile.to_json()) == profile


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.shape)
def test_profiles_are_monotone_and_a_group_of_one_changes_nothing(profile):
    for smaller in SETS:
        for larger in SETS:
            contained = larger is EVERYTHING or (smaller is not EVERYTHING and smaller <= larger)
            if contained:
                assert at_least(profile.at(larger), profile.at(smaller))
    assert profile.at(frozenset()).is_zero
    for changed in SETS:
        assert at_least(profile.at(changed), profile.map(1).at(changed))
        if not profile.at(changed).leak:
            assert at_least(profile.map(3).at(changed), profile.at(changed))


@pytest.mark.parametrize(
    "bound",
    [
        Pure("1/3"),
        Concentrated(0.1).per_attribute(),
        Truncated(0.1, "7/2"),
        Approximate(1, 1e-6, leaks=1e-8, routes=((8, 0.5), (24, "1/4"))),
    ],
)
def test_bounds_round_trip(bound):
    assert bound_from_json(json.loads(json.dumps(bound.to_json()))) == bound


@quick
@given(small, small)
def test_union_bound(first, second):
    joined = union([Cost.concentrated(first), Cost.concentrated(second)])
    root = float(first) ** 0.5 + float(second) ** 0.5
    assert float(joined.rho(INFINITY)) == pytest.approx(root**2, rel=1e-12)
    assert joined.rho(INFINITY) >= max(first, second)
    assert union([Cost.pure(first), Cost.pure(second)]).epsilon == first + second
    # Four equal attributes cost 16 rho, and the direct sum of a cover is never above it (PDP:C-10).
    assert union([Cost.concentrated(first)] * 4).rho(INFINITY) == pytest.approx(16 * first)


def test_relations_do_not_mix():
    with pytest.raises(RelationMismatch, match="relation="):
        Loss.flat(Cost.pure(1), relation=ADD_REMOVE) + Loss.flat(Cost.pure(1))


def test_an_attribute_changed_under_add_remove_is_two_steps():
    """A noisy histogram of one bit: flipping it moves two cells by one each, adding a record only one."""
    loss = Loss.flat(Cost.pure(1), {"bit"}, ADD_REMOVE)
    assert loss.person.epsilon == 1
    assert loss.at("bit").epsilon == 2
    assert loss.at("other").is_zero
    assert not loss.within(Pure(1).per_attribute())
    assert loss.within(Pure(2).per_attribute())


def test_a_tree_whose_nodes_do_not_cover_their_path_is_refused():
    with pytest.raises(ParameterError, match="path"):
        Tree(((frozenset("x"), Cost.pure(1)), (frozenset("xy"), Cost.pure(2))))
