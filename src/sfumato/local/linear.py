"""FO-LLH: linear local hashing, the oracle with the lowest noise that can be decoded by one fast transform."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato.errors import ParameterError
from sfumato.exact import positive_integer
from sfumato.local.oracle import Counts, Oracle, Tally, TallyReader, support_deviation
from sfumato.privacy import Pure
from sfumato.privacy.coins import noise_weight, report_epsilon

MOST_SYMBOL_BITS = 8
MOST_TABLE_BITS = 24
PEELED_BY_CHANCE = 0.001
"""The probability that any of the items that are read together is peeled although nobody holds it."""
PEEL_ROUNDS = 40


@dataclass(frozen=True, kw_only=True)
class LinearHash(Oracle):
    """Report where a random linear function of the device sends the item's hash.

    A point is the hash of an item: `symbol_bits` words of 32 bits. The low bits of word i are row A_i of a matrix,
    its highest bit is s_i. A report is a number of `table_bits` bits, the lower ones a column a, the upper
    `symbol_bits` ones b; it speaks for the item when b_i = s_i + <A_i, a> for every i. Exactly one report in
    q = 2^symbol_bits does, whatever the hash, so the promise holds for every hash, even a constant one.

    Promise: pure epsilon = log(1 + q·(1-c)/c). Standard error, absent item: sqrt(n/(q-1))/(1-c), whatever the others
    hold. A look-up reads q - 1 cells of the transformed table. Spec: FO-LLH.

    >>> from sfumato import Noise, Pure
    >>> from sfumato.local.seed import words
    >>> oracle = linear_hash(Pure(2), table_bits=16)
    >>> oracle.symbol_bits, round(oracle.deviation(10_000), 1)
    (3, 85.1)
    >>> oracle.run(words(b"key", b"item"), Noise(insecure_seed=1)) < 2**16
    True
    """

    spec: ClassVar[str] = "FO-LLH"
    kind: ClassVar[str] = "linear"

    table_bits: int
    symbol_bits: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.symbol_bits <= MOST_SYMBOL_BITS or not self.symbol_bits < self.table_bits <= MOST_TABLE_BITS:
            raise ParameterError("symbol_bits lies between 1 and 8, and table_bits above it, at most 24.")

    @property
    def outcomes(self) -> int:
        """The size of the table."""
        return 1 << self.table_bits

    @property
    def spread(self) -> int:
        """The number of symbols."""
        return 1 << self.symbol_bits

    @property
    def column_bits(self) -> int:
        """The bits of a column."""
        return self.table_bits - self.symbol_bits

    def shape(self) -> dict[str, int]:
        """Return the sizes."""
        return {"table_bits": self.table_bits, "symbol_bits": self.symbol_bits}

    def place(self, point: Sequence[int], drawn: int) -> int:
        """Keep the column and replace the symbol by the item's."""
        column = drawn & ((1 << self.column_bits) - 1)
        symbol = 0
        for place in range(self.symbol_bits):
            word = point[place]
            symbol |= (((word & column).bit_count() & 1) ^ (word >> 31)) << place
        return symbol << self.column_bits | column

    def place_many(self, points: Any, drawn: Tally) -> Tally:
        """Place many; points are a table of words."""
        from sfumato.local.kernels.linear import place_words

        placed: Tally = place_words(points, drawn, self.column_bits, self.symbol_bits)
        return placed

    def reader(self, tally: Tally) -> LinearReader:
        """Transform the counts."""
        return LinearReader(self, np.asarray(tally))

    def deviation(self, reports: float, count: float = 0) -> float:
        """Return the exact standard error for items in general position."""
        inside = 1 / self.spread
        return support_deviation(reports, count, own=inside + self.signal * (1 - inside), inside=inside)


