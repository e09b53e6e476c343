"""Several labels and numbers: how well they are predicted, through arrays, pipelines, a ledger and a shell's words."""

from __future__ import annotations

import itertools
import pickle
import re
import warnings

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone, is_regressor
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, r2_score, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sfumato import Approximate, Concentrated, Noise, Pure, Schema, curate, domain
from sfumato.curator.typed import read_question
from sfumato.errors import AccuracyWarning, ParameterError
from sfumato.learn import Learn, PrivateLinearClassifier, PrivateLinearRegressor, rule_from_json
from tests.imputed import booleans, categories, dates, fixed, integers

CELLS = fixed(-8, 8, step=0.01)
NAMES = ("low", "middle", "high")


def of_three(people: int = 6000):
    X, y = make_classification(people, 5, n_informative=4, n_redundant=0, n_classes=3, class_sep=1.2, random_state=3)
    return X, np.array(NAMES)[y]


def of_numbers(people: int = 6000):
    return make_regression(people, 5, n_informative=4, noise=30, random_state=3)


def seeded(kind, spend, labels, seed=1):
    return kind(spend, CELLS, labels, noise=Noise(insecure_seed=seed))


@pytest.mark.parametrize("spend", [Pure(1), Approximate(1, "1e-6"), Concentrated("0.05")])
def test_several_labels_are_told_nearly_as_well_as_without_privacy(spend):
    X, y = of_three()
    plain = LogisticRegression().fit(X[:4000], y[:4000])
    model = seeded(PrivateLinearClassifier, spend, NAMES).fit(X[:4000], y[:4000])
    assert model.score(X[4000:], y[4000:]) > plain.score(X[4000:], y[4000:]) - 0.05
    chance = model.predict_proba(X[4000:])
    order = np.argsort(NAMES)
    assert log_loss(y[4000:], chance[:, order]) < log_loss(y[4000:], plain.predict_proba(X[4000:])) + 0.15
    assert np.allclose(chance.sum(axis=1), 1) and model.loss_.within(spend)
    assert model.decision_function(X[:9]).shape == (9, 3) and model.coef_.shape == (3, 5)
    assert (model.predict(X[:99]) == np.array(NAMES)[model.predict_proba(X[:99]).argmax(axis=1)]).all()
    near = np.abs(X[:400]).max(axis=1) < 1
    exact = X[:400][near].round(2) @ model.coef_.T + model.intercept_
    assert np.allclose(exact, model.decision_function(X[:400][near]), atol=0.03)
    assert not hasattr(model, "auc_") and "highest score" in str(model.rule_)


def evenly(people, columns, seed=1):
    """Return numbers between 0 and 1, without the ends."""
    return (Noise(insecure_seed=seed).uniform(1 << 20, people * columns).reshape(people, columns) + 0.5) / (1 << 20)


def of_order():
    """Three equal labels in an order, of which the middle one needs steep scores."""
    parts = evenly(6000, 9)
    X = np.stack([parts[:, :4].sum(axis=1), parts[:, 4:8].sum(axis=1)], axis=1) - 2
    total = X.sum(axis=1) + 0.6 * (parts[:, 8] - 0.5)
    return X, np.array(NAMES)[(total >= -0.35).astype(int) + (total >= 0.35)]


def of_shares(labels):
    """Labels of unequal shares, one of whose features is skewed, and one a truth value."""
    parts = evenly(8000, 6 + labels)
    X = np.log(parts[:, :6] / (1 - parts[:, :6])) / 1.8
    X[:, 1] = np.exp(0.6 * X[:, 0] + 0.7 * X[:, 1]) - 1
    X[:, 3] = X[:, 3] > 0.8
    slopes = 4 * evenly(6, labels, 2) - 2
    scores = X @ slopes + np.linspace(0, 1.2, labels) - np.log(-np.log(parts[:, 6:]))
    return X.clip(-8, 8), np.array(list("abcde"))[scores.argmax(axis=1)]


@pytest.mark.parametrize("spend", [Pure(1000), Approximate(100, "1e-6")])
@pytest.mark.parametrize("made", [of_order, lambda: of_shares(2), lambda: of_shares(5)])
def test_labels_without_noise_to_speak_of_are_told_as_well_as_without_privacy(spend, made):
    X, y = made()
    plain = LogisticRegression(max_iter=3000).fit(X[:4000], y[:4000])
    model = seeded(PrivateLinearClassifier, spend, tuple(plain.classes_))
    assert model.fit(X[:4000], y[:4000]).score(X[4000:], y[4000:]) > plain.score(X[4000:], y[4000:]) - 0.01


