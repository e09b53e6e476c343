"""Tables of three columns in batches, as long as what was paid for stands out of its noise (SY-TRI)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sfumato.errors import CertificationError
from sfumato.mechanism import Event, Mechanism
from sfumato.model.base import Model
from sfumato.noise import Noise
from sfumato.noise.laws.base import SMALLEST_SCALE
from sfumato.privacy import REPLACE_ONE, Cost, Loss
from sfumato.questions.synthesis.fit import fitted
from sfumato.questions.synthesis.gather import Gathered, Integers, gather
from sfumato.questions.synthesis.looked import Again, LookedTables, SecondLook, widened
from sfumato.questions.synthesis.shares import root_down, short_up
from sfumato.totals.tables.contrasts import Floats, centred
from sfumato.totals.tables.parts import Columns, Part
from sfumato.totals.tables.stack import TableStack
from sfumato.workload.records import Tabled

GRID = 64
"""The model's side of a score is rounded to so many parts of a row, so that scores are exact integers."""
BATCHES = (Fraction(1, 5), Fraction(3, 10), Fraction(1, 2))
"""What parts of the money go to which batch: few tables first, to see whether more of them are worth it."""
CHOOSING = Fraction(1, 4)
"""The part of a batch that pays for its choices."""
FEWEST, MOST = 3, 200
"""So many tables a batch has at least, and at most."""
FALSE_ALARM = 0.05
"""A batch in which nothing is there calls a table outstanding at most so often."""
WINDOW = Fraction(3927, 10_000)
"""mu² of an exponential choice of epsilon 1, which is at most pi/8: its log-ratios lie in a window (SY-MU)."""
TYPICAL = 0.4
"""Half of the mean size of a normal number."""

Batch = tuple[tuple[int, ...], tuple[Integers, ...]]
"""The places of what was measured, and the numbers."""
Raw = tuple[Any, tuple[Batch, ...], Again | None]
"""What the looks released, the batches, and the further look where batches ended early."""


def measured(units: TableStack, places: Sequence[int], money: Fraction, noise: str) -> TableStack:
    """Return some tables of unit noise, with noise so wide that exactly they cost at most `money`."""
    some = replace(units, parts=tuple(units.parts[place] for place in places))
    width = max(short_up(some.person_price / money), SMALLEST_SCALE**2)
    return replace(some, parts=tuple(widened(part, width, noise) for part in some.parts))


def outstanding(residual: Floats, part: Part, among: int) -> bool:
    """Tell whether what was measured beyond a model is more than noise alone explains, `among` so many tables."""
    from scipy.stats import chi2

    chance = chi2.sf(float((residual**2).sum()) / part.variance(), prod(size - 1 for size in part.sizes))
    return bool(chance < FALSE_ALARM / among)


