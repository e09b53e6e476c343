"""What a fit reads: noisy tables as shares of one, and how far to trust each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from sfumato.totals.tables.contrasts import Floats

Columns = tuple[int, ...]
"""Some columns by their places, in rising order."""
MOST_CELLS = 2**18
"""So many cells are held at once; above, only a mixture of products holds all columns."""


@dataclass(frozen=True)
class Evidence:
    """Noisy one-way tables, and centred tables of two or more columns, as parts of all people.

    `ones` add up to 1 each; `one_precisions` is 1/variance of a cell of each. `centred` maps columns to a table
    without its smaller tables and the precision of its cells. `people` are so many rows, as far as is known.
    """

    sizes: tuple[int, ...]
    ones: tuple[Floats, ...]
    one_precisions: tuple[float, ...]
    centred: Mapping[Columns, tuple[Floats, float]]
    people: float = inf

    @property
    def dense(self) -> bool:
        """Whether all cells are few enough to be held at once."""
        return prod(self.sizes) <= MOST_CELLS

    def part(self, group: Columns) -> Evidence:
        """Return what is known about some columns, which then have the places from 0 on."""
        at = {place: order for order, place in enumerate(group)}
        inside = {columns: one for columns, one in self.centred.items() if all(place in at for place in columns)}
        return Evidence(
            tuple(self.sizes[place] for place in group),
            tuple(self.ones[place] for place in group),
            tuple(self.one_precisions[place] for place in group),
            {tuple(at[place] for place in columns): one for columns, one in inside.items()},
            self.people,
        )

    def matrix(self, scale: float = 1.0) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return all pair tables as one symmetric matrix over all codes, and precisions times `scale`, 0 if unknown."""
        ends = np.cumsum((0, *self.sizes))
        values = np.zeros((ends[-1], ends[-1]), np.float32)
        precisions = np.zeros_like(values)
        for columns, (table, precision) in self.centred.items():
            if len(columns) == 2:
                first, second = (slice(ends[place], ends[place + 1]) for place in columns)
                values[first, second], values[second, first] = table, table.T
                precisions[first, second] = precisions[second, first] = precision * scale
        return values, precisions

    def typical(self) -> float:
        """Return the root of the middle precision of the pair tables: n/sigma of a cell."""
        known = [precision for columns, (_, precision) in self.centred.items() if len(columns) == 2]
        return float(np.sqrt(np.median(known))) if known else 0.0
