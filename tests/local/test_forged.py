"""LO-FORGED: what made-up reports can do, what is stated of it, and which of them are noticed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from sfumato import Noise, Pure, domain, local
from sfumato.errors import AccuracyWarning, ParameterError
from sfumato.local.all_reports import of_server, read_list, rows_of
from sfumato.local.check import role_test

PEOPLE = 100_000
ITEMS = domain.integers(0, 2**32 - 1)
PLAN = local.plan(users=PEOPLE, spend=Pure(1), items=ITEMS, seed=bytes(32))
REPORTS = PLAN.client().reports(np.arange(PEOPLE) * 40_009, Noise(insecure_seed=1))
TARGET = 12_345


def forged(plan, role, count, item=TARGET, seed=2):
    """Return reports of one role that all speak for an item, whatever a coin would say."""
    oracle = plan.method.roles[role].oracle
    drawn = Noise(insecure_seed=seed).uniform(oracle.outcomes, count)
    point = np.array([plan.encoder.point(item, role)] * count, dtype=np.int64)[:, : oracle.symbol_bits]
    return plan.wire.pack_many(plan.offsets[role] + oracle.place_many(point.astype(np.uint32), drawn))


def server_of(*reports, plan=PLAN):
    server = plan.server()
    for rows in reports:
        server.ingest(rows)
    return server


@pytest.mark.parametrize("role", [0, 2, len(PLAN.method.roles) - 1])
def test_a_forged_report_counts_no_more_than_is_stated_whatever_role_it_claims(role):
    count = PEOPLE // 1000
    before = server_of(REPORTS).estimate([TARGET])[0].share
    after = server_of(REPORTS, forged(PLAN, role, count)).estimate([TARGET])[0].share
    moved = (after - before) * PEOPLE / count
    assert 0.9 * PLAN.influence < moved < 1.05 * PLAN.influence and 3 < PLAN.influence < 3.5
    # A share of that one role alone, as it once was, would move by as much more as the role is smaller than all.
    part = PLAN.method.shares[role] / sum(PLAN.method.shares)
    alone = server_of(forged(PLAN, role, count))
    assert alone.estimate([TARGET])[0].share / part > 2 * PLAN.influence


@pytest.mark.parametrize("role", [0, 2])
def test_a_report_about_a_candidate_that_begins_like_another_one_counts_no_more(role):
    """Were the first role left out for both, each report in the others would count 1.28 times as much."""
    white, rest = PLAN.encoder.white, PLAN.items.bits - 16
    target, mate = (white.invert(7 << rest | first << rest - 1) for first in (0, 1))
    count = PEOPLE // 1000
    before = server_of(REPORTS).estimate([target, mate])
    after = server_of(REPORTS, forged(PLAN, role, count, target)).estimate([target, mate])
    most = before[0].influence
    moved, other = ((late.share - early.share) * PEOPLE / count for early, late in zip(before, after, strict=True))
    assert PLAN.influence < most < 1.1 * PLAN.influence
    assert 0.85 * PLAN.influence < moved < 1.05 * most and abs(other) < 1.05 * most


@pytest.mark.parametrize("method", ["soft", "bitstogram", "expander"])
def test_each_share_says_at_least_what_the_plan_says_whatever_the_method(method):
    """Only the last roles of some methods speak of whole items, and a share is of all reports."""
    plan = local.plan(users=20_000, spend=Pure(4), items=domain.integers(0, 2**20 - 1), method=method, seed=bytes(32))
    server = server_of(plan.client().reports(np.arange(20_000), Noise(insecure_seed=3)), plan=plan)
    assert server.estimate([5])[0].influence == pytest.approx(plan.influence, rel=0.15)


def test_the_plan_says_how_many_forged_reports_list_an_item():
    assert 0.001 < PLAN.forgeable < 0.1 and f"{PLAN.forgeable:.2%}" in str(PLAN)
    enough = round(1.6 * PLAN.forgeable * PEOPLE)
    shares = np.array(PLAN.method.shares[:-1]) / sum(PLAN.method.shares[:-1])
    spread = [forged(PLAN, role, round(enough * share)) for role, share in enumerate(shares)]
    assert TARGET in {item.value for item in server_of(REPORTS, *spread).popular()}
    few = [forged(PLAN, role, round(enough * share / 4)) for role, share in enumerate(shares)]
    assert TARGET not in {item.value for item in server_of(REPORTS, *few).popular()}
    assert local.plan(users=PEOPLE, spend=Pure(4), items=ITEMS, method="bitstogram").forgeable is None


def test_the_plan_says_how_many_forged_reports_list_a_candidate():
    part = PLAN.forgeable_listed(1000)
    assert 0.3 * PLAN.forgeable < part < 0.7 * PLAN.forgeable
    shares, candidates = np.array(PLAN.method.shares) / sum(PLAN.method.shares), [TARGET, *range(999)]
    for times, listed in ((0.4, False), (1.6, True)):
        count = times * part * PEOPLE
        spread = [forged(PLAN, role, round(count * share)) for role, share in enumerate(shares)]
        server = server_of(REPORTS, *spread)
        said = read_list(of_server(server), rows_of(server, candidates), 1000, PLAN.method.false_items * 0.9)
        assert bool(said.accepted[0]) == listed
    with pytest.raises(ParameterError, match="a list of its own"):
        local.plan(users=1000, spend=Pure(1), candidates=["a", "b"]).forgeable_listed(5)


class TestAlarms:
    def test_honest_reports_raise_none(self):
        check = server_of(REPORTS).check()
        assert check.alarms == () and check.roles is not None and check.roles.chance > 1e-4
        assert local.plan(users=10, spend=Pure(1), candidates=["a", "b"]).server().check().alarms == ()

    def test_of_a_thousand_honest_collections_none_is_said_to_be_forged(self):
        server, noise, chances = PLAN.server(), Noise(insecure_seed=5), []
        server.accepted = 10_000
        for _ in range(1000):
            roles = np.searchsorted(PLAN.turns, noise.uniform(PLAN.turns[-1], server.accepted), side="right") - 1
            # Only how many there are of each role is looked at.
            server.counts[np.array(PLAN.offsets[:-1])] = np.bincount(roles)
            test = role_test(server)
            assert not test.raised
            chances.append(test.chance)
        # They are as even as chances are, so one in a million is one in a million.
        assert 0.4 < np.mean(chances) < 0.6 and 0.02 < np.mean(np.array(chances) < 0.05) < 0.09

    def test_too_many_of_one_role_are_seen(self):
        server = server_of(REPORTS, forged(PLAN, len(PLAN.method.roles) - 1, 3 * PEOPLE // 200))
        assert server.check().roles.raised
        with pytest.warns(AccuracyWarning, match="not spread over the roles"):
            found = server.popular()
        assert "not spread" in found.check.alarms[0]
        # One in a thousand is not seen at this size, as the documentation says.
        few = server_of(REPORTS, forged(PLAN, len(PLAN.method.roles) - 1, PEOPLE // 1000))
        assert not few.check().roles.raised

    def test_an_item_with_support_from_some_roles_only_is_seen(self):
        plan = local.plan(users=PEOPLE, spend=Pure(4), items=ITEMS, seed=bytes(32))
        honest = plan.client().reports(np.arange(PEOPLE) * 40_009, Noise(insecure_seed=1))
        roles = range(len(plan.method.roles) - 1)
        fake = [forged(plan, role, 600 if role == 0 else 60) for role in roles]
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = server_of(honest, *fake, plan=plan).popular()
        if TARGET in {item.value for item in found}:
            assert any("some roles only" in str(one.message) for one in told)
        assert not server_of(honest, plan=plan).popular().check.items

    @pytest.mark.audit
    def test_reports_that_are_sent_again_and_again_are_seen(self):
        server = server_of(REPORTS, np.repeat(REPORTS[:1], 500, axis=0))
        assert any("repeat themselves" in alarm for alarm in server.check().alarms)

    def test_a_client_that_draws_roles_evenly_is_seen(self):
        """A faulty port: every role as often as any other."""
        plan = local.plan(users=10_000, spend=Pure(4), items=ITEMS, seed=bytes(32))
        noise = Noise(insecure_seed=3)
        roles = noise.uniform(len(plan.method.roles), 10_000)
        values = np.array(plan.offsets)[roles] + noise.uniform(plan.even, 10_000)
        assert server_of(plan.wire.pack_many(values), plan=plan).check().roles.raised
