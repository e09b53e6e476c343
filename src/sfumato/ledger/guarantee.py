"""What limits guarantee and imply: for more attributes, for more people; never what was spent (LF-ATTR, LF-GROUP)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from math import inf, sqrt
from typing import NamedTuple

from sfumato.exact import Extended
from sfumato.ledger.budget import Limit
from sfumato.ledger.units import Unit, most_met
from sfumato.privacy import REPLACE_ONE, Approximate, Attributes, Bound, Concentrated, Cost, Everything, Pure, Relation
from sfumato.privacy.implied import bound_for_group, bound_for_union

COMPARED_AT = Fraction(1, 10**6)
"""The delta at which bounds of different kinds are compared; any of them would be true."""

SEARCHED = 12
"""Sets of at most so many attributes are covered by limits in the best way, larger ones greedily."""


class Unbounded(Enum):
    """The guarantee where no limit reaches."""

    UNBOUNDED = "unbounded"

    def __repr__(self) -> str:
        return "UNBOUNDED"

    def __bool__(self) -> bool:
        return False


UNBOUNDED = Unbounded.UNBOUNDED


def guaranteed(
    limits: Iterable[Limit], names: Attributes, people: int, relation: Relation = REPLACE_ONE
) -> Bound | Unbounded:
    """Return the best that these limits promise for `names` of `people` people together (SM-ATTR).

    Under add-remove neighbours a limit on whole people speaks of who is there; for attributes it counts twice.

    >>> from sfumato.privacy import EVERYTHING
    >>> limits = [Limit(EVERYTHING, Pure(9)), Limit("age", Pure(1)), Limit("sex", Pure(2))]
    >>> guaranteed(limits, frozenset({"age", "sex"}), 1), guaranteed(limits, frozenset({"age"}), 3)
    (Pure(3), Pure(3))
    >>> from sfumato.privacy import ADD_REMOVE
    >>> guaranteed([Limit(EVERYTHING, Pure(1))], frozenset({"sex"}), 2, ADD_REMOVE)
    Pure(4)
    """
    lifted = [(limit.on, bound) for limit in limits if (bound := _for_people(limit, names, people, relation))]
    found = [bound for on, bound in lifted if _covers(on, names)]
    if not isinstance(names, Everything) and len(names) > 1:
        parts = [
            (frozenset(on & names), bound) for on, bound in lifted if not isinstance(on, Everything) and on & names
        ]
        found += _unions(parts, names)
    return min(found, key=_strength) if found else UNBOUNDED


class OverDays(NamedTuple):
    """What holds for some days in a row of a person, and the limit from which it follows."""

    bound: Bound
    unit: str = ""
    """The unit of the limit; empty if it is one for a lifetime."""
    limit: Bound | None = None
    slots: int = 1
    """How many periods of that unit the days meet at most."""


def guaranteed_over(
    days: int, units: Iterable[tuple[str, Bound]], whole: Bound | Unbounded, steps: int = 1
) -> OverDays | None:
    """Return the best that all limits promise for some days in a row, `whole` that of a lifetime (PB-UNIT).

    `steps` is how many people that takes, as `Relation.people_for` counts them.

    Several periods of a person are as many steps as they have periods, whatever a release reads of them: costs of
    periods add up only as long as every release reads one, and that a limit does not promise.

    >>> guaranteed_over(3, [("day", Concentrated("1/10"))], UNBOUNDED).bound
    Concentrated(9/10)
    """
    found = [] if isinstance(whole, Unbounded) else [OverDays(whole)]
    for unit, limit in units:
        if Unit.read(unit).column:
            continue  # how many values a column has, no ledger knows
        slots = most_met(unit, days)
        bound = bound_for_group(limit, slots * steps)
        if bound is not None:
            found.append(OverDays(bound, unit, limit, slots))
    return min(found, key=lambda one: _strength(one.bound), default=None)


def _covers(on: Attributes, names: Attributes) -> bool:
    if isinstance(on, Everything):
        return True
    return not isinstance(names, Everything) and names <= on


def groups_of(limit: Limit, names: Attributes, people: int, relation: Relation) -> int:
    """Return how many of a limit's changes, one after the other, change these attributes of so many people.

    A limit on p people holds for fewer, and for k people as for ceil(k/p) groups of p.
    """
    steps = relation.people_for(names, people) if isinstance(limit.on, Everything) else people
    return max(1, -(-steps // limit.people))


def _for_people(limit: Limit, names: Attributes, people: int, relation: Relation) -> Bound | None:
    return bound_for_group(limit.bound, groups_of(limit, names, people, relation))


@lru_cache(maxsize=1024)
def _strength(bound: Bound) -> Extended:
    return Cost.of(bound).epsilon_at(COMPARED_AT)


_WEIGHTS: dict[type[Bound], Callable[..., float]] = {
    Pure: lambda bound: float(bound.epsilon),
    Concentrated: lambda bound: sqrt(float(bound.rho)),
    Approximate: lambda bound: float(bound.epsilon),
}
"""What adds up when two sets of attributes are joined; only to look for a good cover, never as a bound."""


def _unions(parts: list[tuple[frozenset[str], Bound]], names: frozenset[str]) -> list[Bound]:
    found = []
    for kind, weight in _WEIGHTS.items():
        cheapest: dict[frozenset[str], tuple[float, Bound]] = {}
        for on, bound in parts:
            if isinstance(bound, kind) and weight(bound) < cheapest.get(on, (inf, bound))[0]:
                cheapest[on] = (weight(bound), bound)
        search = _best_cover if len(names) <= SEARCHED else _greedy_cover
        joined: Bound | None = None
        for number, bound in enumerate(search(cheapest, names)):
            joined = bound if number == 0 else bound_for_union(joined, bound) if joined is not None else None
        if joined is not None:
            found.append(joined)
    return found


def _best_cover(cheapest: dict[frozenset[str], tuple[float, Bound]], names: frozenset[str]) -> list[Bound]:
    """Cover the attributes with limits of least total weight, over all subsets."""
    bit = {name: 1 << place for place, name in enumerate(sorted(names))}
    pieces = [(sum(bit[name] for name in on), weight, bound) for on, (weight, bound) in cheapest.items()]
    whole = (1 << len(bit)) - 1
    best: list[tuple[float, list[Bound]]] = [(inf, []) for _ in range(whole + 1)]
    best[0] = (0.0, [])
    for covered in range(whole):
        weight, chosen = best[covered]
        for mask, extra, bound in pieces:
            wider = covered | mask
            if weight + extra < best[wider][0]:
                best[wider] = (weight + extra, [*chosen, bound])
    return best[whole][1]


def _greedy_cover(cheapest: dict[frozenset[str], tuple[float, Bound]], names: frozenset[str]) -> list[Bound]:
    missing, chosen = set(names), []
    while missing:
        useful = [(weight / len(on & missing), weight, on) for on, (weight, _) in cheapest.items() if on & missing]
        if not useful:
            return []
        _, _, on = min(useful, key=lambda choice: (choice[0], choice[1], sorted(choice[2])))
        chosen.append(cheapest[on][1])
        missing -= on
    return chosen
