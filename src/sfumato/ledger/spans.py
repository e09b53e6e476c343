"""How many weeks, months or years some days in a row meet at most, wherever they begin."""

from __future__ import annotations

_LENGTHS = {
    "day": (1,),
    "week": (7,),
    "month": (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31),
    "quarter": (90, 91, 92, 92),
    "year": (365,),
}
"""How many days the periods of a unit have, one after the other; leap days would only make them longer."""


def most_met(unit: str, days: int) -> int:
    """Return how many periods of a unit some days in a row have in common with at most.

    >>> [most_met("day", 30), most_met("week", 8), most_met("month", 29), most_met("month", 30), most_met("year", 366)]
    [30, 2, 2, 3, 2]
    """
    if unit == "day" or days == 1:
        return days
    # A day of the first, a day of the last, and all that lie between as a whole.
    between = 0
    while 2 + _shortest(unit, between + 1) <= days:
        between += 1
    return 2 + between


def _shortest(unit: str, count: int) -> int:
    """Return how many days so many periods in a row have at least."""
    lengths = _LENGTHS[unit]
    rounds, rest = divmod(count, len(lengths))
    twice = lengths * 2
    return rounds * sum(lengths) + min(sum(twice[start : start + rest]) for start in range(len(lengths)))
