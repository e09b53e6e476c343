"""Thresholds that discrete Laplace noise passes with a small probability only, rounded up and proved."""

from __future__ import annotations

import math
from fractions import Fraction

from sfumato.errors import CertificationError, UnsupportedSpend
from sfumato.exact import float_log, rational_ball, significant_up
from sfumato.exact.enclosure import Ball
from sfumato.exact.rational import show

LEAST = Fraction(1, 2**4096)
"""A chance that is smaller still is stated as this one: the ledger writes all digits down, and would never end."""


def exceedance(scale: Fraction, level: int) -> Fraction:
    """Return the probability that discrete Laplace noise of this scale is `level` or more, rounded up.

    With b = exp(-1/scale) it is b^level/(1+b) for level >= 1, and 1 - b^(1-level)/(1+b) below.

    >>> round(float(exceedance(Fraction(2), 3)), 6)
    0.138889
    """

    def evaluate() -> Ball:
        odds = 1 / (1 + rational_ball(-1 / scale).exp())
        if level >= 1:
            return rational_ball(-level / scale).exp() * odds
        return 1 - rational_ball((level - 1) / scale).exp() * odds

    value = significant_up(evaluate)
    if value is None:
        raise CertificationError("A tail of the noise could not be enclosed.")
    return max(value, LEAST)


def rare_level(scale: Fraction, delta: Fraction) -> int:
    """Return the least level of at least 1 that the noise reaches with probability delta or less, proved.

    >>> rare_level(Fraction(2), Fraction(1, 1000))
    13
    """
    if delta < LEAST:
        raise UnsupportedSpend(f"A delta of {show(delta, 2)} is smaller than any that is certified; write 1e-12, say.")
    width = float(scale)
    estimate = width * (-float_log(delta) - math.log1p(math.exp(-1 / width)))
    level = max(1, math.floor(estimate) - 1)
    while level > 1 and exceedance(scale, level - 1) <= delta:
        level -= 1
    while exceedance(scale, level) > delta:
        level += 1
    return level
