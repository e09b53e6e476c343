"""What a bound means, in plain words: how often somebody who guesses is right."""

from __future__ import annotations

from fractions import Fraction

from sfumato.exact.written import amount, rounded
from sfumato.privacy.bounds import Approximate, Bound, Concentrated, Pure, Truncated
from sfumato.privacy.cost import Cost
from sfumato.privacy.readings import guess, guess_concentrated

SHOWN_DELTA = Fraction(1, 10**6)
"""The delta at which a concentrated bound is also told as epsilon."""

CERTAIN = "100.0 %"
"""What is said as this number would sound like a promise, and is none."""


def explained(bound: Bound) -> str:
    """Say a bound as the odds of a guess, and a concentrated one also as epsilon at a small delta.

    >>> explained(Concentrated(0.1))
    'Whoever guesses a yes-or-no fact about one person, 50:50 before, is right at most 61.2 % of the time after; \
as Approximate, epsilon 2.15 at delta 1e-6.'
    >>> explained(Approximate(1, 1e-6))
    'Whoever guesses a yes-or-no fact about one person, 50:50 before, is right at most 73.2 % of the time after; \
with probability at most 1e-6 more may leak.'
    """
    match bound:
        case Pure():
            return f"{_right(bound, guess(bound.epsilon))}."
        case Approximate():
            right = _right(bound, guess(bound.epsilon, delta=bound.delta))
            return f"{right}; with probability at most {rounded(bound.delta, up=True, digits=6)} more may leak."
        case Concentrated():
            return _by_curve(bound, bound.rho, Cost.concentrated(bound.rho))
        case Truncated():
            return _by_curve(bound, bound.rho, Cost.truncated(bound.rho, bound.omega))
    raise AssertionError(f"{type(bound).__name__} is a bound without words.")


def _right(bound: Bound, chance: Fraction) -> str:
    subject = "one attribute of one person" if bound.unit == "attribute" else "one person"
    if percent(chance) == CERTAIN:
        return (
            f"Whoever guesses a yes-or-no fact about {subject}, 50:50 before, may be all but certain of it after: "
            "against such a guess this bound protects next to nothing"
        )
    return (
        f"Whoever guesses a yes-or-no fact about {subject}, 50:50 before, is right at most {percent(chance)} "
        "of the time after"
    )


def _by_curve(bound: Bound, rho: Fraction, cost: Cost) -> str:
    epsilon = cost.epsilon_at(SHOWN_DELTA)
    right = _right(bound, guess_concentrated(rho))
    return f"{right}; as Approximate, epsilon {rounded(epsilon, up=True)} at delta {amount(SHOWN_DELTA)}."


def percent(probability: Fraction) -> str:
    """Return a probability in per cent, rounded up."""
    thousandths = -(-probability * 1000 // 1)
    return f"{float(Fraction(thousandths, 10)):.1f} %"
