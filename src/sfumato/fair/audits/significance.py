"""Small significance tests, and control of their number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.fair.grid import Floats
from sfumato.noise import Noise

FLIPS = 2000


def normal_tail(z: float) -> float:
    """Return the probability that a standard normal exceeds z.

    >>> round(normal_tail(1.96), 3)
    0.025
    """
    from scipy.special import ndtr

    return float(ndtr(-z))


def above(estimate: float, allowed: float, error: float) -> float:
    """Return the one-sided p-value of an estimate above what is allowed."""
    if error <= 0:
        return 0.0 if estimate > allowed else 1.0
    return normal_tail((estimate - allowed) / error)


def beyond(estimate: float, allowed: float, error: float) -> float:
    """Return the two-sided p-value of an estimate further from zero than is allowed.

    >>> round(beyond(-1.96, 0.0, 1.0), 3)
    0.05
    """
    size = abs(estimate)
    return min(1.0, above(size, allowed, error) + (above(size, -allowed, error) if error > 0 else 0.0))


def flipped_below(scores: Floats, noise: Noise) -> float:
    """Return the one-sided p-value of a sum of independent scores below zero, when their signs are flipped.

    >>> flipped_below(-np.ones(12), Noise(insecure_seed=1)) < 0.002
    True
    """
    signs = 2.0 * noise.uniform(2, FLIPS * len(scores)).reshape(FLIPS, len(scores)) - 1.0
    return float((1 + (signs @ scores <= scores.sum() + 1e-12).sum()) / (1 + FLIPS))


def benjamini_hochberg(p_values: list[float], alpha: float) -> list[bool]:
    """Return which tests stand when the share of false ones among them is to stay below alpha.

    >>> benjamini_hochberg([0.001, 0.04, 0.2], 0.05)
    [True, False, False]
    """
    order = np.argsort(p_values, kind="stable")
    passes = np.asarray(p_values)[order] <= alpha * np.arange(1, len(p_values) + 1) / max(1, len(p_values))
    cut = int(np.flatnonzero(passes).max()) + 1 if passes.any() else 0
    stands = np.zeros(len(p_values), dtype=bool)
    stands[order[:cut]] = True
    return stands.tolist()


def area_under_curve(scores: Floats, inside: NDArray[np.bool_]) -> tuple[float, float]:
    """Return how well scores tell the groups apart (0.5 is not at all), and its standard error (Hanley and McNeil's).

    >>> area_under_curve(np.array([0.1, 0.9]), np.array([False, True]))[0]
    1.0
    """
    from scipy.stats import rankdata

    ranks: Floats = rankdata(scores)
    members, others = int(inside.sum()), int((~inside).sum())
    area = float((ranks[inside].sum() - members * (members + 1) / 2) / (members * others))
    one, two = area / (2 - area) - area**2, 2 * area**2 / (1 + area) - area**2
    spread = area * (1 - area) + (members - 1) * one + (others - 1) * two
    return area, float(np.sqrt(max(0.0, spread) / (members * others)))


def cross_fitted(features: Floats, target: Floats) -> Floats:
    """Return linear predictions of a target, each half predicted by a fit on the other half."""
    design = np.hstack([features, np.ones((len(features), 1))])
    half = np.arange(len(features)) % 2 == 0
    out = np.empty(len(features))
    for here in (half, ~half):
        gram = design[~here].T @ design[~here] + 1e-6 * len(features) * np.eye(design.shape[1])
        out[here] = design[here] @ np.linalg.solve(gram, design[~here].T @ target[~here])
    return out
