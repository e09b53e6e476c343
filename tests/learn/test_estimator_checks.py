"""Every learner has the shape of a scikit-learn classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sfumato.learn import (
    ExponentialLearner,
    PrivateBox,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivatePoint,
    PrivateThreshold,
)
from tests.learn.estimator_checks import CELLS, OF_SEVERAL, REASONS, every_check, example

ROOT = Path(__file__).resolve().parents[2]
LEARNERS = [
    example(PrivateBox),
    example(PrivateLinearClassifier),
    example(PrivateLinearClassifier, classes=(0, 1, 2)),
    example(PrivateLinearRegressor, target=CELLS),
    example(PrivatePoint),
    example(PrivateThreshold, feature=0),
    example(ExponentialLearner, concepts=["x0 >= 0", "x0 < 0"]),
]


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning", "ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("estimator", "check"), every_check(*LEARNERS))
def test_scikit_learn_accepts(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_guide_shows_which_checks_fail_and_why() -> None:
    page = (ROOT / "docs" / "learn.md").read_text(encoding="utf-8")
    for name, reason in {**REASONS, **OF_SEVERAL}.items():
        assert f"| `{name}` | {reason} |" in page
