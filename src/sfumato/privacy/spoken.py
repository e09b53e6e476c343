"""A bound in words: how often a guess at what it hides is right, or that it hides nothing."""

from __future__ import annotations

from fractions import Fraction

from sfumato.privacy.bounds import Approximate, Bound, Concentrated, Pure, Truncated
from sfumato.privacy.explanation import percent
from sfumato.privacy.readings import guess, guess_concentrated

HIDDEN = Fraction(95, 100)
"""From so many right guesses on something is not hidden."""


def odds(bound: Bound) -> Fraction:
    """Return how often somebody who guesses, 50:50 before, is right at most."""
    match bound:
        case Pure():
            return guess(bound.epsilon)
        case Approximate():
            return guess(bound.epsilon, delta=bound.delta)
        case Concentrated() | Truncated():
            return guess_concentrated(bound.rho)
    raise AssertionError(f"{type(bound).__name__} is a bound without words.")


def said(bound: Bound | None) -> str:
    """Say a bound as odds, or that it hides nothing.

    >>> said(Concentrated("0.015")), said(Approximate(30, "1e-6"))
    ('at most 54.4 % (Concentrated(0.015))', 'not hidden (Approximate(30, 1e-6))')
    """
    if bound is None:
        return "not hidden"
    chance = odds(bound)
    return f"not hidden ({bound!s})" if chance >= HIDDEN else f"at most {percent(chance)} ({bound!s})"
