"""What was charged to a ledger, one line a reservation: for reports, never for a check."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.privacy import Loss

if TYPE_CHECKING:
    from sfumato.ledger.session import Session


@dataclass(frozen=True)
class Charge:
    """One reservation: what may run, what it costs, who asked, and how far it has come.

    `losses` are certificates of the same release; each of them is true on its own.
    """

    id: str
    event: Mapping[str, Any]
    losses: tuple[Loss, ...]
    analyst: str | None
    state: str


def charges(session: Session) -> list[Charge]:
    """Return all reservations in the order in which they were charged; dead ones count as any other."""
    states = {stored.id: stored.state for stored in session.reservations()}
    found = []
    for row, _ in session.rows("reserved"):
        body = json.loads(row.body)
        losses = tuple(map(Loss.from_json, body["loss"]))
        name = str(row.reservation)
        found.append(Charge(name, body["event"], losses, body["analyst"], states[name]))
    return found
