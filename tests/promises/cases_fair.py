"""Promises of the private audit: tables of group by segment by outcome, from decisions and from distributions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato import ADD_REMOVE, Pure
from sfumato.fair.audits.group_table import group_table
from sfumato.noise import DiscreteLaplace
from tests.promises.case import PromiseCase


def people(*records: tuple[bool, int, list[float]]) -> Any:
    """Return people as the table takes them: inside, segment, distribution."""
    inside, codes, rows = zip(*records, strict=True)
    return np.array(inside), np.array(codes), np.array(rows, dtype=np.float64)


NO, YES, EVEN = [1.0, 0.0], [0.0, 1.0], [0.5, 0.5]
BASE = (True, 0, YES)

# Rates so high that few outcomes of each cell matter: every cell is one more dimension of the law.
PLAIN = group_table(Pure(16), 2)
ADDED = group_table(Pure(8), 2, relation=ADD_REMOVE)
PLACES = group_table(Pure(16), 1, segments=2)
SHARES = group_table(Pure(16), 2, steps=2)
HALF = DiscreteLaplace(Fraction(1, 16))

CASES = [
    PromiseCase(
        name="fair-group-table",
        spec_ids=("FA-AUDIT", "QR-LAP"),
        mechanism=PLAIN,
        pairs=[
            (people(BASE, (True, 0, NO)), people(BASE, (False, 0, YES))),
            (people(BASE, (True, 0, YES)), people(BASE, (True, 7, [np.nan, 3.0]))),
        ],
        tail=1e-9,
        mutants={"half the noise": replace(PLAIN, law=HALF)},
    ),
    PromiseCase(
        name="fair-group-table-add-remove",
        spec_ids=("FA-AUDIT", "QR-LAP"),
        mechanism=ADDED,
        pairs=[(people(BASE), people(BASE, (True, 0, NO)))],
        tail=1e-9,
        mutants={"half the noise": replace(ADDED, law=HALF)},
    ),
    PromiseCase(
        name="fair-segment-table",
        spec_ids=("FA-AUDIT", "QR-LAP"),
        mechanism=PLACES,
        pairs=[(people((True, 0, [1.0]), (True, 0, [1.0])), people((True, 0, [1.0]), (False, 1, [1.0])))],
        tail=1e-9,
        mutants={"half the noise": replace(PLACES, law=HALF)},
    ),
    PromiseCase(
        name="fair-group-table-of-distributions",
        spec_ids=("FA-AUDIT", "QR-LAP"),
        mechanism=SHARES,
        pairs=[(people((True, 0, EVEN)), people((False, 0, YES)))],
        tail=1e-8,
        mutants={"the noise of decisions": replace(SHARES, law=PLAIN.law)},
        long=True,
    ),
]
