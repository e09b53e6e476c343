"""What is written into a plan has an effect, or is refused with what to write instead."""

from __future__ import annotations

import json
import math
import unicodedata
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sfumato import Concentrated, Noise, Pure, domain, local
from sfumato.errors import AccuracyWarning, ParameterError
from sfumato.local.listed import list_method
from sfumato.local.plan import Plan
from sfumato.papers import heavy_hitters
from sfumato.privacy.coins import noise_weight

SEED = bytes(range(32))
BASE: dict[str, Any] = {"users": 100_000, "spend": Pure(4), "seed": SEED}
NUMBERS = domain.integers(0, 2**24 - 1)
MEAN = local.plan(users=1000, spend=Pure(1), numbers=domain.integers(0, 60), seed=SEED)
COLOURS = local.plan(users=1000, spend=Pure(1), candidates=["red", "green", "blue"], seed=SEED)


class TestFalseItems:
    def test_a_list_keeps_what_it_was_told(self) -> None:
        usual = local.plan(**BASE, candidates=range(100))
        strict = local.plan(**BASE, candidates=range(100), false_items=0.0001)
        assert "false_items" not in usual.to_json()["method"]
        assert strict.to_json()["method"]["false_items"] == 0.0001
        again = Plan.from_json(json.loads(json.dumps(strict.to_json())))
        assert again == strict and again.digest == strict.digest != usual.digest
        assert strict.detectable > 1.2 * usual.detectable
        assert local.plan(**BASE, candidates=range(100), false_items=0.05).digest == usual.digest

    def test_the_list_is_cut_as_the_plan_says(self) -> None:
        loose, strict = (
            local.plan(users=1000, spend=Pure(1), candidates=range(40), seed=SEED, false_items=chance)
            for chance in (0.9999, 1e-9)
        )
        found = []
        for plan in (loose, strict):
            server = plan.server()
            server.ingest(plan.client().reports([3] * 400 + [None] * 600, Noise(insecure_seed=4)))
            assert server.popular() == server.shares().popular() == server.popular(plan.method.false_items)
            found.append({item.value for item in server.popular()})
        assert 3 in found[0] and found[1] < found[0]

    def test_false_items_of_a_list_are_checked_when_it_is_read(self) -> None:
        record = COLOURS.to_json()
        for wrong in (0, 1, -1, float("nan"), "x"):
            with pytest.raises(ParameterError):
                Plan.from_json({**record, "method": {**record["method"], "false_items": wrong}})

    @pytest.mark.parametrize("wrong", [0, 1, -1, 2, float("nan"), float("inf"), "x", None, [], True])
    def test_it_lies_between_zero_and_one_everywhere(self, wrong: Any) -> None:
        server = COLOURS.server()
        if wrong is not None:
            for ask in (server.popular, server.shares().popular):
                with pytest.raises(ParameterError, match="false_items"):
                    ask(wrong)
            with pytest.raises(ParameterError, match="false_items"):
                local.plan(**BASE, items=NUMBERS, false_items=wrong)
        with pytest.raises(ParameterError, match="probability"):
            COLOURS.detectable_at(wrong)

    def test_what_has_no_effect_is_refused(self) -> None:
        made = heavy_hitters.bitstogram_method(Pure(4), 24, 100_000)
        for wrong in (
            {"candidates": ["a", "b"], "method": "soft"},
            {"numbers": NUMBERS, "method": "soft"},
            {"candidates": ["a", "b"], "method": made},
            {"numbers": NUMBERS, "false_items": 0.1},
            {"items": NUMBERS, "method": made, "false_items": 0.1},
        ):
            with pytest.raises(ParameterError, match="leave"):
                local.plan(**BASE, **wrong)  # type: ignore[arg-type]
        assert local.plan(**BASE, items=NUMBERS, method=made, false_items=0.05).method is made


