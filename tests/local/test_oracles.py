"""Frequency oracles: unbiased, with the stated errors, alone and in bulk."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato import Noise, Pure, audit
from sfumato.errors import ParameterError
from sfumato.exact.transform import walsh_hadamard
from sfumato.local import hadamard_response, linear_hash, mean_response, nearest_distribution, response
from sfumato.local.kernels.hashing import digest_rows
from sfumato.papers.heavy_hitters.comparators import local_hash, unary_encoding
from sfumato.papers.heavy_hitters.hashtogram import Hashtogram, hashtogram

KEY = b"0123456789abcdef"


def hashed(cells, words=8):
    rows = np.asarray(cells).astype(">u4").view(np.uint8).reshape(-1, 4)
    return digest_rows(KEY, rows, words)


def plain(cells):
    return np.asarray(cells)


ORACLES = {
    "linear": (lambda eps, cells: linear_hash(Pure(eps), 16), hashed),
    "hadamard": (lambda eps, cells: hadamard_response(Pure(eps), cells), plain),
    "response": (lambda eps, cells: response(Pure(eps), cells), plain),
    "hashtogram": (lambda eps, cells: hashtogram(Pure(eps), 2**22), hashed),
    "local hash": (lambda eps, cells: local_hash(Pure(eps), cells, functions=2**14), plain),
}


@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
def test_estimates_are_unbiased_with_the_stated_error(kind, epsilon):
    make, points = ORACLES[kind]
    people, cells = 60_000, 300
    oracle = make(epsilon, cells)
    # Two items of weight on a flat background: 280 further items of about the same small share.
    items = np.concatenate([np.zeros(9_000), np.ones(6_000), 20 + np.arange(45_000) % 280]).astype(np.int64)
    reports = oracle.run_many(points(items), Noise(insecure_seed=round(10 * epsilon)))
    reader = oracle.reader(oracle.tally(reports))
    asked = points(np.arange(cells))
    counts = reader.counts(asked)
    truth = np.bincount(items, minlength=cells)
    errors = reader.errors(asked, counts)
    scaled = (counts - truth) / errors
    assert reader.reports == people
    assert abs(scaled[0]) < 5 and abs(scaled[1]) < 5
    # 298 nearly independent errors: their root mean square is 1 within 5 standard errors of it.
    assert 1 - 5 / math.sqrt(2 * 298) < math.sqrt(np.mean(scaled[2:] ** 2)) < 1 + 5 / math.sqrt(2 * 298)
    assert abs(np.mean(scaled[2:])) < 5 / math.sqrt(298) + 0.3 * (kind in ("response",))
    assert oracle.deviation(people) == pytest.approx(float(np.median(errors[20:])), rel=0.12)


def test_unary_encoding_is_unbiased():
    oracle = unary_encoding(Pure(1), 50)
    items = np.concatenate([np.zeros(8_000), 1 + np.arange(12_000) % 49]).astype(np.int64)
    reader = oracle.reader(oracle.tally(oracle.run_many(items, Noise(insecure_seed=3))))
    counts = reader.counts()
    scaled = (counts - np.bincount(items, minlength=50)) / reader.errors(None, counts)
    assert abs(scaled).max() < 5 and 0.6 < np.std(scaled) < 1.45
    single = oracle.tally([oracle.run(0, Noise(insecure_seed=number)) for number in range(200)])
    assert single[-1] == 200 and 60 < single[0] < 140


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 3, 4])
def test_linear_hashing_has_the_error_of_the_specification(epsilon):
    expected = {0.5: 4.083, 1: 1.921, 2: 0.851, 3: 0.475, 4: 0.276}[epsilon]
    assert linear_hash(Pure(epsilon), 18).deviation(1.0) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("epsilon", [0.5, 1, 1.5, 2, 3, 4])
def test_hadamard_response_has_the_error_of_the_specification(epsilon):
    expected = {0.5: 4.083, 1: 2.164, 1.5: 1.519, 2: 1.126, 3: 0.650, 4: 0.388}[epsilon]
    assert hadamard_response(Pure(epsilon), 2**12).deviation(1.0) == pytest.approx(expected, rel=2e-3)


def test_blocks_beat_one_bit_at_large_epsilon():
    one = hadamard_response(Pure(4), 2**12, block_bits=0).deviation(1.0)
    assert one > 2 * hadamard_response(Pure(4), 2**12).deviation(1.0)


@pytest.mark.parametrize("cells", [1, 2, 3, 7, 8, 100, 1023])
@pytest.mark.parametrize("blocks", [None, 0, 2])
def test_hadamard_cells_do_not_share_a_row(cells, blocks):
    oracle = hadamard_response(Pure(2), cells, block_bits=blocks)
    assert oracle.cells >= cells
    inside = [
        frozenset(oracle.place(cell, drawn) for drawn in range(oracle.outcomes)) for cell in range(min(cells, 40))
    ]
    assert len(set(inside)) == len(inside)


ONE_BY_ONE = {
    "linear": (linear_hash(Pure(1), 6, symbol_bits=2), [(5, 1 << 31 | 9), (0, 0)]),
    "hadamard": (hadamard_response(Pure(2), 20, block_bits=1), [7, ~3]),
    "hashtogram": (Hashtogram(weight=1 << 61, rows=3, block_bits=1, column_bits=3), [(9, 1 << 31 | 3, 77), (1, 2, 3)]),
    "response": (response(Pure(1), 5), [3, 0]),
    "local hash": (local_hash(Pure(1), 9, functions=8), [8, 1]),
    "mean": (mean_response(Pure(1), 4), [1, 4]),
}


@pytest.mark.parametrize("kind", ONE_BY_ONE)
def test_in_bulk_the_law_is_the_same_as_one_by_one(kind):
    from scipy.stats import chisquare

    oracle, inputs = ONE_BY_ONE[kind]
    for number, point in enumerate(inputs):
        law = audit.law(oracle, point)
        draws = 200_000
        points = np.repeat(np.array([point]), draws, axis=0)
        reports = oracle.run_many(points, Noise(insecure_seed=number))
        expected = np.array([float(law.get(report, 0)) for report in range(oracle.outcomes)]) * draws
        seen = np.bincount(reports, minlength=oracle.outcomes)
        assert seen[expected == 0].sum() == 0
        assert chisquare(seen[expected > 0], expected[expected > 0]).pvalue > 1e-6


def test_estimates_are_exactly_unbiased_over_the_whole_law():
    for oracle, inputs in (ONE_BY_ONE["linear"], ONE_BY_ONE["hadamard"], ONE_BY_ONE["response"]):
        for point in inputs:
            law = audit.law(oracle, point)
            mean = np.zeros(1)
            for report, mass in law.items():
                tally = np.zeros(oracle.outcomes, dtype=np.int64)
                tally[report] = 1
                mean += float(mass) * oracle.reader(tally).counts([point])
            assert mean[0] == pytest.approx(1, abs=1e-6)


def test_null_reports_add_nothing():
    oracle = linear_hash(Pure(2), 6)
    law = audit.law(oracle, None)
    assert len(law) == 64 and all(mass == Fraction(1, 64) for mass in law.values())


def test_peeling_takes_an_item_out():
    oracle = linear_hash(Pure(4), 12)
    points = hashed([1, 2, 3])
    reader = oracle.reader(oracle.tally(oracle.run_many(np.repeat(points[:1], 50_000, axis=0), Noise(insecure_seed=1))))
    count = reader.counts(points)[0]
    assert count == pytest.approx(50_000, rel=0.02)
    reader.peel(points[0], float(count))
    assert abs(reader.counts(points)).max() < 6 * oracle.deviation(50_000)
    assert abs(reader.counts(points)[0]) < 1


@pytest.mark.parametrize("bits", [1, 2, 5, 12, 13])
def test_the_transform_is_its_own_inverse(bits):
    cells = Noise(insecure_seed=bits).uniform(1000, 2**bits)
    assert (walsh_hadamard(walsh_hadamard(cells).astype(np.int64)) == cells * 2**bits).all()


def test_the_transform_is_that_of_the_matrix():
    from scipy.linalg import hadamard

    cells = np.arange(64) ** 2
    assert (walsh_hadamard(cells) == hadamard(64) @ cells).all()


def test_nearest_distribution_is_one():
    noisy = Noise(insecure_seed=4).discrete_laplace(10, 50) / 100 + 0.02
    near = nearest_distribution(noisy)
    assert near.min() >= 0 and near.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: linear_hash(Pure(1), 2, symbol_bits=3),
        lambda: linear_hash(Pure(1), 40),
        lambda: hadamard_response(Pure(1), 2**40),
        lambda: response(Pure(1), 0),
        lambda: mean_response(Pure(1), 0),
        lambda: Hashtogram(weight=5, rows=9, block_bits=0, column_bits=3),
        lambda: linear_hash(Pure(0), 16),
        lambda: local_hash(Pure(1), 2**31),
    ],
)
def test_public_mistakes_are_refused(make):
    with pytest.raises(ParameterError):
        make()
