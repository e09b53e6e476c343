"""A running total over all of its horizons: which one it stands in, and what was released in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from sfumato.ledger import Ledger
from sfumato.publish.begun import Begun
from sfumato.publish.calendar import Slot
from sfumato.publish.file import PublicationFile, TableSpec
from sfumato.publish.found import Cell
from sfumato.publish.means import MeanSeries
from sfumato.publish.series import Series
from sfumato.publish.total import RunningTable, found_groups


def running_series(file: PublicationFile, spec: TableSpec, book: Ledger, promise: str = "") -> Series | MeanSeries:
    """Return a running total over all of its horizons."""
    return series_of(RunningTable(file, spec), book, promise)


def series_of(first: RunningTable, book: Ledger, promise: str = "") -> Series | MeanSeries:
    """Return a running total over all of its horizons, by the first of them."""
    tables = horizons_of(first, book)
    periods = [name for table in tables for name in table.done(book)]
    cells, segments = first.cells, [table.segment(book)[1] for table in tables if not first.measured.found]
    if first.measured.found:
        cells, rows = found_groups([table.kept(book) for table in tables])
        width = len(cells) * first.measured.parts
        segments = [table.totals.segment(one, width) for table, one in zip(tables, rows, strict=True)]
    open_end = first.file.horizon is not None
    found = Series(tuple(periods), cells, tuple(segments), first.gauge.unit, open_end, promise)
    found = replace(found, by_key=first.measured.found)
    return first.measured.series(found, first.grid)


def horizons_of(first: RunningTable, book: Ledger) -> list[RunningTable]:
    """Return the first horizon of a running total, and those after it in which something was released."""
    tables = [first]
    while True:
        following = replace(first, number=len(tables))
        full = len(tables[-1].done(book)) == len(tables[-1].periods)
        if not full or not following.periods or not following.done(book):
            return tables
        tables.append(following)


def current(
    file: PublicationFile, spec: TableSpec, book: Ledger, search: Callable[[Slot], Sequence[Cell]] | None = None
) -> RunningTable | None:
    """Return the horizon that a running total stands in; None after its last one."""
    return current_of(RunningTable(file, spec, 0, search), book)


def current_of(first: RunningTable, book: Ledger) -> RunningTable | None:
    """Return the horizon that a running total stands in, by the first of them; None after its last one."""
    table = first
    while table.periods:
        if len(table.done(book)) < len(table.periods):
            return table
        table = replace(first, number=table.number + 1)
    return None


def sweep(book: Ledger, totals: Iterable[Begun]) -> None:
    """Erase keys of totals that a kill left behind; called where no other runner is about to seal."""
    for begun in totals:
        if not begun.known:
            continue
        table = current(begun.file, begun.spec, book)
        for number in range(table.number + 1 if table is not None else 1):
            RunningTable(begun.file, begun.spec, number).sweep(book)
