"""A first look at all one- and two-way tables, then a second one at those that the first one points to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from sfumato.errors import CertificationError
from sfumato.mechanism import Event, Mechanism
from sfumato.noise import DiscreteGaussian, Noise, Priced, RoundedNormal
from sfumato.noise.laws.base import SMALLEST_SCALE
from sfumato.privacy import REPLACE_ONE, Cost, Loss, PerAttribute
from sfumato.privacy.calibrate import WIDE
from sfumato.questions.synthesis.gather import Gathered, Integers, gather
from sfumato.questions.synthesis.look import Prices, next_look
from sfumato.questions.synthesis.shares import short_up
from sfumato.totals.tables.parts import Columns, Part, cost_of
from sfumato.totals.tables.stack import TableStack
from sfumato.workload.records import Tabled

Again = tuple[int, tuple[int, ...], tuple[Integers, ...]]
"""The hundredths for one-way tables, the places of the pairs, and the numbers."""
Raw = tuple[tuple[Integers, ...], Again]

EVEN_ONES = 15
"""Hundredths for one-way tables where nothing is known yet."""
ROOM = Fraction(11, 10)
"""By so much an attribute may cost more than in a look at everything, before noise is widened for its sake."""


def gaussian(kind: str, variance: Fraction) -> Priced:
    """Return Gaussian noise of a kind of ledgers: rounded, rounded where it is wide, or discrete."""
    rounds = kind == "rounded" or (kind == "wide" and variance >= WIDE)
    return RoundedNormal(variance) if rounds else DiscreteGaussian(variance)


def widened(part: Part, width: Fraction, kind: str) -> Part:
    """Return a table with so much variance in place of 1 a centred cell."""
    law: Any = part.law
    return replace(part, law=gaussian(kind, law.variance * width))


@dataclass(frozen=True)
class SecondLook:
    """Tables that may be looked at again, for `price`; which of them, and how wide the noise is, is not yet known.

    `units` holds all of them with noise of variance 1 a centred cell. The choice reads released numbers; the noise is
    then made so wide that exactly the tables taken cost at most `price`, and, where attributes have prices of their
    own, each of them at most `each`; both are checked before anything is drawn.
    """

    units: TableStack
    price: Fraction
    noise: str

    @cached_property
    def each(self) -> Fraction | None:
        """What an attribute may cost: a little more than the dearest does where everything is looked at again."""
        dearest = max(self._even(None).attribute_prices.values(), default=None)
        return None if dearest is None else min(self.price, ROOM * dearest)

    def cost(self, price: Fraction | None = None) -> Cost:
        """Return what a person pays, whatever is chosen, or what another price is."""
        laws = tuple(self._widened(part, Fraction(1)) for part in self.units.parts)
        return cost_of(laws, self.price if price is None else price)

    def loss(self) -> Loss:
        """Return what a person and every attribute pay, whatever is chosen."""
        if self.each is None:
            return Loss.flat(self.cost(), self.units.reads, self.units.relation)
        names = self.units.attribute_prices
        return Loss(
            PerAttribute(tuple((name, self.cost(self._most(name))) for name in names), self.cost()), REPLACE_ONE
        )

    def _most(self, name: str) -> Fraction:
        """Return what an attribute pays: what is read without being shown costs what a person does."""
        assert self.each is not None
        return self.each if name in self.units.shown else self.price

    def run(self, gathered: Gathered, exact: Tabled, noise: Noise) -> Again:
        """Decide from what was released so far, and look."""
        parts = self.units.parts
        # A changed row moves a table at most twice as far, squared, as one that comes; predictions need no more.
        grown = (2 if self.units.relation is REPLACE_ONE else 1) * self.units.rows**2
        prices: dict[Columns, float] = {part.columns: float(part.added()) * grown for part in parts}
        ones = sum(price for columns, price in prices.items() if len(columns) == 1)
        pairs: dict[Columns, float] = {columns: price for columns, price in prices.items() if len(columns) == 2}
        look = next_look(gathered.evidence(), Prices(ones, pairs, float(self.price), gathered.total))
        places = tuple(place for place, part in enumerate(parts) if part.columns in set(look.pairs))
        return look.ones, places, self.stack(look.ones, places).run(exact, noise)

    def stack(self, ones: int, places: Sequence[int]) -> TableStack:
        """Return the tables of a look, with noise so wide that they cost at most what they may."""
        singles = [part for part in self.units.parts if len(part.columns) == 1] if ones else []
        groups = [(singles, ones), ([self.units.parts[place] for place in places], 100 - ones)]
        paid = [(parts, share) for parts, share in groups if parts and share]
        whole = sum(share for _, share in paid)
        relative = [(parts, short_up(self._priced(parts) * whole / share)) for parts, share in paid]
        return self._fitted(relative, self.each)

    def _fitted(self, relative: Sequence[tuple[Sequence[Part], Fraction]], each: Fraction | None) -> TableStack:
        rough = replace(
            self.units, parts=tuple(self._widened(part, width) for parts, width in relative for part in parts)
        )
        factor = rough.person_price / self.price
        if each is not None:
            dearest = max(rough.attribute_prices[name] / self._most(name) for name in rough.attribute_prices)
            factor = max(factor, dearest)
        widths = [(parts, max(short_up(width * factor), SMALLEST_SCALE**2)) for parts, width in relative]
        found = replace(
            self.units, parts=tuple(self._widened(part, width) for parts, width in widths for part in parts)
        )
        within = each is None or all(price <= self._most(name) for name, price in found.attribute_prices.items())
        if found.person_price > self.price or not within:
            raise CertificationError("The noise of a second look does not provably fit its price; please report it.")
        return found

    def evenly(self) -> TableStack:
        """Return a look at everything, to predict how wide noise is when nothing is left out."""
        return self._even(self.each)

    def _even(self, each: Fraction | None) -> TableStack:
        pairs = [part for part in self.units.parts if len(part.columns) == 2]
        ones = [part for part in self.units.parts if len(part.columns) == 1]
        shares = ((ones, EVEN_ONES), (pairs, 100 - EVEN_ONES))
        return self._fitted([(parts, short_up(self._priced(parts) * 100 / share)) for parts, share in shares], each)

    def _priced(self, parts: Sequence[Part]) -> Fraction:
        return replace(self.units, parts=tuple(parts)).person_price

    def _widened(self, part: Part, width: Fraction) -> Part:
        return widened(part, width, self.noise)

    def released(self, raw: Again) -> tuple[list[Part], list[Integers]]:
        """Return the tables of a look, and their numbers."""
        ones, places, numbers = raw
        return list(self.stack(ones, places).parts), list(numbers)

    def to_json(self) -> dict[str, Any]:
        """Return the public record."""
        return {"tables": [list(part.columns) for part in self.units.parts], "price": str(self.price)}


@dataclass(frozen=True, kw_only=True)
class LookedTables(Mechanism):
    """A stack of tables, then another one whose tables and noise follow from what the first released.

    Promise: the loss of the first stack plus the price of the second, whatever is chosen: rho adds up however later
    tables are chosen, and so does mu² = 2·rho of rounded noise (SY-MU). The same holds for every attribute with a price
    of its own.
    """

    spec: ClassVar[str] = "SY-LOOK"

    first: TableStack
    second: SecondLook
    total: int | None = None

    @property
    def pure(self) -> bool:
        """The noise is Gaussian."""
        return False

    @property
    def rows(self) -> int:
        """How many rows a person has at most."""
        return self.first.rows

    @property
    def parts(self) -> tuple[Part, ...]:
        """The tables of the first look."""
        return self.first.parts

    def loss(self) -> Loss:
        """Return the loss of the first stack and the price of the second, whichever it is."""
        return self.first.loss() + self.second.loss()

    def looks(self) -> frozenset[Columns]:
        """Return the sets of columns whose tables a run may look at."""
        return self.first.looks() | self.second.units.looks()

    def run(self, exact: Tabled, noise: Noise) -> Raw:
        """Look, decide from what was released, look again."""
        first = self.first.run(exact, noise)
        gathered = gather(self.first.parts, first, exact.space.sizes, self.total)
        return first, self.second.run(gathered, exact, noise)

    def released(self, raw: Raw) -> tuple[list[Part], list[Integers]]:
        """Return the tables of a run, and their numbers."""
        first, again = raw
        parts, numbers = self.second.released(again)
        return [*self.first.parts, *parts], [*first, *numbers]

    def event(self) -> Event:
        """Return the public record."""
        parameters = {"first": self.first, "second": self.second, "relation": self.relation, "reads": self.reads}
        return Event(type(self).__name__, self.spec, parameters, self.version)
