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
from sfumato.errors import ParameterError, SchemaError
from sfumato.exact import Number, exact
from sfumato.ledger import Budget, Ledger, Preview
from sfumato.ledger.largest import scaled
from sfumato.mechanism import Event
from sfumato.noise import Noise
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Bound, Concentrated, Cost, Loss, Pure, Relation, Truncated
from sfumato.privacy.bounds import require_bound
from sfumato.privacy.filters import Filter, Sums
from sfumato.release import Count, GroupBy, Histogram, Mean, Quantiles, Question, Sum, Variance
from sfumato.release.aggregates import Aggregate
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
) -> Curator:
    """Open a table and its ledger in one line, in memory or on disk.

    `source` is a file, a frame, a database or a cluster table; `schema` a Schema or the path of one in TOML;
    `budget` the limits of everything that will be answered, a single bound for the whole person or a `Budget`.
    `ledger` is a path or an address, without it the ledger is in memory and gone when the program ends.
    `snapshot` is your name for this state of the data: a question asked again of the same state is free.

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
        book = ledger if isinstance(ledger, Ledger) else _ledger(ledger, budget, described, population)
    except BaseException:
        opened.close()
        raise
    return Curator(opened, book)


def _schema(schema: Schema | Mapping[str, Any] | str | Path) -> Schema:
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, (str, Path)):
        return Schema.load(schema)
    if isinstance(schema, Mapping):
        return Schema(schema)
    raise SchemaError(f"A schema is a Schema or the path of a TOML file, not {type(schema).__name__}.")


def _ledger(place: str | Path | None, budget: Budget | Bound | None, schema: Schema, population: str | None) -> Ledger:
    if isinstance(budget, Bound):
        budget = Budget(person=budget)
    if budget is None and place is None:
        raise ParameterError(
            "A ledger in memory is new, so it needs limits; write curate(source, schema, Pure(3)), or "
            "Budget(person=Pure(3), each_attribute=Pure(1))."
        )
    about = None if budget is None else budget.about(schema.secrets)
    return Ledger(place, about, population=population, schema=schema.fingerprint)


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
        returns the stored answer, free.
        """
        if isinstance(question, Question):
            return self._answer(question, spend, analyst)
        listed = list(question)
        if not listed or not all(isinstance(one, Question) for one in listed):
            raise ParameterError("ask takes a question or a list of questions; write ask(Histogram('age'), Pure(0.1)).")
        part = spend if spend is None else require_bound(spend).split(len(listed))
        return [self._answer(one, part, analyst) for one in listed]

    def _answer(self, question: Question, spend: Bound | None, analyst: str | None) -> Answer:
        asked = question.canonical(self.schema)
        prepared = self._prepare(asked, spend)
        event, loss = self._event(prepared, asked), prepared.mechanism.loss()
        key = self._key(asked, spend)
        reserved = self.ledger.reserve(
            self._request(), event, loss, key, analyst, spend=spend, make_loss=self._losses(asked)
        )
        if reserved.state != "committed":
            reserved = self.ledger.run(
                reserved.id, event, loss, lambda: self._draw(prepared), question_key=key, analyst=analyst
            )
        assert reserved.answer is not None
        released = Released.from_json(json.loads(reserved.answer))
        return Answer(asked, released, loss, event, self.remaining(), reserved.reused)

    def _draw(self, prepared: Prepared) -> bytes:
        view = self.table.view(prepared.columns, prepared.way)
        raw = prepared.mechanism.run(prepared.read(view), Noise())
        return json.dumps(prepared.finish(raw).to_json(), separators=(",", ":")).encode()

    def _prepare(self, question: Question, spend: Bound | None) -> Prepared:
        if spend is None:
            return self._free(question)
        return question.prepare(self.setting, require_bound(spend))

    def _free(self, question: Question) -> Prepared:
        """Prepare a question that is asked without a spend; only what nobody moves is free."""
        prepared = question.prepare(self.setting, Pure(1))
        if not prepared.mechanism.loss().person.is_zero:
            raise ParameterError(
                f"{question.to_json()['question']} depends on people, so it costs something; write for example "
                "spend=Pure(0.1), or curator.share(0.1) for a tenth of what is left."
            )
        return prepared

    def _losses(self, question: Question) -> Any:
        return lambda spend: question.prepare(self.setting, spend).mechanism.loss()

    def _event(self, prepared: Prepared, question: Question) -> Event:
        inner = prepared.mechanism.event()
        parameters = {"mechanism": inner.to_json(), "question": question.to_json(), "snapshot": self.table.snapshot}
        return Event(inner.name, inner.spec, parameters, inner.version)

    def _key(self, question: Question, spend: Bound | None) -> str:
        facts = {
            "question": question.to_json(),
            "spend": None if spend is None else spend.to_json(),
            "snapshot": self.table.snapshot,
            "schema": self.schema.fingerprint,
            "relation": self.setting.relation.value,
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    @staticmethod
    def _request() -> str:
        return f"{Noise().uniform(1 << 128):032x}"

    def preview(self, question: Question, spend: Bound, *, analyst: str | None = None) -> Preview:
        """Say whether a question would fit, which limits it would break, and what it would cost; free."""
        return self.ledger.preview(self._prepare(question.canonical(self.schema), spend).mechanism.loss(), analyst)

    def loss(self, question: Question, spend: Bound) -> Loss:
        """Return what a question would cost; free."""
        return self._prepare(question.canonical(self.schema), spend).mechanism.loss()

    def rehearse(self, question: Question, spend: Bound, people: int = 1000) -> Answer:
        """Answer a question on random rows drawn from the schema: it shows the shape and the error, and nothing else.

        No private cell is read and nothing is spent.
        """
        asked = question.canonical(self.schema)
        with open_table(random_rows(self.schema, people, Noise()), self.schema, snapshot="rehearsal") as table:
            setting = Setting(self.schema, table.people, table.rule(), self.setting.relation)
            prepared = asked.prepare(setting, require_bound(spend))
            view = table.view(prepared.columns, prepared.way)
            released = prepared.finish(prepared.mechanism.run(prepared.read(view), Noise()))
        return Answer(asked, released, prepared.mechanism.loss(), self._event(prepared, asked))

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
        reading = self.ledger.spent(EVERYTHING)
        return scaled(_left(self.ledger.budget.person, reading.rule.gate, reading.sums), fraction)

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

    def count(self, where: Where = None, *, spend: Bound | None = None) -> Answer:
        """Count rows; without a condition, and with one row a person, it is public and free."""
        return self.ask(Count(where), spend)

    def sum(self, column: str, where: Where = None, *, spend: Bound) -> Answer:
        """Add up a numeric column."""
        return self.ask(Sum(column, where), spend)

    def mean(self, column: str, where: Where = None, *, spend: Bound) -> Answer:
        """Average a numeric column."""
        return self.ask(Mean(column, where), spend)

    def variance(self, column: str, where: Where = None, *, spend: Bound) -> Answer:
        """Measure how widely a numeric column spreads."""
        return self.ask(Variance(column, where), spend)

    def histogram(self, *columns: str, where: Where = None, keys: Any = "schema", spend: Bound) -> Answer:
        """Count the values of a column, or the combinations of several."""
        return self.ask(Histogram(columns, where, keys), spend)

    def quantiles(
        self,
        column: str,
        probabilities: Sequence[Number] = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)),
        where: Where = None,
        *,
        spend: Bound,
    ) -> Answer:
        """Find the values below which given parts of the rows lie."""
        return self.ask(Quantiles(column, tuple(probabilities), where), spend)

    def group_by(
        self, keys: str | Sequence[str], aggregates: Sequence[Aggregate], where: Where = None, *, spend: Bound
    ) -> Answer:
        """Compute several aggregates for every combination of some keys."""
        return self.ask(GroupBy(keys, tuple(aggregates), where), spend)  # type: ignore[arg-type]

    def guarantee(self, names: Any = EVERYTHING, people: int = 1) -> Any:
        """Return what everything answered, now and later, satisfies."""
        return self.ledger.guarantee(names, people)

    def report(self, answers: Mapping[str, bool] | None = None, **options: Any) -> ThreatReport:
        """Return what is guaranteed and what has been used, with the questionnaire's warnings; free.

        `answers` are those to the questions of `report.QUESTIONS`, by name; the options are those of
        `report.threats`: sets, sensitive, families, delta.
        """
        from sfumato.report import threats

        sizes = {name: self.schema.domain(name).size for name in self.schema.attributes}
        options.setdefault("values", {name: size for name, size in sizes.items() if size is not None})
        return threats(self.ledger, answers, **options)

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


def _left(limit: Bound, gate: Filter, sums: Sums) -> Bound:
    """Return the largest part of the person limit that would still fit, as a spend."""
    part, step = Fraction(0), Fraction(1)
    for _ in range(40):
        if gate.accepts(sums, Cost.of(scaled(limit, part + step))):
            part += step
            if part == 1:
                break
        step /= 2
    rest = gate.left(sums)[1]
    match limit:
        case Pure() if rest is not None:
            return Pure(rest)
        case Concentrated() if rest is not None:
            return Concentrated(rest)
        case Truncated() if rest is not None:
            return Truncated(rest, limit.omega)
    return scaled(limit, part)
