"""Learning where features are public and only labels are private."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

from sfumato.errors import DomainTooLarge, ParameterError, UnsupportedSpend
from sfumato.exact import positive_integer
from sfumato.learn.cells import Codes, rounded_up
from sfumato.learn.concepts import OfConcepts
from sfumato.learn.estimator import PrivateLearner, learner
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.learn.rules import Rule
from sfumato.learn.sampling import by_growth, smallest
from sfumato.mechanism import Event, Mechanism
from sfumato.noise import Noise
from sfumato.papers.private_learning.families import Family, Value
from sfumato.papers.private_learning.fitted import Recipe, Row, fitted_rule
from sfumato.papers.private_learning.labellings import concepts_from_json, concepts_to_json, family_event, family_from
from sfumato.privacy import Bound, Cost, Loss
from sfumato.privacy.coins import COIN, loss_of, noise_weight
from sfumato.select import Exponential, exponential
from sfumato.select.fit import positive_spend, pure_epsilon

MOST_POINTS = 4096
"""Up to so many combinations of public values rules are listed for, where a table's people may take them along."""


@dataclass(frozen=True, kw_only=True)
class LabelChoice(Mechanism):
    """Choose the rule that agrees with most labels, one rule for each way in which a class labels the public features.

    Neighbours differ in one label; features are public and the same. One changed label moves the number of labels that
    a rule gets right by one. The rules are listed from the features alone: a list that had seen labels would tell them.
    Promise: that of `choice`, on the label (PL-LABEL). Value: what stands for the rule.
    """

    spec: ClassVar[str] = "PL-LABEL"

    choice: Exponential
    family: Family
    facts: LearningFacts

    def loss(self) -> Loss:
        """Return the loss of the choice."""
        return self.choice.loss()

    def event(self) -> Event:
        """Return the choice, and the class of rules as JSON."""
        parameters = {
            "choice": self.choice,
            "family": family_event(self.family),
            "features": self.facts.features,
            "reads": self.reads,
            "relation": self.relation,
        }
        return Event(type(self).__name__, self.spec, parameters, self.version)

    def points(self, exact: Sample) -> Codes:
        """Return the public points on which rules are listed: the features themselves."""
        return exact.codes

    def run(self, exact: Sample, noise: Noise) -> Value:
        """List, count and choose."""
        listed = self.family.listed(self.points(exact), self.facts)
        return listed.value(int(self.choice.run(listed.right(exact), noise)))


@dataclass(frozen=True, kw_only=True)
class LabelResponse(Mechanism):
    """Release every label after randomized response: each is replaced by a coin with the chance `weight`/2^63.

    Neighbours differ in one label. Promise: log(1 + 2·(1-c)/c), c = weight/2^63, on the label, as an exact fraction
    rounded up (BERN-EXACT). Value: the distinct public rows in order, how many people have each, and how many of their
    released labels are the second one. Time: the people.
    """

    spec: ClassVar[str] = "BERN-EXACT"

    weight: int

    def loss(self) -> Loss:
        """Return the loss of one randomized response."""
        return Loss.flat(Cost.pure(loss_of(self.weight, 2)), self.reads, self.relation)

    @property
    def flip(self) -> Fraction:
        """How likely a label is turned round."""
        return Fraction(self.weight, 2 * COIN)

    def run(self, exact: Sample, noise: Noise) -> tuple[tuple[Row, ...], Row, Row]:
        """Turn labels round one by one."""
        counts: dict[Row, int] = {}
        ones: dict[Row, int] = {}
        columns = (exact.codes.tolist(), exact.labels.tolist(), exact.counts.tolist())
        for codes, label, count in zip(*columns, strict=True):
            row = tuple(codes)
            turned = sum(noise.bernoulli(self.flip) for _ in range(count))
            counts[row] = counts.get(row, 0) + count
            ones[row] = ones.get(row, 0) + (count - turned if label == 1 else turned)
        rows = tuple(sorted(counts))
        return rows, tuple(counts[row] for row in rows), tuple(ones[row] for row in rows)


