"""Promises of multiplicative weights: exact laws of whole rounds, choice and measurement, over tiny tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any, ClassVar

import numpy as np

from sfumato import ADD_REMOVE, Concentrated, Pure, Schema
from sfumato.audit import Neighbours
from sfumato.mechanism import Mechanism
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Noise
from sfumato.papers.partial_dp import AttributeWeights
from sfumato.papers.query_release.weights import Barak, Candidates, MultiplicativeWeights
from sfumato.papers.query_release.weights.choosers import ByAttribute, Disjoint, Partition
from sfumato.perturb.additive import AdditiveNoise
from sfumato.privacy import REPLACE_ONE, ByCount, Cost, Loss
from sfumato.workload.builders import marginals, matrix, parities
from sfumato.workload.records import Records
from sfumato.workload.workload import Workload
from tests.imputed import integers
from tests.promises.case import PromiseCase
from tests.promises.printed.choices import changed
from tests.promises.printed.weights import AllowedByData, AnySet, Greedy, TrueTotal

HALF = Fraction(1, 2)
THREE = marginals(Schema({"x": integers(0, 2)}), width=1)
BIT = marginals(Schema({"x": integers(0, 1)}), width=1)
TWO_BITS = marginals(Schema({"x": integers(0, 1), "y": integers(0, 1)}), width=2)
ONE_WAY = marginals(Schema({"x": integers(0, 1), "y": integers(0, 1)}), width=1)
FIFTY = matrix(Schema({"x": integers(0, 2)}), "x", [[0, 1, 0], *([[1, 0, 0]] * 49)], steps=1)
BITS = marginals(Schema({name: integers(0, 1) for name in "abc"}), width=1)

FOUR_BITS = parities(Schema({name: integers(0, 1) for name in "abcd"}), sets=[("a", "b"), ("a", "c"), ("c", "d")])

EPSILON = Fraction(2)


def table(workload: Workload, *rows: Any) -> Records:
    """Return the records of some rows; a single code stands for a row of one column."""
    return Records.from_rows(workload.space, [row if isinstance(row, tuple) else (row,) for row in rows])


def replaced(workload: Workload, people: int) -> list[tuple[Records, Records]]:
    """Return all tables of one column and so many people whose first person differs."""
    codes = range(workload.space.sizes[0])
    others = list(combinations_with_replacement(codes, people - 1))
    return [
        (table(workload, one, *rest), table(workload, two, *rest))
        for rest in others
        for one in codes
        for two in range(one)
    ]


def weights(workload: Workload, people: int | None, **changes: Any) -> MultiplicativeWeights:
    """Return rounds of EPSILON each, half for the choice and half for the measurement."""
    settings: dict[str, Any] = {"rounds": 1, "rate": EPSILON / 4, "law": DiscreteLaplace(2 / EPSILON), **changes}
    tables = settings.pop("tables", False)
    return MultiplicativeWeights(
        candidates=Candidates(workload, tables), people=people, reads=workload.reads, **settings
    )


ONE = weights(THREE, 4)
RISING = weights(FIFTY, 5)
TWICE = weights(BIT, 2, rounds=2, rate=EPSILON / 2, law=DiscreteLaplace(1 / EPSILON))
COUNTED = weights(BIT, None, count_law=DiscreteLaplace(1), relation=ADD_REMOVE)
GAUSSIAN = weights(THREE, 3, rate=Fraction(1), law=DiscreteGaussian(HALF))
TABLES = weights(ONE_WAY, 2, tables=True, rate=EPSILON / 4, law=DiscreteLaplace(2 / EPSILON))
STARTED = weights(BIT, 2, start_law=DiscreteLaplace(HALF), law=DiscreteLaplace(HALF))
DOUBLING = weights(BIT, 2, rounds=2, limit=Fraction(4), rate=HALF, law=DiscreteLaplace(1))
SEVERAL = weights(BIT, None, count_law=DiscreteLaplace(1), rows=2, rate=EPSILON / 8, law=DiscreteLaplace(1))

# After a round about two of the columns, a component of four cells is full: the next one may choose these two again, or
# two that are still alone.
FACTORED = weights(FOUR_BITS, 2, rounds=2, max_cells=4, rate=EPSILON / 2, law=DiscreteLaplace(1 / EPSILON))

ENTERING = [(table(BIT, *rest), table(BIT, one, *rest)) for rest in ((), (0,)) for one in (0, 1)]
CELLS = [(table(TWO_BITS, (0, 0), (0, 1)), table(TWO_BITS, (1, 1), (0, 1)))]

ROUNDS = [
    PromiseCase(
        name="mwem, one round",
        spec_ids=("QR-MWEM", "QR:C-10"),
        mechanism=ONE,
        pairs=replaced(THREE, 4),
        mutants={"half the noise": replace(ONE, law=DiscreteLaplace(1 / EPSILON))},
        tail=1e-6,
    ),
    PromiseCase(
        name="mwem, fifty queries of which one rises",
        long=True,
        spec_ids=("QR-MWEM", "QR:D1", "QR:D2"),
        mechanism=RISING,
        pairs=[(table(FIFTY, 0, 0, 0, 1, 1), table(FIFTY, 0, 0, 1, 1, 1))],
        mutants={"the printed exponent": replace(RISING, rate=2 * RISING.rate)},
        tail=1e-6,
    ),
    PromiseCase(
        name="mwem, two rounds",
        spec_ids=("QR-MWEM", "QR:C-5"),
        mechanism=TWICE,
        pairs=replaced(BIT, 2),
        mutants={"half the noise": replace(TWICE, law=DiscreteLaplace(1 / (2 * EPSILON)))},
        tail=1e-5,
        long=True,
    ),
    PromiseCase(
        name="mwem, people come and go",
        spec_ids=("QR-MWEM",),
        mechanism=COUNTED,
        pairs=ENTERING,
        mutants={
            "the true number of rows": changed(TrueTotal, COUNTED),
            "half the noise in the number of rows": replace(COUNTED, count_law=DiscreteLaplace(HALF)),
        },
        tail=1e-4,
        long=True,
    ),
    PromiseCase(
        name="mwem, Gaussian",
        spec_ids=("QR-MWEM", "QR:C-7"),
        mechanism=GAUSSIAN,
        pairs=replaced(THREE, 3),
        mutants={"half the variance": replace(GAUSSIAN, law=DiscreteGaussian(HALF / 2))},
        tail=1e-6,
    ),
    PromiseCase(
        name="mwem, whole tables",
        spec_ids=("QR-MWEM",),
        mechanism=TABLES,
        pairs=[(table(ONE_WAY, (0, 0), (0, 1)), table(ONE_WAY, (1, 1), (0, 1)))],
        mutants={"noise for one cell of two": replace(TABLES, law=DiscreteLaplace(1 / EPSILON))},
        tail=1e-4,
    ),
    PromiseCase(
        name="mwem, from a noisy histogram",
        spec_ids=("QR-MWEM",),
        mechanism=STARTED,
        pairs=replaced(BIT, 2),
        mutants={"half the noise in the histogram": replace(STARTED, start_law=DiscreteLaplace(HALF / 2))},
        tail=1e-3,
        long=True,
    ),
    PromiseCase(
        name="mwem, doubling rounds",
        spec_ids=("QR-MWEM", "QR:C-5"),
        mechanism=DOUBLING,
        pairs=replaced(BIT, 2),
        mutants={"three times the limit": replace(DOUBLING, limit=Fraction(12), law=DiscreteLaplace(Fraction(1, 8)))},
        tail=1e-3,
        long=True,
    ),
    PromiseCase(
        name="mwem, factored, choices restricted by what fits",
        spec_ids=("QR-MWEMF", "QR-MWEM"),
        mechanism=FACTORED,
        pairs=[
            (table(FOUR_BITS, (0, 0, 0, 0), (0, 1, 0, 0)), table(FOUR_BITS, (1, 0, 0, 1), (0, 1, 0, 0))),
            (table(FOUR_BITS, (0, 0, 0, 0), (0, 1, 0, 1)), table(FOUR_BITS, (1, 0, 1, 0), (0, 1, 0, 1))),
        ],
        mutants={
            "the data say what is allowed": changed(AllowedByData, FACTORED),
            "half the noise": replace(FACTORED, law=DiscreteLaplace(1 / (2 * EPSILON))),
            "twice the rate": replace(FACTORED, rate=2 * FACTORED.rate),
        },
        tail=1e-3,
        long=True,
    ),
    PromiseCase(
        name="mwem, two rows a person",
        spec_ids=("QR-MWEM",),
        mechanism=SEVERAL,
        pairs=[(table(BIT, 0), table(BIT, 0, 1, 1)), (table(BIT, 0, 0), table(BIT, 1, 1))],
        mutants={"noise for one row": replace(SEVERAL, law=DiscreteLaplace(Fraction(1, 4)))},
        tail=1e-3,
        long=True,
    ),
]


@dataclass(frozen=True, kw_only=True)
class Choosing(Mechanism):
    """The choice of a round alone, from exact scores."""

    spec: ClassVar[str] = "PDP-MWEM"

    chooser: ByAttribute
    claimed: tuple[Cost, ...]

    def loss(self) -> Loss:
        return Loss(ByCount(self.claimed, frozenset("abc")), self.relation)

    def run(self, exact: Any, noise: Noise) -> Any:
        return self.chooser.draw(np.array(exact), noise, None)  # type: ignore[attr-defined]


# Many queries see the attribute a: one rises and all others fall, so that every normaliser moves as far as it can.
MASKS = (1,) * 60 + (2, 2, 4, 4)
RATE = Fraction(1)
HIGH = (3, *([4] * 59), 0, 1, 0, 1)
MOVED = (4, *([3] * 59), 0, 1, 0, 1)
MOVED_BOTH = (4, *([3] * 59), 1, 0, 0, 1)
DISJOINT = Disjoint((RATE,) * len(MASKS), MASKS, 2, unit=1)
EXACT = Choosing(chooser=DISJOINT, claimed=tuple(Cost.range_bounded(2 * c * RATE) for c in (1, 2)))
PARTS = Choosing(
    chooser=Partition((RATE,) * len(MASKS), MASKS, 2, unit=1),
    claimed=tuple(c * Cost.range_bounded(2 * RATE) for c in (1, 2)),
)
SCORES = [
    Neighbours(HIGH, MOVED, frozenset("a")),
    Neighbours(HIGH, MOVED_BOTH, frozenset("ab")),
]


def broken(kind: type[Disjoint]) -> Choosing:
    return replace(EXACT, chooser=changed(kind, DISJOINT))


def by_attribute(**changes: Any) -> AttributeWeights:
    settings: dict[str, Any] = {"rates": tuple((name, Fraction(1)) for name in "abc"), "rounds": 1, "together": 2}
    return AttributeWeights(candidates=Candidates(BITS), people=2, **{**settings, **changes})


ATTRIBUTES, PURE = by_attribute(), by_attribute(pure=True)
UNEVEN = by_attribute(rates=(("a", Fraction(2)), ("b", Fraction(1)), ("c", Fraction(2))))


def bits() -> list[Neighbours]:
    """Return tables of two people, of whom one changes some of three bits."""
    found = []
    for row, other in product(product((0, 1), repeat=3), repeat=2):
        if row < other and row[0] == 0:
            names = frozenset(name for name, a, b in zip("abc", row, other, strict=True) if a != b)
            rest = (0, 1, 1)
            found.append(Neighbours(table(BITS, row, rest), table(BITS, other, rest), names))
    return found[::4]


START, REST = (0, 0, 0), (0, 1, 1)
FEW = [
    Neighbours(table(BITS, START, REST), table(BITS, (0, 1, 0), REST), frozenset("b")),
    Neighbours(table(BITS, START, REST), table(BITS, (1, 1, 0), REST), frozenset("ab")),
]

PARTIAL = [
    PromiseCase(
        name="pdp-mwem, exact choice",
        long=True,
        spec_ids=("PDP-MWEM", "PDP:C-12"),
        mechanism=EXACT,
        pairs=SCORES,
        mutants={"sets that share attributes": broken(AnySet), "greedy peeling": broken(Greedy)},
    ),
    PromiseCase(
        name="pdp-mwem, choice in parts",
        spec_ids=("PDP-MWEM",),
        mechanism=PARTS,
        pairs=SCORES,
        mutants={"twice the rate": replace(PARTS, chooser=Partition((4 * RATE,) * len(MASKS), MASKS, 2, unit=1))},
    ),
    PromiseCase(
        name="pdp-mwem, one round",
        spec_ids=("PDP-MWEM",),
        mechanism=ATTRIBUTES,
        pairs=bits(),
        mutants={
            "half the noise and twice the rate": replace(ATTRIBUTES, rates=tuple((n, Fraction(2)) for n in "abc"))
        },
        tail=1e-3,
        long=True,
    ),
    PromiseCase(
        name="pdp-mwem, one pure round",
        spec_ids=("PDP-MWEM",),
        mechanism=PURE,
        pairs=bits()[:2],
        mutants={"half the noise and twice the rate": replace(PURE, rates=tuple((n, Fraction(3)) for n in "abc"))},
        tail=1e-2,
        long=True,
    ),
    PromiseCase(
        name="pdp-mwem, budgets of their own",
        spec_ids=("PDP-MWEM",),
        mechanism=UNEVEN,
        pairs=FEW,
        mutants={"the budget of a for b": replace(UNEVEN, rates=tuple((n, Fraction(2)) for n in "abc"))},
        tail=1e-3,
    ),
]


@dataclass(frozen=True, kw_only=True)
class BarakOnTiny(Mechanism):
    """The baseline from a tiny table to its noisy numbers."""

    spec: ClassVar[str] = "QR-BARAK"

    plan: Barak
    noise: AdditiveNoise

    def loss(self) -> Loss:
        return self.noise.loss()

    def run(self, exact: Any, noise: Noise) -> Any:
        return self.noise.run(self.plan.read(exact), noise)


def baseline(plan: Barak, spend: Any) -> BarakOnTiny:
    return BarakOnTiny(plan=plan, noise=plan.mechanism(spend, TWO_BITS.reads))


PLAIN = baseline(Barak(TWO_BITS, REPLACE_ONE, 2), Pure(3))
OPEN = baseline(Barak(TWO_BITS, ADD_REMOVE, None), Concentrated(2))

BASELINE = [
    PromiseCase(
        name="barak, Laplace",
        spec_ids=("QR-BARAK",),
        mechanism=PLAIN,
        pairs=CELLS,
        mutants={"half the noise": replace(PLAIN, noise=replace(PLAIN.noise, law=DiscreteLaplace(HALF)))},
        tail=1e-4,
    ),
    PromiseCase(
        name="barak, Gaussian, people come and go",
        spec_ids=("QR-BARAK",),
        mechanism=OPEN,
        pairs=[(table(TWO_BITS, (0, 0)), table(TWO_BITS, (0, 0), (0, 1)))],
        mutants={"half the variance": replace(OPEN, noise=replace(OPEN.noise, law=DiscreteGaussian(Fraction(1, 4))))},
        tail=1e-3,
    ),
]

CASES = [*ROUNDS, *PARTIAL, *BASELINE]
