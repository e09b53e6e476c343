from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import fair
from sfumato.errors import DomainTooLarge, ParameterError, SchemaError
from sfumato.fair.metric import MatrixMetric, metric_closure
from sfumato.fair.metric.ranks import labelling_cost
from tests.fair.support import metric_of, normal

TABLE = pd.DataFrame({"experience": [0, 5, 10], "degree": ["none", "ba", "ba"], "sex": ["f", "m", "f"]})


def test_features_follow_the_weights():
    metric = fair.Metric.from_features(TABLE, weights={"experience": 1 / 10, "degree": 0.5})
    expected = [[0, 1.0, 1.5], [1.0, 0, 0.5], [1.5, 0.5, 0]]
    assert np.allclose(metric.block(), expected, atol=1e-8)
    assert metric.columns == ("experience", "degree")


def test_new_people_and_new_categories():
    metric = fair.Metric.from_features(TABLE, weights={"degree": 0.5})
    other = metric.of(pd.DataFrame({"degree": ["ba", "phd"], "experience": [1, 2]}))
    assert np.allclose(metric.block(other=other), [[0.5, 0.5], [0, 0.5], [0, 0.5]])


@pytest.mark.parametrize("norm", ["sum", "euclidean", "largest"])
def test_distances_are_exact_metrics_on_the_grid(norm):
    metric = metric_of(1, 90, norm=norm)
    distances = metric.block()
    assert np.array_equal(distances * 2.0**30, np.rint(distances * 2.0**30))
    report = metric.validate()
    assert report.ok and report.excess == 0.0 and report.coverage == "all triangles"
    first, second = np.triu_indices(90, 1)
    assert np.array_equal(metric.between(first, second), distances[first, second])


def test_table_of_combinations_changes_nothing():
    people = {"n": normal(3, 60, 1)[:, 0], "a": np.array(list("xyz" * 20)), "b": np.array(list("uv" * 30))}
    metric = fair.Metric.from_features(people, {"n": 0.1, "a": 0.3, "b": 0.25})
    first, second = (grid.ravel() for grid in np.meshgrid(np.arange(60), np.arange(60), indexing="ij"))
    assert np.array_equal(metric.block().ravel(), metric.between(first, second))


def test_large_metrics_are_validated_on_a_sample():
    report = metric_of(2, 900).validate()
    assert report.ok and "random" in report.coverage


def test_mahalanobis_is_whitened_euclid():
    points = normal(5, 20, 2)
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    metric = fair.Metric.from_covariance(points, covariance)
    step = points[0] - points[1]
    assert np.isclose(metric.block()[0, 1], np.sqrt(step @ np.linalg.inv(covariance) @ step), atol=1e-7)


def test_neighbours_agree_with_sorting():
    metric = metric_of(4, 60)
    distances = metric.block().copy()
    np.fill_diagonal(distances, np.inf)
    found = metric.neighbours(5)
    assert np.array_equal(np.take_along_axis(distances, found, 1), np.sort(distances, axis=1)[:, :5])


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6))
def test_closure_is_the_largest_metric_below(seed):
    raw = np.abs(normal(seed, 7, 7))
    raw = (raw + raw.T) / 2
    np.fill_diagonal(raw, 0)
    closed = metric_closure(raw)
    assert np.all(closed <= raw) and np.allclose(metric_closure(closed), closed)
    assert fair.Metric.from_matrix(raw, repair=True).validate().excess <= 1e-8


def test_group_rank_compares_standing():
    metric = fair.Metric.group_rank([1, 2, 3, 10, 20, 30], list("ssstttx"[:6]))
    assert np.allclose(metric.block()[:3, 3:].diagonal(), 0)
    other = metric.of(([2.5], ["s"]))
    assert np.isclose(other.block(other=metric)[0, 1], 1 / 6, atol=1e-8)


def test_landmarks_are_safe_and_complete():
    true = metric_of(6, 30, norm="euclidean").block()
    few = fair.elicit_metric(lambda x, y: true[x, y], 30, landmarks=4)
    assert np.all(few.metric.block() <= true + 2e-9) and np.all(few.upper() >= true - 2e-9)
    x, y, width = few.next_question()
    assert np.isclose(width, (few.upper() - few.metric.block())[x, y])
    every = fair.elicit_metric(lambda x, y: true[x, y], 30, landmarks=30)
    assert np.allclose(every.metric.block(), true, atol=2e-9)


def test_learned_weights_return():
    points = normal(7, 40, 3)
    pairs = [(x, (x * 7 + 3) % 40) for x in range(40)]
    truth = np.array([1.0, 0.0, 0.25])
    told = [float(np.sqrt((truth * (points[x] - points[y]) ** 2).sum())) for x, y in pairs]
    fit = fair.learn_metric(points, pairs, told)
    assert np.allclose([fit.weights[k] for k in range(3)], np.sqrt(truth), atol=1e-6) and fit.held_out_error < 1e-6
    triples = [(x, y, z) for x in range(12) for y in range(12) for z in range(12) if x != y != z != x]
    triples = [
        t if abs(points[t[0], 0] - points[t[1], 0]) < abs(points[t[0], 0] - points[t[2], 0]) else (t[0], t[2], t[1])
        for t in triples
    ]
    assert fair.learn_from_triplets(points, triples[:300]).held_out_error < 0.1


def test_counterparts_are_a_local_optimum():
    costs, far = np.abs(normal(8, 6, 4)), np.abs(normal(9, 4, 4))
    far = far + far.T
    np.fill_diagonal(far, 0)
    similar = np.abs(normal(10, 6, 6))
    similar = (similar + similar.T) / 20
    np.fill_diagonal(similar, 0)
    chosen = fair.assign_counterparts(costs, similar, far)
    best = labelling_cost(chosen, costs, similar, far)
    for person in range(6):
        for label in range(4):
            moved = chosen.copy()
            moved[person] = label
            assert labelling_cost(moved, costs, similar, far) >= best - 1e-9


