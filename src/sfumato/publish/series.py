"""What is made of a running total: estimates, windows, differences and bands, from what was released (PB-BAND)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one
from sfumato.publish.segments import OUTWARD, Horizon
from sfumato.show.drawing import FAINT, INK, MEASURE, Drawing, blank, quiet

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PLACES = 3
"""Estimates are rounded to thousandths of a row."""
NEIGHBOURS = "Neighbouring periods share noise: use a window to read changes."


@dataclass(frozen=True)
class Estimates:
    """One number for each period and key, with the half-width that covers one, and the one that covers all at once."""

    values: NDArray[np.float64]
    half: NDArray[np.float64]
    band: NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """A running total as far as it was released, by period and key.

    `unit` is what one integer is worth in rows, `open_end` says that the end was not known beforehand, so that each
    further horizon takes half of what the band may still miss.
    """

    periods: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...]
    segments: tuple[Horizon, ...]
    unit: Fraction = Fraction(1)
    open_end: bool = False
    promise: str = ""

    def totals(self, confidence: Number = 0.95) -> Estimates:
        """Return the totals since the first period."""
        return self._estimates(None, confidence)

    def window(self, width: int, confidence: Number = 0.95) -> Estimates:
        """Return the totals of the last `width` periods, at each period; before there are so many, of all."""
        if not isinstance(width, int) or width < 1:
            raise ParameterError(f"A window is a whole number of periods from 1 on, not {width!r}; write 7, say.")
        if len(self.segments) > 1:
            raise ParameterError("Windows across two horizons are not built; take the difference by between().")
        return self._estimates(width, confidence)

    def between(self, first: str, last: str, confidence: Number = 0.95) -> tuple[NDArray[Any], float]:
        """Return what was added after one period up to another, by key, and the half-width that covers one key."""
        start, end = self._place(first), self._place(last)
        if start >= end:
            raise ParameterError(f"{first!r} is not before {last!r}; write the earlier period first.")
        row, moved = self._row(end, None), self._row(start, None)
        difference = [one - other for one, other in zip(row, moved, strict=True)]
        return self._decoded(difference), self._half(difference, _miss(confidence))

    def _estimates(self, window: int | None, confidence: Number) -> Estimates:
        import numpy as np

        miss = _miss(confidence)
        values, half, band = [], [], []
        for place in range(len(self.periods)):
            row = self._row(place, window)
            values.append(self._decoded(row))
            half.append(self._half(row, miss))
            band.append(self._half(row, *self._all_at_once(place, miss)))
        return Estimates(np.array(values).reshape(len(values), len(self.keys)), np.array(half), np.array(band))

    def _row(self, place: int, window: int | None) -> list[Any]:
        """Return for each horizon by what its releases are multiplied; zero for what came later."""
        found: list[Any] = []
        for segment in self.segments:
            found.append(segment.row(None if place < 0 else min(place, segment.periods - 1), window))
            place -= segment.periods
        return found

    def _decoded(self, row: Sequence[Any]) -> NDArray[np.float64]:
        import numpy as np

        total = sum(part @ segment.released for part, segment in zip(row, self.segments, strict=True))
        found: NDArray[np.float64] = np.round(np.asarray(total) * float(self.unit), PLACES)
        return found

    def _half(self, row: Sequence[Any], miss: float, at_once: int | None = None) -> float:
        """Return how far off an estimate is, of so many at once; all horizons have noise of one kind."""
        wide = self.segments[0].width(list(zip(row, self.segments, strict=True)), miss, at_once)
        # And what rounding to thousandths of a row may move.
        return float(wide * float(self.unit) * OUTWARD + 0.5 / 10**PLACES)

    def _all_at_once(self, place: int, miss: float) -> tuple[float, int]:
        """Return what each key may miss so that all of them hold at once, and for how many periods it must hold."""
        number = 0
        while place >= self.segments[number].periods:
            place, number = place - self.segments[number].periods, number + 1
        share = miss / 2 ** (number + 1) if self.open_end else miss
        alone = -math.expm1(math.log1p(-share) / max(len(self.keys), 1))
        return alone, self.segments[number].periods

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.periods)}

    def _place(self, name: str) -> int:
        if name not in self._places:
            raise ParameterError(f"{name!r} is no period of this series; it runs from {self._span}.")
        return self._places[name]

    @property
    def _span(self) -> str:
        return f"{self.periods[0]} to {self.periods[-1]}" if self.periods else "nowhere: nothing is released yet"

    def plot(self, key: int = 0, window: int | None = None) -> SeriesChart:
        """Draw one key: the published line, what covers one period, and what covers all of them at once."""
        if not self.periods:
            raise ParameterError("Nothing of this series is released yet; run the first period.")
        found = self.totals() if window is None else self.window(window)
        name = ", ".join(map(str, self.keys[key])) or "all"
        values = found.values[:, key]
        span = "since the start" if window is None else f"of the last {window} periods"
        widest = max(found.band)
        title = (
            f"{name}: totals {span}, first {values[0]:g}, last {values[-1]:g}, within {widest:.3g} everywhere at once"
        )
        return SeriesChart(title, self.periods, tuple(values), tuple(found.half), tuple(found.band), self.promise)


def _miss(confidence: Number) -> float:
    return float(1 - between_zero_and_one(confidence, "confidence"))


@dataclass(frozen=True)
class SeriesChart(Drawing):
    """A published line with two bands around it; what was not published is not drawn."""

    title: str
    periods: tuple[str, ...]
    values: tuple[float, ...]
    half: tuple[float, ...]
    band: tuple[float, ...]
    promise: str

    def figure(self) -> Any:
        """Return the matplotlib figure."""
        figure = blank(self.title, 7.2, 3.8)
        chart = figure.subplots()
        places = range(len(self.periods))
        for width, shade, name in ((self.band, 0.15, "all periods, 95 %"), (self.half, 0.3, "one period, 95 %")):
            low = [value - half for value, half in zip(self.values, width, strict=True)]
            high = [value + half for value, half in zip(self.values, width, strict=True)]
            chart.fill_between(places, low, high, color=MEASURE, alpha=shade, linewidth=0, label=name)
        chart.plot(places, self.values, color=MEASURE, linewidth=1.5, label="published")
        step = max(1, len(self.periods) // 6)
        chart.set_xticks(list(places)[::step], self.periods[::step], rotation=20)
        chart.set_xlabel(NEIGHBOURS, color=INK)
        chart.set_ylabel("rows; noise of privacy only", color=INK)
        chart.grid(True, color=FAINT, linewidth=0.6)
        quiet(chart)
        chart.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, frameon=False, title=self.promise or None)
        return figure
