"""LO-LIFE: what a device refuses by itself, limits by period, and both clients saying the same."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sfumato import Concentrated, Pure, domain, local
from sfumato.errors import AccuracyWarning, BudgetExceeded, LedgerError, ParameterError
from sfumato.local import device as device_module
from sfumato.local import trust
from sfumato.local.plan import Plan
from tests.local.test_browser import node, saved, site  # noqa: F401

ITEMS = domain.text(max_bytes=2)
with pytest.warns(AccuracyWarning, match=r"epsilon 8 on one plan, and this one takes 16.*at most Pure\(8\), or"):
    DEAR = local.plan(users=10**6, spend=Pure(16), items=ITEMS, seed=bytes(32))
FAIR = local.plan(users=10**6, spend=Pure(8), items=ITEMS, seed=bytes(32))
WEEK = local.plan(users=10**6, spend=Pure(4), items=ITEMS, seed=bytes(32), reports=4)


@pytest.fixture
def clock(monkeypatch):
    moment = {"now": datetime(2026, 11, 16, tzinfo=UTC)}
    for module in (trust, device_module):
        monkeypatch.setattr(module, "now", lambda: moment["now"])
    from sfumato.local import client

    monkeypatch.setattr(client, "now", lambda: moment["now"])
    return moment


class TestCap:
    def test_both_clients_refuse_what_is_dear_unless_they_are_told_otherwise(self, node, tmp_path):  # noqa: F811
        with pytest.raises(BudgetExceeded) as refusal:
            DEAR.client()
        told = node("refusals", {"texts": [saved(DEAR, tmp_path), saved(FAIR, tmp_path)], "options": {}})
        assert told == [str(refusal.value), None] and "16, more than the 8" in told[0]
        assert FAIR.client().report("a")
        assert DEAR.client(each=Pure(16)).report("a")
        assert node("refusals", {"texts": [saved(DEAR, tmp_path)], "options": {"mostEpsilon": 16}}) == [None]
        with pytest.raises(ParameterError, match="each= is a pure bound"):
            FAIR.client(each=Concentrated(1))

    def test_the_cap_is_compared_in_whole_numbers(self, node, tmp_path):  # noqa: F811
        """A plan of epsilon 2 fits 2, and not 2 - 1e-12, in both."""
        plan = local.plan(users=10**6, spend=Pure(2), items=ITEMS)
        few = node("refusals", {"texts": [saved(plan, tmp_path)] * 1, "options": {"mostEpsilon": "1.999999999999"}})
        assert "more than" in few[0]
        with pytest.raises(BudgetExceeded):
            plan.client(each=Pure("1.999999999999"))
        assert node("refusals", {"texts": [saved(plan, tmp_path)], "options": {"mostEpsilon": 2}}) == [None]

    def test_a_device_has_the_same_cap(self, tmp_path):
        with pytest.raises(BudgetExceeded, match="more than the 8"):
            DEAR.client(each=Pure(16)).remember(tmp_path / "memory", lifetime=Pure(100))


class TestPins:
    def test_only_pinned_plans_are_answered_where_there_are_pins(self, node, tmp_path):  # noqa: F811
        other = replace(FAIR, seed=local.Seed(bytes([1] * 32)))
        pins = [FAIR.digest.hex()]
        assert FAIR.client(pinned=pins).pinned and not FAIR.client().pinned
        with pytest.raises(ParameterError) as refusal:
            other.client(pinned=pins)
        texts = [saved(FAIR, tmp_path), saved(other, tmp_path)]
        assert node("refusals", {"texts": texts, "options": {"pinned": pins}}) == [None, str(refusal.value)]
        for wrong in ("text", ["short"], [7]):
            with pytest.raises(ParameterError, match="list of digests"):
                FAIR.client(pinned=wrong)


class TestDays:
    PLAN = local.plan(
        users=10**6,
        spend=Pure(2),
        items=ITEMS,
        seed=bytes(32),
        not_before="2026-11-01",
        not_after="2026-11-30",
        epoch="november",
    )

    def test_a_plan_is_answered_on_its_days_only_whatever_the_item(self, clock, tmp_path):
        device = self.PLAN.client().remember(tmp_path / "memory", lifetime=Pure(8))
        for day, answered in ((datetime(2026, 10, 31, tzinfo=UTC), False), (datetime(2026, 12, 1, tzinfo=UTC), False)):
            clock["now"] = day
            for item in ("a", None, object()):
                with pytest.raises(ParameterError, match="do not answer it"):
                    self.PLAN.client().report(item)
                with pytest.raises(ParameterError, match="do not answer it"):
                    device.report(item)
            assert not answered and device.spent.epsilon == 0
        clock["now"] = datetime(2026, 11, 30, 23, 59, tzinfo=UTC)
        assert device.report("a") and device.left == 0

    @pytest.mark.parametrize("drawn", [0, 4000, 10**9])
    def test_both_clients_draw_the_same_moment_to_send(self, clock, node, tmp_path, drawn):  # noqa: F811
        """Evenly over the seconds that are left, on days of the plan only, whatever happens on the device."""
        moments = [
            "2026-10-30T07:00:00.250Z",
            "2026-11-16T12:00:00.001Z",
            "2026-11-30T23:59:00Z",
            "2026-12-01T00:00:00Z",
        ]
        bounds, told = [], []

        class Drawn:
            def uniform(self, bound):
                bounds.append(bound)
                return min(drawn, bound - 1)

        for moment in moments:
            clock["now"] = datetime.fromisoformat(moment)
            try:
                sent = self.PLAN.client().moment(within=timedelta(hours=2), noise=Drawn())
                told.append(sent.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
            except ParameterError as refusal:
                told.append(str(refusal))
        asked = {"plan": saved(self.PLAN, tmp_path), "moments": moments, "seconds": 7200, "drawn": drawn}
        assert node("moments", asked) == {"told": told, "bounds": bounds}
        assert bounds == [7200, 7200, 60] and "until 2026-11-30" in told[3]
        expected = ["2026-11-01T00:00:00.000Z", "2026-11-16T12:00:01.000Z", "2026-11-30T23:59:00.000Z"]
        assert told[:3] == expected or drawn
        for wrong in (timedelta(0), 7200, None):
            with pytest.raises(ParameterError, match="write within=timedelta"):
                self.PLAN.client().moment(wrong)

    def test_it_is_part_of_the_digest_and_both_clients_read_it(self, node, tmp_path):  # noqa: F811
        again = Plan.from_json(json.loads(json.dumps(self.PLAN.to_json())))
        assert again == self.PLAN and self.PLAN.to_json()["format"] == 2
        bare = replace(self.PLAN, valid=trust.Validity())
        assert bare.to_json()["format"] == 1 and bare.digest != self.PLAN.digest
        assert node(
            "refusals", {"texts": [saved(self.PLAN, tmp_path)], "options": {"pinned": [self.PLAN.digest.hex()]}}
        ) == [None]
        assert "november" in str(self.PLAN)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"not_before": "2026-13-01"},
            {"not_after": "tomorrow"},
            {"not_before": 7},
            {"not_before": "2026-02-01", "not_after": "2026-01-01"},
            {"epoch": ""},
            {"epoch": "x" * 100},
        ],
    )
    def test_mistakes_are_refused(self, wrong):
        with pytest.raises(ParameterError):
            local.plan(users=1000, spend=Pure(1), candidates=["a", "b"], **wrong)


class TestPeriods:
    def test_a_month_has_its_own_limit_within_the_lifetime(self, clock, tmp_path):
        device = WEEK.client().remember(tmp_path / "memory", lifetime=Pure(8), period=("month", Pure(2)))
        assert device.left == 2
        device.report("a")
        device.report("a")
        for item in ("a", None):
            with pytest.raises(BudgetExceeded, match="for one month"):
                device.report(item)
        clock["now"] += timedelta(days=40)
        assert device.left == 2
        device.report("a")
        # A clock that goes back opens no new month: the latest one stays.
        clock["now"] -= timedelta(days=400)
        device.report("a")
        with pytest.raises(BudgetExceeded, match="sent 4 of 4"):
            device.report("a")
        assert device.spent.epsilon <= 4

    def test_a_clock_that_goes_back_gives_no_fresh_budget(self, clock, tmp_path):
        device = WEEK.client().remember(tmp_path / "memory", lifetime=Pure(8), period=("day", Pure(1)))
        device.report("a")
        clock["now"] -= timedelta(days=40)
        with pytest.raises(BudgetExceeded, match="for one day"):
            device.report("a")

    def test_the_lifetime_stays_the_guarantee(self, clock, tmp_path):
        device = WEEK.client().remember(tmp_path / "memory", lifetime=Pure(2), period=("week", Pure(1)))
        for _ in range(2):
            device.report("a")
            clock["now"] += timedelta(days=7)
        with pytest.raises(BudgetExceeded, match="of the device's Pure\\(2\\) only"):
            device.report("a")

    def test_limits_are_fixed_and_damage_sends_nothing(self, clock, tmp_path):
        WEEK.client().remember(tmp_path / "memory", lifetime=Pure(8), period=("month", Pure(2)))
        for period in (None, ("month", Pure(3)), ("day", Pure(2))):
            with pytest.raises(ParameterError, match=r"write period=\('month', Pure\(2\)\)"):
                WEEK.client().remember(tmp_path / "memory", lifetime=Pure(8), period=period)
        for wrong in (("year", Pure(1)), "month", ("month", 3)):
            with pytest.raises(ParameterError):
                WEEK.client().remember(tmp_path / "other", lifetime=Pure(8), period=wrong)
        record = json.loads((tmp_path / "memory").read_text())
        record["period"]["spent"] = "-1"
        (tmp_path / "memory").write_text(json.dumps(record))
        with pytest.raises(LedgerError):
            WEEK.client().remember(tmp_path / "memory", lifetime=Pure(8), period=("month", Pure(2)))

    def test_the_browser_keeps_the_same_periods(self, node, tmp_path):  # noqa: F811
        moments = ["2026-11-16T12:00:00Z", "2026-12-31T12:00:00Z", "2027-01-01T12:00:00Z", "2024-12-30T00:00:00Z"]
        asked = {"plan": saved(WEEK, tmp_path), "moments": [moments[0]] * 3 + [moments[1], "2025-01-01T00:00:00Z"]}
        told = node("periods", {**asked, "period": ["month", 2], "lifetime": 8})
        assert [isinstance(one, int) for one in told] == [True, True, False, True, True]
        assert "in one month is used up" in told[2]
        for kind in trust.PERIODS:
            names = node("period names", {"plan": asked["plan"], "kind": kind, "moments": moments})
            assert names == [trust.period_of(kind, datetime.fromisoformat(moment)) for moment in moments]


def test_a_mean_without_steps_is_refused_by_both(node, tmp_path):  # noqa: F811
    plan = local.plan(users=10**6, spend=Pure(1), numbers=domain.integers(0, 5), seed=bytes(32))
    record = json.loads(saved(plan, tmp_path))
    del record["tag"]
    record["items"]["high"] = record["items"]["low"]
    record["method"]["oracle"]["steps"] = 0
    with pytest.raises(ParameterError, match="steps must be"):
        Plan.from_json(record)
    assert "steps must be" in node("refusals", {"texts": [json.dumps(record)], "options": {}})[0]
