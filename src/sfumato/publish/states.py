"""How the periods of a publication stand, as plain facts: what was looked at, and what a verification found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from sfumato.ledger import Ledger
from sfumato.ledger.history import Entry
from sfumato.publish.file import PublicationFile
from sfumato.publish.total import RunningTable

State = Literal["not due", "due", "begun", "done", "dead", "other edition"]


class Period(NamedTuple):
    """How one period stands."""

    unit: str
    name: str
    state: State

    def to_json(self) -> dict[str, str]:
        """Return the three words."""
        return {"unit": self.unit, "period": self.name, "state": self.state}


@dataclass(frozen=True)
class Seen:
    """How everything stood at one look: requests by id, and of each running total the periods done and those lost."""

    entries: Mapping[str, Entry]
    running: Sequence[tuple[set[str], set[str]]]


@dataclass(frozen=True)
class Verified:
    """What a verification found; it is true if nothing is wrong."""

    periods: int
    files: int
    problems: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.problems


def seen_of(file: PublicationFile, book: Ledger) -> Seen:
    """Look once at how everything stands."""
    running: list[tuple[set[str], set[str]]] = []
    for spec in file.running():
        done: set[str] = set()
        dead: set[str] = set()
        number = 0
        while True:
            table = RunningTable(file, spec, number)
            found = table.done(book)
            done.update(found)
            if table.dead(book):
                dead.update(one.name for one in table.periods)
            number += 1
            if not table.periods or len(found) < len(table.periods):
                break
        running.append((done, dead))
    return Seen({entry.id: entry for entry in book.history()}, running)
