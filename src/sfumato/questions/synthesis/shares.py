"""How a spend is shared out, and short numbers that err to the safe side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

DIGITS = 6
LEAST_TOTAL, MOST_TOTAL = 0.02, 0.2
"""The parts of a spend that buy the number of rows at least and at most, where it is not public."""


def ones_share(sizes: Sequence[int]) -> float:
    """Return the part of a Gaussian spend for one-way tables: the more, the fewer numbers pairs have beside them.

    >>> round(ones_share([2] * 16), 2), round(ones_share([16] * 14), 2)
    (0.36, 0.09)
    """
    alone = sum(size - 1 for size in sizes)
    paired = (alone**2 - sum((size - 1) ** 2 for size in sizes)) / 2
    return min(0.5, max(0.08, 1.11 * (alone / paired) ** 0.56)) if paired else 1.0


def total_share(sizes: Sequence[int], ones: float) -> float:
    """Return the part of a spend for the number of rows, where `ones` of the rest is for one-way tables.

    A wrong number of rows moves all tables alike. With A columns of d codes, of which three in ten rows would have to
    move to be even, tables of three columns miss 3·0.16·(d - 1)²·A/ones from the noise of single columns and
    (3·0.3·0.8)²/total from the number of rows, in squares: the sum is smallest about where total/ones is
    1/((d - 1)·√A).

    >>> round(total_share([2] * 16, 0.36), 3), round(total_share([16] * 14, 0.09), 3)
    (0.083, 0.02)
    """
    ratio = ones * math.sqrt(len(sizes)) / sum(size - 1 for size in sizes)
    return min(MOST_TOTAL, max(LEAST_TOTAL, ratio / (1 + ratio)))


def short_up(value: Fraction) -> Fraction:
    """Return a number of few digits that is not smaller.

    >>> short_up(Fraction(1, 3))
    Fraction(166667, 500000)
    """
    if value <= 0:
        return Fraction(1)
    power = math.floor(math.log10(value.numerator) - math.log10(value.denominator)) + 1 - DIGITS
    unit = Fraction(10) ** power
    return -(-value // unit) * unit


def root_down(value: Fraction) -> Fraction:
    """Return a short number whose square is not larger."""
    scale = 10**12
    return Fraction(math.isqrt(int(value * scale * scale)), scale)
