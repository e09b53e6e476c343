"""The one record of many features whose label is the second one, with a pure spend for each attribute."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from sfumato.learn.cells import rounded_up
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.mechanism import NOTHING, Mechanism
from sfumato.noise import Noise
from sfumato.privacy import Bound, Loss
from sfumato.totals.column_tree.histogram import PopularCounts
from sfumato.totals.column_tree.planner import plan_popular
from sfumato.workload.records import Records
from sfumato.workload.space import Space

ROUNDS = 6
"""How often the number of people is put back into the plan; it enters by a logarithm only."""


@dataclass(frozen=True, kw_only=True)
class FrequentPoint(Mechanism):
    """Find the frequent pairs of record and label, and return the record most often seen with the second label.

    Promise: that of `counts`, by which a flipped label is one changed attribute (PDP-POINT, PDP-HIST); what follows
    reads released numbers only. Records whose noisy count is at most `cut` are left out: noise alone names none.

    Value: the codes of the record, or NOTHING where the print takes any record that is rare.
    """

    spec: ClassVar[str] = "PDP-POINT"

    counts: PopularCounts
    firsts: tuple[int, ...]
    cut: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "reads", self.counts.reads)

    def loss(self) -> Loss:
        """Return the loss of the search and of the counts."""
        return self.counts.loss()

    def run(self, exact: Sample, noise: Noise) -> Any:
        """Search, then choose among what was released."""
        space = self.counts.hitters.tree.space
        rows = np.column_stack([exact.codes - np.array(self.firsts, dtype=np.int64), exact.labels])
        codes, where = np.unique(rows, axis=0, return_inverse=True)
        totals = np.zeros(len(codes), dtype=np.int64)
        np.add.at(totals, where.ravel(), exact.counts)
        found = self.counts.run(Records(space, np.asfortranarray(codes), totals), noise)
        seen = {
            record[:-1]: count
            for record, count in zip(found.records, found.counts, strict=True)
            if record[-1] == 1 and count > self.cut
        }
        if not seen:
            return NOTHING
        best = min(seen, key=lambda record: (-seen[record], record))
        return tuple(code + first for code, first in zip(best, self.firsts, strict=True))


def plan_frequent(facts: LearningFacts, people: int, spend: Bound, failure: float) -> FrequentPoint:
    """Return the search that fits a pure spend, from public facts only."""
    counts = _counts(space_of(facts), spend, people, Fraction(failure).limit_denominator(10**6) / 2)
    cut = math.ceil(count_error(counts, people, failure))
    return FrequentPoint(counts=counts, firsts=tuple(domain.first for domain in facts.domains), cut=cut)


def frequent_needed(facts: LearningFacts, spend: Bound, accuracy: float, failure: float) -> int:
    """Return how many people are enough: twice the error of a count must be below half of the key's people."""
    people = rounded_up(8 / accuracy * math.log(4 / failure))
    for _ in range(ROUNDS):
        counts = _counts(space_of(facts), spend, people, Fraction(failure).limit_denominator(10**6) / 2)
        larger = max(people, rounded_up(4 / accuracy * math.ceil(count_error(counts, people, failure))))
        if larger == people:
            break
        people = larger
    return people


@lru_cache(maxsize=64)
def _counts(space: Space, spend: Bound, people: int, failure: Fraction) -> PopularCounts:
    """Return the plan; it takes a second, and a fit asks for it several times."""
    return plan_popular(space, spend, people, failure=failure)


def count_error(counts: PopularCounts, people: int, failure: float) -> float:
    """Return how far off any count may be, listed or not, except with half of the failure."""
    found = counts.hitters.smallest_found(1 - Fraction(failure).limit_denominator(10**6) / 4)
    listed = 2 * max(people / max(found, 1), 1)
    return max(float(found), float(counts.scale) * math.log(4 * listed / failure))


def space_of(facts: LearningFacts) -> Space:
    """Return the features and the label as columns of codes from 0 on."""
    domains = (*facts.domains, facts.labels)
    names = (*facts.features, facts.target)
    shown = tuple(None if domain.public else name for name, domain in zip(names, domains, strict=True))
    return Space(names, (*facts.sizes(), 2), shown, domains)
