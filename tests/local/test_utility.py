"""What the theorems say about errors: growth with people and failure, signs against none, many items in few buckets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sfumato import Noise, Pure, domain, local
from sfumato.local.choice import make
from sfumato.local.kernels.hashing import digest_rows
from sfumato.local.linear import PEELED_BY_CHANCE
from sfumato.local.tree_search import PREFIX_CHANCE, PREFIX_LEVEL
from sfumato.papers import heavy_hitters

PEOPLE = 40_000
ABSENT = 4_000


def hashes(items: Any) -> Any:
    rows = np.asarray(items).astype(">u8").view(np.uint8).reshape(-1, 8)
    return digest_rows(bytes(16), rows, 8).astype(np.int64)


def zipf(exponent: float, kinds: int, people: int) -> Any:
    """Return items by falling popularity, as many of each as its share says, without any draw."""
    weights = np.arange(1, kinds + 1) ** -exponent
    counts = np.floor(people * weights / weights.sum()).astype(np.int64)
    counts[0] += people - counts.sum()
    return np.repeat(np.arange(kinds), counts)


@pytest.mark.audit
def test_without_signs_a_hashed_histogram_is_biased_on_skewed_data() -> None:
    """Items that share a cell add up without signs, by users / cells in the mean; with signs they cancel."""
    oracle = heavy_hitters.Hashtogram(
        weight=local.noise_weight(Pure(2).epsilon, 8), rows=4, block_bits=2, column_bits=8
    )
    held, absent = hashes(zipf(1.1, 5_000, PEOPLE)), hashes(np.arange(10**6, 10**6 + ABSENT))
    means = {}
    for name, mask in (("signed", 0xFFFFFFFF), ("unsigned", 0x7FFFFFFF)):
        tally = oracle.tally(oracle.run_many(held & mask, Noise(insecure_seed=1)))
        means[name] = float(oracle.reader(tally).counts(absent & mask).mean())
    expected = PEOPLE / 1024
    # The mean of so many absent items that share 4096 cells has a standard error of about 4.
    assert abs(means["signed"]) < expected / 2 < means["unsigned"] < 2 * expected


@pytest.mark.audit
def test_sixty_popular_items_in_sixty_four_buckets() -> None:
    """Items that share bucket and label at a coordinate cost each other symbols; the planner's rule says so.

    Three in four are found here, at 22 standard errors as at 27. The spec hopes for nine in ten, with two entries a
    label; here there is one, as in the paper, and plans take more buckets than this where they may.
    """
    users = 1_000_000
    method = heavy_hitters.expander_method(Pure(4), 64, users, max_cells=1 << 20)
    assert (method.bucket_bits, method.coordinates, method.symbol_bits) == (6, 14, 8)
    seed = bytes(range(32))
    plan = local.plan(users=users, spend=Pure(4), items=domain.integers(0, 2**64 - 1), method=method, seed=seed)
    size = round(22 * method.cells.deviation(users) / math.sqrt(0.8))
    noise = Noise(insecure_seed=7)
    values = noise.uniform(2**63, 60)
    items = np.concatenate([np.repeat(values, size), noise.uniform(2**63, users - 60 * size)])
    server = plan.server()
    server.ingest(plan.client().reports(items, noise))
    found = {item.value for item in server.popular()}
    assert len(found & set(values.tolist())) >= 40 and len(found - set(values.tolist())) <= 2
    assert method.detectable(users, 0.9) < size / users < method.guaranteed(users, 0.75)


@pytest.mark.parametrize("name", ["soft", "expander"])
def test_the_count_that_is_found_grows_with_the_root_of_the_people(name: str) -> None:
    people = (10**5, 10**6, 10**7)
    counts = [n * make(name, Pure(2), 64, n, 0.05).detectable(n, 0.9) for n in people]
    slope = np.polyfit(np.log(people), np.log(counts), 1)[0]
    assert 0.45 < slope < 0.55


def test_share_against_failure() -> None:
    """EXP-BETA by the planner's models: a smaller failure costs the bitstogram more than the expander sketch."""
    growth = {}
    for name in ("expander", "bitstogram"):
        method = make(name, Pure(2), 64, 10**6, 0.05)
        shares = [method.detectable(10**6, 1 - failure) for failure in (0.2, 0.1, 0.05, 0.02)]
        assert shares == sorted(shares)
        growth[name] = shares[-1] / shares[0]
    assert growth["expander"] < 1.12 and growth["bitstogram"] > 1.18


def test_the_level_of_the_planner_is_the_chance_of_the_search() -> None:
    from scipy.special import ndtr

    assert float(ndtr(-PREFIX_LEVEL)) == pytest.approx(PREFIX_CHANCE, rel=0.01)


def test_of_items_that_nobody_holds_hardly_one_is_peeled() -> None:
    """Reading a thousand absent items together peels none of them, in all but one collection of a thousand."""
    oracle = local.linear_hash(Pure(2), 14)
    absent = hashes(np.arange(1000))
    peeled = 0
    for seed in range(40):
        reader = oracle.reader(oracle.tally(Noise(insecure_seed=seed).uniform(oracle.outcomes, 5_000)))
        before = reader.table.copy()
        reader.together(absent)
        peeled += not np.array_equal(before, reader.table)
    # Two in forty have a chance below 0.001; a cut-off that forgets how many items there are peels in most runs.
    assert peeled <= 2 and PEELED_BY_CHANCE <= 0.001
