"""The float search behind `sinh`: which core and which bend give the smallest error (TCDP-SINH).

Nothing here is a proof. What is found is rounded and certified in `sinh`, so a bad find costs utility only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotProvable
from sfumato.exact import float_log
from sfumato.privacy.bounds import Approximate, Truncated

Floats = NDArray[np.float64]

NEAREST, FARTHEST = 1.01, 60.0
"""The bend is looked for between these multiples of the smallest one whose curve reaches the order."""
LARGEST_ORDER = Fraction(10**9)
"""Beyond this order sinh-normal noise is Gaussian for all that a search can see."""
LOWEST_START = 1e-5
"""How far below the Gaussian's rho the core may lie."""
POINTS, ROUNDS, BISECTIONS = 25, 5, 40


def deviation(bend: float, sigma: float, spread: float) -> float:
    """Return bend·arsinh((sigma/bend)·spread), where the normal quantile `spread` lands (TCDP:D-SINH)."""
    return bend * math.asinh(sigma / bend * spread)


@dataclass(frozen=True)
class Constraint:
    """What a bound asks at Rényi orders between two: the divergence that each may have.

    One order suffices: for a truncated bound the last one, because tau(a)/a rises (certified later); for an
    approximate bound any that makes epsilon, each at its own price.
    """

    orders: tuple[float, float]
    allowed: Callable[[Floats], Floats]

    @classmethod
    def of(cls, bound: Truncated | Approximate) -> Constraint:
        """Return the constraint of a spend above zero."""
        if isinstance(bound, Truncated):
            rho, omega = float(bound.rho), float(min(bound.omega, LARGEST_ORDER))
            return cls((omega, omega), lambda orders: rho * orders)
        epsilon, log_delta = float(bound.epsilon), float_log(bound.delta)
        first = -log_delta / epsilon

        def allowed(orders: Floats) -> Floats:
            price = (-log_delta + orders * np.log1p(-1 / orders) - np.log(orders - 1)) / (orders - 1)
            return np.asarray(epsilon - price)

        return cls((1 + first / 4, 101 + 100 * first), allowed)


@lru_cache(maxsize=512)
def search(bound: Truncated | Approximate, copies: int, spread: float, target: float) -> tuple[float, float]:
    """Return the bend divided by the sensitivity, and the rho of the Gaussian core, of least error.

    `target` is the part of the bound that may be used, `spread` the normal quantile whose image is the error.
    """
    constraint = Constraint.of(bound)

    def starts(multiples: Floats, excess: Floats) -> tuple[Floats, Floats]:
        """Return bends and the largest cores, for logarithms of bend/smallest bend and of order - 1."""
        orders = 1 + np.exp(excess)
        bends = np.exp(multiples) * smallest_bend(orders)
        return bends, largest_start(1 / bends, orders, constraint.allowed(orders) * target / copies)

    def error(multiples: Floats, excess: Floats) -> Floats:
        bends, cores = starts(multiples, excess)
        with np.errstate(divide="ignore"):
            return bends * np.arcsinh(spread / (bends * np.sqrt(2 * cores)))

    first, last = constraint.orders
    orders = np.geomspace(first, last, POINTS)
    rho = float(np.max(constraint.allowed(orders) / orders)) * target / copies
    if rho > 0:
        # Where omega is close to 1, the sensitivity over sqrt(rho) sets the size of the bend, not omega.
        farthest = FARTHEST * max(1.0, 1 / (math.sqrt(rho) * float(smallest_bend(orders[0]))))
        found = minimise(error, (math.log(NEAREST), math.log(farthest)), (math.log(first - 1), math.log(last - 1)))
        bends, cores = starts(np.array(found[0]), np.array(found[1]))
        if cores > 0:
            return float(bends), float(cores)
    raise NotProvable(f"No sinh-normal noise fits {bound!r}; write a larger spend.", {"spend": repr(bound)})


def smallest_bend(order: Floats) -> Floats:
    """Return the bend, per unit of sensitivity, from which on the curve reaches an order."""
    return np.asarray(2 / -np.log1p(-1 / order))


def minimise(
    objective: Callable[[Floats, Floats], Floats], first: tuple[float, float], second: tuple[float, float]
) -> tuple[float, float]:
    """Look for a minimiser in a box, on grids that shrink around the best point; a box may be one point wide."""
    centre = (sum(first) / 2, sum(second) / 2)
    for _ in range(ROUNDS):
        one = np.linspace(*first, POINTS)
        two = np.linspace(*second, POINTS if second[0] < second[1] else 1)
        table = objective(one[:, None], two[None, :])
        row, column = divmod(int(np.argmin(table)), len(two))
        centre = (float(one[row]), float(two[column]))
        first = (float(one[max(row - 1, 0)]), float(one[min(row + 1, len(one) - 1)]))
        second = (float(two[max(column - 1, 0)]), float(two[min(column + 1, len(two) - 1)]))
    return centre


def largest_start(shift: Floats, order: Floats, allowed: Floats) -> Floats:
    """Return the largest core rho0 with tau(order) <= allowed, 0 where there is none.

    The constraint is not monotone for tiny rho0, so it is scanned from above and then bisected.
    """
    shift, order, allowed = np.broadcast_arrays(shift, order, allowed)
    ceiling = np.maximum(allowed, 0.0) / order
    fractions = np.geomspace(1.0, LOWEST_START, 48)
    scanned = float_tau(shift[..., None], ceiling[..., None] * fractions, order[..., None]) <= allowed[..., None]
    feasible = scanned.any(axis=-1)
    first = scanned.argmax(axis=-1)
    low = ceiling * fractions[first]
    high = ceiling * fractions[np.maximum(first - 1, 0)]
    for _ in range(BISECTIONS):
        middle = np.sqrt(low * high)
        fits = float_tau(shift, middle, order) <= allowed
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return np.asarray(np.where(feasible, low, 0.0))


def float_tau(shift: Floats, start: Floats, order: Floats) -> Floats:
    """Return C-SINH's tau approximately, for search only: shift u = Delta/A, core rho0 = Delta²/(2 sigma²)."""
    excess = order - 1
    with np.errstate(all="ignore"):
        remaining = 1 - excess * np.expm1(2 * shift)
        root = np.sqrt(remaining * (1 - excess * np.expm1(-2 * shift)))
        curvature = 4 * order * excess * np.sinh(shift) ** 2 / (1 + root)
        middle = order - excess * np.cosh(2 * shift)
        tilt = excess * np.sinh(2 * shift)
        pull = excess * shift
        steepness = (pull * shift) ** 2 / (2 * start)
        turn = np.log1p(tilt**2 / ((middle + root) * 2 * root)) / 2
        bounded = np.log1p(2 * np.sinh(pull / 2) ** 2) - np.log(root) / 2
        steep = np.where(root > steepness, -np.log1p(-(curvature + steepness)) / 2, np.inf)
        value = (start / (2 * shift**2) * curvature + turn + np.minimum(bounded, steep)) / excess
    return np.asarray(np.where((remaining > 1e-9) & np.isfinite(value), value, np.inf))
