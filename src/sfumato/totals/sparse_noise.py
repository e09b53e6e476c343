"""Counts over a domain too large to list, without a leak: the law of noise on every cell, those above a threshold."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.mechanism import Mechanism
from sfumato.noise import Above, Between, Binomial, Noise
from sfumato.perturb import AdditiveNoise
from sfumato.privacy import Loss

SPURIOUS = Fraction(1, 20)
"""How often any cell that nobody is in passes the threshold."""


@dataclass(frozen=True, kw_only=True)
class SparseNoise(Mechanism):
    """Noise on every one of `cells` cells, of which those above `threshold` are published, sorted by cell.

    Promise: that of `noise`, for the vector of all cells, because thresholding and sorting cost nothing. Cells that
    nobody is in pass the threshold too, now and then, and are published like any other: leaving them out would be a
    leak (TCDP-HIST, sparse). They are drawn directly, in number, place and value, so that time and memory grow with
    the cells that occur and not with those that exist.

    Input: the counts of the cells that are not zero, by the place of the cell. Output: pairs of place and noisy count.
    """

    spec: ClassVar[str] = "TCDP-HIST"
    weighed: ClassVar[bool] = True

    noise: AdditiveNoise
    cells: int
    threshold: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "reads", self.noise.reads)
        object.__setattr__(self, "relation", self.noise.relation)

    def loss(self) -> Loss:
        """Return the loss of the noise on all cells."""
        return self.noise.loss()

    def run(self, exact: Mapping[int, int], noise: Noise) -> tuple[tuple[int, int], ...]:
        """Draw what noise on all cells would publish."""
        law = self.noise.law
        occupied = sorted(place for place, count in exact.items() if count)
        drawn = noise.draw(law, len(occupied)).tolist()
        real = ((place, exact[place] + draw) for place, draw in zip(occupied, drawn, strict=True))
        published = [(place, count) for place, count in real if count > self.threshold]
        empty = self.cells - len(occupied)
        passing = noise.draw(Binomial(empty, Above(law, self.threshold))) if empty else 0
        places = skipped(occupied, noise.subset(empty, passing)) if passing else []
        above = Between(law, least=self.threshold + 1)
        published += [(place, noise.draw(above)) for place in places]
        return tuple(sorted(published))


def skipped(occupied: Sequence[int], ranks: Sequence[int]) -> list[int]:
    """Return the places of the free cells with these ranks among the free ones.

    >>> skipped([1, 2, 5], range(4))
    [0, 3, 4, 6]
    """
    free_before = [place - rank for rank, place in enumerate(occupied)]
    return [rank + bisect_right(free_before, rank) for rank in ranks]


def sparse_noise(noise: AdditiveNoise, cells: int) -> SparseNoise:
    """Return the mechanism whose threshold some empty cell passes with probability SPURIOUS at most."""
    return SparseNoise(noise=noise, cells=cells, threshold=noise.error(1 - SPURIOUS, cells))


def place_of(codes: Sequence[Any], firsts: Sequence[int], sizes: Sequence[int]) -> Any:
    """Return the place of a cell among all cells, in the order of their codes; of many cells, an array for each column.

    >>> place_of((1, 5), (0, 3), (2, 4)), cell_at(6, (0, 3), (2, 4))
    (6, (1, 5))
    """
    place: Any = 0
    for code, first, size in zip(codes, firsts, sizes, strict=True):
        place = place * size + code - first
    return place


def cell_at(place: int, firsts: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the codes of the cell at a place."""
    codes: list[int] = []
    for first, size in zip(reversed(firsts), reversed(sizes), strict=True):
        place, offset = divmod(place, size)
        codes.append(first + offset)
    return tuple(reversed(codes))
