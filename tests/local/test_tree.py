"""The searches: what they find, what they do not invent, and what gets worse without each of their parts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sfumato import Noise, Pure, domain, local
from sfumato.local import tree_search
from sfumato.local.cutoffs import cutoff
from sfumato.local.linear import linear_hash
from sfumato.local.tree import first_bits, level_bits, take_bits

PEOPLE = 60_000


def plan_of(epsilon=4, bits=32, method="soft", seed=1, users=PEOPLE):
    return local.plan(
        users=users, spend=Pure(epsilon), items=domain.integers(0, 2**bits - 1), method=method, seed=bytes([seed] * 32)
    )


def collected(plan, items, seed=1):
    server = plan.server()
    server.ingest(plan.client().reports(items, Noise(insecure_seed=seed)))
    return server


def planted(plan, mu, count, seed=1, rest=None, users=PEOPLE):
    """Return items: `count` values held by mu standard errors each, and others held by one device each."""
    noise = Noise(insecure_seed=100 + seed)
    bits = plan.items.bits
    size = round(mu * plan.method.oracle.deviation(users))
    values = noise.uniform(1 << bits, count)
    left = users - size * count
    others = noise.uniform(1 << bits, left) if rest is None else rest(noise, left)
    return values.tolist(), np.concatenate([np.repeat(values, size), others])


@pytest.mark.parametrize("bits", [1, 9, 16, 17, 26, 64, 193])
def test_levels_grow_to_the_whole_item(bits):
    levels = level_bits(bits)
    assert levels[-1] == bits and all(1 <= b - a <= 6 for a, b in pairwise(levels))


def test_bits_of_rows():
    rows = np.array([[0b10110011, 0b01010101]], dtype=np.uint8)
    assert first_bits(rows, 11).tolist() == [[0b10110011, 0b01000000]]
    assert take_bits(rows, 6, 4).tolist() == [0b1101] and take_bits(rows, 12, 4).tolist() == [0b0101]
    assert (tree_search._extend(rows, np.array([0b0110]), 6, 4) == [[0b10110001, 0b10000000]]).all()


def test_cutoffs_are_those_of_the_binomial_law():
    from scipy.stats import binom

    oracle = linear_hash(Pure(2), 16)
    for reports in (50, 3000, 10**6):
        for chance in (1e-3, 1e-12, 1e-40):
            cut = cutoff(oracle, reports, float(np.log(chance)))
            support = round(cut * oracle.signal * (1 - 1 / 8) + reports / 8)
            assert (
                binom.sf(support - 1, reports, 1 / 8) <= chance < binom.sf(support - 2, reports, 1 / 8)
                or support > reports
            )
    # Beyond the reach of doubles Chernoff's bound takes over, a little above.
    assert cutoff(oracle, 10**6, -700.0) > cutoff(oracle, 10**6, -600.0) > cutoff(oracle, 10**6, -500.0)


@pytest.mark.parametrize("epsilon", [2, 4])
def test_items_well_above_the_line_are_found_with_honest_shares(epsilon):
    plan = plan_of(epsilon)
    values, items = planted(plan, 14, 4, seed=epsilon)
    found = {item.value: item for item in collected(plan, items).popular()}
    assert set(found) == set(values)
    share = round(14 * plan.method.oracle.deviation(PEOPLE)) / PEOPLE
    for item in found.values():
        assert abs(item.share - share) < 5 * item.error and item.score > 8


@pytest.mark.audit
def test_the_planned_share_is_found_nine_times_in_ten():
    hits = total = 0
    for seed in range(1, 4):
        plan = plan_of(2, seed=seed)
        mu = plan.detectable * PEOPLE / plan.method.oracle.deviation(PEOPLE)
        values, items = planted(plan, mu, 10, seed=seed)
        found = {item.value for item in collected(plan, items, seed).popular()}
        hits += sum(value in found for value in values)
        total += len(values)
        assert found <= set(values)
    # 30 items at 90 %: fewer than 17 have a chance below 1e-6.
    assert hits >= 17, f"{hits} of {total}"


@pytest.mark.parametrize("epsilon", [1, pytest.param(4, marks=pytest.mark.audit)])
def test_nothing_is_found_where_nothing_is_popular(epsilon):
    lists = []
    for seed in range(2):
        plan = plan_of(epsilon, bits=40, seed=seed, users=200_000)
        lists.append(collected(plan, Noise(insecure_seed=seed).uniform(2**40, 20_000), seed).popular())
    # Each list is empty with probability 0.95; three false items in two lists have a chance below 1e-3.
    assert sum(map(len, lists)) <= 2


def test_shared_prefixes_do_no_harm():
    def rest(noise, count):
        heads = noise.uniform(1 << 20, 30) << 12
        return heads[noise.uniform(30, count)] | noise.uniform(1 << 12, count)

    plan = plan_of(4)
    values, items = planted(plan, 15, 5, rest=rest)
    assert {item.value for item in collected(plan, items).popular()} >= set(values)


def test_without_whitening_shared_prefixes_displace_everything(monkeypatch):
    plan = plan_of(4, method="prefix")
    monkeypatch.setattr(tree_search, "PREFIX_KEEP", 16)

    def rest(noise, count):
        heads = noise.uniform(1 << 20, 30) << 12
        return heads[noise.uniform(30, count)] | noise.uniform(1 << 12, count)

    values, items = planted(plan, 15, 5, rest=rest)
    whitened = {item.value for item in collected(plan, items).popular()} & set(values)
    encoder = plan.encoder
    monkeypatch.setattr(encoder.white, "apply_rows", lambda rows: rows)
    monkeypatch.setattr(encoder.white, "invert", lambda code: code)
    raw = {item.value for item in collected(plan, items).popular()} & set(values)
    assert len(whitened) > len(raw)


def test_a_giant_does_not_hide_the_others():
    plan = plan_of(4)
    values, items = planted(
        plan,
        15,
        5,
        rest=lambda noise, count: np.where(np.arange(count) < 0.4 * PEOPLE, 12345, noise.uniform(2**32, count)),
    )
    found = {item.value for item in collected(plan, items).popular()}
    assert found == {*values, 12345}


def test_the_prefix_method_finds_clear_items():
    plan = plan_of(4, method="prefix")
    values, items = planted(plan, 18, 4)
    found = {item.value for item in collected(plan, items).popular()}
    assert found == set(values)


def test_small_domains_and_odd_sizes():
    for bits, size in ((1, 2), (5, 20), (9, 300), (17, 100_000)):
        plan = local.plan(users=50_000, spend=Pure(3), items=domain.integers(0, size - 1), seed=bytes(32))
        assert plan.items.bits == bits
        items = np.concatenate([np.full(30_000, size - 1), np.arange(20_000) % size])
        assert collected(plan, items).popular()[0].value == size - 1


@pytest.mark.audit
def test_text_comes_back_as_text():
    plan = local.plan(users=50_000, spend=Pure(4), items=domain.text(max_bytes=6), seed=bytes(32))
    items = (
        ["größ"] * 20_000
        + ["a" * 6] * 12_000
        + [None, "too long for this plan"] * 2_000
        + [f"{n}" for n in range(14_000)]
    )
    found = collected(plan, items).popular()
    assert [item.value for item in found] == ["größ", "a" * 6]


def test_an_empty_sketch_says_nothing():
    assert len(plan_of().server().popular()) == 0
    one = plan_of().server()
    one.ingest(one.plan.client().report(3))
    assert len(one.popular()) == 0
