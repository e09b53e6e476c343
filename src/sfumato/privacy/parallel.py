"""Parallel composition: disjoint parts of the people, each with its own mechanism.

The one place that reads both relations. Under replace-one a record may leave one part and enter another, or
change inside its part; under add-remove it is in one part only.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.errors import NotProvable, ParameterError, RelationMismatch
from sfumato.exact import Infinity
from sfumato.privacy.cost import Cost, grown_leak
from sfumato.privacy.derived import greatest
from sfumato.privacy.gauss import largest
from sfumato.privacy.relations import Relation


def worst_of(costs: Sequence[Cost]) -> Cost:
    """Return a cost that covers each of these: one of them happens, and it is not known which.

    >>> worst_of([Cost.pure(1), Cost.pure(2)]).epsilon
    Fraction(2, 1)
    """
    if not costs:
        return Cost.zero()
    return Cost(
        max(cost.epsilon for cost in costs),
        greatest(cost.curve for cost in costs),
        max(cost.leak for cost in costs),
        largest(cost.gauss for cost in costs),
    )


def parallel(
    parts: Sequence[Cost],
    relation: Relation,
    inside: Sequence[Cost] | None = None,
    moves: bool = True,
) -> Cost:
    """Return the cost of one mechanism on each part of a fixed partition (TCDP:C-PAR, PL:C-PAR, LF-PAR).

    `parts` are the add-remove costs of the parts, `inside` their replace-one costs (derived as groups of two
    people where they are not given). `moves=False` says that what changes cannot move a record to another
    part: no key column is among the attributes in question. The partition is a public rule on the record,
    its list of parts is fixed, empty parts are run too, and the parts draw independently.

    >>> from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
    >>> parallel([Cost.pure(1)] * 5, ADD_REMOVE).epsilon, parallel([Cost.pure(1)] * 5, REPLACE_ONE).epsilon
    (Fraction(1, 1), Fraction(2, 1))
    """
    if not isinstance(relation, Relation):
        raise RelationMismatch("relation must be REPLACE_ONE or ADD_REMOVE.")
    if inside is not None and len(inside) != len(parts):
        raise ParameterError("inside= needs one replace-one cost for every part.")
    if relation is Relation.ADD_REMOVE:
        return worst_of(parts)
    changed = list(inside) if inside is not None else [twice(cost) for cost in parts]
    if not moves or len(parts) == 1:
        return worst_of(changed)
    return worst_of([*changed, *_moving(parts)])


def _moving(parts: Sequence[Cost]) -> list[Cost]:
    """Return the pairs that can be the worst: a record leaves one part and enters another.

    Equal costs need one pair only, so a thousand equal groups stay cheap.
    """
    counts: dict[Cost, int] = {}
    for cost in parts:
        counts[cost] = counts.get(cost, 0) + 1
    distinct = list(counts)
    if len(distinct) > 64:
        # Many different costs: the sum of the two largest entries of each kind covers every pair.
        top = worst_of(distinct)
        return [top + top]
    pairs = [first + second for i, first in enumerate(distinct) for second in distinct[i + 1 :]]
    return pairs + [cost + cost for cost in distinct if counts[cost] > 1]


def twice(cost: Cost) -> Cost:
    """Return the replace-one cost of a mechanism known under add-remove: one record leaves, one enters."""
    return times(cost, 2)


def times(cost: Cost, records: int) -> Cost:
    """Return what so many records cost that leave or enter, one after the other, each at this add-remove cost."""
    if cost.leak == 0 or records == 1:
        return cost.for_group(records)
    if isinstance(cost.epsilon, Infinity):
        raise NotProvable("A cost with a leak and no epsilon has no replace-one form; state it directly with inside=.")
    eps, leak = cost.epsilon, cost.leak
    grown = grown_leak(eps, leak, records)
    if grown is None:
        several = "two" if records == 2 else str(records)
        raise NotProvable(
            f"The leak of {several} changed records reaches 1, which promises nothing; use a smaller delta."
        )
    return Cost.leaking(records * eps, grown)
