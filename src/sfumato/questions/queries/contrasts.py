"""Tables of counts added up from contrasts, each measured once, and how far noise moves their cells (SY-RES)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.answer import NoisyPart, Released, half_width
from sfumato.noise import RoundedNormal
from sfumato.totals.tables.parts import Columns, Part
from sfumato.workload.workload import Workload

Floats = NDArray[np.float64]

ROWS, NAMED = "rows", "contrasts of "
"""What parts of an answer are called: the number of rows, and what some columns say beyond fewer of them."""

FINE = 10**8
"""Normal quantiles are looked up to so many parts of a deviation."""

DOUBLES = 1e-6
"""Sums of doubles miss by less than this many people where there are fewer than 10^8."""


def tables_of(workload: Workload) -> list[Columns]:
    """Return the columns of every block by their places among those of the workload; one code says nothing."""
    places = {name: place for place, name in enumerate(workload.columns)}
    return [
        tuple(sorted(places[name] for name, size in zip(block.columns, block.shape, strict=True) if size > 1))
        for block in workload.blocks
    ]


def subsets(columns: Columns) -> list[Columns]:
    """Return all sets of some columns, the empty one first.

    >>> subsets((0, 2))
    [(), (0,), (2,), (0, 2)]
    """
    return [some for width in range(len(columns) + 1) for some in combinations(columns, width)]


def measured_sets(workload: Workload) -> list[Columns]:
    """Return the sets of columns whose contrasts all tables are added up from, the empty one first."""
    return sorted({some for table in tables_of(workload) for some in subsets(table)}, key=lambda one: (len(one), one))


@dataclass(frozen=True)
class Contrasts:
    """The contrasts that all tables of a workload are added up from, and their noise; `total` is the public number.

    T_M = Σ over A inside M of E_A ⊗ 1/Π d: cells of one table all have the same variance.
    """

    workload: Workload
    parts: tuple[Part, ...]
    total: int | None

    @classmethod
    def read(cls, workload: Workload, released: Released) -> Contrasts:
        """Return what a stored answer was measured with."""
        people = released.facts.get("people")
        sizes = workload.space.shape(workload.columns)
        sets = measured_sets(workload)[0 if people is None else 1 :]
        parts = []
        for columns, stored in zip(sets, released.parts, strict=True):
            assert stored.law is not None
            own = tuple(sizes[place] for place in columns)
            parts.append(Part(columns, own, bool(columns), stored.law, stored.unit.denominator))
        return cls(workload, tuple(parts), None if people is None else int(people))

    @staticmethod
    def stored_in(released: Released) -> bool:
        """Tell whether an answer holds contrasts, not the numbers of blocks."""
        return released.parts[0].name == ROWS or released.parts[0].name.startswith(NAMED)

    def released(self, numbers: Sequence[NDArray[np.int64]]) -> tuple[NoisyPart, ...]:
        """Return what leaves the house: the integers of every set with their law."""
        names = self.workload.columns
        return tuple(
            NoisyPart(
                NAMED + " × ".join(names[place] for place in part.columns) if part.columns else ROWS,
                tuple(np.ravel(found).tolist()),
                part.law,
                Fraction(1, part.times),
            )
            for part, found in zip(self.parts, numbers, strict=True)
        )

    def tables(self, numbers: Sequence[NDArray[Any]]) -> tuple[Floats, ...]:
        """Return the unbiased tables of all blocks, each as one row of numbers; they agree with each other."""
        estimates = {
            part.columns: part.estimate(np.asarray(found).reshape(part.shape))
            for part, found in zip(self.parts, numbers, strict=True)
        }
        if self.total is not None:
            estimates[()] = np.asarray(float(self.total))
        return tuple(self._table(place, estimates) for place in range(len(self.workload.blocks)))

    def _table(self, place: int, estimates: Mapping[Columns, Floats]) -> Floats:
        block, names = self.workload.blocks[place], self.workload.columns
        columns = self._tables[place]
        sizes = [self._sizes[column] for column in columns]
        found = np.zeros(sizes)
        for some in subsets(columns):
            wide = [self._sizes[column] if column in some else 1 for column in columns]
            found += estimates[some].reshape(wide) / prod(self._outside(columns, some))
        # From the order of the workload's columns to that of the block; columns of one code change nothing.
        own = [names.index(name) for name in block.columns]
        order = [columns.index(column) for column in own if column in columns]
        return np.asarray(found.transpose(order).ravel())

    def variance(self, place: int) -> float:
        """Return the variance of a cell of a block, that of rounding included."""
        columns = self._tables[place]
        return sum(
            self._parts[some].variance() * self._share(columns, some)
            for some in subsets(columns)
            if some in self._parts
        )

    def width(self, place: int, confidence: Fraction) -> float:
        """Return a half-width within which the noise of a cell lies with at least this probability.

        A cell's noise is a normal number of known variance and what rounding the draws adds to it, at most half the
        sum of their absolute weights.
        """
        normal, rounding = self._spreads[place]
        if not normal:
            return 0.0
        quantile = (half_width(RoundedNormal(Fraction(FINE**2)), confidence) + 0.5) / FINE
        return quantile * math.sqrt(normal) * (1 + 1e-12) + rounding + DOUBLES

    def joint(self, confidence: Fraction) -> int:
        """Return a half-width that the noise of no answer leaves, with this confidence for all of them together."""
        each = 1 - (1 - confidence) / self.workload.queries
        return math.ceil(max(self.width(place, each) for place in range(len(self.workload.blocks))))

    @cached_property
    def _spreads(self) -> list[tuple[float, float]]:
        """The variance of the normal number in a cell of each block, and the most that rounding adds."""
        found = []
        for columns in self._tables:
            parts = [(some, self._parts[some]) for some in subsets(columns) if some in self._parts]
            normal = sum(_normal(part) * self._share(columns, some) for some, part in parts)
            rounding = sum(
                0.5 * _weights(part) / (part.times * prod(self._outside(columns, some))) for some, part in parts
            )
            found.append((normal, rounding))
        return found

    @cached_property
    def _parts(self) -> dict[Columns, Part]:
        return {part.columns: part for part in self.parts}

    @cached_property
    def _tables(self) -> list[Columns]:
        return tables_of(self.workload)

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        return self.workload.space.shape(self.workload.columns)

    def _outside(self, columns: Columns, some: Columns) -> list[int]:
        return [self._sizes[column] for column in columns if column not in some]

    def _share(self, columns: Columns, some: Columns) -> float:
        """Return what part of a centred cell's variance reaches a cell of the table over more columns."""
        return prod(1 - 1 / self._sizes[column] for column in some) / prod(self._outside(columns, some)) ** 2


def _normal(part: Part) -> float:
    """Return the variance of the normal number behind a centred cell, before it is rounded."""
    assert isinstance(part.law, RoundedNormal)
    return float(part.law.variance / (part.scale() * part.times**2))


def _weights(part: Part) -> float:
    """Return the sum of the absolute weights of draws in a centred cell: of d codes 2(d - 1)/d², of two 1/2."""
    return prod((0.5 if size == 2 else 2 * (size - 1) / size**2) for size in part.sizes)
