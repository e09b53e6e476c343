"""The recursive mechanism for bodies that are long in some directions and short in others (QR-NIKM)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.papers.query_release.geometry.generators import Vectors
from sfumato.papers.query_release.geometry.shaped import Predicted, ShapedNoise, predicted
from sfumato.privacy import Loss

Floats = NDArray[np.float64]

FINENESS = 128
"""Projections are rounded to multiples of 1/FINENESS; the rounded ones are what is measured, exactly."""
_BUDGET_STEPS = 2**16


@dataclass(frozen=True, kw_only=True)
class RecursiveNoise(Mechanism):
    """Answers measured several times, each time along fewer and longer directions, and put together.

    Level 1 measures all answers; level j measures `projections[j-1]` (whole numbers) times the answers, by shaped
    noise for the projected generators. Of every level only the directions count that no later level measures.
    Promise: the losses of the levels add, exactly as many as there are: the printed epsilon·log(d) undercounts
    (QR:D5). Everything after the integer measurements is post-processing, so the output may be floats.

    Input: the integer answers. Output: float64 answers, unbiased. Spec: QR-NIKM.

    >>> from sfumato import ADD_REMOVE, Pure
    >>> from sfumato.papers.query_release.geometry import shaped
    >>> made = shaped([[9, 9, 9, 8], [9, 9, 8, 9]], Pure(1), method="recursive", relation=ADD_REMOVE)
    >>> len(made.levels), made.loss().person.epsilon <= 1, made(np.array([90, 88]), Noise(insecure_seed=1)).shape
    (2, True, (2,))
    """

    spec: ClassVar[str] = "QR-NIKM"

    levels: tuple[ShapedNoise, ...]
    projections: tuple[Vectors, ...]

    def __post_init__(self) -> None:
        if not self.levels or len(self.projections) != len(self.levels) - 1:
            raise ParameterError("A recursive mechanism has one projection fewer than levels.")

    def loss(self) -> Loss:
        """Return the sum over the levels."""
        total = self.levels[0].loss()
        for level in self.levels[1:]:
            total = total + level.loss()
        return total

    def run(self, exact: Any, noise: Noise) -> Any:
        """Measure level by level and keep of each what the next one does not measure."""
        given = np.asarray(exact)
        total = np.zeros(self.levels[0].lattice.dimension)
        for level, keep in zip(self.levels, self._keep, strict=True):
            measured = given if level is self.levels[0] else self._project(level, given)
            total = total + keep @ np.asarray(level.run(measured, noise), dtype=np.float64)
        return total

    def simulate(self, count: int = 2000) -> Floats:
        """Return noise vectors drawn by a public seed, to predict errors; never part of an answer."""
        parts = [level.simulate(count) @ keep.T for level, keep in zip(self.levels, self._keep, strict=True)]
        # One public seed for all levels would repeat the same noise; turned orders are as good as independent.
        turned = [np.roll(part, 7 * place + place**2, axis=0) for place, part in enumerate(parts)]
        return np.asarray(np.sum(turned, axis=0), dtype=np.float64)

    def predict(self, count: int = 2000) -> Predicted:
        """Return the error to expect: independent noise of all levels."""
        return predicted(self.simulate(count))

    def _project(self, level: ShapedNoise, exact: NDArray[Any]) -> NDArray[Any]:
        rows = self.projections[self.levels.index(level) - 1]
        measured = np.empty(len(rows), dtype=object)
        # Python ints: a projection of large answers must not wrap around.
        values = [value if type(value) is int else 0 for value in exact.tolist()]
        measured[:] = [sum(weight * value for weight, value in zip(row, values, strict=True)) for row in rows]
        return measured

    @cached_property
    def _keep(self) -> tuple[Floats, ...]:
        """For each level the map from its measurements to the part of the answers that it decides."""
        dimension = self.levels[0].lattice.dimension
        maps: list[Floats] = [np.eye(dimension), *(np.array(rows, dtype=np.float64) for rows in self.projections)]
        inverses = [np.linalg.pinv(matrix) for matrix in maps]
        onto = [inverse @ matrix for inverse, matrix in zip(inverses, maps, strict=True)]
        onto.append(np.zeros((dimension, dimension)))
        return tuple((onto[place] - onto[place + 1]) @ inverses[place] for place in range(len(maps)))


def rounded_frame(frame: Floats) -> Vectors:
    """Return the directions, in columns, as rows of whole numbers."""
    return tuple(map(tuple, np.rint(FINENESS * frame.T).astype(np.int64).tolist()))


def halves(rank: int) -> list[int]:
    """Return the dimensions of the levels when each keeps half: floor(log2 rank) + 1 of them.

    >>> halves(6), len(halves(64))
    ([6, 3, 1], 7)
    """
    return [rank] if rank == 1 else [rank, *halves(rank // 2)]


def best_path(costs: dict[tuple[int, int], float], rank: int) -> list[int]:
    """Return the dimensions whose cube roots of level costs add up to least, by dynamic programming."""
    least: dict[int, tuple[float, list[int]]] = {0: (0.0, [])}
    for size in range(1, rank + 1):
        options = ((math.cbrt(costs[size, rest]) + least[rest][0], rest) for rest in range(size))
        total, rest = min(options)
        least[size] = (total, [size, *least[rest][1]])
    return least[rank][1]


def allocate(epsilon: Fraction, costs: Sequence[float], allocation: str) -> list[Fraction]:
    """Return the epsilon of each level: equal, or in proportion to the cube root of its cost.

    >>> allocate(Fraction(1), [8.0, 1.0], "equal")
    [Fraction(1, 2), Fraction(1, 2)]
    """
    if allocation not in ("equal", "optimal"):
        raise ParameterError(f"allocation must be 'equal' or 'optimal', not {allocation!r}.")
    if allocation == "equal":
        return [epsilon / len(costs)] * len(costs)
    roots = [max(math.cbrt(cost), 1e-9) for cost in costs]
    parts = [max(1, math.floor(_BUDGET_STEPS * root / sum(roots))) for root in roots]
    return [epsilon * Fraction(part, sum(parts)) for part in parts]
