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
AT_ONCE = 1 << 20
"""So many scores are sorted into levels at a time."""


def choose(stream: Stream, scores: Scores, rate: Fraction, lengths: Lengths | None) -> int:
    """Return an index with probability proportional to lengths[i] · exp(rate · scores[i])."""
    candidates = _candidates(scores, rate, lengths)
    while True:
        index, level = candidates.propose(stream)
        exponent = -abs(candidates.best - int(candidates.scores[index])) * abs(rate)
        if _accepts(stream, exponent, level):
            return index


def _accepts(stream: Stream, exponent: Fraction, level: int) -> bool:
    return Uniform(stream).below(lambda: _chance(exponent, level))


def _chance(exponent: Fraction, level: int) -> Ball:
    import flint

    return (rational_ball(exponent) + level * flint.arb.const_log2()).exp()


@dataclass(frozen=True)
class Candidates:
    """Indices with their scores, the best of these, their level, and the total length of each level."""

    scores: list[int] | NDArray[np.int64]
    best: int
    levels: NDArray[Any]
    lengths: list[int] | NDArray[np.int64] | None
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
        if isinstance(self.lengths, np.ndarray):
            ends_inside = np.cumsum(self.lengths[members])
            return int(members[np.searchsorted(ends_inside, place, side="right")]), level
        inside = list(accumulate(self.lengths[member] for member in members.tolist()))
        return int(members[bisect_right(inside, place)]), level


def _candidates(scores: Scores, rate: Fraction, lengths: Lengths | None) -> Candidates:
    numbers = _integers(scores, "scores")
    if len(numbers) == 0:
        raise ParameterError("scores must not be empty; write one score for each candidate.")
    if lengths is None:
        best, whole = _best(numbers, rate), len(numbers)
        levels = _levels(numbers, best, rate, SPARE_LEVELS + whole.bit_length())
        return Candidates(numbers, best, levels, None, np.bincount(levels).tolist())
    sizes = _checked_lengths(lengths, len(numbers))
    if isinstance(sizes, list) or isinstance(numbers, list):
        numbers, sizes = _plain(numbers), _plain(sizes)
        best = _best([number for number, size in zip(numbers, sizes, strict=True) if size], rate)
        # An index of length zero is never chosen; the best score in its place keeps distances at zero or more.
        numbers = [number if size else best for number, size in zip(numbers, sizes, strict=True)]
    elif sizes.all():
        best = _best(numbers, rate)
    else:
        best = _best(numbers[sizes > 0], rate)
        numbers = np.where(sizes > 0, numbers, np.int64(best))
    levels = _levels(
        numbers, best, rate, SPARE_LEVELS + int(sum(sizes) if isinstance(sizes, list) else sizes.sum()).bit_length()
    )
    # Indices of length zero have no say in where the levels begin, and none in how many there are.
    return Candidates(numbers, best, levels, sizes, _totals(levels, sizes))


def _totals(levels: NDArray[Any], sizes: list[int] | NDArray[np.int64]) -> list[int]:
    """Return the length of each level."""
    count = int(levels.max()) + 1
    if isinstance(sizes, np.ndarray):
        found = np.zeros(count, np.int64)
        np.add.at(found, levels, sizes)
        return found.tolist()
    totals = [0] * count
    for level, size in zip(levels.tolist(), sizes, strict=True):
        totals[level] += size
    return totals


def _best(numbers: list[int] | NDArray[np.int64], rate: Fraction) -> int:
    if isinstance(numbers, np.ndarray):
        return int(numbers.max() if rate > 0 else numbers.min())
    return max(numbers) if rate > 0 else min(numbers)


def _levels(numbers: list[int] | NDArray[np.int64], best: int, rate: Fraction, most: int) -> NDArray[Any]:
    """Return the level of each score, at most `most`, by how far it is from the best one."""
    worst = _best(numbers, -rate)
    edges = _edges(abs(rate), most, abs(best - worst))
    if isinstance(numbers, list):
        return np.array([bisect_right(edges, abs(best - number)) for number in numbers], dtype=np.int64)
    starts = np.array(edges, dtype=np.uint64)
    found = np.full(len(numbers), len(edges), np.int16)
    for first in range(0, len(numbers), AT_ONCE):
        part = numbers[first : first + AT_ONCE]
        near, far = (part, np.int64(best)) if rate > 0 else (np.int64(best), part)
        # The difference of two int64 fits uint64, and wrapping arithmetic finds it.
        distances = np.subtract(far, near).view(np.uint64)
        # Most indices are far from the best one and lie at the last level: only the others are looked up.
        close = np.flatnonzero(distances < starts[-1]) if edges else np.zeros(0, np.int64)
        found[first + close] = np.searchsorted(starts, distances[close], side="right")
    return found


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


def _checked_lengths(lengths: Lengths, count: int) -> list[int] | NDArray[np.int64]:
    sizes = _integers(lengths, "lengths")
    if len(sizes) != count:
        raise ParameterError(f"lengths must be as many as scores, and {len(sizes)} are not {count}.")
    if min(sizes) < 0 if isinstance(sizes, list) else sizes.min() < 0:
        raise ParameterError("lengths must be zero or more; write the number of values that share a score.")
    if not any(sizes) if isinstance(sizes, list) else not sizes.any():
        raise ParameterError("lengths must not all be zero; write a positive one for what may be chosen.")
    if isinstance(sizes, np.ndarray) and (int((sizes >> 31).sum()) << 31) + 2**31 * count >= 2**62:
        return _plain(sizes)  # together they may not fit an integer of the machine
    return sizes
