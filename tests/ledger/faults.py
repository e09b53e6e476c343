"""A disk that is full at the k-th durable step of a question, or a process that dies there.

A step is a file or a directory that is made, moved or forced to the disk, a statement that changes the ledger, a commit.
"""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy.engine.default import DefaultDialect

KINDS = ("once", "from there on", "unheard")
"""Full for one step; full for all that follow; or the step is done and its success is not heard of."""
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Disk:
    """Counts durable steps, and fails or ends the process at one of them."""

    def __init__(self, at: int, kind: str = "once") -> None:
        self.at, self.kind = at, kind
        self.steps: list[str] = []

    @property
    def reached(self) -> bool:
        """Whether there was such a step."""
        return len(self.steps) >= self.at

    def _fails(self, name: str) -> bool:
        self.steps.append(name)
        return len(self.steps) == self.at or (self.kind == "from there on" and self.reached)

    def call(self, name: str, step: Any, full: BaseException, half: Any = None) -> Any:
        """Do a step, unless it fails."""
        fails = self._fails(name)
        if fails and self.kind == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if fails and self.kind != "unheard":
            if half is not None:
                half()
            raise full
        done = step()
        if fails:
            raise full
        return done


@contextmanager
def full(disk: Disk) -> Iterator[Disk]:
    """Let every durable step pass by a disk."""
    real = {name: getattr(os, name) for name in ("open", "fsync", "mkdir", "replace", "rename", "unlink")}
    commit = DefaultDialect.do_commit

    def no_room() -> OSError:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def no_page() -> sqlite3.Error:
        return sqlite3.OperationalError("database or disk is full")

    def opened(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if not flags & WRITES:
            return real["open"](path, flags, *rest, **more)
        return disk.call(f"open {Path(path).name}", lambda: real["open"](path, flags, *rest, **more), no_room())

    def forced(file: Any) -> None:
        def half() -> None:
            found = os.fstat(file)
            if stat.S_ISREG(found.st_mode):
                os.ftruncate(file, found.st_size // 2)

        disk.call("fsync", lambda: real["fsync"](file), no_room(), half)

    def plain(name: str) -> Any:
        return lambda *rest, **more: disk.call(name, lambda: real[name](*rest, **more), no_room())

    changed = False

    def executed(self: Any, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        nonlocal changed
        words = statement.split(None, 3)
        if words[0] in ("SELECT", "BEGIN", "PRAGMA"):
            changed = changed and words[0] != "BEGIN"
            cursor.execute(statement, parameters)
            return
        changed = True
        disk.call(" ".join(words[:3]), lambda: cursor.execute(statement, parameters), no_page())

    def committed(self: Any, connection: Any) -> None:
        if changed:
            disk.call("commit", lambda: commit(self, connection), no_page())
        else:
            commit(self, connection)

    execute = DefaultDialect.do_execute
    try:
        os.open, os.fsync = opened, forced
        for name in ("mkdir", "replace", "rename", "unlink"):
            setattr(os, name, plain(name))
        DefaultDialect.do_commit, DefaultDialect.do_execute = committed, executed  # type: ignore[method-assign]
        yield disk
    finally:
        for name, function in real.items():
            setattr(os, name, function)
        DefaultDialect.do_commit, DefaultDialect.do_execute = commit, execute  # type: ignore[method-assign]
