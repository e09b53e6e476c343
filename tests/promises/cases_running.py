"""Promises of running totals at T ≤ 4: one period of one person, one key and two, data that answer back (PB-CONTINUAL).

Every mutant is a mistake that is easy to make: noise for one entry only, coins used twice, a matrix that is not the
one of the claim.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato import ADD_REMOVE, Loss, Noise
from sfumato.perturb import sensitivity
from sfumato.publish.matrix import Factor
from sfumato.publish.running import RunningTotals
from tests.promises.case import PromiseCase


@dataclass(frozen=True, kw_only=True)
class OneDraw(RunningTotals):
    """The same coins for every key of a step: their difference is released exactly."""

    def entry(self, read: Any, noise: Noise) -> Any:
        shift = replace(self, variance=1).factor.matrix[len(read) - 1]
        exact = sum(shift[place] * np.ravel(total) for place, total in enumerate(read))
        return exact + noise.draw(self.law)


@dataclass(frozen=True, kw_only=True)
class SameCoins(RunningTotals):
    """Coins kept from the first period and used again in the next."""

    def step(self, state: Any, exact: Any, noise: Noise) -> Any:
        following, value, changed = super().step(state, exact, noise)
        if len(following["read"]) == 1:
            coins = value[0] - self.factor.matrix[0, 0] * following["read"][0][0]
            return {**following, "coins": int(coins)}, value, changed
        row = self.factor.matrix[len(following["read"]) - 1]
        total = sum(int(c) * read[0] for c, read in zip(row, following["read"], strict=False))
        return {**following, "coins": state["coins"]}, (total + state["coins"],), changed


@dataclass(frozen=True, kw_only=True)
class PlainSums(RunningTotals):
    """The noise of the matrix, added to the running sums themselves: one period moves every later one in full."""

    def entry(self, read: Any, noise: Noise) -> Any:
        total = 4 * np.sum([np.ravel(one) for one in read], axis=0)
        return total + noise.draw(self.law, total.size)


@dataclass(frozen=True, kw_only=True)
class SeveralDays(RunningTotals):
    """As shipped, at the price of somebody who is there in all periods: what a month or a year is charged."""

    def loss(self) -> Loss:
        return Loss.flat(self.cost([1] * self.periods), self.reads, self.relation)


def small(periods: int, variance: int, band: int | None = None, moves: int = 1) -> RunningTotals:
    return RunningTotals(
        relation=ADD_REMOVE,
        factor=Factor(periods, band or periods, fineness=4),
        variance=variance,
        moves=sensitivity(moves),
    )


def one_period(periods: int, rows: int = 1) -> list[Any]:
    """All streams of one person that differ in one period only, from nothing to `rows` rows."""
    found = []
    for changed in range(periods):
        other = [2 if place != changed else rows for place in range(periods)]
        found.append(([0 if place == changed else 2 for place in range(periods)], other))
    return found


def answering(first: int) -> Any:
    """Rows of the second period follow what was shown of the first, whoever was there in the first."""

    def stream(values: tuple[Any, ...]) -> Any:
        if not values:
            return first
        return None if len(values) == 2 else (3 if values[0][0] > 2 else 0)

    return stream


two, three = small(2, 6), small(3, 12)
month = SeveralDays(relation=ADD_REMOVE, factor=Factor(2, 2, fineness=4), variance=30, moves=sensitivity(1))
keys = replace(small(2, 14), moves=sensitivity(1))

CASES = [
    PromiseCase(
        name="running-two-periods",
        spec_ids=("PB-CONTINUAL",),
        mechanism=two,
        pairs=[*one_period(2), (answering(0), answering(1))],
        mutants={
            "noise for one period only": replace(two, variance=6 * 16 // two.factor.one_period),
            "the same coins in two steps": SameCoins(
                relation=ADD_REMOVE, factor=two.factor, variance=6, moves=two.moves
            ),
            "sums in place of the matrix": PlainSums(
                relation=ADD_REMOVE, factor=two.factor, variance=6, moves=two.moves
            ),
            "two rows a person for one": replace(two, factor=Factor(2, 2, fineness=8)),
        },
        tail=1e-6,
    ),
    PromiseCase(
        name="running-three-periods",
        spec_ids=("PB-CONTINUAL",),
        mechanism=three,
        pairs=one_period(3),
        mutants={"columns of the plain matrix": replace(three, variance=12 * 16 // three.factor.one_period)},
        tail=1e-4,
        long=True,
    ),
    PromiseCase(
        name="running-two-days-of-a-person",
        spec_ids=("PB-CONTINUAL", "PB-UNIT"),
        mechanism=month,
        pairs=[([0, 0], [1, 1]), ([0, 1], [1, 1]), (answering(0), answering(1))],
        mutants={
            "days that add up": replace(month, variance=30 * 2 * month.factor.one_period // month.factor.shift([1, 1])),
            "one day for all": replace(month, variance=30 * month.factor.one_period // month.factor.shift([1, 1])),
        },
        tail=1e-6,
    ),
    PromiseCase(
        name="running-window",
        spec_ids=("PB-CONTINUAL",),
        mechanism=small(3, 12, band=2),
        pairs=one_period(3),
        mutants={"the matrix of the whole": replace(small(3, 12, band=2), factor=Factor(3, 3, fineness=6))},
        tail=1e-4,
        long=True,
    ),
    PromiseCase(
        name="running-two-keys",
        spec_ids=("PB-CONTINUAL",),
        mechanism=keys,
        pairs=[([[0, 1], [1, 1]], [[1, 1], [1, 1]]), ([[1, 1], [0, 1]], [[1, 1], [0, 2]])],
        mutants={
            "one draw for all keys": OneDraw(relation=ADD_REMOVE, factor=keys.factor, variance=14, moves=keys.moves)
        },
        tail=1e-4,
        long=True,
    ),
]
