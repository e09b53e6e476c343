"""Heat maps: a colour and an error bar for every cell of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.errors import ParameterError
from sfumato.show.drawing import CLAIM, INK, Drawing, blank

WRITTEN = 150
"""Up to so many cells the numbers and error bars are drawn inside them."""

MOST_LABELS = 30


@dataclass(frozen=True, repr=False)
class HeatMap(Drawing):
    """A table of numbers as colours; a bar in each cell shows what the noise may have moved, on one common scale."""

    title: str
    axes: tuple[str, str]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    values: tuple[tuple[float, ...], ...]
    low: tuple[tuple[float, ...], ...]
    high: tuple[tuple[float, ...], ...]

    def figure(self) -> Any:
        """Return the matplotlib figure."""
        down, across = len(self.labels[0]), len(self.labels[1])
        figure = blank(self.title, min(14.0, 3.2 + 0.62 * across), min(12.0, 1.6 + 0.42 * down))
        chart = figure.subplots()
        drawn = chart.imshow(self.values, cmap="Blues", aspect="auto", vmin=0)
        for label, axis, names in (("y", chart.yaxis, self.labels[0]), ("x", chart.xaxis, self.labels[1])):
            step = -(-len(names) // MOST_LABELS)
            shown = list(range(0, len(names), step))
            axis.set_ticks(shown, [names[place] for place in shown])
            chart.tick_params(axis=label, colors=INK, length=0)
        chart.tick_params(axis="x", rotation=30 if max(map(len, self.labels[1])) > 6 else 0)
        chart.set_ylabel(self.axes[0], color=INK)
        chart.set_xlabel(self.axes[1], color=INK)
        for side in chart.spines.values():
            side.set_visible(False)
        widest = self._widest()
        figure.colorbar(drawn, ax=chart, label=f"people (orange bars: intervals, the widest is {widest:.4g})")
        if down * across <= WRITTEN:
            self._write_cells(chart, widest)
        return figure

    def _widest(self) -> float:
        ends = zip(self.low, self.high, strict=True)
        return max(above - below for lows, highs in ends for below, above in zip(lows, highs, strict=True))

    def _write_cells(self, chart: Any, widest: float) -> None:
        largest = max(max(row) for row in self.values)
        scale = 0.8 / max(widest, largest, 1e-12)
        for down, row in enumerate(self.values):
            for across, value in enumerate(row):
                dark = value > 0.6 * largest
                chart.text(
                    across,
                    down - 0.12,
                    f"{value:.0f}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="w" if dark else INK,
                )
                # The bar stands for the interval on a scale from 0 at the left of the cell to the largest number.
                ends = [across - 0.4 + scale * max(0.0, end[down][across]) for end in (self.low, self.high)]
                chart.plot(ends, [down + 0.28] * 2, color=CLAIM, linewidth=2, solid_capstyle="butt", clip_on=True)


def heat_map(
    title: str, axes: tuple[str, str], labels: Sequence[Sequence[str]], values: Any, *, low: Any, high: Any
) -> HeatMap:
    """Return a heat map of a table with two axes, the first one down.

    >>> drawing = heat_map("Rain", ("town", "day"), (("A", "B"), ("1",)), [[3], [5]], low=[[2], [4]], high=[[4], [6]])
    >>> drawing.svg() == drawing.svg()
    True
    """
    rows = [tuple(tuple(float(cell) for cell in row) for row in table) for table in (values, low, high)]
    shape = (len(labels[0]), len(labels[1]))
    if not all(shape) or any(len(table) != shape[0] or any(len(row) != shape[1] for row in table) for table in rows):
        raise ParameterError("A heat map has one number, one low and one high end for each pair of labels; give them.")
    return HeatMap(title, axes, (tuple(labels[0]), tuple(labels[1])), rows[0], rows[1], rows[2])
