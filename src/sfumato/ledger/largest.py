"""The largest part of a spend that fits, by the same test as a reservation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sfumato.errors import SfumatoError
from sfumato.exact import Extended
from sfumato.exact.search import halved
from sfumato.exact.written import typed
from sfumato.ledger.request import Losses
from sfumato.ledger.rules import Verdict
from sfumato.privacy import Approximate, Bound, Concentrated, Pure, Truncated

STEPS = 24
"""Halvings after the first guess: the answer is right to about seven digits, and always on the safe side."""

MOST_TYPED = 8
"""A number of more characters than this is nothing to type."""

MakeLoss = Callable[[Bound], Losses]
Weigh = Callable[[Losses], Verdict]


def scaled(spend: Bound, part: Fraction) -> Bound:
    """Return a part of a spend; of an Approximate one the epsilon, its delta stays.

    >>> scaled(Pure(1), Fraction(1, 4))
    Pure(1/4)
    """
    match spend:
        case Pure():
            return replace(spend, epsilon=spend.epsilon * part)
        case Concentrated():
            return replace(spend, rho=spend.rho * part)
        case Truncated():
            return replace(spend, rho=spend.rho * part)
        case Approximate():
            return replace(spend, epsilon=spend.epsilon * part)
    return spend


def largest(make_loss: MakeLoss, spend: Bound, weigh: Weigh) -> Bound | None:
    """Return the largest part of `spend` whose loss fits, None if no part does."""
    for whole in _deltas(make_loss, spend, weigh):
        found = _largest_part(make_loss, whole, weigh)
        if found is not None:
            return found
    return None


def readable(make_loss: MakeLoss, found: Bound, weigh: Weigh) -> Bound:
    """Return a spend that fits as people can type it: with four digits, rounded down, if that fits too."""
    exact = found.rho if isinstance(found, (Concentrated, Truncated)) else getattr(found, "epsilon", None)
    if not isinstance(exact, Fraction) or ("/" not in typed(exact) and len(typed(exact)) <= MOST_TYPED):
        return found
    rounded = scaled(found, _short(exact, 4) / exact)
    verdict = _verdict(make_loss, rounded, weigh)
    return rounded if verdict is not None and verdict.fits else found


def _deltas(make_loss: MakeLoss, spend: Bound, weigh: Weigh) -> list[Bound]:
    """An Approximate spend may fail by its delta alone: then what is left for leaks is tried too."""
    if not isinstance(spend, Approximate):
        return [spend]
    verdict = _verdict(make_loss, spend, weigh)
    rests = [row.left for row in verdict.breaks if row.meter.kind == "leak"] if verdict is not None else []
    left = min((rest for rest in rests if rest), default=None)
    if left is None or left >= spend.delta:
        return [spend]
    return [spend, Approximate(spend.epsilon, left)]


def _verdict(make_loss: MakeLoss, spend: Bound, weigh: Weigh) -> Verdict | None:
    try:
        loss = make_loss(spend)
    except SfumatoError:
        return None  # no mechanism can serve so small a spend
    return weigh(loss)  # a ledger that cannot be read says so, and not that nothing fits


def _largest_part(make_loss: MakeLoss, spend: Bound, weigh: Weigh) -> Bound | None:
    whole = _verdict(make_loss, spend, weigh)
    if whole is not None and whole.fits:
        return spend

    def fits(part: Fraction) -> bool:
        verdict = _verdict(make_loss, scaled(spend, part), weigh)
        return verdict is not None and verdict.fits

    low, high = Fraction(0), Fraction(1)
    guess = _proportional(whole)
    if guess is not None:
        low, high = (guess, high) if fits(guess) else (low, guess)
    # What is asked, and what is returned, are numbers that can be typed.
    found, _ = halved(low, high, lambda part: not fits(_short(part)), STEPS)
    part = found if found == low else _short(found)
    return scaled(spend, part) if part else None


def _proportional(verdict: Verdict | None) -> Fraction | None:
    """Guess the part from what is left over what was asked: exact where losses are proportional to spends."""
    if verdict is None:
        return None
    parts = [_ratio(row.left, row.asked) for row in verdict.breaks]
    known = [part for part in parts if part is not None]
    return min(known) if known and 0 < min(known) < 1 else None


def _ratio(left: Fraction | None, asked: Extended) -> Fraction | None:
    return left / asked if left is not None and isinstance(asked, Fraction) and asked else None


def _short(part: Fraction, digits: int = 8) -> Fraction:
    """Round down to few digits, so that the answer can be read and typed.

    >>> _short(Fraction(1041669838891, 1157410648150), 4)
    Fraction(9, 10)
    """
    places = digits
    while part * 10**places < 10 ** (digits - 1):
        places += 1
    return Fraction(math.floor(part * 10**places), 10**places)
