"""A conversation: queries one after the other, answered from a model that is corrected when it is wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from sfumato.errors import LedgerError, Overtaken
from sfumato.ledger import wording
from sfumato.ledger.stepping import DeadStep
from sfumato.model.base import Model
from sfumato.privacy import Loss
from sfumato.questions.conversation.guesses import Checked, Guesses
from sfumato.questions.conversation.learner import Learner, Lesson
from sfumato.questions.conversation.plan import ConversationPlan
from sfumato.questions.conversation.queries import LinearQuery, query_from_json, read_queries, read_query
from sfumato.questions.conversation.reply import Progress, Reply, draw_progress, progress_view, said
from sfumato.questions.conversation.steps import (
    DEAD,
    Claim,
    Keeper,
    Outcome,
    Standing,
    alike,
    corrected_part,
    replies_to,
)
from sfumato.questions.conversation.tables import QuickSums, quick_counts, refuse_wide
from sfumato.show.views import View, Viewed
from sfumato.table.schema import Schema

T = TypeVar("T")
REMEMBERED = 2**20
"""Answers kept, so that a query asked again is free and gets the same answer."""
FEWEST, MOST = 64, 8192
"""Queries of a list that are checked together."""


class Conversation(Viewed):
    """Queries answered from one learned model; only a correction looks like an answer from the data and is paid for.

    Make one with `open_conversation`. Threads share it: a lock keeps the order of the queries. The whole loss was
    reserved when it was opened, so nothing more is charged, whatever is asked.

    >>> from sfumato import Approximate, Noise, Schema, booleans, curate
    >>> import pyarrow
    >>> days = pyarrow.table({"rain": [True, False] * 5000, "wind": [True] * 10000})
    >>> spend, described = Approximate(2, 1e-6), Schema({"rain": booleans(), "wind": booleans()})
    >>> curator = curate(days, described, spend)
    >>> with curator.converse(spend=spend, prior="even", noise=Noise(insecure_seed=1)) as conversation:
    ...     replies = [conversation.ask("rain = true"), conversation.ask("rain = true")]
    >>> replies[0] == replies[1], conversation.progress.repeated
    (True, 1)
    """

    def __init__(
        self,
        *,
        name: str,
        plan: ConversationPlan,
        schema: Schema,
        learner: Callable[[], Learner],
        keeper: Keeper,
        standing: Standing,
        loss: Loss,
    ) -> None:
        self.name, self.plan, self.loss = name, plan, loss
        self._schema, self._make_learner, self._keeper = schema, learner, keeper
        self._known: dict[LinearQuery, Reply] = {}
        self._read: dict[str, LinearQuery] = {}
        self._fits: set[tuple[str, ...]] = set()
        self._lock = threading.RLock()
        self._closed = False
        self._take(standing)

    def _take(self, standing: Standing) -> None:
        """Go on from where a conversation stands; a step that was said and not answered is drawn first."""
        self._torn = True
        self._state, self._noise = standing.state, standing.noise
        self._last: Outcome | None = None
        self._history: list[list[float]] = [list(pair) for pair in standing.state["history"]]
        self._learner = self._make_learner()
        self._space = self._learner.model.space
        self._asked, self._repeated = int(standing.state["asked"]), 0
        for claim, outcome in standing.told:
            self._remember(replies_to(self.plan, claim, outcome), claim)
            self._count(claim, outcome)
        self._relearn()
        counts = standing.counts if self._left else None
        # Data are held only while corrections are left, and let go with the last one.
        self._exact = None if counts is None else QuickSums(self._space, quick_counts(self._space, counts))
        if standing.pending is not None:
            self._remember(self._complete(standing.pending), standing.pending)
        self._torn = False

    def _relearn(self) -> None:
        """Restore the model; the last correction may have been stored and not been learned yet."""
        lessons = [(query_from_json(query), value, theta) for query, value, theta in self._state["lessons"]]
        self._learner.restore([Lesson(*lesson) for lesson in lessons if lesson[2] is not None])
        for query, value, theta in lessons:
            if theta is None:
                self._learner.learn(query, value)
        for (query, value, _), (place, _) in zip(lessons, self._history, strict=True):
            promised = place <= self.plan.queries
            reply = said(self.plan, query, value, "data", promised=promised, progress=self.progress)
            self._known.setdefault(query, reply)

    @property
    def _left(self) -> int:
        return int(self._state["checking"]["left"])

    @property
    def progress(self) -> Progress:
        """How many queries were asked, repeated and corrected, and how many corrections are left."""
        return Progress(self._asked, self._repeated, len(self._history), self._left)

    @property
    def history(self) -> list[list[float]]:
        """Where each correction was made, as a number of queries, and by how much the model was wrong there."""
        return [list(pair) for pair in self._history]

    def view(self) -> View:
        """Return how far it has come."""
        return progress_view(self.progress)

    def __repr__(self) -> str:
        return str(self)

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
                self._walk(listed, shown=False)
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
        if self._torn:
            # Something was interrupted: what is in memory may be half done, and what is stored is whole.
            self._take(self._unless_overtaken(self._keeper.resume))

    def _answers(self, queries: Sequence[LinearQuery]) -> list[Reply]:
        self._require_open()
        if len(queries) == 1 and queries[0] in self._known:
            self._repeated += 1
            return [self._known[queries[0]]]
        fresh = [query for query in dict.fromkeys(queries) if query not in self._known]
        self._repeated += len(queries) - len(fresh)
        given = dict(zip(fresh, self._walk(fresh), strict=True))
        return [given[query] if query in given else self._known[query] for query in queries]

    def _walk(self, queries: Sequence[LinearQuery], shown: bool = True) -> list[Reply]:
        """Answer queries in their order, many at a time while the model is right."""
        found: list[Reply] = []
        width = FEWEST
        while len(found) < len(queries):
            replies = self._step(alike(queries[len(found) : len(found) + width]), shown)
            corrected = replies[-1].source == "data"
            width = max(FEWEST, width // 2) if corrected else min(MOST, 2 * width)
            found += replies
        return found

    def _step(self, queries: Sequence[LinearQuery], shown: bool) -> list[Reply]:
        """Answer queries of one unit, up to the first that is corrected, which ends the list.

        What is asked is said first, durably: whoever finds the step without an outcome draws it again, with the same
        coins. Nobody can see that a step was cut short and ask something else instead, which would not be paid for.
        """
        claim = Claim(tuple(queries), self._learner.expect(queries), self.progress)
        if self._exact is None or not queries[0].unit:
            # Nothing is drawn: no correction is left, or a query of one value everywhere is known without a look.
            outcome = Outcome(len(queries))
            self._count(claim, outcome)
            return self._remember(replies_to(self.plan, claim, outcome), claim)
        keep = shown and len(self._known) + len(queries) <= REMEMBERED
        self._torn = True
        replies = self._unless_overtaken(lambda: self._said_and_drawn(claim, keep))
        self._torn = False
        if not replies:
            raise LedgerError(wording.STEP_DEAD)
        return self._remember(replies, claim) if keep else replies

    def _said_and_drawn(self, claim: Claim, keep: bool) -> list[Reply]:
        self._keeper.say(claim, self._last, keep)
        self._last = None
        return self._complete(claim)

    def _unless_overtaken(self, work: Callable[[], T]) -> T:
        """Close if somebody else goes on: whatever was drawn here must not be shown, nor the data seen again."""
        try:
            return work()
        except Overtaken:
            self._closed, self._exact = True, None
            raise

    def _complete(self, claim: Claim) -> list[Reply]:
        """Draw a step that was said: a function of it, of the state, of the frozen counts and of its coins."""
        assert self._exact is not None
        exact, before = self._exact, self._state["checking"]

        def draw() -> tuple[dict[str, Any], Checked, bool]:
            unit = claim.queries[0].unit
            guesses = np.rint(claim.expected * (self.plan.people * unit)).astype(np.int64)
            guessed = Guesses(exact.of(claim.queries), guesses, unit)
            return self.plan.checking.step(before, guessed, self._noise(self._keeper.number))

        try:
            after, checked, _ = self._keeper.draw(draw)
        except DeadStep:
            self._mourn(claim)
            return []
        outcome = Outcome(checked.close, checked.answer)
        self._count(claim, outcome)
        if outcome.answer is None:
            self._last = outcome  # it is stored with what is said next
        else:
            self._correct(claim, outcome, after)
        return replies_to(self.plan, claim, outcome)

    def _correct(self, claim: Claim, outcome: Outcome, after: dict[str, Any]) -> None:
        """Store a correction as it was drawn, before anybody sees it; then learn from it, which can be repeated."""
        query, value = claim.queries[outcome.close], corrected_part(self.plan, claim, outcome)
        self._history.append([self._asked, abs(float(claim.expected[outcome.close]) - value)])
        self._state = {**self._state, "checking": after}
        self._save(outcome, unlearned=[[query.to_json(), value, None]])
        self._learner.learn(query, value)

    def _mourn(self, claim: Claim) -> None:
        """Set a correction aside for a step whose draw failed by itself: it would fail again, and may have been one."""
        checking = self._state["checking"]
        self._state = {**self._state, "checking": {**checking, "left": checking["left"] - 1}}
        self._count(claim, DEAD)
        self._save(DEAD)

    def _count(self, claim: Claim, outcome: Outcome) -> None:
        answered = len(claim.queries) if outcome.dead else outcome.close + (outcome.answer is not None)
        self._asked = max(self._asked, claim.progress.asked + answered)
        self._repeated = max(self._repeated, claim.progress.repeated)

    def _remember(self, replies: list[Reply], claim: Claim) -> list[Reply]:
        if len(self._known) + len(replies) > REMEMBERED:
            return replies
        for query, reply in zip(claim.queries, replies, strict=False):
            self._known.setdefault(query, reply)
        return replies

    def _save(self, outcome: Outcome | None, unlearned: Sequence[Any] = (), clean: bool = False) -> None:
        lessons = [[one.query.to_json(), one.value, one.theta] for one in self._learner.lessons]
        kept = {"lessons": [*lessons, *unlearned], "history": self._history, "asked": self._asked, "clean": clean}
        self._state = {**self._state, **kept}
        over = clean or not self._left
        self._keeper.save(self._state, outcome, over)
        self._exact = None if over else self._exact

    def picture(self) -> Any:
        """Return a picture of the corrections so far: how many, and how wrong the model was."""
        with self._lock:
            return draw_progress(self.name, self.plan, self.history, self.progress)

    def close(self) -> None:
        """Let go of the data and erase what was frozen of them; the model stays readable.

        After an interrupt everything stays as it is, for whoever opens it again to go on with.
        """
        with self._lock:
            try:
                if not self._closed and not self._torn:
                    self._save(self._last, clean=True)
            finally:
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
