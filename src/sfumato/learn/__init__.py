"""Rules learned privately, in the shape of scikit-learn: `fit`, `predict`, and what the fit cost.

Domains and classes are arguments, never read from people's rows. An estimator holds no ledger: on arrays `fit` sets
`loss_`, and `curator.learn(estimator, features=, target=)` reserves first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.moved import later

if TYPE_CHECKING:
    from sfumato.learn.concepts import ConditionRule, ExponentialLearner
    from sfumato.learn.linear import PrivateLinearClassifier, PrivateLinearRegressor
    from sfumato.learn.point import PrivatePoint
    from sfumato.learn.question import Learn
    from sfumato.learn.rules import Learned, Rule, rule_from_json
    from sfumato.learn.synthetic import fit_synthetic
    from sfumato.learn.threshold import PrivateThreshold

HOMES = {
    "Boxes": "sfumato.papers.private_learning.families",
    "ConditionRule": "sfumato.learn.concepts",
    "ExponentialLearner": "sfumato.learn.concepts",
    "FittedRule": "sfumato.papers.private_learning.fitted",
    "IntervalRule": "sfumato.papers.private_learning.interval",
    "LabelPrivate": "sfumato.papers.private_learning.label",
    "Learn": "sfumato.learn.question",
    "Learned": "sfumato.learn.rules",
    "PrivateBox": "sfumato.papers.private_learning.box",
    "PrivateLinearClassifier": "sfumato.learn.linear",
    "PrivateLinearRegressor": "sfumato.learn.linear",
    "PrivatePoint": "sfumato.learn.point",
    "PrivateThreshold": "sfumato.learn.threshold",
    "RobustHalfspace": "sfumato.papers.partial_dp.robust",
    "Rule": "sfumato.learn.rules",
    "SanitizeThenLearn": "sfumato.papers.private_learning.sanitize",
    "SemiPrivate": "sfumato.papers.private_learning.semi",
    "fit_synthetic": "sfumato.learn.synthetic",
    "rule_from_json": "sfumato.learn.rules",
}
"""Where each name lives; scikit-learn is slow to import, so a module is loaded when its name is first used."""

_PARTS = {"Boxes", "ConditionRule", "FittedRule", "IntervalRule", "Learn", "Learned", "Rule", "fit_synthetic",
          "rule_from_json"}  # fmt: skip
LEARNERS = tuple(name for name in HOMES if name not in _PARTS)
"""The names that can be fitted."""


__getattr__, __dir__ = later(
    __name__,
    HOMES,
    {"halfspace_classes": "sfumato.papers.partial_dp.halfspace_classes"},
    {"sklearn": "Learners need scikit-learn; run pip install 'sfumato[learn]'."},
)


__all__ = [
    "Boxes",
    "ConditionRule",
    "ExponentialLearner",
    "FittedRule",
    "IntervalRule",
    "LabelPrivate",
    "Learn",
    "Learned",
    "PrivateBox",
    "PrivateLinearClassifier",
    "PrivateLinearRegressor",
    "PrivatePoint",
    "PrivateThreshold",
    "RobustHalfspace",
    "Rule",
    "SanitizeThenLearn",
    "SemiPrivate",
    "fit_synthetic",
    "rule_from_json",
]
