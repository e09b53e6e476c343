"""The readings of a private linear model: a scale, a few clipped gradient steps, and a last table (MD-LINEAR)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import UnsupportedSpend
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.learn.linear_aims import WEIGHT_BITS, Aim, Moves, Start, TwoLabels, Weights, aim_of, believed, row_scores
from sfumato.learn.linear_rows import Coordinates, Grid, Integers, Rows, blocks, clipped, rounded
from sfumato.mechanism import Mechanism
from sfumato.noise import DiscreteLaplace, Noise, RoundedNormal
from sfumato.noise.laws.base import LARGEST_SCALE, SMALLEST_SCALE
from sfumato.perturb import AdditiveNoise
from sfumato.privacy import EVERYTHING, Approximate, Attributes, Bound, Concentrated, Loss, Pure, Truncated
from sfumato.privacy.gaussian import gaussian_m
from sfumato.privacy.sensitivity import Sensitivity, sensitivity

LARGEST_WEIGHT = 8


class Pace(NamedTuple):
    """How the steps are walked up to a noise ratio: the less noise, the more of them, and the less is cut off."""

    most: float
    steps: int
    length: int
    """The clip, in halves of what a row of usual length has where a label is wrong for sure."""
    hurried: bool
    """Whether each step goes on in the direction of the one before; that needs steps with little noise."""
    reach: int
    """How many deviations from the mean coordinates are held within."""


def _paces(*listed: tuple[float, int, int, bool, int]) -> tuple[Pace, ...]:
    return tuple(Pace(*one) for one in listed)


GAUSSIAN_PACES = _paces(
    (0.0003, 48, 4, True, 3), (0.0012, 24, 4, True, 3), (0.007, 16, 2, True, 3), (0.025, 12, 1, True, 2),
    (0.04, 10, 1, False, 2), (0.2, 4, 1, False, 2), (math.inf, 1, 1, False, 2),
)  # fmt: skip
PURE_PACES = _paces(
    (0.0001, 48, 4, True, 3), (0.0003, 24, 4, True, 3), (0.002, 16, 2, True, 3), (0.015, 8, 1, True, 2),
    (0.03, 4, 1, False, 2), (0.06, 2, 1, False, 2), (math.inf, 1, 1, False, 2),
)  # fmt: skip
# Rows of several labels have a residual for each of them, so that their gradients are longer and more is cut off.
GAUSSIAN_PACES_OF_SEVERAL = _paces(
    (0.0003, 48, 4, True, 3), (0.0012, 24, 4, True, 3), (0.02, 16, 2, True, 3), (0.05, 8, 2, True, 2),
    (0.2, 4, 2, False, 2), (math.inf, 1, 1, False, 2),
)  # fmt: skip
PURE_PACES_OF_SEVERAL = _paces(
    (0.0001, 48, 4, True, 3), (0.0003, 24, 4, True, 3), (0.008, 16, 2, True, 3), (0.025, 8, 2, True, 2),
    (0.04, 4, 2, False, 2), (0.08, 2, 1, False, 2), (math.inf, 1, 1, False, 2),
)  # fmt: skip
"""Measured on made-up people, at a fixed number of them and many spends; the promise is the same at every pace."""


@dataclass(frozen=True, kw_only=True)
class LinearSteps(Mechanism):
    """Release what a private linear model is made of: means and spreads, gradient steps, a table of scores.

    Promise, replace-one: the sum of the losses of one scale reading, `steps` clipped gradients and one table, each with
    exact noise on integers. One person moves a clipped gradient by at most twice the clip whatever else was released;
    an attribute alone may change score, residual and clip together, so it moves a step as far as the person does.
    Value: steps a cell, means, deviations and weights of the coordinates, the table (of two labels 16 bins of the score
    by label, of a number 32 bins of what it is off by, of several labels none), the scale of a number, and the reach.
    Spec: MD-LINEAR. Time: rows · coordinates · steps · labels; memory: two bytes a row and coordinate.
    """

    spec: ClassVar[str] = "MD-LINEAR"
    version: ClassVar[int] = 2

    coordinates: tuple[Coordinates, ...]
    people: int
    steps: int
    clip: int
    norm: int
    """1 where the sum of absolute values is clipped, 2 where the length is."""
    scale: AdditiveNoise
    step: AdditiveNoise
    table: AdditiveNoise | None
    grid: Grid = field(default_factory=Grid)
    aim: Aim = field(default_factory=TwoLabels)
    hurried: bool = False
    reach: int = 2

    def loss(self) -> Loss:
        """Return the sum over all readings."""
        walked = self.scale.loss() + self.steps * self.step.loss()
        return walked if self.table is None else walked + self.table.loss()

    def run(self, exact: Sample, noise: Noise) -> Any:
        """Read the scale, walk, and count the table."""
        rows = Rows.of(exact, self.coordinates, self.grid)
        totals = np.concatenate([rows.scale_totals(self.coordinates), np.array(self.aim.totals(rows), np.int64)])
        centre, deviation, start = self._scale(self.scale.run(totals, noise))
        standard = rows.standardised(centre, deviation, self.reach)
        kept = self.aim.kept(self._walk(standard, rows, start, noise))
        table = self.aim.table(standard, rows, kept, start)
        counts = () if self.table is None else tuple(self.table.run(table, noise).ravel().tolist())
        scale = (start.scale,) if start.scale else ()
        scaled = (self.grid.cell, tuple(centre.tolist()), tuple(deviation.tolist()))
        return (*scaled, tuple(kept), counts, *scale, self.reach)

    def faint(self, centre: Sequence[int], deviation: Sequence[int]) -> tuple[int, ...]:
        """Return the coordinates whose weights noise moves further than people could, by what was released of them.

        People of a share s move the mean gradient of their coordinate by at most s times the distance from the others,
        where every one of them has the largest residual; the rate of the walk is the same for them and for the noise.
        """
        cell, half = self.grid.cell, self.steps // 2
        held = np.array([self.steps - max(turn, half) for turn in range(self.steps)], np.float64)
        noise = 2 * self.step.law.deviation() / (self.people * self.grid.both) * np.linalg.norm(held) / held.sum()
        found = []
        for place, (mean, spread, number) in enumerate(zip(centre, deviation, self._numeric(), strict=True)):
            share = (cell - abs(mean)) / (2 * cell)
            apart = min(2.0, 2 * cell * (1 - share) / spread) + 2 * cell * share / spread
            unseen = spread**2 < self._unseen(mean) if number else cell - abs(mean) < 2 * self._doubt()
            if unseen or (1.0 if number else share * apart) < noise:
                found.append(place)
        return tuple(found)

    def narrow(self, centre: Sequence[int], deviation: Sequence[int]) -> tuple[int, ...]:
        """Return the numbers that are released as hardly more than one value.

        What lies outside of a range is moved to its ends, and what cannot be read to the missing value, which may be
        in the middle: there a spread that noise hides is a sign of that only where little noise would have shown it.
        """
        cell = self.grid.cell
        each = enumerate(zip(centre, deviation, self._numeric(), strict=True))
        return tuple(
            place for place, (mean, spread, number) in each
            if number and (50 * spread <= cell or spread**2 < self._unseen(mean) <= self._telling(mean))
        )  # fmt: skip

    def _telling(self, mean: int) -> float:
        """Return up to which square a spread that noise may hide is narrow: less where nothing was moved to an end."""
        cell = self.grid.cell
        return cell**2 / (16 if cell - abs(mean) < cell / 16 else 128)

    def _doubt(self) -> float:
        """Return the deviation of a released mean, in cells."""
        return float(self.scale.law.deviation()) / (self.people * self.grid.cell)

    def _unseen(self, mean: int) -> float:
        """Return below which square a released spread may be noise alone: two deviations of it."""
        return 2 * self._doubt() * math.hypot(self.grid.cell, 2 * mean)

    def _numeric(self) -> list[bool]:
        return [one.numeric for one in self.coordinates for _ in range(one.width)]

    def _scale(self, totals: Any) -> tuple[Integers, Integers, Start]:
        """Return means, deviations and where the walk begins from the noisy totals; public arithmetic on them."""
        cell, width = self.grid.cell, sum(one.width for one in self.coordinates)
        drawn = [int(value) for value in totals.tolist()]
        centre = [max(-cell, min(cell, rounded(total, self.people * cell))) for total in drawn[:width]]
        noise = math.ceil(self.scale.law.deviation())
        deviation, place, squares = [], 0, width
        for one in self.coordinates:
            for mean in centre[place : place + one.width]:
                square = drawn[squares] // self.people if one.numeric else cell**2
                deviation.append(believed(square - mean**2, noise, self.people, cell))
            place, squares = place + one.width, squares + one.numeric
        start = self.aim.start(drawn[squares:], self.people, cell, noise)
        return np.array(centre, np.int64), np.array(deviation, np.int64), start

    def _walk(self, standard: NDArray[np.int16], rows: Rows, start: Start, noise: Noise) -> Weights:
        """Return the mean of the last iterates, in units of 2^-32: of their half, or of a quarter of hurried ones."""
        width = standard.shape[1]
        weights = [constant if not place else 0 for constant in start.constants for place in range(width)]
        ahead, kept = weights, []
        noisy = math.ceil(self.step.law.deviation())
        path = _Path((49 + width) * self.people * self.grid.both * self.aim.slowness, noisy)
        for turn in range(self.steps):
            short = np.array([rounded(weight, 1 << (WEIGHT_BITS - 16)) for weight in ahead], np.int64)
            gradient = self.step.run(_gradient(standard, rows, short.reshape(-1, width), start, self), noise).tolist()
            below = path.below(ahead, gradient) if self.hurried else path.slowest
            moved = zip(ahead, gradient, strict=True)
            before, weights = weights, [_held(weight - rounded(RATE * int(part), below)) for weight, part in moved]
            ahead = _further(weights, before, turn) if self.hurried else weights
            if turn >= self.steps * (3 if self.hurried else 2) // 4:
                kept.append(weights)
        means = [rounded(sum(column), len(kept)) for column in zip(*kept, strict=True)]
        return [means[place : place + width] for place in range(0, len(means), width)]


RATE = 100 << WEIGHT_BITS
"""Divided by 50 + p, the people and the units of a gradient, this is the rate 2/(1 + p/50)."""


@dataclass
class _Path:
    """How long steps may be, by what was released on the way: public arithmetic, as everything behind a reading is."""

    slowest: int
    noise: int
    """The deviation of the noise in each number of a gradient, rounded up."""
    place: Sequence[int] = ()
    gradient: Sequence[int] = ()

    def below(self, place: Sequence[int], gradient: Sequence[int]) -> int:
        """Return what the rate is divided by here: features that go together bend the loss more, and steps overshoot.

        How much it bends is seen in how gradients changed since the step before, without what noise adds to that.
        """
        if self.place:
            moved = math.isqrt(_squares(place, self.place))
            drawn = 2 * len(gradient) * self.noise**2
            turned = math.isqrt(max(0, _squares(gradient, self.gradient) - drawn))
            self.slowest = max(self.slowest, RATE * turned // max(1, moved))
        self.place, self.gradient = place, gradient
        return self.slowest


def _squares(one: Sequence[int], two: Sequence[int]) -> int:
    return sum((int(a) - int(b)) ** 2 for a, b in zip(one, two, strict=True))


def _further(weights: Sequence[int], before: Sequence[int], turn: int) -> list[int]:
    """Return where the next gradient is taken: ahead in the direction of this step (Nesterov)."""
    return [_held(here + rounded(turn * (here - there), turn + 3)) for here, there in zip(weights, before, strict=True)]


def _gradient(standard: NDArray[np.int16], rows: Rows, weights: Integers, start: Start, plan: LinearSteps) -> Integers:
    """Return the sum of clipped gradients; each row's is a function of that row and of released integers alone."""
    total = np.zeros(weights.size, np.int64)
    for here in blocks(len(standard), weights.size):
        block = standard[here].astype(np.int64)
        scores = row_scores(block, weights, plan.grid)
        residuals = plan.aim.residuals(scores, rows.labels[here], start, plan.grid.cell)
        gradients = (residuals[:, :, None] * block[:, None, :]).reshape(len(block), -1)
        total += rows.counts[here] @ clipped(gradients, plan.clip, plan.norm)
    return total


