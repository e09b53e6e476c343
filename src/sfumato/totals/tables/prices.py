"""What a stack of tables costs: the largest sum over all ways in which one row can change."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.totals.tables.by_size import dearest_by_size
from sfumato.totals.tables.parts import Part

LISTED = 16
"""Up to so many columns all subsets are looked at."""

MISSED = Fraction(1, 10**12)
"""Sums in doubles miss less than this part of their terms: at most some 600 roundings of 2^-53, twice."""


def price_added(parts: Sequence[Part]) -> Fraction:
    """Return what one row more or less costs: every table moves, whatever the row says."""
    return sum((part.added() for part in parts), Fraction(0))


def price_replaced(parts: Sequence[Part], free: frozenset[int]) -> Fraction:
    """Return the most that a row costs of which some of the `free` columns change, proved from above.

    Exact for one- and two-way tables of which all pairs share the same amount; to twelve digits, raised, for up to 16
    columns and where columns of one size may be exchanged; table by table elsewhere.
    """
    touched = [part for part in parts if not free.isdisjoint(part.columns)]
    columns = sorted(free.intersection(*[{c for part in touched for c in part.columns}])) if touched else []
    if not columns:
        return Fraction(0)
    alike = _alike(touched, columns)
    if alike is not None:
        return alike
    bound = sum((part.most(free) for part in touched), Fraction(0))
    changed = _dearest(touched, columns) if len(columns) <= LISTED else dearest_by_size(touched, free)
    if changed is None:
        return bound
    exact = sum((part.replaced(changed) for part in touched), Fraction(0))
    # The terms of what was looked through are weight·Π stays, at most twice what a row that comes costs.
    return min(bound, exact + 2 * MISSED * price_added(touched))


def _alike(parts: Sequence[Part], columns: list[int]) -> Fraction | None:
    """Return the price of one- and two-way tables that share alike, None for others.

    The price of a changed set J is Σ_{a in J} own(a) - Σ_{pairs inside J} shared(a, b). If all pairs share the same
    amount, the best J of each size has the largest own prices.
    """
    free = frozenset(columns)
    if any(len(free.intersection(part.columns)) > 2 for part in parts):
        return None
    shared = _shared(parts, free)
    amounts = {shared.get(pair, Fraction(0)) for pair in combinations(columns, 2)}
    if len(amounts) > 1:
        return None
    amount = amounts.pop() if amounts else Fraction(0)
    own = (sum((part.replaced(frozenset((c,))) for part in parts if c in part.columns), Fraction(0)) for c in columns)
    ranked = sorted(own, reverse=True)
    return max(
        sum(ranked[:count], Fraction(0)) - amount * (count * (count - 1) // 2) for count in range(1, len(ranked) + 1)
    )


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


def _dearest(parts: Sequence[Part], columns: list[int]) -> frozenset[int]:
    """Return the set of columns whose change costs the most, up to what doubles miss.

    A change costs Σ weight·Π stays, which is the same for all sets J, less Σ weight·Π of what stays and changes. The
    latter is wanted for all J at once: every column in turn exchanges "is in the table or not" for "changes or not".
    """
    places = {column: at for at, column in enumerate(columns)}
    sums = np.zeros(1 << len(columns))
    for kind in {_kind(part) for part in parts}:
        sums += _over_all([part for part in parts if _kind(part) == kind], places)
    best = int(sums.argmin())
    return frozenset(column for column, at in places.items() if best >> at & 1)


def _kind(part: Part) -> tuple[bool, str]:
    """Return what decides the factors of a column, beside its size."""
    return part.centred, type(part.law).__name__


def _over_all(parts: Sequence[Part], places: dict[int, int]) -> NDArray[np.float64]:
    """Return Σ weight·Π of what stays and changes for every set of changed columns, of tables of one kind."""
    weights: dict[int, Fraction] = {}
    pairs: dict[int, tuple[float, float]] = {}
    for part in parts:
        weight, factors = part.factors()
        own = dict(zip(part.columns, factors, strict=True))
        fixed = prod(stays for column, (stays, _) in own.items() if column not in places)
        mask = sum(1 << places[column] for column in own if column in places)
        weights[mask] = weights.get(mask, Fraction(0)) + weight * fixed
        pairs |= {column: (float(stays), float(changes)) for column, (stays, changes) in own.items()}
    sums = np.zeros(1 << len(places))
    sums[list(weights)] = [float(weight) for weight in weights.values()]
    for column, at in places.items():
        stays, changes = pairs.get(column, (1.0, 0.0))
        without, within = sums.reshape(-1, 2, 1 << at).transpose(1, 0, 2)
        sums = np.stack([without + stays * within, without + changes * within], axis=1).reshape(-1)
    return sums
