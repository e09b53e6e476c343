"""One cut on an ordered feature, over a domain of any size."""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Domain
from sfumato.errors import AccuracyWarning, ParameterError
from sfumato.learn.cells import Codes, rounded_up
from sfumato.learn.estimator import PrivateLearner, learner
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.learn.rules import Rule, about
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.privacy import Bound, Loss
from sfumato.select import Solver, StepFunction, solve_quasiconcave
from sfumato.words import one_of

DIRECTIONS = ("above", "below", "either")
MANY = 1 << 40


@dataclass(frozen=True, kw_only=True)
class ThresholdRule(Rule):
    """Holds from a cut on upward, or below it; `cut` is a code, one more than the last one if no value reaches it."""

    kind: ClassVar[str] = "threshold"
    place: int
    cut: int
    above: bool

    def holds(self, codes: Codes) -> NDArray[np.bool_]:
        """Compare every code with the cut."""
        column = codes[:, self.place]
        return np.asarray(column >= self.cut if self.above else column < self.cut, dtype=bool)

    def says(self) -> str:
        """Name the cut as a value of the feature."""
        domain, name = self.domains[self.place], self.features[self.place]
        if self.cut > (domain.last or 0) or self.cut == domain.first:
            return "nothing" if self.above is (self.cut != domain.first) else "anything"
        return f"{name} {'>=' if self.above else '<'} {shown(domain, self.cut)}"


def shown(domain: Domain, code: int) -> str:
    """Return a value as people write it: a decimal as such, a day in ISO form, text in quotes."""
    value = domain.decode(code)
    if hasattr(value, "denominator") and value.denominator != 1:
        return f"{float(value):.12g}"
    return repr(value) if isinstance(value, str) else str(value)


@dataclass(frozen=True, kw_only=True)
class ThresholdChoice(Mechanism):
    """Choose the cut that agrees with most labels: one of the size + 1 places of an ordered domain.

    A cut is right about some number of people, and one replaced person moves that by at most one. Promise: that of
    `choice` (PL-LEARN-THRESH, by PL-EM, PL-REC2 or PL-REC). Where some cut agrees with all labels the score rises and
    then falls; privacy does not rest on it. With `direction` "either" the cuts of both directions stand side by side.

    Value: the number of the cut among the candidates. Time: a sort of the people; memory: their distinct codes.
    """

    spec: ClassVar[str] = "PL-LEARN-THRESH"

    choice: Mechanism
    place: int
    first: int
    size: int
    direction: str

    def loss(self) -> Loss:
        """Return the loss of the choice."""
        return self.choice.loss()

    def run(self, exact: Sample, noise: Noise) -> int:
        """Score all cuts at once, as steps, and choose."""
        return int(self.choice.run(self.scores(exact), noise))

    def scores(self, exact: Sample) -> StepFunction:
        """Return how many labels each cut agrees with; cut j holds for the places from j on, or for those below j."""
        places, gains = _gains(exact, self.place, self.first)
        ones = int(exact.counts[exact.labels == 1].sum())
        upward = _steps(places, [-gain for gain in gains], ones, 0)
        if self.direction == "above":
            return StepFunction(*upward, self.size + 1)
        zeros = int(exact.counts[exact.labels == 0].sum())
        offset = 0 if self.direction == "below" else self.size + 1
        downward = _steps(places, gains, zeros, offset)
        if self.direction == "below":
            return StepFunction(*downward, self.size + 1)
        return StepFunction(upward[0] + downward[0], upward[1] + downward[1], 2 * (self.size + 1))


def _gains(exact: Sample, place: int, first: int) -> tuple[list[int], list[int]]:
    """Return the places of one feature that occur, sorted, and how many more have label 1 than label 0 there."""
    places, where = np.unique(exact.codes[:, place], return_inverse=True)
    totals = np.zeros(len(places), dtype=np.int64)
    np.add.at(totals, where.ravel(), np.where(exact.labels == 1, exact.counts, -exact.counts))
    return [int(code) - first for code in places.tolist()], totals.tolist()


def _steps(places: list[int], gains: list[int], start: int, offset: int) -> tuple[list[int], list[int]]:
    """Return starts and heights of a score that begins at `start` and gains something beyond each place."""
    heights = np.cumsum([start, *gains]).tolist()
    return [offset, *(offset + place + 1 for place in places)], heights


