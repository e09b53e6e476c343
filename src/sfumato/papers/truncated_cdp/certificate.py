"""Proof that two biased coins are as close as a bound demands: what the obvious answer rests on.

For a Rényi bound rho·a the proof uses finitely many orders. K(a) = (a-1)·D_a is convex with K(1) = 0, hence
below its chords. If D_a <= (1 - SLACK)·rho·a at the orders 1 + x_1, 1 + x_2, ..., with x_1 <= SLACK and steps
h with h² <= 4·SLACK·x·(1 + x), then between two orders the chord lies at most (1 - SLACK)·rho·h²/4 above the
parabola (1 - SLACK)·rho·a·(a-1), and that much was left at the lower of them: D_a <= rho·a at every order up
to the last. Beyond it D_a <= D_infinity is enough where D_infinity <= rho·a. This is TCDP:D-GRIDCERT with chords
in place of steps, so that forty orders do what eight hundred did.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from sfumato.errors import ParameterError
from sfumato.exact import INFINITY, Extended, Infinity, rational_ball
from sfumato.exact.enclosure import Ball, precision
from sfumato.privacy import Approximate, Bound, Concentrated, Pure, Truncated

SLACK = Fraction(1, 1024)
PRECISION = 256
LARGEST_ORDER = 1 << 40


@lru_cache(maxsize=64)
def orders(last: Extended) -> tuple[Fraction, ...]:
    """Return the orders of the proof, up to `last` inclusive (or up to 2^40 if it is infinite)."""
    end = Fraction(LARGEST_ORDER) if isinstance(last, Infinity) else last
    excess = SLACK
    found: list[Fraction] = []
    while 1 + excess < end:
        found.append(1 + excess)
        width = 1.9 * math.sqrt(float(SLACK * excess * (1 + excess)))
        # At large orders the excess outgrows 2^-30 steps by far; the square is asserted in exact numbers.
        step = Fraction(math.floor(width * (1 << 30)), 1 << 30)
        assert step * step <= 4 * SLACK * excess * (1 + excess)
        excess += step
    return (*found, end)


def renyi_limits(bound: Concentrated | Truncated) -> tuple[Fraction, Extended]:
    """Return rho and the last order of a Rényi bound."""
    return bound.rho, bound.omega if isinstance(bound, Truncated) else INFINITY


def close(low: Fraction, high: Fraction, bound: Bound) -> bool:
    """Tell whether coins of bias `low < high` are proved to satisfy the bound, in both directions.

    False means not proved. Takes 0 < low; only an Approximate bound allows `high` to be 1.
    """
    if not 0 < low <= high <= 1:
        raise ParameterError("A ladder of chances starts above 0, never falls and ends at 1 at most.")
    if low == high:
        return True
    with precision(PRECISION + low.denominator.bit_length() + high.denominator.bit_length()):
        match bound:
            case Pure():
                return _pure(low, high, bound.epsilon, Fraction(0))
            case Approximate():
                return _pure(low, high, bound.epsilon, bound.delta)
            case Concentrated() | Truncated():
                rho, last = renyi_limits(bound)
                return high < 1 and _renyi(low, high, rho, last)
    raise ParameterError(f"{bound!r} is not one of the four bounds.")


def _pure(low: Fraction, high: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    growth = rational_ball(epsilon).exp()
    return _covers(growth, low, high - delta) and _covers(growth, 1 - high, 1 - low - delta)


def _covers(growth: Ball, small: Fraction, large: Fraction) -> bool:
    """Prove large <= growth·small."""
    return large <= small or bool(rational_ball(large) <= growth * rational_ball(small))


def _renyi(low: Fraction, high: Fraction, rho: Fraction, last: Extended) -> bool:
    heads = rational_ball(high / low).log()
    tails = rational_ball((1 - high) / (1 - low)).log()
    before = rational_ball(low), rational_ball(1 - low)
    after = rational_ball(high), rational_ball(1 - high)
    slope = rational_ball(rho)
    share = rational_ball(1 - SLACK) * slope
    for a in _order_balls(last):
        allowed = share * a * (a - 1)
        upward = before[0] * (a * heads).exp() + before[1] * (a * tails).exp()
        downward = after[0] * (-a * heads).exp() + after[1] * (-a * tails).exp()
        if not (upward.log() <= allowed and downward.log() <= allowed):
            return False
        if isinstance(last, Infinity) and heads <= slope * a and -tails <= slope * a:
            return True
    return not isinstance(last, Infinity)


@lru_cache(maxsize=64)
def _order_balls(last: Extended) -> tuple[Ball, ...]:
    """Enclose the orders once; all but the last are dyadic, so that their balls are points."""
    with precision(4 * PRECISION):
        return tuple(rational_ball(order) for order in orders(last))
