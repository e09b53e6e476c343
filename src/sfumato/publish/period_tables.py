"""The tables that a period asks for: made ready once for all periods, and what may be charged for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from sfumato.answer import Answer
from sfumato.ask.asked import Asked
from sfumato.ask.prepared import Prepared
from sfumato.ask.question import Question
from sfumato.curator.typed import read_question
from sfumato.errors import NotProvable, ParameterError
from sfumato.ledger import Ledger
from sfumato.ledger.running import Work
from sfumato.privacy import ADD_REMOVE, EVERYTHING, REPLACE_ONE, Approximate, Bound, Concentrated, Cost, Loss, Pure
from sfumato.publish.bands import require_banded
from sfumato.publish.exchanged import exchange_of, exchanged, stretch
from sfumato.publish.file import PublicationFile, TableSpec
from sfumato.table.data import Table
from sfumato.table.gauge import Basis
from sfumato.table.measure import Boxed, People
from sfumato.table.schema import Schema


class PeriodTables:
    """The tables of a publication's periods."""

    def __init__(self, file: PublicationFile) -> None:
        self.file = file
        self._prepared: dict[tuple[str, str, bool, bool], Asked] = {}

    def asked(self, book: Ledger, tables: Sequence[TableSpec]) -> Asked:
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
        for question, one in zip(questions, tables, strict=True):
            require_banded(one, question.kind)
        prepared = tuple(
            self._made_for(question, basis, one.spend[one.every])
            for question, one in zip(questions, tables, strict=True)
        )
        if self.file.within:
            for one, ready in zip(tables, prepared, strict=True):
                _require_rows(one, ready, self.file.within)
        return Asked(questions, prepared, schema)

    def _made_for(self, question: Question, basis: Basis, spend: Bound) -> Prepared:
        """Prepare a table so that a slot that changes costs no more than its spend.

        Where rows are exchanged, tables of counts need less noise for a rho than what is known of other tables says.
        """
        if self.file.promised.relation is REPLACE_ONE and isinstance(spend, Concentrated) and spend.unit == "person":
            for parts in (1, 2):
                found = question.prepare(basis, Concentrated(spend.rho / parts))
                if stretch(found) == parts and exchange_of(found).within(spend):
                    return found
        return question.prepare(basis, self.file.promised.spent(spend))

    def exchanged(self, asked: Asked) -> tuple[Loss, ...]:
        """Return what a share costs whose rows come in place of others, if some table has a certificate of its own."""
        if all(stretch(one) is None for one in asked.prepared):
            return ()
        try:
            return (exchanged(asked.prepared, self.file.promised.relation),)
        except NotProvable:
            return ()

    def losses(self, asked: Asked, tables: Sequence[TableSpec]) -> tuple[Loss, ...]:
        """Return what may be charged for a share: the loss as it is, or that of anything within the spends."""
        return self._alternatives(asked.loss(), tables)

    def _alternatives(self, loss: Loss, tables: Sequence[TableSpec]) -> tuple[Loss, ...]:
        """Return a loss, and that of anything within the spends.

        A spend for each attribute says nothing about a person, who may cost many times that.
        """
        spends = [self.file.promised.spent(one.spend[one.every]) for one in tables]
        known = [one for one in spends if isinstance(one, (Approximate, Pure)) and one.unit == "person"]
        if len(known) < len(spends) or not any(isinstance(one, Approximate) for one in known):
            return (loss,)
        epsilon = sum((one.epsilon for one in known), start=0 * known[0].epsilon)
        delta = sum((one.delta for one in known if isinstance(one, Approximate)), start=0 * known[0].epsilon)
        return loss, Loss.flat(Cost.approximate(epsilon, delta), relation=ADD_REMOVE)

    def told(self, asked: Asked, answers: Sequence[Answer], tables: Sequence[TableSpec]) -> dict[str, Answer]:
        """Return answers by table, each with what it cost a person, who may be several shares, or exchanged."""
        promised, found = self.file.promised, dict[str, Answer]()
        for table, prepared, answer in zip(tables, asked.prepared, answers, strict=True):
            found[table.name] = answer
            if promised.changes(promised.person) > 1:
                known = [] if stretch(prepared) is None else [exchanged([prepared], promised.relation)]
                losses = self._alternatives(answer.loss, [table])
                person = promised.prices(losses, promised.person, known)[0].person
                reads = answer.loss.profile.names() or EVERYTHING
                found[table.name] = replace(answer, loss=Loss.flat(person, reads, promised.relation))
        return found

    def stretches(self, book: Ledger) -> dict[str, int | None]:
        """Return of each table how many times its rho an exchange costs, None where nothing more is known of it."""
        found: dict[str, int | None] = {}
        for unit in self.file.units():
            listed = self.file.anew(unit)
            for one, prepared in zip(listed, self.asked(book, listed).prepared if listed else (), strict=True):
                found[one.name] = stretch(prepared)
        return found

    def costs(self, book: Ledger) -> dict[str, str]:
        """Return what a person costs in the tables whose spend is for each attribute, and so does not say it."""
        found: dict[str, str] = {}
        for unit in self.file.units():
            listed = self.file.anew(unit)
            for one, prepared in zip(listed, self.asked(book, listed).prepared if listed else (), strict=True):
                if one.spend[unit].unit != "person":
                    found[one.name] = str(prepared.loss().person)
        return found


def _require_rows(spec: TableSpec, prepared: Prepared, within: str) -> None:
    """Refuse what looks at whole people where their rows are cut apart: one would count as several."""
    gauge = prepared.gauge
    if isinstance(gauge.measure, (People, Boxed)) or type(gauge.schema) is not Schema:
        raise ParameterError(
            f"{spec.name!r} asks about whole people, and here each {within} of a person counts on its own; ask for "
            f"rows ('count by {within}'), or leave is = {within!r} out of [unit]."
        )


def work_when_wanted(asked: Asked, rows: Callable[[], AbstractContextManager[Table]]) -> Work:
    """Return the draw of a request that was begun, whose rows are opened only if nothing was frozen."""

    def read() -> bytes:
        with rows() as table:
            return asked.work(table).read()

    return Work(read, asked.draw)
