"""Promises of shaped noise: K-norm, its cousins, the recursive mechanism, and the choice among small databases."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato import ADD_REMOVE, REPLACE_ONE, Pure
from sfumato.papers.query_release.geometry import RecursiveNoise, ShapedNoise, shaped
from sfumato.papers.query_release.geometry.bodies import Box, Diamond
from sfumato.papers.query_release.geometry.cut import Cut
from sfumato.papers.query_release.geometry.fan import Fan
from sfumato.papers.query_release.geometry.lattice import Lattice
from sfumato.papers.query_release.geometry.small_databases import databases_for
from tests.promises.case import PromiseCase
from tests.promises.printed.geometry import charged_by_natural_log, fewer_generators


def moved(mechanism: Any, start: tuple[int, ...]) -> list[tuple[Any, Any]]:
    """Return a table's answers with those of every neighbour."""
    base = np.array(start, dtype=np.int64)
    shapes = mechanism.levels[0] if isinstance(mechanism, RecursiveNoise) else mechanism
    return [(base, base + np.array(step)) for step in shapes.generators]


def rated(mechanism: ShapedNoise, factor: int | Fraction) -> ShapedNoise:
    return replace(mechanism, rate=mechanism.rate * factor)


ONE = shaped([[1, -1, 2]], Pure(1), relation=ADD_REMOVE, method="simplex")
PAIR = shaped([[1, 1, 0], [0, 1, 1]], Pure(1), relation=ADD_REMOVE, method="simplex")
SIGNS = shaped([[1, 1, -1, -1], [1, -1, 1, -1]], Pure(1), relation=ADD_REMOVE, method="linear")
# Two indicators and the total: under REPLACE_ONE the body is flat, and the total of three people stays what it is.
FLAT = shaped([[1, 0, 0], [0, 1, 0], [1, 1, 1]], Pure(1), relation=REPLACE_ONE, method="simplex", people=3)
UNEVEN = shaped([[3, 1], [0, 2]], Pure(2), relation=REPLACE_ONE, people=2)
SCALED = shaped([[1, 0], [2, 1]], Pure(2), relation=ADD_REMOVE, method="scaled-laplace")


def made(body: Any, generators: tuple[tuple[int, ...], ...], rate: int) -> ShapedNoise:
    rank = len(generators[0])
    return ShapedNoise(
        rate=Fraction(rate),
        lattice=Lattice.whole(rank),
        body=body,
        generators=generators,
        origin=(0,) * rank,
        relation=ADD_REMOVE,
    )


HEXAGON = ((1, 0), (0, 1), (1, 1))
BOX = made(Box((1, 1), attempts=1), HEXAGON, 3)
LONG_BOX = made(Box((1, 2), unit=2, attempts=1), ((2, 0), (1, 1)), 5)
# |w1| + |w2| <= 2, and the slabs of the hexagon; norms are multiples of a half.
SLABS = made(Cut((1, 1), ((2, 0), (0, 2), (2, -2)), unit=2, attempts=1, batch=1), HEXAGON, 2)
# w'Qw = w1² - w1·w2 + w2² <= 1, an ellipse through all six points, within |w1| + |w2| <= 2.
ELLIPSE = made(Cut((2, 2), (), ((16, -8), (-8, 16)), unit=4, attempts=1, batch=1), HEXAGON, 3)
RECURSIVE = shaped(
    [[8, 8], [1, -1]], Pure(3), relation=ADD_REMOVE, method="recursive", allocation="equal", split="half"
)
SMALL = databases_for([[1, 1, 0], [0, 1, 1]], Pure(1), people=3, size=2)
CROWD = replace(SMALL, people=30)
HISTOGRAMS = [(a, b, 3 - a - b) for a in range(4) for b in range(4 - a)]
NEIGHBOURS = [
    (np.array(one), np.array(other))
    for place, one in enumerate(HISTOGRAMS)
    for other in HISTOGRAMS[:place]
    if sum(abs(x - y) for x, y in zip(one, other, strict=True)) == 2
]

assert isinstance(ONE, ShapedNoise) and isinstance(PAIR, ShapedNoise) and isinstance(SIGNS, ShapedNoise)
assert isinstance(FLAT, ShapedNoise) and isinstance(UNEVEN, ShapedNoise) and isinstance(SCALED, ShapedNoise)
assert isinstance(RECURSIVE, RecursiveNoise)

