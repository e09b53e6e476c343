"""Learning from a table: reserved first, drawn once, stored, and then put into the learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.answer import Answer
from sfumato.errors import ParameterError
from sfumato.learn.estimator import PrivateModel
from sfumato.learn.question import Learn

if TYPE_CHECKING:
    from sfumato.curator.curator import Curator


def learned(
    curator: Curator,
    learner: PrivateModel,
    features: str | Sequence[str],
    target: str,
    *,
    missing: Mapping[str, Any] | None,
    analyst: str | None,
) -> Answer:
    """Fit the learner by the rule that the ledger holds for this question, and return the answer."""
    if not isinstance(learner, PrivateModel):
        raise ParameterError(
            "learn takes a learner of sfumato.learn; write learn(PrivateThreshold(spend=Pure(1)), ...)."
        )
    if learner.spend is None:
        raise ParameterError(f"A fit costs something; write {type(learner).__name__}(spend=Pure(1)).")
    if learner.domains is not None or learner.noise is not None:
        raise ParameterError(
            "The schema says what each column may hold, and the curator draws the noise; leave domains= and noise= out."
        )
    question = Learn.of(learner, features, target, missing)
    answer = curator.ask(question, learner.spend, analyst=analyst)
    facts = question.facts(curator.schema, curator.basis.gauge(question.measure).charged)
    learner.keep(facts, answer.loss, answer.value)
    learner.feature_names_in_ = np.array(question.features, dtype=object)
    return answer
