"""Means that run on: a total divided by another, with intervals for each and a band for all (PB-BAND)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.exact import Number
from sfumato.publish.segments import Horizon
from sfumato.publish.series import Estimates, Series, SeriesChart, chart, risk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class MeanSeries:
    """The mean of a column as far as it was released: the sum around the middle of its range, by the count.

    Both are within their intervals at once with the asked confidence: each may miss half of what is left.
    """

    sums: Series
    counts: Series
    low: Fraction
    high: Fraction
    places: int

    @property
    def periods(self) -> tuple[str, ...]:
        """The periods that were released."""
        return self.sums.periods

    @property
    def keys(self) -> tuple[tuple[Any, ...], ...]:
        """The groups."""
        return self.sums.keys

    @property
    def segments(self) -> tuple[Horizon, ...]:
        """The horizons."""
        return self.sums.segments

    @property
    def promise(self) -> str:
        """What is hidden, in words."""
        return self.sums.promise

    def totals(self, confidence: Number = 0.95) -> Estimates:
        """Return the means since the first period."""
        each = 1 - Fraction(risk(confidence)) / 2
        return self._means(self.sums.totals(each), self.counts.totals(each))

    def window(self, width: int, confidence: Number = 0.95) -> Estimates:
        """Return the means of the last `width` periods, at each period; before there are so many, of all."""
        each = 1 - Fraction(risk(confidence)) / 2
        return self._means(self.sums.window(width, each), self.counts.window(width, each))

    def unknown(self, width: int | None = None, confidence: Number = 0.95) -> NDArray[np.bool_]:
        """Return where nothing is known of the mean: there may be no row, or its interval is the whole range."""
        each = 1 - Fraction(risk(confidence)) / 2
        counts = self.counts.totals(each) if width is None else self.counts.window(width, each)
        means = self.totals(confidence) if width is None else self.window(width, confidence)
        found: NDArray[np.bool_] = (counts.low < 1) | (
            (means.low <= float(self.low)) & (means.high >= float(self.high))
        )
        return found

    def between(self, first: str, last: str, confidence: Number = 0.95) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the mean of what was added after one period up to another, by key, and its interval, an end a row."""
        import numpy as np

        each = 1 - Fraction(risk(confidence)) / 2
        sums, wide = self.sums.between(first, last, each)
        counts, off = self.counts.between(first, last, each)
        value = self._quotient(sums, sums, counts, counts)[0]
        return value, np.array(self._quotient(sums - wide, sums + wide, counts - off, counts + off))

    def _means(self, sums: Estimates, counts: Estimates) -> Estimates:
        value = self._quotient(sums.values, sums.values, counts.values, counts.values)[0]
        own = self._quotient(sums.low, sums.high, counts.low, counts.high)
        everywhere = self._quotient(sums.all_low, sums.all_high, counts.all_low, counts.all_high)
        return Estimates(value, (own[1] - own[0]) / 2, (everywhere[1] - everywhere[0]) / 2, (*own, *everywhere))

    def _quotient(self, low: Any, high: Any, few: Any, many: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return between what the mean lies, inside of the column's range, ends outward; fewer than one row is one."""
        import numpy as np

        ends = [part / np.maximum(whole, 1.0) for part in (low, high) for whole in (few, many)]
        middle, grain = float((self.low + self.high) / 2), 10.0**self.places
        below, above = middle + np.min(ends, axis=0), middle + np.max(ends, axis=0)
        if low is high:
            below = above = np.round(below, self.places)
        else:
            below, above = np.floor(below * grain) / grain, np.ceil(above * grain) / grain
        return np.clip(below, float(self.low), float(self.high)), np.clip(above, float(self.low), float(self.high))

    def plot(self, key: int = 0, window: int | None = None, *, hide_below: float | None = None) -> SeriesChart:
        """Draw one key: the published line, what covers one period, and what covers all of them at once.

        Values under `hide_below` are drawn as ticks at that height.
        """
        found = self.totals() if window is None else self.window(window)
        return chart(self.sums, found, key, window, hide_below)
