"""The interval of a mean: one statement about its sum less so many times its count, not one about each (SM-MISSING).

If r is the mean, the released sum less r times the released count is noise alone, of a law that is known for each r:
that of X - rY. The interval holds every r for which that number is no surprise (Fieller, 1954). Who asks both that the
sum lies in its interval and that the count lies in its own pays twice, with intervals up to twice as wide.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from sfumato.answer import NoisyPart, half_width
from sfumato.exact import rational_ball
from sfumato.exact.enclosure import Ball, precision
from sfumato.exact.search import smallest_between
from sfumato.noise import Law

Interval = tuple[Fraction, Fraction]

SEGMENTS = 8
"""Within so many parts of the range of a ratio one width holds for all ratios of the part."""

BINS = 64
"""Into so many parts each half of the second noise is cut; more state hardly less, and take longer."""

LOOSE = 128
"""A width may be larger than needed by one part in so many."""


def has_law(total: NoisyPart, count: NoisyPart) -> bool:
    """Tell whether both have noise of a symmetric law, and were not chosen by how large they came out."""
    return all(part.law is not None and part.law.symmetric and part.threshold is None for part in (total, count))


def ratio_between(total: NoisyPart, count: NoisyPart, cell: int, confidence: Fraction, ends: Interval) -> Interval:
    """Return the ratios of sum and count that the released numbers allow, among those from one end to the other.

    Whatever sum and count are, their ratio is left out with at most the rest of the probability, over both noises.
    Where no ratio is left, the noise was a rare one: it took the sum beyond what so many can have. Then it is the
    end that is nearest, and as far from there as the noise usually goes.

    >>> from sfumato.noise import DiscreteLaplace
    >>> sums, counts = (NoisyPart(name, (number,), DiscreteLaplace(10)) for name, number in (("s", 300), ("c", 1000)))
    >>> [round(float(end), 3) for end in ratio_between(sums, counts, 0, Fraction(95, 100), (Fraction(-1), Fraction(1)))]
    [0.268, 0.332]
    """
    number, whole = (part.released[cell] * part.unit for part in (total, count))
    segments = list(pairwise(_marks(ends)))

    def allowed(segment: Interval) -> Interval | None:
        for width in _widths(total, count, segment, confidence):
            found = _solved(number, whole, width, segment)
            if found is None:
                return None
        return found

    low = next((found[0] for found in map(allowed, segments) if found), None)
    high = next((found[1] for found in map(allowed, reversed(segments)) if found), None)
    return _at_an_end(total, count, cell, confidence, ends) if low is None or high is None else (low, high)


def _at_an_end(total: NoisyPart, count: NoisyPart, cell: int, confidence: Fraction, ends: Interval) -> Interval:
    """Return the ratios near the end beyond which the released ratio lies; all of them if there may be nobody."""
    number, whole = (part.released[cell] * part.unit for part in (total, count))
    if whole <= 0:
        return ends
    low, high = ends
    end = low if number < low * whole else high
    *_, width = _widths(total, count, (end, end), confidence)
    return max(low, end - width / whole), min(high, end + width / whole)


def sum_width(total: NoisyPart, count: NoisyPart, times: Fraction, confidence: Fraction) -> Fraction:
    """Return the half-width of an interval for the sum and so many times the count, each with its noise."""
    *_, width = _widths(total, count, (times, times), confidence)
    return width


def _marks(ends: Interval) -> list[Fraction]:
    """Return the borders of the segments, of which zero is one if it lies between the ends."""
    low, high = ends
    reach = max(abs(low), abs(high))
    inside = (reach * part / SEGMENTS for part in range(-SEGMENTS, SEGMENTS + 1))
    return [low, *(mark for mark in inside if low < mark < high), high]


def _widths(total: NoisyPart, count: NoisyPart, segment: Interval, confidence: Fraction) -> Iterator[Fraction]:
    """Return widths of X - rY for all ratios of a segment: first one that is quick to find, then a smaller one."""
    assert total.law is not None and count.law is not None
    per_count = count.unit / total.unit
    near, far = sorted(abs(end) * per_count for end in segment)
    yield _apart(total.law, count.law, far, confidence) * total.unit
    yield _together(total.law, count.law, near, far, confidence) * total.unit


def _solved(number: Fraction, whole: Fraction, width: Fraction, segment: Interval) -> Interval | None:
    """Return the part of a segment in which number - ratio·whole lies within the width; None if it nowhere does."""
    low, high = segment
    if whole == 0:
        return segment if abs(number) <= width else None
    first, last = sorted(((number - width) / whole, (number + width) / whole))
    first, last = max(first, low), min(last, high)
    return (first, last) if first <= last else None


def _apart(one: Law, other: Law, times: Fraction, confidence: Fraction) -> int:
    """Return a width of X - rY from one of each, both of which hold with the given confidence together."""
    each = (1 + confidence) / 2
    return half_width(one, each) - int(-times * half_width(other, each) // 1)


@lru_cache(maxsize=4096)
def _together(one: Law, other: Law, near: Fraction, far: Fraction, confidence: Fraction) -> int:
    """Return a width within which X - rY stays with the given confidence, for every r between `near` and `far`.

    P[X > q + rY] is bounded with Y in bins: below zero at the end of a bin that is farther away and with the larger r,
    from zero on at the nearer end and with the smaller. All is enclosed, so the width holds and is not only close.
    """
    rest = 1 - confidence
    if far == 0:
        return half_width(one, confidence)
    with precision(128):
        outside = rational_ball(rest / 2)
        bins = list(_binned(other, half_width(other, 1 - rest / BINS)))

        def holds(width: int) -> bool:
            tails = (
                chance * one.tail(int((width + place * (far if place < 0 else near)) // 1)) for place, chance in bins
            )
            return bool(sum(tails, start=other.tail(-bins[0][0])) <= outside)

        return smallest_between(-1, _apart(one, other, far, confidence), holds, parts=LOOSE)


def _binned(law: Law, reach: int) -> Iterator[tuple[int, Ball]]:
    """Return places and what is likely from there to the next, or, below zero, from the one before to there."""
    marks = sorted({reach * part // BINS for part in range(BINS + 1)})
    for mark, next_ in reversed(list(pairwise(marks))):
        yield -next_, law.tail(mark) - law.tail(next_)
    for mark, next_ in pairwise(marks):
        yield mark, law.tail(mark - 1) - law.tail(next_ - 1)
    yield marks[-1], law.tail(marks[-1] - 1)
