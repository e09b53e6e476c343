"""How a law is divided so that almost every draw takes one word and no comparison with a real number.

The values of a law fall into *blocks*: one for 0, then blocks of `size` neighbouring values (the same on
the negative side of a symmetric law), then an endless tail. With g the true masses:

1. Of 2^cell_bits *cells* of equal probability a block owns as many as fit under its smallest mass. A cell
   is chosen by the top bits of a word and a place in its block by the low bits, and the draw is done.
2. What is left of g above the cells is drawn by rejection: a block in proportion to a *weight*, a place
   uniformly, accepted with probability (g - what the cells gave) / (height of the weight).

Cell numbers and weights are integers that are *certified to be low, or high, enough*; which ones is a
matter of speed. Exactness rests on the acceptance alone, which compares with the true mass. Two straight
*lines*, certified to lie below and above the acceptance probability, decide it nearly always.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sfumato.errors import CertificationError
from sfumato.exact.enclosure import Ball, precision
from sfumato.noise.hat import Hat
from sfumato.noise.laws import Smooth

POINT = 128
"""Masses are measured in units of 2^-128 here."""
GUARD = 64
FINENESS = 64
"""Blocks are at most this part of the length over which masses change."""
LAST_BLOCK = 34
"""Blocks end, and the tail begins, once a block has less than 2^-34 of the mass."""


@dataclass(frozen=True)
class Widths:
    """How many bits of a word make each decision; tests make them short to reach every case."""

    cell: int = 16
    weight: int = 63
    line: int = 32


@dataclass(frozen=True)
class Measure:
    """A block and certified integers about it: `start` and `end` are floors of its outer masses.

    Between the ends the masses leave the chord from `start` to `end` by at most `bow`, plus one for the
    rounding of the chord.
    """

    first: int
    size: int
    copies: int
    start: int
    end: int
    bow: int

    @property
    def lower(self) -> int:
        """No mass of the block is below this."""
        return max(min(self.start, self.end) - self.bow, 0)

    @property
    def upper(self) -> int:
        """No mass of the block is above this."""
        return max(self.start, self.end) + self.bow + 1


@dataclass(frozen=True)
class Block:
    """Where a block's probability goes: cells (for each sign), then weight, judged by two lines.

    With v the first bits of a uniform number and t the place in the block, counted away from zero,
    v < low + (slope t >> block bits) accepts and v >= that + gap rejects.
    """

    first: int
    size: int
    copies: int
    cells: int
    weight: int
    low: int
    gap: int
    slope: int


@dataclass(frozen=True)
class Division:
    """The division of one law. `total` is the sum of all heights in units of 2^-128, rounded up."""

    law: Smooth
    widths: Widths
    block_bits: int
    blocks: tuple[Block, ...]
    tail: Hat
    tail_weight: int
    total: int

    @property
    def copies(self) -> int:
        """Two for a symmetric law, whose blocks stand on both sides of zero."""
        return 2 if self.law.symmetric else 1

    @cached_property
    def free_cells(self) -> int:
        """The number of cells that no block owns; at least one, since the support is endless."""
        return (1 << self.widths.cell) - sum(block.copies * block.cells for block in self.blocks)

    def chance(self, block: Block, place: int) -> Ball:
        """Enclose the probability to accept a place of a block."""
        above = self.law.mass(block.first + place) * block.size * (1 << POINT) - self._given(block.cells)
        return above * self._gain(block.copies, block.weight)

    def tail_chance(self, value: int, level: int) -> Ball:
        """Enclose the probability to accept a value that the tail's hat proposed."""
        density = self.law.mass(value) * (1 << (POINT + level + 1 + self.tail.width_bits))
        return density * self._gain(self.copies, self.tail_weight)

    def _given(self, cells: int) -> int:
        return cells << (POINT - self.widths.cell)

    def _gain(self, copies: int, weight: int) -> Ball:
        import flint

        return flint.arb(copies << self.widths.weight) / (weight * self.total)


