"""Paths of linear models: the exact numbers of every reading, given what the readings before it released."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np

from sfumato import Noise, Pure
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.learn.linear_rows import Grid, coordinates_of
from sfumato.learn.linear_steps import LinearSteps, linear_steps
from tests.imputed import booleans, categories, integers

TINY = Grid(cell=4, unit=2, bins=4)
NAMES = ("number", "bit", "kind")
CELLS = (integers(0, 8), booleans(), categories("a", "b", "c"))
LABELS = {"two": booleans(), "three": categories("p", "q", "r"), "number": integers(0, 8)}
FACTS = {aim: LearningFacts(NAMES, CELLS, labels, "y", frozenset({*NAMES, "y"})) for aim, labels in LABELS.items()}
CODES = {"two": (0, 1), "three": (0, 2), "number": (2, 8)}

Row = tuple[tuple[int, ...], int]


def rows_of(aim: str) -> list[Row]:
    """Return people who differ in every way that matters."""
    numbers = (0, 2, 8) if aim == "two" else (2, 8)
    cells = [(number, bit, kind) for number in numbers for bit in (0, 1) for kind in (0, 1)]
    return [(row, y) for row in cells for y in CODES[aim]]


def tiny(aim: str, people: int, steps: int = 1) -> LinearSteps:
    """Return a mechanism on coarse cells, with so much spend that every part is seen."""
    facts = FACTS[aim]
    return linear_steps(coordinates_of(facts), people, Pure(900), facts, grid=TINY, steps=steps)


def sample(*rows: Row) -> Sample:
    """Return the sample of these people."""
    return Sample.of([codes for codes, _ in rows], [label for _, label in rows])


def parts_of(plan: LinearSteps) -> list:
    """Return the noise of every kind of reading."""
    return [part for part in (plan.scale, plan.step, plan.table) if part is not None]


def readings(plan: LinearSteps, rows: Sample, shown: list[np.ndarray]) -> list[np.ndarray]:
    """Return the exact numbers of every reading when the released ones are those `shown`: a path of all of them."""
    exact: list[np.ndarray] = []
    left = list(shown)

    class Recorded:
        law = plan.scale.law

        def run(self, values: np.ndarray, noise: Noise) -> np.ndarray:
            exact.append(np.array(values))
            return np.array(left.pop(0) if left else values)

    table = None if plan.table is None else Recorded()
    replace(plan, scale=Recorded(), step=Recorded(), table=table).run(rows, Noise(insecure_seed=1))
    return exact


def path_loss(plan: LinearSteps, one: Sample, two: Sample, far: int = 0) -> tuple[Fraction, list[Fraction]]:
    """Return the loss of Laplace noise along a path: nothing is added to the numbers of the first sample.

    With `far` -1 or 1 the scale that is released puts everybody far above or below the mean, where gradients are long.
    """
    first = readings(plan, one, [])
    if far:
        shown = np.full(len(first[0]), far * plan.people * plan.grid.cell**2)
        shown[-label_totals(plan) :] = 0  # labels in equal parts, a number without a spread
        own = readings(plan, one, [shown])
        first = [first[0], *own[1:]]
        second = readings(plan, two, [shown, *own[1:]])
    else:
        second = readings(plan, two, first)
    scales = [plan.scale.law.scale, *([plan.step.law.scale] * plan.steps)]
    scales += [] if plan.table is None else [plan.table.law.scale]
    parts = [Fraction(int(np.abs(a - b).sum())) / scale for a, b, scale in zip(first, second, scales, strict=True)]
    return sum(parts, Fraction(0)), parts


def label_totals(plan: LinearSteps) -> int:
    """Return how many numbers of the first reading speak of the label."""
    return {"two labels": 1, "several labels": plan.aim.heads, "number": 2}[plan.aim.kind]


def pairs(aim: str) -> Iterator[tuple[Row, Row]]:
    """Return all pairs of people who may be exchanged."""
    return permutations(rows_of(aim), 2)
