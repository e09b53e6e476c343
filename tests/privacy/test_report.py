"""TCDP-ACCT's views: (rho, omega), groups, other accountants' shapes, and the part that spoils a total."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction

import pytest

from sfumato.errors import AccuracyWarning, NotProvable, ParameterError
from sfumato.exact import INFINITY
from sfumato.papers.truncated_cdp.report import (
    account,
    frontier,
    group_report,
    omega_at,
    rho_at,
    to_concentrated,
    to_rdp,
    to_truncated,
    truncating,
    wanted_omega,
)
from sfumato.privacy import Concentrated, Cost, SinhNormalCurve, Truncated

SINH = Cost(INFINITY, SinhNormalCurve(Fraction(25), Fraction(20), Fraction(1)))


def test_rho_and_omega_are_inverse():
    for cost in (SINH, Cost.pure(1) + Cost.truncated("0.1", 6)):
        for omega in (2, "3.5", 5):
            rho = rho_at(cost, omega)
            assert cost.curve.at(omega) <= rho * Fraction(omega)
            assert omega_at(cost, rho) >= Fraction(omega) * Fraction(998, 1000)  # one step of the grid
    assert omega_at(Cost.pure(1), 1) == INFINITY
    assert rho_at(Cost.truncated("0.1", 6), 7) == INFINITY
    with pytest.raises(NotProvable, match="larger rho"):
        omega_at(SINH, Fraction(1, 1000))


def test_frontier_is_proved_and_undominated():
    for cost in (SINH, Cost.concentrated("0.1"), Cost.pure(2) + Cost.truncated("0.1", 9)):
        bounds = frontier(cost)
        assert bounds
        assert all(cost.within(bound) for bound in bounds)
        for first, second in itertools.pairwise(bounds):
            assert first.rho < second.rho
            if isinstance(second, Truncated):
                assert first.omega < second.omega
    assert frontier(Cost.concentrated("0.1")) == (Concentrated("0.1"),)
    assert len(frontier(SINH)) > 10


def test_views_of_other_accountants():
    assert to_rdp(Cost.truncated("1/4", 3), [2, 3, 4])[2] == (4, INFINITY)
    assert to_concentrated(Cost.concentrated("1/4")) == Concentrated("1/4")
    assert to_concentrated(Cost.pure(1)).rho < Fraction(1, 2)
    with pytest.raises(NotProvable, match="order 8 only"):
        to_concentrated(Cost.truncated("0.1", 8))
    assert to_truncated(Cost.truncated("0.1", 8), 5) == Truncated("0.1", 5)
    with pytest.raises(NotProvable, match="smaller omega"):
        to_truncated(Cost.truncated("0.1", 8), 9)


@pytest.mark.parametrize(
    "view", [to_concentrated, lambda c: to_truncated(c, 2), lambda c: rho_at(c, 2), lambda c: to_rdp(c, [2]), frontier]
)
def test_a_delta_gives_no_concentrated_promise(view):
    """C-FROMDP."""
    with pytest.raises(NotProvable, match="no concentrated one") as refusal:
        view(Cost.approximate(1, 1e-6))
    assert refusal.value.numbers["leak"] == Fraction(1, 10**6)


def test_wanted_order():
    assert float(wanted_omega("0.1", 1e-6)) == pytest.approx(12.754, abs=0.001)
    with pytest.raises(ParameterError):
        wanted_omega(0, 1e-6)


def test_groups_of_every_size_get_something():
    """C-GRPBIG: unlike (epsilon, delta), a truncated promise holds for every group, at a price."""
    rows = group_report(Cost.truncated("0.01", 10), 1e-6)
    assert [row.people for row in rows] == [1, 2, 5, 10, 50]
    values = [row.epsilon for row in rows]
    assert values == sorted(values)
    assert values[-1] < 10_000
    refused = group_report(Cost.approximate(2, 1e-6), 1e-6)[-1]
    assert refused.epsilon == INFINITY
    assert "leak" in refused.why


def test_group_number_of_the_paper_is_never_beaten_by_ours():
    """C-GRPDP: c_g((omega-1) omega rho + L) is an upper bound on what the report shows."""
    import math

    for people in (1, 3, 10, 30):
        spread = (10 / 9) ** people - 1
        printed = spread * (9 * 10 * 0.01 + math.log(1e6))
        ours = Cost.truncated("0.01", 10).for_group(people).epsilon_at(1e-6)
        assert float(ours) <= printed * (1 + 1e-9)


def test_the_part_that_cuts_everything_short_is_named():
    parts = {"histogram": Cost.concentrated("0.1"), "median": Cost.truncated("0.05", "2.24")}
    with pytest.warns(AccuracyWarning, match="'median'"):
        found = account(parts, 1e-6)
    assert found.culprit == "median"
    assert found.epsilon > 10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calm = account({**parts, "median": Cost.truncated("0.05", 20)}, 1e-6)
    assert calm.culprit is None
    assert calm.epsilon < 3
    assert truncating({"a": Cost.pure(1)}, 1e-6) is None
    assert account({}, 1e-6).total.is_zero
