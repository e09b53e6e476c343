"""Vectors of bits: the exact loss, the law of a report, and unbiased estimates."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato import Approximate, Noise, Pure
from sfumato.errors import NotProvable, ParameterError, UnsupportedSpend
from sfumato.papers.heavy_hitters.structure import VectorResponse, independent_bits, read_vectors, vector_response
from sfumato.privacy.coins import COIN


def exact_law(chosen):
    """Return the chance of one report at each distance, as fractions."""
    flip, bits = chosen.chance, chosen.bits
    law = [flip**count * (1 - flip) ** (bits - count) for count in range(bits + 1)]
    if chosen.outside:
        stray = sum(math.comb(bits, count) * law[count] for count in chosen.outside)
        level = stray / sum(math.comb(bits, count) for count in chosen.outside)
        for count in chosen.outside:
            law[count] = level
    return law


@pytest.mark.parametrize("shell", [(0, 8), (2, 5), (0, 3), (4, 8), (3, 3), (0, 0), (8, 8)])
@pytest.mark.parametrize("flip", [COIN // 2, COIN // 3, COIN // 50])
def test_the_loss_is_the_exact_worst_ratio(shell, flip):
    chosen = VectorResponse(bits=8, flip=flip, least=shell[0], most=shell[1])
    law = exact_law(chosen)
    assert sum(math.comb(8, count) * mass for count, mass in enumerate(law)) == 1
    ratio = max(law) / min(law)
    loss = chosen.loss().person.epsilon
    assert 0 <= float(loss) - (math.log(ratio.numerator) - math.log(ratio.denominator)) + 1e-12 < 1e-11
    wrong = sum(count * math.comb(8, count) * mass for count, mass in enumerate(law)) / 8
    both = sum(count * (count - 1) * math.comb(8, count) * mass for count, mass in enumerate(law)) / 56
    assert chosen.moments == pytest.approx((float(wrong), float(both)), abs=1e-13)
    independent = [chosen.chance**count * (1 - chosen.chance) ** (8 - count) for count in range(9)]
    distance = (
        sum(math.comb(8, count) * abs(a - b) for count, (a, b) in enumerate(zip(law, independent, strict=True))) / 2
    )
    assert distance <= chosen.stray


@pytest.mark.parametrize(
    ("bits", "rate", "distance", "most"),
    [(64, "0.05", "0.01", 1.25), (64, "0.02", "0.01", 0.5), (1024, "0.01", "0.001", 1.23), (256, "0.02", "0.01", 1.02)],
)
def test_bits_as_if_independent_cost_less_than_print_and_sum(bits, rate, distance, most):
    chosen = independent_bits(rate, bits, distance)
    loss = float(chosen.loss().person.epsilon)
    assert loss <= most < bits * float(rate)
    assert loss < 6 * float(rate) * math.sqrt(bits * -math.log(float(distance)))
    assert chosen.stray <= Fraction(distance)
    narrower = VectorResponse(bits=bits, flip=chosen.flip, least=chosen.least + 1, most=chosen.most)
    assert narrower.stray > Fraction(distance)


def test_the_best_shell_beats_an_even_split_by_more_and_more():
    gains = []
    for bits in (1, 4, 64, 256):
        chosen = vector_response(Pure(1), bits)
        assert chosen.loss().person.epsilon <= 1
        gains.append(chosen.signal / math.tanh(1 / bits / 2))
    assert gains[0] == pytest.approx(1)
    assert gains[1] > 1.2 and gains[2] > 4 and gains[3] > 7.5
    # One bit at random with the whole spend: better for single bits at small spends, worse from about 4 on.
    assert vector_response(Pure(1), 64).signal < math.tanh(0.5) / 8
    assert vector_response(Pure(4), 64).signal > math.tanh(2) / 8


def held(people):
    """Bits 0 and 1 go together, bit 2 is rare, the others alternate."""
    rows = np.zeros((people, 6), dtype=np.int64)
    rows[: people // 2, :2] = 1
    rows[: people // 10, 2] = 1
    rows[::2, 3] = 1
    rows[::4, 4] = 1
    return rows


@pytest.mark.parametrize("make", [lambda: vector_response(Pure(3), 6), lambda: independent_bits(1, 6, "0.2")])
def test_estimates_are_unbiased_with_the_stated_errors(make):
    response, rows = make(), held(20_000)
    reader = read_vectors(response, response.run_many(rows, Noise(insecure_seed=3)))
    scaled = (reader.means() - rows.mean(axis=0)) / reader.errors()
    assert np.abs(scaled).max() < 4
    for first, second in ((0, 1), (0, 2), (3, 4), (0, 5)):
        share, error = reader.both(first, second)
        assert abs(share - (rows[:, first] & rows[:, second]).mean()) < 4 * error


def test_errors_fall_with_the_root_of_the_reports():
    response = vector_response(Pure(2), 6)
    errors = [
        read_vectors(response, response.run_many(held(people), Noise(insecure_seed=5))).errors().mean()
        for people in (500, 8_000)
    ]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize("many", [True, False])
def test_reports_alone_and_in_bulk_have_the_exact_law_of_distances(many):
    response = VectorResponse(bits=6, flip=COIN // 3, least=1, most=3)
    noise, count = Noise(insecure_seed=11), 3_000
    given = [1, 0, 1, 1, 0, 0]
    reports = (
        response.run_many([given] * count, noise)
        if many
        else np.array([response.run(given, noise) for _ in range(count)])
    )
    seen = np.bincount((reports != given).sum(axis=1), minlength=7)
    expected = count * np.array([float(math.comb(6, d) * mass) for d, mass in enumerate(exact_law(response))])
    assert float(((seen - expected) ** 2 / expected).sum()) < 27.9  # 6 degrees of freedom, one in ten thousand


@pytest.mark.parametrize(
    "broken",
    [None, "text", [1, 0], [1, 0, 2, 0], [0.5, 0, 0, 0], [math.nan] * 4, [None] * 4, [[1], [0, 1]], {"a": 1}, 7],
)
def test_what_is_no_vector_sends_a_uniform_one(broken):
    response = vector_response(Pure(1), 4)
    one = response.run(broken, Noise(insecure_seed=1))
    with pytest.raises(ParameterError, match="4 numbers"):
        response.check(broken)
    response.check([0, 1, 1, 0])
    assert one.shape == (4,) and set(one.tolist()) <= {0, 1}
    rows = response.run_many([broken, [1, 0, 0, 0]] * 500, Noise(insecure_seed=2))
    assert rows.shape == (1000, 4)
    assert abs(rows[::2].mean() - 0.5) < 0.06


def test_a_table_of_numbers_with_gaps_is_served():
    response = vector_response(Pure(16), 2)
    rows = np.array([[1.0, 0.0], [math.nan, 1.0]] * 200)
    reports = response.run_many(rows, Noise(insecure_seed=2))
    assert reports[::2].mean(axis=0) == pytest.approx([1, 0], abs=0.05)
    assert reports[1::2].mean() == pytest.approx(0.5, abs=0.1)
    assert response.run_many(np.zeros((0, 2)), Noise(insecure_seed=2)).shape == (0, 2)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: vector_response(Pure(1), 0), ParameterError, "at least 1"),
        (lambda: vector_response(Pure(1), 5000), ParameterError, "at most 4096"),
        (lambda: vector_response(Approximate(1, 1e-6), 4), UnsupportedSpend, "Pure"),
        (lambda: vector_response(Pure(100), 4), ParameterError, "no privacy"),
        (lambda: independent_bits(0, 4, "0.1"), ParameterError, "above zero"),
        (lambda: independent_bits(1, 4, 1), ParameterError, "strictly between"),
        (lambda: VectorResponse(bits=4, flip=0, least=0, most=4), ParameterError, "vector_response"),
        (lambda: VectorResponse(bits=4, flip=COIN, least=0, most=4), ParameterError, "2\\^62"),
        (lambda: VectorResponse(bits=4, flip=9, least=3, most=2), ParameterError, "shell"),
        (lambda: read_vectors(vector_response(Pure(1), 4), [[1, 0]]), ParameterError, "4 columns"),
        (lambda: read_vectors(vector_response(Pure(1), 4), [[7, 7, 7, 7]]), ParameterError, "no report"),
        (
            lambda: read_vectors(VectorResponse(bits=4, flip=COIN // 2, least=0, most=4), [[1] * 4]),
            NotProvable,
            "no signal",
        ),
        (lambda: read_vectors(vector_response(Pure(1), 4), [[1] * 4]).both(0, 4), ParameterError, "place"),
        (lambda: read_vectors(vector_response(Pure(1), 4), [[1] * 4]).both(2, 2), ParameterError, "differ"),
    ],
)
def test_refusals_say_what_to_write(call, error, words):
    with pytest.raises(error, match=words):
        call()
