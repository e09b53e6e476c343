"""A conversation: queries one after the other, answered from a model that is corrected when it is wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import LedgerError
from sfumato.noise import Noise
from sfumato.privacy import Loss
from sfumato.release.conversation.guesses import Guesses
from sfumato.release.conversation.learner import Learner, Lesson
from sfumato.release.conversation.plan import Plan
from sfumato.release.conversation.queries import LinearQuery, query_from_json, read_queries, read_query
from sfumato.release.conversation.reply import Progress, Reply, Source
from sfumato.release.conversation.tables import Answers, quick_counts, refuse_wide
from sfumato.release.model.base import Model
from sfumato.table.schema import Schema

REMEMBERED = 2**20
"""Answers kept, so that a query asked again is free and gets the same answer."""
AHEAD = 20
"""The count of the queries is stored this often."""
FEWEST, MOST = 64, 8192
"""Queries of a list that are checked together."""


class Keeper(Protocol):
    """Where a conversation's state is kept."""

    def save(self, state: dict[str, Any], answer: int | None = None) -> None:
        """Store the next state, durably, or raise."""


class Conversation:
    """Queries answered from one learned model; only a correction looks like an answer from the data and is paid for.

    Make one with `open_conversation`. Threads share it: a lock keeps the order of the queries. The whole loss was
    reserved when it was opened, so nothing more is charged, whatever is asked.

    >>> from sfumato import Approximate, Noise, Schema, booleans, curate
    >>> import pyarrow
    >>> days = pyarrow.table({"rain": [True, False] * 5000, "wind": [True] * 10000})
    >>> spend, described = Approximate(2, 1e-6), Schema({"rain": booleans(), "wind": booleans()})
    >>> curator = curate(days, described, spend)
    >>> with curator.converse(spend=spend, noise=Noise(insecure_seed=1)) as conversation:
    ...     replies = [conversation.ask("rain = true"), conversation.ask("rain = true")]
    >>> replies[0] == replies[1], conversation.progress.repeated
    (True, 1)
    """

    def __init__(
        self,
        *,
        name: str,
        plan: Plan,
        schema: Schema,
        learner: Learner,
        keeper: Keeper,
        state: dict[str, Any],
        exact: Callable[[], Callable[[Sequence[str]], NDArray[np.int64]]],
        loss: Loss,
        noise: Noise,
    ) -> None:
        self.name, self.plan, self.loss = name, plan, loss
        self._schema, self._learner, self._keeper, self._noise = schema, learner, keeper, noise
        self._space = learner.model.space
        self._state = state
        self._history: list[list[float]] = state["history"]
        self._known: dict[LinearQuery, Reply] = {}
        self._read: dict[str, LinearQuery] = {}
        self._fits: set[tuple[str, ...]] = set()
        self._asked, self._repeated = int(state["asked"]), 0
        self._lock = threading.RLock()
        self._closed = False
        self._mark = int(state["mark"])
        learner.restore([Lesson(query_from_json(query), value, theta) for query, value, theta in state["lessons"]])
        # Data are read only while corrections are left, and let go with the last one.
        self._exact = Answers(self._space, quick_counts(self._space, exact())) if self._left else None
        for lesson, (place, _) in zip(learner.lessons, self._history, strict=True):
            self._known.setdefault(lesson.query, self._said(lesson.query, lesson.value, "data", place <= plan.queries))

    @property
    def _left(self) -> int:
        return int(self._state["checking"]["left"])

    @property
    def progress(self) -> Progress:
        """How many queries were asked, repeated and corrected, and how many corrections are left."""
        return Progress(self._asked, self._repeated, len(self._history), self._left)

    @property
    def model(self) -> Model:
        """The distribution learned so far: marginals, rows, files; free."""
        return self._learner.model

    def ask(self, query: Any) -> Reply:
        """Answer one query: SQL text such as "age > 40 AND sex = 'Male'", a predicate, a linear query, a block of one.

        What cannot be asked is refused from the text and the schema alone, before the data are looked at.
        """
        with self._lock:
            return self._answers([self._query(query)])[0]

    def ask_all(self, queries: Any) -> list[Reply]:
        """Answer a list of queries, a block or a workload in order: the same as one by one, and much quicker."""
        with self._lock:
            return self._answers(self._queries(queries))

    def learn(self, queries: Any) -> Model:
        """Ask a list of queries, a block or a workload again and again, and return the model: synthetic data for them.

        It ends when the model passes all of them without a correction, or when no correction is left: see
        `progress.left`. Every pass counts as asking, and nothing is charged.
        """
        with self._lock:
            self._require_open()
            listed = list(dict.fromkeys(self._queries(queries)))
            while self._left:
                before = len(self._history)
                self._walk(listed)
                if len(self._history) == before:
                    break
            return self.model

    def _queries(self, queries: Any) -> list[LinearQuery]:
        if isinstance(queries, (list, tuple)):
            return [self._query(query) for query in queries]
        return read_queries(queries, self._space, self._schema)

    def _query(self, query: Any) -> LinearQuery:
        if isinstance(query, str) and query in self._read:
            return self._read[query]
        found = read_query(query, self._space, self._schema)
        if found.columns not in self._fits:
            refuse_wide(self._space, found)
            self._fits.add(found.columns)
        if isinstance(query, str) and len(self._read) < REMEMBERED:
            self._read[query] = found
        return found

    def _require_open(self) -> None:
        if self._closed:
            raise LedgerError(f"The conversation {self.name!r} is closed; open it again by its name to go on.")

    def _answers(self, queries: Sequence[LinearQuery]) -> list[Reply]:
        self._require_open()
        if len(queries) == 1 and queries[0] in self._known:
            self._repeated += 1
            return [self._known[queries[0]]]
        fresh = [query for query in dict.fromkeys(queries) if query not in self._known]
        self._repeated += len(queries) - len(fresh)
        given = dict(zip(fresh, self._walk(fresh), strict=True))
        if len(self._known) + len(given) <= REMEMBERED:
            self._known.update(given)
        return [given[query] if query in given else self._known[query] for query in queries]

    def _walk(self, queries: Sequence[LinearQuery]) -> list[Reply]:
        """Answer queries in their order, many at a time while the model is right."""
        found: list[Reply] = []
        width = FEWEST
        while len(found) < len(queries):
            part = _alike(queries[len(found) : len(found) + width])
            self._count_ahead(len(part))
            try:
                replies = self._check(part)
            except BaseException:
                # Coins may have been thrown that nobody can throw again: whoever goes on sets a correction aside.
                self._closed, self._exact = True, None
                raise
            corrected = bool(replies) and replies[-1].source == "data"
            width = max(FEWEST, width // 2) if corrected else min(MOST, 2 * width)
            found += replies
        return found

    def _count_ahead(self, queries: int) -> None:
        """Store how many queries may be asked before the next time, so that a crash cannot make them fewer.

        When it is stored follows from the number of queries and from corrections, which everybody sees: no lazy answer
        is told apart by it.
        """
        if self._mark < self._asked + queries and self._mark < self.plan.queries:
            self._mark = self._asked + queries + self.plan.queries // AHEAD
            self._save()

    def _check(self, queries: Sequence[LinearQuery]) -> list[Reply]:
        """Answer queries of one unit from the model, up to the first that is corrected; that one ends the list."""
        expected, unit = self._learner.expect(queries), queries[0].unit
        if self._exact is None or not unit:
            # A query of one value everywhere is known without a look.
            return [self._reply(query, value, "model") for query, value in zip(queries, expected.tolist(), strict=True)]
        guesses = np.rint(expected * (self.plan.people * unit)).astype(np.int64)
        after, checked, changed = self.plan.checking.step(
            self._state["checking"], Guesses(self._exact.of(queries), guesses, unit), self._noise
        )
        close = zip(queries[: checked.close], expected.tolist(), strict=False)
        replies = [self._reply(query, value, "model") for query, value in close]
        if changed and checked.answer is not None:
            query, wrong = queries[checked.close], float(expected[checked.close])
            replies.append(self._correct(query, wrong, checked.answer, after))
        return replies

    def _correct(self, query: LinearQuery, wrong: float, answer: int, after: dict[str, Any]) -> Reply:
        value = min(max(answer / (self.plan.people * query.unit), 0.0), 1.0)
        self._state = {**self._state, "checking": after}
        reply = self._reply(query, value, "data")
        self._learner.learn(query, value)
        self._history.append([self._asked, abs(wrong - value)])
        self._save(answer)  # before the answer is seen by anybody
        if not self._left:
            self._exact = None
        return replace(reply, progress=self.progress)

    def _reply(self, query: LinearQuery, part: float, source: Source) -> Reply:
        self._asked += 1
        return self._said(query, part, source, self._exact is not None and self._asked <= self.plan.queries)

    def _said(self, query: LinearQuery, part: float, source: Source, promised: bool) -> Reply:
        stretch = query.unit / query.denominator
        value = part * stretch + query.offset / query.denominator
        # No answer leaves the range of its query, so no error is wider than that.
        error = min(self.plan.error, 1.0) * stretch if promised else (None if query.unit else 0.0)
        return Reply(value, value * self.plan.people, error, source, self.progress)

    def _save(self, answer: int | None = None, clean: bool = False) -> None:
        lessons = [[one.query.to_json(), one.value, one.theta] for one in self._learner.lessons]
        count = {"asked": self._asked, "mark": self._mark}
        kept = {**self._state, "lessons": lessons, "history": self._history, **count, "clean": clean}
        try:
            self._keeper.save(kept, answer)
        except LedgerError:
            # Somebody else goes on with it: whatever was drawn here must not be shown, nor the data seen again.
            self._closed, self._exact = True, None
            raise

    def picture(self) -> Any:
        """Return a picture of the corrections so far: how many, and how wrong the model was."""
        from sfumato.release.conversation.pictures import draw_progress

        with self._lock:
            return draw_progress(self.name, self.plan, [list(pair) for pair in self._history], self.progress)

    def close(self) -> None:
        """Let go of the data and say so, so that going on later costs no correction; the model stays readable."""
        with self._lock:
            if not self._closed:
                self._save(clean=True)
                self._closed, self._exact = True, None

    def __enter__(self) -> Conversation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except LedgerError:
            if error is None:
                raise


def _alike(queries: Sequence[LinearQuery]) -> Sequence[LinearQuery]:
    """Return the first queries as far as they count in one unit."""
    unit = queries[0].unit
    for place, query in enumerate(queries):
        if query.unit != unit:
            return queries[:place]
    return queries
