"""How biased any fair mapping can be between two groups, before a model exists (FA-BIAS)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.fair.grid import Floats, Integers, binary_rows, check_probabilities
from sfumato.fair.groups.earth import Earthmover, earthmover
from sfumato.fair.groups.parity import parity_gap
from sfumato.fair.groups.shuffled import ShuffledBias, shuffled_bias
from sfumato.fair.mapping.mapping import fair_mapping
from sfumato.fair.mapping.problem import group_share
from sfumato.fair.mapping.rows import LARGEST_LOG_RATIO
from sfumato.fair.metric.base import Metric
from sfumato.fair.metric.matrix import MatrixMetric
from sfumato.fair.pairs.certificate import certify
from sfumato.fair.pairs.divergence import check_distance

EXACT_LOG_RATIO = 400
SHUFFLES = 200


@dataclass(frozen=True, eq=False)
class BiasCertificate:
    """The largest parity gap that any mapping that is fair under the metric can have between two groups.

    `witness` is the most biased fair score of `members`, and reaches the value if `exact`; else the value is an upper
    bound. `null` is the earthmover distance of random groups, under min(d, 1) or for log ratios min(d / 2, 1).
    """

    value: float
    exact: bool
    distance: str
    members: Integers
    witness: Floats
    transport: Earthmover
    null: ShuffledBias | None = None

    def separates(self, alpha: float = 0.05) -> bool | None:
        """Return whether the shuffles show that the metric tells the groups apart, None if they cannot say.

        They say so of groups that are drawn alike with probability alpha at most: a permutation test. The value alone
        shows nothing: between two samples of one population it is the larger the fewer people and the more features.
        """
        return None if self.null is None else self.null.unlike_chance(alpha)

    def verdict(self, observed: float, alpha: float = 0.05) -> str:
        """Return what an observed parity gap means, and what the shuffles say of the metric with an error of alpha."""
        if observed > self.value + 1e-9:
            return (
                f"The gap {observed:.3g} exceeds {self.value:.3g}, the most that any mapping fair under this metric "
                "can have: the model provably treats some similar people differently."
            )
        possible = f"The gap {observed:.3g} is consistent with fairness; no fair mapping can exceed {self.value:.3g}."
        return f"{possible} {self._separation(alpha)}"

    def _separation(self, alpha: float) -> str:
        shown = self.separates(alpha)
        if self.null is None:
            return (
                f"Write bias_bound(…, shuffles={SHUFFLES}) to learn whether the metric separates the groups or chance "
                "alone gives as much."
            )
        if shown is None:
            return (
                f"Whether the metric separates the groups cannot be said with an error of {alpha:g} from "
                f"{self.null.shuffles} shuffles; write bias_bound(…, shuffles={math.ceil(1 / alpha)})."
            )
        seen = (
            f"among {self.null.people} people the most is {self.null.observed:.3g}, and {self.null.mean:.3g} on "
            f"average if the groups are shuffled (p = {self.null.p_value:.2g}, {self.null.shuffles} shuffles)"
        )
        if shown:
            return (
                f"The metric separates the groups: {seen}. Of groups drawn alike this is said with probability "
                f"{alpha:g} at most. Individual fairness alone does not give parity here; see affirmative_mapping."
            )
        return f"It is not shown that the metric separates the groups: {seen}; saying so takes p = {alpha:g} or less."

    def added(self, observed: float) -> float:
        """Return how much of an observed gap the metric cannot explain."""
        return max(0.0, observed - self.value)


def bias_bound(
    metric: Metric, first: object, second: object, *, distance: str = "tv", shuffles: int = 0
) -> BiasCertificate:
    """Return the bias certificate of two groups, given as masks or indices (FA-BIAS).

    Total variation: exactly the earthmover distance under min(d, 1) (F6'). Log ratios: the exact program for up to 400
    people (an upper bound if some are further than 13.8 apart), and the earthmover distance under min(d / 2, 1) beyond
    (F7'). `shuffles` adds a permutation null, on at most 400 of the people.

    >>> metric = Metric.from_matrix([[0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]])
    >>> bias_bound(metric, [0, 1], [1, 2]).value
    0.5
    """
    check_distance(distance)
    one, two = group_share(first, metric.size), group_share(second, metric.size)
    members = np.flatnonzero((one > 0) | (two > 0))
    small = metric.subset(members)
    one, two = one[members], two[members]
    if distance == "tv":
        moved = earthmover(small.capped(1.0), one, two)
        witness, value, exact = _witness(moved), max(moved.value, moved.bound), True
    elif small.size <= EXACT_LOG_RATIO:
        moved = earthmover(_tanh(small), one, two)
        best = fair_mapping(small, np.stack([np.zeros(small.size), two - one], axis=1) * small.size, distance="inf")
        # The program caps distances; its bound allows for that, and its mapping then falls short of it.
        witness, value = best.probabilities[:, 1], min(1.0, -best.bound)
        exact = best.finished and not np.any(small.dense() > LARGEST_LOG_RATIO)
    else:
        moved = earthmover(small.scaled(0.5).capped(1.0), one, two)
        witness, value, exact = _witness(moved), max(moved.value, moved.bound), False
    reach = small if distance == "tv" else small.scaled(0.5)
    null = shuffled_bias(reach, one, two, shuffles) if shuffles else None
    return BiasCertificate(float(value), exact, distance, members, witness, moved, null)


def _witness(moved: Earthmover) -> Floats:
    """Return the potential as a score in [0, 1], exactly Lipschitz."""
    return binary_rows(moved.potential - moved.potential.min(initial=0.0))[:, 1]


def _tanh(metric: Metric) -> Metric:
    # Rounded up, a concave function of a metric stays one.
    return MatrixMetric.of_matrix(np.ceil(np.tanh(metric.dense() / 2) * 2.0**30) / 2.0**30)


@dataclass(frozen=True)
class BiasReading:
    """What the metric forces and what the model adds."""

    observed: float
    possible: float
    added: float
    verdict: str
    fair: bool


def read_bias(
    probabilities: object, metric: Metric, first: object, second: object, *, shuffles: int = SHUFFLES
) -> BiasReading:
    """Compare a model's parity gap with the most that fairness under the metric allows (F8).

    The verdict says by `shuffles` of the groups whether the metric separates them; 0 leaves that out.

    >>> reading = read_bias([0.0, 1.0], Metric.from_scores([0.0, 0.25]), [0], [1])
    >>> reading.observed, reading.possible, reading.added
    (1.0, 0.25, 0.75)
    """
    rows = check_probabilities(probabilities, metric.size)
    gap = parity_gap(rows, first, second).value
    bound = bias_bound(metric, first, second, shuffles=shuffles)
    return BiasReading(gap, bound.value, bound.added(gap), bound.verdict(gap), certify(metric, rows).ok)
