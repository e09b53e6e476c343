"""Who is similar to whom: the shape of a metric (FA-METRIC)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DomainTooLarge
from sfumato.fair.grid import Floats, Integers

if TYPE_CHECKING:
    from sfumato.fair.metric.validation import MetricReport

DENSE_PEOPLE = 5000
"""The largest number of people for which a matrix of all distances is held."""
Rows = slice | Integers
ALL = slice(None)


class Metric(ABC):
    """Distances between people, and the rule that gives them: 0 is "treat alike", 1 is "very different".

    A metric knows a list of people. `block` gives distances among them or to the people of another metric with the
    same rule; `of` applies the rule to other people. All distances are multiples of 2^-30, so that comparisons with
    them are exact.

    >>> metric = Metric.from_features({"experience": [0, 2, 10]}, weights={"experience": 0.1})
    >>> metric.block().round(3)
    array([[0. , 0.2, 1. ],
           [0.2, 0. , 0.8],
           [1. , 0.8, 0. ]])
    """

    columns: tuple[str | int, ...] = ()
    """The columns that the rule reads, where it reads a table."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Return the number of people."""

    def __repr__(self) -> str:
        # Coordinates and distances are people's own cells: they belong in no log.
        read = f", by {', '.join(map(str, self.columns))}" if self.columns else ""
        people = "1 person" if self.size == 1 else f"{self.size:,} people"
        return f"Metric on {people}{read}; metric.block() shows distances, metric.validate() checks them."

    @abstractmethod
    def block(self, rows: Rows = ALL, columns: Rows = ALL, other: Metric | None = None) -> Floats:
        """Return the distances from `rows` of these people to `columns` of the other ones (by default the same)."""

    @abstractmethod
    def between(self, first: Integers, second: Integers) -> Floats:
        """Return the distances of the pairs (first[i], second[i])."""

    @abstractmethod
    def of(self, people: Any) -> Metric:
        """Return the same rule on other people: rows of the same kind of table, or indices of the same matrix."""

    @abstractmethod
    def subset(self, rows: Integers) -> Metric:
        """Return the same rule on some of these people."""

    @abstractmethod
    def capped(self, cap: float) -> Metric:
        """Return the metric min(d, cap): nobody is further away than `cap`."""

    @abstractmethod
    def scaled(self, factor: float) -> Metric:
        """Return the metric factor · d: below 1 it is stricter."""

    @abstractmethod
    def neighbours(self, count: int) -> Integers:
        """Return for each person the indices of the `count` nearest others, nearest first."""

    def dense(self) -> Floats:
        """Return the matrix of all distances, for at most 5,000 people."""
        if self.size > DENSE_PEOPLE:
            raise DomainTooLarge(
                f"A matrix of all distances is held for at most {DENSE_PEOPLE} people, and there are {self.size}; "
                "read it in parts with metric.block(rows), or take a subset with metric.subset(rows).",
                method="metric.block",
            )
        return self.block()

    def validate(self, insecure_seed: int = 0) -> MetricReport:
        """Check symmetry, the diagonal and the triangle inequality, and say how much was checked."""
        from sfumato.fair.metric.validation import validate

        return validate(self, insecure_seed)

    def closure(self) -> Metric:
        """Return the largest metric below this one; it can only make fairness stricter."""
        from sfumato.fair.metric.matrix import MatrixMetric
        from sfumato.fair.metric.validation import metric_closure

        return MatrixMetric.of_matrix(metric_closure(self.dense()))

    # Constructors: one place to look for all of them.

    @staticmethod
    def from_matrix(distances: object, *, repair: bool = False) -> Metric:
        """Return the metric of a matrix of all distances; `repair` takes its closure where it is no metric.

        >>> Metric.from_matrix([[0, 0.5], [0.5, 0]]).size
        2
        """
        from sfumato.fair.metric.matrix import from_matrix

        return from_matrix(distances, repair)

    @staticmethod
    def from_features(
        people: Any,
        weights: Mapping[str | int, float] | Sequence[float] | None = None,
        *,
        norm: str = "sum",
        cap: float | None = None,
    ) -> Metric:
        """Return a metric from weighted differences of features.

        A weight is the distance that one unit of a number makes, or that two different categories make. `norm` is
        "sum", "euclidean" or "largest". Without weights every number counts its standard deviation as 1 and every
        category as 1; better say what matters for the task. A column most of whose cells are numbers is one of numbers:
        what is missing or no number there is refused, with its row. Text is a category, also text of digits.
        """
        from sfumato.fair.metric.features import from_features

        return from_features(people, weights, norm, cap)

    @staticmethod
    def typical(people: Any) -> Metric:
        """Return `from_features` without weights, scaled so that half of all pairs of people are closer than 1.

        A place to begin that is not empty: at a distance of 1 or more a metric allows any difference. Missing numbers
        count as the median of their column, and so does what is no number where most cells are.

        >>> import numpy as np
        >>> metric = Metric.typical({"age": [20, 30, 40, 50, 60], "sex": ["f", "m", "f", "m", "f"]})
        >>> float(np.median(metric.block()[np.triu_indices(5, 1)]).round(6))
        1.0
        """
        from sfumato.fair.metric.features import typical

        return typical(people)

    @staticmethod
    def from_covariance(people: Any, covariance: object, *, cap: float | None = None) -> Metric:
        """Return Mahalanobis' distance of all numeric columns: Euclidean after whitening with the covariance."""
        from sfumato.fair.metric.features import from_covariance

        return from_covariance(people, covariance, cap)

    @staticmethod
    def from_scores(scores: object, scale: float = 1.0) -> Metric:
        """Return the metric |s(x) - s(y)| / scale of one score."""
        from sfumato.fair.metric.features import from_scores

        return from_scores(scores, scale)

    @staticmethod
    def from_landmarks(answers: object) -> Metric:
        """Return the safe metric of an expert's answers: row x holds the distances from x to each landmark."""
        from sfumato.fair.metric.experts import from_landmarks

        return from_landmarks(answers)

    @staticmethod
    def group_rank(scores: object, groups: object, scale: float = 1.0) -> Metric:
        """Return the metric that compares people by their rank within their own group."""
        from sfumato.fair.metric.ranks import group_rank

        return group_rank(scores, groups, scale)

    @staticmethod
    def from_toml(path: str | Path, people: Any) -> Metric:
        """Return the metric that a small TOML file describes (see the guide), on the people of a table."""
        from sfumato.fair.metric.features import from_toml

        return from_toml(path, people)


Expert = Callable[[int, int], float]
Mask = NDArray[np.bool_]
