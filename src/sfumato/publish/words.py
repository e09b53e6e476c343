"""What a publication promises, in words: guessing odds first, the bound in brackets (PB-UNIT)."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import NamedTuple

from sfumato.ledger.budget import Budget
from sfumato.privacy import Bound, Concentrated
from sfumato.privacy.implied import bound_for_group
from sfumato.privacy.spoken import HIDDEN, odds, said

NO_LIFETIME = (
    "There is no bound over a lifetime: protection fades with every further {unit} on which a person appears. Habits "
    "that repeat are not hidden."
)
DAYS = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}


class Reach(NamedTuple):
    """How many slots of a unit a publication declares, and whether it ends with them."""

    slots: int
    ends: bool


def promise(
    budget: Budget,
    period: str,
    single: bool,
    reach: Callable[[str], Reach | None] | None = None,
    *,
    earlier: bool = False,
) -> list[str]:
    """Return the sentences that stand on every page; `single` says that every release reads one slot of the unit.

    `reach` says how many slots of a unit were declared, so that nothing is said of a year where there are ten days.
    `earlier` gives the words of earlier versions, who spoke of protection where a limit hides nothing: files that were
    published with them stay as they are.
    """
    found = []
    for number, (unit, bound) in enumerate(budget.units):
        if number == 0:
            found.append(_first(unit, bound, earlier))
            found.append(_over_time(unit, bound, single, None if reach is None else reach(unit)))
        else:
            found.append(f"Over each {unit}: {said(bound)}.")
    if budget.person is not None:
        found.append(f"Over a lifetime: {said(budget.person)}.")
    else:
        found.append(NO_LIFETIME.format(unit=budget.units[0][0] if budget.units else period))
    if budget.units:
        unit, bound = budget.units[0]
        hides = earlier or odds(bound) < HIDDEN
        hidden = f"One {unit} of one person's data is hidden, not the person's history. " if hides else ""
        found.append(f"{hidden}Shifting an event to the next {unit} counts as two.")
    return found


def in_short(budget: Budget) -> str:
    """Return the promise in a few words, as it stands in pictures."""
    who, bound = (
        (f"one {budget.units[0][0]} of one person", budget.units[0][1])
        if budget.units
        else ("one person", budget.person)
    )
    hidden = "is hidden" if bound is not None and odds(bound) < HIDDEN else "is not hidden"
    return f"{who} {hidden}; noise only, not sampling error"


def _first(unit: str, bound: Bound, earlier: bool) -> str:
    if odds(bound) >= HIDDEN and not earlier:
        return (
            f"The limit holds for each {unit} of each person on its own, and it is so large that it hides next to "
            f"nothing: whether you were there in a given {unit} is {said(bound)}."
        )
    return (
        f"Each person is protected for each {unit} on its own: what is published would hardly differ if everything "
        f"that one person did in one {unit} were left out. Whoever guesses whether you were there in a given {unit}, "
        f"50:50 before, is right {said(bound)} of the time after."
    )


def several(bound: Bound, count: int, single: bool) -> Bound | None:
    """Return what a limit on each slot implies for so many slots of one person.

    From the limit alone as for a group; if every release reads one slot, costs of slots add up.
    """
    if single and isinstance(bound, Concentrated):
        return Concentrated(bound.rho * count)
    return bound_for_group(bound, count)


def _over_time(unit: str, bound: Bound, single: bool, reach: Reach | None) -> str:
    month, year = ceil(30 / DAYS[unit]), ceil(365 / DAYS[unit])
    counts = {month: f"{month} of them", year: f"{year}"} if month > 1 else {year: f"{year}"}
    if reach is not None and reach.slots < year:
        whole = f"all {reach.slots}" if reach.ends else f"the {reach.slots} of the declared horizon"
        counts = {count: told for count, told in counts.items() if count < reach.slots} | {reach.slots: whole}
    parts = [f"after {told} {said(several(bound, count, single))}" for count, told in counts.items() if count > 1]
    return f"Somebody who comes every {unit}: {'; '.join(parts)}." if parts else ""
