"""Where a draw in progress is kept: what was read, and the key of its coins, from before the first coin to the commit.

The key and the answer together are the exact value, so the key never enters the ledger, its journal or its copies. It
lies in a directory on the side of the data, as secret as they are, and is overwritten and unlinked at the commit.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Protocol

from sfumato.durable import OWNER_ONLY, make_directory, sync_directory, write_durably
from sfumato.errors import LedgerError
from sfumato.ledger.journal import mark_at

if TYPE_CHECKING:
    from sfumato.ledger.store import Store

_log = logging.getLogger(__name__)

NOW = "now"
LEDGER = "ledger-"
LEDGERS = "ledgers"
KEY_BYTES = 32
"""A file begins with the key; what was read follows it."""
CHUNK = 1 << 20
COPY = (
    "The private directory {private} keeps the draws of the ledger at {other}, and the one at {own} is a copy of that "
    "one: each would erase what the other is drawing. Give one of them a directory of its own with private=, or move "
    "the one that is not used any more out of the way, and ask again."
)


def seal_of(key: bytes, content: bytes) -> str:
    """Return the public name of a key and an input; without the key it says nothing about either."""
    return hashlib.sha256(key + hashlib.sha256(content).digest()).hexdigest()


class Place(Protocol):
    """Keeps inputs and keys of draws in progress."""

    def write(self, request_id: str, content: bytes, key: bytes) -> str:
        """Keep both durably and return their seal; raise OSError if there is no room."""
        ...

    def read(self, request_id: str, seal: str) -> tuple[bytes, bytes] | None:
        """Return the input and the key of this seal, None if they are not here, not whole or not those."""
        ...

    def seals(self, request_id: str) -> list[str]:
        """Return the seals of what is kept for a request."""
        ...

    def discard(self, request_id: str, seal: str) -> None:
        """Forget one input and its key: another one was first, or nothing will be drawn from it any more."""
        ...

    def erase(self, request_id: str) -> None:
        """Forget everything that is kept for a request."""
        ...


class Memory:
    """Keeps draws in progress as long as the process lives, for a ledger that lives no longer."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, tuple[bytes, bytes]]] = {}
        self._lock = RLock()

    def write(self, request_id: str, content: bytes, key: bytes) -> str:
        """Keep both and return their seal."""
        seal = seal_of(key, content)
        with self._lock:
            self._kept.setdefault(request_id, {})[seal] = (content, key)
        return seal

    def read(self, request_id: str, seal: str) -> tuple[bytes, bytes] | None:
        """Return the input and the key of this seal."""
        with self._lock:
            return self._kept.get(request_id, {}).get(seal)

    def seals(self, request_id: str) -> list[str]:
        """Return the seals of what is kept for a request."""
        with self._lock:
            return sorted(self._kept.get(request_id, {}))

    def discard(self, request_id: str, seal: str) -> None:
        """Forget one input and its key."""
        with self._lock:
            self._kept.get(request_id, {}).pop(seal, None)

    def erase(self, request_id: str) -> None:
        """Forget everything that is kept for a request."""
        with self._lock:
            self._kept.pop(request_id, None)


