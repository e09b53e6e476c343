"""Where a running total keeps what it read and what it released: beside the data, or with a ledger in memory.

Files are named by their digest, which is what the state of the total lists; what is not whole is as good as lost. The
readings begin with random bytes, so that their names say nothing about them.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any

from sfumato.durable import lock, make_directory, write_durably

RUNNER = "runner.lock"


class Shelf(ABC):
    """Contents of two kinds, `read` and `released`, by their digests."""

    def keep(self, kind: str, content: bytes) -> str:
        """Keep a content under its digest, and return that; the same content again is the same one."""
        digest = hashlib.sha256(content).hexdigest()
        self._put(kind, digest, content)
        return digest

    def kept(self, kind: str, digest: str) -> bytes | None:
        """Return what was kept, None if it is lost or is not what was kept."""
        content = self._get(kind, digest)
        return content if content is not None and hashlib.sha256(content).hexdigest() == digest else None

    @abstractmethod
    def there(self) -> bool:
        """Tell whether anything that was read is kept: of a disk that is not mounted its empty directory is left."""

    @abstractmethod
    def _put(self, kind: str, digest: str, content: bytes) -> None: ...

    @abstractmethod
    def _get(self, kind: str, digest: str) -> bytes | None: ...

    @abstractmethod
    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait for other runners: what one is about to seal is never swept by another."""


@dataclass(frozen=True)
class Folder(Shelf):
    """A directory that only its owner can read, as secret as the data."""

    place: Path

    def there(self) -> bool:
        """Tell whether the directory of readings has a file."""
        folder = self.place / "read"
        return folder.is_dir() and any(folder.iterdir())

    def _put(self, kind: str, digest: str, content: bytes) -> None:
        folder = self.place / kind
        if not folder.is_dir():
            make_directory(folder)
            self.place.chmod(0o700)
        write_durably(folder / digest, [content])

    def _get(self, kind: str, digest: str) -> bytes | None:
        try:
            return (self.place / kind / digest).read_bytes()
        except OSError:
            return None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait for other runners on this machine."""
        make_directory(self.place)
        held = lock(self.place / RUNNER, wait=True)
        assert held is not None
        with held:
            yield


@dataclass(frozen=True, eq=False)
class Held(Shelf):
    """What goes with the process, as a ledger in memory does."""

    contents: dict[tuple[str, str], bytes] = field(default_factory=dict, repr=False)
    turn: RLock = field(default_factory=RLock, repr=False)

    def there(self) -> bool:
        """Return that it is: it is part of this process."""
        return True

    def _put(self, kind: str, digest: str, content: bytes) -> None:
        self.contents[kind, digest] = content

    def _get(self, kind: str, digest: str) -> bytes | None:
        return self.contents.get((kind, digest))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait for other threads."""
        with self.turn:
            yield


class Readings(Sequence[Any]):
    """What all steps read, each taken from its file when it is used: a year of many groups need not fit memory."""

    def __init__(self, load: Callable[[str], Any], earlier: Sequence[str], last: Any) -> None:
        self._load, self._earlier, self._last = load, earlier, last

    def __len__(self) -> int:
        return len(self._earlier) + 1

    def __getitem__(self, place: Any) -> Any:
        if place >= len(self):
            raise IndexError(place)
        return self._last if place in (-1, len(self._earlier)) else self._load(self._earlier[place])
