"""What was released of a running total over one horizon, and how wide estimates from it are (PB-BAND)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.exact.search import smallest
from sfumato.publish.matrix import Factor

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.publish.tree import Tree

OUTWARD = 1 + 1e-9
"""Half-widths are widened by more than floating-point arithmetic can lose."""


class Horizon(Protocol):
    """One horizon of a series: what was released so far, and what estimates are made of it."""

    @property
    def released(self) -> NDArray[np.int64]:
        """What was released, a row an entry."""

    @property
    def periods(self) -> int:
        """How many periods were declared."""

    @property
    def known(self) -> int:
        """How many of them were released."""

    def row(self, place: int | None, window: int | None) -> NDArray[np.float64]:
        """Return by what all that was released is multiplied at a period; by nothing before the first."""

    def width(self, pairs: Sequence[tuple[Any, Any]], miss: float, at_once: int | None) -> float:
        """Return how far off a sum over horizons is with probability `miss` at most, in units; of so many at once."""


@dataclass(frozen=True)
class Segment:
    """A horizon with Gaussian noise: its matrix, its noise, and what was released so far, a row a period."""

    factor: Factor
    variance: int
    released: NDArray[np.int64]

    @property
    def periods(self) -> int:
        """How many periods were declared."""
        return self.factor.periods

    @property
    def known(self) -> int:
        """How many of them were released."""
        return len(self.released)

    def row(self, place: int | None, window: int | None) -> NDArray[np.float64]:
        """Return the row of the decoder for a period."""
        import numpy as np

        if place is None or not self.known:
            return np.zeros(self.known)
        found: NDArray[np.float64] = self.factor.decoder(window)[: self.known, : self.known][place]
        return found

    def width(self, pairs: Sequence[tuple[Any, Any]], miss: float, at_once: int | None) -> float:
        """Return quantile · deviation, and half a unit for each rounding."""
        factor = _normal(1 - miss / 2) if at_once is None else band_factor(at_once, miss)
        spread = math.sqrt(sum(segment.variance * float((part * part).sum()) for part, segment in pairs))
        rounding = sum(float(abs(part).sum()) for part, _ in pairs) / 2
        return spread * factor + rounding


@dataclass(frozen=True)
class TreeSegment:
    """A horizon with discrete Laplace noise: its tree, its noise, and what was released so far, a row a sum."""

    tree: Tree
    scale: Fraction
    released: NDArray[np.int64]
    known: int

    @property
    def periods(self) -> int:
        """How many periods were declared."""
        return self.tree.periods

    def row(self, place: int | None, window: int | None) -> NDArray[np.float64]:
        """Return which sums are added and which are taken off."""
        import numpy as np

        found = np.zeros(len(self.released))
        if place is not None and self.known:
            row = self.tree.row(place + 1, window)
            found[: len(row)] = row
        return found

    def width(self, pairs: Sequence[tuple[Any, Any]], miss: float, at_once: int | None) -> float:
        """Return the quantile of the exact law of as many sums; of several horizons with the widest noise of them.

        All of so many at once by the sum of what each may miss.
        """
        used = [(int(abs(part).sum()), segment.scale) for part, segment in pairs]
        draws = sum(count for count, _ in used)
        scale = max((scale for count, scale in used if count), default=self.scale)
        return float(laplace_sum_width(draws, scale, miss / (at_once or 1)))


def band_factor(periods: int, miss: float) -> float:
    """Return how many deviations cover so many normal numbers at once, whatever their correlation (Šidák).

    >>> [round(band_factor(periods, 0.05), 3) for periods in (30, 365, 1024)]
    [3.137, 3.807, 4.055]
    """
    each = -math.expm1(math.log1p(-miss) / periods)
    return -NormalDist().inv_cdf(each / 2) * OUTWARD


def _normal(probability: float) -> float:
    return NormalDist().inv_cdf(probability) * OUTWARD


@lru_cache(maxsize=4096)
def laplace_sum_width(draws: int, scale: Fraction, miss: float) -> int:
    """Return the least whole number that the sum of so many discrete Laplace draws exceeds with `miss` at most.

    >>> laplace_sum_width(1, Fraction(10), 0.05), laplace_sum_width(4, Fraction(10), 0.05)
    (30, 57)
    """
    if not draws:
        return 0
    weights = _weights(draws, float(scale))
    return smallest(lambda bound: bound >= 0 and _beyond(weights, float(scale), bound) <= miss, start=1)


def _beyond(weights: NDArray[np.float64], scale: float, bound: int) -> float:
    """Return the probability that the sum lies beyond ± bound, a little too large rather than too small."""
    import numpy as np

    # More than `bound` failures before m successes: fewer than m successes in bound + m trials.
    shapes = np.arange(1, len(weights) + 1)[:, None]
    taken = np.arange(len(weights))[None, :]
    trials = bound + shapes
    odds = math.expm1(1 / scale)
    steps = np.where(taken > 0, (trials - taken + 1) / np.maximum(taken, 1) * odds, 1.0)
    logs = np.cumsum(np.log(np.maximum(steps, 1e-300)), axis=1) - trials / scale
    tails = np.where(taken < shapes, np.exp(logs), 0.0).sum(axis=1)
    return 2 * float(weights @ tails) * OUTWARD


def _weights(draws: int, scale: float) -> NDArray[np.float64]:
    """Return how often the sum, where it is not negative, is m waiting times long, for m = 1, …, draws.

    With p = 1 - a, P = p/(1 - a·z) and Q = p·(a/z)/(1 - a/z) the sum of k draws has the generating function
    P^k·(p + Q)^k, and P·Q = x·P + y·Q with x = a²/(1 + a), y = 1/(1 + a). So P^k·Q^j has P^m with the weight
    C(j-1+k-m, k-m)·x^j·y^(k-m), and the rest are powers of Q, which lie below zero. Nothing is subtracted.
    """
    import numpy as np
    from scipy.special import gammaln

    def log_binomial(top: Any, bottom: Any) -> Any:
        return gammaln(top + 1) - gammaln(bottom + 1) - gammaln(top - bottom + 1)

    shapes, powers = np.arange(1, draws + 1)[:, None], np.arange(1, draws + 1)[None, :]
    decay, p = math.exp(-1 / scale), -math.expm1(-1 / scale)
    left = draws - shapes
    logs = log_binomial(draws, powers) + (draws - powers) * math.log(p)
    logs = logs + log_binomial(powers - 1 + left, left)
    logs = logs - powers * (2 / scale + math.log1p(decay)) - left * math.log1p(decay)
    found: NDArray[np.float64] = np.exp(logs).sum(axis=1)
    found[-1] += p**draws
    return found
