"""A distribution by medians of medians: cuts where the people are, then a noisy count between any two of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from numpy.typing import NDArray

from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.perturb import AdditiveNoise
from sfumato.privacy import Cost, Loss
from sfumato.privacy.parallel import parallel
from sfumato.privacy.relations import Relation
from sfumato.questions.distribution.codes import Coded, rounded

SPARE = 8
"""Shells are listed up to where all that is outside of them has about e^-8 of the weight."""
FEW = 64
"""Of so few rows every score has a shell of its own, and no code is drawn in vain."""


class Cells(NamedTuple):
    """The cuts, in order, and the noisy counts of all cells: before, at and between the cuts, from left to right."""

    cuts: tuple[int, ...]
    counts: tuple[int, ...]


def level_cost(epsilon: Fraction, relation: Relation) -> Cost:
    """Return what one level of medians costs, each of them of range `epsilon` for one person more or less.

    The ranges of a level were released before, so a person is in one of them and the levels obey the parallel rule
    (PL:C-PAR, TCDP:C-PAR). Replaced inside of a range, a person moves #{below} up and #{above} down: the score by
    twice as much. Where a person has rows in several ranges, they share the weight, and the sum of their epsilons, as
    that of the squares, is at most that of one range with all of it.

    >>> from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
    >>> level_cost(Fraction(1), ADD_REMOVE).epsilon, level_cost(Fraction(1), REPLACE_ONE).epsilon
    (Fraction(1, 1), Fraction(2, 1))
    """
    one, two = Cost.range_bounded(epsilon), Cost.range_bounded(2 * epsilon)
    return parallel([one, one], relation, inside=[two, two])


@dataclass(frozen=True, kw_only=True)
class MedianTree(Mechanism):
    """Choose the median of all rows, of the rows below it, of those above it, and so on; then count between them.

    A code z of a range scores 2u(z) = #{= z} - |#{< z} - #{> z}|, the counts within the range: one row more or less
    moves it by 1, and the best reaches 0 at least. It is drawn with weight exp(epsilon·u). All ranges of a level are
    cut, those that nobody is in too: what is left out would tell. A range without codes is public and has no median.

    Promise, for `relation` neighbours of at most `weight` units a person: `levels` times `level_cost(epsilon)`, plus
    the loss of `counts`, noise on the vector of all cells (PL-SAN-THRESH-RQ). Under REPLACE_ONE that is
    2·levels·epsilon + epsilon of the counts.

    Input: the codes that occur, sorted, and what each counts.
    Time O(log(size)·log n) for each of 2^levels - 1 medians, whatever the data.
    """

    spec: ClassVar[str] = "PL-SAN-THRESH-RQ"
    weighed: ClassVar[bool] = True

    first: int
    last: int
    levels: int
    epsilon: Fraction
    counts: AdditiveNoise
    weight: int = 1
    grid: int = 1

    @property
    def rate(self) -> Fraction:
        """How steeply the weight of a code falls with 2u, in units."""
        return self.epsilon / (2 * self.weight)

    def loss(self) -> Loss:
        """Return the loss of all levels and of the counts."""
        chosen = Loss.flat(self.levels * level_cost(self.epsilon, self.relation), self.reads, self.relation)
        return chosen + self.counts.loss()

    def run(self, exact: tuple[NDArray[Any], NDArray[Any]], noise: Noise) -> Cells:
        """Cut level by level, then count."""
        coded = Coded.of(*exact)
        cuts = self.cuts(coded, noise)
        starts = [low for low, _ in cells_of(cuts, self.first, self.last)]
        noisy = self.counts.run(rounded(coded.between(starts, self.last), self.grid), noise)
        return Cells(cuts, tuple(noisy.tolist()))

    def cuts(self, coded: Coded, noise: Noise) -> tuple[int, ...]:
        """Draw the medians of all levels; releasing them in any order costs no more."""
        ranges, found = [(self.first, self.last)], []
        for _ in range(self.levels):
            chosen = [self._median(coded, low, high, noise) for low, high in ranges]
            found += chosen
            halves = [
                half
                for (low, high), cut in zip(ranges, chosen, strict=True)
                for half in ((low, cut - 1), (cut + 1, high))
            ]
            ranges = [(low, high) for low, high in halves if low <= high]
        return tuple(sorted(found))

    def _median(self, coded: Coded, low: int, high: int, noise: Noise) -> int:
        """Draw a code of the range with weight exp(epsilon·u).

        A shell is drawn with the weight that it would have if all of its codes were as good as the best of them, then
        any of its codes, which is kept with probability exp(-what it falls short): the law is exact.
        """
        step = 1 if coded.below(high + 1) - coded.below(low) <= FEW else 1 + math.floor(1 / (2 * self.rate))
        wide = math.ceil((math.log(high - low + 1) + SPARE) / (2 * float(self.rate) * step))
        shells = coded.shells(low, high, step, max(wide, FEW))
        lengths = shells.lengths
        while True:
            shell = noise.choose(shells.scores, self.rate, lengths)
            code = shells.code(shell, noise.uniform(lengths[shell]))
            short = shells.scores[shell] - shells.score(code)
            if short == 0 or noise.bernoulli_exp(short * self.rate):
                return code


def cells_of(cuts: list[int] | tuple[int, ...], first: int, last: int) -> list[tuple[int, int]]:
    """Return the cells from first to last that sorted cuts make: each cut alone, and what lies between two.

    >>> cells_of([3, 4], 0, 9)
    [(0, 2), (3, 3), (4, 4), (5, 9)]
    """
    found, start = [], first
    for cut in cuts:
        if start < cut:
            found.append((start, cut - 1))
        found.append((cut, cut))
        start = cut + 1
    return [*found, (start, last)] if start <= last else found


def leaf_mass(rows: int, levels: int, size: int, steepness: float, failure: float) -> float:
    """Return how many rows a cell between two cuts holds at most, except with this probability.

    `steepness` is by how much the log-weight of a code falls for each row that its larger side has too many. A range of
    m rows leaves at most m/2 plus what its median loses to either side (PL:C-EM), so `levels` of them leave
    rows/2^levels and less than twice the loss.
    """
    medians: int = 2**levels - 1
    lost = (math.log(size) + math.log(medians / failure)) / steepness
    return min(float(rows), rows / (medians + 1) + 2 * lost)


def median_cells(levels: int, size: int) -> int:
    """Return the largest number of cells that `levels` levels of cuts make."""
    most: int = 2 ** (levels + 1) - 1
    return min(most, size)
