"""One running total of a publication: its plan from public facts, its steps, what is kept between them (PB-CONTINUAL).

A step reads one period, freezes what it read with a key, draws from that and from what earlier steps froze, and stores
the draw: once, whatever ends processes (PB-RUN). The exact integers of all periods lie beside the data, as secret as
they are, each file named by its digest, which the state of the conversation lists; they are never read again from the
source. Keys live from freezing to storing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, cast

from sfumato.ask.packing import pack, unpack
from sfumato.domain import Dates
from sfumato.errors import LedgerError, Overtaken, ParameterError, Unfinished
from sfumato.ledger import Entry, Ledger
from sfumato.ledger.slots import SlotCharge
from sfumato.ledger.stepping import DeadStep, Standing, Stepwise
from sfumato.mechanism import Event
from sfumato.noise import Noise, new_key
from sfumato.noise.laws.base import LARGEST_SCALE
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE, Attributes, Concentrated, Loss, Pure, Relation
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.publish.calendar import Slot
from sfumato.publish.charges import moved, running_charges, running_claims, running_person
from sfumato.publish.file import PublicationFile, TableSpec
from sfumato.publish.found import (
    Cell,
    Drawn,
    assembled,
    drawn_of,
    drawn_step,
    read_cells,
    totals_of,
    written_cells,
)
from sfumato.publish.matrix import MOST_PERIODS
from sfumato.publish.measured import Measured, check_search, measured, narrow
from sfumato.publish.memory import CountingRule, Lists, RememberedSums, RememberedTotals
from sfumato.publish.running import LARGEST_VARIANCE, Claim, RunningTotals, least_noise
from sfumato.publish.segments import Horizon
from sfumato.publish.shelves import Folder, Readings, Shelf
from sfumato.publish.tree import PureTotals, least_scale
from sfumato.table.data import Table
from sfumato.table.gauge import Basis, Gauge

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SALT = 32
"""A kept file begins with so many random bytes, so that its digest says nothing about it."""
SCALES = [2**power for power in range(12, 5, -1)]
"""How many units a weighed row may count, the finest first."""
LOST = (
    "What the running total {name!r} read in earlier periods is not where it was kept, so it has ended: it cannot be "
    "read again, because people could count twice. What was published stays; start a new total under another name."
)
ANOTHER = (
    "The running total {name!r} was begun as another one: by another version, or when the file said something else of "
    "it. What was published stays, and it takes no further step; put back what the file said of it then to go on, or "
    "start a new total under another name."
)
ATTEMPTS = 100


@dataclass(frozen=True)
class RunningTable:
    """One horizon of a running total: `number` 0 is the first."""

    file: PublicationFile
    spec: TableSpec
    number: int = 0
    search: Callable[[Slot], Sequence[Cell]] | None = field(default=None, compare=False)
    """What says which groups were found in a period, where they are not listed."""
    relation: Relation = ADD_REMOVE
    analyst: str | None = field(default=None, compare=False)

    @property
    def shelf(self) -> Shelf:
        """Where its readings and its releases are kept."""
        return Folder(self.file.private)

    @property
    def id(self) -> str:
        """The request under which its conversation stands in the ledger."""
        later = f"/{self.number + 1}" if self.number else ""
        return f"pub/{self.file.name}/running/{self.spec.name}{later}"

    @cached_property
    def periods(self) -> list[Slot]:
        """The periods that it spans."""
        return self.file.running_periods(self.number)

    @cached_property
    def measured(self) -> Measured:
        """What is added up in every period."""
        found = measured(self.spec, self.file.schema)
        for table in self.file.tables:
            if found.found and table.name == self.spec.keys:
                check_search(self.spec, table, found, self.file.schema)
        return found

    @property
    def cells(self) -> tuple[tuple[Any, ...], ...]:
        """The groups, in the order of the numbers; one without a name where there are none."""
        return self.measured.cells

    @cached_property
    def gauge(self) -> Gauge:
        """What knows unit and sensitivity; of weighed rows in the finest unit whose noise can be drawn."""
        return self._planned[0]

    @cached_property
    def totals(self) -> RunningTotals | PureTotals:
        """The mechanism."""
        return self._planned[1]

    @property
    def grid(self) -> int:
        """To which multiples of its unit the total of a period is rounded, before anything is drawn."""
        return self._planned[2]

    @cached_property
    def _planned(self) -> tuple[Gauge, RunningTotals | PureTotals, int]:
        for scale in SCALES:
            gauge = Basis(self.file.schema, None, self.relation, scale=scale).gauge(self.measured.measure)
            moves = self.measured.moves(replace(gauge, basis=replace(gauge.basis, relation=ADD_REMOVE)))
            often = 1 if "person" not in self.spec.spend else self._longest
            often = often if self.spec.rule is None else min(self.spec.rule.most, self._longest)
            if self._drawable(moves.times(often * self._sides)) or scale == SCALES[-1]:
                break
        moves, grid = (moves, 1) if self.measured.rows else self._coarse(moves)
        if self.relation is REPLACE_ONE:
            # Also rows of somebody who was not there in this period come in place of others: nobody is sure to be.
            moves = self.measured.exchanged(moves, at_other_times=self.spec.rule is not None)
        made = self._mechanism(gauge, moves)
        gauge.require(made)
        return gauge, made, grid

    @property
    def _longest(self) -> int:
        """How many periods any horizon has at most: all of them are read in the same unit, since they are added up."""
        return len(self.periods) if self.file.horizon is None else MOST_PERIODS

    @property
    def _sides(self) -> int:
        """How many people a neighbour is about: somebody in place of another moves a total up to twice as far."""
        return 2 if self.relation is REPLACE_ONE else 1

    def _coarse(self, moves: Sensitivity) -> tuple[Sensitivity, int]:
        """Return how far sums move on the finest grid on which their noise can be drawn, also for whole horizons."""
        grid, wide = 1, self._longest if list(self.spec.spend) != [self.file.period] else 1
        found = moves
        while not self._drawable(found.times(wide * self._sides)) and found.largest > 1:
            grid *= 2
            found = moves.coarser(grid)
        return found, grid

    def _drawable(self, moves: Sensitivity) -> bool:
        """Tell whether noise for so far a move can surely be drawn, however many periods there are."""
        moves = moved(self.file.promised, moves, self.file.promised.person)
        least = min(self._spends.values())
        if self.spec.pure:
            # Longer units than the period count as often as they have periods.
            often = 1 if list(self.spec.spend) == [self.file.period] else self._longest
            return moves.l1 * 16 * often / least < LARGEST_SCALE
        return moves.l2_squared * 64 * 256**2 / least < LARGEST_VARIANCE

    def _mechanism(self, gauge: Gauge, moves: Sensitivity) -> RunningTotals | PureTotals:
        if self.spec.rule is not None:
            return self._remembered(gauge, moves, self.spec.rule)
        claims = running_claims(self.file.promised, self._spends, self.periods, moves, self._exchanged(moves))
        known: Any = {"relation": self.relation, "reads": gauge.charged, "moves": moves}
        if self.spec.pure:
            tree, scale = least_scale(len(self.periods), claims, self.spec.target)
            return PureTotals(tree=tree, scale=scale, **known)
        factor, variance = least_noise(len(self.periods), claims, self.spec.target)
        return RunningTotals(factor=factor, variance=variance, **known)

    def _remembered(self, gauge: Gauge, moves: Sensitivity, rule: CountingRule) -> RunningTotals | PureTotals:
        """Return the mechanism where a person counts in so many periods only, for what a whole person may cost."""
        periods, pattern = len(self.periods), rule.pattern(len(self.periods))
        # Of two worlds with other lists both patterns may differ, so an exchange is one at other times.
        promised = self.file.promised
        far = moved(promised, moves, promised.person, self._exchanged(moves))
        claim = Claim(pattern, far, self._spends["person"])
        known: Any = {"relation": self.relation, "reads": gauge.charged, "moves": moves, "rule": rule}
        if self.spec.pure:
            tree, scale = least_scale(periods, [claim], self.spec.target)
            return RememberedSums(tree=tree, scale=scale, **known)
        factor, variance = least_noise(periods, [claim], self.spec.target, sum(pattern) > 1, rule.gap)
        return RememberedTotals(factor=factor, variance=variance, **known)

    def _exchanged(self, moves: Sensitivity) -> Sensitivity | None:
        """Return how far rows in place of others move the total of one period, None where it was charged as two."""
        return None if self.spec.twice else self.measured.exchanged(moves, at_other_times=self.spec.rule is not None)

    @property
    def _spends(self) -> dict[str, Fraction]:
        """What it may cost by unit: rho, or epsilon if the spends are pure."""
        bounds = self.spec.spend.items()
        return {
            unit: bound.epsilon if isinstance(bound, Pure) else cast(Concentrated, bound).rho for unit, bound in bounds
        }

    @property
    def told(self) -> dict[str, Any]:
        """What decides it, its meaning and its loss."""
        return self.file.total(self.spec)

    def event(self) -> Event:
        """Return the public record of the conversation."""
        inner = self.totals.event()
        parameters = {
            "mechanism": inner.to_json(),
            "publication": self.file.name,
            "table": self.spec.name,
            "question": self.spec.phrase,
            "total": self.told,
            "first": self.periods[0].name,
            "last": self.periods[-1].name,
        }
        return Event("RunningTotals", inner.spec, parameters, inner.version)

    def same(self, book: Ledger, stored: Mapping[str, Any]) -> bool:
        """Tell whether a stored event is that of this total, whatever else the file said then.

        A schema that has gained derived columns since is the same to it.
        """
        own, then = _split(self.event().to_json()), _split(stored)
        if own[0] != then[0]:
            return False
        if "total" not in then[1]:
            return then[1].get("edition") == self.file.edition or self._surely(book)
        total = then[1]["total"]
        return {**own[1]["total"], "schema": ""} == {**total, "schema": ""} and (
            total["schema"] in self.file.schema.fingerprints
        )

    def _surely(self, book: Ledger) -> bool:
        """Tell whether a total that an earlier version began under another edition can only have been this one.

        That version kept one digest of the whole file. Noise, loss, question and periods are compared as they stand,
        the ledger holds the schema; the stamp is the same where there is only one column of days, the zone where the
        ledger has no other, and whether groups were listed or found shows in what was released.
        """
        schema, own = self.file.schema, f"pub/{self.file.name}/calendar/"
        if sum(isinstance(schema.domain(name), Dates) for name in schema.columns) != 1:
            return False
        zones = {one.event["parameters"]["zone"] for one in book.history() if one.id.startswith(own)}
        if zones != (set() if self.file.zone is None else {self.file.zone.key}):
            return False
        entry = book.entry(self.id)
        if entry is None or entry.state != "started":
            return entry is not None
        try:
            released = json.loads(book.load_state(self.id).state)["released"]
        except LedgerError:  # it has no state yet
            return False
        content = self.shelf.kept("released", released[0])
        return content is not None and isinstance(unpack(content, schema), (list, tuple)) == self.measured.found

    def loss(self) -> Loss:
        """Return what somebody who is there in every period is charged for the whole of it."""
        exchanged = self._exchanged(self.totals.moves)
        person = running_person(self.file.promised, self.periods, self.totals, exchanged)
        return Loss.flat(person, self.reads, self.relation if self.file.relation is ADD_REMOVE else self.file.relation)

    @property
    def reads(self) -> Attributes:
        """The attributes that are charged."""
        return self.totals.reads

    def open(self, book: Ledger) -> Stepwise:
        """Reserve the whole of it, or find it begun."""
        entry, event = book.entry(self.id), self.event()
        if entry is not None:
            if not self.same(book, entry.event):
                raise LedgerError(ANOTHER.format(name=self.spec.name))
            event = event_of(entry)
        slots = self.slots()
        return book.open(self.id, event, self.loss(), analyst=self.analyst, slots=slots)  # which compares both

    def slots(self) -> list[SlotCharge]:
        """Return what is charged to each slot of every limit."""
        return running_charges(self.file.promised, self.periods, self.totals, self._exchanged(self.totals.moves))

    def done(self, book: Ledger) -> list[str]:
        """Return the periods that were released; none if it was not begun."""
        entry = book.entry(self.id)
        return [] if entry is None or entry.state != "started" else self._state(self.open(book).standing())[0]

    def dead(self, book: Ledger) -> bool:
        """Tell whether it ended before its time."""
        entry = book.entry(self.id)
        return entry is not None and entry.state == "dead"

    @staticmethod
    def _state(standing: Standing) -> tuple[list[str], list[str], list[str]]:
        state = {"periods": [], "read": [], "released": []} if standing.state is None else json.loads(standing.state)
        return state["periods"], state["read"], state["released"]

    def step(self, book: Ledger, slot: Slot, table: Callable[[], AbstractContextManager[Table]]) -> None:
        """Release one period, unless it was; periods come in their order."""
        steps = self.open(book)
        for _ in range(ATTEMPTS):
            standing = steps.standing()
            done = self._state(standing)[0]
            if slot.name in done:
                return
            if slot.name != self.periods[len(done)].name:
                raise ParameterError(
                    f"The running total {self.spec.name!r} goes on with {self.periods[len(done)].name}, not with "
                    f"{slot.name}; run the periods in their order."
                )
            try:
                self._advance(book, steps, standing, slot, table)
            except Overtaken:
                continue  # another runner was first: its bytes count
        raise Unfinished(f"Other runners were always first for {slot.name} of {self.spec.name!r}; run again.")

    def _advance(
        self,
        book: Ledger,
        steps: Stepwise,
        standing: Standing,
        slot: Slot,
        table: Callable[[], AbstractContextManager[Table]],
    ) -> None:
        done, read, released = self._state(standing)
        seal = standing.seal
        if seal is None or seal.step != standing.step:
            lists = self._lists(steps, read)
            content = new_key()[:SALT] + steps.read(lambda: self._read(slot, table, lists))
            frozen, seal = steps.freeze(standing.step, content, new_key())
        else:
            thawed = steps.thaw(seal)
            if isinstance(thawed, str):
                raise Unfinished(thawed)
            frozen = thawed
        before = self._before(book)
        known = self._cells([*before, (self, read, released)])  # a lost file is put back, and nothing has ended
        noise = frozen.coins.noise(0, standing.step)
        try:
            drawn = steps.draw(lambda: self._drawn(frozen.content, read, known, noise, before))
        except DeadStep:
            self._end(steps)
        state = {
            "periods": [*done, slot.name],
            "read": [*read, self.shelf.keep("read", frozen.content)],
            "released": [*released, self.shelf.keep("released", drawn)],
        }
        steps.save(standing.step, json.dumps(state).encode())
        # Only now, and what a kill left unsealed too: nobody else is about to seal, runners here wait for each other.
        for left in steps.kept():
            steps.release(left)

    def _drawn(
        self, content: bytes, read: Sequence[str], known: Sequence[Cell], noise: Noise, before: Sequence[Kept]
    ) -> bytes:
        """Draw a step from what it froze and what earlier ones did."""
        frozen = unpack(content[SALT:], self.file.schema)
        totals = Readings(self._totals_of, read, frozen[0])
        if not self.measured.found:
            return pack(self.totals.entry(totals, noise))
        listed, there = set(known), read_cells(frozen[1], self.file.schema, self.measured.measure.keys)
        fresh = [cell for cell in there if cell not in listed]
        past = [(table.totals, table._sums_of(map(self._totals_of, then), fresh)) for table, then, _ in before]
        old, new = self._sums_of(totals, known), self._sums_of(totals, fresh)
        return drawn_step(self.totals, old, new, fresh, noise, past=past).packed()

    def _sums_of(self, read: Iterable[Any], cells: Sequence[Cell]) -> list[NDArray[np.int64]]:
        """Return by period what was frozen of some groups."""
        return [totals_of(one, cells, self.measured, self.grid) for one in read]

    def _before(self, book: Ledger) -> list[Kept]:
        """Return the horizons that ended before this one, where groups that are found have a past in them."""
        if not self.measured.found:
            return []
        return [replace(self, number=number).kept(book) for number in range(self.number)]

    def kept(self, book: Ledger) -> Kept:
        """Return what names the readings and the releases of its steps so far."""
        entry = book.entry(self.id)
        begun = entry is not None and entry.state == "started"
        _, read, released = self._state(self.open(book).standing()) if begun else ([], [], [])
        return self, read, released

    def _cells(self, horizons: Sequence[Kept]) -> tuple[Cell, ...]:
        """Return the groups found so far; none where they are listed."""
        return found_groups(horizons)[0] if self.measured.found else ()

    def steps_released(self, released: Sequence[str]) -> list[Drawn]:
        """Return what was released of groups that are found."""
        keys = self.measured.measure.keys
        return [drawn_of(self._released(one), self.file.schema, keys) for one in released]

    def _released(self, digest: str) -> bytes:
        content = self.shelf.kept("released", digest)
        if content is None:
            raise LedgerError(f"A released step of {self.spec.name!r} is not where it was kept: {digest[:12]}….")
        return content

    def sweep(self, book: Ledger) -> None:
        """Erase keys that a kill between storing and erasing left; called where no other runner is about to seal."""
        entry = book.entry(self.id)
        if entry is None or entry.state != "started":
            return
        steps = self.open(book)
        standing = steps.standing()
        sealed = standing.seal is not None and standing.seal.step == standing.step
        for left in steps.kept():
            if not sealed or (standing.seal is not None and left != standing.seal.seal):
                steps.release(left)

    def _end(self, steps: Stepwise) -> NoReturn:
        steps.bury()
        raise LedgerError(LOST.format(name=self.spec.name)) from None

    def _lists(self, steps: Stepwise, read: Sequence[str]) -> Lists | None:
        """Return who counted so far, from what was frozen and from nothing else; without it the total has ended."""
        if self.spec.rule is None:
            return None
        kept = [self.shelf.kept("read", digest) for digest in read]
        if any(content is None for content in kept):
            self._end(steps)
        found = [unpack(content[SALT:], self.file.schema) for content in kept if content is not None]
        return Lists(found[0][-1].tobytes() if found else new_key(), (part[-2] for part in found))

    def _read(self, slot: Slot, table: Callable[[], AbstractContextManager[Table]], lists: Lists | None) -> bytes:
        """Return what is frozen: the totals and the groups that were found, and who counted with the key of names."""
        import numpy as np

        with table() as opened:
            counted: tuple[Any, ...] = ()
            if lists is not None and self.spec.rule is not None:
                chosen, listed = lists.chosen(opened.people_here(), self.spec.rule)
                opened.keep_people(chosen)
                counted = (listed, np.frombuffer(lists.key, np.uint8))
            if not self.measured.found:
                return pack((self._exact(opened), *counted))
            assert self.search is not None
            return pack((self.gauge.read(opened), written_cells(self.search(slot)), *counted))

    def _exact(self, opened: Table) -> NDArray[Any]:
        return narrow(self.measured.exact(self.gauge.read(opened), self.grid))

    def _totals_of(self, digest: str) -> NDArray[np.int64]:
        """Return what an earlier step read; without it nothing can be drawn any more."""
        content = self.shelf.kept("read", digest)
        if content is None:
            raise LookupError(digest)
        found: NDArray[np.int64] = unpack(content[SALT:], self.file.schema)[0]
        return found

    def segment(self, book: Ledger) -> tuple[list[str], Horizon]:
        """Return what was released so far of listed groups, and for which periods."""
        _, _, digests = self.kept(book)
        rows = [unpack(self._released(digest), self.file.schema) for digest in digests]
        return self.done(book), self.totals.segment(rows, self.measured.width)


Kept = tuple[RunningTable, Sequence[str], Sequence[str]]
"""A horizon, and what names the readings and the releases of its steps."""


def found_groups(horizons: Sequence[Kept]) -> tuple[tuple[Cell, ...], list[list[Any]]]:
    """Return the groups that were found, and by horizon and period what was released of them."""
    steps = [(table.totals, table.steps_released(released)) for table, _, released in horizons]
    return assembled(steps, horizons[0][0].measured.parts)


def event_of(entry: Entry) -> Event:
    """Return the event of a request as it stands in the ledger."""
    said = entry.event
    return Event(said["name"], said["spec"], said["parameters"], said["version"])


def _split(event: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return what the law of a total is, and by what files are told apart, which earlier versions wrote otherwise."""
    parameters = dict(event["parameters"])
    told = {name: parameters.pop(name) for name in ("total", "edition") if name in parameters}
    law, said = json.loads(json.dumps([{**event, "parameters": parameters}, told]))
    return law, said
