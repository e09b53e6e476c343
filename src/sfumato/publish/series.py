"""What is made of a running total: estimates, windows, differences and bands, from what was released (PB-BAND)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one
from sfumato.publish.segments import OUTWARD, Horizon
from sfumato.show.drawing import FAINT, INK, MEASURE, Drawing, blank, quiet
from sfumato.show.views import key_text, readable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PLACES = 3
"""Estimates are rounded to thousandths of a row."""
BELOW = "below what is shown"
EDITION = "a new edition of the file"
NEIGHBOURS = "Neighbouring periods share noise: use a window to read changes."

NEVER_FALLS = "Only a count of rows surely never falls while it runs on, so only that has a curve that never does."
"""What is said where somebody asks for such a curve of a sum or of a mean."""


@dataclass(frozen=True)
class Estimates:
    """One number for each period and key, with the half-width that covers one, and the one that covers all at once.

    Half-widths are those of a period, and of what is no plain total those of each key too: there intervals need not
    have the value in their middle, and `ends` are low, high, and both for all at once.
    """

    values: NDArray[np.float64]
    half: NDArray[np.float64]
    band: NDArray[np.float64]
    ends: tuple[NDArray[np.float64], ...] | None = None

    @property
    def low(self) -> NDArray[np.float64]:
        """Above what one value is."""
        return self._end(0, -self.half)

    @property
    def high(self) -> NDArray[np.float64]:
        """Below what one value is."""
        return self._end(1, self.half)

    @property
    def all_low(self) -> NDArray[np.float64]:
        """Above what all values are at once."""
        return self._end(2, -self.band)

    @property
    def all_high(self) -> NDArray[np.float64]:
        """Below what all values are at once."""
        return self._end(3, self.band)

    def _end(self, place: int, off: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.values + off[:, None] if self.ends is None else self.ends[place]


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
    coarse: bool = False
    """Whether what a period added was rounded to whole units before anything was released."""
    places: int | None = PLACES
    """To how many places estimates are rounded, None where they are only part of what is shown."""
    what: str = "rows"
    by_key: bool = False
    """Whether bands hold for all periods of one key and not for all keys: how many there are was not known."""

    def columns(self, first: int, last: int) -> Series:
        """Return the same of some of the numbers that were released in every period."""
        parts = tuple(replace(one, released=one.released[:, first:last]) for one in self.segments)  # type: ignore
        return replace(self, segments=parts)

    def totals(self, confidence: Number = 0.95) -> Estimates:
        """Return the totals since the first period."""
        return self._estimates(None, confidence)

    def window(self, width: int, confidence: Number = 0.95) -> Estimates:
        """Return the totals of the last `width` periods, at each period; before there are so many, of all."""
        if not isinstance(width, int) or width < 1:
            raise ParameterError(f"A window is a whole number of periods from 1 on, not {width!r}; write 7, say.")
        return self._estimates(width, confidence)

    def monotone(self) -> NDArray[np.float64]:
        """Return the totals of a count as numbers that never fall nor lie below zero: the nearest such ones, by key.

        Worked out from what was released, so it is free. They have no intervals of their own: where all totals lie
        within their band, each of these is off by at most the widest half of it, `totals().band.max()`, because a
        nearest curve that never falls brings no two curves further apart. Earlier ones may move with later periods.
        """
        import numpy as np
        from scipy.optimize import isotonic_regression

        if self.what != "rows":
            raise ParameterError(f"{NEVER_FALLS} Write series.totals().")
        found = self.totals().values
        fitted = [isotonic_regression(found[:, key]).x for key in range(found.shape[1] if len(found) else 0)]
        curve: NDArray[np.float64] = np.maximum(np.array(fitted, float).T.reshape(found.shape), 0.0)
        return curve

    def between(self, first: str, last: str, confidence: Number = 0.95) -> tuple[NDArray[Any], float]:
        """Return what was added after one period up to another, by key, and the half-width that covers one key."""
        start, end = self._place(first), self._place(last)
        if start >= end:
            raise ParameterError(f"{first!r} is not before {last!r}; write the earlier period first.")
        row, moved = self._row(end, None), self._row(start, None)
        difference = [one - other for one, other in zip(row, moved, strict=True)]
        return self._decoded(difference), self._half(difference, end - start, risk(confidence))

    def _estimates(self, window: int | None, confidence: Number) -> Estimates:
        import numpy as np

        miss = risk(confidence)
        values, half, band = [], [], []
        for place in range(len(self.periods)):
            row = self._row(place, window)
            values.append(self._decoded(row))
            added = place + 1 if window is None else min(place + 1, window)
            half.append(self._half(row, added, miss))
            band.append(self._half(row, added, *self._all_at_once(place, miss)))
        return Estimates(np.array(values).reshape(len(values), len(self.keys)), np.array(half), np.array(band))

    def _row(self, place: int, window: int | None) -> list[Any]:
        """Return for each horizon by what its releases are multiplied; zero for what came later.

        A window that begins in an earlier horizon is the difference of two totals, and one inside of a horizon is
        made of that horizon alone.
        """
        start = self._start(place)
        if window is not None and 0 <= place - window < start - 1:
            totals = (self._row(place, None), self._row(place - window, None))
            return [one - other for one, other in zip(*totals, strict=True)]
        inside = window is not None and (not start or place - window >= start - 1)
        found: list[Any] = []
        for segment in self.segments:
            last = None if place < 0 or (inside and place >= segment.periods) else min(place, segment.periods - 1)
            found.append(segment.row(last, window if inside else None))
            place -= segment.periods
        return found

    def _start(self, place: int) -> int:
        """Return the first period of the horizon that holds a period."""
        return max((start for start in self.starts if start <= place), default=0)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The places at which horizons begin."""
        ends = accumulate(segment.periods for segment in self.segments)
        return (0, *list(ends)[:-1])

    def _decoded(self, row: Sequence[Any]) -> NDArray[np.float64]:
        import numpy as np

        total = sum(part @ segment.released for part, segment in zip(row, self.segments, strict=True))
        found: NDArray[np.float64] = np.asarray(total) * float(self.unit)
        return found if self.places is None else np.round(found, self.places)

    def _half(self, row: Sequence[Any], added: int, miss: float, at_once: int | None = None) -> float:
        """Return how far off an estimate over `added` periods is, of so many at once; all noise is of one kind."""
        wide = self.segments[0].width(list(zip(row, self.segments, strict=True)), miss, at_once)
        if self.coarse:
            wide += added / 2
        # And what rounding to thousandths of a row may move.
        shown = 0.0 if self.places is None else 0.5 / 10**self.places
        return float(wide * float(self.unit) * OUTWARD + shown)

    def _all_at_once(self, place: int, miss: float) -> tuple[float, int]:
        """Return what each key may miss so that all of them hold at once, and for how many periods it must hold."""
        number = 0
        while place >= self.segments[number].periods:
            place, number = place - self.segments[number].periods, number + 1
        share = miss / 2 ** (number + 1) if self.open_end else miss
        alone = -math.expm1(math.log1p(-share) / (1 if self.by_key else max(len(self.keys), 1)))
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

    def plot(self, key: int = 0, window: int | None = None, *, hide_below: float | None = None) -> SeriesChart:
        """Draw one key: the published line, what covers one period, and what covers all of them at once.

        Values under `hide_below` are drawn as ticks at that height.
        """
        found = self.totals() if window is None else self.window(window)
        return chart(self, found, key, window, hide_below)


