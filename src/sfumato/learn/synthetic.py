"""Any model of scikit-learn, fitted to rows that a released synthetic model makes up: free once that is paid for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.domain import Booleans, Categories, Dates, Domain, Text, Times
from sfumato.errors import ParameterError
from sfumato.model import Model
from sfumato.noise import Noise
from sfumato.words import one_of

MOST_ROWS = 100_000
"""So many rows at most are made up unless somebody asks for more: more of them teach a model little."""


def fit_synthetic(
    estimator: Any,
    model: Model,
    target: str,
    features: Sequence[str] | None = None,
    *,
    rows: int | None = None,
    noise: Noise | None = None,
) -> Any:
    """Return a Pipeline that prepares columns and holds the estimator, fitted to made-up rows of a released model.

    Categories and truth values become one column each (unknown ones none), numbers are put on one scale, and missing
    ones are taken as the median; rows whose target is missing are left out. The Pipeline takes a data frame with the
    columns by name. The estimator itself is not changed: a clone of it is fitted.

    Promise: nothing but the model is read, so it costs nothing beyond the model (PDP:C-11).
    Time: that of drawing `rows` rows, by default as many as there are people and 100,000 at most, and of the fit.
    """
    if not isinstance(model, Model):
        raise ParameterError(
            "fit_synthetic takes a released model; write fit_synthetic(estimator, answer.value, 'ill')."
        )
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise ParameterError("fit_synthetic takes a model of scikit-learn; write LogisticRegression(), for example.")
    names = model.space.names
    one_of("target", target, names)
    chosen = [name for name in names if name != target] if features is None else list(features)
    for name in chosen:
        one_of("features", name, names)
    if not chosen or target in chosen or len(set(chosen)) != len(chosen):
        raise ParameterError("features are columns of the model, each once, and target is none of them.")
    from sklearn.base import clone
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline, make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    domains = dict(zip(names, model.space.domains, strict=True))
    for name in (*chosen, target):
        if isinstance(domains[name], (Dates, Times)):
            raise ParameterError(f"{name!r} holds dates; derive years or bins in the schema, and synthesize those.")
    listed = [name for name in chosen if _is_listed(domains[name])]
    numbers = [name for name in chosen if name not in listed]
    columns = ColumnTransformer(
        [
            ("categories", OneHotEncoder(handle_unknown="ignore", sparse_output=False), listed),
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        ]
    )
    count = min(MOST_ROWS, max(1, round(model.total))) if rows is None else rows
    made = model.sample(count, noise).to_pandas().dropna(subset=[target])
    made[target] = _as_if_none_were_missing(made[target], domains[target])
    return Pipeline([("columns", columns), ("model", clone(estimator))]).fit(made[chosen], made[target])


def _as_if_none_were_missing(labels: Any, domain: Domain) -> Any:
    """Return a target with the type that it has where no made-up cell is missing: pandas widens it where some are."""
    if isinstance(domain, Booleans):
        return labels.astype(bool)
    return labels.astype(int) if labels.dtype == float and (labels % 1 == 0).all() else labels


def _is_listed(domain: Domain) -> bool:
    return isinstance(domain, (Booleans, Categories, Text))
