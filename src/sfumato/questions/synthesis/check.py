"""A paid comparison of models with the data: the mean total variation of tables is measured, and chooses (SY-CHECK)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod, sqrt
from typing import Any, ClassVar

import numpy as np

from sfumato.mechanism import Event, Mechanism
from sfumato.model.base import Model, read_model
from sfumato.noise import DiscreteLaplace, Noise, Priced, RoundedNormal
from sfumato.perturb.additive import saturating_sum
from sfumato.privacy import REPLACE_ONE, Cost, Loss
from sfumato.questions.synthesis.adaptive import ChosenTables
from sfumato.questions.synthesis.every_triple import EveryTriple
from sfumato.questions.synthesis.fit import candidates
from sfumato.questions.synthesis.gather import Integers, gather
from sfumato.questions.synthesis.guarded import GuardedTables
from sfumato.questions.synthesis.looked import LookedTables, gaussian
from sfumato.questions.synthesis.triples import TripleTables
from sfumato.show.progress import watched
from sfumato.totals.tables.parts import Columns, Part
from sfumato.totals.tables.stack import TableStack
from sfumato.workload.records import Tabled
from sfumato.workload.space import Space

Release = TableStack | ChosenTables | GuardedTables | LookedTables | TripleTables | EveryTriple
Raw = tuple[Any, bytes, int, tuple[int, ...]]
"""What was measured, the model that was chosen, its place among the candidates, and all noisy distances."""

LISTED = 150
"""So many tables of each width are compared at most."""
LARGEST = 2**18
"""Tables of more cells are not compared."""
FURTHEST = 2**60
"""Predicted counts stay below this, whatever a noisy number of rows says."""


@dataclass(frozen=True, kw_only=True)
class CheckedTables(Mechanism):
    """Measured tables, models fitted to them, and how far off each model is: the nearest is released with its error.

    For each candidate and each list of tables of one width, the whole number Σ|grid·count - round(grid·n·share)| is
    released with noise. A row more or less moves it by grid times the number of listed tables, a changed one by twice
    that. Promise: the loss of the release, plus widths·models·(rows·u)²/(2·spread) in rho, u being 1 or 2, or
    widths·models·rows·u/spread in epsilon with Laplace noise. Candidates are made from released numbers (PDP:C-11).
    The first candidate is taken unless another one is nearer by more than two deviations.
    """

    spec: ClassVar[str] = "SY-CHECK"

    release: Release
    lists: tuple[tuple[Columns, ...], ...]
    models: int
    spread: Fraction
    noise: str
    grid: int
    total: int | None = None

    @property
    def rows(self) -> int:
        """How many rows a person has at most."""
        return self.release.rows if not isinstance(self.release, ChosenTables) else self.release.stack.rows

    def law(self, width: int) -> Priced:
        """Return the noise of the distances of one list."""
        step = self.grid * len(self.lists[width])
        if self.noise == "laplace":
            return DiscreteLaplace(step * self.spread)
        return gaussian(self.noise, step**2 * self.spread)

    def cost(self) -> Cost:
        """Return what all distances cost: each list moves by so many steps of its own noise."""
        moved = self.rows * (2 if self.relation is REPLACE_ONE else 1)
        numbers = len(self.lists) * self.models
        if self.noise == "laplace":
            return Cost.pure(Fraction(numbers * moved) / self.spread)
        rho = Fraction(numbers * moved**2) / (2 * self.spread)
        rounded = all(isinstance(self.law(width), RoundedNormal) for width in range(len(self.lists)))
        return Cost.gaussian(2 * rho) if rounded else Cost.concentrated(rho)

    def loss(self) -> Loss:
        """Return the loss of the tables and of the comparison, which reads everything."""
        return self.release.loss() + Loss.flat(self.cost(), self.reads, self.relation)

    def looks(self) -> frozenset[Columns]:
        """Return the sets of columns whose tables a run may look at."""
        return self.release.looks().union(*self.lists)

    def run(self, exact: Tabled, noise: Noise) -> Raw:
        """Measure, fit, compare, choose."""
        raw: Any = self.release.run(exact, noise)
        parts, numbers = self.release.released(raw)
        gathered = gather(parts, numbers, exact.space.sizes, self.total)
        with watched("Fitting models") as progress:
            found = candidates(gathered.evidence(), exact.space, gathered.total, progress)[: self.models]
        # What is compared is what is released: the model as it is read back.
        stored = [json.dumps(model.to_json()).encode() for model in found]
        read = [read_model(json.loads(one), exact.space) for one in stored]
        distances = np.array([self._distances(exact, model) for model in read], np.int64)
        drawn = [noise.draw(self.law(width), len(read)) for width in range(len(self.lists))]
        noisy = saturating_sum(distances.ravel(), np.stack(drawn, axis=1).ravel()).reshape(distances.shape)
        place = self.chosen(noisy, gathered.total)
        return raw, stored[place], place, tuple(int(one) for one in noisy.ravel())

    def _distances(self, exact: Tabled, model: Model) -> list[int]:
        names, found = exact.space.names, []
        for listed in self.lists:
            apart = 0
            for columns in listed:
                wanted = [names[place] for place in columns]
                predicted = np.rint(np.minimum(self.grid * model.total * model.marginal(wanted), FURTHEST))
                apart += int(np.abs(self.grid * exact.table(wanted) - predicted.astype(np.int64)).sum())
            found.append(min(apart, FURTHEST))
        return found

    def means(self, noisy: Integers, total: float) -> Any:
        """Return the measured mean total variation of each candidate and width."""
        return noisy / (2 * self.grid * total * np.array([len(listed) for listed in self.lists]))

    def deviation(self, total: float) -> float:
        """Return the standard deviation of a measured mean."""
        spread = sqrt(2) * float(self.spread) if self.noise == "laplace" else sqrt(float(self.spread))
        return spread / (2 * total)

    def chosen(self, noisy: Integers, total: float) -> int:
        """Return the first candidate, or the nearest one if it is nearer by more than two deviations."""
        sums = self.means(noisy, total).sum(axis=1)
        best = int(np.argmin(sums))
        margin = 2 * sqrt(2 * len(self.lists)) * self.deviation(total)
        return best if sums[best] < sums[0] - margin else 0

    def released(self, raw: Raw) -> tuple[list[Part], list[Integers]]:
        """Return the tables of a run, and their numbers."""
        return self.release.released(raw[0])

    def event(self) -> Event:
        """Return the public record."""
        parameters: dict[str, Any] = {
            "release": self.release,
            "compared": [[list(columns) for columns in listed] for listed in self.lists],
            "models": self.models,
            "laws": [self.law(width) for width in range(len(self.lists))],
            "grid": self.grid,
            "relation": self.relation,
            "reads": self.reads,
        }
        return Event(type(self).__name__, self.spec, parameters, self.version)


def compared(space: Space, width: int, seen: Iterable[frozenset[int]] | None = None) -> tuple[tuple[Columns, ...], ...]:
    """Return the tables that are compared: of each width up to `width` some hundred, drawn by a hash of the schema.

    With a workload, only sets of columns that one of its queries sees together.
    """
    together = None if seen is None else list(seen)
    lists = []
    for size in range(1, min(width, len(space.names)) + 1):
        every = _sets(space, size, together)
        if every:
            lists.append(tuple(sorted(sorted(every, key=lambda one: _order(space, one))[:LISTED])))
    return tuple(lists)


def _sets(space: Space, size: int, together: Sequence[frozenset[int]] | None) -> list[Columns]:
    wide = [place for place, codes in enumerate(space.sizes) if codes > 1]
    return [
        one
        for one in combinations(wide, size)
        if prod(space.sizes[place] for place in one) <= LARGEST
        and (together is None or any(some.issuperset(one) for some in together))
    ]


def _order(space: Space, columns: Columns) -> bytes:
    return hashlib.sha256(repr([(space.names[place], space.sizes[place]) for place in columns]).encode()).digest()
