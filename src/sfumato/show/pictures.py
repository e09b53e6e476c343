"""Pictures: a few plain line charts side by side, as SVG or PNG.

matplotlib is imported when a picture is drawn. The output is a function of the data alone: no date, no random
identifiers, so that a picture in a repository changes only when its content does.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError

INK = "#333333"
FAINT = "#d9d9d9"
# Okabe and Ito's colours: told apart by readers with any common colour blindness.
STYLES: dict[str, dict[str, Any]] = {
    "claim": {"color": "#e69f00", "linestyle": "-", "linewidth": 4.5},
    "measure": {"color": "#0072b2", "linestyle": "-", "linewidth": 1.5},
    "other": {"color": "#009e73", "linestyle": (0, (4, 2)), "linewidth": 1.5},
}
_PANEL_SIZE = (4.6, 3.4)
_SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "sfumato",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
}


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
    """One chart: labels with their units, and its lines."""

    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Picture:
    """Panels side by side under a title that says what they show."""

    title: str
    panels: tuple[Panel, ...]

    def svg(self) -> str:
        """Return the picture as SVG text, the same text for the same data."""
        page = io.StringIO()
        self._write(page, "svg")
        return page.getvalue()

    def save(self, path: str | Path) -> Path:
        """Write the picture as `.svg` or `.png` and return its path."""
        target = Path(path)
        kind = target.suffix.lower().lstrip(".")
        if kind not in ("svg", "png"):
            raise ParameterError(f"A picture is written as .svg or .png, and {target.name!r} ends in neither.")
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as page:
            self._write(page, kind)
        return target

    def html(self) -> str:
        """Return the picture as an HTML figure that a screen reader announces by its title."""
        drawing = self.svg()
        return f"<figure>{drawing[drawing.index('<svg') :]}</figure>"

    def _repr_svg_(self) -> str:
        return self.svg()

    def _write(self, page: Any, kind: str) -> None:
        import matplotlib as mpl

        with mpl.rc_context(_SETTINGS):
            figure = _draw(self)
            metadata = {"Date": None, "Title": self.title} if kind == "svg" else {"Software": None}
            figure.savefig(page, format=kind, dpi=150, metadata=metadata)


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
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    count = len(drawing.panels)
    figure = Figure(figsize=(_PANEL_SIZE[0] * count, _PANEL_SIZE[1]), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(drawing.title, x=0.01, ha="left", fontsize=11, color=INK)
    charts = figure.subplots(1, count, squeeze=False)[0]
    for chart, panel in zip(charts, drawing.panels, strict=True):
        _draw_panel(chart, panel)
    return figure


def _draw_panel(chart: Any, panel: Panel) -> None:
    for line in panel.lines:
        finite = [(x, y) for x, y in zip(line.x, line.y, strict=True) if math.isfinite(x) and math.isfinite(y)]
        chart.plot([x for x, _ in finite], [y for _, y in finite], label=line.name, **STYLES[line.style])
    if panel.log_x:
        chart.set_xscale("log")
        chart.xaxis.set_major_formatter("{x:g}")
    if panel.log_y:
        chart.set_yscale("log")
    else:
        chart.set_ylim(bottom=0)
    chart.set_xlabel(panel.x_label, color=INK)
    chart.set_ylabel(panel.y_label, color=INK)
    chart.grid(True, color=FAINT, linewidth=0.6)
    chart.set_axisbelow(True)
    chart.tick_params(colors=INK, length=3)
    for side in ("top", "right"):
        chart.spines[side].set_visible(False)
    # Above the axes, so that it can never cover a line.
    chart.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=len(panel.lines), frameon=False, borderaxespad=0.2)
