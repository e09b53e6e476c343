"""LO-SHUFFLE: what the same reports lose when a trusted relay hands on only their multiset.

The statement is by clones: every other device's report is, with chance e^-epsilon, one that this person might have
sent with the one item or with the other, by a fair coin. So whoever sees the shuffled reports knows at most how many of
the clones are of the first kind, and the person is one more among them. Floats only say where to look; what is returned
is proved in ball arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.exact import Number, enclose_up, exact, rational_ball
from sfumato.exact.enclosure import Ball, precision
from sfumato.exact.rational import show
from sfumato.exact.search import halved, smallest_between
from sfumato.privacy import Approximate

MOST_HONEST = 10**8
"""More honest devices never hurt, so for more of them the loss among so many is stated."""
BUCKETS = 60
BITS = 128
_DEVIATIONS = 8
_STEPS = 60
_TAIL_BITS = 26
"""A tail is summed up to so small a part of itself."""


def checked(honest: object, delta: Number | None, users: int) -> tuple[int, Fraction]:
    """Return both numbers, refusing what is no number of devices among the users, and no small probability."""
    if isinstance(honest, bool) or not isinstance(honest, int) or honest < 2:
        raise ParameterError(
            "honest is a lower bound on how many devices follow the plan in the same batch, the person's own included: "
            "a whole number of at least 2; write for example honest=80_000."
        )
    if honest > users:
        raise ParameterError(
            f"honest={honest} is more than the {users} users of the plan: it is a lower bound on how many of them "
            f"follow it in the same batch; write at most honest={users}, or plan for more users."
        )
    if delta is None:
        raise ParameterError(
            "delta has no default: it is the chance with which the smaller loss may fail; write delta=1e-8."
        )
    leak = exact(delta, "delta")
    if not 0 < leak < Fraction(1, 2):
        raise ParameterError(f"delta lies between 0 and 1/2, and {show(leak)} does not; write for example 1e-8.")
    return min(honest, MOST_HONEST), leak


@lru_cache(maxsize=256)
def shuffled_loss(odds: Fraction, local: Fraction, honest: int, delta: Fraction) -> Approximate:
    """Return the loss of one report among shuffled ones; `odds` are its exact e^epsilon, `local` its epsilon.

    The relation replaces one person's item; delta is the given one.
    """
    guess = _guess(float(odds), honest, float(delta))
    step = 2.0**-10
    while guess * (1 + step) < float(local):
        ratio = Fraction(math.exp(guess * (1 + step)))
        if _proved(odds, ratio, honest, delta):
            return Approximate(min(_log_up(ratio), local), delta)
        step *= 2
    return Approximate(local, delta)


def _log_up(ratio: Fraction) -> Fraction:
    found = enclose_up(lambda: rational_ball(ratio).log(), 64)
    assert found is not None
    return found


def _edges(odds: float, honest: int, delta: float, buckets: int = BUCKETS) -> list[int]:
    """Return the numbers of clones at which the buckets begin."""
    others, chance = honest - 1, 1 / odds
    mean, deviation = others * chance, math.sqrt(others * chance * (1 - chance))
    wide = max(_DEVIATIONS, math.sqrt(2 * math.log(1 / delta)) + 2) * deviation
    low, high = max(0.0, mean - wide), min(float(others), mean + wide)
    return sorted({int(edge) for edge in np.linspace(low, high, buckets + 1)})


def _first_above(odds: Any, ratio: Any, clones: int) -> int:
    """Return the smallest number of clones of the first kind at which the likelihood ratio is above `ratio`."""
    return int((clones + 1) * (odds * ratio - 1) / ((odds - 1) * (1 + ratio)) // 1) + 1


def _guess(odds: float, honest: int, delta: float) -> float:
    """Return about the smallest epsilon, by floats."""
    from scipy.stats import binom

    edges = np.array(_edges(odds, honest, delta))
    below = binom.cdf(edges - 1, honest - 1, 1 / odds)
    masses = np.diff(np.append(below, 1.0))

    def leak(epsilon: float) -> float:
        ratio = math.exp(epsilon)
        first = np.floor((edges + 1) * (odds * ratio - 1) / ((odds - 1) * (1 + ratio))) + 1
        leaks = (odds - ratio) / (1 + odds) * binom.pmf(first - 1, edges, 0.5)
        leaks -= math.expm1(epsilon) * binom.sf(first - 1, edges, 0.5)
        return float(below[0] + (masses * np.clip(leaks, 0.0, 1.0)).sum())

    return halved(0.0, math.log(odds), lambda epsilon: leak(epsilon) <= delta, _STEPS)[1]


def _proved(odds: Fraction, ratio: Fraction, honest: int, delta: Fraction) -> bool:
    """Return whether the leak at e^epsilon = `ratio` is certainly at most delta."""
    edges = _edges(float(odds), honest, float(delta))
    with precision(BITS):
        masses = _masses(odds, honest - 1, edges)
        total = masses[0]
        for mass, clones in zip(masses[1:], edges, strict=True):
            total = total + mass * _leak(odds, ratio, clones)
        return bool(total.upper() <= rational_ball(delta).lower())


def _leak(odds: Fraction, ratio: Fraction, clones: int) -> Ball:
    """Return an upper end of the leak with so many clones."""
    import flint

    first = _first_above(odds, ratio, clones)
    if first > clones + 1 or ratio >= odds:
        return flint.arb(0)
    size, count = flint.arb(clones), first - 1
    own = (size + 1).lgamma() - flint.arb(count + 1).lgamma() - (size - count + 1).lgamma() - size * flint.arb(2).log()
    mass = own.exp()
    leak = rational_ball((odds - ratio) / (1 + odds)) * mass - rational_ball(ratio - 1) * _tail(mass, count, clones)
    upper = leak.upper()
    return upper if upper > 0 else flint.arb(0)


def _tail(mass: Ball, count: int, size: int) -> Ball:
    """Return a lower end of P(Bin(size, 1/2) > count) from the mass at `count`: what is left out only adds."""
    import flint

    term, total = mass, flint.arb(0)
    while count < size:
        term = term * (size - count) / (count + 1)
        total = total + term
        count += 1
        if term < total * flint.arb(2) ** -_TAIL_BITS:
            break
    return total.lower()


def _masses(odds: Fraction, others: int, edges: list[int]) -> list[Ball]:
    """Return upper ends of P(C < first edge) and of the mass of each bucket, for C clones among the others."""
    import flint

    chance = rational_ball(1 / odds)
    back = rational_ball(1 / (odds - 1))
    low = edges[0]
    chosen = flint.arb(others + 1).lgamma() - flint.arb(low + 1).lgamma() - flint.arb(others - low + 1).lgamma()
    term = (chosen + low * chance.log() + (others - low) * (1 - chance).log()).exp()
    # Below the first edge each mass is at most this part of the next one.
    part = flint.arb(low) / (others - low + 1) / back
    below = term * part / (1 - part) if low else flint.arb(0)
    if not part < 1:
        below = flint.arb(1)
    masses = [below.upper()]
    left = flint.arb(1)
    for edge, after in pairwise(edges):
        mass = flint.arb(0)
        for clones in range(edge, after):
            mass = mass + term
            term = term * back * (others - clones) / (clones + 1)
        masses.append(mass.upper())
        left = left - mass
    # All that is left, with what lies below counted twice at most.
    return [*masses, left.upper() if left.upper() > 0 else flint.arb(0)]


def largest_local(fits: Callable[[Fraction], bool], grid: int = 64, most: int = 16) -> Fraction | None:
    """Return the largest multiple of 1/grid up to `most` that fits, or None; it supposes that less fits, too."""
    low = smallest_between(0, grid * most + 1, lambda count: not fits(Fraction(count, grid))) - 1
    return Fraction(low, grid) if low else None


def guessed_loss(epsilon: Fraction, honest: int, delta: Fraction) -> float:
    """Return about what a report of this local epsilon loses among shuffled ones, by floats."""
    return min(float(epsilon), _guess(math.exp(epsilon), honest, float(delta)))
