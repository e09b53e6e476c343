"""The learner of halfspaces that tolerate flipped features."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

import numpy as np

from sfumato.domain import Categories
from sfumato.errors import AccuracyWarning, ParameterError, warn
from sfumato.exact import Number, exact
from sfumato.exact.rational import show
from sfumato.learn.cells import rounded_up
from sfumato.learn.estimator import PrivateLearner, learner
from sfumato.learn.facts import LearningFacts
from sfumato.learn.rules import Rule, about
from sfumato.mechanism import Mechanism
from sfumato.papers.partial_dp.halfspace import HalfspaceChoice, HalfspaceRule, chosen
from sfumato.papers.partial_dp.halfspace_classes import Candidates, drawn, listed, made_again, ternary
from sfumato.privacy import Bound
from sfumato.privacy.coins import COIN, noise_weight
from sfumato.select.fit import positive_spend, pure_epsilon, range_epsilon

FINENESS = 1 << 16
"""Debiased costs are counted in so many parts."""
SHORT, MANY = 9, 20_000
LARGEST_EPSILON = Fraction(16)


@learner
class RobustHalfspace(PrivateLearner):
    """Learn a halfspace over yes-or-no features that still says the same when a few features flip.

    A spend per attribute, `Pure(1).per_attribute()`, protects every single feature and the label of everybody at that
    epsilon, and the error it costs does not grow with the number of features: one feature moves the distance to the
    boundary by one, out of the `margin - kept` share of features over which the cost falls. Labels pass randomized
    response, which is taken out of the costs again (`debias`). The loss for the whole person is in `loss_`. A spend
    for the person is taken as well; labels are then not randomized.

    `margin` is the share of features whose flips count as an error while learning, `kept` the smaller share that the
    rule is to tolerate; most people must be that far from the boundary, so many features must count. `candidates` is a
    public list of halfspaces (`halfspace_classes`: ternary, sparse, drawn, net, listed), by default all
    with weights -1, 0 and 1 for up to nine features, and 20,000 spread by a public hash for more. A feature counts +1
    from its cut on and -1 below; `cuts` are values, by default the middle of each domain.

    Spec: PDP-ROBERM, PDP-HALF. Time: halfspaces times distinct rows times features.

    >>> from sfumato import Noise, Pure, booleans
    >>> every = [[place >> bit & 1 == 1 for bit in range(9)] for place in range(512)]
    >>> rows = [row for row in every if sum(row) not in (3, 4, 5, 6)] * 30
    >>> truth = [sum(row) > 4 for row in rows]
    >>> spend, bits = Pure(1).per_attribute(), booleans(missing=False)
    >>> learner = RobustHalfspace(
    ...     spend, bits, (False, True), margin=0.4, kept=0.1, noise=Noise(insecure_seed=1), accuracy=0.9
    ... )
    >>> learner.fit(rows, truth).score(rows, truth) > 0.95
    True
    >>> learner.loss_.at("x0").epsilon, learner.loss_.person.epsilon <= 4
    (Fraction(1, 1), True)
    """

    json_parameters: ClassVar[tuple[str, ...]] = (
        "accuracy", "failure", "candidates", "margin", "kept", "cuts", "debias",
    )  # fmt: skip

    _: KW_ONLY
    candidates: Candidates | Any = None
    margin: Number = 0.4
    kept: Number = 0.1
    cuts: Sequence[Any] | None = None
    debias: bool = True

    def _plan(self, facts: LearningFacts, people: int, spend: Bound) -> Mechanism:
        inner, outer = self._margins(len(facts.features))
        own, other, weight = self._labels(spend)
        charged = facts.reads if isinstance(facts.reads, frozenset) else frozenset(facts.features)
        shape = HalfspaceChoice(
            candidates=self._candidates(len(facts.features)),
            cuts=self._cuts(facts),
            inner=inner,
            outer=outer,
            rate=Fraction(1),
            weight=weight,
            own=own,
            other=other,
            features=tuple(name for name in facts.features if name in charged) or facts.features,
            target=facts.attribute,
            reads=frozenset({*facts.features, facts.attribute}),
        )
        moved = shape.range if weight is None else shape.step
        return replace(shape, rate=range_epsilon(positive_spend(spend, "exponential")) / (2 * moved))

    def _labels(self, spend: Bound) -> tuple[int, int, int | None]:
        """Return how costs under either label are weighed, and the chance of a coin in place of a label."""
        if spend.unit == "person":
            return 1, 0, None
        weight = noise_weight(min(pure_epsilon(positive_spend(spend, "exponential")), LARGEST_EPSILON), 2)
        if not self.debias:
            return 1, 0, weight
        other = round(FINENESS * weight / (2 * COIN))
        return FINENESS - other, other, weight

    def _margins(self, features: int) -> tuple[int, int]:
        """Return how many flips count fully as an error, and how many not at all."""
        margin, kept = exact(self.margin, "margin"), exact(self.kept, "kept")
        if not 0 <= kept < margin <= 1:
            raise ParameterError(
                f"kept must be at least 0 and below margin, which is at most 1; {show(kept)} and {show(margin)} are "
                "not. Write for example margin=0.4, kept=0.1."
            )
        inner = math.ceil(kept * features)
        outer = math.floor(margin * features)
        if outer <= inner:
            warn(
                f"Between {show(kept)} and {show(margin)} of {features} features lies less than one feature, so one "
                "flip may cost as much as a person; the rule is private, but take a larger margin."
            )
        return inner, max(outer, inner + 1)

    def _candidates(self, features: int) -> Candidates:
        given = self.candidates
        if given is None:
            return _unless_given(features)
        found = given if isinstance(given, Candidates) else listed(given)
        if found.features != features:
            raise ParameterError(
                f"The halfspaces are over {found.features} features, and X has {features}; list them for these."
            )
        return found

    def _cuts(self, facts: LearningFacts) -> tuple[int, ...]:
        """Return from which code on each feature counts as yes."""
        sizes = facts.sizes()
        if self.cuts is not None:
            if len(self.cuts) != len(sizes):
                raise ParameterError(f"There are {len(sizes)} features and {len(self.cuts)} cuts; write one for each.")
            return tuple(domain.code(cut) for domain, cut in zip(facts.domains, self.cuts, strict=True))
        for name, domain, size in zip(facts.features, facts.domains, sizes, strict=True):
            if isinstance(domain, Categories) and size > 2:
                raise ParameterError(
                    f"{name!r} is one of {size} categories, and a halfspace takes yes or no; make it several columns, "
                    "or say by cuts= from which category of the list on it counts as yes."
                )
        return tuple(domain.first + size // 2 for domain, size in zip(facts.domains, sizes, strict=True))

    def _rule(self, facts: LearningFacts, value: Any) -> Rule:
        weights, offset = chosen(self._candidates(len(facts.features)), value)
        return HalfspaceRule(**about(facts), weights=weights, offset=offset, cuts=self._cuts(facts))

    def _needed(self, facts: LearningFacts, spend: Bound, accuracy: float, failure: float) -> int:
        features = len(facts.features)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)  # said once, when the mechanism is made
            inner, outer = self._margins(features)
        own, other, weight = self._labels(spend)
        logarithm = math.log(len(self._candidates(features)))
        step = own if inner >= 1 else own + other
        moved = (outer - inner if weight is None else step) / ((own - other) * (outer - inner))
        width = (own + other) / (own - other)
        choosing = 2 * moved / float(range_epsilon(spend)) * (logarithm + math.log(2 / failure))
        sampled = 8 * (width / accuracy) ** 2 * (logarithm + math.log(4 / failure))
        return rounded_up(max(2 / accuracy * choosing, sampled))

    def options(self) -> dict[str, Any]:
        """Return the parameters as JSON; halfspaces become the recipe that makes them again."""
        given = self.candidates
        made = given if given is None or isinstance(given, Candidates) else listed(given)
        cuts = None if self.cuts is None else [cut.item() if isinstance(cut, np.generic) else cut for cut in self.cuts]
        return {**super().options(), "candidates": None if made is None else list(made.recipe), "cuts": cuts}

    @classmethod
    def read_options(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Read what `options` wrote."""
        values = super().read_options(options)
        recipe = values.get("candidates")
        return {**values, "candidates": None if recipe is None else made_again(recipe)}


@cache
def _unless_given(features: int) -> Candidates:
    return ternary(features) if features <= SHORT else drawn(features, MANY)
