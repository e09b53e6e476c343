"""Tables of counts and sums in listed groups, worked out for all groups at once.

A publication writes the same table every period, and of ten thousand groups the exact arithmetic of one after the other
costs more than reading a million rows. Every number is the one that the answer itself shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import lcm

from sfumato.answer import Answer, Frame
from sfumato.answer.measured import NoisyPart
from sfumato.questions import Count, GroupBy, Sum

USUAL = Fraction(95, 100)
Column = tuple[int | float, ...]


def counted(answer: Answer, confidence: Fraction = USUAL) -> Frame | None:
    """Return the answer as a table with its intervals; None where only the answer itself knows how."""
    question, released = answer.question, answer.released
    if not isinstance(question, GroupBy) or not all(type(one) in (Count, Sum) for one in question.aggregates):
        return None
    parts = [released.part(one.names[0]) for one in question.aggregates]
    if any(part.threshold is not None for part in parts):
        return None  # of groups that were found, small numbers have intervals of their own
    values: dict[str, Column] = {}
    ends: dict[str, Column] = {}
    for one, part in zip(question.aggregates, parts, strict=True):
        found = (_whole if type(one) is Count else _exact)(part, confidence)
        values[one.label], ends[f"{one.label}, low"], ends[f"{one.label}, high"] = found
    return released.frame(values | ends)


def _whole(part: NoisyPart, confidence: Fraction) -> tuple[Column, Column, Column]:
    """Return the nearest whole numbers, halves up, and whole numbers outside of both ends."""
    unit, width, ones = _common(part, confidence)
    return (
        _each(part.released, lambda number: (2 * number * unit + ones) // (2 * ones)),
        _each(part.released, lambda number: (number * unit - width) // ones),
        _each(part.released, lambda number: -((-number * unit - width) // ones)),
    )


def _exact(part: NoisyPart, confidence: Fraction) -> tuple[Column, Column, Column]:
    """Return the numbers and both ends, whole ones as such."""
    unit, width, ones = _common(part, confidence)

    def plain(number: int) -> int | float:
        return number / ones if number % ones else number // ones

    return (
        _each(part.released, lambda number: plain(number * unit)),
        _each(part.released, lambda number: plain(number * unit - width)),
        _each(part.released, lambda number: plain(number * unit + width)),
    )


def _common(part: NoisyPart, confidence: Fraction) -> tuple[int, int, int]:
    """Return what a released number is worth and how far it may be off, as multiples of one fraction of 1."""
    unit, width = part.unit, part.width(confidence)
    ones = lcm(unit.denominator, width.denominator)
    return int(unit * ones), int(width * ones), ones


def _each(numbers: Sequence[int], make: Callable[[int], int | float]) -> Column:
    return tuple(map(make, numbers))
