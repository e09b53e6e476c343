"""What people at the same place under the metric get, and who of the other group stands nearest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.fair.grid import Floats, Integers
from sfumato.fair.metric.base import Metric
from sfumato.fair.metric.points import POWERS, PointMetric
from sfumato.noise import Noise

MATCH_RADIUS = 0.1
MATCH_CHOICES = 8


def positions(metric: Metric) -> Integers:
    """Return a number for everybody, equal for people at distance zero.

    >>> positions(Metric.from_scores([0.0, 1.0, 0.0])).tolist()
    [0, 1, 0]
    """
    if isinstance(metric, PointMetric):
        return np.unique(metric.coordinates, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
    first = (metric.block() == 0).argmax(axis=1)
    return np.unique(first, return_inverse=True)[1].ravel().astype(np.int64)


def smooth(values: Floats, near: Integers, places: Integers) -> Floats:
    """Return for everybody the mean of the others nearby.

    Where more people share a place than there are neighbours, its mean is taken: which of them are listed as neighbours
    depends on the order of the table, and a table may be sorted by group.
    """
    size = np.bincount(places)
    alike = np.bincount(places, values) / size
    crowded = size[places] > near.shape[1]
    return np.where(crowded, alike[places], values[near].mean(axis=1) if near.shape[1] else values)


@dataclass(frozen=True)
class Slope:
    """How an outcome moves with a characteristic at equal places: the slope, its error, and how much it rests on."""

    value: float
    error: float
    weight: float


def slope_of(outcome: Floats, characteristic: Floats) -> Slope:
    """Return the slope of what is left of an outcome on what is left of a characteristic.

    Both are what remains after the mean of people nearby was taken away (Robinson's partially linear regression), so
    errors of smoothing enter only as a product of two. The standard error allows everybody a variance of their own.

    >>> slope_of(np.array([1.0, -1.0, 2.0, -2.0]), np.array([0.5, -0.5, 1.0, -1.0])).value
    2.0
    """
    weight = float(characteristic @ characteristic)
    if weight <= 1e-9:
        return Slope(0.0, 0.0, 0.0)
    value = float(characteristic @ outcome) / weight
    scores = characteristic * (outcome - value * characteristic)
    shrink = len(outcome) / max(1, len(outcome) - 2)
    return Slope(value, float(np.sqrt(shrink * (scores @ scores)) / weight), weight)


def contrast(weights: Floats, values: Floats, expected: Floats) -> tuple[float, float]:
    """Return a weighted sum of independent treatments, and its error from how far each is from its expectation."""
    spread = (values - expected) ** 2
    return float(weights @ values), float(np.sqrt(weights**2 @ spread))


@dataclass(frozen=True, eq=False)
class Matched:
    """Pairs across the groups, each person in one pair at most, and how far apart they are."""

    inside: Integers
    outside: Integers
    apart: Floats

    def __len__(self) -> int:
        return len(self.inside)


def match(metric: Metric, members: NDArray[np.bool_], places: Integers, noise: Noise) -> Matched:
    """Return pairs of a member and a person outside: first at the same place, then nearest first, within the radius.

    People at one place are paired in a shuffled order, because a table may be sorted by what was decided.
    """
    inside, outside = (
        chosen[np.argsort(noise.uniform(1 << 62, len(chosen)))]
        for chosen in (np.flatnonzero(members), np.flatnonzero(~members))
    )
    first, second = _same_place(inside, outside, places)
    left, right = np.setdiff1d(inside, first), np.setdiff1d(outside, second)
    third, fourth, far = _nearest(metric, left, right)
    return Matched(
        np.concatenate([first, third]), np.concatenate([second, fourth]), np.concatenate([np.zeros(len(first)), far])
    )


def _same_place(inside: Integers, outside: Integers, places: Integers) -> tuple[Integers, Integers]:
    keys = []
    for chosen in (inside, outside):
        order = np.argsort(places[chosen], kind="stable")
        start = np.searchsorted(places[chosen][order], places[chosen][order])
        turn = np.empty(len(chosen), dtype=np.int64)
        turn[order] = np.arange(len(chosen)) - start
        keys.append(places[chosen] * len(places) + turn)
    _, one, two = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    return inside[one], outside[two]


def _nearest(metric: Metric, inside: Integers, outside: Integers) -> tuple[Integers, Integers, Floats]:
    if not len(inside) or not len(outside):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    apart, place = _choices(metric, inside, outside)
    taken, used = np.zeros(len(outside), dtype=bool), np.zeros(len(inside), dtype=bool)
    pairs: list[tuple[int, int]] = []
    for flat in np.argsort(apart, axis=None, kind="stable").tolist():
        row, rank = divmod(flat, apart.shape[1])
        if apart[row, rank] > MATCH_RADIUS:
            break
        other = int(place[row, rank])
        if not used[row] and not taken[other]:
            used[row] = taken[other] = True
            pairs.append((row, rank))
    chosen = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    rows, ranks = chosen[:, 0], chosen[:, 1]
    return inside[rows], outside[place[rows, ranks]], apart[rows, ranks]


def _choices(metric: Metric, inside: Integers, outside: Integers) -> tuple[Floats, Integers]:
    from scipy.spatial import cKDTree

    count = min(MATCH_CHOICES, len(outside))
    if not isinstance(metric, PointMetric):
        block = metric.block(inside, outside)
        place = np.argsort(block, axis=1, kind="stable")[:, :count]
        return np.take_along_axis(block, place, axis=1), place
    tree = cKDTree(metric.coordinates[outside])
    apart, place = tree.query(metric.coordinates[inside], k=count, p=POWERS[metric.norm])
    return apart.reshape(len(inside), -1), place.reshape(len(inside), -1)
