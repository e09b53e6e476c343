"""Reductions from sanitizers to learners that are broken on purpose, and what is seen of the shipped ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato.ask.prepared import Prepared
from sfumato.learn.facts import Sample
from sfumato.mechanism import Mechanism
from sfumato.noise import DiscreteLaplace, Noise
from sfumato.papers.private_learning.padded import PaddedClasses
from sfumato.papers.private_learning.sanitize import ModelRows
from sfumato.papers.private_learning.sanitized import MedianRows, merged
from sfumato.privacy import Cost, Loss
from sfumato.privacy.coins import COIN, loss_of


@dataclass(frozen=True, kw_only=True)
class PlaceResponse(Mechanism):
    """Randomized response for the row in every place: its loss is for one place."""

    spec: ClassVar[str] = "BERN-EXACT"
    weight: int

    def loss(self) -> Loss:
        return Loss.flat(Cost.pure(loss_of(self.weight, 2)), self.reads, self.relation)

    def run(self, exact: Any, noise: Noise) -> Any:
        flip = Fraction(self.weight, 2 * COIN)
        return tuple((row[0] + noise.bernoulli(flip)) % 2 for row in exact)


class Unshuffled(PaddedClasses):
    """Keeps the order of the people: a flipped label shifts everybody after it."""

    def _placed(self, rows: list[Any], noise: Noise) -> Any:
        return tuple(rows)


class Unpadded(PaddedClasses):
    """Sanitizes classes of the size that they have, which tells it."""

    def _sanitized(self, rows: list[Any], size: int, noise: Noise) -> Any:
        return self.sanitizer.run(self._placed(rows, noise), noise) if rows else None


class LabelsThatOccur(MedianRows):
    """Leaves a label out that nobody has."""

    def run(self, exact: Sample, noise: Noise) -> Any:
        found: list[Any] = []
        for label in sorted(set(exact.labels[exact.counts > 0].tolist())):
            chosen = exact.labels == label
            codes, where = np.unique(exact.codes[chosen, 0], return_inverse=True)
            counts = np.bincount(where.ravel(), exact.counts[chosen], len(codes)).astype(np.int64)
            cells = self.tree.run((codes, counts), noise)
            found += [((cut,), label, count) for cut, count in zip(cells.cuts, cells.counts, strict=False)]
        return merged(found, signed=True)


class Shown(Exception):
    """Carries what was measured out of a run."""


def _show(raw: Any) -> Any:
    raise Shown(raw)


class Measured(ModelRows):
    """The shipped rows of a model up to what is measured: the fit and the rows sampled from it see nothing else."""

    @cached_property
    def prepared(self) -> Prepared:
        """The shipped measurements, shown in place of a fit."""
        return replace(super().prepared, finish=_show)

    def run(self, exact: Sample, noise: Noise) -> Any:
        try:
            super().run(exact, noise)
        except Shown as shown:
            return shown.args[0]
        raise AssertionError("Nothing was measured.")


class SteeperMeasured(Measured):
    """Noise that is 5 % smaller than is stated."""

    @cached_property
    def prepared(self) -> Prepared:
        parts = [
            replace(part, law=DiscreteLaplace(part.law.scale * Fraction(95, 100)))
            for part in super().prepared.mechanism.parts
        ]
        shipped = super().prepared
        return replace(shipped, mechanism=replace(shipped.mechanism, parts=tuple(parts)))


class TwiceMeasured(Measured):
    """Counts every row twice, as if a person had two."""

    def run(self, exact: Sample, noise: Noise) -> Any:
        return super().run(replace(exact, counts=2 * exact.counts), noise)
