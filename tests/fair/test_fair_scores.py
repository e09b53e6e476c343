"""Scores that follow an estimator for everybody, and never pass a distance."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.datasets import make_circles, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sfumato import fair
from sfumato.errors import ParameterError
from sfumato.fair.gaps import filled, medians
from sfumato.fair.grid import binary_rows
from sfumato.fair.mapping import student as student_room
from sfumato.fair.mapping.student import STEEPEST, Student, fit_student
from sfumato.fair.metric.points import PointMetric
from tests.fair.support import exact_violations


def mixed(count: int) -> tuple[pd.DataFrame, np.ndarray]:
    """People with ties, whole numbers, categories and a column that says nothing."""
    X, y = make_classification(count, 4, n_informative=3, n_redundant=0, random_state=5)
    town = np.array(["a", "b", "c"])[(X[:, 2] > 0).astype(int) + (X[:, 0] > 1)]
    frame = {"age": np.round(X[:, 0] * 5), "pay": X[:, 1], "town": town, "same": np.ones(count)}
    return pd.DataFrame(frame), y


def kept(model: fair.FairClassifier, base: object, X: np.ndarray, y: np.ndarray, fitted: int) -> float:
    plain = roc_auc_score(y[fitted:], base.fit(X[:fitted], y[:fitted]).predict_proba(X[fitted:])[:, 1])
    found = roc_auc_score(y[fitted:], model.fit(X[:fitted], y[:fitted]).predict_proba(X[fitted:])[:, 1])
    return (found - 0.5) / (plain - 0.5)


@pytest.mark.parametrize("anchors", [True, False])
@pytest.mark.parametrize(
    "rule",
    [
        lambda X: fair.Metric.typical(X),
        lambda X: fair.Metric.from_features(X, {"age": 0.1}),
        lambda X: fair.Metric.from_features(X, {"pay": 0.3, "town": 0.2}, norm="largest"),
        lambda X: fair.Metric.from_features(X, {"age": 0.05, "pay": 0.4}, norm="euclidean"),
        lambda X: fair.Metric.from_features(X, {"age": 0.2, "town": 1}, cap=0.4),
    ],
)
def test_no_pair_of_people_seen_or_not_is_treated_too_differently(rule, anchors):
    X, y = mixed(700)
    metric = rule(X)
    numbers = X.drop(columns="town")
    model = fair.FairClassifier(LogisticRegression(), metric, anchors=anchors, kappa=1.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fair.FairnessWarning)
        # The estimator reads numbers only; the metric reads the whole table.
        model.estimator = make_pipeline(_Numbers(list(numbers)), LogisticRegression())
        model.fit(X[:400], y[:400])
    rows = model.predict_proba(X)
    assert exact_violations(metric.scaled(1.5).block(), rows) == 0
    single = np.concatenate([model.predict_proba(X[place : place + 1]) for place in range(0, 60, 7)])
    assert np.array_equal(single, rows[0:60:7])


class _Numbers:
    """A step that hands on numeric columns."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def fit(self, X: pd.DataFrame, y: object = None) -> _Numbers:
        return self

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        return X[self.names].to_numpy()

    def get_params(self, deep: bool = True) -> dict[str, object]:
        return {"names": self.names}

    def set_params(self, **options: object) -> _Numbers:
        self.__dict__.update(options)
        return self

    def __sklearn_tags__(self) -> object:
        from sklearn.base import BaseEstimator

        return BaseEstimator().__sklearn_tags__()


def steep_pairs(people: int = 300) -> tuple[PointMetric, np.ndarray]:
    metric = fair.Metric.from_scores(np.arange(people) / 50.0)
    return metric, (np.arange(people) > people / 2) * 1.0


def test_a_rule_twice_as_steep_is_seen():
    metric, scores = steep_pairs()
    student = fit_student(metric, scores, np.ones(len(scores)))
    assert exact_violations(metric.block(), student.probabilities(metric)) == 0
    twice = replace(student, weights=2 * student.weights)
    assert exact_violations(metric.block(), twice.probabilities(metric)) > 0


def test_a_slope_above_four_is_seen_and_the_bound_is_used_up(monkeypatch):
    metric, scores = steep_pairs()
    assert abs(fit_student(metric, scores, np.ones(len(scores))).weights[0]) >= (STEEPEST - 0.01) * 2**14
    monkeypatch.setattr(student_room, "STEEPEST", 8.0)
    assert exact_violations(metric.block(), fit_student(metric, scores, np.ones(300)).probabilities(metric)) > 0


