"""What chance alone gives: the bias bound of random groups (FA-BIAS).

Distances between samples are above zero even where the groups are drawn alike, the more so in many dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.fair.grid import Floats, Integers
from sfumato.fair.mapping.transport import _emd
from sfumato.fair.metric.base import Metric
from sfumato.noise import Noise

SHUFFLED_PEOPLE = 400


@dataclass(frozen=True)
class ShuffledBias:
    """The bound for random groups of the same proportions, next to that of the true ones among the same people.

    The bound of a sample falls as the sample grows, so `observed` is computed on the `people` that are shuffled: all of
    them, or an even sample of at most 400 of both groups in proportion. `high` is what the true groups must exceed
    for a `p_value` of 0.05 or less.
    """

    shuffles: int
    people: int
    observed: float
    mean: float
    high: float
    p_value: float

    def unlike_chance(self, alpha: float) -> bool | None:
        """Return whether random groups are so far apart with probability alpha at most, None if they are too few."""
        return self.p_value <= alpha if alpha * (1 + self.shuffles) >= 1 else None

    def __str__(self) -> str:
        return (
            f"{self.mean:.4f} on average, 95 % below {self.high:.4f}; these groups {self.observed:.4f}, "
            f"p = {self.p_value:.2g} ({self.shuffles} shuffles of {self.people} people)"
        )


def shuffled_bias(metric: Metric, one: Floats, two: Floats, shuffles: int) -> ShuffledBias:
    """Return the permutation null of the earthmover distance under min(d, 1) between two weightings of the people.

    >>> far = Metric.from_scores([0.0] * 20 + [1.0] * 20)
    >>> found = shuffled_bias(far, np.repeat([0.05, 0.0], 20), np.repeat([0.0, 0.05], 20), 200)
    >>> found.observed, found.mean < 0.3, round(found.p_value, 3)
    (1.0, True, 0.005)
    """
    chosen = _sample(one, two)
    one, two = one[chosen] / one[chosen].sum(), two[chosen] / two[chosen].sum()
    cost = metric.subset(chosen).capped(1.0).dense()
    observed = _moved(cost, one, two)
    noise = Noise(insecure_seed=0)
    values = np.array([
        _moved(cost, one[order], two[order])
        for order in (np.argsort(noise.uniform(1 << 62, len(chosen))) for _ in range(shuffles))
    ])  # fmt: skip
    p_value = (1 + int((values >= observed - 1e-12).sum())) / (1 + shuffles)
    # The quantile that belongs to the p-value, so that the two never disagree: 19 in 20 of the shuffles and the truth.
    high = float(np.sort(values)[min(shuffles, -(-19 * (1 + shuffles) // 20)) - 1])
    return ShuffledBias(shuffles, len(chosen), observed, float(values.mean()), high, p_value)


def _sample(one: Floats, two: Floats) -> Integers:
    """Return everybody, or an even sample of those of the first group and of the others in proportion."""
    people = len(one)
    if people <= SHUFFLED_PEOPLE:
        return np.arange(people)
    parts = [np.flatnonzero(one > 0), np.flatnonzero(one == 0)]
    counts = [max(1, round(SHUFFLED_PEOPLE * len(part) / people)) if len(part) else 0 for part in parts]
    picked = [
        part[np.linspace(0, len(part) - 1, count).astype(np.int64)] for part, count in zip(parts, counts, strict=True)
    ]
    chosen = np.sort(np.concatenate(picked))
    # Groups may overlap: without a member of the second one among them there is nothing to compare.
    return chosen if (two[chosen] > 0).any() else np.sort(np.append(chosen, np.flatnonzero(two > 0)[0]))


def _moved(cost: Floats, one: Floats, two: Floats) -> float:
    common = np.minimum(one, two)
    gives, takes = np.flatnonzero(one > common), np.flatnonzero(two > common)
    if not len(gives):
        return 0.0
    part = np.ascontiguousarray(cost[np.ix_(gives, takes)])
    plan, _ = _emd((one - common)[gives], (two - common)[takes], part)
    return float((plan * part).sum())
