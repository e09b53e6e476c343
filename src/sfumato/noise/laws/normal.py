"""The rounded normal law: Gaussian noise on integers that is exactly as private as a Gaussian (AC-GAUSS)."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from sfumato.errors import ParameterError
from sfumato.exact import exact, rational_ball
from sfumato.exact.enclosure import Ball
from sfumato.noise.laws.base import HALF_LIFE, Law, OfVariance, Priced, Smooth
from sfumato.privacy.calibrate import rounded_cost, rounded_spread
from sfumato.privacy.cost import Cost
from sfumato.privacy.sensitivity import Sensitivity

HALF = Fraction(1, 2)


class Rounded(Law):
    """The nearest integer to a normal number that an odd function has stretched."""

    symmetric: ClassVar[bool] = True

    def mass(self, j: int) -> Ball:
        """Enclose the probability that the real number rounds to `j`."""
        j = abs(j)
        if j == 0:
            return self._reach(HALF).erf()
        return (self._above(j - HALF) - self._above(j + HALF)) / 2

    def tail(self, j: int) -> Ball:
        """Enclose the probability of more than `j`."""
        if j < 0:
            return 1 - self.tail(-j - 1)
        return self._above(j + HALF) / 2

    def _above(self, edge: Fraction) -> Ball:
        """Enclose twice the probability of more than an edge."""
        return self._reach(edge).erfc()

    @abstractmethod
    def _reach(self, edge: Fraction) -> Ball:
        """Enclose what is stretched to `edge`, in units of sqrt(2) standard deviations."""


class Unstretched(Rounded):
    """The nearest integer to a normal number of the variance."""

    variance: Fraction

    def _reach(self, edge: Fraction) -> Ball:
        """Enclose edge / sqrt(2 variance)."""
        return rational_ball(edge) / rational_ball(2 * self.variance).sqrt()


@lru_cache(maxsize=8)
def kept_above(law: Rounded, edge: Fraction, bits: int) -> Ball:
    """Enclose `_above` of a public law: the masses of neighbouring integers share an edge.

    `bits`, the precision in force, is there for the cache only.
    """
    return law._reach(edge).erfc()


@lru_cache(maxsize=64)
def _unit(variance: Fraction, bits: int) -> Ball:
    """Enclose sqrt(2 variance) of a public variance; `bits`, the precision in force, is there for the cache only."""
    return rational_ball(2 * variance).sqrt()


@dataclass(frozen=True)
class RoundedNormal(OfVariance, Unstretched, Priced, Smooth):
    """The nearest integer to a normal number of a public variance: the noise of an approximate bound.

    Added to integers it is the rounding of a Gaussian around them, so it costs exactly what that Gaussian costs:
    mu² = l2²/variance. Its own variance is larger by about 1/12.

    >>> from sfumato.noise import Noise
    >>> Noise(insecure_seed=1).draw(RoundedNormal(100), 5)
    array([ 24,  -5,  20,   2, -12])
    """

    spec: ClassVar[str] = "AC-GAUSS"
    variance: Fraction

    def cost(self, moves: Sensitivity) -> Cost:
        """Return mu² = l2²/variance, and half of it as rho."""
        return rounded_cost(self.variance, moves)

    def deviation(self) -> float:
        """Return the standard deviation of the rounded number."""
        return rounded_spread(self.variance)

    def sum_width(self, draws: int, least: float) -> float:
        """Return the bound for sums of sub-Gaussian draws; the variance factor is proved in AC-GAUSS."""
        v = float(self.variance)
        extra, k = 1 / 12, 1
        while (weight := math.exp(-2 * math.pi**2 * k * k * v)) > 1e-18 and k < 10_000:
            extra, k = extra + 4 * weight * (v + 1 / (4 * math.pi**2 * k * k)), k + 1
        return math.sqrt(2 * draws * (v + extra) * least)

    def _reach(self, edge: Fraction) -> Ball:
        """Enclose edge / sqrt(2 variance); the root is kept, because this variance is public."""
        import flint

        return rational_ball(edge) / _unit(self.variance, flint.ctx.prec)

    def _above(self, edge: Fraction) -> Ball:
        """Enclose twice the probability of more than an edge."""
        import flint

        return kept_above(self, edge, flint.ctx.prec)

    def feature(self) -> int:
        """Return the standard deviation, rounded down."""
        return math.isqrt(int(self.variance))

    def curvature(self, first: int, last: int) -> Ball:
        """Bound the second derivative of the density f, f'' = f (x²/v² - 1/v), over all that rounds to them."""
        import flint

        factor = max(1 / self.variance, (last + HALF) ** 2 / self.variance**2)
        top = (2 * flint.arb.pi() * rational_ball(self.variance)).sqrt()
        return (-(self._reach(first - HALF) ** 2)).exp() / top * rational_ball(factor)

    def halving(self, start: int) -> int:
        """Return a distance d with (2 x d + d²) / (2 variance) >= log 2 from x = start - 1 on, which rounds below."""
        x = max(start - 1, 0)
        return math.isqrt(math.ceil(x**2 + 2 * HALF_LIFE * self.variance)) + 1 - x


@dataclass(frozen=True)
class PrivateNormal(Unstretched):
    """The nearest integer to a normal number whose variance may itself be private.

    No table is kept for it: every draw inverts the tail. It has no price, because its width tells something too.

    >>> from sfumato.noise import Noise
    >>> Noise(insecure_seed=1).draw(PrivateNormal(100), 5)
    array([-21,   2, -17,  10,  -8])
    """

    variance: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", exact(self.variance, "variance"))
        if self.variance <= 0:
            raise ParameterError("variance must be above 0; write for example PrivateNormal(100).")