@dataclass(frozen=True)
class LinearReader(TallyReader):
    """The transform of the counts of a linear hash."""

    oracle: LinearHash

    @cached_property
    def table(self) -> Any:
        """The transformed counts: a copy that peeling may change."""
        from sfumato.exact.transform import walsh_hadamard

        return walsh_hadamard(self.tally)

    @property
    def scale(self) -> float:
        """What the sum of q - 1 cells is divided by."""
        return self.oracle.signal * (self.oracle.spread - 1)

    def untouched(self) -> LinearReader:
        """Return a reader of the same reports that peeling this one does not change."""
        other = LinearReader(self.oracle, self.tally)
        other.__dict__["table"] = self.table.copy()
        return other

    def counts(self, points: Any) -> Counts:
        """Return the estimates of these hashed items."""
        from sfumato.local.kernels.linear import look_up

        found: Counts = look_up(self.table, self._words(points), self.oracle.column_bits) / self.scale
        return found

    def errors(self, points: Any, counts: Counts) -> Counts:
        """Return the standard errors."""
        deviation = self.oracle.deviation
        held = np.clip(counts, 0, self.reports)
        return np.array([deviation(self.reports, count) for count in held.tolist()], dtype=np.float64)

    def together(self, points: Any) -> Counts:
        """Return the estimates of all points, heavy ones estimated jointly and peeled before the others are read.

        Two hashes may overlap; without this a heavy item would add a part of itself to an item that nobody holds. An
        item is heavy if its estimate is above what one of so many items that nobody holds reaches with a probability
        of at most `PEELED_BY_CHANCE`. Peeling one of those by chance costs nothing but time.
        """
        from sfumato.local.cutoffs import cutoff

        counts = self.counts(points)
        heaviest = cutoff(self.oracle, self.reports, math.log(PEELED_BY_CHANCE / max(1, len(counts))))
        heavy = np.flatnonzero(counts > heaviest)
        if not len(heavy):
            return counts
        jointly = self.jointly(np.asarray(points)[heavy])
        rest = self.counts(points)
        rest[heavy] = jointly
        return rest

    def jointly(self, points: Any) -> Counts:
        """Return the estimates of a few points, each read with the others peeled; all of them are peeled after."""
        counts = np.zeros(len(points))
        step = 1.0
        for _ in range(PEEL_ROUNDS):
            left = step * self.counts(points)
            self.peel_many(points, left)
            counts += left
            if np.abs(left).max(initial=0) < 0.5:
                break
            # Full steps would swing to and fro between hashes that overlap much.
            step = 0.6
        return counts

    def peel(self, point: Any, count: float) -> None:
        """Take a known item out of the table, with all that it adds to other items' estimates."""
        self.peel_many([point], [count])

    def peel_many(self, points: Any, counts: Any) -> None:
        """Take known items out of the table."""
        from sfumato.local.kernels.linear import take_out

        take_out(self.table, self._words(points), self.oracle.column_bits, np.asarray(counts) * self.oracle.signal)

    def _words(self, points: Any) -> Any:
        return np.ascontiguousarray(np.asarray(points, dtype=np.uint32)[:, : self.oracle.symbol_bits])


def crowded(oracle: LinearHash, reports: Any, taken: Any) -> Any:
    """Return by how much larger errors are where items that were peeled share hashes with one that nobody holds.

    Reports of another item speak for an absent one with chance 1/q if their hashes are in general position, and more
    often if they depend on each other; peeling takes out what that adds on average, `taken`, but not that it varies.
    The number of speaking reports has the average chance (1 + signal·(q - 1)·taken/reports)/q, and its tail is at most
    that of a binomial with this chance (Hoeffding), whose deviation grows like the root.

    >>> from sfumato import Pure
    >>> oracle = linear_hash(Pure(4), 16)
    >>> [round(float(crowded(oracle, 1000, taken)), 2) for taken in (0, 1000 / 63)]  # all hold another item
    [1.0, 1.21]
    """
    rising = 1 + oracle.signal * (oracle.spread - 1) * np.asarray(taken) / np.maximum(reports, 1)
    return np.sqrt(np.maximum(rising, 1.0))


def best_symbol_bits(epsilon: float) -> int:
    """Return the number of symbols, as a power of two, with the smallest error.

    >>> [best_symbol_bits(epsilon) for epsilon in (0.5, 1, 2, 3, 4)]
    [1, 2, 3, 4, 6]
    """
    gain = math.expm1(epsilon)
    return min(range(1, MOST_SYMBOL_BITS + 1), key=lambda bits: (2**bits + gain) / (gain * math.sqrt(2**bits - 1)))


def linear_hash(spend: Pure, table_bits: int, *, symbol_bits: int | None = None) -> LinearHash:
    """Return linear hashing for a spend, by default with the best number of symbols.

    Reports have `table_bits` bits, and a server holds 2^`table_bits` counts. Take about as many as there are reports:
    an item of f devices adds about f / sqrt(2^table_bits) to the estimates of others, until it is peeled.

    >>> from sfumato import Noise, Pure
    >>> from sfumato.local.seed import words
    >>> oracle = linear_hash(Pure(4), table_bits=16)
    >>> held = np.array([words(b"public key", item) for item in [b"a"] * 8_000 + [b"b"] * 2_000])
    >>> reader = oracle.reader(oracle.tally(oracle.run_many(held, Noise(insecure_seed=1))))
    >>> reader.together(held[[0, -1]]).round(-3).tolist()
    [8000.0, 2000.0]
    """
    epsilon = report_epsilon(spend)
    positive_integer(table_bits, "table_bits")
    bits = best_symbol_bits(float(epsilon)) if symbol_bits is None else positive_integer(symbol_bits, "symbol_bits")
    return LinearHash(weight=noise_weight(epsilon, 1 << bits), table_bits=table_bits, symbol_bits=bits)
