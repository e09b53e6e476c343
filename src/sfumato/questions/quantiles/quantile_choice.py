"""Several quantiles of an ordered column, each chosen by the exponential mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.exact import Number, between_zero_and_one
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.privacy import ADD_REMOVE, Cost, Loss
from sfumato.questions.quantiles.measure import Measure

Codes = NDArray[np.int64]
Distribution = tuple[NDArray[Any], Codes]
"""Places of the codes that occur, sorted, and how much each one counts; places may be Python integers."""


@dataclass(frozen=True, kw_only=True)
class QuantileChoice(Mechanism):
    """Return one code of the ordered domain for each probability, in rising order.

    For the probability a/b a code z scores min(b·#{x <= z} - a·m, a·m - b·#{x < z}), m the number of rows, so that
    the best code is the quantile itself and D/b below the best is D/b rows away. m cancels: a row adds at most
    b - a to it, or takes away a, so one changed row moves a score by at most b, one row more or less by
    max(a, b - a). Nothing about m need be known, and empty data are data like any other.

    Promise, for `relation` neighbours: for each probability the log-ratios lie in a window of width `epsilon`
    (PL-QUANTILE, PL-EM, TCDP:C-EXPM); the probabilities add up. One person counts at most `weight` units, of which
    `scale` make a row: scores are linear in the counts, so rows may be weighed instead of picked.

    Duplicates, values at the ends, one row: always an answer. Time grows with the codes that occur, whatever the
    domain.
    """

    spec: ClassVar[str] = "PL-QUANTILE"
    weighed: ClassVar[bool] = True

    size: int
    probabilities: tuple[Fraction, ...]
    epsilon: Fraction
    zero: int | None = None
    """The place from which magnitudes are counted, see `Measure`; None if all places weigh the same."""
    weight: int = 1
    scale: int = 1

    def loss(self) -> Loss:
        """Return the bounded-range cost, once for each probability."""
        return Loss.flat(len(self.probabilities) * Cost.range_bounded(self.epsilon), self.reads, self.relation)

    def rate(self, probability: Fraction) -> Fraction:
        """Return how steeply weights fall with the score of one probability."""
        above, parts = probability.numerator, probability.denominator
        moved = max(above, parts - above) if self.relation is ADD_REMOVE else parts
        return self.epsilon / (2 * moved * self.weight)

    def run(self, exact: Distribution, noise: Noise) -> tuple[int, ...]:
        """Choose a code for each probability; sorting afterwards costs nothing."""
        pieces = _pieces(*exact, self.size)
        measure = Measure(self.size, self.zero)
        weights = pieces.weights(measure)
        chosen = []
        for probability in self.probabilities:
            piece = noise.choose(pieces.scores(probability), self.rate(probability), weights)
            start = pieces.starts[piece]
            chosen.append(measure.draw(start, start + pieces.lengths[piece], noise))
        return tuple(sorted(chosen))

    def steepness(self) -> Fraction:
        """Return by how much the log-probability of a code falls for each row it is off, at the least."""
        return min(self.rate(chance) * chance.denominator * self.scale for chance in self.probabilities)


def rank_error(size: int, steepness: Fraction, count: int, confidence: Number) -> int:
    """Return how many rows off its rank each of `count` chosen codes is at most, all at this confidence (PL:C-EM).

    >>> rank_error(1000, Fraction(1, 2), 1, 0.95)
    20
    """
    failure = (1 - between_zero_and_one(confidence, "confidence")) / count
    return math.ceil((math.log(size) - math.log(failure)) / float(steepness))


@dataclass(frozen=True)
class Pieces:
    """Runs of codes of equal score: where they start, how long they are, the units below them and up to them."""

    starts: list[int]
    lengths: list[int]
    below: Codes
    up_to: Codes

    def weights(self, measure: Measure) -> list[int]:
        """Return the public weight of each run."""
        if len(measure.starts) == 1:
            return self.lengths
        below = [measure.weight_below(start) for start in [*self.starts, measure.size]]
        return [after - before for before, after in pairwise(below)]

    def scores(self, probability: Fraction) -> Codes | list[int]:
        """Return min(b·up_to - a·m, a·m - b·below) for the probability a/b, exactly."""
        above, parts = probability.numerator, probability.denominator
        count = int(self.up_to[-1])
        if parts * count < 2**62:
            return np.minimum(parts * self.up_to - above * count, above * count - parts * self.below)
        # Wrapped around, scores would jump by 2^64 for one row; Python's integers are as long as they need to be.
        pairs = zip(self.up_to.tolist(), self.below.tolist(), strict=True)
        return [min(parts * up_to - above * count, above * count - parts * below) for up_to, below in pairs]


def _pieces(values: Codes, counts: Codes, size: int) -> Pieces:
    """Return the runs: each value is one of its own, and so is each gap before, between and after the values."""
    running = np.cumsum(counts)
    # Places of a wide domain pass 2^63, so they are Python integers from here on.
    edges = [0, *(place for value in values.tolist() for place in (value, value + 1))]
    lengths = [after - before for before, after in zip(edges, [*edges[1:], size], strict=True)]
    below = np.concatenate(([0], np.stack((running - counts, running), axis=1).ravel())).astype(np.int64)
    up_to = np.concatenate(([0], np.repeat(running, 2))).astype(np.int64)
    return Pieces(edges, lengths, below, up_to)
