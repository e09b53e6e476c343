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
        pieces = Pieces.of(*exact, self.size)
        measure = Measure(self.size, self.zero)
        weights = pieces.weights(measure)
        chosen = []
        for probability in self.probabilities:
            piece = noise.choose(pieces.scores(probability), self.rate(probability), weights)
            chosen.append(measure.draw(*pieces.run(piece), noise))
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
    """Runs of codes of equal score: every value that occurs is one, and so is every gap before, between and after them.

    Gap 0, value 0, gap 1, value 1, … in this order. `running` counts the units up to each value.
    """

    values: NDArray[Any]
    counts: Codes
    running: Codes
    size: int

    @classmethod
    def of(cls, values: NDArray[Any], counts: Codes, size: int) -> Pieces:
        """Return the runs of some sorted places of a domain of `size`, and of how much each one counts."""
        return cls(values, counts, np.cumsum(counts, dtype=np.int64), size)

    def run(self, piece: int) -> tuple[int, int]:
        """Return where a run starts, and the first place after it."""
        place, is_value = divmod(piece, 2)
        if is_value:
            start = int(self.values[place])
            return start, start + 1
        after = int(self.values[place]) if place < len(self.values) else self.size
        return (int(self.values[place - 1]) + 1 if place else 0), after

    def weights(self, measure: Measure) -> NDArray[Any] | list[int]:
        """Return the public weight of each run."""
        total = measure.weight_below(self.size)
        if total < 2**62 and self.values.dtype != object:
            below = measure.weights_below(self.values)
            found = np.empty(2 * len(self.values) + 1, np.int64)
            found[1::2] = measure.weights_at(self.values)
            found[0], found[2:-1:2], found[-1] = 0, below[1:], total
            found[2::2] -= below + found[1::2]
            found[0] = below[0] if len(below) else total
            return found
        # Places of a wide domain pass 2^63, so they are Python integers from here on.
        edges = [0, *(place for value in self.values.tolist() for place in (value, value + 1)), self.size]
        below_each = [measure.weight_below(edge) for edge in edges]
        return [after - before for before, after in pairwise(below_each)]

    def scores(self, probability: Fraction) -> Codes | list[int]:
        """Return min(b·up_to - a·m, a·m - b·below) for the probability a/b, exactly.

        Below a gap lie as many units as up to it, so that its score is -|b·up_to - a·m|.
        """
        above, parts = probability.numerator, probability.denominator
        count = int(self.running[-1]) if len(self.running) else 0
        if parts * count >= 2**62:
            # Wrapped around, scores would jump by 2^64 for one row; Python's integers are as long as they need to be.
            return self._long_scores(above * count, parts)
        found = np.empty(2 * len(self.running) + 1, np.int64)
        over = parts * self.running - above * count
        found[0] = -above * count
        np.negative(np.abs(over), out=found[2::2])
        np.minimum(over, parts * self.counts - over, out=found[1::2])
        return found

    def _long_scores(self, wanted: int, parts: int) -> list[int]:
        found = [-wanted]
        for running, held in zip(self.running.tolist(), self.counts.tolist(), strict=True):
            over = parts * running - wanted
            found += [min(over, parts * held - over), -abs(over)]
        return found