def _held(weight: int) -> int:
    most = LARGEST_WEIGHT << WEIGHT_BITS
    return max(-most, min(most, weight))


def linear_steps(
    coordinates: tuple[Coordinates, ...], people: int, spend: Bound, facts: LearningFacts, *, grid: Grid | None = None,
    steps: int | None = None,
) -> LinearSteps:  # fmt: skip
    """Return the mechanism whose readings share a spend, from public facts only."""
    aim = aim_of(facts)
    width = 1 + sum(one.width for one in coordinates)
    pure = isinstance(spend, Pure)
    # The table keeps its share: how much noise its counts carry is said by the spend alone.
    total = _amount(spend) * attribute_gain(coordinates, spend, facts)
    pace = _pace(noise_ratio(width, people, spend, aim, attribute_gain(coordinates, spend, facts)), pure, aim.heads > 1)
    turns, length = steps or pace.steps, pace.length
    # A longer clip is as much more noise in each step as more steps are: as many times, or as the square of it.
    chosen = grid or _finest(coordinates, aim, total, turns * (length if pure else length**2), pure)
    clip = length * width * chosen.both // 2 if pure else math.isqrt(length**2 * width * chosen.both**2 // 4)
    clip = max(clip, 1)
    moves = _scale_moves(coordinates, chosen, aim)
    step = sensitivity(l1=2 * clip) if pure else sensitivity(l2_squared=4 * clip**2, changed=width * aim.heads)
    return LinearSteps(
        coordinates=coordinates, people=people, steps=turns, clip=clip, norm=1 if pure else 2, grid=chosen, aim=aim,
        hurried=pace.hurried, reach=pace.reach,
        scale=_noisy(aim.shares[0] * total, moves, pure, facts.reads, _by_attribute(coordinates, chosen, facts)),
        step=_noisy(aim.shares[1] * total / turns, step, pure, facts.reads),
        table=table_noise(spend, facts.reads, aim),
        reads=facts.reads,
    )  # fmt: skip


