"""Several cuts among sorted rows, drawn together by the exponential mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.exact import rational_ball
from sfumato.exact.enclosure import precision
from sfumato.noise import Noise
from sfumato.questions.quantiles.rows import RADIX, Pairs

LOG_2 = Fraction(round(Fraction("0.693147180559945309417232121458176568075500134360255254120680009") * 2**192), 2**192)
"""The logarithm of 2: what 2^-k is drawn by, wrong by a factor of 2^-190 for each halving."""
SMALLEST_BLOCK = 256


@dataclass(frozen=True)
class Chain:
    """Weights of all ways to place cuts into gaps of sorted rows.

    With c_0, …, c_k the rows before, between and after the cuts, a set of cuts weighs
    exp(-rate · sum |parts · c_j - shares[j] · rows|) times its room, where `parts` is the sum of the shares.
    """

    shape: Any
    sums: Any

    @classmethod
    def of(cls, room: Pairs, shares: Sequence[int], rate: Fraction, block: int = 0) -> Chain:
        """Sum up the weights, from the right."""
        from sfumato.questions.quantiles import chain

        rows, parts = len(room[0]) - 1, sum(shares)
        wanted = [share * rows for share in shares]
        peaks = [amount // parts for amount in wanted]
        near = _falls([rate * (amount - parts * peak) for amount, peak in zip(wanted, peaks, strict=True)])
        far = _falls([rate * (parts * (peak + 1) - amount) for amount, peak in zip(wanted, peaks, strict=True)])
        empty = _falls([rate * amount for amount in wanted])
        block = block or max(SMALLEST_BLOCK, math.isqrt(rows))
        power = chain.powers(*_fall(rate * parts), max(rows, block) + 2)
        shape = chain.Shape(*room, np.array(peaks, np.int64), *near, *far, *empty, *power)
        return cls(shape, chain.weigh(shape, block))

    def draw(self, noise: Noise) -> list[int]:
        """Draw the gaps of all cuts, in order: one gap after the other, and how many cuts share it."""
        from sfumato.questions.quantiles import chain

        shape, sums = self.shape, self.sums
        cuts, rows, block = len(shape.peak) - 1, len(shape.length) - 1, sums.block
        found: list[int] = []
        before, start = 0, 0
        while len(found) < cuts:
            cut = len(found) + 1
            first = block * _one(chain.blocks(cut, before, start, shape, sums), noise) if rows >= block else 0
            start, stop = max(first, start), min(first + block, rows + 1)
            before = start + _one(chain.gaps(cut, before, (start, stop), shape, sums), noise)
            shared = _one(chain.together(cut, before, shape, sums), noise) if cut < cuts else 0
            found += [before] * (1 + shared)
            start = before + 1
        return found


def _one(weights: Pairs, noise: Noise) -> int:
    """Draw an index with probability exactly proportional to these numbers, up to the last digits of log 2."""
    mantissas, exponents = np.frexp(weights[0])
    powers = exponents + RADIX * weights[1]
    lengths = (mantissas * 2.0**53).astype(np.int64)
    scores = np.where(lengths > 0, powers - powers[lengths > 0].max(), 0)
    return noise.choose(scores, LOG_2, lengths)


def _falls(exponents: Sequence[Fraction]) -> Pairs:
    pairs = [_fall(exponent) for exponent in exponents]
    return np.array([mantissa for mantissa, _ in pairs]), np.array([power for _, power in pairs], np.int64)


def _fall(exponent: Fraction) -> tuple[float, int]:
    """Return exp(-exponent) as mantissa and exponent, rounded once."""
    with precision(256 + exponent.numerator.bit_length()):
        whole, power = rational_ball(-exponent).exp().mid().man_exp()
    mantissa, power = int(whole), int(power)
    place = mantissa.bit_length() + power
    rounds = (place + RADIX // 2) // RADIX
    return math.ldexp(mantissa / (1 << mantissa.bit_length()), place - RADIX * rounds), rounds
