"""Plans: releases whose costs are fixed before the data are touched, so that their total is a guarantee (LF-PLAN)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one
from sfumato.ledger import wording
from sfumato.ledger.reservation import Reservation
from sfumato.privacy import Loss

if TYPE_CHECKING:
    from sfumato.mechanism import Event


@dataclass(frozen=True)
class PlannedReleases:
    """One reservation for several releases, and their total loss."""

    reservation: Reservation
    loss: Loss

    def text(self, delta: Number = "1e-6") -> str:
        """Say what the plan guarantees for each person.

        Only a total that was fixed beforehand may be converted at its best order; what a ledger has spent may not.
        """
        chance = between_zero_and_one(delta, "delta")
        return wording.plan_text(self.loss.person.epsilon_at(chance), chance)


def planned(parts: Sequence[tuple[Event, Loss]]) -> tuple[Event, Loss]:
    """Return one event and one loss for a list of releases."""
    from sfumato.mechanism import Event

    if not parts:
        raise ParameterError("A plan lists at least one release, as pairs (mechanism.event(), mechanism.loss()).")
    event = Event("Plan", "LF-PLAN", {"parts": [part for part, _ in parts]})
    return event, reduce(add, (loss for _, loss in parts))
