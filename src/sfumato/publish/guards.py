"""What stops a run before anything is charged: a ledger that is not the one that published, a missing place."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sfumato.errors import LedgerError, Unfinished
from sfumato.ledger import Ledger
from sfumato.publish.begun import Begun
from sfumato.publish.calendar import Slot
from sfumato.publish.file import PublicationFile
from sfumato.publish.horizons import current
from sfumato.publish.layout import TABLE_FORMATS
from sfumato.publish.reading import shown
from sfumato.publish.states import Seen

ANOTHER_LEDGER = (
    "{place} was published, and the ledger {ledger} knows nothing of it: it is an older copy, or another one, and what "
    "was spent is missing there. Put the newest back. If nothing in {home} was ever published, remove that directory."
)
NOT_MOUNTED = (
    "{place} is not there, or it is empty, and it holds what totals that run on have read: mount it or put it back, "
    "and run again; nothing was done. If it is lost for good, end the total with sfumato publish run --give-up {name}; "
    "what was published stays."
)


def require_own(file: PublicationFile, seen: Seen) -> None:
    """Refuse to go on where something was published that this ledger knows nothing of: it is an older copy, say.

    All that is there counts, whatever is due: what was spent on it is missing in every limit.
    """
    home = file.to / file.name
    for spec, (done, _, stopped) in zip(file.running(), seen.running, strict=True):
        # A total that takes no further step stands as it was published, and draws nothing.
        for place in [] if stopped else [home / f"{spec.name}.{kind}" for kind in TABLE_FORMATS]:
            last = last_period(place)
            if last is not None and last not in done:
                raise LedgerError(ANOTHER_LEDGER.format(place=place, ledger=shown(file.ledger), home=home))
    for place in sorted([*home.glob("period=*"), *home.glob("period=*/revision=*")]):
        issue = "/".join(part.partition("=")[2] for part in place.relative_to(home).parts)
        if f"pub/{file.name}/{issue}" not in seen.entries:
            _require_empty(file, place)


def require_unpublished(file: PublicationFile, slot: Slot) -> None:
    """Refuse to charge a period anew that has files: what is dead never had any, so another ledger wrote them."""
    _require_empty(file, file.to / file.name / slot.path)


def _require_empty(file: PublicationFile, folder: Path) -> None:
    for place in sorted(folder.iterdir()) if folder.is_dir() else ():
        if place.is_file():
            home = file.to / file.name
            raise LedgerError(ANOTHER_LEDGER.format(place=place, ledger=shown(file.ledger), home=home))


def require_kept(file: PublicationFile, book: Ledger, totals: Iterable[Begun]) -> None:
    """Refuse to go on where the place of what totals have read is not there: a disk that is not mounted, say.

    A directory without any reading is what is left where a disk was: it is no reason to end a total for good.
    """
    for begun in totals:
        table = None if begun.stopped else current(begun.file, begun.spec, book)
        if table is not None and (table.number or table.done(book)) and not table.shelf.there():
            name = table.id.removeprefix(f"pub/{file.name}/")
            raise Unfinished(NOT_MOUNTED.format(place=file.private / "read", name=name))


def last_period(place: Path) -> str | None:
    """Return the last period in the file of a total, whose rows go by period; None where it has no row, or no file.

    Of a file that cannot be read nothing is known, and its name stands for the period: `verify` finds it damaged.
    """
    if not place.exists():
        return None
    if place.suffix == ".csv":
        with place.open("rb") as lines:
            next(lines, None)
            last = b""
            for line in lines:
                last = line
        return last.partition(b",")[0].decode(errors="replace").strip() or None
    from pyarrow import ArrowException, parquet

    try:
        with parquet.ParquetFile(place) as held:
            groups = [number for number in range(held.num_row_groups) if held.metadata.row_group(number).num_rows]
            return str(held.read_row_group(groups[-1], ["period"])["period"][-1]) if groups else None
    except (ArrowException, OSError, KeyError):
        return place.name
