"""What a release costs under each limit: which slots it reads, whole or in part (PB-UNIT).

A table of a publication is bounded by the period that it reads: what one person counts is cut over that period and no
other. A limit on the same or on a longer period sees the person's whole share come or go. A limit on a shorter period,
or on one that begins inside, sees only a part of the rows exchanged, after which the others may be cut differently:
that costs what a person who leaves and one who enters do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from sfumato.ledger.slots import SlotCharge
from sfumato.privacy import ADD_REMOVE, Cost, Loss
from sfumato.privacy.parallel import twice
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.publish.calendar import Slot
from sfumato.publish.memory import RememberedSums, RememberedTotals
from sfumato.publish.running import Claim, RunningTotals
from sfumato.publish.tree import PureTotals


def charges_of(units: Iterable[str], read: Slot, losses: Sequence[Loss]) -> list[SlotCharge]:
    """Return what a release that reads one slot, bounded by it, is charged under limits on these units.

    >>> from sfumato import Cost
    >>> from datetime import date
    >>> month, loss = Slot.of("month", date(2026, 2, 1)), Loss.flat(Cost.pure(1), relation=ADD_REMOVE)
    >>> [(charge.unit, len(charge.slots), charge.losses[0].person.epsilon)
    ...  for charge in charges_of(["day", "week", "year"], month, [loss])]
    [('day', 28, Fraction(2, 1)), ('week', 5, Fraction(2, 1)), ('year', 1, Fraction(1, 1))]
    """
    found = []
    for unit in units:
        met = read.meets(unit)
        names = tuple(slot.name for slot in met)
        whole = len(met) == 1 and read.inside(met[0])
        found.append(SlotCharge(unit, names, tuple(losses) if whole else tuple(map(_exchanged, losses))))
    return found


def _exchanged(loss: Loss) -> Loss:
    return Loss.flat(twice(loss.person), relation=ADD_REMOVE)


def running_counts(unit: str, periods: Sequence[Slot]) -> dict[Slot, tuple[tuple[int, ...], bool]]:
    """Return for each slot of a unit in which periods it has days, and whether it holds all of them whole."""
    found: dict[Slot, list[int]] = {}
    for place, period in enumerate(periods):
        for slot in period.meets(unit):
            found.setdefault(slot, [0] * len(periods))[place] = 1
    return {
        slot: (tuple(counts), all(periods[place].inside(slot) for place, one in enumerate(counts) if one))
        for slot, counts in found.items()
    }


def running_charges(
    units: Iterable[str], periods: Sequence[Slot], totals: RunningTotals | PureTotals
) -> list[SlotCharge]:
    """Return what a running total over these periods is charged under limits on these units.

    A slot of several periods costs |C n|² for the periods in it, or of a tree as often as it has periods; a slot that
    is only part of a period costs as if it moved twice as far, because rows are exchanged there and not left out.
    """
    return list(_running_charges(tuple(units), tuple(periods), totals))


@lru_cache(maxsize=16)
def _running_charges(
    units: tuple[str, ...], periods: tuple[Slot, ...], totals: RunningTotals | PureTotals
) -> tuple[SlotCharge, ...]:
    """Return the same, worked out once: every look at a total compares it with what the ledger was told."""
    if isinstance(totals, (RememberedTotals, RememberedSums)):
        # Only units of which one slot holds all periods go with lists of people: that slot is the whole person.
        return tuple(_whole_person(unit, periods, totals.loss()) for unit in units)
    found: list[SlotCharge] = []
    for unit in units:
        by_cost: dict[Cost, list[str]] = {}
        for slot, (counts, whole) in running_counts(unit, periods).items():
            moves = totals.moves if whole else totals.moves.times(2)
            # All single periods at the price of the dearest, so that they are one charge.
            cost = totals.single(moves) if sum(counts) == 1 else totals.cost(counts, moves)
            by_cost.setdefault(cost, []).append(slot.name)
        for cost, names in by_cost.items():
            found.append(SlotCharge(unit, tuple(names), (Loss.flat(cost, relation=ADD_REMOVE),)))
    return tuple(found)


def _whole_person(unit: str, periods: Sequence[Slot], loss: Loss) -> SlotCharge:
    (slot,) = running_counts(unit, periods)
    return SlotCharge(unit, (slot.name,), (Loss.flat(loss.person, relation=ADD_REMOVE),))


def running_claims(spends: Mapping[str, Fraction], periods: Sequence[Slot], moves: Sensitivity) -> list[Claim]:
    """Return what the noise of a running total must be good for, by unit and what that may cost."""
    claims: list[Claim] = []
    for unit, most in spends.items():
        if unit == "person":
            claims.append(Claim((1,) * len(periods), moves, most))  # who is there in every period
            continue
        seen: set[tuple[tuple[int, ...], bool]] = set()
        for counts, whole in running_counts(unit, periods).values():
            first = (1,) + (0,) * (len(periods) - 1)
            counted = first if sum(counts) == 1 else counts
            if (counted, whole) not in seen:
                seen.add((counted, whole))
                claims.append(Claim(counted, moves if whole else moves.times(2), most))
    return claims
