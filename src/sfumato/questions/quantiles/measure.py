"""How much each place of an ordered domain weighs before any data is seen, and positions finer than places."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from sfumato.noise import Noise

GRADED_FROM = 1 << 20
"""From this many values on, values of every magnitude weigh as much together as those of any other magnitude."""


@dataclass(frozen=True)
class Measure:
    """A public weight for every place of a domain of `size` places.

    The exponential mechanism may start from any public weights. With equal ones, data of small numbers in a domain of
    2^64 lose against the emptiness above them: nearly all values are large. So half of the weight is shared equally by
    the magnitudes 1, 2 to 3, 4 to 7, … on both sides of the place `zero`, and the other half by the values. No value
    weighs less than a third of its equal share. Without `zero` all places weigh 1.

    >>> Measure(8, 0).weight_between(0, 8), Measure(8, None).weight_between(0, 8)
    (11, 8)
    """

    size: int
    zero: int | None
    starts: tuple[int, ...] = field(init=False)
    weights: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        pieces = [(0, 1)] if self.zero is None else _graded(self.size, self.zero)
        object.__setattr__(self, "starts", tuple(start for start, _ in pieces))
        object.__setattr__(self, "weights", tuple(weight for _, weight in pieces))

    def pieces(self, low: int, high: int, fineness: int = 1) -> list[tuple[int, int, int]]:
        """Return (start, end, weight) of the pieces of equal weight between two positions, `fineness` to a place."""
        found = []
        at = bisect_right(self.starts, low // fineness) - 1
        while low < high:
            end = self.starts[at + 1] * fineness if at + 1 < len(self.starts) else high
            end = min(end, high)
            found.append((low, end, self.weights[at]))
            low, at = end, at + 1
        return found

    def weight_between(self, low: int, high: int, fineness: int = 1) -> int:
        """Return the weight of the positions from `low` to before `high`."""
        return sum((end - start) * weight for start, end, weight in self.pieces(low, high, fineness))

    def weight_below(self, place: int) -> int:
        """Return the weight of all places below one."""
        at = bisect_right(self.starts, place) - 1
        return self._below[at] + (place - self.starts[at]) * self.weights[at]

    def weights_below(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the same for many places, where the weight of the whole domain fits 62 bits."""
        at = self._pieces_of(places)
        return np.array(self._below, np.int64)[at] + (places - self._starts[at]) * self.weights_at(places)

    def weights_at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the weight of many places."""
        return np.array(self.weights, np.int64)[self._pieces_of(places)]

    def _pieces_of(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.searchsorted(self._starts, places, side="right") - 1

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.array(self.starts, np.int64)

    @cached_property
    def _below(self) -> list[int]:
        lengths = [after - before for before, after in zip(self.starts, self.starts[1:], strict=False)]
        held = (length * weight for length, weight in zip(lengths, self.weights, strict=False))
        return list(accumulate(held, initial=0))

    def draw(self, low: int, high: int, noise: Noise, fineness: int = 1) -> int:
        """Draw a position from `low` to before `high` in proportion to its weight."""
        pieces = self.pieces(low, high, fineness)
        left = noise.uniform(sum((end - start) * weight for start, end, weight in pieces))
        for start, end, weight in pieces:
            held = (end - start) * weight
            if left < held:
                return start + left // weight
            left -= held
        raise AssertionError("A number below the whole weight lies in one of the pieces.")


def zero_place(size: int, first: int) -> int | None:
    """Return the place of the number zero in a domain that starts with the code `first`; None for small domains."""
    return -first if size >= GRADED_FROM else None


def _graded(size: int, zero: int) -> list[tuple[int, int]]:
    """Return the pieces of equal weight as (start, weight): one for each magnitude on each side of zero."""
    farthest = max(abs(zero), abs(size - 1 - zero))
    powers = [1 << power for power in range(farthest.bit_length())]
    edges = {0, zero, zero + 1, *(zero + power for power in powers), *(zero + 1 - power for power in powers)}
    inside = sorted(edge for edge in edges if 0 <= edge < size)
    share = size // (len(powers) + 1)
    # Of the places from one edge to the next all have the magnitude of the first one.
    return [(edge, 1 + (share >> abs(edge - zero).bit_length())) for edge in inside]
