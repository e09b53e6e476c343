"""The head of a ledger, kept where whoever can rewrite the ledger cannot reach it (SM-SEAL)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger.chain import Head

Keep = str | Path | Callable[[str | None], str | None]
"""A file, or a function that stores the head it is given and, given None, returns the head stored last."""


class Keeper:
    """Writes the head down after every change, and reads back which head the ledger must still hold."""

    def __init__(self, keep: Keep | None) -> None:
        if keep is not None and not callable(keep) and not isinstance(keep, (str, Path)):
            raise ParameterError(
                "keep_head= is the path of a file, or a function that stores a head and, given None, returns the last."
            )
        self._keep = keep

    def read(self) -> Head | None:
        """Return the head that was kept last, None if none was."""
        if self._keep is None:
            return None
        if callable(self._keep):
            text = self._keep(None)
            return None if text is None else Head.from_text(text)
        try:
            return Head.from_text(Path(self._keep).read_text(encoding="ascii").strip())
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as problem:
            raise LedgerError(f"The kept head at {self._keep} cannot be read: {problem}; nothing was done.") from None

    def write(self, head: Head) -> None:
        """Keep a head, unless a later one is kept already: of several writers one may be late."""
        if self._keep is None:
            return
        kept = self.read()
        if kept is not None and kept.length >= head.length:
            return
        if callable(self._keep):
            self._keep(head.to_text())
            return
        target = Path(self._keep)
        fresh = target.with_name(f"{target.name}.{os.getpid()}.new")
        try:
            with fresh.open("w", encoding="ascii") as file:
                file.write(head.to_text() + "\n")
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(target)
        except OSError as problem:
            raise LedgerError(
                f"The head could not be kept at {target}: {problem}; make the place writable, then ask again with the "
                "same request id: what happened is known to the ledger."
            ) from None
