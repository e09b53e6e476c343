"""The curator: every answer is reserved first, drawn once, stored, and then shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, overload

import sfumato.learn.question  # noqa: F401  a stored question about a rule can then be read back
from sfumato.answer import Answer, Released
from sfumato.curator.planning import key_of, planned
from sfumato.errors import BudgetExceeded, ParameterError
from sfumato.exact import Number, exact
from sfumato.ledger import Ledger, Preview
from sfumato.ledger.largest import scaled
from sfumato.mechanism import Event
from sfumato.noise import Noise
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Bound, Loss, Relation
from sfumato.privacy.bounds import require_bound
from sfumato.release import Count, Distribution, GroupBy, Histogram, Mean, Quantiles, Question, Sum, Variance
from sfumato.release.aggregates import Aggregate
from sfumato.release.asked import Asked, left_of
from sfumato.release.groups import Keys
from sfumato.release.question import Where, question_from_json
from sfumato.release.setting import Setting
from sfumato.table.data import Table, open_table
from sfumato.table.rehearsal import random_rows
from sfumato.table.schema import Schema

if TYPE_CHECKING:
    from sfumato.learn.estimator import PrivateLearner
    from sfumato.release.conversation import Conversation
    from sfumato.release.model.base import Model
    from sfumato.release.synopsis import Synopsis
    from sfumato.release.workload import Workload
    from sfumato.report import ThreatReport

Learner = TypeVar("Learner", bound="PrivateLearner")


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
        asked = planned(self.setting, question, spend)
        answers = self._answers(asked, spend, analyst)
        return answers[0] if isinstance(question, Question) else answers

    def _answers(self, asked: Asked, spend: Bound | None, analyst: str | None) -> list[Answer]:
        loss = asked.loss()
        kept = self.ledger.run(
            f"{Noise().uniform(1 << 128):032x}",
            asked.event(self.table.snapshot),
            loss,
            lambda: asked.draw(self.table),
            question_key=key_of(self.setting, asked, spend, self.table.snapshot),
            analyst=analyst,
            spend=spend,
            make_loss=lambda part: planned(self.setting, asked.questions, part).loss(),
        )
        assert kept.answer is not None
        left = self.remaining()
        return [
            Answer(question, Released.from_json(record), prepared.mechanism.loss(), event, left, kept.reused)
            for question, prepared, event, record in zip(
                asked.questions, asked.prepared, asked.events(self.table.snapshot), json.loads(kept.answer), strict=True
            )
        ]

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
        return planned(self.setting, question, require_bound(spend)).loss()

    def rehearse(self, question: Question, spend: Bound | None = None, people: int = 1000) -> Answer:
        """Answer a question on random rows drawn from the schema: it shows the shape and the error, and nothing else.

        No private cell is read and nothing is spent. Without a spend it is rehearsed at a tenth of what is left.
        """
        asked = question.canonical(self.schema)
        bound = self.share(Fraction(1, 10)) if spend is None else spend
        with open_table(random_rows(self.schema, people, Noise()), self.schema, snapshot="rehearsal") as table:
            setting = Setting(self.schema, table.people, table.rule(), self.setting.relation)
            plan = Asked((asked,), (asked.prepare(setting, bound),))
            (record,) = json.loads(plan.draw(table))
        (event,) = plan.events(table.snapshot)
        return Answer(asked, Released.from_json(record), plan.loss(), event)

    def share(self, part: Number) -> Bound:
        """Return this part of what the person limit has left, as a spend.

        >>> from sfumato import Pure, curate
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

    def distribution(
        self, column: str, where: Where = None, *, spend: Bound, method: str = "auto", analyst: str | None = None
    ) -> Answer:
        """Learn how rows are spread over an ordered column: ranges, quantiles and made-up values from one release."""
        return self.ask(Distribution(column, where, method), spend, analyst=analyst)

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

    def answer(
        self, workload: Workload, *, spend: Bound, projection: str = "auto", analyst: str | None = None
    ) -> Answer:
        """Answer all queries of a workload at once, each with its error bar.

        >>> from sfumato import Pure, Schema, booleans, curate, workloads
        >>> import pyarrow
        >>> schema = Schema({"rain": booleans(), "wind": booleans()})
        >>> days = pyarrow.table({"rain": [True, False] * 50, "wind": [True] * 100})
        >>> with curate(days, schema, Pure(1)) as curator:
        ...     answer = curator.answer(workloads.marginals(schema, width=2), spend=Pure(0.5))
        >>> round(sum(answer.value.table(["rain", "wind"])["count"])), answer.loss.person.epsilon
        (100, Fraction(1, 2))
        """
        from sfumato.release.workload.question import Answers

        return self.ask(Answers(workload, projection), spend, analyst=analyst)

    def synthesize(
        self,
        workload: Workload | None = None,
        *,
        spend: Bound,
        columns: Sequence[str] | None = None,
        method: str = "auto",
        options: Mapping[str, Any] | None = None,
        analyst: str | None = None,
    ) -> Model:
        """Return a model that stands for the table: read marginals from it, draw rows, write a Parquet file.

        `ask(Synthesize(workload), spend)` gives the same model as the value of an answer, with its loss and error.

        >>> from sfumato import Pure, Schema, booleans, curate
        >>> import pyarrow
        >>> days = pyarrow.table({"rain": [True, False] * 50, "wind": [True] * 100})
        >>> with curate(days, Schema({"rain": booleans(), "wind": booleans()}), Pure(1)) as curator:
        ...     model = curator.synthesize(spend=Pure(1))
        >>> model.marginal(["rain", "wind"]).shape, model.sample(10).num_rows
        ((2, 2), 10)
        """
        from sfumato.release.synthesis import Synthesize

        model: Model = self.ask(Synthesize(workload, columns, method, options or {}), spend, analyst=analyst).value
        return model

    def learn(
        self, learner: Learner, *, features: str | Sequence[str], target: str, analyst: str | None = None
    ) -> Learner:
        """Fit a private learner to columns of the table: its spend is reserved first, and the rule is stored.

        Domains come from the schema. The same learner on the same columns again is free. Returns the learner, fitted,
        with the answer as `answer_`.
        """
        from sfumato.curator.learning import learned

        return learned(self, learner, features, target, analyst)

    def synopsis(
        self,
        method: str = "auto",
        *,
        spend: Bound,
        columns: Sequence[str] | None = None,
        analyst: str | None = None,
        **options: Any,
    ) -> Synopsis:
        """Return a sketch that answers all conjunctions of binary columns, all parities, or all cuts of a graph.

        `ask(Synopsize(method, columns, options), spend)` gives the same one as the value of an answer.
        """
        from sfumato.release.synopsis import Synopsize

        found: Synopsis = self.ask(Synopsize(method, columns, options), spend, analyst=analyst).value
        return found

    def converse(
        self, domain: Sequence[str] | None = None, *, queries: int = 100_000, spend: Bound, **options: Any
    ) -> Conversation:
        """Open a conversation: questions one by one, of which only those are paid for that the model gets wrong.

        The whole spend is reserved at once; options are those of `open_conversation`, such as `name=` to go on later.

        >>> from sfumato import Approximate, Schema, booleans, curate
        >>> import pyarrow
        >>> days = pyarrow.table({"rain": [True, False] * 5000, "wind": [True] * 10000})
        >>> described = Schema({"rain": booleans(), "wind": booleans()})
        >>> with curate(days, described, Approximate(2, 1e-6)) as curator:
        ...     with curator.converse(spend=Approximate(2, 1e-6)) as conversation:
        ...         reply = conversation.ask("rain = true AND wind = true")
        >>> reply.source in ("model", "data"), conversation.progress.asked
        (True, 1)
        """
        from sfumato.release.conversation import open_conversation

        return open_conversation(
            self.table, self.ledger, self.setting, domain=domain, queries=queries, spend=spend, **options
        )

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
