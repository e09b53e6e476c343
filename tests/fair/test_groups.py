from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog

from sfumato import fair
from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.fair.groups import affirmative, earth
from sfumato.noise import Noise
from tests.fair.support import metric_of, normal

FIGURE = np.array([0] * 90 + [1] * 10 + [0] * 90 + [1] * 810)
S, T = np.arange(100), np.arange(100, 1000)


def figure_metric() -> fair.Metric:
    return fair.Metric.from_scores(FIGURE.astype(float))


def figure_loss() -> np.ndarray:
    return np.stack([FIGURE == 1, FIGURE == 0], axis=1) * 1.0


def transport_program(cost: np.ndarray, one: np.ndarray, two: np.ndarray) -> float:
    rows, columns = cost.shape
    marginals = np.vstack([np.kron(np.eye(rows), np.ones(columns)), np.kron(np.ones(rows), np.eye(columns))])
    return float(linprog(cost.ravel(), A_eq=marginals, b_eq=np.concatenate([one, two])).fun)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.floats(0.1, 1.5))
def test_bias_equals_the_capped_earthmover_distance(seed, scale):
    metric = metric_of(seed, 16, 2, scale)
    first, second = np.arange(7), np.arange(5, 16)
    one, two = np.zeros(16), np.zeros(16)
    one[first], two[second] = 1 / 7, 1 / 11
    found = fair.bias_bound(metric, first, second)
    assert found.exact and np.isclose(
        found.value, transport_program(np.minimum(metric.block(), 1), one, two), atol=1e-9
    )
    program = fair.fair_mapping(metric, np.stack([np.zeros(16), two - one], axis=1) * 16, method="rows")
    assert np.isclose(found.value, -program.objective, atol=1e-8)
    witness = np.stack([1 - found.witness, found.witness], axis=1)
    assert fair.certify(metric, witness).ok
    assert np.isclose((one - two)[found.members] @ found.witness, found.value, atol=1e-9)


def test_equal_groups_are_an_assignment():
    metric = metric_of(3, 40, 2, 0.4)
    cost = metric.block(np.arange(20), np.arange(20, 40))
    rows, columns = linear_sum_assignment(cost)
    moved = fair.earthmover(metric, np.arange(20), np.arange(20, 40))
    assert np.isclose(moved.value, cost[rows, columns].mean()) and np.isclose(moved.bound, moved.value, atol=1e-9)


def test_a_hub_replaces_far_edges(monkeypatch):
    metric = metric_of(4, 80, 2, 0.8).capped(1.0)
    plain = fair.earthmover(metric, np.arange(30), np.arange(30, 80))
    monkeypatch.setattr(earth, "DENSE_PEOPLE", 10)
    hub = fair.earthmover(metric, np.arange(30), np.arange(30, 80))
    assert np.isclose(plain.value, hub.value, atol=1e-9) and np.isclose(hub.bound, hub.value, atol=1e-8)


def test_the_same_group_has_no_bias():
    assert fair.bias_bound(metric_of(5, 20), np.arange(20), np.arange(20)).value == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_log_ratio_bias_is_below_its_bounds(seed):
    metric = metric_of(seed, 16, 2, 0.8)
    first, second = np.arange(8), np.arange(8, 16)
    exact = fair.bias_bound(metric, first, second, distance="inf")
    assert exact.exact
    assert exact.value <= exact.transport.value + 1e-9 <= fair.bias_bound(metric, first, second).value + 1e-8
    assert fair.certify(metric, np.stack([1 - exact.witness, exact.witness], axis=1), "inf").ok


def test_the_papers_example():
    best = fair.fair_mapping(figure_metric(), figure_loss())
    assert np.isclose(fair.bias_bound(figure_metric(), S, T).value, 0.8)
    assert np.isclose(fair.parity_gap(best.probabilities, S, T).value, 0.8)
    assert best.objective == 0 and best.certificate.ratio == 1.0
    aff = fair.affirmative_mapping(figure_metric(), figure_loss(), S, T)
    assert np.isclose(aff.moved, 0.8) and aff.parity < 1e-12
    assert "see affirmative_mapping" in fair.bias_bound(figure_metric(), S, T, shuffles=40).verdict(0.8)


def test_a_gap_beyond_the_bound_convicts():
    metric = fair.Metric.from_scores([0.0, 0.1, 0.0, 0.1])
    reading = fair.read_bias([1.0, 1.0, 0.0, 0.0], metric, [0, 1], [2, 3])
    assert reading.added == 1.0 and not reading.fair and "provably" in reading.verdict
    fine = fair.read_bias([0.5, 0.59, 0.5, 0.59], metric, [0, 1], [2, 3])
    assert fine.fair and "consistent" in fine.verdict


