"""Promises of running totals whose groups are found as they run, at T = 2: entries of the past are drawn late (PB-CONTINUAL).

What is given in a period is what its rows are now, and what the source by then says of the period before: a row is
corrected from one group to another. A mutant that reads the past again counts it in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato import ADD_REMOVE, Noise
from sfumato.perturb import sensitivity
from sfumato.publish.found import drawn_step
from sfumato.publish.matrix import Factor
from sfumato.publish.running import RunningTotals
from sfumato.publish.tree import PureTotals, Tree
from tests.promises.case import PromiseCase


class Finding:
    """Two groups: the first is found at once, the second in the second period, with the shipped code."""

    def step(self, state: Any, exact: Any, noise: Noise) -> Any:
        before, now = exact
        read = [*state["read"], now]
        known = [[one[0]] for one in read] if len(read) > 1 else [[]]
        fresh = [[one[0 if len(read) == 1 else 1]] for one in self.past(read, before)]
        drawn = drawn_step(self, known, fresh, [("x",)], noise)  # type: ignore[arg-type]
        value = (*drawn.known.tolist(), *self.entries_of_the_past(drawn, fresh))
        return {"read": read}, value, True

    def past(self, read: Any, before: Any) -> Any:
        return read

    def entries_of_the_past(self, drawn: Any, fresh: Any) -> Any:
        return drawn.fresh.tolist()


class _ReadsAgain:
    """What a new group had before is taken from the source as it is now."""

    def past(self, read: Any, before: Any) -> Any:
        return read if len(read) == 1 else [before, read[-1]]


class _SameCoins:
    """The coins of the newest entry serve for the past too."""

    factor: Factor

    def entries_of_the_past(self, drawn: Any, fresh: Any) -> Any:
        found = drawn.fresh.tolist()
        if len(found) == 1:
            return found
        exact = np.asarray(self.factor.matrix) @ np.ravel(fresh)
        return [int(exact[0]) + found[1] - int(exact[1]), found[1]]


@dataclass(frozen=True, kw_only=True)
class Shipped(Finding, RunningTotals):
    """As a publication does it."""


@dataclass(frozen=True, kw_only=True)
class ReadsAgain(_ReadsAgain, Shipped):
    pass


@dataclass(frozen=True, kw_only=True)
class SameCoins(_SameCoins, Shipped):
    pass


@dataclass(frozen=True, kw_only=True)
class ShippedSums(Finding, PureTotals):
    """As a publication does it, with Laplace noise."""


@dataclass(frozen=True, kw_only=True)
class SumsReadAgain(_ReadsAgain, ShippedSums):
    pass


def gaussian(kind: type[RunningTotals]) -> RunningTotals:
    return kind(relation=ADD_REMOVE, factor=Factor(2, 2, fineness=2), variance=2, moves=sensitivity(1))


def laplace(kind: type[PureTotals]) -> PureTotals:
    return kind(relation=ADD_REMOVE, tree=Tree(2, 3), scale=Fraction(1), moves=sensitivity(1))


# One person's row in the first period, in the first group or in the second, or corrected from the first to the second.
EMPTY = [((0, 0), (0, 0)), ((0, 0), (0, 0))]
PAIRS = [
    ([((0, 0), (1, 0)), ((1, 0), (0, 0))], EMPTY),
    ([((0, 0), (0, 1)), ((0, 1), (0, 0))], EMPTY),
    ([((0, 0), (1, 0)), ((0, 1), (0, 0))], EMPTY),
]

CASES = [
    PromiseCase(
        name="found-groups",
        spec_ids=("PB-CONTINUAL",),
        mechanism=gaussian(Shipped),
        pairs=PAIRS,
        mutants={
            "the past read again": gaussian(ReadsAgain),
            "the same coins for the past": gaussian(SameCoins),
        },
        tail=1e-4,
        slow=True,
    ),
    PromiseCase(
        name="found-groups-pure",
        spec_ids=("PB-TREE",),
        mechanism=laplace(ShippedSums),
        pairs=PAIRS,
        mutants={"the past read again": laplace(SumsReadAgain)},
        tail=1e-3,
        long=True,
    ),
]
