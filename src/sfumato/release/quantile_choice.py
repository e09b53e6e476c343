"""Several quantiles of an ordered column, each chosen by the exponential mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.exact import Number, between_zero_and_one
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.privacy import ADD_REMOVE, Cost, Loss

Codes = NDArray[np.int64]
Distribution = tuple[Codes, Codes]
"""Codes that occur, sorted, and how much each one counts."""


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

    size: int
    probabilities: tuple[Fraction, ...]
    epsilon: Fraction
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
        starts, lengths, below, up_to = _pieces(*exact, self.size)
        count = int(up_to[-1])
        chosen = []
        for probability in self.probabilities:
            above, parts = probability.numerator, probability.denominator
            scores = np.minimum(parts * up_to - above * count, above * count - parts * below)
            piece = noise.choose(scores, self.rate(probability), lengths)
            chosen.append(int(starts[piece]) + noise.uniform(int(lengths[piece])))
        return tuple(sorted(chosen))

    def rank_error(self, confidence: Number) -> int:
        """Return how many rows away from its rank every chosen code is at most, at this confidence (PL:C-EM)."""
        failure = (1 - between_zero_and_one(confidence, "confidence")) / len(self.probabilities)
        level = math.log(self.size) - math.log(failure)
        return math.ceil(max(level / float(self.rate(p) * p.denominator * self.scale) for p in self.probabilities))


def _pieces(values: Codes, counts: Codes, size: int) -> tuple[Codes, Codes, Codes, Codes]:
    """Return the runs of codes of equal score: where they start, how long they are, units below and up to them."""
    running = np.cumsum(counts)
    # Each value is a run of its own, and so is each gap before, between and after the values.
    edges = np.concatenate(([0], np.repeat(values, 2) + np.tile([0, 1], len(values)))).astype(np.int64)
    ends = np.append(edges[1:], size)
    below = np.concatenate(([0], np.stack((running - counts, running), axis=1).ravel())).astype(np.int64)
    up_to = np.concatenate(([0], np.repeat(running, 2))).astype(np.int64)
    kept = ends > edges
    return edges[kept], (ends - edges)[kept], below[kept], up_to[kept]
