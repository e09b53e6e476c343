"""Tables of counts that agree with each other: the same totals wherever they show the same columns.

A table over columns A splits into effects, one for each subset S of A: a table over S whose sums along every column
are zero. Two tables agree exactly if they share the effects of the subsets that both have. In the table A the effect
z_S is spread over the N cells of the other columns, so that it weighs |z_S|²/N there; the nearest agreeing tables have
for every S the mean of its effects, weighted by 1/N.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROUNDS = 300
STIFF = 3.0
"""How strongly the two halves of the problem pull at each other; it decides how fast they meet, not where."""

RELAXED = 1.6
SETTLED = 0.02
"""The halves have met where they differ by less than this part of the noise."""


def consistent(
    names: Sequence[tuple[str, ...]], tables: Sequence[Floats], total: float, deviation: float
) -> list[Floats]:
    """Return the nearest tables that agree, are nowhere below zero and add up to `total`.

    No count is below zero and every table adds up to the total; that tables agree holds up to a few hundredths of
    `deviation`, the width of the noise. The set of such tables is convex and holds the truth, so that the squared
    error does not grow by projecting onto it (PDP-PROJ, local). Alternating directions: one half agrees, the other is
    nowhere negative, and what keeps them apart is remembered. Time: a few passes over all cells a round, about 15
    rounds.
    """
    shapes = [_Shape(columns, table.shape) for columns, table in zip(names, tables, strict=True)]
    given = _agreeing(
        shapes, [table.transpose(shape.order) for shape, table in zip(shapes, tables, strict=True)], total
    )
    positive = [np.maximum(table, 0.0) for table in given]
    memory = [np.zeros_like(table) for table in given]
    for _ in range(ROUNDS):
        pulled = [
            (table + STIFF * (other - kept)) / (1 + STIFF)
            for table, other, kept in zip(given, positive, memory, strict=True)
        ]
        agreeing = _agreeing(shapes, pulled, total)
        apart = 0.0
        for place, table in enumerate(agreeing):
            leaning = RELAXED * table + (1 - RELAXED) * positive[place] + memory[place]
            positive[place] = np.maximum(leaning, 0.0)
            memory[place] = leaning - positive[place]
            apart = max(apart, float(np.abs(table - positive[place]).max()))
        if apart <= SETTLED * deviation:
            break
    return [_to_total(table, total).transpose(shape.back) for shape, table in zip(shapes, positive, strict=True)]


def _to_total(table: Floats, total: float) -> Floats:
    found = float(table.sum())
    return table * (total / found) if found > 0 else np.full(table.shape, total / table.size)


def _agreeing(shapes: Sequence[_Shape], tables: Sequence[Floats], total: float) -> list[Floats]:
    """Return the nearest tables that agree and add up to `total`; the effect of a whole table is its own."""
    sums: dict[tuple[str, ...], Floats] = {}
    weights: dict[tuple[str, ...], float] = {}
    found = []
    for shape, table in zip(shapes, tables, strict=True):
        effects = shape.effects(table)
        found.append(effects)
        for axes, effect in effects.items():
            subset, spread = shape.subsets[axes]
            sums[subset] = sums[subset] + effect / spread if subset in sums else effect / spread
            weights[subset] = weights.get(subset, 0.0) + 1 / spread
    means = {subset: sums[subset] / weights[subset] for subset in sums}
    means[()] = np.asarray(total)
    return [shape.corrected(table, effects, means) for shape, table, effects in zip(shapes, tables, found, strict=True)]


class _Shape:
    """The columns of one table in the order of their names, so that equal effects of two tables line up."""

    def __init__(self, columns: tuple[str, ...], shape: tuple[int, ...]) -> None:
        self.order = sorted(range(len(columns)), key=lambda place: columns[place])
        self.back = np.argsort(self.order)
        names, self.sizes = [columns[place] for place in self.order], [shape[place] for place in self.order]
        self.whole = tuple(range(len(names)))
        self.subsets = {
            axes: (
                tuple(names[axis] for axis in axes),
                prod(self.sizes[axis] for axis in self.whole if axis not in axes),
            )
            for axes in _subsets(len(names))
        }

    def effects(self, table: Floats) -> dict[tuple[int, ...], Floats]:
        """Return the effects of all smaller sets of axes; each sum is taken from the smallest one that has it."""
        sums: dict[tuple[int, ...], Floats] = {self.whole: table}
        for axes in sorted(self.subsets, key=len, reverse=True)[1:]:
            extra = max(axis for axis in self.whole if axis not in axes)
            above = tuple(sorted((*axes, extra)))
            sums[axes] = sums[above].sum(axis=above.index(extra))
        del sums[self.whole]
        found = {}
        for axes, effect in sums.items():
            for axis in range(len(axes)):
                effect = effect - effect.mean(axis=axis, keepdims=True)  # noqa: PLW2901
            found[axes] = np.asarray(effect)
        return found

    def corrected(
        self, table: Floats, effects: dict[tuple[int, ...], Floats], means: dict[tuple[str, ...], Floats]
    ) -> Floats:
        """Exchange the effects of a table for others, adding up small corrections before they meet the table."""
        shifts: dict[tuple[int, ...], Floats] = {}
        for axes in sorted(effects, key=len):
            subset, spread = self.subsets[axes]
            shift = (means[subset] - effects[axes]) / spread
            inside = next(
                (wide for wide in effects if len(wide) == len(self.whole) - 1 and set(axes) <= set(wide)), axes
            )
            wide = shift.reshape([self.sizes[axis] if axis in axes else 1 for axis in inside])
            shifts[inside] = shifts[inside] + wide if inside in shifts else wide
        found = table
        for axes, shift in shifts.items():
            found = found + shift.reshape([shift.shape[axes.index(axis)] if axis in axes else 1 for axis in self.whole])
        return found


def _subsets(width: int) -> chain[tuple[int, ...]]:
    return chain.from_iterable(combinations(range(width), size) for size in range(width + 1))
