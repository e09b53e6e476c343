"""A device that remembers, and plans that say what cannot be found."""

from __future__ import annotations

import json
import os
import time
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

import sfumato as sf
from sfumato import Concentrated, Noise, Pure, domain, local
from sfumato.bounds import local_count_floor
from sfumato.errors import AccuracyWarning, BudgetExceeded, LedgerError, ParameterError
from tests.local.collecting import COLOURS, PLAN

WEEK = local.plan(users=1000, spend=Pure(7), candidates=["red", "green", "blue"], reports=7, seed=bytes(32))


class TestDevice:
    def test_it_answers_a_plan_as_often_as_the_plan_says(self, tmp_path):
        device = WEEK.client().remember(tmp_path / "memory", lifetime=Pure(10))
        assert device.left == 7
        for _ in range(7):
            assert WEEK.server().ingest(device.report("red")) == 1
        assert device.left == 0 and device.spent.epsilon <= 7
        # Another process, another copy of the plan: the same device.
        again = local.Plan.from_json(WEEK.to_json()).client().remember(tmp_path / "memory", lifetime=Pure(10))
        for item in ("red", None, object()):
            with pytest.raises(BudgetExceeded, match="sent 7 of 7 reports"):
                again.report(item)

    def test_its_life_has_one_limit_for_all_plans(self, tmp_path):
        first = COLOURS.client().remember(tmp_path / "memory", lifetime=Pure(2))
        first.report("red")
        # The same questions under fresh seeds cost again.
        for number in range(2):
            other = replace(COLOURS, seed=local.Seed(bytes([number]) * 32))
            device = other.client().remember(tmp_path / "memory", lifetime=Pure(2))
            if number:
                assert device.left == 0
                with pytest.raises(BudgetExceeded, match="only epsilon"):
                    device.report("red")
            else:
                device.report("blue")
        assert first.spent.epsilon <= 2
        assert first.spent.epsilon == 2 * COLOURS.client().loss().person.epsilon

    def test_one_plan_has_a_limit_of_its_own(self, tmp_path):
        with pytest.raises(BudgetExceeded, match="do not answer it"):
            PLAN.client().remember(tmp_path / "memory", lifetime=Pure(100), each=Pure(2))
        assert not (tmp_path / "memory").exists()
        assert PLAN.client().remember(tmp_path / "memory", lifetime=Pure(100), each=Pure(4)).left == 1

    def test_the_limit_is_fixed_when_the_file_is_made(self, tmp_path):
        COLOURS.client().remember(tmp_path / "memory", lifetime=Pure(2))
        with pytest.raises(ParameterError, match=r"write lifetime=Pure\(2\)"):
            COLOURS.client().remember(tmp_path / "memory", lifetime=Pure(20))

    @pytest.mark.parametrize("lifetime", [3, Concentrated(1)])
    def test_other_limits_are_refused(self, tmp_path, lifetime):
        with pytest.raises(ParameterError, match="Pure"):
            COLOURS.client().remember(tmp_path / "memory", lifetime=lifetime)

    def test_a_report_is_charged_before_it_is_made(self, tmp_path, monkeypatch):
        device = COLOURS.client().remember(tmp_path / "memory", lifetime=Pure(1))
        with monkeypatch.context() as patched:
            patched.setattr(local.Client, "run", lambda *_: (_ for _ in ()).throw(RuntimeError("the end")))
            with pytest.raises(RuntimeError):
                device.report("red")
        assert device.left == 0
        # And if it cannot be charged, nothing leaves.
        other = COLOURS.client().remember(tmp_path / "other", lifetime=Pure(1))
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("full")))
            with pytest.raises(OSError, match="full"):
                other.report("red")
        assert other.left == 1

    @pytest.mark.parametrize(
        "damage",
        [
            "",
            "[]",
            "{}",
            '{"format": 2, "lifetime": "1", "plans": {}}',
            '{"format": 1, "lifetime": "1/0", "plans": {}}',
            '{"format": 1, "lifetime": "1", "plans": {"x": {"reports": -1, "epsilon": "0"}}}',
            '{"format": 1, "lifetime": "1", "plans": {"x": {"reports": 1, "epsilon": "-5"}}}',
            '{"format": 1, "lifetime": "1", "plans": []}',
        ],
    )
    def test_a_damaged_memory_sends_nothing(self, tmp_path, damage):
        device = COLOURS.client().remember(tmp_path / "memory", lifetime=Pure(1))
        (tmp_path / "memory").write_text(damage)
        with pytest.raises(LedgerError, match="nothing is sent"):
            device.report("red")

    def test_its_reports_are_those_of_the_client(self, tmp_path):
        device = WEEK.client().remember(tmp_path / "memory", lifetime=Pure(7))
        assert device.report("red", Noise(insecure_seed=4)) == WEEK.client().report("red", Noise(insecure_seed=4))
        assert json.loads((tmp_path / "memory").read_text())["plans"][WEEK.digest.hex()]["reports"] == 1