@learner
class LabelPrivate(PrivateLearner, OfConcepts):
    """Learn from features that everybody may know and labels that nobody may.

    `concepts` is the class of rules: "cuts" (one feature from a value on), "boxes" (an interval in every feature),
    "points" (one record), a list of conditions or rules, or a classifier of scikit-learn. From a class the rule that
    agrees with most labels is chosen, among one for each way of labelling the features; the price grows with the
    logarithm of their number, whatever the domain. For a classifier labels pass randomized response, and it is fitted
    on what comes out; with `listing=12` it is fitted on every labelling of 12 of the rows that it can reproduce, and
    one of these is chosen.

    Every domain must say `public=True`: the loss is that of the label alone, and features are not protected at all. On
    a table, where the promise is about whole people, the rules are listed from the schema instead of from the features,
    and a classifier behind randomized response is refused.

    Spec: PL-LABEL. Time: a sort of the people for each feature ("cuts"), or the fits of the classifier.

    >>> from sfumato import Noise, Pure, integers
    >>> ages = [[age] for age in range(18, 90)] * 20
    >>> ill = [age >= 65 for (age,) in ages]
    >>> known = integers(0, 120, missing=0, public=True)
    >>> learner = LabelPrivate("cuts", Pure(1), known, (False, True), noise=Noise(insecure_seed=1), accuracy=0.2)
    >>> print(learner.fit(ages, ill).rule_)
    True if x0 >= 65, otherwise False
    >>> learner.loss_.at("y").epsilon, learner.loss_.at("x0").epsilon
    (Fraction(1, 1), Fraction(0, 1))
    """

    json_parameters: ClassVar[tuple[str, ...]] = ("accuracy", "failure", "concepts", "listing")
    forms: ClassVar[Mapping[str, Any]] = {"concepts": (concepts_to_json, concepts_from_json)}

    _: KW_ONLY
    listing: int | None = None

    def _plan(self, facts: LearningFacts, people: int, spend: Bound) -> Mechanism:
        require_public(facts)
        reads = facts.reads_of()
        family = self._family()
        if isinstance(family, Recipe):
            facts.sizes()
            return LabelResponse(weight=noise_weight(_response_epsilon(spend), 2), reads=reads)
        return LabelChoice(choice=exponential(spend, reads=reads), family=family, facts=facts, reads=reads)

    def planned(self, facts: LearningFacts, people: int, spend: Bound) -> Mechanism:
        """Return what runs on a table, whose promise is about whole people: the rules are listed from the schema.

        On arrays the features are given and stay as they are. A person of a table who is replaced takes their public
        cells along, so that a list made from the cells that are there would tell whose they are; the list of all
        values that the schema allows tells nothing (PL-SEMI with the domain as its pool).
        """
        from sfumato.papers.private_learning.semi import PoolChoice

        plain = super().planned(facts, people, spend)
        if not isinstance(plain, LabelChoice):
            raise ParameterError(
                "Behind randomized response a classifier is fitted on the features of everybody in the table, which a "
                "ledger's promise about whole people does not allow; use SemiPrivate with a public pool, or fit "
                "LabelPrivate on arrays of features that are published anyway."
            )
        sizes = facts.sizes()
        if math.prod(sizes) > MOST_POINTS:
            raise DomainTooLarge(
                f"The features have {math.prod(sizes)} combinations of values, more than {MOST_POINTS}, too many to "
                "list rules for; derive coarser bins in the schema, or use SemiPrivate with a public pool.",
                method="SemiPrivate",
            )
        ranges = [range(domain.first, domain.first + size) for domain, size in zip(facts.domains, sizes, strict=True)]
        return PoolChoice(
            choice=plain.choice, family=plain.family, facts=facts, pool=tuple(product(*ranges)), reads=plain.reads
        )

    def _family(self) -> Family | Recipe:
        if self.listing is not None:
            positive_integer(self.listing, "listing")
        return family_from(self.concepts, self.listing)

    def _rule(self, facts: LearningFacts, value: Any) -> Rule:
        family = self._family()
        return fitted_rule(facts, family, *value) if isinstance(family, Recipe) else family.rule(facts, value)

    def _needed(self, facts: LearningFacts, spend: Bound, accuracy: float, failure: float) -> int:
        family = self._family()
        if isinstance(family, Recipe):
            return rounded_up(response_people(float(_response_epsilon(spend)), accuracy, failure))
        return rounded_up(labels_needed(family, len(facts.features), spend, accuracy, failure))


def require_public(facts: LearningFacts) -> None:
    """Refuse features that are not declared public: they would get no protection at all."""
    private = [name for name, domain in zip(facts.features, facts.domains, strict=True) if not domain.public]
    if private:
        raise ParameterError(
            f"LabelPrivate protects labels only, and {', '.join(map(repr, private))} may be private; declare its "
            "domain public, for example integers(0, 120, public=True), or use SemiPrivate with a public pool."
        )


def labels_needed(family: Family, features: int, spend: Bound, accuracy: float, failure: float) -> float:
    """Return how many people are enough where some rule of the class agrees with all labels.

    Half of the accuracy may be lost by the choice, (2/e)·ln(2·ways(n)/failure) labels; a rule that errs on half of the
    accuracy of n people errs on all of it elsewhere at most, by the relative deviation inequality.

    >>> from sfumato import Pure
    >>> from sfumato.papers.private_learning.families import Cuts
    >>> round(labels_needed(Cuts(), 1, Pure(1), 0.1, 0.05))
    2270
    """
    rate = exponential(spend).rate

    def enough(people: float) -> bool:
        lost = (family.log_count(people, features) + math.log(2 / failure)) / float(rate)
        return lost <= accuracy * people / 2

    return max(smallest(enough), by_growth(accuracy, failure / 2, lambda points: family.log_count(points, features)))


def response_people(epsilon: float, accuracy: float, failure: float) -> float:
    """Return how many labels tell the error of any one rule within half of the accuracy after randomized response.

    Hoeffding's inequality for terms of width w = (e^epsilon + 1)/(e^epsilon - 1).

    >>> round(response_people(1, 0.1, 0.05))
    3455
    """
    width = 1 / math.tanh(epsilon / 2)
    return 2 * (width / accuracy) ** 2 * math.log(2 / failure)


def _response_epsilon(spend: Bound) -> Fraction:
    bound = positive_spend(spend, "exponential")
    if bound.unit == "attribute":
        raise UnsupportedSpend("A label is one attribute already; write the spend without per_attribute().")
    return min(pure_epsilon(bound), Fraction(16))
