"""Release by learning as it is printed: Figures 6.6 and 6.7 and the aggregation of PRIVLEARN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.noise import DiscreteLaplace, Noise
from sfumato.papers.query_release.learning.agnostic import AgnosticRelease, Following
from sfumato.papers.query_release.learning.oracle import Probe, ThresholdOracle, Verdict
from sfumato.papers.query_release.learning.trees import Grown, TreeRelease, grow


@dataclass(frozen=True, kw_only=True)
class PrintedTree(TreeRelease):
    """Figure 6.6, step 1: every query is answered with noise of scale 1/ε, whatever the number of queries."""

    def run(self, exact: Any, noise: Noise) -> Grown:
        bound = self.about.bind(exact)
        epsilon = self.loss().person.epsilon
        law = DiscreteLaplace(1 / epsilon)
        limit = self.steepness * self.divisor(None)
        tree = grow(
            self.about.size,
            bound.rises,
            None,
            lambda value, level: bool(int(value) + noise.draw(law) > limit),
            most_leaves=self.most_leaves,
        )
        values = tuple(bound.mean(leaf, tree.free(leaf)) + noise.draw(law) for leaf in tree.leaves)
        return Grown(None, tree, values)


@dataclass(frozen=True, kw_only=True)
class Forgetful(ThresholdOracle):
    """Draws anew for every threshold of a query that has its slot."""

    def step(self, state: dict[str, Any], exact: Probe, noise: Noise) -> tuple[dict[str, Any], Verdict, bool]:
        if exact.query not in state["known"]:
            return super().step(state, exact, noise)
        rest = {key: value for key, value in state["known"].items() if key != exact.query}
        return super().step({"known": rest, "left": state["left"] + 1}, exact, noise)


def printed_aggregate(hypotheses: list[Any], asked: Any) -> Any:
    """Figure 7.2, step 4: the smallest i with h_i(q) = 1 and h_{i-1}(q) = 0, where h_0 = 0 and h_{k+1} = 1."""
    votes = np.stack([np.zeros(len(asked)), *(one(asked) for one in hypotheses), np.ones(len(asked))])
    return np.argmax((votes[1:] == 1) & (votes[:-1] == 0), axis=0) + 1


class PrintedFollowing(Following):
    """Figure 6.7, step 3: exp(η·q) whatever the sign of the gap."""

    def _direction(self, sign: int) -> int:
        return 1


class PrintedRounds(AgnosticRelease):
    """Figure 6.7 as it is printed."""

    def _model(self, total: int | None) -> PrintedFollowing:
        known = super()._model(total)
        return PrintedFollowing(known.candidates, known.people, known.gap, known.tolerance)
