"""Uniform integers, permutations and subsets: every outcome equally likely, and quick."""

from __future__ import annotations

import time
from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pytest

from sfumato.noise import Noise, order
from tests.noise.fit import chi_square
from tests.noise.scripted import Scripted


def even(counts: Counter, outcomes: int) -> float:
    found = np.array([*counts.values(), *[0] * (outcomes - len(counts))])
    assert len(found) == outcomes
    return chi_square(found, np.full(outcomes, found.sum() / outcomes))


@pytest.mark.parametrize("bound", [1, 2, 3, 6, 1000])
def test_uniform_integers_are_uniform(bound):
    noise = Noise(insecure_seed=301)
    draws = noise.uniform(bound, size=20_000)
    assert draws.dtype == np.int64
    if bound == 1:
        assert not draws.any()
    else:
        assert even(Counter(draws.tolist()), bound) > 1e-8
        assert even(Counter(noise.uniform(bound) for _ in range(2000)), bound) > 1e-8


def test_words_of_the_last_incomplete_run_are_drawn_again_in_their_own_slot():
    # 2^64 = 3 · 6148914691236517205 + 1, so the last word alone is surplus.
    assert order.uniform_array(Scripted([5, 2**64 - 1, 7, 2**64 - 1, 4]), 3, 3).tolist() == [2, 1, 1]
    assert order.uniform_array(Scripted([2**64 - 2]), 3, 1).tolist() == [2]
    bound = 2**63 - 1
    assert order.uniform_array(Scripted([2 * bound - 1, 2 * bound, 2 * bound + 1, 8, 9]), bound, 3).tolist() == [
        bound - 1,
        8,
        9,
    ]


def test_bounds_of_any_size():
    noise = Noise(insecure_seed=302)
    top = noise.uniform(2**63, size=1000)
    assert top.dtype == np.int64
    assert top.min() >= 0
    wide = noise.uniform(2**100, size=200)
    assert wide.dtype == object
    assert max(wide) > 2**98
    assert noise.uniform(2**5000).bit_length() > 4900
    assert noise.uniform(2**64, size=0).shape == (0,)
    assert noise.uniform(5, size=0).shape == (0,)


def test_permutations_are_uniform():
    noise = Noise(insecure_seed=303)
    found = Counter(tuple(noise.permutation(4)) for _ in range(5000))
    assert set(found) <= set(permutations(range(4)))
    assert even(found, 24) > 1e-8
    assert noise.permutation(0) == []
    assert noise.permutation(1) == [0]
    assert sorted(noise.permutation(100_000)) == list(range(100_000))


def test_equal_keys_start_a_permutation_again():
    assert order.permutation(Scripted([7, 7, 3, 9, 2, 5]), 3) == [1, 2, 0]


@pytest.mark.parametrize(("population", "size"), [(5, 0), (5, 1), (5, 2), (5, 3), (5, 5), (40, 1)])
def test_subsets_are_uniform(population, size):
    noise = Noise(insecure_seed=304)
    outcomes = list(combinations(range(population), size))
    found = Counter(tuple(noise.subset(population, size)) for _ in range(max(2000, 20 * len(outcomes))))
    assert set(found) <= set(outcomes)
    if len(outcomes) > 1:
        assert even(found, len(outcomes)) > 1e-8


def test_subsets_of_any_population_are_quick():
    noise = Noise(insecure_seed=305)
    start = time.process_time()
    for population, size in (
        (2**64, 1000),
        (2**500, 10),
        (2**63, 10**5),
        (10**6, 10**6),
        (10**6, 5 * 10**5),
        (10**6, 9),
    ):
        found = noise.subset(population, size)
        assert len(set(found)) == size
        assert found == sorted(found)
        assert found[0] >= 0
        assert found[-1] < population
        assert type(found[0]) is int
    assert time.process_time() - start < 3
    assert noise.subset(0, 0) == []
