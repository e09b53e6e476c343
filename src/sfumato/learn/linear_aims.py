"""What a linear model is fitted to: two labels, several of them, or a number (MD-LINEAR).

An aim says what of the label is read for the scale and how far one person moves it, where the weights start, what a
row's residuals are, and which table is counted at the end. Residuals are whole numbers, one row at a time.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Booleans, Categories
from sfumato.exact import rational_ball
from sfumato.exact.enclosure import middle, precision
from sfumato.learn.facts import LearningFacts
from sfumato.learn.linear_rows import Coordinates, Grid, Integers, Rows, blocks, rounded

WEIGHT_BITS = 32
"""Weights are whole multiples of 2^-32 between readings, so that a run can be repeated on any machine."""
SCORE_BITS = 24
"""Scores of rows are whole multiples of 2^-24."""
SPAN = 3
"""A residual of so many deviations of the number is as long as one of a label that is wrong for sure."""
LEAST_SHARE = Fraction(1, 100)

Weights = list[list[int]]


class Moves(NamedTuple):
    """How far one person moves what is read of the label: in sum and in squares, in cells², and of how many numbers."""

    sum: Fraction
    squares: int
    changed: int


class Start(NamedTuple):
    """Where the walk begins: the constant of each head in 2^-32, and what of the label's scale is released."""

    constants: list[int]
    scale: tuple[int, ...] = ()


@dataclass(frozen=True)
class Aim(ABC):
    """What is predicted from a linear score, or from several of them."""

    kind: ClassVar[str]
    shares: ClassVar[tuple[Fraction, Fraction, Fraction]] = (Fraction(30, 100), Fraction(60, 100), Fraction(10, 100))
    """What the scale reading, all steps together and the last table get."""
    slowness: ClassVar[int] = 1
    """Steps are shorter by this: squares curve four times as much as the logistic loss."""

    def to_json(self) -> dict[str, Any]:
        """Return the kind and the public numbers."""
        found = {part.name: getattr(self, part.name) for part in fields(self)}
        plain = {name: value.to_json() if hasattr(value, "to_json") else value for name, value in found.items()}
        return {"kind": self.kind, **plain}

    @property
    def heads(self) -> int:
        """How many scores a row has."""
        return 1

    @property
    @abstractmethod
    def moves(self) -> Moves:
        """How far one row that is exchanged moves what is read of the label."""

    @property
    def enters(self) -> Moves:
        """How far one row that comes or goes moves what is read of the label: it stands in one sum, by one cell."""
        return Moves(Fraction(1), 1, 1)

    @abstractmethod
    def totals(self, rows: Rows) -> list[int]:
        """Return what is read of the label, in units of cell²."""

    @abstractmethod
    def start(self, drawn: Sequence[int], people: int, cell: int, noise: int) -> Start:
        """Return where the walk begins, from the noisy totals; `noise` is the deviation of their noise."""

    @abstractmethod
    def residuals(self, scores: Integers, labels: Integers, start: Start, cell: int) -> Integers:
        """Return how far the prediction of each row is off, from -cell to cell, for every head."""

    @abstractmethod
    def kept(self, weights: Weights) -> list[int]:
        """Return what is released of the weights, a list of whole numbers."""

    def table(self, standard: NDArray[np.int16], rows: Rows, kept: Sequence[int], start: Start) -> Integers | None:
        """Return the last table; None where there is none."""
        return None


