"""The rounded sinh-normal law: a Gaussian core whose tails end doubly exponentially fast."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sfumato.exact import rational_ball
from sfumato.exact.enclosure import Ball, precision
from sfumato.exact.search import smallest
from sfumato.noise.laws.base import HALF_LIFE, Priced, Smooth, bend_in_range, variance_in_range
from sfumato.noise.laws.normal import HALF, Rounded, kept_above
from sfumato.privacy.calibrate import sinh_cost
from sfumato.privacy.cost import Cost
from sfumato.privacy.sensitivity import Sensitivity

SLOPE_BITS = 128


@dataclass(frozen=True)
class SinhNormal(Rounded, Priced, Smooth):
    """The nearest integer to bend · arsinh(N / bend), N normal with the variance: the noise of a truncated bound.

    >>> from sfumato.noise import Noise
    >>> Noise(insecure_seed=1).draw(SinhNormal(100, 20), 5)
    array([-20,  -5, -17,   2, -11])
    """

    spec: ClassVar[str] = "TCDP-SAMPLER"
    word: ClassVar[str] = "sinh-normal"
    variance: Fraction
    bend: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", variance_in_range(self.variance, "variance"))
        object.__setattr__(self, "bend", bend_in_range(self.bend, "bend"))

    def cost(self, moves: Sensitivity) -> Cost:
        """Return copies·tau(a; variance, bend, largest) at every order a."""
        return sinh_cost(self.variance, self.bend, moves)

    def spread(self) -> float:
        """Return the variance that it is named by."""
        return float(self.variance)

    def deviation(self) -> float:
        """Return about the standard deviation: the half-width that holds 68 % of all draws."""
        with precision(128):
            return max(float(smallest(lambda bound: bool(self.tail(bound) <= rational_ball(Fraction(16, 100))))), 0.5)

    def sum_width(self, draws: int, least: float) -> float:
        """Return that of normal draws, to which these are brought nearer, and half a step for rounding each."""
        return math.sqrt(2 * draws * float(self.variance) * least) + draws / 2

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

    def halving(self, start: int) -> int | None:
        """Return a distance over which the masses halve where the density surely falls and is log-concave.

        That is where bend sinh(x / bend) has reached the standard deviation: there both l' and l'' of
        `curvature` are below zero, and the density falls at least as fast as its slope at the start says.
        """
        if start < 1:
            return None
        with precision(SLOPE_BITS):
            bend, edge = rational_ball(self.bend), rational_ball((start - HALF) / self.bend)
            variance = rational_ball(self.variance)
            if not (bend * edge.sinh()) ** 2 >= variance:
                return None
            slope = edge.tanh() * (edge.cosh() ** 2 * bend / variance - 1 / bend)
            distance = rational_ball(HALF_LIFE) / slope
            return int(distance.upper().ceil().unique_fmpz()) if slope > 0 else None

    def _density_bound(self, first: int, outer: Ball) -> Ball:
        import flint

        exponent = self._reach(first - HALF) ** 2
        return outer.cosh() * (-exponent).exp() / (2 * flint.arb.pi() * rational_ball(self.variance)).sqrt()

    def _above(self, edge: Fraction) -> Ball:
        """Enclose twice the probability of more than an edge."""
        import flint

        return kept_above(self, edge, flint.ctx.prec)

    def _reach(self, edge: Fraction) -> Ball:
        """Enclose bend sinh(edge / bend) / sqrt(2 variance)."""
        root = rational_ball(2 * self.variance).sqrt()
        return rational_ball(self.bend) * rational_ball(edge / self.bend).sinh() / root
