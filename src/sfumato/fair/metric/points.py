"""Metrics of points under a norm: features, scores, ranks and landmark answers all become points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from sfumato.errors import ParameterError
from sfumato.fair.grid import LARGEST, STEP, Floats, Integers, on_grid
from sfumato.fair.metric.base import ALL, Metric, Rows

NORMS = {"sum": "cityblock", "euclidean": "euclidean", "largest": "chebyshev"}
POWERS = {"sum": 1.0, "euclidean": 2.0, "largest": np.inf}
MOST_COMBINATIONS = 1000
EUCLIDEAN_RANGE = 2.0**10
OFFSET = 4 * STEP
"""What is added to a Euclidean distance above zero: it outweighs the rounding of a square root, so that the triangle
inequality holds exactly for the numbers that are compared."""


class Reader(Protocol):
    """How other people become points of the same space."""

    @property
    def columns(self) -> tuple[str | int, ...]:
        """Return the columns that it reads."""
        ...

    def points(self, people: Any) -> Floats:
        """Return one point a person."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class PointMetric(Metric):
    """Points on the grid under a norm, capped.

    Coordinates are clipped to a wide box, which can only lower distances and keeps all sums exact.
    """

    base: Floats
    """Coordinates on the grid, before scaling: scaling and reading other people then give the same in any order."""
    norm: str = "sum"
    cap: float = np.inf
    reader: Reader | None = None
    factor: float = 1.0
    category_columns: tuple[int, ...] = ()

    @classmethod
    def of_points(
        cls, points: object, norm: str = "sum", cap: float | None = None, reader: Reader | None = None
    ) -> PointMetric:
        """Return the metric of raw points, after checks."""
        array = np.asarray(points, dtype=np.float64)
        if norm not in NORMS:
            raise ParameterError(f"No norm is called {norm!r}; write one of {sorted(NORMS)}.")
        if array.ndim != 2 or not len(array):
            raise ParameterError("A metric needs at least one person, one row each.")
        if not np.all(np.isfinite(array)):
            raise ParameterError("The features of a metric must be finite numbers; fill in or drop missing values.")
        if cap is not None and not cap > 0:
            raise ParameterError(f"cap must be above zero, and {cap} is not; write for example cap=1.")
        limit = float(on_grid(np.array(cap))) if cap is not None else np.inf
        categories = getattr(reader, "category_columns", ()) if norm == "sum" else ()
        return cls(_fit(array, norm), norm, limit, reader, 1.0, categories)

    @property
    def columns(self) -> tuple[str | int, ...]:  # type: ignore[override]
        """Return the columns that the rule reads."""
        return self.reader.columns if self.reader is not None else ()

    @cached_property
    def coordinates(self) -> Floats:
        """Return one point a person, on the grid."""
        return self.base if self.factor == 1.0 else _fit(self.base * self.factor, self.norm)

    @property
    def size(self) -> int:
        """Return the number of people."""
        return len(self.base)

    def block(self, rows: Rows = ALL, columns: Rows = ALL, other: Metric | None = None) -> Floats:
        """Return the distances from `rows` of these people to `columns` of the other ones."""
        from scipy.spatial.distance import cdist

        target = self if other is None else other
        if not isinstance(target, PointMetric):
            raise ParameterError(
                "Both sides of a distance must follow the same rule; make the other side with metric.of."
            )
        if target is self and self._combinations is not None:
            numbers, codes, table = self._combinations
            near = cdist(numbers[rows], numbers[columns], "cityblock")
            near += table[codes[rows]][:, codes[columns]]
            return self._finished(near)
        return self._finished(cdist(self.coordinates[rows], target.coordinates[columns], NORMS[self.norm]))

    @cached_property
    def _combinations(self) -> tuple[Floats, Integers, Floats] | None:
        """Return numeric coordinates, everybody's combination of categories, and the combinations' distances.

        A table of combinations is much quicker than one coordinate a category, and gives the same sums exactly.
        """
        from scipy.spatial.distance import cdist

        if not self.category_columns:
            return None
        chosen = list(self.category_columns)
        # Categories have few values: one number a row is enough to find equal rows.
        kinds, codes = np.unique(self.coordinates[:, chosen], axis=0, return_inverse=True)
        if len(kinds) > MOST_COMBINATIONS:
            return None
        numbers = np.ascontiguousarray(np.delete(self.coordinates, chosen, axis=1))
        return numbers, codes.ravel(), cdist(kinds, kinds, "cityblock")

    def between(self, first: Integers, second: Integers) -> Floats:
        """Return the distances of the pairs (first[i], second[i])."""
        steps = np.abs(self.coordinates[first] - self.coordinates[second])
        if self.norm == "euclidean":
            return self._finished(np.sqrt((steps**2).sum(axis=1)))
        return self._finished(steps.sum(axis=1) if self.norm == "sum" else steps.max(axis=1, initial=0.0))

    def _finished(self, distances: Floats) -> Floats:
        if self.norm == "euclidean":
            distances = np.where(distances > 0, np.ceil(distances / STEP) * STEP + OFFSET, 0.0)
        return np.minimum(distances, self.cap, out=distances) if np.isfinite(self.cap) else distances

    def of(self, people: Any) -> PointMetric:
        """Return the same rule on other people; without a reader they must be points already."""
        raw = np.asarray(people, dtype=np.float64) if self.reader is None else self.reader.points(people)
        if raw.ndim == 1:
            raw = raw[:, None]
        if raw.ndim != 2 or raw.shape[1] != self.base.shape[1]:
            raise ParameterError(f"People of this metric have {self.base.shape[1]} coordinates; give as many.")
        if not np.all(np.isfinite(raw)):
            raise ParameterError("The features of a metric must be finite numbers; fill in or drop missing values.")
        return replace(self, base=_fit(raw, self.norm))

    def subset(self, rows: Integers) -> PointMetric:
        """Return the same rule on some of these people."""
        return replace(self, base=self.base[rows])

    def capped(self, cap: float) -> PointMetric:
        """Return the metric min(d, cap)."""
        return replace(self, cap=min(self.cap, float(on_grid(np.array(cap)))))

    def scaled(self, factor: float) -> PointMetric:
        """Return the metric factor · d."""
        if not factor > 0:
            raise ParameterError(f"A metric is scaled by a number above zero, and {factor} is none.")
        return replace(self, cap=float(on_grid(np.array(self.cap * factor))), factor=self.factor * factor)

    def like(self, other: PointMetric) -> PointMetric:
        """Return these people under another metric's scale and cap."""
        return replace(self, cap=other.cap, factor=other.factor)

    def neighbours(self, count: int) -> Integers:
        """Return for each person the indices of the `count` nearest others."""
        from scipy.spatial import cKDTree

        count = min(count, self.size - 1)
        if count < 1:
            return np.zeros((self.size, 0), dtype=np.int64)
        tree = cKDTree(self.coordinates)
        _, found = tree.query(self.coordinates, k=count + 1, p=POWERS[self.norm])
        # Among many people at one point a person may be missing from its own list: drop it, or else the last.
        own = found == np.arange(self.size)[:, None]
        own[~own.any(axis=1), -1] = True
        return np.asarray(found[~own].reshape(self.size, count), dtype=np.int64)


def _fit(points: Floats, norm: str) -> Floats:
    limit = (EUCLIDEAN_RANGE if norm == "euclidean" else LARGEST) / (2 * max(1, points.shape[1]))
    return np.clip(on_grid(points), -limit, limit)
