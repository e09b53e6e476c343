"""Which state of the data a stored answer belongs to: names and numbers in public, files in private (SM-SOURCE).

Numbers are handed out in the order of first sight. Which file had which number is kept in the ledger's private
directory: sizes and times of files depend on cells, so they never enter the ledger. A ledger without one keeps only
which numbers are taken.
"""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger.chain import canonical

if TYPE_CHECKING:
    from sfumato.ledger.ledger import Ledger
    from sfumato.ledger.session import Session

KIND = "snapshot"
KEPT = "sources"
LONGEST_NAME = 200

Kept = list[tuple[str, str | None]]
"""Names and numbers, each with the file that it belongs to, None where nothing can be recognised."""


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
    home = ledger.private
    # Two who open at once wait for each other here, so that no number is given to two sources.
    with ledger._journal.session(write=True) as session:
        if home is None:
            return _taken(ledger, session, name)
        kept = _read(home / KEPT, session)
        if name:
            _require_same(name, identity, kept, same_data)
        known = [label for label, whose in kept if whose == identity and identity is not None]
        label = name or (known[0] if known else _next(kept))
        # A name without a file needs no line, unless it looks like a number and must not be handed out.
        if (label, identity) not in kept and (identity is not None or label.isdecimal()):
            _write(home, label, identity)
    return label


def _taken(ledger: Ledger, session: Session, name: str) -> str:
    """Take a name, or the next number, in a ledger without a private directory."""
    memory = ledger._journal.unkept if ledger._journal.store.memory else None
    used = memory
    if used is None:
        used = [(json.loads(row.body)["name"], None) for row, _ in session.rows(KIND)] or _in_history(session)
    label = name or _next(used)
    if label.isdecimal() and (label, None) not in used:  # nobody else is given it
        if memory is None:
            session.append(KIND, None, canonical({"name": label}))
        else:
            memory.append((label, None))
    return label


def _next(kept: Kept) -> str:
    """Return the first number that nobody has."""
    used = {label for label, _ in kept}
    return next(label for label in map(str, count(1)) if label not in used)


def _require_same(name: str, identity: str | None, kept: Kept, same_data: bool) -> None:
    others = [whose for label, whose in kept if label == name and whose not in (None, identity)]
    mine = (name, identity) in kept
    if identity is not None and others and not mine and not same_data:
        raise LedgerError(
            f"The snapshot {name!r} was used for another file, or for this one before it changed; give this state of "
            "the data a name of its own, or write same_data=True if both hold the same: answers that are stored for "
            "one are then given for the other."
        )


def _read(path: Path, session: Session) -> Kept:
    """Return what was kept.

    Where nothing is, because the ledger is older or the directory was lost, and where a kill cut a line short, the
    names in the ledger's history are taken too.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return _in_history(session)
    except OSError as problem:
        raise LedgerError(f"The ledger's private directory cannot be read: {problem}; nothing was done.") from None
    found, whole = Kept(), True
    for line in filter(None, lines):
        try:
            label, identity = json.loads(line)
        except ValueError:
            whole = False
        else:
            found.append((str(label), identity))
    return found if whole else found + _in_history(session)


def _in_history(session: Session) -> Kept:
    events = (json.loads(row.body)["event"] for row, _ in session.rows("reserved"))
    names = {str((event.get("parameters") or {}).get("snapshot", "")) for event in events}
    return [(name, None) for name in sorted(names)]


def _write(home: Path, label: str, identity: str | None) -> None:
    """Keep which source has which name."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(home / KEPT, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(file, "ab") as opened:
            # A line of its own even after one that was cut short.
            opened.write(f"\n{json.dumps([label, identity])}\n".encode())
            opened.flush()
            os.fsync(opened.fileno())
    except OSError as problem:
        raise LedgerError(
            f"The ledger's private directory cannot be written: {problem}; make {home} writable, or name another one "
            "with private=."
        ) from None
