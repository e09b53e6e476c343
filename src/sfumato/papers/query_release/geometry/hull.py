"""The boundary of a body cut into simplices: found in floats, proved in integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotProvable
from sfumato.papers.query_release.geometry.generators import Vectors

MOST_POINTS = 60_000
MOST_RANK = 7
SAFE = 2**62
"""Integers stay below this, so that int64 arithmetic is exact."""
_JOGGLES = (1e-6, 1e-8, 1e-4)


@dataclass(frozen=True)
class Facets:
    """Simplicial cones that fill space once, over lattice points on the boundary of the body.

    `corners[j]` holds the r corners of simplex j as rows, `adjugates[j]` the whole matrix with
    corners[j].T @ adjugates[j] = volumes[j] · 1. On the cone of j the norm of v is heights[j] · v / volumes[j].
    """

    corners: NDArray[np.int64]
    adjugates: NDArray[np.int64]
    volumes: NDArray[np.int64]

    @property
    def heights(self) -> NDArray[np.int64]:
        """The normals of the facets, times the volumes."""
        summed: NDArray[np.int64] = self.adjugates.sum(axis=1)
        return summed


def prove_facets(points: Vectors) -> Facets:
    """Return the boundary of conv{±points} as simplices, all checks made in exact integers.

    Floats propose: every point is moved along its own ray by a tiny public amount, so that the hull is simplicial;
    rays stay where they are, so the simplices are those of a complete fan. Integers decide: every point lies below
    every facet, every ridge has two simplices on opposite sides, and one generic ray lies in exactly one cone. Then
    the cones cover space once, and the norm is linear on each.
    """
    listed = np.array(points, dtype=object)
    rank = listed.shape[1]
    both = np.concatenate([listed, -listed])
    if rank > MOST_RANK or len(both) > MOST_POINTS or np.abs(both).max() >= 2**40:
        raise NotProvable(
            f"The body has rank {rank} and {len(both)} points, and facets are listed up to rank {MOST_RANK} and "
            f"{MOST_POINTS} points only; take an ellipsoid, a box or scaled Laplace noise.",
            {"rank": rank, "points": len(both)},
        )
    whole = both.astype(np.int64)
    for joggle in _JOGGLES:
        simplices = _propose(whole.astype(np.float64), joggle)
        found = None if simplices is None else _proved(whole, simplices)
        if found is not None:
            return found
    raise NotProvable(
        "The facets of this body could not be proved in 64-bit integers; take an ellipsoid, a box or scaled Laplace "
        "noise, or measure the queries in larger units.",
        {"rank": rank},
    )


def _propose(points: NDArray[np.float64], joggle: float) -> NDArray[np.int64] | None:
    """Return index sets of boundary simplices of the points, joggled along their rays."""
    from scipy.spatial import ConvexHull, QhullError

    rank = points.shape[1]
    if rank == 1:
        return np.array([[points[:, 0].argmax()], [points[:, 0].argmin()]])
    # Round coordinates: a thin body would lose its small directions to rounding.
    spread = np.linalg.cholesky(points.T @ points / len(points))
    rounded = np.linalg.solve(spread, points.T).T
    moved = rounded * (1 + joggle * public_fractions(len(points))[:, None])
    try:
        return np.asarray(ConvexHull(moved).simplices, dtype=np.int64)
    except QhullError:
        return None


def public_fractions(count: int) -> NDArray[np.float64]:
    """Return numbers of [0, 1) without pattern, the same every time, by a hash of 0, 1, 2 and so on."""
    state = (np.arange(count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((state ^ (state >> np.uint64(31))) >> np.uint64(11), dtype=np.float64) / 2.0**53


def _proved(points: NDArray[np.int64], simplices: NDArray[np.int64]) -> Facets | None:
    corners = points[simplices]
    found = _adjugates(corners)
    if found is None:
        return None
    facets = Facets(corners, *found)
    rank = points.shape[1]
    size = float(np.abs(facets.adjugates).max()) * rank**2 * float(np.abs(points).max())
    if size >= SAFE:
        return None
    outside = (facets.heights @ points.T > facets.volumes[:, None]).any()
    if outside or not _ridges_fit(points, simplices, facets) or generic_ray(facets) is None:
        return None
    return facets


def _adjugates(corners: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return whole inverse matrices times volumes, proved by multiplying out; None where floats do not find them."""
    columns = corners.transpose(0, 2, 1)
    volumes = np.rint(np.linalg.det(columns.astype(np.float64)))
    if (volumes == 0).any() or np.abs(volumes).max() >= 2**50:
        return None
    adjugates = np.rint(np.linalg.inv(columns.astype(np.float64)) * volumes[:, None, None])
    rank = corners.shape[1]
    if float(np.abs(adjugates).max()) * rank * float(np.abs(corners).max()) >= SAFE:
        return None
    signs = np.sign(volumes).astype(np.int64)
    whole, sizes = adjugates.astype(np.int64) * signs[:, None, None], np.abs(volumes).astype(np.int64)
    product = whole @ columns
    exact = (product == sizes[:, None, None] * np.eye(rank, dtype=np.int64)).all()
    return (whole, sizes) if exact else None


def _ridges_fit(points: NDArray[np.int64], simplices: NDArray[np.int64], facets: Facets) -> bool:
    """Tell whether every ridge has exactly two simplices, which lie on opposite sides of it."""
    first: dict[tuple[int, ...], tuple[int, int]] = {}
    pairs: list[tuple[int, int, int, int]] = []
    for place, simplex in enumerate(simplices.tolist()):
        for side in range(len(simplex)):
            ridge = tuple(sorted(simplex[:side] + simplex[side + 1 :]))
            known = first.pop(ridge, None)
            if known is None:
                first[ridge] = (place, side)
            else:
                pairs.append((*known, place, side))
    if first or not pairs:
        return False
    one, side, other, far = np.array(pairs).T
    across = points[simplices[other, far]]
    # The coefficient of the neighbour's own corner along the corner that it replaces.
    crossing = (facets.adjugates[one, side] * across).sum(axis=1)
    return bool((crossing < 0).all()) and 2 * len(pairs) == simplices.size


def generic_ray(facets: Facets) -> NDArray[np.int64] | None:
    """Return the signs, cone by cone, of the coordinates of one ray that no cone has on its boundary.

    None if no such ray was found, or if it does not lie in exactly one cone.
    """
    rank = facets.corners.shape[1]
    for attempt in range(8):
        ray = np.rint((public_fractions(rank * (attempt + 1))[-rank:] - 0.5) * 2**20).astype(np.int64)
        if float(np.abs(facets.adjugates).max()) * rank * 2**20 >= SAFE:
            return None
        coordinates = facets.adjugates @ ray
        if (coordinates == 0).any():
            continue
        signs = np.sign(coordinates)
        return signs if int((signs > 0).all(axis=1).sum()) == 1 else None
    return None
