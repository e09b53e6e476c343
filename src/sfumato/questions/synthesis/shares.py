"""How a spend is shared out, and short numbers that err to the safe side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

DIGITS = 6


def ones_share(sizes: Sequence[int]) -> float:
    """Return the part of a Gaussian spend for one-way tables: the more, the fewer numbers pairs have beside them.

    >>> round(ones_share([2] * 16), 2), round(ones_share([16] * 14), 2)
    (0.36, 0.09)
    """
    alone = sum(size - 1 for size in sizes)
    paired = (alone**2 - sum((size - 1) ** 2 for size in sizes)) / 2
    return min(0.5, max(0.08, 1.11 * (alone / paired) ** 0.56)) if paired else 1.0


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
