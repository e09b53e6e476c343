"""The readings of a private linear model: a scale, a few clipped gradient steps, and a last table (MD-LINEAR).

Everything about a row is an integer: a floating-point product over a batch could give a row another last digit when
somebody else's row is removed, and the sum would then move further than it is charged for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Booleans, Categories, Domain
from sfumato.errors import DomainTooLarge, ParameterError, UnsupportedSpend
from sfumato.exact import rational_ball
from sfumato.exact.enclosure import middle, precision
from sfumato.learn.cells import Codes
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.mechanism import Mechanism
from sfumato.noise import DiscreteLaplace, Noise, RoundedNormal
from sfumato.noise.laws.base import LARGEST_SCALE, SMALLEST_SCALE
from sfumato.perturb import AdditiveNoise
from sfumato.privacy import EVERYTHING, Approximate, Attributes, Bound, Concentrated, Loss, Pure, Truncated
from sfumato.privacy.gaussian import gaussian_m
from sfumato.privacy.sensitivity import Sensitivity, sensitivity

Integers = NDArray[np.int64]

SHARES = (Fraction(30, 100), Fraction(60, 100), Fraction(10, 100))
"""What the scale reading, all steps together and the last table get."""
MOST_COORDINATES = 512
MOST_CATEGORIES = 64
BINS = 16
BLOCK = 1 << 14
WEIGHT_BITS = 32
"""Weights are whole multiples of 2^-32 between readings, so that a run can be repeated on any machine."""
LARGEST_WEIGHT = 8
GAUSSIAN_STEPS = ((0.012, 20), (0.04, 10), (0.2, 4))
PURE_STEPS = ((0.004, 16), (0.012, 8), (0.03, 4), (0.06, 2))


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


@dataclass(frozen=True, kw_only=True)
class LinearSteps(Mechanism):
    """Release what a private logistic regression is made of: means and spreads, gradient steps, a table of scores.

    Promise, replace-one: the sum of the losses of one scale reading, `steps` clipped gradients and one table, each with
    exact noise on integers. One person moves a clipped gradient by at most twice the clip whatever else was released;
    an attribute alone may change score, residual and clip together, so it moves a step as far as the person does.
    Value: steps a cell, means, deviations and weights of the coordinates, the table of 16 bins of the score by label.
    Spec: MD-LINEAR. Time: rows · coordinates · steps; memory: two bytes a row and coordinate.
    """

    spec: ClassVar[str] = "MD-LINEAR"

    coordinates: tuple[Coordinates, ...]
    people: int
    steps: int
    clip: int
    norm: int
    """1 where the sum of absolute values is clipped, 2 where the length is."""
    scale: AdditiveNoise
    step: AdditiveNoise
    table: AdditiveNoise
    grid: Grid = Grid()

    def loss(self) -> Loss:
        """Return the sum over all readings."""
        return self.scale.loss() + self.steps * self.step.loss() + self.table.loss()

    def run(self, exact: Sample, noise: Noise) -> Any:
        """Read the scale, walk, and count the table."""
        rows = _Rows.of(exact, self.coordinates, self.grid)
        centre, deviation, lean = self._scale(self.scale.run(rows.scale_totals(self.coordinates), noise))
        standard = rows.standardised(centre, deviation)
        weights = self._walk(standard, rows, lean, noise)
        direction = _direction(weights)
        counts = self.table.run(_table(standard, rows, direction), noise)
        found = (tuple(centre.tolist()), tuple(deviation.tolist()), tuple(direction), tuple(counts.ravel().tolist()))
        return (self.grid.cell, *found)

    def _scale(self, totals: Any) -> tuple[Integers, Integers, int]:
        """Return means, deviations and the lean of the label from the noisy totals; public arithmetic on them."""
        cell, width = self.grid.cell, sum(one.width for one in self.coordinates)
        drawn = [int(value) for value in totals.tolist()]
        centre = [max(-cell, min(cell, _rounded(total, self.people * cell))) for total in drawn[:width]]
        squares = iter(drawn[width:-1])
        least = max(cell**2 // 10**4, math.ceil(self.scale.law.deviation() / self.people), 1)
        deviation, place = [], 0
        for one in self.coordinates:
            for mean in centre[place : place + one.width]:
                square = next(squares) // self.people if one.numeric else cell**2
                deviation.append(max(1, math.isqrt(max(square - mean**2, least))))
            place += one.width
        most = cell * 96 // 100
        lean = max(-most, min(most, _rounded(drawn[-1], self.people * cell)))
        return np.array(centre, np.int64), np.array(deviation, np.int64), lean

    def _walk(self, standard: NDArray[np.int16], rows: _Rows, lean: int, noise: Noise) -> list[int]:
        """Return the mean of the last half of the iterates, in units of 2^-32."""
        width = standard.shape[1]
        weights = [_log_odds(lean, self.grid.cell), *([0] * (width - 1))]
        features = width - 1
        kept: list[list[int]] = []
        for turn in range(self.steps):
            short = np.array([_rounded(weight, 1 << (WEIGHT_BITS - 16)) for weight in weights], np.int64)
            gradient = self.step.run(_gradient(standard, rows, short, self), noise)
            # The rate is 2/(1 + p/50), as a fraction.
            below = (50 + features) * self.people * self.grid.both
            weights = [
                _held(weight - _rounded((100 << WEIGHT_BITS) * int(part), below))
                for weight, part in zip(weights, gradient.tolist(), strict=True)
            ]
            if turn >= self.steps // 2:
                kept.append(weights)
        return [_rounded(sum(column), len(kept)) for column in zip(*kept, strict=True)]


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows as integers: scaled coordinates, labels, and how many people have each."""

    scaled: NDArray[np.int32]
    labels: Integers
    counts: Integers
    grid: Grid

    @classmethod
    def of(cls, sample: Sample, coordinates: Sequence[Coordinates], grid: Grid) -> _Rows:
        parts = [one.scaled(sample.codes[:, place], grid.cell) for place, one in enumerate(coordinates)]
        return cls(np.hstack(parts).astype(np.int32), sample.labels, sample.counts, grid)

    def scale_totals(self, coordinates: Sequence[Coordinates]) -> Integers:
        """Return the sums of cells, of squares of numbers, and of the label, in units of cell²."""
        cell = self.grid.cell
        numeric = np.repeat([one.numeric for one in coordinates], [one.width for one in coordinates])
        first = np.zeros(self.scaled.shape[1], np.int64)
        second = np.zeros(int(numeric.sum()), np.int64)
        for here in _blocks(len(self.labels)):
            block, counts = self.scaled[here].astype(np.int64), self.counts[here]
            first += counts @ block
            second += counts @ block[:, numeric] ** 2
        lean = int((self.counts * np.where(self.labels == 1, cell, -cell)).sum())
        return np.concatenate([first * cell, second, [lean * cell]])

    def standardised(self, centre: Integers, deviation: Integers) -> NDArray[np.int16]:
        """Return a constant and the standardised coordinates, clipped to two deviations."""
        unit = self.grid.unit
        found = np.empty((len(self.labels), self.scaled.shape[1] + 1), np.int16)
        found[:, 0] = unit
        for here in _blocks(len(self.labels)):
            found[here, 1:] = standardised_cells(self.scaled[here].astype(np.int64), centre, deviation, unit)
        return found


