"""Promises of distributions: cuts at medians, counts between them, trees of counts, points of windows of ranks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato import ADD_REMOVE, Approximate, Concentrated, Pure, select
from sfumato.noise import DiscreteGaussian, DiscreteLaplace
from sfumato.papers.private_learning.faithful_sanitizers import SanThresholds
from sfumato.papers.private_learning.smooth_medians import SmoothMedian
from sfumato.papers.query_release.geometry.small_databases import databases_for
from sfumato.perturb import AdditiveNoise, sensitivity
from sfumato.questions.distribution import MedianTree, NodeTree
from sfumato.select.quasiconcave import HeaviestCell, InteriorPoint
from sfumato.select.quasiconcave.interior_point import NODE_MOVES
from tests.promises.case import PromiseCase
from tests.promises.printed.distribution import (
    AllBlocks,
    CutsOnly,
    LocalMedian,
    OccupiedNodes,
    OccupiedRanges,
    SortedBlocks,
    WindowPaths,
)

Table = tuple[np.ndarray, np.ndarray]
MOVED = sensitivity(largest=1, changed=2)
"""A replaced row leaves one cell and enters another."""


def rows(*codes: int) -> Table:
    return np.unique(np.array(codes, dtype=np.int64), return_counts=True)


def cuts(last: int, levels: int, epsilon: Any, kind: type = CutsOnly, **options: Any) -> CutsOnly:
    noise = AdditiveNoise(law=DiscreteLaplace(1), sensitivity=MOVED)
    return kind(first=0, last=last, levels=levels, epsilon=Fraction(epsilon), counts=noise, **options)


def counted(law: Any, last: int = 2, **options: Any) -> MedianTree:
    known = {"law": law, "sensitivity": options.pop("moves", MOVED), **options}
    return MedianTree(first=0, last=last, levels=1, epsilon=Fraction(1, 5), counts=AdditiveNoise(**known), **options)


def nodes(law: Any, last: int, kind: type = NodeTree, **options: Any) -> NodeTree:
    known = {"law": law, "sensitivity": options.pop("moves", MOVED), **options}
    return kind(first=0, last=last, branching=2, levels=2, threshold=0, noise=AdditiveNoise(**known), **options)


def grown(scale: Any, kind: type = NodeTree) -> NodeTree:
    """Return the tree of two codes for one row more or less, which moves one node of every level: three draws."""
    return nodes(DiscreteLaplace(scale), 1, kind, moves=sensitivity(1), relation=ADD_REMOVE)


ONE_LEVEL = cuts(4, 1, 1)
TWO_LEVELS = cuts(4, 2, "1/2")
ADDED = cuts(4, 2, 1, relation=ADD_REMOVE)
WEIGHED = cuts(2, 1, 1, weight=2)
COUNTS = counted(DiscreteLaplace(1), last=1)
ADDED_COUNTS = counted(DiscreteLaplace(1), moves=sensitivity(1), relation=ADD_REMOVE)
BELL = counted(DiscreteGaussian("1/2"))
TREE = grown("1/2")
BELL_TREE = nodes(DiscreteGaussian("1/4"), last=3)


def point(level: str, node: str, end: str) -> InteriorPoint:
    return InteriorPoint(
        bits=1,
        level_choice=select.exponential(Concentrated(level)),
        node_choice=HeaviestCell(law=DiscreteGaussian(node), moves=NODE_MOVES),
        end_law=DiscreteGaussian(end),
        low=0,
        high=1,
    )


RANKS = WindowPaths(first=0, size=2, people=2, ranks=(1,), radius=1, point=point("0.02", "1/2", "8"))
LIGHT = replace(RANKS.point.node_choice, law=DiscreteGaussian("1/8"))

LEAKY = Approximate(2, "1/4")
CUT = SanThresholds(
    first=0,
    last=1,
    calls=1,
    heavy=0,
    length_choice=select.exponential(Pure("1/10")),
    code_choice=select.choosing(LEAKY),
    window_choice=select.choosing(LEAKY, 2),
    scale=Fraction(1, 2),
)
EASY = replace(CUT.code_choice, threshold=1)
THRESHOLDS = [[int(code < cut) for code in range(4)] for cut in (1, 2, 3)]
BLOCKS = AllBlocks(inner=databases_for(THRESHOLDS, Pure(1), people=1, size=1), blocks=4)

MEDIAN = SmoothMedian(first=0, last=8, people=5, variance=Fraction(2), decay=Fraction(7, 8))

SWAP = (rows(*[0] * 9, *[4] * 9), rows(*[0] * 8, *[4] * 10))
"""Half on either side: whoever goes over moves both sides of the median, and every code between by two."""

CROWD = (rows(*[4] * 20), rows(0, *[4] * 19))
"""All at one end, so that one choice has nearly all of the weight: whoever goes over costs it all that is claimed."""

TWO_CROWDS = (rows(*[1] * 20, *[4] * 40), rows(0, *[1] * 20, *[4] * 39))
"""Cut at 2, then at 0 and at 3, each of which nearly never happens: the range below and the one above lose as much."""

CASES = [
    PromiseCase(
        name="cuts at medians, one level",
        spec_ids=("PL-SAN-THRESH-RQ",),
        mechanism=ONE_LEVEL,
        pairs=[
            (rows(*[0] * 9, *[4] * 8), rows(*[0] * 8, *[4] * 9)),
            SWAP,
            (rows(0), rows(4)),
            CROWD,
        ],
        mutants={
            "charged as for one row more or less": replace(ONE_LEVEL, epsilon=Fraction(2)),
            "half as steep again": replace(ONE_LEVEL, epsilon=Fraction(3, 2)),
        },
    ),
    PromiseCase(
        name="cuts at medians of medians, two levels",
        spec_ids=("PL-SAN-THRESH-RQ", "PL:C-PAR"),
        mechanism=TWO_LEVELS,
        pairs=[
            (rows(*[0] * 9, *[4] * 8), rows(*[0] * 8, *[4] * 9)),
            (rows(0, 0, 1, 3, 4, 4), rows(0, 1, 3, 4, 4, 4)),
            CROWD,
            (rows(*[0] * 12, *[1] * 5, *[4] * 8), rows(*[0] * 11, *[1] * 5, *[4] * 9)),
            TWO_CROWDS,
        ],
        mutants={
            "charged as for one row more or less": replace(TWO_LEVELS, epsilon=Fraction(1)),
            "half as steep again": replace(TWO_LEVELS, epsilon=Fraction(3, 4)),
            "ranges that nobody is in are not cut": cuts(4, 2, "1/2", OccupiedRanges),
        },
    ),
    PromiseCase(
        name="cuts at medians of medians, one row more or less",
        spec_ids=("PL-SAN-THRESH-RQ", "PL:C-PAR"),
        mechanism=ADDED,
        pairs=[
            (rows(*[0] * 9, *[4] * 8), rows(*[0] * 9, *[4] * 9)),
            (rows(*[0] * 9, *[4] * 9), rows(*[0] * 9, *[4] * 10)),
            (rows(), rows(4)),
            (rows(*[4] * 20), rows(*[4] * 21)),
        ],
        mutants={
            "twice as steep": replace(ADDED, epsilon=Fraction(2)),
            "ranges that nobody is in are not cut": cuts(4, 2, 1, OccupiedRanges, relation=ADD_REMOVE),
        },
    ),
    PromiseCase(
        name="cuts at medians, two rows a person",
        spec_ids=("PL-SAN-THRESH-RQ",),
        mechanism=WEIGHED,
        pairs=[
            (rows(*[0] * 9, *[2] * 9), rows(*[0] * 7, *[2] * 11)),
            (rows(*[2] * 20), rows(0, 0, *[2] * 18)),
        ],
        mutants={"the weight of one row": replace(WEIGHED, weight=1)},
    ),
    PromiseCase(
        # Two codes have two cells, so that tails are short of nothing: a crowd at one of them shows the cut in full.
        name="a cut and the counts of its cells",
        spec_ids=("PL-SAN-THRESH-RQ",),
        mechanism=COUNTS,
        pairs=[(rows(*[1] * 20), rows(0, *[1] * 19))],
        mutants={
            "printed: Lap(1/eps) counts, which cost twice what is said (Theorem 15)": counted(
                DiscreteLaplace("1/2"), last=1
            ),
            "noise 5 % smaller": counted(DiscreteLaplace("19/20"), last=1),
            "a cut half as steep again": replace(COUNTS, epsilon=Fraction(3, 10)),
        },
        tail=1e-6,
        long=True,
    ),
    PromiseCase(
        name="a cut and the counts of its cells, one row more or less",
        spec_ids=("PL-SAN-THRESH-RQ",),
        mechanism=ADDED_COUNTS,
        pairs=[(rows(0, 0, 2), rows(0, 0, 2, 2))],
        mutants={
            "half the noise": replace(ADDED_COUNTS, counts=replace(ADDED_COUNTS.counts, law=DiscreteLaplace("1/2")))
        },
        tail=1e-3,
    ),
    PromiseCase(
        name="a cut and counts with Gaussian noise",
        spec_ids=("PL-SAN-THRESH-RQ", "TCDP:C-PAR"),
        mechanism=BELL,
        pairs=[(rows(0, 0, 2), rows(0, 2, 2)), (rows(0), rows(2))],
        mutants={"half the noise": counted(DiscreteGaussian("1/8"))},
        tail=1e-5,
    ),
    PromiseCase(
        name="a tree of counts that grows where they are large",
        spec_ids=("PDP:C-7",),
        mechanism=TREE,
        pairs=[(rows(0, 0, 0), rows(0, 0, 0, 0)), (rows(), rows(0))],
        mutants={
            "levels not charged": grown("1/4"),
            "noise 5 % smaller": grown("19/40"),
            "only nodes that somebody is in": grown("1/2", OccupiedNodes),
        },
        tail=1e-4,
    ),
    PromiseCase(
        # Of four codes all nodes are split; of three the last one is a node alone, and moves at one level only.
        name="a tree of counts with Gaussian noise",
        spec_ids=("PDP:C-7", "PDP:C-13"),
        mechanism=BELL_TREE,
        pairs=[(rows(*[0] * 4, *[2] * 4), rows(*[0] * 3, *[2] * 5))],
        mutants={"levels not charged": nodes(DiscreteGaussian("1/8"), last=3)},
        tail=1e-4,
        long=True,
    ),
    PromiseCase(
        name="a code of a given rank",
        spec_ids=("TCDP-CDF",),
        mechanism=RANKS,
        pairs=[(rows(0, 0), rows(0, 1)), (rows(0, 1), rows(1, 1))],
        mutants={
            "half the noise on nodes": replace(RANKS, point=replace(RANKS.point, node_choice=LIGHT)),
        },
        tail=1e-5,
    ),
    PromiseCase(
        # Choosing has cases of its own; here the threshold is seen to be needed, and the counts to be noisy.
        name="a window around many rows and its counts, one call",
        spec_ids=("PL-SAN-THRESH",),
        mechanism=CUT,
        pairs=[(rows(0), rows(1)), (rows(*[0] * 9), rows(*[0] * 8, 1))],
        mutants={
            "threshold that one person passes": replace(CUT, code_choice=EASY),
            "a fifth of the noise in the counts": replace(CUT, scale=Fraction(1, 10)),
        },
        tail=1e-5,
    ),
    PromiseCase(
        name="small databases of blocks of people",
        spec_ids=("PL-SAN-BLOCKS", "PL-SAN-BLR"),
        mechanism=BLOCKS,
        pairs=[([1, 1, 1, 1], [0, 1, 1, 2])],
        mutants={
            "blocks in the order of the values": SortedBlocks(inner=BLOCKS.inner, blocks=4),
            "ten times as steep": replace(BLOCKS, inner=replace(BLOCKS.inner, rate=10 * BLOCKS.inner.rate)),
        },
    ),
    PromiseCase(
        name="a median with noise that follows the data",
        spec_ids=("TCDP-SMOOTH", "TCDP:C-SMOOTH"),
        mechanism=MEDIAN,
        pairs=[
            (rows(0, 0, 0, 8, 8), rows(0, 0, 8, 8, 8)),
            (rows(4, 4, 4, 4, 4), rows(4, 4, 4, 4, 8)),
            (rows(0, 4, 4, 4, 8), rows(4, 4, 4, 8, 8)),
            (rows(0, 0, 4, 4, 4), rows(0, 0, 0, 4, 4)),
        ],
        mutants={
            "half the noise": replace(MEDIAN, variance=MEDIAN.variance / 4),
            "the local sensitivity alone": LocalMedian(**vars(MEDIAN)),
            "a width that falls faster than is said": replace(MEDIAN, decay=Fraction(1, 4)),
        },
        tail=1e-7,
    ),
]
