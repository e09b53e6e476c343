"""The head of a ledger, kept where whoever can rewrite the ledger cannot reach it (SM-SEAL)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

from sfumato.durable import lock
from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger.chain import Head, new_mark

Keep = str | Path | Callable[[str | None], str | None]
"""A file, or a function that stores the head it is given and, given None, returns the head stored last."""


_ONE_AT_A_TIME = RLock()
"""Reentrant: a function that keeps heads may itself write to a ledger."""


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
        if callable(self._keep):
            with _ONE_AT_A_TIME:
                if self._is_later(head):
                    self._keep(head.to_text())
            return
        target = Path(self._keep)
        try:
            # Read, compare and replace are one step for all writers, or a late one would put an older head back.
            with _ONE_AT_A_TIME, _held(target):
                if self._is_later(head):
                    _replace(target, head.to_text() + "\n")
        except OSError as problem:
            raise LedgerError(
                f"The head could not be kept at {target}: {problem}; make the place writable, then ask again with the "
                "same request id: what happened is known to the ledger."
            ) from None

    def _is_later(self, head: Head) -> bool:
        kept = self.read()
        return kept is None or kept.length < head.length


@contextmanager
def _held(target: Path) -> Iterator[None]:
    """Hold the file's lock against other processes; a system without such locks has one writer."""
    try:
        held = lock(target.with_name(f"{target.name}.lock"), wait=True)
    except ParameterError:
        held = None
    try:
        yield
    finally:
        if held is not None:
            held.close()


def _replace(target: Path, text: str) -> None:
    fresh = target.with_name(f"{target.name}.{new_mark()[:16]}.new")  # nobody else's, whichever thread or process
    try:
        with fresh.open("w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
