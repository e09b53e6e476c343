"""The curator: every answer is reserved first, drawn once, stored, and then shown."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, overload

from sfumato.answer import Answer, Released
from sfumato.ask.asked import Asked, left_of
from sfumato.ask.packing import unpack
from sfumato.curator.before import as_answered
from sfumato.curator.finishing import answers_of, as_drawn, as_shown, asked_before, read_answer
from sfumato.curator.foreseen import Foreseen, foreseen, weighed
from sfumato.curator.planning import key_of, planned
from sfumato.curator.shorthands import Shorthands
from sfumato.curator.words import INSTEAD, speaking
from sfumato.errors import AccuracyWarning, BudgetExceeded, LedgerError, ParameterError, SchemaError, TooLarge
from sfumato.exact import Number, exact
from sfumato.ledger import Ledger
from sfumato.ledger.largest import scaled
from sfumato.ledger.running import Coins
from sfumato.noise import Noise, new_key
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Approximate, Bound, Loss, Relation
from sfumato.privacy.bounds import require_bound
from sfumato.questions import Question
from sfumato.show.views import SHOWN_ROWS, View
from sfumato.table.data import Table, open_table
from sfumato.table.gauge import Basis
from sfumato.table.rehearsal import people_of, random_rows
from sfumato.table.schema import Schema

if TYPE_CHECKING:
    from sfumato.curator.statements import SqlAnswer
    from sfumato.report import Evidence, ThreatReport
    from sfumato.sql.explanation import Explanation

PAID_AGAIN = (
    "These data cannot be recognised when they are opened again: they will be a new snapshot, and a question asked "
    "again will be paid again. Name their state to keep what was paid for: snapshot='2026-03'."
)

ASKED_BEFORE = (
    "The same was asked before of snapshot {earlier!r} and is paid again here, because a frame cannot be recognised "
    "when it is opened again; to keep what is paid for, write snapshot='2026-03' in curate."
)
NEW_FILE = (
    "This file is new to the ledger, or was changed: it is the state {own!r} of the data. The same was answered of the "
    "state {earlier!r}, and is paid again here; if both hold the same, open this one with snapshot={earlier!r}, "
    "same_data=True."
)
EXCHANGED = (
    "In this ledger what somebody did in a period is exchanged, so the number of people is private, and a curator of "
    "exchanged people tells it; ask through a publication."
)
LOOKED_BACK = 100
"""So many earlier openings are searched for the same question."""


@speaking
class Curator(Shorthands):
    """A table and its ledger: every answer is reserved first, drawn once, stored, and then shown."""

    def __init__(self, table: Table, ledger: Ledger, relation: Relation = REPLACE_ONE) -> None:
        if ledger.budget.units and relation is REPLACE_ONE:
            raise ParameterError(EXCHANGED)
        self.table = table
        self.ledger = ledger
        self.basis = Basis(
            table.schema,
            table.people if table.span is None else None,  # who is there on some days is private
            relation,
            table.order_key,
            gaussians=ledger.gaussians,
            exact_lists=ledger.exact_lists,
            rank_errors=ledger.rank_errors,
        )
        self.closed = False
        self.unnamed = False  # whether this state of the data will be a new snapshot when it is opened again

    def __repr__(self) -> str:
        return str(self)

    def __getitem__(self, name: object) -> Any:
        raise ParameterError(
            f"Cells are private, so a curator has no [{name!r}]; write curator.mean('age', spend=Pure(0.1)), or "
            "curator.histogram('sex', spend=Pure(0.1))."
        )

    def __len__(self) -> NoReturn:
        raise ParameterError(
            "How many rows there are is a question too; write curator.count(spend=Pure(0.1)), or curator.people() "
            "where the number of people is public."
        )

    def __bool__(self) -> bool:
        return True  # it has no length to be judged by

    def view(self) -> View:
        """Return what there is, what may be asked about it, and what is left."""
        known = self.basis.people  # where people come and go their number is private, and nobody has paid for it
        people = "a private number of people" if known is None else f"{known:,} people"
        public = f"{people}; ledger {self.ledger.place}; snapshot {self.table.snapshot!r}."
        left = [f"{name}: {said}" for name, said in self.remaining().items()]
        asked = (
            "Ask with count, people, sum, mean, variance, histogram, median, quantiles, distribution, group_by, "
            "popular, answer, sql, audit, synthesize, synopsis, converse, running or learn; preview and rehearse cost "
            "nothing."
        )
        return View("Curator", self.schema.view().tables, (public, *self.notes), (*left[:SHOWN_ROWS], asked))

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever opens the data should know about their snapshot; public facts only."""
        return (PAID_AGAIN,) if self.unnamed and self.ledger.place != "memory" else ()

    @property
    def schema(self) -> Schema:
        """The public description of the table."""
        return self.table.schema

    @overload
    def ask(
        self, question: Question, spend: Bound | None = None, *, analyst: str | None = None, request: str | None = None
    ) -> Answer: ...
    @overload
    def ask(
        self,
        question: Sequence[Question],
        spend: Bound | None = None,
        *,
        analyst: str | None = None,
        request: str | None = None,
    ) -> list[Answer]: ...
    def ask(
        self,
        question: Question | Sequence[Question],
        spend: Bound | None = None,
        *,
        analyst: str | None = None,
        request: str | None = None,
    ) -> Answer | list[Answer]:
        """Answer a question within a spend, or a list of questions within one spend split evenly over them.

        The loss is reserved before the data are touched. The same question at the same spend of the same snapshot
        returns the stored answer, free. A list is one release: all of it is reserved at once or nothing is, it is
        stored at once, and the same list asked again is free. Questions in it that cost nothing take no part of the
        spend. `request` is your own id for this request, so that a retry is known as one; another request of the same
        id is refused.
        """
        asked = planned(self.basis, question, spend)
        answers = self._answers(asked, spend, analyst, request)
        return answers[0] if isinstance(question, Question) else answers

    def _answers(self, asked: Asked, spend: Bound | None, analyst: str | None, request: str | None) -> list[Answer]:
        if self.closed:
            raise ParameterError("This curator is closed; open the data again with curate(…), and ask inside the with.")
        self.table.require_unchanged()
        basis, asked, key = as_answered(self.ledger, self.basis, asked, spend, self.table.snapshot)
        self._check_new(asked, key)
        try:
            asked.check(self.table)
        except TooLarge:
            if not self.ledger.knows(key):  # what was answered elsewhere is shown here too
                raise
        kept = self.ledger.run_sealed(
            new_key()[:16].hex() if request is None else request,
            asked.event(self.table.snapshot),
            asked.losses(spend),
            asked.work(self.table),
            question_key=key,
            analyst=analyst,
            spend=spend,
            make_loss=lambda part: self._losses(asked.questions, part),
        )
        if not kept.reused:
            remarks = self._paid_before(asked, spend)
            return answers_of(self.ledger, asked, kept, self.table.snapshot, remarks=remarks)
        try:
            drawn = as_drawn(self.ledger, basis, asked, kept, self.table.snapshot)
        except LedgerError:
            shown = as_shown(self.ledger, basis, kept)
            if shown is None:
                raise
            return shown
        return answers_of(self.ledger, drawn, kept, self.table.snapshot)

    def _check_new(self, asked: Asked, key: str) -> None:
        """Refuse what is not answered any more, unless it has been."""
        try:
            asked.check_new()
        except SchemaError:
            if not self.ledger.knows(key):
                raise

    def _paid_before(self, asked: Asked, spend: Bound | None) -> tuple[str, ...]:
        """Say that the same was paid for under an earlier number, of a frame or another file; from the ledger alone."""
        own = self.table.snapshot
        if not own.isdecimal() or asked.loss().person.is_zero:
            return ()
        earlier = map(str, range(int(own) - 1, max(0, int(own) - 1 - LOOKED_BACK), -1))
        found = next((one for one in earlier if self.ledger.knows(key_of(self.basis, asked, spend, one))), None)
        said = ASKED_BEFORE if self.unnamed else NEW_FILE
        return () if found is None else (said.format(earlier=found, own=own),)

    def sql(
        self,
        statement: str,
        spend: Bound | None = None,
        *,
        analyst: str | None = None,
        request: str | None = None,
    ) -> SqlAnswer | Explanation:
        """Answer a SELECT over the tables within a spend, which may also stand in the statement; see docs/sql.md.

        It is asked, charged and stored as questions are: the same again is free, and so is another HAVING, ORDER BY,
        LIMIT or name over the same numbers. A statement that starts with EXPLAIN says what it would read and cost.
        """
        from sfumato.curator.statements import answer_sql

        return answer_sql(self, statement, spend, analyst, request)

    def explain(self, statement: str, spend: Bound | None = None, *, analyst: str | None = None) -> Explanation:
        """Say what a SELECT reads, what it costs and how far its noise goes; free, and no data are read."""
        from sfumato.curator.statements import explain_sql

        return explain_sql(self, statement, spend, analyst)

    def refit(self, request: str) -> Answer | list[Answer]:
        """Compute again what is shown of a stored draw, and return it: after a `FitError`, say; free, no data are read.

        `request` is the id of an answer or of a `FitError`; a list of questions gives a list of answers.
        """
        return self._stored(request, again=True)

    def stored(self, request: str) -> Answer | list[Answer]:
        """Return what was answered to a request, by its id; free, no data are read, and nothing is ever charged."""
        return self._stored(request, again=False)

    def _stored(self, request: str, again: bool) -> Answer | list[Answer]:
        entry = self.ledger.entry(request) if isinstance(request, str) else None
        if entry is None or entry.state != "committed":
            raise LedgerError(
                f"The ledger holds no draw for {f'the request {request!r}' if isinstance(request, str) else 'that'}; "
                "give answer.request, or the request of a FitError."
            )
        kept = replace(self.ledger.stored(request), reused=not again)
        asked = asked_before(self.basis, entry, kept.question_key, self.table.snapshot)
        answers = answers_of(self.ledger, asked, kept, str(entry.event["parameters"]["snapshot"]), again=again)
        return answers if "parts" in entry.event["parameters"] else answers[0]

    def preview(self, question: Question | Sequence[Question], spend: Bound, *, analyst: str | None = None) -> Foreseen:
        """Say whether a question or a list would fit, which limits it would break, and how wrong it would be; free.

        What was answered before on the same data is found as `ask` finds it: then it is `free`, and `text` says so.
        """
        asked = planned(self.basis, question, require_bound(spend))
        _, asked, key = as_answered(self.ledger, self.basis, asked, spend, self.table.snapshot)
        self._check_new(asked, key)
        seen = weighed(self.ledger, self.basis, asked, spend, self.table.snapshot, analyst=analyst)
        found = foreseen(self.basis, asked, spend, seen, self.ledger.budget.person)
        if found.free or not found.fits:
            return found
        return replace(found, text=" ".join([found.text, *self._paid_before(asked, spend)]))

    def largest(
        self, question: Question | Sequence[Question], spend: Bound, *, analyst: str | None = None
    ) -> Bound | None:
        """Return the largest part of a spend that would fit now, None if none does; free."""
        return self.ledger.largest(lambda part: self._losses(question, part), spend, analyst)

    def _losses(self, question: Question | Sequence[Question], spend: Bound) -> tuple[Loss, ...]:
        """Return what a part of a spend would cost, without a word: a search tries many that nobody will ask at."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)
            return planned(self.basis, question, require_bound(spend)).losses(spend)

    def loss(self, question: Question | Sequence[Question], spend: Bound) -> Loss:
        """Return what a question or a list would cost; free."""
        return planned(self.basis, question, require_bound(spend)).loss()

    def rehearse(self, question: Question, spend: Bound | None = None, people: int | None = None) -> Answer:
        """Answer a question on random rows drawn from the schema: it shows the shape and the error, and nothing else.

        No private cell is read and nothing is spent. Without a spend it is rehearsed at a tenth of what is left. As
        many people are made up as the table has, where that is public, up to 100,000, and else 1,000.
        """
        if not isinstance(self.schema, Schema):
            raise ParameterError("A statement is rehearsed by curator.explain(…), which says its noise; write that.")
        if not isinstance(question, Question):
            raise ParameterError(
                f"One question is rehearsed at a time, not {type(question).__name__}; write rehearse(Mean('age'))."
            )
        asked = question.canonical(self.schema)
        bound = self.share(Fraction(1, 10)) if spend is None else spend
        count, said = people_of(self.basis.people, people, len(self.schema.columns))
        with open_table(random_rows(self.schema, count, Noise()), self.schema, snapshot="rehearsal") as table:
            basis = replace(self.basis, people=table.people, order_key="")
            plan = Asked((asked,), (asked.prepare(basis, bound),), self.schema)
            plan.check_new()
            work, coins = plan.work(table), Coins("rehearsal", new_key())
            raw = unpack(work.draw(work.read(), coins), self.schema)
        (released,), (event,) = plan.finish(raw), plan.events(table.snapshot)
        shown = Released.from_json(released.to_json())
        return Answer(asked, shown, plan.loss(), event, raw=raw[0], rehearsed=True, remarks=(said,))

    def share(self, part: Number) -> Bound:
        """Return this part of what the person limit has left, as a spend.

        >>> from sfumato import Pure, curate
        >>> from sfumato.domain import integers
        >>> import pyarrow
        >>> curator = curate(pyarrow.table({"age": [34]}), Schema({"age": integers(0, 99)}), Pure(2))
        >>> curator.share(0.1)
        Pure(1/5)
        """
        if isinstance(part, str) and not part[:1].isdigit():
            raise ParameterError(f"share takes a part of the limit, not {part!r}; {INSTEAD['proportion']}.")
        fraction = exact(part, "part")
        if not 0 < fraction <= 1:
            raise ParameterError("A share is a part of what is left; write for example 0.1 for a tenth.")
        reading = self.ledger.spent(EVERYTHING)
        if isinstance(bound := reading.rule.limit.bound, Approximate) and not reading.rule.settled:
            return Approximate(bound.epsilon * fraction, bound.delta * fraction)
        left = left_of(reading)
        if left is None:
            raise BudgetExceeded("Nothing is left for a person, so there is nothing to share; no more can be asked.")
        return scaled(left, fraction)

    def remaining(self) -> dict[str, str]:
        """Return what every limit has left, in words, by the name of the limit."""
        return {reading.name: reading.brief for reading in self.ledger.readings()}

    def answer_from_json(self, record: Mapping[str, Any]) -> Answer:
        """Read what `Answer.to_json` wrote."""
        return read_answer(record, self.schema)

    def guarantee(self, names: Any = EVERYTHING, people: int = 1, days: int | None = None) -> Any:
        """Return what everything answered, now and later, satisfies; `days` as in `Ledger.guarantee`."""
        return self.ledger.guarantee(names, people, days)

    def report(self, answers: Mapping[str, bool] | None = None, **options: Any) -> ThreatReport:
        """Return what is guaranteed and what has been used; `answers` and options as in `report.threats`; free."""
        from sfumato.report import sizes, threats

        if answers is not None and not isinstance(answers, Mapping):
            raise ParameterError("The answers of a report are named; write report({'membership': True}), or report().")
        return threats(self.ledger, answers, values=sizes(self.schema), **options)

    def evidence(self, about: Mapping[str, Any] | None = None, answers: Mapping[str, bool] | None = None) -> Evidence:
        """Return the evidence package for a reviewer; `about` says what only you know; free."""
        from sfumato.report import evidence, sizes

        return evidence(self.ledger, about, answers, values=sizes(self.schema))

    def close(self) -> None:
        """Let go of the table and of the ledger."""
        self.closed = True
        self.table.close()
        self.ledger.close()

    def __enter__(self) -> Curator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
