"""A rule finds its features among the columns of a frame by name, and in arrays by place."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sfumato import Noise, Pure, Schema, booleans, curate, integers
from sfumato.errors import ParameterError
from sfumato.learn import PrivateLinearClassifier, PrivateLinearRegressor, PrivateThreshold, rule_from_json

DRAW = Noise(insecure_seed=5)
AGE, DEBT = DRAW.uniform(100, 4000), DRAW.uniform(1000, 4000)
PEOPLE = {"age": AGE, "debt": DEBT, "ill": (2 * AGE + DEBT // 20 > 125)}
SCHEMA = Schema(
    {"age": integers(0, 99, missing=0), "debt": integers(0, 999, missing=0), "ill": booleans(missing=False)}
)
SHUFFLED = {"ward": ["a"] * 4000, "debt": DEBT, "age": AGE}
FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


@pytest.fixture(scope="module")
def rules():
    with curate(pa.table(PEOPLE), SCHEMA, Pure(60)) as curator:
        labels = curator.learn(PrivateLinearClassifier(Pure(20)), features=["age", "debt"], target="ill").value
        number = curator.learn(PrivateLinearRegressor(Pure(20)), features=["age", "ill"], target="debt").value
        cut = curator.learn(PrivateThreshold(Pure(20)), features="age", target="ill").value
    return labels, number, cut


@pytest.mark.parametrize("made", FRAMES)
def test_columns_of_a_frame_are_found_by_name(rules, made):
    labels, number, cut = rules
    rows = np.stack([AGE, DEBT], axis=1)
    for rule in (labels, rule_from_json(json.loads(json.dumps(labels.to_json())))):
        assert (rule.predict(made(SHUFFLED)) == rule.predict(rows)).all()
        assert (rule.predict_proba(made(SHUFFLED)) == rule.predict_proba(rows)).all()
    assert (cut.predict(made(SHUFFLED)) == cut.predict(AGE[:, None])).all()
    both = made({"ill": PEOPLE["ill"], "age": AGE})
    straight = np.stack([AGE, PEOPLE["ill"]], axis=1)
    assert (number.predict(both) == number.predict(straight)).all()
    assert (number.intervals(both) == number.intervals(straight)).all()


@pytest.mark.parametrize("made", FRAMES)
def test_a_frame_without_a_feature_is_refused_in_one_sentence(rules, made):
    with pytest.raises(ParameterError, match=r"^The table has no column 'age', and the rule looks at age, debt\.$"):
        rules[0].predict(made({"years": AGE, "debt": DEBT}))


def test_a_column_that_is_there_twice_is_refused(rules):
    twice = pd.DataFrame(np.zeros((2, 3)), columns=["age", "debt", "age"])
    with pytest.raises(ParameterError, match="more than one column 'age', and the rule looks at age, debt"):
        rules[0].predict(twice)


def test_features_without_names_are_taken_by_place(rules):
    rows = np.stack([AGE, DEBT], axis=1)
    assert (rules[0].predict(pd.DataFrame(rows)) == rules[0].predict(rows)).all(), "this frame names no column"
    domains = [integers(0, 99, missing=0), integers(0, 999, missing=0)]
    learner = PrivateLinearClassifier(Pure(20), domains, (False, True)).fit(rows, PEOPLE["ill"])
    frame = pd.DataFrame({"age": AGE, "debt": DEBT})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn says that the fit had no names
        assert (learner.predict(frame) == learner.predict(rows)).all()
    assert (learner.rule_.predict(frame) == learner.predict(rows)).all()
    turned = pd.DataFrame({"x1": DEBT, "x0": AGE})
    assert (learner.rule_.predict(turned) == learner.predict(rows)).all(), "these are the names in the rule"
    with pytest.raises(ParameterError, match="no column 'x0'"):
        learner.rule_.predict(pd.DataFrame({"x1": DEBT, "age": AGE}))
