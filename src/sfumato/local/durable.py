"""Files that are there as a whole or not at all, also after a crash or a loss of power."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from sfumato.errors import ParameterError

PART = ".part"
"""The ending of a file that is still being written; after a crash it may stay, and means nothing."""


def write_durably(path: Path, pieces: Iterable[bytes]) -> None:
    """Write beside, force it to the disk, and move it into place: a crash leaves the old file or the new one.

    When this returns, the file survives a loss of power. If it fails, the old state stands.
    """
    partial = path.with_name(path.name + PART)
    try:
        with partial.open("wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Force the names in a directory to the disk."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_directory(path: Path) -> None:
    """Make a directory that survives a loss of power: its name is part of the one above it."""
    missing = [one for one in (path, *path.parents) if not one.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for one in missing:
        sync_directory(one.parent)


def lock(path: Path, wait: bool) -> BinaryIO | None:
    """Return an open file that holds a lock until it is closed, or None if another holds it and we do not wait.

    The system gives the lock back if the process dies.
    """
    try:
        import fcntl
    except ImportError:
        raise ParameterError("This needs a system with file locks of POSIX, such as Linux or macOS.") from None
    held = path.open("ab")
    try:
        fcntl.flock(held, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        held.close()
        if wait:
            raise
        return None
    return held
