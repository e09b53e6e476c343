"""The standard deviation of noise, and how many steps wide noise may be."""

from __future__ import annotations

import math
from fractions import Fraction

from sfumato.errors import UnsupportedSpend
from sfumato.exact import float_log
from sfumato.privacy import Approximate, Bound, Concentrated, Pure, Truncated
from sfumato.privacy.sensitivity import Sensitivity

WIDEST = 2**26
"""Noise of more steps than this is coarser, not wider; laws end at 10^9."""


def predicted(spend: Bound, moves: Sensitivity) -> float:
    """Return about the standard deviation of the noise that a spend buys for such moves, from formulas alone.

    >>> from sfumato.privacy.sensitivity import sensitivity
    >>> predicted(Concentrated(0.5), sensitivity(l1=4, largest=1))
    2.0
    """
    by_l1, by_l2 = math.sqrt(2) * float(moves.l1), math.sqrt(moves.l2_squared)
    match spend:
        case Pure():
            found = by_l1 / _above_zero(spend.epsilon, spend)
        case Concentrated() | Truncated():
            found = by_l2 / math.sqrt(2 * _above_zero(spend.rho, spend))
        case Approximate():
            found = by_l1 / _above_zero(spend.epsilon, spend)
            if spend.delta:
                hidden = -float_log(spend.delta)
                rho = (math.sqrt(hidden + float(spend.epsilon)) - math.sqrt(hidden)) ** 2
                found = min(found, by_l2 / math.sqrt(2 * rho))
        case _:
            raise AssertionError("There are four bounds.")
    return found


def _above_zero(amount: Fraction, spend: Bound) -> float:
    if amount == 0:
        raise UnsupportedSpend(
            f"{spend!r} pays for nothing, and no noise is wide enough; write a spend above zero, such as Pure(0.1)."
        )
    return float(amount)