def test_a_small_gap_bounds_no_posterior():
    """Proposition 8.3.2(2) as printed is false: a gap of 0.05 with an outcome that only one group gets."""
    gap = fair.parity_gap([[0.05, 0.95], [0.0, 1.0]], [0], [1])
    assert np.isclose(gap.value, 0.05) and gap.ratios[0] == np.inf


def test_parity_intervals_cover():
    scores = (normal(6, 400, 1)[:, 0] > 0) * 1.0
    gap = fair.parity_gap(scores, np.arange(200), np.arange(200, 400))
    assert gap.interval[0] <= gap.value <= gap.interval[1] + 0.05


def test_parity_intervals_begin_at_zero_where_nothing_is_shown():
    begin, cover = 0, 0
    for seed in range(60):
        noise = Noise(insecure_seed=seed)
        decisions = (noise.uniform(100, 600) < np.repeat([40, 52], 300)) * 1.0
        alike = fair.parity_gap(decisions, np.arange(0, 300, 2), np.arange(1, 300, 2)).interval
        planted = fair.parity_gap(decisions, np.arange(300), np.arange(300, 600)).interval
        begin += alike[0] == 0.0
        cover += planted[0] <= 0.12 <= planted[1]
    assert begin >= 52 and cover >= 52


@pytest.mark.parametrize("method", ["exact", "fast"])
@pytest.mark.parametrize("distance", ["tv", "inf"])
def test_affirmative_action_keeps_its_promises(method, distance):
    metric = metric_of(7, 26, 2, 0.3)
    first, second = np.arange(10), np.arange(10, 26)
    aff = fair.affirmative_mapping(metric, normal(8, 26, 2), first, second, method=method, distance=distance)
    assert aff.parity < 1e-9 and aff.inside_first.ok and aff.inside_second.ok
    assert aff.plain <= aff.moved + 1e-9 and aff.cross <= aff.moved + 1e-9


def test_an_image_that_is_over_by_rounding_alone_stays():
    """Where nothing lacks there is nowhere to move it: 0/0 made a mapping of nothing but missing numbers."""
    rows = np.full((2, 4), np.nextafter(0.25, 1.0))
    assert (affirmative._within(rows, np.array([0.5, 0.5]), np.full(4, 0.25), 0.0) == rows).all()


def test_exact_moves_no_further_than_fast():
    metric = metric_of(9, 24, 2, 0.3)
    groups = np.arange(10), np.arange(10, 24)
    exact, fast = (fair.affirmative_mapping(metric, normal(10, 24, 2), *groups, method=m) for m in ("exact", "fast"))
    assert exact.moved <= fast.moved + 1e-9
    near = fair.affirmative_mapping(metric, normal(10, 24, 2), *groups, at_most=0.2, method="exact")
    assert near.moved <= exact.moved + 1e-9 and near.parity <= 0.2 + 1e-9 and near.inside_first.ok


def test_bad_groups_are_refused():
    metric, loss = metric_of(1, 60), normal(2, 60, 2)
    with pytest.raises(ParameterError, match="overlap"):
        fair.affirmative_mapping(metric, loss, [0, 1], [1, 2])
    with pytest.raises(ParameterError, match="empty"):
        fair.affirmative_mapping(metric, loss, [], [1, 2])
    with pytest.raises(ParameterError, match="mask"):
        fair.parity_gap([0.1, 0.2], np.array([True]), [1])
    with pytest.raises(ParameterError, match="index"):
        fair.parity_gap([0.1, 0.2], [7], [1])
    with pytest.raises(DomainTooLarge, match="fast"):
        fair.affirmative_mapping(metric, loss, np.arange(30), np.arange(30, 60), method="exact")


def test_adjusted_metrics_meet_the_target():
    metric = metric_of(11, 10, 2, 0.6)
    first, second = np.arange(4), np.arange(4, 10)
    before = fair.earthmover(metric, first, second).value
    moved = fair.adjust_metric(metric, first, second, 0.8 * before)
    assert moved.after <= 0.8 * before + 1e-6 and moved.metric.validate().excess < 1e-8
    assert np.allclose(moved.metric.block(first, first), metric.block(first, first), atol=1e-8)
    with pytest.raises(ParameterError, match="larger target"):
        fair.adjust_metric(fair.Metric.from_scores([0.0, 1.0, 0.5]), [0, 1], [2], 0.01)


