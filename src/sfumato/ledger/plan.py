"""Plans and lists: releases that are fixed before the data are touched; their total is a guarantee (AC-PLAN)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from sfumato.errors import ParameterError
from sfumato.exact import INFINITY, Extended, Number, between_zero_and_one
from sfumato.ledger import wording
from sfumato.ledger.reservation import Reservation
from sfumato.privacy import Loss
from sfumato.privacy.fixed_list import coarse, lists_of

if TYPE_CHECKING:
    from sfumato.mechanism import Event


@dataclass(frozen=True)
class PlannedReleases:
    """One reservation for several releases, their total loss, and which of them have no exact worst case."""

    reservation: Reservation
    loss: Loss
    by_curve: tuple[str, ...] = ()

    def text(self, delta: Number = "1e-6") -> str:
        """Say what the plan guarantees for each person.

        Only a total that was fixed beforehand may be converted at its best order, or composed exactly; what a ledger
        has spent may not.
        """
        return total_text(self.loss, self.by_curve, delta)


def planned(parts: Sequence[tuple[Event, Loss]]) -> tuple[Event, Loss, tuple[str, ...]]:
    """Return one event and one loss for a list of releases, and the names of those without an exact worst case."""
    from sfumato.mechanism import Event

    if not parts:
        raise ParameterError("A plan lists at least one release, as pairs (mechanism.event(), mechanism.loss()).")
    event = Event("Plan", "LF-PLAN", {"parts": [part for part, _ in parts]})
    without = by_curve((part.name, loss) for part, loss in parts)
    return event, reduce(add, (loss for _, loss in parts)).together(), without


def by_curve(parts: Iterable[tuple[str, Loss]]) -> tuple[str, ...]:
    """Return the names of the releases for which no dominating pair is known, so that only their curves add up."""
    return tuple(dict.fromkeys(name for name, loss in parts if not lists_of(loss.person)))


def total_text(
    loss: Loss, without: Sequence[str], delta: Number, questions: int | None = None, most: Extended = INFINITY
) -> str:
    """Say what a plan, or so many questions, guarantee for each person, at most what they were made for."""
    chance = between_zero_and_one(delta, "delta")
    person = loss.person
    total = min(person.epsilon_at(chance), most)
    if questions is not None:
        return wording.list_text(total, chance, person.epsilon, questions)
    said = wording.total_text(total, chance)
    if without:
        return f"{said} {wording.by_curve_text(without)}"
    return f"{said} {wording.COARSE}" if any(coarse(one, chance) for one in lists_of(person)) else said
