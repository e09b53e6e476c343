"""One box of ordered features: an interval for each of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.cells import Codes, rounded_up
from sfumato.learn.estimator import PrivateLearner, learner
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.learn.rules import Rule, about
from sfumato.learn.sampling import nearly_consistent
from sfumato.learn.shares import COUNT_SHARE, choice_epsilon
from sfumato.learn.threshold import shown
from sfumato.mechanism import NOTHING, Mechanism
from sfumato.noise import DiscreteLaplace, Noise
from sfumato.privacy import Approximate, Attributes, Bound, Cost, Loss, Pure
from sfumato.select import StepFunction, exponential
from sfumato.select.fit import drawable
from sfumato.select.quasiconcave import shifted_windows

Interval = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class BoxRule(Rule):
    """Holds inside of a box, both ends of each interval included; `box` is None where it never holds."""

    kind: ClassVar[str] = "box"
    box: tuple[Interval, ...] | None

    def holds(self, codes: Codes) -> NDArray[np.bool_]:
        """Compare every row with the ends."""
        if self.box is None:
            return np.zeros(len(codes), dtype=bool)
        inside = np.ones(len(codes), dtype=bool)
        for place, (low, high) in enumerate(self.box):
            column = codes[:, place]
            inside &= np.asarray((column >= low) & (column <= high), dtype=bool)
        return inside

    def says(self) -> str:
        """Name the ends as values of the features."""
        if self.box is None or any(low > high for low, high in self.box):
            return "nothing"
        return " and ".join(
            f"{shown(domain, low)} <= {name} <= {shown(domain, high)}"
            for name, domain, (low, high) in zip(self.features, self.domains, self.box, strict=True)
        )


@dataclass(frozen=True, kw_only=True)
class BoxSides(Mechanism):
    """Choose the sides of a box one by one, each so that it cuts off a few people of the second label.

    First a noisy count: with too few people of the second label there is no box. Then for each side the place z where
    min(#{x <= z}, kappa - #{x < z}) is largest, counted over people of that label and from that side: one replaced
    person moves it by at most one, it rises and then falls, and where it is above 0 the side lies inside of the data
    and cuts off fewer than kappa people.

    Promise, replace-one: 1/scale for the count, and the losses of all sides, two for each feature; a side reads one
    feature and the label (PL-RECT-Q). Value: the ends of each interval as codes, or NOTHING. Time: a sort for each
    feature.
    """

    spec: ClassVar[str] = "PL-RECT-Q"

    scale: Fraction
    least: int
    kappa: int
    sides: tuple[Mechanism, ...]
    firsts: tuple[int, ...]
    sizes: tuple[int, ...]
    counted: Attributes

    def __post_init__(self) -> None:
        self.law  # noqa: B018  noise that cannot be drawn is refused before it is paid

    @property
    def law(self) -> DiscreteLaplace:
        """The noise on the count."""
        return DiscreteLaplace(self.scale)

    def loss(self) -> Loss:
        """Return the loss of the count and of the sides."""
        total = Loss.flat(Cost.pure(1 / self.scale), self.counted)
        for side in self.sides:
            total = total + 2 * side.loss()
        return total

    def run(self, exact: Sample, noise: Noise) -> Any:
        """Count first, then choose the sides."""
        chosen = exact.labels == 1
        counts = exact.counts[chosen]
        if int(counts.sum()) + noise.draw(self.law) < self.least:
            return NOTHING
        box = []
        for place, (side, first, size) in enumerate(zip(self.sides, self.firsts, self.sizes, strict=True)):
            codes = exact.codes[chosen, place]
            low = side.run(side_scores(codes - first, counts, size, self.kappa), noise)
            mirrored = (first + size - 1) - codes
            high = size - 1 - side.run(side_scores(mirrored, counts, size, self.kappa), noise)
            box.append((first + int(low), first + int(high)))
        return tuple(box)


def side_scores(places: Codes, counts: NDArray[np.int64], size: int, kappa: int) -> StepFunction:
    """Return min(#{x <= z}, kappa - #{x < z}) for every z of [0, size), as steps.

    >>> score = side_scores(np.array([3, 3, 8]), np.array([1, 1, 1]), 10, 3)
    >>> [score(z) for z in (2, 3, 4, 8, 9)]
    [0, 2, 1, 1, 0]
    """
    found, where = np.unique(places, return_inverse=True)
    totals = np.zeros(len(found), dtype=np.int64)
    np.add.at(totals, where.ravel(), counts)
    starts, heights, below = [0], [min(0, kappa)], 0
    for place, count in zip((int(code) for code in found.tolist()), totals.tolist(), strict=True):
        up_to = below + count
        if place == starts[-1]:
            heights[-1] = min(up_to, kappa - below)
        else:
            starts.append(place)
            heights.append(min(up_to, kappa - below))
        if place + 1 < size:
            starts.append(place + 1)
            heights.append(min(up_to, kappa - up_to))
        below = up_to
    return StepFunction(starts, heights, size)


@learner
class PrivateBox(PrivateLearner):
    """Learn a box: the second label inside of an interval of every feature, the first label outside.

    Each of the two sides of each feature is chosen just inside of the people who have the second label, so the box
    lies inside of the true one and misses a few people at every side: `kappa` of them at most, a number that grows with
    the number of features and with the logarithm of the domains, not with the people. Where there are too few people
    for that, `kappa` is what `accuracy` allows, which serves data that are spread out.

    Spec: PL-RECT-Q. Time: a sort for each feature.

    >>> from sfumato import Noise, Pure, integers
    >>> people = [[age, hours] for age in range(20, 80) for hours in range(0, 60)] * 3
    >>> full = ["yes" if 30 <= age <= 60 and hours >= 20 else "no" for age, hours in people]
    >>> number = integers(0, 99, missing=0)
    >>> learner = PrivateBox(Pure(1), [number, number], ("no", "yes"), noise=Noise(insecure_seed=1))
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     print(learner.fit(people, full).rule_)
    'yes' if 30 <= x0 <= 60 and 20 <= x1 <= 59, otherwise 'no'
    """

    instead: ClassVar[str] = (
        "PrivateLinearClassifier, private logistic regression, needs far fewer people for the same spend."
    )

    def _plan(self, facts: LearningFacts, people: int, spend: Bound) -> Mechanism:
        # With too few people for the proof, as many as half of the accuracy allows are cut off: better on spread data.
        affordable = math.ceil(float(self.accuracy) * people / (2 * len(facts.features)))
        return self._sides(facts, spend, float(self.failure), affordable)

    def _sides(self, facts: LearningFacts, spend: Bound, failure: float, affordable: int | None = None) -> BoxSides:
        """Return the mechanism, with the kappa of the proof or the smaller one that is affordable."""
        sizes, count = facts.sizes(), len(facts.features)
        each = Fraction(failure).limit_denominator(10**9) / (2 * (2 * count + 1))
        way = _better_way(spend, sizes, each)
        kappa = 2 * math.ceil(way.lost) + 1
        kappa = kappa if affordable is None else min(kappa, affordable)
        peak = (kappa + 1) // 2
        scale = drawable(1 / (COUNT_SHARE * way.epsilon))
        charged = [facts.reads_of(name) for name in facts.features]
        return BoxSides(
            scale=scale,
            least=peak + math.ceil(float(scale) * math.log(1 / (2 * float(each)))),
            kappa=kappa,
            sides=tuple(way.side(size, peak, reads) for size, reads in zip(sizes, charged, strict=True)),
            firsts=tuple(domain.first for domain in facts.domains),
            sizes=sizes,
            counted=facts.reads_of(),
            reads=facts.reads,
        )

    def _rule(self, facts: LearningFacts, value: Any) -> Rule:
        return BoxRule(**about(facts), box=None if value is NOTHING else value)

    def _needed(self, facts: LearningFacts, spend: Bound, accuracy: float, failure: float) -> int:
        mechanism = self._sides(facts, spend, failure)
        missed = 2 * len(facts.features) * mechanism.kappa
        # Without a box all of the second label is missed: fewer people than pass the count for sure.
        unseen = mechanism.least + float(mechanism.scale) * math.log(1 / failure)
        sampled = nearly_consistent(accuracy, failure / 2, 2 * len(facts.features), None)
        return rounded_up(max(2 / accuracy * max(missed, unseen), sampled))


@dataclass(frozen=True)
class Way:
    """How sides are chosen: epsilon for each, a delta for each if windows are used, and how far off each may be."""

    epsilon: Fraction
    delta: Fraction | None
    failure: Fraction
    lost: float

    def side(self, size: int, peak: int, reads: Attributes) -> Mechanism:
        """Return the choice of one side."""
        if self.delta is None:
            return exponential(Pure(self.epsilon), reads=reads)
        bound = Approximate(self.epsilon, self.delta)
        return shifted_windows(bound, size, promise=peak, failure=self.failure, reads=reads)


def _better_way(spend: Bound, sizes: Sequence[int], failure: Fraction) -> Way:
    """Return the exponential mechanism, or windows where a delta is allowed and the domains are very long."""
    choices = 2 * len(sizes)
    epsilon = choice_epsilon(spend, choices)
    lost = exponential(Pure(epsilon)).error(1 - failure, max(sizes))
    plain = Way(epsilon, None, failure, lost)
    if not isinstance(spend, Approximate) or 2 * spend.delta >= 1:
        return plain
    epsilon, delta = spend.epsilon / (choices + COUNT_SHARE), spend.delta / choices
    windows = shifted_windows(Approximate(epsilon, delta), max(sizes), promise=1, failure=failure)
    lost = windows.error(1 - failure, max(sizes))
    return Way(epsilon, delta, failure, lost) if lost < plain.lost else plain
