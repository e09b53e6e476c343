"""Running totals over groups that a table of the same publication finds privately, period by period (PB-CONTINUAL).

Of every period all groups that occur are read and frozen. A group that the table found at period t gets what it would
have had in the periods before at once, those of horizons that ended before too, each entry with its own noise, and one
entry a period afterwards. Every entry is released once and all come from what was frozen, so together they cost what
they would if all groups had been listed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.ask.packing import pack, unpack
from sfumato.domain import Dates, FixedPoint
from sfumato.noise import Noise
from sfumato.publish.measured import Measured
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
    """What one step released: an entry for groups known before, all entries so far for new ones, and their names.

    `past` has the entries of new groups in horizons that ended before, one array for each.
    """

    known: NDArray[np.int64]
    fresh: NDArray[np.int64]
    names: tuple[Cell, ...]
    past: tuple[NDArray[np.int64], ...] = ()

    def packed(self) -> bytes:
        """Return its bytes."""
        return pack((self.known, self.fresh, written_cells(self.names), *self.past))


def drawn_of(content: bytes, schema: Schema, keys: Sequence[str]) -> Drawn:
    """Read what `packed` wrote."""
    known, fresh, names, *past = unpack(content, schema)
    return Drawn(known, fresh, read_cells(names, schema, keys), tuple(past))


def drawn_step(
    totals: RunningTotals | PureTotals,
    known: Sequence[Any],
    fresh: Sequence[Any],
    names: Sequence[Cell],
    noise: Noise,
    *,
    past: Sequence[tuple[RunningTotals | PureTotals, Sequence[Any]]] = (),
) -> Drawn:
    """Draw a step from what was frozen of known and of new groups in all periods so far.

    `past` has for each horizon that ended its mechanism, and what was frozen of new groups in all of its periods.
    """
    import numpy as np

    now = np.ravel(totals.entry(known, noise))
    then = _entries(totals, fresh, noise)
    return Drawn(now, then, tuple(names), tuple(_entries(one, read, noise) for one, read in past))


def _entries(totals: RunningTotals | PureTotals, read: Sequence[Any], noise: Noise) -> NDArray[np.int64]:
    """Return the entries of all periods that were read, the oldest first."""
    import numpy as np

    return np.concatenate([np.ravel(totals.entry(read[: place + 1], noise)) for place in range(len(read))])


def assembled(
    horizons: Sequence[tuple[RunningTotals | PureTotals, Sequence[Drawn]]], parts: int
) -> tuple[tuple[Cell, ...], list[list[Any]]]:
    """Return all groups in the order in which they were found, and by horizon and period what was released of them.

    `parts` is how many numbers a group has: all groups of the first come before all of the second.
    """
    import numpy as np

    cells: tuple[Cell, ...] = ()
    found: list[list[Any]] = []
    for totals, steps in horizons:
        found.append([])
        for step in steps:
            rows = totals.entries(len(found[-1]) + 1)
            found[-1].append(np.asarray(step.known).reshape(rows, parts, len(cells)))
            for number, entries in enumerate((*step.past, step.fresh)):
                found[number] = _widened(found[number], entries, parts, len(step.names))
            cells += step.names
    return cells, [[one.reshape(len(one), parts * len(cells)) for one in periods] for periods in found]


def _widened(periods: Sequence[Any], entries: Any, parts: int, groups: int) -> list[Any]:
    """Return what was released in the periods of a horizon, with the entries of some more groups."""
    import numpy as np

    ends = np.cumsum([len(one) * parts * groups for one in periods])[:-1]
    fresh = np.split(np.asarray(entries), ends)
    return [
        np.concatenate([old, new.reshape(len(old), parts, groups)], axis=2)
        for old, new in zip(periods, fresh, strict=True)
    ]


def totals_of(read: Sparse, cells: Sequence[Cell], measured: Measured, grid: int) -> NDArray[np.int64]:
    """Return the frozen totals of some groups as they are added up; one that did not occur has none."""
    import numpy as np

    domains = [measured.schema.domain(name) for name in measured.measure.keys]
    places = {cell: place for place, cell in enumerate(cells)}
    found = [np.zeros(len(cells), object) for _ in measured.measure.parts]
    for codes, totals in read.items():
        place = places.get(tuple(domain.decode(code) for domain, code in zip(domains, codes, strict=True)))
        if place is not None:
            for part, total in zip(found, totals, strict=True):
                part[place] = total
    return measured.exact(found, grid).astype(np.int64)


def written_cells(cells: Sequence[Cell]) -> NDArray[np.uint8]:
    """Return groups as bytes; days as people write them, and numbers with a fraction as such."""
    import numpy as np

    return np.frombuffer(json.dumps([list(map(_written, cell)) for cell in cells]).encode(), np.uint8)


def _written(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else str(value) if isinstance(value, Fraction) else value


def read_cells(content: NDArray[np.uint8], schema: Schema, keys: Sequence[str]) -> tuple[Cell, ...]:
    """Read what `written_cells` wrote."""
    domains = [schema.domain(name) for name in keys]

    def read(value: Any, domain: Any) -> Any:
        if isinstance(value, str) and isinstance(domain, Dates):
            return date.fromisoformat(value)
        return Fraction(value) if isinstance(value, str) and isinstance(domain, FixedPoint) else value

    cells = json.loads(content.tobytes())
    return tuple(tuple(read(value, domain) for value, domain in zip(cell, domains, strict=True)) for cell in cells)
