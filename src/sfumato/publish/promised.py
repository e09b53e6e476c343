"""What is hidden of a person, and how much of it a release meets: slots of limits, whole or in part (PB-UNIT 1.2).

A release cuts what one person counts over the rows that it reads and, where the file says so, in each value of a column
apart. Such a share is a *bounding unit*. A limit protects slots of its own: days, shops, days in shops. Of each of them
it matters how many bounding units have rows in it, and whether they lie in it whole. Of a whole slot every share comes
or goes; of a part of one rows are exchanged, after which the others may be cut differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from sfumato.domain import Booleans, Categories
from sfumato.errors import NotProvable, ParameterError, SchemaError
from sfumato.exact import rational_ball, significant_up
from sfumato.ledger.units import Unit
from sfumato.privacy import ADD_REMOVE, Approximate, Bound, Loss, Relation
from sfumato.privacy.bounds import for_each_of_two
from sfumato.privacy.parallel import times
from sfumato.publish.calendar import Slot
from sfumato.table.schema import Schema

MOST_VALUES = 1000
"""A limit holds for each of so many values of a column at most."""
MISSING = "missing"
HAIR = Fraction(1, 2**30)
"""What two shares cost together is rounded up, so each may cost a hair less."""


class Share(NamedTuple):
    """How many bounding units have rows in a slot, and whether each lies in it with all of its rows."""

    units: int
    whole: bool


@dataclass(frozen=True)
class Promised:
    """The units of all limits, the values of their columns, and how neighbours differ."""

    units: tuple[str, ...] = ()
    values: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """By column, all values that a repaired cell may have."""
    within: str = ""
    """The column in each of whose values a person's rows are cut apart; empty where all are cut together."""
    relation: Relation = ADD_REMOVE

    @classmethod
    def by(
        cls,
        names: Sequence[str],
        schema: Schema,
        *,
        paid: Sequence[str] = (),
        within: str = "",
        relation: Relation = ADD_REMOVE,
    ) -> Promised:
        """Return it for the units of a ledger's limits; `paid` are those that a spend names beside them."""
        columns = dict.fromkeys(filter(None, (within, *(Unit.read(name).column for name in (*names, *paid)))))
        return cls(tuple(names), tuple((one, values_of(schema, one)) for one in columns), within, relation)

    def _values(self, column: str) -> tuple[str, ...]:
        return dict(self.values)[column] if column else ("",)

    @property
    def person(self) -> Share:
        """How much of a whole person a release meets."""
        return Share(len(self._values(self.within)), True)

    def changes(self, share: Share) -> int:
        """Return how many shares come or go, one after the other, where a slot changes: an exchange is two of them."""
        return share.units * (1 if share.whole and self.relation is ADD_REMOVE else 2)

    def met(self, name: str, read: Slot) -> tuple[list[str], Share]:
        """Return the slots of a unit that have rows in a period, and how much of each it meets.

        >>> from datetime import date
        >>> shops = Promised(("shop",), (("shop", ("A", "B")),))
        >>> shops.met("shop", Slot.of("day", date(2026, 1, 1)))
        (['A', 'B'], Share(units=1, whole=False))
        """
        unit = Unit.read(name)
        periods = read.meets(unit.period) if unit.period else []
        inside = not unit.period or (len(periods) == 1 and read.inside(periods[0]))
        return self._names(unit, [slot.name for slot in periods]), self._share(unit, inside)

    def _names(self, unit: Unit, periods: Sequence[str]) -> list[str]:
        return [unit.slot(period, value) for period in periods or [""] for value in self._values(unit.column)]

    def _share(self, unit: Unit, inside: bool) -> Share:
        """Return how much of a slot is met; `inside` says that what is read lies in it as far as time goes."""
        if not self.within:
            return Share(1, inside and not unit.column)
        if unit.column == self.within:
            return Share(1, inside)
        return Share(len(self._values(self.within)), inside and not unit.column)

    def over(self, name: str, periods: Sequence[Slot]) -> list[tuple[list[str], tuple[int, ...], Share]]:
        """Return the slots of a unit that several periods meet: which periods have rows in them, and how much of each.

        Slots that differ in the value of a column alone are met alike.
        """
        unit = Unit.read(name)
        if not unit.period:
            return [(self._names(unit, []), (1,) * len(periods), self._share(unit, True))]
        found: dict[Slot, list[int]] = {}
        for place, period in enumerate(periods):
            for slot in period.meets(unit.period):
                found.setdefault(slot, [0] * len(periods))[place] = 1
        return [
            (
                self._names(unit, [slot.name]),
                tuple(counts),
                self._share(unit, all(periods[place].inside(slot) for place, one in enumerate(counts) if one)),
            )
            for slot, counts in found.items()
        ]

    def price(self, loss: Loss, share: Share) -> Loss:
        """Return what a release costs of which one bounding unit that comes or goes costs `loss`."""
        changes = self.changes(share)
        return loss if changes == 1 else Loss.flat(times(loss.person, changes), relation=self.relation)

    def prices(self, losses: Sequence[Loss], share: Share, exchanged: Sequence[Loss] = ()) -> tuple[Loss, ...]:
        """Return the same of alternatives, without those of which nobody knows what several shares cost.

        `exchanged` is what one bounding unit costs whose rows come in place of others, where that is known.
        """
        found, unproved = list[Loss](), list[NotProvable]()
        if self.changes(share) == 2 * share.units:
            found += [Loss.flat(times(one.person, share.units), relation=self.relation) for one in exchanged]
        for loss in losses:
            try:
                found.append(self.price(loss, share))
            except NotProvable as error:
                unproved.append(error)
        if unproved and not found:
            raise unproved[0]
        return tuple(found)

    def spent(self, spend: Bound) -> Bound:
        """Return what a share that comes or goes may cost, so that a slot that changes costs no more than the spend.

        Of an exchange that is half of the epsilon, a quarter of the rho, and delta / (e^(epsilon/2) + 1).

        >>> from sfumato import REPLACE_ONE, Pure
        >>> Promised(relation=REPLACE_ONE).spent(Pure(1)), Promised().spent(Pure(1))
        (Pure(1/2), Pure(1))
        """
        if self.relation is ADD_REMOVE:
            return spend
        if not isinstance(spend, Approximate):
            return for_each_of_two(spend)
        half = spend.epsilon / 2
        grown = significant_up(lambda: rational_ball(half).exp())
        if grown is None:
            raise ParameterError(f"{spend!r} is too large to be halved; write a smaller epsilon.")
        return Approximate(half, spend.delta / (1 + grown) * (1 - HAIR), unit=spend.unit)


def values_of(schema: Schema, column: str) -> tuple[str, ...]:
    """Return the names of all values that a repaired cell of a column may have, public facts of the schema.

    >>> from sfumato.domain import categories
    >>> values_of(Schema({"shop": categories("A", "B")}), "shop")
    ('A', 'B', 'other', 'missing')
    """
    domain = schema.domain(column)
    size = domain.size if isinstance(domain, (Categories, Booleans)) else None
    if size is None or size > MOST_VALUES:
        raise SchemaError(
            f"Rows are told apart by a column whose values the schema lists, at most {MOST_VALUES}, and {column!r} is "
            "none; declare it by values = ['A', 'B'], say, or name another column."
        )
    found = [domain.decode(domain.first + place) for place in range(size)]
    names = tuple(MISSING if value is None else str(value) for value in found)
    if len(set(names)) != len(names):
        raise ParameterError(
            f"Two values of {column!r} have one name as text, so their limits could not be told apart; rename one of "
            f"{', '.join(names)} in the schema."
        )
    return names
