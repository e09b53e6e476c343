"""Sorted codes with their counts: how many rows lie below a code, around a median, between some cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


def rounded(counts: NDArray[Any], grid: int) -> NDArray[Any]:
    """Round counts to a grid, upwards from the half."""
    return counts if grid == 1 else (counts + grid // 2) // grid


@dataclass(frozen=True)
class Coded:
    """The codes that occur, sorted, and the rows up to each of them, with a 0 before the first."""

    codes: NDArray[Any]
    up_to: NDArray[np.int64]

    @classmethod
    def of(cls, codes: NDArray[Any], counts: NDArray[Any]) -> Coded:
        """Return the sums of the counts once, for all that is asked later."""
        return cls(codes, np.concatenate(([0], np.cumsum(counts, dtype=np.int64))))

    def below(self, code: int) -> int:
        """Return how many rows have a smaller code."""
        return int(self.up_to[self._place(code)])

    def between(self, starts: Sequence[int], last: int) -> NDArray[np.int64]:
        """Return the rows from each start up to the next one, and from the last start up to `last`."""
        places = [self._place(start) for start in starts]
        places.append(self._place(last + 1))
        return np.diff(self.up_to[places])

    def spans(self, starts: Sequence[int], ends: Sequence[int]) -> NDArray[np.int64]:
        """Return the rows from each start up to its end, both included."""
        low = [self._place(start) for start in starts]
        high = [self._place(end + 1) for end in ends]
        return self.up_to[high] - self.up_to[low]

    def inside(self, low: int, high: int) -> tuple[list[int], list[int]]:
        """Return the codes from low to high that occur, and their counts."""
        begin, end = self._place(low), self._place(high + 1)
        counts = np.diff(self.up_to[begin : end + 1]).tolist()
        return [int(code) for code in self.codes[begin:end].tolist()], counts

    def _place(self, code: int) -> int:
        """Return how many different codes are smaller."""
        if len(self.codes) == 0 or code > int(self.codes[-1]):
            return len(self.codes)
        if code <= int(self.codes[0]):
            return 0
        return int(np.searchsorted(self.codes, code))

    def shells(self, low: int, high: int, step: int, most: int) -> Shells:
        """Return the codes from low to high in shells of falling score 2u = rows - 2·max(#{<}, #{>}) around a median.

        The codes with max(#{<}, #{>}) <= t are an interval, found by two searches; t grows by `step` from one shell
        to the next, and the last of at most `most` + 2 shells takes in all the rest.
        """
        begin, end = self._place(low), self._place(high + 1)
        base, rows = int(self.up_to[begin]), int(self.up_to[end] - self.up_to[begin])
        if rows == 0:
            return Shells(self, base, 0, (0,), (low,), (high,))
        sums = self.up_to[begin + 1 : end + 1]
        middle = begin + int(np.searchsorted(sums, base + (rows + 1) // 2))
        # No code has a larger score than the one on which the middle row lies.
        least = max(int(self.up_to[middle]) - base, base + rows - int(self.up_to[middle + 1]))
        sizes = np.arange(least, rows, step)[: most + 1].tolist()
        sizes = [*sizes, rows] if sizes[-1] < rows else sizes
        left = begin + np.searchsorted(sums, base + rows - np.array(sizes))
        right = begin + np.searchsorted(sums, base + np.array(sizes), side="right")
        lows = [low if t >= rows else int(self.codes[place]) for t, place in zip(sizes, left.tolist(), strict=True)]
        highs = [high if place >= end else int(self.codes[place]) for place in right.tolist()]
        scores = [rows - 2 * least, *(rows - 2 * (size + 1) for size in sizes[:-1])]
        return Shells(self, base, rows, tuple(scores), tuple(lows), tuple(highs))


@dataclass(frozen=True)
class Shells:
    """Nested intervals of codes, and for each of them the best score among the codes that the one before lacks."""

    coded: Coded
    base: int
    rows: int
    scores: tuple[int, ...]
    lows: tuple[int, ...]
    highs: tuple[int, ...]

    @property
    def lengths(self) -> list[int]:
        """How many codes each interval adds to the one before."""
        sizes = [high - low + 1 for low, high in zip(self.lows, self.highs, strict=True)]
        return [size - before for size, before in zip(sizes, [0, *sizes], strict=False)]

    def code(self, shell: int, rank: int) -> int:
        """Return the code of this rank in a shell: first those on the left of the interval before, then the others."""
        start = self.lows[shell] + rank
        if shell == 0 or start < self.lows[shell - 1]:
            return start
        return start + self.highs[shell - 1] - self.lows[shell - 1] + 1

    def score(self, code: int) -> int:
        """Return 2u of any code of the range."""
        under, upto = self.coded.below(code) - self.base, self.coded.below(code + 1) - self.base
        return self.rows - 2 * max(under, self.rows - upto)