@pytest.mark.parametrize("spend", [Pure(1000), Approximate(100, "1e-6")])
def test_a_number_without_noise_to_speak_of_is_told_as_well_as_without_privacy(spend):
    X, y = of_numbers()
    plain = LinearRegression().fit(X[:4000], y[:4000])
    model = seeded(PrivateLinearRegressor, spend, fixed(-400, 400, step=0.1)).fit(X[:4000], y[:4000])
    assert model.score(X[4000:], y[4000:]) > plain.score(X[4000:], y[4000:]) - 0.01


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
@pytest.mark.parametrize("labels", [2, 3, 5])
def test_models_come_as_near_as_was_said_beforehand(labels):
    X, y = of_shares(labels)
    kept = []
    for people, spend in itertools.product((1000, 4000), (Pure(1), Pure(5), Approximate(1, "1e-6"))):
        plain = LogisticRegression(max_iter=3000).fit(X[:people], y[:people])
        model = seeded(PrivateLinearClassifier, spend, tuple(plain.classes_)).fit(X[:people], y[:people])
        said = model.expected_quality(people)
        assert ("area under the curve" if labels == 2 else "accuracy") in said or said.startswith("not known")
        points = re.search(r"within (about one|3|10) point", said)
        most = {"about one": 1, "3": 3, "10": 10}[points[1]] if points else 100
        kept.append(figure(plain, X[4000:], y[4000:]) - figure(model, X[4000:], y[4000:]) <= most / 100)
    assert sum(kept) >= len(kept) - 1, "mostly"


def figure(model, X, y):
    """Return the area under the curve of two labels, and the accuracy of more."""
    return roc_auc_score(y == "b", model.predict_proba(X)[:, 1]) if len(set(y)) == 2 else model.score(X, y)


@pytest.mark.parametrize("spend", [Pure(2), Approximate(1, "1e-6")])
def test_a_number_is_predicted_nearly_as_well_as_without_privacy(spend):
    X, y = of_numbers()
    plain = LinearRegression().fit(X[:4000], y[:4000])
    model = seeded(PrivateLinearRegressor, spend, fixed(-400, 400, step=0.1)).fit(X[:4000], y[:4000])
    assert model.score(X[4000:], y[4000:]) > plain.score(X[4000:], y[4000:]) - 0.1
    low, high = model.predict_interval(X[4000:], 0.9).T
    inside = ((low <= y[4000:]) & (y[4000:] <= high)).mean()
    assert 0.85 < inside < 0.99 and (low <= model.predict(X[4000:])).all() and (model.predict(X[4000:]) <= high).all()
    assert np.abs(model.coef_ - plain.coef_).max() < 25 and model.loss_.within(spend)
    near = np.abs(X[:400]).max(axis=1) < 1
    exact = X[:400][near].round(2) @ model.coef_ + model.intercept_
    assert np.allclose(exact, model.predict(X[:400][near]), atol=3)
    assert is_regressor(model) and np.abs(model.predict(100 * X)).max() <= 400


def test_bounds_of_the_target_that_are_far_too_wide_are_seen_in_what_is_released():
    X, y = of_numbers(2000)
    with pytest.warns(AccuracyWarning, match="narrower range"):
        seeded(PrivateLinearRegressor, Pure(1), fixed(-(10**6), 10**6, step=1)).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seeded(PrivateLinearRegressor, Pure(5), fixed(-400, 400, step=1)).fit(X, y)


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_they_are_cloned_pickled_searched_and_piped():
    X, y = of_numbers(800)
    model = seeded(PrivateLinearRegressor, Pure(20), fixed(-400, 400, step=0.1))
    assert clone(model).get_params()["target"] == model.target
    fitted = make_pipeline(model).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(X), fitted.predict(X)) and r2_score(y, again.predict(X)) > 0.5
    found = GridSearchCV(model, {"spend": [Pure(1), Pure(20)]}, cv=2).fit(X, y)
    assert found.best_params_["spend"] == Pure(20)
    X, y = of_three(800)
    search = GridSearchCV(seeded(PrivateLinearClassifier, Pure(20), NAMES), {"spend": [Pure(20)]}, cv=2).fit(X, y)
    assert pickle.loads(pickle.dumps(search)).predict(X[:3]).tolist() == search.predict(X[:3]).tolist()


