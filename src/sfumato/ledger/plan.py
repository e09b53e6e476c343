"""Plans and lists: releases that are fixed before the data are touched; their total is a guarantee (AC-PLAN)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from sfumato.errors import ParameterError
from sfumato.exact import INFINITY, Number, between_zero_and_one
from sfumato.ledger import wording
from sfumato.ledger.reservation import Reservation
from sfumato.privacy import Approximate, Bound, Loss, Pure
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


def list_text(loss: Loss, questions: int, spend: Bound, limit: Bound | None = None) -> str:
    """Say what so many questions tell of each person, at most what they were made for, in the terms of the spend.

    `limit` is that on a person: where it is pure too, a reading at a delta would be a number that nobody asked for.
    """
    person = loss.person
    delta, most = (spend.delta, spend.epsilon) if isinstance(spend, Approximate) else (Fraction(1, 10**6), INFINITY)
    if isinstance(spend, Pure) and isinstance(limit, Pure):
        return wording.list_text(person.epsilon, delta, person.epsilon, questions)
    total = min(person.epsilon_at(delta), most)
    return wording.list_text(total, delta, person.epsilon, questions, pure_first=isinstance(spend, Pure))


def total_text(loss: Loss, without: Sequence[str], delta: Number) -> str:
    """Say what a plan guarantees for each person."""
    chance = between_zero_and_one(delta, "delta")
    person = loss.person
    total = person.epsilon_at(chance)
    said = wording.total_text(total, chance)
    if without:
        return f"{said} {wording.by_curve_text(without)}"
    return f"{said} {wording.COARSE}" if any(coarse(one, chance) for one in lists_of(person)) else said
