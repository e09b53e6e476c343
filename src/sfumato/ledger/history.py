"""What a ledger has been charged with, one entry a request, in the order in which they came."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.errors import LedgerError
from sfumato.exact import to_text
from sfumato.ledger.chain import UNREADABLE_HISTORY, Row
from sfumato.ledger.lifecycle import asked_of
from sfumato.ledger.reservation import State
from sfumato.privacy import EVERYTHING, Attributes, Bound, Cost, Loss, bound_from_json
from sfumato.privacy.attributes import attributes_to_json

if TYPE_CHECKING:
    from sfumato.ledger.session import Session


@dataclass(frozen=True)
class Entry:
    """One request that was charged: whatever its state, it counts in full, for ever.

    `number` is its row in the chain. `at` is when it was reserved, before the data were touched, None if it was
    written by a version that kept no time. `spend` is what the asker allowed, if that was said; `loss` is what was
    charged, several where the mechanism has several certificates.
    """

    number: int
    id: str
    state: State
    event: Mapping[str, Any]
    loss: tuple[Loss, ...]
    analyst: str | None = None
    at: str | None = None
    spend: Bound | None = None

    @property
    def name(self) -> str:
        """What ran: the question, if it was one, with its mechanism."""
        inner = str(self.event.get("name", "?"))
        asked = _asked(self.event)
        return f"{asked} ({inner})" if asked else inner

    @property
    def person(self) -> Cost:
        """What it cost a whole person."""
        return self.loss[0].person

    @property
    def attributes(self) -> Attributes:
        """The attributes that it touched; EVERYTHING if it may depend on the whole record."""
        found: frozenset[str] = frozenset()
        for loss in self.loss:
            if reads_everything(loss):
                return EVERYTHING
            found |= loss.profile.names()
        return found

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object with exact numbers as text."""
        return {
            "row": self.number,
            "id": self.id,
            "name": self.name,
            "at": self.at,
            "status": self.state,
            "analyst": self.analyst,
            "spend": None if self.spend is None else self.spend.to_json(),
            "person": self.person.to_json(),
            "epsilon": to_text(self.person.epsilon),
            "attributes": attributes_to_json(self.attributes),
            "event": dict(self.event),
            "loss": [loss.to_json() for loss in self.loss],
        }


def _asked(event: Mapping[str, Any]) -> str:
    parameters = event.get("parameters") or {}
    question = parameters.get("question")
    if isinstance(question, Mapping):
        return str(question.get("question", ""))
    parts = parameters.get("parts")
    if isinstance(parts, list):
        return ", ".join(filter(None, (_asked(part) for part in parts if isinstance(part, Mapping))))
    return ""


def reads_everything(loss: Loss) -> bool:
    """Tell whether a loss may depend on the whole record."""
    # An attribute that nobody has costs something only where every attribute does.
    return not loss.profile.at(frozenset(("",))).is_zero


def entries(session: Session) -> list[Entry]:
    """Return every request that was charged, first ones first: as they stand, for lists and reports."""
    states = session.states()
    try:
        return [_entry(row, states) for row, _ in session.rows("reserved")]
    except (KeyError, TypeError, ValueError) as problem:
        raise LedgerError(UNREADABLE_HISTORY) from problem


def entry(session: Session, request_id: str) -> Entry | None:
    """Return one request that was charged, None if there is none of this id."""
    stored = session.reservation(request_id)
    if stored is None:
        return None
    try:
        return _read(stored.row, stored.id, asked_of(session, stored), stored.state)
    except (KeyError, TypeError, ValueError) as problem:
        raise LedgerError("The request cannot be read; ledger.verify() says which row was changed.") from problem


def _entry(row: Row, states: Mapping[str, State]) -> Entry:
    name = str(row.reservation)
    return _read(row.number, name, json.loads(row.body), states[name])


def _read(number: int, name: str, body: Mapping[str, Any], state: State) -> Entry:
    losses, spend = tuple(map(Loss.from_json, body["loss"])), body.get("spend")
    allowed = None if spend is None else bound_from_json(spend)
    return Entry(number, name, state, body["event"], losses, body["analyst"], body.get("at"), allowed)
