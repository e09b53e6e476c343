"""Promises of several quantiles drawn together: one chain of cuts, ties at random, levels of ranges, every relation.

With `shift=0` all positions are places and ties stay ties, so that tables of many rows have few outcomes; a case of its
own draws the positions. The mutant that forgets that a person may leave one range and enter another is visible where
cuts lie far from the middle of their range, in a domain of five places.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato import ADD_REMOVE
from sfumato.release.quantiles import JointQuantiles
from tests.promises.case import PromiseCase

QUARTERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


def table(*counts: int) -> Any:
    """Return so many rows of the values 0, 1, 2, …"""
    found = np.array(counts, dtype=np.int64)
    return np.flatnonzero(found), found[found > 0]


ONE_ROW = (table(1), table(0, 0, 1))


def several(probabilities: tuple[Fraction, ...], **options: Any) -> JointQuantiles:
    plain = {"size": 3, "epsilon": Fraction(1), "fan": len(probabilities), "capacity": 256, "shift": 0}
    return JointQuantiles(probabilities=probabilities, **{**plain, **options})


JOINT = several(QUARTERS, size=4)
ONE_MORE = several((Fraction(1, 3), Fraction(2, 3)), relation=ADD_REMOVE)
TIES = several((Fraction(1, 3), Fraction(2, 3)), size=2, shift=1, epsilon=Fraction(2))
GRADED = several((Fraction(1, 2), Fraction(3, 4)), size=6, zero=2)
WEIGHED = several(QUARTERS, size=4, weight=2, scale=2)
HALVING = several(QUARTERS, fan=1, size=4, epsilon=Fraction(1, 2))
OUTER = several((Fraction(1, 20), Fraction(1, 2), Fraction(19, 20)), fan=1, size=5)

CASES = [
    PromiseCase(
        name="three quantiles together",
        spec_ids=("PL-QUANTILE", "TCDP:C-EXPM"),
        mechanism=JOINT,
        pairs=[(table(12, 20, 1, 16), table(11, 20, 2, 16)), (table(0, 21, 22, 10), table(1, 21, 22, 9)), ONE_ROW],
        mutants={
            "half the noise": replace(JOINT, epsilon=2 * JOINT.epsilon),
            "a changed row moves one part of the rows, not two": replace(JOINT, epsilon=Fraction(3, 2)),
        },
    ),
    PromiseCase(
        name="two quantiles together, one row more or less",
        spec_ids=("PL-QUANTILE", "TCDP:C-EXPM"),
        mechanism=ONE_MORE,
        pairs=[(table(15, 28, 4), table(16, 28, 4)), (table(), table(1)), (table(0, 0, 20), table(0, 0, 21))],
        mutants={"half the noise": replace(ONE_MORE, epsilon=2 * ONE_MORE.epsilon)},
    ),
    PromiseCase(
        name="three quantiles together, two units a person",
        spec_ids=("PL-QUANTILE",),
        mechanism=WEIGHED,
        pairs=[(table(24, 40, 2, 32), table(22, 40, 4, 32)), (table(0, 42, 44, 20), table(2, 42, 44, 18))],
        mutants={"one unit a person": replace(WEIGHED, weight=1)},
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
        pairs=[(table(0, 0, 12, 20, 1, 16), table(0, 0, 11, 20, 2, 16)), (table(5, 0, 9, 0, 9), table(4, 0, 9, 0, 10))],
        mutants={"half the noise": replace(GRADED, epsilon=2 * GRADED.epsilon)},
    ),
    PromiseCase(
        name="quantiles by halving",
        spec_ids=("PL-QUANTILE", "PL:C-PAR"),
        mechanism=HALVING,
        pairs=[(table(16, 14, 30, 52), table(16, 15, 30, 51)), (table(8, 8, 8, 8), table(7, 8, 8, 9))],
        mutants={
            "half the noise": replace(HALVING, epsilon=2 * HALVING.epsilon),
        },
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
