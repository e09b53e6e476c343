from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import fair
from sfumato.errors import CertificationError, ParameterError
from sfumato.fair.grid import binary_rows, check_probabilities, to_grid_rows
from sfumato.fair.pairs import envelope, scan
from sfumato.fair.pairs.divergence import divergence_pairs
from tests.fair.support import exact_violations, metric_of, normal


def distributions(seed: int, people: int, outcomes: int) -> np.ndarray:
    raw = np.exp(normal(seed, people, outcomes))
    return raw / raw.sum(axis=1, keepdims=True)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([2, 3, 5]), st.sampled_from(["tv", "inf"]))
def test_scan_agrees_with_a_loop(seed, outcomes, distance):
    people = 23
    metric, rows = metric_of(seed, people, scale=0.2), distributions(seed + 1, people, outcomes)
    groups = np.arange(people) % 3
    found = scan.scan_pairs(metric, rows, distance, groups)
    apart = metric.block()
    worst, bad, ratio = np.full(people, -np.inf), 0, 0.0
    for x in range(people):
        for y in range(people):
            if x != y:
                if distance == "tv":
                    treated = float(
                        sum(abs(Fraction(a) - Fraction(b)) for a, b in zip(rows[x], rows[y], strict=True)) / 2
                    )
                else:
                    treated = float(np.abs(np.log(rows[x] / rows[y])).max())
                worst[x] = max(worst[x], treated - apart[x, y])
                ratio = max(ratio, treated / apart[x, y])
                bad += x < y and treated > apart[x, y]
    assert found.pairs == people * (people - 1) // 2 == sum(count for count, _ in found.by_group.values())
    assert found.violating == bad and np.isclose(found.ratio, ratio)
    assert np.allclose(found.excess, worst) and set(found.by_group) == {(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)}


def test_tiles_cover_every_pair_once(monkeypatch):
    monkeypatch.setattr(scan, "TILE_ROWS", 7)
    monkeypatch.setattr(scan, "TILE_COLUMNS", 11)
    labels = np.sort(np.arange(60) % 4)
    seen = np.zeros((60, 60), dtype=int)
    for left, right in scan._tiles(labels):
        seen[left, right] += np.arange(left.start, left.stop)[:, None] < np.arange(right.start, right.stop)[None, :]
    assert np.array_equal(seen, np.triu(np.ones((60, 60), dtype=int), 1))


def test_rounding_is_never_in_our_favour():
    third = np.array([[1 / 3, 2 / 3], [0.0, 1.0]])
    exactly = fair.Metric.from_scores([0.0, np.floor(2**30 / 3) / 2**30])
    assert not fair.certify(exactly, third).ok
    assert fair.certify(fair.Metric.from_scores([0.0, 0.34]), third).ok


def test_people_at_distance_zero_must_be_treated_alike():
    metric = fair.Metric.from_scores([1.0, 1.0])
    same, other = np.array([[0.3, 0.7]] * 2), np.array([[0.3, 0.7], [0.3 + 2**-50, 0.7 - 2**-50]])
    assert fair.certify(metric, same).ok and fair.certify(metric, same).ratio == 0.0
    found = fair.certify(metric, other)
    assert not found.ok and found.ratio == np.inf
    with pytest.raises(CertificationError, match="withheld"):
        found.require()


def test_different_supports_are_infinitely_far_in_log_ratio():
    assert divergence_pairs(np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]]), "inf")[0] == np.inf
    assert divergence_pairs(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]]), "inf")[0] == 0.0


def test_a_sample_says_that_it_is_one():
    metric = metric_of(1, 50)
    found = fair.certify(metric, distributions(2, 50, 2), sample=1000)
    assert found.coverage == "sampled, lower bound" and found.pairs == 1000


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(["sum", "euclidean", "largest"]))
def test_the_tree_finds_what_blocks_find(seed, norm):
    metric = metric_of(seed, 80, norm=norm)
    values = binary_rows(np.abs(np.sin(normal(seed + 1, 80, 1)[:, 0])))[:, 1]
    blocks = envelope._by_blocks(metric, values, metric)
    tree = envelope._by_tree(metric, values, metric.coordinates)
    # Euclidean envelopes keep two steps of the grid in reserve.
    assert np.array_equal(tree, blocks) if norm != "euclidean" else np.all((tree >= blocks) & (tree <= blocks + 2**-28))


def test_the_search_is_the_same_in_plain_python():
    metric = metric_of(3, 40)
    values = binary_rows(np.abs(np.sin(normal(4, 40, 1)[:, 0])))[:, 1]
    out = np.empty(40)
    envelope._search(*envelope.build_tree(metric.coordinates, values), metric.coordinates, 1, 2.0**-30, out)
    assert np.array_equal(out, envelope._by_blocks(metric, values, metric))


def test_rows_on_the_grid_sum_to_one():
    rows = to_grid_rows(distributions(5, 100, 7))
    assert exact_violations(np.full((100, 100), 2.0), rows) == 0


@pytest.mark.parametrize("bad", [[[0.5, 0.6]], [[np.nan, 1]], [[-0.1, 1.1]], [[[1.0]]], [[1.0]]])
def test_bad_probabilities_are_refused(bad):
    with pytest.raises(ParameterError):
        check_probabilities(bad)
    with pytest.raises(ParameterError, match="tv"):
        fair.certify(metric_of(1, 2), np.array([[1.0, 0], [0, 1.0]]), "kl")