@dataclass(frozen=True)
class TwoLabels(Aim):
    """Probabilities of two labels: the logistic curve of one score."""

    kind: ClassVar[str] = "two labels"

    @property
    def moves(self) -> Moves:
        """A label is plus or minus one cell."""
        return Moves(Fraction(2), 4, 1)

    def totals(self, rows: Rows) -> list[int]:
        """Return how the labels lean."""
        cell = rows.grid.cell
        return [int((rows.counts * np.where(rows.labels == 1, cell, -cell)).sum()) * cell]

    def start(self, drawn: Sequence[int], people: int, cell: int, noise: int) -> Start:
        """Return the log-odds of the second label."""
        most = cell * 96 // 100
        lean = max(-most, min(most, rounded(drawn[0], people * cell)))
        return Start([_log(Fraction(cell + lean, cell - lean))])

    def residuals(self, scores: Integers, labels: Integers, start: Start, cell: int) -> Integers:
        """Return the probability of the second label without the label itself."""
        # The curve has 256 steps a unit over sixteen units.
        place = np.clip((scores + (8 << SCORE_BITS)) >> (SCORE_BITS - 8), 0, 4095)
        return np.asarray(_curve(cell)[place] - cell * (labels == 1)[:, None])

    def kept(self, weights: Weights) -> list[int]:
        """Return the direction: the weights without the constant, of length 2^16; zeros where all of them are."""
        length = math.isqrt(sum(weight**2 for weight in weights[0][1:]))
        return [rounded(weight << 16, length) if length else 0 for weight in weights[0][1:]]

    def table(self, standard: NDArray[np.int16], rows: Rows, kept: Sequence[int], start: Start) -> Integers | None:
        """Return how many people of each label have a score in each bin."""
        counts = np.zeros((rows.grid.bins, 2), np.int64)
        three = 3 * (rows.grid.unit << 16)
        for here in blocks(len(standard), standard.shape[1]):
            score = standard[here, 1:].astype(np.int64) @ np.array(kept, np.int64)
            np.add.at(counts, (binned(score, three, rows.grid.bins), rows.labels[here]), rows.counts[here])
        return counts