def test_shuffles_say_what_chance_alone_gives():
    """In six dimensions two samples of one population look far apart; random groups look just as far."""
    alike = metric_of(21, 900, 6, 0.15)
    bound = fair.bias_bound(alike, np.arange(400), np.arange(400, 900), shuffles=40)
    chance = bound.null
    assert bound.value > 0.2 and chance is not None
    assert chance.people == 400 and chance.p_value > 0.02 and abs(chance.observed - chance.mean) < 0.05
    # A smaller sample is further apart, so the null is compared with the figure of the same people.
    assert chance.observed > bound.value
    points = normal(22, 120, 2) + np.repeat([[1.0], [0.0]], 60, axis=0)
    apart = fair.Metric.from_features(points, [0.4, 0.4])
    found = fair.bias_bound(apart, np.arange(60), np.arange(60, 120), shuffles=200)
    assert found.null is not None and found.null.people == 120
    assert np.isclose(found.null.observed, found.value, atol=1e-9)
    assert found.null.high < found.value and np.isclose(found.null.p_value, 1 / 201)
    assert found.separates() and found.null.unlike_chance(0.001) is None, "200 shuffles show no 0.001"
    overlapping = fair.bias_bound(apart, np.arange(120), np.arange(60), shuffles=5).null
    assert overlapping is not None and 0 < overlapping.observed < found.value
    assert fair.bias_bound(apart, np.arange(60), np.arange(60, 120)).null is None


def drawn(seed: int, people: int, features: int, shift: float) -> tuple[fair.Metric, np.ndarray, np.ndarray]:
    """A metric of some features, and two groups of which one is shifted in the first feature, or neither."""
    points, half = normal(seed, people, features), people // 2
    points[:half, 0] += shift
    metric = fair.Metric.from_features(points, [0.5 / features**0.5] * features)
    return metric, np.arange(half), np.arange(half, people)


def said_of(seed: int, people: int, features: int, shift: float) -> bool:
    """Return whether the sentence says that the metric separates the groups, and that the shuffles say the same."""
    bound = fair.bias_bound(*drawn(seed, people, features, shift), shuffles=200)
    said = "The metric separates the groups" in bound.verdict(0.0)
    assert bound.null is not None and said is bound.separates()
    assert said == (bound.null.p_value <= 0.05) == (bound.null.observed > bound.null.high)
    assert said == ("see affirmative_mapping" in bound.verdict(0.0)) != ("It is not shown" in bound.verdict(0.0))
    return said


@pytest.mark.parametrize("features", [1, 6])
def test_groups_drawn_alike_are_rarely_said_to_be_separated(features):
    """With six features the bound is 0.7 for any two groups of 40 people; a limit on it would convict every metric."""
    seen = [said_of(seed, 40, features, 0.0) for seed in range(7000, 7030)]
    # Thirty tables at 0.05: eleven or more come with probability 1e-7.
    assert sum(seen) <= 10
    if features == 6:
        assert all(fair.bias_bound(*drawn(seed, 40, 6, 0.0)).value > 0.5 for seed in range(7000, 7010))


@pytest.mark.parametrize(("people", "features", "shift"), [(40, 1, 3.0), (200, 6, 2.0), (600, 1, 1.0)])
def test_groups_that_are_planted_apart_are_said_to_be_separated(people, features, shift):
    assert all(said_of(seed, people, features, shift) for seed in range(8000, 8003))


def test_without_enough_shuffles_nothing_is_said_of_the_metric():
    metric, first, second = drawn(1, 40, 1, 3.0)
    bare, few = (fair.bias_bound(metric, first, second, shuffles=shuffles) for shuffles in (0, 12))
    assert bare.separates() is few.separates() is None
    assert "shuffles=200" in bare.verdict(0.0) and "shuffles=20)" in few.verdict(0.0)
    assert not any("The metric separates" in one.verdict(0.0) for one in (bare, few))
    assert few.separates(0.1) and "probability 0.1 at most" in few.verdict(0.0, 0.1)
    scores = np.full(40, 0.5)
    assert "The metric separates" in fair.read_bias(scores, metric, first, second).verdict
    assert "shuffles=200" in fair.read_bias(scores, metric, first, second, shuffles=0).verdict


def far_apart(apart: float) -> tuple[fair.Metric, np.ndarray]:
    """Two people beyond the largest log ratio of the program, and a fair mapping that nearly reaches their distance."""
    second = np.array([1.0, np.exp(-apart * 0.999999)]) / (1 + np.exp(-apart * 0.999999))
    return fair.Metric.from_matrix([[0, apart], [apart, 0]]), np.stack([1 - second, second], axis=1)


@pytest.mark.parametrize("apart", [14.0, 16.0, 20.0, np.inf])
def test_a_fair_mapping_of_people_far_apart_is_not_convicted(apart):
    metric, rows = far_apart(min(apart, 30.0))
    if apart == np.inf:
        metric, rows = fair.Metric.from_matrix([[0, np.inf], [np.inf, 0]]), np.eye(2)
    assert fair.certify(metric, rows, "inf").ok
    found = fair.bias_bound(metric, [0], [1], distance="inf")
    assert fair.parity_gap(rows, [0], [1]).value <= found.value <= 1.0
    assert not found.exact and fair.certify(metric, found.witness, "inf").ok
    near = fair.bias_bound(fair.Metric.from_matrix([[0, 13.0], [13.0, 0]]), [0], [1], distance="inf")
    assert near.exact and np.isclose(near.value, np.tanh(6.5), atol=1e-9)
