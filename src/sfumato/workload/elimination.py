"""The largest sum of tables that share columns, found by maximising over one column at a time.

The codes of a column are maximised over within the sum of the tables that see it. Nothing is lost by that, so the
result is exact as long as the tables in between fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.int64]
Named = tuple[tuple[str, ...], Table]

WORK = 2**24
"""An exact sum may look at so many numbers."""

SMALL = 2**14
"""Where it would look at more, tables in between are kept as small as this, and the result is a bound."""


@dataclass(frozen=True)
class Factor:
    """A part of a sum, for every combination of states of some columns: three numbers each, l1, l2² and changed."""

    columns: tuple[str, ...]
    sums: tuple[Table, Table, Table]

    @property
    def counts(self) -> bool:
        """Whether the three are the same, as they are where every number moves by one or not at all."""
        return all(np.array_equal(self.sums[0], other) for other in self.sums[1:])


def largest_sums(factors: Sequence[Factor]) -> tuple[int, int, int]:
    """Return the largest l1, l2² and changed, each over all combinations of states."""
    if all(factor.counts for factor in factors):
        return (largest_sum([(factor.columns, factor.sums[0]) for factor in factors]),) * 3
    l1, squares, changed = (
        largest_sum([(factor.columns, factor.sums[norm]) for factor in factors]) for norm in range(3)
    )
    return l1, squares, changed


def largest_sum(tables: Sequence[Named]) -> int:
    """Return the largest sum of tables over shared columns.

    Exact where finding it looks at no more than `WORK` numbers. Elsewhere the tables that see a column are maximised
    over it in several groups, each on its own, which can only make the result larger.

    >>> one, two = np.array([[0, 3], [2, 0]]), np.array([[5, 0], [0, 1]])
    >>> largest_sum([(("a", "b"), one), (("b", "c"), two)])
    7
    """
    sizes = {name: size for columns, table in tables for name, size in zip(columns, table.shape, strict=True)}
    order, work = _order([frozenset(columns) for columns, _ in tables], sizes)
    left = list(tables)
    for name in order:
        seeing = [one for one in left if name in one[0]]
        left = [one for one in left if name not in one[0]]
        groups = [seeing] if work <= WORK else _fitting(seeing, sizes)
        left.extend(_maximised(group, name) for group in groups)
    return sum(int(table) for _, table in left)


def _order(scopes: Sequence[frozenset[str]], sizes: Mapping[str, int]) -> tuple[list[str], int]:
    """Return an order of the columns, the one whose table is smallest first, and how many numbers it looks at."""
    left, order, work = set(scopes), [], 0
    names = sorted(sizes)
    while names:
        joined = {name: frozenset[str]().union(*(scope for scope in left if name in scope)) for name in names}
        cost = {name: prod(sizes[other] for other in joined[name]) for name in names}
        name = min(names, key=cost.__getitem__)
        work += cost[name] * sum(name in scope for scope in left)
        left = {scope for scope in left if name not in scope} | {joined[name] - {name}}
        order.append(name)
        names.remove(name)
    return order, work


def _fitting(tables: Sequence[Named], sizes: Mapping[str, int]) -> list[list[Named]]:
    """Return the tables in groups whose sum is small."""
    groups: list[tuple[set[str], list[Named]]] = []
    for one in sorted(tables, key=lambda table: -table[1].size):
        for seen, group in groups:
            if prod(sizes[name] for name in seen.union(one[0])) <= SMALL:
                seen.update(one[0])
                group.append(one)
                break
        else:
            groups.append((set(one[0]), [one]))
    return [group for _, group in groups]


def _maximised(tables: Sequence[Named], name: str) -> Named:
    """Return the sum of some tables, maximised over the codes of one column."""
    names = sorted({other for columns, _ in tables for other in columns})
    total: Table = np.zeros((1,) * len(names), dtype=np.int64)
    for columns, table in tables:
        sizes = dict(zip(columns, table.shape, strict=True))
        ordered = table.transpose([columns.index(other) for other in names if other in sizes])
        total = total + ordered.reshape([sizes.get(other, 1) for other in names])
    return tuple(other for other in names if other != name), total.max(axis=names.index(name))
