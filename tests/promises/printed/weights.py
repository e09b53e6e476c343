"""Ways to run multiplicative weights that are not private, or not useful: as printed, or as one might think."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.model.factored import Factored
from sfumato.noise import Noise
from sfumato.papers.query_release.weights.choosers import Disjoint
from sfumato.papers.query_release.weights.evidence import Evidence
from sfumato.papers.query_release.weights.meter import Metered
from sfumato.papers.query_release.weights.mwem import MultiplicativeWeights
from sfumato.papers.query_release.weights.rounds import Transcript, fixed_rounds


@dataclass(frozen=True, kw_only=True)
class TrueTotal(MultiplicativeWeights):
    """Compares with the true number of rows where it is not public, and releases the noisy one."""

    def run(self, exact: Any, noise: Noise) -> Transcript:
        """Let the model speak of all rows there are."""
        metered = Metered(self.candidates, exact, noise)
        total = exact.total
        learner = self._learner(total, ())
        return Transcript(total, (), fixed_rounds(metered, learner, self.stage(), self.rounds))


@dataclass(frozen=True, kw_only=True)
class AllowedByData(MultiplicativeWeights):
    """Leaves out candidates by the data: those whose first column is hardly ever anything but 0."""

    def run(self, exact: Any, noise: Noise) -> Transcript:
        """Let the table say what a round may choose from."""
        metered = Metered(self.candidates, exact, noise)
        learner = self._learner(None, ())
        often = [int(exact.table(block.columns[:1])[1:].sum()) for block in self.candidates.blocks]
        learner.allowed = lambda: np.flatnonzero(np.array(often) == max(often))  # type: ignore[method-assign]
        return Transcript(None, (), fixed_rounds(metered, learner, self.stage(), self.rounds))


def printed_step(model: Factored, one: Evidence, step: float) -> Factored:
    """Return the update of figure 5.1: every cell is multiplied by the same number (QR:D4)."""
    surprise = float(one.surprise(model.marginal(one.columns))[0])
    return model.tilt(one.columns, np.full(model.space.shape(one.columns), step * surprise))


class AnySet(Disjoint):
    """Draws any set of so many different candidates, whether or not they share an attribute."""

    def draw(self, scores: Any, noise: Noise, allowed: Any) -> tuple[int, ...]:
        """Weigh all pairs."""
        assert self.count == 2
        weights = self._weights(scores.tolist())
        pairs = [(a, b) for a in range(len(weights)) for b in range(a)]
        drawn = noise.choose([0] * len(pairs), 1, [weights[a] * weights[b] for a, b in pairs])
        return pairs[drawn]


class Greedy(Disjoint):
    """Draws one candidate after the other from those that share no attribute with the ones before."""

    def draw(self, scores: Any, noise: Noise, allowed: Any) -> tuple[int, ...]:
        """Peel."""
        weights = self._weights(scores.tolist())
        chosen: list[int] = []
        used = 0
        while len(chosen) < self.count:
            open_ = [q for q, mask in enumerate(self.masks) if mask & used == 0]
            chosen.append(open_[noise.choose([0] * len(open_), 1, [weights[q] for q in open_])])
            used |= self.masks[chosen[-1]]
        return tuple(chosen)
