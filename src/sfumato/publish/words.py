"""What a publication promises, in words: guessing odds first, the bound in brackets (PB-UNIT)."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from sfumato.ledger.budget import Budget
from sfumato.ledger.units import UNITS, Unit, lengths_of
from sfumato.privacy import ADD_REMOVE, Bound, Concentrated, Relation
from sfumato.privacy.implied import bound_for_group
from sfumato.privacy.spoken import HIDDEN, odds, said

if TYPE_CHECKING:
    from sfumato.publish.file import PublicationFile

NO_LIFETIME = (
    "There is no bound over a lifetime: protection fades with every further {unit} {on} which a person appears. Habits "
    "that repeat are not hidden."
)


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
    relation: Relation = ADD_REMOVE,
) -> list[str]:
    """Return the sentences that stand on every page; `single` says that every release reads one slot of the unit.

    `reach` says how many slots of a unit were declared, so that nothing is said of a year where there are ten days.
    `earlier` gives the words of earlier versions, who spoke of protection where a limit hides nothing: files that were
    published with them stay as they are. `relation` says whether what somebody did is left out, or exchanged too.
    """
    found = []
    units = [(Unit.read(name), bound) for name, bound in budget.units]
    for number, (unit, bound) in enumerate(units):
        if number == 0:
            found.append(_first(unit, bound, earlier, relation))
            found.append(_over_time(unit, bound, single, None if reach is None else reach(unit.name)))
        else:
            found.append(f"Over each {unit.said}: {said(bound)}.")
    if budget.person is not None:
        found.append(f"Over a lifetime: {said(budget.person)}.")
    else:
        one = units[0][0] if units else Unit.read(period)
        found.append(NO_LIFETIME.format(unit=one.said, on="on" if one.name in UNITS else "in"))
    if units:
        unit, bound = units[0]
        hides = earlier or odds(bound) < HIDDEN
        hidden = f"One {unit.said} of one person's data is hidden, not the person's history. " if hides else ""
        found.append(
            f"{hidden}Shifting an event to {'another' if unit.column else 'the next'} {unit.said} counts as two."
        )
    return found + list(dict.fromkeys(unit.counted for unit, _ in units if unit.counted))


def promise_of(file: PublicationFile, *, planned: bool = False, earlier: bool = False) -> list[str]:
    """Return the promise of a publication; `planned`, of the periods that were declared, whose number may change."""

    def reach(unit: str) -> Reach | None:
        return file.reach(unit) if planned or not Unit.read(unit).period else None

    return promise(file.budget, file.period, file.single, reach, earlier=earlier, relation=file.relation)


def in_short(budget: Budget) -> str:
    """Return the promise in a few words, as it stands in pictures."""
    who, bound = (
        (f"one {Unit.read(budget.units[0][0]).said} of one person", budget.units[0][1])
        if budget.units
        else ("one person", budget.person)
    )
    hidden = "is hidden" if bound is not None and odds(bound) < HIDDEN else "is not hidden"
    return f"{who} {hidden}; noise only, not sampling error"


def _first(unit: Unit, bound: Bound, earlier: bool, relation: Relation) -> str:
    if odds(bound) >= HIDDEN and not earlier:
        return (
            f"The limit holds for each {unit.said} of each person on its own, and it is so large that it hides next to "
            f"nothing: {guessed(unit, relation)} is {said(bound)}."
        )
    out = "left out" if relation is ADD_REMOVE else "left out or exchanged"
    return (
        f"Each person is protected for each {unit.said} on its own: what is published would hardly differ if "
        f"everything that one person did in one {unit.said} were {out}. Whoever guesses {guessed(unit, relation)}, "
        f"50:50 before, is right {said(bound)} of the time after."
    )


def guessed(unit: Unit, relation: Relation) -> str:
    """Say what is hidden: whether you were there, or, where what you did is exchanged too, any fact about it."""
    if relation is ADD_REMOVE:
        return f"whether you were there in a given {unit.said}"
    return f"a fact about your {unit.said}" if unit.name in UNITS else f"a fact about what you did in one {unit.said}"


def several(bound: Bound, count: int, single: bool) -> Bound | None:
    """Return what a limit on each slot implies for so many slots of one person.

    From the limit alone as for a group; if every release reads one slot, costs of slots add up.
    """
    if single and isinstance(bound, Concentrated):
        return Concentrated(bound.rho * count)
    return bound_for_group(bound, count)


def _over_time(unit: Unit, bound: Bound, single: bool, reach: Reach | None) -> str:
    if unit.column:
        return _over_values(unit, bound, reach)
    longest = max(lengths_of(unit.period))
    month, year = ceil(30 / longest), ceil(365 / longest)
    counts = {month: f"{month} of them", year: f"{year}"} if month > 1 else {year: f"{year}"}
    if reach is not None and reach.slots < year:
        whole = f"all {reach.slots}" if reach.ends else f"the {reach.slots} of the declared horizon"
        counts = {count: told for count, told in counts.items() if count < reach.slots} | {reach.slots: whole}
    parts = [f"after {told} {said(several(bound, count, single))}" for count, told in counts.items() if count > 1]
    return f"Somebody who comes every {unit.said}: {'; '.join(parts)}." if parts else ""


def _over_values(unit: Unit, bound: Bound, reach: Reach | None) -> str:
    """Say what holds of several values of a column; a release reads all of them, so their costs do not just add up."""
    every = None if reach is None else reach.slots
    counts = {2: "2 of them"} | ({} if every is None else {every: f"all {every}"})
    parts = [f"in {told} {said(several(bound, count, False))}" for count, told in counts.items() if count > 1]
    return f"Somebody in several {unit.several}: {'; '.join(parts)}."
