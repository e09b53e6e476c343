from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import fair
from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.fair.mapping import transport
from sfumato.fair.mapping.exactness import make_exact
from sfumato.fair.mapping.firstorder import project_l1, project_simplex
from sfumato.fair.mapping.problem import make_problem
from sfumato.fair.mapping.spanner import spanner
from tests.fair.support import all_pairs_program, exact_violations, metric_of, normal


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(["sum", "euclidean", "largest"]), st.floats(0.05, 2.0))
def test_transport_solves_the_written_out_program(seed, norm, scale):
    metric, loss = metric_of(seed, 14, 2, scale, norm), normal(seed + 1, 14, 2)
    best = fair.fair_mapping(metric, loss)
    assert best.method == "transport" and best.gap < 1e-9
    assert np.isclose(best.objective, all_pairs_program(np.minimum(metric.block(), 1), loss / 14), atol=1e-9)
    assert exact_violations(metric.block(), best.probabilities) == 0


@pytest.mark.parametrize("outcomes", [2, 3, 4])
@pytest.mark.parametrize("distance", ["tv", "inf"])
def test_rows_solve_the_written_out_program(outcomes, distance):
    metric, loss = metric_of(outcomes, 12, 2, 0.4), normal(outcomes + 50, 12, outcomes)
    best = fair.fair_mapping(metric, loss, distance=distance, method="rows")
    assert np.isclose(best.objective, all_pairs_program(metric.block(), loss / 12, distance), atol=1e-7)
    assert best.gap < 1e-7 and best.certify().ok and best.certificate.coverage == "all pairs"
    assert best.unconstrained - 1e-9 <= best.bound <= best.objective <= best.constant + 1e-9


def test_three_methods_agree_for_many_outcomes():
    metric, loss = metric_of(8, 30, 2, 0.2), normal(9, 30, 7)
    extended = fair.fair_mapping(metric, loss, method="rows")
    first_order = fair.fair_mapping(metric, loss, method="first-order", gap=1e-3)
    assert extended.gap < 1e-7 and first_order.finished
    assert extended.objective - 1e-9 <= first_order.objective <= extended.objective + 1e-3 * abs(first_order.objective)
    assert first_order.bound <= extended.objective + 1e-9
    assert exact_violations(metric.block(), first_order.probabilities) == 0


@pytest.mark.parametrize("outcomes", [2, 3, 7])
@pytest.mark.parametrize("distance", ["tv", "inf"])
def test_extreme_losses_stay_certified(outcomes, distance):
    metric = metric_of(outcomes, 40, 3, 0.1)
    loss = np.sign(normal(outcomes, 40, outcomes)) * 1e6
    assert fair.fair_mapping(metric, loss, distance=distance, method="rows" if outcomes != 2 else "auto").certify().ok


def test_limits_of_the_program():
    loss = normal(3, 20, 3)
    alike = fair.fair_mapping(fair.Metric.from_scores(np.zeros(20)), loss)
    assert np.isclose(alike.objective, alike.constant)
    free = fair.fair_mapping(fair.Metric.from_scores(np.arange(20.0)), loss)
    assert np.isclose(free.objective, free.unconstrained)


def test_contraction_and_weights_are_repeated_people():
    points, loss = np.array([[0.0], [0.0], [0.3], [0.9]]), normal(4, 4, 2)
    repeated = fair.fair_mapping(fair.Metric.from_features(points, [1]), loss)
    joined = np.array([(loss[0] + loss[1]) / 2, loss[2], loss[3]])
    weighted = fair.fair_mapping(fair.Metric.from_features(points[1:], [1]), joined, weights=[2, 1, 1])
    assert np.isclose(repeated.objective, weighted.objective)
    assert np.array_equal(repeated.probabilities[0], repeated.probabilities[1])


def test_sparse_edges_with_a_hub_give_the_same(monkeypatch):
    metric, loss = metric_of(5, 60, 2, 0.8), normal(6, 60, 2)
    dense = fair.fair_mapping(metric, loss)
    monkeypatch.setattr(transport, "DENSE_PEOPLE", 10)
    sparse = fair.fair_mapping(metric, loss)
    assert np.isclose(dense.objective, sparse.objective, atol=1e-9) and sparse.gap < 1e-9


def test_parity_and_capacity_hold():
    metric, loss = metric_of(7, 30, 2, 0.5), normal(8, 30, 3)
    first, second = np.arange(12), np.arange(12, 30)
    best = fair.fair_mapping(metric, loss, parity=fair.Parity(first, second, 0.05), capacity=[0.3, 1, 1])
    assert fair.parity_gap(best.probabilities, first, second).value <= 0.05 + 1e-8
    assert best.probabilities[:, 0].mean() <= 0.3 + 1e-8 and best.certify().ok
    assert best.objective >= fair.fair_mapping(metric, loss).objective - 1e-9


def test_parity_for_many_outcomes():
    metric, loss = metric_of(9, 20, 2, 0.5), normal(10, 20, 8)
    best = fair.fair_mapping(metric, loss, parity=fair.Parity(np.arange(8), np.arange(8, 20), 0.02))
    assert fair.parity_gap(best.probabilities, np.arange(8), np.arange(8, 20)).value <= 0.02 + 1e-8


