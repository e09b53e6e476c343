"""Days, weeks, months, quarters, years and spans of days by name, and which of them lie in which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta

from sfumato.errors import ParameterError
from sfumato.ledger.units import UNITS, every_of

DAY = timedelta(days=1)
QUARTER = 3
_MONDAY = date(1970, 1, 5)
TO = "--"
"""Between the first and the last day of a span, as ISO 8601 writes it in names of files."""
EXAMPLE = "every 14 days from 2026-01-01"


@dataclass(frozen=True)
class Slot:
    """One day, week, month, quarter, year or span of days, by its name; weeks are those of ISO 8601.

    >>> Slot.of("every 14 days from 2026-01-05", date(2026, 1, 20)).name
    '2026-01-19--2026-02-01'
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
        if (every := every_of(unit)) is not None:
            days, start = every
            first = day - (day - start).days % days * DAY
            last = first + (days - 1) * DAY
            return cls(unit, f"{first}{TO}{last}", first, last)
        raise ParameterError(f"{unit!r} is no period; write one of {', '.join(UNITS)}, or {EXAMPLE!r}.")

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
    """Return the unit of a slot by its name, also of a second look at it; of a span of days, one that has such a span.

    >>> unit_of("2026-W53"), unit_of("2026-01-31/late"), unit_of("2026-02"), unit_of("2026-Q4"), unit_of("2026")
    ('week', 'day', 'month', 'quarter', 'year')
    """
    plain = name.partition("/")[0].partition("~")[0]
    if TO in plain:
        first, last = map(date.fromisoformat, plain.split(TO))
        return f"every {(last - first).days + 1} days from {first}"
    lengths = {4: "year", 10: "day", 8: "week"}
    return lengths.get(len(plain)) or ("quarter" if "Q" in plain else "month")


def slot_named(name: str) -> Slot:
    """Return the day, week, month, quarter, year or span of days that has a name.

    >>> slot_named("2026-11").last.isoformat(), slot_named("2026-W53").unit, slot_named("2026-01-05--2026-01-18").unit
    ('2026-11-30', 'week', 'every 14 days from 2026-01-05')
    """
    try:
        found = Slot.of(unit_of(name), _first_day(name))
    except (ValueError, OverflowError, ParameterError):
        found = None
    if found is None or found.name != name:
        raise ParameterError(
            f"{name!r} is the name of no period; write '2026-11-16', '2026-W47', '2026-11', '2026-Q4', '2026', or the "
            "first and the last day of up to 366: '2026-11-01--2026-11-14'."
        )
    return found


def _first_day(name: str) -> date:
    """Return a day in the period of a name, if it is one."""
    match unit_of(name):
        case "year":
            return date(int(name), 1, 1)
        case "quarter":
            return date(int(name[:4]), 1 + (int(name[6:]) - 1) * QUARTER, 1)
        case "month":
            return date.fromisoformat(f"{name}-01")
        case _:
            return date.fromisoformat(name.partition(TO)[0])


def lies_in(period: str, unit: str) -> bool:
    """Tell whether every period of one kind lies in one of another.

    >>> lies_in("day", "week"), lies_in("week", "month"), lies_in("month", "day")
    (True, False, False)
    >>> lies_in("week", "every 14 days from 2026-01-05"), lies_in("week", "every 14 days from 2026-01-06")
    (True, False)
    """
    if period in (unit, "day"):
        return True
    inner, outer = ((7, _MONDAY) if one == "week" else every_of(one) for one in (period, unit))
    if inner is not None and outer is not None:
        return outer[0] % inner[0] == 0 and (outer[1] - inner[1]).days % inner[0] == 0
    return (period, unit) in {("month", "quarter"), ("month", "year"), ("quarter", "year")}


def latest_of(unit: str) -> str:
    """Return where the newest answer of a unit is copied to.

    >>> latest_of("every 14 days from 2026-01-05")
    'latest/every-14-days-from-2026-01-05.json'
    """
    return f"latest/{unit.replace(' ', '-')}.json"


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