class TestCandidates:
    def test_text_is_composed_so_that_devices_can_say_it(self) -> None:
        apart = unicodedata.normalize("NFD", "naïve")
        plan = local.plan(users=1000, spend=Pure(8), candidates=[apart, "plain"], seed=SEED)
        for spelling in (apart, "naïve"):
            server = plan.server()
            server.ingest(plan.client().reports([spelling] * 1000, Noise(insecure_seed=1)))
            assert [item.value for item in server.popular()] == ["naïve"]
            assert plan.check(spelling) == "naïve"

    def test_two_spellings_of_one_text_are_one_candidate(self) -> None:
        with pytest.raises(ParameterError, match="twice"):
            local.plan(**BASE, candidates=["é", "e\u0301"])

    def test_categories_that_nobody_could_report_are_refused(self) -> None:
        with pytest.raises(ParameterError, match="NFC"):
            local.plan(**BASE, items=domain.categories("e\u0301", "b"))

    def test_one_text_is_no_list(self) -> None:
        with pytest.raises(ParameterError, match=r"write \['abc'\]"):
            local.plan(**BASE, candidates="abc")
        for wrong in (b"abc", 7):
            with pytest.raises(ParameterError, match="candidates= is a list"):
                local.plan(**BASE, candidates=wrong)  # type: ignore[arg-type]


class TestQuestions:
    @pytest.mark.parametrize(
        ("plan", "ask", "instead"),
        [
            (MEAN, "popular", "mean()"),
            (MEAN, "shares", "mean()"),
            (COLOURS, "mean", "shares()"),
            (local.plan(**BASE, items=NUMBERS), "shares", "popular()"),
            (local.plan(**BASE, items=NUMBERS), "mean", "popular()"),
        ],
    )
    def test_a_wrong_question_is_told_the_right_one(self, plan: Plan, ask: str, instead: str) -> None:
        with pytest.raises(ParameterError) as refusal:
            getattr(plan.server(), ask)()
        assert f"{ask}()" not in str(refusal.value) and instead in str(refusal.value)

    def test_a_mean_has_no_shares_of_items(self) -> None:
        with pytest.raises(ParameterError, match=r"mean\(\)"):
            MEAN.server().estimate([1])

    def test_what_is_no_text_is_not_called_too_long(self) -> None:
        words = local.plan(**BASE, items=domain.text(max_bytes=4))
        with pytest.raises(ParameterError, match="no UTF-8"):
            words.check("\ud800")
        with pytest.raises(ParameterError, match="longer"):
            words.check("abcde")


class TestAccuracy:
    def test_a_mean_of_too_few_is_told_how_many_it_takes(self) -> None:
        with pytest.warns(AccuracyWarning, match="plan for at least") as told:
            local.plan(users=1, spend=Pure("0.01"), numbers=domain.integers(0, 60))
        needed = int(str(told[0].message).split("at least ")[1].split()[0])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            local.plan(users=needed, spend=Pure("0.01"), numbers=domain.integers(0, 60))
        with pytest.warns(AccuracyWarning):
            local.plan(users=needed - 1, spend=Pure("0.01"), numbers=domain.integers(0, 60))

    def test_only_who_wants_a_share_is_told_to_want_less(self) -> None:
        with pytest.warns(AccuracyWarning) as told:
            local.plan(users=2, spend=Pure(1), candidates=range(100))
            local.plan(users=1000, spend=Pure(1), candidates=range(100), wanted=0.01)
        listed, wanted = (str(one.message) for one in told)
        assert "want less" not in listed and listed.endswith("users, or spend more.")
        assert wanted.endswith("users, spend more, or want less.")
        with pytest.raises(ParameterError, match="users, spend more, or allow shorter items"):
            local.plan(users=500, spend=Pure(1), items=domain.text(max_bytes=24))


