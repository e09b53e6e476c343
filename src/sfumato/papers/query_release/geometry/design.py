"""Good shapes, found in floats and rounded to whole numbers so that every generator stays inside."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotProvable
from sfumato.papers.query_release.geometry.bodies import Box, Diamond
from sfumato.papers.query_release.geometry.cut import Cut
from sfumato.papers.query_release.geometry.generators import Vectors
from sfumato.papers.query_release.geometry.hull import prove_facets

Floats = NDArray[np.float64]

ROUNDS = 400
UNIT = 2**22
BOX_UNIT = 2**16
LEAST_RADIUS = 0.25
_SLACK = 2.0**-20


def laplace_diamond(points: Vectors) -> Diamond:
    """Return the cross-polytope with equal radii around the points: Laplace noise."""
    most = max(sum(map(abs, point)) for point in points)
    return Diamond((Fraction(most),) * len(points[0]))


def scaled_diamond(points: Vectors, lengths: Floats | None = None) -> Diamond:
    """Return a diamond around the points whose Laplace noise has nearly the least squared error.

    Minimises the sum of (lengths_i · radius_i)² over radii with sum |g_i|/radius_i <= 1 for every generator g, by
    multiplicative weights on the generators: for fixed weights the best radii have a closed form.
    """
    sizes = np.abs(np.array(points, dtype=np.float64))
    costs = np.ones(sizes.shape[1]) if lengths is None else lengths**2
    shares = np.full(len(sizes), 1 / len(sizes))
    best, least = np.ones(sizes.shape[1]), math.inf
    for _ in range(ROUNDS):
        load = np.maximum(shares @ sizes, 1e-12 * sizes.max())
        radii = np.cbrt(load / costs)
        tightness = sizes @ (1 / radii)
        radii, squares = radii * tightness.max(), float(costs @ radii**2) * tightness.max() ** 2
        if squares < least:
            best, least = radii, squares
        shares = shares * tightness
        shares /= shares.sum()
    return _contained(best, points)


def _contained(radii: Floats, points: Vectors) -> Diamond:
    """Round radii up to short rationals, and scale them so that the gauge of the points is at most 1."""
    # A coordinate that nobody moves wants no noise at all, but its law needs some scale.
    radii = np.maximum(radii, LEAST_RADIUS)
    step = 2.0 ** math.floor(math.log2(max(radii.min(), 1e-9)) - 20)
    rounded = tuple(Fraction(math.ceil(radius / step)) * Fraction(step) for radius in radii)
    gauge = Diamond(rounded).gauge(points)
    return Diamond(rounded) if gauge <= 1 else _contained(radii * float(gauge) * (1 + _SLACK), points)


def box_around(points: Vectors) -> Box:
    """Return the smallest box around the points, or one a thousandth larger where that needs no huge numbers."""
    radii = [max(1, int(radius)) for radius in np.abs(np.array(points, dtype=object)).max(axis=0)]
    unit = math.lcm(*radii)
    if unit > BOX_UNIT:
        unit = 1024 * max(radii)
    return Box(tuple(unit // radius for radius in radii), unit)


def ellipsoid_matrix(vectors: Floats, lengths: Floats) -> Floats:
    """Return Q with v'Qv <= 1 for all vectors and a small trace of (lengths · Q^-1 · lengths').

    The least trace is reached at Q^-1 = trace(M^½)·M^½, with M a mixture of the vv' that makes the trace of the
    root largest; the mixture is found by multiplicative steps.
    """
    shown = vectors @ lengths
    left, _, _ = np.linalg.svd(shown.T @ shown)
    frame = left[:, : vectors.shape[1]]
    flat = shown @ frame
    shares = np.full(len(flat), 1 / len(flat))
    for _ in range(ROUNDS):
        values, turns = np.linalg.eigh((flat * shares[:, None]).T @ flat)
        inverse_root = (turns / np.sqrt(np.maximum(values, 1e-12 * values.max()))) @ turns.T
        pulls = ((flat @ inverse_root) * flat).sum(axis=1)
        shares = shares * pulls / pulls.max()
        shares /= shares.sum()
    to_flat = lengths @ frame
    quadratic = to_flat @ inverse_root @ to_flat.T
    return np.asarray(quadratic / ((vectors @ quadratic) * vectors).sum(axis=1).max())


def envelope_weights(vectors: Floats) -> Floats:
    """Return weights with sum weight_i·|v_i| <= 1 for all vectors, their product nearly largest.

    The diamond with these weights has nearly the least volume around the vectors, so that rejection keeps most.
    """
    sizes = np.abs(vectors)
    rank = sizes.shape[1]
    shares = np.full(len(sizes), 1 / len(sizes))
    for _ in range(ROUNDS):
        weights = 1 / (rank * np.maximum(shares @ sizes, 1e-12 * sizes.max()))
        tightness = sizes @ weights
        shares = shares * tightness / tightness.max()
        shares /= shares.sum()
    return np.asarray(weights / tightness.max())


def cut_around(points: Vectors, quadratic: Floats | None = None, normals: Floats | None = None) -> Cut:
    """Return diamond, ellipsoid and slabs around the points in whole numbers, every point proved to be inside."""
    vectors = np.array(points, dtype=np.float64)
    longest = float(np.abs(vectors).sum(axis=1).max())
    unit = max(UNIT, 1 << math.ceil(math.log2(longest) + 10))
    if unit > 2**50:
        raise NotProvable("The generators are too long for 64-bit integers.", {"longest": longest})
    inside = 1 - longest / unit - 2.0**-30
    weights = tuple(max(1, math.floor(weight * unit)) for weight in envelope_weights(vectors))
    rows: Vectors = ()
    if normals is not None:
        rows = tuple(map(tuple, np.rint(normals * (unit * inside)).astype(np.int64).tolist()))
    squares: Vectors = ()
    if quadratic is not None:
        half = np.rint((quadratic + quadratic.T) / 2 * float(unit) ** 2 * inside**2)
        squares = tuple(tuple(int(entry) for entry in row) for row in half)
    cut = Cut(weights, rows, squares, unit)
    if cut.gauge(points) > 1:
        raise NotProvable("A generator lies outside of the rounded body.", {"gauge": float(cut.gauge(points))})
    return cut


def ellipsoid_around(points: Vectors, lengths: Floats) -> Cut:
    """Return an ellipsoid around the points, cut by a diamond, whose noise has a small squared error."""
    return cut_around(points, ellipsoid_matrix(np.array(points, dtype=np.float64), lengths))


def slabs_around(points: Vectors) -> Cut:
    """Return the hull of ±points itself, up to one part in a million, by the slabs of its facets."""
    facets = prove_facets(points)
    normals = np.unique(facets.heights / facets.volumes[:, None], axis=0)
    keep = normals[np.arange(len(normals)), (normals != 0).argmax(axis=1)] > 0
    return cut_around(points, normals=normals[keep])
