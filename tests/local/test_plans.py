"""Plans, clients, servers: what a user holds."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato import Approximate, Concentrated, Noise, Pure, domain, local
from sfumato.errors import DomainTooLarge, ParameterError, SketchError, UnsupportedSpend
from sfumato.local.vectors import SHIPPED, vectors

SEED = bytes(range(32))
NUMBERS = local.plan(users=100_000, spend=Pure(4), items=domain.integers(0, 2**24 - 1), seed=SEED)
COLOURS = local.plan(users=1000, spend=Pure(1), candidates=["red", "green", "blue"], seed=SEED)


class TestPlans:
    def test_the_loss_is_below_the_spend_and_nearly_all_of_it(self):
        epsilon = NUMBERS.loss().person.epsilon
        assert Fraction(4) - Fraction(1, 2**50) < epsilon <= 4

    def test_reports_compose(self):
        weekly = local.plan(users=100_000, spend=Pure(7), items=domain.integers(0, 2**24 - 1), reports=7, seed=SEED)
        assert weekly.client().loss().person.epsilon <= 1
        assert weekly.loss().person.epsilon <= 7
        assert weekly.loss().person.epsilon == 7 * weekly.client().loss().person.epsilon

    @pytest.mark.parametrize("made", [NUMBERS, COLOURS], ids=["tree", "list"])
    def test_json_comes_back_with_the_same_digest(self, made, tmp_path):
        again = local.Plan.from_json(json.loads(json.dumps(made.to_json())))
        assert again == made and again.digest == made.digest
        made.save(tmp_path / "a.plan")
        assert local.read_plan(tmp_path / "a.plan") == made

    def test_a_plan_whose_coins_spend_more_than_it_says_is_refused(self):
        record = json.loads(json.dumps(NUMBERS.to_json()))
        record["method"]["oracle"]["weight"] = str(int(record["method"]["oracle"]["weight"]) * 9 // 10)
        with pytest.raises(ParameterError, match="do not use it"):
            local.Plan.from_json(record)

    @pytest.mark.parametrize(
        "spoil", [{"format": 2}, {"seed": "00"}, {"items": {"type": "x"}}, {"method": {}}, {"spend": 3}]
    )
    def test_a_spoiled_plan_is_refused(self, spoil):
        with pytest.raises(ParameterError):
            local.Plan.from_json({**NUMBERS.to_json(), **spoil})

    def test_what_is_no_plan_file_is_refused(self, tmp_path):
        (tmp_path / "a.plan").write_text("hello")
        with pytest.raises(ParameterError, match="no plan"):
            local.read_plan(tmp_path / "a.plan")

    def test_too_few_users_are_told_how_many_would_do(self):
        with pytest.raises(ParameterError, match="at least") as refusal:
            local.plan(users=500, spend=Pure(1), items=domain.text(max_bytes=24))
        needed = int(str(refusal.value).split("at least ")[1].split()[0])
        assert local.plan(users=needed, spend=Pure(1), items=domain.text(max_bytes=24)).detectable <= 0.25

    @pytest.mark.parametrize(
        ("wrong", "error"),
        [
            ({"spend": 2}, ParameterError),
            ({"spend": Pure(0)}, ParameterError),
            ({"spend": Pure(100)}, ParameterError),
            ({"spend": Pure(2).per_attribute()}, UnsupportedSpend),
            ({"spend": Concentrated(1)}, UnsupportedSpend),
            ({"spend": Approximate(1, 1e-6)}, UnsupportedSpend),
            ({"users": 0}, ParameterError),
            ({"users": 1.5}, ParameterError),
            ({"reports": 0}, ParameterError),
            ({"items": None}, ParameterError),
            ({"items": "text"}, ParameterError),
            ({"candidates": ["a"]}, ParameterError),
            ({"items": None, "candidates": []}, ParameterError),
            ({"items": None, "candidates": range(2**20 + 1)}, DomainTooLarge),
            ({"items": None, "numbers": domain.text(max_bytes=3)}, ParameterError),
            ({"method": "guess"}, ParameterError),
            ({"false_items": 0}, ParameterError),
            ({"seed": b"short"}, ParameterError),
        ],
    )
    def test_public_mistakes_are_refused(self, wrong, error):
        asked = {"users": 100_000, "spend": Pure(4), "items": domain.integers(0, 2**24 - 1), **wrong}
        with pytest.raises(error):
            local.plan(**asked)

    def test_check_says_why_an_item_does_not_fit(self):
        assert NUMBERS.check(7) == 7
        with pytest.raises(ParameterError, match="16777216"):
            NUMBERS.check(2**24)
        words = local.plan(users=100_000, spend=Pure(4), items=sf.text(max_bytes=4), seed=SEED)
        assert words.check("ab") == "ab"
        with pytest.raises(ParameterError, match="longer"):
            words.check("abcde")

    def test_detectable_shares_follow_the_square_root_law(self):
        def at(users, epsilon, bits):
            return local.plan(users=users, spend=Pure(epsilon), items=domain.integers(0, 2**bits - 1)).detectable

        for epsilon, share in ((1, 0.022), (2, 0.0098), (4, 0.0033)):
            assert at(10**6, epsilon, 64) == pytest.approx(share, rel=0.06)
        assert at(10**7, 1, 64) / at(10**6, 1, 64) == pytest.approx(math.sqrt(0.1), rel=0.1)
        assert 1.3 < at(10**6, 2, 128) / at(10**6, 2, 64) < 1.5
        assert NUMBERS.detectable_at(0.99) > NUMBERS.detectable > NUMBERS.detectable_at(0.5)

    def test_the_plan_says_what_it_does(self):
        assert "found with probability 90%" in str(NUMBERS) and "98.3 %" in str(NUMBERS)


class TestClients:
    @pytest.mark.parametrize("item", [5, None, "five", 2**24, -1, 5.5, float("nan"), b"x", [1], object()])
    def test_every_item_sends_a_report_of_the_same_size(self, item):
        report = NUMBERS.client().report(item)
        assert len(report) == NUMBERS.report_bytes
        assert NUMBERS.server().ingest(report) == 1

    def test_many_reports_are_one_by_one_in_law(self):
        from scipy.stats import chi2_contingency

        client, count = COLOURS.client(), 20_000
        noise = Noise(insecure_seed=1)
        single, bulk = COLOURS.server(), COLOURS.server()
        single.ingest(client.report(item, noise) for item in ["red", None] * (count // 2))
        bulk.ingest(client.reports(["red", None] * (count // 2), noise))
        assert chi2_contingency([single.counts, bulk.counts]).pvalue > 1e-6

    def test_tree_reports_in_bulk_speak_for_the_same_points(self):
        # Without noise the reports of one item, alone or in bulk, lie in the same sets.
        oracle = replace(NUMBERS.method.oracle, weight=1)
        loud = replace(NUMBERS, method=replace(NUMBERS.method, oracle=oracle), spend=Pure(60))
        rows = loud.client(each=Pure(60)).reports([77] * 3000, Noise(insecure_seed=2))
        for row in rows[:300]:
            value = loud.wire.read(row.tobytes())
            role, report = divmod(value, oracle.outcomes)
            assert oracle.place(loud.encoder.point(77, role), report) == report

    def test_roles_do_not_depend_on_items(self):
        noise = lambda: Noise(insecure_seed=3)  # noqa: E731
        client = NUMBERS.client()
        roles = [
            [NUMBERS.wire.read(client.report(item, stream)) // NUMBERS.even for stream in [noise()] for _ in range(50)]
            for item in (1, 2**24 - 1, None)
        ]
        assert roles[0] == roles[1] == roles[2]

    def test_the_event_holds_the_plan(self):
        assert NUMBERS.client().event().to_json()["parameters"]["plan"]["users"] == 100_000


class TestWire:
    def test_the_shipped_vectors_are_those_of_this_code(self):
        assert json.loads(SHIPPED.read_text()) == json.loads(json.dumps(vectors()))

    def test_refusals_are_counted_and_change_nothing(self):
        server = NUMBERS.server()
        good = NUMBERS.client().report(1)
        bad = {
            "length": [b"", good[:-1], good + b"x", "text", None, 7, object()],
            "version": [b"\x02" + good[1:], b"\xff" * len(good)],
            "plan": [good[:1] + b"\x00\x00\x00\x01" + good[5:], bytes([1]) * len(good)],
            "value": [good[:5] + b"\xff" * (len(good) - 5)],
        }
        for reports in bad.values():
            assert server.ingest(reports) == 0
        assert not server.counts.any() and server.accepted == 0
        assert vars(server.refused) == {name: len(reports) for name, reports in bad.items()}
        assert server.ingest(good) == server.ingest([good]) == server.ingest(bytearray(good)) == 1
        assert server.refused.total == 12

    def test_random_bytes_never_crash_and_both_ways_agree(self):
        noise = Noise(insecure_seed=9)
        for plan in (NUMBERS, COLOURS):
            width = plan.report_bytes
            rows = noise.uniform(256, 20_000 * width).astype(np.uint8).reshape(-1, width)
            rows[::2, 0] = 1
            rows[::4, 1:5] = np.frombuffer(plan.wire.tag, dtype=np.uint8)
            rows[::8, 5:] = 0
            fast, slow = plan.server(), plan.server()
            fast.ingest(rows)
            slow.ingest([row.tobytes() for row in rows])
            assert (fast.counts == slow.counts).all() and fast.refused == slow.refused
            assert 2500 <= fast.accepted == slow.accepted and fast.accepted + fast.refused.total == len(rows)
            assert plan.server().ingest(rows[:, :-1]) == 0

    def test_reports_of_another_plan_are_refused(self):
        other = replace(NUMBERS, seed=local.Seed(bytes(32)))
        assert NUMBERS.server().ingest(other.client().reports([1, 2, 3], Noise(insecure_seed=1))) == 0


class TestSketches:
    REPORTS = NUMBERS.client().reports(np.arange(5000) % 7, Noise(insecure_seed=4))

    def test_any_split_and_order_gives_the_same_file(self, tmp_path):
        whole = NUMBERS.server()
        whole.ingest(self.REPORTS)
        parts = [NUMBERS.server() for _ in range(3)]
        for number, part in enumerate(parts):
            part.ingest(self.REPORTS[::-1][number::3])
        parts[0].merge(parts[2])
        parts[1].merge(parts[0])
        whole.save(tmp_path / "a")
        parts[1].save(tmp_path / "b")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()

    def test_a_sketch_comes_back(self, tmp_path):
        server = NUMBERS.server()
        server.ingest(self.REPORTS)
        server.ingest(b"junk")
        again = local.load(server.save(tmp_path / "a.sketch"))
        assert (again.counts == server.counts).all() and again.refused == server.refused
        assert again.plan == server.plan and again.accepted == 5000

    def test_every_damage_is_found(self, tmp_path):
        server = COLOURS.server()
        server.ingest(COLOURS.client().reports(["red"] * 50, Noise(insecure_seed=1)))
        data = server.save(tmp_path / "a.sketch").read_bytes()
        for place in range(len(data)):
            (tmp_path / "b.sketch").write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
            with pytest.raises(SketchError):
                local.load(tmp_path / "b.sketch")
        for length in (0, 3, 40, len(data) - 1):
            (tmp_path / "b.sketch").write_bytes(data[:length])
            with pytest.raises(SketchError):
                local.load(tmp_path / "b.sketch")

    def test_sketches_of_other_plans_do_not_merge(self):
        server = NUMBERS.server()
        server.ingest(self.REPORTS)
        with pytest.raises(SketchError, match="same plan"):
            server.merge(COLOURS.server())
        with pytest.raises(SketchError, match="same plan"):
            server.merge("sketch")
        assert server.accepted == 5000


class TestLists:
    def test_shares_are_unbiased_and_cover(self):
        items = ["red"] * 6000 + ["blue"] * 4000
        outside = 0
        for seed in range(40):
            server = COLOURS.server()
            server.ingest(COLOURS.client().reports(items, Noise(insecure_seed=seed)))
            for item, truth in zip(server.shares(), (0.6, 0.0, 0.4), strict=True):
                low, high = item.interval(0.9)
                outside += not low <= truth <= high
        # 120 intervals at 90 %: more than 30 misses have a chance below 1e-6.
        assert outside <= 30
        assert [item.value for item in server.shares()] == ["red", "green", "blue"]
        assert {item.value for item in server.popular()} == {"red", "blue"}
        even = server.shares().consistent()
        assert sum(item.share for item in even) == pytest.approx(1) and min(item.share for item in even) >= 0

    def test_long_lists_use_linear_hashing(self):
        plan = local.plan(users=1000, spend=Pure(1), candidates=range(5000), seed=SEED)
        assert plan.method.oracle.kind == "linear"
        server = plan.server()
        server.ingest(plan.client().reports([17] * 30_000 + list(range(5000)) * 2, Noise(insecure_seed=2)))
        assert [item.value for item in server.popular()] == [17]

    def test_means_are_unbiased(self):
        plan = local.plan(users=1000, spend=Pure(1), numbers=sf.fixed(-10, 10, step=0.5), seed=SEED)
        misses = 0
        for seed in range(30):
            server = plan.server()
            server.ingest(plan.client().reports([-7.5] * 3000 + [4] * 6000 + [10] * 1000, Noise(insecure_seed=seed)))
            low, high = server.mean().interval(0.9)
            misses += not low <= 1.15 <= high
        assert misses <= 12
        assert server.mean().error < 0.3

    def test_each_plan_answers_its_own_question(self):
        with pytest.raises(ParameterError, match="popular"):
            NUMBERS.server().shares()
        with pytest.raises(ParameterError, match="popular"):
            COLOURS.server().mean()
