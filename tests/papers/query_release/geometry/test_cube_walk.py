"""The walk over cubes: its transition matrix, how far it is from uniform, and what follows (QR-KWALK, test a)."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from sfumato import Noise
from sfumato.errors import ParameterError
from sfumato.papers.query_release.geometry.cube_walk import CubeWalk, cube_walk, walked_epsilon

HEXAGON = [[1, 0], [0, 1], [1, 1]]


def test_the_transition_matrix_is_that_of_a_lazy_walk_with_a_uniform_rest() -> None:
    matrix = cube_walk(HEXAGON, "1/2").transition.toarray()
    assert np.allclose(matrix.sum(axis=1), 1) and np.array_equal(matrix, matrix.T)
    assert matrix.diagonal().min() >= 0.5
    uniform = np.full(len(matrix), 1 / len(matrix))
    assert np.allclose(uniform @ matrix, uniform)


def test_cubes_cover_the_body_and_little_more() -> None:
    walk = cube_walk(HEXAGON, "1/5")
    kept = set(walk.cubes)
    corners = walk.width * (np.array(walk.cubes)[:, None, :] + np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]]) / 2)
    assert (corners @ walk.normals.T <= 1.2 * walk.offsets + 1e-9).all()
    grid = np.linspace(-2.5, 2.5, 101)
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    inside = points[(points @ walk.normals.T <= walk.offsets).all(axis=1)]
    assert len(inside) > 1000
    assert all(tuple(cube) in kept for cube in np.floor(inside / walk.width + 0.5).astype(int).tolist())


def test_mixing_is_worked_out_and_gives_the_epsilon_of_the_spec() -> None:
    """A precision of 0.1 at rate 4.1 in two directions: epsilon is 1.2 times the rate."""
    walk = cube_walk(HEXAGON, "1/10")
    steps = walk.steps_for(0.1)
    apart = walk.mixing(steps)
    assert 0 < apart <= 0.1 and walk.mixing(steps // 8) > 0.1
    assert walk.mixing(3) == math.inf
    found = walked_epsilon("4.1", 2, Fraction(apart))
    assert Fraction("4.1") * Fraction(11, 10) < found <= Fraction("4.1") * Fraction(12, 10)


def test_the_walk_that_runs_has_the_law_of_the_matrix() -> None:
    walk = CubeWalk(np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]), np.array([1.0, 1, 0.4, 0.4]), 1.0)
    assert sorted(walk.cubes) == [(-1, 0), (0, 0), (1, 0)]
    chances = np.linalg.matrix_power(walk.transition.toarray(), 4)[0]
    source = Noise(insecure_seed=3)
    seen = Counter(walk.walk(4, source) for _ in range(4000))
    for cube, chance in zip(walk.cubes, chances, strict=True):
        # Five standard deviations of a share of 4000.
        assert abs(seen[cube] / 4000 - chance) < 5 * math.sqrt(chance * (1 - chance) / 4000)
    points = np.array([walk.point(4, source) for _ in range(50)])
    assert (np.abs(points) <= [1.5, 0.5]).all()


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="2 to 4 directions"):
        cube_walk([[1, 1], [2, 2]], "1/10")
    with pytest.raises(ParameterError, match="precision"):
        cube_walk(HEXAGON, 2)
    with pytest.raises(ParameterError, match="is at most"):
        walked_epsilon(1, 2, "1/5")
    with pytest.raises(ParameterError, match="steps"):
        cube_walk(HEXAGON, "1/2").mixing(0)
