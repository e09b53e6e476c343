"""The one key whose label is the second one: a word, a number, a whole record."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import UnsupportedSpend
from sfumato.learn.cells import Codes, rounded_up
from sfumato.learn.estimator import PrivateLearner, learner
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.learn.frequent_point import frequent_needed, plan_frequent
from sfumato.learn.rules import Rule, about
from sfumato.learn.threshold import shown
from sfumato.mechanism import NOTHING, Mechanism
from sfumato.noise import Noise
from sfumato.privacy import Approximate, Bound, Loss, Pure
from sfumato.select import Exponential, Stable, Unbounded, exponential, sparse, stable
from sfumato.words import one_of

Key = tuple[int, ...]
METHODS = ("auto", "stable", "exponential", "tree")


@dataclass(frozen=True, kw_only=True)
class PointRule(Rule):
    """Holds for one record, or for none."""

    kind: ClassVar[str] = "point"
    key: Key | None

    def holds(self, codes: Codes) -> NDArray[np.bool_]:
        """Compare every row with the key."""
        if self.key is None:
            return np.zeros(len(codes), dtype=bool)
        return np.asarray((codes == np.array(self.key, dtype=codes.dtype)).all(axis=1), dtype=bool)

    def says(self) -> str:
        """Name the key."""
        if self.key is None:
            return "nothing"
        parts = zip(self.features, self.domains, self.key, strict=True)
        return " and ".join(f"{name} is {shown(domain, code)}" for name, domain, code in parts)


@dataclass(frozen=True, kw_only=True)
class PointChoice(Mechanism):
    """Choose the record that agrees with most labels, or no record at all.

    A record j is right about #{x = j, label 1} + #{x ≠ j, label 0} people, and one replaced person moves that by at
    most one. Promise: that of `choice`. A stable choice names the winner if its lead is clear, at a price that does not
    depend on the number of records (PL-LEARN-POINT, by the repaired PL-ADIST); the exponential mechanism draws from all
    of the `sizes`, and from the rule that never holds (PL-EM-LEARN).

    Value: the codes of the record, or NOTHING. Time and memory: the distinct rows.
    """

    spec: ClassVar[str] = "PL-LEARN-POINT"

    choice: Stable | Exponential
    firsts: Key
    sizes: Key | None = None

    def loss(self) -> Loss:
        """Return the loss of the choice."""
        return self.choice.loss()

    def run(self, exact: Sample, noise: Noise) -> Any:
        """Score the records that occur; all others are as right as a rule that never holds."""
        scores: Counter[Any] = Counter()
        signs = np.where(exact.labels == 1, exact.counts, -exact.counts).tolist()
        for row, sign in zip(exact.codes.tolist(), signs, strict=True):
            scores[tuple(row)] += sign
        if isinstance(self.choice, Stable):
            # The lead does not notice the constant #{label 0}, so scores are counted from it.
            return self.choice.run(Unbounded({key: scores[key] for key in sorted(scores)}), noise)
        assert self.sizes is not None
        level = int(exact.counts[exact.labels == 0].sum())
        listed = {self._place(key): level + score for key, score in scores.items()}
        cells = math.prod(self.sizes)
        drawn = self.choice.run(sparse(listed, cells + 1, level), noise)
        return NOTHING if drawn == cells else self._key(drawn)

    def _place(self, key: Any) -> int:
        place = 0
        for code, first, size in zip(key, self.firsts, self.sizes or (), strict=True):
            place = place * size + code - first
        return place

    def _key(self, place: int) -> Key:
        codes = []
        for first, size in zip(reversed(self.firsts), reversed(self.sizes or ()), strict=True):
            place, rest = divmod(place, size)
            codes.append(first + rest)
        return tuple(reversed(codes))


@learner
class PrivatePoint(PrivateLearner):
    """Learn the one record whose label is the second one; every other record has the first.

    With a delta the price does not depend on the number of possible records, so keys may be any text. Without one the
    exponential mechanism pays for their logarithm. For a pure spend per attribute and records of many features there is
    a search along a tree of features, which pays for the logarithm of the number of features. `method="auto"` takes the
    one that needs the fewest people; it reads no data.

    Spec: PL-LEARN-POINT, PDP-POINT. Time: near-linear in the people.

    >>> from sfumato import Approximate, Noise, text
    >>> words = [["tea"]] * 700 + [["coffee"]] * 300
    >>> order = ["no"] * 700 + ["yes"] * 300
    >>> drink = text(max_bytes=20, missing="")
    >>> learner = PrivatePoint(Approximate(1, 1e-6), drink, ("no", "yes"), noise=Noise(insecure_seed=1))
    >>> print(learner.fit(words, order).rule_)
    'yes' if x0 is 'coffee', otherwise 'no'
    >>> learner.needed(accuracy=0.1, failure=0.05)
    700
    """

    json_parameters: ClassVar[tuple[str, ...]] = ("accuracy", "failure", "method")

    _: KW_ONLY
    method: str = "auto"

    def _plan(self, facts: LearningFacts, people: int, spend: Bound) -> Mechanism:
        method, _ = self._chosen(facts, spend, float(self.accuracy), float(self.failure))
        return self._mechanism(method, facts, people, spend)

    def _mechanism(self, method: str, facts: LearningFacts, people: int, spend: Bound) -> Mechanism:
        if method == "tree":
            return plan_frequent(facts, people, spend, float(self.failure))
        firsts = tuple(domain.first for domain in facts.domains)
        if method == "stable":
            return PointChoice(choice=stable(spend, reads=facts.reads), firsts=firsts, reads=facts.reads)
        pick = exponential(spend, reads=facts.reads)
        return PointChoice(choice=pick, firsts=firsts, sizes=facts.sizes(), reads=facts.reads)

    def _rule(self, facts: LearningFacts, value: Any) -> Rule:
        return PointRule(**about(facts), key=None if value is NOTHING else tuple(int(code) for code in value))

    def _needed(self, facts: LearningFacts, spend: Bound, accuracy: float, failure: float) -> int:
        return self._chosen(facts, spend, accuracy, failure)[1]

    def _chosen(self, facts: LearningFacts, spend: Bound, accuracy: float, failure: float) -> tuple[str, int]:
        """Return the method that needs the fewest people and how many, from public facts only."""
        one_of("method", self.method, METHODS)
        methods = self._possible(facts, spend) if self.method == "auto" else [self.method]
        return min(
            ((method, self._people(method, facts, spend, accuracy, failure)) for method in methods),
            key=lambda found: found[1],
        )

    def _possible(self, facts: LearningFacts, spend: Bound) -> list[str]:
        found = []
        if all(domain.size is not None for domain in facts.domains):
            found.append("exponential")
        if isinstance(spend, Approximate) and 0 < spend.delta < 0.5 and spend.epsilon > 0:
            found.append("stable")
        if isinstance(spend, Pure) and spend.unit == "attribute" and len(facts.features) > 8 and found:
            found.append("tree")
        if not found:
            raise UnsupportedSpend(
                f"Text has no end, so naming one needs a delta, and {spend!r} has none; write "
                "Approximate(1, 1e-6), or give the feature a list of categories."
            )
        return found

    def _people(self, method: str, facts: LearningFacts, spend: Bound, accuracy: float, failure: float) -> int:
        if method == "tree":
            return frequent_needed(facts, spend, accuracy, failure)
        mechanism = self._mechanism(method, facts, 1, spend)
        assert isinstance(mechanism, PointChoice)
        pick = mechanism.choice
        if isinstance(pick, Stable):
            return rounded_up(max(8 / accuracy * math.log(2 / failure), 2 / accuracy * pick.gap(1 - failure / 2)))
        lost = pick.error(1 - failure / 2, math.prod(facts.sizes()) + 1)
        # Sampling: few records are so heavy that one of them could hide half of its error; see docs/papers.md.
        seen = max(24 * math.log(4 / failure), 8 * math.log(16 / (accuracy * failure))) / accuracy
        return rounded_up(max(2 / accuracy * lost, seen))
