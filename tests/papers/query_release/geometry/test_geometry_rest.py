"""Small databases, the random walk, and workloads in place of matrices."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import ADD_REMOVE, Noise, Pure
from sfumato.errors import DomainTooLarge, NotProvable, ParameterError, UnsupportedSpend
from sfumato.papers.query_release.geometry import choose_additive, shaped
from sfumato.papers.query_release.geometry.experimental import _by_facets, _by_program, walk, walk_noise
from sfumato.papers.query_release.geometry.moments import hull_moments
from sfumato.papers.query_release.geometry.small_databases import small_databases
from sfumato.privacy import Approximate


def test_small_databases_come_near_and_stay_within_their_bound() -> None:
    queries = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0]])
    truth, people = np.array([600, 200, 150, 50]), 1000
    choice = small_databases(queries, Pure(1), people=people, size=12)
    source = Noise(insecure_seed=1)
    errors = [
        np.abs(queries @ choice(truth, source) / 12 - queries @ truth / people).max() for _ in range(40)
    ]  # fmt: skip
    assert np.mean(errors) < 0.1 and max(errors) < choice.error(0.99)


def test_small_databases_refuse_what_they_cannot_do() -> None:
    with pytest.raises(DomainTooLarge):
        small_databases(np.eye(40, dtype=int), Pure(1), people=100)
    with pytest.raises(ParameterError):
        small_databases([[1, -1]], Pure(1), people=100)
    with pytest.raises(UnsupportedSpend):
        small_databases([[1, 0]], Approximate(1, 1e-6), people=100)


def test_the_walk_must_be_asked_for_and_cannot_be_booked() -> None:
    matrix = [[1, 1, -1], [1, -1, 1]]
    with pytest.raises(NotProvable):
        walk_noise(matrix, Pure(1), relation=ADD_REMOVE)
    noisy = walk_noise(matrix, Pure(1), relation=ADD_REMOVE, allow_unproven_mixing=True, declared="1e-6")
    with pytest.raises(NotProvable, match="no ledger"):
        noisy.loss()
    assert noisy.declared_loss().person.leak > 0


def test_the_walk_agrees_with_the_exact_law_of_norms() -> None:
    """For a uniform point of the body norm² is uniform on [0, 1] in two dimensions."""
    vectors = np.array([[1.0, 1.0], [1.0, -1.0]])
    source = Noise(insecure_seed=3)
    points = np.array([walk(vectors, 8, source) for _ in range(40)])
    norms = np.abs(points).max(axis=1) ** 2
    assert (norms <= 1 + 1e-9).all() and abs(norms.mean() - 0.5) < 0.2
    _, covariance = hull_moments(vectors)
    assert abs((points**2).mean() - covariance[0, 0]) < 0.2


def test_facets_and_linear_programs_reach_equally_far() -> None:
    vectors = np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 1.0], [2.0, 0.0, 1.0], [0.0, 1.0, -1.0]])
    reach, point = _by_facets(vectors), 0.3 * vectors[0] - 0.2 * vectors[3]
    for direction in np.array([[1.0, 0.3, -0.2], [-1.0, 2.0, 0.5], [0.0, 0.0, 1.0]]):
        for towards in (direction, -direction):
            assert abs(reach(point, towards) - _by_program(vectors, point, towards)) < 1e-9


def test_a_workload_takes_the_place_of_a_matrix() -> None:
    from sfumato.table.schema import Schema
    from sfumato.workload.blocks import Marginal
    from sfumato.workload.space import Space
    from tests.imputed import categories

    class Queries:
        def __init__(self) -> None:
            schema = Schema({"sex": categories("F", "M"), "smokes": categories("no", "yes")})
            self.space = Space.of(schema)
            self.blocks = (Marginal(("sex",), (2,)), Marginal(("smokes",), (2,)))

    made = shaped(Queries(), Pure(1), people=100)
    assert made.reads == frozenset({"sex", "smokes"}) and made.loss().at("sex").epsilon == 1
    value = made(np.array([40, 60, 30, 70]), Noise(insecure_seed=1))
    assert value[:2].sum() == 100 and value[2:].sum() == 100
    choice = choose_additive(Queries(), Pure(1), people=100)
    assert choice.best.method == "knorm"
