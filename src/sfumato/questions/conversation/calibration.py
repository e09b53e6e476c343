"""How much noise a conversation needs that pays only for the guesses that it corrects (QR:C-14)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from sfumato.errors import CertificationError, ParameterError, UnsupportedSpend
from sfumato.exact import positive_integer, rational_ball, unit_up
from sfumato.exact.enclosure import Ball, precision
from sfumato.exact.search import smallest_between
from sfumato.noise import Binomial
from sfumato.privacy import Approximate, Cost
from sfumato.privacy.calibrate import concentrated_within

HALF = Fraction(1, 2)
LARGEST_NOISE = 10**8
"""Counts; noise beyond this drowns any table."""


@dataclass(frozen=True)
class _OneInE:
    """The probability 1/e with which a borderline guess is corrected."""

    def yes(self) -> Ball:
        """Enclose 1/e."""
        return rational_ball(-1).exp()

    def no(self) -> Ball:
        """Enclose 1 - 1/e."""
        return -rational_ball(-1).expm1()


@dataclass(frozen=True)
class PayAsYouGo:
    """The numbers of one calibration: `updates` corrections at discrete Laplace noise of `scale` counts.

    Except with probability `miss`, at most `borderline` guesses come near enough to the threshold to cost anything;
    each of those costs at most `kappa`.
    """

    updates: int
    sensitivity: int
    scale: int
    borderline: int
    kappa: Fraction
    miss: Fraction

    def core(self) -> Cost:
        """Return the cost of all borderline guesses, with the probability that there are more of them as leak."""
        each = Cost.pure(self.kappa)
        return Cost(each.epsilon * self.borderline, each.curve * self.borderline, self.miss)


def pay_as_you_go(spend: Approximate, updates: int, sensitivity: int = 1) -> PayAsYouGo:
    """Return the least whole noise scale with which `updates` corrections fit an (epsilon, delta) spend.

    Half of delta pays for unusually many borderline guesses, the other half for composing the usual ones. All
    numbers are proved: the binomial tail and kappa are enclosed and rounded up, the composition is exact
    arithmetic on Rényi curves.

    >>> found = pay_as_you_go(Approximate(1, 1e-6), updates=10)
    >>> found.scale, found.borderline
    (65, 79)
    """
    if not isinstance(spend, Approximate):
        raise UnsupportedSpend(f"This calibration is for Approximate(epsilon, delta), not for {spend!r}.")
    count, moves = positive_integer(updates, "updates"), positive_integer(sensitivity, "sensitivity")
    return _calibrated(spend.epsilon, spend.delta, count, moves)


@lru_cache(maxsize=256)
def _calibrated(epsilon: Fraction, delta: Fraction, updates: int, sensitivity: int) -> PayAsYouGo:
    miss, wanted = delta * HALF, Approximate(epsilon, delta)
    borderline = certain_borderline(updates, miss)
    scale = max(least_scale(sensitivity), near_scale(epsilon, delta, borderline, sensitivity))

    def fits(width: int) -> bool:
        return (
            PayAsYouGo(updates, sensitivity, width, borderline, kappa_of(width, sensitivity), miss)
            .core()
            .within(wanted)
        )

    step = max(1, scale // 512)
    while scale <= LARGEST_NOISE and not fits(scale):
        scale += step
    if scale > LARGEST_NOISE:
        raise CertificationError(f"No noise could be certified for {updates} corrections within {wanted!r}.")
    while step:
        while scale - step >= least_scale(sensitivity) and fits(scale - step):
            scale -= step
        step //= 2
    return PayAsYouGo(updates, sensitivity, scale, borderline, kappa_of(scale, sensitivity), miss)


def least_scale(sensitivity: int) -> int:
    """Return the least scale of the proof: the sensitivity is at most (1 - 1/e) of it."""
    return math.ceil(sensitivity / (1 - math.exp(-1))) + 1


@lru_cache(maxsize=4096)
def kappa_of(scale: int, sensitivity: int) -> Fraction:
    """Return -ln(1 - (1 - e^(-s/scale))/(1 - 1/e)), what one borderline guess can cost, rounded up.

    Both numbers are whole counts, so that an interval of `scale` counts holds a whole number of steps and the
    closed form is exact for discrete noise.

    >>> [round(float(kappa_of(scale, 1)), 4) for scale in (50, 10)]
    [0.0318, 0.1632]
    """
    if scale < least_scale(sensitivity):
        raise ParameterError(f"A noise scale of {scale} is too small for a sensitivity of {sensitivity}.")
    rate = Fraction(-sensitivity, scale)
    value = unit_up(lambda: -(-(rational_ball(rate).expm1() / rational_ball(-1).expm1())).log1p())
    if value is None:
        raise CertificationError("The cost of a borderline guess could not be enclosed.")
    return value


@lru_cache(maxsize=1024)
def certain_borderline(updates: int, miss: Fraction) -> int:
    """Return the least number m' with P[Bin(m', 1/e) < updates] <= miss, proved.

    >>> certain_borderline(3, Fraction(1, 200))
    22
    """
    count = near_borderline(updates, float(miss))
    while count > updates and _too_few(count - 1, updates) <= miss:
        count -= 1
    while _too_few(count, updates) > miss:
        count += 1
    return count


def _too_few(count: int, updates: int) -> Fraction:
    """Return the probability of fewer than `updates` corrections in `count` borderline guesses, rounded up."""
    with precision(256):
        ball = Binomial(count, _OneInE()).head(updates)
        mantissa, exponent = ball.upper().man_exp()
        return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


# Floats from here on: they only look for good numbers, which are proved above.


def near_borderline(updates: int, miss: float) -> int:
    """Return about the least m' of `certain_borderline`."""
    from scipy.special import bdtr

    low, high = updates, max(8, 4 * updates)
    while bdtr(updates - 1, high, math.exp(-1)) > miss:
        low, high = high, 2 * high
    return smallest_between(low - 1, high, lambda count: bool(bdtr(updates - 1, count, math.exp(-1)) <= miss))


def near_scale(epsilon: Fraction, delta: Fraction, borderline: int, sensitivity: int) -> int:
    """Return about the least scale, by zero-concentrated or by plain composition, whichever is better."""
    rho = float(concentrated_within(epsilon, delta * HALF))
    kappa = max(math.sqrt(2 * rho / borderline), float(epsilon) / borderline)
    rate = -math.log1p(math.expm1(-kappa) * (1 - math.exp(-1)))
    return max(least_scale(sensitivity), math.ceil(sensitivity / rate))
