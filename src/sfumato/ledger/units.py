"""What can be hidden of a person: what they did in one period, in one shop, or in one period in one shop (PB-UNIT).

A unit is written in a few words, which are its name in a budget: `day`, `every 14 days from 2026-01-01`, `shop`, a
category column, or both, `day, shop`. Whose row belongs to which of its slots follows from that row alone.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from sfumato.errors import ParameterError

UNITS = ("day", "week", "month", "quarter", "year")
"""The periods of a calendar for which a person can be protected on its own."""

LENGTHS = {
    "day": (1,),
    "week": (7,),
    "month": (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31),
    "quarter": (90, 91, 92, 92),
    "year": (365,),
}
"""How many days the periods of a unit have, one after the other; leap days would only make them longer."""

MOST_DAYS = 366
"""A span of days is a year long at most."""

FINER = ("hour", "minute", "second", "hours", "minutes", "seconds")
_EVERY = re.compile(r"every ([0-9]{1,4}) days from ([0-9]{4}-[0-9]{2}-[0-9]{2})")
_ALIKE = 0.8
_BOTH = ", "


def every_of(word: str) -> tuple[int, date] | None:
    """Return how many days the periods of a unit have, and the first day of one; None where a calendar says it.

    >>> every_of("every 14 days from 2026-01-05"), every_of("month")
    ((14, datetime.date(2026, 1, 5)), None)
    """
    found = _EVERY.fullmatch(word)
    if found is None:
        if word.startswith("every "):
            raise ParameterError(f"{word!r} is no period; write 'every 14 days from 2026-01-01'.")
        return None
    days = int(found[1])
    if not 1 < days <= MOST_DAYS:
        raise ParameterError(f"{word!r} is no period; write 'day', or 2 to {MOST_DAYS} days.")
    try:
        return days, date.fromisoformat(found[2])
    except ValueError:
        raise ParameterError(f"{word!r} begins on no day; write 'every {days} days from 2026-01-01'.") from None


def is_period(word: str) -> bool:
    """Tell whether a word names periods of time."""
    return word in UNITS or every_of(word) is not None


def lengths_of(period: str) -> tuple[int, ...]:
    """Return how many days the periods have, one after the other, at least."""
    every = every_of(period)
    return LENGTHS[period] if every is None else (every[0],)


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


@dataclass(frozen=True)
class Unit:
    """Periods of time, a column whose values tell rows apart, or both together.

    >>> Unit.read("day").several, Unit.read("shop").said, Unit.read("shop, day").name
    ('days', 'shop', 'day, shop')
    >>> Unit.read("every 14 days from 2026-01-05").said
    'span of 14 days'
    """

    period: str = ""
    """Empty where rows of all times belong together."""
    column: str = ""
    """Empty where rows with any value do."""

    @classmethod
    def read(cls, word: str) -> Unit:
        """Read a unit; what is surely meant as a period of time, and is none, is refused with the nearest."""
        return _read(word)

    @property
    def name(self) -> str:
        """The words by which a budget knows it."""
        return _BOTH.join(filter(None, (self.period, self.column)))

    @property
    def _time(self) -> str:
        every = every_of(self.period)
        return self.period if every is None else f"span of {every[0]} days"

    @property
    def said(self) -> str:
        """One of its slots, in a sentence."""
        return " and ".join(filter(None, (self._time, self.column)))

    @property
    def several(self) -> str:
        """Many of its slots, in a sentence."""
        if not self.column:
            return f"spans{self._time.removeprefix('span')}" if every_of(self.period) else f"{self.period}s"
        return f"pairs of {self.said}" if self.period else f"values of {self.column}"

    @property
    def counted(self) -> str:
        """From which day its periods are counted, a sentence; empty where a calendar says it."""
        every = every_of(self.period)
        return "" if every is None else f"Spans of {every[0]} days are counted from {every[1]}."

    def bucket(self, slot: str) -> str:
        """Return with which other slots a slot is stored: those of the same year, of the same day, or all alike."""
        return slot.partition(_BOTH)[0] if self.period and self.column else slot[:4]

    def slot(self, period: str, value: str) -> str:
        """Return the name of a slot."""
        return _BOTH.join(filter(None, (period, value)))


def in_order(names: list[str]) -> list[str]:
    """Return the names of units, those of the shortest periods first, and columns alone last.

    >>> in_order(["shop", "year", "day, shop", "every 14 days from 2026-01-01", "day"])
    ['day', 'day, shop', 'every 14 days from 2026-01-01', 'year', 'shop']
    """

    def place(name: str) -> tuple[bool, int, str]:
        unit = Unit.read(name)
        return not unit.period, min(lengths_of(unit.period)) if unit.period else 0, name

    return sorted(names, key=place)


@lru_cache(maxsize=256)
def _read(word: str) -> Unit:
    parts = word.split(_BOTH)
    periods = [part for part in parts if is_period(part)]
    columns = [part for part in parts if part not in periods]
    if len(periods) > 1 or len(columns) > 1 or not all(parts):
        raise ParameterError(
            f"{word!r} is no unit: a unit is a period of time, a category column, or one of each; write 'day, shop', "
            "say."
        )
    for column in columns:
        _require_column(column)
    return Unit("".join(periods), "".join(columns))


def _require_column(word: str) -> None:
    """Refuse a word for times that is no period here: a typing error is never taken for a column."""
    if word in FINER:
        raise ParameterError(f"A stamp says a day and nothing finer, so there are no {word}s; write 'day'.")
    near = difflib.get_close_matches(word, UNITS, n=1, cutoff=_ALIKE)
    near += [unit for unit in UNITS if sorted(unit) == sorted(word)]
    if near:
        raise ParameterError(
            f"{word!r} is no unit of time, did you mean {near[0]!r}? Write one of {', '.join(UNITS)}, "
            "'every 14 days from 2026-01-01', or the name of a category column, and person= for whole people."
        )
    if word == "person":
        raise ParameterError("A limit on whole people is no limit on each period; write person= for it.")
