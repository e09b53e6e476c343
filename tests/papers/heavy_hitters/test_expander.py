"""The expander sketch in practice: what it finds, what it does not invent, and what its decoders do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato import Noise, Pure, domain, local
from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.local.confirm import confirm
from sfumato.local.cutoffs import cell_cutoff
from sfumato.papers.heavy_hitters.expander import expander_method
from sfumato.papers.heavy_hitters.expander_search import Entries, candidates

PEOPLE = 60_000


def plan_of(epsilon=4, bits=32, seed=1, users=PEOPLE, **changes):
    # Few cells: symbols of 4 bits, a sketch of a few megabytes.
    method = expander_method(Pure(epsilon), bits, users, max_cells=1 << 17, **changes)
    items = domain.integers(0, 2**bits - 1)
    return local.plan(users=users, spend=Pure(epsilon), items=items, method=method, seed=bytes([seed] * 32))


def planted(plan, share, count, seed=1, rest=None):
    noise = Noise(insecure_seed=100 + seed)
    values = noise.uniform(1 << plan.items.bits, count)
    size = round(share * plan.users)
    left = plan.users - size * count
    others = noise.uniform(1 << plan.items.bits, left) if rest is None else rest(noise, left)
    return values.tolist(), np.concatenate([np.repeat(values, size), others])


def collected(plan, items, seed=1):
    server = plan.server()
    server.ingest(plan.client().reports(items, Noise(insecure_seed=seed)))
    return server


@pytest.mark.audit
def test_the_planned_share_is_found_with_honest_shares():
    hits = 0
    for seed in (1, 2):
        plan = plan_of(seed=seed)
        values, items = planted(plan, plan.detectable, 8, seed)
        found = {item.value: item for item in collected(plan, items, seed).popular()}
        assert set(found) <= set(values)
        hits += len(found)
        for item in found.values():
            assert abs(item.share - plan.detectable) < 5 * item.error
    # 16 items at 90 %: fewer than 9 have a chance below 1e-5.
    assert hits >= 9


@pytest.mark.parametrize("decoder", ["components", "spectral"])
def test_the_decoders_of_the_paper_find_clear_items(decoder):
    plan = plan_of(method=decoder)
    values, items = planted(plan, 1.5 * plan.detectable, 4, 3)
    found = {item.value for item in collected(plan, items).popular()}
    assert found <= set(values) and len(found) >= 2


def test_symbols_of_a_byte_and_text():
    method = expander_method(Pure(4), 25, 50_000, max_cells=1 << 20)
    assert method.symbol_bits == 8 and method.cell_bits == 20
    plan = local.plan(users=50_000, spend=Pure(4), items=domain.text(max_bytes=3), method=method, seed=bytes(32))
    items = ["gö"] * 9_000 + ["abc"] * 6_000 + [None] * 5_000 + [f"{n}" for n in range(1000)] * 30
    assert [item.value for item in collected(plan, items).popular()] == ["gö", "abc"]


@pytest.mark.audit
def test_nothing_is_found_where_nothing_is_popular():
    lists = []
    for seed in range(3):
        plan = plan_of(seed=seed)
        lists.append(collected(plan, Noise(insecure_seed=seed).uniform(2**32, 30_000), seed).popular())
    # Each list is empty with probability 0.95.
    assert sum(map(len, lists)) <= 2


def test_shared_prefixes_and_a_giant_do_no_harm():
    def rest(noise, count):
        heads = noise.uniform(1 << 20, 30) << 12
        tails = heads[noise.uniform(30, count)] | noise.uniform(1 << 12, count)
        return np.where(np.arange(count) < 0.3 * PEOPLE, 12345, tails)

    plan = plan_of()
    values, items = planted(plan, 1.5 * plan.detectable, 4, rest=rest)
    found = {item.value for item in collected(plan, items).popular()}
    assert 12345 in found and len(found & set(values)) >= 3 and found <= {*values, 12345}


def test_rivals_that_are_all_as_popular():
    plan = plan_of()
    share = plan.method.guaranteed(PEOPLE, 0.9)
    assert share >= plan.detectable
    count = int(1 / share)
    values, items = planted(plan, share, count)
    found = {item.value for item in collected(plan, items).popular()}
    assert found <= set(values) and len(found) >= 0.75 * count


def test_a_candidate_made_up_by_an_attacker_is_confirmed_by_chance_only():
    plan = plan_of()
    values, items = planted(plan, 0.2, 2)
    server = collected(plan, items)
    made_up = Noise(insecure_seed=9).uniform(2**32, 3000).tolist()
    close = [value ^ (1 << bit) for value in values for bit in range(32)]
    found = confirm(server, plan.encoder.whole, plan.method.whole, [*made_up, *close, *values], 0.05)
    assert {find.code for find in found} == set(values)


def test_the_entry_cut_is_the_law_of_an_empty_cell():
    from scipy.stats import binom

    oracle = plan_of().method.cells
    cut = cell_cutoff(oracle, 1000, float(np.log(1e-4)))
    support = round((cut * oracle.signal + 1000) / 2)
    assert binom.sf(support - 1, 1000, 0.5) <= 1e-4 < binom.sf(support - 2, 1000, 0.5)
    assert cell_cutoff(oracle, 0, -1.0) == np.inf


def test_about_one_cell_of_an_empty_row_is_listed():
    plan = plan_of()
    method = plan.method
    server = collected(plan, Noise(insecure_seed=4).uniform(2**32, PEOPLE), 4)
    listed = np.mean([Entries(method, server.tally(place)).listed.mean() for place in range(method.coordinates)])
    # The largest of Z empty cells passes with probability 1 - exp(-1), less what the steps of the binomial cost.
    assert 0.4 < listed < 0.72


def test_one_report_at_a_time_has_the_cells_of_many():
    plan = plan_of()
    values = Noise(insecure_seed=5).uniform(2**32, 30)
    rows, _ = plan.items.rows(values)
    for role in (0, 5, len(plan.method.roles) - 2, len(plan.method.roles) - 1):
        many = plan.encoder.points(rows, role)
        for value, point in zip(values.tolist(), many, strict=True):
            assert np.array_equal(np.asarray(plan.encoder.point(value, role)), point)
    assert plan.encoder.points(rows, 0).max() < plan.method.cells.cells


def test_the_cells_of_the_last_row_stay_inside(monkeypatch):
    plan = plan_of()
    method = plan.method
    full = (1 << method.label_bits) - 1, (1 << method.word_bits) - 1
    monkeypatch.setattr(type(plan.encoder.code), "entry_and_word", lambda self, item, place: (*full, 2**32 - 1))
    assert plan.encoder.point(1, 0) == method.cells.cells - 1


def test_plans_travel_as_json_and_sketches_merge(tmp_path):
    plan = plan_of()
    plan.save(tmp_path / "a.plan")
    again = local.read_plan(tmp_path / "a.plan")
    assert again == plan and again.digest == plan.digest
    _, items = planted(plan, 0.2, 2)
    whole = collected(plan, items)
    whole.save(tmp_path / "a.sketch")
    assert local.load(tmp_path / "a.sketch").popular() == whole.popular()
    assert len(candidates(whole, plan.method)) >= 2


def test_an_empty_sketch_says_nothing():
    plan = plan_of()
    assert len(plan.server().popular()) == 0
    one = plan.server()
    one.ingest(plan.client().report(3))
    assert len(one.popular()) == 0


def test_public_mistakes_are_refused():
    method = plan_of().method
    with pytest.raises(DomainTooLarge, match="soft"):
        expander_method(Pure(4), 8 * 30, PEOPLE)
    with pytest.raises(DomainTooLarge, match="cells"):
        expander_method(Pure(4), 64, PEOPLE, max_cells=1 << 17)
    for changes in ({"method": "magic"}, {"bucket_bits": 3}):
        with pytest.raises(ParameterError):
            replace(method, **changes)
    with pytest.raises(ParameterError, match="other items"):
        local.plan(users=PEOPLE, spend=Pure(4), items=domain.integers(0, 2**24 - 1), method=method)
    with pytest.raises(ParameterError, match="spend"):
        local.plan(users=PEOPLE, spend=Pure(3), items=domain.integers(0, 2**32 - 1), method=method)
