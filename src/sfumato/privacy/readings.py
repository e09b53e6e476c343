"""What a loss means to a person: odds of a guess, change of belief, bits revealed.

All numbers are rounded towards the worse, and each function states its assumptions: they are the price of
turning a promise about distributions into a sentence about an adversary.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.errors import ParameterError
from sfumato.exact import (
    INFINITY,
    Extended,
    Infinity,
    Number,
    at_least_zero,
    exact,
    positive_integer,
    rational_ball,
    unit_up,
)
from sfumato.exact.enclosure import Ball


def _up(value: Fraction | None, most: Fraction) -> Fraction:
    return most if value is None else min(value, most)


def guess(epsilon: Number | Extended, prior: Number = Fraction(1, 2), delta: Number = 0) -> Fraction:
    """Return how often a guess at one secret bit can be right, at most (PDP:C-17).

    `prior` is the probability of the likelier value before; everything outside the attributes that the loss
    speaks of is known to the adversary or independent of the bit. With a delta the prior must be one half.

    >>> float(guess(10))
    0.9999546021312976
    """
    before = exact(prior, "prior")
    slack = at_least_zero(delta, "delta")
    if not Fraction(1, 2) <= before <= 1:
        raise ParameterError("prior must be the probability of the likelier value, so at least 1/2 and at most 1.")
    if slack and before != Fraction(1, 2):
        raise ParameterError("With a delta only the prior 1/2 is supported; leave prior= out.")
    if isinstance(epsilon, Infinity):
        return Fraction(1)
    eps = at_least_zero(epsilon, "epsilon")

    def evaluate() -> Ball:
        # (p e^l + delta)/(p e^l + 1 - p), divided by e^l so that nothing overflows.
        small = rational_ball(-eps).exp()
        weight = rational_ball(before)
        if slack:
            return (1 + rational_ball(slack) * small) / (1 + small)
        return weight / (weight + rational_ball(1 - before) * small)

    return _up(unit_up(evaluate), Fraction(1))


def guess_concentrated(rho: Number | Extended) -> Fraction:
    """Return how often a 50:50 guess at one secret bit can be right, at most, from rho (TCDP:C-KL).

    The total variation distance is at most sqrt(rho/2), and the guess is right at most half of one plus it.
    """
    if isinstance(rho, Infinity):
        return Fraction(1)
    value = at_least_zero(rho, "rho")
    return _up(unit_up(lambda: (1 + rational_ball(value / 2).sqrt()) / 2), Fraction(1))


def membership_advantage(rho: Number | Extended) -> Fraction:
    """Return the largest gap between hits and false alarms of a membership test: sqrt(rho/2) (TCDP:C-KL)."""
    return 2 * guess_concentrated(rho) - 1


def belief_change(epsilon: Number | Extended, independent: bool = False) -> Fraction:
    """Return how far a belief can move from what it would be without this person's data (PDP:C-15).

    In total variation, for attributes independent of the other columns: tanh(loss/2) against the answer with
    these attributes blanked; tanh(loss/4) if they are independent of everything else, other people included.

    >>> round(float(belief_change(1)), 5)
    0.46212
    """
    if isinstance(epsilon, Infinity):
        return Fraction(1)
    eps = at_least_zero(epsilon, "epsilon")
    return _up(unit_up(lambda: (rational_ball(eps) / (4 if independent else 2)).tanh()), Fraction(1))


def information(rho: Number | Extended, values: int | None = None) -> Extended:
    """Return how many nats about one person's attribute the answers can carry, at most (PDP:C-16).

    Records are independent and so are the attribute blocks of a person; `values` is the number of values of
    the attribute, whose entropy is a cap.
    """
    cap: Extended = INFINITY
    if values is not None:
        count = positive_integer(values, "values")
        cap = _up(unit_up(lambda: rational_ball(count).log()), Fraction(count))
    return min(cap, rho if isinstance(rho, Infinity) else at_least_zero(rho, "rho"))


def table_information(rho: Number, omega: Extended, people: int, independent: bool = False) -> Extended:
    """Return how many nats about the whole table the answers can carry, at most (TCDP:C-MI, LB-MI).

    The smallest of: n·rho if records are independent; n² rho if n < omega; c_n·omega·(omega-1)·rho with
    c_n = (omega/(omega-1))^n - 1, for finite omega; infinite where none of them says anything.
    """
    size = positive_integer(people, "people")
    value = at_least_zero(rho, "rho")
    bounds = []
    if independent:
        bounds.append(size * value)
    if isinstance(omega, Infinity) or size < omega:
        bounds.append(size**2 * value)
    if not isinstance(omega, Infinity):
        if omega <= 1:
            raise ParameterError("omega must be above 1.")
        top = omega
        grown = None
        if size <= (1 << 12) * top:  # beyond e^4096 nats the bound would be all digits and no use
            grown = unit_up(
                lambda: (size * (1 / rational_ball(top - 1)).log1p()).expm1() * rational_ball(top * (top - 1) * value)
            )
        if grown is not None:
            bounds.append(grown)
    return min(bounds, default=INFINITY)


def loss_tail(rho: Number, omega: Extended, threshold: Number) -> Fraction:
    """Return the probability that the privacy loss exceeds `threshold`, at most (TCDP:D-LOSS)."""
    value, level = at_least_zero(rho, "rho"), exact(threshold, "threshold")
    excess = level - value
    if excess <= 0 or value == 0:
        return Fraction(1) if excess <= 0 else Fraction(0)
    if isinstance(omega, Infinity) or excess <= 2 * value * (omega - 1):
        return _up(unit_up(lambda: rational_ball(-(excess**2) / (4 * value)).exp()), Fraction(1))
    top = omega
    return _up(unit_up(lambda: rational_ball((top - 1) ** 2 * value - (top - 1) * excess).exp()), Fraction(1))
