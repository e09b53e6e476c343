"""What a round may choose from: single queries with values from 0 to 1, or whole tables; public, exact, in one row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy import REPLACE_ONE, Relation
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.workload.blocks import Block, Marginal, Parity
from sfumato.workload.queries import Matrix
from sfumato.workload.records import Records
from sfumato.workload.workload import Workload

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Candidates:
    """The queries of a workload one by one, or, with `tables`, the whole tables over its sets of columns.

    A query is shifted and divided by public numbers so that a row adds between 0 and `width` to it, an integer; its
    value is that over `width`, between 0 and 1, whatever it was (QR:C-15). A row that comes, goes or changes moves it
    by at most `width`.
    """

    workload: Workload
    tables: bool = False

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks in which answers are computed: those of the workload, or one marginal for each set of columns."""
        if not self.tables:
            return self.workload.blocks
        sets = dict.fromkeys(block.columns for block in self.workload.blocks)
        return tuple(Marginal(columns, self.workload.space.listed(columns)) for columns in sets)

    @cached_property
    def starts(self) -> Integers:
        """Where the numbers of each block begin in the row of all of them."""
        return np.concatenate(([0], np.cumsum([block.queries for block in self.blocks]))).astype(np.int64)

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return len(self.blocks) if self.tables else int(self.starts[-1])

    @cached_property
    def _forms(self) -> tuple[list[tuple[Any, Any]], int]:
        """For each block what is subtracted and what it is multiplied by, and the common width."""
        forms = [_form(block) for block in self.blocks]
        width = max(int(np.max(widths)) for _, _, widths in forms)
        scaled = []
        for low, divisor, widths in forms:
            factor = width // np.maximum(widths, 1)
            scaled.append((low, (factor, divisor)))
        return scaled, width

    @cached_property
    def _plain(self) -> bool:
        """Whether all queries are counts already."""
        return not any(isinstance(block, Matrix) or getattr(block, "signed", False) for block in self.blocks)

    @property
    def width(self) -> int:
        """The most that one row adds to a query; 1 for counts."""
        return self._forms[1]

    def flat(self, answers: list[NDArray[Any]], total: Any) -> NDArray[Any]:
        """Return the answers of the blocks in one row, each query shifted and scaled; `total` is the number of rows."""
        if self._plain:
            return np.concatenate(answers)
        parts = []
        for answer, (low, (factor, divisor)) in zip(answers, self._forms[0], strict=True):
            shifted = answer - low * total
            exact = shifted.dtype.kind == "i"
            parts.append((shifted // divisor if exact else shifted / divisor) * factor)
        return np.concatenate(parts)

    def exact(self, records: Records) -> Integers:
        """Return the exact integers of all candidates in one row: private."""
        if self.tables:
            return self.flat([records.table(block.columns).ravel() for block in self.blocks], records.total)
        return self.flat(self.workload.answers(records), records.total)

    def scores(self, distances: Integers) -> Integers:
        """Return one number for each candidate: its own distance, or the sum over the cells of its table."""
        return np.add.reduceat(distances, self.starts[:-1]) if self.tables else distances

    def block_of(self, candidate: int) -> int:
        """Return the block in which a candidate is."""
        return candidate if self.tables else int(np.searchsorted(self.starts, candidate, side="right")) - 1

    def slots(self, candidate: int) -> slice:
        """Return the places of a candidate's numbers in the row of all of them."""
        if self.tables:
            return slice(int(self.starts[candidate]), int(self.starts[candidate + 1]))
        return slice(candidate, candidate + 1)

    def query(self, candidate: int) -> tuple[tuple[str, ...], Floats]:
        """Return the columns of a candidate and its queries' values from 0 to 1: one table, or one for each cell."""
        place = self.block_of(candidate)
        block = self.blocks[place]
        if self.tables:
            return block.columns, np.empty((0, *block.shape))
        inside = candidate - int(self.starts[place])
        unit = np.zeros(block.queries, dtype=np.int64)
        unit[inside] = 1
        low, (factor, divisor) = self._forms[0][place]
        table = block.transpose(unit) - np.broadcast_to(low, (block.queries,))[inside]
        factors, divisors = (np.broadcast_to(part, (block.queries,))[inside] for part in (factor, divisor))
        return block.columns, np.asarray(table * (factors / (divisors * self.width)), dtype=np.float64)

    def moves(self, relation: Relation, rows: int) -> Sensitivity:
        """Return how far the numbers of one candidate move when a person of at most so many rows changes.

        A query moves by its width for every row. Of a table a row that is replaced moves two cells, one that comes or
        goes a single one; of several rows each may come, go or change.
        """
        if not self.tables:
            step = rows * self.width
            return Sensitivity(_whole(step), _whole(step**2), _whole(step), 1)
        cells = 2 if relation is REPLACE_ONE or rows > 1 else 1
        return Sensitivity(_whole(cells * rows), _whole(cells * rows**2), _whole(rows), cells * rows)

    def to_json(self) -> dict[str, Any]:
        """Return the workload and what is chosen from it."""
        return {**self.workload.to_json(), "tables": self.tables}


def _whole(number: int) -> Any:
    from fractions import Fraction

    return Fraction(number)


def _form(block: Block) -> tuple[Any, Any, Any]:
    """Return the lowest value of the block's queries, their common divisor, and their width after both are removed."""
    if isinstance(block, Parity) and block.signed:
        return np.int64(-1), np.int64(2), np.int64(1)
    if not isinstance(block, Matrix):
        return np.int64(0), np.int64(1), np.int64(1)
    matrix = block.matrix()
    low = matrix.min(axis=1)
    shifted = matrix - low[:, None]
    divisor = np.maximum(np.gcd.reduce(shifted, axis=1), 1)
    return low, divisor, shifted.max(axis=1) // divisor
