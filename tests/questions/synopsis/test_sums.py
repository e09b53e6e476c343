"""Exact sums over sets of columns, their sensitivities, and the polynomials that answers are made of."""

from __future__ import annotations

from itertools import combinations, product
from math import comb

import numpy as np
import pytest

from sfumato import Noise, Schema
from sfumato.questions.synopsis import Bits, Conjunctions
from sfumato.questions.synopsis import sums as room
from sfumato.questions.synopsis.binary import Rows
from sfumato.questions.synopsis.fourier_weights import entries, fourier_weights, tail
from sfumato.questions.synopsis.inclusion import inclusion
from sfumato.questions.synopsis.polynomials import evaluate
from sfumato.questions.synopsis.weighted import SubsetSums, attribute_moves, person_moves
from tests.imputed import booleans, categories
from tests.questions.synopsis.tables import mixture, schema_of


@pytest.mark.parametrize("size", [12, 20])
def test_sums_are_those_of_a_loop(size: int) -> None:
    noise = Noise(insecure_seed=1)
    flags = mixture(200, size, 2)
    weights = noise.uniform(9, 200 * 4).reshape(200, 4)
    found = room.subset_sums(flags, weights)
    for width in range(4):
        for place, members in list(enumerate(room.listed_sets(size, width).tolist()))[::41]:
            assert found[width][place] == weights[flags[:, members].all(axis=1), width].sum()


def test_sums_beyond_doubles_stay_exact() -> None:
    flags = mixture(50, 20, 3)
    weights = np.full((50, 3), (1 << 52) + 1, np.int64)
    ones = room.subset_sums(flags, np.ones((50, 3), np.int64))
    for level, count in zip(room.subset_sums(flags, weights), ones, strict=True):
        assert (level == count * ((1 << 52) + 1)).all()


@pytest.mark.parametrize("ones", [False, True])
@pytest.mark.parametrize(("size", "degree", "squared"), [(4, 2, False), (5, 3, True)])
def test_moves_are_those_of_all_pairs_of_rows(size: int, degree: int, squared: bool, ones: bool) -> None:
    bits = Bits.of(schema_of(size))
    table = fourier_weights(size, degree, 0.4, (0, size), squared=squared, bits=8).table
    law = object()
    vectors = {}
    for row in product((0, 1), repeat=size):
        mechanism = SubsetSums(bits=bits, weights=table, law=law, ones=ones)  # type: ignore[arg-type]
        vectors[row] = mechanism.exact(Rows.of([row], size))
    claimed = person_moves((0, size), size, table, count=0, replaced=True, rows=1)
    apart = [np.abs(a - b) for a, b in combinations(vectors.values(), 2)]
    assert max(int(move.sum()) for move in apart) == claimed.l1
    assert max(int((move**2).sum()) for move in apart) == claimed.l2_squared
    added = person_moves((0, size), size, table, count=3, replaced=False, rows=1)
    assert max(int(v.sum()) for v in vectors.values()) + 3 == added.l1
    single = attribute_moves(bits, table, ones)["c1"]
    near = [np.abs(v - vectors[(row[0], 1 - row[1], *row[2:])]) for row, v in vectors.items()]
    assert max(int(move.sum()) for move in near) == single.l1
    assert max(int((move**2).sum()) for move in near) == single.l2_squared


def test_one_hot_columns_move_less() -> None:
    schema = Schema({"job": categories(*"abcdef"), "smokes": booleans()})
    bits = Bits.of(schema, [*(f"job={letter}" for letter in "abcdef"), "smokes"])
    assert bits.ones == (1, 2)
    table = ((0, 1, 1),) * 8
    free = person_moves((0, 7), 7, table, count=0, replaced=True, rows=1)
    held = person_moves(bits.ones, 7, table, count=0, replaced=True, rows=1)
    assert held.l1 == 6 < free.l1  # two ones and their pair on either side
    assert attribute_moves(bits, table, ones=True)["smokes"].l1 == 2


def test_uniform_coefficients_move_by_one_at_most() -> None:
    # RL-FOUR: 2^-z over the subsets of z zeros is a probability, whatever the degree.
    for degree in range(4):
        values = entries(8, degree, 0.5)
        norms = [sum(comb(z, j) * values[z, j] for j in range(degree + 1)) for z in range(9)]
        assert max(norms) <= 1


def test_truncation_is_bounded_by_the_tail() -> None:
    bits = mixture(300, 8, 5)
    every = np.array(list(product((0, 1), repeat=8)), bool)
    true = np.array([bits[:, query].all(axis=1).mean() for query in every])
    values = entries(8, 2, 0.5)
    zeros = ~bits
    table = values[zeros.sum(axis=1)]
    guess = np.zeros(256)
    for width in range(3):
        for members in combinations(range(8), width):
            coefficient = (table[:, width] * zeros[:, list(members)].all(axis=1)).sum() / len(bits)
            guess += coefficient * (-1.0) ** every[:, list(members)].sum(axis=1)
    assert np.mean((guess - true) ** 2) <= tail(8, 2, 0.5, (0, 8)) <= 2**-3


def test_wide_queries_and_narrow_ones_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = Noise(insecure_seed=4)
    levels = [noise.uniform(100, comb(20, width)) / 100 for width in range(4)]
    queries = Conjunctions.random(20, 8, 40, noise=noise)
    table = noise.uniform(9, 16).reshape(4, 4).astype(float)
    narrow = evaluate(levels, queries, lambda plain, negated: table)
    monkeypatch.setattr("sfumato.questions.synopsis.polynomials.WIDE", 0)
    assert np.allclose(narrow, evaluate(levels, queries, lambda plain, negated: table))


def test_orders_that_suffice_for_a_bias() -> None:
    # The table of the spec, computed by linear programs.
    wanted = {4: (3, 4, 4), 6: (4, 4, 6), 8: (4, 5, 7), 10: (5, 6, 8), 12: (5, 6, 8), 16: (6, 8, 10)}
    for width, orders in wanted.items():
        for bias, order in zip((0.1, 0.05, 0.01), orders, strict=True):
            assert inclusion(width, 0, order, (0.0,) * (order + 1)).bias <= bias + 1e-6
            assert inclusion(width, 0, order - 1, (0.0,) * order).bias > bias + 1e-6


@pytest.mark.parametrize("ones", [False, True])
@pytest.mark.parametrize(("plain", "negated"), [(3, 0), (2, 2), (0, 3)])
def test_inclusion_of_full_order_is_exact(plain: int, negated: int, ones: bool) -> None:
    bits = mixture(200, 6, 7)
    flags = bits if ones else ~bits
    order = plain + negated
    found = inclusion(plain, negated, order, (0.0,) * (order + 1), ones=ones)
    assert found.bias < 1e-9
    total = 0.0
    for width in range(order + 1):
        for members in combinations(range(order), width):
            minus = sum(member >= plain for member in members)
            total += found.factors[width - minus, minus] * flags[:, list(members)].all(axis=1).mean()
    true = (bits[:, :plain].all(axis=1) & ~bits[:, plain:order].any(axis=1)).mean()
    assert abs(total - true) < 1e-9
