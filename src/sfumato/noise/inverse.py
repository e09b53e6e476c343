"""Drawing single values from any law by inverting its tail, exactly."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.noise.laws import Law
from sfumato.noise.laws.search import smallest
from sfumato.noise.source import Stream
from sfumato.noise.uniform import Uniform


@dataclass(frozen=True)
class Inverse:
    """Draws the smallest j whose tail does not exceed one uniform number.

    The number is drawn bit by bit as comparisons need it, so the result is the exact inverse of the
    true tail and its support is all of the law's.
    """

    law: Law

    def one(self, stream: Stream) -> int:
        """Return one value."""
        uniform = Uniform(stream)
        return smallest(lambda j: not uniform.below(lambda: self.law.tail(j)))
