"""Even parts of an Approximate spend for a list that is fixed beforehand, as large as its exact total allows (AC-PLAN).

A part is a scale e: a question with Gaussian noise gets mu² = e², any other is (e, d)-private. In a long list both
weigh about the same, and which of them a question takes is decided before the list is asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from sfumato.errors import CertificationError
from sfumato.exact import Extended, Infinity
from sfumato.privacy.bounds import Approximate, Concentrated
from sfumato.privacy.fixed_list import FixedList
from sfumato.privacy.gaussian import gaussian_m, short_down
from sfumato.privacy.pairs import GaussPair, Leak, Pair, TwoPoint

DIGITS = 6
ATTEMPTS = 8
CLOSE = Fraction(1, 2000)
"""How near to the spend the total of a list has to come."""
LEAKS = Fraction(1, 10)
"""What of delta goes to the leaks of those questions that are (e, d)-private."""


@dataclass(frozen=True)
class EvenPart:
    """What each question of a list may spend: by Gaussian noise, or by whatever it takes."""

    gaussian: Concentrated
    other: Approximate


@lru_cache(maxsize=1 << 10)
def even_part(spend: Approximate, gaussian: int, others: int) -> EvenPart | None:
    """Return about the largest part that so many questions of either kind may spend together; certified.

    Floats look for it; that the exact total of the list is within the spend is a proof. None if nothing is found.

    >>> part = even_part(Approximate(1, "1e-6"), 100, 0)
    >>> 100 * 2 * part.gaussian.rho == gaussian_m(Fraction(1), Fraction(1, 10**6))
    True
    >>> round(float(even_part(Approximate(1, "1e-6"), 0, 100).other.epsilon), 4)
    0.0239
    """
    leak = LEAKS * spend.delta / max(others, 1)
    try:
        whole = gaussian_m(spend.epsilon, spend.delta)
    except CertificationError:
        return None
    if not others:
        return EvenPart(Concentrated(whole / (2 * gaussian)), Approximate(spend.epsilon / gaussian, leak))
    # Most of the time a list is nearly one Gaussian; few pure questions are charged by their sum.
    guess = max(Fraction(math.sqrt(whole / (gaussian + others))), Fraction(0) if gaussian else spend.epsilon / others)
    best = Fraction(0)
    for _ in range(ATTEMPTS):
        scale = short_down(min(guess, spend.epsilon), DIGITS)
        total = _total(spend.delta, gaussian, others, scale, leak)
        if isinstance(total, Infinity) or not total:
            return None
        best = max(best, scale) if total <= spend.epsilon else best
        if total <= spend.epsilon <= total * (1 + CLOSE):
            break
        guess = scale * spend.epsilon / total * (1 - CLOSE / 4)
    return EvenPart(Concentrated(best**2 / 2), Approximate(best, leak)) if best else None


def _total(delta: Fraction, gaussian: int, others: int, scale: Fraction, leak: Fraction) -> Extended:
    """Return the exact epsilon of a list with this scale, rounded up."""
    parts: list[tuple[int, Pair]] = [(others, TwoPoint(scale)), (others, Leak(leak))]
    if gaussian:
        parts.append((gaussian, GaussPair(scale**2)))
    return FixedList.of(parts).epsilon(delta)
