"""Discrete Laplace and geometric laws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from sfumato.exact import rational_ball
from sfumato.exact.enclosure import Ball
from sfumato.noise.laws.base import HALF_LIFE, Law, Priced, Smooth, scale_in_range
from sfumato.privacy.calibrate import laplace_cost
from sfumato.privacy.cost import Cost
from sfumato.privacy.sensitivity import Sensitivity

SLOPES = 200
"""So many exponents are tried for a sum; each of them gives a valid bound, the best is taken."""


class Decaying(Smooth):
    """A law whose masses fall by the factor exp(-1 / scale) from one integer to the next."""

    scale: Fraction

    def feature(self) -> int:
        """Return the scale, rounded down."""
        return int(self.scale)

    def curvature(self, first: int, last: int) -> Ball:
        """Bound the second derivative: the curve is an exponential, steepest at `first`."""
        return self.mass(first) / rational_ball(self.scale) ** 2

    def halving(self, start: int) -> int:
        """Return a distance over which the masses halve, the same everywhere."""
        return math.ceil(HALF_LIFE * self.scale)


@dataclass(frozen=True)
class DiscreteLaplace(Priced, Decaying):
    """Integers with probability proportional to exp(-|j| / scale): the noise of a pure bound.

    >>> from sfumato.noise import Noise
    >>> Noise(insecure_seed=1).draw(DiscreteLaplace(10), 5)
    array([-40,  -5,  30,   2,  15])
    """

    spec: ClassVar[str] = "QR-LAP"
    word: ClassVar[str] = "Laplace"
    pure: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", scale_in_range(self.scale, "scale"))

    def cost(self, moves: Sensitivity) -> Cost:
        """Return epsilon = l1/scale."""
        return laplace_cost(self.scale, moves)

    def spread(self) -> float:
        """Return 2·scale²."""
        return 2 * float(self.scale) ** 2

    def size(self) -> float:
        """Return the scale."""
        return float(self.scale)

    def deviation(self) -> float:
        """Return the standard deviation of a draw.

        >>> round(DiscreteLaplace(10).deviation(), 3)
        14.136
        """
        rate = 1 / float(self.scale)
        return math.exp(-rate / 2) * math.sqrt(2) / -math.expm1(-rate)

    def sum_width(self, draws: int, least: float) -> float:
        """Return the least (draws·log E e^{sZ} + least)/s over some slopes s below 1/scale."""
        scale = float(self.scale)
        decay = math.exp(-1 / scale)
        best = math.inf
        for step in range(1, SLOPES):
            slope = step / SLOPES / scale
            shifted = math.expm1(slope)
            # 2·log(1-a) - log(1-a·e^s) - log(1-a·e^-s), written so that nothing cancels: the product of the two
            # is (1-a)² - a·(e^s - 1)²·e^-s.
            lost = decay * shifted**2 * math.exp(-slope) / (1 - decay) ** 2
            if lost < 1:
                best = min(best, (-draws * math.log1p(-lost) + least) / slope)
        return best

    def mass(self, j: int) -> Ball:
        """Enclose tanh(1 / (2 scale)) exp(-|j| / scale)."""
        import flint

        rate, height = _rate_and_height(self.scale, flint.ctx.prec)
        return height * (-abs(j) * rate).exp()

    def tail(self, j: int) -> Ball:
        """Enclose the probability of more than `j`."""
        if j < 0:
            return 1 - self.tail(-j - 1)
        rate = 1 / rational_ball(self.scale)
        return (-(j + 1) * rate).exp() / (1 + (-rate).exp())


@lru_cache(maxsize=64)
def _rate_and_height(scale: Fraction, bits: int) -> tuple[Ball, Ball]:
    """Enclose 1 / scale and the mass of zero; `bits`, the precision in force, is there for the cache only."""
    rate = 1 / rational_ball(scale)
    return rate, (rate / 2).tanh()


@dataclass(frozen=True)
class Geometric(Law, Decaying):
    """Integers j >= 0 with probability proportional to exp(-j / scale).

    >>> from sfumato.noise import Noise
    >>> Noise(insecure_seed=1).draw(Geometric(10), 5)
    array([40,  5, 30,  1, 14])
    """

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", scale_in_range(self.scale, "scale"))

    def mass(self, j: int) -> Ball:
        """Enclose (1 - exp(-1 / scale)) exp(-j / scale)."""
        if j < 0:
            return rational_ball(0)
        rate = 1 / rational_ball(self.scale)
        return -(-rate).expm1() * (-j * rate).exp()

    def tail(self, j: int) -> Ball:
        """Enclose the probability of more than `j`."""
        return (rational_ball(-max(j + 1, 0)) / rational_ball(self.scale)).exp()

    def head(self, j: int) -> Ball:
        """Enclose the probability of less than `j`."""
        return -(rational_ball(-max(j, 0)) / rational_ball(self.scale)).expm1()