@dataclass(frozen=True, kw_only=True)
class TripleTables(Mechanism):
    """Looks at small tables, then batches of larger ones that a model of them gets most wrong, for `price`.

    A batch chooses by the exponential mechanism on |counts - predicted| less what noise would make of it, and measures
    what it chose. If no more than half of it stands out of its noise, the money of later batches buys a further look at
    the small tables. Promise: the loss of the looks plus `price`, whichever way it goes: choices have log-ratios in a
    window and cost 0.3927·epsilon² of mu² (epsilon²/8 of rho), what is measured costs its exact price, and both are
    compared with the money that is left before anything is drawn.
    """

    spec: ClassVar[str] = "SY-TRI"

    stack: TableStack | LookedTables
    units: TableStack
    """All candidates, with noise of variance 1 a centred cell."""
    again: SecondLook
    """The further look, which costs what is left."""
    price: Fraction
    noise: str
    total: int | None = None
    fewest: int = FEWEST

    @property
    def parts(self) -> tuple[Part, ...]:
        """The tables of the first look."""
        return self.stack.parts

    @property
    def rows(self) -> int:
        """How many rows a person has at most."""
        return self.units.rows

    @property
    def moved(self) -> int:
        """How far a person moves a score, in rows."""
        return self.rows * (2 if self.units.relation is REPLACE_ONE else 1)

    def cost(self) -> Cost:
        """Return what the batches cost, whatever they choose."""
        return Cost.gaussian(2 * self.price) if self.noise == "rounded" else Cost.concentrated(self.price)

    def loss(self) -> Loss:
        """Return the loss of the looks and of the batches; a choice reads everything."""
        return self.stack.loss() + Loss.flat(self.cost(), self.reads, self.relation)

    def looks(self) -> frozenset[Columns]:
        """Return the sets of columns whose tables a run may look at."""
        return self.stack.looks() | self.again.units.looks() | self.units.looks()

    def epsilon(self, money: Fraction, count: int) -> Fraction:
        """Return the epsilon of each of so many choices, which together cost at most `money` of rho, or half of mu²."""
        return root_down(2 * money / (WINDOW * count) if self.noise == "rounded" else 8 * money / count)

    def choices_price(self, epsilon: Fraction, count: int) -> Fraction:
        """Return what so many choices cost, in rho or in half of mu²."""
        return count * epsilon**2 * (WINDOW / 2 if self.noise == "rounded" else Fraction(1, 8))

    def measured(self, places: Sequence[int], money: Fraction) -> TableStack:
        """Return some candidates, with noise so wide that exactly they cost at most `money`."""
        return measured(self.units, places, money, self.noise)

    def outstanding(self, residual: Floats, part: Part, among: int) -> bool:
        """Tell whether what was measured beyond the model is more than noise alone explains, `among` so many tables."""
        return outstanding(residual, part, among)

    def run(self, exact: Tabled, noise: Noise) -> Raw:
        """Look, then choose and measure, batch by batch, until too little stands out."""
        first: Any = self.stack.run(exact, noise)
        parts, numbers = self.stack.released(first)
        gathered = gather(parts, numbers, exact.space.sizes, self.total)
        run = _Run(self, exact, noise, gathered)
        for batch in range(len(BATCHES)):
            if not run.left or not run.batch(batch):
                break
        # Where too little stands out for further batches, what is left of the money goes to the small tables.
        return first, tuple(run.found), run.instead()

    def released(self, raw: Raw) -> tuple[list[Part], list[Integers]]:
        """Return the tables of a run, and their numbers."""
        first, batches, again = raw
        parts, numbers = self.stack.released(first)
        spent = Fraction(0)
        for share, (places, found) in zip(BATCHES, batches, strict=False):
            parts += self.measured(places, self.measuring(share, places, batches)).parts
            numbers += found
            spent += share
        if again is not None:
            more, others = replace(self.again, price=(1 - spent) * self.price).released(again)
            parts, numbers = [*parts, *more], [*numbers, *others]
        return parts, numbers

    def measuring(self, share: Fraction, places: Sequence[int], batches: Sequence[Batch]) -> Fraction:
        """Return what measuring costs in a batch: all of its money where nothing was left out, and else three parts."""
        before = {place for found, _ in batches[: BATCHES.index(share)] for place in found}
        everything = len(before.union(places)) == len(self.units.parts)
        return share * self.price * (1 if everything else 1 - CHOOSING)

    def event(self) -> Event:
        """Return the public record."""
        parameters: dict[str, Any] = {
            "stack": self.stack,
            "candidates": [list(part.columns) for part in self.units.parts],
            "again": self.again,
            "price": self.price,
            "noise": self.noise,
            "batches": BATCHES,
            "choosing": CHOOSING,
            "relation": self.relation,
            "reads": self.reads,
        }
        return Event(type(self).__name__, self.spec, parameters, self.version)


class _Measured(NamedTuple):
    """Of a table that was measured: how far it is from the model before, and whether noise alone explains that."""

    place: int
    apart: float
    outstanding: bool