def test_sums_of_far_coordinates_are_exact():
    far = np.array([[131071.25 + place * 2.0**-30, -131000.5] for place in range(40)])
    metric = PointMetric.of_points(far)
    rule = Student(np.array([0, 0]), np.array([65000, 3]), 0)
    assert exact_violations(metric.block(), rule.probabilities(metric)) == 0
    near = PointMetric.of_points(far - far[0])
    moved = Student(np.array([0, 0]), np.array([65000, 3]), 5)
    assert exact_violations(near.block(), moved.probabilities(near)) == 0
    assert len(set(moved.scores(near).tolist())) > 1


def test_anchors_keep_their_repaired_scores_and_a_mean_of_three_would_not_hold():
    metric, scores = steep_pairs(60)
    wanted = (np.arange(60) // 7 % 2) * 1.0
    plain = fit_student(metric, scores, np.ones(60))
    repaired = fair.repair_scores(wanted, metric)
    rule = student_room.Anchored(metric, np.floor(repaired * 2.0**52) / 2.0**52, plain)
    assert np.allclose(rule.probabilities(metric)[:, 1], repaired, atol=2.0**-50, rtol=0)
    mean = (wanted + plain.scores(metric) + repaired) / 3
    assert exact_violations(metric.block(), binary_rows(mean)) > 0


def test_the_lift_of_the_estimator_is_kept_on_people_never_seen():
    X, y = make_classification(1000, 8, n_informative=5, class_sep=0.7, random_state=4)
    assert kept(fair.FairClassifier(LogisticRegression()), LogisticRegression(), X, y, 600) >= 0.9
    X, y = make_circles(900, noise=0.12, factor=0.5, random_state=3)
    boosting = HistGradientBoostingClassifier(max_iter=40)
    model = fair.FairClassifier(HistGradientBoostingClassifier(max_iter=40))
    assert kept(model, boosting, X, y, 600) >= 0.95
    assert isinstance(model.rule_, student_room.Anchored), "a smooth rule cannot follow a circle"


def test_half_of_all_pairs_are_bound_by_the_typical_metric():
    X, _ = mixed(500)
    apart = fair.Metric.typical(X).block()[np.triu_indices(500, 1)]
    assert 0.4 <= (apart < 1).mean() <= 0.6
    assert fair.Metric.typical({"same": np.ones(5)}).block().max() == 0.0


def test_an_empty_promise_is_warned_about():
    X, y = make_classification(200, 4, random_state=1)
    with pytest.warns(fair.FairnessWarning, match="allows any difference at all"):
        model = fair.FairClassifier(metric=fair.Metric.from_features(X, [50.0] * 4)).fit(X, y)
    assert model.vacuous_ > 0.9
    with pytest.warns(fair.FairnessWarning, match="almost one probability"):
        fair.FairClassifier(metric=fair.Metric.from_features(X, [1e-4] * 4)).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", fair.FairnessWarning)
        fair.FairClassifier().fit(X, y)


def test_an_empty_promise_is_said_wherever_it_is_checked():
    far = fair.Metric.from_scores(np.arange(40) * 3.0)
    chance = np.linspace(0.1, 0.9, 40)
    words = "For 100% of pairs of people this metric allows any difference at all"
    for certificate in (fair.certify(far, chance), fair.certify(far, chance, sample=500)):
        assert certificate.ok and certificate.vacuous == 1.0 and str(certificate).startswith(words)
    found = fair.lipschitz_audit(chance, far)
    assert found.vacuous == 1.0 and str(found).startswith(words) and abs(found.spread - 0.4) < 0.02
    report = fair.audit(chance, {"score": np.arange(40)}, ["f", "m"] * 20, metric=far)
    assert f"Warning: {words}" in str(report) and words in report.to_html()
    assert report.to_json()["warnings"][-1].startswith(words) and report.to_json()["lipschitz"]["vacuous"] == 1.0
    near = fair.certify(fair.Metric.from_scores(np.arange(40) / 60), np.full(40, 0.5))
    assert near.vacuous == 0.0 and near.spread == 0.0 and str(near).startswith("fair (all pairs: 780; ")
    half = fair.certify(fair.Metric.from_scores([0.0, 0.5, 3.0]), [0.5, 0.5, 0.5])
    assert str(half) == "fair (all pairs: 3, 67% of them may be treated in any way; Lipschitz constant 0)"
    ratios = fair.certify(far, chance, "inf")
    assert ratios.vacuous == 0.0, "a log ratio is bound at every distance"


def test_weights_by_name_on_a_matrix_say_where_the_scaler_belongs():
    with pytest.raises(ParameterError, match="put the scaler inside"):
        fair.FairClassifier(None, {"age": 0.1}).fit(np.arange(20.0)[:, None], [0, 1] * 10)


def test_it_lives_in_the_tools_of_scikit_learn():
    X, y = mixed(240)
    numbers = X[["age", "pay"]]
    model = fair.FairClassifier(make_pipeline(StandardScaler(), LogisticRegression()), {"age": 0.05, "pay": 0.3})
    found = GridSearchCV(model, {"kappa": [0.5, 2.0]}, cv=2, scoring="roc_auc").fit(numbers, y)
    again = pickle.loads(pickle.dumps(found.best_estimator_))
    assert np.array_equal(again.predict_proba(numbers), found.predict_proba(numbers))
    weighted = fair.FairClassifier(LogisticRegression(), insecure_seed=1)
    weight = np.where(y == 1, 9.0, 1.0)
    more = weighted.fit(numbers, y, sample_weight=weight).predict_proba(numbers)[:, 1].mean()
    assert more > weighted.fit(numbers, y).predict_proba(numbers)[:, 1].mean() + 0.1
    named = fair.Metric.from_features(numbers, {"age": 0.05})
    with pytest.raises(ParameterError, match="put the scaler inside"):
        make_pipeline(StandardScaler(), fair.FairClassifier(LogisticRegression(), named)).fit(numbers, y)
    with pytest.raises(ParameterError, match="sample_weight"):
        weighted.fit(numbers, y, sample_weight=-weight)


@pytest.mark.parametrize("base", [HistGradientBoostingClassifier(max_iter=20), LogisticRegression(), None])
@pytest.mark.parametrize("weights", [None, [0.3] * 4])
@pytest.mark.parametrize("kind", ["matrix", "pandas", "polars"])
def test_missing_numbers_count_as_the_median_of_the_fit_everywhere(base, weights, kind):
    X, y = make_classification(120, 4, random_state=2)
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    at_median = np.where(np.isnan(gaps), np.nanmedian(gaps[:, 1]), gaps)
    names = ["a", "b", "c", "d"]
    make = {
        "matrix": np.array,
        "pandas": lambda rows: pd.DataFrame(rows, columns=names),
        "polars": lambda rows: polars.DataFrame(rows, schema=names),
    }[kind]
    metric = None if weights is None else fair.Metric.from_features(make(X), weights)
    with pytest.warns(fair.FairnessWarning, match=r"missing numbers in column ('b'|1); each counts as the median"):
        model = fair.FairClassifier(base, metric, insecure_seed=1).fit(make(gaps), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", fair.FairnessWarning)
        whole = fair.FairClassifier(base, metric, insecure_seed=1).fit(make(at_median), y)
        expected, decided = whole.predict_proba(make(at_median)), whole.predict(make(at_median))
    with pytest.warns(fair.FairnessWarning, match="median") as told:
        assert np.array_equal(model.predict(make(gaps)), decided)
    assert len(told) == 1 and told[0].filename == __file__
    with pytest.warns(fair.FairnessWarning, match="median"):
        assert np.array_equal(model.predict_proba(make(gaps)), expected)


def test_a_word_beside_missing_numbers_is_left_to_the_metric():
    people = pd.DataFrame({"age": [30, None, "n/a", 41] * 10, "pay": pd.array([1, None] * 20, dtype="Int64")})
    by = medians(people)
    with pytest.warns(fair.FairnessWarning, match="columns 'age', 'pay'"):
        whole = filled(people, by)
    assert by == {"age": 35.5, "pay": 1.0} and whole["age"][:4].tolist() == [30, 35.5, "n/a", 41]
    assert whole["pay"].tolist() == [1.0] * 40 and people["age"].isna().any(), "the user's table is as it was"
