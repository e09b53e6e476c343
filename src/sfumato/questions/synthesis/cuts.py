"""Bins that follow people: where wide columns are cut for their pairs, from released one-way tables (SY-CUT)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import isqrt
from typing import Any, ClassVar

import numpy as np

from sfumato.ask.prepared import Several
from sfumato.mechanism import Event
from sfumato.model.refined import ColumnBins, coarse_space
from sfumato.noise import Noise
from sfumato.questions.synthesis.gather import Integers
from sfumato.totals.tables.stack import TableStack
from sfumato.workload.records import Margins
from sfumato.workload.space import Space


@dataclass(frozen=True)
class Cutting:
    """Wide columns on a public grid of bins, and into how many bins each is cut; where, released numbers say.

    How many is public, so that tables have the sizes and the noise that were planned, wherever the cuts come to lie.
    """

    space: Space
    grids: Mapping[str, ColumnBins]
    counts: Mapping[str, int]

    @property
    def cut_space(self) -> Space:
        """The columns with as many codes as they will have; the same for all cuts."""
        pairs = zip(self.space.names, self.space.sizes, strict=True)
        sizes = tuple(self.counts.get(name, size) for name, size in pairs)
        return Space(self.space.names, sizes, self.space.attributes, self.space.domains)

    def cut(self, inside: TableStack, numbers: Sequence[Integers]) -> dict[str, ColumnBins]:
        """Return the bins of every wide column: about as many people in each as noisy one-way tables can tell."""
        found = {}
        wide = [name for name in self.space.names if name in self.grids]
        for name, part, noisy in zip(wide, inside.parts, numbers, strict=True):
            grid, domain = self.grids[name], self.space.domains[self.space.places([name])[0]]
            # Missing cells have a bin of their own, the last one.
            values = len(grid.starts) - int(domain.may_be_missing)
            held = _standing(grid, noisy, part.variance(), values)
            apart = list(range(values, len(held)))
            cuts = split(held[:values], self.counts[name] - len(apart)) + apart
            found[name] = ColumnBins(tuple(grid.starts[place] for place in cuts), grid.finer, grid.size)
        return found

    def regrouped(self, exact: Margins, bins: Mapping[str, ColumnBins]) -> Margins:
        """Return exact tables in bins that each hold some of the grid."""
        tables = {}
        for names, table in exact.tables.items():
            tables[names] = table
            for axis, name in enumerate(names):
                if name in bins:
                    places = np.searchsorted(self.grids[name].starts, bins[name].starts)
                    tables[names] = np.add.reduceat(tables[names], places, axis=axis)
        return Margins(coarse_space(exact.space, bins), tables)


def _standing(grid: ColumnBins, noisy: Integers, variance: float, values: int) -> list[int]:
    """Return how many people stand out of the noise in each bin of a grid; whole numbers, the same on every machine."""
    counts, deviations = sums_of(grid, noisy, variance)
    first, end = occupied(counts[:values], deviations)
    inside = [first <= place < end or place >= values for place in range(len(counts))]
    return [max(0, one - spread) * kept for one, spread, kept in zip(counts, deviations, inside, strict=True)]


def sums_of(grid: ColumnBins, noisy: Integers, variance: float) -> tuple[list[int], list[int]]:
    """Return the noisy counts of the bins of a grid, and about their deviations."""
    counts = [0] * len(grid.starts)
    for owner, number in zip(grid.owners.tolist(), np.asarray(noisy).ravel().tolist(), strict=True):
        counts[owner] += number
    return counts, [isqrt(int(many) * int(variance)) for many in np.bincount(grid.owners).tolist()]


def occupied(counts: Sequence[int], deviations: Sequence[int]) -> tuple[int, int]:
    """Return the first bin and the end of those that people are in: at both ends, bins of noise alone are left out.

    An end is left out where its bins hold less than half a deviation on average. Without this, noise far out in an
    empty range moves the mean of a skewed column by many times of what it is.

    >>> occupied([1, 90, 40, 6, -8, 9, 0, -3], [20] * 8)
    (1, 3)
    """
    high = [2 * count - spread for count, spread in zip(counts, deviations, strict=False)]
    sums = [0, *accumulate(high)]
    end = max(range(1, len(sums)), key=lambda place: (sums[place], -place))
    first = min(range(end), key=lambda place: (sums[place], place))
    # Where people do not fill bins to that level on average, ends cannot be told from the rest.
    return (first, end) if sums[-1] > 0 else (0, len(high))


def split(masses: Sequence[int], count: int) -> list[int]:
    """Return where `count` runs of bins start: the run whose halves both hold most is halved until there are so many.

    >>> split([0, 8, 8, 1, 1, 1, 1, 0], 4)
    [0, 2, 3, 5]
    """
    sums = [0, *accumulate(masses)]
    runs = [(0, len(masses))]
    while len(runs) < count:
        first, end = max((run for run in runs if run[1] - run[0] > 1), key=lambda run: _worth(sums, *run))
        middle = _half(sums, first, end)
        runs.remove((first, end))
        runs += [(first, middle), (middle, end)]
    return sorted(start for start, _ in runs)


def _worth(sums: Sequence[int], first: int, end: int) -> tuple[int, int, int]:
    """Return what halving a run is worth: the mass of its lighter half, so that no cut is lost on empty bins."""
    middle = _half(sums, first, end)
    return min(sums[middle] - sums[first], sums[end] - sums[middle]), end - first, -first


def _half(sums: Sequence[int], first: int, end: int) -> int:
    """Return where the second half of a run starts, by mass, and by bins where that is a tie."""
    whole, centre = sums[first] + sums[end], first + end
    return min(range(first + 1, end), key=lambda place: (abs(2 * sums[place] - whole), abs(2 * place - centre)))


@dataclass(frozen=True, kw_only=True)
class CutTables(Several):
    """One-way tables of wide columns on fine public bins, then tables in bins that follow from what these released.

    `mechanisms` are the tables in bins and the one-way tables, which run first. Promise: the sum of both losses. The
    second is the same for all cuts: every cut puts each row into one bin of each column, and noise depends on how many
    bins there are, which is public. Losses of later releases add up however these are chosen (SY-CUT, PDP:C-7).
    """

    spec: ClassVar[str] = "SY-CUT"

    cutting: Cutting

    def run(self, exact: Sequence[Any], noise: Noise) -> tuple[Any, ...]:
        """Release the one-way tables, cut, and release the tables in bins."""
        release, inside = self.mechanisms
        assert isinstance(inside, TableStack)
        tables, ones = exact
        numbers = inside.run(ones, noise)
        return release.run(self.cutting.regrouped(tables, self.cutting.cut(inside, numbers)), noise), numbers

    def event(self) -> Event:
        """Return the public record."""
        parameters: dict[str, Any] = {
            "mechanisms": self.mechanisms,
            "grids": {name: grid.starts for name, grid in self.cutting.grids.items()},
            "counts": self.cutting.counts,
            "relation": self.relation,
            "reads": self.reads,
        }
        return Event(type(self).__name__, self.spec, parameters, self.version)
