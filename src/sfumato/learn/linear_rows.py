"""The rows of a linear model as whole numbers: coordinates of cells, their scale, clipped gradients (MD-LINEAR).

Everything about a row is an integer: a floating-point product over a batch could give a row another last digit when
somebody else's row is removed, and the sum would then move further than it is charged for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Booleans, Categories, Domain
from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.learn.cells import Codes
from sfumato.learn.facts import LearningFacts, Sample

Integers = NDArray[np.int64]

MOST_COORDINATES = 512
MOST_CATEGORIES = 64
BINS = 16
BLOCK = 1 << 20
"""So many numbers are held at once while rows are walked through."""


@dataclass(frozen=True)
class Grid:
    """How finely rows are held: `cell` steps to either side of a scaled cell, `unit` steps a standard deviation.

    `bins` is the number of bins of the last table.
    """

    cell: int = 1 << 10
    unit: int = 1 << 8
    bins: int = BINS

    def to_json(self) -> dict[str, int]:
        """Return the three numbers."""
        return {"cell": self.cell, "unit": self.unit, "bins": self.bins}

    @property
    def both(self) -> int:
        """One residual times one standardised cell."""
        return self.cell * self.unit


@dataclass(frozen=True)
class Coordinates:
    """How one feature becomes coordinates: a number one, two values one, a category of k values k of them."""

    first: int
    last: int
    levels: int = 0
    """How many categories there are; 0 for a number or two values."""

    @classmethod
    def of(cls, name: str, domain: Domain) -> Coordinates:
        """Return those of a feature, refusing what has no bounds or too many categories."""
        if domain.last is None:
            raise ParameterError(f"{name!r} holds text; give it a list of categories, or bins, in its domain.")
        size = domain.last - domain.first + 1
        listed = isinstance(domain, (Booleans, Categories)) and size > 2
        if listed and size > MOST_CATEGORIES:
            raise DomainTooLarge(
                f"{name!r} has {size} categories, and a linear model takes {MOST_CATEGORIES}; write fewer, or bins.",
                method="bins",
            )
        return cls(domain.first, domain.last, size if listed else 0)

    def to_json(self) -> dict[str, int]:
        """Return the codes and the number of categories."""
        return {"first": self.first, "last": self.last, "levels": self.levels}

    @property
    def width(self) -> int:
        """How many coordinates there are."""
        return self.levels or 1

    @property
    def numeric(self) -> bool:
        """Whether its square is read too: two values and categories have a known one."""
        return not self.levels and self.last - self.first > 1

    @property
    def moved(self) -> int:
        """How many coordinates one person can change."""
        return 2 if self.levels else 1

    def scaled(self, codes: Codes, cell: int) -> Integers:
        """Return the coordinates of some rows, whole numbers from -cell to cell."""
        if self.levels:
            here = np.asarray(codes, dtype=np.int64)[:, None] == np.arange(self.first, self.last + 1)
            return np.where(here, cell, -cell).astype(np.int64)
        spread = self.last - self.first
        if spread == 0:
            return np.zeros((len(codes), 1), dtype=np.int64)
        exact = codes.astype(object) if spread >= 1 << 40 else np.asarray(codes, dtype=np.int64)
        found = ((2 * exact - (self.first + self.last)) * (2 * cell) + spread) // (2 * spread)
        return np.clip(np.asarray(found, dtype=np.int64), -cell, cell)[:, None]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows as integers: scaled coordinates, labels, and how many people have each."""

    scaled: NDArray[np.int32]
    labels: Integers
    counts: Integers
    grid: Grid

    @classmethod
    def of(cls, sample: Sample, coordinates: Sequence[Coordinates], grid: Grid) -> Rows:
        """Return the rows of a sample, cell by cell."""
        parts = [one.scaled(sample.codes[:, place], grid.cell) for place, one in enumerate(coordinates)]
        return cls(np.hstack(parts).astype(np.int32), sample.labels, sample.counts, grid)

    def scale_totals(self, coordinates: Sequence[Coordinates]) -> Integers:
        """Return the sums of cells and of squares of numbers, in units of cell²."""
        numeric = np.repeat([one.numeric for one in coordinates], [one.width for one in coordinates])
        first = np.zeros(self.scaled.shape[1], np.int64)
        second = np.zeros(int(numeric.sum()), np.int64)
        for here in blocks(len(self.labels), self.scaled.shape[1]):
            block, counts = self.scaled[here].astype(np.int64), self.counts[here]
            first += counts @ block
            second += counts @ block[:, numeric] ** 2
        return np.concatenate([first * self.grid.cell, second])

    def standardised(self, centre: Integers, deviation: Integers, reach: int = 2) -> NDArray[np.int16]:
        """Return a constant and the standardised coordinates, clipped to so many deviations."""
        unit, width = self.grid.unit, self.scaled.shape[1]
        found = np.empty((len(self.labels), width + 1), np.int16)
        found[:, 0] = unit
        for here in blocks(len(self.labels), width):
            found[here, 1:] = standardised_cells(self.scaled[here].astype(np.int64), centre, deviation, unit, reach)
        return found


def standardised_cells(scaled: Integers, centre: Integers, deviation: Integers, unit: int, reach: int = 2) -> Integers:
    """Return cells in deviations from the mean, clipped to `reach` of them; whole numbers, `unit` a deviation."""
    found = ((scaled - centre) * (2 * unit) + deviation) // (2 * deviation)
    return np.asarray(np.clip(found, -reach * unit, reach * unit))


def clipped(gradients: Integers, clip: int, norm: int) -> Integers:
    """Return gradients no longer than the clip, by whole division towards zero."""
    sizes = np.abs(gradients)
    if norm == 1:
        length = sizes.sum(axis=1)
        below = length
    else:
        squares = (gradients * gradients).sum(axis=1)
        length = _whole_root(squares)
        below = length + 1
        length = np.where(squares > clip * clip, clip + 1, 0)
    over = length > clip
    shrunk = sizes[over] * clip // below[over, None]
    found = gradients.copy()
    found[over] = np.sign(gradients[over]) * shrunk
    return found


def _whole_root(squares: Integers) -> Integers:
    """Return the whole part of square roots, exactly; the floating-point root is off by one at most."""
    root = np.floor(np.sqrt(squares.astype(np.float64))).astype(np.int64)
    root -= root * root > squares
    root += (root + 1) * (root + 1) <= squares
    return root


def blocks(rows: int, width: int) -> Iterator[slice]:
    """Return stretches of rows, so many that `width` numbers for each of them fit."""
    step = max(1, BLOCK // max(1, width))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def coordinates_of(facts: LearningFacts) -> tuple[Coordinates, ...]:
    """Return the coordinates of all features, refusing too many."""
    found = tuple(Coordinates.of(name, domain) for name, domain in zip(facts.features, facts.domains, strict=True))
    width = sum(one.width for one in found)
    if width > MOST_COORDINATES:
        raise DomainTooLarge(
            f"These features have {width} coordinates, and a linear model takes {MOST_COORDINATES}; take fewer "
            "features, or coarser categories.",
            method="bins",
        )
    return found


def rounded(above: int, below: int) -> int:
    """Return the nearest whole number, halves upward."""
    return (2 * above + below) // (2 * below)