def divide(law: Smooth, widths: Widths | None = None) -> Division:
    """Divide a law."""
    widths = widths or Widths()
    block_bits = max(law.feature() // FINENESS, 1).bit_length() - 1
    copies = 2 if law.symmetric else 1
    with precision(POINT + GUARD):
        measures = list(_measures(law, 1 << block_bits, copies))
        tail = _tail(law, measures[-1].first + measures[-1].size)
        tail_mass = law.mass(tail.start) * (1 << (1 + tail.width_bits))
        tail_height = copies * (_floor(tail_mass, upper_end=True) + 1)
    cells = [_cells(measure, block_bits, widths) for measure in measures]
    heights = [_height(measure, owned, widths) for measure, owned in zip(measures, cells, strict=True)]
    heights.append(tail_height)
    total = _total(heights, widths)
    weights = [-(-(height << widths.weight) // total) for height in heights]
    blocks = (
        _block(*parts, total=total, block_bits=block_bits, widths=widths)
        for parts in zip(measures, cells, weights[:-1], strict=True)
    )
    return Division(law, widths, block_bits, tuple(blocks), tail, weights[-1], total)


def _measures(law: Smooth, size: int, copies: int) -> Iterator[Measure]:
    """Yield the blocks from zero outward until the rest is a thin tail."""
    centre = _floor(law.mass(0))
    yield Measure(0, 1, 1, centre, centre, 0)
    first = 1
    while True:
        start = end = _floor(law.mass(first))
        if size * copies * (start + 1) < 1 << (POINT - LAST_BLOCK) and law.halving(first):
            return
        bow = 0
        if size > 1:
            last = first + size - 1
            end = _floor(law.mass(last))
            # A curve leaves its chord by at most (length² / 8) times the largest second derivative.
            bow = _floor(law.curvature(first, last) * (size - 1) ** 2 / 8, upper_end=True) + 1
        yield Measure(first, size, copies, start, end, bow)
        first += size


def _tail(law: Smooth, start: int) -> Hat:
    halving = law.halving(start)
    if halving is None:
        raise CertificationError("A law ended its blocks before its masses surely fall; no draw was made.")
    return Hat.with_steps(start, 1, halving)


def _cells(measure: Measure, block_bits: int, widths: Widths) -> int:
    """Return how many cells fit under the block, for each sign."""
    if measure.size != 1 << block_bits:
        return 0  # Zero among wide blocks: the low bits of a word would move it.
    return measure.lower * measure.size >> (POINT - widths.cell)


def _height(measure: Measure, cells: int, widths: Widths) -> int:
    """Return the size of the box that surely holds what is left of the block above its cells."""
    return measure.copies * (measure.size * measure.upper - (cells << (POINT - widths.cell)))


def _total(heights: list[int], widths: Widths) -> int:
    """Return a total for which the weights, each rounded up, sum to at most 2^weight_bits."""
    room = (1 << widths.weight) - len(heights)
    return -(-(sum(heights) << widths.weight) // room)


def _block(measure: Measure, cells: int, weight: int, *, total: int, block_bits: int, widths: Widths) -> Block:
    """Return the block with the two lines that decide most acceptances."""
    # Acceptance, in units of 2^-line_bits, is (size · mass - given) · gain.
    gain = Fraction(measure.copies << (widths.weight + widths.line), weight * total)
    given = cells << (POINT - widths.cell)
    low = _scaled(measure.size * (measure.start - measure.bow) - given, gain)
    # One for rounding up, one for the rounding of the slope, one for that of its product with the place.
    high = _scaled(measure.size * (measure.start + 1 + measure.bow) - given, gain) + 3
    rise = (measure.end - measure.start) * measure.size << block_bits
    slope = _scaled(rise, gain / (measure.size - 1)) if measure.size > 1 else 0
    return Block(measure.first, measure.size, measure.copies, cells, weight, low=low, gap=high - low, slope=slope)


def _scaled(number: int, factor: Fraction) -> int:
    return number * factor.numerator // factor.denominator


def _floor(ball: Ball, upper_end: bool = False) -> int:
    """Return the floor of one end of a ball, in units of 2^-128."""
    scaled = ball * (1 << POINT)
    end = scaled.upper() if upper_end else scaled.lower()
    return int(end.floor().unique_fmpz())
