"""The exponential mechanism on a metric, and what dimension costs (FA-EXP)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.errors import ParameterError
from sfumato.exact.search import halved
from sfumato.fair.grid import Floats, Integers
from sfumato.fair.groups.affirmative import exponential_rows
from sfumato.fair.metric.base import DENSE_PEOPLE, Metric
from sfumato.fair.pairs.certificate import certify

SAFE_RATE = 0.5


@dataclass(frozen=True, eq=False)
class ExponentialMapping:
    """Each person's distribution over the people of `range`, near ones more likely.

    `mean_distance` is how far people are moved on average. At rate 1/2 log ratios stay within d for everybody (F11: the
    printed exp(-d) does not, because the normalising sums differ too); a calibrated rate holds for these people only.
    """

    metric: Metric
    range: Integers
    rate: float
    probabilities: Floats
    mean_distance: float
    calibrated: bool


def exponential_mapping(
    metric: Metric, *, range: object = None, rate: float = SAFE_RATE, calibrate: bool = False
) -> ExponentialMapping:
    """Return the exponential mechanism with the given range (by default everybody).

    `calibrate` looks for the largest rate up to 1 that an exhaustive check proves on these people.

    >>> blurred = exponential_mapping(Metric.from_scores([0.0, 1.0, 2.0]))
    >>> blurred.probabilities[0].round(3)
    array([0.506, 0.307, 0.186])
    """
    if metric.size > 4 * DENSE_PEOPLE and range is None:
        raise ParameterError("For so many people give a range of landmarks, such as every hundredth person.")
    if not 0 < rate <= 1:
        raise ParameterError(
            f"rate must lie above 0 and not above 1, and {rate} does not; 0.5 is proved for everybody."
        )
    chosen = np.arange(metric.size) if range is None else np.asarray(range, dtype=np.int64)
    if chosen.ndim != 1 or not len(chosen):
        raise ParameterError("range must be a list with the index of at least one person.")
    if calibrate:
        rate = _calibrated(metric, chosen)
    rows = exponential_rows(metric, chosen, rate)
    apart = metric.block(slice(None), chosen)
    # Nobody is moved infinitely far: such a probability is 0, and d·exp(-rate·d) tends to 0 as well.
    moved = float((rows * np.where(np.isfinite(apart), apart, 0.0)).sum(axis=1).mean())
    return ExponentialMapping(metric, chosen, rate, rows, moved, calibrate)


def _calibrated(metric: Metric, chosen: Integers) -> float:
    def too_sharp(rate: float) -> bool:
        return not certify(metric, exponential_rows(metric, chosen, rate), "inf").ok

    return halved(SAFE_RATE, 1.0, too_sharp, 20)[0]


def mean_distance_bound(metric: Metric) -> float:
    """Return the bound 2 (1 + ∫ r e^-r G(2r) dr, r from 1) of the mean distance at rate 1/2, everybody in the range.

    G(r) is the mean number of people within r. It is a sum over pairs, because G is a step function: a pair at distance
    d adds the integral from max(1, d / 2), which is (s + 1) e^-s. A pair at an infinite distance adds nothing.
    """
    apart = metric.dense()
    near = np.isfinite(apart)
    start = np.maximum(1.0, np.where(near, apart, 0.0) / 2)
    return float(2 * (1 + np.where(near, (start + 1) * np.exp(-start), 0.0).sum(axis=1).mean()))


@dataclass(frozen=True)
class Dimension:
    """Two estimates of a dimension: log2 of the half-radius balls that cover a ball, and the growth of balls."""

    doubling: float
    growth: float


def doubling_dimension(metric: Metric, radii: int = 8, centres: int = 40) -> Dimension:
    """Estimate the doubling dimension by greedy covers; the estimate is at most about twice too large.

    >>> round(doubling_dimension(Metric.from_scores(np.arange(64.0))).growth)
    1
    """
    apart = metric.dense()
    positive = apart[(apart > 0) & np.isfinite(apart)]
    if not len(positive):
        return Dimension(0.0, 0.0)
    sizes = np.quantile(positive, np.linspace(0.1, 0.6, radii))
    most = 1
    for radius in sizes:
        for centre in np.unique(np.linspace(0, metric.size - 1, centres).astype(int)):
            most = max(most, _cover(apart, np.flatnonzero(apart[centre] <= radius), radius / 2))
    counts = np.array([(apart <= radius).sum(axis=1).mean() for radius in sizes])
    slope = np.polyfit(np.log(sizes), np.log(counts), 1)[0] if sizes[-1] > sizes[0] else 0.0
    return Dimension(float(np.log2(most)), float(slope))


def _cover(apart: Floats, ball: Integers, radius: float) -> int:
    left, used = ball, 0
    while len(left):
        left = left[apart[left[0], left] > radius]
        used += 1
    return used


def packing_lower_bound(metric: Metric, radius: float, separation: float) -> float:
    """Return FL1: a mean distance that no (D_inf, d)-Lipschitz mapping of these people can go below.

    If N people lie within `radius` of somebody and their balls of radius `separation` are disjoint, then on these N the
    mean distance is at least separation · (1 - e^radius / N). The best centre is searched.
    """
    apart = metric.dense()
    best = 0.0
    for centre in np.arange(metric.size):
        ball = np.flatnonzero(apart[centre] <= radius)
        count = _cover(apart, ball, 2 * separation)
        best = max(best, separation * (1 - np.exp(radius) / count))
    return best
