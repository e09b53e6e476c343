"""Promises of workloads: tables, parities, conjunctions and weighted queries with one noise, people and attributes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sfumato import ADD_REMOVE, EVERYTHING, Noise, Schema, workloads
from sfumato.audit import Neighbours
from sfumato.noise import DiscreteGaussian, DiscreteLaplace
from sfumato.questions.queries.noisy import NoisyWorkload
from sfumato.workload import Records, Workload
from tests.imputed import booleans, integers
from tests.promises.case import PromiseCase

TWO = Schema({name: booleans() for name in "ab"})
THREE = Schema({name: booleans() for name in "abc"})
AGES = Schema({"age": integers(0, 2)})


def noisy(workload: Workload, law: Any, **options: Any) -> NoisyWorkload:
    return NoisyWorkload(workload=workload, law=law, **{"reads": workload.reads, **options})


def changed(workload: Workload, *rows: tuple[tuple[int, ...], tuple[int, ...]]) -> list[Neighbours]:
    """One person beside another one who does not change; the claim is that of the attributes that differ."""
    found = []
    for one, two in rows:
        names = frozenset(n for n, a, b in zip(workload.space.names, one, two, strict=True) if a != b)
        other = tuple(0 for _ in workload.space.names)
        pair = [Records.from_rows(workload.space, [other, row]) for row in (one, two)]
        found.append(Neighbours(pair[0], pair[1], names))
    return found


def whole(workload: Workload, one: list[tuple], two: list[tuple]) -> Neighbours:
    return Neighbours(Records.from_rows(workload.space, one), Records.from_rows(workload.space, two), EVERYTHING)


@dataclass(frozen=True, kw_only=True)
class OneDraw(NoisyWorkload):
    """The same noise for all numbers: their differences are released exactly."""

    def run(self, exact: Records, noise: Noise) -> Any:
        drawn = noise.draw(self.law)
        return [part + drawn for part in self.workload.answers(exact)]


@dataclass(frozen=True, kw_only=True)
class ExactTotals(NoisyWorkload):
    """Publishes how many rows there were beside the noisy numbers, where that is private."""

    def run(self, exact: Records, noise: Noise) -> Any:
        return [*super().run(exact, noise), exact.total]


@dataclass(frozen=True, kw_only=True)
class ProjectedFirst(NoisyWorkload):
    """Rounds the exact counts away when they are small, before the noise: zero stays zero."""

    def run(self, exact: Records, noise: Noise) -> Any:
        found = super().run(exact, noise)
        return [part * (true > 0) for part, true in zip(found, self.workload.answers(exact), strict=True)]


SINGLES = workloads.marginals(TWO, width=1)
PAIRS = workloads.conjunctions(THREE, width=2)
ODD = workloads.parities(THREE, width=2)
SIGNED = workloads.parities(TWO, sets=["a", ("a", "b")], signed=True)
WEIGHTED = workloads.matrix(AGES, "age", [[0, 0.5, 1], [1, 0.25, 0]], steps=4)
BELOW = workloads.prefixes(AGES, "age")
WIDER = workloads.conjunctions(THREE, sets=[("a", "b", "c"), ("a", "c"), ("b", "c")])

POST = Schema({"zip": integers(0, 99_999)})
STRIPS = workloads.predicates(POST, ["zip < 30000", "zip >= 30000 AND zip < 60000", "zip >= 60000 AND zip < 90000"])
NESTED = workloads.predicates(POST, ["zip < 30000", "zip < 60000", "zip < 90000"])

TABLES = noisy(SINGLES, DiscreteLaplace(Fraction(1, 2)))
ADDED = noisy(SINGLES, DiscreteLaplace(Fraction(1, 2)), relation=ADD_REMOVE)
CONJUNCTIONS = noisy(PAIRS, DiscreteLaplace(Fraction(1, 2)))
PARITIES = noisy(ODD, DiscreteGaussian(1))
FOURIER = noisy(SIGNED, DiscreteLaplace(1))
STEPS = noisy(WEIGHTED, DiscreteLaplace(2))
PREFIXES = noisy(BELOW, DiscreteLaplace(1))
DISJOINT = noisy(STRIPS, DiscreteLaplace(Fraction(1, 2)))
SEVERAL = noisy(BELOW, DiscreteLaplace(2), rows=2)

CASES = [
    PromiseCase(
        name="tables of counts, each attribute and both",
        spec_ids=("PDP-GAUSS", "PDP:C-10", "QR-LAP"),
        mechanism=TABLES,
        pairs=changed(SINGLES, ((0, 0), (1, 0)), ((1, 0), (0, 1))),
        mutants={
            "half the noise": replace(TABLES, law=DiscreteLaplace(Fraction(1, 4))),
            "one draw for all": OneDraw(**vars(TABLES)),
            "zero stays zero": ProjectedFirst(**vars(TABLES)),
        },
        tail=5e-4,
        long=True,
    ),
    PromiseCase(
        name="tables of counts, people come and go",
        spec_ids=("PDP-GAUSS", "QR-LAP"),
        mechanism=ADDED,
        pairs=[
            whole(SINGLES, [(0, 1)], []),
            whole(SINGLES, [(0, 0), (1, 1)], [(0, 0)]),
        ],
        mutants={
            "half the noise": replace(ADDED, law=DiscreteLaplace(Fraction(1, 4))),
            "the exact number of rows": ExactTotals(**vars(ADDED)),
        },
        tail=5e-4,
        long=True,
    ),
    PromiseCase(
        name="conjunctions of two bits, every set of attributes",
        spec_ids=("PDP-GAUSS",),
        mechanism=CONJUNCTIONS,
        pairs=changed(
            PAIRS, ((0, 1, 1), (1, 1, 1)), ((1, 1, 0), (1, 1, 1)), ((0, 0, 1), (1, 1, 1)), ((0, 0, 0), (1, 1, 1))
        ),
        mutants={
            "half the noise": replace(CONJUNCTIONS, law=DiscreteLaplace(Fraction(1, 4))),
            "a query that sees one column more": replace(CONJUNCTIONS, workload=WIDER),
            "noise of one attribute for the person": replace(CONJUNCTIONS, law=DiscreteLaplace(Fraction(1, 3))),
        },
        tail=1e-3,
    ),
    PromiseCase(
        name="parities of two bits: two of three move, not all",
        spec_ids=("PDP-GAUSS", "PDP-PROJ"),
        mechanism=PARITIES,
        pairs=changed(
            ODD, ((0, 0, 0), (1, 0, 0)), ((0, 0, 0), (1, 1, 0)), ((0, 1, 1), (1, 1, 0)), ((0, 0, 0), (1, 1, 1))
        ),
        mutants={
            "half the variance": replace(PARITIES, law=DiscreteGaussian(Fraction(1, 2))),
            "signs told apart": replace(PARITIES, workload=workloads.parities(THREE, width=2, signed=True)),
        },
        tail=1e-4,
    ),
    PromiseCase(
        name="signed parities",
        spec_ids=("PDP-GAUSS", "QR-LAP"),
        mechanism=FOURIER,
        pairs=changed(SIGNED, ((0, 0), (1, 0)), ((0, 0), (0, 1)), ((0, 0), (1, 1))),
        mutants={"noise for bits without sign": replace(FOURIER, law=DiscreteLaplace(Fraction(1, 2)))},
        tail=1e-4,
    ),
    PromiseCase(
        name="weighted queries in whole steps",
        spec_ids=("QR-LAP",),
        mechanism=STEPS,
        pairs=changed(WEIGHTED, ((0,), (2,)), ((0,), (1,))),
        mutants={"noise of one step": replace(STEPS, law=DiscreteLaplace(Fraction(1, 2)))},
        tail=1e-4,
    ),
    PromiseCase(
        name="prefixes",
        spec_ids=("QR-LAP",),
        mechanism=PREFIXES,
        pairs=changed(BELOW, ((0,), (2,)), ((1,), (2,))),
        mutants={"each prefix on its own": replace(PREFIXES, law=DiscreteLaplace(Fraction(1, 2)))},
        tail=1e-4,
    ),
    PromiseCase(
        name="prefixes, two rows a person",
        long=True,
        spec_ids=("QR-LAP",),
        mechanism=SEVERAL,
        pairs=[
            whole(BELOW, [(0,), (0,)], [(2,), (2,)]),
            whole(BELOW, [(0,), (0,), (1,)], [(1,)]),
            whole(BELOW, [(0,), (1,)], [(2,)]),
        ],
        mutants={"one row a person": replace(SEVERAL, law=DiscreteLaplace(1))},
        tail=1e-4,
    ),
    PromiseCase(
        name="disjoint conditions over a large domain: two of three move",
        spec_ids=("QR-LAP", "PDP-GAUSS"),
        mechanism=DISJOINT,
        pairs=changed(STRIPS, ((0,), (45_000,)), ((0,), (99_999,))),
        mutants={
            "noise for one condition": replace(DISJOINT, law=DiscreteLaplace(Fraction(1, 4))),
            "conditions that hold together": replace(DISJOINT, workload=NESTED),
        },
        tail=1e-3,
    ),
]
