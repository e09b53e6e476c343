"""Is it a metric, and what is the largest metric below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError
from sfumato.fair.grid import Floats

if TYPE_CHECKING:
    from sfumato.fair.metric.base import Metric

EXACT_TRIANGLES = 800
SAMPLED_TRIANGLES = 1_000_000
SYMMETRY_TOLERANCE = 1e-9
LARGE = 1e300


@dataclass(frozen=True)
class MetricReport:
    """What a check of a metric found.

    `excess` is how far the worst triangle inequality fails (0 if none does) and `triple` the people of that triangle,
    the long side between the first and the last. `coverage` says whether all triangles were looked at. `below_one` is
    the share of pairs closer than 1: if it is near 0 the metric constrains nothing, if it is 1 it lets nobody be
    treated as very different.
    """

    people: int
    excess: float
    triple: tuple[int, int, int]
    coverage: str
    below_one: float

    @property
    def ok(self) -> bool:
        """Return whether no violation was found."""
        return self.excess <= 0.0

    def __str__(self) -> str:
        verdict = "no triangle fails" if self.ok else f"triangle {self.triple} fails by {self.excess:.3g}"
        return f"{self.people} people, {verdict} ({self.coverage}); {self.below_one:.0%} of the pairs are closer than 1"


def check_shape(distances: object) -> Floats:
    """Return a matrix of distances, refusing what is not square, symmetric, non-negative and zero on its diagonal."""
    matrix = np.asarray(distances, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise ParameterError("A matrix of distances must be square, with one row and one column a person.")
    if np.isnan(matrix).any():
        raise ParameterError("A distance is NaN; write infinity for people who are not to be compared.")
    if matrix.min() < 0:
        x, y = np.unravel_index(int(matrix.argmin()), matrix.shape)
        raise ParameterError(
            f"Distances must not be negative, and that from person {x} to person {y} is {matrix[x, y]:.6g}."
        )
    if np.diagonal(matrix).max() > 0:
        person = int(np.diagonal(matrix).argmax())
        raise ParameterError(
            f"Everybody is at distance 0 from themselves; person {person} is not. Set the diagonal to 0."
        )
    finite = np.minimum(matrix, LARGE)
    gap = np.abs(finite - finite.T)
    if gap.max() > SYMMETRY_TOLERANCE:
        x, y = np.unravel_index(int(gap.argmax()), gap.shape)
        raise ParameterError(
            f"Distances must be symmetric: from person {x} to person {y} it is {matrix[x, y]:.6g}, and back "
            f"{matrix[y, x]:.6g}. Write for example numpy.minimum(d, d.T)."
        )
    return np.minimum(matrix, matrix.T)


def triangle_excess(matrix: Floats) -> tuple[float, tuple[int, int, int]]:
    """Return the largest d(x, z) - d(x, y) - d(y, z) and the triple (x, y, z), over all triangles."""
    worst, triple = 0.0, (0, 0, 0)
    finite = np.minimum(matrix, LARGE)
    for middle in range(len(matrix)):
        excess = finite - finite[:, middle, None] - finite[None, middle, :]
        place = int(excess.argmax())
        if excess.flat[place] > worst:
            worst = float(excess.flat[place])
            triple = (place // len(matrix), middle, place % len(matrix))
    return worst, triple


def metric_closure(matrix: Floats) -> Floats:
    """Return the largest metric below the distances: the lengths of shortest paths.

    >>> metric_closure(np.array([[0, 5, 1], [5, 0, 1], [1, 1, 0.0]]))
    array([[0., 2., 1.],
           [2., 0., 1.],
           [1., 1., 0.]])
    """
    closed = np.array(matrix, dtype=np.float64)
    for middle in range(len(closed)):
        np.minimum(closed, closed[:, middle, None] + closed[None, middle, :], out=closed)
    return closed


def validate(metric: Metric, insecure_seed: int = 0) -> MetricReport:
    """Check the triangle inequality, on all triangles of up to 800 people and on a million random ones beyond."""
    people = metric.size
    if people <= EXACT_TRIANGLES:
        matrix = metric.block()
        excess, triple = triangle_excess(matrix)
        below = float((matrix[np.triu_indices(people, 1)] < 1).mean()) if people > 1 else 0.0
        return MetricReport(people, excess, triple, "all triangles", below)
    from sfumato.noise import Noise

    draws = Noise(insecure_seed=insecure_seed).uniform(people, 3 * SAMPLED_TRIANGLES).reshape(3, -1)
    side = [metric.between(draws[a], draws[b]) for a, b in ((0, 2), (0, 1), (1, 2))]
    with np.errstate(invalid="ignore"):
        excess_of = np.nan_to_num(side[0] - side[1] - side[2], nan=-1.0)
    place = int(excess_of.argmax())
    worst = max(0.0, float(excess_of[place]))
    first, middle, last = (int(value) for value in draws[:, place])
    coverage = f"{SAMPLED_TRIANGLES} random triangles"
    return MetricReport(people, worst, (first, middle, last), coverage, float((side[0] < 1).mean()))
