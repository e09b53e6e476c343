"""Public facts that are wrong are refused with a sentence; private cells are not."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas
import pytest
from scipy import sparse

from sfumato import Approximate, Concentrated, Noise, Pure, Truncated, bins
from sfumato.errors import AccuracyWarning, ParameterError, SfumatoError, UnsupportedSpend
from sfumato.learn import (
    ExponentialLearner,
    PrivateBox,
    PrivateLinearClassifier,
    PrivatePoint,
    PrivateThreshold,
    rule_from_json,
)
from tests.imputed import fixed, integers, text

X = [[value] for value in range(100)]
Y = ["yes" if value >= 50 else "no" for value in range(100)]
GOOD = {"spend": Pure(50), "domains": integers(0, 99), "classes": ("no", "yes")}
LEARNERS = [PrivateThreshold, PrivateBox, PrivatePoint]


def make(kind, **changes):
    return kind(**{**GOOD, "noise": Noise(insecure_seed=1), **changes})


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"spend": None}, "spend=Pure"),
        ({"spend": 1.0}, "not the bare number"),
        ({"classes": None}, "classes="),
        ({"domains": None}, "domains="),
        ({"domains": []}, "domains="),
        ({"domains": [integers(0, 9), integers(0, 9)]}, "one domain for each"),
        ({"domains": [int]}, "is no domain"),
        ({"domains": bins("x", step=2).on(integers(0, 9))}, "derived"),
        ({"accuracy": 0}, "strictly between 0 and 1"),
        ({"failure": 2}, "strictly between 0 and 1"),
    ],
)
def test_wrong_arguments_are_refused(kind, changes, hint):
    with pytest.raises(SfumatoError, match=hint):
        make(kind, **changes).fit(X, Y)


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize(
    ("rows", "labels", "hint"),
    [
        ([1, 2, 3], Y[:3], "Reshape your data"),
        (X, None, "y is None"),
        (X, Y[:3], "inconsistent numbers"),
        ([], [], "2D|0 sample|0 feature"),
        (np.empty((0, 1)), [], "0 sample"),
        (np.empty((3, 0)), Y[:3], "0 feature"),
        (X, np.array([[label, label] for label in Y]), "1d array"),
        ([[1], [2, 3]], Y[:2], "differ in length"),
        (sparse.eye(100).tocsr(), Y, "toarray"),
        (np.full((100, 1), 1j), Y, "Complex"),
    ],
)
def test_wrong_shapes_are_refused(kind, rows, labels, hint):
    with pytest.raises(ParameterError, match=hint):
        make(kind).fit(rows, labels)


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_a_learner_says_what_it_does_not_do():
    with pytest.raises(ParameterError, match="feature="):
        make(PrivateThreshold).fit([[1, 2]] * 10, Y[:10])
    with pytest.raises(ParameterError, match="direction"):
        make(PrivateThreshold, direction="up").fit(X, Y)
    with pytest.raises(ParameterError, match="holds text"):
        make(PrivateThreshold, domains=text(max_bytes=4)).fit(X, Y)
    with pytest.raises(UnsupportedSpend, match="needs a delta"):
        make(PrivatePoint, domains=text(max_bytes=4)).fit(X, Y)
    with pytest.raises(ParameterError, match="method"):
        make(PrivatePoint, method="guess").fit(X, Y)
    with pytest.raises(ParameterError, match="concepts="):
        make(ExponentialLearner).fit(X, Y)
    with pytest.raises(ParameterError, match="is no rule"):
        make(ExponentialLearner, concepts=[lambda row: True]).fit(X, Y)
    with pytest.raises(SfumatoError, match="hours"):
        make(ExponentialLearner, concepts=["hours > 3"]).fit(X, Y)
    other = make(PrivateThreshold, domains=integers(0, 9)).fit(X, Y).rule_
    with pytest.raises(ParameterError, match="other domains"):
        make(ExponentialLearner, concepts=[other]).fit(X, Y)


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_every_learner_reads_odd_labels():
    odd = [["yes"], ["no"], "yes", None] * 25
    assert make(PrivateThreshold).fit(X, odd).rule_.classes == ("no", "yes")


def test_too_few_people_are_told_from_public_numbers():
    learner = make(PrivateThreshold, spend=Pure("0.1"))
    with pytest.warns(AccuracyWarning, match=f"from {learner.needed()} people on, and there are 100"):
        learner.fit(X, Y)
    assert learner.loss_.person.epsilon == Pure("0.1").epsilon


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("spend", [Pure(9), Concentrated(9), Truncated(9, 20), Approximate(9, "1e-6")])
@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_every_kind_of_spend_serves_every_learner(kind, spend):
    learner = make(kind, spend=spend)
    assert learner.fit(X, Y).loss_.within(spend)
    assert learner.mechanism(100).loss() == learner.loss_ or kind is PrivateThreshold


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_rows_without_sense_give_a_rule_all_the_same(kind):
    rows = np.array([[None], ["x"], [float("nan")], [10**400], [object()], [[]], [-1], [True]] * 3, dtype=object)
    labels = np.array([None, "x", float("nan"), 7, "yes", "no", {}, "yes"] * 3, dtype=object)
    learner = make(kind).fit(rows, labels)
    assert set(learner.predict(rows)) <= {"no", "yes"}
    one = make(kind).fit(rows[:1], labels[:1])
    assert one.predict(rows).shape == (24,)


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_a_rule_comes_back_from_json_and_predicts_alone():
    frame = pandas.DataFrame({"age": [float(row[0]) for row in X], "pay": [row[0] / 10 for row in X]})
    domains = [integers(0, 99), fixed(0, 10, step=0.1)]
    learners = [
        make(PrivateThreshold, domains=domains, feature="pay", direction="below"),
        make(PrivateBox, domains=domains),
        make(PrivatePoint, domains=domains),
        make(ExponentialLearner, domains=domains, concepts=["age >= 50 and pay > 5", "not (age >= 50) or pay = 0.5"]),
    ]
    for learner in learners:
        learner.fit(frame, pandas.Series(Y, name="ok"))
        again = rule_from_json(json.loads(json.dumps(learner.rule_.to_json())))
        assert again == learner.rule_ and str(again) == str(learner.rule_)
        assert (again.predict(frame.to_numpy()) == learner.predict(frame)).all()
        assert learner.loss_.profile.names() <= {"age", "pay", "ok"}
        with pytest.raises(ParameterError, match="expecting 2 features"):
            again.predict([[1]])
    assert learners[0].loss_.at("age").is_zero, "the feature that is not cut is not read"
    with pytest.raises(ParameterError, match="no rule"):
        rule_from_json({"rule": "oracle"})


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_a_cut_at_an_end_is_said_in_words():
    base = make(PrivateThreshold).fit(X, Y).rule_
    cuts = [(0, True), (100, True), (0, False), (100, False)]
    assert [replace(base, cut=cut, above=above).says() for cut, above in cuts] == [
        "anything",
        "nothing",
        "nothing",
        "anything",
    ]


def test_a_missing_package_is_named() -> None:
    import subprocess
    import sys

    code = "import sys; sys.modules['sklearn'] = None\nimport sfumato as sf\ntry:\n    sf.learn.PrivateBox\nexcept ImportError as missing:\n    print(missing)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Learners need scikit-learn; run pip install 'sfumato[learn]'.\n"


def test_weights_are_refused_with_the_reason():
    model = PrivateLinearClassifier(Pure(1), integers(0, 9, missing=0), ("no", "yes"))
    with pytest.raises(
        ParameterError, match=r"fit has no sample_weight=; a weight would let one person count for more"
    ):
        model.fit([[1], [2]], ["no", "yes"], sample_weight=[1, 2])
    with pytest.raises(ParameterError, match="a weight would let one person count for more"):
        PrivateLinearClassifier(Pure(1), class_weight="balanced")


def test_what_a_fit_cost_prints_in_one_line():
    model = PrivateLinearClassifier(Pure(1), integers(0, 9, missing=0), ("no", "yes"))
    assert repr(model.mechanism(1000).loss()).startswith("<Loss: a person epsilon 1; x0 epsilon 0.")