CASES = [
    PromiseCase(
        name="knorm-one-query",
        spec_ids=("QR-KNORM",),
        mechanism=ONE,
        pairs=moved(ONE, (5,)),
        mutants={"half the noise": rated(ONE, 2), "body of one column": fewer_generators(ONE, 1)},
    ),
    PromiseCase(
        name="knorm-hexagon",
        spec_ids=("QR-KNORM",),
        mechanism=PAIR,
        pairs=moved(PAIR, (3, 2)),
        tail=1e-7,
        mutants={
            "half the noise": rated(PAIR, 2),
            "one part in fifty less": rated(PAIR, Fraction(51, 50)),
            "body of some columns": fewer_generators(PAIR, 2),
        },
    ),
    PromiseCase(
        name="knorm-linear",
        spec_ids=("QR-KNORM",),
        mechanism=SIGNS,
        pairs=moved(SIGNS, (0, 2)),
        tail=1e-7,
        mutants={"half the noise": rated(SIGNS, 2)},
    ),
    PromiseCase(
        name="knorm-flat-replace-one",
        spec_ids=("QR-KNORM",),
        mechanism=FLAT,
        pairs=moved(FLAT, (1, 1, 3)),
        tail=1e-7,
        mutants={
            "half the noise": rated(FLAT, 2),
            "K in place of K_R": replace(FLAT, body=Fan(FLAT.lattice.points(((1, 0, 0), (0, 1, 0))))),
        },
    ),
    PromiseCase(
        name="knorm-line-replace-one",
        spec_ids=("QR-KNORM",),
        mechanism=UNEVEN,
        pairs=moved(UNEVEN, (6, 0)),
        mutants={"half the noise": rated(UNEVEN, 2)},
    ),
    PromiseCase(
        name="enorm-scaled-laplace",
        spec_ids=("QR-ENORM",),
        mechanism=SCALED,
        pairs=moved(SCALED, (4, 4)),
        tail=1e-7,
        mutants={
            "half the noise": rated(SCALED, 2),
            "scales of one column": replace(SCALED, body=Diamond((Fraction(1, 2), Fraction(1)))),
        },
    ),
    PromiseCase(
        name="enorm-box",
        spec_ids=("QR-ENORM",),
        mechanism=BOX,
        pairs=moved(BOX, (0, 0)),
        tail=1e-3,
        mutants={"half the noise": rated(BOX, 2)},
    ),
    PromiseCase(
        name="enorm-long-box",
        spec_ids=("QR-ENORM",),
        mechanism=LONG_BOX,
        pairs=moved(LONG_BOX, (0, 0)),
        tail=1e-3,
        mutants={
            "half the noise": rated(LONG_BOX, 2),
            "a box too short": replace(LONG_BOX, body=Box((1, 1), attempts=1)),
        },
    ),
    PromiseCase(
        name="knorm-rejection",
        spec_ids=("QR-KNORM",),
        mechanism=SLABS,
        pairs=moved(SLABS, (2, 1)),
        tail=1e-3,
        mutants={
            "half the noise": rated(SLABS, 2),
            "a slab too narrow": replace(SLABS, body=Cut((1, 1), ((2, 2),), unit=2, attempts=1, batch=1)),
        },
    ),
    PromiseCase(
        name="enorm-ellipse",
        spec_ids=("QR-ENORM",),
        mechanism=ELLIPSE,
        pairs=moved(ELLIPSE, (2, 1)),
        tail=5e-4,
        mutants={
            "half the noise": rated(ELLIPSE, 2),
            "an ellipse too small": replace(
                ELLIPSE, body=Cut((2, 2), (), ((32, 0), (0, 32)), unit=4, attempts=1, batch=1)
            ),
        },
        long=True,
    ),
    PromiseCase(
        name="recursive",
        spec_ids=("QR-NIKM",),
        mechanism=RECURSIVE,
        pairs=moved(RECURSIVE, (8, 1)),
        tail=1e-3,
        mutants={
            "half the noise": replace(RECURSIVE, levels=tuple(rated(level, 2) for level in RECURSIVE.levels)),
            "charged by ln d (QR:D5)": charged_by_natural_log(RECURSIVE, 2),
        },
    ),
    PromiseCase(
        name="small-databases",
        spec_ids=("QR-BLR",),
        mechanism=SMALL,
        pairs=NEIGHBOURS,
        mutants={
            "un-halved": replace(SMALL, rate=2 * SMALL.rate),
        },
    ),
    PromiseCase(
        # So many of one kind that one small database has nearly all of the weight.
        name="small-databases-of-a-crowd",
        spec_ids=("QR-BLR",),
        mechanism=CROWD,
        pairs=[(np.array((30, 0, 0)), np.array((29, 0, 1)))],
        mutants={"un-halved": replace(CROWD, rate=2 * CROWD.rate)},
    ),
]
