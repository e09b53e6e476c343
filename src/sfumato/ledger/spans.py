"""How many weeks, months or years some days in a row meet at most, wherever they begin."""

from __future__ import annotations

from sfumato.ledger.units import lengths_of


def most_met(unit: str, days: int) -> int:
    """Return how many periods of a unit some days in a row have in common with at most.

    >>> [most_met("day", 30), most_met("week", 8), most_met("month", 29), most_met("month", 30), most_met("year", 366)]
    [30, 2, 2, 3, 2]
    >>> most_met("every 14 days from 2026-01-01", 17)
    3
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
    lengths = lengths_of(unit)
    rounds, rest = divmod(count, len(lengths))
    twice = lengths * 2
    return rounds * sum(lengths) + min(sum(twice[start : start + rest]) for start in range(len(lengths)))