class _Run:
    """The only way from the batches to the records: what is left of the money is compared with every price first."""

    def __init__(self, plan: TripleTables, exact: Tabled, noise: Noise, gathered: Gathered) -> None:
        self._plan, self._exact, self._noise, self._gathered = plan, exact, noise, gathered
        names = exact.space.names
        self._names = [[names[place] for place in part.columns] for part in plan.units.parts]
        self._money = plan.price
        self._last: list[_Measured] = []
        self._outstanding: list[int] = []
        self.found: list[Batch] = []

    @property
    def left(self) -> list[int]:
        """The candidates that were not measured yet."""
        taken = {place for places, _ in self.found for place in places}
        return [place for place in range(len(self._names)) if place not in taken]

    def batch(self, number: int) -> bool:
        """Choose and measure one batch, and tell whether more than half of it stands out of its noise."""
        plan, left = self._plan, self.left
        money = BATCHES[number] * plan.price
        model = fitted(self._gathered.evidence(), self._exact.space, self._gathered.total, quick=True)
        count = min(len(left), self._count(number, money))
        chosen = left
        if count < len(left):
            chosen = self._choose(model, left, count, money)
            money *= 1 - CHOOSING
        again = self._outstanding if number == len(BATCHES) - 1 else []
        self._measure(model, [*chosen, *again], money)
        standing = [one.place for one in self._last if one.outstanding]
        self._outstanding += [place for place in standing if place in chosen]
        return 2 * len(standing) > len(self._last)

    def instead(self) -> Again | None:
        """Buy a further look at small tables for all that is left."""
        if not self._money:
            return None
        second = replace(self._plan.again, price=self._money)
        self._money = Fraction(0)
        return second.run(self._gathered, self._exact, self._noise)

    def _count(self, number: int, money: Fraction) -> int:
        """Return how many tables a batch measures: public, and of the last one from what the one before released."""
        columns = len(self._exact.space.sizes)
        if number == 0:
            return max(self._plan.fewest, columns // 3)
        if number == 1:
            return max(self._plan.fewest, columns)
        parts = [self._plan.units.parts[place] for place in self.left]
        size = float(np.median([prod(part.sizes) * prod(size - 1 for size in part.sizes) for part in parts]))
        each = float(np.mean([float(part.added()) for part in parts])) * self._grown / float(money)
        half = float(np.median([one.apart for one in self._last])) / 2
        bearable = (half * self._gathered.total / TYPICAL) ** 2 / (size * each)
        return int(min(MOST, max(self._plan.fewest, columns, bearable)))

    @property
    def _grown(self) -> float:
        """By how much a person moves a table further, squared, than one row that comes; a forecast, and no price."""
        return (2 if self._plan.units.relation is REPLACE_ONE else 1) * self._plan.rows**2

    def _choose(self, model: Model, left: Sequence[int], count: int, money: Fraction) -> list[int]:
        """Choose some of the candidates, one after the other, for a part of a batch's money."""
        plan = self._plan
        epsilon = plan.epsilon(CHOOSING * money, count)
        self._pay(plan.choices_price(epsilon, count), CHOOSING * money)
        open_places = list(left)
        each = count * self._grown / float((1 - CHOOSING) * money)
        scores = {place: self._score(place, model, each) for place in open_places}
        rate = epsilon / (2 * plan.moved * GRID)
        chosen = []
        for _ in range(count):
            place = open_places[self._noise.choose([scores[one] for one in open_places], rate)]
            open_places.remove(place)
            chosen.append(place)
        return chosen

    def _score(self, place: int, model: Model, each: float) -> int:
        """Return how far the counts are from the model's, less what noise would make of them, in parts of a row.

        `each` is the variance that measuring brings to a table of price 1.
        """
        names, part = self._names[place], self._plan.units.parts[place]
        total = self._gathered.total
        predicted = total * model.marginal(names)
        public = np.rint(predicted * GRID).astype(np.int64)
        apart = np.abs(self._exact.table(names) * GRID - public).sum()
        cell = sqrt(each * float(part.added()) * prod(1 - 1 / size for size in part.sizes))
        wasted = 2 * np.minimum(TYPICAL * cell, predicted).sum()
        return int(apart) - int(np.rint(wasted * GRID))

    def _measure(self, model: Model, places: Sequence[int], money: Fraction) -> None:
        """Measure some candidates together, and compare each with the model and with its noise."""
        stack = self._plan.measured(places, money)
        self._pay(stack.person_price, money)
        numbers = stack.run(self._exact, self._noise)
        self.found.append((tuple(places), numbers))
        self._last = []
        for place, part, found in zip(places, stack.parts, numbers, strict=True):
            residual: Floats = part.estimate(found) - self._gathered.total * centred(model.marginal(self._names[place]))
            apart = float(np.abs(residual).sum()) / (2 * self._gathered.total)
            self._last.append(_Measured(place, apart, self._plan.outstanding(residual, part, len(places))))
            self._gathered.add(part, found)

    def _pay(self, price: Fraction, money: Fraction) -> None:
        """Take the money that is set aside for a price from what is left; refuse what does not fit."""
        if price > money or money > self._money:
            raise CertificationError(
                "A batch of tables does not provably fit its price, so its result is withheld; please report it."
            )
        self._money -= money
