"""From a Rényi curve to (epsilon, delta) and back; every order gives a valid answer, the best one is looked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sfumato.exact import INFINITY, Extended, Infinity, float_log, rational_ball, significant_up, unit_up
from sfumato.exact.enclosure import Ball

Tau = Callable[[Fraction], Extended]

LARGEST_ORDER = 1 << 20


def price(order: Fraction, delta: Fraction) -> Ball:
    """Enclose c(a, d) = [log(1/d) + a log(1 - 1/a) - log(a - 1)] / (a - 1), what a Rényi order costs in epsilon."""
    a = rational_ball(order)
    return (-rational_ball(delta).log() + a * (-1 / a).log1p() - (a - 1).log()) / (a - 1)


def float_price(order: float, log_delta: float) -> float:
    """Return the same approximately; only to look for a good order."""
    return (-log_delta + order * math.log1p(-1 / order) - math.log(order - 1)) / (order - 1)


LEAST_EXPONENT = -4096
"""A delta below e^-4096 is rounded up to it: nobody needs it smaller, and its digits would cost time."""


def nearby(number: Extended) -> float:
    """Return the nearest float, infinite where there is none; only to look for a good order."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def best_order(objective: Callable[[float], float], end: Extended) -> Fraction:
    """Return an order, as a rational, near the minimiser of an objective; a bad one costs utility, never privacy."""
    last = min(nearby(end), float(LARGEST_ORDER))
    low, high = math.log(1e-4), math.log(max(last - 1, 2e-4))
    points = [low + (high - low) * i / 80 for i in range(81)]
    values = [objective(1 + math.exp(x)) for x in points]
    at = min(range(len(points)), key=values.__getitem__)
    left, right = points[max(0, at - 1)], points[min(len(points) - 1, at + 1)]
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(40):
        first, second = right - golden * (right - left), left + golden * (right - left)
        if objective(1 + math.exp(first)) <= objective(1 + math.exp(second)):
            right = second
        else:
            left = first
    middle = (left + right) / 2
    best = middle if objective(1 + math.exp(middle)) <= values[at] else points[at]
    order = Fraction(1 + math.exp(best)).limit_denominator(1 << 24)
    return order if isinstance(end, Infinity) else min(order, Fraction(end))


def epsilon_order(tau: Tau, end: Extended, delta: Fraction) -> Fraction:
    """Return the order at which `smallest_epsilon` converts a curve; the same for the same curve."""
    shown = float_log(delta)

    def objective(order: float) -> float:
        return nearby(tau(_near(order, end))) + float_price(order, shown)

    return best_order(objective, end)


def smallest_epsilon(tau: Tau, end: Extended, delta: Fraction) -> Extended:
    """Return min over orders of tau(a) + c(a, delta), rounded up and at least 0 (TCDP:C-DP+)."""
    if end <= 1:
        return INFINITY
    order = epsilon_order(tau, end, delta)
    loss = tau(order)
    if isinstance(loss, Infinity):
        return INFINITY
    value = unit_up(lambda: rational_ball(loss) + price(order, delta))
    return INFINITY if value is None else max(value, Fraction(0))


def smallest_delta(tau: Tau, end: Extended, epsilon: Fraction) -> Fraction:
    """Return min over orders of exp((a-1)(tau(a)-eps)) (1-1/a)^a/(a-1), rounded up, at most 1 (TCDP:C-DP-INV)."""
    if end <= 1:
        return Fraction(1)
    shown = nearby(epsilon)

    def objective(order: float) -> float:
        loss = nearby(tau(_near(order, end)))
        if math.isinf(loss):
            return math.inf
        return (order - 1) * (loss - shown) + order * math.log1p(-1 / order) - math.log(order - 1)

    order = best_order(objective, end)
    loss = tau(order)
    if isinstance(loss, Infinity):
        return Fraction(1)

    def evaluate() -> Ball:
        a = rational_ball(order)
        exponent = (a - 1) * rational_ball(loss - epsilon) + a * (-1 / a).log1p() - (a - 1).log()
        return exponent.max(rational_ball(LEAST_EXPONENT)).exp()

    value = significant_up(evaluate)
    return Fraction(1) if value is None else min(value, Fraction(1))


def _near(order: float, end: Extended) -> Fraction:
    near = Fraction(order).limit_denominator(1 << 24)
    near = max(near, 1 + Fraction(1, 1 << 24))
    return near if isinstance(end, Infinity) else min(near, Fraction(end))


def classical_epsilon(rho: Fraction, omega: Extended, delta: Fraction) -> Fraction:
    """Return the paper's conversion, for comparison (TCDP:C-DP): never better than `smallest_epsilon`."""
    level = -float_log(delta)
    if isinstance(omega, Infinity) or level <= float((omega - 1) ** 2 * rho):
        value = unit_up(lambda: rational_ball(rho) + 2 * (-rational_ball(rho) * rational_ball(delta).log()).sqrt())
    else:
        top = omega
        value = unit_up(lambda: rational_ball(rho * top) - rational_ball(delta).log() / rational_ball(top - 1))
    assert value is not None
    return value
