"""What stops a run before anything is charged: a ledger that is not the one that published, a missing place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from sfumato.errors import LedgerError, Unfinished
from sfumato.ledger import Ledger
from sfumato.publish.begun import Begun
from sfumato.publish.calendar import Slot
from sfumato.publish.file import PublicationFile
from sfumato.publish.horizons import current
from sfumato.publish.layout import TABLE_FORMATS, has_rows
from sfumato.publish.reading import shown
from sfumato.publish.states import Seen
from sfumato.publish.total import RunningTable

ANOTHER_LEDGER = (
    "{place} was published, and the ledger {ledger} knows nothing of it: it is an older copy, or another one, and what "
    "was spent is missing there. Put the newest back. If nothing in {home} was ever published, remove that directory."
)
NOT_MOUNTED = (
    "{place} is not there, which holds what totals that run on have read: mount it or put it back, and run again; "
    "nothing was done. If it is lost for good, end the total with sfumato publish run --give-up {name}; what was "
    "published stays."
)


def require_own(file: PublicationFile, seen: Seen, due: Sequence[Slot]) -> None:
    """Refuse to release anew what was published by a ledger that this one knows nothing of: an older copy, say."""
    home = file.to / file.name
    whose: dict[Path, str] = {}
    for table in [RunningTable(file, spec) for spec in file.running()] if due else []:
        # Before its first period a total has files without rows.
        there = [home / f"{table.spec.name}.{kind}" for kind in TABLE_FORMATS]
        whose |= {place: table.id for place in there if has_rows(place)}
    for slot in due:
        names = [f"{one.name}.{kind}" for one in file.listed(slot) for kind in TABLE_FORMATS]
        there = [home / slot.path / name for name in (*names, "answer.json")] if names else []
        whose |= {place: f"pub/{file.name}/{slot.issue}" for place in there if place.exists()}
    for place, request in whose.items():
        if request not in seen.entries:
            raise LedgerError(ANOTHER_LEDGER.format(place=place, ledger=shown(file.ledger), home=home))


def require_kept(file: PublicationFile, book: Ledger, totals: Iterable[Begun]) -> None:
    """Refuse to go on where the place of what totals have read is not there: a disk that is not mounted, say."""
    place = file.private / "read"
    for begun in totals:
        table = None if begun.stopped else current(begun.file, begun.spec, book)
        if table is not None and (table.number or table.done(book)) and not place.is_dir():
            raise Unfinished(NOT_MOUNTED.format(place=place, name=table.id.removeprefix(f"pub/{file.name}/")))
