"""What is said of every published file, kept in the ledger from when it was written: later editions only compare."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.ledger import Ledger
from sfumato.publish.metadata import Resource


@dataclass(frozen=True)
class Digests:
    """The files of a publication by path, each with its digest; without a ledger nothing is kept."""

    book: Ledger | None = None
    name: str = ""

    def load(self) -> dict[str, Resource] | None:
        """Return what is kept; None if nothing ever was, as in ledgers of earlier versions."""
        content = None if self.book is None else self.book.finished(self._id)
        return None if content is None else json.loads(content)

    def save(self, files: Mapping[str, Resource]) -> None:
        """Keep what is said of all files."""
        content = json.dumps(files, sort_keys=True, separators=(",", ":")).encode()
        if self.book is not None and self.book.finished(self._id) != content:
            self.book.keep_finished(self._id, content)

    @property
    def knows(self) -> bool:
        """Whether the ledger has anything of this publication; a new one, or another, has not."""
        own = f"pub/{self.name}/"
        return self.book is None or any(one.id.startswith(own) for one in self.book.history())

    @property
    def _id(self) -> str:
        return f"pub/{self.name}/files"
