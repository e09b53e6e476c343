"""Classes of rules that are listed by how they label given points: one rule for each way of labelling them.

A class may be infinite; on finitely many points it has finitely many ways to say yes and no, and by Sauer's lemma not
many. The points must be public: features that everybody may know, or a public pool.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Booleans, Categories
from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.learn.cells import Codes
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.learn.point import PointRule
from sfumato.learn.rules import Rule, about
from sfumato.papers.private_learning.box import BoxRule
from sfumato.papers.private_learning.interval import IntervalRule

Value = tuple[Any, ...]
"""What stands for a rule in a released value: whole numbers only."""
Counts = NDArray[np.int64]

MOST_RULES = 2_000_000
"""Longer lists are refused: their length is public, as the points are."""


class Listed(ABC):
    """Rules that were listed on some points: how many, what each one is, how many people each is right about."""

    @abstractmethod
    def right(self, sample: Sample) -> Counts:
        """Return for each rule how many people of a sample it labels as they are labelled."""

    @abstractmethod
    def value(self, place: int) -> Value:
        """Return what stands for a rule."""


class Family(ABC):
    """A class of rules."""

    name: ClassVar[str]

    @abstractmethod
    def listed(self, points: Codes, facts: LearningFacts) -> Listed:
        """Return one rule for each way in which the class labels these points."""

    @abstractmethod
    def rule(self, facts: LearningFacts, value: Value) -> Rule:
        """Return the rule that a value stands for."""

    @abstractmethod
    def log_count(self, points: float, features: int) -> float:
        """Return the logarithm of the number of ways to label so many points, at most."""

    def vc_dimension(self, features: int) -> int:
        """Return how many points can be labelled in all ways, at most: as many as the number of ways allows.

        >>> Cuts().vc_dimension(1)
        2
        """
        points = 1
        while (points + 1) * math.log(2) <= self.log_count(points + 1, features):
            points += 1
        return points


@dataclass(frozen=True)
class Cuts(Family):
    """One feature from a value on, or up to it; of a list of categories one of them, or all but one."""

    name: ClassVar[str] = "cuts"

    def listed(self, points: Codes, facts: LearningFacts) -> Listed:
        """Return cuts at every value that occurs."""
        _check_length(2 * sum(len(np.unique(points[:, place])) + 1 for place in range(len(facts.features))))
        return ListedCuts(points, facts)

    def rule(self, facts: LearningFacts, value: Value) -> Rule:
        """Return the cut."""
        place, low, high, inside = value
        return IntervalRule(**about(facts), place=place, low=low, high=high, inside=bool(inside))

    def log_count(self, points: float, features: int) -> float:
        """Two directions at each point of each feature, and two constants."""
        return math.log(2 * features * points) if features * points > 1 else math.log(2)


class ListedCuts(Listed):
    """All cuts of all features: two constants first, then feature by feature."""

    def __init__(self, points: Codes, facts: LearningFacts) -> None:
        self.axes = [np.unique(points[:, place]) for place in range(len(facts.features))]
        self.equal = [isinstance(domain, (Categories, Booleans)) for domain in facts.domains]
        self.rules: list[tuple[int, int, bool]] = [(0, -1, True), (0, -1, False)]
        for place, axis in enumerate(self.axes):
            # A cut below the smallest value says the same of everybody, which the constants do already.
            first = 0 if self.equal[place] and len(axis) > 1 else 1
            self.rules += [(place, which, inside) for which in range(first, len(axis)) for inside in (True, False)]

    def right(self, sample: Sample) -> Counts:
        """Count upward along every feature, all cuts at once."""
        gains = np.where(sample.labels == 1, sample.counts, -sample.counts)
        zeros = int(sample.counts[sample.labels == 0].sum())
        found = [zeros + int(gains.sum()), zeros]
        for place, axis in enumerate(self.axes):
            totals = self._gained(sample.codes[:, place], gains, axis, self.equal[place])
            first = 0 if self.equal[place] and len(axis) > 1 else 1
            for total in totals[first:].tolist():
                found += [zeros + total, zeros + int(gains.sum()) - total]
        return np.array(found, dtype=np.int64)

    @staticmethod
    def _gained(column: Codes, gains: Counts, axis: Codes, equal: bool) -> Counts:
        """Return for each value of the axis the gains of people from there on, or of those who are exactly there."""
        reached = np.searchsorted(axis, column, side="right") - 1
        inside = reached >= 0
        if equal:
            inside &= np.asarray(axis[np.maximum(reached, 0)] == column, dtype=bool)
        summed = np.zeros(len(axis), dtype=np.int64)
        np.add.at(summed, reached[inside], gains[inside])
        return summed if equal else summed[::-1].cumsum()[::-1]

    def value(self, place: int) -> Value:
        """Return the feature, the ends and the side."""
        feature, which, inside = self.rules[place]
        if which < 0:
            return (0, None, None, int(inside))
        code = int(self.axes[feature][which])
        return (feature, code, code if self.equal[feature] else None, int(inside))


@dataclass(frozen=True)
class Boxes(Family):
    """An interval in every feature; of each feature at most `ends` values of the points are used."""

    name: ClassVar[str] = "boxes"
    ends: int = 24

    def listed(self, points: Codes, facts: LearningFacts) -> Listed:
        """Return boxes between values that occur."""
        axes = [_thinned(np.unique(points[:, place]), self.ends) for place in range(len(facts.features))]
        _check_length(math.prod(len(axis) * (len(axis) + 1) // 2 for axis in axes) + 1)
        return ListedBoxes(axes)

    def rule(self, facts: LearningFacts, value: Value) -> Rule:
        """Return the box."""
        box = None if not value else tuple(zip(value[::2], value[1::2], strict=True))
        return BoxRule(**about(facts), box=box)

    def log_count(self, points: float, features: int) -> float:
        """Sauer's bound, or all pairs of ends if they are fewer."""
        ends = min(points, self.ends)
        pairs = features * math.log(max(1.0, ends * (ends + 1) / 2)) if ends >= 1 else 0.0
        return math.log(math.exp(min(pairs, 600)) + 1)


