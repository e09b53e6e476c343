"""The discrete Gaussian law, with certified sums over any number of terms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from sfumato.exact import rational_ball
from sfumato.exact.enclosure import Ball
from sfumato.noise.laws.base import HALF_LIFE, OfVariance, Priced, Smooth
from sfumato.privacy.calibrate import gaussian_cost
from sfumato.privacy.cost import Cost
from sfumato.privacy.sensitivity import Sensitivity

WIDE = 64**2
"""From this variance on, sums come from the Euler-Maclaurin formula instead of term by term."""


@dataclass(frozen=True)
class DiscreteGaussian(OfVariance, Priced, Smooth):
    """Integers with probability proportional to exp(-j² / (2 variance)): the noise of a concentrated bound.

    >>> from sfumato.noise import Noise
    >>> Noise(insecure_seed=1).draw(DiscreteGaussian(100), 5)
    array([ 24,  -5,  20,   2, -12])
    """

    spec: ClassVar[str] = "PDP:C-13"
    variance: Fraction
    symmetric: ClassVar[bool] = True

    def cost(self, moves: Sensitivity) -> Cost:
        """Return rho = l2²/(2·variance)."""
        return gaussian_cost(self.variance, moves)

    def deviation(self) -> float:
        """Return the root of the variance."""
        return math.sqrt(self.variance)

    def sum_width(self, draws: int, least: float) -> float:
        """Return the bound for sums of sub-Gaussian draws of this variance."""
        return math.sqrt(2 * draws * float(self.variance) * least)

    def mass(self, j: int) -> Ball:
        """Enclose exp(-j² / (2 variance)) divided by the sum of all such terms."""
        return _term(self.variance, j) / _total(self.variance)

    def tail(self, j: int) -> Ball:
        """Enclose the probability of more than `j`."""
        if j < 0:
            return 1 - self.tail(-j - 1)
        above = _sum_by_formula if self.variance >= WIDE else _sum_by_terms
        return above(self.variance, j + 1) / _total(self.variance)

    def feature(self) -> int:
        """Return the standard deviation, rounded down."""
        return math.isqrt(int(self.variance))

    def curvature(self, first: int, last: int) -> Ball:
        """Bound |g''| = g |j²/v² - 1/v|: the mass falls, the factor is at most the larger of its terms."""
        factor = max(1 / self.variance, Fraction(last, 1) ** 2 / self.variance**2)
        return self.mass(first) * rational_ball(factor)

    def halving(self, start: int) -> int:
        """Return a distance d with (2 start d + d²) / (2 variance) >= log 2."""
        return math.isqrt(math.ceil(start**2 + 2 * HALF_LIFE * self.variance)) + 1 - start


def _term(variance: Fraction, j: int) -> Ball:
    return (rational_ball(-j * j) / rational_ball(2 * variance)).exp()


def _total(variance: Fraction) -> Ball:
    import flint

    return _total_at(variance, flint.ctx.prec)


@lru_cache(maxsize=64)
def _total_at(variance: Fraction, bits: int) -> Ball:
    """Sum the terms over all integers; `bits`, the precision in force, is there for the cache only."""
    import flint

    if variance < 1:
        return 2 * _sum_by_terms(variance, 0) - 1
    # Poisson: the sum of exp(-j²/(2v)) is sqrt(2 pi v) times the sum of exp(-2 pi² v k²).
    pi = flint.arb.pi()
    dual = _theta(2 * pi * pi * rational_ball(variance))
    return (2 * pi * rational_ball(variance)).sqrt() * dual


def _theta(rate: Ball) -> Ball:
    """Enclose the sum over all k of exp(-rate k²), for a rate of at least 1."""
    import flint

    terms = math.isqrt(flint.ctx.prec // 16) + 2
    total = 1 + 2 * sum(((-rate * (k * k)).exp() for k in range(1, terms)), flint.arb(0))
    # The rest is at most twice its first term, because each further one is less than half of the one before.
    return total + flint.arb(0, (4 * (-rate * (terms * terms)).exp()).upper())


def _sum_by_terms(variance: Fraction, start: int) -> Ball:
    """Enclose the sum of the terms from `start` >= 0 on, one by one."""
    import flint

    term = first = _term(variance, start)
    ratio = rational_ball(Fraction(-(2 * start + 1)) / (2 * variance)).exp()
    fall = rational_ball(-1 / variance).exp()
    total = flint.arb(0)
    smallest = first * flint.arb(2) ** (-flint.ctx.prec)
    while not (ratio < 1 and term < smallest):
        total += term
        term *= ratio
        ratio *= fall
    # Ratios fall, so what is left is below a geometric series.
    rest = (term / (1 - ratio)).upper()
    return total + flint.arb(rest / 2, rest / 2)


def _sum_by_formula(variance: Fraction, start: int) -> Ball:
    """Enclose the sum of the terms from `start` >= 0 on by the Euler-Maclaurin formula.

    With x = start/s, f(y) = exp(-y²/(2 v)) and s² = v, the n-th derivative at `start` is
    (-1/s)^n He_n(x) f(start). The remainder after p corrections is at most
    2 zeta(2p) (2 pi)^(-2p) times the integral of |f^(2p)|, and Cramér's inequality
    |He_n(y)| exp(-y²/4) <= 1.0865 sqrt(n!) bounds that integral by
    s^(1-2p) 1.0865 sqrt((2p)!) sqrt(pi) erfc(x/2).
    """
    import flint

    spread = rational_ball(variance).sqrt()
    x = start / spread
    pi = flint.arb.pi()
    integral = spread * (pi / 2).sqrt() * (x / flint.arb(2).sqrt()).erfc()
    value = _term(variance, start)
    total = integral + value / 2
    target = (integral * flint.arb(2) ** (-flint.ctx.prec)).lower()
    reach = 8 * spread * (x / 2).erfc()
    before, hermite, power = flint.arb(1), x, value / spread
    for order in range(2, 2 * flint.ctx.prec, 2):
        factorial = math.factorial(order)
        total += flint.arb(flint.fmpq.bernoulli(order)) * hermite * power / factorial
        before, hermite = hermite, x * hermite - (order - 1) * before
        before, hermite = hermite, x * hermite - order * before
        power /= rational_ball(variance)
        rest = reach * flint.arb(factorial).sqrt() / (2 * pi * spread) ** order
        if rest < target:
            break
    return total + flint.arb(0, rest.upper())
