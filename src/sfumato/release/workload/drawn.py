"""Pictures of released tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.release.workload.blocks import Marginal
from sfumato.show import Bar, Drawing, bars
from sfumato.show.heat import heat_map

if TYPE_CHECKING:
    from sfumato.release.workload.tables import Tables

MOST_BARS = 400


def draw_block(tables: Tables, place: int, columns: Sequence[str] | str | None = None) -> Drawing:
    """Return the picture of one block: two columns as a heat map with an error bar in every cell, others as bars."""
    block = tables.workload.blocks[place]
    names = block.columns if columns is None or isinstance(columns, str) else tuple(columns)
    title = f"{' × '.join(names)}, with 95 % intervals of the privacy noise"
    low, high = tables.between(place)
    if isinstance(block, Marginal) and len(names) == 2:
        order = [block.columns.index(name) for name in names]
        ends = [part.reshape(block.shape).transpose(order) for part in (tables.values[place], low, high)]
        labels = [[str(value) for value in tables.workload.space.values(name)] for name in names]
        return heat_map(title, (names[0], names[1]), labels, ends[0], low=ends[1], high=ends[2])
    shown = [", ".join(map(str, label)) for label in block.labels(tables.workload.space)]
    rows = zip(shown, tables.values[place].tolist(), low.tolist(), high.tolist(), strict=True)
    drawn = [Bar(name, value, below, above) for name, value, below, above in rows][:MOST_BARS]
    more = "" if len(shown) <= MOST_BARS else f" (the first {MOST_BARS} of {len(shown)})"
    return bars(title + more, "people", drawn)
