"""The open data sets: one curator each, a second one for what is free, and nothing else that leads to the data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock
from typing import Any

from sfumato.answer import Answer
from sfumato.ask.question import fits
from sfumato.curator import Curator, curate
from sfumato.curator.before import as_answered
from sfumato.curator.planning import planned
from sfumato.errors import BudgetExceeded, LedgerError, ParameterError
from sfumato.ledger import Ledger
from sfumato.ledger.readings import Reading
from sfumato.ledger.wording import refusal_text
from sfumato.serve.asked import Form, Meant, meant, planning
from sfumato.serve.house import Dataset
from sfumato.serve.problems import busy
from sfumato.table.database import Database

FREE_PLACES = 4
"""So many rehearsals and files of made-up rows are made at once in a data set: they are free, and take long."""

PERIODS = (
    "The ledger of {name!r} limits what a person did in each {unit}, and quotas and approvals of a service are about "
    "what a question costs a whole person; give the data set a ledger of people, show a publication, or ask at the "
    "shell: sfumato query … --of 2026-11 --stamp at."
)
NO_QUOTA = "{name!r} has no quota here; whoever runs the service names one in its house, or one of everyone."


class Desk:
    """One data set: `curator` reads it, one question at a time; `front` knows its schema and ledger only."""

    def __init__(self, terms: Dataset) -> None:
        self.terms = terms
        self.curator = curate(
            terms.source,
            terms.schema,
            terms.budget,
            ledger=terms.ledger,
            snapshot=terms.snapshot,
            table=terms.table,
            relation=terms.relation,
            keep_head=terms.keep_head,
            private=terms.private,
            memory_limit=terms.memory_limit,
            temp_directory=terms.temp_directory,
            most_rows=terms.most_rows,
        )
        if self.curator.ledger.budget.units:
            self.curator.close()
            raise ParameterError(PERIODS.format(name=terms.name, unit=self.curator.ledger.budget.units[0][0]))
        book = Ledger(terms.ledger, private=terms.private)
        self.front = Curator(self.curator.table, book, book.relation)
        self._reading = Lock()
        self._free = BoundedSemaphore(FREE_PLACES)

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.terms.name

    @property
    def several(self) -> bool:
        """Whether it has several tables, which are asked about in SQL."""
        schema: Any = self.front.schema
        return isinstance(schema, Database)

    def meant(self, form: Form) -> Meant:
        """Return what a form means here."""
        if self.several and form.way != "sql":
            raise ParameterError(f"{self.name} has several tables; ask in SQL, over the tables that its page lists.")
        return meant(form, self.front)

    def needs_approval(self, asked: Meant) -> bool:
        """Tell whether a curator decides about a question: it costs more than the threshold, and has no answer yet."""
        plan, threshold = planned(self.front.basis, asked.to_ask(self.front), asked.spend), self.terms.approve_above
        if threshold is None or fits(plan.loss(), threshold):
            return False
        book, snapshot = self.front.ledger, self.front.table.snapshot
        return not book.knows(as_answered(book, self.front.basis, plan, asked.spend, snapshot)[2])

    def refuse_beyond(self, asked: Meant, name: str) -> None:
        """Refuse what no limit has room for: a curator's approval would not change that."""
        assert asked.spend is not None
        self.admit(name)
        seen = self.front.preview(asked.to_ask(self.front), asked.spend, analyst=name)
        if not seen.fits:
            with planning():  # as it can be typed: one that is shown rounded up would be refused again
                largest = self.front.ledger.to_type(
                    lambda part: planned(self.front.basis, asked.asked, part).losses(part), asked.spend, name
                )
            raise BudgetExceeded(refusal_text(seen.breaks, largest), seen.breaks, largest)

    def admit(self, name: str) -> None:
        """Give somebody the quota that the house names, when they first ask; the ledger holds them to it."""
        quota = self.terms.quota(name)
        known = self.front.ledger.analysts
        if quota is None and known and name not in known:
            raise ParameterError(NO_QUOTA.format(name=name))  # the ledger's own sentence lists those who have one
        if quota is None or name in known:
            return
        try:
            self.curator.ledger.add_analyst(name, quota)
        except LedgerError:
            if name not in self.front.ledger.analysts:  # or another worker has just done it
                raise

    def ask(self, asked: Meant, name: str, request: str) -> list[Answer]:
        """Ask the curator; this is the only way to the data, one question at a time."""
        self.admit(name)
        with self.reading():
            return asked.ask(self.curator, name, request)

    def reading(self) -> Lock:
        """Return the lock under which the data are looked at."""
        return self._reading

    @contextmanager
    def working(self) -> Iterator[None]:
        """Hold one of the few places for what is free and takes long; who finds none comes again."""
        if not self._free.acquire(blocking=False):
            raise busy()
        try:
            yield
        finally:
            self._free.release()

    def rehearse(self, asked: Meant, people: int | None = None) -> Answer:
        """Answer a question on made-up rows, which are public; free."""
        if isinstance(asked.asked, list):
            raise ParameterError(
                "One question is rehearsed at a time, as JSON or as a phrase; a statement has a preview."
            )
        with self.working(), planning():
            return self.front.rehearse(asked.asked, asked.spend, people=people)

    def stored(self, request: str) -> list[Answer]:
        """Return what was answered to a request; free, and nothing is read."""
        found = self.front.stored(request)
        return [found] if isinstance(found, Answer) else found

    def readings(self, name: str | None) -> list[Reading]:
        """Return the meters that somebody may see: the limits of all, and their own quota; None sees all of them."""
        found = self.front.ledger.readings()
        return [one for one in found if name is None or one.rule.analyst in (None, name)]

    def facts(self) -> dict[str, Any]:
        """Return what is public about the data set."""
        people = self.front.basis.people
        return {
            "name": self.name,
            "title": self.terms.title or self.name,
            "about": self.terms.about,
            "people": people,
            "columns": len(self.front.schema.names),
            "several_tables": self.several,
            "snapshot": self.front.table.snapshot,
            "relation": self.front.ledger.relation.value,
            "promise": self.front.ledger.guarantee_text(),
            "guarantee": getattr(self.front.guarantee(), "to_json", lambda: None)(),
            "approve_above": None if self.terms.approve_above is None else str(self.terms.approve_above),
        }

    def close(self) -> None:
        """Let go of the table and the ledger."""
        self.front.ledger.close()
        self.curator.close()


class Desks:
    """All data sets of a house, by name."""

    def __init__(self, datasets: tuple[Dataset, ...]) -> None:
        self._desks: dict[str, Desk] = {}
        try:
            for terms in datasets:
                self._desks[terms.name] = Desk(terms)
        except BaseException:
            self.close()
            raise

    def __getitem__(self, name: str) -> Desk:
        return self._desks[name]

    def __contains__(self, name: object) -> bool:
        return name in self._desks

    def __iter__(self) -> Iterator[Desk]:
        return iter(self._desks.values())

    def close(self) -> None:
        """Close all of them."""
        for desk in self._desks.values():
            desk.close()
