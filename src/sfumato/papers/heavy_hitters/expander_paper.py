"""PES as printed: two reports of half the epsilon each, lists of the largest cells, clusters, estimates of everybody.

This is the protocol of the paper step by step, with its constants as parameters: the printed ones are not stated, and
those that its proofs need cannot be run (a degree of 400 for a tenth of bad coordinates). Privacy depends on none of
them. For collections in earnest take `local.plan(method="expander")`, or better the default.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato.errors import ParameterError, warn
from sfumato.local.hadamard import HadamardResponse, best_block_bits
from sfumato.local.seed import words
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.papers.heavy_hitters.codes import UniqueListCode
from sfumato.papers.heavy_hitters.hashtogram import Hashtogram, hashtogram
from sfumato.privacy import Loss, Pure
from sfumato.privacy.coins import noise_weight, report_epsilon

Report = tuple[int, int, int]
"""Coordinate, report of the cell, report of the whole item."""


@dataclass(frozen=True)
class PaperSizes:
    """The sizes of the paper for |X| = 2^`bits`, with its constants as parameters (repaired where print is unreadable).

    >>> sizes = PaperSizes(bits=64, users=1_000_000, epsilon=1.0)
    >>> sizes.coordinates, sizes.labels, sizes.buckets, sizes.entries, sizes.least_users
    (12, 45, 4, 45, 2840)
    """

    bits: int
    users: int
    epsilon: float
    coordinate_constant: float = 1.0
    label_power: float = 1.0
    list_constant: float = 1.0
    bucket_constant: float = 1.0
    heavy_constant: float = 8.0
    noise_constant: float = 1.0

    def __post_init__(self) -> None:
        if self.users < self.least_users:
            warn(
                f"With these constants an item is heavy from {self.heavy:,.0f} devices on, and there are "
                f"{self.users:,}: the theorem says nothing below {self.least_users:,} devices. Collections in "
                "earnest are local.plan(users=..., spend=..., items=...), which says what it finds."
            )

    @property
    def least_users(self) -> int:
        """From how many devices on an item that all of them hold is heavy: C_H² · ln|X| / epsilon²."""
        return math.ceil((self.heavy_constant / self.epsilon) ** 2 * self._log)

    @property
    def _log(self) -> float:
        return self.bits * math.log(2)

    @property
    def coordinates(self) -> int:
        """M = C_M · ln|X| / ln ln|X|."""
        return math.ceil(self.coordinate_constant * self._log / math.log(self._log))

    @property
    def labels(self) -> int:
        """Y = ln|X| to the power C_Y."""
        return math.ceil(math.pow(self._log, self.label_power))

    @property
    def entries(self) -> int:
        """The longest list, l = C_l · ln|X|."""
        return math.ceil(self.list_constant * self._log)

    @property
    def buckets(self) -> int:
        """B = C_B · epsilon · sqrt(n) / ln^1.5 |X|."""
        return math.ceil(self.bucket_constant * self.epsilon * math.sqrt(self.users) / math.pow(self._log, 1.5))

    @property
    def heavy(self) -> float:
        """How many devices make an item heavy: C_H · sqrt(n · ln|X|) / epsilon."""
        return self.heavy_constant * math.sqrt(self.users * self._log) / self.epsilon

    @property
    def cell(self) -> float:
        """How large a cell must be to enter a list: C_f · ln ln|X| · sqrt(n / ln|X|) / epsilon."""
        constant = self.heavy_constant / (2 * self.coordinate_constant) - self.noise_constant
        return constant * math.log(self._log) * math.sqrt(self.users / self._log) / self.epsilon


@dataclass(frozen=True, kw_only=True)
class PaperSketch(Mechanism):
    """PrivateExpanderSketch: a device sends the cell of its item at one coordinate, and the item to a hashtogram.

    `code` is two-sided, as in the paper; `bucket_bits` is log2 B; `cells` and `whole` spend half each. An exact value
    is the code of an item, or None for the null report.

    Promise: pure, the sum of the losses of both reports, which have coins of their own; for every key.
    """

    spec: ClassVar[str] = "PES"

    code: UniqueListCode
    bucket_bits: int
    cells: HadamardResponse
    whole: Hashtogram

    def __post_init__(self) -> None:
        if self.cells.block_bits > self.bucket_bits or self.cells.block_bits + self.cells.column_bits != self.cell_bits:
            raise ParameterError(f"cells= must have 2^{self.cell_bits} outcomes, and no more blocks than buckets.")

    @property
    def cell_bits(self) -> int:
        """The bits of a cell: word, label, bucket."""
        return self.code.word_bits + self.code.label_bits + self.bucket_bits

    def loss(self) -> Loss:
        """Return the sum of both losses (C-BASIC)."""
        return self.cells.loss() + self.whole.loss()

    def run(self, exact: int | None, noise: Noise) -> Report:
        """Draw the coordinate without looking at the item, then run both oracles."""
        place = noise.uniform(self.code.coordinates)
        if exact is None:
            return place, self.cells.run(None, noise), self.whole.run(None, noise)
        return place, self.cells.run(self.cell(exact, place), noise), self.whole.run(self.hashed(exact), noise)

    def cell(self, item: int, place: int) -> int:
        """Return the cell of an item: word, label, bucket; the last row of cells shares those of the row before."""
        label, word = self.code.entry(item, place)
        cell = (word << self.code.label_bits | label) << self.bucket_bits | self.bucket(item)
        return cell if cell < self.cells.cells else cell - (1 << self.cells.block_bits)

    def bucket(self, item: int) -> int:
        """Return g(x)."""
        return self.code.labels_and_word(item)[1] & ((1 << self.bucket_bits) - 1)

    def hashed(self, item: int) -> tuple[int, ...]:
        """Return the hash of the whole item."""
        return words(self.code.key + b"whole", item.to_bytes(self.code.row_bytes + 1, "big"))

    def popular(
        self, reports: Sequence[Report], *, cell: float, entries: int, method: str = "spectral"
    ) -> list[tuple[int, float]]:
        """Return the items found with estimated counts, the largest first (steps 2 to 6).

        A cell enters its list if its estimate is at least `cell` (`PaperSizes.cell`), while the list is shorter than
        `entries`; `method` decodes the lists. The counts come from all devices, those that found the items included,
        as printed.
        """
        table = np.array(reports, dtype=np.int64).reshape(-1, 3)
        lists = self._lists(table, cell, entries)
        found = [
            item
            for bucket, listed in enumerate(lists)
            for item in self.code.decode(listed, method)
            if self.bucket(item) == bucket
        ]
        if not found:
            return []
        reader = self.whole.reader(self.whole.tally(table[:, 2]), "median")
        counts = reader.counts([self.hashed(item) for item in found])
        return sorted(zip(found, counts.tolist(), strict=True), key=lambda pair: -pair[1])

    def _lists(self, table: Any, cell: float, entries: int) -> list[list[list[tuple[int, int]]]]:
        """Return for every bucket and coordinate the largest word of each label, where it is large enough."""
        buckets, labels = 1 << self.bucket_bits, 1 << self.code.label_bits
        lists: list[list[list[tuple[int, int]]]] = [[[] for _ in range(self.code.coordinates)] for _ in range(buckets)]
        for place in range(self.code.coordinates):
            estimates = self.cells.reader(self.cells.tally(table[table[:, 0] == place, 1])).counts()
            full = np.concatenate([estimates, estimates[-(1 << self.cells.block_bits) :]])
            by_word = full.reshape(-1, labels, buckets)
            best, size = by_word.argmax(axis=0), by_word.max(axis=0)
            for label, bucket in zip(*np.nonzero(size >= cell), strict=True):
                if len(lists[bucket][place]) < entries:
                    lists[bucket][place].append((int(label), int(best[label, bucket])))
        return lists

    @cached_property
    def report_bits(self) -> int:
        """The length of both reports together, with the coordinate."""
        return (self.code.coordinates * self.cells.outcomes * self.whole.outcomes - 1).bit_length()


def paper_sketch(spend: Pure, code: UniqueListCode, users: int, *, bucket_bits: int) -> PaperSketch:
    """Return the sketch of the paper for a code: half of the spend for each of the two reports.

    >>> from sfumato import Noise, Pure
    >>> code = UniqueListCode(8, symbol_bits=4, coordinates=6, label_bits=2, key=bytes(16), two_sided=True)
    >>> sketch = paper_sketch(Pure(2), code, users=10_000, bucket_bits=1)
    >>> 1.99 < sketch.loss().person.epsilon <= 2, sketch.report_bits
    (True, 30)
    >>> place, cell, whole = sketch.run(200, Noise(insecure_seed=1))
    >>> place < 6, cell < sketch.cells.outcomes, whole < sketch.whole.outcomes
    (True, True, True)
    """
    half = report_epsilon(spend) / 2
    blocks = min(best_block_bits(float(half)), bucket_bits)
    cell_bits = code.word_bits + code.label_bits + bucket_bits
    cells = HadamardResponse(weight=noise_weight(half, 2 << blocks), block_bits=blocks, column_bits=cell_bits - blocks)
    return PaperSketch(code=code, bucket_bits=bucket_bits, cells=cells, whole=hashtogram(Pure(half), users))
