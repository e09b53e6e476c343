"""How sure a share is: the law of its error, and intervals that hold for items that were found (LO-ALL).

All numbers are shares of the reports. Everything here is computed from counts of reports, so it costs no privacy
(C-POST), and floats are fine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sfumato.exact import Number, between_zero_and_one
from sfumato.exact.search import halved
from sfumato.local.linear import LinearHash
from sfumato.noise import Noise

DRAWS = 1000
"""So many fixed draws stand for what an item had to reach."""
_STEPS = 40
_FAR = 5.0
"""An item so many standard errors above all that it had to reach was not selected by chance: plain limits hold."""


@dataclass(frozen=True)
class Law:
    """The variance of the estimate of an item of some share: `base` + `rise`·share - `sampling`·share²."""

    base: float
    rise: float = 0.0
    sampling: float = 0.0

    def error(self, share: Any) -> Any:
        """Return the standard error at a share."""
        held = np.clip(share, 0.0, 1.0)
        return np.sqrt(np.maximum(self.base + self.rise * held - self.sampling * held**2, 0.0))

    def limits(self, share: float, level: float) -> tuple[float, float]:
        """Return the shares from which the estimate lies `level` of their own standard errors (score limits)."""
        if not math.isfinite(self.base):
            return -math.inf, math.inf
        lead = 1 + level**2 * self.sampling
        middle = share + level**2 * self.rise / 2
        root = math.sqrt(max(middle**2 - lead * (share**2 - level**2 * self.base), 0.0))
        return (middle - root) / lead, (middle + root) / lead


def linear_law(oracle: LinearHash, reports: float, everybody: float, spill: float = 0.0) -> Law:
    """Return the law of a share read from so many of all reports; `spill` is the variance that other items add."""
    if reports < 1:
        return Law(math.inf)
    absent, held = oracle.deviation(1.0, 0.0) ** 2, oracle.deviation(1.0, 1.0) ** 2
    sampling = max(0.0, 1 / reports - 1 / max(everybody, reports))
    return Law(absent / reports + spill, (held - absent) / reports + sampling, sampling)


@dataclass(frozen=True)
class Evidence:
    """The law of an item's estimate, and what it had to reach to be listed: draws of `bars`, or None if nothing."""

    law: Law
    bars: Any = None

    def interval(self, share: float, confidence: Number) -> tuple[float, float]:
        """Return limits for the true share, within 0 and 1.

        For a listed item the lower limit allows for the selection: given that the item was listed, the true share is
        below it with at most half of what is left of the confidence. The upper limit is the plain one, which selection
        can only make safer. An estimate below zero is read as zero, and one above one as one: the interval only grows
        by it, and does not claim to know to the last digit that nobody, or everybody, holds the item.
        """
        from scipy.special import ndtri

        share = min(max(share, 0.0), 1.0)
        wanted = between_zero_and_one(confidence, "confidence")
        part = float(1 - wanted) / 2
        low, high = self.law.limits(share, float(-ndtri(part)))
        if self.bars is not None and low < self.bars.max() + _FAR * float(self.law.error(max(low, 0.0))):
            low = min(low, self._lowest(share, part))
        return float(min(max(low, 0.0), 1.0)), float(min(max(high, 0.0), 1.0))

    def _lowest(self, share: float, part: float) -> float:
        """Return the smallest true share under which an item that was listed is estimated as high often enough."""
        if self._tail(0.0, share) > part:
            return 0.0
        high = share + 6 * float(self.law.error(share))
        return halved(0.0, high, lambda true: self._tail(true, share) >= part, _STEPS)[0]

    def _tail(self, true: float, share: float) -> float:
        """Return the chance that a listed item of the `true` share is estimated at this share or above."""
        from scipy.special import log_ndtr

        error = float(self.law.error(true))
        above = log_total(log_ndtr((true - np.maximum(self.bars, share)) / error))
        return float(np.exp(above - log_total(log_ndtr((true - self.bars) / error))))


def log_total(logs: Any) -> Any:
    """Return the logarithm of the sum of a row of numbers that are given by their logarithms.

    To the last bit what `scipy.special.logsumexp` returns, which looks for so many kinds of arrays that it took three
    quarters of every interval.
    """
    top = logs.max()
    if not math.isfinite(top):
        from scipy.special import logsumexp

        return logsumexp(logs)
    largest = logs == top
    others = np.exp(logs - top)
    others[largest] = 0.0
    count = np.count_nonzero(largest)
    return np.log1p(others.sum() / count) + np.log(float(count)) + top


@dataclass(frozen=True)
class Bar:
    """A condition of the search: the roles from `start` up to, not including, `stop` together reached `count`."""

    start: int
    stop: int
    count: float


@dataclass(frozen=True)
class Find:
    """What a search found: a code, how many standard errors of evidence there were, and the bars that it passed."""

    code: int
    score: float
    bars: tuple[Bar, ...]


def drawn_bars(oracle: LinearHash, sizes: Any, first: int, share: float, bars: Sequence[Bar]) -> Any:
    """Return draws of the share that an item had to reach in all roles from `first` on, to pass every bar.

    Given how many reports speak for an item in all, how they are spread over the roles does not depend on its share
    (LO-ALL, T4). So what it had to reach has one law for every true share: the largest of the bars, each less what
    the spread brought by chance.
    """
    sizes = np.asarray(sizes, dtype=np.float64)
    used = np.where(np.arange(len(sizes)) >= first, sizes, 0.0)
    total = used.sum()
    inside = 1 / oracle.spread
    slope = oracle.signal * (1 - inside)
    spoken = min(max(inside + slope * max(share, 0.0), 0.0), 1.0)
    deviation = math.sqrt(spoken * (1 - spoken)) / slope
    errors = np.sqrt(used) * _normals(len(sizes))
    errors -= used / total * errors.sum(axis=1, keepdims=True)
    sums = np.concatenate([np.zeros((DRAWS, 1)), np.cumsum(errors, axis=1)], axis=1)
    ends = np.concatenate([[0.0], np.cumsum(used)])
    reached = np.full(DRAWS, -np.inf)
    for bar in bars:
        part = ends[bar.stop] - ends[bar.start]
        whole = sizes[bar.start : bar.stop].sum()
        if part > 0 and math.isfinite(bar.count):
            # Where a role is left out of the share, the bar counts in proportion.
            needed = bar.count * part / whole
            np.maximum(reached, (needed - deviation * (sums[:, bar.stop] - sums[:, bar.start])) / part, out=reached)
    return reached


@lru_cache(maxsize=16)
def _normals(count: int) -> Any:
    """Return the same normal draws for everybody."""
    from scipy.special import ndtri

    uniform = Noise(insecure_seed=1).uniform(1 << 53, DRAWS * count)
    return ndtri((uniform + 0.5) / (1 << 53)).reshape(DRAWS, count)