@dataclass(frozen=True)
class SeveralLabels(Aim):
    """Probabilities of several labels: exponentials of one score for each, divided by their sum."""

    kind: ClassVar[str] = "several labels"
    shares: ClassVar[tuple[Fraction, Fraction, Fraction]] = (Fraction(30, 100), Fraction(70, 100), Fraction(0))
    labels: int

    @property
    def heads(self) -> int:
        """One score a label."""
        return self.labels

    @property
    def moves(self) -> Moves:
        """A person leaves the count of one label and enters that of another."""
        return Moves(Fraction(2), 2, 2)

    def totals(self, rows: Rows) -> list[int]:
        """Return how many people have each label."""
        found = np.zeros(self.labels, np.int64)
        np.add.at(found, rows.labels, rows.counts)
        return [int(count) * rows.grid.cell**2 for count in found]

    def start(self, drawn: Sequence[int], people: int, cell: int, noise: int) -> Start:
        """Return the logarithms of the labels' shares, each at least one in a hundred; how many have them is released.

        Behind these numbers stands the deviation of their noise.
        """
        parts = [max(Fraction(total, people * cell**2), LEAST_SHARE) for total in drawn]
        counts = [rounded(total, cell**2) for total in drawn]
        return Start([_log(part / sum(parts)) for part in parts], (*counts, -(-noise // cell**2)))

    def residuals(self, scores: Integers, labels: Integers, start: Start, cell: int) -> Integers:
        """Return the probabilities without the label itself."""
        behind = scores.max(axis=1, keepdims=True) - scores
        weights = _fall()[np.minimum(behind >> (SCORE_BITS - 6), 1023)]
        total = weights.sum(axis=1, keepdims=True)
        here = labels[:, None] == np.arange(self.labels)
        return np.asarray((2 * cell * weights + total) // (2 * total) - cell * here)

    def kept(self, weights: Weights) -> list[int]:
        """Return all weights in units of 2^-16, head by head, the constant first."""
        return _short(weights)


@dataclass(frozen=True)
class Quantity(Aim):
    """A number: least squares on one score, with residuals cut off at three deviations of the number."""

    kind: ClassVar[str] = "number"
    slowness: ClassVar[int] = 4
    target: Coordinates

    @property
    def moves(self) -> Moves:
        """A number is read like a feature: itself, and its square where it has more than two values."""
        return Moves(2 + Fraction(int(self.target.numeric), 4), 4, 1 + int(self.target.numeric))

    @property
    def enters(self) -> Moves:
        """A number and its square are at most one cell each."""
        both = 1 + int(self.target.numeric)
        return Moves(Fraction(both), both, both)

    def totals(self, rows: Rows) -> list[int]:
        """Return the sum of the numbers and of their squares."""
        cells = self.cells(rows.labels, rows.grid.cell)
        first = int((rows.counts * cells).sum()) * rows.grid.cell
        return [first, int((rows.counts * cells**2).sum())] if self.target.numeric else [first]

    def cells(self, labels: Integers, cell: int) -> Integers:
        """Return the numbers scaled as a feature is."""
        return self.target.scaled(labels, cell)[:, 0]

    def start(self, drawn: Sequence[int], people: int, cell: int, noise: int) -> Start:
        """Return mean and deviation of the number, and by how much the mean may be off: scores count from the mean."""
        mean = max(-cell, min(cell, rounded(drawn[0], people * cell)))
        square = drawn[1] // people if self.target.numeric else cell**2
        return Start([0], (mean, believed(square - mean**2, noise, people, cell), -(-noise // (people * cell))))

    def residuals(self, scores: Integers, labels: Integers, start: Start, cell: int) -> Integers:
        """Return the prediction without the number, `cell` standing for three deviations, and not beyond that."""
        return np.clip(self.missed(scores, labels, start, cell), -cell, cell)

    def missed(self, scores: Integers, labels: Integers, start: Start, cell: int) -> Integers:
        """Return the prediction without the number, as far off as it is."""
        mean, deviation, _ = start.scale
        span = SPAN * deviation
        wanted = ((self.cells(labels, cell) - mean) * (2 * cell) + span) // (2 * span)
        return np.asarray(((2 * cell * scores + (1 << SCORE_BITS)) >> (SCORE_BITS + 1)) - wanted[:, None])

    def kept(self, weights: Weights) -> list[int]:
        """Return all weights in units of 2^-16, the constant first."""
        return _short(weights)

    def table(self, standard: NDArray[np.int16], rows: Rows, kept: Sequence[int], start: Start) -> Integers | None:
        """Return how many people are off by how much: twice as many bins, over three deviations to either side."""
        cell, bins = rows.grid.cell, 2 * rows.grid.bins
        counts = np.zeros(bins, np.int64)
        for here in blocks(len(standard), standard.shape[1]):
            score = row_scores(standard[here].astype(np.int64), np.array([kept], np.int64), rows.grid)
            over = -self.missed(score, rows.labels[here], start, cell)[:, 0]
            np.add.at(counts, binned(over, cell, bins), rows.counts[here])
        return counts


def aim_of(facts: LearningFacts) -> Aim:
    """Return what a model with this label is fitted to."""
    if isinstance(facts.labels, (Booleans, Categories)):
        count = len(facts.classes)
        return TwoLabels() if count == 2 else SeveralLabels(count)
    return Quantity(Coordinates.of(facts.target, facts.labels))


def row_scores(block: Integers, weights: Integers, grid: Grid) -> Integers:
    """Return the scores of standardised rows, in units of 2^-24, one column a head; weights count in 2^-16."""
    return np.asarray((block @ weights.T) * (1 << (SCORE_BITS - 16)) // grid.unit)


def believed(variance: int, noise: int, people: int, cell: int) -> int:
    """Return a deviation in cells from a noisy variance: not below what the noise may have made of it."""
    return max(1, math.isqrt(max(variance, -(-noise // people), cell**2 // 10**4)))


def binned(values: Integers, most: int, bins: int) -> Integers:
    """Return the bin of values: equal ones from -most to most, the outer ones open."""
    return np.clip((values + most) * bins // (2 * most), 0, bins - 1)


def _short(weights: Weights) -> list[int]:
    return [rounded(weight, 1 << (WEIGHT_BITS - 16)) for head in weights for weight in head]


@lru_cache(maxsize=8)
def _curve(cell: int) -> Integers:
    """Return the logistic curve in whole steps."""
    return np.array(
        [math.floor(cell / (1 + math.exp(8 - (place + 0.5) / 256)) + 0.5) for place in range(4096)], np.int64
    )


@lru_cache(maxsize=1)
def _fall() -> Integers:
    """Return how a label falls behind the best one: exponentials in whole steps, 64 of them a unit."""
    return np.array([max(1, math.floor((1 << 20) * math.exp(-place / 64) + 0.5)) for place in range(1024)], np.int64)


def _log(part: Fraction) -> int:
    """Return a logarithm in units of 2^-32; the same on every machine."""
    with precision(128):
        return math.floor(middle(rational_ball(part).log()) * (1 << WEIGHT_BITS))
