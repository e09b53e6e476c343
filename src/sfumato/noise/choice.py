"""Choosing an index with probability proportional to length · exp(rate · score), exactly.

Indices are sorted into *levels* by how far their score is from the best one: at level k the exponential
is certainly at most 2^-k, and except at the last level more than about 2^-(k+1). An index is proposed in
proportion to length · 2^-level, a ratio of integers, and accepted with probability
exp(-rate · distance) · 2^level, decided by a certified comparison. So every index with a positive length
can be drawn, two proposals do on average, and the exponential is evaluated for proposed indices only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import rational_ball
from sfumato.exact.enclosure import Ball, precision
from sfumato.noise.source import Stream, integer
from sfumato.noise.uniform import Uniform

Scores = Sequence[int] | NDArray[Any]
Lengths = Sequence[int] | NDArray[Any]

SPARE_LEVELS = 128
"""The last level weighs at most 2^-128 of the best index, so what it holds is hardly ever proposed."""
LOG_BITS = 128


def choose(stream: Stream, scores: Scores, rate: Fraction, lengths: Lengths | None) -> int:
    """Return an index with probability proportional to lengths[i] · exp(rate · scores[i])."""
    candidates = _candidates(scores, rate, lengths)
    while True:
        index, level = candidates.propose(stream)
        exponent = -int(candidates.distances[index]) * abs(rate)
        if _accepts(stream, exponent, level):
            return index


def _accepts(stream: Stream, exponent: Fraction, level: int) -> bool:
    return Uniform(stream).below(lambda: _chance(exponent, level))


def _chance(exponent: Fraction, level: int) -> Ball:
    import flint

    return (rational_ball(exponent) + level * flint.arb.const_log2()).exp()


@dataclass(frozen=True)
class Candidates:
    """Indices with their distance from the best score, their level, and the total length of each level."""

    distances: Sequence[int] | NDArray[np.uint64]
    levels: NDArray[np.int64]
    lengths: Sequence[int] | None
    totals: list[int]

    def propose(self, stream: Stream) -> tuple[int, int]:
        """Return an index with probability proportional to its length · 2^-level, and its level."""
        last = len(self.totals) - 1
        ends = list(accumulate(total << (last - level) for level, total in enumerate(self.totals)))
        number = integer(stream, ends[-1])
        level = bisect_right(ends, number)
        # What is left of the number, without its level's scale, is uniform over the level's length.
        place = number - (ends[level - 1] if level else 0) >> (last - level)
        members = np.flatnonzero(self.levels == level)
        if self.lengths is None:
            return int(members[place]), level
        inside = list(accumulate(self.lengths[member] for member in members.tolist()))
        return int(members[bisect_right(inside, place)]), level


def _candidates(scores: Scores, rate: Fraction, lengths: Lengths | None) -> Candidates:
    numbers = _integers(scores, "scores")
    if len(numbers) == 0:
        raise ParameterError("scores must not be empty; write one score for each candidate.")
    if lengths is None:
        distances = _distances(numbers, rate, None)
        levels = _levels(distances, rate, SPARE_LEVELS + len(numbers).bit_length())
        return Candidates(distances, levels, None, np.bincount(levels).tolist())
    sizes = _checked_lengths(lengths, len(numbers))
    distances = _distances(numbers, rate, sizes)
    levels = _levels(distances, rate, SPARE_LEVELS + sum(sizes).bit_length())
    # Indices of length zero have no say in where the levels begin, and none in how many there are.
    totals = [0] * (int(levels.max()) + 1)
    for level, size in zip(levels.tolist(), sizes, strict=True):
        totals[level] += size
    return Candidates(distances, levels, sizes, totals)


def _distances(
    numbers: list[int] | NDArray[np.int64], rate: Fraction, sizes: list[int] | None
) -> list[int] | NDArray[np.uint64]:
    """Return how far each score is from the best one that has a positive length."""
    if sizes is not None:
        # An index of length zero is never chosen; the best score in its place keeps distances at zero or more.
        best = _best([n for n, size in zip(_plain(numbers), sizes, strict=True) if size], rate)
        numbers = [n if size else best for n, size in zip(_plain(numbers), sizes, strict=True)]
        return [abs(best - n) for n in numbers]
    best = _best(numbers, rate)
    if isinstance(numbers, list):
        return [abs(best - n) for n in numbers]
    near, far = (numbers, np.int64(best)) if rate > 0 else (np.int64(best), numbers)
    # The difference of two int64 fits uint64, and wrapping arithmetic finds it.
    return np.subtract(far, near).view(np.uint64)


def _best(numbers: list[int] | NDArray[np.int64], rate: Fraction) -> int:
    if isinstance(numbers, np.ndarray):
        return int(numbers.max() if rate > 0 else numbers.min())
    return max(numbers) if rate > 0 else min(numbers)


def _levels(distances: list[int] | NDArray[np.uint64], rate: Fraction, most: int) -> NDArray[np.int64]:
    """Return the level of each distance, at most `most`."""
    edges = _edges(abs(rate), most, int(max(distances) if isinstance(distances, list) else distances.max()))
    if isinstance(distances, list):
        return np.array([bisect_right(edges, distance) for distance in distances], dtype=np.int64)
    return np.searchsorted(np.array(edges, dtype=np.uint64), distances, side="right").astype(np.int64)


def _edges(rate: Fraction, most: int, farthest: int) -> list[int]:
    """Return, for k = 1, 2, …, a distance from which on exp(-rate · distance) <= 2^-k for certain."""
    if rate == 0:
        return []
    # `halvings` / 2^shift is at most rate / log 2, the number of halvings for each unit of distance.
    shift = LOG_BITS + max(rate.denominator.bit_length() - rate.numerator.bit_length(), 0)
    with precision(2 * LOG_BITS):
        import flint

        scaled = rational_ball(rate * 2**shift) / flint.arb.const_log2()
        halvings = int(scaled.lower().floor().unique_fmpz())
    edges = []
    for level in range(1, most + 1):
        edge = -(-(level << shift) // halvings)
        if edge > farthest:
            break
        edges.append(edge)
    return edges


def _plain(numbers: list[int] | NDArray[np.int64]) -> list[int]:
    return numbers if isinstance(numbers, list) else numbers.tolist()


def _integers(values: Scores, name: str) -> list[int] | NDArray[np.int64]:
    """Return an int64 array where it holds the values, else a list of Python ints."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or values.dtype.kind not in "iu":
            raise ParameterError(
                f"{name} must be a one-dimensional array of integers; write for example np.array([3, 9, 4])."
            )
        return values.tolist() if values.dtype == np.uint64 else values.astype(np.int64, copy=False)
    if not isinstance(values, Sequence) or isinstance(values, (str, bytes)):
        raise ParameterError(f"{name} must be integers in a list or an array; write for example [3, 9, 4].")
    for value in values:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
            raise ParameterError(f"{name} must be whole numbers, not {type(value).__name__}; write [3, 9, 4].")
    return [int(value) for value in values]


def _checked_lengths(lengths: Lengths, count: int) -> list[int]:
    sizes = _plain(_integers(lengths, "lengths"))
    if len(sizes) != count:
        raise ParameterError(f"lengths must be as many as scores, and {len(sizes)} are not {count}.")
    if min(sizes) < 0:
        raise ParameterError("lengths must be zero or more; write the number of values that share a score.")
    if not any(sizes):
        raise ParameterError("lengths must not all be zero; write a positive one for what may be chosen.")
    return sizes
