"""Pictures of released tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import ParameterError, SchemaError
from sfumato.show import Bar, Drawing, bars
from sfumato.show.compared import compared
from sfumato.show.heat import heat_map
from sfumato.show.views import key_text
from sfumato.table.data import open_table
from sfumato.table.gauge import Basis
from sfumato.table.measure import Rows
from sfumato.table.schema import Schema
from sfumato.workload.blocks import Marginal
from sfumato.workload.records import Records
from sfumato.workload.space import Space

if TYPE_CHECKING:
    from sfumato.model.base import Model
    from sfumato.questions.queries.tables import Tables
    from sfumato.workload.workload import Workload

MOST_BARS = 400
MOST_DOTS = 20_000
"""More dots than this cover each other."""


def draw_block(tables: Tables, place: int, columns: Sequence[str] | str | None = None) -> Drawing:
    """Return the picture of one block: two columns as a heat map with an error bar in every cell, others as bars."""
    block = tables.workload.blocks[place]
    names = block.columns if columns is None or isinstance(columns, str) else tuple(columns)
    title = f"{' × '.join(names)}, with 95 % intervals of the privacy noise"
    low, high = tables.between(place)
    if isinstance(block, Marginal) and len(names) == 2:
        order = [block.columns.index(name) for name in names]
        ends = [part.reshape(block.shape).transpose(order) for part in (tables.values[place], low, high)]
        labels = [[key_text(value) for value in tables.workload.space.values(name)] for name in names]
        return heat_map(title, (names[0], names[1]), labels, ends[0], low=ends[1], high=ends[2])
    shown = [", ".join(map(key_text, label)) for label in block.labels(tables.workload.space)]
    rows = zip(shown, tables.values[place].tolist(), low.tolist(), high.tolist(), strict=True)
    drawn = [Bar(name, value, below, above) for name, value, below, above in rows][:MOST_BARS]
    more = "" if len(shown) <= MOST_BARS else f" (the first {MOST_BARS} of {len(shown)})"
    return bars(title + more, "people", drawn)


def draw_errors(released: Tables | Model, *, public: Any, schema: Schema, workload: Workload | None = None) -> Drawing:
    """Return a picture of true against released answers, for rows that are public or simulated.

    `public` are the rows from which `released` was made: made-up people, or a table that everybody has. The picture
    shows their exact counts, so never pass private rows: nothing here is charged, and nothing is private. `released`
    is the value of `curator.answer`, drawn with its intervals, or a model, whose answers to `workload` are drawn.
    """
    from sfumato.questions.queries.tables import Tables

    asked = released.workload if isinstance(released, Tables) else workload
    if asked is None:
        raise ParameterError("A model answers any workload; write workload=workloads.marginals(schema, width=2).")
    if Space.of(schema, asked.space.names) != asked.space:
        raise SchemaError("The answers were released under another schema than that of the public rows; pass theirs.")
    if asked.queries > MOST_DOTS:
        raise ParameterError(
            f"The workload has {asked.queries} answers, and more than {MOST_DOTS} dots cover each other; draw fewer "
            "tables."
        )
    true, rows = _true(public, schema, asked)
    if not isinstance(released, Tables):
        values = np.concatenate([rows * found for found in asked.evaluate(released)])
        return compared(f"{asked.queries} answers of a model", "people", true.tolist(), values.tolist())
    if released.people is not None and released.people != rows:
        raise ParameterError(
            f"The tables speak of {released.people} people, and there are {rows} public rows; pass the rows that were "
            "asked about."
        )
    low, high = (np.concatenate(ends) for ends in zip(*map(released.between, range(len(released))), strict=True))
    widths = {released.width(place) for place in range(len(released))}
    held = np.mean((low <= true) & (true <= high))
    return compared(
        f"{asked.queries} answers, of which {100 * held:.1f} % have the true one in their 95 % interval",
        "people",
        true.tolist(),
        np.concatenate(released.values).tolist(),
        between=(low.tolist(), high.tolist()),
        width=widths.pop() if len(widths) == 1 else None,
    )


def _true(public: Any, schema: Schema, workload: Workload) -> tuple[Any, int]:
    """Return the exact answers on public rows, in the unit of the queries, and how many rows there are."""
    space = Space.of(schema, workload.columns)
    with open_table(public, schema) as opened:
        # Public rows cost nobody anything; the gauge only knows how many of them a person may add.
        gauge = Basis(schema, opened.people).gauge(Rows(space.names))
        records = Records.of(space, gauge.read(opened))
    answers = zip(workload.blocks, workload.answers(records), strict=True)
    return np.concatenate([found / block.denominator for block, found in answers]), records.total
