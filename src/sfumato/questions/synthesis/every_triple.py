"""All tables of three columns of a few, measured once; then those that stand out of their noise again (SY-TRI)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.errors import CertificationError
from sfumato.mechanism import Event, Mechanism
from sfumato.noise import Noise
from sfumato.privacy import Cost, Loss
from sfumato.questions.synthesis.fit import fitted
from sfumato.questions.synthesis.gather import Gathered, Integers, gather
from sfumato.questions.synthesis.looked import Again, LookedTables, SecondLook
from sfumato.questions.synthesis.triples import measured, outstanding
from sfumato.totals.tables.contrasts import centred
from sfumato.totals.tables.parts import Columns, Part
from sfumato.totals.tables.stack import TableStack
from sfumato.workload.records import Tabled

FIRST = Fraction(1, 2)
"""The part of the money that shows which tables stand out."""

Tables = tuple[Integers, ...]
Raw = tuple[Any, Tables, tuple[int, ...], Tables, Again | None]
"""What the looks released, all tables, the places of those that stand out, these again, and the further look."""


@dataclass(frozen=True, kw_only=True)
class EveryTriple(Mechanism):
    """Looks at small tables, then all larger ones once, then again those that stand out, for `price`.

    What is left after the first time goes to the tables that stand out, all of it if half of them do, and in proportion
    if fewer do; a further look at the small tables gets the rest. It gets everything if the noisy number of rows is
    below `fewest`, because larger tables would drown. Promise: the loss of the looks plus `price`, on every path: what
    is measured costs its exact price, which is compared with its money before a draw (SY-MU).
    """

    spec: ClassVar[str] = "SY-TRI"

    stack: TableStack | LookedTables
    units: TableStack
    """All tables, with noise of variance 1 a centred cell."""
    again: SecondLook
    """The further look, which costs what is left."""
    price: Fraction
    noise: str
    total: int | None = None
    fewest: Fraction = Fraction(0)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The tables of the first look."""
        return self.stack.parts

    @property
    def rows(self) -> int:
        """How many rows a person has at most."""
        return self.units.rows

    def cost(self) -> Cost:
        """Return what comes after the looks costs, whichever way it goes."""
        return Cost.gaussian(2 * self.price) if self.noise == "rounded" else Cost.concentrated(self.price)

    def loss(self) -> Loss:
        """Return the loss of the looks and of what comes after them; which tables stand out reads all of them."""
        return self.stack.loss() + Loss.flat(self.cost(), self.reads, self.relation)

    def looks(self) -> frozenset[Columns]:
        """Return the sets of columns whose tables a run may look at."""
        return self.stack.looks() | self.again.units.looks() | self.units.looks()

    def drowns(self, total: float) -> bool:
        """Tell whether so many rows are too few for tables of three columns to stand out of their noise."""
        return total < self.fewest

    def table(self, places: Sequence[int], *, first: bool) -> TableStack:
        """Return all tables as they are measured first, or some of them as they are measured again."""
        return measured(self.units, places, self.money(len(places), first=first), self.noise)

    def money(self, count: int, *, first: bool) -> Fraction:
        """Return what is paid for all tables the first time, or afterwards for so many of them."""
        part = min(Fraction(1), Fraction(2 * count, len(self.units.parts)))
        return self.price * (FIRST if first else (1 - FIRST) * part)

    def further(self, standing: int | None) -> SecondLook | None:
        """Return the further look for what so many tables leave, or for everything if none was measured."""
        money = self.price
        if standing is not None:
            money -= self.money(len(self.units.parts), first=True) + self.money(standing, first=False)
        return replace(self.again, price=money) if money else None

    def run(self, exact: Tabled, noise: Noise) -> Raw:
        """Look, measure all tables, and spend what is left where that points to."""
        first: Any = self.stack.run(exact, noise)
        parts, numbers = self.stack.released(first)
        gathered = gather(parts, numbers, exact.space.sizes, self.total)
        if self.drowns(gathered.total):
            return first, (), (), (), self._further(None, gathered, exact, noise)
        every = range(len(self.units.parts))
        stack = self.table(every, first=True)
        once = self._paid(stack, self.money(len(every), first=True)).run(exact, noise)
        standing = self.standing(stack, once, gathered, exact)
        for part, found in zip(stack.parts, once, strict=True):
            gathered.add(part, found)
        twice: Tables = ()
        if standing:
            stack = self.table(standing, first=False)
            twice = self._paid(stack, self.money(len(standing), first=False)).run(exact, noise)
            for part, found in zip(stack.parts, twice, strict=True):
                gathered.add(part, found)
        return first, once, standing, twice, self._further(len(standing), gathered, exact, noise)

    def standing(self, stack: TableStack, numbers: Tables, gathered: Gathered, exact: Tabled) -> tuple[int, ...]:
        """Return the places of the tables that say more than a model of the small ones; from released numbers."""
        model = fitted(gathered.evidence(), exact.space, gathered.total, quick=True)
        names, found = exact.space.names, []
        for place, (part, one) in enumerate(zip(stack.parts, numbers, strict=True)):
            expected = gathered.total * centred(model.marginal([names[column] for column in part.columns]))
            if outstanding(part.estimate(one) - expected, part, len(stack.parts)):
                found.append(place)
        return tuple(found)

    def _further(self, standing: int | None, gathered: Gathered, exact: Tabled, noise: Noise) -> Again | None:
        look = self.further(standing)
        return None if look is None else look.run(gathered, exact, noise)

    def _paid(self, stack: TableStack, money: Fraction) -> TableStack:
        if stack.person_price > money:
            raise CertificationError(
                "A table does not provably fit its price, so the result is withheld; please report it."
            )
        return stack

    def released(self, raw: Raw) -> tuple[list[Part], list[Integers]]:
        """Return the tables of a run, and their numbers."""
        first, once, standing, twice, again = raw
        parts, numbers = self.stack.released(first)
        if once:
            parts, numbers = [*parts, *self.table(range(len(once)), first=True).parts], [*numbers, *once]
        if twice:
            parts, numbers = [*parts, *self.table(standing, first=False).parts], [*numbers, *twice]
        look = self.further(len(standing) if once else None)
        if again is not None and look is not None:
            more, found = look.released(again)
            parts, numbers = [*parts, *more], [*numbers, *found]
        return parts, numbers

    def event(self) -> Event:
        """Return the public record."""
        parameters: dict[str, Any] = {
            "stack": self.stack,
            "tables": [list(part.columns) for part in self.units.parts],
            "again": self.again,
            "price": self.price,
            "noise": self.noise,
            "first": FIRST,
            "fewest": self.fewest,
            "relation": self.relation,
            "reads": self.reads,
        }
        return Event(type(self).__name__, self.spec, parameters, self.version)
