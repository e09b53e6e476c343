"""The object that most people hold: a table, a ledger, and questions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from sfumato.answer import Answer, Released
from sfumato.errors import BudgetExceeded, LedgerError, ParameterError, SchemaError
from sfumato.exact import Number, exact
from sfumato.ledger import Budget, Ledger, Preview
from sfumato.ledger.largest import scaled
from sfumato.mechanism import Event
from sfumato.noise import Noise
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Bound, Loss, Pure, Relation
from sfumato.privacy.bounds import require_bound
from sfumato.release import Count, GroupBy, Histogram, Mean, Quantiles, Question, Sum, Variance
from sfumato.release.aggregates import Aggregate
from sfumato.release.asked import Asked, left_of
from sfumato.release.groups import Keys
from sfumato.release.question import Where, question_from_json
from sfumato.release.setting import Prepared, Setting
from sfumato.table.data import Table, open_table
from sfumato.table.rehearsal import random_rows
from sfumato.table.schema import Schema

if TYPE_CHECKING:
    from sfumato.report import ThreatReport


def curate(
    source: Any,
    schema: Schema | Mapping[str, Any] | str | Path,
    budget: Budget | Bound | None = None,
    *,
    ledger: str | Path | Ledger | None = None,
    snapshot: str = "",
    table: str | None = None,
    population: str | None = None,
    analysts: Mapping[str, Budget | Bound] | None = None,
    relation: Relation | None = None,
) -> Curator:
    """Open a table and its ledger in one line, in memory or on disk.

    `source` is a file, a frame, a database or a cluster table; `schema` a Schema or the path of one in TOML;
    `budget` the limits of everything that will be answered, a single bound for the whole person or a `Budget`.
    `ledger` is a path or an address, without it the ledger is in memory and gone when the program ends.
    `snapshot` is your name for this state of the data: a question asked again of the same state is free.
    `analysts` have budgets of their own under the one of all. `relation` is that of the ledger, by default REPLACE_ONE.

    >>> from sfumato import Pure
    >>> from sfumato.domain import categories, integers
    >>> import pyarrow
    >>> people = pyarrow.table({"age": [34, 71, 25], "sex": ["Male", "Female", "Female"]})
    >>> described = Schema({"age": integers(0, 99), "sex": categories("Female", "Male")})
    >>> with curate(people, described, Pure(1)) as curator:
    ...     curator.count().value, curator.count("age > 30", spend=Pure(0.5)).loss.person.epsilon
    (3, Fraction(1, 2))
    """
    described = _schema(schema)
    opened = open_table(source, described, snapshot=snapshot, table=table)
    try:
        if isinstance(ledger, Ledger):
            book = _given(ledger, described, [budget, population, analysts])
        else:
            book = _ledger(ledger, described, budget, analysts, population=population, relation=relation)
        return Curator(opened, book, relation or REPLACE_ONE)
    except BaseException:
        opened.close()
        raise


def _given(ledger: Ledger, schema: Schema, rest: Sequence[object]) -> Ledger:
    if any(part is not None for part in rest):
        raise ParameterError("An open ledger has its budget already; leave budget, population and analysts out.")
    known = ledger.budget.secrets
    if known is not None and known != schema.secrets:
        raise LedgerError(
            "The ledger was made for a schema with other attributes; open it with the schema that it was made for."
        )
    return ledger


def _schema(schema: Schema | Mapping[str, Any] | str | Path) -> Schema:
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, (str, Path)):
        return Schema.load(schema)
    if isinstance(schema, Mapping):
        return Schema(schema)
    raise SchemaError(f"A schema is a Schema or the path of a TOML file, not {type(schema).__name__}.")


def _ledger(
    place: str | Path | None,
    schema: Schema,
    budget: Budget | Bound | None,
    analysts: Mapping[str, Budget | Bound] | None,
    **rest: Any,
) -> Ledger:
    if budget is None and place is None:
        raise ParameterError(
            "A ledger in memory is new, so it needs limits; write curate(source, schema, Pure(3)), or "
            "Budget(person=Pure(3), each_attribute=Pure(1))."
        )
    limits = None if budget is None else _budget(budget, schema)
    own = None if analysts is None else {name: _budget(part, schema) for name, part in analysts.items()}
    return Ledger(place, limits, schema=schema.fingerprint, analysts=own, **rest)


def _budget(budget: Budget | Bound, schema: Schema) -> Budget:
    limits = budget if isinstance(budget, Budget) else Budget(person=require_bound(budget, "A budget"))
    return limits.about(schema.secrets)


class Curator:
    """A table and its ledger: every answer is reserved first, drawn once, stored, and then shown."""

    def __init__(self, table: Table, ledger: Ledger, relation: Relation = REPLACE_ONE) -> None:
        self.table = table
        self.ledger = ledger
        self.setting = Setting(table.schema, table.people, table.rule(), relation)

    @property
    def schema(self) -> Schema:
        """The public description of the table."""
        return self.table.schema

    @overload
    def ask(self, question: Question, spend: Bound | None = None, *, analyst: str | None = None) -> Answer: ...
    @overload
    def ask(
        self, question: Sequence[Question], spend: Bound | None = None, *, analyst: str | None = None
    ) -> list[Answer]: ...
    def ask(
        self,
        question: Question | Sequence[Question],
        spend: Bound | None = None,
        *,
        analyst: str | None = None,
    ) -> Answer | list[Answer]:
        """Answer a question within a spend, or a list of questions within one spend split evenly over them.

        The loss is reserved before the data are touched. The same question at the same spend of the same snapshot
        returns the stored answer, free. A list is one release: all of it is reserved at once or nothing is, it is
        stored at once, and the same list asked again is free. Questions in it that cost nothing take no part of the
        spend.
        """
        asked = self._plan(question, spend)
        answers = self._answers(asked, spend, analyst)
        return answers[0] if isinstance(question, Question) else answers

    def _plan(self, question: Question | Sequence[Question], spend: Bound | None) -> Asked:
        """Prepare everything from public facts; whatever is wrong with a request is said here, before it costs."""
        listed = [question] if isinstance(question, Question) else list(question)
        if not listed or not all(isinstance(one, Question) for one in listed):
            raise ParameterError("ask takes a question or a list of questions; write ask(Histogram('age'), Pure(0.1)).")
        canonical = tuple(one.canonical(self.schema) for one in listed)
        if spend is None:
            return Asked(canonical, tuple(self._free(one) for one in canonical))
        bound = require_bound(spend)
        prepared = self._prepared(canonical, bound.split(len(canonical)))
        paid = sum(not one.mechanism.loss().person.is_zero for one in prepared)
        if 0 < paid < len(canonical):
            prepared = self._prepared(canonical, bound.split(paid))
        return Asked(canonical, prepared)

    def _prepared(self, questions: Sequence[Question], part: Bound) -> tuple[Prepared, ...]:
        return tuple(one.prepare(self.setting, part) for one in questions)

    def _free(self, question: Question) -> Prepared:
        """Prepare a question that is asked without a spend; only what nobody moves is free."""
        prepared = question.prepare(self.setting, Pure(1))
        if not prepared.mechanism.loss().person.is_zero:
            raise ParameterError(
                f"{question.kind} depends on people, so it costs something; write for example spend=Pure(0.1), or "
                "curator.share(0.1) for a tenth of what is left."
            )
        return prepared

    def _answers(self, asked: Asked, spend: Bound | None, analyst: str | None) -> list[Answer]:
        loss = asked.loss()
        kept = self.ledger.run(
            f"{Noise().uniform(1 << 128):032x}",
            asked.event(self.table.snapshot),
            loss,
            lambda: asked.draw(self.table),
            question_key=self._key(asked, spend),
            analyst=analyst,
            spend=spend,
            make_loss=lambda part: self._plan(asked.questions, part).loss(),
        )
        assert kept.answer is not None
        left = self.remaining()
        return [
            Answer(question, Released.from_json(record), prepared.mechanism.loss(), event, left, kept.reused)
            for question, prepared, event, record in zip(
                asked.questions, asked.prepared, asked.events(self.table.snapshot), json.loads(kept.answer), strict=True
            )
        ]

    def _key(self, asked: Asked, spend: Bound | None) -> str:
        facts = {
            "questions": [question.to_json() for question in asked.questions],
            "spend": None if spend is None else spend.to_json(),
            "snapshot": self.table.snapshot,
            "schema": self.schema.fingerprint,
            "relation": self.setting.relation.value,
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def preview(self, question: Question | Sequence[Question], spend: Bound, *, analyst: str | None = None) -> Preview:
        """Say whether a question or a list would fit, which limits it would break, and what it would cost; free."""
        return self.ledger.preview(self.loss(question, spend), analyst)

    def largest(
        self, question: Question | Sequence[Question], spend: Bound, *, analyst: str | None = None
    ) -> Bound | None:
        """Return the largest part of a spend that would fit now, None if none does; free."""
        return self.ledger.largest(lambda part: self.loss(question, part), spend, analyst)

    def loss(self, question: Question | Sequence[Question], spend: Bound) -> Loss:
        """Return what a question or a list would cost; free."""
        return self._plan(question, require_bound(spend)).loss()

    def rehearse(self, question: Question, spend: Bound, people: int = 1000) -> Answer:
        """Answer a question on random rows drawn from the schema: it shows the shape and the error, and nothing else.

        No private cell is read and nothing is spent.
        """
        asked = question.canonical(self.schema)
        with open_table(random_rows(self.schema, people, Noise()), self.schema, snapshot="rehearsal") as table:
            setting = Setting(self.schema, table.people, table.rule(), self.setting.relation)
            plan = Asked((asked,), (asked.prepare(setting, spend),))
            (record,) = json.loads(plan.draw(table))
        (event,) = plan.events(table.snapshot)
        return Answer(asked, Released.from_json(record), plan.loss(), event)

    def share(self, part: Number) -> Bound:
        """Return this part of what the person limit has left, as a spend.

        >>> from sfumato import Pure
        >>> from sfumato.domain import integers
        >>> import pyarrow
        >>> curator = curate(pyarrow.table({"age": [34]}), Schema({"age": integers(0, 99)}), Pure(2))
        >>> curator.share(0.1)
        Pure(1/5)
        """
        fraction = exact(part, "part")
        if not 0 < fraction <= 1:
            raise ParameterError("A share is a part of what is left; write for example 0.1 for a tenth.")
        left = left_of(self.ledger.spent(EVERYTHING))
        if left is None:
            raise BudgetExceeded("Nothing is left for a person, so there is nothing to share; no more can be asked.")
        return scaled(left, fraction)

    def remaining(self) -> dict[str, str]:
        """Return what every limit has left, in words, by the name of the limit."""
        return {reading.name: reading.text for reading in self.ledger.readings()}

    def answer_from_json(self, record: Mapping[str, Any]) -> Answer:
        """Read what `Answer.to_json` wrote."""
        event = record["event"]
        return Answer(
            question_from_json(record["question"], self.schema),
            Released.from_json(record["released"]),
            Loss.from_json(record["loss"]),
            Event(event["name"], event["spec"], event["parameters"], event["version"]),
            record["remaining"],
            record["reused"],
        )

    # One method for each question, for those who would rather not name it.

    def count(self, where: Where = None, *, spend: Bound | None = None, analyst: str | None = None) -> Answer:
        """Count rows; without a condition, and with one row a person, it is public and free."""
        return self.ask(Count(where), spend, analyst=analyst)

    def sum(self, column: str, where: Where = None, *, spend: Bound, analyst: str | None = None) -> Answer:
        """Add up a numeric column."""
        return self.ask(Sum(column, where), spend, analyst=analyst)

    def mean(self, column: str, where: Where = None, *, spend: Bound, analyst: str | None = None) -> Answer:
        """Average a numeric column."""
        return self.ask(Mean(column, where), spend, analyst=analyst)

    def variance(self, column: str, where: Where = None, *, spend: Bound, analyst: str | None = None) -> Answer:
        """Measure how widely a numeric column spreads."""
        return self.ask(Variance(column, where), spend, analyst=analyst)

    def histogram(
        self, *columns: str, where: Where = None, keys: Keys = "schema", spend: Bound, analyst: str | None = None
    ) -> Answer:
        """Count the values of a column, or the combinations of several."""
        return self.ask(Histogram(columns, where, keys), spend, analyst=analyst)

    def quantiles(
        self,
        column: str,
        probabilities: Sequence[Number] = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)),
        where: Where = None,
        *,
        spend: Bound,
        analyst: str | None = None,
    ) -> Answer:
        """Find the values below which given parts of the rows lie."""
        return self.ask(Quantiles(column, tuple(probabilities), where), spend, analyst=analyst)

    def group_by(
        self,
        by: str | Sequence[str],
        aggregates: Sequence[Aggregate],
        where: Where = None,
        *,
        keys: Keys = "schema",
        spend: Bound,
        analyst: str | None = None,
    ) -> Answer:
        """Compute several aggregates for every combination of some columns."""
        return self.ask(GroupBy(by, aggregates, where, keys), spend, analyst=analyst)

    def guarantee(self, names: Any = EVERYTHING, people: int = 1) -> Any:
        """Return what everything answered, now and later, satisfies."""
        return self.ledger.guarantee(names, people)

    def report(self, answers: Mapping[str, bool] | None = None, **options: Any) -> ThreatReport:
        """Return what is guaranteed and what has been used; `answers` and options as in `report.threats`; free."""
        from sfumato.report import sizes, threats

        return threats(self.ledger, answers, values=sizes(self.schema), **options)

    def close(self) -> None:
        """Let go of the table and of the ledger."""
        self.table.close()
        self.ledger.close()

    def __enter__(self) -> Curator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
