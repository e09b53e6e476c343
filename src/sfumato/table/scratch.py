"""Directories for what does not fit memory: locked while their process lives, removed by the next if it died."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import tempfile
import weakref
from contextlib import suppress
from io import FileIO
from pathlib import Path

from sfumato.durable import OWNER_ONLY

PREFIX = "sfumato-spill-"
MAKING = ".sfumato-making-"
"""What a directory is called until its lock is held, so that nobody takes it for one whose process died."""
LOCK = "lock"


class Scratch:
    """A directory below another one, for this user alone: removed by `close`, at the end of the program, or by a sweep.

    Its lock is the system's, which gives it back when the process ends in whatever way. A sweep removes a directory
    only if it gets that lock, on the machine that made it: elsewhere a shared disk may know nothing of locks.
    """

    def __init__(self, parent: str | Path | None = None) -> None:
        above = Path(tempfile.gettempdir() if parent is None else parent)
        made = Path(tempfile.mkdtemp(prefix=MAKING, dir=above))
        held = None
        try:
            held = _locked(made / LOCK, make=True)
            self.path = above / (PREFIX + made.name.removeprefix(MAKING))
            made.rename(self.path)
        except BaseException:  # the disk is full, say: nothing is left of it
            _removed(made, held, os.getpid())
            raise
        self._ended = weakref.finalize(self, _removed, self.path, held, os.getpid())

    def close(self) -> None:
        """Remove the directory with all that is in it."""
        self._ended()


def sweep(parent: str | Path | None = None) -> int:
    """Remove what processes left behind that ended without closing, and return how many directories that were.

    Whatever is in doubt stays: what is another user's, of another machine, without a lock, or still locked.
    """
    swept = 0
    with suppress(OSError), os.scandir(tempfile.gettempdir() if parent is None else parent) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and _is_own(entry):
                swept += _swept(Path(entry.path))
    return swept


def _swept(path: Path) -> bool:
    try:
        held = _locked(path / LOCK)
    except OSError:
        return False  # gone in the meantime, not to be opened, or without a lock
    if held is None:
        return False
    with held:
        if not _machine() & set(held.read().decode("utf-8", "replace").split()):
            return False
        _emptied(path)
    return True


def _is_own(entry: os.DirEntry[str]) -> bool:
    """Tell whether this user made a directory, which nobody else may enter."""
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == OWNER_ONLY and found.st_uid == os.getuid()


def _locked(path: Path, *, make: bool = False) -> FileIO | None:
    """Return an open file that holds its lock until it is closed; None where another has it, or nobody can lock."""
    try:
        import fcntl
    except ImportError:  # then nothing is swept
        return None
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT | os.O_EXCL if make else 0)
    held = os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever had it may have removed the file between its being opened and locked.
        same = os.path.samestat(os.fstat(held.fileno()), path.lstat())
    except OSError:
        same = False
    if not same:
        held.close()
        return None
    if make:
        try:
            held.write(" ".join(sorted(_machine())).encode())
        except OSError:
            held.close()
            raise
    return held


def _machine() -> set[str]:
    """Return what a machine is known by: since it was started, and beyond that."""
    found = set()
    for place in ("/proc/sys/kernel/random/boot_id", "/etc/machine-id"):
        with suppress(OSError):
            found.add(f"{Path(place).name}:{Path(place).read_text(encoding='ascii').strip()}")
    return found or {f"node:{platform.node().replace(' ', '_')}"}


def _removed(path: Path, held: FileIO | None, process: int) -> None:
    """Remove a directory, unless this is a process that was split off the one that made it."""
    if os.getpid() == process:
        _emptied(path)
    if held is not None:
        held.close()


def _emptied(path: Path) -> None:
    """Remove all of a directory, its lock last: a removal that is cut short is finished by the next sweep."""
    with suppress(OSError), os.scandir(path) as entries:
        for entry in entries:
            if entry.name == LOCK:
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with suppress(OSError):
                    Path(entry.path).unlink()
    shutil.rmtree(path, ignore_errors=True)
