"""Learning from private people with a public pool of features beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.errors import ParameterError
from sfumato.exact import Number, positive_integer
from sfumato.learn.cells import Codes, encoded, feature_columns, named_columns, rounded_up
from sfumato.learn.concepts import OfConcepts
from sfumato.learn.estimator import PrivateLearner, learner
from sfumato.learn.facts import LearningFacts, Sample, joined
from sfumato.learn.rules import Rule
from sfumato.mechanism import Event, Mechanism
from sfumato.papers.private_learning.families import Family
from sfumato.papers.private_learning.fitted import Recipe
from sfumato.papers.private_learning.label import LabelChoice
from sfumato.papers.private_learning.labellings import concepts_from_json, concepts_to_json, family_from
from sfumato.privacy import Bound
from sfumato.select import exponential

LISTING = 12
"""On how many rows of the pool a classifier is fitted in all ways, unless said otherwise."""


@dataclass(frozen=True, kw_only=True)
class PoolChoice(LabelChoice):
    """Choose the rule that agrees with most labels, one rule for each way in which a class labels a public pool.

    Neighbours are tables in which one person is replaced, features and label. One person moves the number of labels
    that a rule gets right by one; the list comes from the pool alone. Promise: that of `choice` (PL-SEMI).
    """

    spec: ClassVar[str] = "PL-SEMI"

    pool: tuple[tuple[int, ...], ...] = field(kw_only=True)

    def points(self, exact: Sample) -> Codes:
        """Return the public pool."""
        kind = exact.codes.dtype if len(exact.codes) else np.int64
        return np.array(self.pool, dtype=kind)

    def event(self) -> Event:
        """Return the choice, the class of rules and the pool as JSON."""
        event = super().event()
        return Event(event.name, event.spec, {**event.parameters, "pool": [list(row) for row in self.pool]})


def _listed(pool: Any) -> list[list[Any]]:
    """Return a pool as a list of rows."""
    rows = [] if pool is None else zip(*feature_columns(pool), strict=True)
    return [[cell.item() if isinstance(cell, np.generic) else cell for cell in row] for row in rows]


@dataclass(eq=False, repr=False)
class OfPool(OfConcepts):
    """What comes first of a learner that has a public pool."""

    pool: Any = None


@learner
class SemiPrivate(PrivateLearner, OfPool):
    """Learn from private people with a public pool of people whose features, but not labels, are known.

    The pool says which rules are worth telling apart; the private people, features and labels, choose among them. The
    price grows with the logarithm of the number of ways in which the class labels the pool, so a huge domain costs
    nothing. `concepts` is a class as for `LabelPrivate`; a classifier of scikit-learn is fitted on all labellings of
    `listing` rows of the pool that it can reproduce (12 unless said otherwise).

    The columns of a pool that is a frame are found by the names of the features, those of arrays and lists by place.
    The pool must be truly public: rows of other people. A part of the private table used as a pool voids the promise.

    Spec: PL-SEMI. Time: a sort of the people for each feature ("cuts").

    >>> from sfumato import Noise, Pure, integers
    >>> ages = [[age] for age in range(18, 90)] * 10
    >>> ill = [age >= 65 for (age,) in ages]
    >>> pool = [[age] for age in range(20, 90, 5)]
    >>> known = integers(0, 120, missing=0)
    >>> learner = SemiPrivate(
    ...     "cuts", pool, Pure(1), known, (False, True), noise=Noise(insecure_seed=1), accuracy=0.5
    ... )
    >>> print(learner.fit(ages, ill).rule_)
    True if x0 >= 65, otherwise False
    """

    json_parameters: ClassVar[tuple[str, ...]] = ("accuracy", "failure", "concepts", "pool", "listing")
    forms: ClassVar[Mapping[str, Any]] = {
        "concepts": (concepts_to_json, concepts_from_json),
        "pool": (_listed, list),
    }

    _: KW_ONLY
    listing: int = LISTING

    def _plan(self, facts: LearningFacts, people: int, spend: Bound) -> Mechanism:
        return PoolChoice(
            choice=exponential(spend, reads=facts.reads),
            family=self._family(),
            facts=facts,
            pool=self._pool(facts),
            reads=facts.reads,
        )

    def _family(self) -> Family:
        family = family_from(self.concepts, positive_integer(self.listing, "listing"))
        assert not isinstance(family, Recipe)
        return family

    def _pool(self, facts: LearningFacts) -> tuple[tuple[int, ...], ...]:
        if self.pool is None:
            raise ParameterError(
                "The pool is public rows of features, of other people than those in X; write pool=[[20], [30], [40]]."
            )
        columns = named_columns(self.pool, facts.features, "The pool")
        if len(columns) != len(facts.features) or not len(columns[0]):
            raise ParameterError(
                f"The pool has {len(columns)} features and X has {len(facts.features)}; rows of the pool have the "
                "features of X, and there is at least one row."
            )
        codes = [encoded(column, domain) for column, domain in zip(columns, facts.domains, strict=True)]
        return tuple(sorted({tuple(map(int, row)) for row in joined(codes, facts.domains).tolist()}))

    def for_features(self, features: Sequence[str]) -> Self:
        """Return the learner with the pool's columns in the order of the features, since a ledger keeps no names."""
        if self.pool is None:
            return self
        rows = list(zip(*named_columns(self.pool, features, "The pool"), strict=True))
        return type(self)(**{**self.get_params(deep=False), "pool": rows})

    def _rule(self, facts: LearningFacts, value: Any) -> Rule:
        return self._family().rule(facts, value)

    def _needed(self, facts: LearningFacts, spend: Bound, accuracy: float, failure: float) -> int:
        family, features = self._family(), len(facts.features)
        ways = family.log_count(pool_needed(family, features, accuracy, failure), features)
        return rounded_up(people_needed(ways, float(2 * exponential(spend).rate), accuracy, failure))

    def pool_needed(self, accuracy: Number | None = None, failure: Number | None = None) -> int:
        """Return how large a pool is enough for an accuracy, together with `needed()` private people."""
        wanted = float(self.accuracy if accuracy is None else accuracy)
        missed = float(self.failure if failure is None else failure)
        return pool_needed(self._family(), len(self.facts().features), wanted, missed)


def pool_needed(family: Family, features: int, accuracy: float, failure: float) -> int:
    """Return how large a pool makes a rule that labels it as the truth does err by at most accuracy/8 elsewhere.

    (64/a)·(VC·ln(128/a) + ln(8/b)); the print has half of it, which gives accuracy/4 only.
    """
    dimension = family.vc_dimension(features)
    return math.ceil(64 / accuracy * (dimension * math.log(128 / accuracy) + math.log(8 / failure)))


def people_needed(ways: float, epsilon: float, accuracy: float, failure: float) -> float:
    """Return how many private people choose well among exp(ways) rules of which one errs by at most accuracy/8.

    max{(24/a)·ln(4/b), 8/(a·min(1, e))·(ways + ln(4/b))}.
    """
    choosing = 8 / (accuracy * min(1.0, epsilon)) * (ways + math.log(4 / failure))
    return max(24 / accuracy * math.log(4 / failure), choosing)
