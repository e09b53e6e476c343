"""Features that lie outside of what was declared, and coefficients in which noise has more say than people."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sfumato import Noise, Pure, Schema, curate
from sfumato.domain import FixedPoint
from sfumato.errors import AccuracyWarning, ParameterError
from sfumato.learn import PrivateLinearClassifier, PrivateLinearRegressor, rule_from_json
from tests.imputed import booleans, categories, fixed, integers

DRAW = Noise(insecure_seed=8)
AGES = DRAW.uniform(60, 6000) + 20
HOURS = DRAW.uniform(60, 6000)
X = np.stack([AGES, HOURS], axis=1)
OLD = np.where(AGES + HOURS > 80, "yes", "no")
AGE, HOUR = integers(18, 99, missing=18), integers(0, 80, missing=0)


def classifier(**options):
    return PrivateLinearClassifier(Pure(2), [AGE, HOUR], ("no", "yes"), noise=Noise(insecure_seed=1), **options)


@pytest.mark.filterwarnings("ignore:Column 0 of X is declared as floats")
def test_a_scaler_before_a_private_model_is_told_from_the_released_numbers():
    with pytest.warns(AccuracyWarning, match=r"range of 'x0' \(18 to 99, mean about .*StandardScaler"):
        piped = make_pipeline(StandardScaler(), classifier()).fit(X, OLD)
    model = piped[-1]
    assert not model.coef_known_[0]
    said = " ".join(model.rule_.quality())
    assert "Hand over what the domain declares, without a scaler" in said and "coefficients of x0" in said


@pytest.mark.filterwarnings("ignore:Column 0 of X is declared as floats")
def test_a_scaler_before_a_regression_is_told_too():
    model = PrivateLinearRegressor(Pure(2), [AGE, HOUR], integers(0, 200, missing=0), noise=Noise(insecure_seed=1))
    with pytest.warns(AccuracyWarning, match="declared range of 'x0'"):
        make_pipeline(StandardScaler(), model).fit(X, AGES + HOURS)


def test_features_in_their_ranges_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        model = classifier().fit(X, OLD)
    assert model.coef_known_.all() and not model.rule_.faint and model.auc_ > 0.9
    assert not any("declared range" in said or "coefficients" in said for said in model.rule_.quality())


def test_features_on_the_scale_that_was_declared_are_not_warned_of():
    scaled = fixed(-4, 4, step="0.01", missing=0)
    model = PrivateLinearClassifier(Pure(2), scaled, ("no", "yes"), noise=Noise(insecure_seed=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        assert model.fit(StandardScaler().fit_transform(X), OLD).auc_ > 0.9


WRITTEN = [[f"{age},5" for age in row] for row in X.tolist()]


@pytest.mark.filterwarnings("ignore:The released numbers", "ignore:Area under the curve")
@pytest.mark.parametrize(
    "rows", [np.array(WRITTEN), pd.DataFrame(WRITTEN, dtype="string"), pa.table(dict(zip("ab", zip(*WRITTEN, strict=True), strict=True)))],
    ids=["array", "frame", "arrow"],
)  # fmt: skip
def test_text_for_numbers_is_told_by_its_type(rows):
    with pytest.warns(AccuracyWarning, match=r"Column 0 of X is declared as text.*X.astype\(float\), or decimal=','"):
        classifier().fit(rows, OLD)


@pytest.mark.parametrize("make", [np.array, pd.DataFrame, lambda rows: pa.table({"a": rows[:, 0], "b": rows[:, 1]})])
def test_floats_for_whole_numbers_are_told_by_their_type(make):
    hint = r"X.astype\('Int64'\)" if make is pd.DataFrame else r"X.astype\(int\)"
    with pytest.warns(AccuracyWarning, match=f"Column 0 of X is declared as floats.*fixed.*{hint}") as told:
        classifier().fit(make(X.astype(float)), OLD)
    assert len(told) == 1, "one warning, whatever the number of columns"
    assert ("where no cell is missing" in str(told[0].message)) == (make is not pd.DataFrame)
    model = PrivateLinearRegressor(Pure(2), [AGE, HOUR], integers(0, 200, missing=0), noise=Noise(insecure_seed=1))
    with pytest.warns(AccuracyWarning, match=r"^y is declared as floats.*y\.astype\("):
        model.fit(make(X), (AGES + HOURS).astype(float))
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        classifier().fit(make(X), OLD)


def test_domains_by_name_are_told_to_be_a_list():
    model = PrivateLinearClassifier(Pure(2), {"age": AGE, "hours": HOUR}, ("no", "yes"))
    with pytest.raises(ParameterError, match="a list in the order of the columns of X, not a dict of names"):
        model.fit(X, OLD)


def test_an_array_with_a_column_of_fractions_says_nothing_of_the_others():
    model = PrivateLinearClassifier(
        Pure(2), [AGE, fixed(0, 80, step="0.5", missing=0)], ("no", "yes"), noise=Noise(insecure_seed=1)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        model.fit(X.astype(float), OLD)


@pytest.mark.filterwarnings("ignore:Area under the curve")
def test_text_in_a_list_is_told_by_the_released_numbers():
    with pytest.warns(AccuracyWarning, match="declared range of 'x0'.*decimal comma"):
        classifier().fit(WRITTEN, OLD)


def test_a_declared_decimal_comma_is_read():
    written = FixedPoint(0, 100, step="0.5", missing=0, decimal=",")
    model = PrivateLinearClassifier(Pure(2), written, ("no", "yes"), noise=Noise(insecure_seed=1))
    assert model.fit(WRITTEN, OLD).auc_ > 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        for text in (np.array(WRITTEN), pd.DataFrame(WRITTEN, dtype="string")):
            assert model.fit(text, OLD).auc_ > 0.9, "a domain that says how text is written is not warned of"


def test_text_for_categories_is_as_it_should_be():
    model = PrivateLinearClassifier(Pure(2), categories("old", "young"), ("no", "yes"), noise=Noise(insecure_seed=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        model.fit(np.where(AGES > 50, "old", "young")[:, None], OLD)


# Coefficients of rare categories

JOBS = tuple("abcdefgh")
COMMON = [JOBS[place] for place in DRAW.uniform(4, 6000)]


def of_jobs(jobs, epsilon=2, seed=1, labels=OLD):
    model = PrivateLinearClassifier(
        Pure(epsilon), [HOUR, categories(*JOBS)], ("no", "yes"), noise=Noise(insecure_seed=seed)
    )
    return model.fit([[hour, job] for hour, job in zip(HOURS.tolist(), jobs, strict=True)], labels)


def test_coefficients_of_rare_categories_are_marked():
    model = of_jobs(["h"] * 3 + COMMON[3:])
    known = dict(zip(model.coordinate_names_, model.coef_known_.tolist(), strict=True))
    assert known == {"x0": True, **{f"x1={job}": job in "abcd" for job in JOBS}}
    assert any("Not known are the coefficients of x1=e, x1=f, x1=g, x1=h:" in said for said in model.rule_.quality())
    assert rule_from_json(model.rule_.to_json()) == model.rule_


@pytest.mark.parametrize(("people", "known"), [(3, False), (600, True)])
def test_marked_coefficients_are_those_that_noise_decides(people, known):
    """Everybody of a category has the label: only where it is marked its coefficient may say the opposite."""
    jobs = ["h"] * people + COMMON[people:]
    labels = np.concatenate([["yes"] * people, OLD[people:]])
    models = [of_jobs(jobs, seed=seed, labels=labels) for seed in range(12)]
    assert {bool(model.coef_known_[-1]) for model in models} == {known}
    assert bool(min(model.coef_[0][-1] for model in models) > 0) is known


def test_a_printed_answer_marks_them_and_does_not_name_them_as_strongest():
    rows = pa.table({"hours": HOURS, "job": ["h"] * 3 + COMMON[3:], "never": [False] * 6000, "old": OLD})
    schema = Schema(
        {"hours": HOUR, "job": categories(*JOBS), "never": booleans(), "old": categories("no", "yes", other="no")}
    )
    with curate(rows, schema, Pure(2)) as curator:
        answer = curator.learn(PrivateLinearClassifier(Pure(2)), features=["hours", "job", "never"], target="old")
    said = str(answer)
    assert "Not known are the coefficients of job=e, job=f, job=g, job=h, never" in said.replace("\n", " ")
    assert "a score of hours" in str(answer.value)


def test_where_all_is_noise_no_coefficient_is_known():
    with pytest.warns(AccuracyWarning):
        assert not of_jobs(COMMON, "0.01").coef_known_.any()
