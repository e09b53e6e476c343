"""Pictures of tables that are asked anew: their numbers over the periods, gaps where there is no answer (PB-BAND).

Only what is published is drawn, as it is published: rounded, with its interval, and small values at the threshold below
which they are left out. Nobody sees a line across a period that has no answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.answer import Answer, Frame
from sfumato.publish.calendar import Slot
from sfumato.publish.file import PublicationFile, TableSpec
from sfumato.publish.series import BELOW, EDITION, edition_said
from sfumato.publish.shown import published_frame
from sfumato.show.drawing import CLAIM, FAINT, INK, MEASURE, OTHER, Drawing, blank, quiet
from sfumato.show.views import key_text, readable

LAST = 60
"""So many of the newest periods are drawn; the files have all of them."""
GROUPS = 3
"""So many groups of a table are drawn, those that come first in it."""
COLOURS = (MEASURE, CLAIM, OTHER)
ALONE = "Every period has noise of its own, so a step from one to the next is noise first."
NO_ANSWER = "no answer"
Point = tuple[float, float, float]
"""A value and the ends of its interval."""


@dataclass(frozen=True)
class Line:
    """One group over the periods; None where nothing is published of it."""

    name: str
    points: tuple[Point | None, ...]
    hidden: tuple[int, ...] = ()
    """Where its value is left out because it is small."""
    revised: tuple[tuple[int, Point], ...] = ()
    """What was published of a second look at a period."""


@dataclass(frozen=True)
class PeriodChart(Drawing):
    """Published numbers with their intervals over the periods, and gaps where there is no answer."""

    title: str
    """All that the picture shows, for who does not see it."""
    heading: str
    periods: tuple[str, ...]
    lines: tuple[Line, ...]
    gaps: tuple[int, ...] = ()
    edition: int | None = None
    """Where an edition of the file begins that is not the first."""
    threshold: float | None = None
    promise: str = ""
    what: str = ""

    def figure(self) -> Any:
        """Return the matplotlib figure."""
        figure = blank(self.heading, 7.2, 3.8)
        chart = figure.subplots()
        for line, colour in zip(self.lines, COLOURS, strict=False):
            self._draw(chart, line, colour)
        marks = [(BELOW, line.hidden) for line in self.lines if line.hidden]
        for said, places in marks:
            level = [self.threshold] * len(places)
            chart.plot(places, level, "|", color=INK, markersize=9, fillstyle="none", label=said)
        for number, place in enumerate(self.gaps):
            chart.axvspan(place - 0.5, place + 0.5, color=FAINT, linewidth=0, label=None if number else NO_ANSWER)
        if self.edition is not None:
            chart.axvline(self.edition - 0.5, color=INK, linewidth=0.8, linestyle="--", label=EDITION)
        step = max(1, len(self.periods) // 6)
        chart.set_xticks(range(len(self.periods))[::step], self.periods[::step], rotation=20)
        chart.set_xlabel(ALONE, color=INK)
        chart.set_ylabel(f"{self.what}; noise of privacy only", color=INK)
        chart.grid(True, color=FAINT, linewidth=0.6)
        quiet(chart)
        shown = dict(zip(*chart.get_legend_handles_labels()[::-1], strict=True))  # each name once
        where: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "ncols": 3, "frameon": False}
        chart.legend(shown.values(), shown.keys(), title=self.promise or None, **where)
        return figure

    def _draw(self, chart: Any, line: Line, colour: str) -> None:
        """Draw a line that is broken where nothing is published, and second looks beside it."""
        nothing = (math.nan,) * 3
        values, low, high = zip(*(nothing if point is None else point for point in line.points), strict=True)
        places = range(len(values))
        chart.fill_between(places, low, high, color=colour, alpha=0.25, linewidth=0)
        chart.vlines(places, low, high, color=colour, alpha=0.4, linewidth=1)  # also of a point that stands alone
        chart.plot(places, values, color=colour, linewidth=1.2, marker=".", markersize=4, label=line.name)
        for place, (value, below, above) in line.revised:
            ends = [[max(value - below, 0)], [max(above - value, 0)]]
            chart.errorbar([place + 0.2], [value], ends, fmt="D", color=colour, fillstyle="none", label="revised")


def period_chart(
    file: PublicationFile,
    spec: TableSpec,
    released: Mapping[Slot, Callable[[], Mapping[str, Answer]]],
    dead: Collection[str],
    promise: str,
) -> PeriodChart | None:
    """Return the picture of a table over its newest periods; None where it has no numbers with intervals, or few."""
    own = [slot for slot in released if slot.unit == spec.every]
    firsts = [slot for slot in own if not slot.revision]
    if not firsts:
        return None
    ends = [slot.last for slot in firsts] + [slot.last for slot in file.slots(spec.every, _end(file, dead, firsts))]
    slots = [slot for slot in file.slots(spec.every, max(ends)) if slot in released or slot.issue in dead]
    between = file.slots(spec.every, slots[-1].last)[-LAST:]
    places = {slot.name: place for place, slot in enumerate(between)}
    looks = [slot for slot in own if slot.name in places]
    frames = {slot: _frame(released[slot](), spec) for slot in looks}
    found = {slot: frame for slot, frame in frames.items() if frame is not None}
    drawn = [slot for slot in found if not slot.revision]
    if len(drawn) < 2:
        return None
    column = _column(found[drawn[-1]])
    if column is None:
        return None
    lines = tuple(_lines(found, drawn[-1], column, spec, places))
    began = next((place for place, slot in enumerate(between) if slot.first >= file.since), None)
    edition = began if file.since > file.first else None
    gaps = tuple(place for place, slot in enumerate(between) if slot.issue in dead)
    title = _title(spec, column, lines, [between[place].name for place in gaps])
    title += "" if edition is None else edition_said(between[edition].name)
    names = tuple(slot.name for slot in between)
    return PeriodChart(
        title, _heading(spec, column), names, lines, gaps, edition, spec.hide_below, promise, column.replace("_", " ")
    )


def _end(file: PublicationFile, dead: Collection[str], released: Sequence[Slot]) -> Any:
    """Return the last day of what was released, or of what died after it."""
    last = max(slot.last for slot in released)
    later = [slot.last for slot in file.slots(released[0].unit, file.last or last) if slot.issue in dead]
    return max([last, *later])


def _frame(answers: Mapping[str, Answer], spec: TableSpec) -> Frame | None:
    return published_frame(answers[spec.name], spec) if spec.name in answers else None


def _column(frame: Frame) -> str | None:
    """Return the first column that has an interval."""
    return next((name for name in frame.columns if f"{name}_low" in frame and f"{name}_high" in frame), None)


def _rows(frame: Frame, column: str) -> dict[tuple[Any, ...], tuple[Any, Any, Any, bool]]:
    """Return by group the value, its ends, and whether nothing is known of it."""
    keys = list(zip(*(frame[name] for name in frame.keys), strict=True)) if frame.keys else [()]
    marks = frame.unknown.get(column, (False,) * len(keys))
    cells = zip(frame[column], frame[f"{column}_low"], frame[f"{column}_high"], marks, strict=True)
    return dict(zip(keys, cells, strict=True))


def _lines(
    found: Mapping[Slot, Frame], newest: Slot, column: str, spec: TableSpec, places: Mapping[str, int]
) -> Iterator[Line]:
    rows = {slot: _rows(frame, column) for slot, frame in found.items() if _column(frame) == column}
    for key in list(rows[newest])[:GROUPS]:
        points: list[Point | None] = [None] * len(places)
        hidden, revised = [], []
        for slot, cells in rows.items():
            value, low, high, unknown = cells.get(key, (None, None, None, True))
            place = places[slot.name]
            if value is not None and not unknown:
                point = (value, low, high)
                if slot.revision:
                    revised.append((place, point))
                else:
                    points[place] = point
            elif key in cells and spec.hide_below is not None and not slot.revision:
                hidden.append(place)
        name = ", ".join(map(key_text, key)) or spec.name
        yield Line(name, tuple(points), tuple(hidden), tuple(revised))


def _heading(spec: TableSpec, column: str) -> str:
    return f"{spec.name}, {column.replace('_', ' ')} by period"


def _title(spec: TableSpec, column: str, lines: Sequence[Line], gaps: Sequence[str]) -> str:
    """Return what a reader who does not see the picture should know: first, last, the widest interval, and gaps."""
    told = []
    for line in lines:
        known = [point for point in line.points if point is not None]
        if known:
            widest = max(high - low for _, low, high in known)
            first, last = (readable(point[0], widest) for point in (known[0], known[-1]))
            told.append(f"{line.name} first {first}, last {last}, intervals {readable(widest, widest)} wide at most")
    said = "; ".join(told) or "nothing above what is shown"
    return f"{_heading(spec, column)}: {said}" + (f"; no answer: {', '.join(gaps)}" if gaps else "")
