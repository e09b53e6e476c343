"""The two charts of a report: how much of each limit is used, and what k attributes together may lose."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from sfumato.exact import Infinity
from sfumato.report.figures import Meaning
from sfumato.show import Drawing, Gauge, Line, Panel, gauges, picture

if TYPE_CHECKING:
    from sfumato.report.threat import ThreatReport


def limits_chart(report: ThreatReport) -> Drawing | None:
    """Return bars of what is used of each limit, None if no line has a limit of its own."""
    rows = [
        Gauge(row.subject, row.percent, f"{row.percent} % of {row.guaranteed!s}")
        for row in report.rows
        if row.percent is not None and row.guaranteed is not None
    ]
    return gauges("How much of each limit is used", rows) if rows else None


def worst_chart(report: ThreatReport) -> Drawing | None:
    """Return the largest epsilon of any k attributes, guaranteed and used, None if nothing finite is known."""
    sizes = [float(worst.size) for worst in report.worst]
    promised = [_height(worst.promise) for worst in report.worst]
    used = [_height(worst.used) for worst in report.worst]
    if len(sizes) < 2 or not any(height < inf for height in (*promised, *used)):
        return None
    lines = (
        Line("guaranteed: the limits", sizes, promised, "claim"),
        Line("used so far: a meter", sizes, used, "measure"),
    )
    panel = Panel("k: attributes together", "largest epsilon of any k", lines, whole_x=True)
    return picture("The worst k attributes", [panel])


def _height(meaning: Meaning | None) -> float:
    if meaning is None or isinstance(meaning.epsilon, Infinity):
        return inf
    return float(meaning.epsilon)
