"""How far sums of independent noise stray: bounds that hold for any number of draws, without simulation."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from sfumato.answer import half_width
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Law, SinhNormal

SLOPES = 200
"""So many exponents are tried; each of them gives a valid bound, the best is taken."""


@lru_cache(maxsize=8192)
def sum_width(law: Law, draws: int, failure: Fraction) -> int:
    """Return a t such that |Z_1 + … + Z_draws| > t has probability at most `failure`, by Chernoff's bound.

    Discrete Gaussian noise is sub-Gaussian with its variance; a sinh-normal draw before rounding is a normal one
    brought nearer to 0, and rounding moves it by half at most; of discrete Laplace noise the exact moment generating
    function is used. Of one draw the exact width is taken where it is smaller.

    >>> sum_width(DiscreteGaussian(100), 16, Fraction(1, 20))
    109
    >>> sum_width(DiscreteLaplace(10), 1, Fraction(1, 20)) == half_width(DiscreteLaplace(10), 0.95)
    True
    """
    if draws == 0:
        return 0
    least = math.log(2) - math.log(failure.numerator) + math.log(failure.denominator)
    if isinstance(law, DiscreteLaplace):
        width = _laplace_width(float(law.scale), draws, least)
    elif isinstance(law, (DiscreteGaussian, SinhNormal)):
        width = math.sqrt(2 * draws * float(law.variance) * least)
        width += draws / 2 if isinstance(law, SinhNormal) else 0
    else:
        raise AssertionError(f"There is no bound for sums of {type(law).__name__}.")
    # A little more than the floats say, so that their rounding never shortens it.
    found = math.ceil(width * (1 + 1e-9))
    return min(found, half_width(law, 1 - failure)) if draws == 1 else found


def _laplace_width(scale: float, draws: int, least: float) -> float:
    """Return the least (draws·log E e^{sZ} + least)/s over some slopes s below 1/scale."""
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
