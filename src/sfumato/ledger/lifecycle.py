"""The life of a reservation, one durable transaction a step; the table in `docs/ledger.md` is its plan."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sfumato.errors import LedgerError, Overtaken, ParameterError, Unfinished
from sfumato.ledger import wording
from sfumato.ledger.amounts import list_to_text
from sfumato.ledger.chain import canonical, digest
from sfumato.ledger.request import Request, without_gauss
from sfumato.ledger.reservation import Conversation, Reservation
from sfumato.ledger.rules import Verdict
from sfumato.ledger.slots import SlotVerdict
from sfumato.privacy import Loss

if TYPE_CHECKING:
    from sfumato.ledger.session import Session, Stored


def known(session: Session, request: Request) -> Reservation | None:
    """Return what this request, or this question, has been given before."""
    stored = session.reservation(request.id)
    if stored is not None:
        if stored.request != request.fingerprint:
            raise LedgerError(
                f"The request id {request.id!r} belongs to another request; give every request an id of its own."
            )
        if not _is_same(asked_of(session, stored), request, ("event", "question", "analyst")):
            raise LedgerError(wording.EDITED.format(id=stored.id))
        return _reservation(session, stored)
    return None if request.question is None else answered(session, request.question)


def answered(session: Session, question: str) -> Reservation | None:
    """Return the first answer to a question."""
    stored = session.answered(digest(question))
    if stored is None:
        return None
    found = _reservation(session, stored)
    if found.question_key != question:
        raise LedgerError(wording.EDITED.format(id=stored.id))
    return replace(found, reused=True)


def write(
    session: Session, request: Request, verdict: Verdict, starts: bool = False, slots: SlotVerdict | None = None
) -> Reservation:
    """Charge a request that fits: sums, chain and reservation change together.

    One that `starts` in the same transaction, to freeze before it draws, is returned as it was charged.
    """
    from sfumato.ledger.session import Stored

    # The one look at a clock: before the data are touched, so that it cannot tell anything about them.
    now = datetime.now(UTC).isoformat(timespec="seconds")
    if slots is not None and slots.charges:
        session.save_slots(slots)
    if verdict.charges or (slots is not None and slots.charges):
        session.save_sums(list_to_text(verdict.sums))  # before the row, which seals them
    body = request.body(verdict.charges, now, {} if slots is None else slots.charges)
    row = session.append("reserved", request.id, body)
    question = None if request.question is None else digest(request.question)
    if starts:
        session.append("started", request.id, FREEZES)
    state = "started" if starts else "reserved"
    session.add_reservation(Stored(request.id, state, row, request.fingerprint, question, 0, None, None))
    return Reservation(request.id, "reserved", request.event, request.losses, request.analyst, request.question)


UNKNOWN_ID = "No request has the id {id!r}; call reserve first."
NO_ANSWER = "The request {id!r} is {state} and takes no answer; do not show this one."
ASKED = ("event", "loss")
"""What must be the same for a request that was begun to be completed."""
FREEZES = canonical({"freezes": True})
"""What a started row says if no coin is thrown before a frozen row follows it; earlier versions threw them at once."""


@dataclass(frozen=True)
class Seal:
    """What was put beyond change: the seal, None if nobody but its drawer can go on, and the versions that decide."""

    seal: str | None
    made_by: Mapping[str, str]
    step: int | None = None


@dataclass(frozen=True)
class Stage:
    """How far a request has come that freezes before it draws."""

    reservation: Reservation
    frozen: Seal | None


def unfinished(session: Session, request: Request) -> Reservation | None:
    """Return what was begun for the same question and can be completed: it was charged, and asking again is free."""
    if request.question is None:
        return None
    for stored in session.begun(digest(request.question)):
        frozen = _frozen(session, stored.id)
        if session.said(stored.id, "started") != FREEZES or (frozen is not None and frozen.seal is None):
            continue
        if not _is_same(asked_of(session, stored), request, ASKED):
            raise Unfinished(wording.OTHERWISE.format(id=stored.id))
        return _reservation(session, stored)
    return None


def asked_of(session: Session, stored: Stored) -> dict[str, Any]:
    """Return what the chain's row of a request says; which row that is, is not left to the table of reservations."""
    row = session.row_of("reserved", stored.id)
    if row is None or row.number != stored.row:
        raise LedgerError(wording.EDITED.format(id=stored.id))
    found: dict[str, Any] = json.loads(row.body)
    return found


