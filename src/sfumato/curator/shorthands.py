"""One method for each question, for those who would rather not name it; all of them ask the curator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from sfumato import questions
from sfumato.answer import Answer
from sfumato.ask.question import Where, as_columns
from sfumato.curator.grouped import grouped_answer, groups_of, rules_of
from sfumato.curator.words import INSTEAD, in_own_words, refuse_unknown, speaking
from sfumato.errors import ParameterError, UnknownName
from sfumato.exact import Number
from sfumato.learn.question import Learn
from sfumato.privacy import Bound
from sfumato.questions import Question
from sfumato.questions.counts.groups import Aggregates, Keys
from sfumato.questions.quantiles.choice import Method
from sfumato.questions.synthesis.repeated import one_of_each
from sfumato.registry import Registry
from sfumato.show.views import Viewed
from sfumato.table.schema import Schema
from sfumato.totals.aggregates import Aggregate
from sfumato.words import Guided

CONVERSATIONS: Registry[Callable[..., Any]] = Registry(
    "conversation",
    "conversations",
    {"running": "sfumato.publish.curated", "period": "sfumato.publish.one_period"},
)
"""What is opened through a curator and lives in a room above it, which is loaded when it is first wanted."""

if TYPE_CHECKING:
    from sfumato.learn.estimator import PrivateModel
    from sfumato.learn.facts import LearningFacts
    from sfumato.ledger import Ledger
    from sfumato.questions.conversation import Conversation, Prior
    from sfumato.table.data import Table
    from sfumato.table.gauge import Basis
    from sfumato.workload import Workload


@speaking
class Shorthands(Guided, Viewed, ABC):
    """What a curator can be asked in one line.

    Wherever a spend is asked for it may be given by its numbers: `epsilon=`, `epsilon=` and `delta=`, or `rho=`.
    """

    INSTEAD = INSTEAD
    table: Table
    ledger: Ledger
    basis: Basis

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The public description of the table."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say how a column is asked about, to somebody who takes it for an attribute as data frames do."""
            known = vars(self).get("table")
            column = getattr(getattr(known, "schema", None), "columns", {}).get(name)
            if column is None:
                try:
                    return super().__getattr__(name)
                except UnknownName as other:
                    said = in_own_words(str(other), getattr(known, "schema", None))
                raise UnknownName(said)
            kind = "mean" if getattr(column, "kind", "") in ("integer", "fixed") else "histogram"
            raise UnknownName(
                f"{type(self).__name__} has no {name}: a column is named in the question; write "
                f"curator.{kind}({name!r}, spend=Pure(0.1))."
            )

    @overload
    def ask(self, question: Question, spend: Bound | None = None, *, analyst: str | None = None) -> Answer: ...
    @overload
    def ask(
        self, question: Sequence[Question], spend: Bound | None = None, *, analyst: str | None = None
    ) -> list[Answer]: ...
    @abstractmethod
    def ask(self, question: Any, spend: Bound | None = None, *, analyst: str | None = None) -> Any:
        """Answer a question, or a list of them."""

    def _by(
        self, aggregate: Aggregate, where: Where, by: str | Sequence[str], spend: Bound | None, analyst: str | None
    ) -> Answer:
        """Ask for a number, or for a table of it by group."""
        question = questions.GroupBy(by, [aggregate], where) if by else replace(aggregate, where=where)
        return self.ask(question, spend, analyst=analyst)

    def count(
        self,
        where: Where = None,
        by: str | Sequence[str] = (),
        *,
        spend: Bound | None = None,
        analyst: str | None = None,
    ) -> Answer:
        """Count rows; without a condition and groups, and with one row a person, it is public and free."""
        return self._by(questions.Count(), where, by, spend, analyst)

    def people(
        self,
        where: Where = None,
        by: str | Sequence[str] = (),
        *,
        spend: Bound | None = None,
        analyst: str | None = None,
    ) -> Answer:
        """Count different people, however many rows they have; without a condition and groups it is public and free."""
        return self.ask(questions.People(where, by), spend, analyst=analyst)

    def sum(
        self,
        column: str,
        where: Where = None,
        by: str | Sequence[str] = (),
        *,
        spend: Bound,
        analyst: str | None = None,
    ) -> Answer:
        """Add up a numeric column, for all rows or by group."""
        return self._by(questions.Sum(column), where, by, spend, analyst)

    def mean(
        self,
        column: str,
        where: Where = None,
        by: str | Sequence[str] = (),
        *,
        spend: Bound,
        analyst: str | None = None,
    ) -> Answer:
        """Average a numeric column, for all rows or by group."""
        return self._by(questions.Mean(column), where, by, spend, analyst)

    def variance(
        self,
        column: str,
        where: Where = None,
        by: str | Sequence[str] = (),
        *,
        spend: Bound,
        analyst: str | None = None,
    ) -> Answer:
        """Measure how widely a numeric column spreads, for all rows or by group."""
        return self._by(questions.Variance(column), where, by, spend, analyst)

    def histogram(
        self,
        *columns: str,
        where: Where = None,
        by: str | Sequence[str] = (),
        keys: Keys = "schema",
        spend: Bound,
        analyst: str | None = None,
    ) -> Answer:
        """Count the values of a column, or the combinations of several; `by` puts other columns before them."""
        given: tuple[Any, ...] = columns
        listed = as_columns(given[0]) if len(given) == 1 and isinstance(given[0], (list, dict)) else given
        return self.ask(questions.Histogram((*as_columns(by), *listed), where, keys), spend, analyst=analyst)

    def quantiles(
        self,
        column: str,
        probabilities: Number | Sequence[Number] = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)),
        where: Where = None,
        by: str | Sequence[str] = (),
        *,
        spend: Bound,
        method: Method = "auto",
        measured: bool = True,
        analyst: str | None = None,
    ) -> Answer:
        """Find the values below which given parts of the rows lie, and measure how far off their ranks they are.

        `by` asks a question for every group that the schema lists, as one release; they share the spend evenly.
        """
        question = questions.Quantiles(column, probabilities, where, method, measured)
        if not by:
            return self.ask(question, spend, analyst=analyst)
        found = groups_of(as_columns(by), where, self.schema)
        listed = [replace(question, where=condition).canonical(self.schema) for _, condition in found]
        answers = self.ask(listed, spend, analyst=analyst)
        rules = rules_of(as_columns(by), where, self.schema)
        return grouped_answer(as_columns(by), [group for group, _ in found], answers, rules)

    def median(
        self,
        column: str,
        where: Where = None,
        by: str | Sequence[str] = (),
        *,
        spend: Bound,
        analyst: str | None = None,
    ) -> Answer:
        """Find the value below which half of the rows lie, for all rows or by group."""
        return self.quantiles(column, Fraction(1, 2), where, by, spend=spend, analyst=analyst)

    def distribution(
        self, column: str, where: Where = None, *, spend: Bound, method: str = "auto", analyst: str | None = None
    ) -> Answer:
        """Learn how rows are spread over an ordered column: ranges, quantiles and made-up values from one release."""
        return self.ask(questions.Distribution(column, where, method), spend, analyst=analyst)

    def group_by(
        self,
        by: str | Sequence[str],
        aggregates: Aggregates,
        where: Where = None,
        *,
        keys: Keys = "schema",
        spend: Bound,
        analyst: str | None = None,
    ) -> Answer:
        """Compute aggregates for every combination of some columns: `Mean("age")`, or by name `"mean of age"`."""
        return self.ask(questions.GroupBy(by, aggregates, where, keys), spend, analyst=analyst)

    def audit(
        self,
        decision: str | None = None,
        protected: str | Sequence[str] = (),
        label: str | None = None,
        *,
        favourable: Any = None,
        deserving: Any = None,
        score: str | None = None,
        intersections: int = 2,
        where: Where = None,
        spend: Bound,
        analyst: str | None = None,
    ) -> Answer:
        """Compare groups: selection rates, impact ratios and, with a label, error rates, as one private release.

        `score` is a column of few values, such as bins: how often each group scores high and, with a label, whether a
        score means the same in every group. Where only scores matter name no decision, which leaves less noise.

        `favourable` is the good decision and, with a label, `deserving` the good label: neither is guessed.
        """
        question = questions.GroupAudit(
            decision, protected, label, favourable=favourable, deserving=deserving, score=score,
            intersections=intersections, where=where,
        )  # fmt: skip
        return self.ask(question, spend, analyst=analyst)

    def popular(
        self,
        *columns: str,
        smallest: int | None = None,
        spend: Bound,
        method: str = "auto",
        analyst: str | None = None,
    ) -> Answer:
        """Find the combinations of values that occur often, out of too many to list (heavy hitters)."""
        return self.ask(questions.Popular(columns, smallest, method), spend, analyst=analyst)

    def answer(
        self,
        workload: Workload,
        *,
        spend: Bound,
        method: str = "auto",
        weights: Sequence[Number] = (),
        analyst: str | None = None,
    ) -> Answer:
        """Answer all queries of a workload at once, each with its error bar.

        `weights` are one number for each table of the workload: where Gaussian noise is shared, tables of more weight
        get less of it.

        >>> from sfumato import Pure, Schema, booleans, curate, workloads
        >>> import pyarrow
        >>> schema = Schema({"rain": booleans(missing=False), "wind": booleans(missing=False)})
        >>> days = pyarrow.table({"rain": [True, False] * 50, "wind": [True] * 100})
        >>> with curate(days, schema, Pure(1)) as curator:
        ...     answer = curator.answer(workloads.marginals(schema, width=2), spend=Pure(0.5))
        >>> round(sum(answer.value.table(["rain", "wind"])["count"])), answer.loss.person.epsilon
        (100, Fraction(1, 2))
        """
        return self.ask(questions.Queries(workload, method, weights), spend, analyst=analyst)

    def synthesize(
        self,
        workload: Workload | Sequence[str] | None = None,
        *,
        spend: Bound,
        columns: Sequence[str] | None = None,
        method: str = "auto",
        options: Mapping[str, Any] | None = None,
        measured: bool = True,
        analyst: str | None = None,
    ) -> Answer:
        """Make a model that stands for the table: read marginals from it, draw rows, write a Parquet file.

        The model is the value of the answer; `options` are those of the `method`. A small part of the spend measures
        how far off the model is, unless `measured` is False. Names in place of a workload are those of `columns`.

        >>> from sfumato import Pure, Schema, booleans, curate
        >>> import pyarrow
        >>> days = pyarrow.table({"rain": [True, False] * 50, "wind": [True] * 100})
        >>> bit = booleans(missing=False)
        >>> with curate(days, Schema({"rain": bit, "wind": bit}), Pure(1)) as curator:
        ...     model = curator.synthesize(spend=Pure(1)).value
        >>> model.marginal(["rain", "wind"]).shape, model.sample(10).num_rows
        ((2, 2), 10)
        """
        if workload is None and columns is None and isinstance(self.schema, Schema):
            left = one_of_each(self.schema, self.schema.names)  # bins stand for their base, which rows then show too
            columns = None if len(left) == len(self.schema.names) else left
        question = questions.Synthesize(workload, columns, method, options or {}, measured)
        return self.ask(question, spend, analyst=analyst)

    def synopsis(
        self,
        method: str = "auto",
        *,
        spend: Bound,
        columns: Sequence[str] | None = None,
        options: Mapping[str, Any] | None = None,
        analyst: str | None = None,
    ) -> Answer:
        """Make a sketch that answers all conjunctions of binary columns, all parities, or all cuts of a graph.

        The sketch is the value of the answer; `options` are those of the `method`, such as {"width": 3}.
        """
        return self.ask(questions.Synopsize(method, columns, options or {}), spend, analyst=analyst)

    def converse(
        self,
        domain: Sequence[str] | None = None,
        *,
        queries: int = 100_000,
        spend: Bound,
        prior: Prior | str | None = None,
        **options: Any,
    ) -> Conversation:
        """Open a conversation: questions one by one, of which only those are paid for that the model gets wrong.

        The whole spend is reserved at once; options are those of `open_conversation`, such as `name=` to go on later.
        It starts from nothing (`prior="even"`), from a public prior, or with `prior="model"` from a model of the same
        columns that most of the spend buys first (SY-TALK). If nothing is said, and a model alone is expected to err
        less than a conversation promises, a warning says so before anything is paid.

        >>> from sfumato import Approximate, Schema, booleans, curate
        >>> import pyarrow
        >>> days = pyarrow.table({"rain": [True, False] * 5000, "wind": [True] * 10000})
        >>> described = Schema({"rain": booleans(missing=False), "wind": booleans(missing=False)})
        >>> with curate(days, described, Approximate(2, 1e-6)) as curator:
        ...     with curator.converse(spend=Approximate(2, 1e-6), prior="even") as conversation:
        ...         reply = conversation.ask("rain = true AND wind = true")
        >>> reply.source in ("model", "data"), conversation.progress.asked
        (True, 1)
        """
        from sfumato.curator.talking import open_talk

        return open_talk(self, domain, spend, prior, queries=queries, **options)

    def running(
        self,
        question: Question | str,
        periods: int | None = None,
        *,
        spend: Bound | Mapping[str, Bound],
        name: str | None = None,
        **options: Any,
    ) -> Any:
        """Open a total that runs on: `step(table)` takes the data of the next period, `series()` has all totals so far.

        `question` is a count, a sum or a mean, in listed groups if any. The whole spend is reserved at once: what a
        person may cost who is there in each of `periods`, or in at most `periods_per_person=` of them, `gap=` or more
        apart. Where nobody knows the end write `horizon=400`. With `stamp=` and `first=` periods are the days (or
        `period="month"`) that a column names, as limits on days need, and a spend may be by unit: `{"day": …}`.
        `target=7` shapes the noise for windows of so many periods. `name=` is how it is opened again, to go on.

        >>> from sfumato import Concentrated, Schema, categories, curate
        >>> import pyarrow
        >>> days = [pyarrow.table({"id": [1, 2], "site": ["a", "b"]}), pyarrow.table({"id": [1], "site": ["b"]})]
        >>> described = Schema({"site": categories("a", "b")}, person="id")
        >>> with curate(days[0], described, Concentrated(1)) as curator:
        ...     visits = curator.running("count by site", periods=2, spend=Concentrated(1))
        ...     [visits.step(day) for day in days], visits.series().values.shape, visits.next
        (['1', '2'], (2, 4), None)
        """
        opens = CONVERSATIONS["running"]
        refuse_unknown("running", opens, options)
        return opens(self, question, periods, spend, name=name, **options)

    def of(self, period: str, *, stamp: str) -> Any:
        """Return a curator of the rows of one period, as limits on each day or month need; nothing is charged yet.

        `period` is a day, a week, a month, a quarter, a year or a span of days, `stamp` the column that says when a row
        happened. What a person counts is cut over that period alone. Everything is asked of it as of this curator, and
        charged to that period and no other.

        >>> from sfumato import ADD_REMOVE, Budget, Pure, Schema, curate, dates
        >>> import pyarrow, datetime
        >>> days = pyarrow.table({"id": [1, 2], "at": [datetime.date(2026, 1, 1), datetime.date(2026, 2, 1)]})
        >>> described = Schema({"at": dates("2025-01-01", "2027-12-31")}, person="id")
        >>> limits = Budget(person="none", units={"month": Pure(1)})
        >>> with curate(days, described, limits, relation=ADD_REMOVE) as curator:
        ...     answer = curator.of("2026-01", stamp="at").count(spend=Pure("1/2"))
        ...     curator.ledger.spent_in("month", "2026-01").left, curator.ledger.spent_in("month", "2026-02").left
        ((Fraction(0, 1), Fraction(1, 2)), (Fraction(0, 1), Fraction(1, 1)))
        """
        return CONVERSATIONS["period"](self, period, stamp)

    def learn(
        self,
        learner: PrivateModel,
        *,
        features: str | Sequence[str],
        target: str,
        missing: Mapping[str, Any] | None = None,
        where: Where = None,
        analyst: str | None = None,
    ) -> Answer:
        """Fit a private learner to columns of the table: its spend is reserved first, and the rule is stored.

        Domains come from the schema; `missing={"age": 0}` says what a missing cell counts as, which a column that
        keeps missing cells apart needs. `where` is a condition on rows, for linear models. The same learner on the
        same columns again is free. The value of the answer is the rule; the learner is fitted by it, and predicts.
        """
        spend, question = _spend_of(learner), Learn.of(learner, features, target, missing, where)
        answer: Answer = self.ask(question, spend, analyst=analyst)
        learner.keep(self._facts(question.canonical(self.schema)), answer.loss, answer.value)
        learner.feature_names_in_ = np.array(question.features, dtype=object)
        return answer

    def _facts(self, question: Learn) -> LearningFacts:
        """Return what a fit knows beforehand, the attributes among it whose change costs something."""
        return question.facts(self.schema, self.basis.gauge(question.measure(self.schema)))


def _spend_of(learner: PrivateModel) -> Bound:
    """Return what a fit may cost; refuses what is no learner, or brings domains or noise of its own."""
    from sfumato.learn.estimator import PrivateModel

    if not isinstance(learner, PrivateModel):
        raise ParameterError(
            "learn takes a learner of sfumato.learn; write learn(PrivateThreshold(spend=Pure(1)), ...)."
        )
    if learner.spend is None:
        raise ParameterError(f"A fit costs something; write {type(learner).__name__}(spend=Pure(1)).")
    if learner.domains is not None or learner.noise is not None:
        raise ParameterError(
            "The schema says what each column may hold, and the curator draws the noise; leave domains= and noise= out."
        )
    return learner.spend
