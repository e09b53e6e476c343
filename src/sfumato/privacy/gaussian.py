"""What Gaussian noise promises at (epsilon, delta), exactly: its profile, and how much of it a spend buys (AC-GAUSS).

Two Gaussians whose means lie mu standard deviations apart have

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu),

and m stands for mu² throughout: m is what adds up, so it is the exact rational that is stored.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from sfumato.errors import CertificationError
from sfumato.exact import Extended, Infinity, rational_ball, significant_up, unit_up
from sfumato.exact.enclosure import FIRST_BITS, LAST_BITS, Ball, middle, precision
from sfumato.exact.rational import show
from sfumato.exact.search import halved

DIGITS = 9
"""Decimal digits of an m; the rest is given away, which costs a part in 10^9 of the variance."""
SMALLEST = Fraction(1, 10**30)
LARGEST_EPSILON = 10**6
"""Beyond it e^epsilon has more digits than a promise has meaning."""
ATTEMPTS = 8
EPSILON_STEPS = 40


def profile(m: Fraction, epsilon: Fraction) -> Ball:
    """Enclose delta(epsilon) of two Gaussians at squared distance m > 0, at the precision in force."""
    import flint

    mu, eps, root = rational_ball(m).sqrt(), rational_ball(epsilon), flint.arb(2).sqrt()
    near, far = (eps / mu - mu / 2) / root, (eps / mu + mu / 2) / root
    return (near.erfc() - eps.exp() * far.erfc()) / 2


def keeps(m: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Tell whether Gaussian noise with this m is proved to be (epsilon, delta)-private.

    >>> one, millionth = Fraction(1), Fraction(1, 10**6)
    >>> keeps(Fraction("0.0560289638"), one, millionth), keeps(Fraction("0.0560289639"), one, millionth)
    (True, False)
    """
    if m == 0:
        return True
    bits = _first_bits(delta)
    while bits <= 2 * LAST_BITS:
        with precision(bits):
            found, allowed = profile(m, epsilon), rational_ball(delta)
            if found <= allowed:
                return True
            if found > allowed:
                return False
        bits *= 2
    return False


def _first_bits(delta: Fraction) -> int:
    """Return how many bits decide about a delta at least: the two terms agree in about log2(1/delta) of them."""
    return FIRST_BITS + max(0, delta.denominator.bit_length() - delta.numerator.bit_length())


@lru_cache(maxsize=1 << 12)
def gaussian_m(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest m, to nine digits, whose Gaussian noise is (epsilon, delta)-private; certified (AC-GAUSS).

    Noise of the variance l2²/m spends exactly (epsilon, delta), up to those digits, and costs exactly m.

    >>> float(gaussian_m(Fraction(1), Fraction(1, 10**6))), float(gaussian_m(Fraction(10), Fraction(1, 10**6)))
    (0.0560289638, 3.41559264)
    """
    possible = epsilon <= LARGEST_EPSILON and _first_bits(delta) <= 2 * LAST_BITS
    guess = _guess(epsilon, delta) if possible else Fraction(0)
    for attempt in range(ATTEMPTS if guess else 0):
        shrink = Fraction(16 ** (attempt - 1), 10**9) if attempt else Fraction(0)
        m = short_down(guess * (1 - shrink), DIGITS)
        if m >= SMALLEST and keeps(m, epsilon, delta):
            return m
    raise CertificationError(
        f"No Gaussian noise could be certified for epsilon {show(epsilon, 3)} and delta {show(delta, 3)}; "
        "use Laplace noise."
    )


@lru_cache(maxsize=1 << 10)
def gaussian_epsilon(m: Extended, delta: Fraction) -> Fraction | None:
    """Return the smallest epsilon proved for this m at delta > 0, rounded up; None if none is.

    That is so for an infinite m, and for a delta of thousands of digits, whose search would never end.

    >>> gaussian_epsilon(gaussian_m(Fraction(1), Fraction(1, 10**6)), Fraction(1, 10**6)) <= 1
    True
    """
    if m == 0:
        return Fraction(0)
    if isinstance(m, Infinity) or _first_bits(delta) > LAST_BITS:
        return None
    if keeps(m, Fraction(0), delta):
        return Fraction(0)
    low, high = Fraction(0), Fraction(1)
    while not keeps(m, high, delta):
        low, high = high, 2 * high
    # Newton would be quicker, but every step here is a proof.
    return halved(low, high, lambda epsilon: keeps(m, epsilon, delta), EPSILON_STEPS)[1]


def gaussian_delta(m: Fraction, epsilon: Fraction) -> Fraction:
    """Return delta(epsilon) for this m, rounded up to 64 significant bits, at most 1."""
    if m == 0:
        return Fraction(0)
    found = significant_up(lambda: profile(m, epsilon))
    return Fraction(1) if found is None else min(max(found, Fraction(0)), Fraction(1))


def short_down(value: Fraction, digits: int) -> Fraction:
    """Return a positive number rounded down to so many decimal digits."""
    unit = Fraction(10) ** (math.floor(_log10(value)) + 1 - digits)
    return value // unit * unit


def _log10(value: Fraction) -> float:
    return math.log10(value.numerator) - math.log10(value.denominator)


def _guess(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return m to about twenty digits: bisection for a start, then Newton, whose derivative is phi(mu/2 - eps/mu)."""
    with precision(_first_bits(delta)):
        low = high = Fraction(1)
        while profile(high**2, epsilon) < rational_ball(delta):
            low, high = high, 2 * high
        while low > Fraction(1, 1 << 60) and profile(low**2, epsilon) > rational_ball(delta):
            low, high = low / 2, low
        low, high = halved(low, high, lambda mu: not profile(mu**2, epsilon) < rational_ball(delta), 10)
        mu = low
        for _ in range(6):
            mu = _newton(mu, epsilon, delta, low, high)
    return mu**2


def _newton(mu: Fraction, epsilon: Fraction, delta: Fraction, low: Fraction, high: Fraction) -> Fraction:
    import flint

    found, at = profile(mu**2, epsilon), rational_ball(mu)
    place = at / 2 - rational_ball(epsilon) / at
    slope = (-place * place / 2).exp() / (2 * flint.arb.pi()).sqrt()
    # On the logarithm of delta, which is nearly linear in log mu.
    step = found * (found / rational_ball(delta)).log() / slope
    moved = mu - middle(step)
    return moved if low <= moved <= high else (low + high) / 2


def rounded_root_sum(amounts: list[Fraction]) -> Fraction | None:
    """Return (sum of the roots)², rounded up: several Gaussians one after the other (AC-GAUSS, unions)."""
    if len(amounts) == 1:
        return amounts[0]
    return unit_up(lambda: sum((rational_ball(amount).sqrt() for amount in amounts), rational_ball(0)) ** 2)