def test_a_search_warns_once_and_a_fit_every_time():
    rows, labels = [[place % 10] for place in range(60)], [NAMES[place % 3] for place in range(60)]
    model = PrivateLinearClassifier(Pure(1), integers(0, 9), NAMES, noise=Noise(insecure_seed=1))
    noisy = "buys much noise"

    def warned(fit):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit()
        return sum(noisy in str(one.message) for one in caught)

    search = GridSearchCV(model, {"spend": [Pure(1), Pure("1.5")]}, cv=3)
    assert warned(lambda: search.fit(rows, labels)) == 1
    assert [warned(lambda: model.fit(rows, labels)) for _ in range(2)] == [1, 1]
    assert "_told" not in vars(model) and "_told" in vars(clone(model))


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_odd_people_are_an_answer():
    for labels in (["a"], ["?"] * 30, ["a", None, 3.5, "c"] * 8):
        rows = [[place % 9] for place in range(len(labels))]
        model = PrivateLinearClassifier(Pure(1), integers(0, 9), ("a", "b", "c"), noise=Noise(insecure_seed=1))
        assert np.isfinite(model.fit(rows, labels).predict_proba([[0], [9]])).all()
    for numbers in ([5], [float("nan")] * 30, ["x", None, 10**9, -3] * 8):
        rows = [[place % 9] for place in range(len(numbers))]
        model = PrivateLinearRegressor(Pure(1), integers(0, 9), integers(0, 50), noise=Noise(insecure_seed=1))
        found = model.fit(rows, numbers)
        assert np.isfinite(found.predict([[0], ["?"]])).all() and np.isfinite(found.predict_interval([[3]])).all()
    flat = PrivateLinearRegressor(Pure(1), integers(0, 9), integers(4, 4), noise=Noise(insecure_seed=1))
    assert flat.fit([[1]] * 20, [4] * 20).predict([[1]]).tolist() == [4.0]


def table_of(X, label, domain, **more):
    rows = pa.table({"a": X[:, 0], "b": X[:, 1], "label": label})
    return rows, Schema({"a": CELLS, "b": CELLS, "label": domain}, **more)


def test_misspelt_labels_are_seen_in_what_is_released():
    X, y = of_three()
    model = seeded(PrivateLinearClassifier, Pure(1), ("Low", "Middle", "High"))
    with pytest.warns(
        AccuracyWarning, match=r"anybody has the label 'High'.*none of classes=\('Low', 'Middle', 'High'"
    ):
        model.fit(X, y.tolist())
    assert model.rule_.people_by_label[0] > 5000 and "anybody has the label 'High'" in " ".join(model.rule_.quality())
    fine = seeded(PrivateLinearClassifier, Pure(1), NAMES).fit(X, y.tolist())
    assert fine.rule_.rare_label is None and rule_from_json(fine.rule_.to_json()) == fine.rule_


@pytest.mark.parametrize("filled", [50, 0])
def test_numbers_that_are_not_read_are_seen_in_what_is_released(filled):
    parts = evenly(6000, 2)
    rows = [[f"{100 * one:.2f}".replace(".", ","), float(100 * two)] for one, two in parts]
    cells = [domain.fixed(0, 100, step="0.01", missing=filled)] * 2
    y = ["yes" if one > 0.5 else "no" for one, _ in parts]
    model = PrivateLinearClassifier(Pure(2), cells, ("no", "yes"), noise=Noise(insecure_seed=1))
    guess = pytest.warns(AccuracyWarning, match="no better than a guess")
    with guess, pytest.warns(AccuracyWarning, match=r"declared range of 'x0' .*decimal comma"):
        model.fit(rows, y)


def test_few_people_are_warned_of_before_anything_is_drawn():
    X, y = of_three(300)
    few = pytest.warns(AccuracyWarning, match="300 people this spend buys much noise.*no better than a guess")
    with few, pytest.warns(AccuracyWarning, match="anybody has the label"):
        seeded(PrivateLinearClassifier, Pure(1), NAMES).fit(X, y)


