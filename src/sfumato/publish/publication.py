"""A publication: planned, tried on made-up rows, run, looked at and verified (PB-PUBLISH, PB-RUN)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from sfumato.answer import Answer, Released
from sfumato.ask.asked import PLAIN, Asked
from sfumato.ask.packing import unpack
from sfumato.curator.finishing import answers_of, same_event
from sfumato.curator.typed import read_question
from sfumato.durable import lock, make_directory
from sfumato.errors import BudgetExceeded, LedgerError, ParameterError, SfumatoError
from sfumato.ledger import Ledger
from sfumato.ledger.running import Coins
from sfumato.ledger.slots import SlotCharge
from sfumato.noise import Noise, new_key
from sfumato.privacy import ADD_REMOVE, Approximate, Cost, Loss, Pure
from sfumato.publish.calendar import Slot
from sfumato.publish.charges import charges_of
from sfumato.publish.file import PublicationFile, TableSpec, load_file
from sfumato.publish.layout import Layout, table_of
from sfumato.publish.means import MeanSeries
from sfumato.publish.planned import PublicationPlan, TablePlan, rehearsed_error, running_error, table_plan
from sfumato.publish.series import Series
from sfumato.publish.states import Period, Seen, State, Verified, seen_of
from sfumato.publish.total import RunningTable, current, running_series
from sfumato.publish.words import promise
from sfumato.publish.zones import starts_of
from sfumato.table.data import Table, open_table
from sfumato.table.gauge import Basis
from sfumato.table.rehearsal import random_rows

TABLES = (*PLAIN, "People", "Quantiles", "Synthesize")
"""Questions whose answers can be written as tables; others are tried on made-up rows before anything is charged."""
FORESEEN = 400
"""So many periods are tried against the limits when a publication is planned."""
MADE_UP = 1000
"""How many made-up people a preview has."""


class Publication:
    """Releases that repeat under one promise: `plan` and `preview` read no data, `run` releases what is due.

    Every period is reserved, frozen, drawn and stored once, whatever ends processes and however many run; running
    again completes what was cut short and writes the files anew from what was stored.
    """

    def __init__(self, file: PublicationFile) -> None:
        if not isinstance(file, PublicationFile):
            raise ParameterError("A publication is read from its file; write Publication.load('counts.toml').")
        self.file = file
        self._prepared: dict[tuple[str, str, bool, bool], Asked] = {}
        self._starts: dict[tuple[str, str], tuple[int, ...]] = {}

    @classmethod
    def load(cls, path: str | Path) -> Publication:
        """Read a publication from its TOML file."""
        return cls(load_file(path))

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
            file.ledger, file.budget, relation=ADD_REMOVE, schema=file.schema.fingerprints, private=private
        ) as book:
            yield book

    def words(self, *, planned: bool = False) -> list[str]:
        """Return the promise in sentences, as it stands on every page; `planned`, of the periods that were declared."""
        single = not self.file.running() and all(one.every == self.file.period for one in self.file.tables)
        return promise(self.file.budget, self.file.period, single, self.file.reach if planned else None)

    @cached_property
    def _units(self) -> list[str]:
        return [unit for unit, _ in self.file.budget.units]

    def _asked(self, book: Ledger, tables: Sequence[TableSpec]) -> Asked:
        """Prepare the tables of one period, each for its own spend; public facts only, so once for all periods."""
        spends = "; ".join(f"{one.name} {one.spend}" for one in tables)
        known = (spends, book.gaussians, book.exact_lists, book.rank_errors)
        if known not in self._prepared:
            self._prepared[known] = self._prepare(book, tables)
        return self._prepared[known]

    def _prepare(self, book: Ledger, tables: Sequence[TableSpec]) -> Asked:
        schema = self.file.schema
        basis = Basis(
            schema,
            None,
            ADD_REMOVE,
            gaussians=book.gaussians,
            exact_lists=book.exact_lists,
            rank_errors=book.rank_errors,
        )
        questions = tuple(read_question(one.phrase, schema).canonical(schema) for one in tables)
        prepared = tuple(
            question.prepare(basis, one.spend[one.every]) for question, one in zip(questions, tables, strict=True)
        )
        return Asked(questions, prepared, schema)

    def _losses(self, asked: Asked, tables: Sequence[TableSpec]) -> tuple[Loss, ...]:
        """Return what may be charged: the loss as it is, or that of anything within the spends.

        A spend for each attribute says nothing about a person, who may cost many times that.
        """
        spends = [one.spend[one.every] for one in tables]
        known = [one for one in spends if isinstance(one, (Approximate, Pure)) and one.unit == "person"]
        loss = asked.loss()
        if len(known) < len(spends) or not any(isinstance(one, Approximate) for one in known):
            return (loss,)
        epsilon = sum((one.epsilon for one in known), start=0 * known[0].epsilon)
        delta = sum((one.delta for one in known if isinstance(one, Approximate)), start=0 * known[0].epsilon)
        return loss, Loss.flat(Cost.approximate(epsilon, delta), relation=ADD_REMOVE)

    def plan(self) -> PublicationPlan:
        """Say what is promised, what every table costs and how far off it will be, and when a limit will refuse."""
        with Ledger(None, self.file.budget, relation=ADD_REMOVE) as book:
            errors, costs = self._rehearsed(book), self._costs(book)
            tables = [table_plan(one, one.every, errors[one.name], costs.get(one.name)) for one in self.file.anew()]
            tables += [
                table_plan(one, self.file.period, running_error(RunningTable(self.file, one)))
                for one in self.file.running()
            ]
            tables += [
                TablePlan(f"{name} ({one.name})", f"{one.after} days later", str(bound), "see a preview")
                for one in self.file.revisions
                for name, bound in one.spend.items()
            ]
            refused = self._foreseen(book)
        return PublicationPlan(
            self.file.name,
            self.file.edition,
            tuple(self.words(planned=True)),
            tuple(tables),
            refused,
            str(self.file.to),
        )

    def _rehearsed(self, book: Ledger) -> dict[str, str]:
        """Answer every table once on made-up rows, and return how wide its intervals are."""
        made, found = _MadeUp(self.file), {}
        for unit in self.file.units():
            listed = self.file.anew(unit)
            if not listed:
                continue
            asked = self._asked(book, listed)
            with made._open("", Slot.of(unit, self.file.first)) as table:
                work, coins = asked.work(table), Coins("rehearsal", new_key())
                raw = unpack(work.draw(work.read(), coins), self.file.schema)
            parts = zip(listed, asked.questions, asked.prepared, asked.finish(raw), asked.events(""), strict=True)
            for one, question, prepared, released, event in parts:
                shown = Released.from_json(released.to_json())
                answer = Answer(question, shown, prepared.loss(), event)
                table_of(answer)  # which refuses what cannot be written
                found[one.name] = rehearsed_error(answer)
        return found

    def _costs(self, book: Ledger) -> dict[str, str]:
        """Return what a person costs in the tables whose spend is for each attribute, and so does not say it."""
        found: dict[str, str] = {}
        for unit in self.file.units():
            listed = self.file.anew(unit)
            for one, prepared in zip(listed, self._asked(book, listed).prepared if listed else (), strict=True):
                if one.spend[unit].unit != "person":
                    found[one.name] = str(prepared.loss().person)
        return found

    def _foreseen(self, book: Ledger) -> str | None:
        """Try all periods against limits that nobody has used, and return where the first one is refused."""
        slot = "the running total"
        try:
            for spec in self.file.running():
                RunningTable(self.file, spec).open(book)
            horizon = self.file.last or self.file.first + timedelta(days=FORESEEN)
            for unit in self.file.units():
                listed = self.file.anew(unit)
                if not listed:
                    continue
                asked = self._asked(book, listed)
                losses = self._losses(asked, listed)
                for found in self.file.slots(unit, horizon)[:FORESEEN]:
                    slot = found.name
                    book.reserve(slot, asked.event(slot), losses, slots=self._charges(found, losses))
            for found in self.file.revised(date.max)[:FORESEEN] if self.file.last is not None else ():
                slot, asked = found.issue, self._asked(book, self.file.listed(found))
                losses = self._losses(asked, self.file.listed(found))
                book.reserve(slot, asked.event(slot), losses, slots=self._charges(found, losses))
        except BudgetExceeded as refusal:
            return f"{slot}: {refusal}"
        return None

    def _charges(self, slot: Slot, losses: Sequence[Loss]) -> list[SlotCharge]:
        return charges_of(self._units, slot, losses)

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

    def run(self, period: str | None = None, today: date | None = None) -> list[Period]:
        """Release every period that is due and not done, the oldest first, and write all files; return what was done.

        `period` names a single one. What was cut short is completed; what is done is not done again.
        """
        with self._alone(), self._ledger() as book:
            self._sweep(book)
            wanted = [slot for slot in self._due(today) if period in (None, slot.issue)]
            if period is not None and not wanted:
                raise ParameterError(f"{period!r} is no period that is due; see sfumato publish status.")
            seen = seen_of(self.file, book)
            done = [slot for slot in wanted if self._state(book, seen, slot) in ("due", "begun")]
            try:
                for slot in done:
                    self._run_slot(book, slot)
            except SfumatoError:
                self._write(book)  # what was released before stands, whatever stopped the rest
                raise
            self._write(book)
            seen = seen_of(self.file, book)
            return [Period(slot.unit, slot.issue, self._state(book, seen, slot)) for slot in done]

    def backfill(self, first: str, last: str, today: date | None = None) -> list[Period]:
        """Release the periods that are due between two days; running totals go on in their order."""
        start, end = date.fromisoformat(first), date.fromisoformat(last)
        found: list[Period] = []
        for slot in self._due(today):
            if start <= slot.first and slot.last <= end:
                found += self.run(slot.issue, today)
        return found

    def give_up(self, period: str) -> None:
        """Mark a period that was begun and cannot be completed as dead: what it cost stays spent."""
        with self._alone(), self._ledger() as book:
            book.fail(self._id(period))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait for other runners on this machine: what one is about to seal is never swept by another."""
        make_directory(self.file.private)
        held = lock(self.file.private / "runner.lock", wait=True)
        assert held is not None
        try:
            yield
        finally:
            held.close()

    def _sweep(self, book: Ledger) -> None:
        for spec in self.file.running():
            table = current(self.file, spec, book)
            for number in range(table.number + 1 if table is not None else 1):
                RunningTable(self.file, spec, number).sweep(book)

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
        listed = self.file.listed(slot)
        source = self.file.source_of(slot)  # a missing file is said before anything is reserved
        if self.file.zone is not None:
            self._starts[slot.unit, slot.name] = starts_of(book, self.file.name, self.file.zone, slot)
        if listed:
            self._release(book, slot, listed)
        if slot.unit != self.file.period or slot.revision:
            return
        for spec in self.file.running():
            table = current(self.file, spec, book, partial(self._found, book, spec))
            here = table is not None and slot.name in {one.name for one in table.periods}
            if table is not None and here and not table.dead(book):
                table.step(book, slot, lambda: self._open(source, slot))

    def _found(self, book: Ledger, spec: TableSpec, period: str) -> Sequence[tuple[Any, ...]]:
        """Return which groups of a running total were found in a period: what its table released, and nothing else."""
        answer = self._answers(book, self._slot(book, period)).get(spec.keys or "")
        return () if answer is None else answer.released.cells

    def _release(self, book: Ledger, slot: Slot, listed: Sequence[TableSpec]) -> None:
        entry = book.entry(self._id(slot.issue))
        if entry is not None and entry.state in ("committed", "dead"):
            return
        asked = self._asked(book, listed)
        if any(question.kind not in TABLES for question in asked.questions):
            self._rehearsed(book)
        losses, snapshot = self._losses(asked, listed), self._snapshot(slot)
        with self._open(self.file.source_of(slot), slot) as table:
            asked.check(table)
            book.run_sealed(
                self._id(slot.issue),
                asked.event(snapshot),
                losses,
                asked.work(table),
                slots=self._charges(slot, losses),
            )

    def _open(self, source: Any, slot: Slot) -> Table:
        span = self.file.span(slot, self._starts.get((slot.unit, slot.name), ()))
        return open_table(source, self.file.schema, snapshot=self._snapshot(slot), span=span)

    # What became of it

    def _state(self, book: Ledger, seen: Seen, slot: Slot) -> State:
        listed, entry = self.file.listed(slot), seen.entries.get(self._id(slot.issue))
        states: list[State] = []
        if listed and entry is None:
            states.append("due")
        elif listed and entry is not None and entry.state == "committed":
            same = same_event(self._asked(book, listed), self._snapshot(slot), entry.event)
            states.append("done" if same else "other edition")
        elif listed and entry is not None:
            states.append("dead" if entry.state == "dead" else "begun")
        if slot.unit == self.file.period and not slot.revision:
            for done, dead in seen.running:
                states.append("dead" if slot.name in dead else "done" if slot.name in done else "due")
        order: tuple[State, ...] = ("begun", "due", "dead", "other edition")
        return next((state for state in order if state in states), "done")

    def status(self, today: date | None = None) -> list[Period]:
        """Return how every period stands that is due, and the next one that is not; keys left over are erased."""
        now = today or self._today()
        with self._ledger() as book:
            held = lock(self.file.private / "runner.lock", wait=False)
            if held is not None:  # otherwise whoever holds it sweeps
                with held:
                    self._sweep(book)
            seen = seen_of(self.file, book)
            found = [Period(slot.unit, slot.issue, self._state(book, seen, slot)) for slot in self._due(now)]
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
        last = self._reached(book)
        for slot in self._every(last):
            if slot.issue == period:
                return slot
        raise ParameterError(f"{period!r} is no period of {self.file.name!r}; write for example '2026-01-31'.")

    def _every(self, last: date) -> list[Slot]:
        """Return all periods up to a day, and after them all second looks at them."""
        found = [slot for unit in self.file.units() for slot in self.file.slots(unit, last)]
        return found + [one.revised(rule.name) for rule in self.file.revisions for one in found]

    def _reached(self, book: Ledger) -> date:
        """Return the last day of which anything can be shown; a clock set back takes nothing out of the files."""
        if self.file.last is not None:
            return self.file.last
        own = self._id("")
        names = {entry.id.removeprefix(own) for entry in book.history() if entry.id.startswith(own)}
        years = [int(name[:4]) for name in names if name[:4].isdecimal()]
        until = date(max(years, default=1) + 1, 1, 7)  # the last week of a year may end in the next
        slots = [slot for unit in self.file.units() for slot in self.file.slots(unit, until)]
        return max([self._today(), *(slot.last for slot in slots if slot.name in names)])

    def _answers(self, book: Ledger, slot: Slot) -> dict[str, Answer]:
        listed, entry = self.file.listed(slot), book.entry(self._id(slot.issue))
        if not listed or entry is None or entry.state != "committed":
            return {}
        asked, snapshot = self._asked(book, listed), self._snapshot(slot)
        if not same_event(asked, snapshot, entry.event):
            return {}  # of another edition: its files stay as they were written then
        kept = replace(book.stored(self._id(slot.issue)), reused=True)
        return dict(zip((one.name for one in listed), answers_of(book, asked, kept, snapshot), strict=True))

    def series(self, table: str) -> Series | MeanSeries:
        """Return a running total as far as it was released, with its bands; free, and no data are read."""
        for spec in self.file.running():
            if spec.name == table:
                with self._ledger() as book:
                    return running_series(self.file, spec, book, self._short())
        raise ParameterError(f"No running total is called {table!r}; the publication has {self._named()}.")

    def _named(self) -> str:
        return ", ".join(one.name for one in self.file.running()) or "none"

    def _short(self) -> str:
        if not self.file.budget.units:
            return "one person is hidden; noise only, not sampling error"
        return f"one {self.file.budget.units[0][0]} of one person is hidden; noise only, not sampling error"

    def _layout(self, book: Ledger, note: str = "") -> Layout:
        done = {entry.id for entry in book.history() if entry.state == "committed"}
        last = self._reached(book)
        released = {
            slot: partial(self._answers, book, slot) for slot in self._every(last) if self._id(slot.issue) in done
        }
        running = {spec.name: running_series(self.file, spec, book, self._short()) for spec in self.file.running()}
        return Layout(self.file, tuple(self.words()), released, running, note)

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
            seen = seen_of(self.file, book)
            states = [self._state(book, seen, slot) for slot in self._due(None)]
        return Verified(states.count("done"), files, tuple(problems))


class _MadeUp(Publication):
    """The same publication on random rows of its schema."""

    def _open(self, source: Any, slot: Slot) -> Table:
        import pyarrow

        rows = random_rows(self.file.schema, MADE_UP, Noise())
        place = rows.column_names.index(self.file.stamp)
        rows = rows.set_column(place, self.file.stamp, pyarrow.array([slot.first] * MADE_UP))
        return super()._open(rows, slot)