class ListedBoxes(Listed):
    """All boxes on a grid, and the empty one last."""

    def __init__(self, axes: Sequence[Codes]) -> None:
        self.axes = list(axes)
        self.pairs = [np.triu_indices(len(axis)) for axis in axes]

    def right(self, sample: Sample) -> Counts:
        """Sum gains over a grid of the ends and the gaps between them, then over all pairs of ends, axis by axis."""
        shape = tuple(2 * len(axis) + 1 for axis in self.axes)
        grid = np.zeros(shape, dtype=np.int64)
        cells = tuple(_cell(sample.codes[:, place], axis) for place, axis in enumerate(self.axes))
        np.add.at(grid, cells, np.where(sample.labels == 1, sample.counts, -sample.counts))
        for place, (first, last) in enumerate(self.pairs):
            running = np.cumsum(grid, axis=place)
            grid = np.take(running, 2 * last + 1, axis=place) - np.take(running, 2 * first, axis=place)
        zeros = int(sample.counts[sample.labels == 0].sum())
        return np.append(grid.ravel() + zeros, zeros)

    def value(self, place: int) -> Value:
        """Return the ends of each interval, one after the other; nothing for the empty box."""
        shape = tuple(len(first) for first, _ in self.pairs)
        if place == math.prod(shape):
            return ()
        ends: list[int] = []
        for axis, (first, last), pair in zip(self.axes, self.pairs, np.unravel_index(place, shape), strict=True):
            ends += [int(axis[first[pair]]), int(axis[last[pair]])]
        return tuple(ends)


@dataclass(frozen=True)
class Points(Family):
    """One record, or none."""

    name: ClassVar[str] = "points"

    def listed(self, points: Codes, facts: LearningFacts) -> Listed:
        """Return every record that occurs, and no record."""
        return ListedPoints(points)

    def rule(self, facts: LearningFacts, value: Value) -> Rule:
        """Return the record."""
        return PointRule(**about(facts), key=tuple(value) or None)

    def log_count(self, points: float, features: int) -> float:
        """One way for each point, and one for none."""
        return math.log(points + 1)


class ListedPoints(Listed):
    """Records in order, and none last."""

    def __init__(self, points: Codes) -> None:
        self.keys = sorted({tuple(row) for row in points.tolist()})
        _check_length(len(self.keys) + 1)

    def right(self, sample: Sample) -> Counts:
        """Gain the people of a record whose label is the second one, lose the others of it."""
        places = {key: place for place, key in enumerate(self.keys)}
        zeros = int(sample.counts[sample.labels == 0].sum())
        found = np.full(len(self.keys) + 1, zeros, dtype=np.int64)
        signs = np.where(sample.labels == 1, sample.counts, -sample.counts).tolist()
        for row, sign in zip(sample.codes.tolist(), signs, strict=True):
            place = places.get(tuple(row))
            if place is not None:
                found[place] += sign
        return found

    def value(self, place: int) -> Value:
        """Return the codes of the record."""
        return tuple(map(int, self.keys[place])) if place < len(self.keys) else ()


FAMILIES: dict[str, type[Family]] = {family.name: family for family in (Cuts, Boxes, Points)}


def _thinned(axis: Codes, most: int) -> Codes:
    """Return at most so many values, evenly spaced among those that occur."""
    if len(axis) <= most:
        return axis
    return axis[np.linspace(0, len(axis) - 1, most).round().astype(np.int64)]


def _cell(column: Codes, axis: Codes) -> Counts:
    """Return 2i + 1 for the value of place i, and the even numbers for the gaps between values."""
    below = np.searchsorted(axis, column, side="left")
    exact = below < len(axis)
    exact &= np.asarray(axis[np.minimum(below, len(axis) - 1)] == column, dtype=bool)
    return 2 * below + exact


def _check_length(rules: int) -> None:
    if rules > MOST_RULES:
        raise DomainTooLarge(
            f"The class has {rules} rules on these public points, and {MOST_RULES} is the most that is listed; take "
            "fewer features or fewer ends, or a classifier, which is not listed.",
            method="a classifier",
        )


def family_of(concepts: Any) -> Family | None:
    """Return the family that a name or an instance means; None if it is neither.

    >>> family_of("cuts")
    Cuts()
    """
    if isinstance(concepts, Family):
        return concepts
    if isinstance(concepts, str):
        if concepts not in FAMILIES:
            raise ParameterError(f"{concepts!r} is no class of rules; the classes are {', '.join(FAMILIES)}.")
        return FAMILIES[concepts]()
    return None
