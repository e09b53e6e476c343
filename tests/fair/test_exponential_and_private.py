from __future__ import annotations

import numpy as np
import pytest

from sfumato import Approximate, Pure, fair
from sfumato.errors import ParameterError
from sfumato.noise import Noise
from tests.fair.support import metric_of

LN2 = "0.6931471805599453"


def grid(*sides: int) -> fair.Metric:
    points = np.stack(np.meshgrid(*[np.arange(float(side)) for side in sides], indexing="ij"), axis=-1)
    return fair.Metric.from_features(points.reshape(-1, len(sides)), [1.0] * len(sides), norm="euclidean")


@pytest.mark.parametrize(
    ("sides", "half", "whole"),
    [((200,), 1.894650, 0.844375), ((40, 40), 3.670253, 1.814664), ((12, 12, 12), 4.291549, 2.500072)],
)
def test_reference_distances(sides, half, whole):
    assert np.isclose(fair.exponential_mapping(grid(*sides)).mean_distance, half, atol=1e-5)
    assert np.isclose(fair.exponential_mapping(grid(*sides), rate=1.0).mean_distance, whole, atol=1e-5)


def test_the_printed_rate_breaks_and_the_repaired_one_holds():
    """Lemma 8.5.2 as printed (exp(-d)): one person at distance 1 from 51 coincident ones."""
    star = np.zeros((52, 52))
    star[0, 1:] = star[1:, 0] = 1.0
    metric = fair.Metric.from_matrix(star)
    printed = fair.certify(metric, fair.exponential_mapping(metric, rate=1.0).probabilities, "inf")
    repaired = fair.certify(metric, fair.exponential_mapping(metric).probabilities, "inf")
    assert not printed.ok and np.isclose(printed.ratio, 1.955, atol=1e-3)
    assert repaired.ok and np.isclose(repaired.ratio, 0.980, atol=1e-3)


def test_a_net_as_range_holds_for_everybody():
    metric = metric_of(1, 120, 2, 2.0)
    blurred = fair.exponential_mapping(metric, range=np.arange(0, 120, 10))
    assert fair.certify(metric, blurred.probabilities, "inf").ok


def test_calibrated_rates_are_checked():
    metric = metric_of(2, 60, 2, 2.0)
    better = fair.exponential_mapping(metric, calibrate=True)
    assert 0.5 <= better.rate <= 1.0 and fair.certify(metric, better.probabilities, "inf").ok
    assert better.mean_distance <= fair.exponential_mapping(metric).mean_distance


def test_bounds_of_the_mean_distance():
    metric = grid(15, 15)
    reached = fair.exponential_mapping(metric).mean_distance
    assert fair.packing_lower_bound(metric, 1.5, 0.4) <= reached <= fair.mean_distance_bound(metric)


def test_dimension_grows_with_dimension():
    one, two, three = (fair.doubling_dimension(grid(*sides)) for sides in ((200,), (15, 15), (7, 7, 7)))
    assert one.growth < two.growth < three.growth and one.doubling < three.doubling


def test_bad_exponentials_are_refused():
    with pytest.raises(ParameterError, match="rate"):
        fair.exponential_mapping(grid(5), rate=2)
    with pytest.raises(ParameterError, match="range"):
        fair.exponential_mapping(grid(5), range=[])


@pytest.mark.parametrize("seed", range(3))
def test_the_best_private_count_is_the_geometric_mechanism_post_processed(seed):
    prior = Noise(insecure_seed=seed).uniform(1000, 7) + 1.0
    error = np.abs(np.subtract.outer(np.arange(7), np.arange(7)))
    best = fair.optimal_dp_mechanism(7, Pure(LN2), error, prior=prior)
    assert np.isclose(best.objective, best.post_processed, atol=1e-7) and best.objective <= best.geometric + 1e-9
    ratio = best.probabilities[1:] / best.probabilities[:-1]
    assert np.all(ratio <= 2) and np.all(ratio >= 0.5) and best.mapping.certificate.ok


def test_rows_of_adjacent_states_suffice():
    """F12: the program on the path's edges has the optimum of all pairs."""
    cycle = np.zeros((6, 6), dtype=int)
    cycle[np.arange(6), (np.arange(6) + 1) % 6] = 1
    best = fair.optimal_dp_mechanism(6, Pure(1), 1.0 - np.eye(6), adjacency=cycle | cycle.T)
    assert best.mapping.certificate.ok and best.mapping.gap < 1e-7
    steps = np.minimum(
        np.abs(np.subtract.outer(np.arange(6), np.arange(6))), 6 - np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    )
    weight = np.exp(-steps)
    # On a vertex-transitive space the exponential mechanism at the full rate is private, and here optimal.
    assert best.objective <= (1 - np.diagonal(weight / weight.sum(axis=1, keepdims=True))).mean() + 1e-8


def test_bad_mechanisms_are_refused():
    with pytest.raises(ParameterError, match="Pure"):
        fair.optimal_dp_mechanism(3, Approximate(1, 1e-6), np.eye(3))
    with pytest.raises(ParameterError, match="symmetric"):
        fair.optimal_dp_mechanism(3, Pure(1), np.eye(3), adjacency=np.triu(np.ones((3, 3))))
    with pytest.raises(ParameterError, match="two states"):
        fair.optimal_dp_mechanism(1, Pure(1), np.eye(1))


def test_people_infinitely_far_apart_are_never_exchanged():
    """Two islands: nobody moves across, so the mean distance and its bound are those of the islands by themselves."""
    island = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    far = np.full((4, 4), np.inf)
    both = fair.Metric.from_matrix(np.block([[island, far], [far, island]]))
    one = fair.Metric.from_matrix(island)
    for rate in (0.5, 1.0):
        alone, together = fair.exponential_mapping(one, rate=rate), fair.exponential_mapping(both, rate=rate)
        assert np.isclose(together.mean_distance, alone.mean_distance, rtol=1e-12)
        assert np.allclose(together.probabilities[:4], np.hstack([alone.probabilities, np.zeros((4, 4))]))
    assert np.isclose(fair.mean_distance_bound(both), fair.mean_distance_bound(one), rtol=1e-12)
    assert fair.packing_lower_bound(both, 1.5, 0.4) == fair.packing_lower_bound(one, 1.5, 0.4)
    assert fair.exponential_mapping(both, calibrate=True).mean_distance <= fair.mean_distance_bound(both)
    # Islands of one person each: nobody is moved at all.
    hermits = fair.Metric.from_matrix(np.where(np.eye(3), 0.0, np.inf))
    assert fair.exponential_mapping(hermits).mean_distance == 0.0