class Directory:
    """Keeps draws in progress in files of their own, readable by nobody else: now/<ledger>/<request>.<seal>.

    A file is a key and an input. `mark` tells which ledger it is of: several may share a directory, and requests of the
    same id. `shared` says that they may; a directory beside a ledger's own file is that ledger's alone. Copies of
    `file` have its mark, so ledgers/<mark> says which of them keeps its draws here, from before the first; the others
    may not.
    """

    def __init__(
        self, path: str | Path, mark: Callable[[], str | None], shared: bool = True, file: Path | None = None
    ) -> None:
        self.path = Path(path)
        self.shared = shared
        self._mark, self._file = mark, file
        self._alone = file is None
        self._now = self.path / NOW

    @property
    def _own(self) -> Path | None:
        """The folder of this ledger, None as long as it has no mark: then it has written nothing either."""
        mark = self._mark()
        if mark is None:
            return None
        self._require_no_copy(mark)
        return self._now / f"{LEDGER}{mark}"

    def _require_no_copy(self, mark: str) -> None:
        """Refuse to touch what another copy of this ledger keeps here; one that is gone was moved to where this is."""
        if self._alone or self._file is None:
            return
        other = self._keeper(mark)
        self._alone = other == self._file
        if other is not None and not self._alone and mark_at(other) == mark and not other.samefile(self._file):
            raise LedgerError(COPY.format(private=self.path, other=other, own=self._file))

    def _keeper(self, mark: str) -> Path | None:
        """Return the file of the ledger that keeps its draws here, None if none said so or the directory is a copy."""
        try:
            file, here = json.loads((self.path / LEDGERS / mark).read_bytes())
        except (OSError, ValueError):
            return None  # whoever may not look here erases nothing either
        return Path(file) if here == str(self.path.resolve()) else None

    def _claim(self) -> None:
        """Say that this file keeps its draws here, before it does."""
        mark = self._mark()
        if self._alone or mark is None:
            return
        path, told = self.path / LEDGERS / mark, json.dumps([str(self._file), str(self.path.resolve())]).encode()
        make_directory(path.parent, OWNER_ONLY)
        try:
            _write(path, told)  # of two copies one is first
            sync_directory(path.parent)
        except FileExistsError:
            self._require_no_copy(mark)
            if not self._alone:
                write_durably(path, [told])
        self._alone = True

    def write(self, request_id: str, content: bytes, key: bytes) -> str:
        """Write both and return their seal, when everything has reached the disk."""
        assert len(key) == KEY_BYTES
        seal = seal_of(key, content)
        self._claim()
        path = self._path(request_id, seal)
        try:
            try:
                _write(path, key + content)
            except FileNotFoundError:  # the first draw of a ledger makes its folder; looking every time takes longer
                make_directory(path.parent, OWNER_ONLY)
                _write(path, key + content)
            sync_directory(path.parent)
        except OSError:
            _forget(path)
            raise
        return seal

    def read(self, request_id: str, seal: str) -> tuple[bytes, bytes] | None:
        """Return the input and the key of this seal, if both are here and whole."""
        try:
            kept = self._found(request_id, seal).read_bytes()
        except OSError:
            return None
        key, content = kept[:KEY_BYTES], kept[KEY_BYTES:]
        return (content, key) if seal_of(key, content) == seal else None

    def seals(self, request_id: str) -> list[str]:
        """Return the seals of what is kept for a request, whole or not."""
        try:
            return sorted(path.name.partition(".")[2] for path in self._of(hashed(request_id)))
        except OSError:
            _log.warning("The private directory %s cannot be looked at, so nothing in it was erased.", self.path)
            return []

    def discard(self, request_id: str, seal: str) -> None:
        """Erase one input and its key."""
        _forget(self._found(request_id, seal))

    def erase(self, request_id: str) -> None:
        """Erase everything that is kept for a request."""
        self.erase_named(hashed(request_id))

    def left(self) -> list[str]:
        """Return the hashed ids of the requests of which something is kept."""
        return sorted({path.name.partition(".")[0] for path in self._of("")})

    def erase_named(self, name: str) -> None:
        """Erase everything that is kept for a request, by its hashed id."""
        for path in self._of(name):
            _forget(path)

    def older(self) -> list[Older]:
        """Return what earlier versions left, which did not say of which ledger it is."""
        return [_older(path) for path in _listed(self._now) if not path.name.startswith(LEDGER)]

    def erase_older(self, left: Older) -> None:
        """Erase what an earlier version left."""
        _forget(left.path)

    def _of(self, name: str) -> list[Path]:
        """Return what is kept under a hashed id, or everything."""
        own = self._own
        return [] if own is None else [path for path in _listed(own) if path.name.startswith(name)]

    def _found(self, request_id: str, seal: str) -> Path:
        """Return where a seal is kept; what an earlier version wrote is moved to where this one writes.

        The seal is this ledger's, and no other input and key have it.
        """
        path = self._path(request_id, seal)
        older = self._now / path.name
        if path.exists() or not older.is_file():
            return path
        try:
            make_directory(path.parent, OWNER_ONLY)
            return older.rename(path)
        except OSError:
            return older  # it can be read, if nothing else

    def _path(self, request_id: str, seal: str) -> Path:
        return (self._own or self._now) / f"{hashed(request_id)}.{seal}"


@dataclass(frozen=True)
class Older:
    """What an earlier version left of a request: where, its hashed id, and the seals of what is there."""

    path: Path
    request: str
    seals: frozenset[str]


def _older(path: Path) -> Older:
    if path.is_dir():  # still earlier, a key and an input were in a directory of their own
        return Older(path, path.name, frozenset(kept.name for kept in _listed(path)))
    request, _, seal = path.name.partition(".")
    return Older(path, request, frozenset({seal}))


def _listed(path: Path) -> list[Path]:
    try:
        return list(path.iterdir())
    except FileNotFoundError:
        return []


def private_place(store: Store, named: str | Path | None, mark: Callable[[], str | None]) -> Place | None:
    """Return where draws of a ledger in progress are kept: the directory named, or beside a SQLite file."""
    file = Path(store.name) if store.sqlite and not store.memory else None
    if named is not None:
        return Directory(named, mark, file=file)
    if store.memory:
        return Memory()
    return Directory(f"{file}.private", mark, shared=False, file=file) if file is not None else None


def hashed(request_id: str) -> str:
    """Return the name of a request's files: ids may hold anything, file names may not."""
    return hashlib.sha256(request_id.encode()).hexdigest()


def _write(path: Path, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())


def _forget(path: Path) -> None:
    """Overwrite and unlink a file; what cannot be unlinked now is swept when the ledger is opened."""
    try:
        if path.is_dir():  # earlier versions kept a key and an input in a directory of their own
            for kept in path.rglob("*/*"):
                _overwrite(kept)
            shutil.rmtree(path, ignore_errors=True)
            return
        with suppress(FileNotFoundError):
            _overwrite(path)
            path.unlink()
    except OSError:
        _log.exception("A draw that is done could not be erased from %s.", path)


def _overwrite(path: Path) -> None:
    with path.open("r+b", buffering=0) as opened:
        left = os.fstat(opened.fileno()).st_size
        # The key first, and down to the disk: without it the input is what the data are anyway.
        left -= opened.write(bytes(min(left, KEY_BYTES)))
        os.fsync(opened.fileno())
        while left > 0:
            left -= opened.write(bytes(min(left, CHUNK)))
