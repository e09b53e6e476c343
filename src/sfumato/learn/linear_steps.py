"""The readings of a private linear model: a scale, a few clipped gradient steps, and a last table (MD-LINEAR)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import UnsupportedSpend
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.learn.linear_aims import WEIGHT_BITS, Aim, Start, TwoLabels, Weights, believed, row_scores
from sfumato.learn.linear_rows import Coordinates, Grid, Integers, Rows, blocks, clipped, rounded
from sfumato.learn.linear_shares import TOO_SMALL, Pace, Shares, Walk, table_noise
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.perturb import AdditiveNoise
from sfumato.privacy import Bound, Loss

LARGEST_WEIGHT = 8


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
        return self.walked(rows, self.scale.run(scale_totals(rows, self.coordinates, self.aim), noise), noise)

    def walked(self, rows: Rows, totals: Integers, noise: Noise) -> Any:
        """Walk from the noisy totals, which were released, and count the table."""
        centre, deviation, start = self._scale(totals)
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


@dataclass(frozen=True, kw_only=True)
class CountedSteps(Mechanism):
    """`LinearSteps` where the number of rows is private: filtered rows, several a person, people who come and go.

    The first reading counts the rows too, with noise, and everything behind it knows that number alone: how many steps
    there are, how long rows may be, what sums are divided by. Promise, under `relation`, where a person has at most
    `rows` rows: the sum of the losses of the scale, of the steps at whichever pace, and of the table. All paces cost
    the same epsilon, or mu²; that of the fewest steps is stated, whose Rényi curve is above those of its multiples.
    Value: that of `LinearSteps`, and the rows released.
    Spec: MD-LINEAR. Time and memory as there.
    """

    spec: ClassVar[str] = "MD-LINEAR"

    coordinates: tuple[Coordinates, ...]
    rows: int
    """How many rows a person may have."""
    most: int | None
    """How many rows there can be; None where nobody knows."""
    norm: int
    scale: AdditiveNoise
    walks: tuple[Walk, ...]
    """The steps by the number of rows that was released, from one row on."""
    table: AdditiveNoise | None
    least: int
    """From so many rows on something can be said of how good the model is."""
    enough: int
    """From so many rows on the noise is small beside what everybody says together."""
    grid: Grid = field(default_factory=Grid)
    aim: Aim = field(default_factory=TwoLabels)

    def loss(self) -> Loss:
        """Return the sum over all readings, the steps at the pace of the fewest."""
        walked = self.scale.loss() + self.walks[0].loss
        return walked if self.table is None else walked + self.table.loss()

    def run(self, exact: Sample, noise: Noise) -> Any:
        """Read the scale and the number of rows, and walk as that number says."""
        rows = Rows.of(exact, self.coordinates, self.grid)
        counted = np.array([int(rows.counts.sum()) * self.grid.cell**2], np.int64)
        exactly = np.concatenate([scale_totals(rows, self.coordinates, self.aim), counted])
        totals = self.scale.run(exactly, noise)
        found = self.released(int(totals[-1]))
        return (*self.at(found).walked(rows, totals[:-1], noise), found)

    def released(self, total: int) -> int:
        """Return the number of rows that a noisy total says: at least one, and at most as many as there can be."""
        found = max(1, rounded(total, self.grid.cell**2))
        return found if self.most is None else min(found, max(1, self.most))

    def at(self, people: int) -> LinearSteps:
        """Return the steps where so many rows were released; public arithmetic."""
        walk = [one for one in self.walks if one.people <= people][-1]
        return LinearSteps(
            coordinates=self.coordinates, people=people, steps=walk.steps, clip=walk.clip, norm=self.norm,
            scale=self.scale, step=walk.step, table=self.table, grid=self.grid, aim=self.aim, hurried=walk.hurried,
            reach=walk.reach, relation=self.relation, reads=self.reads,
        )  # fmt: skip


def scale_totals(rows: Rows, coordinates: Sequence[Coordinates], aim: Aim) -> Integers:
    """Return what the first reading adds up: cells, squares of numbers, and what is read of the label."""
    return np.concatenate([rows.scale_totals(coordinates), np.array(aim.totals(rows), np.int64)])


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
    shares = Shares(coordinates, spend, facts)
    pace = next(one for one in shares.paces if shares.ratio(people) <= one.most)
    turns = steps or pace.steps
    chosen = grid or shares.finest(turns, pace.length)
    if chosen is None:
        raise UnsupportedSpend(TOO_SMALL)
    walk = shares.walk(pace, chosen, turns)
    return LinearSteps(
        coordinates=coordinates, people=people, steps=turns, clip=walk.clip, norm=shares.norm, grid=chosen,
        aim=shares.aim, hurried=pace.hurried, reach=pace.reach, scale=shares.scale(chosen), step=walk.step,
        table=table_noise(spend, facts), reads=facts.reads,
    )  # fmt: skip


def counted_steps(
    coordinates: tuple[Coordinates, ...], spend: Bound, facts: LearningFacts, *, least: int, enough: int,
    grid: Grid | None = None,
) -> CountedSteps:  # fmt: skip
    """Return the mechanism for a private number of rows, from public facts only.

    Nobody knows beforehand at which pace it will walk, so the grid is that of a usual one; paces whose noise cannot be
    drawn on it, which need far more rows, are left out: so many rows are walked through as fewer are.
    """
    shares, presence = Shares(coordinates, spend, facts), facts.presence
    paces = [one for one in reversed(shares.paces) if presence.most is None or shares.from_rows(one) <= presence.most]
    chosen = grid or _usual_grid(shares, paces)
    drawn = [one for one in paces if grid or shares.drawn(chosen, one.steps, one.length)]
    return CountedSteps(
        coordinates=coordinates, rows=presence.rows, most=presence.most, norm=shares.norm, scale=shares.scale(chosen),
        walks=_alike([shares.walk(one, chosen, one.steps) for one in drawn]), table=table_noise(spend, facts),
        least=least, enough=enough, grid=chosen, aim=shares.aim, relation=presence.relation, reads=facts.reads,
    )  # fmt: skip


def _alike(walks: Sequence[Walk]) -> tuple[Walk, ...]:
    """Return the walks that cost the same: all of them, but for spends so large that there is no noise so small."""
    amount = max(one.amount for one in walks)
    first, *others = [one for one in walks if one.amount == amount]
    return (replace(first, people=1), *(one for one in others if one.steps % first.steps == 0))


USUAL_STEPS = 16
FINE = 1 << 8


def _usual_grid(shares: Shares, paces: Sequence[Pace]) -> Grid:
    """Return a fine grid for as many steps as are usual, and else the finest for the fewest."""
    for pace in (one for one in reversed(paces) if one.steps <= USUAL_STEPS):
        found = shares.finest(pace.steps, pace.length)
        if found is not None and found.cell >= FINE:
            return found
    found = shares.finest(paces[0].steps, paces[0].length)
    if found is None:
        raise UnsupportedSpend(TOO_SMALL)
    return found
