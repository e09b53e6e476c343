"""Who may send: tokens from a file, one a line, and how often each of them may come."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import ParameterError
from sfumato.exact import positive_integer
from sfumato.noise import Noise

RELOADED = 2.0
"""Seconds after which a file of tokens is looked at again."""
LEAST_TOKEN = 16
"""Shorter tokens can be guessed."""


@dataclass(frozen=True)
class Retry:
    """The sender may come again after so many seconds."""

    seconds: int


Authorize = Callable[[Mapping[str, str]], "bool | Retry"]
"""From the headers of a request to whether it is let in; it is asked before the body is read."""


class Tokens:
    """Bearer tokens, one a line of a file that may change; `rate` bounds the requests of each in a minute.

    Tokens are looked up by a hash under a secret of this process, so that the time tells nothing about them, and are
    written nowhere. A file that cannot be read any more leaves the tokens as they were; one that was emptied lets
    nobody in, and a token that is too short is never let in. A token that names a device links all that it sends: hand
    out one for each epoch.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "tokens"
    >>> _ = file.write_text("a-token-of-sixteen-or-more" + chr(10))
    >>> tokens = Tokens(file, rate=1)
    >>> sent = {"authorization": "Bearer a-token-of-sixteen-or-more"}
    >>> tokens(sent), isinstance(tokens(sent), Retry), tokens({})
    (True, True, False)
    """

    def __init__(self, path: str | Path, rate: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = Path(path)
        self.rate = None if rate is None else positive_integer(rate, "rate")
        self._clock = clock
        self._key = Noise().uniform(1 << 256).to_bytes(32, "big")
        self._known: set[bytes] = set()
        self._allowance: dict[bytes, tuple[float, float]] = {}
        self._changed: tuple[int, int] | None = None
        self._looked = clock() - RELOADED
        self._refresh()

    def __call__(self, headers: Mapping[str, str]) -> bool | Retry:
        """Return whether a request is let in."""
        self._refresh()
        kind, _, token = headers.get("authorization", "").partition(" ")
        mark = self._mark(token.strip())
        if kind.lower() != "bearer" or mark not in self._known:
            return False
        return self._allowed(mark)

    def _allowed(self, mark: bytes) -> bool | Retry:
        """Take one from the allowance of a token, which fills again over a minute."""
        if self.rate is None:
            return True
        moment = self._clock()
        left, since = self._allowance.get(mark, (float(self.rate), moment))
        left = min(float(self.rate), left + (moment - since) * self.rate / 60)
        if left < 1:
            self._allowance[mark] = left, moment
            return Retry(max(1, round((1 - left) * 60 / self.rate)))
        self._allowance[mark] = left - 1, moment
        return True

    def _refresh(self) -> None:
        """Read the file again if it has changed."""
        if self._clock() - self._looked < RELOADED:
            return
        self._looked = self._clock()
        try:
            status = self.path.stat()
            changed = status.st_mtime_ns, status.st_size
            if changed == self._changed:
                return
            tokens = _tokens(self.path.read_text(encoding="utf-8"))
            if self._changed is None and not all(map(_is_long, tokens or [""])):
                raise ValueError(len(tokens))
        except (OSError, ValueError):
            if self._changed is not None:
                return
            raise ParameterError(
                f"{self.path.name!r} is no file of tokens; write one a line, of at least {LEAST_TOKEN} characters."
            ) from None
        self._known, self._changed = {self._mark(token) for token in tokens if _is_long(token)}, changed
        self._allowance = {mark: left for mark, left in self._allowance.items() if mark in self._known}

    def _mark(self, token: str) -> bytes:
        return hmac.digest(self._key, token.encode("utf-8", "surrogatepass"), "sha256")


def _tokens(text: str) -> list[str]:
    """Return the tokens of a file."""
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def _is_long(token: str) -> bool:
    return len(token) >= LEAST_TOKEN
