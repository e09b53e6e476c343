"""What a publication will cost and how far off it will be, before any data are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.answer import Answer
from sfumato.ledger.units import Unit
from sfumato.privacy import Concentrated
from sfumato.publish.bands import ENDS, end_of
from sfumato.publish.calendar import Slot
from sfumato.publish.file import PublicationFile, TableSpec
from sfumato.publish.means import MeanSeries
from sfumato.publish.promised import Share
from sfumato.publish.running import RunningTotals
from sfumato.publish.segments import band_factor
from sfumato.publish.series import Series
from sfumato.publish.total import RunningTable
from sfumato.publish.words import several

USUAL = 0.95
COLUMN = (
    "because a person's rows are cut over all of them together; write is = {column!r} under [unit] to cut them apart"
)
PERIOD = "because they are parts of what the table reads; limit each {read}, if that is what you promise"
APART = (
    "because a person's rows are cut in each {within} apart; leave is = {within!r} out of [unit] to cut them together"
)


@dataclass(frozen=True)
class TablePlan:
    """One table: how often it is released, what it costs one period of one person, and how wide its noise is."""

    name: str
    every: str
    spend: str
    error: str

    def to_json(self) -> dict[str, str]:
        """Return the four texts."""
        return {"table": self.name, "every": self.every, "spend": self.spend, "error": self.error}


@dataclass(frozen=True)
class PublicationPlan:
    """What a publication promises, costs and shows."""

    name: str
    edition: str
    promise: tuple[str, ...]
    tables: tuple[TablePlan, ...]
    refused: str | None
    to: str
    notes: tuple[str, ...] = ()
    """What limits cost more than the table says, and what to write if that is not meant."""

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {
            "name": self.name,
            "edition": self.edition,
            "promise": list(self.promise),
            "tables": [one.to_json() for one in self.tables],
            "refused": self.refused,
            "to": self.to,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        from sfumato.show import table

        rows = [[one.name, one.every, one.spend, one.error] for one in self.tables]
        drawn = table("", ["table", "every", "costs one period of a person", "noise, 95 %"], rows).text()
        end = "All periods fit the limits." if self.refused is None else f"A limit will refuse {self.refused}"
        where = f"Files go to {self.to}. Keep the private directory out of backups and of shared disks."
        return "\n".join(
            [f"{self.name} (edition {self.edition})", *filter(None, self.promise), "", drawn, *self.notes, end, where]
        )


def table_plan(spec: TableSpec, unit: str, error: str, cost: str | None = None) -> TablePlan:
    """Return the plan of one table; `cost` is what a person costs where the spend does not say it."""
    spend = ", ".join(f"{unit}: {cost or str(bound)}" for unit, bound in spec.spend.items())
    return TablePlan(spec.name, unit, spend, error)


def dearer(file: PublicationFile, spec: TableSpec, counts: int | None = None) -> list[str]:
    """Say which limits a table that is asked anew costs more than its spend, and what to write if that is not meant.

    `counts` is how many times its rho an exchange of rows costs, None where that is not known of the table.
    """
    promised, slot = file.promised, Slot.of(spec.every, file.first)
    spend, found = spec.spend[spec.every], list[str]()
    if spend.unit != "person":
        return []
    least = promised.changes(Share(1, whole=True))
    shares = [(Unit.read(name), promised.met(name, slot)[1]) for name in promised.units]
    whole = [] if file.budget.person is None else [(None, promised.person)]
    for unit, share in (*shares, *whole):
        changes = promised.changes(share)
        bound = several(spend, changes // least, single=False)
        if counts is not None and isinstance(spend, Concentrated) and least == 1 and changes == 2 * share.units:
            bound = Concentrated(spend.rho * counts * share.units**2)
        if changes > least and bound not in (None, spend):
            who = "the person" if unit is None else f"each {unit.said}"
            found.append(f"{spec.name} costs {who} {bound}, {_why(file, spec, unit)}.")
    return found


def _why(file: PublicationFile, spec: TableSpec, unit: Unit | None) -> str:
    if file.within and (unit is None or unit.column != file.within):
        return APART.format(within=file.within)
    if unit is not None and unit.column and not file.within:
        return COLUMN.format(column=unit.column)
    return PERIOD.format(read=Unit.read(spec.every).said)


def running_error(table: RunningTable) -> str:
    """Say how wide the noise of a running total is, at one period and at all of them."""
    totals = table.totals
    if not isinstance(totals, RunningTotals) or not table.measured.rows:
        return _series_error(table)
    unit = float(table.gauge.unit)
    spread = (totals.variance * totals.factor.spread(table.spec.target)) ** 0.5
    all_at_once = band_factor(len(table.periods), 1 - USUAL) * float(spread.max()) * unit
    return f"±{1.96 * float(spread.mean()) * unit:.3g} one period, ±{all_at_once:.3g} all periods at once"


def _series_error(table: RunningTable) -> str:
    """Say the same from a series in which nothing but zeros was released."""
    totals, keys = table.totals, table.measured.width
    released = [[0] * keys * totals.entries(period) for period in range(1, totals.periods + 1)]
    names = tuple(slot.name for slot in table.periods)
    empty = Series(names, table.cells, (totals.segment(released, keys),), table.gauge.unit)
    series = table.measured.series(empty, table.grid)
    if isinstance(series, MeanSeries):
        return f"sum {_widths(table, series.sums)}; count {_widths(table, series.counts)}"
    return _widths(table, series)


def _widths(table: RunningTable, series: Series) -> str:
    found = series.totals() if table.spec.target is None else series.window(table.spec.target)
    return f"±{float(found.half.mean()):.3g} one period, ±{float(found.band.max()):.3g} all periods at once"


def rehearsed_error(answer: Answer) -> str:
    """Say how wide the intervals of an answer to made-up rows are: they hardly depend on the rows."""
    if hasattr(answer.value, "sample"):
        return "see a preview"
    columns, keys = answer.frame.columns, answer.frame.keys
    low, high = (next((name for name in columns if end_of(name, columns, keys) == end), None) for end in ENDS)
    if low is None or high is None:
        return "see a preview"
    ends = [
        (high_end - low_end) / 2
        for low_end, high_end in zip(columns[low], columns[high], strict=True)
        if isinstance(low_end, (int, float)) and isinstance(high_end, (int, float))
    ]
    return f"±{max(ends):.3g}" if ends else "see a preview"
