"""A running total as it was begun, whatever the file says by now: to go on with it, or to show it as it stands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, TypeVar

from sfumato.errors import LedgerError
from sfumato.ledger import Entry, Ledger
from sfumato.publish.file import PublicationFile, TableSpec
from sfumato.publish.total import ANOTHER, RunningTable, event_of
from sfumato.publish.zones import zone_named

ENDED = "The running total {name!r} has ended before its time. What was published stays."
GONE = (
    "The running total {name!r} is not in the file any more. What was published stays, and it takes no further step; "
    "put it back as it was to go on."
)


Total = TypeVar("Total", bound=RunningTable)


@dataclass(frozen=True)
class Begun:
    """What a running total was begun as; `stopped` says in a sentence why it takes no further step."""

    file: PublicationFile
    spec: TableSpec
    stopped: str = ""
    known: bool = True
    """Whether it can be told what it was begun as."""
    ended: bool = False

    @property
    def readable(self) -> bool:
        """Whether what it released can be worked out again; otherwise its files stay as they were published."""
        return self.known and not self.ended


def begun_of(file: PublicationFile, spec: TableSpec, book: Ledger) -> Begun:
    """Return a total as it was begun; one that was not begun is that of the file."""
    table = RunningTable(file, spec)
    entry = book.entry(table.id)
    if entry is None:
        return Begun(file, spec)
    ended, table = _dead(file, spec, book), as_charged(table, book)
    if table.same(book, entry.event):
        return Begun(file, table.spec, ENDED.format(name=spec.name) if ended else "", True, ended)
    said = (ENDED if ended else ANOTHER).format(name=spec.name)
    total = entry.event["parameters"].get("total")
    if total is None or total["schema"] not in file.schema.fingerprints:
        return Begun(file, spec, said, False, ended)
    then = as_charged(RunningTable(_as_it_was(file, total), spec.as_drawn(total["spec"])), book)
    return Begun(then.file, then.spec, said, then.same(book, entry.event), ended)


def as_charged(table: Total, book: Ledger) -> Total:
    """Return a total, or, where it was begun when an exchange cost what two people do, that one."""
    entry = book.entry(table.id)
    older = replace(table, spec=replace(table.spec, twice=True))
    return older if entry is not None and not _held(table, entry, book) and _held(older, entry, book) else table


def _held(table: RunningTable, entry: Entry, book: Ledger) -> bool:
    """Tell whether this is what was begun, at this charge."""
    if not table.same(book, entry.event):
        return False
    return book.holds(table.id, event_of(entry), table.loss(), table.slots(), analyst=table.analyst)


def _as_it_was(file: PublicationFile, total: Mapping[str, Any]) -> PublicationFile:
    return replace(
        file,
        stamp=total["stamp"],
        period=total["period"],
        first=date.fromisoformat(total["first"]),
        last=date.fromisoformat(total["last"]) if "last" in total else None,
        horizon=total.get("horizon"),
        zone=zone_named(total["zone"]) if "zone" in total else None,
        lateness=total.get("lateness", 0),
    )


def _dead(file: PublicationFile, spec: TableSpec, book: Ledger) -> bool:
    number = 0
    while (entry := book.entry(RunningTable(file, spec, number).id)) is not None:
        if entry.state == "dead":
            return True
        number += 1
    return False


def gone(file: PublicationFile, book: Ledger) -> dict[str, str]:
    """Return the totals that run on in the ledger and are not in the file, each with a sentence."""
    own, found = f"pub/{file.name}/running/", {}
    here = {spec.name for spec in file.running()}
    for entry in book.history():
        name = entry.id.removeprefix(own)
        if entry.id.startswith(own) and entry.state == "started" and name.partition("/")[0] not in here:
            try:
                done = json.loads(book.load_state(entry.id).state)["periods"]
            except LedgerError:  # it has no state yet
                done = []
            if entry.event["parameters"]["last"] not in done:
                found[name] = GONE.format(name=name)
    return found
