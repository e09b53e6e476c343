"""Small significance tests, and control of their number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.fair.grid import Floats, Integers
from sfumato.noise import Noise

PERMUTATIONS = 2000
PERMUTED_PEOPLE = 2500


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


def permutation_difference(values: Floats, inside: NDArray[np.bool_], noise: Noise) -> float:
    """Return the two-sided p-value of a difference of group means when the groups are shuffled.

    Up to 2,500 people by 2,000 shuffles; beyond that by the permutation distribution's own mean and variance, which it
    approaches.
    """
    count, members = len(values), int(inside.sum())
    observed = abs(float(values[inside].mean() - values[~inside].mean()))
    spread = float(values.var(ddof=1)) if count > 1 else 0.0
    if count > PERMUTED_PEOPLE:
        error = np.sqrt(spread * (1 / members + 1 / (count - members)))
        return min(1.0, 2 * above(observed, 0.0, float(error)))
    order = np.argsort(noise.uniform(1 << 62, PERMUTATIONS * count).reshape(PERMUTATIONS, count), axis=1)
    chosen = values[order[:, :members]].sum(axis=1)
    shuffled = np.abs(chosen / members - (values.sum() - chosen) / (count - members))
    return float((1 + (shuffled >= observed - 1e-12).sum()) / (1 + PERMUTATIONS))


def permutation_slope(x: Floats, y: Floats, weights: Floats, noise: Noise) -> tuple[float, float]:
    """Return the weighted slope of y on x and its two-sided permutation p-value."""

    def slope(moved: Floats) -> Floats:
        centred = moved - (moved * weights).sum(axis=-1, keepdims=True) / weights.sum()
        scale = (weights * centred**2).sum(axis=-1)
        return np.asarray((weights * centred * y).sum(axis=-1) / np.where(scale > 0, scale, 1.0))

    observed = float(slope(x[None, :])[0])
    order = np.argsort(noise.uniform(1 << 62, PERMUTATIONS * len(x)).reshape(PERMUTATIONS, len(x)), axis=1)
    shuffled = slope(x[order])
    return observed, float((1 + (np.abs(shuffled) >= abs(observed) - 1e-12).sum()) / (1 + PERMUTATIONS))


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
    """Return how well scores tell the groups apart (0.5 is not at all), and the standard error at 0.5.

    >>> area_under_curve(np.array([0.1, 0.9]), np.array([False, True]))[0]
    1.0
    """
    from scipy.stats import rankdata

    ranks: Integers = rankdata(scores)
    members, others = int(inside.sum()), int((~inside).sum())
    area = (ranks[inside].sum() - members * (members + 1) / 2) / (members * others)
    return float(area), float(np.sqrt((members + others + 1) / (12 * members * others)))


def cross_fitted(features: Floats, target: Floats) -> Floats:
    """Return linear predictions of a target, each half predicted by a fit on the other half."""
    design = np.hstack([features, np.ones((len(features), 1))])
    half = np.arange(len(features)) % 2 == 0
    out = np.empty(len(features))
    for here in (half, ~half):
        gram = design[~here].T @ design[~here] + 1e-6 * len(features) * np.eye(design.shape[1])
        out[here] = design[here] @ np.linalg.solve(gram, design[~here].T @ target[~here])
    return out
