"""What no pure mechanism can beat on a workload: the volume bound and its projections (LB-VOL, LB-VOLPROJ)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bounds.floors import positive
from sfumato.errors import ParameterError
from sfumato.exact import Number

Floats = NDArray[np.float64]

LARGEST_RANK = 7
LARGEST_PART = 6
MOST_SUBSETS = 60
_ROUNDING = 1e-6


@dataclass(frozen=True)
class VolumeFloor:
    """A floor on the mean length of the error: `value` for every mechanism, `smooth` if people come in fractions.

    `smooth` holds where histograms are real-valued and the log-density is Lipschitz in them, as with additive noise;
    `value` for tables of whole people, of whom there are a few times rank/epsilon at least. Both hold at the worst
    table. Where epsilon is large, answers about whole people can be rounded and `value` is 0: nothing is known.
    """

    value: float
    smooth: float
    binding: str


def volume_floor(generators: Any, epsilon: Number) -> VolumeFloor:
    """Return the least mean length of the error of any epsilon-private mechanism for a workload.

    `generators` are the vectors by which one person moves the answers, one a row: columns of the workload under
    add-remove, differences of columns under replace-one. With K their hull and vr(K) the radius of the ball of the
    same volume, the error is at least d/(d+1)·(d!)^(1/d)·vr(K)/epsilon where people come in fractions, and for whole
    people e^(-epsilon^2/8) times that, less sqrt(d)/2 times the longest generator (LB-VOL); the same holds for every
    projection of K (LB-VOLPROJ), and the best one is taken.

    >>> volume_floor([[1]], 1).smooth, volume_floor([[1, 0], [0, 1]], "1/10").binding
    (0.5, '2 of 2 directions')
    """
    vectors = np.atleast_2d(np.asarray(generators, dtype=np.float64))
    rate = positive(epsilon, "epsilon")
    if vectors.ndim != 2 or not np.isfinite(vectors).all() or not vectors.any():
        raise ParameterError(
            "generators must be rows of finite numbers, not all zero; write for example [[1, 0], [0, 1]]."
        )
    floors = [
        _floor(vectors @ frame, rate, f"{frame.shape[1]} of {_rank(vectors)} directions") for frame in _frames(vectors)
    ]
    return max(floors, key=lambda floor: (floor.value, floor.smooth))


def volume_radius(vectors: Floats) -> float:
    """Return the radius of the ball that has the volume of conv{±vectors}, rounded down a little."""
    rank = vectors.shape[1]
    if rank == 1:
        return float(np.abs(vectors).max())
    from scipy.spatial import ConvexHull

    both = np.concatenate([vectors, -vectors])
    volume = ConvexHull(both, qhull_options="QJ").volume
    ball = math.pi ** (rank / 2) / math.gamma(rank / 2 + 1)
    return float((volume / ball) ** (1 / rank) * (1 - _ROUNDING))


def _floor(vectors: Floats, rate: float, binding: str) -> VolumeFloor:
    rank = vectors.shape[1]
    smooth = rank / (rank + 1) * math.factorial(rank) ** (1 / rank) * volume_radius(vectors) / rate
    # Of whole people a table is found only near a point: weights are rounded by lot, up or down (LB-VOL).
    rounded = math.sqrt(rank) / 2 * float(np.linalg.norm(vectors, axis=1).max()) * (1 + _ROUNDING)
    return VolumeFloor(max(smooth * math.exp(-(rate**2) / 8) - rounded, 0.0), smooth, binding)


def _rank(vectors: Floats) -> int:
    return int(np.linalg.matrix_rank(vectors))


def _frames(vectors: Floats) -> Iterator[Floats]:
    """Yield projections, as orthonormal columns: the longest directions, and some coordinates."""
    _, sizes, turns = np.linalg.svd(vectors, full_matrices=False)
    axes = turns[sizes > 1e-9 * sizes[0]].T
    most = axes.shape[1] if axes.shape[1] <= LARGEST_RANK else LARGEST_PART
    for size in range(1, most + 1):
        yield axes[:, :size]
    longest = vectors[(vectors**2).sum(axis=1).argmax()]
    yield (longest / np.linalg.norm(longest))[:, None]
    dimension = vectors.shape[1]
    chosen = (part for size in (1, 2, 3) for part in combinations(range(dimension), size) if size < dimension)
    for _, part in zip(range(MOST_SUBSETS), chosen, strict=False):
        frame = np.eye(dimension)[:, part]
        if _rank(vectors @ frame) == len(part):
            yield frame
