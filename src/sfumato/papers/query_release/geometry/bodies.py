"""Symmetric convex bodies with exact norms, and noise of weight exp(-rate · norm) on the integer points."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.noise import DiscreteLaplace, Geometric, Noise
from sfumato.papers.query_release.geometry.generators import Vectors

MOST_SIZES = 2**20
"""Up to so many sizes of a box are listed to predict its error."""

Points = NDArray[np.int64] | NDArray[np.object_]


class Body(ABC):
    """A symmetric convex body C of R^r, known exactly.

    `draw` gives integer points w with probability proportional to exp(-rate · |w|_C). Integer shifts keep the
    integer points, so the normaliser is the same for every table, and shifting by v costs at most rate · |v|_C.
    """

    rank: int

    @abstractmethod
    def gauge(self, points: Vectors) -> Fraction:
        """Return a number s such that all points lie in s·C, proved in exact arithmetic, and hardly above the least."""

    @abstractmethod
    def laws(self, rate: Fraction) -> list[Any]:
        """Return the laws that a draw begins with; a rate that none of them has is refused here, before it is paid."""

    @abstractmethod
    def draw(self, rate: Fraction, noise: Noise) -> list[int]:
        """Draw one integer point; an empty list where the number of attempts has an end and none was accepted."""

    def squares(self, rate: Fraction, basis: NDArray[np.float64]) -> float | None:
        """Return the mean squared length of the noise after the map `basis`, where it has a closed form."""
        return None

    def simulate(self, rate: Fraction, noise: Noise, count: int) -> Points:
        """Draw many points, for predictions from public facts."""
        return np.array([self.draw(rate, noise) for _ in range(count)], dtype=object)


@dataclass(frozen=True)
class Diamond(Body):
    """The weighted cross-polytope |w|_C = sum of |w_i| / radii_i: independent Laplace noise of scale radii_i / rate.

    With equal radii in the coordinates of the answers it is Laplace noise, with different ones column-scaled
    Laplace noise; in coordinates in which the generators are the unit vectors it is the K-norm mechanism itself.

    >>> Diamond((2, 4)).gauge(((1, 1), (0, -4)))
    Fraction(1, 1)
    """

    radii: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "radii", tuple(Fraction(radius) for radius in self.radii))
        object.__setattr__(self, "rank", len(self.radii))
        if not self.radii or min(self.radii) <= 0:
            raise ParameterError("The radii of a diamond are above zero; write for example Diamond((1, 2)).")

    def gauge(self, points: Vectors) -> Fraction:
        """Return the largest norm of the points."""
        unit = math.lcm(*(radius.numerator for radius in self.radii))
        steps = [int(unit / radius) for radius in self.radii]
        most = max(sum(abs(entry) * step for entry, step in zip(point, steps, strict=True)) for point in points)
        return Fraction(most, unit)

    def laws(self, rate: Fraction) -> list[DiscreteLaplace]:
        """Return the noise of each coordinate."""
        return [DiscreteLaplace(radius / rate) for radius in self.radii]

    def draw(self, rate: Fraction, noise: Noise) -> list[int]:
        """Draw each coordinate by itself."""
        return [noise.draw(law) for law in self.laws(rate)]

    def squares(self, rate: Fraction, basis: NDArray[np.float64]) -> float:
        """Return the sum of the variances of the coordinates, each as long as its basis vector."""
        ratios = np.exp([-float(rate / radius) for radius in self.radii])
        return float((2 * ratios / (1 - ratios) ** 2 * (basis**2).sum(axis=1)).sum())

    def simulate(self, rate: Fraction, noise: Noise, count: int) -> Points:
        """Draw whole columns at once."""
        return np.stack([noise.draw(law, count) for law in self.laws(rate)], axis=1)


@dataclass(frozen=True)
class Box(Body):
    """The box |w|_C = max of |w_i|·steps_i / unit, all numbers whole: it reaches unit/steps_i along coordinate i.

    A point is uniform in a box of random size m/unit. The size has weight exp(-rate·m/unit) · (points inside),
    which is drawn by thinning a sum of rank + 1 geometric numbers: all ratios are rational.

    >>> Box((2, 1), unit=4).gauge(((1, 1), (0, -6)))
    Fraction(3, 2)
    """

    steps: tuple[int, ...]
    unit: int = 1
    attempts: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rank", len(self.steps))
        if not self.steps or min(self.steps) <= 0 or self.unit <= 0:
            raise ParameterError(
                "The steps of a box are whole numbers above zero; write for example Box((1, 2), unit=2)."
            )

    def gauge(self, points: Vectors) -> Fraction:
        """Return the largest norm of the points."""
        most = max(abs(entry) * step for point in points for entry, step in zip(point, self.steps, strict=True))
        return Fraction(most, self.unit)

    def laws(self, rate: Fraction) -> list[Geometric]:
        """Return the law of which sizes are sums."""
        return [Geometric(self.unit / rate)]

    def draw(self, rate: Fraction, noise: Noise) -> list[int]:
        """Draw the size of a box, then a point of it."""
        (law,) = self.laws(rate)
        # 2·floor(m/step) + 1 <= (2/step)·(m + ahead) for every step, and a product of consecutive numbers dominates
        # the product of these: it is the weight of a sum of geometric numbers.
        ahead = -(-max(self.steps) // 2)
        tries = 0
        while not self.attempts or tries < self.attempts:
            tries += 1
            size = sum(noise.draw(law, self.rank + 1).tolist()) - (ahead - 1)
            if size >= 0 and noise.bernoulli(self._chance(size, ahead)):
                reach = [size // step for step in self.steps]
                return [noise.uniform(2 * most + 1) - most for most in reach]
        return []

    def simulate(self, rate: Fraction, noise: Noise, count: int) -> Points:
        """Draw many points at once, the sizes by floats: for predictions."""
        reach, reached = self._sizes(rate)
        drawn = np.searchsorted(reached, noise.uniform(2**53, count) / 2.0**53 * reached[-1])
        most = reach[np.minimum(drawn, len(reach) - 1)]
        parts = noise.uniform(2**53, count * self.rank).reshape(count, self.rank) / 2.0**53
        return np.asarray(np.floor(parts * (2 * most + 1)) - most, dtype=np.int64)

    def squares(self, rate: Fraction, basis: NDArray[np.float64]) -> float:
        """Return the mean over the sizes: coordinates are uniform, and independent for a given size."""
        reach, reached = self._sizes(rate)
        means = (reach * (reach + 1.0) / 3) @ (basis**2).sum(axis=1)
        return float(np.diff(reached, prepend=0) @ means / reached[-1])

    def _sizes(self, rate: Fraction) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return how far sizes reach along each coordinate, and the running sum of their weights."""
        count = math.ceil((50 + 4 * self.rank) * self.unit / rate) + 1
        sizes = np.arange(0, count, -(-count // MOST_SIZES))
        reach = sizes[:, None] // np.array(self.steps)
        weights = np.log(2.0 * reach + 1).sum(axis=1) - float(rate / self.unit) * sizes
        return reach, np.cumsum(np.exp(weights - weights.max()))

    def _chance(self, size: int, ahead: int) -> Fraction:
        chance = Fraction(1)
        for place, step in enumerate(self.steps):
            chance *= Fraction((2 * (size // step) + 1) * step, 2 * (size + ahead + place))
        return chance