def test_log_ratio_side_conditions_do_not_list_every_set_of_outcomes():
    metric, loss = metric_of(10, 12, 2, 0.5), normal(11, 12, 14)
    exact = fair.fair_mapping(metric, loss, distance="inf", parity=fair.Parity(np.arange(5), np.arange(5, 12)))
    assert fair.parity_gap(exact.probabilities, np.arange(5), np.arange(5, 12)).value <= 1e-8
    with pytest.raises(DomainTooLarge, match="allow no gap"):
        fair.fair_mapping(metric, loss, distance="inf", parity=fair.Parity([0], [1], 0.1))


def test_parity_with_near_identical_groups_collapses_to_a_constant():
    metric = fair.Metric.from_scores([0, 0, 0, 1.0, 1.0])
    loss = np.array([[0, 1], [0, 1], [0, 1], [1, 0], [1, 0.0]])
    with pytest.warns(fair.FairnessWarning, match="FL4"):
        fair.fair_mapping(metric, loss, parity=fair.Parity([0, 1], [2, 3, 4]))


def test_impossible_side_conditions_say_by_how_much():
    metric, loss = metric_of(1, 5), normal(2, 5, 2)
    with pytest.raises(ParameterError, match=r"fall short of 1 by 0\.2"):
        fair.fair_mapping(metric, loss, capacity=[0.5, 0.3])
    with pytest.raises(ParameterError, match="empty"):
        fair.fair_mapping(metric, loss, parity=fair.Parity([], [1]))
    with pytest.raises(ParameterError, match="between 0 and 1"):
        fair.fair_mapping(metric, loss, parity=fair.Parity([0], [1], -1))


@pytest.mark.parametrize("outcomes", [2, 3, 7])
@pytest.mark.parametrize("stretch", [1.2, 2.0])
def test_spanners_are_safe_on_all_pairs_and_cost_what_is_stated(outcomes, stretch):
    metric, loss = metric_of(outcomes + 30, 40, 3, 0.25), normal(outcomes + 60, 40, outcomes)
    full = fair.fair_mapping(metric, loss, method="rows")
    quick = fair.fair_mapping(metric, loss, method="spanner", stretch=stretch)
    assert quick.method == "spanner" and quick.certificate.ok and quick.certificate.coverage == "all pairs"
    assert exact_violations(metric.block(), quick.probabilities) == 0
    price = quick.objective - full.objective
    assert -1e-9 <= price <= (1 - 1 / stretch) * (full.constant - full.objective) + 1e-7
    assert quick.unconstrained - 1e-9 <= quick.bound <= full.objective + 1e-9


@pytest.mark.parametrize("norm", ["sum", "euclidean"])
def test_spanners_reach_every_near_pair_with_few_edges(norm):
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import shortest_path

    metric = metric_of(33, 200, 2, 0.4, norm)
    first, second = spanner(metric, 1.5, 1.0)
    graph = csr_matrix((metric.between(first, second), (first, second)), shape=(200, 200))
    way, apart = shortest_path(graph, directed=False), metric.block()
    near = (apart < 1) & (apart > 0)
    assert (way[near] <= 1.5 * apart[near] * (1 + 1e-9)).all()
    assert len(first) < near.sum() / 2 / 8


def test_spanners_keep_log_ratios_and_side_conditions():
    metric, loss = metric_of(35, 30, 2, 0.5), normal(36, 30, 3)
    quick = fair.fair_mapping(metric, loss, method="spanner", distance="inf")
    full = fair.fair_mapping(metric, loss, method="rows", distance="inf")
    assert quick.certificate.ok and full.objective - 1e-9 <= quick.objective <= quick.constant + 1e-9
    assert quick.bound <= full.objective
    groups = np.arange(12), np.arange(12, 30)
    tied = fair.fair_mapping(metric, loss, method="spanner", parity=fair.Parity(*groups, 0.05), capacity=[0.3, 1, 1])
    assert tied.certificate.ok and fair.parity_gap(tied.probabilities, *groups).value <= 0.05 + 1e-8
    assert tied.probabilities[:, 0].mean() <= 0.3 + 1e-8
    alike = fair.fair_mapping(fair.Metric.from_scores([0.0, 0.0, 3.0]), loss[:3], method="spanner")
    assert np.isclose(alike.objective, fair.fair_mapping(fair.Metric.from_scores([0.0, 0.0, 3.0]), loss[:3]).objective)
    with pytest.warns(fair.FairnessWarning, match="above the optimum"):
        assert fair.fair_mapping(metric, loss, method="spanner", time_limit=0.0).certificate.ok


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"loss": [[0, 1]] * 5, "method": "spanner", "stretch": 1.0}, "stretch"),
        ({"loss": [[0, np.nan]] * 5}, "finite"),
        ({"loss": [[0, 1]] * 4}, "5 rows"),
        ({"loss": [[0, 1]] * 5, "weights": [1, 1, 1, 1, -1]}, "weights"),
        ({"loss": [[0, 1]] * 5, "distance": "kl"}, "total variation"),
        ({"loss": [[0, 1]] * 5, "method": "magic"}, "No method"),
        ({"loss": [[0, 1, 2]] * 5, "method": "transport"}, "two outcomes"),
        ({"loss": [[0, 1]] * 5, "distance": "inf", "method": "first-order"}, "total variation"),
    ],
)
def test_bad_programs_are_refused(arguments, words):
    with pytest.raises(ParameterError, match=words):
        fair.fair_mapping(metric_of(1, 5), **arguments)


