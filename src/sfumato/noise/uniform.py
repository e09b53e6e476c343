"""A uniform number that is never rounded: only the bits that a decision needs are ever drawn."""

from __future__ import annotations

from collections.abc import Callable

from sfumato.errors import CertificationError
from sfumato.exact.enclosure import Ball, precision
from sfumato.noise.source import Stream, bits

STEP_BITS = 64
PATIENCE_BITS = 1 << 13
"""A number that has no finite enclosure by then has none at all: that is an error in its law."""


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
        while True:
            # Twice the known bits, so that a number that loses many to cancellation is sharp in the end.
            with precision(2 * self._known + STEP_BITS):
                scaled = enclose() * (1 << self._known)
                # Arb answers True only where every point of the ball agrees.
                if scaled >= self._value + 1:
                    return True
                if scaled <= self._value:
                    return False
            if self._known > PATIENCE_BITS and not scaled.is_finite():
                raise CertificationError("A probability has no finite enclosure at any precision; no draw was made.")
            self._extend()

    def _extend(self) -> None:
        self._value = self._value << STEP_BITS | bits(self._stream, STEP_BITS)
        self._known += STEP_BITS
