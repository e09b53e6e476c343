"""Distributions that do not keep the promise: with a safeguard taken out; and cuts looked at without the counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato import Noise
from sfumato.papers.private_learning.faithful_sanitizers import SplitDatabases
from sfumato.papers.private_learning.smooth_medians import SmoothMedian
from sfumato.privacy import Loss
from sfumato.questions.distribution import MedianTree, NodeTree, RankWindows
from sfumato.questions.distribution.codes import Coded
from sfumato.questions.distribution.medians import level_cost


@dataclass(frozen=True, kw_only=True)
class CutsOnly(MedianTree):
    """The shipped cuts without the counts, so that all of the claim is theirs."""

    def loss(self) -> Loss:
        return Loss.flat(self.levels * level_cost(self.epsilon, self.relation), self.reads, self.relation)

    def run(self, exact: Any, noise: Noise) -> Any:
        return self.cuts(Coded.of(*exact), noise)


@dataclass(frozen=True, kw_only=True)
class OccupiedRanges(CutsOnly):
    """Cuts only ranges that somebody is in."""

    def _median(self, coded: Coded, low: int, high: int, noise: Noise) -> int:
        if coded.below(low) == coded.below(high + 1):
            return low
        return super()._median(coded, low, high, noise)


@dataclass(frozen=True, kw_only=True)
class OccupiedNodes(NodeTree):
    """Publishes only nodes that somebody is in."""

    def run(self, exact: Any, noise: Noise) -> Any:
        coded = Coded.of(*exact)
        found = super().run(exact, noise)
        return [[n[:2] for n in level if coded.below(n[0]) < coded.below(n[1] + 1)] for level in found]


@dataclass(frozen=True, kw_only=True)
class WindowPaths(RankWindows):
    """The shipped windows, looked at more closely: all that every interior point draws."""

    def run(self, exact: Any, noise: Noise) -> Any:
        coded = Coded.of(*exact)
        return [tuple(self.point.path(self.window(coded, rank), noise)) for rank in self.ranks]


@dataclass(frozen=True, kw_only=True)
class AllBlocks(SplitDatabases):
    """The shipped blocks, looked at more closely: the database of every one of them."""

    def run(self, exact: Any, noise: Noise) -> Any:
        return [part.tolist() for part in self.chosen(np.asarray(exact), noise)]


@dataclass(frozen=True, kw_only=True)
class SortedBlocks(AllBlocks):
    """Splits the people in the order of their values, without a shuffle."""

    def _order(self, rows: int, noise: Noise) -> list[int]:
        return list(range(rows))


@dataclass(frozen=True, kw_only=True)
class LocalMedian(SmoothMedian):
    """Noise for the local sensitivity itself, which two neighbours may not share at all."""

    def width(self, around: list[int]) -> Fraction:
        middle = len(around) // 2
        nearest = max(around[middle + 1] - around[middle], around[middle] - around[middle - 1])
        return Fraction(max(nearest, 1))
