"""The ledger: reserve, start, commit; what is guaranteed and what has been used."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from sfumato.errors import BudgetExceeded, LedgerError, ParameterError
from sfumato.exact import positive_integer
from sfumato.ledger import wording
from sfumato.ledger.amounts import sums_from_text
from sfumato.ledger.budget import Budget, Limit, closure
from sfumato.ledger.chain import Head, canonical, digest
from sfumato.ledger.guarantee import Unbounded, guaranteed
from sfumato.ledger.journal import Journal
from sfumato.ledger.largest import MakeLoss, largest
from sfumato.ledger.readings import Odometer, Reading, Statement
from sfumato.ledger.request import Losses, Request, analyst_of, losses_of, request_of
from sfumato.ledger.reservation import Break, Conversation, Preview, Reservation
from sfumato.ledger.rules import Rule, Verdict, gate_of
from sfumato.ledger.terms import Opening
from sfumato.ledger.verify import Verification, past_sums, verify
from sfumato.privacy import EVERYTHING, Attributes, Bound, Everything, Loss, Relation, attributes
from sfumato.privacy.bounds import require_bound
from sfumato.privacy.filters import Meter

if TYPE_CHECKING:
    from sfumato.ledger.session import Session, Stored
    from sfumato.mechanism import Event

_log = logging.getLogger(__name__)

Names = Iterable[str] | str | Everything


class Ledger:
    """A durable account of what everything answered about one population has cost.

    `place` is a path (SQLite), a PostgreSQL URL, or None for memory. A new ledger needs a budget; an existing one
    is opened with the same budget or with none. `schema` is a fingerprint of the public schema, `head` a head kept
    elsewhere, which shows whether the ledger was rolled back.

    >>> from sfumato import Cost, Event, Loss, Pure
    >>> ledger = Ledger(None, Budget(person=Pure(1)))
    >>> event, loss = Event("Laplace", "QR-LAP"), Loss.flat(Cost.pure("1/10"))
    >>> ledger.run("first", event, loss, lambda: b"42").answer
    b'42'
    >>> ledger.guarantee(), ledger.spent().left[1]
    (Pure(1), Fraction(9, 10))
    """

    def __init__(
        self,
        place: str | Path | None = None,
        budget: Budget | None = None,
        *,
        population: str | None = None,
        relation: Relation | None = None,
        schema: str | None = None,
        analysts: Mapping[str, Budget] | None = None,
        odometer: Odometer | None = None,
        head: str | None = None,
    ) -> None:
        self._journal = Journal(place, Opening(budget, analysts, population, relation, schema, odometer), head)

    # --- what a request goes through ---

    def reserve(
        self,
        request_id: str,
        event: Event,
        loss: Losses,
        question_key: str | None = None,
        analyst: str | None = None,
        *,
        spend: Bound | None = None,
        make_loss: MakeLoss | None = None,
    ) -> Reservation:
        """Charge a request to every limit, or refuse it and write nothing; the data are not touched.

        The same id with the same request returns the first reservation. A question that was answered before
        (same `question_key`) returns the stored answer, free, marked `reused`. With `spend` and `make_loss` a
        refusal also says the largest spend that would fit.
        """
        request = request_of(self._journal.terms, request_id, event, loss, question_key, analyst)
        with self._journal.session(write=True) as session:
            known = self._known(session, request)
            if known is not None:
                return known
            verdict = self._journal.book.weigh(self._journal.sums(session), request.losses, analyst)
            if not verdict.breaks:
                return self._write(session, request, verdict)
        fit = self.largest(make_loss, spend, analyst) if make_loss is not None and spend is not None else None
        raise BudgetExceeded(wording.refusal_text(verdict.breaks, fit), verdict.breaks, fit)

    def _known(self, session: Session, request: Request) -> Reservation | None:
        stored = session.reservation(request.id)
        if stored is not None:
            if stored.request != request.fingerprint:
                raise LedgerError(
                    f"The request id {request.id!r} belongs to another request; give every request an id of its own."
                )
            return _reservation(session, stored)
        if request.question is None:
            return None
        answered = session.answered(digest(request.question))
        return None if answered is None else replace(_reservation(session, answered), reused=True)

    def _write(self, session: Session, request: Request, verdict: Verdict) -> Reservation:
        from sfumato.ledger.session import Stored

        row = session.append("reserved", request.id, request.body(verdict.charges))
        if verdict.charges:
            session.save_sums(json.dumps(verdict.sums))
        question = None if request.question is None else digest(request.question)
        stored = Stored(request.id, "reserved", row, request.fingerprint, question, 0, None, None)
        session.add_reservation(stored)
        return _reservation(session, stored)

    def start(self, request_id: str) -> Reservation:
        """Mark a reservation as started, once; only then may the data be opened."""
        with self._journal.session(write=True) as session:
            stored = _find(session, request_id)
            if not session.change(replace(stored, state="reserved"), state="started"):
                raise LedgerError(
                    f"{request_id!r} is {stored.state}, so it does not run again: one charge buys one draw. "
                    + (wording.DEAD if stored.state == "dead" else "Ask for its answer with reserve, or ask anew.")
                )
            session.append("started", request_id, "{}")
            return _reservation(session, replace(stored, state="started"))

    def commit(self, request_id: str, answer: bytes) -> Reservation:
        """Store the answer of a started reservation; only then may it be shown."""
        content = _bytes(answer, "An answer")
        with self._journal.session(write=True) as session:
            stored = _find(session, request_id)
            if stored.state == "committed" and stored.answer == content:
                return _reservation(session, stored)  # a commit whose success was not heard of
            if not session.change(replace(stored, state="started"), state="committed", answer=content):
                raise LedgerError(f"{request_id!r} is {stored.state}, so it takes no answer; do not show this one.")
            session.append("committed", request_id, canonical({"answer": digest(content)}))
            return _reservation(session, replace(stored, state="committed", answer=content))

    def fail(self, request_id: str) -> Reservation:
        """Mark a reservation as dead: its charge stays, it never runs again, its cause is not stored."""
        with self._journal.session(write=True) as session:
            stored = _find(session, request_id)
            if stored.state == "committed":
                raise LedgerError(f"{request_id!r} is committed; its answer stays.")
            if stored.state != "dead":
                session.change(stored, state="dead", memory=None)
                session.append("dead", request_id, "{}")
            return _reservation(session, replace(stored, state="dead"))

    def run(
        self,
        request_id: str,
        event: Event,
        loss: Losses,
        draw: Callable[[], bytes],
        question_key: str | None = None,
        analyst: str | None = None,
    ) -> Reservation:
        """Reserve, start, call `draw` once, store its bytes, return them; or return what is stored already.

        Whatever `draw` raises goes to the operator's log; the caller sees one fixed text.
        """
        found = self.reserve(request_id, event, loss, question_key, analyst)
        if found.state == "committed":
            return found
        self.start(request_id)
        try:
            answer = _bytes(draw(), "An answer")
        except Exception:
            _log.exception("The request %r died.", request_id)
            answer = None
        if answer is None:
            self.fail(request_id)
            raise LedgerError(wording.DEAD)
        return self.commit(request_id, answer)

    # --- conversations ---

    def save_state(self, request_id: str, step: int, state: bytes, answer: bytes | None = None) -> int:
        """Store a conversation's next state and its answer, before the answer is shown; return the next step.

        `step` is the step that this one follows (0 for the first state): of two workers one wins.
        """
        memory = _bytes(state, "A state")
        said = None if answer is None else _bytes(answer, "An answer")
        with self._journal.session(write=True) as session:
            stored = _find(session, request_id)
            expected = replace(stored, state="started", step=step)
            if not session.change(expected, step=step + 1, memory=memory, answer=said):
                raise LedgerError(
                    f"The conversation {request_id!r} is {stored.state} at step {stored.step}, so this answer does not "
                    "follow it; do not show it, and load the state again."
                )
            session.append("answered", request_id, canonical({"step": step + 1}))
        return step + 1

    def load_state(self, request_id: str) -> Conversation:
        """Return where a conversation stands; one whose state is lost is dead, never restarted."""
        with self._journal.session(write=True) as session:
            stored = _find(session, request_id)
            lost = stored.memory is None or session.steps(request_id) != stored.step
            if stored.state == "started" and lost:
                session.change(stored, state="dead", memory=None)
                session.append("dead", request_id, "{}")
        if stored.state == "reserved":
            raise LedgerError(f"The conversation {request_id!r} has not begun; call start, then save_state.")
        if lost or stored.memory is None or stored.state == "dead":
            raise LedgerError(wording.DEAD)
        return Conversation(request_id, stored.step, stored.memory, stored.answer)

    # --- what may still be asked ---

    def preview(self, loss: Losses, analyst: str | None = None) -> Preview:
        """Say what a request would do; costs nothing and reserves nothing."""
        verdict = self._weigh(loss, analyst)
        fits = not verdict.breaks
        return Preview(fits, verdict.breaks, verdict.closes, "Fits." if fits else wording.refusal_text(verdict.breaks))

    def largest(self, make_loss: MakeLoss, spend: Bound, analyst: str | None = None) -> Bound | None:
        """Return the largest part of a spend whose loss would fit now, None if none does."""
        return largest(make_loss, require_bound(spend), lambda loss: self._weigh(loss, analyst))

    def _weigh(self, loss: Losses, analyst: str | None) -> Verdict:
        losses = losses_of(self._journal.terms, loss)
        who = analyst_of(self._journal.terms, analyst)
        with self._journal.session(write=False) as session:
            return self._journal.book.weigh(self._journal.sums(session), losses, who)
