"""A distribution by interior points: for each of some ranks, a code between its neighbours in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.privacy import EVERYTHING, Attributes, Concentrated, Loss, Truncated
from sfumato.privacy.calibrate import Gaussians
from sfumato.questions.distribution.codes import Coded
from sfumato.questions.distribution.facts import FAILURE, Knot
from sfumato.select.quasiconcave import InteriorPoint, interior_point
from sfumato.select.quasiconcave.interior_point import part_of


@dataclass(frozen=True, kw_only=True)
class RankWindows(Mechanism):
    """For each rank r a code between the smallest and the largest of the values number r - radius to r + radius.

    A window of ranks is a function of the sorted values. Replacing one person replaces at most one value of it, so
    that every window costs the loss of `point`, and all of them their sum (TCDP-CDF, TCDP-IP).

    Promise, for replace-one neighbours: len(ranks)·loss of `point`. The number of people is public, and one row each.
    Input: the codes that occur, sorted, and their counts. Output: one code a rank, in rising order.
    """

    spec: ClassVar[str] = "TCDP-CDF"

    first: int
    size: int
    people: int
    ranks: tuple[int, ...]
    radius: int
    point: InteriorPoint

    def loss(self) -> Loss:
        """Return the loss of one interior point for each rank."""
        return self.point.loss() * len(self.ranks)

    def run(self, exact: tuple[NDArray[Any], NDArray[Any]], noise: Noise) -> tuple[int, ...]:
        """Choose a code for each window; sorting afterwards costs nothing."""
        coded = Coded.of(*exact)
        points = [self.point.run(self.window(coded, rank), noise) for rank in self.ranks]
        return tuple(sorted(self.first + min(point, self.size - 1) for point in points))

    def window(self, coded: Coded, rank: int) -> list[int]:
        """Return the values around a rank, counted from the first code; a multiset that one person moves by one."""
        wanted = np.arange(rank - self.radius, rank + self.radius)
        places = np.searchsorted(coded.up_to[1:], wanted, side="right").tolist()
        # A table with fewer rows than it was said to have, which is no neighbour of any, is answered as well.
        known, codes = len(coded.codes), coded.codes
        return [int(codes[place]) - self.first if place < known else self.size - 1 for place in places]

    def knots(self, raw: Sequence[int]) -> list[Knot]:
        """Return what the points say: rows below a code, at most (draws = -1), and up to it, at least (draws = 1)."""
        found = [Knot(self.first, 0, 0)]
        for rank, code in zip(self.ranks, raw, strict=True):
            found += [Knot(code, rank, -1), Knot(code + 1, rank, 1)]
        return sorted([*found, Knot(self.first + self.size, self.people, 0)])


def rank_windows(
    spend: Concentrated | Truncated,
    first: int,
    size: int,
    *,
    people: int,
    ranks: int,
    reads: Attributes = EVERYTHING,
    gaussians: Gaussians = "wide",
) -> RankWindows | None:
    """Return evenly spread ranks with windows as narrow as their success asks for; None if they do not fit.

    >>> wide = rank_windows(Truncated(1, 5), 0, 2**64, people=20_000, ranks=9)
    >>> wide.ranks[4], wide.radius
    (10000, 136)
    """
    part = part_of(spend, Fraction(1, ranks))
    bits, failure = (size - 1).bit_length(), FAILURE / ranks
    draft = interior_point(part, bits, people=people, failure=failure, reads=reads, gaussians=gaussians)
    radius = -(-draft.needed(failure) // 2)
    spread = tuple(people * place // (ranks + 1) for place in range(1, ranks + 1))
    if spread[0] < radius or spread[-1] + radius > people:
        return None
    point = interior_point(part, bits, people=2 * radius, failure=failure, reads=reads, gaussians=gaussians)
    return RankWindows(first=first, size=size, people=people, ranks=spread, radius=radius, point=point, reads=reads)
