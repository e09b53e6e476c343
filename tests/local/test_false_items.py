"""Items that nobody holds: over hundreds of collections without a popular item, lists err as often as stated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sfumato import Noise, Pure, domain, local
from sfumato.local import tree_search
from sfumato.local.cutoffs import cutoff
from sfumato.local.linear import crowded

FALSE_ALARM = 1e-6
LEVELS = (0.05, 0.3)
RUNS = {"soft": (200, 18, 10_000), "prefix": (200, 24, 20_000), "bitstogram": (100, 18, 10_000)}
"""How many collections, of items of how many bits, from how many people; each item is held by at most one."""


def server_of(method: str, bits: int, people: int, number: int) -> local.Server:
    seed = Noise(insecure_seed=number).uniform(1 << 256).to_bytes(32, "big")
    items = domain.integers(0, 2**bits - 1)
    plan = local.plan(users=people, spend=Pure(2), items=items, method=method, seed=seed)
    held: Any = np.arange(people, dtype=np.int64) * ((2**bits - 1) // people)
    server = plan.server()
    server.ingest(plan.client().reports(held, Noise(insecure_seed=10_000 + number)))
    return server


@pytest.mark.audit
@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
@pytest.mark.parametrize("method", RUNS)
def test_lists_hold_a_false_item_as_often_as_stated(method: str) -> None:
    from scipy.stats import binom

    runs, bits, people = RUNS[method]
    wrong = np.zeros(len(LEVELS), dtype=np.int64)
    for number in range(runs):
        server = server_of(method, bits, people, number)
        wrong += [len(server.popular(level)) > 0 for level in LEVELS]
    most = [int(binom.isf(FALSE_ALARM, runs, level)) for level in LEVELS]
    assert (wrong <= most).all()
    # The test has power: cut-offs that let through three runs in ten would not pass for one in twenty.
    if method == "soft":
        assert wrong[1] > most[0]


def dominated(seed: int) -> set[int]:
    """Nine of ten hold one item, hashes are so long for their table that most depend on each other."""
    noise = Noise(insecure_seed=seed)
    plan = local.plan(
        users=100_000, spend=Pure(6), items=domain.integers(0, 2**24 - 1), method="soft", seed=seed.to_bytes(32, "big")
    )
    assert plan.method.oracle.symbol_bits == 8  # type: ignore[attr-defined]
    server = plan.server()
    server.ingest(plan.client().reports(np.where(np.arange(100_000) < 90_000, 7, noise.uniform(2**24, 100_000)), noise))
    return {item.value for item in server.popular()}


@pytest.mark.audit
def test_items_whose_hashes_depend_on_that_of_a_giant_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = range(31, 34)
    assert [dominated(seed) for seed in seeds] == [{7}] * 3
    # With cut-offs for hashes in general position they are.
    monkeypatch.setattr(tree_search, "crowded", lambda oracle, reports, taken: np.ones(taken.shape))
    assert sum(len(dominated(seed)) - 1 for seed in seeds) > 1


@pytest.mark.parametrize("epsilon", [1, 4, 6])
@pytest.mark.parametrize("rising", [1.02, 1.3, 2, 4])
def test_the_wider_cut_covers_the_exact_tail_at_the_larger_chance(epsilon: float, rising: float) -> None:
    from scipy.stats import binom

    oracle = local.linear_hash(Pure(epsilon), 16)
    for reports in (3_000, 100_000):
        for log_chance in (-3.0, -20.0, -47.0):
            taken = (rising - 1) * reports / (oracle.signal * (oracle.spread - 1))
            wider = float(cutoff(oracle, reports, log_chance) * crowded(oracle, reports, taken))
            speaking = reports * rising / oracle.spread
            least = speaking + wider * oracle.signal * (1 - 1 / oracle.spread)
            assert binom.logsf(math.ceil(least) - 1, reports, rising / oracle.spread) <= log_chance + 1e-6
