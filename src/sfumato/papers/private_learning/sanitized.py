"""Releases of labelled rows from which any rule may be learned for free: counts of all cells, medians, a model."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.domain import Booleans, Categories
from sfumato.errors import DomainTooLarge
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.papers.private_learning.fitted import Row
from sfumato.perturb import AdditiveNoise, calibrate
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE, Bound, Cost, Loss
from sfumato.privacy.parallel import parallel
from sfumato.privacy.sensitivity import sensitivity
from sfumato.questions.distribution.facts import routes, share_of
from sfumato.questions.distribution.medians import MedianTree, cells_of
from sfumato.select.fit import range_epsilon
from sfumato.totals.sparse_noise import SparseNoise, cell_at, place_of, sparse_noise

Rows = tuple[tuple[Row, ...], Row, Row]
"""Rows in order, how many people stand for each, and how many of these have the second label."""
MEDIAN_SHARE = Fraction(7, 10)
"""The part of a spend that places the medians; the rest counts people."""
MOST_LEVELS = 10
MOST_CELLS = 1 << 16


@dataclass(frozen=True, kw_only=True)
class CountedRows(Mechanism):
    """Noisy counts of cells of features and label; `firsts` and `sizes` say which codes the features have."""

    spec: ClassVar[str] = "PL-SAN2LEARN"

    noise: Mechanism
    firsts: Row
    sizes: Row

    def loss(self) -> Loss:
        """Return the loss of the counts."""
        return self.noise.loss()


@dataclass(frozen=True, kw_only=True)
class CellRows(CountedRows):
    """Count every cell of features and label with noise.

    Promise: that of `noise` on the vector of all cells (PL-SAN2LEARN on top of it is free). Value: every row of the
    domain with its noisy numbers, which may be below zero. Time: the cells.
    """

    noise: AdditiveNoise

    def run(self, exact: Sample, noise: Noise) -> Rows:
        """Count, and add noise."""
        counts = np.zeros((*self.sizes, 2), dtype=np.int64)
        places = tuple(exact.codes[:, place].astype(np.int64) - first for place, first in enumerate(self.firsts))
        np.add.at(counts, (*places, exact.labels), exact.counts)
        noisy = self.noise.run(counts.reshape(-1, 2), noise)
        rows = tuple(cell_at(place, self.firsts, self.sizes) for place in range(len(noisy)))
        return rows, tuple(noisy.sum(axis=1).tolist()), tuple(noisy[:, 1].tolist())


def cell_rows(facts: LearningFacts, spend: Bound) -> CellRows:
    """Return the noisy counts of all cells for a spend."""
    sizes = facts.sizes()
    cells = 2 * math.prod(sizes)
    if cells > MOST_CELLS:
        raise DomainTooLarge(
            f"Features and label have {cells} cells together, and {MOST_CELLS} are the most that are counted one by "
            "one; write method='points', which publishes the large ones, or 'model'.",
            method="points",
        )
    noise = calibrate(
        spend, sensitivity(largest=1, changed=2), reads=facts.reads, draws=cells, gaussians=facts.gaussians
    )
    firsts = tuple(domain.first for domain in facts.domains)
    return CellRows(noise=noise, firsts=firsts, sizes=sizes, reads=facts.reads)


@dataclass(frozen=True, kw_only=True)
class PointRows(CountedRows):
    """Count every cell of features and label of a huge domain, and return those that no empty cell reaches.

    Promise: that of `noise` on the vector of all cells (PL-SAN-POINT-PURE, TCDP-HIST; PL-SAN2LEARN on top is free).
    Time: the distinct rows.
    """

    noise: SparseNoise

    def run(self, exact: Sample, noise: Noise) -> Rows:
        """Count, add noise, keep the large ones."""
        cells: dict[int, int] = {}
        columns = (exact.codes.tolist(), exact.labels.tolist(), exact.counts.tolist())
        for codes, label, count in zip(*columns, strict=True):
            place = place_of((*codes, label), self.firsts, self.sizes)
            cells[place] = cells.get(place, 0) + count
        published = self.noise.run(cells, noise)
        found = ((cell_at(place, self.firsts, self.sizes), count) for place, count in published)
        return merged((cell[:-1], cell[-1], count) for cell, count in found)


def point_rows(facts: LearningFacts, spend: Bound) -> PointRows:
    """Return the large ones of all noisy counts for a spend."""
    sizes = (*facts.sizes(), 2)
    noise = calibrate(spend, sensitivity(largest=1, changed=2), reads=facts.reads, draws=2, gaussians=facts.gaussians)
    firsts = (*(domain.first for domain in facts.domains), 0)
    return PointRows(noise=sparse_noise(noise, math.prod(sizes)), firsts=firsts, sizes=sizes, reads=facts.reads)


@dataclass(frozen=True, kw_only=True)
class MedianRows(Mechanism):
    """Release the distribution of one ordered feature for either label, each by a tree of medians.

    The labels part the people: a replaced person leaves one part and enters the other, or changes inside of one.
    Promise, replace-one: the one parallel rule on the losses of `tree` (PL-SAN2LEARN by PL-SAN-THRESH-RQ, PL:C-PAR).
    No sizes are released and nothing is padded, so it costs what the tree alone would cost, not three times that. A
    label that nobody has is run like the other. Time: near-linear in the people.
    """

    spec: ClassVar[str] = "PL-SAN2LEARN"

    tree: MedianTree

    def loss(self) -> Loss:
        """Return the cost of two parts between which a person may move."""
        inside = self.tree.loss().person
        counts = replace(self.tree.counts, relation=ADD_REMOVE, sensitivity=sensitivity(1))
        comes = replace(self.tree, relation=ADD_REMOVE, counts=counts).loss().person
        cost: Cost = parallel([comes, comes], REPLACE_ONE, inside=[inside, inside])
        return Loss.flat(cost, self.reads, self.relation)

    def run(self, exact: Sample, noise: Noise) -> Rows:
        """Run the tree on the people of either label; everybody of a cell stands at its last code."""
        found: list[tuple[Row, int, int]] = []
        for label in (0, 1):
            chosen = exact.labels == label
            codes, where = np.unique(exact.codes[chosen, 0], return_inverse=True)
            counts = np.zeros(len(codes), dtype=np.int64)
            np.add.at(counts, where.ravel(), exact.counts[chosen])
            cells = self.tree.run((codes, counts), noise)
            ends = cells_of(cells.cuts, self.tree.first, self.tree.last)
            found += [((high,), label, count) for (_, high), count in zip(ends, cells.counts, strict=True)]
        return merged(found, signed=True)


def median_rows(facts: LearningFacts, spend: Bound, accuracy: float) -> MedianRows:
    """Return the trees for a spend; as many levels as a quarter of the accuracy needs."""
    levels = min(MOST_LEVELS, max(1, math.ceil(math.log2(8 / accuracy))))
    bounds = routes(spend)
    widest = [range_epsilon(share_of(bound, MEDIAN_SHARE / levels)) for bound in bounds]
    best = max(range(len(bounds)), key=lambda place: widest[place])
    counts: AdditiveNoise = calibrate(
        share_of(bounds[best], 1 - MEDIAN_SHARE),
        sensitivity(largest=1, changed=2),
        reads=facts.reads,
        gaussians=facts.gaussians,
    )
    domain = facts.domains[0]
    tree = MedianTree(
        first=domain.first,
        last=domain.first + facts.sizes()[0] - 1,
        levels=levels,
        # Replaced inside of its range, a person moves a score by twice as much as one who comes or goes.
        epsilon=widest[best] / 2,
        counts=counts,
        reads=facts.reads,
    )
    return MedianRows(tree=tree, reads=facts.reads)


def ordered(facts: LearningFacts) -> bool:
    """Tell whether there is one feature, and its codes have an order."""
    return len(facts.domains) == 1 and not isinstance(facts.domains[0], (Categories, Booleans))


def merged(found: Iterable[tuple[Row, int, int]], *, signed: bool = False) -> Rows:
    """Return sorted rows with their numbers; what noise took below zero counts as nobody, unless signs are kept.

    >>> merged([((3,), 1, 5), ((2,), 0, 4), ((3,), 0, -2), ((9,), 1, 0)])
    (((2,), (3,)), (4, 5), (0, 5))
    """
    total: dict[Row, int] = {}
    ones: dict[Row, int] = {}
    for row, label, count in found:
        if signed or count > 0:
            key = tuple(map(int, row))
            total[key] = total.get(key, 0) + int(count)
            ones[key] = ones.get(key, 0) + (int(count) if label == 1 else 0)
    rows = tuple(sorted(total))
    return rows, tuple(total[row] for row in rows), tuple(ones[row] for row in rows)


def unsigned(value: Rows) -> Rows:
    """Return the rows without numbers below zero, for classifiers that cannot read them."""
    rows, counts, ones = value
    both = zip(rows, counts, ones, strict=True)
    return merged(entry for row, count, one in both for entry in ((row, 0, count - one), (row, 1, one)))
