"""Pictures: a few plain line charts side by side, as SVG or PNG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.errors import ParameterError
from sfumato.show.drawing import CLAIM, FAINT, INK, MEASURE, OTHER, Drawing, blank, quiet

STYLES: dict[str, dict[str, Any]] = {
    "claim": {"color": CLAIM, "linestyle": "-", "linewidth": 4.5},
    "measure": {"color": MEASURE, "linestyle": "-", "linewidth": 1.5},
    "other": {"color": OTHER, "linestyle": (0, (4, 2)), "linewidth": 1.5},
}
_PANEL_SIZE = (4.6, 3.4)


@dataclass(frozen=True)
class Line:
    """A named curve; `style` is "claim", "measure" or "other"."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    style: str = "measure"

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise ParameterError(
                f"The line {self.name!r} has {len(self.x)} x and {len(self.y)} y values; give as many."
            )
        if self.style not in STYLES:
            raise ParameterError(f"No line style is called {self.style!r}; write one of {sorted(STYLES)}.")


@dataclass(frozen=True)
class Panel:
    """One chart: labels with their units, and its lines; `whole_x` marks whole numbers only."""

    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False
    whole_x: bool = False


@dataclass(frozen=True, repr=False)
class Picture(Drawing):
    """Panels side by side under a title that says what they show."""

    title: str
    panels: tuple[Panel, ...]

    def figure(self) -> Any:
        """Return the matplotlib figure."""
        return _draw(self)


def picture(title: str, panels: Sequence[Panel]) -> Picture:
    """Return a picture to save or to put on a page.

    >>> line = Line("claimed", [1, 2], [1, 4], "claim")
    >>> drawing = picture("Loss grows", [Panel("order", "loss (nats)", (line,))])
    >>> drawing.svg() == drawing.svg()
    True
    """
    if not panels:
        raise ParameterError("A picture needs at least one panel.")
    return Picture(title, tuple(panels))


def _draw(drawing: Picture) -> Any:
    count = len(drawing.panels)
    figure = blank(drawing.title, _PANEL_SIZE[0] * count, _PANEL_SIZE[1])
    charts = figure.subplots(1, count, squeeze=False)[0]
    for chart, panel in zip(charts, drawing.panels, strict=True):
        _draw_panel(chart, panel)
    return figure


def _draw_panel(chart: Any, panel: Panel) -> None:
    for line in panel.lines:
        finite = [(x, y) for x, y in zip(line.x, line.y, strict=True) if math.isfinite(x) and math.isfinite(y)]
        alone = {"marker": "o", "markersize": 5} if len(finite) == 1 else {}  # a line through one point is not seen
        chart.plot([x for x, _ in finite], [y for _, y in finite], label=line.name, **STYLES[line.style], **alone)
    if panel.log_x:
        chart.set_xscale("log")
        chart.xaxis.set_major_formatter("{x:g}")
        chart.xaxis.set_minor_formatter("")  # between powers of ten the labels would run into each other
    if panel.whole_x:
        chart.xaxis.get_major_locator().set_params(integer=True)
    if panel.log_y:
        chart.set_yscale("log")
    else:
        chart.set_ylim(bottom=0)
    chart.set_xlabel(panel.x_label, color=INK)
    chart.set_ylabel(panel.y_label, color=INK)
    chart.grid(True, color=FAINT, linewidth=0.6)
    quiet(chart)
    # Above the axes, so that it can never cover a line.
    chart.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=len(panel.lines), frameon=False, borderaxespad=0.2)
