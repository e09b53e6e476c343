"""A running total that is asked through a curator, the data of one period after the other (PB-CONTINUAL, PB-MEMORY).

It is the total of a publication without its file: charged, frozen, drawn, stored and decoded in the same way. Periods
are numbered, and a person may be in all of them; or they have dates, of which each row names its own, so that limits on
days hold. What rows of a period are is what the caller hands over, so a step says which period it is, or is refused
where that is not certain.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sfumato.answer import Frame
from sfumato.curator.shorthands import CONVERSATIONS, Shorthands
from sfumato.curator.typed import read_question
from sfumato.errors import LedgerError, ParameterError, SchemaError, Unfinished
from sfumato.exact import Number
from sfumato.ledger import Ledger
from sfumato.ledger.request import check_id
from sfumato.ledger.units import UNITS
from sfumato.privacy import Attributes, Bound, Concentrated, Loss, Pure, require_bound
from sfumato.privacy.attributes import Everything
from sfumato.publish.begun import ENDED
from sfumato.publish.calendar import Slot, slots_between
from sfumato.publish.file import PublicationFile, TableSpec
from sfumato.publish.horizons import current_of, horizons_of, series_of
from sfumato.publish.layout import series_frame
from sfumato.publish.matrix import MOST_PERIODS
from sfumato.publish.means import MeanSeries
from sfumato.publish.memory import CountingRule
from sfumato.publish.planned import running_error
from sfumato.publish.reading import read_day, read_positive, read_unit
from sfumato.publish.series import Estimates, Series, SeriesChart
from sfumato.publish.shelves import Folder, Held, Shelf
from sfumato.publish.total import RunningTable
from sfumato.publish.words import in_short
from sfumato.publish.zones import starts_of, zone_named
from sfumato.questions import GroupBy, Question
from sfumato.table.data import Table, open_table
from sfumato.table.periods import Span
from sfumato.table.schema import Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from numpy.typing import NDArray

OTHERWISE = (
    "The running total {name!r} was begun as another one: its question, periods, spend or the schema were different. "
    "Open it as it was, or give this one a name of its own: curator.running(…, name='second')."
)
WHICH = (
    "{done} periods of {name!r} are released{cut}, and this table does not say of which period it is; write "
    "step(table, {next!r}), which reads nothing if that one is released, and never twice."
)
CUT = ", and the one after them was read, kept and cut short before it was released"
DAY_BY_DAY = (
    "This ledger has a limit for each {unit}, so it must be known which days a row is of; write curator.running(…, "
    "stamp='at', first='2026-01-01'), with the column that says when a row happened."
)
NO_PLACE = (
    "A running total keeps what it read for as long as it runs, and this ledger has no directory for that; name one "
    "when you open it, as secret as the data: curate(…, private='visits.private')."
)
EMPTY_PLACE = (
    "{place} holds nothing of what running totals have read: mount it or put it back, and step again; nothing was "
    "done. If it is lost for good, the total has ended; begin another, under another name."
)
IN_MEMORY = (
    "Lists of people lie in memory here, so periods_per_person goes with files and frames that are read next to this "
    "process; hand over such data, or leave periods_per_person out."
)
FOUND = (
    "Groups that nobody can list are found by another table in every period, which a publication has; write "
    "sf.Publication.declare({…}) with keys = 'pages' (docs/publications.md), or count in listed groups."
)
FAR = timedelta(days=400)
"""Calendars end so long before dates do."""
Rows = Callable[[], AbstractContextManager[Table]]
_HELD: WeakKeyDictionary[Ledger, Held] = WeakKeyDictionary()
"""What totals of ledgers in memory keep; it goes with them."""


@dataclass(frozen=True)
class CuratedTotal(RunningTable):
    """One horizon of a running total that a curator asked for."""

    kept_in: Shelf | None = field(default=None, compare=False)

    @property
    def shelf(self) -> Shelf:
        """Where its readings and its releases are kept."""
        assert self.kept_in is not None
        return self.kept_in

    @property
    def dated(self) -> bool:
        """Whether rows say of which period they are."""
        return bool(self.file.stamp)

    @property
    def id(self) -> str:
        """The request under which its conversation stands in the ledger.

        A name is any text, so what says which horizon it is stands before it: no other name can end alike.
        """
        later = f"-{self.number + 1}" if self.number else ""
        return f"running{later}/{self.spec.name}"

    @cached_property
    def periods(self) -> list[Slot]:
        """The periods that it spans; without dates those of a calendar that nobody sees, by their numbers from 1."""
        slots = super().periods
        return slots if self.dated else [_numbered(slot) for slot in slots]

    @property
    def told(self) -> dict[str, Any]:
        """What decides it, its meaning and its loss."""
        whole = super().told
        span = ("schema", "spec", "horizon") if self.file.horizon else ("schema", "spec", "last")
        return whole if self.dated else {name: whole[name] for name in span}

    @property
    def reads(self) -> Attributes:
        """The attributes that are charged: the one that says of which period a row is decides what is read."""
        named = self.totals.reads
        return named if isinstance(named, Everything) or not self.dated else named | self._stamps

    @property
    def _stamps(self) -> frozenset[str]:
        return self.file.schema.reads([self.file.stamp])


def _numbered(slot: Slot) -> Slot:
    return Slot("period", str(slot.first.toordinal()), slot.first, slot.last)


class AllRows(Span):
    """All rows that were handed over; as of a day, who is there is private, so nobody is counted beforehand."""

    def local(self, table: ir.Table) -> None:
        """Return nothing: there is no stamp that has a zone."""

    def check(self, schema: Schema) -> None:
        """Refuse nothing: there is no stamp."""

    def rows(self, coded: ir.Table) -> ir.Table:
        """Return all rows."""
        return coded


class Running:
    """A total that runs on: `step` takes the data of the next period, everything else is free and reads no data.

    Its whole spend was reserved when it was opened. Every period is read once, frozen and drawn once, whatever ends
    processes; opened again by its name and with the same arguments, it goes on where it was.
    """

    def __init__(self, curator: Shorthands, first: CuratedTotal) -> None:
        self._curator, self._first = curator, first
        self._checked: set[str] = set()
        # Whoever opens it before anything is released knows that the next table is that of the first period.
        self._known: int | None = None if self.periods else 0

    @property
    def name(self) -> str:
        """The name by which it is opened again."""
        return self._first.spec.name

    @property
    def loss(self) -> Loss:
        """What was charged for its first horizon, of whoever is there in every period."""
        return self._first.loss()

    @property
    def error(self) -> str:
        """How wide its intervals will be, in words; from public facts."""
        return running_error(self._first)

    @property
    def periods(self) -> tuple[str, ...]:
        """The periods that are released."""
        return tuple(name for table in horizons_of(self._first, self._ledger) for name in table.done(self._ledger))

    @property
    def next(self) -> str | None:
        """The period that comes next, None after the last one."""
        table = current_of(self._first, self._ledger)
        return None if table is None else table.periods[len(table.done(self._ledger))].name

    def __repr__(self) -> str:
        many = "" if self._first.file.horizon else f" of {len(self._first.periods)}"
        coming = self.next
        told = "all are released" if coming is None else f"{coming} is next"
        return f"Running({self.name!r}: {len(self.periods)}{many} periods are released, {told})"

    def step(self, source: Any, period: str | int | date | None = None, *, table: str | None = None) -> str:
        """Read the data of the next period, release what they add, and return the name of the period.

        `source` is anything that `curate` opens, under the same schema. `period` says which one it is: 3, or
        '2026-01-03'. One that is released is not read again and costs nothing, so a script that names its periods
        may run twice. Without it, the next one is meant, and where that is not certain it is refused.
        """
        self._require_open()
        with self._first.shelf.alone():
            name, now = self._which(None if period is None else str(period))
            if now is not None:
                slot = now.periods[len(now.done(self._ledger))]
                with self._rows(now, slot, source, table) as rows:
                    now.step(self._ledger, slot, rows)
            self._known = len(self.periods)
        return name

    def _which(self, wanted: str | None) -> tuple[str, RunningTable | None]:
        """Return the name of a period and the horizon that steps with it; None with one that was released before."""
        released, now = self.periods, current_of(self._first, self._ledger)
        if wanted in released:
            return str(wanted), None
        if released and not self._first.shelf.there():
            raise Unfinished(EMPTY_PLACE.format(place=self._ledger.private))
        if now is None:
            raise ParameterError(
                f"All {len(released)} periods of {self.name!r} are released; open another total, under another name."
            )
        coming, cut = now.periods[len(now.done(self._ledger))].name, self._cut(now)
        if wanted is None and (cut or len(released) != self._known):
            said = WHICH.format(done=len(released), name=self.name, next=coming, cut=CUT if cut else "")
            raise LedgerError(said)
        if wanted not in (None, coming):
            raise ParameterError(f"{self.name!r} goes on with {coming}, not with {wanted}; hand over that period.")
        return coming, now

    def _cut(self, total: RunningTable) -> bool:
        """Tell whether what the next step read is frozen already: then nothing is read for it again."""
        if self._ledger.entry(total.id) is None:
            return False
        standing = total.open(self._ledger).standing()
        return standing.seal is not None and standing.seal.step == standing.step

    @contextmanager
    def _rows(self, total: RunningTable, slot: Slot, source: Any, table: str | None) -> Iterator[Rows]:
        """Open what is read, before anything is frozen, so that what is wrong with it is said for nothing."""
        if self._cut(total):
            yield _frozen
            return
        file = total.file
        starts = () if file.zone is None else starts_of(self._ledger, file.name, file.zone, slot)
        span = file.span(slot, starts) if file.stamp else AllRows("", slot.first, slot.last)
        with closing(open_table(source, file.schema, snapshot=slot.name, table=table, span=span)) as opened:
            if total.spec.rule is not None and not opened.source.is_duckdb:
                raise ParameterError(IN_MEMORY)
            types = str(opened.source.table.schema())
            if types not in self._checked:  # what the engine could not read is said for nothing
                total.gauge.check(opened)
                self._checked.add(types)
            yield lambda: nullcontext(opened)

    def series(self, window: int | None = None, confidence: Number = 0.95) -> Estimates:
        """Return the totals since the first period at each period, or those of the last `window` periods.

        Rows are the released `periods`, columns the `keys`; with what covers one number and all of them at once.
        """
        found = self._series()
        return found.totals(confidence) if window is None else found.window(window, confidence)

    def between(self, first: str | int | date, last: str | int | date, confidence: Number = 0.95) -> Any:
        """Return what was added after one period up to another, by key, with its half-width, of a mean its interval."""
        return self._series().between(str(first), str(last), confidence)

    def monotone(self) -> NDArray[Any]:
        """Return the totals of a count as the nearest numbers that never fall."""
        found = self._series()
        return (found.sums if isinstance(found, MeanSeries) else found).monotone()

    def plot(self, key: int = 0, window: int | None = None) -> SeriesChart:
        """Draw one key: the published line, what covers one period, and what covers all of them at once."""
        return self._series().plot(key, window)

    def frame(self, windows: Sequence[int] = ()) -> Frame:
        """Return all of it as a table, a row for each period and key, with both kinds of intervals."""
        spec = TableSpec(self.name, self._first.spec.phrase, {}, True, windows=tuple(windows))
        return series_frame(self._series(), spec, self._first.measured.measure.keys)

    @property
    def keys(self) -> tuple[tuple[Any, ...], ...]:
        """The groups, in the order of the columns; one without a name where there are none."""
        return self._first.cells

    def _series(self) -> Series | MeanSeries:
        self._require_open()
        return series_of(self._first, self._ledger, in_short(self._ledger.budget))

    @property
    def _ledger(self) -> Ledger:
        return self._curator.ledger

    def _require_open(self) -> None:
        if getattr(self._curator, "closed", False):
            raise ParameterError(
                "This curator is closed; open the data again with curate(…), and go on inside the with."
            )
        entry = self._ledger.entry(self._first.id)
        if entry is not None and entry.state == "dead":
            raise LedgerError(ENDED.format(name=self.name))


def _frozen() -> AbstractContextManager[Table]:
    raise LookupError("What was frozen is never read again.")


def open_running(
    curator: Shorthands,
    question: Question | str,
    periods: int | None,
    spend: Bound | Mapping[str, Bound],
    *,
    name: str | None = None,
    horizon: int | None = None,
    periods_per_person: int | None = None,
    gap: int = 1,
    target: int | None = None,
    stamp: str | None = None,
    first: str | date | None = None,
    period: str = "day",
    zone: str | None = None,
    analyst: str | None = None,
) -> Running:
    """Reserve the whole of a running total, or find it as it stands; see `Curator.running`."""
    book, schema = curator.ledger, curator.schema
    if not isinstance(schema, Schema):
        raise SchemaError("A running total reads one table at a time; open that table by itself with curate(…).")
    phrase = json.dumps(question.to_json(), sort_keys=True) if isinstance(question, Question) else str(question)
    if name is not None:
        check_id(name)
    called = name or (phrase if isinstance(question, str) else question.kind)
    rule = None if periods_per_person is None else _rule(periods_per_person, gap)
    spec = TableSpec(
        called, phrase, _spends(spend, book, stamp, rule), True, read_unit(period, "period"),
        target=None if target is None else read_positive(target, "target"), rule=rule,
    )  # fmt: skip
    length = _length(periods, horizon)
    file = _file(book, schema, spec, length, horizon=horizon, stamp=stamp, first=first, zone=zone)
    total = CuratedTotal(file, spec, relation=book.relation, analyst=analyst, kept_in=_shelf(book))
    if _finds(read_question(phrase, schema).canonical(schema)):
        raise ParameterError(FOUND)
    entry = book.entry(total.id)
    if entry is not None and entry.state == "dead":
        raise LedgerError(ENDED.format(name=called))
    if entry is not None and not total.same(book, entry.event):
        raise LedgerError(OTHERWISE.format(name=called))
    with total.shelf.alone():
        total.open(book)
        for one in horizons_of(total, book):
            one.sweep(book)
    return Running(curator, total)


def _rule(most: Any, gap: Any) -> CountingRule:
    return CountingRule(read_positive(most, "periods_per_person"), read_positive(gap, "gap"))


def _finds(question: Question) -> bool:
    return isinstance(question, GroupBy) and question.keys != "schema"


def _spends(
    spend: Bound | Mapping[str, Bound], book: Ledger, stamp: str | None, rule: CountingRule | None
) -> dict[str, Bound]:
    """Return what the total may cost by unit: a bound is for the whole person."""
    units = [unit for unit, _ in book.budget.units]
    if units and stamp is None:
        raise ParameterError(DAY_BY_DAY.format(unit=units[0]))
    if units and rule is not None:
        raise ParameterError(
            f"Counting only {rule.most} periods of a person makes one {units[0]} decide about another; use a ledger "
            "with a limit on the person alone, or leave periods_per_person out."
        )
    if not isinstance(spend, Mapping):
        if book.budget.person is None:
            raise ParameterError(
                f"This ledger limits {units[0]} and no person, and a bare spend is what a person may cost; write "
                f"spend={{{units[0]!r}: Concentrated(0.01)}}."
            )
        spend = {"person": require_bound(spend)}
    known = ("person", *(UNITS if stamp is not None and rule is None else ()))
    wrong = [unit for unit in spend if unit not in known]
    if wrong or not spend:
        raise ParameterError(f"A spend here is by {', '.join(known)}, not by {wrong}; write one of them.")
    bounds = {unit: require_bound(bound) for unit, bound in spend.items()}
    kinds = {type(bound) for bound in bounds.values()}
    if kinds not in ({Concentrated}, {Pure}) or any(bound.unit != "person" for bound in bounds.values()):
        raise ParameterError(
            "A running total is paid by Concentrated, or by Pure throughout, for whole people; write "
            "spend=Concentrated(0.1)."
        )
    return bounds


def _length(periods: Any, horizon: Any) -> int:
    if (periods is None) == (horizon is None):
        raise ParameterError(
            "A running total spans a known number of periods: write periods=365, or, if the end is not known, "
            "horizon=400, generously."
        )
    word, count = ("horizon", horizon) if periods is None else ("periods", periods)
    if read_positive(count, word) > MOST_PERIODS:
        raise ParameterError(f"A running total spans 1 to {MOST_PERIODS} periods, not {count}; split it into several.")
    return int(count)


def _file(
    book: Ledger,
    schema: Schema,
    spec: TableSpec,
    length: int,
    *,
    horizon: int | None,
    stamp: str | None,
    first: str | date | None,
    zone: str | None,
) -> PublicationFile:
    """Return what a publication of this total alone would declare."""
    if (stamp is None) != (first is None) or (zone is not None and stamp is None):
        raise ParameterError(
            "Periods with dates have a column that says when a row happened, and a first day; write stamp='at', "
            "first='2026-01-01', or leave both out, and periods are numbered from 1."
        )
    if stamp is None and spec.every != "day":
        raise ParameterError("Numbered periods have no length; write stamp= and first= too, or leave period= out.")
    start = date.min if first is None else read_day(first, "first")
    slots = list(islice(slots_between(spec.every, start, date.max - FAR), length))
    last = slots[-1].last
    if stamp is not None:
        Span(stamp, slots[0].first, last).check(schema)
    return PublicationFile(
        f"running/{spec.name}", schema, str(book.place), "", stamp or "", spec.every, start,
        None if horizon else last, horizon, 0, book.private or Path(), start, book.budget, (spec,), Path(),
        zone=None if zone is None else zone_named(zone),
    )  # fmt: skip


def _shelf(book: Ledger) -> Shelf:
    if book.private is not None:
        return Folder(book.private)
    if book.place != "memory":
        raise ParameterError(NO_PLACE)
    return _HELD.setdefault(book, Held())


CONVERSATIONS.add("running", open_running)
