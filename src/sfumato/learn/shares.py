"""How a spend is shared out over several choices and one count, from public facts only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sfumato.errors import UnsupportedSpend
from sfumato.exact.search import narrowed
from sfumato.privacy import Approximate, Bound, Concentrated, Cost, Pure, Truncated

COUNT_SHARE = Fraction(1, 4)
"""What a count gets beside a choice: its error has no logarithm of a domain in it."""
HALVINGS = 24


def choice_epsilon(spend: Bound, choices: int, count_share: Fraction = COUNT_SHARE) -> Fraction:
    """Return the largest epsilon found such that so many exponential mechanisms, and a count at a share, fit together.

    Under Pure it is the sum; elsewhere the Rényi curves of all add up and are read once. At epsilon 0.1 to 4 and delta
    1e-6 that is the sum too for 4 choices, and for 10 to 200 of them 1.2 to 2.7 times what PL:C-INV gives.

    >>> choice_epsilon(Pure(1), 4, Fraction(1, 4)) == Fraction(4, 17)
    True
    >>> from sfumato import Approximate
    >>> choice_epsilon(Approximate(1, 1e-6), 40) > Fraction(1, 40)
    True
    """
    person = replace(spend, unit="person")
    if isinstance(person, (Pure, Approximate)):
        start = person.epsilon / (choices + count_share)
    else:
        assert isinstance(person, (Concentrated, Truncated))
        start = person.rho / (choices + 1)
    if start <= 0:
        raise UnsupportedSpend(f"{spend!r} pays for nothing; write a spend above zero, such as Pure(0.1).")
    if isinstance(person, Pure):
        return start

    def together(epsilon: Fraction) -> bool:
        return (choices * Cost.range_bounded(epsilon) + Cost.pure(epsilon * count_share)).within(person)

    return largest(together, start)


def largest(fits: Callable[[Fraction], bool], start: Fraction) -> Fraction:
    """Return nearly the largest amount that fits, at least `start` where that fits, with a short denominator."""
    low = start
    while not fits(low):
        low /= 2
    high = 2 * low
    while fits(high):
        low, high = high, 2 * high
    gap = (high - low) / 2**HALVINGS
    low, _ = narrowed(low, high, lambda amount: not fits(amount), lambda low, high: high - low <= gap)
    short = low.limit_denominator(10**6)
    return short if short > 0 and short >= start and fits(short) else low
