"""Mixtures of products: a hidden class for every row, and independent columns inside a class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato.errors import ParameterError
from sfumato.model.base import Codes, Floats, Model, packed, unpacked
from sfumato.model.rows import shuffled, systematic
from sfumato.noise import Noise
from sfumato.workload.space import Space


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(Model):
    """P(x) = Σ_k weights[k] · Π_j conditionals[k, code x_j of column j].

    `conditionals` has one row for each class and one column for each code of each column, the columns one after the
    other; each column's part of a row adds up to 1. Any marginal costs classes × cells; memory is that of the arrays.

    >>> from sfumato import Schema, booleans
    >>> space = Space.of(Schema({"rain": booleans(missing=False), "wind": booleans(missing=False)}))
    >>> model = Mixture(space, 100, np.array([0.5, 0.5]), np.array([[1.0, 0, 1, 0], [0, 1, 0, 1]]))
    >>> model.marginal(["rain", "wind"]).tolist()  # two classes make rain and wind go together
    [[0.5, 0.0], [0.0, 0.5]]
    """

    kind: ClassVar[str] = "mixture"

    space: Space
    total: float
    weights: Floats
    conditionals: Floats

    def __post_init__(self) -> None:
        if self.conditionals.shape != (self.weights.size, sum(self.space.sizes)):
            raise ParameterError("A mixture has one row of conditionals a class, and one number in it for each code.")

    @cached_property
    def columns(self) -> dict[str, Floats]:
        """The conditional probabilities of each column: one row a class."""
        ends = np.cumsum(self.space.sizes)[:-1]
        return dict(zip(self.space.names, np.split(self.conditionals, ends, axis=1), strict=True))

    def _marginal(self, names: tuple[str, ...]) -> Floats:
        if not names:
            return np.ones(())
        # All columns but the last are multiplied class by class; the sum over classes is one matrix product.
        left = self.weights[:, None]
        for name in names[:-1]:
            left = (left[:, :, None] * self.columns[name][:, None, :]).reshape(self.weights.size, -1)
        table = left.T @ self.columns[names[-1]]
        return table.reshape(self.space.shape(names))

    def codes(self, rows: int, noise: Noise) -> Codes:
        """Return rows: classes by systematic rounding, then each column inside a class, in random order."""
        counts = systematic(self.weights, rows, noise)
        classes = np.flatnonzero(counts)
        found = np.empty((rows, len(self.space.names)), dtype=np.int64)
        starts = np.concatenate(([0], np.cumsum(counts[classes])))
        for at, name in enumerate(self.space.names):
            table = self.columns[name]
            parts = [systematic(table[k], int(counts[k]), noise) for k in classes]
            filled = np.concatenate([np.repeat(np.arange(part.size), part) for part in parts])
            # One key a row, sorted inside its class, is an independent order of every class.
            keys = noise.uniform(2**62, rows)
            group = np.repeat(np.arange(classes.size), np.diff(starts))
            found[:, at] = filled[np.lexsort((keys, group))]
        return found[shuffled(rows, noise)]

    def _record(self) -> dict[str, Any]:
        return {"weights": packed(self.weights), "conditionals": packed(self.conditionals)}

    @classmethod
    def _read(cls, space: Space, total: float, record: Mapping[str, Any]) -> Mixture:
        weights = unpacked(record["weights"])
        starts = np.concatenate(([0], np.cumsum(space.sizes)[:-1]))
        conditionals = unpacked(record["conditionals"])
        sums = np.repeat(np.add.reduceat(conditionals, starts, axis=1), space.sizes, axis=1)
        return cls(space, total, weights / weights.sum(), conditionals / sums)
