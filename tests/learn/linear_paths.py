"""Paths of linear models: the exact numbers of every reading, given what the readings before it released."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np

from sfumato import Noise, Pure
from sfumato.learn.facts import LearningFacts, Presence, Sample
from sfumato.learn.linear_rows import Grid, coordinates_of
from sfumato.learn.linear_shares import Shares
from sfumato.learn.linear_steps import CountedSteps, LinearSteps, counted_steps, linear_steps
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


def counted(aim: str, presence: Presence, steps: int = 1) -> CountedSteps:
    """Return a mechanism that counts its rows, on the same cells, with so many steps whatever their number."""
    facts = replace(FACTS[aim], presence=presence)
    coordinates, spend = coordinates_of(facts), Pure(900)
    shares = Shares(coordinates, spend, facts)
    walk = shares.walk(shares.paces[-1], TINY, steps)
    return replace(counted_steps(coordinates, spend, facts, least=1, enough=1, grid=TINY), walks=(walk,))


def sample(*rows: Row) -> Sample:
    """Return the sample of these people; of nobody too."""
    if not rows:
        return Sample.of(np.empty((0, len(NAMES)), np.int64), [])
    return Sample.of([codes for codes, _ in rows], [label for _, label in rows])


def parts_of(plan: LinearSteps | CountedSteps) -> list:
    """Return the noise of every kind of reading."""
    return [part for part in (plan.scale, walk_of(plan).step, plan.table) if part is not None]


def walk_of(plan: LinearSteps | CountedSteps) -> Any:
    """Return what says how steps are walked."""
    return plan.walks[0] if isinstance(plan, CountedSteps) else plan


def readings(plan: LinearSteps | CountedSteps, rows: Sample, shown: list[np.ndarray]) -> list[np.ndarray]:
    """Return the exact numbers of every reading when the released ones are those `shown`: a path of all of them."""
    exact: list[np.ndarray] = []
    left = list(shown)

    class Recorded:
        law = plan.scale.law

        def run(self, values: np.ndarray, noise: Noise) -> np.ndarray:
            exact.append(np.array(values))
            return np.array(left.pop(0) if left else values)

    table = None if plan.table is None else Recorded()
    steps = {"step": Recorded()}
    if isinstance(plan, CountedSteps):
        steps = {"walks": tuple(replace(walk, **steps) for walk in plan.walks)}
    replace(plan, scale=Recorded(), table=table, **steps).run(rows, Noise(insecure_seed=1))
    return exact


def path_loss(plan: Any, one: Sample, two: Sample, far: int = 0) -> tuple[Fraction, list[Fraction]]:
    """Return the loss of Laplace noise along a path: nothing is added to the numbers of the first sample.

    With `far` -1 or 1 the scale that is released puts everybody far above or below the mean, where gradients are long.
    """
    first = readings(plan, one, [])
    if far:
        counting = isinstance(plan, CountedSteps)
        rows = max(1, one.people) if counting else plan.people
        shown = np.full(len(first[0]), far * rows * plan.grid.cell**2)
        shown[-label_totals(plan) - counting :] = 0  # labels in equal parts, a number without a spread
        if counting:
            shown[-1] = rows * plan.grid.cell**2
        own = readings(plan, one, [shown])
        first = [first[0], *own[1:]]
        second = readings(plan, two, [shown, *own[1:]])
    else:
        second = readings(plan, two, first)
    walk = walk_of(plan)
    scales = [plan.scale.law.scale, *([walk.step.law.scale] * walk.steps)]
    scales += [] if plan.table is None else [plan.table.law.scale]
    parts = [Fraction(int(np.abs(a - b).sum())) / scale for a, b, scale in zip(first, second, scales, strict=True)]
    return sum(parts, Fraction(0)), parts


def label_totals(plan: LinearSteps | CountedSteps) -> int:
    """Return how many numbers of the first reading speak of the label."""
    return {"two labels": 1, "several labels": plan.aim.heads, "number": 2}[plan.aim.kind]


def pairs(aim: str) -> Iterator[tuple[Row, Row]]:
    """Return all pairs of people who may be exchanged."""
    return permutations(rows_of(aim), 2)
