"""Which way to draw from a law: a table for many draws, the tail itself for a few."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import partial

from sfumato.exact.search import smallest
from sfumato.noise.division import divide
from sfumato.noise.hat import Peak
from sfumato.noise.laws import Law, Peaked, Smooth
from sfumato.noise.source import Stream
from sfumato.noise.table import Table
from sfumato.noise.uniform import Uniform

CACHED = 32
FEW = 16
"""A table takes as long to build as this many draws without one, about."""


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
        return smallest(lambda j: not uniform.below(partial(self.law.tail, j)))


class Tally:
    """How many draws the laws asked for last have been asked for, so that a table is built only where it pays."""

    def __init__(self) -> None:
        self._asked: OrderedDict[Law, int] = OrderedDict()

    def still_few(self, law: Law, count: int) -> bool:
        """Count `count` more draws of a law; tell whether a table would still take longer than they do."""
        self._asked[law] = self._asked.pop(law, 0) + count
        while len(self._asked) > CACHED:
            self._asked.popitem(last=False)
        return self._asked[law] <= FEW


class Samplers:
    """Tables of the laws that were asked for last.

    All ways draw the same law exactly, but not the same number from the same bits. What must be repeated in another
    process, one that has other tables at hand, therefore never asks which tables there are: with a seed the way
    depends on the law alone, with a key on the law and on the earlier calls of the same Noise.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._tables: OrderedDict[Law, Table] = OrderedDict()
        self.process = Tally()
        """What all sources that need not be repeated have asked for."""

    def of(self, law: Law, count: int, tally: Tally | None) -> Table | Peak | Inverse:
        """Return what draws from a law, for `count` draws now; public parameters decide, never what was drawn.

        Without a tally the law alone decides.
        """
        if not isinstance(law, Smooth):
            # The others need no preparation worth keeping, and `largest` makes them from values it drew.
            return Peak.of(law) if isinstance(law, Peaked) else Inverse(law)
        # Threads that need the same table wait for one of them to build it.
        with self._lock:
            at_hand = tally is self.process and law in self._tables
            if tally is not None and not at_hand and tally.still_few(law, count):
                return Inverse(law)
            return self._table(law)

    def _table(self, law: Law) -> Table:
        assert isinstance(law, Smooth)
        if law not in self._tables:
            self._tables[law] = Table(divide(law))
            if len(self._tables) > CACHED:
                self._tables.popitem(last=False)
        self._tables.move_to_end(law)
        return self._tables[law]


SAMPLERS = Samplers()
