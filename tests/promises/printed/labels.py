"""Label-private learners that are broken on purpose."""

from __future__ import annotations

from typing import Any

from sfumato.learn.facts import Sample
from sfumato.noise import Noise
from sfumato.papers.private_learning.label import LabelChoice, LabelResponse
from sfumato.papers.private_learning.semi import PoolChoice


class SeenLabels(LabelChoice):
    """Lists only rules that agree with the label of the first row: the list tells that label."""

    def run(self, exact: Sample, noise: Noise) -> Any:
        listed = self.family.listed(self.points(exact), self.facts)
        right = listed.right(exact)
        first = Sample(exact.codes[:1], exact.labels[:1], exact.counts[:1])
        kept = listed.right(first).nonzero()[0]
        return listed.value(int(kept[self.choice.run(right[kept], noise)]))


class OwnPool(PoolChoice):
    """Lists rules from the private people instead of the pool: a rule tells who is there."""

    def points(self, exact: Sample) -> Any:
        return exact.codes


class SeenLabelResponse(LabelResponse):
    """Turns only labels of the second kind round, so that a released second label is certain."""

    def run(self, exact: Sample, noise: Noise) -> Any:
        rows = tuple(tuple(row) for row in exact.codes.tolist())
        ones = tuple(
            sum(not noise.bernoulli(self.flip) for _ in range(count)) if label else 0
            for label, count in zip(exact.labels.tolist(), exact.counts.tolist(), strict=True)
        )
        return rows, tuple(exact.counts.tolist()), ones
