"""Ladders of chances from noise: the obvious answer as it was printed (TCDP-OAM), for comparison.

The chance at excess x of the gap is that of noise beyond t - x, where noise is beyond t with chance 1/candidates:
Laplace for Pure, Gaussian for Concentrated, that or sinh-normal for Truncated, truncated Laplace for Approximate. The
numbers here are approximate and rounded down; what is promised is proved from the rounded chances, pair by pair,
by `certificate.close`. A sliver of the spend is left so that roundings do not break the proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from sfumato.errors import UnsupportedSpend
from sfumato.exact import rational_ball
from sfumato.exact.enclosure import Ball, precision
from sfumato.papers.truncated_cdp.ladder import lower_end, pure_rungs, refuse_long, round_down
from sfumato.privacy import Approximate, Bound, Concentrated, Pure, Truncated
from sfumato.privacy.calibrate import sinh_normal

PRECISION = 256
KEPT = 1 - Fraction(1, 1 << 20)
OFTEN = Fraction(19, 20)
SINH_FAILURES = (Fraction(1, 20), Fraction(1, 2), Fraction(9, 10))
"""How far in the tail the sinh-normal noises that are tried are at their best."""

Chance = Callable[[Fraction], Ball]


@lru_cache(maxsize=256)
def noisy(candidates: int, bound: Bound, steps: int, failure: Fraction) -> tuple[Fraction, ...]:
    """Return the chances at the excesses 1/steps, 2/steps, ..., until the answer fails with `failure`.

    Of several noises that fit, the one that first wins in 19 of 20 runs.
    """
    if isinstance(bound, Pure):
        refuse_long(steps * pure_rungs(candidates, bound.epsilon, failure), bound)
    with precision(PRECISION + 2 * candidates.bit_length()):
        ladders = [_climb(candidates, curve, steps, failure, bound) for curve in _curves(candidates, bound)]
    return min(ladders, key=lambda rungs: sum(chance < OFTEN for chance in rungs))


def _climb(candidates: int, curve: Chance, steps: int, failure: Fraction, bound: Bound) -> tuple[Fraction, ...]:
    rungs: list[Fraction] = []
    reached = Fraction(1, candidates)
    while reached < 1 - failure:
        # Rounding down must not fall below the rung before: the ladder never falls.
        reached = max(reached, round_down(min(Fraction(1), lower_end(curve(Fraction(len(rungs) + 1, steps))))))
        rungs.append(reached)
        refuse_long(len(rungs), bound)
    return tuple(rungs)


def _curves(candidates: int, bound: Bound) -> list[Chance]:
    match bound:
        case Pure():
            return [_truncated_laplace(candidates, bound.epsilon * KEPT, Fraction(0))]
        case Approximate():
            return [_truncated_laplace(candidates, bound.epsilon * KEPT, bound.delta * KEPT)]
        case Concentrated():
            return [_gaussian(candidates, 1 / (2 * bound.rho * KEPT), None)]
        case Truncated():
            kept = Truncated(bound.rho * KEPT, bound.omega)
            bent = [sinh_normal(kept, sensitivity=1, draws=candidates, failure=beyond) for beyond in SINH_FAILURES]
            straight = _gaussian(candidates, 1 / (2 * kept.rho), None)
            return [straight, *(_gaussian(candidates, law.variance, law.bend) for law in bent)]
    raise UnsupportedSpend(f"{bound!r} is not one of the four bounds.")


def _truncated_laplace(candidates: int, epsilon: Fraction, delta: Fraction) -> Chance:
    """Return the upper tail of Laplace noise cut to [-B, B] with B = log(1 + (e^eps - 1)/(2 delta))/eps.

    With u = eps·x the tail above 0 is e^u/k + delta·(e^u - 1)/(e^eps - 1), and below 0 its mirror image.
    """
    weight = rational_ball(delta) / rational_ball(epsilon).expm1()
    share = 1 / rational_ball(candidates)
    # e^{eps t} at the point t that noise exceeds with chance 1/k; the tail is 1/2 where u = eps·t.
    centre = (1 + 2 * weight) / (2 * share + 2 * weight)

    def chance(excess: Fraction) -> Ball:
        growth = rational_ball(epsilon * excess).exp()
        if growth < centre:
            return growth * share + weight * (growth - 1)
        rest = (1 + 2 * weight) * centre / growth / 2 - weight
        return 1 - rest if rest > 0 else rational_ball(1)

    return chance


def _gaussian(candidates: int, variance: Fraction, bend: Fraction | None) -> Chance:
    """Return the upper tail of normal or sinh-normal noise; the starting point may be approximate."""
    from scipy.special import ndtri_exp

    width = (2 * rational_ball(variance)).sqrt()
    start = rational_ball(Fraction(-float(ndtri_exp(-math.log(candidates))))) * rational_ball(variance).sqrt()
    if bend is None:
        return lambda excess: ((start - rational_ball(excess)) / width).erfc() / 2
    bent = rational_ball(bend)
    origin = bent * (start / bent).asinh()
    return lambda excess: (bent / width * ((origin - rational_ball(excess)) / bent).sinh()).erfc() / 2