@learner
class PrivateThreshold(PrivateLearner):
    """Learn a cut on one ordered feature: the second label from the cut on upward, or below it.

    The domain may be as large as 2^64 and far beyond: time depends on the people. `realizable=True` says that some cut
    is expected to agree with all labels; for very long domains a search that pays less than their logarithm is then
    chosen, from public facts. `realizable=False` always takes the exponential mechanism, whose answer is nearly the
    best cut whatever the labels. `direction` is "above" (the second label from the cut on), "below" or "either". Of
    several features `feature` names the one that is cut, or gives its place; the others are not read.

    Spec: PL-LEARN-THRESH. Time: a sort of the people.

    >>> from sfumato import Noise, Pure, integers
    >>> ages = [[age] for age in range(18, 90)] * 30
    >>> retired = [age >= 65 for (age,) in ages]
    >>> learner = PrivateThreshold(Pure(1), integers(0, 120, missing=0), (False, True), noise=Noise(insecure_seed=1))
    >>> print(learner.fit(ages, retired).rule_)
    True if x0 >= 65, otherwise False
    >>> learner.needed(accuracy=0.05)
    702
    """

    json_parameters: ClassVar[tuple[str, ...]] = ("accuracy", "failure", "direction", "realizable", "feature")

    _: KW_ONLY
    direction: str = "above"
    realizable: bool = True
    feature: int | str | None = None

    def _plan(self, facts: LearningFacts, people: int, spend: Bound) -> Mechanism:
        allowed = max(float(self.accuracy) * people / 2, 1)
        solver = self._solver(facts, spend, people, float(self.failure), allowed)
        place, domain, size = self._cut_feature(facts)
        return ThresholdChoice(
            choice=solver.mechanism,
            place=place,
            first=domain.first,
            size=size,
            direction=self.direction,
            reads=solver.mechanism.reads,
        )

    def _cut_feature(self, facts: LearningFacts) -> tuple[int, Domain, int]:
        """Return the place, the domain and the size of the feature that is cut."""
        chosen = 0 if self.feature is None and len(facts.features) == 1 else self.feature
        if isinstance(chosen, str) and chosen in facts.features:
            chosen = facts.features.index(chosen)
        if isinstance(chosen, bool) or not isinstance(chosen, int) or not 0 <= chosen < len(facts.features):
            raise ParameterError(
                f"A cut is on one feature, and there are {len(facts.features)}: {', '.join(facts.features)}; say which "
                "one by feature=, or use PrivateBox for all of them."
            )
        return chosen, facts.domains[chosen], facts.size(chosen)

    def _solver(
        self, facts: LearningFacts, spend: Bound, people: int, failure: float, allowed: float | None = None
    ) -> Solver:
        one_of("direction", self.direction, DIRECTIONS)
        place, _, size = self._cut_feature(facts)
        plain = not self.realizable or self.direction == "either"
        with warnings.catch_warnings():
            # The number of people that is needed is said once, by the learner.
            warnings.simplefilter("ignore", AccuracyWarning)
            return solve_quasiconcave(
                spend,
                (size + 1) * (2 if self.direction == "either" else 1),
                promise=people,
                failure=failure / 2,
                allowed=allowed,
                method="exponential" if plain else "auto",
                reads=facts.reads_of(facts.features[place]),
            )

    def _rule(self, facts: LearningFacts, value: Any) -> Rule:
        place, domain, size = self._cut_feature(facts)
        above = self.direction == "above" or (self.direction == "either" and value <= size)
        return ThresholdRule(**about(facts), place=place, cut=domain.first + int(value) % (size + 1), above=above)

    def _needed(self, facts: LearningFacts, spend: Bound, accuracy: float, failure: float) -> int:
        # How many labels may be lost does not depend on how many there are.
        lost = self._solver(facts, spend, MANY, failure).shortfall
        # Sampling can mislead at two cuts, one on either side of the true one, for each direction (PL:C-THR-1SIDE).
        ends = 8 if self.direction == "either" else 4
        return rounded_up(max(8 / accuracy * math.log(ends / failure), 2 / accuracy * lost))
