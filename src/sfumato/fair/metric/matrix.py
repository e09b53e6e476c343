"""Metrics given as a matrix of all distances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.fair.grid import LARGEST, Floats, Integers, on_grid
from sfumato.fair.metric.base import ALL, DENSE_PEOPLE, Metric, Rows
from sfumato.fair.metric.validation import EXACT_TRIANGLES, check_shape, metric_closure, triangle_excess

TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class MatrixMetric(Metric):
    """All distances of a list of people; a person is an index into it."""

    matrix: Floats
    index: Integers

    @classmethod
    def of_matrix(cls, matrix: Floats) -> MatrixMetric:
        """Return the metric of a checked matrix."""
        return cls(
            _metric_on_grid(np.minimum(matrix, np.where(np.isinf(matrix), np.inf, LARGEST))), np.arange(len(matrix))
        )

    @property
    def size(self) -> int:
        """Return the number of people."""
        return len(self.index)

    def block(self, rows: Rows = ALL, columns: Rows = ALL, other: Metric | None = None) -> Floats:
        """Return the distances from `rows` of these people to `columns` of the other ones."""
        target = self if other is None else other
        if not isinstance(target, MatrixMetric) or len(target.matrix) != len(self.matrix):
            raise ParameterError("A matrix knows the distances of its own people only; choose others with metric.of.")
        return self.matrix[np.ix_(self.index[rows], target.index[columns])]

    def between(self, first: Integers, second: Integers) -> Floats:
        """Return the distances of the pairs (first[i], second[i])."""
        return self.matrix[self.index[first], self.index[second]]

    def of(self, people: Any) -> MatrixMetric:
        """Return the metric of other people of the same matrix, given by their indices."""
        index = np.asarray(people)
        if (
            index.ndim != 1
            or index.dtype.kind not in "iu"
            or (len(index) and not 0 <= index.min() <= index.max() < len(self.matrix))
        ):
            raise ParameterError(
                f"A matrix knows its own {len(self.matrix)} people only, by index; give indices, "
                "or make the metric from features to reach people who are not in it."
            )
        return replace(self, index=index.astype(np.int64))

    def subset(self, rows: Integers) -> MatrixMetric:
        """Return the metric of some of these people."""
        return replace(self, index=self.index[rows])

    def capped(self, cap: float) -> MatrixMetric:
        """Return the metric min(d, cap)."""
        return replace(self, matrix=np.minimum(self.matrix, float(on_grid(np.array(cap)))))

    def scaled(self, factor: float) -> MatrixMetric:
        """Return the metric factor · d."""
        if not factor > 0:
            raise ParameterError(f"A metric is scaled by a number above zero, and {factor} is none.")
        return replace(self, matrix=_metric_on_grid(self.matrix * factor))

    def neighbours(self, count: int) -> Integers:
        """Return for each person the indices of the `count` nearest others."""
        count = min(count, self.size - 1)
        distances = self.block().copy()
        np.fill_diagonal(distances, -1.0)
        return np.argsort(distances, axis=1, kind="stable")[:, 1 : count + 1]


def _metric_on_grid(matrix: Floats) -> Floats:
    """Return the nearest distances on the grid, lowered by a few steps where rounding broke a triangle.

    Sums of distances on the grid are exact, so the lengths of shortest paths are a metric to the last digit.
    """
    rounded = on_grid(matrix)
    if len(rounded) > EXACT_TRIANGLES or triangle_excess(rounded)[0] <= 0:
        return rounded
    return metric_closure(rounded)


def from_matrix(distances: object, repair: bool) -> MatrixMetric:
    """Return the metric of a matrix after checks; see `Metric.from_matrix`."""
    matrix = check_shape(distances)
    if len(matrix) > DENSE_PEOPLE:
        raise DomainTooLarge(
            f"A matrix of distances is taken for at most {DENSE_PEOPLE} people, and this one has {len(matrix)}; "
            "write Metric.from_features, which needs no matrix.",
            method="Metric.from_features",
        )
    excess, triple = triangle_excess(matrix) if len(matrix) <= EXACT_TRIANGLES or repair else (0.0, (0, 0, 0))
    if excess > TOLERANCE and not repair:
        first, middle, last = triple
        raise ParameterError(
            f"The triangle inequality fails: person {first} and person {last} are {matrix[first, last]:.6g} apart, yet "
            f"only {matrix[first, middle]:.6g} + {matrix[middle, last]:.6g} by way of person {middle}. Correct the "
            "distances, or write repair=True for the largest metric below them."
        )
    return MatrixMetric.of_matrix(metric_closure(matrix) if repair and excess > 0 else matrix)
