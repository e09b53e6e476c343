"""The fairness program as a checked statement: people, losses, divergence, side conditions (FA-LP)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.errors import ParameterError
from sfumato.fair.grid import Floats, Integers
from sfumato.fair.metric.base import Metric
from sfumato.fair.pairs.divergence import check_distance

_WISHES = (
    "Of wished decisions such as 'yes' write numpy.column_stack([wished == 'yes', wished != 'yes']): to refuse costs 1 "
    "where the wish is yes, to accept where it is another."
)


@dataclass(frozen=True, eq=False)
class Parity:
    """Two groups (masks or indices) whose outcome distributions may differ by at most so much in total variation."""

    first: object
    second: object
    at_most: float = 0.0

    def shares(self, people: int) -> tuple[Floats, Floats]:
        """Return the two groups as uniform distributions over people."""
        if not 0 <= self.at_most <= 1:
            raise ParameterError(f"A parity gap lies between 0 and 1, and {self.at_most} does not.")
        return group_share(self.first, people), group_share(self.second, people)


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise the expected loss so that nobody is treated more differently than the metric allows."""

    metric: Metric
    loss: Floats
    weights: Floats
    distance: str
    parity: tuple[tuple[Floats, Floats, float], ...] = ()
    capacity: Floats | None = None
    image: tuple[Floats, float] | None = None
    """A target for the outcomes of all people together, and the total variation that is allowed from it."""

    @property
    def people(self) -> int:
        """Return the number of people."""
        return len(self.loss)

    @property
    def outcomes(self) -> int:
        """Return the number of outcomes."""
        return int(self.loss.shape[1])

    @property
    def costs(self) -> Floats:
        """Return the loss times the person's weight."""
        return self.loss * self.weights[:, None]

    @property
    def plain(self) -> bool:
        """Return whether there are no side conditions."""
        return not self.parity and self.capacity is None and self.image is None

    def objective(self, probabilities: Floats) -> float:
        """Return the expected loss of a mapping."""
        return float((probabilities * self.costs).sum())

    def best_constant(self) -> Floats:
        """Return the cheapest distribution that is given to everybody: it meets every condition there can be."""
        if self.image is not None:
            return self.image[0]
        totals = self.costs.sum(axis=0)
        constant = np.zeros(self.outcomes)
        left = 1.0
        for outcome in np.argsort(totals, kind="stable"):
            room = 1.0 if self.capacity is None else float(self.capacity[outcome])
            constant[outcome] = min(left, room)
            left -= constant[outcome]
        return np.asarray(constant / constant.sum())

    def spread_constant(self) -> Floats:
        """Return a distribution over all outcomes that meets every condition too: no outcome is left out needlessly."""
        if self.image is not None:
            return self.image[0]
        room = np.ones(self.outcomes) if self.capacity is None else self.capacity
        return np.asarray(room / room.sum())


def make_problem(
    metric: Metric,
    loss: object,
    distance: str = "tv",
    *,
    weights: object = None,
    parity: Parity | Sequence[Parity] | None = None,
    capacity: object = None,
) -> Problem:
    """Return the checked program; parity and capacity that nothing can meet are refused with the shortfall."""
    try:
        losses = np.asarray(loss, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            f"loss must be numbers, and these are words or other things; it is what each outcome costs. {_WISHES}"
        ) from None
    if losses.ndim != 2 or losses.shape[0] != metric.size or losses.shape[1] < 2:
        raise ParameterError(
            f"loss must have {metric.size} rows, one a person, and a column for each of two or more outcomes. {_WISHES}"
        )
    if not np.all(np.isfinite(losses)):
        raise ParameterError("Losses must be finite; write a large number instead of infinity.")
    conditions = [parity] if isinstance(parity, Parity) else list(parity or ())
    shares = tuple((*condition.shares(metric.size), condition.at_most) for condition in conditions)
    room = _capacity(capacity, losses.shape[1])
    return Problem(metric, losses, _weights(weights, metric.size), check_distance(distance), shares, room)


def group_share(group: object, people: int) -> Floats:
    """Return a group, given as a mask or as indices, as the uniform distribution over its members."""
    array = np.asarray(group)
    mask = np.zeros(people, dtype=bool)
    if array.dtype == bool:
        if array.shape != (people,):
            raise ParameterError(f"A group given as a mask needs {people} entries, one a person; it has {array.size}.")
        mask = array
    else:
        index = array.astype(np.int64).ravel()
        if len(index) and not 0 <= index.min() <= index.max() < people:
            raise ParameterError(f"A group names people by index from 0 to {people - 1}; one index lies outside.")
        mask[index] = True
    if not mask.any():
        raise ParameterError("A group must have at least one member, and this one is empty; check how it is selected.")
    return np.asarray(mask / mask.sum(), dtype=np.float64)


def _weights(weights: object, people: int) -> Floats:
    if weights is None:
        return np.full(people, 1.0 / people)
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (people,) or not np.all(np.isfinite(array)) or array.min() < 0 or array.sum() <= 0:
        raise ParameterError(f"weights must be {people} finite numbers of zero or more, not all zero, one a person.")
    return np.asarray(array / array.sum(), dtype=np.float64)


def _capacity(capacity: object, outcomes: int) -> Floats | None:
    if capacity is None:
        return None
    array = np.asarray(capacity, dtype=np.float64)
    if array.shape != (outcomes,) or np.isnan(array).any() or array.min() < 0:
        raise ParameterError(
            f"capacity must be {outcomes} shares of zero or more, one an outcome; write numpy.inf for no limit."
        )
    array = np.minimum(array, 1.0)
    if array.sum() < 1.0 - 1e-12:
        # One distribution for everybody meets parity and the metric, so nothing else can make a program infeasible.
        raise ParameterError(
            f"The capacities add up to {array.sum():.6g} and fall short of 1 by {1 - array.sum():.6g}: "
            "everybody must get some outcome. Raise a capacity."
        )
    return array


def contract(problem: Problem) -> tuple[Problem, Integers]:
    """Join people at distance 0: they must be treated identically, so they are one person with their joint weight.

    Returns the smaller program and for each person the number of their class.
    """
    classes = zero_classes(problem.metric)
    count = int(classes.max()) + 1
    if count == problem.people:
        return problem, np.arange(count)
    first = np.unique(classes, return_index=True)[1]
    weights = _totals(classes, problem.weights, count)
    costs = np.stack([_totals(classes, column, count) for column in problem.costs.T], axis=1)
    # People without weight have no say, but they are treated like the others.
    safe = np.where(weights > 0, weights, 1.0)
    parity = tuple(
        (_totals(classes, one, count), _totals(classes, two, count), gap) for one, two, gap in problem.parity
    )
    small = Problem(
        problem.metric.subset(first), costs / safe[:, None], weights, problem.distance, parity, problem.capacity
    )
    return replace(small, image=problem.image), classes


def _totals(classes: Integers, values: Floats, count: int) -> Floats:
    return np.asarray(np.bincount(classes, values, count), dtype=np.float64)


def zero_classes(metric: Metric) -> Integers:
    """Return for each person the number of the class of people at distance 0."""
    from sfumato.fair.metric.points import PointMetric

    if isinstance(metric, PointMetric):
        return np.unique(metric.coordinates, axis=0, return_inverse=True)[1].ravel()
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    return np.asarray(connected_components(csr_matrix(metric.block() == 0), directed=False)[1], dtype=np.int64)