def _is_same(body: Mapping[str, Any], request: Request, parts: Sequence[str]) -> bool:
    """Tell whether a row and a request say the same in some parts, whichever version wrote the row."""
    asked = request.written
    return all(canonical(without_gauss(body[part])) == canonical(without_gauss(asked[part])) for part in parts)


def begin(session: Session, reservation: Reservation) -> None:
    """Start a request that freezes before it draws, or find it started by one that does."""
    if reservation.state == "reserved":
        _started(session, reservation.id, FREEZES)
    elif reservation.state != "started" or session.said(reservation.id, "started") != FREEZES:
        _started(session, reservation.id, "{}")  # raises: it is dead, or was started by who may have drawn


def stage(session: Session, request_id: str) -> Stage:
    """Return how far a request has come."""
    return Stage(_reservation(session, _find(session, request_id)), _frozen(session, request_id))


def freeze(session: Session, request_id: str, record: Mapping[str, Any]) -> bool:
    """Compare and set: say what will be drawn from, once; False if that was said before, or it is over."""
    freezable = session.freezable(request_id)
    if freezable is None:
        raise LedgerError(UNKNOWN_ID.format(id=request_id))
    if not freezable:
        return False
    session.append("frozen", request_id, canonical(record))
    return True


def freeze_step(session: Session, request_id: str, step: int, record: Mapping[str, Any]) -> bool:
    """Compare and set: say what will be drawn from after a step, once; False if that was said, or it has moved on."""
    stored, last = _find(session, request_id), sealed(session, request_id)
    if stored.state != "started" or stored.step != step or (last is not None and last.step == step):
        return False
    session.append("frozen", request_id, canonical({**record, "step": step}))
    return True


def sealed(session: Session, request_id: str) -> Seal | None:
    """Return what a request that is answered in steps draws from at present."""
    said = session.last_frozen(request_id)
    return None if said is None else _seal(said)


def seals(session: Session) -> frozenset[str | None]:
    """Return everything that was ever put beyond change."""
    return frozenset(_seal(row.body).seal for row, _ in session.rows("frozen"))


def settle(session: Session, reservation: Reservation, answer: bytes) -> Reservation:
    """Store the answer of a frozen request, unless somebody who drew from the same bytes has stored it."""
    if _committed(session, reservation.id, 0, answer):
        return replace(reservation, state="committed", answer=answer)
    stored = _find(session, reservation.id)
    if stored.state in ("committed", "dead"):
        return _reservation(session, stored)
    raise LedgerError(NO_ANSWER.format(id=stored.id, state=stored.state))


def _frozen(session: Session, request_id: str) -> Seal | None:
    said = session.said(request_id, "frozen")
    return None if said is None else _seal(said)


def _seal(said: str) -> Seal:
    record = json.loads(said)
    return Seal(record["seal"], record["made_by"], record.get("step"))


def start(session: Session, request_id: str) -> Reservation:
    """Compare and set reserved to started: whoever finds it started does not run it."""
    return _reservation(session, _started(session, request_id, "{}"))


def _started(session: Session, request_id: str, body: str) -> Stored:
    stored = _find(session, request_id)
    if not session.change(stored.id, "reserved", stored.step, state="started"):
        if stored.state == "dead":
            raise LedgerError(wording.DEAD)
        raise LedgerError(
            f"The request {request_id!r} is {stored.state} and does not run again: one charge buys one draw. "
            "Ask for its answer with reserve; if whoever ran it is gone, mark it with fail and ask as a new request."
        )
    session.append("started", request_id, body)
    return replace(stored, state="started")


def commit(session: Session, request_id: str, answer: bytes) -> Reservation:
    """Store the answer; a second commit of the same bytes is one whose success was not heard of."""
    content = as_bytes(answer, "An answer")
    stored = _find(session, request_id)
    if stored.state == "committed" and stored.answer == content:
        return _reservation(session, stored)
    if not _committed(session, stored.id, stored.step, content):
        raise LedgerError(NO_ANSWER.format(id=stored.id, state=stored.state))
    return _as_stored(session, replace(stored, state="committed", answer=content))


