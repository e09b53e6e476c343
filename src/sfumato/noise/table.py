"""Drawing in bulk from a planned law with plain integer arrays.

What a seed reproduces is fixed here. A call works in chunks of 65,536 draws. For every draw of a chunk one
word is read: its top `cell` bits choose a cell, its low bits the place in the cell's block. The first cells
are free; draws that hit them are settled in their own slots by attempts of two words each, all first words
before all second ones. First word: the sign is its lowest bit, the weight table is entered with the bits
above. Second word: its top `line` bits begin the uniform number of the acceptance, its low bits are the
place. An attempt that the lines leave open reads on, in the order of the attempts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.noise.division import Division
from sfumato.noise.source import Stream, Words, words
from sfumato.noise.uniform import Uniform

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

CHUNK = 1 << 16


class Attempts(NamedTuple):
    """Proposed values, and whether each one is accepted."""

    values: Integers
    accepted: Flags


@dataclass(frozen=True)
class Table:
    """The arrays of one plan; built once for each law and never written again."""

    plan: Division
    guide: Integers = field(init=False)
    """The value at place 0 of each cell; the first `free_cells` are not used."""
    ends: Words = field(init=False)
    """Running sums of the weights: of all blocks, then of the tail."""
    lows: Integers = field(init=False)
    gaps: Integers = field(init=False)
    slopes: Integers = field(init=False)
    firsts: Integers = field(init=False)
    places: Integers = field(init=False)
    """The largest place in each block, as a mask."""

    def __post_init__(self) -> None:
        blocks = self.plan.blocks
        # Two rows follow the blocks: the tail, which its lines always leave open, and the sliver that no
        # weight covers, which they always reject.
        open_ended = 1 << (self.plan.widths.line + 1)
        self._set("guide", _guide(self.plan))
        weights = [*(block.weight for block in blocks), self.plan.tail_weight]
        self._set("ends", np.array(list(accumulate(weights)), dtype=np.uint64))
        self._set("lows", _row([block.low for block in blocks], 0, 0))
        self._set("gaps", _row([block.gap for block in blocks], open_ended, 0))
        self._set("slopes", _row([block.slope for block in blocks], 0, 0))
        self._set("firsts", _row([block.first for block in blocks], 0, 0))
        self._set("places", _row([block.size - 1 for block in blocks], 0, 0))

    def _set(self, name: str, array: NDArray[np.int64] | Words) -> None:
        array.setflags(write=False)
        object.__setattr__(self, name, array)

    def one(self, stream: Stream) -> int:
        """Return one value."""
        value = np.empty(1, dtype=np.int64)
        self.fill(stream, value)
        return int(value[0])

    def fill(self, stream: Stream, out: Integers) -> None:
        """Overwrite `out` with independent draws; beside it only a fixed amount of memory is used."""
        scratch = np.empty(min(len(out), CHUNK), dtype=np.uint64)
        cells = np.empty_like(scratch)
        for start in range(0, len(out), CHUNK):
            part = out[start : start + CHUNK]
            self._fill_chunk(stream, part, scratch[: len(part)], cells[: len(part)])

    def _fill_chunk(self, stream: Stream, part: Integers, fresh: Words, cells: Words) -> None:
        plan = self.plan
        stream.fill(fresh)
        shift = 64 - plan.widths.cell
        np.right_shift(fresh, np.uint64(shift), out=cells)
        # Every cell number is in range; "clip" only spares numpy the copy that "raise" makes.
        self.guide.take(cells.view(np.int64), out=part, mode="clip")
        open_slots = np.flatnonzero(fresh < np.uint64(plan.free_cells << shift))
        if plan.block_bits:
            np.bitwise_and(fresh, np.uint64((1 << plan.block_bits) - 1), out=fresh)
            np.add(part, fresh.view(np.int64), out=part)
        self._settle(stream, part, open_slots)

    def _settle(self, stream: Stream, part: Integers, slots: NDArray[np.intp]) -> None:
        """Give each slot the next accepted attempt; attempts that are left over are never looked at."""
        while len(slots):
            attempts = self.attempt(stream, self._needed(len(slots)))
            accepted = attempts.values[attempts.accepted][: len(slots)]
            part[slots[: len(accepted)]] = accepted
            slots = slots[len(accepted) :]

    def _needed(self, slots: int) -> int:
        """Return how many attempts will probably do: a public number, a little above the average."""
        average = slots * self.plan.total << self.plan.widths.cell >> 120
        return (average // self.plan.free_cells * 17 >> 12) + 4

    def attempt(self, stream: Stream, count: int) -> Attempts:
        """Make `count` attempts at what the cells leave of the law."""
        fresh = words(stream, 2 * count)
        choice, judge = fresh[:count], fresh[count:]
        rows = np.searchsorted(self.ends, choice >> np.uint64(64 - self.plan.widths.weight), side="right")
        places = judge.view(np.int64) & self.places[rows]
        prefixes = (judge >> np.uint64(64 - self.plan.widths.line)).view(np.int64)
        lines = (self.slopes[rows] * places >> self.plan.block_bits) + self.lows[rows]
        values = self.firsts[rows] + places
        accepted = prefixes < lines
        undecided = ~accepted & (prefixes < lines + self.gaps[rows])
        for slot in np.flatnonzero(undecided).tolist():
            value = self._judge(stream, int(rows[slot]), int(places[slot]), int(prefixes[slot]))
            accepted[slot] = value is not None
            values[slot] = value or 0
        if self.plan.law.symmetric:
            np.negative(values, out=values, where=(choice & np.uint64(1)).astype(np.bool_))
        return Attempts(values, accepted)

    def _judge(self, stream: Stream, row: int, place: int, prefix: int) -> int | None:
        """Settle one attempt by the true mass: return its magnitude, or None if it is rejected."""
        plan = self.plan
        if row == len(plan.blocks):
            value, level = plan.tail.propose(stream)
            return value if Uniform(stream).below(lambda: plan.tail_chance(value, level)) else None
        block = plan.blocks[row]
        uniform = Uniform(stream, prefix, plan.widths.line)
        return block.first + place if uniform.below(lambda: plan.chance(block, place)) else None


def _guide(plan: Division) -> Integers:
    """Return the value at place 0 of every cell: free cells first, then the blocks from zero outward."""
    values, counts = [0], [plan.free_cells]
    for block in plan.blocks:
        values.append(block.first)
        counts.append(block.cells)
        if block.copies == 2:
            # Places count upward on both sides, so a negative block begins at its far end.
            values.append(-(block.first + block.size - 1))
            counts.append(block.cells)
    return np.repeat(np.array(values, dtype=np.int64), counts)


def _row(numbers: list[int], *more: int) -> Integers:
    return np.array([*numbers, *more], dtype=np.int64)
