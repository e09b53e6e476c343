"""A publication: planned, tried on made-up rows, run, looked at and verified (PB-PUBLISH, PB-RUN)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.answer import Answer
from sfumato.ask.asked import PLAIN, Asked
from sfumato.curator.finishing import answers_of, same_event
from sfumato.durable import lock, make_directory
from sfumato.errors import LedgerError, ParameterError, SfumatoError
from sfumato.ledger import Ledger
from sfumato.ledger.slots import SlotCharge
from sfumato.privacy import Loss
from sfumato.publish.begun import Begun, begun_of
from sfumato.publish.calendar import Slot
from sfumato.publish.charges import charges_of, of_person
from sfumato.publish.digests import Digests
from sfumato.publish.empties import declare_empty, empty_days
from sfumato.publish.file import PublicationFile, TableSpec, load_file, read_record
from sfumato.publish.foreseen import made_up, plan_of, rehearsed
from sfumato.publish.guards import require_kept, require_own, require_unpublished
from sfumato.publish.horizons import current, running_series, sweep
from sfumato.publish.layout import Layout
from sfumato.publish.means import MeanSeries
from sfumato.publish.period_tables import PeriodTables, work_when_wanted
from sfumato.publish.planned import PublicationPlan
from sfumato.publish.reading import read_day
from sfumato.publish.series import Series
from sfumato.publish.shelves import RUNNER, Folder
from sfumato.publish.sources import Absent, Lend, Rows, gathered, lent, source_of
from sfumato.publish.states import (
    OTHER_BEGUN,
    UNFINISHED,
    Period,
    Seen,
    State,
    Verified,
    all_slots,
    following,
    last_day,
    left_of,
    newest,
    require_dead,
    seen_of,
)
from sfumato.publish.total import RunningTable
from sfumato.publish.words import in_short, promise_of
from sfumato.publish.zones import disagreements, starts_of
from sfumato.table.data import Table, open_table
from sfumato.table.resources import Resources

Charges = tuple[Sequence[Loss], list[SlotCharge]]
TABLES = (*PLAIN, "People", "Quantiles", "Synthesize")
"""Questions whose answers can be written as tables; others are tried on made-up rows before anything is charged."""


class Publication:
    """Releases that repeat under one promise: `plan` and `preview` read no data, `run` releases what is due.

    Every period is reserved, frozen, drawn and stored once, whatever ends processes and however many run; running
    again completes what was cut short and writes the files anew from what was stored.
    """

    def __init__(self, file: PublicationFile, source: Rows | None = None, resources: Resources | None = None) -> None:
        if not isinstance(file, PublicationFile):
            raise ParameterError("A publication is read from its file; write Publication.load('counts.toml').")
        self.file = file
        self._rows = source
        self._resources = resources or Resources()
        self._tables = PeriodTables(file)
        self._starts: dict[tuple[str, str], tuple[int, ...]] = {}
        self._checked: list[tuple[Asked, str]] = []

    @classmethod
    def load(cls, path: str | Path, source: Rows | None = None, **resources: Any) -> Publication:
        """Read a publication from its TOML file.

        `source` is a function that hands over the rows between two days, in place of the source that the file names: a
        Spark frame, a data frame, or anything else that can be asked. Rows of other days are left out by their stamp.
        `resources` are `memory_limit`, `temp_directory`, `storage` and `most_rows`, of a period, as `curate` has them.
        """
        return cls(load_file(path), source, Resources(**resources))

    @classmethod
    def declare(cls, record: Mapping[str, Any], home: str | Path = ".", source: Rows | None = None) -> Publication:
        """Make a publication of what a TOML file would hold, as a mapping; paths are taken from `home`."""
        return cls(read_record(record, Path(home)), source)

    def __repr__(self) -> str:
        return f"Publication({self.file.name!r}, edition {self.file.edition})"

    # What is known without data

    @contextmanager
    def _ledger(self) -> Iterator[Ledger]:
        file = self.file
        private = file.private
        if not private.is_dir():
            make_directory(private)
            private.chmod(0o700)
        with Ledger(
            file.ledger, file.budget, relation=file.promised.relation, schema=file.schema.fingerprints, private=private
        ) as book:
            yield book

    def words(self, *, planned: bool = False, earlier: bool = False) -> list[str]:
        """Return the promise in sentences, as it stands on every page; `planned`, of the periods that were declared.

        `earlier` gives the words of earlier versions, which stand in files that were published then.
        """
        return promise_of(self.file, planned=planned, earlier=earlier)

    def plan(self) -> PublicationPlan:
        """Say what is promised, what every table costs and how far off it will be, and when a limit will refuse."""
        return plan_of(self.file, self._tables, tuple(self.words(planned=True)))

    def _charges(self, asked: Asked, slot: Slot, losses: Sequence[Loss]) -> Charges:
        """Return what a period costs a person, and under each limit."""
        known = self._tables.exchanged(asked)
        promised = self.file.promised
        return of_person(promised, losses, known), charges_of(promised, slot, losses, known)

    # What is run

    def preview(self, to: str | Path | None = None) -> Path:
        """Write everything for one made-up period, marked as made up, and return where; no data are read."""
        unit = self.file.period
        slot = next(iter(self.file.slots(unit, self.file.first + timedelta(days=800))))
        target = Path(to) if to is not None else self.file.to / f"preview-{self.file.name}"
        with tempfile.TemporaryDirectory() as place:
            file = replace(
                self.file,
                ledger=str(Path(place) / "made-up.ledger"),
                private=Path(place) / "private",
                to=target,
                source="",
            )
            made = _MadeUp(file)
            with made._ledger() as book:
                made._run_slot(book, slot)
                for other in file.units()[1:]:
                    made._run_slot(book, Slot.of(other, slot.first))
                made._write(book, note="Made up: random rows of the schema, nobody's data.")
        return target

    def run(
        self,
        period: str | None = None,
        today: date | None = None,
        *,
        again: bool = False,
        empty: Sequence[str | date] = (),
    ) -> list[Period]:
        """Release every period that is due and not done, the oldest first, and write all files; return what was done.

        `period` names a single one. What was cut short is completed; what is done is not done again. With `again` its
        tables, which are dead, are asked and charged anew, beside what was spent on them before. `empty` declares days
        of which there is no file to be without rows, for good.
        """
        with self._alone(), self._ledger() as book:
            sweep(book, self._begun(book))
            declare_empty(self.file, book, empty, handed=self._rows is not None)
            wanted = [slot for slot in self._due(today) if period in (None, slot.issue)]
            if period is not None and not wanted:
                raise ParameterError(f"{period!r} is no period that is due; see sfumato publish status.")
            if again:
                return [self._anew(book, slot) for slot in require_dead(self.file, book, wanted, period)]
            seen = seen_of(self.file, book)
            if period is not None and self._state(book, seen, wanted[0]) == "begun under another edition":
                raise LedgerError(OTHER_BEGUN.format(name=period))
            return self._complete(book, seen, wanted)

    def _complete(self, book: Ledger, seen: Seen, wanted: Sequence[Slot]) -> list[Period]:
        """Release what is due or begun of some periods, and write all files once."""
        due = [slot for slot in wanted if self._state(book, seen, slot) in ("due", "begun")]
        require_own(self.file, seen)
        if any(slot.unit == self.file.period for slot in due):
            require_kept(self.file, book, self._begun(book))
        try:
            for slot in due:
                self._run_slot(book, slot)
        except SfumatoError:
            self._write(book)  # what was released before stands, whatever stopped the rest
            raise
        self._write(book)
        seen = seen_of(self.file, book)
        return [self._period(book, seen, slot) for slot in due]

    def _anew(self, book: Ledger, slot: Slot) -> Period:
        require_unpublished(self.file, slot)
        listed, source = self.file.listed(slot), self._source(book, slot)
        self._begins(book, slot)
        with lent(partial(self._open, source, slot)) as lend:
            self._release(book, slot, listed, lend, again=True)
        self._write(book)
        return self._period(book, seen_of(self.file, book), slot)

    def backfill(
        self, first: str, last: str, today: date | None = None, *, empty: Sequence[str | date] = ()
    ) -> list[Period]:
        """Release the periods that are due between two days; running totals go on in their order; `empty` as in run."""
        start, end = read_day(first, "from"), read_day(last, "to")
        if end < start:
            raise ParameterError(f"to = {end} is before from = {start}; write the earlier day first.")
        with self._alone(), self._ledger() as book:
            sweep(book, self._begun(book))
            declare_empty(self.file, book, empty, handed=self._rows is not None)
            wanted = [slot for slot in self._due(today) if start <= slot.first and slot.last <= end]
            return self._complete(book, seen_of(self.file, book), wanted)

    def give_up(self, period: str) -> None:
        """Mark a period that was begun and cannot be completed as dead: what it cost stays spent."""
        with self._alone(), self._ledger() as book:
            request, entry = newest(book.entry, self._id(period))
            if entry is None or entry.state not in UNFINISHED:
                state = "was begun" if entry is None else "waits to be finished"
                raise ParameterError(f"{period!r} is no period that {state}; see sfumato publish status.")
            book.fail(request)
            with suppress(SfumatoError):  # a run says what keeps files from being written
                require_own(self.file, seen_of(self.file, book))
                self._write(book)

    def _alone(self) -> AbstractContextManager[None]:
        """Wait for other runners on this machine."""
        return Folder(self.file.private).alone()

    def _begun(self, book: Ledger) -> list[Begun]:
        """Return the running totals of the file, each as it was begun."""
        return [begun_of(self.file, spec, book) for spec in self.file.running()]

    def _today(self) -> date:
        """Return the day that it is: where days are those of a zone, there."""
        return datetime.now(self.file.zone or UTC).date()

    def _due(self, today: date | None) -> list[Slot]:
        now = today or self._today()
        found = [slot for unit in self.file.units() for slot in self.file.due(unit, now)]
        found += self.file.revised(now)
        return sorted(found, key=lambda slot: (slot.last, slot.first, slot.revision))

    def _id(self, name: str) -> str:
        return f"pub/{self.file.name}/{name}"

    def _snapshot(self, slot: Slot) -> str:
        first = f"{self.file.name}/{slot.name}/{self.file.edition}"
        rules = {one.name: one.edition for one in self.file.revisions}
        return f"{first}/{slot.revision}/{rules[slot.revision]}" if slot.revision else first

    def _run_slot(self, book: Ledger, slot: Slot) -> None:
        self._begins(book, slot)
        try:
            opens: Lend = partial(self._open, self._source(book, slot), slot)
        except ParameterError as lacking:  # said before anything is reserved; what was frozen needs no file
            if newest(book.entry, self._id(slot.issue))[1] is None and not self._steps(book, slot):
                raise
            absent = Absent(lacking)
            with absent.told():
                self._draw_slot(book, slot, absent.open, there=False)
            return
        self._draw_slot(book, slot, opens)

    def _draw_slot(self, book: Ledger, slot: Slot, opens: Lend, *, there: bool = True) -> None:
        listed = self.file.listed(slot)
        with lent(opens) as lend:
            if listed:
                self._release(book, slot, listed, lend, there=there)
            for begun in self._steps(book, slot, new=True):
                # Lists of people leave rows out of what they read, so they read by themselves.
                self._step(book, begun.spec, slot, lend if begun.spec.rule is None else opens)

    def _steps(self, book: Ledger, slot: Slot, *, new: bool = False) -> list[Begun]:
        """Return the totals that take a step with a period; only those that were begun, or new ones too."""
        if slot.unit != self.file.period or slot.revision:
            return []
        going = [one for one in self._begun(book) if not one.stopped]
        return [one for one in going if new or book.entry(RunningTable(one.file, one.spec).id) is not None]

    def _source(self, book: Ledger, slot: Slot) -> Any:
        return source_of(self.file, slot, self._rows, partial(empty_days, self.file, book))

    def _begins(self, book: Ledger, slot: Slot) -> None:
        """Look up when the days of a period begin, where there is a zone."""
        if self.file.zone is not None:
            self._starts[slot.unit, slot.name] = starts_of(book, self.file.name, self.file.zone, slot)

    def _step(self, book: Ledger, spec: TableSpec, slot: Slot, rows: Lend) -> None:
        """Take the step of a running total, and before it those of periods that only an earlier edition published.

        All of them were charged when the total was begun.
        """
        search = partial(self._found, book, spec)
        while (table := current(self.file, spec, book, search)) is not None:
            coming = table.periods[len(table.done(book))]
            if coming.first >= min(self.file.since, slot.first):
                break
            place = self._source(book, coming)
            self._begins(book, coming)
            table.step(book, coming, partial(self._open, place, coming))
        if table is not None and slot.name in {one.name for one in table.periods}:
            table.step(book, slot, rows)

    def _found(self, book: Ledger, spec: TableSpec, slot: Slot) -> Sequence[tuple[Any, ...]]:
        """Return which groups of a running total were found in a period: what its table released, and nothing else."""
        answer = self._answers(book, slot).get(spec.keys or "")
        return () if answer is None else answer.released.cells

    def _release(
        self,
        book: Ledger,
        slot: Slot,
        listed: Sequence[TableSpec],
        rows: Lend,
        *,
        again: bool = False,
        there: bool = True,
    ) -> None:
        request, entry = newest(book.entry, self._id(slot.issue))
        if again:
            request, entry = following(request), None
        if entry is not None and entry.state in ("committed", "dead"):
            return
        asked = self._tables.asked(book, listed)
        if entry is not None and not same_event(asked, self._snapshot(slot), entry.event):
            return  # paid for under another edition, which alone can finish it
        if any(question.kind not in TABLES for question in asked.questions):
            rehearsed(self.file, self._tables, book)
        losses, snapshot = self._tables.losses(asked, listed), self._snapshot(slot)
        if entry is None or there:
            with rows() as table:
                self._check(asked, table)
                work = asked.work(table)
        else:
            work = work_when_wanted(asked, rows)
        event, (whole, slots) = asked.event(snapshot), self._charges(asked, slot, losses)
        if entry is not None and not book.holds(request, event, whole, slots):
            # Begun by an earlier version, which charged every exchange as two people.
            whole, slots = of_person(self.file.promised, losses), charges_of(self.file.promised, slot, losses)
        book.run_sealed(request, event, whole, work, slots=slots)

    def _check(self, asked: Asked, table: Table) -> None:
        """Refuse what the engine could not read, for nothing; once for all periods with columns of the same types."""
        found = (asked, str(table.source.table.schema()))
        if found not in self._checked:
            asked.check(table)
            self._checked.append(found)

    @contextmanager
    def _open(self, source: Any, slot: Slot) -> Iterator[Table]:
        span = self.file.span(slot, self._starts.get((slot.unit, slot.name), ()))
        snapshot = self._snapshot(slot)
        how: dict[str, Any] = {"snapshot": snapshot, "span": span, "resources": self._resources}
        with gathered(source) as place, open_table(place, self.file.schema, **how) as table:
            yield table

    # What became of it

    def _state(self, book: Ledger, seen: Seen, slot: Slot) -> State:
        listed, (_, entry) = self.file.listed(slot), newest(seen.entries.get, self._id(slot.issue))
        states: list[State] = []
        if listed and entry is None:
            states.append("due")
        elif listed and entry is not None and entry.state == "committed":
            same = same_event(self._tables.asked(book, listed), self._snapshot(slot), entry.event)
            states.append("done" if same else "other edition")
        elif listed and entry is not None and entry.state == "dead":
            states.append("dead")
        elif entry is not None and entry.state in UNFINISHED:
            same = bool(listed) and same_event(self._tables.asked(book, listed), self._snapshot(slot), entry.event)
            states.append("begun" if same else "begun under another edition")
        if slot.unit == self.file.period and not slot.revision:
            for done, dead, stopped in seen.running:
                due: State = "other edition" if stopped else "due"
                states.append("dead" if slot.name in dead else "done" if slot.name in done else due)
        order: tuple[State, ...] = ("begun", "due", "begun under another edition", "dead", "other edition")
        return next((state for state in order if state in states), "done")

    def _period(self, book: Ledger, seen: Seen, slot: Slot) -> Period:
        state = self._state(book, seen, slot)
        said = OTHER_BEGUN.format(name=slot.issue) if state == "begun under another edition" else ""
        return Period(slot.unit, slot.issue, state, said)

    def status(self, today: date | None = None) -> list[Period]:
        """Return how every period stands that is due, and the next one that is not; keys left over are erased.

        What was begun under another edition of the file is listed too, with a sentence that says how to end it.
        """
        now = today or self._today()
        with self._ledger() as book:
            held = lock(self.file.private / RUNNER, wait=False)
            if held is not None:  # otherwise whoever holds it sweeps
                with held:
                    sweep(book, self._begun(book))
            seen = seen_of(self.file, book)
            due = self._due(now)
            found = [self._period(book, seen, slot) for slot in due] + left_of(self.file, book, seen, due)
        for unit in self.file.units():
            coming = self.file.slots(unit, now + timedelta(days=800))
            later = [slot for slot in coming if slot.last + timedelta(days=self.file.wait) >= now]
            found += [Period(unit, slot.name, "not due") for slot in later[:1]]
        return found

    def answers(self, period: str) -> dict[str, Answer]:
        """Return the stored answers of one period by table; free, and no data are read."""
        with self._ledger() as book:
            return self._answers(book, self._slot(book, period))

    def _slot(self, book: Ledger, period: str) -> Slot:
        for slot in all_slots(self.file, last_day(self.file, book, self._today())):
            if slot.issue == period:
                return slot
        raise ParameterError(f"{period!r} is no period of {self.file.name!r}; write for example '2026-01-31'.")

    def _answers(self, book: Ledger, slot: Slot) -> dict[str, Answer]:
        listed, (request, entry) = self.file.listed(slot), newest(book.entry, self._id(slot.issue))
        if not listed or entry is None or entry.state != "committed":
            return {}
        asked, snapshot = self._tables.asked(book, listed), self._snapshot(slot)
        if not same_event(asked, snapshot, entry.event):
            return {}  # of another edition: its files stay as they were written then
        kept = replace(book.stored(request), reused=True)
        found = answers_of(book, asked, kept, snapshot, remarks=tuple(filter(None, self.words())))
        return self._tables.told(asked, found, listed)

    def series(self, table: str) -> Series | MeanSeries:
        """Return a running total as far as it was released, with its bands; free, and no data are read."""
        for spec in self.file.running():
            if spec.name == table:
                with self._ledger() as book:
                    begun = begun_of(self.file, spec, book)
                    if not begun.known:
                        raise LedgerError(begun.stopped)
                    return running_series(begun.file, begun.spec, book, in_short(self.file.budget))
        raise ParameterError(f"No running total is called {table!r}; the publication has {self._named()}.")

    def _named(self) -> str:
        return ", ".join(one.name for one in self.file.running()) or "none"

    def _layout(self, book: Ledger, note: str = "") -> Layout:
        done, dead = (
            {entry.id.partition("~")[0] for entry in book.history() if entry.state == state}
            for state in ("committed", "dead")
        )
        slots = all_slots(self.file, last_day(self.file, book, self._today()))
        released = {slot: partial(self._answers, book, slot) for slot in slots if self._id(slot.issue) in done}
        begun = {one.spec.name: one for one in self._begun(book)}
        running = {
            name: running_series(one.file, one.spec, book, in_short(self.file.budget))
            for name, one in begun.items()
            if one.readable
        }
        digests = Digests(book, self.file.name)
        words, before = tuple(self.words()), tuple(self.words(earlier=True))
        gaps = tuple(slot.issue for slot in slots if self._id(slot.issue) in dead - done)
        return Layout(
            self.file, words, released, running, note, digests, begun, before, empty_days(self.file, book), gaps
        )

    def _write(self, book: Ledger, note: str = "") -> None:
        self._layout(book, note).write()

    def verify(self) -> Verified:
        """Work everything out again: chain, charges and sums of the ledger, one answer a period, every file."""
        with self._ledger() as book:
            found = book.verify()
            problems = list(found.problems)
            try:
                layout = self._layout(book)
                different, files = layout.differences()
                problems += different
            except (LedgerError, SfumatoError) as error:
                problems.append(str(error))
                files = 0
            seen, due = seen_of(self.file, book), self._due(None)
            periods = [self._period(book, seen, slot) for slot in due]
            found_left, zones = periods + left_of(self.file, book, seen, due), disagreements(book, self.file.name)
        problems += [one.note for one in found_left if one.state == "begun under another edition"]
        notes = [one.note for one in found_left if one.note and one.state == "other edition"]
        notes += [f"{one.name} was begun; sfumato publish run completes it." for one in periods if one.state == "begun"]
        return Verified([one.state for one in periods].count("done"), files, tuple(problems), (*notes, *zones))


class _MadeUp(Publication):
    """The same publication on random rows of its schema."""

    def _source(self, book: Ledger, slot: Slot) -> Any:
        return ""

    @contextmanager
    def _open(self, source: Any, slot: Slot) -> Iterator[Table]:
        with super()._open(made_up(self.file, slot), slot) as table:
            yield table
