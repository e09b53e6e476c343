"""Views of a cost: (rho, omega) pairs, Rényi orders, groups of people, and the part that spoils a total (TCDP-ACCT).

A cost keeps its whole curve; these functions read it. Every number is on the safe side, and what no theorem
gives is refused with a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.errors import NotProvable, ParameterError, warn
from sfumato.exact.infinity import INFINITY, Extended, Infinity
from sfumato.exact.rational import Number, above_zero, at_least_zero, between_zero_and_one, exact, float_log, show
from sfumato.privacy.bounds import Concentrated, Truncated
from sfumato.privacy.conversion import nearby
from sfumato.privacy.cost import Cost
from sfumato.privacy.curve import orders

LARGEST_OMEGA = Fraction(1 << 14)
"""How far `omega_at` and `frontier` look when a curve has no end."""

GROUPS = (1, 2, 5, 10, 50)


def _without_leak(cost: Cost) -> Cost:
    """Refuse what has a delta: a mass of delta on which two laws do not overlap has infinite divergence."""
    if cost.leak:
        raise NotProvable(
            "An (epsilon, delta) promise with delta above 0 gives no concentrated one at any order (TCDP:C-FROMDP): "
            "all of delta may sit where the neighbour has no mass. Use Pure, Concentrated or Truncated spends.",
            {"leak": cost.leak},
        )
    return cost


def rho_at(cost: Cost, omega: Number) -> Extended:
    """Return the smallest rho proved for all orders up to omega (TCDP:C-RDP, D-GRIDCERT).

    >>> rho_at(Cost.truncated("1/10", 8), 5)
    Fraction(1, 10)
    """
    limit = _order(omega)
    curve = _without_leak(cost).curve
    closed = curve.rho(limit)
    return min(closed, curve.certified_rho(limit, enough=closed))


def omega_at(cost: Cost, rho: Number) -> Extended:
    """Return an order up to which this rho is proved, rounded down; no further than 16384 if it is not all orders.

    >>> omega_at(Cost.truncated("1/10", 8), "1/10"), omega_at(Cost.concentrated("1/10"), 1)
    (Fraction(8, 1), ∞)
    """
    limit = at_least_zero(rho, "rho")
    curve = _without_leak(cost).curve
    if curve.rho(INFINITY) <= limit:
        return INFINITY
    end = _last(curve.end)
    if end > 1 and curve.rho(end) <= limit:
        return end
    reached = Fraction(1)
    for order in orders(end) if end > 1 else ():
        value = curve.at(order)
        if isinstance(value, Infinity) or value / reached > limit:
            break
        reached = order
    if reached == 1:
        raise NotProvable(
            f"No order is proved at rho {show(limit)}: already near order 1 the cost is higher; allow a larger rho.",
            {"rho": limit},
        )
    return reached


def frontier(cost: Cost, points: int = 24) -> tuple[Truncated | Concentrated, ...]:
    """Return bounds (rho, omega) that the cost satisfies, none of which implies another, small omega first.

    >>> [(float(b.rho), float(b.omega)) for b in frontier(Cost.truncated("1/10", 8))]
    [(0.1, 8.0)]
    """
    if isinstance(points, bool) or not isinstance(points, int) or points < 1:
        raise ParameterError("points must be a whole number of at least 1.")
    curve = _without_leak(cost).curve
    end = _last(curve.end)
    found: list[Truncated | Concentrated] = []
    highest = curve.rho(end) if end > 1 else INFINITY
    worst, below, kept = Fraction(0), Fraction(1), Fraction(1)
    for order in orders(end) if end > 1 else ():
        value = curve.at(order)
        if isinstance(value, Infinity):
            break
        worst, below = max(worst, value / below), order
        if order == end or float(order) >= float(kept) * float(end) ** (1 / points):
            kept = order
            found = _undominated(found, min(highest, worst), order)
    everywhere = curve.rho(INFINITY)
    if isinstance(everywhere, Fraction):
        found = [bound for bound in found if bound.rho < everywhere] + [Concentrated(everywhere)]
    return tuple(found)


def _undominated(
    found: list[Truncated | Concentrated], rho: Extended, omega: Fraction
) -> list[Truncated | Concentrated]:
    if isinstance(rho, Infinity):
        return found
    return [bound for bound in found if bound.rho < rho] + [Truncated(rho, omega)]


def to_rdp(cost: Cost, at: Iterable[Number]) -> tuple[tuple[Fraction, Extended], ...]:
    """Return (order, Rényi loss) pairs, rounded up, as other accountants take them.

    >>> to_rdp(Cost.concentrated("1/4"), [2, 8])
    ((Fraction(2, 1), Fraction(1, 2)), (Fraction(8, 1), Fraction(2, 1)))
    """
    whole = _without_leak(cost)
    return tuple((order, whole.tau(order)) for order in map(_order, at))


def to_concentrated(cost: Cost) -> Concentrated:
    """Return rho for all orders, refusing what holds up to a finite order only (TCDP:C-ZCDP)."""
    rho = _without_leak(cost).rho(INFINITY)
    if isinstance(rho, Infinity):
        end = cost.curve.end
        raise NotProvable(
            f"This cost is bounded up to order {show(end)} only, and gives no rho for all orders; "
            "use to_truncated(cost, omega).",
            {"omega": end},
        )
    return Concentrated(rho)


def to_truncated(cost: Cost, omega: Number) -> Truncated:
    """Return the truncated bound up to omega, refusing what has none."""
    limit = _order(omega)
    rho = rho_at(cost, limit)
    if isinstance(rho, Infinity):
        raise NotProvable(
            f"This cost is bounded up to order {show(cost.curve.end)} only; write a smaller omega than {show(limit)}.",
            {"omega": cost.curve.end},
        )
    return Truncated(rho, limit)


def wanted_omega(rho: Number, delta: Number) -> Fraction:
    """Return 1 + sqrt(log(1/delta)/rho), rounded up: the order that a conversion at this delta wants.

    A smaller omega costs epsilon dearly: the paper's 1/sqrt(2 rho) gives 10.2 instead of 2.14 at rho 0.1.

    >>> float(wanted_omega(0.1, 1e-6))
    12.753941
    """
    value, allowed = above_zero(rho, "rho"), between_zero_and_one(delta, "delta")
    level = -float_log(allowed)
    order = 1 + math.sqrt(level / nearby(value)) if nearby(value) else math.inf
    return Fraction(math.ceil(order * 10**6), 10**6) if math.isfinite(order) else LARGEST_OMEGA


@dataclass(frozen=True)
class GroupRow:
    """What a group of people gets: epsilon at the delta asked for, or the sentence why nothing is promised."""

    people: int
    epsilon: Extended
    why: str = ""


def group_report(cost: Cost, delta: Number, sizes: Sequence[int] = GROUPS) -> tuple[GroupRow, ...]:
    """Return the epsilon of groups of several sizes at one delta (TCDP:C-GRP, C-GRPBIG, C-GRPDP).

    >>> [float(row.epsilon) for row in group_report(Cost.pure("1/10"), 0, (1, 3))]
    [0.1, 0.3]
    """
    rows = []
    for people in sizes:
        try:
            rows.append(GroupRow(people, cost.for_group(people).epsilon_at(delta)))
        except NotProvable as refusal:
            rows.append(GroupRow(people, INFINITY, str(refusal)))
    return tuple(rows)


@dataclass(frozen=True)
class Account:
    """The total of several named parts, and the part that cuts it short, if one does."""

    total: Cost
    epsilon: Extended
    culprit: str | None


def account(parts: Mapping[str, Cost], delta: Number) -> Account:
    """Add named parts, and warn if one of them ends at so small an order that it spoils the epsilon of all.

    >>> account({"counts": Cost.concentrated("1/10"), "ages": Cost.concentrated("1/10")}, 1e-6).total.rho()
    Fraction(1, 5)
    """
    total = Cost.zero()
    for cost in parts.values():
        total = total + cost
    culprit = truncating(parts, delta)
    if culprit is not None:
        warn(
            f"{culprit!r} is bounded up to order {show(parts[culprit].curve.end)} only, which makes the epsilon of "
            f"everything together poor at this delta; give it a larger omega."
        )
    return Account(total, total.epsilon_at(delta), culprit)


def truncating(parts: Mapping[str, Cost], delta: Number) -> str | None:
    """Return the part whose omega is below what the total wants at this delta, None if all reach it."""
    allowed = between_zero_and_one(delta, "delta")
    limited = {name: cost.curve.end for name, cost in parts.items() if isinstance(cost.epsilon, Infinity)}
    if not limited:
        return None
    culprit = min(limited, key=limited.__getitem__)
    end = limited[culprit]
    if isinstance(end, Infinity) or end <= 1:
        return None if isinstance(end, Infinity) else culprit
    rho = sum((cost.rho(end) for cost in parts.values()), Fraction(0))
    if rho == 0 or isinstance(rho, Infinity):
        return None if rho == 0 else culprit
    return culprit if end < wanted_omega(rho, allowed) else None


def _order(omega: Number) -> Fraction:
    limit = exact(omega, "omega")
    if limit <= 1:
        raise ParameterError(f"A Rényi order must be above 1, and {show(limit)} is not.")
    return limit


def _last(end: Extended) -> Fraction:
    return LARGEST_OMEGA if isinstance(end, Infinity) else min(end, LARGEST_OMEGA)
