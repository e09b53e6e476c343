"""Moments of a Gaussian release on a sample of the people, at whole Rényi orders (AC-SAMPLE).

Lam is the ratio of (1-q) N(0, 1) + q N(mu, 1) to N(0, 1), q the public rate and mu² = m. What is proved here needs
Gaussian noise: a Rényi curve alone, even a straight one, does not prove it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from sfumato.exact import rational_ball
from sfumato.exact.enclosure import Ball
from sfumato.privacy.pairs import normal_above
from sfumato.privacy.sampling import upper_end

LARGEST_EXACT = 512
"""Beyond this order the sum is not worth its time: no limit that a sample fits into uses such orders."""

FAR = 16
"""From so many deviations on, a normal law is taken to have all its mass below, which raises the bound."""


@lru_cache(maxsize=1 << 14)
def gaussian_moment(m: Fraction, rate: Fraction, order: int, both: bool) -> Fraction | None:
    """Bound (a-1)·D_a of a sampled Gaussian at a whole order, None beyond the orders that are computed.

    `both` is False for Poisson samples under add-remove neighbours, where log E_f(a) is exact: the reverse direction
    is never larger. It is True under replace-one neighbours.
    """
    if order > LARGEST_EXACT:
        return None
    return upper_end(lambda: (_replaced(m, rate, order) if both else _forward(m, rate, order)).log1p())


def _terms(m: Fraction, rate: Fraction, order: int) -> Iterator[Ball]:
    """Yield C(a,j) (1-q)^{a-j} q^j e^{j(j-1)m/2} for j = 0 … a."""
    odds = rational_ball(rate / (1 - rate))
    growth, factor = rational_ball(m).exp(), rational_ball(1)
    term = rational_ball(1 - rate) ** order
    for j in range(order + 1):
        yield term
        term = term * odds * factor * (order - j) / (j + 1)
        factor *= growth


def _forward(m: Fraction, rate: Fraction, order: int) -> Ball:
    """Enclose E_f(a) - 1, E_f(a) = E Lam^a under the narrow law."""
    return sum(_terms(m, rate, order), rational_ball(-1))


def _replaced(m: Fraction, rate: Fraction, order: int) -> Ball:
    """Bound E*(a) - 1 = E[Lam^a + Lam^{1-a} - Lam - 1; Lam > 1] from above.

    Lam^{1-a} is at most its Taylor polynomial of degree two at 1; never more than twice the forward excess.
    """
    mu, q = rational_ball(m).sqrt(), rational_ball(rate)
    near = normal_above(mu / 2)  # the narrow law's mass where Lam > 1; the shifted law has 1 - near
    amount = -order * ((1 - q) * near + q * (1 - near)) + (order - 1) * near
    forward = rational_ball(-1)
    for j, term in enumerate(_terms(m, rate, order)):
        forward += term
        place = mu * (2 * j - 1) / 2
        amount += term * (1 if place > FAR else normal_above(-place))
    second = rational_ball(m).exp() * normal_above(-3 * mu / 2) - 2 * (1 - near) + near
    return (amount + order * (order - 1) * q**2 * second / 2).min(2 * forward)
