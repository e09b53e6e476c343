"""scikit-learn's own checks for every learner, and the few that a private learner must not pass."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from sfumato import Noise, Pure
from tests.imputed import fixed

REASONS = {
    "check_classifiers_classes": "The two labels are an argument; labels read from y would tell who is in it.",
    "check_classifiers_one_label": "That y holds only one label is a fact about people, so nothing is done about it.",
    "check_classifiers_regression_target": "A label that is neither counts as the first one; raising would tell of it.",
    "check_classifier_not_supporting_multiclass": "A third label in y is repaired like any other odd cell.",
    "check_supervised_y_no_nan": "A missing label is repaired like any other odd cell.",
}
"""Checks that ask for an error, or for a choice, that depends on a private cell. `docs/learn.md` shows this table."""
OF_SEVERAL = {
    "check_classifiers_train": "Three labels that are named stay three columns where y holds two of them.",
    "check_decision_proba_consistency": "Three labels that are named stay three columns where y holds two of them.",
}
"""The same for a learner that was told three labels."""

CELLS = fixed(-100, 100, step=0.01)


def example(kind: type, **options: Any) -> Any:
    """Return a learner that scikit-learn's checks can clone and fit: any number of features, seeded noise."""
    labels = {} if "target" in options else {"classes": (0, 1)}
    return kind(spend=Pure(50), domains=CELLS, noise=Noise(insecure_seed=1), **{**labels, **options})


def every_check(*learners: Any) -> list[Any]:
    """Return (learner, check) for each of scikit-learn's checks; ids carry no address, so that workers agree on them."""
    found = []
    for learner in learners:
        for place, (estimator, check) in enumerate(estimator_checks_generator(learner)):
            name = check.func.__name__
            known = REASONS if len(getattr(learner, "classes", ())) <= 2 else {**REASONS, **OF_SEVERAL}
            marks = [pytest.mark.xfail(reason=known[name])] if name in known else []
            found.append(pytest.param(estimator, check, id=f"{type(learner).__name__}-{name}-{place}", marks=marks))
    return found