def _by_attribute(coordinates: Sequence[Coordinates], grid: Grid, facts: LearningFacts) -> dict[str, Sensitivity]:
    """Return how far each attribute alone moves the scale reading."""
    aim = aim_of(facts)
    found = {facts.attribute: _scale_moves((), grid, aim)}
    for name, one in zip(facts.features, coordinates, strict=True):
        # A feature that the label is derived from moves both.
        found[name] = _scale_moves((one,), grid, aim if name == facts.attribute else None)
    return found


def attribute_gain(coordinates: Sequence[Coordinates], spend: Bound, facts: LearningFacts) -> Fraction:
    """Return how many times its amount a spend per attribute buys of scale and steps; 1 for a whole person.

    An attribute moves the scale reading by its own terms alone, and steps and table as the person does. With r the
    largest part of the scale reading that one of them moves, scale and steps at g times their shares s and t cost it
    g·(s·r + t), which is s + t for this g.
    """
    if spend.unit != "attribute":
        return Fraction(1)
    aim, grid = aim_of(facts), Grid()
    whole, singles = _scale_moves(coordinates, grid, aim), _by_attribute(coordinates, grid, facts).values()
    if isinstance(spend, Pure):
        part = max(one.l1 for one in singles) / whole.l1
    else:
        part = max(one.l2_squared for one in singles) / whole.l2_squared
    scale, steps, _ = aim.shares
    return Fraction(scale + steps) / (scale * Fraction(part) + steps)


