"""How biased any fair mapping can be between two groups, before a model exists (FA-BIAS)."""

from __future__ import annotations

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

SEPARATED = 0.2
EXACT_LOG_RATIO = 400


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

    def verdict(self, observed: float) -> str:
        """Return what an observed parity gap means."""
        if observed > self.value + 1e-9:
            return (
                f"The gap {observed:.3g} exceeds {self.value:.3g}, the most that any mapping fair under this metric "
                "can have: the model provably treats some similar people differently."
            )
        if self.value > SEPARATED:
            return (
                f"The gap {observed:.3g} is possible under this metric, which separates the groups (up to "
                f"{self.value:.3g}): individual fairness alone cannot give parity here; see affirmative_mapping."
            )
        return f"The gap {observed:.3g} is consistent with fairness; no fair mapping can exceed {self.value:.3g}."

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


def read_bias(probabilities: object, metric: Metric, first: object, second: object) -> BiasReading:
    """Compare a model's parity gap with the most that fairness under the metric allows (F8).

    >>> reading = read_bias([0.0, 1.0], Metric.from_scores([0.0, 0.25]), [0], [1])
    >>> reading.observed, reading.possible, reading.added
    (1.0, 0.25, 0.75)
    """
    rows = check_probabilities(probabilities, metric.size)
    gap = parity_gap(rows, first, second).value
    bound = bias_bound(metric, first, second)
    return BiasReading(gap, bound.value, bound.added(gap), bound.verdict(gap), certify(metric, rows).ok)
