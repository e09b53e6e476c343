"""By which column days are told, and when they begin in a time zone: kept in the ledger for all who ask it (PB-UNIT).

A limit on each day holds for one reading of rows into days. Told by another column, or cut in another zone, a row would
be of two days, and what is learnt of it would be charged to each of them once and to neither as a whole. So the ledger
keeps by what its days were told first, before the first charge, and everybody else is refused.

Rules of zones change. Two periods that were cut by different rules could share a row, or lose one, so the instants at
which days begin are taken from the ledger once they are there, whatever later versions of the rules say.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger import Entry, Ledger
from sfumato.ledger.slots import SlotCharge
from sfumato.ledger.units import Unit
from sfumato.mechanism import Event
from sfumato.privacy import Cost, Loss
from sfumato.publish.calendar import DAY, Slot

DISAGREE = (
    "Rules of {zone} that are installed now disagree with when days of {year} were taken to begin. What the ledger "
    "keeps holds, so that no row is in two days or in none."
)
COLUMN = (
    "Days of this ledger are told by the column {kept!r}, and told by {asked!r} a row would be of two days, whose "
    "limits would not hold together; write stamp = {kept!r}, or ask through a ledger of its own."
)
ZONE = (
    "Days of this ledger begin where they do in {kept!r}, and in {asked!r} a row would be of two days, whose limits "
    "would not hold together; write zone = {kept!r}, or ask through a ledger of its own."
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


def require_stamp(book: Ledger, stamp: str, zone: ZoneInfo | None = None, *, analyst: str | None = None) -> None:
    """Keep by which column days are told, and in which zone, or refuse others than are kept; nothing is charged.

    Days that rows name themselves are the same in every zone, so without one nothing is asked of it.
    """
    if any(Unit.read(name).period for name, _ in book.budget.units):
        _require(book, "stamp", stamp, COLUMN, analyst)
        if zone is not None:
            _require(book, "zone", zone.key, ZONE, analyst)


def _require(book: Ledger, what: str, asked: str, said: str, analyst: str | None) -> None:
    request = f"days/{what}"
    if book.entry(request) is None:
        _keep(book, request, Event("Days", "PB-UNIT", {what: asked}), analyst)
    entry = book.entry(request)
    assert entry is not None
    kept = entry.event["parameters"].get(what)
    if kept != asked:
        raise LedgerError(said.format(kept=kept, asked=asked))


def _keep(book: Ledger, request: str, event: Event, analyst: str | None) -> None:
    try:
        _keep_public(book, request, event, analyst)
    except LedgerError:
        if book.entry(request) is None:  # otherwise somebody else was first, and theirs is kept
            raise


def _keep_public(book: Ledger, request: str, event: Event, analyst: str | None) -> None:
    """Put a public fact into the chain: nothing is read and nothing is charged."""
    nothing = Loss.flat(Cost.zero(), relation=book.relation)
    slots = [SlotCharge(unit, (), (nothing,)) for unit, _ in book.budget.units]
    book.reserve(request, event, nothing, analyst=analyst, slots=slots)


def midnight(zone: ZoneInfo, day: date) -> int:
    """Return when a day begins, in seconds since 1970 in UTC; of two midnights the first, of none what comes after.

    >>> berlin = ZoneInfo("Europe/Berlin")
    >>> (midnight(berlin, date(2026, 3, 30)) - midnight(berlin, date(2026, 3, 29))) // 3600
    23
    """
    return int(datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC).timestamp())


def starts_of(
    book: Ledger, publication: str, zone: ZoneInfo, slot: Slot, *, analyst: str | None = None
) -> tuple[int, ...]:
    """Return when the days of a slot begin, and the one after it; as the ledger has it, where it does."""
    days = [slot.first + timedelta(days=place) for place in range((slot.last - slot.first).days + 2)]
    years = {year: _year(book, publication, zone, year, analyst) for year in sorted({day.year for day in days})}
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


def _year(book: Ledger, publication: str, zone: ZoneInfo, year: int, analyst: str | None) -> Mapping[str, int]:
    request = f"pub/{publication}/calendar/{zone.key}/{year}"
    entry = book.entry(request)
    if entry is None:
        starts = _taken(book, zone, year) or _worked_out(zone, year)
        event = Event("Calendar", "PB-UNIT", {"zone": zone.key, "year": year, "starts": starts})
        _keep_public(book, request, event, analyst)
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
