"""Floors for workloads: the spec's checked numbers, and that nothing shipped lies below them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.bounds import (
    WARNINGS,
    histogram_error,
    packing_error,
    random_queries_error,
    sampling_error,
    volume_floor,
    volume_radius,
)
from sfumato.errors import ParameterError


@pytest.mark.parametrize(
    ("people", "cells", "queries", "epsilon", "expected"),
    [(1000, 10**6, 10**5, 0.1, 0.10), (1000, 2**40, 10**6, 1, 0.055), (10**4, 2**40, 10**7, 0.1, 0.069)],
)
def test_random_queries(people: int, cells: int, queries: int, epsilon: float, expected: float) -> None:
    assert random_queries_error(people, cells, queries, epsilon).value == pytest.approx(expected, abs=0.0006)


@pytest.mark.parametrize(("people", "cells", "queries", "epsilon"), [(60, 200, 1000, 0.05), (48, 4000, 300, 0.3)])
def test_random_queries_agree_with_the_formula_term_by_term(
    people: int, cells: int, queries: int, epsilon: float
) -> None:
    """Whole binomials over all numbers of records and of different ones: what is skipped would not have been best."""
    best = 0.0
    for records in (part for part in range(1, people + 1) if people % part == 0):
        near = sum(
            math.comb(records, same) * math.comb(cells - records, records - same)
            for same in range(3 * records // 4 + 1, records + 1)
        )
        if math.log(math.comb(cells, records)) - math.log(near) < math.log(3) + epsilon * people:
            continue
        for gap in range(1, records + 1):
            tails = [
                sum(math.comb(2 * j, heads) for heads in range(2 * j + 1) if abs(heads - j) >= gap) / 4**j
                for j in range(-(-records // 4), records + 1)
            ]
            if min(tails) >= 1 or -queries * math.log1p(-min(tails)) > 2 * (epsilon * people + math.log(3)) - math.log(
                2
            ):
                best = max(best, gap / (2 * records))
    assert best > 0 and random_queries_error(people, cells, queries, epsilon).value == pytest.approx(best)


def test_random_queries_say_nothing_where_nothing_is_known() -> None:
    assert random_queries_error(10, 4, 2, 1).value == 0


def test_one_direction_is_half_the_longest_generator() -> None:
    floor = volume_floor([[3.0, 4.0]], 2)
    assert floor.smooth == pytest.approx(0.5 * 5 / 2) and floor.value == 0, "one person moves more than that"
    strict = volume_floor([[3.0, 4.0]], "1/10")
    assert strict.value == pytest.approx(25 * math.exp(-(0.1**2) / 8) - 2.5, rel=1e-5)


def test_volume_radius_of_known_bodies() -> None:
    assert volume_radius(np.eye(2)) == pytest.approx(math.sqrt(2 / math.pi), rel=1e-5)
    cube = np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1], [1, -1, -1]], dtype=float)
    assert volume_radius(cube) == pytest.approx((8 / (4 * math.pi / 3)) ** (1 / 3), rel=1e-5)


def test_a_flat_body_and_a_thin_one_have_floors() -> None:
    assert volume_floor([[1, 0, 1], [0, 1, 1], [1, -1, 0]], "1/10").value > 0
    thin = volume_floor([[100, 0], [0, 1]], 1)
    assert thin.binding == "1 of 2 directions" and thin.smooth == pytest.approx(50)


def test_laplace_noise_is_above_the_floor() -> None:
    floor = volume_floor(np.eye(5), 1)
    assert floor.value < floor.smooth < 5  # five counts, mean length of the noise about 3


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1, 2, 5, 10, 20])
@pytest.mark.parametrize("queries", [1, 2, 5, 7])
def test_no_floor_is_above_discrete_laplace_noise_on_counts_of_whole_people(queries: int, epsilon: float) -> None:
    """The form that rounds distances up claimed 0.137 for seven counts at 5, where this noise has 0.094."""
    decay = math.exp(-epsilon)
    square = 2 * decay / (1 - decay) ** 2
    assert volume_floor(np.eye(queries), epsilon).value < math.sqrt(queries * square)


def test_packing_matches_its_inequality() -> None:
    tables = np.eye(200) * 10  # ten people sit in one cell or another: distance 10, answers 10 apart
    assert packing_error(tables, distance=10, epsilon=0.4).value == 5
    assert packing_error(tables, distance=10, epsilon=0.5).value == 0  # 2·e^5 = 297 > 200
    with pytest.raises(ParameterError):
        packing_error([[1.0, math.nan]], 1, 1)


def test_histogram_error_is_strictly_below_its_level() -> None:
    assert histogram_error(2 * 2981, 1, 1000).value == 4.0  # ln 2981 = 8.00001
    assert histogram_error(2 * 2980, 1, 1000).value == 3.5  # ln 2980 = 7.9997
    assert histogram_error(10**9, 0.001, 7).value == 3.5 and histogram_error(2, 1, 5).value == 0


def test_sampling_error() -> None:
    assert sampling_error(10_000, 1000, 0.05) == pytest.approx(math.sqrt(math.log(40_000) / 20_000))


def test_warnings_are_sentences() -> None:
    assert set(WARNINGS) == {"LB-RAND", "LB-RECON", "LB-SEP", "LB-CRYPTO"}
    assert all(text.endswith(".") for text in WARNINGS.values())


@pytest.mark.parametrize("generators", [[[0, 0]], [[math.inf, 1]]])
def test_bad_generators(generators: list[list[float]]) -> None:
    with pytest.raises(ParameterError):
        volume_floor(generators, 1)
