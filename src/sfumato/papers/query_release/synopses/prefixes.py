"""Frequent rows of many bits without a delta: a tree of prefixes, every cell of which gets noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanism import Event, Mechanism
from sfumato.noise import Noise, Priced
from sfumato.perturb import AdditiveNoise
from sfumato.perturb.additive import saturating_sum
from sfumato.privacy import REPLACE_ONE, Loss
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.questions.synopsis.binary import Bits, Rows
from sfumato.workload.moves import counted, repeated

Integers = NDArray[np.int64]

LONGEST_CHUNK = 16
"""Each surviving prefix has 2^chunk children, all of which are written out."""


@dataclass(frozen=True)
class FrequentRows:
    """The rows that were found, in the order of their bits, with noisy counts; and the noisy number of all rows."""

    rows: tuple[tuple[int, ...], ...]
    counts: tuple[int, ...]
    total: int | None = None


@dataclass(frozen=True, kw_only=True)
class PrefixTree(Mechanism):
    """Finds frequent rows: `chunk` bits at a time it counts the children of the prefixes that are still alive.

    Every child gets noise, empty ones too; those from the threshold on live, at most `most` of them by their noisy
    counts. The threshold is `least`, or the part `share` of the rows if that is more: of `people` if their number is
    public, and otherwise of a noisy count that is drawn first. The counts of the last level are released with the rows.

    Promise: a row is counted once a level, so that with L levels one row that comes or goes moves L numbers by 1 each
    (one more for the count), and one that is replaced 2·L; which numbers these are is chosen from what was released
    before. Noise of `law` costs what it does for integers that move so far. An attribute moves the levels from its
    first bit on.

    Input: `Rows`. Output: `FrequentRows`. Spec: RL-PAR. Time: rows·levels + survivors·2^chunk draws.
    """

    spec: ClassVar[str] = "RL-PAR"

    bits: Bits
    law: Priced
    least: int
    share: Fraction
    most: int
    chunk: int = 8
    people: int | None = None
    rows: int = 1

    @property
    def levels(self) -> int:
        """How many times all rows are counted."""
        return -(-len(self.bits) // self.chunk)

    def run(self, exact: Rows, noise: Noise) -> FrequentRows:
        """Count level by level, dropping what is rare."""
        total = self.people
        if total is None:
            total = exact.total + noise.draw(self.law)
        threshold = max(self.least, ceil(self.share * total))
        alive = np.zeros((1, 0), np.int64)  # one row of chunk values for each living prefix
        inside = np.zeros(len(exact.counts), np.int64)  # the living prefix of each row, or -1
        found: Integers = np.zeros(0, np.int64)
        for values, width in _chunks(exact.ones, self.chunk):
            children = len(alive) << width
            mine = inside >= 0
            cells = np.where(mine, (inside << width) + values, 0)
            true = np.zeros(children, np.int64)
            np.add.at(true, cells[mine], exact.counts[mine])
            noisy = saturating_sum(true, np.asarray(noise.draw(self.law, children), np.int64))
            kept = self._kept(noisy, threshold)
            places = np.full(children, -1, np.int64)
            places[kept] = np.arange(len(kept))
            inside = np.where(mine, places[cells], -1) if children else inside
            alive = np.concatenate([alive[kept >> width], (kept & ((1 << width) - 1))[:, None]], axis=1)
            found = noisy[kept]
        rows = tuple(_bits(row, len(self.bits), self.chunk) for row in alive.tolist())
        return FrequentRows(rows, tuple(found.tolist()), None if self.people is not None else total)

    def _kept(self, noisy: Integers, threshold: int) -> Integers:
        """Return the cells that live, in their order: the largest if there are too many."""
        kept = np.flatnonzero(noisy >= threshold)
        if len(kept) > self.most:
            kept = np.sort(kept[np.argsort(-noisy[kept], kind="stable")[: self.most]])
        return kept

    def loss(self) -> Loss:
        """Return the promise for the person, and for every attribute where rows are as they were written."""
        singles: dict[str, Sensitivity] = {}
        if self.relation is REPLACE_ONE:
            singles = {name: repeated(counted(2 * self.after(name)), self.rows) for name in self.bits.attributes}
        return AdditiveNoise(
            law=self.law,
            sensitivity=self.moves(),
            by_attribute=tuple(singles.items()),
            relation=self.relation,
            reads=self.reads,
        ).loss()

    def moves(self) -> Sensitivity:
        """Return how far all counts together move with one person."""
        return person_moves(self.levels, self.people is None, self.relation is REPLACE_ONE, self.rows)

    def after(self, attribute: str) -> int:
        """Return how many levels see an attribute: those from its first bit on."""
        return self.levels - min(self.bits.places(attribute)) // self.chunk

    def event(self) -> Event:
        """Return the law with its parameters, the tree, the columns, and who may learn what."""
        parameters = {
            "law": self.law.described(),
            "columns": self.bits.names,
            "least": self.least,
            "share": self.share,
            "most": self.most,
            "chunk": self.chunk,
            "people": self.people,
            "rows": self.rows,
            "relation": self.relation,
            "reads": self.reads,
        }
        return Event(type(self).__name__, self.spec, parameters, self.version)


def person_moves(levels: int, counting: bool, replaced: bool, rows: int) -> Sensitivity:
    """Return how far the counts of all levels move with one person of so many rows."""
    added = counted(levels + counting)
    if not replaced:
        return repeated(added, rows)
    return counted(2 * levels) if rows == 1 else repeated(counted(2 * levels).cover(added), rows)


def _chunks(ones: NDArray[np.bool_], chunk: int) -> list[tuple[Integers, int]]:
    """Return the value of every chunk of bits for all rows, the first bit of a chunk weighing most."""
    found = []
    for start in range(0, ones.shape[1], chunk):
        part = ones[:, start : start + chunk]
        width = part.shape[1]
        found.append((part @ (1 << np.arange(width - 1, -1, -1, dtype=np.int64)), width))
    return found


def _bits(values: list[int], size: int, chunk: int) -> tuple[int, ...]:
    found: list[int] = []
    for value in values:
        width = min(chunk, size - len(found))
        found += [value >> place & 1 for place in range(width - 1, -1, -1)]
    return tuple(found)