def _committed(session: Session, request_id: str, step: int, content: bytes) -> bool:
    """Compare and set started to committed, with the answer; False if it is not started, or at another step."""
    if not session.change(request_id, "started", step, state="committed", answer=content, memory=None):
        return False
    session.append("committed", request_id, canonical({"answer": digest(content)}))
    return True


def fail(session: Session, request_id: str) -> Reservation:
    """Mark a reservation as dead."""
    stored = _find(session, request_id)
    if stored.state == "committed":
        raise LedgerError(f"The request {request_id!r} is committed; its answer stays.")
    if stored.state != "dead":
        _bury(session, stored)
    return _reservation(session, replace(stored, state="dead"))


def save_state(session: Session, request_id: str, step: int, state: bytes, answer: bytes | None) -> int:
    """Store the state and the answer of one step of a conversation together."""
    memory = as_bytes(state, "A state")
    said = None if answer is None else as_bytes(answer, "An answer")
    stored = _find(session, request_id)
    if not session.change(stored.id, "started", step, step=step + 1, memory=memory, answer=said):
        raise Overtaken(
            f"The conversation {request_id!r} is {stored.state} at step {stored.step}, so this answer does not follow "
            "it; do not show it, and load the state again."
        )
    session.append("answered", request_id, canonical({"step": step + 1, "state": digest(memory)}))
    return step + 1


def load_state(session: Session, request_id: str) -> Conversation | None:
    """Return where a conversation stands, None if it is dead; one whose state is lost dies here."""
    stored = _find(session, request_id)
    if stored.state in ("reserved", "committed"):
        raise LedgerError(
            f"The conversation {request_id!r} is {stored.state}; its state can be loaded after start and save_state, "
            "and before commit."
        )
    if stored.state == "dead":
        return None
    if stored.memory is None and not stored.step and session.said(request_id, "started") == FREEZES:
        raise LedgerError(f"The conversation {request_id!r} has no state yet; open it again to go on with its opening.")
    if stored.memory is None or is_lost(session, stored):
        _bury(session, stored)
        return None
    require_remembered(session, stored)
    return Conversation(request_id, stored.step, stored.memory, stored.answer)


def is_lost(session: Session, stored: Stored) -> bool:
    """Tell whether a conversation's state is gone, or older than the last answer that was given from it."""
    return stored.memory is None or session.steps(stored.id) != stored.step


def require_remembered(session: Session, stored: Stored) -> None:
    """Refuse a state that is not the one that the chain's last row about it names; earlier versions named none."""
    if stored.memory is None:
        return
    row = session.row_of("answered", stored.id, last=True)
    if row is None or json.loads(row.body).get("state", digest(stored.memory)) != digest(stored.memory):
        raise LedgerError(wording.EDITED_STATE.format(id=stored.id))


def _bury(session: Session, stored: Stored) -> None:
    # The state of a dead conversation may hold secrets and is of no use any longer.
    session.change(stored.id, stored.state, stored.step, state="dead", memory=None, answer=None)
    session.drop_steps(stored.id)
    session.append("dead", stored.id, "{}")


def _find(session: Session, request_id: str) -> Stored:
    stored = session.reservation(request_id)
    if stored is None:
        raise LedgerError(UNKNOWN_ID.format(id=request_id))
    return stored


def _reservation(session: Session, stored: Stored) -> Reservation:
    """Return a reservation; an answer that is not the one that the chain's row names is never handed out."""
    if stored.state == "committed" and not session.vouches(stored.id, stored.answer):
        raise LedgerError(wording.EDITED.format(id=stored.id))
    return _as_stored(session, stored)


def _as_stored(session: Session, stored: Stored) -> Reservation:
    body = asked_of(session, stored)
    losses = tuple(map(Loss.from_json, body["loss"]))
    shown = stored.answer if stored.state == "committed" else None
    return Reservation(stored.id, stored.state, body["event"], losses, body["analyst"], body["question"], shown)


def as_bytes(content: object, name: str) -> bytes:
    """Return bytes, refusing everything else: what is stored is what will be shown."""
    if isinstance(content, (bytes, bytearray, memoryview)):
        return bytes(content)
    raise ParameterError(f"{name} is stored as bytes, not as {type(content).__name__}; encode it, as JSON for example.")
