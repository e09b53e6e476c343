"""A uniform number that is never rounded: only the bits that a decision needs are ever drawn."""

from __future__ import annotations

from collections.abc import Callable

from sfumato.errors import CertificationError
from sfumato.exact.enclosure import Ball, precision
from sfumato.noise.source import Stream, bits

STEP_BITS = 64
LAST_BITS = 1 << 16
"""A comparison still open after so many bits has probability 2^-65000: the enclosure is broken."""


class Uniform:
    """A uniform number U of [0, 1), of which the first bits may already be known.

    Comparisons with real numbers are settled by certified enclosures: if the bits at hand and the
    precision in force leave a comparison open, more bits of the *same* U are drawn and the precision
    grows. A fresh U in their place would be a different law.
    """

    __slots__ = ("_known", "_stream", "_value")

    def __init__(self, stream: Stream, value: int = 0, known: int = 0) -> None:
        self._stream = stream
        self._value = value
        self._known = known

    def below(self, enclose: Callable[[], Ball]) -> bool:
        """Return whether U is less than the number that `enclose` encloses ever more tightly."""
        guard = STEP_BITS
        while True:
            with precision(self._known + guard):
                scaled = enclose() * (1 << self._known)
                # Arb answers True only where every point of the ball agrees.
                if scaled >= self._value + 1:
                    return True
                if scaled <= self._value:
                    return False
            self._extend()
            guard *= 2

    def _extend(self) -> None:
        if self._known >= LAST_BITS:
            raise CertificationError("An enclosure does not shrink as the precision grows; no draw was made.")
        self._value = self._value << STEP_BITS | bits(self._stream, STEP_BITS)
        self._known += STEP_BITS
