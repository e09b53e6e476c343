"""A score for everybody that follows an estimator as far as the metric allows (MD-FAIR).

A logistic rule on the coordinates of a metric changes by at most a quarter of its slope, so a bound on the slope in the
metric's dual norm is the promise. Rows are integers: equal people get equal bits in any batch, and rounding can never
pass a distance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.fair.grid import ONE, STEP, Floats, binary_rows
from sfumato.fair.metric.base import Metric
from sfumato.fair.metric.points import PointMetric
from sfumato.fair.pairs.envelope import lower_envelope, upper_envelope

STEEPEST = 4.0 * (1 - 2.0**-16)
"""The slope of a logistic curve is at most 1/4; the rest pays for the rounding of the curve."""
REACH = round(64 / STEP)
"""Differences of coordinates are clipped to so many steps of the grid, so that sums fit 63 bits."""
WEIGHT_UNIT = 2**14
TOTAL_UNIT = 2**44
FURTHEST = 45 * TOTAL_UNIT
MOST_COORDINATES = 1024
GRADIENT_STEPS = 400


@dataclass(frozen=True, eq=False)
class Student:
    """The rule sigma(w · (phi(x) - centre) + v) in integers, clipped to a window where the metric is capped below 1."""

    centre: NDArray[np.int64]
    weights: NDArray[np.int64]
    offset: int
    window: tuple[float, float] = (0.0, 1.0)

    def scores(self, people: PointMetric) -> Floats:
        """Return the probability of the second outcome, in whole units."""
        steps = np.clip(_steps(people) - self.centre, -REACH, REACH)
        totals = np.clip(steps @ self.weights + self.offset, -FURTHEST, FURTHEST)
        found = np.array([_logistic(int(total)) for total in totals.tolist()], dtype=np.float64)
        return np.clip(found, *self.window)

    def probabilities(self, people: Metric) -> Floats:
        """Return (1 - p, p) for each person."""
        assert isinstance(people, PointMetric)
        return binary_rows(self.scores(people))


@dataclass(frozen=True, eq=False)
class Anchored:
    """The student between the lowest and the highest scores that repaired people allow: three Lipschitz functions."""

    anchors: Metric
    second: Floats
    student: Student

    def probabilities(self, people: Metric) -> Floats:
        """Return (1 - p, p) for each person."""
        assert isinstance(people, PointMetric)
        least = upper_envelope(self.anchors, self.second, people)
        most = lower_envelope(self.anchors, self.second, people)
        return binary_rows(np.clip(np.minimum(np.maximum(self.student.scores(people), least), most), 0.0, 1.0))


def fit_student(metric: PointMetric, scores: Floats, weights: Floats) -> Student:
    """Return the student of an estimator's scores: least cross-entropy under the metric's dual norm."""
    steps = _steps(metric)
    centre = np.rint(np.median(steps, axis=0)).astype(np.int64)
    design = np.clip(steps - centre, -REACH, REACH).astype(np.float64) * STEP
    slope, offset = _fitted(design, np.clip(scores, 1e-6, 1 - 1e-6), weights / weights.sum(), metric.norm)
    student = Student(
        centre,
        np.trunc(slope * WEIGHT_UNIT).astype(np.int64),
        round(max(-64.0, min(64.0, offset)) * TOTAL_UNIT),
    )
    if metric.cap >= 1:
        return student
    middle = float(np.median(student.scores(metric)))
    low = max(0.0, min(1.0 - metric.cap, round((middle - metric.cap / 2) / STEP) * STEP))
    return Student(centre, student.weights, student.offset, (low, low + metric.cap))


def can_follow(metric: Metric) -> bool:
    """Tell whether people of a metric have coordinates, few enough for exact sums."""
    return isinstance(metric, PointMetric) and metric.base.shape[1] <= MOST_COORDINATES


def _steps(people: PointMetric) -> NDArray[np.int64]:
    return np.rint(people.coordinates / STEP).astype(np.int64)


def _logistic(total: int) -> float:
    value = total / TOTAL_UNIT
    share = 1 / (1 + math.exp(-value)) if value >= 0 else math.exp(value) / (1 + math.exp(value))
    return math.floor(share * ONE) / ONE


def _fitted(design: Floats, target: Floats, weights: Floats, norm: str) -> tuple[Floats, float]:
    """Return slope and offset of least cross-entropy with the slope in the ball of the dual norm."""
    from scipy.optimize import minimize

    start = np.append(np.zeros(design.shape[1]), math.log(_mean(target, weights) / (1 - _mean(target, weights))))

    def loss(parameters: Floats) -> tuple[float, Floats]:
        line = design @ parameters[:-1] + parameters[-1]
        value = float(weights @ (np.logaddexp(0.0, line) - target * line))
        gap = weights * (1 / (1 + np.exp(-np.clip(line, -700, 700))) - target)
        return value, np.append(design.T @ gap, gap.sum())

    if norm == "sum":
        limits = [(-STEEPEST, STEEPEST)] * design.shape[1] + [(-64.0, 64.0)]
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": 500}).x
        return np.clip(found[:-1], -STEEPEST, STEEPEST), float(found[-1])
    found = _projected(loss, start, norm)
    return found[:-1], float(found[-1])


def _mean(target: Floats, weights: Floats) -> float:
    return min(1 - 1e-6, max(1e-6, float(weights @ target)))


def _projected(loss, start: Floats, norm: str) -> Floats:  # type: ignore[no-untyped-def]
    """Return the end of a projected gradient descent with a step that is halved when it does not help."""
    here, rate = start, 1.0
    value, slope = loss(here)
    for _ in range(GRADIENT_STEPS):
        there = here - rate * slope
        there[:-1] = _into_ball(there[:-1], norm)
        there[-1] = max(-64.0, min(64.0, there[-1]))
        next_value, next_slope = loss(there)
        if next_value <= value:
            here, value, slope, rate = there, next_value, next_slope, rate * 1.5
        else:
            rate /= 2
    return here


def _into_ball(slope: Floats, norm: str) -> Floats:
    """Return the nearest slope whose dual norm is within the bound: Euclidean, or sums of absolute values."""
    if norm == "euclidean":
        size = float(np.linalg.norm(slope))
        return slope if size <= STEEPEST else slope * (STEEPEST / size * (1 - 2.0**-40))
    sizes = np.abs(slope)
    if sizes.sum() <= STEEPEST:
        return slope
    falling = np.sort(sizes)[::-1]
    over = np.cumsum(falling) - STEEPEST * (1 - 2.0**-40)
    place = int(np.flatnonzero(falling * np.arange(1, len(falling) + 1) > over).max())
    return np.asarray(np.sign(slope) * np.maximum(sizes - over[place] / (place + 1), 0.0))
