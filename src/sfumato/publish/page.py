"""The page of a publication: its promise, its pictures, its newest tables, and where the files are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from html import escape

from sfumato.answer import Answer, Frame
from sfumato.publish.bands import band_said, end_of
from sfumato.publish.begun import Begun
from sfumato.publish.calendar import Slot, slot_named
from sfumato.publish.file import PublicationFile, TableSpec
from sfumato.publish.means import MeanSeries
from sfumato.publish.metadata import revisions_said
from sfumato.publish.pictures import ALONE, PeriodChart
from sfumato.publish.series import NEIGHBOURS, Series, edition_said
from sfumato.publish.shown import shown_frame
from sfumato.show import Table
from sfumato.show.pages import Shown, html

DRAWN = 6
"""So many groups of a running total are drawn; the files have all of them."""


class _Text:
    """Some sentences on a page."""

    def __init__(self, *sentences: str) -> None:
        self.sentences = [one for one in sentences if one]

    def html(self) -> str:
        """Return a paragraph for each."""
        return "".join(f"<p>{escape(one)}</p>" for one in self.sentences)


class _Links:
    """Where the files are."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths

    def html(self) -> str:
        """Return a list of links."""
        listed = "".join(f'<li><a href="{escape(path)}">{escape(path)}</a></li>' for path in self.paths)
        return f"<ul>{listed}</ul>"


def page(
    file: PublicationFile,
    promise: Sequence[str],
    newest: Sequence[tuple[Slot, Mapping[str, Answer]]],
    running: Mapping[str, Series | MeanSeries],
    *,
    note: str = "",
    begun: Collection[Begun] = (),
    facts: Sequence[str] = (),
    charts: Mapping[str, PeriodChart] | None = None,
) -> str:
    """Return the whole page as one HTML text that loads nothing from anywhere."""
    specs, totals = {spec.name: spec for spec in file.tables}, {one.spec.name: one for one in begun}
    sections = [html("What is promised", [_Text(note, *promise, _late(file), *facts)])]
    for name, total in totals.items():
        drawn = _drawn(running[name], file, total.spec) if name in running else []
        said = [_Text(total.stopped)] if total.stopped else []
        sections.append(html(f"{name}: {total.spec.phrase}, running", [*drawn, *said]))
    for name, drawing in (charts or {}).items():
        sections.append(html(f"{name}, over time", [drawing, _Text(ALONE)]))
    for slot, answers in newest:
        for name, answer in answers.items():
            shown = shown_frame(answer, specs[name])
            rows, more = _table(shown, specs[name])
            wider = band_said(file, specs[name])
            below = _Text(more, *_readability(specs[name], shown), wider and f"{wider} The files have them.")
            sections.append(html(f"{name}, {slot.name}{_look(slot)}", [rows, below]))
    links = [f"latest/{spec.name}.csv" for spec in file.anew()] + [f"{spec.name}.csv" for spec in file.running()]
    listed = [link for link in links if "csv" in file.formats] + ["datapackage.json", "registry.yaml"]
    sections.append(html("Files", [_Links(listed)]))
    title = escape(f"{file.name}{' (made up)' if note else ''}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
        f"<body><h1>{title}</h1>{''.join(sections)}</body></html>\n"
    )


def _drawn(series: Series | MeanSeries, file: PublicationFile, spec: TableSpec) -> list[Shown]:
    if not series.periods:
        return [_Text("Nothing is released yet.")]
    starts = [slot_named(name).first for name in series.periods] if file.since > file.first else []
    began = next((place for place, start in enumerate(starts) if start >= file.since), None)
    keys = range(min(DRAWN, len(series.keys)))
    pictures = [series.plot(place, hide_below=spec.hide_below) for place in keys]
    said = "" if began is None else edition_said(series.periods[began])
    shown: list[Shown] = [replace(one, title=one.title + said, edition=began) for one in pictures]
    return [*shown, _Text(NEIGHBOURS)]


def _table(frame: Frame, spec: TableSpec) -> tuple[Table, str]:
    """Return the first rows with intervals beside their numbers, as many digits as these leave certain."""
    shown, more = frame.shown()
    if spec.hide_below is None:
        return shown.table(), more
    hidden = {
        name: tuple(_left_out(name, shown, spec) if cell is None else cell for cell in cells)
        for name, cells in shown.columns.items()
        if name not in frame.keys
    }
    drawn = replace(shown, columns={**shown.columns, **hidden}).table()
    return replace(drawn, rows=tuple(tuple("" if cell == " to " else cell for cell in row) for row in drawn.rows)), more


def _left_out(name: str, frame: Frame, spec: TableSpec) -> str:
    return "" if end_of(name, frame.columns, frame.keys) else f"below {spec.hide_below}"


def _readability(spec: TableSpec, frame: Frame) -> list[str]:
    found = ["Intervals hold for each row, 95 % of the time; noise of privacy only, not sampling error."]
    if any(map(any, frame.unknown.values())):
        found.append(
            "Not known: there may be no row to average, or too few for this spend; the interval is all that is known. "
            "In the files the column that ends in known says so."
        )
    if spec.hide_below is not None:
        found.append(
            f"What is published as a number below {spec.hide_below} is left out, for readability and not for privacy."
        )
    return found


def _look(slot: Slot) -> str:
    return f", revised ({slot.revision})" if slot.revision else ""


def _late(file: PublicationFile) -> str:
    wait = f"{file.wait} days after its end" if file.wait else "after its end"
    if not file.revisions:
        late = f"more than {file.lateness} days late" if file.lateness else "later"
        return f"A {file.one_period} is read once, {wait}; rows that arrive {late} are never read."
    said = revisions_said(file)
    return f"A {file.one_period} is read {wait}; rows that arrive later count in its revisions only: {said}"
