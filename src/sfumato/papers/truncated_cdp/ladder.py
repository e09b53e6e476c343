"""Ladders of chances: with which probability the obvious answer is given at each gap.

A ladder starts at 1/candidates, and each rung is as high as the bound allows after the one below it
(TCDP-OAM-OPT). Every rung is a dyadic rational with 64 significant bits of the smaller of p and 1 - p, rounded
down; the next one is computed from the rounded one, and each pair is proved by `certificate.close`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sfumato.errors import UnsupportedSpend
from sfumato.exact import Infinity, float_log, rational_ball
from sfumato.exact.enclosure import Ball, precision
from sfumato.exact.search import halved
from sfumato.papers.truncated_cdp.certificate import SLACK, close, orders, renyi_limits
from sfumato.privacy import Approximate, Bound, Concentrated, Pure, Truncated

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]

DIGITS = 64
MOST_RUNGS = 5_000


def round_down(chance: Fraction) -> Fraction:
    """Return the chance rounded down to 64 significant bits of the smaller of it and its complement.

    >>> float(round_down(Fraction(1, 3))), round_down(Fraction(1, 2))
    (0.3333333333333333, Fraction(1, 2))
    """
    if chance * 2 <= 1:
        return _significant(chance, upward=False)
    return 1 - _significant(1 - chance, upward=True) if chance < 1 else Fraction(1)


def _significant(number: Fraction, upward: bool) -> Fraction:
    shift = DIGITS + number.denominator.bit_length() - number.numerator.bit_length()
    scaled = number * (1 << shift) if shift >= 0 else number / (1 << -shift)
    whole = math.ceil(scaled) if upward else math.floor(scaled)
    return Fraction(whole, 1) / (1 << shift) if shift >= 0 else Fraction(whole << -shift)


def lower_end(ball: Ball) -> Fraction:
    """Return the lower end of a ball, exactly."""
    mantissa, exponent = ball.lower().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


@lru_cache(maxsize=256)
def optimal(candidates: int, bound: Bound, failure: Fraction) -> tuple[Fraction, ...]:
    """Return the rungs above 1/candidates, each the largest that is proved, until the answer fails with `failure`.

    Time O(rungs · orders), cached by its public arguments. Ten to twenty rungs at rho = 0.1.
    """
    if isinstance(bound, Pure):
        refuse_long(pure_rungs(candidates, bound.epsilon, failure), bound)
    rungs: list[Fraction] = []
    chance = Fraction(1, candidates)
    while chance < 1 - failure:
        step = _next(chance, bound)
        if step <= chance:
            break
        rungs.append(step)
        chance = step
        refuse_long(len(rungs), bound)
    return tuple(rungs)


def refuse_long(rungs: float, bound: Bound) -> None:
    """Refuse a ladder of too many rungs; a public fact."""
    if rungs > MOST_RUNGS:
        raise UnsupportedSpend(
            f"At {bound!r} the obvious answer needs more than {MOST_RUNGS} steps of gap; "
            "spend more, or use select.exponential."
        )


def pure_rungs(candidates: int, epsilon: Fraction, failure: Fraction) -> float:
    """Return how many rungs of log-odds epsilon lead from 1/candidates to 1 - failure, at least."""
    return (math.log(candidates) - math.log(4 * failure)) / float(epsilon)


def _next(chance: Fraction, bound: Bound) -> Fraction:
    """Return the largest next rung that is proved, or the same chance if none is."""
    match bound:
        case Pure():
            step = round_down(_next_pure(chance, bound.epsilon, Fraction(0)))
        case Approximate():
            step = round_down(_next_pure(chance, bound.epsilon, bound.delta))
        case Concentrated() | Truncated():
            return _next_renyi(chance, bound)
    return step if step > chance and close(chance, step, bound) else chance


def _next_pure(chance: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return min(e^eps·p + delta, 1 - e^-eps·(1 - p - delta), 1), rounded down."""
    with precision(256 + chance.denominator.bit_length()):
        growth = rational_ball(epsilon).exp()
        rise = lower_end(growth * rational_ball(chance)) + delta
        rest = 1 - chance - delta
        fall = Fraction(1) if rest <= 0 else lower_end(1 - rational_ball(rest) / growth)
    return min(rise, fall, Fraction(1))


def _next_renyi(chance: Fraction, bound: Concentrated | Truncated) -> Fraction:
    step = _largest_step(chance, bound)
    for _ in range(8):
        risen = round_down(_shifted(chance, step))
        if risen <= chance:
            return chance
        if close(chance, risen, bound):
            return risen
        step *= 1 - 2.0**-16
    return chance


def _shifted(chance: Fraction, step: float) -> Fraction:
    """Return the chance whose log-odds are higher by `step`, rounded down."""
    with precision(256 + chance.denominator.bit_length()):
        odds = rational_ball(chance / (1 - chance)) * rational_ball(Fraction(step)).exp()
        return lower_end(odds / (1 + odds))


def _largest_step(chance: Fraction, bound: Concentrated | Truncated) -> float:
    """Look for the largest rise of the log-odds that the bound allows; approximate, `close` decides.

    A rise of sqrt(8 rho) always fits, because the log-ratios of two coins lie in a window of that width.
    """
    rho, last = renyi_limits(bound)
    target = float(rho * (1 - SLACK)) * (1 - 1e-9)
    low = math.sqrt(8 * target)
    high = 2 * low
    while _fits(chance, high, target, last):
        low, high = high, 2 * high
    return halved(low, high, lambda step: not _fits(chance, step, target, last), 26)[0]


@lru_cache(maxsize=64)
def _float_orders(last: Fraction | Infinity) -> Floats:
    return np.array([float(order) for order in orders(last)])


def _fits(chance: Fraction, step: float, rho: float, last: Fraction | Infinity) -> bool:
    # All in logarithms: with 2^1024 candidates the first chance is no floating-point number.
    low, rest = _log(chance), _log(1 - chance)
    swollen = float(np.logaddexp(rest, low + step))
    heads, tails = step - swollen, -swollen
    grid = _float_orders(last)
    if isinstance(last, Infinity):
        needed = max(heads, -tails) / rho
        grid = grid[: int(np.searchsorted(grid, needed)) + 1]
    upward = _log_moment(low, heads, rest, tails, grid)
    downward = _log_moment(low + heads, -heads, rest + tails, -tails, grid)
    return bool(np.all(np.maximum(upward, downward) <= rho * grid * (grid - 1)))


def _log_moment(first: float, ratio: float, second: float, other: float, grid: Floats) -> Floats:
    """Return log(exp(first + a·ratio) + exp(second + a·other)), which is 0 at ratio = other = 0, to full accuracy."""
    large = np.logaddexp(first + grid * ratio, second + grid * other)
    small = np.minimum(large, 1.0) < 1.0
    large[small] = np.log1p(_rise(first, grid[small] * ratio) + _rise(second, grid[small] * other))
    return large


def _rise(weight: float, exponent: Floats) -> Floats:
    """Return exp(weight)·(exp(exponent) - 1), accurate near 0 and without overflow of a part."""
    near = math.exp(weight) * np.expm1(np.minimum(exponent, 1.0))
    return np.where(exponent > 1, np.exp(weight + exponent) - math.exp(weight), near)


def _log(number: Fraction) -> float:
    return float_log(number) if number * 2 < 1 else math.log1p(-float(1 - number))
