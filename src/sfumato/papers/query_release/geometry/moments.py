"""Volumes and second moments of hulls, in floats: for predictions and choices, never for a promise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotProvable
from sfumato.papers.query_release.geometry.hull import MOST_POINTS, MOST_RANK

Floats = NDArray[np.float64]


def hull_moments(vectors: Floats) -> tuple[float, Floats]:
    """Return volume and covariance of conv{±vectors}, by the simplices between the origin and the facets.

    >>> volume, covariance = hull_moments(np.eye(2))
    >>> round(volume, 9), round(float(covariance[0, 0]), 9)
    (2.0, 0.166666667)
    """
    rank = vectors.shape[1]
    both = np.concatenate([vectors, -vectors])
    if rank == 1:
        reach = float(np.abs(both).max())
        return 2 * reach, np.array([[reach**2 / 3]])
    if len(both) > MOST_POINTS or rank > MOST_RANK:
        raise NotProvable(
            f"The hull of {len(both)} points in {rank} directions has too many facets to be listed.",
            {"points": len(both), "rank": rank},
        )
    from scipy.spatial import ConvexHull

    spread = np.linalg.cholesky(both.T @ both / len(both))
    rounded = np.linalg.solve(spread, both.T).T
    corners = rounded[ConvexHull(rounded, qhull_options="QJ").simplices]
    sizes = np.abs(np.linalg.det(corners))
    sums = corners.sum(axis=1)
    products = np.einsum("ski,skj->sij", corners, corners) + np.einsum("si,sj->sij", sums, sums)
    covariance = np.einsum("s,sij->ij", sizes, products) / (sizes.sum() * (rank + 1) * (rank + 2))
    volume = sizes.sum() / float(np.prod(np.arange(1, rank + 1))) * float(np.prod(np.diag(spread)))
    return float(volume), np.asarray(spread @ covariance @ spread.T)


def span_frame(vectors: Floats) -> Floats:
    """Return orthonormal directions, in columns, of the span of the vectors, the longest first."""
    _, sizes, turns = np.linalg.svd(vectors, full_matrices=False)
    return np.asarray(turns[sizes > 1e-9 * sizes[0]].T)


def principal_frame(vectors: Floats) -> Floats:
    """Return the principal directions of conv{±vectors}, in columns, the longest first."""
    frame = span_frame(vectors)
    _, covariance = hull_moments(vectors @ frame)
    _, turns = np.linalg.eigh(covariance)
    return np.asarray(frame @ turns[:, ::-1])


def level_costs(vectors: Floats, frame: Floats) -> dict[tuple[int, int], float]:
    """Return (k+1)(k+2)·(variance along directions rest … k) of the hull projected onto k directions (QR-NIKM)."""
    costs = {}
    for size in range(1, frame.shape[1] + 1):
        _, covariance = hull_moments(vectors @ frame[:, :size])
        variances = np.diag(covariance)
        for rest in range(size):
            costs[size, rest] = (size + 1) * (size + 2) * float(variances[rest:].sum())
    return costs
