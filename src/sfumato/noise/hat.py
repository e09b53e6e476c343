"""Drawing from the falling side of a log-concave law under a hat of halving steps.

If g(start + width) <= g(start) / 2 and the ratios of a log-concave g only fall on the way out, then
g <= ceiling / 2^level on the step number `level` of `width` values. Levels are runs of fair coins and
places within a step are plain bits, so a proposal is exact and its support endless; one comparison with
the true mass makes it the right law. No value is too far out to be drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.exact import rational_ball
from sfumato.exact.enclosure import precision
from sfumato.noise.laws import Peaked
from sfumato.noise.source import Stream, bits, integer
from sfumato.noise.uniform import Uniform

BUILD_BITS = 192


@dataclass(frozen=True)
class Hat:
    """Steps of 2^width_bits values from `start` on, upward (direction 1) or downward (-1)."""

    start: int
    direction: int
    width_bits: int

    @classmethod
    def with_steps(cls, start: int, direction: int, halving: int) -> Hat:
        """Return the hat whose steps are a power of two, not less than the distance `halving`."""
        return cls(start, direction, (halving - 1).bit_length())

    def propose(self, stream: Stream) -> tuple[int, int]:
        """Return a value and its level; each value of a level has probability 2^-(level + 1 + width_bits)."""
        level = _run_of_ones(stream)
        place = bits(stream, self.width_bits)
        return self.start + self.direction * ((level << self.width_bits) + place), level


@dataclass(frozen=True)
class Peak:
    """Draws single values from a law with one peak, in a time that does not depend on its width."""

    law: Peaked
    up: Hat
    down: Hat
    ceiling: Fraction

    @classmethod
    def of(cls, law: Peaked) -> Peak:
        """Put hats on both sides of the peak."""
        peak = law.peak()
        with precision(BUILD_BITS):
            # The true peak is one of these three.
            ceiling = law.mass(peak - 1).max(law.mass(peak)).max(law.mass(peak + 1)).upper()
            mantissa, exponent = ceiling.man_exp()
        ratio = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
        up = Hat.with_steps(peak, 1, law.halving(peak, 1))
        down = Hat.with_steps(peak - 1, -1, law.halving(peak - 1, -1))
        return cls(law, up, down, ratio)

    def one(self, stream: Stream) -> int:
        """Return one value."""
        up, down = 1 << self.up.width_bits, 1 << self.down.width_bits
        while True:
            side = self.up if integer(stream, up + down) < up else self.down
            value, level = side.propose(stream)
            if self._accepts(stream, value, level):
                return value

    def _accepts(self, stream: Stream, value: int, level: int) -> bool:
        height = self.ceiling / 2**level
        return Uniform(stream).below(lambda: self.law.mass(value) / rational_ball(height))


def _run_of_ones(stream: Stream) -> int:
    """Return how many fair coins come up one before the first zero."""
    run = 0
    while True:
        word = bits(stream, 64)
        ones = ((word + 1) & ~word).bit_length() - 1
        run += ones
        if ones < 64:
            return run
