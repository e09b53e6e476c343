"""A short conversation that is cut short at a line of one's choice, and what must hold when somebody goes on with it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow

from sfumato import Approximate, Budget, Ledger, Noise, Schema
from sfumato.ledger import lifecycle
from sfumato.questions.conversation import Box, Conversation, Reply
from sfumato.questions.conversation.guesses import Checking
from sfumato.table.data import Table, open_table
from tests.imputed import integers
from tests.questions.conversation.people import talk

SPEND, LIMIT = Approximate(4, 1e-6), Approximate(20, 1e-3)
SCHEMA = Schema({"age": integers(0, 7), "hours": integers(0, 3)})
CALLS: list[list[Box]] = [
    [Box(("age",), (0,), (2,))],
    [Box(("hours",), (3,), (4,))],
    [Box(("age",), (2,), (8,)), Box(("hours",), (0,), (1,)), Box(("age", "hours"), (0, 0), (1, 1))],
    [Box(("age",), (3,), (5,))],
]
WALKED = ("conversation/session", "conversation/keeping", "conversation/steps", "ledger/stepping", "ledger/frozen")
"""The modules at whose lines a conversation is cut short."""

Told = dict[Box, Reply]
Drawn = list[tuple[Any, ...]]


class Killed(BaseException):
    """Stands for a kill where a process of its own would be too slow: nothing that is written for errors catches it."""


def people(turned: bool = False) -> Table:
    """Return 4000 people, most of them young; turned around, most are old."""
    ages = [min(place % 8, place // 8 % 8) for place in range(4000)]
    hours = [place % 4 if place % 3 else 3 for place in range(4000)]
    table = {"age": [7 - age for age in ages] if turned else ages, "hours": hours}
    return open_table(pyarrow.table(table), SCHEMA, snapshot="2026")


def book(place: Path | str | None = None, **options: Any) -> Ledger:
    """Return a ledger for them."""
    budget = None if place is not None and "://" not in str(place) and Path(place).exists() else Budget(person=LIMIT)
    return Ledger(place, budget, **options)


def begin(table: Table, ledger: Ledger, seed: int, **options: Any) -> Conversation:
    """Open the conversation, or go on with it; the seed makes the key, if one is made."""
    chosen = {"queries": 40, "spend": SPEND, "name": "talk", "surprise": 0.5, "method": "approximate"}
    return talk(table, ledger, noise=Noise(insecure_seed=seed), **{**chosen, **options})


def hold(conversation: Conversation, told: Told) -> None:
    """Ask everything, noting each reply when it is shown."""
    for queries in CALLS:
        for query, reply in zip(queries, conversation.ask_all(queries), strict=True):
            told[query] = reply


def watch(patch: Any, kinds: list[type[Checking]]) -> Drawn:
    """Note every draw of a step: what it was drawn from, and what came out."""
    drawn: Drawn = []
    for kind in kinds:

        def noted(self: Any, state: Any, exact: Any, noise: Noise, step: Callable[..., Any] = kind.step) -> Any:
            found = step(self, state, exact, noise)
            names = noise._source._prefix.rpartition(b"[")[2]  # type: ignore[union-attr]  which step it is
            drawn.append((names, tuple(exact.values), tuple(exact.guesses), found[1]))
            return found

        patch.setattr(kind, "step", noted)
    return drawn


class Cut:
    """Ends whatever runs at the n-th line of the modules above; counts lines if there is no such line."""

    def __init__(self, at: int, end: Callable[[], None] | None = None, walked: Sequence[str] = WALKED) -> None:
        self.at, self.lines, self.place = at, 0, ""
        self._end, self._walked = end, walked

    def __enter__(self) -> Cut:
        self._before = sys.gettrace()
        sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _called(self, frame: FrameType, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        return self._line if any(part in name for part in self._walked) and "/src/" in name else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.lines += 1
            if self.lines == self.at:
                self.place = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} {frame.f_code.co_name}"
                self._end() if self._end else self._raise()
        return self._line

    def _raise(self) -> None:
        sys.settrace(self._before)
        raise Killed


def die() -> None:
    """End this process as kill -9 does."""
    os.kill(os.getpid(), signal.SIGKILL)


def was_frozen(ledger: Ledger) -> bool:
    """Tell whether something was frozen, so that nothing else may be drawn from."""
    with ledger._journal.session(write=False) as session:
        return session.reservation("talk") is not None and lifecycle.sealed(session, "talk") is not None
