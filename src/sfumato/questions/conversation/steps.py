"""One step of a conversation: what it asks, said before its first coin, and what came of it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.noise import Noise
from sfumato.questions.conversation.plan import ConversationPlan
from sfumato.questions.conversation.queries import LinearQuery, Weighted, query_from_json
from sfumato.questions.conversation.reply import Progress, Reply, said

Counts = Callable[[Sequence[str]], NDArray[np.int64]]


NUMBERS = 2**20
"""Whole numbers that the queries of one step may be written with."""


@dataclass(frozen=True, eq=False)
class Claim:
    """Queries of one unit in their order, what the model expects of each, and how far the conversation had come.

    The expectations are said with the queries, since a model that is restored elsewhere may differ in its last bits:
    the same coins must not meet two guesses.
    """

    queries: tuple[LinearQuery, ...]
    expected: NDArray[np.float64]
    progress: Progress

    def to_bytes(self) -> bytes:
        """Return bytes that `claim_from` reads back exactly."""
        queries = [query.to_json() for query in self.queries]
        return _written([queries, self.expected.tolist(), list(self.progress)])


def claim_from(content: bytes) -> Claim:
    """Read what `Claim.to_bytes` wrote."""
    queries, expected, progress = _read(content)
    return Claim(tuple(map(query_from_json, queries)), np.array(expected, dtype=np.float64), Progress(*progress))


@dataclass(frozen=True)
class Outcome:
    """The first `close` guesses are close enough, the next one, if `answer` is there, is corrected to it.

    A dead step has neither: its draw failed, or nobody can draw it any more, and a correction was set aside for it.
    """

    close: int
    answer: int | None = None
    dead: bool = False

    def to_bytes(self) -> bytes:
        """Return bytes that `outcome_from` reads back."""
        return json.dumps([self.close, self.answer, self.dead]).encode()


DEAD = Outcome(0, dead=True)


def outcome_from(content: bytes) -> Outcome:
    """Read what `Outcome.to_bytes` wrote."""
    return Outcome(*json.loads(content))


def alike(queries: Sequence[LinearQuery]) -> Sequence[LinearQuery]:
    """Return the first queries as far as they count in one unit, and can be written down together."""
    unit, numbers = queries[0].unit, 0
    for place, query in enumerate(queries):
        numbers += query.numbers.size if isinstance(query, Weighted) else len(query.columns)
        if query.unit != unit or (place and numbers > NUMBERS):
            return queries[:place]
    return queries


def replies_to(plan: ConversationPlan, claim: Claim, outcome: Outcome) -> list[Reply]:
    """Return what a step says; nothing but what was said and what came of it decides, so it can be said again."""
    asked, repeated, corrected, left = claim.progress
    replies = []
    for query, part in zip(claim.queries[: outcome.close], claim.expected.tolist(), strict=False):
        asked += 1
        progress = Progress(asked, repeated, corrected, left)
        promised = left > 0 and asked <= plan.queries
        replies.append(said(plan, query, part, "model", promised=promised, progress=progress))
    if outcome.answer is not None:
        progress = Progress(asked + 1, repeated, corrected + 1, left - 1)
        query, part = claim.queries[outcome.close], corrected_part(plan, claim, outcome)
        replies.append(said(plan, query, part, "data", promised=asked < plan.queries, progress=progress))
    return replies


def corrected_part(plan: ConversationPlan, claim: Claim, outcome: Outcome) -> float:
    """Return a correction as a part of the people, within the range of its query."""
    assert outcome.answer is not None
    return min(max(outcome.answer / (plan.people * claim.queries[0].unit), 0.0), 1.0)


@dataclass(frozen=True)
class Standing:
    """Where a conversation stands: its public state, the steps that were answered, and the one that is not.

    `counts` are the exact counts that were frozen, None once no correction is left; `noise` gives a step its coins.
    """

    state: dict[str, Any]
    counts: Counts | None
    noise: Callable[[int], Noise]
    told: Sequence[tuple[Claim, Outcome]] = ()
    pending: Claim | None = None


class Keeper(Protocol):
    """Where the steps and the states of a conversation are kept."""

    number: int
    """The number of the last step that was said."""

    def resume(self) -> Standing:
        """Return where the conversation stands, and take it over from whoever had it."""
        ...

    def say(self, claim: Claim, last: Outcome | None, keep: bool) -> None:
        """Say what the next step asks, and what came of the last one; durable before it returns, or it raises."""
        ...

    def save(self, state: dict[str, Any], outcome: Outcome | None = None, over: bool = False) -> None:
        """Store the next state and what came of the step that led to it; durable before it returns, or it raises.

        If it is `over`, nothing more is drawn from what was frozen, and that is erased.
        """
        ...

    def draw(self, draw: Callable[[], Any]) -> Any:
        """Call a draw, and raise `DeadStep` if it failed by itself."""
        ...


def _written(record: Any) -> bytes:
    return zlib.compress(json.dumps(record, separators=(",", ":")).encode(), 1)


def _read(content: bytes) -> Any:
    return json.loads(zlib.decompress(content))


def state_bytes(state: dict[str, Any]) -> bytes:
    """Return bytes that `state_from` reads back."""
    return _written(state)


def state_from(content: bytes) -> dict[str, Any]:
    """Read what `state_bytes` wrote."""
    found: dict[str, Any] = _read(content)
    return found
