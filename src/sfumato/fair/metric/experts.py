"""Metrics from the answers of experts: few questions, safe bounds, and fits to judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.errors import ParameterError
from sfumato.fair.grid import Floats, Integers
from sfumato.fair.metric.base import DENSE_PEOPLE, Expert, Metric
from sfumato.fair.metric.points import PointMetric
from sfumato.fair.people import column_names


@dataclass(frozen=True, eq=False)
class Elicited:
    """What a panel's answers prove about its metric.

    `metric` is below the panel's own metric at every pair, so whoever is fair under it is fair under the panel's
    (F15). `upper` bounds the panel's metric from above by going through a landmark.
    """

    metric: PointMetric
    answers: Floats
    landmarks: Integers

    def upper(self, rows: Integers | slice = slice(None)) -> Floats:
        """Return min over landmarks of d(x, l) + d(l, y) for the given rows and all columns."""
        here = self.answers[rows]
        out = np.full((len(here), len(self.answers)), np.inf)
        for landmark in range(self.answers.shape[1]):
            np.minimum(out, here[:, landmark, None] + self.answers[None, :, landmark], out=out)
        return out

    def next_question(self) -> tuple[int, int, float]:
        """Return the pair about which least is known, and the width of what is not known."""
        if self.metric.size > DENSE_PEOPLE:
            raise ParameterError(f"The next question is searched among at most {DENSE_PEOPLE} people; take a subset.")
        width = self.upper() - self.metric.block()
        np.fill_diagonal(width, 0.0)
        x, y = divmod(int(width.argmax()), len(width))
        return min(x, y), max(x, y), float(width[x, y])


def from_landmarks(answers: object) -> PointMetric:
    """Return max over landmarks of |d(x, l) - d(y, l)|, which never exceeds the expert's own metric.

    >>> from_landmarks([[0.0], [0.4], [1.0]]).block()[0].round(3)
    array([0. , 0.4, 1. ])
    """
    array = np.asarray(answers, dtype=np.float64)
    if array.ndim != 2 or array.size == 0:
        raise ParameterError("answers must have one row a person and one column a landmark.")
    if not np.all(np.isfinite(array)) or array.min() < 0:
        raise ParameterError("An expert's answers must be finite distances, zero or more.")
    return PointMetric.of_points(array, "largest")


def elicit_metric(expert: Expert, people: int, landmarks: int, proxy: Metric | None = None) -> Elicited:
    """Ask an expert for the distances of everybody to a few landmarks: people × landmarks questions.

    Landmarks are chosen far from each other: by the proxy metric where one is given, else by the answers so far. If
    every person is within η of a landmark, the result is within 2η of the expert's own metric.

    >>> ages = [20, 25, 40, 60]
    >>> told = elicit_metric(lambda x, y: abs(ages[x] - ages[y]) / 40, people=4, landmarks=1)
    >>> told.metric.block()[0].round(3)
    array([0.   , 0.125, 0.5  , 1.   ])
    """
    if not 1 <= landmarks <= people:
        raise ParameterError(f"landmarks must lie between 1 and the number of people, {people}; {landmarks} does not.")
    chosen: list[int] = [0]
    columns: list[Floats] = []
    for step in range(landmarks):
        asked = np.array([float(expert(person, chosen[step])) for person in range(people)])
        columns.append(asked)
        if step + 1 < landmarks:
            known = np.stack([proxy.block(slice(None), np.array([c]))[:, 0] for c in chosen] if proxy else columns)
            nearest = known.min(axis=0)
            nearest[chosen] = -1.0
            chosen.append(int(nearest.argmax()))
    answers = np.stack(columns, axis=1)
    return Elicited(from_landmarks(answers), answers, np.array(chosen))


@dataclass(frozen=True)
class LearnedMetric:
    """A metric fitted to judgements, with the mean error on judgements that it was not fitted to."""

    metric: PointMetric
    weights: dict[str | int, float]
    held_out_error: float


def learn_metric(
    people: object, pairs: Sequence[tuple[int, int]], judgements: Sequence[float], *, held_out: float = 0.25
) -> LearnedMetric:
    """Fit a diagonal Mahalanobis metric to numeric judgements "these two are so far apart".

    Non-negative least squares on squared differences; every fourth judgement is kept out and the mean absolute error
    on these is reported. A learned metric can encode the protected attribute: let `audit` look at it (E9).

    >>> fit = learn_metric(np.array([[0., 0.], [1., 0.], [0., 1.], [2., 2.]]), [(0, 1), (0, 2), (0, 3), (1, 3)],
    ...                    [0.5, 0.0, 1.0, 0.5])
    >>> fit.metric.block()[0].round(3)
    array([0. , 0.5, 0. , 1. ])
    """
    from scipy.optimize import nnls

    points = np.asarray(people, dtype=np.float64)
    pair = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    told = np.asarray(judgements, dtype=np.float64)
    if len(pair) != len(told) or not len(told) or not np.all(np.isfinite(told)) or told.min() < 0:
        raise ParameterError("Give one finite judgement of zero or more for every pair.")
    squares = (points[pair[:, 0]] - points[pair[:, 1]]) ** 2
    out = _held_out(len(told), held_out)
    solution, _ = nnls(squares[~out], told[~out] ** 2)
    error = float(np.abs(np.sqrt(squares[out] @ solution) - told[out]).mean()) if out.any() else float("nan")
    return LearnedMetric(_diagonal(points, np.sqrt(solution)), _named(points, np.sqrt(solution)), error)


def learn_from_triplets(
    people: object, triplets: Sequence[tuple[int, int, int]], *, margin: float = 0.1, held_out: float = 0.25
) -> LearnedMetric:
    """Fit a diagonal metric to comparisons (a, b, c): "a is closer to b than to c", by a linear program.

    Hinge loss with a margin on squared distances, squared weights summing to one; the error is the share of
    comparisons, kept out of the fit, that come out wrong.
    """
    from scipy.optimize import linprog

    points = np.asarray(people, dtype=np.float64)
    triple = np.asarray(triplets, dtype=np.int64).reshape(-1, 3)
    if not len(triple):
        raise ParameterError("Give at least one comparison (a, b, c), meaning that a is closer to b than to c.")
    near = (points[triple[:, 0]] - points[triple[:, 1]]) ** 2
    far = (points[triple[:, 0]] - points[triple[:, 2]]) ** 2
    out = _held_out(len(triple), held_out)
    difference = (near - far)[~out]
    count, features = difference.shape
    answer = linprog(
        np.concatenate([np.zeros(features), np.ones(count)]),
        A_ub=np.hstack([difference, -np.eye(count)]),
        b_ub=np.full(count, -margin),
        A_eq=np.concatenate([np.ones(features), np.zeros(count)])[None, :],
        b_eq=[1.0],
        method="highs",
    )
    weights = np.sqrt(np.maximum(answer.x[:features], 0.0))
    wrong = ((near - far)[out] @ weights**2 >= 0).mean() if out.any() else np.nan
    return LearnedMetric(_diagonal(points, weights), _named(points, weights), float(wrong))


def _held_out(count: int, share: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if not 0 <= share < 1:
        raise ParameterError(f"held_out is a share between 0 and 1, and {share} is none.")
    every = max(2, round(1 / share)) if share > 0 else count + 1
    # Few judgements are all needed for the fit.
    return (np.arange(count) % every == every - 1) if count >= 2 * every else np.zeros(count, dtype=bool)


def _diagonal(points: Floats, weights: Floats) -> PointMetric:
    from sfumato.fair.metric.features import LinearReader

    reader = LinearReader(column_names(points), np.diag(weights))
    return PointMetric.of_points(points * weights, "euclidean", None, reader)


def _named(points: Floats, weights: Floats) -> dict[str | int, float]:
    return {name: float(weight) for name, weight in zip(column_names(points), weights, strict=True)}
