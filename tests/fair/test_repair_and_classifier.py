from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from sfumato import fair
from sfumato.errors import ParameterError
from sfumato.fair.mapping.coin import decide, new_key, row_bytes
from sfumato.noise import Noise
from tests.fair.support import exact_violations, metric_of, normal

EXPECTED_FAILURES = {
    "check_classifiers_train": "It demands that predict is the likelier class; a fair decision is drawn, because the "
    "likelier class would treat people at 0.49 and 0.51 in opposite ways.",
    "check_sample_weight_equivalence_on_dense_data": "The default metric and the fifth kept aside are made of people, "
    "not of weights: a person listed twice is two people to them.",
}


@parametrize_with_checks([fair.FairClassifier(insecure_seed=7)], expected_failed_checks=lambda _: EXPECTED_FAILURES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:.*FairClassifier.*:UserWarning")
def test_scikit_learn_accepts_the_classifier(estimator, check):
    check(estimator)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.floats(0.1, 3.0))
def test_repair_is_fair_and_changes_least(seed, kappa):
    metric = metric_of(seed, 25, 2, 0.4)
    scores = (np.sin(3 * normal(seed + 1, 25, 1)[:, 0]) + 1) / 2
    repaired = fair.repair_scores(scores, metric, kappa=kappa)
    apart = metric.scaled(kappa).block()
    assert fair.certify(metric.scaled(kappa), fair.repair_probabilities(scores, metric, kappa=kappa)).ok
    needed = np.maximum(scores[:, None] - scores[None, :] - apart, 0).max() / 2
    assert np.isclose(fair.repair_cost(scores, repaired).largest, needed, atol=1e-12)
    assert scores.min() - 1e-12 <= repaired.min() and repaired.max() <= scores.max() + 1e-12


def test_repair_in_sum_beats_repair_in_sup():
    metric = metric_of(3, 40, 2, 0.2)
    scores = (np.sin(5 * normal(4, 40, 1)[:, 0]) + 1) / 2
    sup, total = (fair.repair_scores(scores, metric, norm=norm) for norm in ("sup", "l1"))
    assert fair.certify(metric, np.stack([1 - total, total], axis=1)).ok
    assert np.abs(total - scores).mean() <= np.abs(sup - scores).mean() + 1e-12
    same = fair.repair_scores(sup, metric)
    assert np.array_equal(same, sup)


def test_repair_of_many_outcomes_and_of_matrices():
    metric = metric_of(5, 20, 2, 0.3)
    raw = np.exp(normal(6, 20, 4))
    rows = fair.repair_probabilities(raw / raw.sum(axis=1, keepdims=True), metric)
    assert exact_violations(metric.block(), rows) == 0
    matrix = fair.Metric.from_matrix(np.abs(np.subtract.outer(np.arange(9), np.arange(9))) * 0.1)
    repaired = fair.repair_scores(np.arange(9) % 2 * 1.0, matrix)
    assert fair.certify(matrix, np.stack([1 - repaired, repaired], axis=1)).ok


def test_repair_at_a_hundred_thousand_is_tested_small_here():
    people = 9000
    metric = metric_of(7, people, 4, 0.2)
    scores = (normal(8, people, 1)[:, 0] > 0) * 1.0
    rows = fair.repair_probabilities(scores, metric)
    assert fair.certify(metric, rows, sample=200_000).ok
    part = np.arange(0, people, 9)
    assert fair.certify(metric.subset(part), rows[part]).ok


def test_kappa_zero_treats_everybody_alike():
    assert np.ptp(fair.repair_scores([0.1, 0.9], fair.Metric.from_scores([0.0, 1.0]), kappa=0)) == 0


@pytest.mark.parametrize(
    ("scores", "options", "words"),
    [([0.5], {}, "2 entries"), ([0.5, 2], {}, "between 0 and 1"), ([0.5, np.nan], {}, "between 0 and 1"),
     ([0.5, 1], {"kappa": -1}, "kappa"), ([0.5, 1], {"norm": "l7"}, "norm")],
)  # fmt: skip
def test_bad_repairs_are_refused(scores, options, words):
    with pytest.raises(ParameterError, match=words):
        fair.repair_scores(scores, fair.Metric.from_scores([0.0, 1.0]), **options)


