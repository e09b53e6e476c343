"""How many people any learner needs, private or not, before what fits them fits everybody.

All of it is utility: privacy never rests on a number from here.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sfumato.exact.search import narrowed


def consistent(accuracy: float, failure: float, vc_dimension: int) -> float:
    """Return how many people make every rule that errs on none of them err by at most `accuracy` (PL:C-REALIZ).

    >>> round(consistent(0.1, 0.05, 1))
    701
    """
    return 8 / accuracy * (vc_dimension * math.log(16 / accuracy) + math.log(2 / failure))


def nearly_consistent(accuracy: float, failure: float, vc_dimension: int | None, candidates: int | None) -> float:
    """Return how many people make every rule that errs on at most accuracy/2 of them err by at most `accuracy`.

    For listed rules by Chernoff's bound for each, (8/a)·ln(candidates/b). By the VC dimension from the relative
    deviation inequality, 4·S(2n)·exp(-n·a/16) <= b, S being Sauer's bound (the source's C-UNIF pays 1/a²).

    >>> round(nearly_consistent(0.1, 0.05, None, 100)), round(nearly_consistent(0.1, 0.05, 1, None))
    (608, 2204)
    """
    bounds = []
    if candidates is not None:
        bounds.append(8 / accuracy * (math.log(candidates) - math.log(failure)))
    if vc_dimension is not None:
        bounds.append(by_growth(accuracy, failure, lambda points: shatter_log(vc_dimension, points)))
    return min(bounds)


def by_growth(accuracy: float, failure: float, log_ways: Callable[[float], float]) -> float:
    """Return the same from the number of ways in which a class labels so many points, given by its logarithm.

    >>> round(by_growth(0.1, 0.05, lambda points: math.log(points + 1)))
    2031
    """
    return smallest(lambda people: people >= 16 / accuracy * (math.log(4 / failure) + log_ways(2 * people)))


def uniform(accuracy: float, failure: float, vc_dimension: int | None, candidates: int | None) -> float:
    """Return how many people make every rule err on them as on everybody, within `accuracy` (PL:C-UNIF, Hoeffding).

    >>> round(uniform(0.1, 0.05, None, 100)), round(uniform(0.1, 0.05, 1, None))
    (415, 26492)
    """
    bounds = []
    if candidates is not None:
        bounds.append((math.log(2 * candidates) - math.log(failure)) / (2 * accuracy**2))
    if vc_dimension is not None:
        bounds.append(50 * vc_dimension / accuracy**2 * math.log(1 / (accuracy * failure)))
    return min(bounds)


def point_consistent(accuracy: float, failure: float) -> float:
    """Return how many people make every single record that errs on accuracy/2 of them err by at most `accuracy`.

    Few records are so heavy that one of them could hide half of its error: Chernoff's bound for each of these, and for
    the true one.

    >>> round(point_consistent(0.1, 0.05))
    1052
    """
    return max(24 * math.log(4 / failure), 8 * math.log(16 / (accuracy * failure))) / accuracy


def cut_consistent(accuracy: float, failure: float) -> float:
    """Return how many people make every cut-off that errs on accuracy/2 of them err by at most `accuracy`.

    Two Chernoff events, one on each side of the true cut-off (PL:C-THR-1SIDE).

    >>> round(cut_consistent(0.1, 0.05))
    295
    """
    return 8 / accuracy * math.log(2 / failure)


def cut_uniform(accuracy: float, failure: float) -> float:
    """Return how many people make every cut-off err on them as on everybody, within `accuracy`.

    The inequality of Dvoretzky, Kiefer and Wolfowitz for the people of either label, accuracy/2 each.

    >>> round(cut_uniform(0.1, 0.05))
    876
    """
    return 2 / accuracy**2 * math.log(4 / failure)


def shatter_log(vc_dimension: int, points: float) -> float:
    """Return Sauer's bound on the logarithm of the number of ways in which a class labels so many points.

    >>> round(shatter_log(2, 1), 3), round(shatter_log(2, 100), 3)
    (0.693, 9.824)
    """
    if points <= vc_dimension:
        return points * math.log(2)
    return vc_dimension * math.log(math.e * points / vc_dimension)


def smallest(enough: Callable[[float], bool], most: float = 1e18) -> float:
    """Return the least number that is enough, up to a millionth of it; infinity if `most` is not.

    >>> round(smallest(lambda people: people >= 12.5), 3)
    12.5
    """
    high = 1.0
    while not enough(high):
        high *= 2
        if high > most:
            return math.inf
    low = high / 2 if high > 1 else 0.0
    return narrowed(low, high, enough, lambda low, high: high - low <= 1e-7 * high)[1]


def summed_noise(terms: int, scale: float, failure: float) -> float:
    """Return what a sum of so many Laplace draws exceeds with probability at most `failure`, by Chernoff's bound.

    >>> round(summed_noise(127, 2 / 0.3, 0.025 / 254))
    464
    """

    def at(slope: float) -> float:
        return (-terms * math.log1p(-((scale * slope) ** 2)) - math.log(failure)) / slope

    low, high = 0.0, 1 / scale
    for _ in range(100):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, second) if at(first) < at(second) else (first, high)
    return at((low + high) / 2)
