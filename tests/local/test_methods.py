"""Bitstogram, TreeHist and the choice between methods."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import Noise, Pure, domain, local
from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.local import tree, tree_search
from sfumato.local.choice import METHOD_NAMES, choose, make
from sfumato.local.linear import linear_hash
from sfumato.local.tree import TreeMethod, tree_method
from sfumato.papers.heavy_hitters.bitstogram import BitstogramMethod, bitstogram_method
from sfumato.papers.heavy_hitters.expander import ExpanderMethod
from tests.papers.heavy_hitters.test_expander import collected, planted

PEOPLE = 60_000
BASELINES = ("treehist", "bitstogram")


def plan_of(method, epsilon=4, bits=32, seed=1, users=PEOPLE):
    items = domain.integers(0, 2**bits - 1)
    return local.plan(users=users, spend=Pure(epsilon), items=items, method=method, seed=bytes([seed] * 32))


@pytest.mark.parametrize("method", BASELINES)
def test_the_planned_share_is_found_with_honest_shares(method):
    hits = 0
    for seed in (1, 2):
        plan = plan_of(method, seed=seed)
        values, items = planted(plan, plan.detectable, 8, seed)
        found = {item.value: item for item in collected(plan, items, seed).popular()}
        assert set(found) <= set(values)
        hits += len(found)
        for item in found.values():
            assert abs(item.share - plan.detectable) < 5 * item.error
    # 16 items at 90 %: fewer than 9 have a chance below 1e-5.
    assert hits >= 9


@pytest.mark.parametrize("method", BASELINES)
def test_nothing_is_found_where_nothing_is_popular(method):
    lists = []
    for seed in range(3):
        plan = plan_of(method, seed=seed)
        lists.append(collected(plan, Noise(insecure_seed=seed).uniform(2**32, 30_000), seed).popular())
    assert sum(map(len, lists)) <= 2


def test_rivals_that_are_all_as_popular_in_a_bitstogram():
    plan = plan_of("bitstogram")
    share = plan.method.guaranteed(PEOPLE, 0.9)
    count = int(1 / share)
    values, items = planted(plan, share, count)
    found = {item.value for item in collected(plan, items).popular()}
    assert found <= set(values) and len(found) >= 0.7 * count


def test_a_bitstogram_says_the_same_of_one_item_and_of_many():
    plan = plan_of("bitstogram", bits=13)
    values = Noise(insecure_seed=5).uniform(2**13, 20)
    rows, _ = plan.items.rows(values)
    groups = plan.method.groups
    for role in (0, 12, 13, groups, groups + 1):
        many = plan.encoder.points(rows, role).tolist()
        assert [list(plan.encoder.point(value, role)) for value in values.tolist()] == many


@pytest.mark.parametrize("method", METHOD_NAMES[1:])
def test_plans_of_every_method_travel_and_text_comes_back(method, tmp_path):
    plan = local.plan(users=60_000, spend=Pure(5), items=domain.text(max_bytes=2), method=method, seed=bytes(32))
    plan.save(tmp_path / "a.plan")
    again = local.read_plan(tmp_path / "a.plan")
    assert again == plan and again.digest == plan.digest and plan.loss().within(Pure(5))
    if method == "expander":
        # A sketch of many megabytes; it has tests of its own.
        return
    items = ["ab"] * 25_000 + ["ö"] * 20_000 + [None, "too long"] * 2_500 + [f"{n}" for n in range(100)] * 100
    assert [item.value for item in collected(again, items).popular()][:2] == ["ab", "ö"]
    assert len(plan.server().popular()) == 0


def test_one_bit_at_a_time():
    method = tree_method(Pure(4), 20, PEOPLE, method="treehist")
    assert method.levels == (16, 17, 18, 19, 20) and method.to_json()["search"] == "treehist"


def test_the_order_of_the_methods_is_that_of_the_spec():
    for epsilon, users in ((1, 10**6), (4, 10**6), (4, 10**7)):
        shares = {name: make(name, Pure(epsilon), 64, users, 0.05).detectable(users, 0.9) for name in METHOD_NAMES[1:]}
        assert shares["soft"] < shares["prefix"] < shares["expander"] < min(shares["treehist"], shares["bitstogram"])
        # The expander sketch needs about 17.5 standard errors of all that search, in Hadamard response (4.3.1).
        expander = make("expander", Pure(epsilon), 64, users, 0.05)
        error = expander.cells.deviation(users) / np.sqrt(0.8) / users
        assert 16 < shares["expander"] / error < 21


class TestChoice:
    def test_the_soft_tree_is_the_default_and_says_why(self):
        plan = local.plan(users=1_000_000, spend=Pure(2), items=domain.text(max_bytes=8), seed=bytes(32))
        named = local.plan(
            users=1_000_000, spend=Pure(2), items=domain.text(max_bytes=8), method="soft", seed=bytes(32)
        )
        assert plan == named and plan.digest == named.digest
        assert '"soft"' in plan.why and "rivals" in str(plan) and not named.why

    def test_it_is_the_smallest_share_expected(self):
        for epsilon, users, bits in ((4, 10**6, 64), (8, 10**8, 64), (12, 10**7, 64), (16, 10**6, 32), (1, 10**6, 12)):
            chosen, why = choose(Pure(epsilon), bits, users, method="auto", false_items=0.05)
            share = chosen.expected(users, 0.9)
            assert f"{share:.3%}" in why and f"{chosen.guaranteed(users, 0.9):.3%}" in why
            for name in ("soft", "expander", "bitstogram"):
                assert share <= make(name, Pure(epsilon), bits, users, 0.05).expected(users, 0.9)

    @pytest.mark.parametrize("epsilon", [3, 6, 8])
    def test_the_soft_tree_is_taken_wherever_it_finds_more(self, epsilon):
        for bits in (64, 97, 193):
            for users in (3 * 10**5, 10**7):
                chosen, _ = choose(Pure(epsilon), bits, users, method="auto", false_items=0.05)
                assert isinstance(chosen, TreeMethod) and chosen.expected(users, 0.9) == chosen.detectable(users, 0.9)

    def test_where_the_search_has_no_room_another_method_is_taken(self, monkeypatch):
        # With the room that it has now the soft tree always expects to find more; so some of it is taken away.
        monkeypatch.setattr(tree_search, "MOST_ROOM", 1 << 14)
        monkeypatch.setattr(tree, "ZIPF", 1)
        method, why = choose(Pure(8), 64, 10**8, method="auto", false_items=0.05)
        assert isinstance(method, BitstogramMethod) and "no room" in why

    def test_every_name_makes_its_method(self):
        kinds = {"expander": ExpanderMethod, "bitstogram": BitstogramMethod}
        for name in METHOD_NAMES[1:]:
            method, why = choose(Pure(4), 32, PEOPLE, method=name, false_items=0.01)
            assert isinstance(method, kinds.get(name, TreeMethod)) and method.false_items == 0.01 and not why

    def test_long_items_have_fewer_methods(self):
        chosen, _ = choose(Pure(16), 900, 10**9, method="auto", false_items=0.05)
        assert isinstance(chosen, TreeMethod)
        with pytest.raises(DomainTooLarge, match="soft"):
            bitstogram_method(Pure(4), 900, PEOPLE)


def test_public_mistakes_are_refused():
    oracle = linear_hash(Pure(1), 12)
    for sizes in ({"item_bits": 0}, {"bucket_bits": 21}, {"repetitions": 0}):
        with pytest.raises(ParameterError):
            BitstogramMethod(**{"oracle": oracle, "item_bits": 8, "bucket_bits": 4, "shares": (1, 1, 1), **sizes})
    with pytest.raises(ParameterError, match="three"):
        _ = BitstogramMethod(oracle=oracle, item_bits=8, bucket_bits=4, shares=(1, 0, 1)).roles
    with pytest.raises(ParameterError, match="auto, soft"):
        local.plan(users=PEOPLE, spend=Pure(4), items=domain.integers(0, 255), method="guess")
