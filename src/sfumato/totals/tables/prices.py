"""What a stack of tables costs: the largest sum over all ways in which one row can change."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from sfumato.totals.tables.parts import Part

LISTED = 16
"""Up to so many columns all subsets are looked at."""

ROUNDED_UP = 1 + Fraction(1, 10**9)
"""A largest value that was looked for in floats is raised by more than their error."""


def price_added(parts: Sequence[Part]) -> Fraction:
    """Return what one row more or less costs: every table moves, whatever the row says."""
    return sum((part.added() for part in parts), Fraction(0))


def price_replaced(parts: Sequence[Part], free: frozenset[int]) -> Fraction:
    """Return the most that a row costs of which some of the `free` columns change, proved from above.

    For one- and two-way tables the price of a changed set J is Σ_{a in J} own(a) - Σ_{pairs inside J} shared(a, b).
    If all pairs share the same amount, the best J of each size has the largest own prices, and the result is exact.
    """
    touched = [part for part in parts if not free.isdisjoint(part.columns)]
    columns = sorted(free.intersection(*[{c for part in touched for c in part.columns}])) if touched else []
    if not columns:
        return Fraction(0)
    bound = sum((_most_of(part, free) for part in touched), Fraction(0))
    if any(len(free.intersection(part.columns)) > 2 for part in touched):
        return bound
    own = {
        c: sum((part.replaced(frozenset((c,))) for part in touched if c in part.columns), Fraction(0)) for c in columns
    }
    shared = _shared(touched, free)
    return min(bound, _largest(columns, own, shared) or bound)


def _most_of(part: Part, free: frozenset[int]) -> Fraction:
    """Return the most that changes of the free columns of one table cost."""
    mine = sorted(free.intersection(part.columns))
    subsets = (frozenset(some) for width in range(1, len(mine) + 1) for some in combinations(mine, width))
    return max((part.replaced(some) for some in subsets), default=Fraction(0))


def _shared(parts: Sequence[Part], free: frozenset[int]) -> dict[tuple[int, int], Fraction]:
    """Return by how much both columns of a pair changing costs less than each of them changing alone."""
    found: dict[tuple[int, int], Fraction] = {}
    for part in parts:
        mine = tuple(sorted(free.intersection(part.columns)))
        if len(mine) == 2:
            apart = sum((part.replaced(frozenset((c,))) for c in mine), Fraction(0))
            first, second = mine
            found[first, second] = found.get((first, second), Fraction(0)) + apart - part.replaced(frozenset(mine))
    return found


def _largest(columns: list[int], own: dict[int, Fraction], shared: dict[tuple[int, int], Fraction]) -> Fraction | None:
    amounts = {shared.get(pair, Fraction(0)) for pair in combinations(columns, 2)}
    if len(amounts) <= 1:
        amount = amounts.pop() if amounts else Fraction(0)
        ranked = sorted(own.values(), reverse=True)
        sums = [
            sum(ranked[:count], Fraction(0)) - amount * (count * (count - 1) // 2)
            for count in range(1, len(ranked) + 1)
        ]
        return max(sums)
    if len(columns) > LISTED:
        return None
    prices = np.zeros(1)
    weights = np.array([float(own[c]) for c in columns])
    places = {c: at for at, c in enumerate(columns)}
    matrix = np.zeros((len(columns), len(columns)))
    for (first, second), amount in shared.items():
        matrix[places[first], places[second]] = matrix[places[second], places[first]] = float(amount)
    masks = (np.arange(1 << len(columns))[:, None] >> np.arange(len(columns)) & 1).astype(np.float64)
    prices = masks @ weights - 0.5 * np.einsum("ia,ab,ib->i", masks, matrix, masks, optimize=True)
    best = {columns[at] for at in np.flatnonzero(masks[int(prices.argmax())])}
    exact = sum((own[c] for c in best), Fraction(0))
    exact -= sum((amount for pair, amount in shared.items() if best.issuperset(pair)), Fraction(0))
    return exact * ROUNDED_UP
