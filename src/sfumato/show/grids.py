"""Several small charts on one page: bars for single columns, heat maps for pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.errors import ParameterError
from sfumato.show.bars import thin_labels
from sfumato.show.drawing import FAINT, INK, MEASURE, Drawing, blank, quiet

ACROSS = 3
"""Charts side by side."""
SIZE = (3.4, 2.5)
LABELS = 8
"""Labels along an axis of a small heat map."""


@dataclass(frozen=True)
class SmallBars:
    """How many rows each value of a column has."""

    name: str
    labels: tuple[str, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class SmallHeat:
    """How many rows each pair of values has, the first column down."""

    names: tuple[str, str]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, repr=False)
class Grid(Drawing):
    """Small charts in rows of three under one title; the caption below says how far they may be off."""

    title: str
    charts: tuple[SmallBars | SmallHeat, ...]
    caption: str = ""

    def figure(self) -> Any:
        """Return the matplotlib figure."""
        across = min(ACROSS, len(self.charts))
        down = -(-len(self.charts) // across)
        figure = blank(self.title, max(6.0, SIZE[0] * across), 0.4 + SIZE[1] * down, self.caption)
        places = figure.subplots(down, across, squeeze=False).ravel()
        for place, chart in zip(places, self.charts, strict=False):
            _draw_bars(place, chart) if isinstance(chart, SmallBars) else _draw_heat(figure, place, chart)
        for place in places[len(self.charts) :]:
            place.set_visible(False)
        return figure


def _draw_bars(place: Any, chart: SmallBars) -> None:
    place.bar(range(len(chart.values)), chart.values, width=0.85, color=MEASURE, alpha=0.75)
    thin_labels(place, [_short(label) for label in chart.labels], 24)
    place.set_title(chart.name, loc="left", fontsize=9.5, color=INK)
    place.set_ylabel("rows", color=INK)
    place.grid(True, axis="y", color=FAINT, linewidth=0.6)
    quiet(place)


def _draw_heat(figure: Any, place: Any, chart: SmallHeat) -> None:
    drawn = place.imshow(chart.values, cmap="Blues", aspect="auto", vmin=0)
    for axis, labels in ((place.yaxis, chart.labels[0]), (place.xaxis, chart.labels[1])):
        shown = range(0, len(labels), -(-len(labels) // LABELS))
        axis.set_ticks(list(shown), [_short(labels[one]) for one in shown])
    place.tick_params(colors=INK, length=0)
    place.tick_params(axis="x", rotation=30 if max(map(len, map(_short, chart.labels[1]))) > 4 else 0)
    place.set_title(f"{chart.names[0]} and {chart.names[1]}", loc="left", fontsize=9.5, color=INK)
    place.set_ylabel(chart.names[0], color=INK)
    place.set_xlabel(chart.names[1], color=INK)
    for side in place.spines.values():
        side.set_visible(False)
    figure.colorbar(drawn, ax=place, label="rows")


def _short(label: str) -> str:
    return label if len(label) <= 12 else f"{label[:11]}…"


def grid(title: str, charts: Sequence[SmallBars | SmallHeat], caption: str = "") -> Grid:
    """Return small charts on one page.

    >>> "<svg" in grid("Days", [SmallBars("rain", ("no", "yes"), (3, 4))], "Made up.").svg()
    True
    """
    if not charts:
        raise ParameterError("A page of charts needs at least one chart.")
    return Grid(title, tuple(charts), caption)