def standardised_cells(scaled: Integers, centre: Integers, deviation: Integers, unit: int) -> Integers:
    """Return cells in deviations from the mean, clipped to two of them; whole numbers, `unit` a deviation."""
    found = ((scaled - centre) * (2 * unit) + deviation) // (2 * deviation)
    return np.asarray(np.clip(found, -2 * unit, 2 * unit))


def _gradient(standard: NDArray[np.int16], rows: _Rows, weights: Integers, plan: LinearSteps) -> Integers:
    """Return the sum of clipped gradients; each row's is a function of that row and of released integers alone."""
    total = np.zeros(standard.shape[1], np.int64)
    grid = plan.grid
    curve = _curve(grid.cell)
    for here in _blocks(len(standard)):
        block = standard[here].astype(np.int64)
        # Scores count in units of 2^24 on the standard grid; the curve has 256 steps a unit over sixteen units.
        score = (block @ weights) * 256 // grid.unit
        place = np.clip((score + (8 << 24)) >> 16, 0, 4095)
        residual = curve[place] - grid.cell * (rows.labels[here] == 1)
        total += rows.counts[here] @ _clipped(residual[:, None] * block, plan.clip, plan.norm)
    return total


def _clipped(gradients: Integers, clip: int, norm: int) -> Integers:
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


