"""Bars: counts with error bars, and meters of how much of a limit is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.errors import ParameterError
from sfumato.show.drawing import ALARM, FAINT, INK, MEASURE, Drawing, blank, quiet

ROW = 0.28
"""Inches of height for a line of a horizontal chart."""

MANY = 60
"""From so many bars on, lying bars would fill a page: they stand upright, and only some are labelled."""

NEARLY_FULL = 90

APART = ("other", "missing")
"""Levels behind the values of a column."""


@dataclass(frozen=True)
class Bar:
    """A named value and the interval in which it would be without noise."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class BarChart(Drawing):
    """Bars with error bars: lying if there are few with names, upright if there are many or they are ordered."""

    title: str
    axis: str
    bars: tuple[Bar, ...]
    upright: bool = False
    caption: str = ""

    def figure(self) -> Any:
        """Return the matplotlib figure."""
        upright = self.upright or len(self.bars) > MANY
        figure = blank(self.title, 7.5, 3.6 if upright else 1.1 + ROW * len(self.bars), self.caption)
        chart = figure.subplots()
        values = [bar.value for bar in self.bars]
        places = list(range(len(values)))
        below = [max(0.0, bar.value - bar.low) for bar in self.bars]
        errors = [below, [max(0.0, bar.high - bar.value) for bar in self.bars]]
        style = {"ecolor": INK, "error_kw": {"elinewidth": 0.9}, "color": MEASURE, "alpha": 0.75}
        if upright:
            chart.bar(places, values, yerr=errors, width=0.85, **style)
            thin_labels(chart, [bar.name for bar in self.bars])
            chart.set_ylabel(self.axis, color=INK)
            chart.grid(True, axis="y", color=FAINT, linewidth=0.6)
        else:
            chart.barh(places, values, xerr=errors, height=0.7, **style)
            chart.set_yticks(places, [bar.name for bar in self.bars])
            chart.invert_yaxis()
            chart.set_xlabel(self.axis, color=INK)
            chart.grid(True, axis="x", color=FAINT, linewidth=0.6)
        quiet(chart)
        return figure


def thin_labels(chart: Any, names: Sequence[str], letters: int = 90) -> None:
    """Label every bar, or every n-th one where the names would run into each other.

    So many `letters` stand side by side. The last ones may be no values of the column but `other` and `missing`: they
    are labelled always.
    """
    ends = [place for place in range(max(0, len(names) - 2), len(names)) if names[place] in APART]
    room = max(1, letters // (1 + max(map(len, names))))
    step = -(-len(names) // room)
    regular = [place for place in range(0, len(names), step) if all(abs(place - end) >= step for end in ends)]
    shown = [*regular, *ends]
    chart.set_xticks(shown, [names[place] for place in shown])


def bars(title: str, axis: str, rows: Sequence[Bar], upright: bool = False, caption: str = "") -> BarChart:
    """Return a chart of bars with error bars.

    >>> drawing = bars("Ways to work", "people", [Bar("bus", 120, 110, 130), Bar("tram", 340, 330, 350)])
    >>> drawing.svg() == drawing.svg()
    True
    """
    if not rows:
        raise ParameterError("A chart of bars needs at least one bar.")
    return BarChart(title, axis, tuple(rows), upright, caption)


@dataclass(frozen=True)
class Gauge:
    """How much of one limit is used, in per cent, and both numbers in words."""

    name: str
    percent: float
    said: str


@dataclass(frozen=True, repr=False)
class GaugeChart(Drawing):
    """One lying bar for each limit: a pale track up to the limit, filled as far as it is used."""

    title: str
    gauges: tuple[Gauge, ...]

    def figure(self) -> Any:
        """Return the matplotlib figure."""
        figure = blank(self.title, 7.5, 1.2 + ROW * len(self.gauges))
        chart = figure.subplots()
        places = list(range(len(self.gauges)))
        filled = [min(100.0, gauge.percent) for gauge in self.gauges]
        colours = [ALARM if gauge.percent >= NEARLY_FULL else MEASURE for gauge in self.gauges]
        chart.barh(places, [100] * len(places), height=0.62, color=FAINT)
        chart.barh(places, filled, height=0.62, color=colours)
        for place, gauge in zip(places, self.gauges, strict=True):
            chart.text(102, place, gauge.said, va="center", ha="left", color=INK, fontsize=8.5)
        chart.set_yticks(places, [gauge.name for gauge in self.gauges])
        chart.invert_yaxis()
        chart.set_xlim(0, 140)
        chart.set_xticks([0, 25, 50, 75, 100])
        chart.axvline(100, color=INK, linewidth=1)
        chart.set_xlabel("used so far, in per cent of the limit", color=INK, loc="left")
        quiet(chart)
        return figure


def gauges(title: str, rows: Sequence[Gauge]) -> GaugeChart:
    """Return a chart of how much of each limit is used.

    >>> "<svg" in gauges("Limits", [Gauge("person", 40, "1.2 of 3")]).svg()
    True
    """
    if not rows:
        raise ParameterError("A chart of limits needs at least one limit.")
    return GaugeChart(title, tuple(rows))
