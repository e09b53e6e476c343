"""A rising curve with the band in which it lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.errors import ParameterError
from sfumato.show.drawing import FAINT, INK, MEASURE, Drawing, blank, quiet


@dataclass(frozen=True, repr=False)
class BandChart(Drawing):
    """One curve over places in rising order, and the band from `low` to `high` around it."""

    title: str
    x_label: str
    y_label: str
    places: tuple[Any, ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def figure(self) -> Any:
        """Return the matplotlib figure."""
        figure = blank(self.title, 5.6, 3.6)
        chart = figure.subplots()
        chart.fill_between(self.places, self.low, self.high, color=MEASURE, alpha=0.25, linewidth=0)
        chart.plot(self.places, self.values, color=MEASURE, linewidth=1.5)
        chart.set_ylim(0, 1)
        chart.set_xlabel(self.x_label, color=INK)
        chart.set_ylabel(self.y_label, color=INK)
        chart.grid(True, color=FAINT, linewidth=0.6)
        quiet(chart)
        return figure


def band_chart(title: str, labels: tuple[str, str], places: Sequence[Any], *curves: Sequence[float]) -> BandChart:
    """Return a curve of shares with its band; `labels` are those of the axes, `curves` the values, low and high.

    >>> "<svg" in band_chart("Ages", ("age", "share"), [0, 50, 100], [0, 0.6, 1], [0, 0.5, 1], [0, 0.7, 1]).svg()
    True
    """
    if len(curves) != 3 or not places or any(len(curve) != len(places) for curve in curves):
        raise ParameterError("A curve with a band has one value, one low and one high for each place.")
    values, low, high = map(tuple, curves)
    return BandChart(title, *labels, tuple(places), values, low, high)
