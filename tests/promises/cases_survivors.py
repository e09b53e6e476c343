"""Cases made for mutants that once survived: a threshold whose delta is not charged, or is off by one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfumato import select
from tests.promises.case import PromiseCase

TEST = select.Choosing(growth=1, rate=Fraction(30), scale=Fraction(1), theta=2, threshold=6)
"""So steep a choice that a new cell weighs nothing: what is left of the delta is that of the threshold."""

CASES = [
    PromiseCase(
        name="choosing-threshold",
        spec_ids=("PL-CHOOSE",),
        mechanism=TEST,
        # Each cell is held by one person, and the other table lacks it: naming it is the leak, and nothing else.
        pairs=[([1, 0], [0, 1])],
        tail=1e-40,
        mutants={
            "a threshold that is off by one": replace(TEST, threshold=TEST.threshold - 1),
            "no threshold": replace(TEST, threshold=0),
        },
    ),
]
