"""Promises of release by learning: trees, the threshold oracle, labelled queries, agnostic rounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sfumato import ADD_REMOVE, Schema
from sfumato.mechanism import Mechanism
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Noise
from sfumato.papers.query_release.learning.agnostic import AgnosticRelease
from sfumato.papers.query_release.learning.labels import AnyQueries, BinaryQueries, Labels
from sfumato.papers.query_release.learning.oracle import Probe, ThresholdOracle
from sfumato.papers.query_release.learning.trees import Coverage, Declared, SetTree, TreeRelease
from sfumato.papers.query_release.weights.candidates import Candidates
from sfumato.privacy import Loss
from sfumato.questions.synopsis.binary import Rows
from sfumato.select import Exponential, SparseVector
from sfumato.workload.builders import marginals
from sfumato.workload.records import Records
from tests.imputed import integers
from tests.promises.case import PromiseCase
from tests.promises.printed.choices import changed
from tests.promises.printed.synopsis_learned import Forgetful, PrintedTree

HALF = Fraction(1, 2)


def probe(positives: int, threshold_scale: Any, query_scale: Any, **options: Any) -> SparseVector:
    """Return the tests of a tree."""
    return SparseVector(
        positives=positives, threshold_scale=Fraction(threshold_scale), query_scale=Fraction(query_scale), **options
    )


def bits(*rows: tuple[int, ...], width: int = 2) -> Rows:
    """Return a table of binary rows."""
    return Rows.of(rows, width)


SLICE = TreeRelease(
    about=Coverage(1, width=1, grid=2),
    most_leaves=2,
    steepness=HALF,
    probe=probe(1, HALF, 1),
    pure=True,
    leaf_budget=Fraction(4),
    people=1,
)
TREE = replace(SLICE, about=Coverage(2, width=2, grid=1), people=1, probe=probe(1, HALF, 1))
LEVELS = replace(SLICE, ladder=(Fraction(1),))
COUNTED = TreeRelease(
    about=Coverage(2, HALF, grid=1),
    most_leaves=1,
    steepness=HALF,
    probe=None,
    pure=True,
    leaf_budget=Fraction(2),
    count_law=DiscreteLaplace(1),
    relation=ADD_REMOVE,
)
GAUSSIAN = replace(SLICE, most_leaves=1, probe=None, pure=False, leaf_budget=HALF)


def falling(data: int, sets: Any) -> Any:
    """Return a function of one element that rises or falls with the data: a person moves a marginal by 2."""
    return np.where(sets[:, 0], 2 - data, data)


FALLING = TreeRelease(
    about=Declared(falling, 1, Fraction(1), high=Fraction(2), monotone_function=False, steps=1, samples=2),
    most_leaves=2,
    steepness=HALF,
    probe=probe(1, HALF, 1, sensitivity=2),
    pure=True,
    leaf_budget=Fraction(1),
)


def level(data: int, sets: Any) -> Any:
    """Return the same value for all sets; a broken one where there are three people."""
    if data == 3:
        raise ValueError(data)
    return np.full(len(sets), data)


MEAN = replace(FALLING, most_leaves=1, probe=None, about=replace(FALLING.about, function=level, samples=3, steps=16))


@dataclass(frozen=True, kw_only=True)
class Structure(Mechanism):
    """The tree alone, as the shipped code grows it."""

    spec: ClassVar[str] = "RL-TREE"
    tree: TreeRelease

    def loss(self) -> Loss:
        assert self.tree.probe is not None
        return self.tree.probe.loss()

    def run(self, exact: Any, noise: Noise) -> SetTree:
        return self.tree._grown(self.tree.about.bind(exact), noise, self.tree.divisor(None))


TREES = [
    PromiseCase(
        name="tree of disjunctions, the structure",
        spec_ids=("RL-TREE", "RL:C7"),
        mechanism=Structure(tree=TREE),
        pairs=[(bits((1, 1)), bits((0, 0))), (bits((1, 0)), bits((0, 1)))],
        mutants={
            "a third of the noise of the tests": Structure(
                tree=replace(TREE, probe=probe(1, HALF / 3, Fraction(1, 3)))
            ),
        },
        tail=1e-4,
    ),
    PromiseCase(
        name="tree of disjunctions, two levels",
        spec_ids=("RL-TREE",),
        mechanism=Structure(tree=LEVELS),
        pairs=[(bits((1,), width=1), bits((0,), width=1))],
        mutants={"a sixth of the noise": Structure(tree=replace(LEVELS, probe=probe(1, HALF / 6, HALF / 3)))},
        tail=1e-4,
    ),
    PromiseCase(
        name="tree of sets of one size",
        spec_ids=("RL-TREE-RELEASE", "RL:C6"),
        mechanism=SLICE,
        pairs=[(bits((1,), width=1), bits((0,), width=1))],
        mutants={
            "half the noise of the leaves": replace(SLICE, leaf_budget=2 * SLICE.leaf_budget),
            "the printed noise of every query": changed(PrintedTree, SLICE),
        },
        tail=1e-5,
        long=True,
    ),
    PromiseCase(
        name="tree, people come and go",
        spec_ids=("RL-TREE-RELEASE", "RL:DEF-N"),
        mechanism=COUNTED,
        pairs=[(bits(), bits((1, 1))), (bits((1, 0)), bits((1, 0), (1, 1)))],
        mutants={
            "half the noise of the leaves": replace(COUNTED, leaf_budget=2 * COUNTED.leaf_budget),
            "half the noise in the number of rows": replace(COUNTED, count_law=DiscreteLaplace(HALF)),
        },
        tail=1e-6,
    ),
    PromiseCase(
        name="tree, Gaussian leaves",
        spec_ids=("RL-TREE-RELEASE",),
        mechanism=GAUSSIAN,
        pairs=[(bits((1,), width=1), bits((0,), width=1))],
        mutants={"half the variance": replace(GAUSSIAN, leaf_budget=2 * GAUSSIAN.leaf_budget)},
    ),
    PromiseCase(
        name="tree of a function that also falls, the structure",
        spec_ids=("RL-TREE", "RL-TREE-RELEASE"),
        mechanism=Structure(tree=FALLING),
        pairs=[(0, 1)],
        mutants={
            "a third of the noise of the tests": Structure(
                tree=replace(FALLING, probe=probe(1, HALF / 3, Fraction(1, 3), sensitivity=2))
            ),
        },
        tail=1e-5,
        long=True,
    ),
    PromiseCase(
        name="mean of a declared function",
        spec_ids=("RL-TREE-RELEASE", "RL:C6"),
        mechanism=MEAN,
        pairs=[(0, 1), (1, 2)],
        mutants={"half the noise": replace(MEAN, leaf_budget=Fraction(2))},
        tail=1e-6,
    ),
]

ORACLE = ThresholdOracle(slots=1, law=DiscreteLaplace(1), people=4, tolerance=Fraction(1, 4))


def asked(first: int, second: int) -> list[Probe]:
    """Return a conversation about two queries, the first with two thresholds; there is a slot for one."""
    return [Probe("a", HALF, first), Probe("b", HALF, second), Probe("a", Fraction(1, 4), first)]


ONES = np.array([[True, False], [True, True]])
QUERIES = BinaryQueries(ONES, np.zeros_like(ONES))
LABELS = Labels(about=QUERIES, law=DiscreteLaplace(2), people=2)
ENTERING = Labels(
    about=replace(QUERIES, ones=ONES[:1], zeros=~ONES[:1]),
    law=DiscreteLaplace(1),
    count_law=DiscreteLaplace(1),
    relation=ADD_REMOVE,
)


def picky(record: int, queries: tuple[Any, ...]) -> Any:
    """Return more than 1 for some records, and fail for others."""
    if record == 2:
        raise ValueError(record)
    return [record * 7.5 for _ in queries]


ANY = Labels(about=AnyQueries(("x", "y"), picky, step=1), law=DiscreteLaplace(2), people=2)

LEARNED = [
    PromiseCase(
        name="threshold oracle",
        spec_ids=("RL-TO", "RL:C1"),
        mechanism=ORACLE,
        pairs=[(asked(1, 1), asked(2, 2)), (asked(1, 2), asked(2, 1))],
        mutants={
            "half the noise": replace(ORACLE, law=DiscreteLaplace(HALF)),
            "a draw for every threshold": changed(Forgetful, ORACLE),
            "a slot too many": replace(ORACLE, slots=2),
        },
        tail=1e-6,
    ),
    PromiseCase(
        name="threshold oracle, Gaussian",
        spec_ids=("RL-TO", "RL:C3"),
        mechanism=replace(ORACLE, law=DiscreteGaussian(2)),
        pairs=[(asked(1, 1), asked(2, 2))],
        mutants={"half the variance": replace(ORACLE, law=DiscreteGaussian(1))},
        tail=1e-4,
    ),
    PromiseCase(
        name="labelled queries",
        spec_ids=("RL-PRIVLEARN", "RL-TO"),
        mechanism=LABELS,
        pairs=[(bits((1, 1), (0, 1)), bits((0, 0), (0, 1))), (bits((1, 0), (0, 1)), bits((0, 1), (0, 1)))],
        mutants={
            "noise of a single query": replace(LABELS, law=DiscreteLaplace(1)),
        },
        tail=1e-4,
    ),
    PromiseCase(
        name="labelled queries, people come and go",
        spec_ids=("RL-PRIVLEARN", "RL:DEF-N"),
        mechanism=ENTERING,
        pairs=[(bits((0, 1)), bits((0, 1), (1, 0))), (bits((0, 1)), bits((0, 1), (0, 1)))],
        mutants={"half the noise in the number of rows": replace(ENTERING, count_law=DiscreteLaplace(HALF))},
        tail=1e-6,
    ),
    PromiseCase(
        name="labels of any predicate",
        spec_ids=("RL-PRIVLEARN",),
        mechanism=ANY,
        pairs=[((0, 1), (1, 1)), ((2, 1), (1, 1))],
        mutants={"half the noise": replace(ANY, law=DiscreteLaplace(1))},
        tail=1e-4,
    ),
]

BIT = marginals(Schema({"x": integers(0, 1)}), width=1)
UNIT = 64


def agnostic(learner: Any, law: Any, **options: Any) -> AgnosticRelease:
    """Return one round over the two values of a bit."""
    settings = {"people": 2, "rounds": 1, "reads": BIT.reads, **options}
    return AgnosticRelease(candidates=Candidates(BIT), learner=learner, law=law, **settings)


def ones(*codes: int) -> Records:
    """Return the records of some people."""
    return Records.from_rows(BIT.space, [(code,) for code in codes])


LEARNER = Exponential(rate=Fraction(1, 2 * UNIT), sensitivity=UNIT, reads=BIT.reads)
ROUND = agnostic(LEARNER, DiscreteLaplace(1))
CHOICE = agnostic(replace(LEARNER, rate=Fraction(2, UNIT)), DiscreteLaplace(HALF), people=4)
COMING = agnostic(
    replace(LEARNER, rate=Fraction(1, 4 * UNIT), relation=ADD_REMOVE),
    DiscreteLaplace(1),
    people=None,
    count_law=DiscreteLaplace(1),
    relation=ADD_REMOVE,
)
NEIGHBOURS = [(ones(0, 0), ones(0, 1))]

AGNOSTIC = [
    PromiseCase(
        name="agnostic learning, one round",
        spec_ids=("RL-AGNO", "RL:C14"),
        mechanism=ROUND,
        pairs=NEIGHBOURS,
        mutants={"half the noise": replace(ROUND, law=DiscreteLaplace(HALF))},
        tail=1e-4,
    ),
    PromiseCase(
        name="agnostic learning, the choice",
        spec_ids=("RL-AGNO",),
        mechanism=CHOICE,
        # From even scores a choice moves by log((1 + e⁴)/2) = 3.3 of its 4; among four people one query is far ahead.
        pairs=[(ones(0, 0, 0, 0), ones(0, 0, 0, 1)), (ones(0, 0, 0, 1), ones(0, 0, 1, 1))],
        mutants={"the printed exponent": replace(CHOICE, learner=replace(LEARNER, rate=Fraction(4, UNIT)))},
        tail=1e-10,
    ),
    PromiseCase(
        name="agnostic learning, people come and go",
        spec_ids=("RL-AGNO", "RL:DEF-N"),
        mechanism=COMING,
        pairs=[(ones(0, 0), ones(0, 0, 1))],
        mutants={"an eighth of the noise in the number of rows": replace(COMING, count_law=DiscreteLaplace(HALF / 4))},
        tail=1e-2,
        long=True,
    ),
]
CASES = [*TREES, *LEARNED, *AGNOSTIC]
