"""Finding where a monotone question over all integers turns from no to yes."""

from __future__ import annotations

from collections.abc import Callable


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
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
