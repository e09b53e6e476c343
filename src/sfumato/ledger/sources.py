"""Which state of the data a stored answer belongs to: names and numbers in public, files in private (SM-SOURCE).

Numbers are handed out by the ledger, in the order of first sight, so that no two sources have the same one, whoever
opens them and wherever. Which file had which number is kept in the ledger's private directory: sizes and times of files
depend on cells, so they never enter the ledger. The row that hands a number out and the line that says whose it is bear
the same mark: a line without its row belongs to another ledger, or to a later state of this one, and is nothing.

Earlier versions wrote lines without a mark and no rows. Such a line is believed in the directory beside a ledger's own
file. In one that other ledgers may use it can be any ledger's, and whoever opens the file has to say what it is.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.durable import OWNER_ONLY, make_directory, sync_directory
from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger.chain import canonical, new_mark

if TYPE_CHECKING:
    from sfumato.ledger.ledger import Ledger
    from sfumato.ledger.session import Session

KIND = "snapshot"
KEPT = "sources"
LONGEST_NAME = 200
EARLIER = (
    "An earlier version gave this file the number {name!r} in a private directory that other ledgers may use, so it is "
    "not known whether what this ledger stored under {name!r} is about this file. If it is, open the file once with "
    "snapshot={name!r}, and it keeps the number; if you are not sure, give it a name of its own, such as "
    "snapshot='2026-03'."
)


NAME_IT = (
    "These data hold the same as a state that the ledger knows, you say, and not which one; write its number or name, "
    "snapshot='1', same_data=True. Each answer names the state that it is about, and so does sfumato ledger show."
)


@dataclass(frozen=True)
class Line:
    """A name and the file that has it, None where nothing can be recognised; earlier versions wrote no mark."""

    name: str
    identity: str | None
    mark: str | None = None


@dataclass
class Names:
    """The names that the rows of a ledger tell."""

    used: set[str] = field(default_factory=set)
    earlier: set[str] = field(default_factory=set)
    """Those under which an earlier version stored something, as long as no row says whose they are."""
    marks: dict[str, str] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    """The marks of those that the ledger chose."""


def snapshot_of(ledger: Ledger, identity: str | None, name: str = "", same_data: bool = False) -> str:
    """Return the public name of a state of the data: the caller's own, or a number.

    `identity` tells files apart and stays private; None is a source that cannot be recognised, new at every opening. A
    name that was used for another file is refused, unless `same_data` says that both hold the same.
    """
    if not isinstance(name, str) or len(name) > LONGEST_NAME:
        raise ParameterError(
            f"snapshot= is your own name for this state of the data, a text of at most {LONGEST_NAME} characters; "
            "write for example snapshot='2026-03'."
        )
    if same_data and not name:
        raise ParameterError(NAME_IT)
    home = ledger.private
    if home is None and ledger._journal.store.memory:
        used = ledger._journal.unkept
        used.add(label := name or _next(used))
        return label
    # Two who open at once wait for each other here, so that no number is given to two sources.
    with ledger._journal.session(write=True) as session:
        names = _names(session)
        lines = [] if home is None else _read(home / KEPT)
        mine = [line for line in lines if _counts(line, names)]
        if name and not same_data:
            _require_same(name, identity, mine, names)
        known = [line for line in mine if line.identity == identity is not None and name in ("", line.name)]
        known.sort(key=lambda line: line.mark is None)
        if known and known[0].mark is not None:
            return known[0].name
        if known and not name and ledger.shares:
            raise LedgerError(EARLIER.format(name=known[0].name))
        unmarked = {line.name for line in lines if line.mark is None}
        label = name or (known[0].name if known else _next(names.used | unmarked))
        if home is not None and identity is not None:
            line = Line(label, identity, new_mark())
            session.append(
                KIND, None, canonical({"name": label, "mark": line.mark, "given": not name and label.isdecimal()})
            )
            # Before the row is there for good: a line without a row is nothing, a row without a line costs a number.
            _write(home, line)
        elif not name or (label.isdecimal() and label not in names.used):
            session.append(KIND, None, canonical({"name": label}))  # nobody else is given it
    return label


def _names(session: Session) -> Names:
    """Return what the rows tell of names."""
    found = Names()
    for row, _ in session.rows(KIND, "marked"):
        body = json.loads(row.body)
        if row.kind == "marked":
            found.used |= set(body["snapshots"])
            found.earlier |= set(body["snapshots"])
            continue
        found.used.add(body["name"])
        found.earlier.discard(body["name"])
        if "mark" in body:
            found.marks[body["mark"]] = body["name"]
            found.given |= {body["mark"]} if body["given"] else set()
    return found


def _counts(line: Line, names: Names) -> bool:
    """Tell whether a line is about this ledger; one of an earlier version may be, if its name is from that time."""
    if line.mark is None:
        return line.name in names.earlier
    return names.marks.get(line.mark) == line.name


def _next(used: set[str]) -> str:
    """Return the first number that nobody has."""
    return next(label for label in map(str, count(1)) if label not in used)


def _require_same(name: str, identity: str | None, mine: list[Line], names: Names) -> None:
    """Refuse a name that another file has here, or a number that was handed out to one elsewhere."""
    lines = [line for line in mine if line.name == name and line.identity is not None]
    given = {mark for mark in names.given if names.marks[mark] == name}
    if identity is None and given:
        raise LedgerError(
            f"The snapshot {name!r} is the number that a file was given when it was opened; give these data a name of "
            "their own, such as snapshot='2026-03', or write same_data=True if they hold the same as that file: what "
            "is stored for one is then given for the other."
        )
    if identity is None or identity in {line.identity for line in lines}:
        return
    elsewhere = given - {line.mark for line in mine}
    if lines or elsewhere:
        raise LedgerError(
            f"The snapshot {name!r} was used for another file, or for this one before it changed; give this state of "
            "the data a name of its own, or write same_data=True if both hold the same: answers that are stored for "
            "one are then given for the other."
        )


def _read(path: Path) -> list[Line]:
    """Return what was kept; a line that a kill cut short is nothing, as its row was never written."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as problem:
        raise LedgerError(f"The ledger's private directory cannot be read: {problem}; nothing was done.") from None
    found = []
    for line in filter(None, lines):
        try:
            found.append(Line(*json.loads(line)))
        except (ValueError, TypeError):
            continue
    return found


def names_in_history(session: Session) -> list[str]:
    """Return the names under which something was asked, read from the requests themselves."""
    events = (json.loads(row.body)["event"] for row, _ in session.rows("reserved"))
    names = {(event.get("parameters") or {}).get("snapshot", "") for event in events}
    return sorted(name for name in names if isinstance(name, str) and name)


def _write(home: Path, line: Line) -> None:
    """Keep which source has which name."""
    try:
        make_directory(home, OWNER_ONLY)
        first = not (home / KEPT).exists()
        file = os.open(home / KEPT, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(file, "ab") as opened:
            # A line of its own even after one that was cut short.
            opened.write(f"\n{json.dumps([line.name, line.identity, line.mark])}\n".encode())
            opened.flush()
            os.fsync(opened.fileno())
        if first:
            sync_directory(home)
    except OSError as problem:
        raise LedgerError(
            f"The ledger's private directory cannot be written: {problem}; make {home} writable, or name another one "
            "with private=."
        ) from None
