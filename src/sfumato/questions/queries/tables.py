"""What a workload is answered with: a table for every block, with error bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.answer import Frame, half_width
from sfumato.errors import ParameterError, SchemaError
from sfumato.exact import Number, between_zero_and_one
from sfumato.noise import Law
from sfumato.questions.queries.contrasts import Contrasts
from sfumato.show.views import View, Viewed, key_text
from sfumato.workload.blocks import Block, Marginal
from sfumato.workload.workload import Workload

if TYPE_CHECKING:
    from sfumato.show import Drawing

Floats = NDArray[np.float64]
USUAL = Fraction(95, 100)


@dataclass(frozen=True, eq=False)
class Tables(Viewed):
    """The answers to all queries of a workload, block by block.

    `values` are the answers after the projection, `noisy` the unbiased ones that left the house, both in the unit of
    the query: people for counts. `law` is the noise of each of them, or the contrasts that all tables were added up
    from: then tables differ in how wide their noise is. `method` says how the first were made from the second, and
    `gap` how far their squared distance is from the smallest, where that is known. `people` is the number of people if
    it is public.

    >>> from sfumato import Schema, booleans, workloads
    >>> from sfumato.noise import DiscreteLaplace
    >>> workload = workloads.marginals(Schema({"rain": booleans(missing=False)}), width=1)
    >>> counts = np.array([60.0, 41.0])
    >>> Tables(workload, (counts,), (counts,), DiscreteLaplace(2), "none").table("rain")["count, low"]
    (54.0, 35.0)
    """

    workload: Workload
    values: tuple[Floats, ...]
    noisy: tuple[Floats, ...]
    law: Law | Contrasts
    method: str
    gap: float | None = None
    people: int | None = None

    def __len__(self) -> int:
        return len(self.workload.blocks)

    def __iter__(self) -> Iterator[Frame]:
        return (self.block(place) for place in range(len(self)))

    def __getitem__(self, columns: Sequence[str] | str | int) -> Frame:
        """Return the table over some columns, as `table` does, or the one at a place."""
        if not isinstance(columns, int):
            return self.table(columns)
        if not -len(self) <= columns < len(self):
            raise ParameterError(
                f"There are {len(self)} tables, counted from 0, and {columns} is none; write tables.table('age')."
            )
        return self.block(columns % len(self))

    def __repr__(self) -> str:
        return f"Tables({self.workload.queries} answers in {len(self)} blocks, method={self.method!r})"

    def view(self) -> View:
        """Return all answers in one long table."""
        return self.to_frame().view()

    def place(self, columns: Sequence[str] | str) -> int:
        """Return the place of the block over these columns; a table of counts before any other block."""
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        self.workload.space.places(names)
        fitting = [at for at, block in enumerate(self.workload.blocks) if set(block.columns) == set(names)]
        if not fitting:
            raise SchemaError(
                f"The workload has no block over {', '.join(names)}; add it by sets=[{names!r}], or read it from a "
                "model made by synthesize."
            )
        return min(fitting, key=lambda at: not isinstance(self.workload.blocks[at], Marginal))

    def array(self, columns: Sequence[str] | str) -> Floats:
        """Return the counts over some columns as an array, one axis for each in the order asked for."""
        at = self.place(columns)
        block = self.workload.blocks[at]
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        if not isinstance(block, Marginal):
            return self.values[at]
        return self.values[at].reshape(block.shape).transpose([block.columns.index(name) for name in names])

    def table(self, columns: Sequence[str] | str, confidence: Number = USUAL) -> Frame:
        """Return the block over some columns as a table: its values, and the ends of their intervals."""
        return self.block(self.place(columns), confidence)

    def block(self, place: int, confidence: Number = USUAL) -> Frame:
        """Return the block at a place as a table."""
        block = self.workload.blocks[place]
        labels = block.labels(self.workload.space)
        keys = {name: tuple(label[at] for label in labels) for at, name in enumerate(block.headings)}
        low, high = self.between(place, confidence)
        named = "count" if "count" not in keys else "noisy count"
        columns = {named: self.values[place], f"{named}, low": low, f"{named}, high": high}
        return Frame(block.headings, {**keys, **{name: tuple(part.tolist()) for name, part in columns.items()}})

    def width(self, place: int, confidence: Number = USUAL) -> float:
        """Return the half-width of the intervals of a block: that of the noise, whatever was projected."""
        chance = between_zero_and_one(confidence, "confidence")
        if isinstance(self.law, Contrasts):
            return self.law.width(place, chance)
        return float(Fraction(half_width(self.law, chance), self.workload.blocks[place].denominator))

    def between(self, place: int, confidence: Number = USUAL) -> tuple[Floats, Floats]:
        """Return low and high ends for each answer of a block.

        Each interval covers the exact answer with at least this probability, before and after a projection: it is the
        noisy number and its noise, cut to what is possible, and stretched to hold the projected value where that lies
        outside. It covers the noise of privacy, not the luck of who is in the table.
        """
        width, noisy = self.width(place, confidence), self.noisy[place]
        lowest, highest = self._possible(self.workload.blocks[place])
        low = np.clip(noisy - width, lowest, highest)
        high = np.clip(noisy + width, lowest, highest)
        if self.method == "none":
            low, high = np.minimum(low, noisy), np.maximum(high, noisy)
        return np.minimum(low, self.values[place]), np.maximum(high, self.values[place])

    def _possible(self, block: Block) -> tuple[float, float]:
        most = np.inf if self.people is None else float(self.people)
        return (-most if getattr(block, "signed", False) else 0.0), most

    def interval(self, confidence: Number = USUAL) -> Frame:
        """Return low and high ends for all answers, in the rows of `to_frame`."""
        frame = self.to_frame(confidence)
        return replace(frame, columns={name: column for name, column in frame.columns.items() if name != "count"})

    def to_frame(self, confidence: Number = USUAL) -> Frame:
        """Return all answers in one long table: the columns of the block, the cell, the value, and its interval.

        Every column that some block is about stands on its own too, empty in the rows of other blocks: in print the
        cell says the same.
        """
        tables: list[str] = []
        cells: list[str] = []
        ends: list[list[float]] = [[], [], []]
        for place, block in enumerate(self.workload.blocks):
            labels = block.labels(self.workload.space)
            tables += [" × ".join(block.columns)] * len(labels)
            cells += [", ".join(map(key_text, label)) for label in labels]
            for column, part in zip(ends, (self.values[place], *self.between(place, confidence)), strict=True):
                column.extend(part.tolist())
        named = dict(zip(("count", "count, low", "count, high"), map(tuple, ends), strict=True))
        said = {"table": tuple(tables), "cell": tuple(cells)}
        apart = {name if name not in {*said, *named} else f"column {name}": cells for name, cells in self._apart()}
        return Frame(("table", "cell"), {**said, **apart, **named}, unprinted=tuple(apart))

    def _apart(self) -> Iterator[tuple[str, tuple[str | None, ...]]]:
        """Yield every heading of the blocks with its value in each row of the long table."""
        labels = [block.labels(self.workload.space) for block in self.workload.blocks]
        headings = [block.headings for block in self.workload.blocks]
        for name in dict.fromkeys(name for listed in headings for name in listed):
            yield (
                name,
                tuple(
                    key_text(label[listed.index(name)]) if name in listed else None
                    for listed, block in zip(headings, labels, strict=True)
                    for label in block
                ),
            )

    def to_arrow(self, columns: Sequence[str] | str | None = None) -> Any:
        """Return one block, or all answers in one long table, as an Arrow table."""
        return (self.to_frame() if columns is None else self.table(columns)).to_arrow()

    def to_pandas(self, columns: Sequence[str] | str | None = None) -> Any:
        """Return the same as a pandas data frame."""
        return self.to_arrow(columns).to_pandas()

    def to_polars(self, columns: Sequence[str] | str | None = None) -> Any:
        """Return the same as a polars data frame."""
        import polars

        return polars.from_arrow(self.to_arrow(columns))

    def plot(self, columns: Sequence[str] | str | None = None, path: str | Path | None = None) -> Drawing:
        """Return a picture of a block, by default the first: a heat map for two columns, bars with error bars else."""
        from sfumato.questions.queries.drawn import draw_block

        drawing = draw_block(self, 0 if columns is None else self.place(columns), columns)
        if path is not None:
            drawing.save(path)
        return drawing
