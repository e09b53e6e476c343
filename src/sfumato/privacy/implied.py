"""What limits imply for more people and for more attributes than they were written for.

Statements about a whole ledger as one mechanism, hence valid under adaptivity (LF-GROUP, LF-ATTR).
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.errors import NotProvable
from sfumato.exact import rational_ball, significant_up, unit_up
from sfumato.privacy.bounds import Approximate, Bound, Concentrated, Pure, Truncated
from sfumato.privacy.cost import grown_leak


def bound_for_group(bound: Bound, people: int) -> Bound | None:
    """Return what a limit on single people implies for `people` people together, None if nothing.

    >>> bound_for_group(Concentrated("1/10"), 3)
    Concentrated(9/10)
    """
    if people == 1:
        return bound
    match bound:
        case Pure():
            return Pure(bound.epsilon * people, unit=bound.unit)
        case Concentrated():
            return Concentrated(bound.rho * people**2, unit=bound.unit)
        case Truncated():
            # Beyond omega people only one order is left, which no bound can say: see Cost.for_group.
            omega = bound.omega / people
            return Truncated(bound.rho * people**2, omega, unit=bound.unit) if omega > 1 else None
        case Approximate():
            delta = grown_leak(bound.epsilon, bound.delta, people)
            return Approximate(bound.epsilon * people, delta) if delta is not None else None
    raise NotProvable(f"Nothing is known about groups under {bound!r}.")


def bound_for_union(first: Bound, second: Bound) -> Bound | None:
    """Return what limits on two sets of attributes imply for both sets together, None if nothing.

    >>> bound_for_union(Pure(1), Pure(2))
    Pure(3)
    """
    match first, second:
        case Pure(), Pure():
            return Pure(first.epsilon + second.epsilon)
        case Concentrated(), Concentrated():
            one, two = first.rho, second.rho
            joined = unit_up(lambda: (rational_ball(one).sqrt() + rational_ball(two).sqrt()) ** 2)
            return Concentrated(joined) if joined is not None else None
        case Approximate(), Approximate():
            delta = min(_chained(first, second), _chained(second, first))
            return Approximate(first.epsilon + second.epsilon, delta) if delta < 1 else None
    return None


def _chained(first: Approximate, second: Approximate) -> Fraction:
    if first.epsilon > second.delta.denominator.bit_length():
        return Fraction(1)
    grown = significant_up(
        lambda: rational_ball(first.delta) + rational_ball(first.epsilon).exp() * rational_ball(second.delta)
    )
    return Fraction(1) if grown is None else grown
