"""What a user gets wrong, one test a line: a typed error or warning that says what to write instead."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from sfumato import fair
from sfumato.errors import ParameterError, SchemaError, SfumatoError
from tests.fair.support import metric_of, normal

LINE = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0))) / 4


def changed(row: int, column: int, value: float, both: bool = True) -> np.ndarray:
    matrix = LINE.copy()
    matrix[row, column] = value
    if both:
        matrix[column, row] = value
    return matrix


def table(people: int = 40) -> pd.DataFrame:
    return pd.DataFrame({"skill": normal(1, people, 1)[:, 0], "sex": ["f", "m"] * (people // 2)})


def test_an_asymmetric_metric():
    with pytest.raises(ParameterError, match=r"symmetric|same both ways"):
        fair.Metric.from_matrix(changed(0, 1, 0.5, both=False))


def test_a_negative_metric():
    with pytest.raises(ParameterError, match="negative"):
        fair.Metric.from_matrix(changed(0, 1, -0.1))


def test_not_a_number_in_a_metric():
    with pytest.raises(ParameterError, match="NaN"):
        fair.Metric.from_matrix(changed(0, 1, np.nan))


def test_not_a_number_in_features():
    with pytest.raises(ParameterError, match="fill"):
        fair.Metric.from_features({"skill": [1.0, np.nan]}, {"skill": 1.0})


def test_a_broken_triangle_names_its_corners():
    with pytest.raises(ParameterError, match=r"person 0 and person 3 .* by way of person \d.*repair=True"):
        fair.Metric.from_matrix(changed(0, 3, 5.0))
    assert fair.Metric.from_matrix(changed(0, 3, 5.0), repair=True).validate().ok


def test_a_weight_that_is_no_number():
    with pytest.raises(ParameterError, match=r"number such as 0\.1"):
        fair.Metric.from_features({"skill": [1.0, 2.0]}, {"skill": "much"})


@pytest.mark.parametrize(
    "action", [fair.bias_bound, lambda m, s, t: fair.affirmative_mapping(m, np.zeros((4, 2)), s, t)]
)
def test_groups_of_size_zero(action):
    with pytest.raises(ParameterError, match="empty"):
        action(fair.Metric.from_matrix(LINE), [], [0, 1])


def test_a_group_that_nobody_is_in():
    with pytest.raises(ParameterError, match="at least 2 people"):
        fair.audit(np.full(40, 0.5) + 0.01, table(), "sex", group="x")


def test_probabilities_that_do_not_sum_to_one():
    with pytest.raises(ParameterError, match=r"off by 0\.4; divide each row by its sum"):
        fair.certify(metric_of(1, 5), np.full((5, 2), 0.7))


def test_capacity_that_cannot_hold_everybody():
    with pytest.raises(ParameterError, match=r"fall short of 1 by 0\.3"):
        fair.fair_mapping(metric_of(1, 5), np.zeros((5, 2)), capacity=[0.4, 0.3])


def test_parity_with_an_impossible_gap():
    with pytest.raises(ParameterError, match="between 0 and 1"):
        fair.fair_mapping(metric_of(1, 5), np.zeros((5, 2)), parity=fair.Parity([0, 1], [2, 3], -0.1))


def test_a_protected_column_that_is_missing():
    with pytest.raises(SchemaError, match="protected column 'gender' is not in the table"):
        fair.audit(np.full(40, 0.51), table(), "gender")


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("fair.audit(people.ok, 'nope.csv', 'sex', favourable='yes')", "pandas.read_csv('people.csv')"),
        ("fair.audit(people.ok, Path('nope.csv'), 'sex', favourable='yes')", "fair.audit_file('people.csv', 'sex'"),
        ("fair.audit(people.ok, None, 'sex', favourable='yes')", "pandas.read_csv"),
        ("fair.audit('nope.csv', people, 'sex', favourable='yes')", "fair.audit_file('people.csv', 'sex'"),
        ("fair.audit('ok', people, 'sex', favourable='yes')", "people['ok']"),
        ("fair.audit(people, people, 'sex', favourable='yes')", "people['approved']"),
        ("fair.audit(None, people, 'sex', favourable='yes')", "people['approved']"),
        ("fair.audit(people.ok, people, None, favourable='yes')", "protected='sex'"),
        ("fair.audit(people.ok, people, 'sexx', favourable='yes')", "'sex'"),
        ("fair.audit(people.ok, people, 'sex', favourable='yes', metric='similar.toml')", "fair.Metric.from_toml("),
        ("fair.audit(people.ok, people, 'sex', favourable='yes', metric={'agee': 0.1})", "'age'"),
        ("fair.audit(reader, people[['sex', 'ok']], 'sex')", "no column 'age'"),
        ("fair.Metric.from_toml('nope.toml', people)", "There is no file 'nope.toml'"),
        ("fair.audit_file(people, 'sex')", "people['approved']"),
        ("fair.audit_file(file, 'sexx', decision='ok')", "did you mean 'sex'"),
        ("fair.audit_file(file, ['sex'], decision='ok')", "protected='sex'"),
        ("fair.audit_file(file, 'sex', decision='ok', favourable='yes', metric='nope.toml')", "There is no file"),
    ],
)
def test_what_is_no_table_and_no_decision_is_said_in_a_sentence(typed, word, tmp_path):
    people = pd.DataFrame({"age": range(40), "sex": ["f", "m"] * 20, "ok": ["yes", "no", "no", "yes"] * 10})
    people.to_csv(tmp_path / "people.csv", index=False)
    reader = LogisticRegression().fit(people[["age"]], people["ok"])
    names = {"people": people, "fair": fair, "Path": Path, "file": tmp_path / "people.csv", "reader": reader}
    with pytest.raises(SfumatoError) as refused:
        eval(typed, names)
    assert word in str(refused.value) and "\n" not in str(refused.value), str(refused.value)


def test_an_audit_takes_weights_for_its_metric():
    weights = {"skill": 0.3}
    given = fair.audit(np.full(40, 0.51), table(), "sex", metric=weights)
    made = fair.audit(np.full(40, 0.51), table(), "sex", metric=fair.Metric.from_features(table(), weights))
    assert given.to_json() == made.to_json()


def test_a_metric_that_uses_the_protected_column_is_warned_about_and_explained():
    metric = fair.Metric.from_features(table(), {"skill": 0.3, "sex": 0.5})
    with pytest.warns(fair.FairnessWarning, match="passes as fair. Leave the column out"):
        fair.audit(np.full(40, 0.51), table(), "sex", metric=metric)


def test_a_solver_out_of_time_returns_the_best_certified_mapping_and_its_gap():
    with pytest.warns(fair.FairnessWarning, match="above the optimum"):
        found = fair.fair_mapping(metric_of(3, 120, 4), normal(4, 120, 8), time_limit=0.01)
    assert found.certificate.ok and found.gap > 0 and np.isfinite(found.gap)


def test_a_qualification_in_words():
    with pytest.raises(ParameterError, match="Say which label is the good one"):
        fair.audit(np.full(40, 0.51), table(), "sex", label="sex")