def test_metric_from_a_file(tmp_path):
    (tmp_path / "metric.toml").write_text("cap = 1.0\n[weights]\nexperience = 0.1\ndegree = 0.5\n")
    assert fair.Metric.from_toml(tmp_path / "metric.toml", TABLE).block().max() == 1.0
    (tmp_path / "bad.toml").write_text("[weight]\na = 1\n")
    with pytest.raises(ParameterError, match="weights"):
        fair.Metric.from_toml(tmp_path / "bad.toml", TABLE)


BAD_MATRICES = [
    ([[0, 1], [2, 0]], "symmetric"),
    ([[0, -1], [-1, 0]], "negative"),
    ([[0, np.nan], [np.nan, 0]], "NaN"),
    ([[1, 1], [1, 0]], "diagonal"),
    ([[0, 5, 1], [5, 0, 1], [1, 1, 0]], "person 2"),
    ([[0, 1, 2]], "square"),
]


@pytest.mark.parametrize(("matrix", "words"), BAD_MATRICES)
def test_bad_matrices_are_refused(matrix, words):
    with pytest.raises(ParameterError, match=words):
        fair.Metric.from_matrix(matrix)


def test_bad_features_are_refused():
    with pytest.raises(SchemaError, match="degre"):
        fair.Metric.from_features(TABLE, {"degre": 1})
    with pytest.raises(ParameterError, match="negative"):
        fair.Metric.from_features(TABLE, {"experience": -1})
    with pytest.raises(ParameterError, match="missing"):
        fair.Metric.from_features({"a": [1.0, np.nan]}, {"a": 1})
    with pytest.raises(ParameterError, match="norm"):
        fair.Metric.from_features(TABLE, {"experience": 1}, norm="cosine")
    with pytest.raises(ParameterError, match="at least one person"):
        fair.Metric.from_features({"a": np.zeros(0)}, {"a": 1})
    with pytest.raises(ParameterError, match="own 2 people"):
        fair.Metric.from_matrix([[0, 1], [1, 0]]).of([5])
    with pytest.raises(DomainTooLarge):
        fair.Metric.from_scores(np.zeros(6000)).dense()


def test_infinite_distances_are_kept():
    metric = fair.Metric.from_matrix([[0, np.inf], [np.inf, 0]])
    assert isinstance(metric, MatrixMetric) and np.isinf(metric.block()[0, 1])
    assert fair.certify(metric, np.array([[1.0, 0], [0, 1.0]])).ok


WRONG = [30, 41, "n/a", 36, 52]
WEIGHT = {"age": 0.1}


@pytest.mark.parametrize(
    ("people", "weights"),
    [
        ({"age": WRONG}, WEIGHT),
        ({"age": tuple(WRONG)}, WEIGHT),
        ({"age": np.array(WRONG, dtype=object)}, WEIGHT),
        ([[age, "a"] for age in WRONG], {0: 0.1}),
        ({"age": WRONG}, None),
    ],
)
def test_one_word_in_a_column_of_numbers_is_refused_with_its_row(people, weights):
    said = r"Column ('age'|0) is one of numbers, because most of its cells are, and that of row 3 is none"
    with pytest.raises(ParameterError, match=said):
        fair.Metric.from_features(people, weights)
    made = fair.Metric.from_features({"age": [30, 41]} if not isinstance(people, list) else [[30, "a"], [41, "b"]],
                                     {next(iter(weights or WEIGHT)): 0.1})  # fmt: skip
    assert made.block()[0, 1] == pytest.approx(1.1), "two numbers are as far apart as they are, beside words too"
    with pytest.raises(ParameterError, match="row 3 is none"):
        made.of(people)


def test_what_is_missing_in_a_column_of_numbers_is_refused_or_counts_as_the_median():
    for missing in (None, float("nan"), pd.NA):
        people = {"age": [30, 41, missing, 36, 52]}
        with pytest.raises(ParameterError, match="'age' has missing or infinite values"):
            fair.Metric.from_features(people, WEIGHT)
        full = fair.Metric.typical({"age": [30, 41, 38.5, 36, 52]})
        assert np.allclose(fair.Metric.typical(people).block(), full.block())
    assert np.allclose(fair.Metric.typical({"age": WRONG}).block(), full.block()), "a word counts as the median too"


def test_codes_that_are_written_as_text_are_categories():
    for codes in (["10115", "20095", "80331"], np.array(["10115", "20095", "x"]), ["a", "b", 3]):
        assert fair.Metric.from_features({"zip": codes}, {"zip": 0.5}).block()[0, 1] == pytest.approx(0.5)
    read = fair.Metric.from_features({"age": [30, 41, "36"]}, WEIGHT)
    assert read.block()[0, 2] == pytest.approx(0.6), "a number that is written as text among numbers is a number"
    exact = [Decimal("1.5"), Decimal("3.5")]
    assert fair.Metric.from_features({"x": exact}, {"x": 0.25}).block()[0, 1] == pytest.approx(0.5)


def test_a_metric_is_shown_without_the_cells_of_people() -> None:
    people = {"income": [71293.0, 40411.0], "home": ["hill", "sea"]}
    metric = fair.Metric.from_features(people, weights={"income": 1e-5, "home": 0.5})
    assert repr(metric).startswith("Metric on 2 people, by income, home;")
    both = repr(metric) + repr(fair.FairClassifier(metric=metric)) + repr(fair.Metric.from_matrix(metric.block()))
    assert "array" not in both and "712" not in both and "0.5" not in both
