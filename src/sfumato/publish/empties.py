"""Days without a file on which nothing happened: declared by the publisher, kept in the ledger (PB-PUBLISH).

That a file lacks is public, and so is what is said of it: it is never taken for a day without rows by itself, because
a file that is late would be published as nothing. What was declared once holds for all who run, also after a kill.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError
from sfumato.ledger import Ledger
from sfumato.ledger.slots import SlotCharge
from sfumato.mechanism import Event
from sfumato.noise import Noise
from sfumato.privacy import Cost, Loss
from sfumato.publish.calendar import Slot
from sfumato.publish.checks import DATE
from sfumato.publish.file import PublicationFile
from sfumato.publish.reading import read_day
from sfumato.publish.states import seen_of
from sfumato.table.rehearsal import random_rows

NAMED = 5
"""So many are named, of more only the first and the last."""


def declare_empty(file: PublicationFile, book: Ledger, days: Iterable[str | date], *, handed: bool = False) -> None:
    """Keep in the ledger that nothing happened on some days, of which there is no file; again is the same."""
    declared = [read_day(one, "empty") for one in days]
    for day in declared:
        if handed or DATE not in file.source:
            raise ParameterError(
                "Here one source has the rows of all days, and a day of which it has none is published without a word; "
                "leave --empty out, which is for files of days."
            )
        place = file.source.replace(DATE, str(day))
        if file.engine != "spark" and Path(place).exists():
            raise ParameterError(f"There is a file for {day}: {place}. It is read as it is; leave --empty {day} out.")
        if day < file.first:
            raise ParameterError(f"{day} is before the first day, {file.first}; write a day of the publication.")
        if book.entry(f"{_own(file)}{day}") is None:
            _require_unread(file, book, day)
    for day in declared:
        _keep(file, book, day)


def _require_unread(file: PublicationFile, book: Ledger, day: date) -> None:
    """Refuse a day that a release has read, or was begun for: its file was there then, whatever became of it."""
    steps = {name for done, _, _ in seen_of(file, book).running for name in done}
    for unit in file.units():
        for back in range(file.lateness + 1):
            slot = Slot.of(unit, day - timedelta(days=back))
            if slot.name in steps or book.entry(f"pub/{file.name}/{slot.name}") is not None:
                raise ParameterError(
                    f"{day} was read for {slot.name}, so its file was there; leave --empty {day} out: what was begun "
                    "is completed without the file."
                )


def _keep(file: PublicationFile, book: Ledger, day: date) -> None:
    request = f"{_own(file)}{day}"
    if book.entry(request) is None:
        # Nothing is read and nothing is charged: it is a public fact that the chain keeps.
        nothing = Loss.flat(Cost.zero(), relation=book.relation)
        slots = [SlotCharge(unit, (), (nothing,)) for unit, _ in book.budget.units]
        book.reserve(request, Event("Empty", "PB-PUBLISH", {"day": day.isoformat()}), nothing, slots=slots)


def empty_days(file: PublicationFile, book: Ledger) -> tuple[str, ...]:
    """Return the days that were declared to be without rows, the earliest first."""
    own = _own(file)
    return tuple(sorted(one.id.removeprefix(own) for one in book.history() if one.id.startswith(own)))


def _own(file: PublicationFile) -> str:
    return f"pub/{file.name}/empty/"


def no_rows(file: PublicationFile) -> Any:
    """Return a table of the schema without rows."""
    return random_rows(file.schema, 1, Noise()).slice(0, 0)


def empties_said(days: Sequence[str]) -> str:
    """Say which days had no file and were declared to be without rows; nothing where there is none.

    >>> empties_said(["2026-01-05"])
    'Of 2026-01-05 there was no file; it was declared to be without rows.'
    """
    if not days:
        return ""
    those = "they were" if len(days) > 1 else "it was"
    return f"Of {_named(days)} there was no file; {those} declared to be without rows."


def gaps_said(periods: Sequence[str]) -> str:
    """Say which periods were paid for and have no answer; nothing where there is none.

    >>> gaps_said(["2026-01-05", "2026-01-06"])
    '2026-01-05, 2026-01-06 have no answer: they were given up, or their draw failed. They stay gaps.'
    """
    if not periods:
        return ""
    if len(periods) == 1:
        return f"{periods[0]} has no answer: it was given up, or its draw failed. It stays a gap."
    return f"{_named(periods)} have no answer: they were given up, or their draw failed. They stay gaps."


def _named(names: Sequence[str]) -> str:
    if len(names) <= NAMED:
        return ", ".join(names)
    return f"{len(names)} periods, {names[0]} to {names[-1]},"