def test_time_out_returns_a_certified_mapping_and_its_gap():
    metric, loss = metric_of(3, 120, 3, 0.2), normal(4, 120, 6)
    for method in ("rows", "first-order"):
        with pytest.warns(fair.FairnessWarning, match="above the optimum"):
            early = fair.fair_mapping(metric, loss, method=method, time_limit=0.0)
        assert early.certificate.ok and early.gap > 0 and not early.finished


def test_repair_of_a_solution_off_by_a_tolerance():
    metric = metric_of(11, 40, 2, 0.3)
    for distance in ("tv", "inf"):
        problem = make_problem(metric, normal(12, 40, 3), distance)
        rough = np.exp(normal(13, 40, 3))
        assert fair.certify(metric, make_exact(problem, rough), distance).ok


def test_prices_point_at_binding_pairs():
    metric = fair.Metric.from_scores([0.0, 0.1, 5.0])
    best = fair.fair_mapping(metric, [[0, 1], [1, 0], [0, 1]])
    (x, y, price), *_ = best.active_pairs()
    assert (x, y) == (0, 1) and price > 0


def test_projections_are_nearest_points():
    rows = normal(14, 50, 4)
    near = project_simplex(rows)
    assert np.allclose(near.sum(axis=1), 1) and near.min() >= 0
    ball = project_l1(rows, np.full(50, 0.7))
    assert np.all(np.abs(ball).sum(axis=1) <= 0.7 + 1e-12)
    for seed in range(5):
        other = project_simplex(normal(20 + seed, 50, 4))
        assert np.all(((rows - near) ** 2).sum(axis=1) <= ((rows - other) ** 2).sum(axis=1) + 1e-12)
        inside = project_l1(normal(30 + seed, 50, 4), np.full(50, 0.7))
        assert np.all(((rows - ball) ** 2).sum(axis=1) <= ((rows - inside) ** 2).sum(axis=1) + 1e-12)


@pytest.mark.parametrize("norm", ["sum", "euclidean", "largest"])
def test_interpolation_is_exact_on_seen_and_unseen(norm):
    everybody = metric_of(15, 400, 3, 0.3, norm)
    seen = everybody.subset(np.arange(80))
    best = fair.fair_mapping(seen, normal(16, 80, 2))
    rows = best.rule().probabilities(everybody)
    assert np.array_equal(rows[:80], best.probabilities)
    assert fair.certify(everybody, rows).ok and exact_violations(everybody.block(), rows) == 0


@pytest.mark.parametrize("distance", ["tv", "inf"])
def test_landmark_rules_hold_for_everybody(distance):
    everybody = metric_of(17, 300, 3, 2.0)
    seen, loss = everybody.subset(np.arange(60)), np.abs(normal(18, 60, 4))
    rule = fair.landmark_rule(seen, loss, np.arange(0, 60, 3), distance=distance)
    assert fair.certify(everybody, rule.probabilities(everybody), distance).ok
    solved = fair.fair_mapping(seen, loss, distance=distance)
    assert fair.certify(everybody, solved.rule().probabilities(everybody), distance).ok


@pytest.mark.parametrize(
    ("weights", "capacity", "parity"),
    [
        ([0.5, 0.5], None, None),
        ([0.5, 0.5], [0.5, 0.5], None),
        ([0.97, 0.03], [1.0, 0.04], None),
        ([0.5, 0.5], None, fair.Parity([0], [1], 1.0)),
    ],
)
def test_the_bound_holds_for_people_beyond_the_largest_log_ratio_of_the_program(weights, capacity, parity):
    """A mapping that uses the whole of a large distance is fair, so no bound may lie above its loss."""
    metric = fair.Metric.from_matrix([[0, 20.0], [20.0, 0]])
    small = np.exp(-19.9999)
    rows = np.array([[1 - small, small], [small, 1 - small]])
    assert fair.certify(metric, rows, "inf").ok
    loss = [[0.0, 1.0], [1.0, 0.0]]
    found = fair.fair_mapping(metric, loss, distance="inf", weights=weights, capacity=capacity, parity=parity)
    assert found.bound <= found.problem.objective(rows)
    assert 0 <= found.gap < 1e-4


def test_the_bound_is_not_lowered_where_no_large_distance_matters():
    """Far pairs that bind nothing cost nothing: the bound is that of the near pairs."""
    metric = fair.Metric.from_matrix([[0, 1.0, 40.0], [1.0, 0, 40.0], [40.0, 40.0, 0]])
    found = fair.fair_mapping(metric, [[0, 1], [1, 0], [1, 1]], distance="inf")
    assert found.gap < 1e-8
