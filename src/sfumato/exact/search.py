"""Bisection: where a monotone question turns from no to yes, with an end that was asked and said yes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

Value = TypeVar("Value", float, Fraction)


def smallest(holds: Callable[[int], bool], start: int = 0) -> int:
    """Return the smallest integer for which `holds`; it must hold from there on and nowhere below.

    Steps double away from `start`, so the search is logarithmic in the distance.

    >>> smallest(lambda j: j >= 37), smallest(lambda j: j >= -5, start=100)
    (37, -5)
    """
    step = 1
    if holds(start):
        high, low = start, start - step
        while holds(low):
            step *= 2
            high, low = low, low - step
    else:
        low, high = start, start + step
        while not holds(high):
            step *= 2
            low, high = high, high + step
    return smallest_between(low, high, holds)


def smallest_between(low: int, high: int, holds: Callable[[int], bool], parts: int | None = None) -> int:
    """Return the smallest integer above `low` for which `holds`; at `high`, which is not asked, it is known to.

    With `parts` it may be larger by one part in so many of itself.

    >>> smallest_between(0, 100, lambda j: j * j >= 50), smallest_between(0, 100, lambda j: j * j >= 50, parts=4)
    (8, 9)
    """
    while high - low > (max(1, high // parts) if parts else 1):
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def narrowed(
    low: Value, high: Value, holds: Callable[[Value], bool], close: Callable[[Value, Value], bool]
) -> tuple[Value, Value]:
    """Return two ends that are `close` to each other; it `holds` at the upper one, as it did, and not at the lower.

    >>> narrowed(0.0, 2.0, lambda x: x * x >= 2, lambda low, high: high - low < 0.1)
    (1.375, 1.4375)
    """
    while not close(low, high):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def halved(low: Value, high: Value, holds: Callable[[Value], bool], steps: int) -> tuple[Value, Value]:
    """Return the ends after so many halvings; it `holds` at the upper one, as it did, and not at the lower.

    >>> halved(0.0, 2.0, lambda x: x * x >= 2, 5)
    (1.375, 1.4375)
    """
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high
