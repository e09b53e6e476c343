"""What all pictures share: how they are written, and how they look.

matplotlib is imported when a picture is drawn. The output is a function of the data alone: no date, no random
identifiers, so that a picture in a repository changes only when its content does.
"""

from __future__ import annotations

import io
import warnings
from abc import ABC, abstractmethod
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Any

from sfumato.durable import require_new
from sfumato.errors import ParameterError

INK = "#333333"
FAINT = "#d9d9d9"
# Okabe and Ito's colours: told apart by readers with any common colour blindness.
CLAIM = "#e69f00"
MEASURE = "#0072b2"
OTHER = "#009e73"
ALARM = "#d55e00"

LETTERS = 17
"""So many small letters stand on an inch of a caption."""
LINE = 0.16
"""Inches of height for a line of a caption."""

_SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "sfumato",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
}


class Drawing(ABC):
    """Anything that can be drawn under a title that says what it shows."""

    title: str

    @abstractmethod
    def figure(self) -> Any:
        """Return the matplotlib figure."""

    def svg(self) -> str:
        """Return the picture as SVG text, the same text for the same data."""
        page = io.StringIO()
        self._write(page, "svg")
        return page.getvalue()

    def save(self, path: str | Path) -> Path:
        """Write the picture as `.svg` or `.png` and return its path."""
        if not isinstance(path, (str, Path)):
            raise ParameterError(f"A picture is named by its path, not by {type(path).__name__}; write 'answer.svg'.")
        target = Path(path)
        kind = target.suffix.lower().lstrip(".")
        if kind not in ("svg", "png"):
            raise ParameterError(f"A picture is written as .svg or .png, and {target.name!r} ends in neither.")
        require_new(target, overwrite=True, in_folder=True)
        with target.open("wb") as page:
            self._write(page, kind)
        return target

    def html(self) -> str:
        """Return the picture as an HTML figure that a screen reader announces by its title."""
        drawing = self.svg()
        inside = drawing[drawing.index("<svg") + len("<svg") :]
        return f'<figure><svg role="img" aria-label="{escape(self.title)}"{inside}</figure>'

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"Picture of {self.title!r}; a notebook shows it, and .save('picture.svg') writes it."

    def _repr_svg_(self) -> str:
        return self.svg()

    def _write(self, page: Any, kind: str) -> None:
        import matplotlib as mpl

        with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
            # A name in letters that the font lacks is drawn as boxes; that is no reason to fail.
            warnings.filterwarnings("ignore", "Glyph")
            figure = self.figure()
            metadata = {"Date": None, "Title": self.title} if kind == "svg" else {"Software": None}
            figure.savefig(page, format=kind, dpi=150, metadata=metadata)


def blank(title: str, width: float, height: float, caption: str = "") -> Any:
    """Return an empty figure of so many inches with a title on its left; a caption below adds to its height."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    lines = [line for part in caption.splitlines() for line in wrap(part, int(LETTERS * width))]
    figure = Figure(figsize=(width, height + LINE * len(lines)), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, color=INK)
    if lines:
        # A label below all charts is given room by the layout, as an axis is.
        figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=7.5, color=INK)
    return figure


def quiet(chart: Any) -> None:
    """Take away what carries nothing: the frame above and on the right, dark ticks."""
    chart.set_axisbelow(True)
    chart.tick_params(colors=INK, length=3)
    for side in ("top", "right"):
        chart.spines[side].set_visible(False)
