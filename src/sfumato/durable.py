"""Files that are there as a whole or not at all, also after a crash or a loss of power."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from sfumato.errors import ParameterError, SfumatoError

PART = ".part"
"""The ending of a file that is still being written; after a crash it may stay, and means nothing."""
OWNER_ONLY = 0o700
"""The rights of a directory that nobody else reads."""


UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""What reading a record raises that is none: JSON without end, keys that lack, numbers of the wrong kind."""


def why(reason: BaseException) -> str:
    """Say why a record cannot be read: our own sentences as they are, and of others the kind only."""
    return str(reason) if isinstance(reason, SfumatoError) else f"{type(reason).__name__}."


def read_bytes(path: str | Path, what: str) -> bytes:
    """Return the bytes of a file, refusing in one sentence what cannot be read."""
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(f"{type(path).__name__} is no path; write the path of a {what}, as text.")
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise ParameterError(f"There is no file {str(path)!r}; write the path of a {what}.") from None
    except OSError as reason:
        raise ParameterError(
            f"{str(path)!r} cannot be read ({type(reason).__name__}); write the path of a {what} that you may read."
        ) from None


def require_new(path: str | Path, *, overwrite: bool = False, in_folder: bool = False) -> Path:
    """Return a path to write to, refusing one where a file is, unless it may be overwritten.

    With `in_folder` a folder that is not there is refused too: whoever writes does not make it.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(
            f"A file is named by its path, not by {type(path).__name__}; write 'answer.csv' or 'answer.svg'."
        )
    target = Path(path)
    if in_folder and not target.parent.is_dir():
        raise ParameterError(f"There is no folder {str(target.parent)!r}; make it, or write another name.")
    if target.exists() and not overwrite:
        raise ParameterError(
            f"{str(target)!r} exists already and is not overwritten; write another name, or overwrite=True."
        )
    return target


def write_by_ending(path: Path, what: str, kinds: Mapping[str, Callable[[], str]]) -> Path:
    """Write the text that belongs to a path's ending, and return the path; what is written by no ending is refused.

    The text is made before the file is touched, so that one that cannot be made leaves the old file.
    """
    make = kinds.get(path.suffix.lower())
    if make is None:
        *others, last = kinds
        endings = f"{', '.join(others)} or {last}"
        raise ParameterError(f"{what} is written as {endings}, and {path.name!r} ends in none of them.")
    text = make()
    path.write_text(text, encoding="utf-8")
    return path


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
    if os.name != "posix":
        return  # elsewhere a directory cannot be opened, and its entries are durable with the file
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_directory(path: Path, mode: int = 0o777) -> None:
    """Make a directory that survives a loss of power: its name is part of the one above it."""
    missing = [one for one in (path, *path.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(mode, exist_ok=True)  # `parents=True` would make the upper ones readable by others
        sync_directory(one.parent)
    path.mkdir(mode, exist_ok=True)  # raises where a file is


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
