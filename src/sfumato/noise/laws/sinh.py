"""The rounded sinh-normal law: a Gaussian core whose tails end doubly exponentially fast."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sfumato.exact import rational_ball
from sfumato.exact.enclosure import Ball, precision
from sfumato.noise.laws.base import Law, bend_in_range, variance_in_range

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class SinhNormal(Law):
    """The nearest integer to bend · arsinh(N / bend), N normal with the variance: the noise of a truncated bound.

    >>> from sfumato.noise import Noise
    >>> Noise(insecure_seed=1).draw(SinhNormal(100, 20), 5)
    array([  2, -13,   4, -13,  -2])
    """

    variance: Fraction
    bend: Fraction
    symmetric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", variance_in_range(self.variance, "variance"))
        object.__setattr__(self, "bend", bend_in_range(self.bend, "bend"))

    def mass(self, j: int) -> Ball:
        """Enclose the probability that the real number rounds to `j`."""
        j = abs(j)
        if j == 0:
            return self._reach(HALF).erf()
        return (self._reach(j - HALF).erfc() - self._reach(j + HALF).erfc()) / 2

    def tail(self, j: int) -> Ball:
        """Enclose the probability of more than `j`."""
        if j < 0:
            return 1 - self.tail(-j - 1)
        return self._reach(j + HALF).erfc() / 2

    def feature(self) -> int:
        """Return the smaller of standard deviation and bend, rounded down."""
        return min(math.isqrt(int(self.variance)), int(self.bend))

    def curvature(self, first: int, last: int) -> Ball:
        """Bound the second derivative of the density f over all that rounds to `first` … `last`.

        f'' = f (l'² + l'') with l = log f, where l' = tanh(x/A)/A - (A/(2v)) sinh(2x/A) and
        l'' = 1/(A cosh(x/A))² - cosh(2x/A)/v; in each the two terms have opposite signs.
        """
        bend, variance = rational_ball(self.bend), rational_ball(self.variance)
        outer = rational_ball((last + HALF) / self.bend)
        slope = (1 / bend).max((2 * outer).sinh() * bend / (2 * variance))
        turn = (1 / bend**2).max((2 * outer).cosh() / variance)
        return self._density_bound(first, outer) * (slope**2 + turn)

    def settled(self, start: int) -> bool:
        """Return True if the density is surely log-concave and falling from where numbers round to `start`.

        Where bend sinh(x / bend) has reached the standard deviation, both l' and l'' of `curvature` are
        below zero.
        """
        with precision(64):
            normal = rational_ball(self.bend) * rational_ball((start - HALF) / self.bend).sinh()
            return bool(normal**2 >= rational_ball(self.variance)) and start >= 1

    def _density_bound(self, first: int, outer: Ball) -> Ball:
        import flint

        exponent = self._reach(first - HALF) ** 2
        return outer.cosh() * (-exponent).exp() / (2 * flint.arb.pi() * rational_ball(self.variance)).sqrt()

    def _reach(self, edge: Fraction) -> Ball:
        """Enclose bend sinh(edge / bend) / sqrt(2 variance)."""
        root = rational_ball(2 * self.variance).sqrt()
        return rational_ball(self.bend) * rational_ball(edge / self.bend).sinh() / root
