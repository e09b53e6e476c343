"""Days, weeks, months, quarters and years by name, and which of them lie in which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta

from sfumato.errors import ParameterError
from sfumato.ledger.budget import UNITS

DAY = timedelta(days=1)
QUARTER = 3


@dataclass(frozen=True)
class Slot:
    """One day, week, month, quarter or year, by its name; weeks are those of ISO 8601 and begin on Monday.

    >>> week = Slot.of("week", date(2026, 12, 31))
    >>> week.name, week.first, week.last, Slot.of("quarter", date(2026, 11, 16)).last.isoformat()
    ('2026-W53', datetime.date(2026, 12, 28), datetime.date(2027, 1, 3), '2026-12-31')
    """

    unit: str
    name: str
    first: date
    last: date
    revision: str = ""
    """The name of a second look at it; empty for the first."""

    @property
    def issue(self) -> str:
        """The name under which it is released: 2026-01-31, or 2026-01-31/late for a second look."""
        return f"{self.name}/{self.revision}" if self.revision else self.name

    @property
    def path(self) -> str:
        """The directory of its files."""
        return f"period={self.name}/revision={self.revision}" if self.revision else f"period={self.name}"

    def revised(self, name: str) -> Slot:
        """Return a second look at it."""
        return replace(self, revision=name)

    @classmethod
    def of(cls, unit: str, day: date) -> Slot:
        """Return the slot of a unit that holds a day."""
        match unit:
            case "day":
                return cls(unit, day.isoformat(), day, day)
            case "week":
                year, week, weekday = day.isocalendar()
                first = day - (weekday - 1) * DAY
                return cls(unit, f"{year:04}-W{week:02}", first, first + 6 * DAY)
            case "month":
                first = day.replace(day=1)
                return cls(unit, f"{day:%Y-%m}", first, _next_month(first, 1) - DAY)
            case "quarter":
                first = date(day.year, (day.month - 1) // QUARTER * QUARTER + 1, 1)
                name = f"{day.year:04}-Q{(day.month - 1) // QUARTER + 1}"
                return cls(unit, name, first, _next_month(first, QUARTER) - DAY)
            case "year":
                return cls(unit, f"{day.year:04}", date(day.year, 1, 1), date(day.year, 12, 31))
        raise ParameterError(f"{unit!r} is no period; write one of {', '.join(UNITS)}.")

    @property
    def following(self) -> Slot:
        """The slot after this one."""
        return Slot.of(self.unit, self.last + DAY)

    def inside(self, other: Slot) -> bool:
        """Tell whether all of its days are days of another slot."""
        return other.first <= self.first and self.last <= other.last

    def meets(self, unit: str) -> list[Slot]:
        """Return the slots of a unit that share a day with this one."""
        found = [Slot.of(unit, self.first)]
        while found[-1].last < self.last:
            found.append(found[-1].following)
        return found


def unit_of(name: str) -> str:
    """Return the unit of a slot by its name, also of a second look at it.

    >>> unit_of("2026-W53"), unit_of("2026-01-31/late"), unit_of("2026-02"), unit_of("2026-Q4"), unit_of("2026")
    ('week', 'day', 'month', 'quarter', 'year')
    """
    plain = name.partition("/")[0].partition("~")[0]
    lengths = {4: "year", 10: "day", 8: "week"}
    return lengths.get(len(plain)) or ("quarter" if "Q" in plain else "month")


def slots_between(unit: str, first: date, last: date) -> Iterator[Slot]:
    """Yield the slots that lie between two days as a whole, the oldest first."""
    slot = Slot.of(unit, first)
    if slot.first < first:
        slot = slot.following
    while slot.last <= last:
        yield slot
        slot = slot.following


def _next_month(day: date, months: int) -> date:
    place = day.year * 12 + day.month - 1 + months
    return date(place // 12, place % 12 + 1, 1)
