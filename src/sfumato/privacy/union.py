"""Changing several attributes one after the other: what it costs at most (PDP:C-4)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from sfumato.errors import ParameterError
from sfumato.exact import INFINITY, Extended, Infinity, rational_ball, unit_up
from sfumato.privacy.cost import Cost
from sfumato.privacy.derived import least
from sfumato.privacy.forms import UNKNOWN, LinearCurve


def union(costs: Iterable[Cost]) -> Cost:
    """Return the cost of changing several sets of attributes one after the other (PDP:C-4).

    Epsilons add; rho adds as square roots do. Needs the full product domain and no leak.
    """
    epsilon: Extended = Fraction(0)
    roots: list[Fraction] = []
    concentrated = True
    for cost in costs:
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
    curves = [part for part in (curve, pure.curve if pure else None) if part is not None]
    if not curves:
        return Cost(INFINITY, UNKNOWN)
    return Cost(epsilon, least(curves))


def better(direct: Cost, joined: Cost) -> Cost:
    """Merge two bounds without leak, keeping the simple one where the other adds nothing."""
    if joined.epsilon < direct.epsilon or joined.rho(INFINITY) < direct.rho(INFINITY):
        return direct.merge(joined)
    return direct
