"""Which change is the dearest for tables that treat columns of one size alike: how many of each size change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from sfumato.totals.tables.parts import Part

MOST_WAYS, MOST_KINDS = 2**20, 500
"""So many ways to change are looked at, for so many kinds of tables."""

Class = tuple[int, bool]
"""Columns of one size, and whether they may change."""
Shape = tuple[tuple[Class, int], ...]
"""How many columns of each class a table has."""


def dearest_by_size(parts: Sequence[Part], free: frozenset[int]) -> frozenset[int] | None:
    """Return a set of `free` columns whose change costs the most, up to what doubles miss; None where there is no rule.

    Columns are alike if with every table all others of the same sizes are there, with the same noise. A set of changed
    columns then costs what any other costs that has as many of each class.
    """
    sizes = {column: size for part in parts for column, size in zip(part.columns, part.sizes, strict=True)}
    classes = {column: (size, column in free) for column, size in sizes.items()}
    members = Counter(classes.values())
    kinds = _kinds(parts, classes, members)
    changing = sorted(one for one in members if one[1])
    if kinds is None or len(kinds) > MOST_KINDS or prod(members[one] + 1 for one in changing) > MOST_WAYS:
        return None
    sums = np.zeros([members[one] + 1 for one in changing])
    for shape, part in kinds:
        sums += _over_all(part, dict(shape), changing, members)
    counts = np.unravel_index(int(sums.argmin()), sums.shape)
    chosen = (
        sorted(column for column, own in classes.items() if own == one)[: int(count)]
        for one, count in zip(changing, counts, strict=True)
    )
    return frozenset(column for some in chosen for column in some)


def _kinds(
    parts: Sequence[Part], classes: Mapping[int, Class], members: Mapping[Class, int]
) -> list[tuple[Shape, Part]] | None:
    """Return one table of every kind, None if one of a kind is missing or has other noise."""
    found: dict[tuple[Shape, bool, object, int], list[Part]] = {}
    for part in parts:
        shape = tuple(sorted(Counter(classes[column] for column in part.columns).items()))
        found.setdefault((shape, part.centred, part.law, part.times), []).append(part)
    for (shape, *_), listed in found.items():
        different = len({part.columns for part in listed})
        if different != len(listed) or different != prod(comb(members[one], count) for one, count in shape):
            return None
    return [(shape, listed[0]) for (shape, *_), listed in found.items()]


def _over_all(
    part: Part, shape: Mapping[Class, int], changing: Sequence[Class], members: Mapping[Class, int]
) -> NDArray[np.float64]:
    """Return Σ weight·Π of what stays and changes over the tables of one kind, for all numbers of changed columns."""
    weight, factors = part.factors()
    pairs = dict(zip(part.sizes, factors, strict=True))
    fixed = prod(
        comb(members[one], count) * pairs[one[0]][0] ** count for one, count in shape.items() if one not in changing
    )
    axes = [_one_class(members[one], shape.get(one, 0), pairs.get(one[0], (1, 1))) for one in changing]
    return reduce(np.multiply.outer, axes, np.asarray(float(weight * fixed)))


def _one_class(members: int, inside: int, pair: tuple[int, int]) -> NDArray[np.float64]:
    """Return the sum over the tables' columns of one class, by how many of the class change.

    Of the `inside` columns of a table some are among those that change, and the others stay.
    """
    stays, changes = pair
    return np.array(
        [
            float(
                sum(
                    comb(changed, moved)
                    * comb(members - changed, inside - moved)
                    * changes**moved
                    * stays ** (inside - moved)
                    for moved in range(inside + 1)
                )
            )
            for changed in range(members + 1)
        ]
    )
