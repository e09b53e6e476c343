"""What a path of thresholds costs: exactly, for discrete Laplace noise (PDP-HH).

A string s of columns is kept at level l if max(f, c_l) + Z > t_l, where f is how often it occurs, c_l the clip, t_l the
threshold and Z discrete Laplace noise of scale b. With S(t) = P[Z > t] and

    r_l(f) = ln S(t_l - max(f, c_l)) - ln S(t_l - max(f - 1, c_l)),

changing one record below a path costs at most max over f of the sum of r_l(f), plus 1/b.

Proof. At each node of the path one string s loses a row and another one s' wins one. Counts never grow on the way up.
Take the highest level L at which s occurs more often than the clip. Above L both tables show the clip. Below L the
count is at least f_L > c_L >= c_l + 1, so both tables show true counts; discrete Laplace noise is log-concave, so ln S
is concave and r_l falls with f: equal counts along the path are the worst. A string s' that is rejected is never a
candidate again, so at most one rejection is seen, and its chance moves by at most e^(1/b), because P[Z <= t] =
S(-t - 1). Keeping s' and rejecting s only became likelier. The largest sum is met at some f = c_l + 1, because between
two clips the same terms count and each of them falls. Where clips do not rise by one, only (levels + 1)/b holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import CertificationError
from sfumato.exact import rational_ball, unit_up
from sfumato.exact.enclosure import Ball


@lru_cache(maxsize=4096)
def acceptance_cost(scale: Fraction, thresholds: tuple[int, ...], clips: tuple[int, ...]) -> Fraction:
    """Return the largest sum of r_l(f) over all f, rounded up: what seeing s kept along a path can cost.

    >>> acceptance_cost(Fraction(2), (10,), (5,))
    Fraction(1, 2)
    """
    return max((_sum(scale, thresholds, clips, clip + 1) for clip in clips), default=Fraction(0))


def path_cost(scale: Fraction, thresholds: tuple[int, ...], clips: tuple[int, ...]) -> Fraction:
    """Return the certificate of a path, rounded up; nothing if no level is on it.

    >>> round(float(path_cost(Fraction(3), (30, 46), (15, 31))), 4)
    0.8516
    """
    return acceptance_cost(scale, thresholds, clips) + 1 / scale if thresholds else Fraction(0)


def _sum(scale: Fraction, thresholds: Sequence[int], clips: Sequence[int], count: int) -> Fraction:
    """Enclose the sum at one count; where both tails are exponential, from -1 on, a term is rational."""
    rational, others = Fraction(0), list[tuple[int, int]]()
    for threshold, clip in zip(thresholds, clips, strict=True):
        near, far = threshold - max(count, clip), threshold - max(count - 1, clip)
        if near >= -1:
            rational += (far - near) / scale
        elif far > near:
            others.append((near, far))
    if not others:
        return rational

    def evaluate() -> Ball:
        terms = [log_tail(scale, near) - log_tail(scale, far) for near, far in others]
        return sum(terms[1:], terms[0])

    value = unit_up(evaluate)
    if value is None:
        raise CertificationError("The cost of a path could not be enclosed.")
    return rational + value


def log_tail(scale: Fraction, level: int) -> Ball:
    """Enclose ln P[Z > level] for discrete Laplace noise."""
    ratio = rational_ball(-1 / scale).exp()
    if level >= 0:
        return rational_ball(-(level + 1) / scale) - (1 + ratio).log()
    return (1 - rational_ball(level / scale).exp() / (1 + ratio)).log()


def predicted_cost(scale: float, thresholds: NDArray[np.float64], clips: NDArray[np.float64]) -> float:
    """Return about what `path_cost` returns, in floating point, for planners."""
    counts = clips[:, None] + 1
    near, far = thresholds - np.maximum(counts, clips), thresholds - np.maximum(counts - 1, clips)
    return float((_log_tails(scale, near) - _log_tails(scale, far)).sum(axis=1).max(initial=0)) + 1 / scale


def _log_tails(scale: float, levels: NDArray[np.float64]) -> NDArray[np.float64]:
    share = np.log1p(np.exp(-1 / scale))
    falling = -(np.maximum(levels, 0) + 1) / scale - share
    rising = np.log1p(-np.exp(np.minimum(levels, -1) / scale - share))
    found: NDArray[np.float64] = np.where(levels >= 0, falling, rising)
    return found
