"""A private tree: grown by the sparse vector technique, one noisy mean in every leaf."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.mechanism import Event, Mechanism
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Noise, Priced
from sfumato.noise.laws.base import SMALLEST_SCALE
from sfumato.papers.query_release.learning.trees.coverage import Coverage
from sfumato.papers.query_release.learning.trees.declared import Declared
from sfumato.papers.query_release.learning.trees.grow import grow
from sfumato.papers.query_release.learning.trees.tree import SetTree
from sfumato.papers.query_release.weights.meter import noise_cost
from sfumato.papers.query_release.weights.rounds import law_json, rows_move, shown
from sfumato.privacy import Cost, Loss
from sfumato.select import SparseVector

PARTS = 1 << 20
"""Shares of the leaves are whole parts of so many."""

LEAST = 16
"""No leaf that can be reached gets less than this part of an even share, so that no noise is too wide to draw."""


@dataclass(frozen=True)
class Grown:
    """What was released: the noisy number of rows where it is not public, the tree, and a noisy mean for each leaf."""

    total: int | None
    tree: SetTree
    values: tuple[int | None, ...]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back."""
        return {"total": self.total, "tree": self.tree.to_json(), "values": list(self.values)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Grown:
        """Read what `to_json` wrote."""
        return cls(record["total"], SetTree.from_json(record["tree"]), tuple(record["values"]))


@dataclass(frozen=True, kw_only=True)
class TreeRelease(Mechanism):
    """A tree over sets in whose leaves a private set function hardly moves, and its mean in every leaf.

    Promise, for `relation` neighbours: the structure costs what the sparse vector technique does, over all tests of
    both stages together, with `most_leaves` - 1 positives (its threshold is drawn once; negative tests are free). A
    leaf's mean moves by at most v = `about.value_move`; its noise has the scale v/(share·`leaf_budget`) where the
    shares of all leaves are at most 1 together, so that the leaves cost `leaf_budget` in epsilon if `pure`, else
    v²/(2·share·`leaf_budget`) is the variance and they cost it in rho. Leaves that a random query rarely reaches get
    smaller shares, by what the released tree alone says. A noisy number of rows costs what `count_law` does.

    The thesis prints noise of scale 1/(ε·n) for every query, whatever their number (Figure 6.6): ε for each.

    Input: what `about.bind` takes. Output: `Grown`. Spec: RL-TREE-RELEASE. Time: a pass over the rows for every leaf.
    """

    spec: ClassVar[str] = "RL-TREE-RELEASE"

    about: Coverage | Declared
    most_leaves: int
    steepness: Fraction
    probe: SparseVector | None
    """The tests; thresholds are set by the levels."""
    pure: bool
    leaf_budget: Fraction
    people: int | None = None
    count_law: Priced | None = None
    ladder: tuple[Fraction, ...] = ()
    """Falling levels above the steepness, at which steeper elements are branched on first."""

    def __post_init__(self) -> None:
        if isinstance(self.about, Coverage) and (self.people is None) == (self.count_law is None):
            raise ParameterError("Give people= where their number is public, and count_law= where it is not.")
        if self.probe is None and self.most_leaves > 1:
            raise ParameterError("A tree of several leaves is grown by tests; give probe=, or most_leaves=1.")
        if self.probe is not None and self.probe.positives != self.most_leaves - 1:
            raise ParameterError("Every positive test makes one leaf more; give the probe most_leaves - 1 positives.")
        # The widest noise that a leaf of any tree may need is refused here, before anything is paid.
        self.law_of(Fraction(PARTS - self.most_leaves, PARTS * (LEAST + 1) * self.most_leaves))

    def loss(self) -> Loss:
        """Return the sum of the structure, the leaves and the number of rows."""
        leaves = Cost.pure(self.leaf_budget) if self.pure else Cost.concentrated(self.leaf_budget)
        if self.count_law is not None:
            leaves = leaves + noise_cost(self.count_law, rows_move(self._rows))
        total = Loss.flat(leaves, self.reads, self.relation)
        return total if self.probe is None else total + self.probe.loss()

    def run(self, exact: Any, noise: Noise) -> Grown:
        """Grow the tree, then measure its leaves."""
        bound = self.about.bind(exact)
        total = None if self.count_law is None else max(1, bound.total + noise.draw(self.count_law))
        tree = self._grown(bound, noise, self.divisor(total))
        values = []
        for leaf, law in zip(tree.leaves, self.laws(tree), strict=True):
            # A leaf that no query reaches is not measured: which ones is said by the tree.
            values.append(None if law is None else bound.mean(leaf, tree.free(leaf)) + noise.draw(law))
        return Grown(total, tree, tuple(values))

    def _grown(self, bound: Any, noise: Noise, divisor: int) -> SetTree:
        if self.probe is None:
            return grow(self.about.size, bound.rises, None, lambda value, level: False, most_leaves=1)
        probe = replace(self.probe, threshold=0)
        state = probe.start(noise)

        def above(value: Any, level: Fraction) -> bool:
            nonlocal state
            limit = int(level * divisor * self.about.marginal_step) + 1  # public: a level, and a number that was paid
            state, reply, _ = probe.step(state, int(value) - limit, noise)
            return bool(reply)

        falls = bound.falls if self.about.second_stage else None
        levels = (*self.ladder, self.steepness)
        return grow(self.about.size, bound.rises, falls, above, most_leaves=self.most_leaves, levels=levels)

    def divisor(self, total: int | None) -> int:
        """Return by what values are divided: the number of rows, or 1 for a declared function."""
        if isinstance(self.about, Declared):
            return 1
        return self.people if self.people is not None else max(1, total or 1)

    def laws(self, tree: SetTree) -> list[Priced | None]:
        """Return the noise of every leaf, from the released tree alone; None where no query comes."""
        parts = shares(self.about.reach(tree), 1 / 3 if self.pure else 1 / 2)
        return [self.law_of(share) if share else None for share in parts]

    def law_of(self, share: Fraction) -> Priced:
        """Return the noise of a leaf that gets this share of the budget of all leaves."""
        move = self.about.value_move
        if self.pure:
            return DiscreteLaplace(max(move / (share * self.leaf_budget), SMALLEST_SCALE))
        return DiscreteGaussian(max(move**2 / (2 * share * self.leaf_budget), SMALLEST_SCALE**2))

    def event(self) -> Event:
        """Return the public parameters, the law with its name."""
        return shown(super().event(), {"count_law": law_json(self.count_law)})

    @property
    def _rows(self) -> int:
        return self.about.rows if isinstance(self.about, Coverage) else 1


def shares(reach: NDArray[np.float64], power: float) -> list[Fraction]:
    """Return the part of the budget that each leaf gets: by a power of how often it is reached, at most 1 together.

    The power 1/3 for Laplace noise and 1/2 for Gaussian noise makes the mean square error over random queries smallest.

    >>> [float(part) for part in shares(np.array([0.5, 0.5, 0.0]), 1 / 3)]
    [0.5, 0.5, 0.0]
    """
    wanted = np.where(reach > 0, reach, 0.0) ** power
    count = int(np.count_nonzero(wanted))
    if count == 0:
        return [Fraction(0)] * len(reach)
    raised = np.where(wanted > 0, np.maximum(wanted / wanted.sum(), 1 / (LEAST * count)), 0.0)
    parts = np.floor(raised / raised.sum() * (PARTS - count)).astype(np.int64) + (raised > 0)
    if int(parts.sum()) > PARTS:
        raise AssertionError("Rounding down leaves room for one part a leaf.")
    return [Fraction(int(part), PARTS) for part in parts]
