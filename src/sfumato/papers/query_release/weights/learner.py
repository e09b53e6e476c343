"""The model that is learned from released rounds alone, and which candidates it can still take in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from sfumato.errors import DomainTooLarge
from sfumato.model.factored import Component, Factored
from sfumato.noise import Priced
from sfumato.papers.query_release.weights.candidates import Candidates, Floats, Integers
from sfumato.papers.query_release.weights.evidence import Evidence, Fitting, replayed, step_towards
from sfumato.papers.query_release.weights.predict import Predictor

DENSE = 2**16
"""Up to so many cells the model starts as one explicit table; above, as independent columns that merge when needed."""

WORK = 2**24
"""So many cells are gone through by the replay of one round, at least once for every measurement."""

UNIFORM_SHARE = 0.1
"""What a start from a noisy histogram leaves to the uniform law, so that nothing is impossible."""


@dataclass(frozen=True)
class Round:
    """What one round released: the candidates it chose and their noisy numbers; `stage` counts doublings."""

    chosen: tuple[int, ...]
    values: tuple[tuple[int, ...], ...]
    stage: int = 0


class Learner:
    """Follows rounds with a factored model; deterministic, so that the same rounds always give the same model."""

    def __init__(
        self, candidates: Candidates, total: float, fitting: Fitting, max_cells: int, *, dense: bool | None = None
    ) -> None:
        self.candidates = candidates
        self.total = total
        self.fitting = fitting
        space = candidates.workload.space
        whole = dense if dense is not None else space.cells <= min(DENSE, max_cells) or fitting.output == "average"
        groups = None if whole else [(name,) for name in space.names]
        self.model = Factored.uniform(space, total, groups, max_cells)
        self.known: dict[int, Evidence] = {}
        self.sum: Floats | None = None
        self.rounds: list[tuple[Round, tuple[Priced, ...]]] = []
        self.history: list[Floats] = []
        self._first = self.model
        self._predict = Predictor(candidates)

    def start_from(self, counts: Integers, noise_scale: float) -> None:
        """Start from a noisy histogram of all cells: those above the noise, mixed with the uniform law (QR-MWEM, 2)."""
        kept = np.where(counts > noise_scale * np.log(max(counts.size, 2)), counts, 0).astype(np.float64)
        share = UNIFORM_SHARE if kept.sum() > 0 else 1.0
        law = (1 - share) * kept / max(kept.sum(), 1.0) + share / counts.size
        space = self.model.space
        self.model = self._first = replace(self.model, components=(Component(space.names, np.log(law)),))

    def predicted(self) -> Floats:
        """Return what the model expects of all candidates, in persons times width."""
        found = self._predict(self.model)
        if self.fitting.output == "best_fit":
            self.history.append(found / self.candidates.width)
        return found * self.total

    def allowed(self) -> Integers | None:
        """Return the candidates whose columns still fit one component; None if all do. A function of past outputs."""
        cap = self.model.max_cells
        if self.model.space.cells <= cap:
            return None
        sizes = {name: (id(one), one.log_weights.size) for one in self.model.components for name in one.columns}
        fits = [prod(dict(sizes[name] for name in block.columns).values()) <= cap for block in self.candidates.blocks]
        if all(fits):
            return None
        spread = fits if self.candidates.tables else np.repeat(fits, np.diff(self.candidates.starts))
        return np.flatnonzero(spread)

    def learn(self, one: Round, laws: tuple[Priced, ...]) -> None:
        """Take in a round; `laws` are those of the noise in each of its measurements."""
        if self.fitting.output == "average":
            chances = self.model.components[0].probabilities
            self.sum = chances.copy() if self.sum is None else self.sum + chances
        self.rounds.append((one, laws))
        batch = [self._take(*found) for found in zip(one.chosen, one.values, laws, strict=True) if self._join(found[0])]
        if not self.fitting.damped:
            self.model = step_towards(self.model, batch, self.fitting.step)
        if self.fitting.passes and self.known:
            self.model = replayed(self.model, self.known, self._bounded())

    def _join(self, candidate: int) -> bool:
        """Join the columns of a candidate; tell whether they fit one component.

        Of several candidates of one round each fits alone, and all of them together need not: the later ones are then
        left out, by what was released alone.
        """
        columns = self.candidates.blocks[self.candidates.block_of(candidate)].columns
        if self.model.cells_after(columns) > self.model.max_cells:
            return False
        self.model = self.model.merge(columns)
        return True

    def _bounded(self) -> Fitting:
        """Return the fitting with fewer passes where one is long: those of later rounds go on where it stopped."""
        if not self.fitting.damped:
            return self.fitting
        work = len(self.known) * max(component.log_weights.size for component in self.model.components)
        return replace(self.fitting, passes=max(1, min(self.fitting.passes, WORK // work)))

    def result(self) -> Factored:
        """Return the model that the fitting asks for."""
        if self.fitting.output == "average" and self.sum is not None:
            whole = self.model.components[0]
            return replace(self.model, components=(Component(whole.columns, np.log(self.sum / len(self.rounds))),))
        if self.fitting.output == "best_fit" and self.rounds:
            return self._best()
        return self.model

    def _take(self, candidate: int, values: tuple[int, ...], law: Priced) -> Evidence:
        """Note a measurement; of a candidate measured before, both count by their precision."""
        scale = self.total * self.candidates.width
        mean, variance = np.array(values, dtype=np.float64) / scale, law.spread() / scale**2
        before = self.known.get(candidate)
        if before is not None:
            self.known[candidate] = before.again(mean, variance)
            return replace(before, mean=mean, variance=variance)
        columns, table = self.candidates.query(candidate)
        query = None if self.candidates.tables else table
        self.known[candidate] = Evidence(columns, query, mean, variance, np.zeros(mean.shape))
        return self.known[candidate]

    def _best(self) -> Factored:
        """Return the model after the round at which all measurements fitted best."""
        last = self._predict(self.model) / self.candidates.width
        misfits = [self._misfit(found) for found in [*self.history[1:], last]]
        best = int(np.argmin(misfits)) + 1
        if best == len(self.rounds):
            return self.model
        again = Learner(
            self.candidates, self.total, replace(self.fitting, output="last"), self.model.max_cells, dense=None
        )
        again.model = self._first
        for one, laws in self.rounds[:best]:
            again.learn(one, laws)
        return again.model

    def _misfit(self, expected: Floats) -> float:
        found = 0.0
        for candidate, one in self.known.items():
            gaps = np.clip(one.mean, 0, 1) - expected[self.candidates.slots(candidate)]
            found += float((gaps**2).sum()) / one.variance
        return found


def require_fitting(candidates: Candidates, max_cells: int) -> None:
    """Refuse a workload none of whose tables fits a component: a public fact."""
    if min(block.cells for block in candidates.blocks) > max_cells:
        raise DomainTooLarge(
            f"Every table of this workload has more than {max_cells} cells; ask for fewer columns at a time, derive "
            "coarser bins in the schema, or raise max_cells.",
            method="width=2",
        )


def require_whole(candidates: Candidates, max_cells: int, *, needed: bool) -> None:
    """Refuse what needs all cells in one table where there are more than a component may have: a public fact."""
    cells = candidates.workload.space.cells
    if needed and cells > max_cells:
        raise DomainTooLarge(
            f"A noisy histogram, an average of models and a dense model need all {cells} cells, and the most is "
            f"{max_cells}; write output='last' and start='uniform', which use the factored model.",
            method="output='last'",
        )