def chart(
    series: Series, found: Estimates, key: int, window: int | None, hide_below: float | None = None
) -> SeriesChart:
    """Return the picture of one key."""
    if not series.periods:
        raise ParameterError("Nothing of this series is released yet; run the first period.")
    name = ", ".join(map(key_text, series.keys[key])) or "all"
    values = found.values[:, key]
    span = "since the start" if window is None else f"of the last {window} periods"
    what = "totals" if series.what == "rows" else series.what
    widest = max(found.band if found.ends is None else found.band[:, key])
    first, last = (_told(float(value), 2 * float(widest), hide_below) for value in (values[0], values[-1]))
    title = f"{name}: {what} {span}, first {first}, last {last}, within {_outward(float(widest))} everywhere at once"
    ends = (found.low[:, key], found.high[:, key], found.all_low[:, key], found.all_high[:, key])
    begins = tuple(start for start in series.starts[1:] if start < len(series.periods))
    title += _horizons(series, begins)
    drawn = tuple(map(tuple, ends))
    return SeriesChart(
        title, series.periods, tuple(values), drawn, series.promise, series.what, begins, hide_below=hide_below
    )


def _horizons(series: Series, begins: Sequence[int]) -> str:
    """Say where a horizon begins, for those who do not see the picture."""
    named = ", ".join(series.periods[place] for place in begins)
    return f"; a new horizon begins at {named}" if begins else ""


