"""From evidence to a model: which engine, how hard it tries, and how far noise moved the result (post-processing)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np

from sfumato.model.base import Model
from sfumato.model.factored import Component, Factored
from sfumato.model.joined import Joined, part_of
from sfumato.model.mixture import Mixture
from sfumato.questions.synthesis.evidence import MOST_CELLS, Columns, Evidence
from sfumato.questions.synthesis.fit_dense import STEPS, DenseFit
from sfumato.questions.synthesis.fit_mixture import Effort, MixtureFit, effort, public_jitter
from sfumato.questions.synthesis.standing import Judged, connected, judged
from sfumato.show.progress import quiet
from sfumato.totals.tables.contrasts import Floats, centred
from sfumato.workload.space import Space

QUICK = Effort(60, 150)
QUICK_STEPS = 60
JUDGED = 200
"""So many tables are looked at to predict an error."""


def is_dense(sizes: Sequence[int]) -> bool:
    """Tell whether all cells are few enough to be held at once."""
    return prod(sizes) <= MOST_CELLS


def strength(ratio: float, columns: int) -> float:
    """Return how strongly a mixture is held to independence: factor·n/sigma.

    The gradient of one class adds up the noise of all other columns, so that the factor grows with their number; it
    grows slowly with the noise. The constants were set by looking at true errors on Adult, compas and tables made by
    random latent classes and random trees; they are the same for every table and read none.
    """
    crowd = float((max(1, columns - 1) / 13) ** 0.7)
    return crowd * 3.4 * float(ratio**0.81)


def fitted(
    evidence: Evidence,
    space: Space,
    total: float,
    *,
    quick: bool = False,
    progress: Callable[[float], None] = quiet,
) -> Model:
    """Return the model that fits the evidence: of all cells where they are few, a mixture of products elsewhere."""
    found = judged(evidence)
    whole = [tuple(range(len(space.names)))]
    return Fit(evidence, found, space, total, quick, progress).of(whole if found.whole else found.groups())


def candidates(evidence: Evidence, space: Space, total: float, progress: Callable[[float], None]) -> list[Model]:
    """Return models to be compared with the data, the likeliest first and the product of one-way tables last (SY-PART).

    A group that all pairs together speak for, and the groups that pairs link by themselves, are both tried where only
    mixtures can hold the columns: a false link costs them much, and so does a lost one. One group comes first
    where it is the likelier of both.
    """
    found = judged(evidence)
    fit = Fit(evidence, found, space, total, False, progress)
    whole, apart, alone = [tuple(range(len(space.names)))], found.groups(), connected(len(space.names), [])
    tried = [whole] if found.whole else []
    if not found.whole or not is_dense(evidence.sizes):
        tried.insert(0 if found.falls_apart else len(tried), apart)
    return [fit.of(groups) for groups in [*dict.fromkeys(map(tuple, tried)), *([alone] if alone not in tried else [])]]


@dataclass(frozen=True)
class Fit:
    """From evidence to models of independent groups of columns."""

    evidence: Evidence
    found: Judged
    space: Space
    total: float
    quick: bool
    progress: Callable[[float], None]

    def of(self, groups: Sequence[Columns]) -> Model:
        """Return the product of the models of some groups: of all cells of few, mixtures of products elsewhere."""
        sizes, names = self.evidence.sizes, self.space.names
        small = [group for group in groups if is_dense([sizes[place] for place in group])]
        large = [group for group in groups if group not in small]
        parts: list[Model] = [self._mixture(group) for group in large]
        if small:
            held = [name for place, name in enumerate(names) if any(place in group for group in small)]
            components = tuple(self._component(group) for group in small)
            parts.append(Factored(part_of(self.space, held), self.total, components))
        return parts[0] if len(parts) == 1 else Joined(self.space, self.total, tuple(parts))

    def _component(self, group: Columns) -> Component:
        names = tuple(self.space.names[place] for place in group)
        if len(group) == 1:
            return Component.of(names, self.found.ones[group[0]])
        fit = DenseFit(self.evidence, self.found, group, self.total)
        return Component(names, fit.log_weights(fit.run(self.progress, QUICK_STEPS if self.quick else STEPS)))

    def _mixture(self, group: Columns) -> Mixture:
        own = self.evidence.part(group)
        ratio = own.typical()
        plan = QUICK if self.quick else effort(own.sizes, ratio)
        weights, conditionals = MixtureFit(own, strength(ratio, len(group)), plan).run(self.progress)
        return Mixture(
            part_of(self.space, [self.space.names[place] for place in group]), self.total, weights, conditionals
        )


def predicted_error(model: Model, evidence: Evidence, tables: Sequence[Columns]) -> float:
    """Return about how far off the tables are: the model is measured again with fresh noise and fitted again.

    It is the mean total variation over the tables between both fits, raised where the pairs that were measured say
    that the fit also misses what is there; all from released numbers. What no pair shows is not in it.
    """
    measured = _measured_again(model, evidence)
    again = fitted(measured, model.space, model.total, quick=True)
    # Both sides with the same effort, so that only noise tells them apart.
    before = fitted(evidence, model.space, model.total, quick=True)
    names = model.space.names
    apart = []
    for columns in tables[:JUDGED]:
        wanted = [names[place] for place in columns]
        apart.append(0.5 * float(np.abs(before.marginal(wanted) - again.marginal(wanted)).sum()))
    missed = _missed(Refitted(model, before, again), evidence, measured)
    return missed * float(np.mean(apart)) if apart else 0.0


class Refitted(NamedTuple):
    """A model, the same in few steps, and one fitted in few steps to measurements of it."""

    model: Model
    before: Model
    again: Model


def _missed(models: Refitted, evidence: Evidence, measured: Evidence) -> float:
    """Return by how much the error of the pairs exceeds what noise alone gives; 1 if it does not.

    Stein's identity: |fit - truth|² is |fit - noisy|² - |noise|² + 2·noise·fit on average, and the last term is read
    from the measurements that were made up.
    """
    risk = spread = 0.0
    for columns, (noisy, precision) in evidence.centred.items():
        if len(columns) != 2 or precision <= 0:
            continue
        wanted = [models.model.space.names[place] for place in columns]
        found, before, again = (centred(one.marginal(wanted)) for one in models)
        drawn = measured.centred[columns][0] - found
        freedom = prod(size - 1 for size in noisy.shape)
        risk += float(((noisy - found) ** 2).sum() - freedom / precision + 2 * (drawn * (again - found)).sum())
        spread += float(((again - before) ** 2).sum())
    return math.sqrt(max(1.0, risk / spread)) if spread > 0 else 1.0


def _measured_again(model: Model, evidence: Evidence) -> Evidence:
    names = model.space.names
    cells = sum(table.size for table in evidence.ones) + sum(table.size for table, _ in evidence.centred.values())
    normal = iter(np.split(public_jitter(1, cells, b"sfumato error estimate").ravel(), _ends(evidence)))

    def noisy(columns: Columns, precision: float) -> Floats:
        table = model.marginal([names[place] for place in columns])
        drawn = next(normal).reshape(table.shape)
        return table + drawn / np.sqrt(precision) if precision > 0 else table

    ones = []
    for place, precision in enumerate(evidence.one_precisions):
        found = noisy((place,), precision)
        ones.append(found + (1 - found.sum()) / found.size)
    pairs = {
        columns: (centred(noisy(columns, precision)), precision) for columns, (_, precision) in evidence.centred.items()
    }
    return replace(evidence, ones=tuple(ones), centred=pairs)


def _ends(evidence: Evidence) -> list[int]:
    sizes = [table.size for table in evidence.ones] + [table.size for table, _ in evidence.centred.values()]
    return [int(end) for end in np.cumsum(sizes)[:-1]]


def judged_tables(columns: int, width: int) -> list[Columns]:
    """Return up to some hundred tables of a width, spread evenly over all of them."""
    every = list(combinations(range(columns), min(width, columns)))
    return every[:: max(1, -(-len(every) // JUDGED))]
