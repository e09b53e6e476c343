"""Floors that no local protocol goes below."""

from __future__ import annotations

import math

import pytest

from sfumato import Approximate, Noise, Pure
from sfumato.bounds import leaving_chance, local_count_floor, local_tail_floor
from sfumato.errors import NotProvable, ParameterError, UnsupportedSpend
from sfumato.local import response
from sfumato.papers.heavy_hitters.structure import error_floor, least_users, tail_floor


@pytest.mark.parametrize(
    ("epsilon", "floor", "attained"),
    [
        ("0.1", 6.93, 10.0),
        ("0.25", 2.77, 3.99),
        ("0.5", 1.388, 1.979),
        ("1", 0.699, 0.960),
        ("2", 0.365, 0.425),
        ("4", 0.135, 0.138),
    ],
)
def test_floors_lie_below_what_randomized_response_attains(epsilon, floor, attained):
    users = 1_000_000
    found = error_floor(users, Pure(epsilon)).value / math.sqrt(users)
    assert found == pytest.approx(floor, rel=0.005)
    reached = response(Pure(epsilon), 2).deviation(users) / math.sqrt(users)
    assert reached == pytest.approx(attained, rel=0.01)
    assert found < reached < 1.46 * found


def test_a_block_is_enumerated():
    """Three users: one block of 3, or three blocks of 1, by running through all responses."""
    epsilon = 0.8
    true = 1 / (1 + math.exp(-epsilon))
    candidates = []
    for size in (1, 2, 3):
        left = 0.0
        for count in range(size + 1):
            up = math.comb(size, count) * true**count * (1 - true) ** (size - count)
            down = math.comb(size, count) * true ** (size - count) * (1 - true) ** count
            # The posterior variance of a fair bit, times the chance to see this count.
            left += (up + down) / 2 * (up / (up + down)) * (down / (up + down))
        candidates.append(math.sqrt(3 // size * size**2 * left))
    assert local_count_floor(3, epsilon).value == pytest.approx(max(candidates), rel=1e-5)


def test_the_best_reader_of_blocks_meets_the_floor():
    """The floor is the error of the posterior mean itself: simulated on blocks of six at epsilon 1."""
    users, size, epsilon, trials = 600, 6, 1.0, 400
    noise = Noise(insecure_seed=2)
    bits = noise.uniform(2, trials * users // size).reshape(trials, -1)
    flips = noise.uniform(10**6, trials * users).reshape(trials, -1, size) < 10**6 / (1 + math.e)
    heard = ((bits[:, :, None] ^ flips) * 2 - 1).sum(axis=2)
    guess = size / (1 + math.e ** -(epsilon * heard.astype(float)))
    errors = guess.sum(axis=1) - size * bits.sum(axis=1)
    assert math.sqrt((errors**2).mean()) == pytest.approx(local_count_floor(users, epsilon).value, rel=0.1)


def test_tails_and_users():
    base = error_floor(10_000, Pure(1)).value
    assert tail_floor(10_000, Pure(1), 0.05).value == pytest.approx(1.96 * base, rel=1e-3)
    assert "heuristic" in tail_floor(10_000, Pure(1), 0.05).binding
    assert local_tail_floor(10_000, 1, 0.05, items=2**64).value > 4 * local_tail_floor(10_000, 1, 0.05).value
    users = least_users(Pure(1), "0.01")
    assert 0.01 * users >= error_floor(users, Pure(1)).value
    assert 0.01 * (users - 1) < error_floor(users - 1, Pure(1)).value


@pytest.mark.parametrize(("users", "spread"), [(1000, 0.1), (1000, 0.3), (4000, 0.5)])
def test_sums_of_bits_leave_every_interval_as_often_as_stated(users, spread):
    mass = users * spread
    for width in (math.ceil(math.sqrt(1.5 * mass) / 2), math.floor(mass / 8)):
        law = [
            math.exp(
                math.lgamma(users + 1)
                - math.lgamma(j + 1)
                - math.lgamma(users - j + 1)
                + j * math.log(spread)
                + (users - j) * math.log1p(-spread)
            )
            for j in range(users + 1)
        ]
        heaviest = max(sum(law[start : start + width + 1]) for start in range(int(mass) - 2 * width, int(mass) + width))
        assert 1 - heaviest >= leaving_chance(users, width, spread)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: error_floor(0, Pure(1)), ParameterError, "at least 1"),
        (lambda: error_floor(10, Approximate(1, 1e-6)), UnsupportedSpend, "Pure"),
        (lambda: error_floor(10, Pure(0)), ParameterError, "no signal"),
        (lambda: tail_floor(10, Pure(1), 0), ParameterError, "strictly between"),
        (lambda: tail_floor(10, Pure(1), 0.1, items=0), ParameterError, "at least 1"),
        (lambda: least_users(Pure(1), 0), ParameterError, "strictly between"),
        (lambda: least_users(Pure(1), "1e-12"), NotProvable, "larger share"),
        (lambda: leaving_chance(100, 5), NotProvable, "more users"),
        (lambda: leaving_chance(10_000, 20, 0.7), NotProvable, "at most 1/2"),
        (lambda: leaving_chance(10_000, -20), NotProvable, "lengths"),
    ],
)
def test_refusals_say_what_to_write(call, error, words):
    with pytest.raises(error, match=words):
        call()
