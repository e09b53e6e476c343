"""Two batches of chosen tables after a first stack: choices and measurements behind a meter."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import CertificationError
from sfumato.mechanism import Event, Mechanism
from sfumato.model.base import Model
from sfumato.noise import Noise
from sfumato.perturb.additive import saturating_sum
from sfumato.privacy import REPLACE_ONE, Cost, Loss
from sfumato.questions.synthesis.fit import fitted
from sfumato.questions.synthesis.gather import Gathered, gather
from sfumato.questions.synthesis.guarded import GuardedTables, dearer
from sfumato.totals.tables.contrasts import contrasted
from sfumato.totals.tables.parts import Columns, Part, cost_of
from sfumato.totals.tables.stack import TableStack
from sfumato.workload.records import Tabled

Integers = NDArray[np.int64]
Chosen = tuple[int, Integers]
"""The place of a candidate, and its noisy integers."""

GRID = 64
"""The model's side of a score is rounded to so many parts of a row, so that scores are exact integers."""


@dataclass(frozen=True, kw_only=True)
class ChosenTables(Mechanism):
    """A stack of tables, then the tables that a model of it gets most wrong, in batches.

    A candidate scores Σ|exact - predicted| less a public amount; a row more or less moves that by 1, a changed one by
    2. Each choice is exponential with `choice` as its epsilon, each measurement costs what its table costs at most.
    Promise: the loss of the stack, plus count·(epsilon²/8 + rho of a candidate), or count·(epsilon + epsilon of a
    candidate) with Laplace noise (PDP:C-7, QR:C-10). Every look is charged first, and a run whose charges are not the
    stated ones is withheld.

    Where the number of rows is not public, `fallback` is released instead if the noisy number is below `fewest`: the
    chosen tables would drown in their noise. If the stack is guarded, and found too few rows for its own tables, `poor`
    is. All of them cost at most what is stated.
    """

    spec: ClassVar[str] = "QR-MWEM"

    stack: TableStack | GuardedTables
    candidates: tuple[Part, ...]
    count: int
    choice: Fraction
    batches: int = 2
    total: int | None = None
    fallback: TableStack | None = None
    poor: TableStack | None = None
    fewest: Fraction = Fraction(0)

    @property
    def moved(self) -> int:
        """How far a person moves a score, in rows."""
        return self.stack.rows * (2 if self.relation is REPLACE_ONE else 1)

    def chosen_cost(self) -> Cost:
        """Return what one choice costs."""
        return Cost.range_bounded(self.choice)

    def measured_cost(self) -> Cost:
        """Return what measuring one candidate costs at most, whichever it is."""
        rows = self.stack.rows
        price = _dearest(self.candidates, self.relation is REPLACE_ONE, rows > 1)
        return cost_of(self.candidates, price * rows if self.stack.pure else price * rows**2)

    def later_cost(self) -> Cost:
        """Return what comes after the stack costs at most, whichever way it goes."""
        dearest = self.count * self.chosen_cost() + self.count * self.measured_cost()
        for other in (self.fallback, self.poor):
            if other is not None:
                dearest = dearer(dearest, other.loss().person, pure=self.stack.pure)
        return dearest

    def loss(self) -> Loss:
        """Return the loss of the stack and of all looks after it; a choice reads everything."""
        return self.stack.loss() + Loss.flat(self.later_cost(), self.reads, self.relation)

    def looks(self) -> frozenset[Columns]:
        """Return the sets of columns whose tables a run may look at, whatever it chooses."""
        others = [other.looks() for other in (self.stack, self.fallback, self.poor) if other is not None]
        return frozenset(part.columns for part in self.candidates).union(*others)

    def run(self, exact: Tabled, noise: Noise) -> tuple[Any, tuple[Chosen, ...], Any]:
        """Return what the stack released, the chosen tables, and others instead; one of the last two is empty."""
        first: Any = self.stack.run(exact, noise)
        parts, numbers = self.stack.released(first)
        gathered = gather(parts, numbers, exact.space.sizes, self.total)
        instead = self._instead(first)
        if instead is not None and (instead is self.poor or self.drowns(gathered.total)):
            return first, (), instead.run(exact, noise)
        looks = _Looks(self, exact, noise)
        for batch in range(self.batches):
            model = fitted(gathered.evidence(), exact.space, gathered.total, quick=True)
            share = self.count * (batch + 1) // self.batches - self.count * batch // self.batches
            for place in looks.choose(model, gathered, share):
                gathered.add(self.candidates[place], looks.measure(place))
        looks.require()
        return first, tuple(looks.found), ()

    def released(self, raw: tuple[Any, tuple[Chosen, ...], Any]) -> tuple[list[Part], list[Integers]]:
        """Return the tables of a run, and their numbers."""
        first, chosen, other = raw
        parts, numbers = self.stack.released(first)
        instead = self._instead(first)
        if other and instead is not None:
            more, found = instead.released(other)
            parts, numbers = [*parts, *more], [*numbers, *found]
        parts += [self.candidates[place] for place, _ in chosen]
        return parts, [*numbers, *(found for _, found in chosen)]

    def _instead(self, first: Any) -> TableStack | None:
        """Return what may be released instead of chosen tables: `poor` if the stack found its rows too few."""
        if isinstance(self.stack, GuardedTables) and self.stack.found_few(first):
            return self.poor
        return self.fallback

    def drowns(self, total: float) -> bool:
        """Tell whether so many rows are too few for the chosen tables to stand out of their noise."""
        return total < self.fewest

    def event(self) -> Event:
        """Return the public record."""
        parameters: dict[str, Any] = {
            "stack": self.stack,
            "candidates": [list(part.columns) for part in self.candidates],
            "measured": self.candidates[0].to_json(),
            "count": self.count,
            "choice": self.choice,
            "batches": self.batches,
            "fallback": self.fallback,
            "poor": self.poor,
            "fewest": self.fewest,
            "relation": self.relation,
            "reads": self.reads,
        }
        return Event(type(self).__name__, self.spec, parameters, self.version)