def _table(standard: NDArray[np.int16], rows: _Rows, direction: Sequence[int]) -> Integers:
    """Return how many people of each label have a score in each bin."""
    counts = np.zeros((rows.grid.bins, 2), np.int64)
    for here in _blocks(len(standard)):
        place = _bins(standard[here, 1:].astype(np.int64) @ np.array(direction, np.int64), rows.grid)
        np.add.at(counts, (place, rows.labels[here]), rows.counts[here])
    return counts


def _bins(score: Integers, grid: Grid) -> Integers:
    """Return the bin of scores: equal ones of three deviations to either side, the outer ones open."""
    three = 3 * (grid.unit << 16)
    return np.clip((score + three) * grid.bins // (2 * three), 0, grid.bins - 1)


@lru_cache(maxsize=8)
def _curve(cell: int) -> Integers:
    """Return the logistic curve in whole steps."""
    return np.array(
        [math.floor(cell / (1 + math.exp(8 - (place + 0.5) / 256)) + 0.5) for place in range(4096)], np.int64
    )


def _blocks(rows: int) -> Iterator[slice]:
    return (slice(start, min(start + BLOCK, rows)) for start in range(0, rows, BLOCK))


def _rounded(above: int, below: int) -> int:
    """Return the nearest whole number, halves upward."""
    return (2 * above + below) // (2 * below)


def _held(weight: int) -> int:
    most = LARGEST_WEIGHT << WEIGHT_BITS
    return max(-most, min(most, weight))


def _log_odds(lean: int, cell: int) -> int:
    """Return log((cell + lean)/(cell - lean)) in units of 2^-32; the same on every machine."""
    with precision(128):
        return math.floor(middle(rational_ball(Fraction(cell + lean, cell - lean)).log()) * (1 << WEIGHT_BITS))


def _direction(weights: Sequence[int]) -> list[int]:
    """Return the weights without the constant, of length 2^16; zeros where all of them are."""
    length = math.isqrt(sum(weight**2 for weight in weights[1:]))
    return [_rounded(weight << 16, length) if length else 0 for weight in weights[1:]]


def linear_steps(
    coordinates: tuple[Coordinates, ...], people: int, spend: Bound, facts: LearningFacts, *, grid: Grid | None = None,
    steps: int | None = None,
) -> LinearSteps:  # fmt: skip
    """Return the mechanism whose readings share a spend, from public facts only."""
    width = 1 + sum(one.width for one in coordinates)
    pure = isinstance(spend, Pure)
    total = _amount(spend)
    turns = steps or _turns(noise_ratio(width, people, spend), pure)
    chosen = grid or _finest(coordinates, total, turns, pure)
    clip = width * chosen.both // 2 if pure else math.isqrt(width * chosen.both**2 // 4)
    clip = max(clip, 1)
    parts = (SHARES[0] * total, SHARES[1] * total / turns)
    moves = _scale_moves(coordinates, chosen, None)
    step = sensitivity(l1=2 * clip) if pure else sensitivity(l2_squared=4 * clip**2, changed=width)
    by_attribute = {
        **{name: _scale_moves((one,), chosen, False) for name, one in zip(facts.features, coordinates, strict=True)},
        facts.target: _scale_moves((), chosen, True),
    }
    return LinearSteps(
        coordinates=coordinates, people=people, steps=turns, clip=clip, norm=1 if pure else 2, grid=chosen,
        scale=_noisy(parts[0], moves, pure, facts.reads, by_attribute),
        step=_noisy(parts[1], step, pure, facts.reads),
        table=_table_noise(spend, facts.reads),
        reads=facts.reads,
    )  # fmt: skip


def _finest(coordinates: Sequence[Coordinates], total: Fraction, turns: int, pure: bool) -> Grid:
    """Return the finest grid on which the noise of all readings can be drawn: much noise needs no fine cells."""
    width = 1 + sum(one.width for one in coordinates)
    for bits in range(10, 3, -1):
        grid = Grid(cell=1 << bits)
        moves = _scale_moves(coordinates, grid, None)
        gradient = width * grid.both * turns
        widest = [moves.l1 / (SHARES[0] * total), gradient / (SHARES[1] * total)]
        if not pure:
            squares = (moves.l2_squared / (SHARES[0] * total), width * grid.both**2 * turns / (SHARES[1] * total))
            widest = [Fraction(math.isqrt(math.ceil(square))) for square in squares]
        if max(widest) * 2 < LARGEST_SCALE:
            return grid
    raise UnsupportedSpend("This spend is too small for so many features; spend more, or take fewer features.")


def _scale_moves(coordinates: Sequence[Coordinates], grid: Grid, label: bool | None) -> Sensitivity:
    """Return how far a replaced person (label None), some features, or the label alone move the scale reading."""
    square = grid.cell**2
    moved = sum(one.moved for one in coordinates)
    numeric = sum(one.numeric for one in coordinates)
    with_label = 0 if label is False else 1
    l1 = (2 * moved + Fraction(numeric, 4) + 2 * with_label) * square
    return sensitivity(
        l1=l1, l2_squared=(4 * moved + 4 * with_label) * square**2, largest=2 * square,
        changed=moved + numeric + with_label,
    )  # fmt: skip


def _noisy(
    amount: Fraction, moves: Sensitivity, pure: bool, reads: Attributes, by_attribute: Any = None
) -> AdditiveNoise:
    law = (
        DiscreteLaplace(max(moves.l1 / amount, SMALLEST_SCALE))
        if pure
        else RoundedNormal(max(moves.l2_squared / amount, SMALLEST_SCALE**2))
    )
    known = (
        {}
        if not isinstance(reads, frozenset)
        else {name: one for name, one in (by_attribute or {}).items() if name in reads}
    )
    return AdditiveNoise(law=law, sensitivity=moves, by_attribute=tuple(known.items()), reads=reads)


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


def _amount(spend: Bound) -> Fraction:
    """Return epsilon of a pure spend, and else what it allows of a Gaussian, mu²."""
    person = replace(spend, unit="person")
    match person:
        case Pure():
            amount = person.epsilon
        case Approximate():
            amount = gaussian_m(person.epsilon, person.delta)
        case Concentrated() | Truncated():
            amount = 2 * person.rho
        case _:
            raise UnsupportedSpend(f"{spend!r} buys no linear model; write Pure(1) or Approximate(1, 1e-6).")
    if amount <= 0:
        raise UnsupportedSpend(f"{spend!r} pays for nothing; write a spend above zero.")
    return amount


def noise_ratio(width: int, people: int, spend: Bound) -> float:
    """Return how large the noise of one step would be beside the gradient of everybody, if there were one step.

    >>> round(noise_ratio(9, 8000, Pure(1)), 5)
    0.00795
    """
    amount: float = float(_amount(spend))
    if isinstance(spend, Pure):
        return float(math.sqrt(2 * width**3) / (0.6 * amount * people))
    return width / (people * math.sqrt(amount * 0.6))


def table_deviation(spend: Bound) -> float:
    """Return the standard deviation of the noise in one count of the last table.

    >>> round(table_deviation(Pure(1)), 1)
    28.3
    """
    return float(_table_noise(spend, EVERYTHING).law.deviation())


def _table_noise(spend: Bound, reads: Attributes) -> AdditiveNoise:
    moves = sensitivity(l1=2, l2_squared=2, largest=1, changed=2)
    return _noisy(SHARES[2] * _amount(spend), moves, isinstance(spend, Pure), reads)


def _turns(ratio: float, pure: bool) -> int:
    for most, turns in PURE_STEPS if pure else GAUSSIAN_STEPS:
        if ratio <= most:
            return turns
    return 1
