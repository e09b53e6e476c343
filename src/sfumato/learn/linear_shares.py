"""How a spend is shared out over the readings of a private linear model, and at which pace it walks (MD-LINEAR)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from sfumato.errors import UnsupportedSpend
from sfumato.learn.facts import LearningFacts
from sfumato.learn.linear_aims import Aim, TwoLabels, aim_of
from sfumato.learn.linear_moves import scale_by_attribute, scale_moves, step_moves, table_moves
from sfumato.learn.linear_rows import Coordinates, Grid
from sfumato.mechanism import plain
from sfumato.noise import DiscreteLaplace, RoundedNormal
from sfumato.noise.laws.base import LARGEST_SCALE, SMALLEST_SCALE
from sfumato.perturb import AdditiveNoise
from sfumato.privacy import REPLACE_ONE, Approximate, Bound, Concentrated, Loss, Pure, Truncated
from sfumato.privacy.gaussian import gaussian_m
from sfumato.privacy.sensitivity import Sensitivity


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


TOO_SMALL = "This spend is too small for so many features; spend more, or take fewer features."
NO_ATTRIBUTES: Mapping[str, Sensitivity] = MappingProxyType({})


@dataclass(frozen=True)
class Walk:
    """The steps from so many rows on: how many, clipped where, with which noise."""

    people: int
    steps: int
    clip: int
    step: AdditiveNoise
    hurried: bool
    reach: int

    def to_json(self) -> dict[str, Any]:
        """Return the public numbers."""
        return {part.name: plain(getattr(self, part.name)) for part in fields(self)}

    @property
    def loss(self) -> Loss:
        """What all of these steps cost together."""
        return self.steps * self.step.loss()

    @property
    def amount(self) -> Fraction:
        """What all of these steps cost a person: an epsilon, or mu² of a Gaussian."""
        law, moves = self.step.law, self.step.sensitivity
        if isinstance(law, DiscreteLaplace):
            return self.steps * moves.l1 / law.scale
        assert isinstance(law, RoundedNormal)
        return self.steps * moves.l2_squared / law.variance


@dataclass(frozen=True)
class Shares:
    """How a spend is shared out over the readings of a model with these coordinates; public arithmetic."""

    coordinates: tuple[Coordinates, ...]
    spend: Bound
    facts: LearningFacts

    @cached_property
    def aim(self) -> Aim:
        """What is fitted."""
        return aim_of(self.facts)

    @property
    def pure(self) -> bool:
        """Whether noise is that of Laplace, and sums of absolute values are clipped."""
        return isinstance(self.spend, Pure)

    @cached_property
    def gain(self) -> Fraction:
        """How many times its amount the spend buys of scale and steps."""
        return attribute_gain(self.coordinates, self.spend, self.facts)

    @cached_property
    def amount(self) -> Fraction:
        """What scale and steps share; the table keeps its share, so that its noise is said by the spend alone."""
        return _amount(self.spend) * self.gain

    @property
    def width(self) -> int:
        """How many numbers a row has: the constant and its coordinates."""
        return 1 + sum(one.width for one in self.coordinates)

    @property
    def norm(self) -> int:
        """In which norm gradients are clipped."""
        return 1 if self.pure else 2

    @property
    def paces(self) -> tuple[Pace, ...]:
        """How steps may be walked, the fewest last."""
        one, many = (
            (PURE_PACES, PURE_PACES_OF_SEVERAL) if self.pure else (GAUSSIAN_PACES, GAUSSIAN_PACES_OF_SEVERAL)
        )  # fmt: skip
        return many if self.aim.heads > 1 else one

    def ratio(self, people: int) -> float:
        """Return how large the noise of one step would be beside the gradient of everybody, if there were one step."""
        exchanged = noise_ratio(self.width, people, self.spend, self.aim, self.gain)
        return exchanged * float(self.facts.presence.reach)

    def from_rows(self, pace: Pace) -> int:
        """Return from how many rows on there is so little noise as a pace needs."""
        return max(1, math.ceil(self.ratio(1) / pace.most))

    def scale(self, grid: Grid) -> AdditiveNoise:
        """Return the noise of the scale reading."""
        moves = scale_moves(self.coordinates, grid, self.facts)
        singles = scale_by_attribute(self.coordinates, grid, self.facts)
        return _noisy(self.aim.shares[0] * self.amount, moves, self.pure, self.facts, singles)

    def walk(self, pace: Pace, grid: Grid, turns: int) -> Walk:
        """Return so many steps of a pace."""
        length, both = pace.length, grid.both
        clip = length * self.width * both // 2 if self.pure else math.isqrt(length**2 * self.width * both**2 // 4)
        clip = max(clip, 1)
        moves = step_moves(clip, self.width * self.aim.heads, self.facts.presence, pure=self.pure)
        step = _noisy(self.aim.shares[1] * self.amount / turns, moves, self.pure, self.facts)
        return Walk(self.from_rows(pace), turns, clip, step, pace.hurried, pace.reach)

    def finest(self, turns: int, length: int) -> Grid | None:
        """Return the finest grid on which the noise of all readings can be drawn: much noise needs no fine cells."""
        grids = (Grid(cell=1 << bits) for bits in range(10, 3, -1))
        return next((grid for grid in grids if self.drawn(grid, turns, length)), None)

    def drawn(self, grid: Grid, turns: int, length: int) -> bool:
        """Tell whether the noise of all readings can be drawn on a grid.

        A longer clip is as much more noise in each step as more steps are: as many times, or as the square of it.
        """
        scale, steps = self.aim.shares[0] * self.amount, self.aim.shares[1] * self.amount
        moves, far = scale_moves(self.coordinates, grid, self.facts), grid.both * self.facts.presence.reach
        if self.pure:
            widest = max(moves.l1 / scale, self.width * far * turns * length / steps)
        else:
            squares = (moves.l2_squared / scale, self.width * far**2 * turns * length**2 / steps)
            widest = Fraction(max(math.isqrt(math.ceil(square)) for square in squares))
        return widest * 2 < LARGEST_SCALE


def attribute_gain(coordinates: Sequence[Coordinates], spend: Bound, facts: LearningFacts) -> Fraction:
    """Return how many times its amount a spend per attribute buys of scale and steps; 1 for a whole person.

    An attribute moves the scale reading by its own terms alone, and steps and table as the person does. With r the
    largest part of the scale reading that one of them moves, scale and steps at g times their shares s and t cost it
    g·(s·r + t), which is s + t for this g.
    """
    if spend.unit != "attribute":
        return Fraction(1)
    aim, grid = aim_of(facts), Grid()
    whole, singles = scale_moves(coordinates, grid, facts), scale_by_attribute(coordinates, grid, facts).values()
    if isinstance(spend, Pure):
        part = max(one.l1 for one in singles) / whole.l1
    else:
        part = max(one.l2_squared for one in singles) / whole.l2_squared
    scale, steps, _ = aim.shares
    return Fraction(scale + steps) / (scale * Fraction(part) + steps)


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


def table_deviation(spend: Bound, facts: LearningFacts) -> float:
    """Return the standard deviation of the noise in one count of the last table; 0 where there is none."""
    noise = table_noise(spend, facts)
    return 0.0 if noise is None else float(noise.law.deviation())


def table_noise(spend: Bound, facts: LearningFacts) -> AdditiveNoise | None:
    """Return the noise of the last table, where each row is in one cell; None where there is no table."""
    share = aim_of(facts).shares[2]
    if not share:
        return None
    presence, exchanged = facts.presence, {}
    if presence.relation is not REPLACE_ONE and isinstance(facts.reads, frozenset):
        exchanged = dict.fromkeys(facts.reads, table_moves(presence, exchanged=True))
    return _noisy(share * _amount(spend), table_moves(presence), isinstance(spend, Pure), facts, exchanged)


def _noisy(
    amount: Fraction,
    moves: Sensitivity,
    pure: bool,
    facts: LearningFacts,
    by_attribute: Mapping[str, Sensitivity] = NO_ATTRIBUTES,
) -> AdditiveNoise:
    law = (
        DiscreteLaplace(max(moves.l1 / amount, SMALLEST_SCALE))
        if pure
        else RoundedNormal(max(moves.l2_squared / amount, SMALLEST_SCALE**2))
    )
    reads = facts.reads
    known = tuple((name, one) for name, one in by_attribute.items() if isinstance(reads, frozenset) and name in reads)
    return AdditiveNoise(law=law, sensitivity=moves, by_attribute=known, reads=reads, relation=facts.presence.relation)
