"""Promises of pure running totals at T ≤ 4: one period of one person, one key and two, data that answer back (PB-TREE).

Every mutant is a mistake that is easy to make: noise for one sum only, coins used twice, more levels than were paid for,
the totals themselves in place of the sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato import ADD_REMOVE, Noise
from sfumato.perturb import sensitivity
from sfumato.publish.tree import PureTotals, Tree
from tests.promises.case import PromiseCase
from tests.promises.cases_running import answering, one_period


@dataclass(frozen=True, kw_only=True)
class OneCoin(PureTotals):
    """The same coins for all sums that a period completes: their difference is released exactly."""

    def entry(self, read: Any, noise: Noise) -> Any:
        rows = [
            np.sum(np.array(read)[-(self.tree.base**level) :], axis=0).ravel() for level in range(self._complete(read))
        ]
        exact = np.array(rows)
        return exact + noise.draw(self.law, exact.shape[1])

    def _complete(self, read: Any) -> int:
        return self.tree.complete(len(read))


@dataclass(frozen=True, kw_only=True)
class OneDraw(PureTotals):
    """The same coins for all keys: their difference is released exactly."""

    def entry(self, read: Any, noise: Noise) -> Any:
        return np.ravel(read[-1])[None, :] + noise.draw(self.law)


@dataclass(frozen=True, kw_only=True)
class WholeTotals(PureTotals):
    """Totals since the start with the noise of the tree: one period moves every later one."""

    def entry(self, read: Any, noise: Noise) -> Any:
        total = np.sum([np.ravel(one) for one in read], axis=0)
        return total + noise.draw(self.law, total.size)


@dataclass(frozen=True, kw_only=True)
class TwiceRead(PureTotals):
    """A longer sum that takes its last period twice: the one that was added, and the one that was read."""

    def entry(self, read: Any, noise: Noise) -> Any:
        found = super().entry(read, noise)
        found[1:] += np.ravel(read[-1])
        return found


def small(periods: int, base: int, scale: int | Fraction, moves: int = 1) -> PureTotals:
    tree = Tree(periods, base)
    return PureTotals(relation=ADD_REMOVE, tree=tree, scale=Fraction(scale), moves=sensitivity(moves))


two, three, four = small(2, 2, 2), small(3, 2, 1), small(4, 4, Fraction(1, 2))
plain, keys = small(3, 4, 1), small(2, 3, 1)


def other(kind: type[PureTotals], of: PureTotals) -> PureTotals:
    return kind(relation=ADD_REMOVE, tree=of.tree, scale=of.scale, moves=of.moves)


CASES = [
    PromiseCase(
        name="tree-two-periods",
        spec_ids=("PB-TREE",),
        mechanism=two,
        pairs=[*one_period(2), (answering(0), answering(1))],
        mutants={
            "noise for one sum only": replace(two, scale=two.scale / two.tree.levels),
            "the same coins for all sums of a period": other(OneCoin, two),
            "a period that is added twice": other(TwiceRead, two),
        },
        tail=1e-3,
    ),
    PromiseCase(
        name="tree-one-level",
        spec_ids=("PB-TREE",),
        mechanism=plain,
        pairs=one_period(3),
        mutants={
            "more levels than were paid for": replace(plain, tree=Tree(3, 2)),
            "totals in place of sums": other(WholeTotals, plain),
        },
        tail=1e-3,
    ),
    PromiseCase(
        name="tree-three-periods",
        spec_ids=("PB-TREE",),
        mechanism=three,
        pairs=one_period(3),
        mutants={"noise for one sum only": replace(three, scale=Fraction(1, 2))},
        tail=1e-3,
        long=True,
    ),
    PromiseCase(
        name="tree-four-periods",
        spec_ids=("PB-TREE",),
        mechanism=four,
        pairs=one_period(4),
        mutants={"totals in place of sums": other(WholeTotals, four)},
        tail=1e-4,
        long=True,
    ),
    PromiseCase(
        name="tree-two-keys",
        spec_ids=("PB-TREE",),
        mechanism=keys,
        pairs=[([[0, 1], [1, 1]], [[1, 1], [1, 1]]), ([[1, 1], [0, 1]], [[1, 1], [0, 2]])],
        mutants={"the same coins for all keys": other(OneDraw, keys)},
        tail=1e-3,
        long=True,
    ),
]