def test_however_it_is_written_the_same_model_is_paid_for_once():
    X, y = of_three(3000)
    rows, schema = table_of(X, y, domain.categories(*NAMES))
    fill = {"label": "low"}
    with curate(rows, schema, Pure(5)) as curator:
        typed = read_question("learn label from a, b with linear missing label=low", schema)
        curator.ask(typed, Pure(1))
        for learner in (PrivateLinearClassifier(Pure(1)), PrivateLinearClassifier(Pure(1), classes=NAMES)):
            assert curator.learn(learner, features=["a", "b"], target="label", missing=fill).reused
        other = PrivateLinearClassifier(Pure(1), classes=("high", "low", "middle"))
        assert not curator.learn(other, features=["a", "b"], target="label", missing=fill).reused


def test_they_go_through_a_ledger_and_back():
    X, y = of_three(3000)
    rows, schema = table_of(X, y, categories(*NAMES))
    with curate(rows, schema, Pure(4)) as curator:
        model = PrivateLinearClassifier(Pure(2))
        answer = curator.learn(model, features=["a", "b"], target="label")
        assert answer.loss.person.epsilon == 2 and "highest score" in str(answer.value) and "middle" in str(answer)
        again = curator.learn(PrivateLinearClassifier(Pure(2)), features=["a", "b"], target="label")
        assert again.reused and model.classes_.tolist() == list(NAMES)
        two = PrivateLinearClassifier(Pure(2), classes=("low", "high"))
        curator.learn(two, features=["a", "b"], target="label")
    people = pa.table({"a": X[:9, 0], "b": X[:9, 1]}).to_pandas()
    again = rule_from_json(answer.value.to_json())
    assert np.array_equal(again.predict_proba(people), model.predict_proba(people))
    assert model.expected_quality(3000) and set(two.predict(people)) <= {"low", "high"}


def test_a_number_goes_through_a_ledger_with_its_missing_cells():
    X, y = of_numbers(3000)
    rows, schema = table_of(X, y, domain.fixed(-400, 400, step=1))
    with curate(rows, schema, Pure(4)) as curator:
        model = PrivateLinearRegressor(Pure(4))
        with pytest.raises(ParameterError, match=r"missing=.*'label'"):
            curator.learn(model, features=["a", "b"], target="label")
        answer = curator.learn(model, features=["a", "b"], target="label", missing={"label": 0})
    assert "Missing cells of 'label' count as 0" in str(answer)
    people = pa.table({"a": X[:9, 0], "b": X[:9, 1]}).to_pandas()
    assert np.array_equal(answer.value.predict(people), model.predict(people))
    assert model.facts().target == "y" and model.needed() > 0


def test_the_shell_has_words_for_them():
    schema = Schema(
        {"age": integers(0, 99), "pay": fixed(0, 99, step=1), "sick": categories(*NAMES), "ill": booleans()}
    )
    for words, question in (
        ("learn sick from age with linear", Learn("PrivateLinearClassifier", "age", "sick")),
        ("learn pay from age with regression", Learn("PrivateLinearRegressor", "age", "pay")),
    ):
        assert read_question(words, schema) == question.canonical(schema)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PrivateLinearRegressor(Pure(1), CELLS).fit([[1]], [1]), "never read from y"),
        (lambda: PrivateLinearRegressor(Pure(1), CELLS, categories("a", "b")).fit([[1]], ["a"]), "is a number"),
        (lambda: PrivateLinearRegressor(Pure(1), CELLS, dates("2020-01-01", "2021-01-01")).fit([[1]], [1]), "days since"),
        (lambda: PrivateLinearRegressor(Pure(1), CELLS, CELLS).fit([[1]], np.array(["a"])), "declared as text"),
        (lambda: PrivateLinearClassifier(Pure(1), CELLS, range(33)).fit([[1]], [1]), "from two to 32"),
        (lambda: PrivateLinearClassifier(Pure(1), CELLS, ("a", "b", "b")).fit([[1]], ["a"]), "different labels"),
        (lambda: Learn("PrivateLinearRegressor", "a", "b", ("x", "y")).canonical(Schema({"a": CELLS, "b": CELLS})),
         "has no classes"),
        (lambda: Learn("PrivateLinearClassifier", "a", "b").canonical(Schema({"a": CELLS, "b": CELLS})),
         "which are .from two to 32. meant"),
    ],
)  # fmt: skip
def test_what_cannot_be_fitted_says_what_to_write(make, words):
    with pytest.raises(ParameterError, match=words):
        make()
