"""The best of a public list of rules: the exponential mechanism as a learner."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.learn.cells import Codes, rounded_up
from sfumato.learn.estimator import PrivateLearner, learner
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.learn.rules import Rule, about, rule_from_json
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.privacy import Bound, Loss
from sfumato.select import Exponential, exponential
from sfumato.table.predicate import All, Predicate, Texts
from sfumato.table.predicate import Codes as CodeSet
from sfumato.table.schema import Schema
from sfumato.table.where import read_where


@dataclass(frozen=True, kw_only=True)
class ConditionRule(Rule):
    """Holds where a condition on the features does, written as in SQL.

    >>> from sfumato.domain import categories, integers
    >>> rule = ConditionRule(
    ...     features=("age",),
    ...     domains=(integers(0, 99, missing=0),),
    ...     labels=categories("no", "yes", missing="no"),
    ...     condition="age between 30 and 59",
    ... )
    >>> rule.predict([[29], [30], ["many"]]).tolist()
    ['no', 'yes', 'no']
    """

    kind: ClassVar[str] = "condition"
    condition: str

    def __post_init__(self) -> None:
        if not isinstance(self.condition, str):
            raise ParameterError(f"A condition is text, and {self.condition!r} is none; write for example 'age >= 40'.")
        self.predicate  # noqa: B018  reading it refuses what the features cannot say

    @cached_property
    def predicate(self) -> Predicate:
        """The condition as sets of codes."""
        return read_where(self.condition, Schema(dict(zip(self.features, self.domains, strict=True))))

    def holds(self, codes: Codes) -> NDArray[np.bool_]:
        """Evaluate the condition on whole columns."""
        return self._where(self.predicate, codes)

    def _where(self, predicate: Predicate, codes: Codes) -> NDArray[np.bool_]:
        if isinstance(predicate, CodeSet):
            column = codes[:, self.features.index(predicate.column)]
            inside = np.zeros(len(codes), dtype=bool)
            for low, high in predicate.intervals:
                inside |= np.asarray((column >= low) & (column <= high), dtype=bool)
            return inside
        if isinstance(predicate, Texts):
            place = self.features.index(predicate.column)
            listed = {self.domains[place].code(value) for value in predicate.values}
            found = np.fromiter((code in listed for code in codes[:, place].tolist()), dtype=bool, count=len(codes))
            return found if predicate.included else ~found
        every = isinstance(predicate, All)
        result = np.full(len(codes), every)
        for part in predicate.parts:
            result = result & self._where(part, codes) if every else result | self._where(part, codes)
        return result

    def says(self) -> str:
        """Return the condition as it was written."""
        return self.condition


@dataclass(frozen=True, kw_only=True)
class ConceptChoice(Mechanism):
    """Choose the rule of a public list that agrees with most labels.

    One replaced person moves each of these numbers by at most one. Promise: that of `choice` (PL-EM-LEARN). Value: the
    place of the rule in the list. Time: rules times distinct rows.
    """

    spec: ClassVar[str] = "PL-EM-LEARN"

    choice: Exponential
    concepts: tuple[Rule, ...]

    def loss(self) -> Loss:
        """Return the loss of the choice."""
        return self.choice.loss()

    def run(self, exact: Sample, noise: Noise) -> int:
        """Count what each rule gets right, and choose."""
        right = [int(exact.counts[rule.holds(exact.codes) == (exact.labels == 1)].sum()) for rule in self.concepts]
        return int(self.choice.run(np.array(right, dtype=np.int64), noise))


@dataclass(eq=False, repr=False)
class OfConcepts:
    """What comes first of a learner of a class of rules; it stands after `PrivateLearner` among the bases."""

    concepts: Any = "cuts"


@learner
class ExponentialLearner(PrivateLearner, OfConcepts):
    """Learn the best of finitely many rules that you write down: conditions as in SQL, or rules of another learner.

    It makes no assumption on the labels: the rule is nearly the best of the list, at any kind of spend. It pays for the
    logarithm of the length of the list. The list must not come from the same people.

    Spec: PL-EM-LEARN. Time: rules times people.

    >>> from sfumato import Noise, Pure, categories, integers
    >>> learner = ExponentialLearner(
    ...     [f"x0 >= {age} and x1 = 'yes'" for age in range(20, 70, 5)],
    ...     spend=Pure(1),
    ...     domains=[integers(0, 99, missing=0), categories("no", "yes", missing="no")],
    ...     classes=("low", "high"),
    ...     noise=Noise(insecure_seed=1),
    ... )
    >>> people = [[age, answer] for age in range(20, 70) for answer in ("no", "yes")] * 20
    >>> risk = ["high" if age >= 45 and answer == "yes" else "low" for age, answer in people]
    >>> print(learner.fit(people, risk).rule_)
    'high' if x0 >= 45 and x1 = 'yes', otherwise 'low'
    """

    json_parameters: ClassVar[tuple[str, ...]] = ("accuracy", "failure", "concepts")
    concepts: Sequence[str | Rule] | None = None

    def _plan(self, facts: LearningFacts, people: int, spend: Bound) -> Mechanism:
        return ConceptChoice(
            choice=exponential(spend, reads=facts.reads), concepts=self._listed(facts), reads=facts.reads
        )

    def _listed(self, facts: LearningFacts) -> tuple[Rule, ...]:
        if self.concepts is None or isinstance(self.concepts, (str, Rule)) or not len(self.concepts):
            raise ParameterError(
                "The rules to choose from are public and are written down; write concepts=['x0 >= 3']."
            )
        return tuple(concept_rule(concept, facts) for concept in self.concepts)

    def _rule(self, facts: LearningFacts, value: Any) -> Rule:
        return self._listed(facts)[int(value)]

    def _needed(self, facts: LearningFacts, spend: Bound, accuracy: float, failure: float) -> int:
        many = len(self._listed(facts))
        lost = exponential(spend).error(1 - failure / 2, many)
        return rounded_up(max(2 / accuracy * lost, 8 / accuracy * math.log(2 * many / failure)))

    def options(self) -> dict[str, Any]:
        """Return the parameters as JSON; a rule becomes text."""
        listed = [json.dumps(rule.to_json()) if isinstance(rule, Rule) else rule for rule in self.concepts or ()]
        return {**super().options(), "concepts": listed}

    @classmethod
    def read_options(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Read what `options` wrote."""
        values = super().read_options(options)
        listed = [rule_from_json(json.loads(one)) if str(one)[:1] == "{" else one for one in values.get("concepts", ())]
        return {**values, "concepts": listed}


def concept_rule(concept: Any, facts: LearningFacts) -> Rule:
    """Return the rule that a condition or a rule of a list means for these features."""
    if isinstance(concept, str):
        return ConditionRule(**about(facts), condition=concept)
    if not isinstance(concept, Rule):
        raise ParameterError(
            f"{type(concept).__name__} is no rule; write a condition such as 'x0 >= 3', or a rule of another learner: "
            "a function of a row could not be stored, and might raise on a private cell."
        )
    if concept.domains != facts.domains:
        raise ParameterError(
            "A rule of the list was made for other domains; make it for the domains of these features."
        )
    found: Rule = replace(concept, **about(facts))
    return found
