"""FO-HASHTOGRAM: estimates for any item of a huge domain, from a few rows of hashed Hadamard responses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.errors import ParameterError
from sfumato.exact import positive_integer
from sfumato.local.hadamard import best_block_bits
from sfumato.local.oracle import Counts, Oracle, Tally, TallyReader
from sfumato.privacy import Pure
from sfumato.privacy.coins import noise_weight, report_epsilon
from sfumato.words import understood

MOST_ROWS = 8
"""One hash of eight words serves so many rows."""


@dataclass(frozen=True, kw_only=True)
class Hashtogram(Oracle):
    """Each device falls into one of `rows` rows and answers about the cell and the sign of its item there.

    A point is the hash of an item: one word of 32 bits for each row, whose low bits are the cell and whose highest
    bit is the sign. The row is part of the uniform report, so it never depends on the item (C-SPLIT).

    Promise: that of the Hadamard response of a row, pure epsilon = log(1 + 2·blocks·(1-c)/c). Memory: rows · 2^cell
    bits. Spec: FO-HASHTOGRAM.

    >>> from sfumato import Noise, Pure
    >>> from sfumato.local.seed import words
    >>> oracle = hashtogram(Pure(4), users=10_000)
    >>> held = np.array([words(b"public key", item) for item in [b"a"] * 6_000 + [b"b"] * 4_000])
    >>> reader = oracle.reader(oracle.tally(oracle.run_many(held, Noise(insecure_seed=1))))
    >>> reader.counts([words(b"public key", item) for item in (b"a", b"b", b"nobody's")]).round(-3) + 0.0
    array([6000., 4000.,    0.])
    """

    spec: ClassVar[str] = "FO-HASHTOGRAM"
    kind: ClassVar[str] = "hashtogram"

    rows: int
    block_bits: int
    column_bits: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.rows <= MOST_ROWS or self.block_bits < 0 or not 1 <= self.column_bits <= 24:
            raise ParameterError("rows lies between 1 and 8, block_bits is at least 0, column_bits between 1 and 24.")

    @property
    def row_outcomes(self) -> int:
        """The reports of one row."""
        return 1 << (self.block_bits + self.column_bits)

    @property
    def outcomes(self) -> int:
        """The reports of all rows."""
        return self.rows * self.row_outcomes

    @property
    def spread(self) -> int:
        """In each row, half of the columns of one block speak for an item."""
        return 2 << self.block_bits

    def shape(self) -> dict[str, int]:
        """Return the sizes."""
        return {"rows": self.rows, "block_bits": self.block_bits, "column_bits": self.column_bits}

    def place(self, point: Sequence[int], drawn: int) -> int:
        """Keep the row; move the column in the block of the item's cell until its sign is the item's."""
        row, inside = divmod(drawn, self.row_outcomes)
        word = point[row]
        block = word & ((1 << self.block_bits) - 1)
        line = max(word >> self.block_bits & ((1 << self.column_bits) - 1), 1)
        column = inside & ((1 << self.column_bits) - 1)
        if (line & column).bit_count() & 1 != word >> 31:
            column ^= line & -line
        return row * self.row_outcomes + (block << self.column_bits | column)

    def place_many(self, points: Any, drawn: Tally) -> Tally:
        """Place many; points are a table of words."""
        row, inside = np.divmod(drawn, self.row_outcomes)
        words = np.take_along_axis(np.asarray(points, dtype=np.int64), row[:, None], axis=1)[:, 0]
        block, line, sign = self._locate(words)
        column = inside & ((1 << self.column_bits) - 1)
        odd = np.bitwise_count(line & column).astype(np.int64) & 1
        column = np.where(odd != sign, column ^ (line & -line), column)
        placed: Tally = row * self.row_outcomes + (block << self.column_bits | column)
        return placed

    def _locate(self, words: Any) -> tuple[Any, Any, Any]:
        line = np.maximum(words >> self.block_bits & ((1 << self.column_bits) - 1), 1)
        return words & ((1 << self.block_bits) - 1), line, words >> 31

    @understood
    def reader(self, tally: Tally, method: Literal["mean", "median"] = "mean") -> HashtogramReader:
        """Transform every row; the median of rows resists a few heavy items, the mean has less noise."""
        return HashtogramReader(self, np.asarray(tally), method)

    def deviation(self, reports: float, count: float = 0) -> float:
        """Return the error of the mean of rows, without what other items add by sharing cells."""
        own = count * max(0.0, 1 - self.signal**2)
        return math.sqrt(max(0.0, (reports - count) / (1 << self.block_bits) + own)) / self.signal


@dataclass(frozen=True)
class HashtogramReader(TallyReader):
    """The transformed rows of a hashtogram."""

    oracle: Hashtogram
    method: Literal["mean", "median"] = "mean"

    @cached_property
    def _sums(self) -> Any:
        from sfumato.exact.transform import walsh_hadamard

        return walsh_hadamard(self.tally.reshape(self.oracle.rows, 1 << self.oracle.block_bits, -1))

    def row_counts(self, points: Any) -> Counts:
        """Return what each row (column of the result) says about each item, in devices of that row."""
        words = np.asarray(points, dtype=np.int64)[:, : self.oracle.rows]
        block, line, sign = self.oracle._locate(words)
        sums = self._sums[np.arange(self.oracle.rows)[None, :], block, line]
        found: Counts = np.where(sign == 1, -sums, sums) / self.oracle.signal
        return found

    def counts(self, points: Any) -> Counts:
        """Return the sum of what the rows say, or the number of rows times their median."""
        each = self.row_counts(points)
        if self.method == "median":
            found: Counts = self.oracle.rows * np.median(each, axis=1)
            return found
        return np.asarray(each.sum(axis=1), dtype=np.float64)

    def errors(self, points: Any, counts: Counts) -> Counts:
        """Return the standard errors; that of a median is taken as that of many rows, a quarter larger."""
        factor = 1.2533 if self.method == "median" else 1.0
        held = np.clip(counts, 0, self.reports)
        deviation = self.oracle.deviation
        return factor * np.array([deviation(self.reports, count) for count in held.tolist()], dtype=np.float64)


def hashtogram(spend: Pure, users: int, *, rows: int = 5) -> Hashtogram:
    """Return a hashtogram for about so many users: rows of about 8·sqrt(users) cells.

    A few very popular items spoil single cells. `oracle.reader(tally, "median")` resists them at up to a quarter more
    noise: for one item, an error that each row exceeds with a probability of at most 0.146 it exceeds with at most
    exp(-rows/4), which is 0.17 for 7 rows. Take an odd number of rows for it.

    >>> from sfumato import Pure
    >>> oracle = hashtogram(Pure(1), 1_000_000)
    >>> oracle.rows, oracle.column_bits, oracle.outcomes
    (5, 13, 40960)
    """
    expected = positive_integer(users, "users")
    cell_bits = min(max(math.ceil(math.log2(8 * math.sqrt(expected))), 10), 20)
    epsilon = report_epsilon(spend)
    bits = best_block_bits(float(epsilon))
    weight = noise_weight(epsilon, 2 << bits)
    return Hashtogram(weight=weight, rows=rows, block_bits=bits, column_bits=max(1, cell_bits - bits))
