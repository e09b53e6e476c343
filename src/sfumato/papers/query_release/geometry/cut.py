"""Bodies cut out of a diamond by halfspaces and an ellipsoid: noise by exact rejection, in any dimension."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import rational_ball
from sfumato.exact.enclosure import Ball
from sfumato.noise import Binomial, DiscreteLaplace, Geometric, Noise
from sfumato.noise.laws.base import LARGEST_SCALE
from sfumato.papers.query_release.geometry.bodies import Body, Points
from sfumato.papers.query_release.geometry.generators import Vectors
from sfumato.papers.query_release.geometry.hull import SAFE

BATCH = 64
SIMULATED_AT_ONCE = 4096


@dataclass(frozen=True)
class RootDecay:
    """The probability exp(-rate·(sqrt(square) - start)), where start is at most the root."""

    rate: Fraction
    square: Fraction
    start: Fraction

    def yes(self) -> Ball:
        """Enclose the probability."""
        return (-self._exponent()).exp()

    def no(self) -> Ball:
        """Enclose one minus the probability."""
        return -(-self._exponent()).expm1()

    def _exponent(self) -> Ball:
        return rational_ball(self.rate) * (rational_ball(self.square).sqrt() - rational_ball(self.start))


@dataclass(frozen=True)
class Cut(Body):
    """The intersection of a diamond, of slabs |row · w| <= unit and of an ellipsoid w'Qw <= unit².

    Its norm is the largest of three: (sum of weights_i·|w_i|)/unit, max |row·w|/unit, sqrt(w'Qw)/unit, all numbers
    whole. Noise comes from the diamond, as independent Laplace numbers, and is kept with probability
    exp(-rate·(norm - diamond's norm)): the diamond never has the larger norm, because it is one of the three. The
    part of the exponent that is a multiple of 1/unit is decided by a geometric number, what the root leaves over
    by a certified comparison. So the law is exactly exp(-rate·norm), whatever shape the three have.

    `attempts`, where it is not 0, ends the search and leaves nothing; its law is what the audit enumerates.
    """

    weights: tuple[int, ...]
    rows: Vectors = ()
    quadratic: Vectors = ()
    unit: int = 2**22
    attempts: int = 0
    batch: int = BATCH

    def __post_init__(self) -> None:
        object.__setattr__(self, "rank", len(self.weights))
        if not self.weights or min(self.weights) <= 0:
            raise ParameterError("The weights of a diamond are whole numbers above zero.")
        if self.quadratic:
            _require_positive(self.quadratic)

    def gauge(self, points: Vectors) -> Fraction:
        """Return the largest norm of the points, a root rounded up."""
        listed = np.array(points, dtype=object)
        whole = Fraction(int(self._whole_norms(listed, roots=False)[1].max()), self.unit)
        if not self.quadratic:
            return whole
        square = int(self._squares(listed).max())
        root = math.isqrt(square)
        return max(whole, Fraction(root + (root * root < square), self.unit))

    def laws(self, rate: Fraction) -> list[DiscreteLaplace]:
        """Return the diamond's noise along each coordinate."""
        return [DiscreteLaplace(self.unit / (rate * weight)) for weight in self.weights]

    def draw(self, rate: Fraction, noise: Noise) -> list[int]:
        """Propose from the diamond until one point is kept."""
        for points in self._kept(rate, noise):
            if len(points):
                return [int(entry) for entry in points[0]]
        return []

    def simulate(self, rate: Fraction, noise: Noise, count: int) -> Points:
        """Draw many points at once, kept by floats: for predictions."""
        laws = self.laws(rate)
        found: list[Points] = []
        while sum(map(len, found)) < count:
            proposed = np.stack([noise.draw(law, SIMULATED_AT_ONCE) for law in laws], axis=1)
            diamond, norms = self._whole_norms(proposed, roots=True)
            chances = np.exp(-float(rate / self.unit) * (norms - diamond).astype(np.float64))
            found.append(proposed[noise.uniform(2**53, len(proposed)) / 2.0**53 < chances])
        return np.asarray(np.concatenate(found)[:count], dtype=np.int64)

    def _kept(self, rate: Fraction, noise: Noise) -> Iterator[Points]:
        laws = self.laws(rate)
        tries = 0
        while not self.attempts or tries < self.attempts:
            tries += 1
            proposed = np.stack([noise.draw(law, self.batch) for law in laws], axis=1)
            diamond, norms = self._whole_norms(proposed, roots=True)
            kept = _survive(norms - diamond, rate / self.unit, noise)
            points, norms = proposed[kept], norms[kept]
            if self.quadratic and len(points):
                points = points[self._roots_survive(points, norms, rate, noise)]
            yield points

    def _whole_norms(self, points: Points, roots: bool) -> tuple[Points, Points]:
        """Return the diamond's norm of each point and the whole part of its norm, in units of 1/unit."""
        exact = points.astype(object) if self._too_large(points) else points
        diamond = np.abs(exact) @ np.array(self.weights, dtype=exact.dtype)
        norms = diamond
        if self.rows:
            slabs = np.abs(exact @ self._rows.astype(exact.dtype)).max(axis=1)
            norms = np.maximum(norms, slabs)
        if roots and self.quadratic:
            floors = [math.isqrt(int(square)) for square in self._squares(points)]
            norms = np.maximum(norms, np.array(floors, dtype=exact.dtype))
        return diamond, norms

    def _squares(self, points: Points) -> NDArray[np.object_]:
        listed = points.astype(object)
        squares: NDArray[np.object_] = ((listed @ np.array(self.quadratic, dtype=object)) * listed).sum(axis=1)
        return squares

    def _roots_survive(self, points: Points, norms: Points, rate: Fraction, noise: Noise) -> list[int]:
        """Decide the part of a root that is no multiple of 1/unit."""
        kept = []
        for place, (square, norm) in enumerate(zip(self._squares(points), norms.tolist(), strict=True)):
            if int(square) <= norm * norm:
                kept.append(place)
                continue
            decay = RootDecay(rate, Fraction(int(square), self.unit**2), Fraction(norm, self.unit))
            if noise.draw(Binomial(1, decay)):
                kept.append(place)
        return kept

    @cached_property
    def _rows(self) -> NDArray[np.int64]:
        return np.array(self.rows, dtype=np.int64).T

    def _too_large(self, points: Points) -> bool:
        if points.dtype == object:
            return True
        steepest = max(*self.weights, int(np.abs(self._rows).max()) if self.rows else 0)
        return float(np.abs(points).max()) * steepest * self.rank >= SAFE


def _survive(excess: Points, rate: Fraction, noise: Noise) -> NDArray[np.bool_]:
    """Keep each with probability exp(-rate · excess): a geometric number reaches the excess just so often.

    Where one unit costs too little for a geometric law, the excess is split into many units and a rest, and the
    rest is decided for those that are left.
    """
    many = 1
    while 1 / (rate * many) > LARGEST_SCALE:
        many *= 2
    kept: NDArray[np.bool_] = np.asarray(noise.draw(Geometric(1 / (rate * many)), len(excess)) >= excess // many)
    for place in np.flatnonzero(kept) if many > 1 else ():
        rest = int(excess[place]) % many
        kept[place] = not rest or noise.bernoulli_exp(rate * rest)
    return kept


def _require_positive(quadratic: Vectors) -> None:
    import flint

    size = len(quadratic)
    symmetric = all(quadratic[i][j] == quadratic[j][i] for i in range(size) for j in range(i))
    minors = (flint.fmpz_mat([list(row[:k]) for row in quadratic[:k]]).det() for k in range(1, size + 1))
    if not symmetric or any(minor <= 0 for minor in minors):
        raise ParameterError("The matrix of an ellipsoid must be symmetric and positive definite.")