class TestFloors:
    def test_the_floor_is_that_of_the_whole_spend_and_below_what_a_plan_finds(self):
        for plan in (PLAN, COLOURS, WEEK):
            assert plan.floor == pytest.approx(local_count_floor(plan.users, plan.spend.epsilon).value / plan.users)
            assert 0 < plan.floor < plan.detectable
        assert f"{PLAN.floor:.3%}" in str(PLAN) and "No protocol can find" in str(PLAN)

    def test_a_share_that_no_protocol_finds_is_told(self):
        with pytest.warns(AccuracyWarning, match="no protocol can find a share below") as told:
            local.plan(users=100_000, spend=Pure(1), items=domain.integers(0, 2**16 - 1), wanted="0.0005")
        assert told[0].filename == __file__
        needed = int(str(told[0].message).split("at least ")[1].split()[0])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            enough = local.plan(users=needed, spend=Pure(1), items=domain.integers(0, 2**16 - 1), wanted="0.0005")
        assert enough.detectable <= 0.0005

    def test_a_share_that_this_plan_does_not_find_is_told(self):
        with pytest.warns(AccuracyWarning, match="this plan finds shares from"):
            local.plan(users=100_000, spend=Pure(1), candidates=range(100), wanted="0.01")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            local.plan(users=100_000, spend=Pure(1), candidates=range(100), wanted="0.1")

    def test_a_list_for_too_few_is_told(self):
        with pytest.warns(AccuracyWarning, match="not even a candidate that everybody holds"):
            local.plan(users=5, spend=Pure(1), candidates=["a", "b"])

    @pytest.mark.parametrize("wanted", [0, 1, 2, "x"])
    def test_what_is_no_share_is_refused(self, wanted):
        with pytest.raises(ParameterError):
            local.plan(users=1000, spend=Pure(1), candidates=["a", "b"], wanted=wanted)

    def test_the_smallest_number_of_users_is_nearly_the_smallest(self):
        def asked(users: int) -> local.Plan:
            return local.plan(users=users, spend=Pure(2), items=sf.text(max_bytes=3))

        with pytest.raises(ParameterError, match="at least") as refusal:
            asked(300)
        needed = int(str(refusal.value).split("at least ")[1].split()[0])
        assert asked(needed).detectable <= 0.25
        with pytest.raises(ParameterError, match="at least"):
            asked(int(0.98 * needed))


class TestWhy:
    def test_a_saved_plan_says_why_and_keeps_its_digest(self, tmp_path: Path):
        assert PLAN.why
        again = local.read_plan(PLAN.save(tmp_path / "a.plan"))
        assert again.why == PLAN.why and again.digest == PLAN.digest and again == PLAN
        assert "why" not in PLAN.to_json() and "why" not in COLOURS.to_record()


class TestShown:
    FOUND = local.Popular(
        tuple(local.PopularItem(value, 0.1, 0.01, 9.0) for value in ("a$b$", "字", "x\ny", b"z", 3, "<b>")), 0.05, 99
    )

    def test_any_item_can_be_drawn(self, tmp_path):
        assert self.FOUND.plot(tmp_path / "a.svg").svg() == (tmp_path / "a.svg").read_text()
        assert "&lt;b&gt;" in self.FOUND.html() and "<b>" not in self.FOUND.html().split("<svg")[0]
        assert self.FOUND._repr_html_() == self.FOUND.html()
        json.dumps(self.FOUND.to_json())

    def test_long_and_empty_lists(self):
        many = replace(self.FOUND, items=self.FOUND.items * 20)
        assert "the first 40" in many.plot().title and many.html().count("<tr>") == 41
        empty = replace(self.FOUND, items=())
        assert "0 items" in empty.html()
        with pytest.raises(ParameterError, match="nothing to draw"):
            empty.plot()

    def test_shares_are_shown_too(self):
        server = COLOURS.server()
        server.ingest(COLOURS.client().reports(["red"] * 100, Noise(insecure_seed=1)))
        assert "green" in server.shares().html()


def test_an_unlisted_item_costs_as_little_as_a_listed_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a report takes must not tell whether the item is on the list, nor may a device pay for it."""
    plan = local.plan(users=1000, spend=Pure(4), candidates=[f"application-{n}" for n in range(1000)])

    def refused(*_: object) -> str:
        raise AssertionError("a device looked for a suggestion")

    with monkeypatch.context() as patched:
        patched.setattr("sfumato.domain.labels.nearest", refused)
        assert plan.items.code("application-7") == 7
        assert plan.items.code("application-x") is None and plan.items.code(True) is None

    def seconds(items: list[str]) -> float:
        start = time.process_time()
        for item in items:
            plan.items.code(item)
        return time.process_time() - start

    listed, others = ([f"application-{letter}{n}" for n in range(1000)] for letter in ("", "x"))
    assert min(seconds(others) for _ in range(5)) < 5 * min(seconds(listed) for _ in range(5))
    with pytest.raises(ParameterError, match="is none of the categories"):
        plan.check("application-x")
