"""The body of the generators themselves: its noise drawn cone by cone, without rejection."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotProvable
from sfumato.noise import Geometric, Noise
from sfumato.papers.query_release.geometry.bodies import Body, Points
from sfumato.papers.query_release.geometry.generators import Vectors
from sfumato.papers.query_release.geometry.hull import Facets, generic_ray, prove_facets

MOST_CELLS = 2**20
"""A fan with more cells than this is refused."""
MOST_LEVELS = 2**12
"""A draw looks at all different norms of cells; where there are more, rejection is quicker."""


@dataclass(frozen=True)
class Cells:
    """The points from which cones are tiled, sorted by their norm.

    Cell number i lies in cone `cones[i]` and is `shares[i]` · corners / volume; cells of one norm are neighbours:
    level l, of norm `levels[l]` / `unit`, ends before cell `ends[l]`.
    """

    cones: NDArray[np.int64]
    shares: NDArray[np.int64]
    levels: tuple[int, ...]
    ends: tuple[int, ...]
    unit: int


@dataclass(frozen=True)
class Fan(Body):
    """The convex hull of ±points, where the points generate all integer vectors: the body of QR-KNORM.

    Every integer vector is, in one way only, a cell of one cone plus whole non-negative multiples of the r corners
    of that cone, and on a cone the norm is linear, 1 at each corner. So the law exp(-rate·norm) is drawn exactly:
    a cell with weight exp(-rate · its norm), then r independent geometric multiples. It is the simplex method of
    the continuous mechanism, on the lattice. There are r!·volume cells.

    >>> Fan(((1, 0), (0, 1), (1, 1))).gauge(((2, 1), (1, -1)))
    Fraction(2, 1)
    """

    points: Vectors

    def __post_init__(self) -> None:
        object.__setattr__(self, "rank", len(self.points[0]))

    @cached_property
    def facets(self) -> Facets:
        """The simplices of the boundary, proved."""
        return prove_facets(self.points)

    @cached_property
    def cells(self) -> Cells:
        """All cells, listed once."""
        return _list_cells(self.facets)

    def gauge(self, points: Vectors) -> Fraction:
        """Return the largest norm of the points, over all facets."""
        heights = self.facets.heights
        listed = np.array(points, dtype=np.int64)
        best = Fraction(0)
        for volume in np.unique(self.facets.volumes).tolist():
            rows = heights[self.facets.volumes == volume]
            best = max(best, Fraction(int(np.abs(rows @ listed.T).max()), volume))
        return best

    def laws(self, rate: Fraction) -> list[Geometric]:
        """Return how many times each corner of a cone is added."""
        return [Geometric(1 / rate)]

    def draw(self, rate: Fraction, noise: Noise) -> list[int]:
        """Draw a cell, then how often each corner of its cone is added."""
        cells = self.cells
        level = noise.choose(cells.levels, -rate / cells.unit, self._lengths)
        start = cells.ends[level - 1] if level else 0
        cell = start + noise.uniform(self._lengths[level])
        cone = int(cells.cones[cell])
        volume = int(self.facets.volumes[cone])
        times = noise.draw(self.laws(rate)[0], self.rank).tolist()
        weights = [int(share) + volume * time for share, time in zip(cells.shares[cell], times, strict=True)]
        corners = self.facets.corners[cone].tolist()
        return [
            sum(weight * corner[place] for weight, corner in zip(weights, corners, strict=True)) // volume
            for place in range(self.rank)
        ]

    def simulate(self, rate: Fraction, noise: Noise, count: int) -> Points:
        """Draw many points at once, the cells by floats: for predictions."""
        cells = self.cells
        volumes = self.facets.volumes[cells.cones]
        reached = np.cumsum(np.exp(-float(rate) * cells.shares.sum(axis=1) / volumes))
        drawn = noise.uniform(2**53, count) / 2.0**53
        chosen = np.minimum(np.searchsorted(reached, drawn * reached[-1]), len(reached) - 1)
        cones = cells.cones[chosen]
        times = noise.draw(self.laws(rate)[0], count * self.rank).reshape(count, self.rank)
        weights = cells.shares[chosen] + volumes[chosen][:, None] * times
        total: Points = (weights[:, :, None] * self.facets.corners[cones]).sum(axis=1)
        points: Points = total // volumes[chosen][:, None]
        return points

    def squares(self, rate: Fraction, basis: NDArray[np.float64]) -> float:
        """Return the mean squared length of the noise after the map `basis`, by summing over all cells."""
        cells, step = self.cells, float(rate)
        ratio = math.exp(-step)
        mean, spread = ratio / (1 - ratio), ratio / (1 - ratio) ** 2
        corners = self.facets.corners[cells.cones] @ basis
        volumes = self.facets.volumes[cells.cones]
        shares = cells.shares / volumes[:, None]
        centre = ((shares + mean)[:, :, None] * corners).sum(axis=1)
        squares = (centre**2).sum(axis=1) + spread * (corners**2).sum(axis=(1, 2))
        weights = np.exp(-step * shares.sum(axis=1))
        return float((weights * squares).sum() / weights.sum())

    @cached_property
    def _lengths(self) -> tuple[int, ...]:
        return tuple(int(end - start) for start, end in zip((0, *self.cells.ends[:-1]), self.cells.ends, strict=True))


def _list_cells(facets: Facets) -> Cells:
    """List the lattice points of the half-open box over the corners of every cone.

    A point on a face that two cones share belongs to the one into which a fixed generic ray leads from it: where
    the ray's coordinate is negative, the coordinate of a cell lies in (0, 1] and not in [0, 1).
    """
    total = int(facets.volumes.sum())
    if total > MOST_CELLS or int(np.unique(facets.volumes).sum()) > MOST_LEVELS:
        raise NotProvable(
            f"The fan of this body has {total} cells, or too many different ones: at most {MOST_CELLS} cells and about "
            f"{MOST_LEVELS} different norms are listed; take method='rejection', 'ellipsoid', 'box' or "
            "'scaled-laplace', or measure the queries in larger units.",
            {"cells": total},
        )
    rays = generic_ray(facets)
    assert rays is not None
    rank = facets.corners.shape[1]
    groups = [_residues(facets.adjugates[cone], int(facets.volumes[cone])) for cone in range(len(facets.volumes))]
    cones = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    shares = np.array([residue for group in groups for residue in group], dtype=np.int64).reshape(-1, rank)
    volumes = facets.volumes[cones]
    shares = np.where((shares == 0) & (rays[cones] < 0), volumes[:, None], shares)
    unit = math.lcm(*np.unique(facets.volumes).tolist())
    sums = shares.sum(axis=1)
    norms = [int(entry) * (unit // int(volume)) for entry, volume in zip(sums, volumes, strict=True)]
    order = sorted(range(len(norms)), key=norms.__getitem__)
    sorted_norms = [norms[place] for place in order]
    ends = [i + 1 for i in range(len(order)) if i + 1 == len(order) or sorted_norms[i + 1] != sorted_norms[i]]
    levels = tuple(sorted_norms[end - 1] for end in ends)
    return Cells(cones[order], shares[order], levels, tuple(ends), unit)


def _residues(adjugate: NDArray[np.int64], volume: int) -> list[tuple[int, ...]]:
    """Return the coordinates, in units of 1/volume, of one point of each class of the lattice modulo the corners."""
    rank = len(adjugate)
    found = {(0,) * rank}
    for column in range(rank):
        step = tuple(int(entry) % volume for entry in adjugate[:, column])
        if step in found:
            continue
        fresh, multiple = set(found), step
        while multiple not in found:
            fresh |= {tuple((a + b) % volume for a, b in zip(old, multiple, strict=True)) for old in found}
            multiple = tuple((a + b) % volume for a, b in zip(multiple, step, strict=True))
        found = fresh
    if len(found) != volume:
        raise NotProvable("The cells of a cone do not add up to its volume.", {"cells": len(found), "volume": volume})
    return sorted(found)