@pytest.mark.filterwarnings("ignore:For .* of pairs:sfumato.fair.FairnessWarning")
@pytest.mark.parametrize(
    ("classes", "method"), [(2, "score"), (2, "program"), (2, "repair"), (3, "program"), (3, "score"), (5, "program")]
)
def test_the_promise_holds_for_people_never_seen(classes, method):
    X, y = make_classification(900, 6, n_informative=5, n_redundant=1, n_classes=classes, random_state=1)
    metric = fair.Metric.from_features(X, [0.4] * 6)
    model = fair.FairClassifier(LogisticRegression(), metric, kappa=0.8, method=method, solve_for=300, insecure_seed=1)
    model.fit(X[:500], y[:500])
    rows = model.predict_proba(X)
    assert fair.certify(metric.scaled(0.8), rows).ok and exact_violations(metric.scaled(0.8).block(), rows[:]) == 0
    assert rows[np.arange(500, 900), y[500:]].mean() > 1.04 / classes


def test_decisions_are_drawn_once_and_for_all():
    X, y = make_classification(400, 5, random_state=2)
    model = fair.FairClassifier(metric=fair.Metric.from_features(X, [0.1] * 5)).fit(X, y)
    first = model.predict(X)
    assert np.array_equal(first, model.predict(X)) and np.array_equal(first[::-1], model.predict(X[::-1]))
    again = clone(model).fit(X, y)
    assert not np.array_equal(first, again.predict(X))
    assert np.array_equal(model.predict_proba(X), again.predict_proba(X))


def test_coins_have_the_right_law():
    people = np.arange(20_000)[:, None]
    rows = np.tile([0.1, 0.2, 0.7], (20_000, 1))
    drawn = decide(rows, people, new_key(Noise(insecure_seed=1)))
    # Three standard errors of each share are 0.0064, 0.0085, 0.0097; seven are allowed.
    assert np.all(np.abs(np.bincount(drawn) / 20_000 - [0.1, 0.2, 0.7]) < [0.015, 0.02, 0.023])
    assert set(decide(np.tile([0.0, 1.0], (500, 1)), people[:500], b"k").tolist()) == {1}


def test_fingerprints_do_not_depend_on_the_table():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    assert row_bytes(frame) == row_bytes({"a": [1.0, 2.0], "b": ["x", "y"]})
    assert len(set(row_bytes({"a": ["x", "xy"], "b": ["yz", "z"]}))) == 2


def test_tables_with_text_reach_the_estimator():
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    frame = pd.DataFrame({"age": np.arange(200.0), "town": ["a", "b"] * 100})
    base = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough"), LogisticRegression(max_iter=2000)
    )
    metric = fair.Metric.from_features(frame, {"age": 0.01})
    model = fair.FairClassifier(base, metric).fit(frame, np.arange(200) > 100)
    assert fair.certify(metric, model.predict_proba(frame)).ok
    assert list(model.feature_names_in_) == ["age", "town"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kappa": 0}, "kappa"),
        ({"method": "guess"}, "method"),
        ({"solve_for": 1}, "solve_for"),
        ({"estimator": LinearSVC()}, "CalibratedClassifierCV"),
    ],
)
def test_bad_classifiers_are_refused(options, words):
    X, y = make_classification(50, 4, random_state=3)
    with pytest.raises(ParameterError, match=words):
        fair.FairClassifier(**options).fit(X, y)
    with pytest.raises(ParameterError, match="two classes"):
        fair.FairClassifier(method="repair").fit(X, np.arange(50) % 3)


@pytest.mark.parametrize("gap", [None, float("nan"), pd.NA])
@pytest.mark.parametrize("classes", [("no", "yes"), (0, 1), (0.0, 1.0)])
def test_people_without_a_label_are_left_out_with_a_warning(gap, classes):
    people = pd.DataFrame({"age": range(60)})
    labels = pd.Series(list(classes) * 30, dtype=object)
    labels[:35] = gap
    if classes[0] == 0.0 and gap is not pd.NA:
        labels = labels.astype(float)
    weights = np.arange(60.0)
    with pytest.warns(fair.FairnessWarning, match="y has missing labels in 35 of 60 rows; they are left out"):
        model = fair.FairClassifier(insecure_seed=1).fit(people, labels, sample_weight=weights)
    rest = fair.FairClassifier(insecure_seed=1).fit(people[35:], list(labels[35:]), sample_weight=weights[35:])
    assert list(model.classes_) == list(classes)
    assert np.array_equal(model.predict_proba(people), rest.predict_proba(people))
    with pytest.raises(ParameterError, match="y has no labels"):
        fair.FairClassifier().fit(people, [gap] * 60)
