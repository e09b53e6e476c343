"""Running totals over groups that a table of the same publication finds privately, period by period (PB-CONTINUAL).

Of every period all groups that occur are read and frozen. A group that the table found at period t gets what it would
have had in the periods before at once, each entry with its own noise, and one entry a period afterwards. Every entry is
released once and all come from what was frozen, so together they cost what they would if all groups had been listed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from sfumato.ask.packing import pack, unpack
from sfumato.noise import Noise
from sfumato.publish.running import RunningTotals
from sfumato.publish.tree import PureTotals
from sfumato.table.schema import Schema
from sfumato.table.sparse import Sparse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Cell = tuple[Any, ...]


@dataclass(frozen=True)
class Drawn:
    """What one step released: an entry for groups known before, all entries so far for new ones, and their names."""

    known: NDArray[np.int64]
    fresh: NDArray[np.int64]
    names: tuple[Cell, ...]

    def packed(self) -> bytes:
        """Return its bytes."""
        return pack((self.known, self.fresh, written_cells(self.names)))


def drawn_of(content: bytes, schema: Schema, keys: Sequence[str]) -> Drawn:
    """Read what `packed` wrote."""
    known, fresh, names = unpack(content, schema)
    return Drawn(known, fresh, read_cells(names, schema, keys))


def drawn_step(
    totals: RunningTotals | PureTotals, known: Sequence[Any], fresh: Sequence[Any], names: Sequence[Cell], noise: Noise
) -> Drawn:
    """Draw a step from what was frozen of known and of new groups in all periods so far."""
    import numpy as np

    now = totals.entry(known, noise)
    then = [np.ravel(totals.entry(fresh[: place + 1], noise)) for place in range(len(fresh))]
    return Drawn(np.ravel(now), np.concatenate(then), tuple(names))


def assembled(steps: Sequence[Drawn], totals: RunningTotals | PureTotals) -> tuple[tuple[Cell, ...], list[Any]]:
    """Return all groups in the order in which they were found, and by period what was released of each of them."""
    import numpy as np

    cells: tuple[Cell, ...] = ()
    periods: list[Any] = []
    for place, step in enumerate(steps):
        rows = [totals.entries(period) for period in range(1, place + 2)]
        periods.append(np.asarray(step.known).reshape(rows[-1], len(cells)))
        ends = np.cumsum([count * len(step.names) for count in rows])[:-1]
        parts = zip(rows, np.split(np.asarray(step.fresh), ends), strict=True)
        fresh = [part.reshape(count, len(step.names)) for count, part in parts]
        periods = [np.concatenate([old, new], axis=1) for old, new in zip(periods, fresh, strict=True)]
        cells += step.names
    return cells, periods


def totals_of(read: Sparse, cells: Sequence[Cell], schema: Schema, keys: Sequence[str]) -> NDArray[np.int64]:
    """Return the frozen totals of some groups; one that did not occur has none."""
    import numpy as np

    domains = [schema.domain(name) for name in keys]
    places = {cell: place for place, cell in enumerate(cells)}
    found = np.zeros(len(cells), np.int64)
    for codes, (total,) in read.items():
        place = places.get(tuple(domain.decode(code) for domain, code in zip(domains, codes, strict=True)))
        if place is not None:
            found[place] = total
    return found


def written_cells(cells: Sequence[Cell]) -> NDArray[np.uint8]:
    """Return groups as bytes; days as people write them."""
    import numpy as np

    plain = [[value.isoformat() if isinstance(value, date) else value for value in cell] for cell in cells]
    return np.frombuffer(json.dumps(plain).encode(), np.uint8)


def read_cells(content: NDArray[np.uint8], schema: Schema, keys: Sequence[str]) -> tuple[Cell, ...]:
    """Read what `written_cells` wrote."""
    from sfumato.domain import Dates

    days = [isinstance(schema.domain(name), Dates) for name in keys]

    def read(value: Any, day: bool) -> Any:
        return date.fromisoformat(value) if day and value is not None else value

    cells = json.loads(content.tobytes())
    return tuple(tuple(read(value, day) for value, day in zip(cell, days, strict=True)) for cell in cells)
