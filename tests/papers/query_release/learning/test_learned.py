"""Learners as releases: what they are worth, what happens when they fail, and the printed aggregation."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pyarrow
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from sfumato import ADD_REMOVE, Approximate, Concentrated, Noise, Pure, Truncated
from sfumato.errors import ParameterError
from sfumato.papers.query_release.learning.labelled import Labelled, LabelOptions, labelled, plan_labels
from sfumato.papers.query_release.learning.labels import AnyQueries, BinaryQueries
from sfumato.papers.query_release.learning.learned import Reduction, Training, aggregate, is_classifier, learn_answers
from sfumato.papers.query_release.learning.ridge import PolynomialRidge
from sfumato.questions.synopsis.base import synopsis_from_json
from sfumato.questions.synopsis.binary import Rows
from sfumato.questions.synopsis.queries import Conjunctions
from sfumato.questions.synopsis.question import Synopsize
from tests import imputed
from tests.papers.query_release.learning.test_trees import table
from tests.promises.printed.synopsis_learned import printed_aggregate

COLUMNS = tuple("abcdefghijkl")
FRESH = Conjunctions.random(12, 3, 150, noise=Noise(insecure_seed=99))


@cache
def rows(people: int) -> Rows:
    ones, counts = np.unique(table(people, 12, 3), axis=0, return_counts=True)
    return Rows(ones, counts)


def released(people: int, **options: Any) -> Labelled:
    about = LabelOptions(**options).drawn(12, 500)
    mechanism = plan_labels(about, Pure(1), people=people)
    return labelled(mechanism, mechanism(rows(people), Noise(insecure_seed=4)), COLUMNS)


def truth(people: int, predicate: str = "conjunction") -> Any:
    return BinaryQueries(*FRESH.dense(), predicate, 2).counts(rows(people)) / people


def error(found: Any, people: int, predicate: str = "conjunction") -> float:
    return float(np.sqrt(np.mean((found.answer(FRESH) - truth(people, predicate)) ** 2)))


def test_counts_are_those_of_the_definition() -> None:
    bits = table(60, 5, 1)
    asked = Conjunctions.random(5, 3, 20, negations=True, noise=Noise(insecure_seed=1))
    ones, zeros = asked.dense()
    hold = np.array(
        [[(row[one]).sum() + (~row[zero]).sum() for one, zero in zip(ones, zeros, strict=True)] for row in bits]
    )
    counted = Rows.of(bits.astype(int), 5)
    for predicate, wanted in (
        ("conjunction", hold == 3),
        ("disjunction", hold > 0),
        ("parity", hold % 2 == 1),
        ("at least", hold >= 2),
    ):
        assert BinaryQueries(ones, zeros, predicate, 2).counts(counted).tolist() == wanted.sum(axis=0).tolist()


@pytest.mark.parametrize("predicate", ["conjunction", "at least"])
def test_ridge_beats_the_constant_by_half_and_knows_its_error(predicate: str) -> None:
    found = released(40_000, predicate=predicate)
    wrong = error(found, 40_000, predicate)
    assert wrong < 0.5 * truth(40_000, predicate).std()
    assert found.stderr(FRESH)[0] == pytest.approx(wrong, rel=0.6)


def test_the_error_falls_with_people_until_the_learner_is_the_limit() -> None:
    wrong = [error(released(people), people) for people in (2000, 10_000, 40_000)]
    assert wrong[0] > 1.5 * wrong[1] and wrong[1] > wrong[2]


@pytest.mark.parametrize("learner", [Ridge(), DecisionTreeClassifier(max_depth=6, random_state=0)])
def test_learners_of_scikit_learn_become_releases(learner: Any) -> None:
    labels = released(40_000)
    found = labels.fit(learner, folds=2)
    assert error(found, 40_000) < 0.8 * truth(40_000).std()
    assert not found.repaired
    again = synopsis_from_json(json.loads(json.dumps(found.to_json())))
    assert isinstance(again, Labelled)
    assert np.allclose(again.fit(learner, folds=2).answer(FRESH), found.answer(FRESH))
    assert len(found.to_frame().columns["answer"]) >= 20


def test_a_query_that_was_answered_itself_is_not_forgotten() -> None:
    # All pairs of columns are labelled: with many people their own noisy shares are better than any learner.
    about = LabelOptions(width=2).drawn(12, 2000)
    mechanism = plan_labels(about, Pure(5), people=40_000)
    labels = labelled(mechanism, mechanism(rows(40_000), Noise(insecure_seed=4)), COLUMNS)
    pairs = Conjunctions.every(12, 2)
    true = BinaryQueries(*pairs.dense()).counts(rows(40_000)) / 40_000
    wrong = [
        float(np.sqrt(np.mean((found.answer(pairs) - true) ** 2))) for found in (labels, labels.fit(Ridge(), folds=1))
    ]
    assert wrong[0] < 1.5 * labels.deviation < wrong[1]
    assert labels.stderr(pairs) == pytest.approx(labels.deviation, rel=0.3)
    assert (labels.stderr(FRESH) > labels.stderr(pairs)[0]).all()


class Raises:
    def fit(self, X: Any, y: Any) -> Any:
        raise ValueError(f"secret {y}")

    def predict(self, X: Any) -> Any:
        raise AssertionError


class Nans:
    def fit(self, X: Any, y: Any) -> Any:
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), np.nan)


class Shapeless(Nans):
    def predict(self, X: Any) -> Any:
        return "no numbers"


class Late(Nans):
    def predict(self, X: Any) -> Any:
        raise ValueError(f"secret {X}")


@pytest.mark.parametrize("learner", [Raises(), Nans(), Shapeless(), Late()])
@pytest.mark.parametrize("mode", ["regression", "threshold"])
def test_a_learner_that_fails_is_repaired_and_not_shown(learner: Any, mode: str) -> None:
    labels = released(2000, queries=None)
    found = labels.fit(learner, method=mode, folds=1)
    shares = found.answer(FRESH)
    assert ((shares >= 0) & (shares <= 1)).all()
    if mode == "regression":
        assert shares == pytest.approx(labels.shares.mean())
    assert found.repaired == isinstance(learner, Raises)


def test_thresholds_meet_their_accuracy_and_the_printed_aggregation_does_not() -> None:
    # One feature, the share itself: every threshold can be learned exactly.
    shares = np.linspace(0.01, 0.99, 400)
    training = Training(shares[:, None], shares, 0.0)
    accuracy = 0.1
    found = learn_answers(training, DecisionTreeClassifier(random_state=0), Reduction("threshold", accuracy), folds=1)
    assert np.abs(found.answer(shares[:, None]) - shares).max() <= accuracy
    count = 30
    exact = [
        lambda asked, level=place / (count + 1): (asked[:, 0] >= level).astype(float) for place in range(1, count + 1)
    ]
    assert np.abs(aggregate(exact, shares[:, None]) - shares).max() <= 1 / (count + 1) + 1e-9  # type: ignore[arg-type]
    printed = printed_aggregate(exact, shares[:, None])
    assert np.abs(printed / count - shares).max() > 0.8


def test_shares_near_one_threshold_are_that_constant() -> None:
    shares = np.full(100, 16 / 31)
    found = learn_answers(Training(np.zeros((100, 2)), shares, 0.0), DummyClassifier(), Reduction("threshold", 0.1))
    assert found.answer(np.zeros((3, 2))) == pytest.approx(16 / 31)


def test_classifiers_are_told_from_regressors() -> None:
    assert (
        is_classifier(DecisionTreeClassifier()) and not is_classifier(Ridge()) and not is_classifier(PolynomialRidge())
    )


@pytest.mark.parametrize("spend", [Pure(1), Concentrated("0.1"), Truncated("0.1", 20), Approximate(1, 1e-6)])
@pytest.mark.parametrize("people", [500, None])
def test_every_spend_and_relation_fits(spend: Any, people: int | None) -> None:
    relation = sf.REPLACE_ONE if people else ADD_REMOVE
    mechanism = plan_labels(LabelOptions().drawn(6, 10), spend, people=people, relation=relation)
    assert mechanism.loss().within(spend)
    json.dumps(mechanism.event().to_json())


@pytest.mark.parametrize("options", [{}, {"relation": ADD_REMOVE}])
def test_labels_are_a_synopsis(options: dict[str, Any]) -> None:
    bits = table(3000, 5, 7)
    data = pyarrow.table({name: bits[:, place].tolist() for place, name in enumerate("abcde")})
    schema = sf.Schema({name: imputed.booleans() for name in "abcde"})
    with sf.curate(data, schema, Pure(10), **options) as curator:
        asked = Synopsize("labels", options={"width": 2, "queries": 10})
        answer = curator.ask(asked, Pure(3))
        assert curator.ask(asked, Pure(3)).reused
        found = answer.value
        assert found.answer([("a", "b")])[0] == pytest.approx(bits[:, :2].all(axis=1).mean(), abs=0.15)
        assert found.fit(Ridge(), folds=2).answer([("a", "b")])[0] == pytest.approx(
            bits[:, :2].all(axis=1).mean(), abs=0.25
        )
        assert "share" in answer.frame.columns
        with pytest.raises(ParameterError, match="width"):
            curator.ask(Synopsize("labels", options={"width": 9}), Pure(1))
        with pytest.raises(ParameterError, match="predicate"):
            curator.ask(Synopsize("labels", options={"predicate": "all"}), Pure(1))
        with pytest.raises(ParameterError, match="fit"):
            found.fit(Ridge)
        with pytest.raises(ParameterError, match="method is one of"):
            found.fit(Ridge(), method="best")


def test_any_predicate_of_the_user_can_be_learned() -> None:
    ages = Noise(insecure_seed=1).uniform(100, 4000).tolist()
    limits = tuple(range(0, 100, 4))
    about = AnyQueries(limits, lambda age, queries: [age >= limit for limit in queries])
    mechanism = plan_labels(about, Pure(1), people=len(ages))
    found = mechanism(ages, Noise(insecure_seed=2))
    shares = np.array(found.counts) / (about.step * len(ages))
    training = Training(np.array(limits, dtype=float)[:, None] / 100, shares, 0.0)
    learned = learn_answers(training, PolynomialRidge(2), folds=1)
    assert learned.answer([[0.5]])[0] == pytest.approx(0.5, abs=0.05)
