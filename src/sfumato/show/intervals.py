"""Intervals: values as dots on a line, each with the range in which it would be without noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.errors import ParameterError
from sfumato.show.bars import ROW
from sfumato.show.drawing import FAINT, INK, MEASURE, Drawing, blank, quiet


@dataclass(frozen=True)
class Dot:
    """A named value; without ends it has no interval, and of an `unknown` one nothing else is known."""

    name: str
    value: Any
    low: Any = None
    high: Any = None
    unknown: bool = False


@dataclass(frozen=True)
class IntervalLine:
    """One chart of dots under a label that says what is measured."""

    axis: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True, repr=False)
class IntervalChart(Drawing):
    """Charts of dots and their intervals side by side; they share the names of the dots."""

    title: str
    rows: tuple[IntervalLine, ...]
    caption: str = ""

    def figure(self) -> Any:
        """Return the matplotlib figure."""
        height = 1.15 + ROW * max(len(row.dots) for row in self.rows)
        figure = blank(self.title, 3.2 + 3.4 * len(self.rows), height, self.caption)
        charts = figure.subplots(1, len(self.rows), squeeze=False, sharey=True)[0]
        for chart, row in zip(charts, self.rows, strict=True):
            _draw_row(chart, row)
        charts[0].invert_yaxis()
        return figure


def _draw_row(chart: Any, row: IntervalLine) -> None:
    for place, dot in enumerate(row.dots):
        if dot.value is None:
            continue
        if dot.low is not None and dot.unknown:
            # Hollow, over all that is possible: the number that was drawn tells nothing.
            chart.barh([place], [dot.high - dot.low], left=[dot.low], height=0.3, fill=False, edgecolor=MEASURE)
            continue
        if dot.low is not None:
            band = {"linewidth": 5, "alpha": 0.35, "solid_capstyle": "butt"}
            chart.plot([dot.low, dot.high], [place, place], color=MEASURE, **band)
        filled = "none" if dot.unknown else MEASURE
        chart.plot([dot.value], [place], marker="o", markersize=5, color=MEASURE, markerfacecolor=filled)
    named = any(dot.name for dot in row.dots)
    chart.set_yticks(range(len(row.dots)) if named else [], [dot.name for dot in row.dots] if named else [])
    chart.set_ylim(-0.6, len(row.dots) - 0.4)
    chart.set_xlabel(row.axis, color=INK)
    chart.margins(x=0.12)
    chart.grid(True, axis="x", color=FAINT, linewidth=0.6)
    quiet(chart)


def intervals(title: str, rows: Sequence[IntervalLine], caption: str = "") -> IntervalChart:
    """Return charts of values with their intervals.

    >>> "<svg" in intervals("Mean hours", [IntervalLine("hours a week", (Dot("all", 40.4, 40.1, 40.7),))]).svg()
    True
    """
    if not rows or not all(row.dots for row in rows):
        raise ParameterError("A chart of intervals needs at least one value in every row.")
    return IntervalChart(title, tuple(rows), caption)
