"""FO-HR: Hadamard response, a histogram over listed cells, decoded by one fast transform."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato.errors import ParameterError
from sfumato.exact import positive_integer
from sfumato.local.oracle import Counts, Oracle, Tally, TallyReader
from sfumato.privacy import Pure
from sfumato.privacy.coins import noise_weight, report_epsilon


@dataclass(frozen=True, kw_only=True)
class HadamardResponse(Oracle):
    """Report a column in which the row of the item's cell has a one; the rows are those of a Hadamard matrix.

    A point is a cell below `cells`, or ~cell for the same cell with a negative sign. Reports are 2^`block_bits`
    blocks of 2^`column_bits` columns; cell v belongs to block v mod 2^block_bits and to row v div 2^block_bits + 1,
    because row 0 is constant and says nothing. One block is best up to epsilon 1.34,
    where e^epsilon is 1 + 2·sqrt(2).

    Promise: each report has chance c/N, or c/N + (1-c)·2/b, hence pure epsilon = log(1 + 2·blocks·(1-c)/c).
    Standard error, absent cell, balanced blocks: sqrt(n/blocks)/(1-c). Time O(n + N log N). Spec: FO-HR.

    >>> from sfumato import Noise, Pure
    >>> oracle = hadamard_response(Pure(1), cells=100)
    >>> oracle.outcomes, oracle.run(7, Noise(insecure_seed=1)) < 128
    (128, True)
    >>> [hadamard_response(Pure(epsilon), cells=100).block_bits for epsilon in ("1.342", "1.343")]
    [0, 1]
    """

    spec: ClassVar[str] = "FO-HR"
    kind: ClassVar[str] = "hadamard"

    block_bits: int
    column_bits: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.block_bits < 0 or self.column_bits < 1 or self.block_bits + self.column_bits > 30:
            raise ParameterError("block_bits is at least 0, column_bits at least 1, and together they are at most 30.")

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return (1 << self.block_bits) * ((1 << self.column_bits) - 1)

    @property
    def outcomes(self) -> int:
        """Blocks times columns."""
        return 1 << (self.block_bits + self.column_bits)

    @property
    def spread(self) -> int:
        """Half of the columns of one block speak for a cell."""
        return 2 << self.block_bits

    def shape(self) -> dict[str, int]:
        """Return the sizes."""
        return {"block_bits": self.block_bits, "column_bits": self.column_bits}

    def place(self, point: int, drawn: int) -> int:
        """Keep the column if its sign is right; otherwise flip the lowest bit of the row in it: a bijection."""
        cell, wrong = (~point, 1) if point < 0 else (point, 0)
        block, row = cell & ((1 << self.block_bits) - 1), (cell >> self.block_bits) + 1
        column = drawn & ((1 << self.column_bits) - 1)
        if (row & column).bit_count() & 1 != wrong:
            column ^= row & -row
        return block << self.column_bits | column

    def place_many(self, points: Any, drawn: Tally) -> Tally:
        """Place many."""
        points = np.asarray(points, dtype=np.int64)
        wrong = (points < 0).astype(np.int64)
        cells = np.where(points < 0, ~points, points)
        blocks, rows = cells & ((1 << self.block_bits) - 1), (cells >> self.block_bits) + 1
        columns = drawn & ((1 << self.column_bits) - 1)
        odd = np.bitwise_count(rows & columns).astype(np.int64) & 1
        columns = np.where(odd != wrong, columns ^ (rows & -rows), columns)
        placed: Tally = blocks << self.column_bits | columns
        return placed

    def reader(self, tally: Tally) -> HadamardReader:
        """Transform the counts."""
        return HadamardReader(self, np.asarray(tally))

    def deviation(self, reports: float, count: float = 0) -> float:
        """Return the error when all blocks hold equally many devices."""
        blocks = 1 << self.block_bits
        own = count * max(0.0, 1 - self.signal**2)
        return math.sqrt(max(0.0, (reports - count) / blocks + own)) / self.signal


@dataclass(frozen=True)
class HadamardReader(TallyReader):
    """The transform of the counts of a Hadamard response."""

    oracle: HadamardResponse

    @cached_property
    def _sums(self) -> Any:
        from sfumato.exact.transform import walsh_hadamard

        return walsh_hadamard(self.tally.reshape(1 << self.oracle.block_bits, -1))

    def counts(self, points: Any = None) -> Counts:
        """Return the estimates of these cells, by default of all."""
        if points is None:
            everything: Counts = self._sums[:, 1:].T.ravel() / self.oracle.signal
            return everything
        blocks, rows, signs = self._locate(points)
        found: Counts = signs * self._sums[blocks, rows] / self.oracle.signal
        return found

    def errors(self, points: Any, counts: Counts) -> Counts:
        """Return the errors, from the reports that fell into each cell's own block: heavy neighbours raise them."""
        inside = self.inside(points)
        # Of an item's own reports a share is signal, which does not vary.
        variance = inside - np.clip(counts, 0, None) * self.oracle.signal**2
        return np.asarray(np.sqrt(np.maximum(variance, 1.0)) / self.oracle.signal, dtype=np.float64)

    def inside(self, points: Any) -> Any:
        """Return how many reports fell into the block of each cell."""
        blocks, _, _ = self._locate(points)
        return self.tally.reshape(1 << self.oracle.block_bits, -1).sum(axis=1)[blocks]

    def _locate(self, points: Any) -> tuple[Any, Any, Any]:
        given = np.asarray(points, dtype=np.int64)
        cells = np.where(given < 0, ~given, given)
        bits = self.oracle.block_bits
        return cells & ((1 << bits) - 1), (cells >> bits) + 1, np.where(given < 0, -1.0, 1.0)


def best_block_bits(epsilon: float) -> int:
    """Return the number of blocks, as a power of two, with the smallest error.

    >>> [best_block_bits(epsilon) for epsilon in (0.5, 1, 2, 4)]
    [0, 0, 2, 5]
    """
    return max(0, round(math.log2(math.expm1(epsilon) / 2)))


def hadamard_response(spend: Pure, cells: int, *, block_bits: int | None = None) -> HadamardResponse:
    """Return the smallest Hadamard response for so many cells; by default with the best number of blocks.

    >>> from sfumato import Noise, Pure
    >>> oracle = hadamard_response(Pure(2), cells=3)
    >>> reports = oracle.run_many(np.repeat([0, 2], [6_000, 4_000]), Noise(insecure_seed=1))
    >>> oracle.reader(oracle.tally(reports)).counts([0, 1, 2]).round(-3) + 0.0
    array([6000.,    0., 4000.])
    """
    epsilon = report_epsilon(spend)
    count = positive_integer(cells, "cells")
    if block_bits is None:
        bits = min(best_block_bits(float(epsilon)), max(0, (count - 1).bit_length() - 1))
    elif isinstance(block_bits, int) and block_bits >= 0:
        bits = block_bits
    else:
        raise ParameterError("block_bits must be a whole number of at least 0; leave it out to get the best one.")
    column_bits = max(1, (-(-count >> bits)).bit_length())
    weight = noise_weight(epsilon, 2 << bits)
    return HadamardResponse(weight=weight, block_bits=bits, column_bits=column_bits)