class TestTypes:
    def test_nobody_plans_for_more_people_than_there_are(self) -> None:
        with pytest.raises(ParameterError, match="users is at most"):
            local.plan(users=10**30, spend=Pure(1), candidates=["a", "b"])

    @pytest.mark.parametrize("wrong", [("guess", 3), ("best", 0), ("best", -5), ("best", "3"), (None, 3), ([], 3)])
    def test_lists_are_made_of_numbers_and_known_oracles(self, wrong: Any) -> None:
        with pytest.raises(ParameterError):
            list_method(Pure(1), wrong[1], wrong[0])

    @pytest.mark.parametrize("spread", [0, -2, 1.5, "2", None])
    def test_the_spread_of_a_coin_is_a_number_above_zero(self, spread: Any) -> None:
        with pytest.raises(ParameterError, match="spread"):
            noise_weight(Fraction(1), spread)

    def test_the_epsilon_of_a_coin_is_exact(self) -> None:
        assert noise_weight(1, 2) == noise_weight(Fraction(1), 2)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="epsilon must be a number"):
            noise_weight(Pure(1), 2)  # type: ignore[arg-type]

    def test_refusals_say_what_to_write(self) -> None:
        record = COLOURS.to_json()
        with pytest.raises(ParameterError, match=r"Write for example Pure\(2\)"):
            local.plan(users=10, spend=Pure(100), candidates=["a", "b"])
        with pytest.raises(ParameterError, match="make the plan again"):
            Plan.from_json({**record, "format": 3})
        with pytest.raises(ParameterError, match=r"spend=Pure\(2\)"):
            Plan.from_json({**record, "spend": Concentrated(1).to_json()})
        with pytest.raises(ParameterError, match=r"take what Plan.save wrote"):
            Plan.from_json({**record, "method": {}})

    def test_detectable_shares_grow_with_the_probability(self) -> None:
        assert COLOURS.detectable_at("0.5") < COLOURS.detectable_at(0.9) and math.isfinite(COLOURS.detectable)


class TestMemory:
    @pytest.mark.parametrize(
        "asked",
        [
            {"items": NUMBERS, "spend": Pure(6), "method": "soft"},
            {"items": NUMBERS, "method": "prefix"},
            {"items": NUMBERS, "method": "bitstogram"},
            {"candidates": range(8_000)},
        ],
        ids=lambda asked: asked.get("method", "list"),
    )
    def test_decoding_takes_what_the_plan_says(self, asked: dict[str, Any]) -> None:
        import tracemalloc

        plan = local.plan(**{**BASE, **asked})
        server = plan.server()
        server.ingest(plan.client().reports(np.arange(50_000) % 5, Noise(insecure_seed=1)))
        server.popular()
        tracemalloc.start()
        server.popular()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= plan.decoding_bytes <= 2.5 * peak
        assert f"at most {plan.decoding_bytes / 2**20:.0f} MiB more" in str(plan)


class TestOneSentence:
    """Each mistake says what to write instead."""

    @pytest.mark.parametrize("spend", [4, 4.5, (4, 1e-6)])
    def test_a_bare_spend_is_pure(self, spend: object) -> None:
        with pytest.raises(ParameterError, match=r"write .*Pure\(") as told:
            local.plan(users=1000, spend=spend, candidates=["a", "b"])  # type: ignore[arg-type]
        assert "Concentrated" not in str(told.value) and "Approximate" not in str(told.value)

    def test_a_candidate_that_stands_twice_is_named_with_its_places(self) -> None:
        with pytest.raises(ParameterError, match="'a' is listed twice, at place 1 and at place 3"):
            local.plan(users=1000, spend=Pure(4), candidates=["a", "b", "a"])
        with pytest.raises(ParameterError, match="holds no candidates"):
            local.plan(users=1000, spend=Pure(4), candidates=[])

    def test_one_text_is_no_list_of_items(self) -> None:
        client = local.plan(users=1000, spend=Pure(4), candidates=["a", "b"]).client()
        for one in ("ab", b"ab"):
            with pytest.raises(ParameterError, match="takes a list of items"):
                client.reports(one)

    def test_an_item_that_does_not_fit_is_told_by_its_place(self) -> None:
        server = local.plan(**BASE, items=domain.text(max_bytes=2)).server()
        with pytest.raises(ParameterError, match="Item 2 of the list") as told:
            server.estimate(["a", "much too long"])
        assert "longer than the 2 bytes" in str(told.value)
