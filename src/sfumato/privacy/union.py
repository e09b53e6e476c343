"""Changing several attributes one after the other: what it costs at most (PDP:C-4)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from sfumato.errors import ParameterError
from sfumato.exact import INFINITY, Extended, Infinity, rational_ball, unit_up
from sfumato.privacy.cost import Cost
from sfumato.privacy.derived import least
from sfumato.privacy.forms import UNKNOWN, LinearCurve
from sfumato.privacy.gauss import UNKNOWN_GAUSS, Exactly, Gauss, smallest
from sfumato.privacy.gaussian import rounded_root_sum


def union(costs: Iterable[Cost]) -> Cost:
    """Return the cost of changing several sets of attributes one after the other (PDP:C-4).

    Epsilons add; rho and a Gaussian's mu² add as square roots do. Needs the full product domain and no leak.
    """
    return _union(tuple(costs))


@lru_cache(maxsize=1 << 10)
def _union(steps: tuple[Cost, ...]) -> Cost:
    epsilon: Extended = Fraction(0)
    roots: list[Fraction] = []
    concentrated = True
    for cost in steps:
        if cost.leak:
            raise ParameterError("A cost with a leak has no union bound; ask for the whole person instead.")
        epsilon = epsilon + cost.epsilon
        rho = cost.rho(INFINITY)
        if isinstance(rho, Infinity):
            concentrated = False
        else:
            roots.append(rho)
    curve = None
    if concentrated:
        joined = unit_up(lambda: sum((rational_ball(rho).sqrt() for rho in roots), rational_ball(0)) ** 2)
        curve = LinearCurve(joined) if joined is not None else None
    pure = Cost.pure(epsilon) if isinstance(epsilon, Fraction) else None
    gauss = smallest((_distances(steps), pure.gauss if pure else UNKNOWN_GAUSS))
    curves = [part for part in (curve, pure.curve if pure else None) if part is not None]
    return Cost(epsilon, least(curves) if curves else UNKNOWN, gauss=gauss)


def _distances(steps: tuple[Cost, ...]) -> Gauss:
    """Return (the sum of mu)² where every step is Gaussian; nothing is known otherwise (AC-GAUSS)."""
    amounts = [cost.gauss.amount for cost in steps if isinstance(cost.gauss, Exactly)]
    joined = rounded_root_sum(amounts) if amounts and len(amounts) == len(steps) else None
    return UNKNOWN_GAUSS if joined is None else Exactly(joined)


def better(direct: Cost, joined: Cost) -> Cost:
    """Merge two bounds without leak, keeping the simple one where the other adds nothing."""
    if joined.epsilon < direct.epsilon or joined.rho(INFINITY) < direct.rho(INFINITY):
        return direct.merge(joined)
    return direct
