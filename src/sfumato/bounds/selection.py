"""How clear a winner must be, and how many people thresholds need, kind by kind of bound: rates without constants."""

from __future__ import annotations

import math

from sfumato.bounds.floors import Floor, order_limit, positive
from sfumato.errors import ParameterError
from sfumato.exact import INFINITY, Extended, Infinity, Number, between_zero_and_one, float_log, positive_integer


def selection_gap(
    candidates: int,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    omega: Number | Extended = INFINITY,
) -> Floor:
    """Return the order of the gap that the best of `candidates` must have to be chosen, for one kind of bound.

    To a planner: the growth that no mechanism of this kind beats (TCDP:LB-SELECT), up to a constant factor, so it
    ranks the kinds and scales with the numbers, and `select` states what is really needed. Pure: log(k)/epsilon.
    Approximate: the smaller of that and log(1/delta)/epsilon. Concentrated: sqrt(log(k)/rho). Truncated:
    omega·log(1 + sqrt(log k)/(omega·sqrt(rho))).

    >>> selection_gap(2**20, rho=0.1, omega=2.24).value < selection_gap(2**20, rho=0.1).value
    True
    """
    count = positive_integer(candidates, "candidates")
    if (epsilon is None) == (rho is None):
        raise ParameterError("Say which kind of bound: epsilon= (with delta= if approximate), or rho= (with omega=).")
    if epsilon is not None:
        return _pure_gap(count, positive(epsilon, "epsilon"), delta)
    assert rho is not None
    if delta is not None:
        raise ParameterError("delta= belongs to epsilon=; leave it out with rho=.")
    return _concentrated_gap(count, positive(rho, "rho"), omega)


def selection_gaps(
    candidates: int, epsilon: Number, delta: Number, rho: Number, omega: Number | Extended
) -> dict[str, Floor]:
    """Return the orders of the gap for all four kinds of bound side by side.

    >>> {kind: round(floor.value) for kind, floor in selection_gaps(2**64, 1, 1e-6, 0.1, 2.24).items()}
    {'pure': 44, 'approximate': 14, 'concentrated': 21, 'truncated': 5}
    """
    return {
        "pure": selection_gap(candidates, epsilon=epsilon),
        "approximate": selection_gap(candidates, epsilon=epsilon, delta=delta),
        "concentrated": selection_gap(candidates, rho=rho),
        "truncated": selection_gap(candidates, rho=rho, omega=omega),
    }


def threshold_people(
    thresholds: int, *, epsilon: Number | None = None, rho: Number | None = None, omega: Number | Extended = INFINITY
) -> Floor:
    """Return the order of the number of people that releasing `thresholds` thresholds needs (TCDP:LB-THR).

    To a planner: up to a constant factor, pure needs log(k)/epsilon and concentrated sqrt(log(k)/rho), and nothing
    does better. For truncated bounds (omega + 1/sqrt(rho))·log log k suffices, up to smaller factors: it is
    returned as what is reachable, and its binding says so.

    >>> threshold_people(2**64, rho=0.1).value > threshold_people(2**64, rho=0.1, omega=2.24).value
    True
    """
    count = positive_integer(thresholds, "thresholds")
    if (epsilon is None) == (rho is None):
        raise ParameterError("Say which kind of bound: epsilon= for pure, or rho= (with omega=).")
    if epsilon is not None:
        return Floor(math.log(count) / positive(epsilon, "epsilon"), "pure")
    assert rho is not None
    price = positive(rho, "rho")
    if isinstance(omega, Infinity):
        return Floor(math.sqrt(math.log(count) / price), "concentrated")
    # log log k means something from k = e^e on; before that a single constant covers it.
    levels = max(1.0, math.log(max(math.log(count), 1.0)))
    return Floor((order_limit(omega) + 1 / math.sqrt(price)) * levels, "truncated, reachable")


def _pure_gap(candidates: int, epsilon: float, delta: Number | None) -> Floor:
    pure = Floor(math.log(candidates) / epsilon, "pure")
    if delta is None:
        return pure
    leak = between_zero_and_one(delta, "delta")
    approximate = Floor(-float_log(leak) / epsilon, "approximate")
    return min(pure, approximate, key=lambda floor: floor.value)


def _concentrated_gap(candidates: int, rho: float, omega: Number | Extended) -> Floor:
    plain = math.sqrt(math.log(candidates) / rho)
    limit = order_limit(omega)
    return Floor(plain, "concentrated") if math.isinf(limit) else Floor(limit * math.log1p(plain / limit), "truncated")
