"""How far sums of independent noise stray: bounds that hold for any number of draws, without simulation."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from sfumato.answer import half_width
from sfumato.exact import float_log
from sfumato.noise import Priced


@lru_cache(maxsize=8192)
def sum_width(law: Priced, draws: int, failure: Fraction) -> int:
    """Return a t such that |Z_1 + … + Z_draws| > t has probability at most `failure`, by Chernoff's bound.

    Discrete Gaussian noise is sub-Gaussian with its variance; a sinh-normal draw before rounding is a normal one
    brought nearer to 0, and rounding moves it by half at most; of discrete Laplace noise the exact moment generating
    function is used. Of one draw the exact width is taken where it is smaller.

    >>> from sfumato.noise import DiscreteGaussian, DiscreteLaplace
    >>> sum_width(DiscreteGaussian(100), 16, Fraction(1, 20))
    109
    >>> sum_width(DiscreteLaplace(10), 1, Fraction(1, 20)) == half_width(DiscreteLaplace(10), 0.95)
    True
    """
    if draws == 0:
        return 0
    least = math.log(2) - float_log(failure)
    width = law.sum_width(draws, least)
    # A little more than the floats say, so that their rounding never shortens it.
    found = math.ceil(width * (1 + 1e-9))
    return min(found, half_width(law, 1 - failure)) if draws == 1 else found
