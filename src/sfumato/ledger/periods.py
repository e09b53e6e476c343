"""Limits that hold for each day, week or month of a person: what is promised, and how many periods have used what.

All of it follows from what the chain seals: the limits, and the sums of the periods that were charged (PB-UNIT).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sfumato.ledger.budget import Budget
from sfumato.ledger.readings import Reading
from sfumato.ledger.units import Unit
from sfumato.privacy import ADD_REMOVE, Bound, Relation
from sfumato.privacy.spoken import HIDDEN, odds, said
from sfumato.show.tables import Table, table

if TYPE_CHECKING:
    from sfumato.ledger.journal import Journal

NO_LIFETIME = (
    "There is no bound over a lifetime: protection fades with every further period in which a person appears. Habits "
    "that repeat are not hidden."
)
NOT_PROMISED = (
    "What is used of a period is no guarantee: that is its limit. Periods that were not charged have used nothing."
)


def units_said(budget: Budget, relation: Relation) -> tuple[str, ...]:
    """Say what is promised for each period of a person on its own, and whether anything is for a lifetime."""
    units = [(Unit.read(name), bound) for name, bound in budget.units]
    found = [_promised(unit, bound, relation) for unit, bound in units]
    found += dict.fromkeys(unit.counted for unit, _ in units if unit.counted)
    return (*found, NO_LIFETIME) if found and budget.person is None else tuple(found)


def _promised(unit: Unit, bound: Bound, relation: Relation) -> str:
    what = "whether somebody was there" if relation is ADD_REMOVE else "a fact about what somebody did there"
    if odds(bound) >= HIDDEN:
        return (
            f"Each {unit.said} of each person on its own: {what} is {said(bound)}; so large a limit promises next to "
            "nothing."
        )
    return (
        f"Each {unit.said} of each person on its own: whoever guesses {what}, 50:50 before, is right {said(bound)} of "
        "the time, whatever is asked."
    )


@dataclass(frozen=True)
class PeriodsUsed:
    """One limit that holds in every period of a unit, and what the periods that were charged have used of it."""

    unit: str
    bound: Bound
    used: Mapping[str, Reading]
    """By the name of the period, the oldest first."""

    @property
    def _unit(self) -> Unit:
        return Unit.read(self.unit)

    @property
    def full(self) -> list[str]:
        """The periods of which nothing is left: every way of counting is closed or used up."""
        return [
            name
            for name, reading in self.used.items()
            if not any(rest for meter, rest in zip(reading.meters, reading.left, strict=True) if meter.kind != "leak")
        ]

    @property
    def fullest(self) -> tuple[str, Reading] | None:
        """The first of the periods that have used most, None if none was charged."""
        return max(self.used.items(), key=lambda pair: pair[1].percent, default=None)

    @property
    def text(self) -> str:
        """How many periods were charged, and what the fullest has used."""
        if self.fullest is None:
            return f"No {self._unit.said} was charged yet."
        names, (name, reading) = list(self.used), self.fullest
        if len(names) == 1:
            used = f"{reading.numbers} is used ({reading.percent} % of the limit)"
            return f"1 {self._unit.said} was charged, {name}: {used}."
        told = {0: "none of them has", 1: "1 of them has", len(names): "all of them have"}
        whole = told.get(len(self.full), f"{len(self.full)} of them have")
        return (
            f"{len(names)} {self._unit.several} were charged, {names[0]} to {names[-1]}; {whole} used the whole limit. "
            f"The fullest, {name}, has used {reading.numbers} ({reading.percent} %)."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the limit in words and as it is, and what each period has used of it, in per cent."""
        return {
            "unit": self.unit,
            "bound": self.bound.to_json(),
            "text": self.text,
            "full": len(self.full),
            "periods": {name: reading.percent for name, reading in self.used.items()},
        }


def periods_used(journal: Journal) -> tuple[PeriodsUsed, ...]:
    """Return for every limit on periods which were charged, as the chain seals it; none where there is no such limit.

    All of a year lie together, so a ledger of many years is read in as many steps, and equal sums are read once.
    """
    found = []
    with journal.session(write=False) as session:
        journal.sums(session)  # refuses what the chain does not seal
        directory = session.directory
        for unit, bound in () if directory is None else journal.terms.budget.units:
            read: dict[str, Reading] = {}
            used: dict[str, Reading] = {}
            for year in sorted(directory.buckets.get(unit, {}) if directory is not None else {}):
                held = session.slots(unit, year)
                for name in sorted(held):
                    if held[name] not in read:
                        read[held[name]] = journal.slots.reading(unit, name, partial(_held, held))
                    used[name] = read[held[name]]
            found.append(PeriodsUsed(unit, bound, used))
    return tuple(found)


def used_said(found: Sequence[PeriodsUsed]) -> tuple[str, ...]:
    """Say how many periods have used what of their limits; nothing where there is no such limit."""
    return (*(one.text for one in found), NOT_PROMISED) if found else ()


def periods_table(found: Sequence[PeriodsUsed]) -> Table:
    """Return the limits on periods, a line each."""
    rows = [[f"each {Unit.read(one.unit).said}", str(one.bound), *_counted(one)] for one in found]
    return table("Limits on each period of a person", ["on", "limit", "charged", "used whole", "fullest"], rows)


def _held(kept: dict[str, str], unit: str, year: str) -> dict[str, str]:
    return kept


def _counted(one: PeriodsUsed) -> list[str]:
    if one.fullest is None:
        return [f"no {Unit.read(one.unit).said} yet", "0", "–"]
    name, reading = one.fullest
    unit = Unit.read(one.unit)
    told = unit.said if len(one.used) == 1 else unit.several
    return [f"{len(one.used)} {told}", str(len(one.full)), f"{name}: {reading.percent} %"]
