"""Linear models that count their rows: whatever may be released, for all people of a tiny table (MD-LINEAR).

Of Laplace noise the odds of two tables are known exactly for whatever is released: their logarithm is the sum of
(|released - other| - |released - exact|) / scale over all numbers, so no draw is left out as where laws are listed.
Released numbers are taken from a box around all that so few people add up to, beyond which they are cut off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from sfumato import ADD_REMOVE, REPLACE_ONE, Noise, Pure
from sfumato.learn.facts import LearningFacts, Presence, Sample
from sfumato.learn.linear_rows import Grid, coordinates_of
from sfumato.learn.linear_shares import Shares
from sfumato.learn.linear_steps import CountedSteps, LinearSteps, counted_steps
from tests.imputed import booleans, integers
from tests.learn.linear_paths import readings

GRID = Grid(cell=2, unit=2, bins=2)
ROWS = tuple(product((0, 1, 2), (0, 1)))
"""All rows that there are: a number of three values, and a label."""
OTHERS = ((2, 0), (2, 0), (0, 1))
SCALES = tuple(
    np.array([4 * x, 4 * square, 4 * label, 4 * rows])
    for x, square, label, rows in product((-5, 0, 5), (0, 1, 5), (-5, 0, 5), (-1, 3, 9))
)
"""What the first reading may release: sums far out and between, hardly any spread and much, nobody and many rows."""
STEPS = tuple(np.array(pair) for pair in (*product((-99, 99), repeat=2), (0, 1)))
COMES, TWICE = Presence(ADD_REMOVE, 1, counted=True), Presence(ADD_REMOVE, 2, counted=True)
FILTERED = Presence(REPLACE_ONE, 1, counted=True, most=9, deciding=frozenset({"x"}))
SEVERAL = Presence(REPLACE_ONE, 2, counted=True, most=9)
WORLDS = {"come or go": COMES, "come or go with two": TWICE, "filtered": FILTERED, "replaced with two": SEVERAL}
Rows = tuple[tuple[int, int], ...]


def plan_of(presence: Presence, steps: int = 1) -> CountedSteps:
    """Return a mechanism of two paces: from four rows on it clips at twice the length."""
    facts = LearningFacts(("x",), (integers(0, 2),), booleans(), "y", frozenset({"x", "y"}), presence=presence)
    coordinates, spend = coordinates_of(facts), Pure(90)
    made = counted_steps(coordinates, spend, facts, least=1, enough=1, grid=GRID)
    shares = Shares(coordinates, spend, facts)
    slow, fast = (shares.walk(shares.paces[-1]._replace(length=length), GRID, steps) for length in (1, 2))
    assert fast.clip == 2 * slow.clip and fast.amount == slow.amount
    return replace(made, walks=(replace(slow, people=1), replace(fast, people=4)))


def sample(rows: Rows) -> Sample:
    return Sample.of(np.array([[x] for x, _ in rows], np.int64).reshape(-1, 1), [label for _, label in rows])


def people(presence: Presence) -> list[tuple[Rows, Rows]]:
    """Return everything that one person may have in two neighbouring tables."""
    own = [
        rows for count in range(presence.rows + 1) for rows in product(ROWS, repeat=count) if sorted(rows) == [*rows]
    ]
    if presence.relation is ADD_REMOVE:
        return [(rows, ()) for rows in own if rows]
    return list(combinations(own, 2))


def differing(presence: Presence, name: str) -> list[tuple[Rows, Rows]]:
    """Return the same where one attribute of one person differs, in all of the rows or in some."""
    place, found = ("x", "y").index(name), []
    for one, other in product(product(ROWS, repeat=presence.rows), repeat=2):
        if one < other and all(a[1 - place] == b[1 - place] for a, b in zip(one, other, strict=True)):
            # A filter that reads it leaves any of the rows out, in either world.
            found.append((one, other))
            found += [(one, other[1:])] if name in presence.deciding else []
    return found


def transcripts(steps: int) -> Iterator[list[np.ndarray]]:
    """Return what may be released before the last table."""
    return ([scale, *shown] for scale, *shown in product(SCALES, *[STEPS] * steps))


def worst(plan: CountedSteps, pairs: list[tuple[Rows, Rows]], steps: int = 1) -> tuple[Fraction, Fraction]:
    """Return the largest loss at any transcript, and how far the readings along one lie apart at most, in losses."""
    reached = apart = Fraction(0)
    for shown in transcripts(steps):
        noise = [plan.scale, *[plan.at(CountedSteps.released(plan, int(shown[0][-1]))).step] * steps, plan.table]
        scales, known = [part.law.scale for part in noise], dict[Rows, list[np.ndarray]]()
        for rows in {rows for pair in pairs for rows in pair}:
            known[rows] = readings(plan, sample((*OTHERS, *rows)), list(shown))
        for pair in pairs:
            *before, last = zip(*(known[rows] for rows in pair), scales, strict=True)
            # Nothing follows the last table, so that what is worst may be released of it.
            table = _apart(*last)
            apart = max(apart, table + sum((_apart(*one) for one in before), Fraction(0)))
            told = [
                int((abs(r - b) - abs(r - a)).sum()) / scale for r, (a, b, scale) in zip(shown, before, strict=True)
            ]
            reached = max(reached, table + abs(sum(told, Fraction(0))))
    return reached, apart


def _apart(one: np.ndarray, other: np.ndarray, scale: Fraction) -> Fraction:
    return int(np.abs(one - other).sum()) / scale


IN_THE_AUDIT = pytest.mark.audit


@pytest.mark.parametrize(
    ("world", "steps", "least"),
    [
        ("come or go", 1, 1),
        pytest.param("come or go", 2, 1, marks=IN_THE_AUDIT),
        pytest.param("come or go with two", 1, 1, marks=IN_THE_AUDIT),
        pytest.param("filtered", 1, Fraction(8, 10), marks=IN_THE_AUDIT),
        pytest.param("replaced with two", 1, Fraction(7, 10), marks=IN_THE_AUDIT),
    ],
)
def test_whatever_is_released_nobody_loses_more_than_is_stated(world, steps, least):
    plan = plan_of(WORLDS[world], steps)
    reached, apart = worst(plan, people(WORLDS[world]), steps)
    claimed = plan.loss().person.epsilon
    assert reached <= apart <= claimed
    assert reached >= least * claimed, (float(reached / claimed), float(apart / claimed))


@pytest.mark.parametrize("name", ["x", "y"])
@pytest.mark.parametrize("world", ["come or go", *(pytest.param(world, marks=IN_THE_AUDIT) for world in [*WORLDS][1:])])
def test_nor_does_an_attribute(world, name):
    plan = plan_of(WORLDS[world])
    reached, apart = worst(plan, differing(WORLDS[world], name))
    claimed = plan.loss().at({name}).epsilon
    assert reached <= apart <= claimed and reached > claimed * Fraction(6, 10), (float(reached / claimed), name)
    if world == "come or go":
        assert reached > plan.loss().person.epsilon, "more than who comes or goes"


class Exactly(CountedSteps):
    """Denominators and pace by the number of rows itself."""

    def run(self, exact: Sample, noise: Noise) -> Any:
        object.__setattr__(self, "seen", exact.people)
        return super().run(exact, noise)

    def released(self, total: int) -> int:
        return self.seen


class ExactPace(Exactly):
    """Denominators by the number of rows that was released, and the pace by the number of rows itself."""

    def released(self, total: int) -> int:
        return CountedSteps.released(self, total)

    def at(self, people: int) -> LinearSteps:
        return replace(super().at(self.seen), people=people) if hasattr(self, "seen") else super().at(people)


def other_kind(kind: type[CountedSteps]) -> Any:
    return lambda plan: kind(**{part.name: getattr(plan, part.name) for part in fields(plan)})


def cheaper(part: str, times: Fraction) -> Any:
    """Return a mutant of which one part has less noise."""

    def broken(plan: CountedSteps) -> CountedSteps:
        if part == "walks":
            return replace(plan, walks=tuple(replace(one, step=less(one.step, times)) for one in plan.walks))
        return replace(plan, **{part: less(getattr(plan, part), times)})

    return broken


def less(noise: Any, times: Fraction) -> Any:
    return replace(noise, law=replace(noise.law, scale=noise.law.scale * times))


MUTANTS = {
    "the number of rows itself": other_kind(Exactly),
    "the pace by the number of rows itself": other_kind(ExactPace),
    "rows counted for nothing": cheaper("scale", Fraction(3, 4)),
    "less noise in steps": cheaper("walks", Fraction(9, 10)),
    "less noise in the table": cheaper("table", Fraction(9, 10)),
    "twice the clip": lambda plan: replace(plan, walks=tuple(replace(one, clip=2 * one.clip) for one in plan.walks)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_lose_more(name):
    plan = plan_of(COMES)
    broken = MUTANTS[name](plan)
    assert worst(broken, people(COMES))[0] > plan.loss().person.epsilon, "proved by what was released"
