"""What the recursion looks at: how wide a score is at each height, and how high it is in each window.

Both are computed from their definitions for any score at all. A shortcut that trusts the score to be quasi-concave
would move by more than one unit when it is not, and privacy may not depend on what the data look like.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.select.scores import StepFunction

Interval = tuple[int, int]
"""The integers from the first number up to but without the second."""


class Walked(Mechanism):
    """What mechanisms share that walk a path to their answer, and could release all of it."""

    @abstractmethod
    def path(self, exact: Any, noise: Noise) -> Any:
        """Draw the path, whose `answer` stands at its end."""

    def run(self, exact: Any, noise: Noise) -> int:
        """Return the answer at the end of the path."""
        answer: int = self.path(exact, noise).answer
        return answer


def run_lengths(score: StepFunction) -> list[int]:
    """Return for each piece how many neighbouring candidates, it included, score at least as much as it does.

    Two passes with a stack of rising values. Time and memory O(pieces).

    >>> run_lengths(StepFunction([0, 2, 3], [1, 5, 4], end=6))
    [6, 1, 4]
    """
    ends = (*score.starts[1:], score.end)
    left = [0] * len(ends)
    right = [0] * len(ends)
    lower: list[int] = []
    for place, value in enumerate(score.values):
        while lower and score.values[lower[-1]] >= value:
            lower.pop()
        left[place] = ends[lower[-1]] if lower else score.first
        lower.append(place)
    lower.clear()
    for place in range(len(ends) - 1, -1, -1):
        while lower and score.values[lower[-1]] >= score.values[place]:
            lower.pop()
        right[place] = score.starts[lower[-1]] if lower else score.end
        lower.append(place)
    return [stop - start for start, stop in zip(left, right, strict=True)]


def heights_by_width(score: StepFunction) -> list[int]:
    """Return L(j), the largest minimum of the score over 2^j neighbouring candidates, for all j that fit (PL-REC).

    Time O(pieces·log(pieces) + log(size)), whatever the size of the domain.

    >>> heights_by_width(StepFunction([0, 2, 3], [1, 5, 4], end=6))
    [5, 4, 4]
    """
    # The best value among all runs long enough: a run of length t serves every width up to the largest 2^j <= t.
    best: list[int | None] = [None] * score.size.bit_length()
    for value, length in zip(score.values, run_lengths(score), strict=True):
        widest = length.bit_length() - 1
        known = best[widest]
        if known is None or value > known:
            best[widest] = value
    heights: list[int] = []
    reached: int | None = None
    for value_here in reversed(best):
        if value_here is not None and (reached is None or value_here > reached):
            reached = value_here
        assert reached is not None, "The lowest value of all holds over the whole domain."
        heights.append(reached)
    return heights[::-1]


def level_scores(heights: Sequence[int], low: int, high: int) -> StepFunction:
    """Return min(L(j) - low, high - L(j+1)) for every j; the last width has no wider one and is scored by L - low.

    Best at the width from which the score falls from above `low` to below `high`. One unit of the score moves it by
    one unit, because minima and maxima do not add up (PL:C-MAXMIN).

    >>> level_scores([5, 4, 4], 4, 4).values
    (0, 0, 0)
    """
    narrow = [min(here - low, high - wider) for here, wider in pairwise(heights)]
    return StepFunction(range(len(heights)), [*narrow, heights[-1] - low], len(heights))


def window_heights(score: StepFunction, width: int, shift: int = 0) -> StepFunction:
    """Return the largest score in each window [first + i·width - shift, first + (i+1)·width - shift), by i.

    Windows that do not meet the domain are left out. O(pieces) pieces, however many windows there are.

    >>> found = window_heights(StepFunction([0, 2, 3], [1, 5, 4], end=2**64), 2**60)
    >>> found.first, found.end, found.values
    (0, 16, (5, 4, 4))
    """
    origin = score.first - shift
    current, height = (score.first - origin) // width, score.values[0]
    starts, values = [current], []
    for start, end, value in zip(score.starts, (*score.starts[1:], score.end), score.values, strict=True):
        first, last = (start - origin) // width, (end - 1 - origin) // width
        if first == current:
            height = max(height, value)
        else:
            values.append(height)
            starts.append(first)
            current, height = first, value
        if last > first:
            values.append(height)
            starts.append(first + 1)
            if last > first + 1:
                values.append(value)
                starts.append(last)
            current, height = last, value
    return StepFunction(starts, [*values, height], current + 1)


def window_at(score: StepFunction, width: int, index: int, shift: int = 0) -> Interval:
    """Return the part of the domain that lies in the window of this index."""
    start = score.first - shift + index * width
    return max(start, score.first), min(start + width, score.end)


def joined(intervals: Sequence[Interval]) -> list[Interval]:
    """Return disjoint intervals, sorted, that hold the same candidates: each counts once."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def restricted(score: StepFunction, intervals: Sequence[Interval]) -> StepFunction:
    """Return the scores on disjoint sorted intervals, numbered from 0 one after the other.

    >>> restricted(StepFunction([0, 2, 3], [1, 5, 4], end=9), [(1, 3), (7, 9)])
    StepFunction(starts=(0, 1, 2), values=(1, 5, 4), end=4)
    """
    starts: list[int] = []
    values: list[int] = []
    filled = 0
    for first, last in intervals:
        for start, end, value in zip(score.starts, (*score.starts[1:], score.end), score.values, strict=True):
            if end > first and start < last:
                starts.append(filled + max(start, first) - first)
                values.append(value)
        filled += last - first
    return StepFunction(starts, values, filled)


def unnumbered(intervals: Sequence[Interval], rank: int) -> int:
    """Return the candidate with this number among those of the intervals."""
    for start, end in intervals:
        if rank < end - start:
            return start + rank
        rank -= end - start
    raise IndexError("The intervals hold no such candidate.")
