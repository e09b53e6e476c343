"""Promises of several quantiles drawn together: one chain of cuts, ties at random, levels of ranges, every relation.

With `shift=0` all positions are places and ties stay ties, so that tables of many rows have few outcomes; a case of its
own draws the positions. The worst neighbours are built from the proof: a row goes from the last value to the first, which
makes the parts at both ends, one too large and one too small by a little, worse in the cuts that have nearly all of the
weight, and better in cuts one value further out, which have nearly none. There the whole claim is reached, and a choice
that is 5 % too steep is seen. The mutant that forgets that a person may leave one range and enter another is visible
where cuts lie far from the middle of their range, in a domain of five places.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

from sfumato import ADD_REMOVE
from sfumato.noise import DiscreteLaplace
from sfumato.perturb import AdditiveNoise
from sfumato.questions.quantiles import JointQuantiles
from sfumato.totals.rank_error import MeasuredCuts, farthest
from tests.promises.case import PromiseCase
from tests.promises.printed.choices import changed

QUARTERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


def table(*counts: int) -> Any:
    """Return so many rows of the values 0, 1, 2, …"""
    found = np.array(counts, dtype=np.int64)
    return np.flatnonzero(found), found[found > 0]


ONE_ROW = (table(1), table(0, 0, 1))


def apart(one: Any, two: Any) -> int:
    """Return how many rows of one table are not in the other."""
    first, second = (Counter(dict(zip(*(part.tolist() for part in rows), strict=True))) for rows in (one, two))
    return (first - second).total()


def several(probabilities: tuple[Fraction, ...], **options: Any) -> JointQuantiles:
    plain = {"size": 3, "epsilon": Fraction(1), "fan": len(probabilities), "capacity": 256, "shift": 0}
    return JointQuantiles(probabilities=probabilities, **{**plain, **options})


def steeper(mechanism: JointQuantiles) -> JointQuantiles:
    """Return the same choice, 5 % steeper than it may be."""
    return replace(mechanism, epsilon=mechanism.epsilon / Fraction(95, 100))


class WithoutSlack(JointQuantiles):
    """As steep as if weights were exact numbers."""

    slack = Fraction(0)  # type: ignore[assignment]


class ShownWhenZero(MeasuredCuts):
    """Publishes an error of zero as it is."""

    def run(self, exact: Any, noise: Any) -> tuple[int, ...]:
        cuts = self.cuts.run(exact, noise)
        error = farthest(*exact, cuts, self.chances, self.scale)
        return *cuts, error if error == 0 else self.error.run(error, noise)


class OfTheNearest(MeasuredCuts):
    """Adds up the errors of all cuts, which one row moves further than their largest."""

    def run(self, exact: Any, noise: Any) -> tuple[int, ...]:
        cuts = self.cuts.run(exact, noise)
        each = zip(cuts, self.chances, strict=True)
        return *cuts, self.error.run(sum(farthest(*exact, [cut], [chance]) for cut, chance in each), noise)


def with_error(cuts: JointQuantiles, scale: Fraction) -> MeasuredCuts:
    error = AdditiveNoise(law=DiscreteLaplace(scale), sensitivity=cuts.weight, relation=cuts.relation)
    return MeasuredCuts(cuts=cuts, chances=cuts.probabilities, error=error, scale=cuts.scale)


JOINT = several(QUARTERS, size=6)
THIRDS = (Fraction(1, 3), Fraction(2, 3))
MEASURED = with_error(several(THIRDS, size=4), Fraction(1, 6))
MEASURED_MORE = with_error(several(THIRDS, size=4, relation=ADD_REMOVE), Fraction(1, 6))
FEW = [table(*counts) for counts in product(range(3), repeat=4) if sum(counts) == 2]
ONE_MORE = several((Fraction(1, 3), Fraction(2, 3)), size=4, relation=ADD_REMOVE)
TIES = several((Fraction(1, 3), Fraction(2, 3)), size=2, shift=1, epsilon=Fraction(2))
GRADED = several((Fraction(1, 2), Fraction(3, 4)), size=6, zero=2)
WEIGHED = several(QUARTERS, size=6, weight=2, scale=2)
HALVING = several(QUARTERS, fan=1, size=8, capacity=512, epsilon=Fraction(1, 2))
ROUNDED = replace(JOINT, epsilon=Fraction(2449, 970))
"""A spend at which the weights, in floating point, are off by as much as the audit can prove."""
OUTER = several((Fraction(1, 20), Fraction(1, 2), Fraction(19, 20)), fan=1, size=5)

CASES = [
    PromiseCase(
        name="three quantiles together",
        spec_ids=("PL-QUANTILE", "TCDP:C-EXPM"),
        mechanism=JOINT,
        pairs=[(table(0, 22, 20, 20, 17, 1), table(1, 22, 20, 20, 17)), ONE_ROW],
        mutants={
            "5 % too steep": steeper(JOINT),
            "a changed row moves one part of the rows, not two": replace(JOINT, epsilon=Fraction(3, 2)),
        },
    ),
    PromiseCase(
        # All tables of two people; beside them one at which both claims are reached.
        name="two quantiles and their measured error",
        spec_ids=("MD-QBAR", "PL-QUANTILE"),
        mechanism=MEASURED,
        pairs=[
            *((one, two) for one, two in combinations(FEW, 2) if apart(one, two) == 1),
            (table(0, 26, 30, 24), table(1, 26, 30, 23)),
        ],
        mutants={
            "half the sensitivity": replace(
                MEASURED, error=replace(MEASURED.error, law=DiscreteLaplace(Fraction(1, 12)))
            ),
            "an error of zero is shown as it is": changed(ShownWhenZero, MEASURED),
            "errors are added up": changed(OfTheNearest, MEASURED),
            "cuts and error each have the whole spend": replace(
                MEASURED, cuts=several(THIRDS, size=4, epsilon=Fraction(3))
            ),
        },
    ),
    PromiseCase(
        name="two quantiles and their measured error, one row more or less",
        spec_ids=("MD-QBAR", "PL-QUANTILE"),
        mechanism=MEASURED_MORE,
        pairs=[
            (table(), table(1)),
            (table(1, 0, 1), table(1, 1, 1)),
            (table(0, 1, 1), table(1, 1, 1)),
            (table(0, 30, 26, 24), table(1, 30, 26, 24)),
        ],
        mutants={
            "half the sensitivity": replace(
                MEASURED_MORE, error=replace(MEASURED_MORE.error, law=DiscreteLaplace(Fraction(1, 12)))
            ),
            "an error of zero is shown as it is": changed(ShownWhenZero, MEASURED_MORE),
        },
    ),
    PromiseCase(
        name="three quantiles together, where rounding is seen",
        spec_ids=("PL-QUANTILE",),
        mechanism=ROUNDED,
        pairs=[(table(0, 52, 50, 50, 47, 1), table(1, 52, 50, 50, 47))],
        mutants={"rounding is not paid for": changed(WithoutSlack, ROUNDED)},
    ),
    PromiseCase(
        name="two quantiles together, one row more or less",
        spec_ids=("PL-QUANTILE", "TCDP:C-EXPM"),
        mechanism=ONE_MORE,
        pairs=[(table(0, 30, 26, 24), table(1, 30, 26, 24)), (table(), table(1))],
        mutants={"5 % too steep": steeper(ONE_MORE)},
    ),
    PromiseCase(
        name="three quantiles together, two units a person",
        spec_ids=("PL-QUANTILE",),
        mechanism=WEIGHED,
        pairs=[(table(0, 52, 50, 50, 46, 2), table(2, 52, 50, 50, 46))],
        mutants={"one unit a person": replace(WEIGHED, weight=1), "5 % too steep": steeper(WEIGHED)},
    ),
    PromiseCase(
        name="quantiles of tied rows",
        spec_ids=("PL-QUANTILE",),
        mechanism=TIES,
        pairs=[(table(2, 1), table(1, 2)), (table(3), table(2, 1)), (table(4), table(3, 1))],
        mutants={"a quarter of the noise": replace(TIES, epsilon=4 * TIES.epsilon)},
    ),
    PromiseCase(
        name="quantiles over magnitudes",
        spec_ids=("PL-QUANTILE",),
        mechanism=GRADED,
        pairs=[(table(0, 102, 50, 47, 0, 1), table(1, 102, 50, 47))],
        mutants={"5 % too steep": steeper(GRADED)},
    ),
    PromiseCase(
        name="quantiles by halving",
        spec_ids=("PL-QUANTILE", "PL:C-PAR"),
        mechanism=HALVING,
        pairs=[(table(0, 60, 30, 32, 2, 60, 59, 1), table(1, 60, 30, 32, 2, 60, 59))],
        mutants={"5 % too steep": steeper(HALVING)},
    ),
    PromiseCase(
        # A level of medians costs no more when a person moves to another range; of outer quantiles it does.
        name="outer quantiles by halving",
        spec_ids=("PL-QUANTILE", "PL:C-PAR"),
        mechanism=OUTER,
        pairs=[(table(13, 0, 28, 30, 5), table(13, 1, 28, 30, 4)), (table(1, 4, 28, 17, 2), table(1, 5, 28, 17, 1))],
        mutants={
            "half the noise": replace(OUTER, epsilon=2 * OUTER.epsilon),
            "the range that a person leaves is free": replace(OUTER, epsilon=OUTER.epsilon * Fraction(28, 19)),
        },
    ),
]
