"""What a ledger can be asked about itself: what is guaranteed, what has been used, and what was charged."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.ledger import statements, wording
from sfumato.ledger.guarantee import UNBOUNDED, Unbounded
from sfumato.ledger.history import Entry, entries, entry
from sfumato.ledger.periods import PeriodsUsed, periods_table, periods_used, units_said, used_said
from sfumato.ledger.readings import Reading, Statement
from sfumato.ledger.statements import Names
from sfumato.privacy import EVERYTHING, Bound
from sfumato.privacy.filters import Meter
from sfumato.show.tables import table
from sfumato.show.views import View, Viewed

if TYPE_CHECKING:
    from sfumato.ledger.journal import Journal


class Meters(Viewed):
    """The meters and the guarantee of a ledger; looking at them costs nothing."""

    _journal: Journal

    def view(self) -> View:
        """Return all limits with what is used of them so far, and how many requests were charged."""
        rows = [
            [reading.name, str(reading.rule.limit.bound), f"{reading.percent} %", reading.numbers]
            for reading in self.readings()
        ]
        drawn = [table("", ["on", "limit", "used", "in numbers"], rows)] if rows else []
        periods, budget = self.periods(), self._journal.terms.budget
        drawn += [periods_table(periods)] if periods else []
        # Where only periods are limited, what they are promised ends with the sentence about a lifetime.
        whole = [] if periods and budget.person is None else [self.guarantee_text()]
        history = self.history()
        free = sum(entry.person.is_zero for entry in history)
        charged = len(history) - free
        also = f", {free} free" if free else ""
        asked = f"{charged} request{'' if charged == 1 else 's'} charged{also}. {wording.METER}"
        said = (*units_said(budget, self._journal.terms.relation), *whole)
        return View(f"Ledger {self._journal.place}", tuple(drawn), said, (*used_said(periods), asked))

    def __repr__(self) -> str:
        return f"Ledger({self._journal.place!r})"

    def guarantee(self, names: Names = EVERYTHING, people: int = 1, days: int | None = None) -> Bound | Unbounded:
        """Return what everything answered, now and later, satisfies: a first-declared limit or what such imply.

        `days` asks for any so many days in a row of a person, where the ledger limits days, weeks or months.
        """
        with self._journal.session(write=False):
            if days is None:
                return statements.guarantee(self._journal, names, people)
            found = statements.guarantee_over(self._journal, names, people, days)
            return UNBOUNDED if found is None else found.bound

    def guarantee_text(self, names: Names = EVERYTHING, people: int = 1, days: int | None = None) -> str:
        """Say the guarantee in its exact wording."""
        on = statements.closed(self._journal, names)
        if days is None:
            bound = self.guarantee(names, people)
            return wording.guarantee_text(None if isinstance(bound, Unbounded) else bound, on, people)
        with self._journal.session(write=False):
            found = statements.guarantee_over(self._journal, names, people, days)
        single = found is not None and bool(found.unit) and self.one_slot_each(found.unit)
        return wording.guarantee_over_text(found, days, on, people, single)

    def periods(self) -> tuple[PeriodsUsed, ...]:
        """Return for every limit on periods which of them were charged, and what they have used of it."""
        return periods_used(self._journal)

    def spent(self, names: Names = EVERYTHING, people: int = 1, analyst: str | None = None) -> Reading:
        """Return the meters of a set of attributes: used and left, never a guarantee."""
        with self._journal.session(write=False) as session:
            return statements.reading(self._journal, session, names, people, analyst)

    def remaining(
        self, names: Names = EVERYTHING, people: int = 1, analyst: str | None = None
    ) -> tuple[tuple[Meter, Fraction | None], ...]:
        """Return what each meter has left, None for a route that is closed for good."""
        found = self.spent(names, people, analyst)
        return tuple(zip(found.meters, found.left, strict=True))

    def readings(self) -> list[Reading]:
        """Return the meters of all limits, first-declared ones first."""
        with self._journal.session(write=False) as session:
            return statements.readings(self._journal, session)

    def spent_in(self, unit: str, slot: str) -> Reading:
        """Return the meters of one period: `spent_in("day", "2026-11-16")`; used so far, never a guarantee."""
        with self._journal.session(write=False) as session:
            self._journal.sums(session)
            return self._journal.slots.reading(unit, slot, session.slots)

    def one_slot_each(self, unit: str) -> bool:
        """Tell whether every release so far read one slot of a unit, so that costs of several slots add up."""
        with self._journal.session(write=False) as session:
            self._journal.sums(session)
            return session.directory is None or session.directory.single.get(unit, True)

    def history(self) -> list[Entry]:
        """Return every request that was charged, in the order of the chain, whatever became of it."""
        with self._journal.session(write=False) as session:
            return entries(session)

    def entry(self, request_id: str) -> Entry | None:
        """Return one request that was charged, None if there is none of this id."""
        with self._journal.session(write=False) as session:
            return entry(session, request_id)

    def odometer(self, names: Names = EVERYTHING) -> Statement | None:
        """Return what this run's answers can have shifted the odds by, None after a release with a leak."""
        with self._journal.session(write=False) as session:
            return statements.odometer(self._journal, session, names)
