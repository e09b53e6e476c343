"""Promises of totals in which a person counts in so many periods only, at T ≤ 3: rows that move while it runs (PB-MEMORY).

What is given to the interaction is who is there in a period, as the source says it then, and afterwards who it says was
there in the periods before: rows are corrected. A mutant that looks at the corrected rows, or forgets, counts people
once more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato import ADD_REMOVE, REPLACE_ONE, Noise
from sfumato.perturb import sensitivity
from sfumato.publish.matrix import Factor
from sfumato.publish.memory import CountingRule, Lists, RememberedSums, RememberedTotals
from sfumato.publish.tree import Tree
from tests.promises.case import PromiseCase

KEY = bytes(32)


class Remembering:
    """Reads who is there and counts whom the shipped lists allow: a period's list is kept with what was counted."""

    rule: CountingRule

    def step(self, state: Any, exact: Any, noise: Noise) -> Any:
        lists = [np.frombuffer(bytes.fromhex(one), np.uint8) for one in state.get("lists", [])]
        here, before = exact[-1], exact[:-1]
        chosen, listed = Lists(KEY, self.lists(lists, before)).chosen(here, self.rule)
        following, value, changed = super().step({"read": state["read"]}, [len(chosen)], noise)  # type: ignore[misc]
        kept = [*state.get("lists", []), self.kept(listed).tobytes().hex()]
        return {**following, "lists": kept}, value, changed

    def lists(self, kept: Any, before: Any) -> Any:
        return kept

    def kept(self, listed: Any) -> Any:
        return listed


@dataclass(frozen=True, kw_only=True)
class Shipped(Remembering, RememberedTotals):
    """As a publication does it, with Gaussian noise."""


@dataclass(frozen=True, kw_only=True)
class ShippedSums(Remembering, RememberedSums):
    """As a publication does it, with Laplace noise."""


class _Rebuilt:
    """Lists made again from what the source says now of earlier periods."""

    rule: CountingRule

    def lists(self, kept: Any, before: Any) -> Any:
        found: list[Any] = []
        for people in before:
            found.append(Lists(KEY, found).chosen(people, self.rule)[1])
        return found


class _Forgets:
    """The list of another runner, who read before the correction: nobody whom this one counted."""

    def kept(self, listed: Any) -> Any:
        return listed[:0]


@dataclass(frozen=True, kw_only=True)
class Rebuilt(_Rebuilt, Shipped):
    pass


@dataclass(frozen=True, kw_only=True)
class Forgets(_Forgets, Shipped):
    pass


@dataclass(frozen=True, kw_only=True)
class RebuiltSums(_Rebuilt, ShippedSums):
    pass


@dataclass(frozen=True, kw_only=True)
class ForgetsSums(_Forgets, ShippedSums):
    pass


def stream(*periods: str) -> list[Any]:
    """Who is there in each period, as the source says it then, and what it says of earlier periods by then."""
    return [[list(people) for people in said.split("|")] for said in periods]


# A row of p that moves on: it is always in the newest period. And one that stays in all.
MOVES = (stream("p", "|p"), stream("", "|"))
STAYS = (stream("p", "p|p"), stream("", "|"))
OTHERS = (stream("pq", "q|pq"), stream("q", "q|q"))
THREE = [
    (stream("p", "|p", "||p"), stream("", "|", "||")),
    (stream("p", "p|p", "p|p|p"), stream("", "|", "||")),
    (stream("", "|p", "|p|p"), stream("", "|", "||")),
]


def gaussian(kind: type[RememberedTotals], periods: int, rule: CountingRule, variance: int) -> RememberedTotals:
    factor = Factor(periods, periods, plain=rule.most > 1, fineness=4)
    return kind(relation=ADD_REMOVE, factor=factor, variance=variance, moves=sensitivity(1), rule=rule)


def laplace(kind: type[RememberedSums], periods: int, rule: CountingRule) -> RememberedSums:
    tree = Tree(periods, periods + 1)
    return kind(relation=ADD_REMOVE, tree=tree, scale=Fraction(1), moves=sensitivity(1), rule=rule)


once, twice_apart = CountingRule(1), CountingRule(2, 2)
two = gaussian(Shipped, 2, once, 6)
three = gaussian(Shipped, 3, twice_apart, 14)
sums = laplace(ShippedSums, 2, once)

# One in place of another, who counts in another period: both of their patterns are paid for.
other = replace(
    two, relation=REPLACE_ONE, factor=Factor(2, 1, fineness=4), variance=8, moves=sensitivity(l1=2, largest=1)
)
ELSEWHEN = (stream("p", "p|"), stream("", "|p"))

CASES = [
    PromiseCase(
        name="memory-one-for-another",
        spec_ids=("PB-MEMORY", "PB-CONTINUAL"),
        mechanism=other,
        pairs=[ELSEWHEN, MOVES, STAYS],
        mutants={"noise for one who comes": replace(other, variance=4)},
        tail=1e-6,
    ),
    PromiseCase(
        name="memory-once-in-two-periods",
        spec_ids=("PB-MEMORY",),
        mechanism=two,
        pairs=[MOVES, STAYS, OTHERS],
        mutants={
            "lists made again from corrected rows": gaussian(Rebuilt, 2, once, 6),
            "totals of one runner with the list of another": gaussian(Forgets, 2, once, 6),
            "one period more than was paid for": replace(two, rule=CountingRule(2)),
        },
        tail=1e-6,
    ),
    PromiseCase(
        name="memory-twice-apart-in-three-periods",
        spec_ids=("PB-MEMORY",),
        mechanism=three,
        pairs=THREE,
        mutants={
            "lists made again from corrected rows": gaussian(Rebuilt, 3, twice_apart, 14),
            "neighbouring periods at the price of distant ones": replace(three, rule=CountingRule(2, 1)),
            "columns of equal length": replace(three, factor=Factor(3, 3, fineness=4), rule=CountingRule(2, 1)),
        },
        tail=1e-4,
        long=True,
    ),
    PromiseCase(
        name="memory-pure",
        spec_ids=("PB-MEMORY", "PB-TREE"),
        mechanism=sums,
        pairs=[MOVES, STAYS, OTHERS],
        mutants={
            "lists made again from corrected rows": laplace(RebuiltSums, 2, once),
            "totals of one runner with the list of another": laplace(ForgetsSums, 2, once),
        },
        tail=1e-4,
    ),
]
