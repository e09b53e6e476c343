"""Released against true: every answer as a dot with its interval, and how large the errors are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.errors import ParameterError
from sfumato.show.drawing import CLAIM, FAINT, INK, MEASURE, OTHER, Drawing, blank, quiet


@dataclass(frozen=True, repr=False)
class ComparedChart(Drawing):
    """On the left every answer over its true value, on the right how many of them err by at most so much.

    `low` and `high` are empty where the answers have no intervals; `width` is half of such an interval.
    """

    title: str
    unit: str
    true: tuple[float, ...]
    released: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    width: float | None = None

    def figure(self) -> Any:
        """Return the matplotlib figure."""
        figure = blank(self.title, 9.2, 3.9)
        left, right = figure.subplots(1, 2)
        self._draw_dots(left)
        self._draw_errors(right)
        for chart in (left, right):
            chart.grid(True, color=FAINT, linewidth=0.6)
            quiet(chart)
            # Above the axes, so that it can never cover a dot.
            chart.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, frameon=False, borderaxespad=0.2)
        return figure

    def _draw_dots(self, chart: Any) -> None:
        ends = (min(self.true), max(self.true))
        chart.plot(ends, ends, color=CLAIM, linewidth=4.5, label="no error", zorder=1)
        if self.low:
            band = {"color": MEASURE, "alpha": 0.35, "linewidth": 1.5, "zorder": 2}
            chart.vlines(self.true, self.low, self.high, label="95 % interval", **band)
        chart.plot(self.true, self.released, "o", color=MEASURE, markersize=2.6, label="released", zorder=3)
        chart.set_xlabel(f"true answer ({self.unit})", color=INK)
        chart.set_ylabel(f"released ({self.unit})", color=INK)

    def _draw_errors(self, chart: Any) -> None:
        errors = sorted(abs(one - other) for one, other in zip(self.true, self.released, strict=True))
        share = [100 * (place + 1) / len(errors) for place in range(len(errors))]
        chart.step([0.0, *errors], [0.0, *share], where="post", color=MEASURE, linewidth=1.5, label="answers")
        if self.width is not None:
            chart.axvline(self.width, color=OTHER, linestyle=(0, (4, 2)), linewidth=1.5, label="95 % of the noise")
        chart.set_ylim(0, 101)
        chart.set_xlim(left=0)
        chart.set_xlabel(f"error at most ({self.unit})", color=INK)
        chart.set_ylabel("answers (%)", color=INK)


def compared(
    title: str,
    unit: str,
    true: Sequence[float],
    released: Sequence[float],
    *,
    between: tuple[Sequence[float], Sequence[float]] | None = None,
    width: float | None = None,
) -> ComparedChart:
    """Return the picture of released answers against true ones; `between` are the low and the high ends.

    >>> "<svg" in compared("Two counts", "people", [10, 20], [11, 18], between=([8, 15], [14, 21]), width=3).svg()
    True
    """
    low, high = between or ((), ())
    if not true or len(true) != len(released) or len(low) != len(high) or len(low) not in (0, len(true)):
        raise ParameterError(
            "Give one released answer for each true one, at least one, and one low and high end for each or none."
        )
    return ComparedChart(title, unit, tuple(true), tuple(released), tuple(low), tuple(high), width)
