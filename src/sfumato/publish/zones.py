"""Where days begin in a time zone: worked out for a whole year at once, once, and kept in the ledger (PB-UNIT).

Rules of zones change. Two periods that were cut by different rules could share a row, or lose one, so the instants at
which days begin are taken from the ledger once they are there, whatever later versions of the rules say.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from sfumato.errors import ParameterError
from sfumato.ledger import Entry, Ledger
from sfumato.ledger.slots import SlotCharge
from sfumato.mechanism import Event
from sfumato.privacy import Cost, Loss
from sfumato.publish.calendar import DAY, Slot

DISAGREE = (
    "Rules of {zone} that are installed now disagree with when days of {year} were taken to begin. What the ledger "
    "keeps holds, so that no row is in two days or in none."
)


def zone_named(name: str) -> ZoneInfo:
    """Return a time zone, refusing a name that nobody knows.

    >>> zone_named("Europe/Berlin").key
    'Europe/Berlin'
    """
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise ParameterError(f"zone = {name!r} is no time zone; write zone = 'Europe/Berlin', say, or 'UTC'.") from None


def midnight(zone: ZoneInfo, day: date) -> int:
    """Return when a day begins, in seconds since 1970 in UTC; of two midnights the first, of none what comes after.

    >>> berlin = ZoneInfo("Europe/Berlin")
    >>> (midnight(berlin, date(2026, 3, 30)) - midnight(berlin, date(2026, 3, 29))) // 3600
    23
    """
    return int(datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC).timestamp())


def starts_of(book: Ledger, publication: str, zone: ZoneInfo, slot: Slot) -> tuple[int, ...]:
    """Return when the days of a slot begin, and the one after it; as the ledger has it, where it does."""
    days = [slot.first + timedelta(days=place) for place in range((slot.last - slot.first).days + 2)]
    years = {year: _year(book, publication, zone, year) for year in sorted({day.year for day in days})}
    return tuple(years[day.year][day.isoformat()] for day in days)


def disagreements(book: Ledger, publication: str) -> list[str]:
    """Say for which years the rules of zones that are installed now differ from the boundaries that are kept."""
    own, found = f"pub/{publication}/calendar/", []
    for entry in book.history():
        if entry.id.startswith(own):
            kept = entry.event["parameters"]
            zone = zone_named(kept["zone"])
            if any(midnight(zone, date.fromisoformat(day)) != start for day, start in kept["starts"].items()):
                found.append(DISAGREE.format(zone=zone.key, year=kept["year"]))
    return found


def _year(book: Ledger, publication: str, zone: ZoneInfo, year: int) -> Mapping[str, int]:
    request = f"pub/{publication}/calendar/{zone.key}/{year}"
    entry = book.entry(request)
    if entry is None:
        starts = _taken(book, zone, year) or _worked_out(zone, year)
        event = Event("Calendar", "PB-UNIT", {"zone": zone.key, "year": year, "starts": starts})
        # Nothing is read and nothing is charged: it is a public fact that the chain keeps.
        nothing = Loss.flat(Cost.zero(), relation=book.relation)
        slots = [SlotCharge(unit, (), (nothing,)) for unit, _ in book.budget.units]
        book.reserve(request, event, nothing, slots=slots)
        entry = book.entry(request)
    assert entry is not None
    return _starts(entry)


def _taken(book: Ledger, zone: ZoneInfo, year: int) -> Mapping[str, int] | None:
    """Return when days begin for others who ask this ledger: a row is of one day, whoever reads it."""
    kept = (
        one for one in book.history() if one.id.startswith("pub/") and one.id.endswith(f"/calendar/{zone.key}/{year}")
    )
    return next(map(_starts, kept), None)


def _worked_out(zone: ZoneInfo, year: int) -> Mapping[str, int]:
    days = [date(year, 1, 1) + place * DAY for place in range(366)]
    return {day.isoformat(): midnight(zone, day) for day in days if day.year == year}


def _starts(entry: Entry) -> Mapping[str, int]:
    found: Mapping[str, int] = entry.event["parameters"]["starts"]
    return found
