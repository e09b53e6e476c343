"""A warning names the line that somebody wrote, and never one of the library, however deep it was found out."""

import inspect
import warnings
from fractions import Fraction

import numpy as np
import pyarrow
import pytest

import sfumato as sf
from sfumato import Approximate, Pure, fair
from sfumato.errors import AccuracyWarning, ParameterError, warn
from sfumato.learn import PrivateThreshold
from sfumato.papers import private_learning

DAYS = pyarrow.table({"day": ["2020-01-01"] * 20})


def _line(told: list[warnings.WarningMessage]) -> int:
    assert told and all(one.filename == __file__ for one in told)
    return told[0].lineno


def _histogram() -> int:
    curator = sf.curate(DAYS, sf.Schema({"day": sf.dates("2000-01-01", "2030-01-01")}), Pure(3))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        here = inspect.currentframe().f_lineno + 1
        curator.histogram("day", epsilon=1)
    return _line(told) - here


def _learner() -> int:
    learner = PrivateThreshold(spend=Pure(1), domains=sf.integers(0, 120, missing=0), classes=("no", "yes"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        here = inspect.currentframe().f_lineno + 1
        learner.fit([[40], [70]], ["no", "yes"])
    return _line(told) - here


def _plan() -> int:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        here = inspect.currentframe().f_lineno + 1
        sf.local.plan(users=20_000, spend=Pure(1), items=sf.text(max_bytes=4), wanted="0.001")
    return _line(told) - here


@pytest.mark.parametrize("asked", [_histogram, _learner, _plan])
def test_the_line_is_the_callers(asked) -> None:
    assert asked() == 0


def test_a_warning_of_another_kind_keeps_its_kind() -> None:
    with pytest.warns(UserWarning, match="spoken") as told:
        warn("spoken", UserWarning)
    assert told[0].category is UserWarning and told[0].filename == __file__
    with pytest.warns(AccuracyWarning, match="private, and poor"):
        warn("private, and poor")


def test_a_search_of_a_fair_classifier_warns_of_the_same_thing_once() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV

    ages = [float("nan") if row % 50 == 0 else float(20 + row % 60) for row in range(200)]
    alike = fair.FairClassifier(LogisticRegression(), {0: 0.02})
    search = GridSearchCV(alike, {"kappa": [0.5, 1.0]}, cv=3)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        search.fit([[age] for age in ages], [int(row % 60 > 30) for row in range(200)])
    assert sum("X has missing numbers" in str(one.message) for one in told) == 1, "seven fits and six scores"
    with pytest.warns(fair.FairnessWarning, match="X has missing numbers"):
        alike.fit([[age] for age in ages], [int(row % 60 > 30) for row in range(200)])


def test_a_mechanism_says_what_it_runs_on() -> None:
    """A column handed to a printed mechanism ended in a TypeError about arguments that nobody had written."""
    printed = private_learning.san_thresholds(Approximate(1, 1e-6), 0, 2**16 - 1, people=10**7, accuracy=0.5)
    for exact in ([1, 2, 3], (1, 2, 3), 7, {1: 2}):
        with pytest.raises(ParameterError, match=r"the codes that occur, sorted.*numpy\.unique\(column, return_counts"):
            printed(exact)
    assert printed(np.unique([7, 7, 9], return_counts=True))
    points = private_learning.SanPoints(rounds=1, choice=None, scale=Fraction(1))
    with pytest.raises(ParameterError, match="list is none of their kind: its input is a mapping from keys to counts"):
        points([1, 2])
