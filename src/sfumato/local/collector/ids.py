"""Which report came under which id: each id counts once, whatever the order in which its copies come."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.noise import Noise

ID_BYTES = 16
_FIRST_SLOTS = 1 << 10
_FULL = 0.75


class IdTable:
    """Ids and the number that each one sent. Of several numbers under one id the smallest counts.

    That rule knows no order, so every split of the reports gives the same counts, on every engine. A device that
    sends a report again sends the same one, so for honest devices it changes nothing. About 32 to 64 bytes an id.
    """

    def __init__(self, expected: int = 0) -> None:
        from sfumato.local.kernels.ids import empty_table

        slots = _FIRST_SLOTS
        while expected > _FULL * slots:
            slots *= 2
        self._keys, self._values = empty_table(slots)
        # A secret of this process: whoever could aim ids at one place of the table could stall it.
        self._key = np.array([Noise().uniform(1 << 64) for _ in range(2)], dtype=np.uint64)
        self.held = 0

    def put(self, ids: Any, numbers: Any, counts: Any) -> Any:
        """Add ids (rows of sixteen bytes) and their numbers, keeping `counts` in step.

        Returns for each row 1 if its id was new, 2 if its number replaced a larger one, and 0 if nothing changed.
        """
        from sfumato.local.kernels.ids import put

        self._grow(self.held + len(ids))
        pairs = np.ascontiguousarray(ids).view("<u8").reshape(-1, 2)
        changed = put(self._keys, self._values, self._key, pairs, np.asarray(numbers, dtype=np.int64), counts)
        self.held += int((changed == 1).sum())
        return changed

    def _grow(self, held: int) -> None:
        slots = len(self._values)
        while held > _FULL * slots:
            slots *= 2
        if slots > len(self._values):
            from sfumato.local.kernels.ids import empty_table, move

            keys, values = empty_table(slots)
            move(self._keys, self._values, self._key, keys, values)
            self._keys, self._values = keys, values
