"""The lazy walk over small cubes that cover a body, and its mixing worked out exactly (QR-KWALK). For experiments.

A walk from cube to cube is the one random walk whose distance from uniform can be computed instead of believed, as
long as all cubes can be listed: `mixing` runs the whole distribution, not one sample. Floats take part, so what is
made of it is no promise, and nothing here is offered to a ledger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.exact import Number, above_zero, between_zero_and_one, positive_integer
from sfumato.noise import Noise

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Cube = tuple[int, ...]

MOST_CUBES = 2**20
_BITS = 2**53


@dataclass(frozen=True, eq=False)
class CubeWalk:
    """A walk over the cubes of side `width` that may meet the body {x: normals·x <= offsets}.

    Each step stays with probability 1/2, and else goes to one of the 2·rank neighbours, all equally likely, unless
    that one does not meet the body. Up and down are equally likely, so its only resting law is the uniform one.
    """

    normals: Floats
    offsets: Floats
    width: float

    @property
    def rank(self) -> int:
        """How many directions there are."""
        return int(self.normals.shape[1])

    def meets(self, cube: Cube) -> bool:
        """Tell whether a cube may meet the body: by every face, it does not lie wholly outside.

        A cube near a corner may be kept though it does not touch; none that touches is left out.
        """
        centre = self.width * np.array(cube)
        margin = self.width / 2 * np.abs(self.normals).sum(axis=1)
        return bool((self.normals @ centre <= self.offsets + margin * (1 + 1e-9)).all())

    @cached_property
    def cubes(self) -> tuple[Cube, ...]:
        """All cubes that the walk can reach from the middle."""
        start = (0,) * self.rank
        found = {start: None}
        waiting = [start]
        while waiting:
            for beside in self._beside(waiting.pop()):
                if beside not in found and self.meets(beside):
                    found[beside] = None
                    waiting.append(beside)
            if len(found) > MOST_CUBES:
                raise DomainTooLarge(
                    f"The body has more than {MOST_CUBES} cubes of side {self.width:g}; write a larger precision, or "
                    "use geometry.shaped, which is exact.",
                    method="geometry.shaped",
                )
        return tuple(found)

    @cached_property
    def transition(self) -> csr_array:
        """The matrix of one step: the probability to go from each cube to each other."""
        from scipy.sparse import csr_array

        places = {cube: place for place, cube in enumerate(self.cubes)}
        share = 1 / (4 * self.rank)
        rows, columns, chances = [], [], []
        for cube, place in places.items():
            beside = [places[other] for other in self._beside(cube) if other in places]
            rows += [place] * (len(beside) + 1)
            columns += [*beside, place]
            chances += [share] * len(beside) + [1 - share * len(beside)]
        return csr_array((chances, (rows, columns)), shape=(len(places), len(places)))

    def mixing(self, steps: int) -> float:
        """Return max |ln(p/uniform)| over all cubes after so many steps from the middle; infinite while one is unseen.

        Time: steps × cubes.
        """
        return _distance(self._after(self._start(), positive_integer(steps, "steps")))

    def steps_for(self, precision: float) -> int:
        """Return a number of steps, a power of two, after which the walk is within a factor e^±precision of uniform."""
        steps, chances = 1, self._after(self._start(), 1)
        while _distance(chances) > precision:
            chances, steps = self._after(chances, steps), 2 * steps
        return steps

    def _start(self) -> Floats:
        chances = np.zeros(len(self.cubes))
        chances[0] = 1
        return chances

    def _after(self, chances: Floats, steps: int) -> Floats:
        for _ in range(steps):
            chances = self.transition @ chances  # the matrix is its own transpose
        return chances

    def walk(self, steps: int, noise: Noise) -> Cube:
        """Return the cube where a walk of so many steps ends."""
        here: Cube = (0,) * self.rank
        for move in np.atleast_1d(noise.uniform(4 * self.rank, positive_integer(steps, "steps"))):
            if move < 2 * self.rank:
                there = self._beside(here)[int(move)]
                here = there if self.meets(there) else here
        return here

    def point(self, steps: int, noise: Noise) -> Floats:
        """Return a point of the cube where a walk ends, anywhere in it."""
        jitter = (np.asarray(noise.uniform(_BITS, self.rank)) + 0.5) / _BITS - 0.5
        return np.asarray(self.width * (np.array(self.walk(steps, noise)) + jitter))

    def _beside(self, cube: Cube) -> list[Cube]:
        return [(*cube[:axis], cube[axis] + step, *cube[axis + 1 :]) for axis in range(self.rank) for step in (-1, 1)]


def _distance(chances: Floats) -> float:
    if not chances.all():
        return math.inf
    return float(np.abs(np.log(chances * len(chances))).max())


def cube_walk(vectors: Any, precision: Number) -> CubeWalk:
    """Return the walk over the body conv{±vectors}, scaled so that it holds the unit ball.

    Its cubes cover the body, and lie within 1 + precision times it.

    >>> walk = cube_walk([[1, 0], [0, 1], [1, 1]], "1/2")
    >>> len(walk.cubes), walk.mixing(400) < 0.1
    (233, True)
    """
    from scipy.spatial import ConvexHull

    share = float(between_zero_and_one(precision, "precision"))
    given = np.asarray(vectors, dtype=np.float64)
    if given.ndim != 2 or not 2 <= given.shape[1] <= 4 or np.linalg.matrix_rank(given) < given.shape[1]:
        raise ParameterError(
            "A walk over cubes needs vectors that span 2 to 4 directions; write for example [[1, 0], [0, 1], [1, 1]]."
        )
    faces = ConvexHull(np.concatenate([given, -given])).equations
    normals, offsets = faces[:, :-1], -faces[:, -1]
    # The nearest face is at distance 1 then, so that a cube across it sticks out by a known part of the body.
    return CubeWalk(normals, offsets / offsets.min(), share / (2 * math.sqrt(given.shape[1])))


def walked_epsilon(rate: Number, rank: int, precision: Number) -> Fraction:
    """Return the epsilon of noise r·z with r from Gamma(rank + 1, 1/rate) and z within e^±precision of uniform.

    1.1·rate + (rank + 2.1)·precision, for a precision of at most 0.1 and 1/(10·r) (QR-KWALK, repaired constants); at
    the largest precision that the spec allows, 0.1·rate/(rank + 2.1), it is 1.2·rate.

    >>> walked_epsilon("41/10", 2, "1/10")
    Fraction(123, 25)
    """
    apart = between_zero_and_one(precision, "precision")
    if apart > Fraction(1, 10):
        raise ParameterError("precision is at most 0.1: beyond, the formula does not hold; write for example 0.05.")
    return Fraction(11, 10) * above_zero(rate, "rate") + (rank + Fraction(21, 10)) * apart
