"""How differently two groups are treated (FA-PARITY)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.fair.grid import Floats, check_probabilities
from sfumato.fair.mapping.problem import group_share
from sfumato.noise import Noise

RESAMPLES = 500


@dataclass(frozen=True)
class ParityGap:
    """The total variation between the outcome distributions of two groups.

    `outcomes` is the set of outcomes that the first group gets more often. `ratios` compares each outcome's rate in
    the first group with that in the second; posterior odds move by these ratios. A small gap bounds no posterior: an
    outcome that only one group ever gets betrays the group whatever the gap.
    """

    value: float
    outcomes: tuple[int, ...]
    ratios: tuple[float, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]
    interval: tuple[float, float]


def parity_gap(
    probabilities: object, first: object, second: object, *, confidence: float = 0.95, insecure_seed: int = 0
) -> ParityGap:
    """Return the parity gap of two groups (masks or indices), with a bootstrap interval over their members.

    The interval is the gap and, on both sides, what `confidence` of the bootstrap samples stay within of the groups as
    they are, never below 0: by the triangle inequality two gaps differ by no more than that, so it covers at least as
    often, and it begins at 0 where no difference is shown.

    >>> gap = parity_gap([0.2, 0.4, 0.9, 0.9], [0, 1], [2, 3])
    >>> round(gap.value, 3), gap.outcomes
    (0.6, (0,))
    """
    rows = check_probabilities(probabilities)
    one, two = group_share(first, len(rows)), group_share(second, len(rows))
    left, right = one @ rows, two @ rows
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where((left == 0) & (right == 0), 1.0, left / right)
    noise = Noise(insecure_seed=insecure_seed)
    moved = _resampled(rows, one, noise) - _resampled(rows, two, noise) - (left - right)
    reach = float(np.quantile(np.abs(moved).sum(axis=1) / 2, confidence))
    value = float(np.abs(left - right).sum() / 2)
    return ParityGap(
        value,
        tuple(int(place) for place in np.flatnonzero(left > right)),
        tuple(ratios.tolist()),
        tuple(left.tolist()),
        tuple(right.tolist()),
        (max(0.0, value - reach), min(1.0, value + reach)),
    )


def _resampled(rows: Floats, share: Floats, noise: Noise) -> Floats:
    """Return the mean rows of bootstrap samples of a group; large groups by the normal limit of the same."""
    members = rows[share > 0]
    count = len(members)
    if count * RESAMPLES > 5_000_000:
        scale = np.linalg.cholesky(np.cov(members.T) / count + 1e-18 * np.eye(rows.shape[1]))
        return np.asarray(members.mean(axis=0) + _normal(noise, RESAMPLES, rows.shape[1]) @ scale.T)
    picks = noise.uniform(count, count * RESAMPLES).reshape(RESAMPLES, count)
    return np.asarray(members[picks].mean(axis=1))


def _normal(noise: Noise, rows: int, columns: int) -> Floats:
    from scipy.special import ndtri

    return np.asarray(ndtri((noise.uniform(1 << 53, rows * columns).reshape(rows, columns) + 0.5) / 2.0**53))
