"""Promises of synopses: sums over sets of columns, trees of prefixes, hubs and cuts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato import ADD_REMOVE, EVERYTHING, REPLACE_ONE, Noise, Schema
from sfumato.audit import Neighbours
from sfumato.noise import DiscreteGaussian, DiscreteLaplace
from sfumato.papers.query_release.synopses.hubs import Edges, HubEdges, Hubs
from sfumato.papers.query_release.synopses.prefixes import FrequentRows, PrefixTree
from sfumato.questions.synopsis.binary import Bits, Rows
from sfumato.questions.synopsis.weighted import SubsetSums
from tests.imputed import booleans, categories
from tests.promises.case import PromiseCase

ONE = Bits.of(Schema({"a": booleans()}))
TWO = Bits.of(Schema({name: booleans() for name in "ab"}))
JOBS = Bits.of(Schema({"job": categories("nurse", "clerk", "smith")}), ["job=nurse", "job=clerk"])

HALVES = ((2, 0), (1, 1), (0, 0))
"""Fourier coefficients of all conjunctions of two columns up to degree 1: a row with z zeros adds 2^-z, in halves."""
COUNTS = ((0, 1, 1),) * 3
"""Every set of one or two zeros counts once."""


def sums(bits: Bits, weights: Any, law: Any, **options: Any) -> SubsetSums:
    return SubsetSums(bits=bits, weights=weights, law=law, **{"reads": frozenset(bits.attributes), **options})


def pair(one: list, two: list, changed: Any = EVERYTHING, width: int = 2) -> Neighbours:
    return Neighbours(Rows.of(one, width), Rows.of(two, width), changed)


def alone(one: list, two: list) -> Neighbours:
    return pair(one, two, width=1)


def changes(*rows: tuple[tuple[int, int], tuple[int, int]]) -> list[Neighbours]:
    """One person who changes beside one who does not; the claim is that of the attributes that differ."""
    names = [frozenset(name for name, a, b in zip("ab", *both, strict=True) if a != b) for both in rows]
    return [pair([(1, 0), one], [(1, 0), two], changed) for (one, two), changed in zip(rows, names, strict=True)]


@dataclass(frozen=True, kw_only=True)
class ExactRows(SubsetSums):
    """Divides by the exact number of rows, which is private here: equal noise, another scale."""

    def run(self, exact: Rows, noise: Noise) -> Any:
        return (super().run(exact, noise) / max(exact.total, 1)).tolist()


@dataclass(frozen=True, kw_only=True)
class OccupiedOnly(SubsetSums):
    """Adds no noise to sums of zero."""

    def run(self, exact: Rows, noise: Noise) -> Any:
        return np.where(self.exact(exact) == 0, 0, super().run(exact, noise))


@dataclass(frozen=True, kw_only=True)
class ExactThreshold(PrefixTree):
    """Takes the threshold from the exact number of rows, which is private here."""

    def run(self, exact: Rows, noise: Noise) -> FrequentRows:
        found = super().run(exact, noise)
        return replace(found, total=exact.total)


@dataclass(frozen=True, kw_only=True)
class OccupiedCells(PrefixTree):
    """Publishes only rows that occur, as if empty cells needed no noise."""

    def run(self, exact: Rows, noise: Noise) -> FrequentRows:
        found = super().run(exact, noise)
        real = set(map(tuple, exact.ones.astype(int).tolist()))
        kept = [(row, count) for row, count in zip(found.rows, found.counts, strict=True) if row in real]
        return FrequentRows(tuple(row for row, _ in kept), tuple(count for _, count in kept), found.total)


@dataclass(frozen=True, kw_only=True)
class ExactHubs(HubEdges):
    """Chooses the hubs by their exact degrees."""

    def run(self, exact: Edges, noise: Noise) -> Hubs:
        found = super().run(exact, noise)
        true = np.bincount(np.concatenate([exact.first, exact.second]), minlength=self.vertices)
        return replace(found, hubs=self.chosen(true))


def edges(*pairs: tuple[int, int]) -> Edges:
    return Edges.of([one for one, _ in pairs], [two for _, two in pairs])


FOURIER = sums(TWO, HALVES, DiscreteLaplace(1))
FOURIER_ADDED = sums(ONE, HALVES[:2], DiscreteLaplace(1), relation=ADD_REMOVE, count=1)
FOURIER_GAUSS = sums(TWO, HALVES, DiscreteGaussian(1))
MARGINALS = sums(TWO, COUNTS, DiscreteLaplace(1), method="RL-AIE")
MARGINALS_ADDED = sums(ONE, ((0, 1),) * 2, DiscreteGaussian(1), relation=ADD_REMOVE, count=1, method="RL-AIE")
ONE_HOT = sums(JOBS, HALVES, DiscreteLaplace(1))
SEVERAL = sums(ONE, ((0, 1),) * 2, DiscreteLaplace(1), rows=2, count=1)
PREFIXES = PrefixTree(
    bits=TWO,
    law=DiscreteLaplace(1),
    least=1,
    share=Fraction(0),
    most=1,
    chunk=1,
    people=2,
    reads=frozenset("ab"),
)
PREFIXES_ADDED = replace(PREFIXES, bits=ONE, most=2, people=None, relation=ADD_REMOVE, reads=frozenset("a"))
CUTS = HubEdges(
    vertices=2,
    degree_law=DiscreteLaplace(Fraction(2, 3)),
    edge_law=DiscreteLaplace(1),
    share=Fraction(1, 2),
    most=1,
    relation=ADD_REMOVE,
)
CUTS_REPLACED = replace(CUTS, people=1, relation=REPLACE_ONE, reads=frozenset(["from", "to"]))

EVERY = changes(((0, 0), (1, 1)), ((0, 1), (1, 0)), ((0, 0), (0, 1)))

CASES = [
    PromiseCase(
        name="fourier coefficients of conjunctions",
        spec_ids=("RL-FOUR",),
        mechanism=FOURIER,
        pairs=EVERY,
        mutants={
            "noise of a person who comes or goes": replace(FOURIER, law=DiscreteLaplace(Fraction(1, 2))),
            "weights of all rows alike": replace(FOURIER, weights=((2, 2),) * 3),
            "no noise on empty sums": OccupiedOnly(**vars(FOURIER)),
        },
        tail=1e-3,
    ),
    PromiseCase(
        name="fourier coefficients, rows come and go",
        spec_ids=("RL-FOUR",),
        mechanism=FOURIER_ADDED,
        pairs=[alone([(1,)], []), alone([(0,), (1,)], [(1,)])],
        mutants={
            "the count is free": replace(FOURIER_ADDED, count=3),
            "the exact number of rows in the scale": ExactRows(**vars(FOURIER_ADDED)),
            "half the noise": replace(FOURIER_ADDED, law=DiscreteLaplace(Fraction(1, 2))),
        },
        tail=1e-3,
        long=True,
    ),
    PromiseCase(
        name="fourier coefficients with gaussian noise",
        spec_ids=("RL-FOUR", "PDP:C-13"),
        mechanism=FOURIER_GAUSS,
        pairs=EVERY[:2],
        mutants={"half the variance": replace(FOURIER_GAUSS, law=DiscreteGaussian(Fraction(1, 2)))},
        tail=1e-4,
    ),
    PromiseCase(
        name="sets of zeros, every attribute",
        spec_ids=("RL-AIE",),
        mechanism=MARGINALS,
        pairs=EVERY,
        mutants={
            "noise of one count for all": replace(MARGINALS, law=DiscreteLaplace(Fraction(1, 3))),
            "one set counts twice": replace(MARGINALS, weights=((0, 1, 2),) * 3),
        },
        tail=1e-3,
        long=True,
    ),
    PromiseCase(
        name="sets of zeros, rows come and go",
        spec_ids=("RL-AIE",),
        mechanism=MARGINALS_ADDED,
        pairs=[alone([(0,)], []), alone([(0,), (1,)], [(1,)])],
        mutants={
            "half the variance": replace(MARGINALS_ADDED, law=DiscreteGaussian(Fraction(1, 2))),
            "the exact number of rows in the scale": ExactRows(**vars(MARGINALS_ADDED)),
        },
        tail=1e-3,
    ),
    PromiseCase(
        name="fourier coefficients of one-hot columns: fewer rows are possible, less noise is enough",
        spec_ids=("RL-FOUR",),
        mechanism=ONE_HOT,
        pairs=[pair([(1, 0)], [(0, 1)], frozenset(["job"])), pair([(1, 0)], [(0, 0)], frozenset(["job"]))],
        mutants={"half the noise": replace(ONE_HOT, law=DiscreteLaplace(Fraction(1, 2)))},
        tail=1e-3,
    ),
    PromiseCase(
        name="sets of zeros, two rows a person",
        spec_ids=("RL-AIE",),
        mechanism=SEVERAL,
        pairs=[alone([(0,), (0,)], []), alone([(0,), (0,), (1,)], [(1,)])],
        mutants={"noise of one row": replace(SEVERAL, law=DiscreteLaplace(Fraction(1, 2)))},
        tail=1e-3,
    ),
    PromiseCase(
        name="frequent rows by a tree of prefixes",
        spec_ids=("RL-PAR",),
        mechanism=PREFIXES,
        pairs=changes(((0, 0), (0, 1)), ((0, 0), (1, 1))),
        mutants={
            "noise of one level for all": replace(PREFIXES, law=DiscreteLaplace(Fraction(1, 3))),
            "empty cells without noise": OccupiedCells(**vars(PREFIXES)),
        },
        tail=1e-2,
        long=True,
    ),
    PromiseCase(
        name="frequent rows by a tree of prefixes, rows come and go",
        spec_ids=("RL-PAR",),
        mechanism=PREFIXES_ADDED,
        pairs=[alone([(0,)], []), alone([(1,), (1,)], [(1,)])],
        mutants={
            "half the noise": replace(PREFIXES_ADDED, law=DiscreteLaplace(Fraction(1, 2))),
            "the exact number of rows beside it": ExactThreshold(**vars(PREFIXES_ADDED)),
        },
        tail=1e-3,
    ),
    PromiseCase(
        name="degrees and hubs, edges come and go",
        spec_ids=("RL-CUT",),
        mechanism=CUTS,
        pairs=[Neighbours(edges((0, 1)), edges(), EVERYTHING)],
        mutants={
            "half the noise on degrees": replace(CUTS, degree_law=DiscreteLaplace(Fraction(1, 3))),
            "half the noise on edges": replace(CUTS, edge_law=DiscreteLaplace(Fraction(1, 2))),
            "hubs by exact degrees": ExactHubs(**vars(CUTS)),
        },
        tail=1e-3,
        long=True,
    ),
    PromiseCase(
        name="degrees and hubs, one end of an edge becomes the other",
        spec_ids=("RL-CUT",),
        mechanism=CUTS_REPLACED,
        pairs=[Neighbours(edges((0, 1)), edges((0, 0)), frozenset(["to"]))],
        mutants={
            "noise of an edge that comes or goes": replace(CUTS_REPLACED, degree_law=DiscreteLaplace(Fraction(1, 3)))
        },
        tail=1e-3,
        long=True,
    ),
]