def edition_said(period: str) -> str:
    """Say where another edition of the file begins, for those who do not see the picture."""
    return f"; a new edition begins with {period}"


def _told(value: float, width: float, hide_below: float | None) -> str:
    """Return a number for the title; one that is left out of what is published only as being so small."""
    return _certain(value, width) if hide_below is None or value >= hide_below else f"below {hide_below}"


def _certain(value: float, width: float) -> str:
    """Return a number with as many digits as its width leaves certain; what rounds to nothing has no sign."""
    said = readable(value, width)
    return said.removeprefix("-") if not said.strip("-0.") else said


def _outward(width: float) -> str:
    """Return a width for people, of two digits and never too small.

    >>> _outward(8.0445), _outward(231.2), _outward(0.0125)
    ('8.1', '240', '0.013')
    """
    grain = 10.0 ** (math.floor(math.log10(width)) - 1) if 0 < width < math.inf else 1.0
    return readable(round(math.ceil(width / grain) * grain, 12))


def risk(confidence: Number) -> float:
    """Return how often an interval may miss."""
    return float(1 - between_zero_and_one(confidence, "confidence"))


@dataclass(frozen=True)
class SeriesChart(Drawing):
    """A published line with two bands around it; what was not published is not drawn."""

    title: str
    periods: tuple[str, ...]
    values: tuple[float, ...]
    ends: tuple[tuple[float, ...], ...]
    promise: str
    what: str = "rows"
    begins: tuple[int, ...] = ()
    """Where a further horizon begins: its noise is drawn anew, and from there on bands are wider."""
    edition: int | None = None
    """Where another edition of the file begins."""
    hide_below: float | None = None
    """Values below are left out of what is published: they are drawn as ticks at this height."""

    def figure(self) -> Any:
        """Return the matplotlib figure."""
        figure = blank(self.title, 7.2, 3.8)
        chart = figure.subplots()
        places = range(len(self.periods))
        hidden = [self.hide_below is not None and value < self.hide_below for value in self.values]
        values, low, high, all_low, all_high = (
            [math.nan if out else cell for cell, out in zip(cells, hidden, strict=True)]
            for cells in (self.values, *self.ends)
        )
        bands = ((all_low, all_high, 0.15, "all periods, 95 %"), (low, high, 0.3, "one period, 95 %"))
        for low, high, shade, name in bands:
            chart.fill_between(places, low, high, color=MEASURE, alpha=shade, linewidth=0, label=name)
        chart.plot(places, values, color=MEASURE, linewidth=1.5, label="published")
        if any(hidden):
            below = [place for place, out in enumerate(hidden) if out]
            chart.plot(below, [self.hide_below] * len(below), "|", color=INK, markersize=9, label=BELOW)
        for number, place in enumerate(self.begins):
            said = None if number else "a new horizon begins"
            chart.axvline(place - 0.5, color=INK, linewidth=0.8, linestyle=":", label=said)
        if self.edition is not None:
            chart.axvline(self.edition - 0.5, color=INK, linewidth=0.8, linestyle="--", label=EDITION)
        step = max(1, len(self.periods) // 6)
        chart.set_xticks(list(places)[::step], self.periods[::step], rotation=20)
        chart.set_xlabel(NEIGHBOURS, color=INK)
        chart.set_ylabel(f"{self.what}; noise of privacy only", color=INK)
        chart.grid(True, color=FAINT, linewidth=0.6)
        quiet(chart)
        chart.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, frameon=False, title=self.promise or None)
        return figure
