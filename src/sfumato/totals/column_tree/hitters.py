"""Which combinations of many columns are frequent: lists that grow together along a tree of columns."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import Number, above_zero, between_zero_and_one, positive_integer
from sfumato.exact.search import smallest_between
from sfumato.mechanism import Mechanism
from sfumato.noise import Above, Binomial, DiscreteLaplace, Noise
from sfumato.privacy import REPLACE_ONE, Cost, Loss
from sfumato.privacy.profile import Tree
from sfumato.select.threshold import exceedance
from sfumato.totals.column_tree.certificate import path_cost
from sfumato.totals.column_tree.tree import ColumnTree
from sfumato.totals.sparse_noise import skipped
from sfumato.workload.records import Records

Codes = NDArray[np.int64]

MOST = 100_000
"""How long a list may grow before the search gives up."""


@dataclass(frozen=True)
class Family:
    """The lists of all joins: each row names one code for every block below the join, in rising order.

    `overflow` says that the last list grew longer than allowed, and is left out with all that would follow.
    """

    lists: tuple[Codes, ...]
    sizes: tuple[int, ...]
    overflow: bool = False


@dataclass(frozen=True)
class Found:
    """The records that were found, sorted; the length of each list on the way; whether one grew too long.

    An overflow is an answer like any other: it says that the thresholds were too low for this table.
    """

    records: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]
    overflow: bool = False


@dataclass(frozen=True, kw_only=True)
class HeavyHitters(Mechanism):
    """The records that occur often, out of a domain too large to list, without a delta.

    Each join of the tree keeps the pairs of what its children kept, those with max(count, clip) + Z > threshold of its
    level, where Z is discrete Laplace noise of `scale`. Clips rise by at least 1 from a level to the next.

    Promise, replace-one, one row a person: a change of attributes below one lowest join costs the certificate of its
    path (`certificate.path_cost`); other changes the sum over the lowest joins that they touch. It covers all lists,
    not the last one alone. A tree of a single block costs nothing and lists the block.

    Input: `Records`, one row a person. Output: `Found`. Spec: PDP-HH, with the exact certificate re-derived for
    discrete noise in place of Lemma 28. Only bits are drawn: exact coins for pairs above the clip, and for the others
    their number and their places. Time: a sort of the distinct rows for each join, plus the lists. Time and memory
    depend on how many pairs are above a clip, which is private: do not publish them.
    """

    spec: ClassVar[str] = "PDP-HH"

    tree: ColumnTree
    scale: Fraction
    thresholds: tuple[int, ...]
    clips: tuple[int, ...]
    most: int = MOST

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", above_zero(self.scale, "scale"))
        object.__setattr__(self, "reads", self.tree.attributes(self.tree.root))
        positive_integer(self.most, "most")
        if self.relation is not REPLACE_ONE:
            raise ParameterError("Frequent records are found among a public number of rows; use relation=REPLACE_ONE.")
        if not len(self.thresholds) == len(self.clips) == self.tree.height:
            raise ParameterError(f"The tree has {self.tree.height} levels; write one threshold and one clip for each.")
        if any(clip < 0 or threshold <= clip for threshold, clip in zip(self.thresholds, self.clips, strict=True)):
            raise ParameterError("Clips are zero or more, and every threshold lies above the clip of its level.")
        self._check_clips()

    def _check_clips(self) -> None:
        if any(above < below + 1 for below, above in zip(self.clips, self.clips[1:], strict=False)):
            raise ParameterError(
                "Clips must rise by at least 1 from each level to the next: otherwise one record is counted again at "
                "every level, and the promise does not hold."
            )

    @property
    def law(self) -> DiscreteLaplace:
        """The noise behind each coin."""
        return DiscreteLaplace(self.scale)

    def cost_of(self, path: tuple[int, ...]) -> Fraction:
        """Return the certificate of the levels on a path."""
        return path_cost(self.scale, *self.levels(path))

    def levels(self, path: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the thresholds and the clips on a path."""
        return tuple(self.thresholds[level - 1] for level in path), tuple(self.clips[level - 1] for level in path)

    def loss(self) -> Loss:
        """Return the certificates of all paths, by the attributes that change."""
        nodes = tuple((names, Cost.pure(self.cost_of(path))) for names, path in self.tree.charged())
        return Loss(Tree(nodes)) if nodes else Loss.flat(Cost.zero(), self.reads)

    def run(self, exact: Records, noise: Noise) -> Found:
        """Find the records."""
        family = self.family(exact, noise)
        if family.overflow:
            return Found((), family.sizes, True)
        return Found(self._records(family), family.sizes)

    def family(self, exact: Records, noise: Noise) -> Family:
        """Draw the lists of all joins, bottom up."""
        tree, counts = self.tree, exact.counts
        members: list[Codes | None] = [None] * len(tree.blocks)
        lengths = [tree.cells(block) for block in tree.blocks]
        places = [_block_codes(exact.codes, block, tree.space.sizes) for block in tree.blocks]
        sizes: list[int] = []
        for left, right, level in tree.joins:
            seen = (places[left] >= 0) & (places[right] >= 0)
            pairs = np.where(seen, places[left] * lengths[right] + places[right], -1)
            kept = self._keep(pairs, counts, lengths[left] * lengths[right], level, noise)
            sizes.append(len(kept) if isinstance(kept, np.ndarray) else kept)
            if not isinstance(kept, np.ndarray):
                return Family(tuple(part for part in members if part is not None), tuple(sizes), True)
            members.append(_joined(kept, members[left], members[right], lengths[right]))
            lengths.append(len(kept))
            places.append(_positions(kept, pairs))
            # What was joined is not needed again.
            places[left] = places[right] = np.empty(0, np.int64)
        return Family(tuple(part for part in members if part is not None), tuple(sizes))

    def _keep(self, pairs: Codes, counts: Codes, candidates: int, level: int, noise: Noise) -> Codes | int:
        """Return the pairs that pass, sorted, or their number if they are too many to list."""
        threshold, clip = self.thresholds[level - 1], self.clips[level - 1]
        distinct, inverse = np.unique(pairs, return_inverse=True)
        totals = np.zeros(len(distinct), np.int64)
        np.add.at(totals, inverse, counts)
        above = (distinct >= 0) & (totals > clip)
        large = distinct[above]
        passing = [self._coin(threshold - int(count), noise) for count in totals[above]]
        kept = large[np.array(passing, dtype=bool)] if passing else large
        rest = candidates - len(large)
        number = noise.draw(Binomial(rest, Above(self.law, threshold - clip))) if rest else 0
        if len(kept) + number > self.most:
            return len(kept) + number
        others = skipped(large.tolist(), noise.subset(rest, number)) if number else []
        return np.sort(np.concatenate([kept, np.array(others, dtype=np.int64)]))

    def _coin(self, level: int, noise: Noise) -> bool:
        """Draw whether discrete Laplace noise exceeds a level, from two coins whose chances are exact.

        P[Z > t] = exp(-(t+1)/scale)/(1 + exp(-1/scale)) for t >= 0, and P[Z > t] = 1 - P[Z > -t-1]. No table is made
        for a level, because levels are private.
        """
        if level < 0:
            return not self._coin(-level - 1, noise)
        return noise.choose([0, 1], rate=-1 / self.scale) == 0 and noise.bernoulli_exp((level + 1) / self.scale)

    def _records(self, family: Family) -> tuple[tuple[int, ...], ...]:
        """Return the root's list as codes of the columns, in the order of the columns, sorted."""
        tree = self.tree
        if not tree.joins:
            cells = tree.cells(tree.blocks[0])
            rows = np.arange(cells if cells <= self.most else 0, dtype=np.int64)[:, None]
        else:
            rows = family.lists[-1]
        codes = np.zeros((len(rows), len(tree.space.names)), np.int64)
        for column, block in enumerate(tree.under(tree.root)):
            rest = rows[:, column]
            for place in reversed(tree.blocks[block]):
                rest, codes[:, place] = np.divmod(rest, tree.space.sizes[place])
        return tuple(sorted(map(tuple, codes.tolist())))

    def missed(self, count: int) -> Fraction:
        """Bound the probability that a record which occurs so often is not found, rounded up."""
        shares = [exceedance(self.scale, count - self.thresholds[level - 1]) for _, _, level in self.tree.joins]
        return min(sum(shares, Fraction(0)), Fraction(1))

    def smallest_found(self, confidence: Number = Fraction(95, 100)) -> int:
        """Return the count from which a record is found with at least this probability."""
        failure = 1 - between_zero_and_one(confidence, "confidence")
        low, high = 0, max(self.thresholds, default=0) + 1
        while self.missed(high) > failure:
            low, high = high, 2 * high
        found = smallest_between(low, high, lambda count: self.missed(count) <= failure)
        return found if self.tree.joins else 0


def _block_codes(codes: Codes, block: tuple[int, ...], sizes: tuple[int, ...]) -> Codes:
    found = np.zeros(len(codes), np.int64)
    for place in block:
        # A code outside its column, which a view never hands out, counts as the nearest one.
        found = found * sizes[place] + np.clip(codes[:, place], 0, sizes[place] - 1)
    return found


def _joined(kept: Codes, left: Codes | None, right: Codes | None, width: int) -> Codes:
    first, second = np.divmod(kept, width)
    parts = [
        first[:, None] if left is None else left[first],
        second[:, None] if right is None else right[second],
    ]
    return np.concatenate(parts, axis=1)


def _positions(kept: Codes, pairs: Codes) -> Codes:
    """Return where each row's pair stands in the list, -1 for rows whose pair was not kept."""
    if not len(kept):
        return np.full(len(pairs), -1, np.int64)
    places = np.minimum(np.searchsorted(kept, pairs), len(kept) - 1)
    return np.where(kept[places] == pairs, places, -1)