def _finest(coordinates: Sequence[Coordinates], aim: Aim, total: Fraction, turns: int, pure: bool) -> Grid:
    """Return the finest grid on which the noise of all readings can be drawn: much noise needs no fine cells."""
    width = 1 + sum(one.width for one in coordinates)
    scale, steps = aim.shares[0] * total, aim.shares[1] * total
    for bits in range(10, 3, -1):
        grid = Grid(cell=1 << bits)
        moves = _scale_moves(coordinates, grid, aim)
        widest = [moves.l1 / scale, width * grid.both * turns / steps]
        if not pure:
            squares = (moves.l2_squared / scale, width * grid.both**2 * turns / steps)
            widest = [Fraction(math.isqrt(math.ceil(square))) for square in squares]
        if max(widest) * 2 < LARGEST_SCALE:
            return grid
    raise UnsupportedSpend("This spend is too small for so many features; spend more, or take fewer features.")


def _scale_moves(coordinates: Sequence[Coordinates], grid: Grid, aim: Aim | None) -> Sensitivity:
    """Return how far some features and, where an aim is given, the label move the scale reading."""
    square = grid.cell**2
    moved = sum(one.moved for one in coordinates)
    numeric = sum(one.numeric for one in coordinates)
    label = Moves(Fraction(0), 0, 0) if aim is None else aim.moves
    return sensitivity(
        l1=(2 * moved + Fraction(numeric, 4) + label.sum) * square,
        l2_squared=(4 * moved + label.squares) * square**2,
        largest=2 * square, changed=moved + numeric + label.changed,
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
        raise UnsupportedSpend(f"{spend!r} pays for nothing; write a spend above zero, such as Pure(0.1).")
    return amount


def noise_ratio(
    width: int, people: int, spend: Bound, aim: Aim = TwoLabels(), gain: Fraction = Fraction(1)  # noqa: B008 (frozen)
) -> float:  # fmt: skip
    """Return how large the noise of one step would be beside the gradient of everybody, if there were one step.

    `gain` is how many times its amount the spend buys of the steps.

    >>> round(noise_ratio(9, 8000, Pure(1)), 5)
    0.00795
    """
    amount: float = float(_amount(spend) * gain)
    share, heads = float(aim.shares[1]), aim.heads
    if isinstance(spend, Pure):
        return float(math.sqrt(2 * heads * width**3) / (share * amount * people))
    return width * math.sqrt(heads) / (people * math.sqrt(amount * share))


def table_deviation(spend: Bound) -> float:
    """Return the standard deviation of the noise in one count of the last table.

    >>> round(table_deviation(Pure(1)), 1)
    28.3
    """
    noise = table_noise(spend, EVERYTHING, TwoLabels())
    assert noise is not None
    return float(noise.law.deviation())


def table_noise(spend: Bound, reads: Attributes, aim: Aim) -> AdditiveNoise | None:
    """Return the noise of the last table, whose person is in one cell; None where there is no table."""
    if not aim.shares[2]:
        return None
    moves = sensitivity(l1=2, l2_squared=2, largest=1, changed=2)
    return _noisy(aim.shares[2] * _amount(spend), moves, isinstance(spend, Pure), reads)


def _pace(ratio: float, pure: bool, several: bool) -> Pace:
    one, many = (PURE_PACES, PURE_PACES_OF_SEVERAL) if pure else (GAUSSIAN_PACES, GAUSSIAN_PACES_OF_SEVERAL)
    return next(pace for pace in (many if several else one) if ratio <= pace.most)
