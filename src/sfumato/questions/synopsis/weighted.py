"""Noisy sums over all small sets of columns, of rows that weigh by their number of zeros; and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb
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
from sfumato.questions.synopsis.sums import subset_sums
from sfumato.workload.moves import repeated

Table = tuple[tuple[int, ...], ...]
"""For a row with so many zeros, what it adds to the sum of a set of so many of them."""

MOST_PAIRS = 4096
"""Two rows of bits of one attribute are compared pair by pair up to so many; more are bounded by their number."""


@dataclass(frozen=True, kw_only=True)
class SubsetSums(Mechanism):
    """For every set of at most `degree` binary columns a noisy sum over the rows in which all of the set are zero.

    With `ones` it is over those in which all are one; read one for zero below. A row with z zeros adds `weights[z][j]`
    to the sum of each set of j of its zeros, so that its vector is known from z alone, and so are all norms of it and
    of the difference of two rows: those with the fewest zeros in common are the farthest apart. With `count` the number
    of rows is released too, as so many steps a row.

    Promise: that of independent noise of `law` on integers whose neighbours differ by these norms: epsilon = l1/scale
    for Laplace noise, D_a <= a·l2²/(2·variance) for Gaussian noise; for one attribute with the norms of two rows that
    differ in its bits alone. `rows` is how many rows a person may have; people who change an attribute keep their rows
    one by one.

    Input: `Rows`. Output: one row of integers, set after set by width and number, then the count. Spec: RL-FOUR,
    RL-AIE. Time: that of `subset_sums`.
    """

    spec: ClassVar[str] = "RL-FOUR"

    bits: Bits
    weights: Table
    law: Priced
    count: int = 0
    rows: int = 1
    ones: bool = False
    method: str = "RL-FOUR"

    @property
    def degree(self) -> int:
        """How many columns the largest sets have."""
        return len(self.weights[0]) - 1

    def run(self, exact: Rows, noise: Noise) -> NDArray[np.int64]:
        """Add up, then add one independent draw to each number."""
        found = self.exact(exact)
        return saturating_sum(found, np.asarray(noise.draw(self.law, len(found)), dtype=np.int64))

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """Return the sums before noise; the empty set has none if no row weighs in it."""
        flags = rows.ones if self.ones else ~rows.ones
        table = np.array(self.weights, dtype=np.int64)[flags.sum(axis=1)] * rows.counts[:, None]
        found = subset_sums(flags, table)
        if not any(row[0] for row in self.weights):
            del found[0]
        if self.count:
            found.append(np.array([self.count * rows.total], dtype=np.int64))
        return np.concatenate(found)

    def loss(self) -> Loss:
        """Return the promise for the person, and for every attribute where rows are as they were written."""
        person = self.moves()
        singles = () if self.relation is not REPLACE_ONE else tuple(self.by_attribute().items())
        return AdditiveNoise(
            law=self.law,
            sensitivity=person,
            by_attribute=tuple((name, moves) for name, moves in singles if moves.l1),
            relation=self.relation,
            reads=self.reads,
        ).loss()

    def event(self) -> Event:
        """Return the law with its parameters, the weights, the columns, and who may learn what."""
        parameters = {
            "law": self.law.described(),
            "weights": self.weights,
            "columns": self.bits.names,
            "count": self.count,
            "rows": self.rows,
            "ones": self.ones,
            "relation": self.relation,
            "reads": self.reads,
        }
        return Event(type(self).__name__, self.method, parameters, self.version)

    def moves(self) -> Sensitivity:
        """Return how far all sums together move with one person."""
        return person_moves(
            self.bits.ones if self.ones else self.bits.zeros,
            len(self.bits),
            self.weights,
            count=self.count,
            replaced=self.relation is REPLACE_ONE,
            rows=self.rows,
        )

    def by_attribute(self) -> dict[str, Sensitivity]:
        """Return how far each attribute alone moves all sums."""
        return attribute_moves(self.bits, self.weights, self.ones, self.rows)


@lru_cache(maxsize=256)
def person_moves(
    zeros: tuple[int, int], size: int, weights: Table, *, count: int, replaced: bool, rows: int
) -> Sensitivity:
    """Return how far the sums move when a person comes and goes, or is replaced, with so many rows.

    `zeros` are the least and the largest number of zeros that a row of `size` bits can have.
    """
    least, most = zeros
    possible = range(least, most + 1)
    added = _with_count(_farthest(weights, frozenset((zeros, -1, -1) for zeros in possible)), count)
    if not replaced:
        return repeated(added, rows)
    pairs = frozenset((one, two, max(0, one + two - size)) for one in possible for two in range(one, most + 1))
    moved = _farthest(weights, pairs)
    return moved if rows == 1 else repeated(moved.cover(added), rows)


@lru_cache(maxsize=256)
def attribute_moves(bits: Bits, weights: Table, ones: bool = False, rows: int = 1) -> dict[str, Sensitivity]:
    """Return how far the sums move when one attribute changes in up to so many rows of a person."""
    return {name: repeated(_farthest(weights, _attribute_pairs(bits, name, ones)), rows) for name in bits.attributes}


def _attribute_pairs(bits: Bits, attribute: str, ones: bool) -> frozenset[tuple[int, int, int]]:
    """Return the zeros of both rows and those in common, for all rows that differ in the bits of one attribute."""
    sources = [place for place, shown in enumerate(bits.space.attributes) if shown == attribute]
    flags = [bits.patterns[source] == ones for source in sources]
    mine = [found.sum(axis=1) for found in flags]
    whole = bits.ones if ones else bits.zeros
    least = whole[0] - int(sum(found.min() for found in mine))
    most = whole[1] - int(sum(found.max() for found in mine))
    return frozenset(
        (outside + one, outside + two, outside + shared)
        for one, two, shared in _pattern_pairs(flags)
        for outside in range(least, most + 1)
    )


def _pattern_pairs(patterns: list[NDArray[np.bool_]]) -> set[tuple[int, int, int]]:
    size = 1
    for found in patterns:
        size *= len(found)
    if size**2 > MOST_PAIRS:
        sums = [found.sum(axis=1) for found in patterns]
        flagged = range(int(sum(found.min() for found in sums)), int(sum(found.max() for found in sums)) + 1)
        mine = sum(found.shape[1] for found in patterns)
        return {(one, two, max(0, one + two - mine)) for one in flagged for two in flagged}
    rows = [np.concatenate(parts) for parts in product(*patterns)]
    return {(int(one.sum()), int(two.sum()), int((one & two).sum())) for one in rows for two in rows}


@lru_cache(maxsize=1024)
def _farthest(weights: Table, pairs: frozenset[tuple[int, int, int]]) -> Sensitivity:
    """Return the largest norms of the difference of two rows, of which the zeros of both and those shared are known.

    A row of -1 zeros is none. Python's integers, so that nothing overflows.
    """
    table = np.array([*weights, (0,) * len(weights[0])], dtype=np.object_)
    numbers = np.array(
        [
            *([comb(zeros, width) for width in range(len(weights[0]))] for zeros in range(len(weights))),
            [0] * len(weights[0]),
        ],
        dtype=np.object_,
    )
    one, two, shared = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 3).T
    l1 = squares = changed = np.zeros(len(one), dtype=np.object_)
    largest = 0
    for width in range(len(weights[0])):
        mine, other, both = table[one, width], table[two, width], numbers[shared, width]
        alone = ((numbers[one, width] - both, mine), (numbers[two, width] - both, other), (both, abs(mine - other)))
        for sets, sizes in alone:
            l1 = l1 + sets * sizes
            squares = squares + sets * sizes * sizes
            changed = changed + sets * (sizes > 0)
            largest = max(largest, max(sizes[(sets > 0).astype(np.bool_)], default=0))
    return Sensitivity(Fraction(max(l1)), Fraction(max(squares)), Fraction(largest), int(max(changed)))


def _with_count(moves: Sensitivity, count: int) -> Sensitivity:
    """Add the count of rows, which moves by so many steps with each of them."""
    if not count:
        return moves
    largest = max(moves.largest, Fraction(count))
    return Sensitivity(moves.l1 + count, moves.l2_squared + count**2, largest, moves.changed + 1)
