"""Any model of scikit-learn on made-up rows: by column name, several labels, free, and clear refusals."""

from __future__ import annotations

import pickle

import numpy as np
import pandas
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from sfumato import Noise, Schema, domain
from sfumato.errors import ParameterError
from sfumato.learn import fit_synthetic
from sfumato.model import Component, Factored
from sfumato.workload.space import Space
from tests.imputed import categories, integers

SCHEMA = Schema(
    {"age": integers(0, 9), "ward": categories("n", "s"), "pain": categories("none", "some", "much")},
)
PEOPLE = pandas.DataFrame({"ward": ["n", "s", "unheard of"], "age": [0, 9, 5]})


def model() -> Factored:
    """Return a model in which pain is none below age 5, else some in ward n and much in ward s."""
    weights = np.full((10, 2, 3), -9.0)
    weights[:5, :, 0] = weights[5:, 0, 1] = weights[5:, 1, 2] = 0.0
    return Factored(Space.of(SCHEMA, ("age", "ward", "pain")), 3000.0, (Component(("age", "ward", "pain"), weights),))


def test_several_labels_by_column_name_in_any_order_and_unknown_categories() -> None:
    plain = LogisticRegression(max_iter=1000)
    fitted = fit_synthetic(plain, model(), "pain", noise=Noise(insecure_seed=1))
    assert not hasattr(plain, "classes_"), "the caller's estimator stays as it was"
    assert fitted.predict(PEOPLE)[:2].tolist() == ["none", "much"]
    assert fitted.predict_proba(PEOPLE).shape == (3, 3)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict_proba(PEOPLE) == fitted.predict_proba(PEOPLE)).all()


def test_a_regression_of_some_features() -> None:
    fitted = fit_synthetic(LinearRegression(), model(), "age", ["pain"], rows=500, noise=Noise(insecure_seed=1))
    young, old = fitted.predict(pandas.DataFrame({"pain": ["none", "much"]}))
    assert young < 3 and old > 6
    assert list(fitted.feature_names_in_) == ["pain"]


def test_missing_cells_and_dates() -> None:
    """Missing numbers are medians, missing targets no rows, whole labels stay whole; dates are refused in words."""
    columns = {
        "age": domain.integers(0, 9),
        "pain": domain.integers(0, 2),
        "born": domain.dates("2000-01-01", "2000-01-02"),
    }
    space = Space.of(Schema(columns), ("age", "pain"))
    even = Factored(space, 900.0, (Component(("age", "pain"), np.zeros(space.sizes)),))
    fitted = fit_synthetic(LogisticRegression(), even, "pain", noise=Noise(insecure_seed=1))
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(fitted.predict_proba(pandas.DataFrame({"age": [3.0, None]}))).all()
    space = Space.of(Schema(columns), ("born", "pain"))
    dated = Factored(space, 900.0, (Component(("born", "pain"), np.zeros(space.sizes)),))
    with pytest.raises(ParameterError, match="derive years or bins"):
        fit_synthetic(LogisticRegression(), dated, "pain")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((LogisticRegression(), "rows", "pain"), "released model"),
        ((3, model(), "pain"), "model of scikit-learn"),
        ((LogisticRegression(), model(), "pane"), "target is one of age, ward, pain"),
        ((LogisticRegression(), model(), "pain", ["years"]), "features is one of"),
        ((LogisticRegression(), model(), "pain", ["pain"]), "target is none of them"),
        ((LogisticRegression(), model(), "pain", ["age", "age"]), "each once"),
        ((LogisticRegression(), model(), "pain", []), "each once"),
    ],
)
def test_what_does_not_fit_is_said(given, said) -> None:
    with pytest.raises(ParameterError, match=said):
        fit_synthetic(*given)


@pytest.mark.parametrize("label", [domain.booleans(), domain.categories("no", "yes")])
def test_made_up_rows_without_a_label_are_left_out(label) -> None:
    space = Space.of(Schema({"age": domain.integers(0, 9), "ill": label}), ("age", "ill"))
    even = Factored(space, 900.0, (Component(("age", "ill"), np.zeros(space.sizes)),))
    assert even.sample(900, Noise(insecure_seed=1)).column("ill").null_count > 0
    fitted = fit_synthetic(LogisticRegression(), even, "ill", noise=Noise(insecure_seed=1))
    assert fitted.classes_.tolist() == sorted(label.decode(code) for code in label.present)
