"""Promises of what questions are answered with: quantiles, and counts of keys nobody listed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato import ADD_REMOVE, Approximate, Noise
from sfumato.ask.prepared import Several
from sfumato.audit import Neighbours
from sfumato.noise import DiscreteGaussian, DiscreteLaplace
from sfumato.perturb import AdditiveNoise, sensitivity
from sfumato.questions.quantiles.quantile_choice import QuantileChoice
from sfumato.totals.found_keys import FoundGroups
from sfumato.totals.private_keys import StableHistogram, stable_histogram
from sfumato.totals.sparse_noise import SparseNoise
from tests.promises.case import PromiseCase

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)


def codes(*values: int) -> tuple[np.ndarray, np.ndarray]:
    return np.unique(np.array(values, dtype=np.int64), return_counts=True)


class ScoresWithoutHalving(QuantileChoice):
    """Weights exp(epsilon·score/sensitivity), the printed exponential mechanism (QR defect D1)."""

    def rate(self, probability: Fraction) -> Fraction:
        return 2 * super().rate(probability)


class OneRowMoves(QuantileChoice):
    """Takes the sensitivity of one row more or less for that of a row that changes."""

    def rate(self, probability: Fraction) -> Fraction:
        above, parts = probability.numerator, probability.denominator
        return self.epsilon / (2 * max(above, parts - above))


MEDIAN = QuantileChoice(size=3, probabilities=(HALF,), epsilon=Fraction(1))
LOWER = QuantileChoice(size=4, probabilities=(QUARTER,), epsilon=Fraction(1), relation=ADD_REMOVE)
TWO = QuantileChoice(size=3, probabilities=(QUARTER, HALF), epsilon=HALF)
COUNTS = stable_histogram(Approximate(1, 0.02))
PAIRED = stable_histogram(Approximate(4, 0.1), groups=2, rows=2)
HEAVY = stable_histogram(Approximate(4, 0.1), rows=2)

TWO_CELLS = sensitivity(largest=1, changed=2)
CELLS = SparseNoise(noise=AdditiveNoise(law=DiscreteLaplace(1), sensitivity=TWO_CELLS), cells=3, threshold=1)
BELL = SparseNoise(noise=AdditiveNoise(law=DiscreteGaussian(1), sensitivity=TWO_CELLS), cells=3, threshold=1)


class OnlyCellsThatOccur(SparseNoise):
    """Publishes no cell that nobody is in, so that what is published was there."""

    def run(self, exact: Any, noise: Noise) -> Any:
        return tuple(pair for pair in super().run(exact, noise) if exact.get(pair[0]))


class OccupiedFirst(SparseNoise):
    """Lists the cells that occur before the others."""

    def run(self, exact: Any, noise: Noise) -> Any:
        return tuple(sorted(super().run(exact, noise), key=lambda pair: (not exact.get(pair[0]), pair)))


GROUPS = FoundGroups(
    counts=StableHistogram(scale=Fraction(1), threshold=4, relation=ADD_REMOVE),
    totals=(AdditiveNoise(law=DiscreteLaplace(1), sensitivity=2, relation=ADD_REMOVE),),
)


class AllGroups(FoundGroups):
    """Adds up the totals of all groups that occur, found or not."""

    def run(self, exact: Any, noise: Noise) -> Any:
        keys, counts, *_ = super().run(exact, noise)
        return keys, counts, sum(total for _, total in exact.values())


class Crossed(Several):
    """Lets the second total read what the first alone is charged for."""

    def run(self, exact: Any, noise: Noise) -> Any:
        return super().run((exact[0], exact[0] + exact[1]), noise)


AGE, SEX = frozenset({"age"}), frozenset({"sex"})
BOTH = Several(
    mechanisms=(
        AdditiveNoise(law=DiscreteLaplace(1), sensitivity=1, reads=AGE),
        AdditiveNoise(law=DiscreteLaplace(Fraction(1, 2)), sensitivity=1, reads=SEX),
    )
)

CASES = [
    PromiseCase(
        name="two totals, each of its own attribute",
        spec_ids=("PDP:C-7", "PDP:C-10"),
        mechanism=BOTH,
        pairs=[
            Neighbours((3, 5), (4, 5), AGE),
            Neighbours((3, 5), (3, 6), SEX),
            ((3, 5), (4, 6)),
        ],
        mutants={
            "an attribute that is not charged": Crossed(mechanisms=BOTH.mechanisms),
            "the noise of one part is 5 % smaller": replace(
                BOTH,
                mechanisms=(replace(BOTH.mechanisms[0], law=DiscreteLaplace(Fraction(95, 100))), BOTH.mechanisms[1]),
            ),
        },
        tail=1e-6,
    ),
    PromiseCase(
        name="cells of a large domain",
        spec_ids=("TCDP-HIST",),
        mechanism=CELLS,
        pairs=[({0: 1}, {1: 1}), ({0: 3, 1: 3}, {0: 2, 1: 4})],
        mutants={
            "only cells that occur": OnlyCellsThatOccur(**vars(CELLS)),
            "cells that occur come first": OccupiedFirst(**vars(CELLS)),
            "noise for one cell": replace(CELLS, noise=replace(CELLS.noise, law=DiscreteLaplace(Fraction(1, 2)))),
        },
        tail=1e-3,
    ),
    PromiseCase(
        name="cells of a large domain, Gaussian noise",
        spec_ids=("TCDP-HIST",),
        mechanism=BELL,
        pairs=[({0: 1}, {1: 1}), ({0: 5, 1: 4}, {0: 4, 1: 5})],
        mutants={"only cells that occur": OnlyCellsThatOccur(**vars(BELL))},
        tail=1e-4,
    ),
    PromiseCase(
        name="groups found, then their totals",
        spec_ids=("PL-SAN-POINT-STAB", "PDP:C-7"),
        mechanism=GROUPS,
        pairs=[({(0,): (1, 2)}, {}), ({(0,): (6, 9)}, {(0,): (5, 7)}), ({(0,): (6, 9), (1,): (1, -2)}, {(0,): (6, 9)})],
        mutants={
            "totals for half a person": replace(
                GROUPS, totals=(replace(GROUPS.totals[0], law=DiscreteLaplace(Fraction(1, 2))),)
            ),
            "totals of all groups": AllGroups(**vars(GROUPS)),
        },
        tail=1e-4,
    ),
    PromiseCase(
        name="median",
        spec_ids=("PL-QUANTILE",),
        mechanism=MEDIAN,
        pairs=[
            (codes(*[0] * 20, *[2] * 20), codes(*[0] * 19, *[2] * 21)),
            (codes(*[0] * 20, 0, *[2] * 20), codes(*[0] * 20, 2, *[2] * 20)),
            (codes(0), codes(2)),
            (codes(0, 1), codes(1, 1)),
        ],
        mutants={
            "weights without halving (D1)": ScoresWithoutHalving(**vars(MEDIAN)),
            "half the sensitivity": OneRowMoves(**vars(MEDIAN)),
        },
    ),
    PromiseCase(
        name="lower quartile, one row more or less",
        spec_ids=("PL-QUANTILE",),
        mechanism=LOWER,
        pairs=[
            (codes(), codes(0)),
            (codes(), codes(3)),
            (codes(*[0] * 30), codes(*[0] * 31)),
            (codes(*[3] * 30), codes(*[3] * 31)),
            (codes(*[0] * 10, *[3] * 30), codes(*[0] * 11, *[3] * 30)),
            (codes(*[3] * 30), codes(0, *[3] * 30)),
        ],
        mutants={"weights without halving (D1)": ScoresWithoutHalving(**vars(LOWER))},
    ),
    PromiseCase(
        name="two quantiles",
        spec_ids=("PL-QUANTILE",),
        mechanism=TWO,
        pairs=[(codes(*[0] * 12, *[2] * 20), codes(*[0] * 11, *[2] * 21)), (codes(0, *[2] * 40), codes(*[2] * 41))],
        mutants={"charged once": replace(TWO, epsilon=Fraction(1))},
    ),
    PromiseCase(
        name="counts of unknown keys",
        spec_ids=("PL-SAN-POINT-STAB",),
        mechanism=COUNTS,
        pairs=[
            ({(0,): 2}, {(0,): 1, (1,): 1}),
            ({(0,): 1}, {(1,): 1}),
            ({(0,): 9, (1,): 10}, {(0,): 10, (1,): 9}),
        ],
        mutants={
            "half the scale": replace(COUNTS, scale=COUNTS.scale / 2),
            "threshold without the one person": replace(COUNTS, threshold=COUNTS.threshold - 1),
            "every key that occurs": replace(COUNTS, threshold=1),
        },
        tail=1e-6,
    ),
    PromiseCase(
        name="counts of unknown keys, two keys a person",
        spec_ids=("PL-SAN-POINT-STAB",),
        mechanism=PAIRED,
        pairs=[
            ({(0,): 1, (1,): 1}, {(2,): 1, (3,): 1}),
            ({(0,): 2}, {(1,): 2}),
            ({(0,): 2}, {(1,): 1, (2,): 1}),
            ({(0,): 5, (1,): 3}, {(0,): 3, (1,): 5}),
        ],
        mutants={
            "half the scale": replace(PAIRED, scale=PAIRED.scale / 2),
            "threshold of one row": replace(PAIRED, threshold=PAIRED.threshold - 1),
        },
        tail=1e-6,
    ),
    PromiseCase(
        name="counts of unknown keys, two rows in one key",
        spec_ids=("PL-SAN-POINT-STAB",),
        mechanism=HEAVY,
        pairs=[({(0,): 2}, {(1,): 2}), ({(0,): 2}, {(0,): 1}), ({(0,): 6, (1,): 4}, {(0,): 4, (1,): 6})],
        mutants={"threshold of one row": replace(HEAVY, threshold=HEAVY.threshold - 1)},
        tail=1e-6,
    ),
]
