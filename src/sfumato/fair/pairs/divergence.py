"""How differently two people are treated, rounded so that no difference is understated."""

from __future__ import annotations

import numpy as np

from sfumato.errors import ParameterError
from sfumato.fair.grid import Floats

DISTANCES = ("tv", "inf")
ULP = 2.0**-52


def check_distance(distance: str) -> str:
    """Return the name of a divergence, refusing others."""
    if distance not in DISTANCES:
        raise ParameterError(
            f'distance must be "tv" (total variation) or "inf" (the largest log ratio), and {distance!r} is neither.'
        )
    return distance


def rounding_factor(distance: str, outcomes: int, exact: bool) -> float:
    """Return what a computed divergence is multiplied by so that it is at least the true one.

    Differences of floats err by half a unit in the last place and sums of m terms by m halves, all relative, so zero
    stays zero. On the grid total variation has no error at all.
    """
    if distance == "tv":
        return 1.0 if exact else 1.0 + (outcomes + 4) * ULP
    return 1.0 + 16 * ULP


def divergence_block(first: Floats, second: Floats, distance: str) -> Floats:
    """Return the divergences of all rows of `first` from all rows of `second`, before rounding outward.

    >>> divergence_block(np.array([[0.5, 0.5]]), np.array([[0.5, 0.5], [1.0, 0.0]]), "tv")
    array([[0. , 0.5]])
    """
    if distance == "tv":
        return _total_variation(first, second)
    out = np.zeros((len(first), len(second)))
    for outcome in range(first.shape[1]):
        np.maximum(out, _log_ratio(first[:, outcome, None], second[None, :, outcome]), out=out)
    return out


def divergence_pairs(first: Floats, second: Floats, distance: str) -> Floats:
    """Return the divergences of the pairs of rows (first[i], second[i]), before rounding outward."""
    if distance == "tv":
        return np.asarray(np.abs(first - second).sum(axis=1) / 2)
    return np.asarray(_log_ratio(first, second).max(axis=1))


def _total_variation(first: Floats, second: Floats) -> Floats:
    if first.shape[1] == 2:
        # Two outcomes differ by the same amount; one subtraction is enough.
        out = np.subtract.outer(first[:, 1], second[:, 1])
        return np.abs(out, out=out)
    out = np.zeros((len(first), len(second)))
    for outcome in range(first.shape[1]):
        part = np.subtract.outer(first[:, outcome], second[:, outcome])
        out += np.abs(part, out=part)
    out /= 2
    return out


def _log_ratio(first: Floats, second: Floats) -> Floats:
    """Return |ln(first / second)| with a small relative error even where the two nearly agree; 0 against 0 is 0."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(high == low, 0.0, (high - low) / low)
    return np.log1p(ratio)
