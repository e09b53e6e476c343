"""Frequent records with their noisy counts: a histogram over a domain too large to list, without a delta."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.exact import above_zero
from sfumato.mechanism import Mechanism
from sfumato.noise import DiscreteLaplace, Noise
from sfumato.privacy import REPLACE_ONE, Cost, Loss
from sfumato.privacy.combined import Minimum
from sfumato.privacy.profile import Tree
from sfumato.totals.column_tree.certificate import acceptance_cost
from sfumato.totals.column_tree.hitters import Found, HeavyHitters
from sfumato.workload.records import Records


@dataclass(frozen=True)
class Counted:
    """The records that were found, their noisy counts, and what `Found` says besides."""

    records: tuple[tuple[int, ...], ...]
    counts: tuple[int, ...]
    sizes: tuple[int, ...]
    overflow: bool = False


@dataclass(frozen=True, kw_only=True)
class PopularCounts(Mechanism):
    """Finds the frequent records, then counts those found with discrete Laplace noise of `scale`.

    Promise, replace-one, one row a person: the loss of finding them, plus 2/scale, because a changed record moves two
    counts by 1 (PDP-HIST; the printed Theorem 15 charges half of that). For changes below one lowest join the sum of
    what follows holds too, and the smaller one is stated: what the kept string costs along its path, 1/scale for its
    count, and the larger of 1/scale and 1/(scale of the search) for the string that won a row, because a string that
    was rejected on the way has no count. Sets of attributes below several lowest joins add these up.

    Input: `Records`. Output: `Counted`, sorted by record. Time: that of the search.
    """

    spec: ClassVar[str] = "PDP-HIST"

    hitters: HeavyHitters
    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", above_zero(self.scale, "scale"))
        object.__setattr__(self, "reads", self.hitters.reads)
        object.__setattr__(self, "relation", REPLACE_ONE)
        self.law  # noqa: B018  noise that cannot be drawn is refused before it is paid

    @property
    def law(self) -> DiscreteLaplace:
        """The noise on each count."""
        return DiscreteLaplace(self.scale)

    def loss(self) -> Loss:
        """Return the smaller of the two bounds, for every set of attributes."""
        counted = Loss.flat(Cost.pure(2 / self.scale), self.reads)
        added = self.hitters.loss() + counted
        nodes = tuple((names, Cost.pure(self._along(path))) for names, path in self.hitters.tree.charged())
        return Loss(Minimum((added.profile, Tree(nodes)))) if nodes else added

    def _along(self, path: tuple[int, ...]) -> Fraction:
        search = self.hitters.scale
        kept = acceptance_cost(search, *self.hitters.levels(path))
        return kept + 1 / self.scale + max(1 / search, 1 / self.scale)

    def run(self, exact: Records, noise: Noise) -> Counted:
        """Find the records, and count them."""
        found = self.hitters.run(exact, noise)
        true = _counts(exact, found)
        noisy = (true + noise.draw(self.law, len(true))).tolist()
        return Counted(found.records, tuple(noisy), found.sizes, found.overflow)


def _counts(exact: Records, found: Found) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return how often each record occurs."""
    known = dict(zip(map(tuple, exact.codes.tolist()), exact.counts.tolist(), strict=True))
    return np.array([known.get(record, 0) for record in found.records], dtype=np.int64)
