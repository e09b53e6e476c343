"""Distances given as a matrix stay a metric on the grid, so that mappings on them are certified and not withheld."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import fair
from sfumato.fair.metric.validation import triangle_excess
from sfumato.noise import Noise

PEOPLE = 40


def shares(noise: Noise, *shape: int) -> np.ndarray:
    return noise.uniform(1 << 40, int(np.prod(shape))).reshape(shape) / float(1 << 40)


def line(noise: Noise) -> np.ndarray:
    place = 2 * shares(noise, PEOPLE)
    return np.abs(place[:, None] - place[None, :])


def tree(noise: Noise) -> np.ndarray:
    length = 0.3 * shares(noise, PEOPLE)
    paths: list[frozenset[int]] = [frozenset()]
    for person in range(1, PEOPLE):
        paths.append(paths[int(noise.uniform(person, 1)[0])] | {person})
    return np.array([[sum(length[edge] for edge in sorted(a ^ b)) for b in paths] for a in paths])


def shortest_paths(noise: Noise) -> np.ndarray:
    edges = shares(noise, PEOPLE, PEOPLE)
    apart = np.minimum(edges, edges.T)
    np.fill_diagonal(apart, 0)
    for middle in range(PEOPLE):
        apart = np.minimum(apart, apart[:, middle, None] + apart[None, middle, :])
    return apart


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [line, tree, shortest_paths])
def test_mappings_on_a_matrix_are_certified(shape, seed):
    noise = Noise(insecure_seed=seed)
    metric = fair.Metric.from_matrix(shape(noise))
    for scaled in (metric, metric.scaled(0.37)):
        assert triangle_excess(scaled.block())[0] == 0.0
        assert fair.fair_mapping(scaled, shares(noise, PEOPLE, 2)).certificate.ok
        few, rest = np.arange(PEOPLE // 3), np.arange(PEOPLE // 3, PEOPLE)
        for first, second in ((few, rest), (rest[: PEOPLE // 3], few)):
            action = fair.affirmative_mapping(scaled, shares(noise, PEOPLE, 2), first, second)
            assert action.inside_first.ok and action.inside_second.ok and action.parity < 1e-6


def test_distances_move_by_a_few_steps_of_the_grid_only():
    apart = line(Noise(insecure_seed=9))
    moved = fair.Metric.from_matrix(apart).block() - apart
    # A path of all people loses at most half a step an edge; nothing grows by more than rounding.
    assert moved.min() >= -PEOPLE / 2 * 2.0**-30 and moved.max() <= 2.0**-31


@pytest.mark.audit
def test_a_matrix_too_large_for_all_triangles_is_settled_after_solving():
    noise = Noise(insecure_seed=4)
    place = 3 * shares(noise, 900)
    metric = fair.Metric.from_matrix(np.abs(place[:, None] - place[None, :]))
    assert triangle_excess(metric.block())[0] > 0.0, "this matrix has nothing to settle"
    assert fair.fair_mapping(metric, shares(noise, 900, 2)).certificate.ok
