"""Rows in order, ties broken at random, and the room between them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.noise import Noise
from sfumato.questions.quantiles.measure import Measure

RADIX = 256
Integers = NDArray[np.int64]
Pairs = tuple[NDArray[np.float64], Integers]
"""Numbers as mantissas and exponents of 2^256, as `chain.py` reads them."""


@dataclass(frozen=True)
class Rows:
    """Sorted rows: each has the place of its value and, below it, a position drawn at random.

    `places` are the places that occur, sorted. A row is the number of its place in that list times 2^shift plus its
    position inside of the place; a *position* of the domain is its place times 2^shift plus the position inside.
    """

    places: NDArray[Any]
    keys: Integers
    shift: int

    def below(self, position: int) -> int:
        """Return how many rows lie below a position."""
        place, inside = divmod(position, 1 << self.shift)
        at = bisect_left(self.places, place)
        occurs = at < len(self.places) and int(self.places[at]) == place
        return int(np.searchsorted(self.keys, (at << self.shift) + (inside if occurs else 0)))

    def position(self, row: int) -> int:
        """Return the position of a row."""
        at, inside = divmod(int(self.keys[row]), 1 << self.shift)
        return (int(self.places[at]) << self.shift) + inside

    def gap(self, rows: range, gap: int, low: int, high: int) -> tuple[int, int]:
        """Return where the cuts lie that have exactly `gap` of these rows to their left, from `low` to `high`."""
        start = low if gap == 0 else self.position(rows[gap - 1]) + 1
        return start, high if gap == len(rows) else self.position(rows[gap]) + 1

    def room(self, rows: range, low: int, high: int, measure: Measure) -> Pairs:
        """Return the weight of every gap of these rows, each within four roundings of the exact one."""
        fineness = 1 << self.shift
        found, exponents = np.empty(len(rows) + 1), np.zeros(len(rows) + 1, np.int64)
        crossing: Any = []
        if len(rows) > 1:
            keys = self.keys[rows.start : rows.stop]
            places, inside = self.places[keys >> self.shift], keys & (fineness - 1)
            inner, crossing = _room(places, inside, self.shift, measure)
            found[1:-1], exponents[1:-1] = inner
        for gap in sorted({0, len(rows), *(int(place) + 1 for place in crossing)}):
            found[gap], exponents[gap] = pair(measure.weight_between(*self.gap(rows, gap, low, high), fineness))
        return found, exponents


def spread(places: NDArray[Any], counts: Integers, shift: int, noise: Noise) -> Rows:
    """Return the rows, each at a random position inside of its place."""
    numbers = np.repeat(np.arange(len(places), dtype=np.int64), counts)
    inside = noise.uniform(1 << shift, len(numbers)) if len(numbers) else np.zeros(0, np.int64)
    return Rows(places, np.sort((numbers << shift) + inside), shift)


def pair(number: int) -> tuple[float, int]:
    """Return a whole number as mantissa and exponent, rounded once."""
    exponent = (number.bit_length() + RADIX // 2 - 1) // RADIX
    return number / (1 << RADIX * exponent), exponent


def _room(places: NDArray[Any], inside: Integers, shift: int, measure: Measure) -> tuple[Pairs, Integers]:
    """Return the weights of the gaps between rows, and which of them cross from one weight to another."""
    apart, finer = np.diff(places), np.diff(inside)
    if places.dtype == object:
        magnitudes = np.array([bisect_right(measure.starts, int(place)) - 1 for place in places])
        long = [(int(steps) << shift) + int(rest) for steps, rest in zip(apart, finer, strict=True)]
        pairs = [pair(n * measure.weights[m]) for n, m in zip(long, magnitudes[1:].tolist(), strict=True)]
        mantissas, exponents = np.array([m for m, _ in pairs]), np.array([e for _, e in pairs], np.int64)
        return (mantissas, exponents), np.flatnonzero(np.diff(magnitudes))
    magnitudes = np.searchsorted(np.array(measure.starts, places.dtype), places, side="right") - 1
    near = apart < 1 << (62 - shift)
    # Where steps are few the length is an exact integer: differences of positions inside would cancel.
    exact = (np.where(near, apart, 0).astype(np.int64) << shift) + finer
    lengths = np.where(near, exact.astype(float), apart.astype(float) * float(1 << shift) + finer)
    weighed = lengths * np.array([float(weight) for weight in measure.weights])[magnitudes[1:]]
    large = weighed >= 2.0 ** (RADIX // 2)
    mantissas = np.where(large, weighed * 2.0**-RADIX, weighed)
    return (mantissas, large.astype(np.int64)), np.flatnonzero(np.diff(magnitudes))
