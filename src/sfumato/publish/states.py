"""How the periods of a publication stand, as plain facts: what was looked at, and what a verification found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, NamedTuple

from sfumato.errors import ParameterError
from sfumato.ledger import Ledger
from sfumato.ledger.history import Entry
from sfumato.publish.begun import begun_of, gone
from sfumato.publish.calendar import DAY, TO, Slot, unit_of
from sfumato.publish.file import PublicationFile
from sfumato.publish.total import RunningTable

State = Literal["not due", "due", "begun", "done", "dead", "other edition", "begun under another edition"]
UNFINISHED = ("reserved", "started")
"""How a request stands that was paid for and has no answer."""
OTHER_BEGUN = (
    "{name} was begun under an earlier edition of the file: restore that file to finish it, or give it up with sfumato "
    "publish run --give-up {name}."
)


def newest(find: Callable[[str], Entry | None], request: str) -> tuple[str, Entry | None]:
    """Return the request under which a period stands: the first, or the last that was charged anew after a dead one."""
    found, entry, number = request, find(request), 2
    while entry is not None and entry.state == "dead" and (later := find(again(request, number))) is not None:
        found, entry, number = again(request, number), later, number + 1
    return found, entry


def again(request: str, number: int) -> str:
    """Return the id of a further request for the same period; no name of a publication has such a sign."""
    return f"{request}~{number}"


def following(request: str) -> str:
    """Return the id of the request after one.

    >>> following("pub/visits/2026-01-31"), following("pub/visits/2026-01-31~2")
    ('pub/visits/2026-01-31~2', 'pub/visits/2026-01-31~3')
    """
    first, _, number = request.partition("~")
    return again(first, int(number or 1) + 1)


class Period(NamedTuple):
    """How one period stands."""

    unit: str
    name: str
    state: State
    note: str = ""
    """A sentence that says what to do, where the file alone cannot go on."""

    def to_json(self) -> dict[str, str]:
        """Return the three words, and the sentence if there is one."""
        found = {"unit": self.unit, "period": self.name, "state": self.state}
        return {**found, "note": self.note} if self.note else found


@dataclass(frozen=True)
class Seen:
    """How everything stood at one look: requests by id, and of each running total the periods done and those lost.

    Of one that takes no further step nothing is due.
    """

    entries: Mapping[str, Entry]
    running: Sequence[tuple[set[str], set[str], bool]]


@dataclass(frozen=True)
class Verified:
    """What a verification found; it is true if nothing is wrong."""

    periods: int
    files: int
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What is not wrong and not finished either: totals that take no further step, periods that a run completes."""

    def __bool__(self) -> bool:
        return not self.problems


def seen_of(file: PublicationFile, book: Ledger) -> Seen:
    """Look once at how everything stands."""
    running: list[tuple[set[str], set[str], bool]] = []
    for spec in file.running():
        begun = begun_of(file, spec, book)
        done: set[str] = set()
        dead: set[str] = set()
        number = 0
        while begun.known:
            table = RunningTable(begun.file, begun.spec, number)
            found = table.done(book)
            done.update(found)
            if table.dead(book):
                dead.update(one.name for one in table.periods)
            number += 1
            if not table.periods or len(found) < len(table.periods):
                break
        running.append((done, dead, bool(begun.stopped)))
    return Seen({entry.id: entry for entry in book.history()}, running)


def require_dead(file: PublicationFile, book: Ledger, wanted: Sequence[Slot], period: str | None) -> Sequence[Slot]:
    """Return the period that may be charged anew; one that is not dead is refused."""
    entries = [newest(book.entry, f"pub/{file.name}/{slot.issue}")[1] for slot in wanted]
    if period is None or any(entry is None or entry.state != "dead" for entry in entries):
        raise ParameterError("Only a period whose tables are dead is charged anew; see sfumato publish status.")
    return wanted


def left_of(file: PublicationFile, book: Ledger, seen: Seen, due: Sequence[Slot]) -> list[Period]:
    """Return what was paid for and is not finished, and which this file does not reach."""
    own, here = f"pub/{file.name}/", {slot.issue for slot in due}
    found: list[Period] = []
    for entry in seen.entries.values():
        name = entry.id.removeprefix(own).partition("~")[0]
        if entry.id.startswith(own) and entry.state in UNFINISHED and name[:4].isdecimal() and name not in here:
            found.append(Period(unit_of(name), name, "begun under another edition", OTHER_BEGUN.format(name=name)))
    begun = [begun_of(file, spec, book) for spec in file.running()]
    totals = {f"running/{one.spec.name}": one for one in begun if one.stopped and not one.ended}
    found += [Period("total", name, "other edition", one.stopped) for name, one in totals.items()]
    left = gone(file, book).items()
    return found + [Period("total", f"running/{name}", "other edition", said) for name, said in left]


def all_slots(file: PublicationFile, last: date) -> list[Slot]:
    """Return all periods up to a day, and after them all second looks at them."""
    found = [slot for unit in file.units() for slot in file.slots(unit, last)]
    return found + [one.revised(rule.name) for rule in file.revisions for one in found]


def last_day(file: PublicationFile, book: Ledger, today: date) -> date:
    """Return the last day of which anything can be shown; a clock set back takes nothing out of the files."""
    if file.last is not None:
        return file.last
    own = f"pub/{file.name}/"
    names = {entry.id.removeprefix(own) for entry in book.history() if entry.id.startswith(own)}
    years = [int(name[:4]) for name in names if name[:4].isdecimal()]
    until = date(max(years, default=1) + 1, 1, 7)  # the last week of a year may end in the next
    spans = [name.partition(TO)[2][:10] for name in names if TO in name and name[:4].isdecimal()]
    until = max([until, *(date.fromisoformat(last) + DAY for last in spans)])
    slots = [slot for unit in file.units() for slot in file.slots(unit, until)]
    return max([today, *(slot.last for slot in slots if slot.name in names)])