@lru_cache(maxsize=64)
def _dearest(candidates: tuple[Part, ...], replaced: bool, several: bool) -> Fraction:
    """Return the largest price of one row of any candidate; tables of equal sizes and noise cost the same."""
    different = {(part.sizes, part.centred, part.law): part for part in candidates}.values()
    prices = [part.added() for part in different] if several or not replaced else []
    return max([*prices, *(part.most() for part in different if replaced)])


class _Looks:
    """The only way from a batch to the records: scores stay inside, choices and noisy tables come out."""

    def __init__(self, plan: ChosenTables, records: Tabled, noise: Noise) -> None:
        self._plan = plan
        self._noise = noise
        names = records.space.names
        self._names = [[names[place] for place in part.columns] for part in plan.candidates]
        named = zip(plan.candidates, self._names, strict=True)
        self._exact = [part.exact(records.table(wanted)) for part, wanted in named]
        self._charges: Counter[Cost] = Counter()
        self.found: list[Chosen] = []

    def choose(self, model: Model, gathered: Gathered, count: int) -> list[int]:
        """Choose some candidates that were not chosen before, one after the other."""
        open_places = [place for place in range(len(self._exact)) if place not in {old for old, _ in self.found}]
        scores = {place: self._score(place, model, gathered.total) for place in open_places}
        rate = self._plan.choice / (2 * self._plan.moved * GRID)
        chosen = []
        for _ in range(count):
            self._charges[self._plan.chosen_cost()] += 1
            place = open_places[self._noise.choose([scores[one] for one in open_places], rate)]
            open_places.remove(place)
            chosen.append(place)
        return chosen

    def _score(self, place: int, model: Model, total: float) -> int:
        part = self._plan.candidates[place]
        shares = model.marginal(self._names[place])
        predicted = total * (contrasted(shares) if part.centred else shares)
        public = np.rint(predicted * GRID).astype(np.int64)
        apart = np.abs(self._exact[place] * GRID - public).sum()
        # Noise that measuring would bring costs its useful part: no more than what the model puts into a cell.
        wasted = 0.0 if part.centred else 2 * np.minimum(0.5 * np.sqrt(part.variance()), np.abs(predicted)).sum()
        return int(apart) - int(np.rint(wasted * GRID))

    def measure(self, place: int) -> Integers:
        """Return the noisy integers of a chosen candidate."""
        self._charges[self._plan.measured_cost()] += 1
        exact = np.asarray(self._exact[place], np.int64)
        law = self._plan.candidates[place].law
        noisy = saturating_sum(exact.ravel(), self._noise.draw(law, exact.size)).reshape(exact.shape)
        self.found.append((place, noisy))
        return noisy

    def require(self) -> None:
        """Refuse a run whose charges are not those of the plan."""
        stated: Counter[Cost] = Counter()
        stated[self._plan.chosen_cost()] += self._plan.count
        stated[self._plan.measured_cost()] += self._plan.count
        if self._charges != stated or len({place for place, _ in self.found}) != self._plan.count:
            raise CertificationError(
                "The looks of this run did not cost what was stated for them, so its result is withheld; please report "
                "it."
            )
