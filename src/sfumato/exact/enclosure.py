"""Certified enclosures of numbers that are not rational, by Arb's ball arithmetic.

Everything that leaves this module is an exact rational on the safe side of the true value. Arb's
precision belongs to the whole process, so every evaluation holds one lock; a race would cost time, not
truth, but the lock also restores what other users of the library had set.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

Ball = Any
"""A `flint.arb`: a midpoint and a radius that contain the true value."""

UNIT_BITS = 64
FIRST_BITS = 128
LAST_BITS = 4096

_lock = threading.RLock()


def load_enclosures() -> None:
    """Load Arb, so that whoever needs it next need not wait."""
    import flint  # noqa: F401


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Run the block with balls of `bits` bits, alone."""
    import flint

    with _lock:
        before = flint.ctx.prec
        flint.ctx.prec = bits
        try:
            yield
        finally:
            flint.ctx.prec = before


def rational_ball(number: Fraction | int) -> Ball:
    """Return the ball of a rational at the precision in force."""
    import flint

    if isinstance(number, int):
        return flint.arb(number)
    return flint.arb(flint.fmpq(number.numerator, number.denominator))


def middle(ball: Ball) -> Fraction:
    """Return the midpoint of a ball exactly; for a guess that is proved afterwards."""
    mantissa, exponent = ball.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _integer(evaluate: Callable[[], Ball], bits: int, upward: bool) -> int | None:
    """Return ceil or floor of `2**bits * value`, or None if the value is not finite."""
    import flint

    precision_bits = FIRST_BITS
    while True:
        with precision(precision_bits + bits):
            ball = evaluate() * flint.arb(2) ** bits
            if ball.is_finite():
                rounded = ball.ceil() if upward else ball.floor()
                unique = rounded.unique_fmpz()
                if unique is not None:
                    return int(unique)
                if precision_bits >= LAST_BITS:
                    end = ball.upper().ceil() if upward else ball.lower().floor()
                    return int(end.upper().unique_fmpz() if upward else end.lower().unique_fmpz())
            elif precision_bits >= LAST_BITS:
                return None
        precision_bits *= 2


def unit_up(evaluate: Callable[[], Ball]) -> Fraction | None:
    """Return the least multiple of 2^-64 that is proved to be at least the value, or None if none is.

    `evaluate` is called again at growing precision until the answer is certain.
    """
    units = _integer(evaluate, UNIT_BITS, upward=True)
    return None if units is None else Fraction(units, 1 << UNIT_BITS)


def unit_down(evaluate: Callable[[], Ball]) -> Fraction | None:
    """Return the largest multiple of 2^-64 that is proved to be at most the value, or None if none is."""
    units = _integer(evaluate, UNIT_BITS, upward=False)
    return None if units is None else Fraction(units, 1 << UNIT_BITS)


def enclose_up(evaluate: Callable[[], Ball], bits: int) -> Fraction | None:
    """Return the least multiple of 2^-bits that is proved to be at least the value."""
    units = _integer(evaluate, bits, upward=True)
    return None if units is None else Fraction(units, 1 << bits)


def significant_up(evaluate: Callable[[], Ball], digits: int = 64) -> Fraction | None:
    """Return a positive value rounded up to `digits` significant bits, so that small values never vanish."""
    with precision(FIRST_BITS):
        ball = evaluate()
        if not ball.is_finite():
            return None
        exponent = float(abs(ball).upper().log() / 0.6931471805599453) if ball != 0 else 0.0
    return enclose_up(evaluate, max(0, digits - int(exponent // 1) - 1))
