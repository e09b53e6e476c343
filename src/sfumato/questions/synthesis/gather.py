"""From released integers to evidence: shares of one, tables of noise averaged where they speak of the same thing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.questions.synthesis.evidence import Columns, Evidence
from sfumato.totals.tables.contrasts import Floats, centred
from sfumato.totals.tables.parts import Part

Integers = NDArray[np.int64]


class Gathered:
    """Sums of precision-weighted estimates; every released table adds what it knows about each smaller one."""

    def __init__(self, sizes: Sequence[int], total: int | None) -> None:
        self.sizes = tuple(sizes)
        self.known = total
        self._totals = [0.0, 0.0]
        self._tables: dict[Columns, tuple[Floats, float]] = {}

    def add(self, part: Part, released: Integers) -> None:
        """Add one released table: its centred part, and, of a plain one, its margins and its sum."""
        variance = part.variance()
        if part.centred and part.columns:
            self._pool(part.columns, part.estimate(released), variance)
            return
        table = part.estimate(released)
        cells = table.size
        self._totals[0] += float(table.sum()) / (cells * variance)
        self._totals[1] += 1 / (cells * variance)
        for width in range(1, table.ndim + 1):
            for kept in combinations(range(table.ndim), width):
                others = tuple(axis for axis in range(table.ndim) if axis not in kept)
                margin = table.sum(axis=others)
                columns = tuple(part.columns[axis] for axis in kept)
                self._pool(columns, centred(margin), variance * cells / margin.size)

    def _pool(self, columns: Columns, table: Floats, variance: float) -> None:
        weighted, weight = self._tables.get(columns, (np.zeros_like(table), 0.0))
        self._tables[columns] = weighted + table / variance, weight + 1 / variance

    @property
    def total(self) -> float:
        """The number of rows: public, or estimated, and then at least 1."""
        if self.known is not None:
            return float(max(1, self.known))
        return max(1.0, self._totals[0] / self._totals[1]) if self._totals[1] else 1.0

    @property
    def total_deviation(self) -> float:
        """The standard deviation of the number of rows; 0 where it is public."""
        return 0.0 if self.known is not None or not self._totals[1] else self._totals[1] ** -0.5

    def evidence(self) -> Evidence:
        """Return what is known so far as parts of all people."""
        total = self.total
        ones, precisions = [], []
        for place, size in enumerate(self.sizes):
            weighted, weight = self._tables.get((place,), (np.zeros(size), 0.0))
            ones.append(1 / size + (weighted / weight if weight else weighted) / total)
            precisions.append(weight * total**2)
        found = {
            columns: (weighted / weight / total, weight * total**2)
            for columns, (weighted, weight) in self._tables.items()
            if len(columns) > 1
        }
        return Evidence(self.sizes, tuple(ones), tuple(precisions), found, total)


def gather(parts: Sequence[Part], released: Sequence[Integers], sizes: Sequence[int], total: int | None) -> Gathered:
    """Return what some released tables say together."""
    found = Gathered(sizes, total)
    for part, values in zip(parts, released, strict=True):
        found.add(part, values)
    return found
