"""What a release costs under each limit: which slots it reads, whole or in part (PB-UNIT).

A table of a publication is bounded by the period that it reads: what one person counts is cut over that period and no
other. A limit on the same or on a longer period sees the person's whole share come or go. A limit on a shorter period,
on one that begins inside, or on each value of a column sees only a part of the rows exchanged, after which the others
may be cut differently: that costs what a person who leaves and one who enters do. Where neighbours exchange what
somebody did, all of it costs that (`promised.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from sfumato.ledger.slots import SlotCharge
from sfumato.privacy import Cost, Loss
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.publish.calendar import Slot
from sfumato.publish.memory import RememberedSums, RememberedTotals
from sfumato.publish.promised import Promised, Share
from sfumato.publish.running import Claim, RunningTotals
from sfumato.publish.tree import PureTotals


def charges_of(
    promised: Promised, read: Slot, losses: Sequence[Loss], exchanged: Sequence[Loss] = ()
) -> list[SlotCharge]:
    """Return what a release that reads one slot, bounded by it, is charged under limits on these units.

    `exchanged` is what rows in place of others cost, where more is known of that than of two people one by one.

    >>> from sfumato import ADD_REMOVE, Cost
    >>> from datetime import date
    >>> month, loss = Slot.of("month", date(2026, 2, 1)), Loss.flat(Cost.pure(1), relation=ADD_REMOVE)
    >>> [(charge.unit, len(charge.slots), charge.losses[0].person.epsilon)
    ...  for charge in charges_of(Promised(("day", "week", "year")), month, [loss])]
    [('day', 28, Fraction(2, 1)), ('week', 5, Fraction(2, 1)), ('year', 1, Fraction(1, 1))]
    """
    found = []
    for unit in promised.units:
        names, share = promised.met(unit, read)
        found.append(SlotCharge(unit, tuple(names), promised.prices(losses, share, exchanged)))
    return found


def of_person(promised: Promised, losses: Sequence[Loss], exchanged: Sequence[Loss] = ()) -> tuple[Loss, ...]:
    """Return what a release costs a whole person."""
    return promised.prices(losses, promised.person, exchanged)


def running_charges(
    promised: Promised, periods: Sequence[Slot], totals: RunningTotals | PureTotals
) -> list[SlotCharge]:
    """Return what a running total over these periods is charged under limits on these units.

    A slot of several periods costs |C n|² for the periods in it, or of a tree as often as it has periods; a slot that
    is only part of a period costs as if it moved twice as far, because rows are exchanged there and not left out.
    """
    return list(_running_charges(promised, tuple(periods), totals))


@lru_cache(maxsize=16)
def _running_charges(
    promised: Promised, periods: tuple[Slot, ...], totals: RunningTotals | PureTotals
) -> tuple[SlotCharge, ...]:
    """Return the same, worked out once: every look at a total compares it with what the ledger was told."""
    if isinstance(totals, (RememberedTotals, RememberedSums)):
        # Only units of which one slot holds all periods go with lists of people: that slot is the whole person.
        whole = Loss.flat(running_person(promised, periods, totals), relation=promised.relation)
        return tuple(SlotCharge(unit, (_only_slot(promised, unit, periods),), (whole,)) for unit in promised.units)
    found: list[SlotCharge] = []
    for unit in promised.units:
        by_cost: dict[Cost, list[str]] = {}
        for names, counts, share in promised.over(unit, periods):
            moves = moved(promised, totals.moves, share)
            # All single periods at the price of the dearest, so that they are one charge.
            cost = totals.single(moves) if sum(counts) == 1 else totals.cost(counts, moves)
            by_cost.setdefault(cost, []).extend(names)
        for cost, names in by_cost.items():
            found.append(SlotCharge(unit, tuple(names), (Loss.flat(cost, relation=promised.relation),)))
    return tuple(found)


def _only_slot(promised: Promised, unit: str, periods: Sequence[Slot]) -> str:
    (((name,), _, _),) = promised.over(unit, periods)
    return name


def moved(promised: Promised, moves: Sensitivity, share: Share) -> Sensitivity:
    """Return how far a total of one period moves where a share of it changes, if one bounding unit moves it so far."""
    changes = promised.changes(share)
    return moves if changes == 1 else moves.times(changes)


def running_person(promised: Promised, periods: Sequence[Slot], totals: RunningTotals | PureTotals) -> Cost:
    """Return what somebody who is there in every period is charged for the whole of a total."""
    moves = moved(promised, totals.moves, promised.person)
    if isinstance(totals, (RememberedTotals, RememberedSums)):
        return totals.person(moves)
    return totals.cost([1] * len(periods), moves)


def running_claims(
    promised: Promised, spends: Mapping[str, Fraction], periods: Sequence[Slot], moves: Sensitivity
) -> list[Claim]:
    """Return what the noise of a running total must be good for, by unit and what that may cost."""
    claims: list[Claim] = []
    for unit, most in spends.items():
        if unit == "person":
            # Who is there in every period.
            claims.append(Claim((1,) * len(periods), moved(promised, moves, promised.person), most))
            continue
        seen: set[tuple[tuple[int, ...], Share]] = set()
        for _, counts, share in promised.over(unit, periods):
            first = (1,) + (0,) * (len(periods) - 1)
            counted = first if sum(counts) == 1 else counts
            if (counted, share) not in seen:
                seen.add((counted, share))
                claims.append(Claim(counted, moved(promised, moves, share), most))
    return claims
