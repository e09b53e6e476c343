"""The shipped conversation on a sampled domain as one mechanism: rows of people in, replies out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sfumato import Noise, Schema
from sfumato.mechanism import Mechanism
from sfumato.privacy import Loss
from sfumato.questions.conversation import Box, Conversation, ConversationPlan, Reply, Support, SupportModel
from sfumato.questions.conversation.guesses import Checking
from sfumato.questions.conversation.learner import Learner
from sfumato.questions.conversation.steps import Claim, Outcome, Standing
from sfumato.workload.records import Records
from sfumato.workload.space import Space
from tests.imputed import integers

SCHEMA = Schema({"a": integers(0, 15), "b": integers(0, 15)})
SPACE = Space.of(SCHEMA)
Rows = Sequence[tuple[int, int]]


class Nowhere:
    """Keeps nothing: what a ledger holds is no part of what an analyst sees."""

    number = 0

    def resume(self) -> Standing:
        """Never needed: nobody is interrupted."""
        raise AssertionError

    def say(self, claim: Claim, last: Outcome | None, keep: bool) -> None:
        """Forget what is asked."""

    def save(self, state: dict[str, Any], outcome: Outcome | None = None, over: bool = False) -> None:
        """Forget the state."""

    def draw(self, draw: Callable[[], Any]) -> Any:
        """Draw."""
        return draw()


@dataclass(frozen=True, kw_only=True)
class SampledTalk(Mechanism):
    """Asks some queries one by one, and one more after a correction, of a model on a public sample of the domain."""

    spec: ClassVar[str] = "QR-SMOOTH"

    checking: Checking
    support: Support
    queries: tuple[Box, ...]

    def loss(self) -> Loss:
        """Return the loss of the checking: the sample is public, and the model sees replies only."""
        return self.checking.loss()

    def model(self, rows: Rows) -> SupportModel:
        """Return where the model starts; the rows are for mutants."""
        return self.support.model(SPACE, len(rows))

    def run(self, exact: Rows, noise: Noise) -> tuple[Reply, ...]:
        """Hold the conversation."""
        people, count = len(exact), len(self.queries)
        plan = ConversationPlan(self.checking, people, count, Fraction(1, 20), 1, 1, 0, 0, 0.5, 0.5, "converse")
        state = {"checking": self.checking.start(noise), "lessons": [], "history": [], "asked": 0}
        talk = Conversation(
            name="talk",
            plan=plan,
            schema=SCHEMA,
            learner=lambda: Learner(self.model(exact), plan.gain / people, 0.0),
            keeper=Nowhere(),
            standing=Standing(state, Records.from_rows(SPACE, exact).table, lambda number: noise),
            loss=self.loss(),
        )
        replies: list[Reply] = []
        for query in self.queries:
            replies.append(talk.ask(query))
            if replies[-1].source == "data":
                # The model has learned: what it says now is seen, too, and costs no draw.
                return (*replies, talk.ask(Box(("a", "b"), (2, 2), (12, 12))))
        return tuple(replies)


@dataclass(frozen=True, kw_only=True)
class SampleOfTheData(SampledTalk):
    """Takes the rows that occur for the sample, where no row is missed."""

    def model(self, rows: Rows) -> SupportModel:
        """Return an even law on the rows of the table."""
        points = np.unique(np.array(rows), axis=0)
        return SupportModel(SPACE, len(rows), points, np.zeros(len(points)))


@dataclass(frozen=True, kw_only=True)
class PeakOfTheData(SampledTalk):
    """Fits the peak, and with it the size of the sample, to how often the commonest row occurs."""

    def model(self, rows: Rows) -> SupportModel:
        """Return the model on a sample as large as this table needs."""
        most = int(Records.from_rows(SPACE, rows).counts.max())
        return replace(self.support, draws=self.support.draws * most).model(SPACE, len(rows))
