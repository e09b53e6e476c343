"""A warning names the line that somebody wrote, and never one of the library, however deep it was found out."""

import inspect
import warnings

import pyarrow
import pytest

import sfumato as sf
from sfumato import Pure
from sfumato.errors import AccuracyWarning, warn
from sfumato.learn import PrivateThreshold

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
