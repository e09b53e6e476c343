"""Requests that are answered in steps: a conversation, a total that runs on, a mechanism of several looks.

What they draw from is frozen with a key, as for any request, and stays so from step to step. Each step is said before
its first coin: its parameters are public, so they lie in the ledger, where of two runners one wins. Whoever finds a
step that was said and has no outcome draws it again, from the same bytes with the same coins, before anything else is
asked. So a step happens once, whatever ends processes; and nobody learns by a kill what was not paid for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from sfumato.errors import LedgerError, Overtaken, Unfinished
from sfumato.ledger import lifecycle, running, wording
from sfumato.ledger.frozen import Place
from sfumato.ledger.lifecycle import Seal
from sfumato.ledger.running import Coins, Frozen

if TYPE_CHECKING:
    from sfumato.ledger.journal import Journal

T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """What one step asked, and what came of it, None if nobody knows yet."""

    number: int
    asked: bytes
    outcome: bytes | None


@dataclass(frozen=True)
class Standing:
    """Where a request stands: its state after `step` stored states, what it draws from, and the steps it was asked."""

    step: int
    state: bytes | None
    seal: Seal | None
    steps: tuple[Step, ...]

    @property
    def pending(self) -> Step | None:
        """The step that was said and has no outcome: nothing else is asked before it is drawn."""
        return self.steps[-1] if self.steps and self.steps[-1].outcome is None else None


class DeadStep(Exception):
    """A draw failed by itself, so that it would fail again; nothing of the cause travels with it."""


class Stepwise:
    """The steps of one request; every method is one durable transaction, and of two runners one wins."""

    def __init__(self, journal: Journal, place: Place | None, request_id: str) -> None:
        self._journal, self._place, self.id = journal, place, request_id

    def standing(self) -> Standing:
        """Return where the request stands; one whose state is lost dies here."""
        with self._journal.session(write=True) as session:
            stored = lifecycle.stage(session, self.id).reservation
            if stored.state == "committed":
                raise LedgerError(wording.ANSWERED.format(id=self.id))
            if stored.state == "dead":
                raise LedgerError(wording.DEAD)
            found, seal = session.reservation(self.id), lifecycle.sealed(session, self.id)
            assert found is not None
            fresh = found.memory is None and not found.step and session.said(self.id, "started") == lifecycle.FREEZES
            # Without a state only an opening that somebody else can complete is not lost.
            whole = (seal is None or seal.seal is not None) if fresh else not lifecycle.is_lost(session, found)
            if whole:
                lifecycle.require_remembered(session, found)
            steps = tuple(Step(*line) for line in session.asked_steps(self.id))
        if not whole:
            running.bury(self._journal, self._place, self.id)
            raise LedgerError(wording.DEAD)
        return Standing(found.step, found.memory, seal, steps)

    def read(self, read: Callable[[], bytes]) -> bytes:
        """Read what will be frozen; a table that cannot be read leaves the request as it is."""
        return running.read_once(self.id, read)

    def freeze(self, step: int, content: bytes, key: bytes) -> tuple[Frozen, Seal]:
        """Put what was read beyond change, for the draws after a step; raise if somebody else was first."""
        name = None if self._place is None else running.keep(self._place, self.id, content, key)
        record = {"seal": name, "made_by": running.made_by()}
        with self._journal.session(write=True) as session:
            first = lifecycle.freeze_step(session, self.id, step, record)
        if first:
            return Frozen(content, Coins(self.id, key), name is not None), Seal(name, running.made_by(), step)
        if name is not None:
            self.release(name)
        raise Overtaken(wording.OVERTAKEN.format(id=self.id))

    def thaw(self, seal: Seal, opening: bool = False) -> Frozen | str:
        """Return what was frozen, or the sentence that says why it cannot be drawn from here."""
        if seal.seal is None:
            return wording.UNSEALED.format(id=self.id)
        if seal.made_by != running.made_by():
            said = wording.OTHER_VERSION if opening else wording.STEP_OTHER_VERSION
            return said.format(id=self.id, then=running.versions_text(seal))
        said = wording.ELSEWHERE if opening else wording.STEP_ELSEWHERE
        return running.kept_in(self._place, self.id, seal.seal) or said.format(id=self.id)

    def say(self, step: int, number: int, asked: bytes, *, last: bytes | None = None, keep: bool = True) -> None:
        """Compare and set: say what the next step asks, before its first coin, and what came of the last one.

        `step` is the number of stored states that it follows, `number` its own, counted from 1. One that need not be
        kept is forgotten when the next is said.
        """
        with self._journal.session(write=True) as session:
            stored = session.reservation(self.id)
            here = stored is not None and stored.state == "started" and stored.step == step
            if not here or session.last_step(self.id) != number - 1:
                raise Overtaken(wording.OVERTAKEN.format(id=self.id))
            if last is not None:
                session.settle_step(self.id, number - 1, last)
            session.add_step(self.id, number, lifecycle.as_bytes(asked, "A step"), keep)
            session.drop_steps(self.id, number)

    def save(
        self, step: int, state: bytes, answer: bytes | None = None, *, number: int = 0, outcome: bytes | None = None
    ) -> int:
        """Store the next state, its answer and what came of a step together, before anybody sees them."""
        with self._journal.session(write=True) as session:
            following = lifecycle.save_state(session, self.id, step, state, answer)
            if outcome is not None:
                session.settle_step(self.id, number, outcome)
        return following

    def draw(self, draw: Callable[[], T]) -> T:
        """Call a draw; what ends it from outside leaves the step as it is, an error of its own would come again."""
        try:
            return draw()
        except running.OUTSIDE as error:
            running.report("A step of the request %r was cut short.", self.id, error)
            again = True
        except Exception as error:
            running.report("A step of the request %r died.", self.id, error)
            again = False
        # Raised outside the handler, so that nothing of the cause travels with it.
        if again:
            raise Unfinished(wording.CUT_SHORT)
        raise DeadStep

    def bury(self) -> None:
        """Mark the request as dead, and erase what was kept to draw it from."""
        running.bury(self._journal, self._place, self.id)

    def kept(self) -> list[str]:
        """Return the seals of what is kept to draw from, also of what was written and never sealed."""
        return [] if self._place is None else self._place.seals(self.id)

    def release(self, seal: str) -> None:
        """Erase what is kept under a seal: nothing will be drawn from it any more."""
        if self._place is not None:
            self._place.discard(self.id, seal)
