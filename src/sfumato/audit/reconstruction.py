"""Reconstruction: how much of a secret column random subset sums give away (QR-RECON)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.exact import positive_integer
from sfumato.noise import Noise

Answerer = Callable[[NDArray[np.int64], Noise], Any]
"""Takes the exact subset sums and noise, returns the noisy ones."""


@dataclass(frozen=True)
class Reconstruction:
    """What an attacker got: the mean share of secret bits recovered, its standard error, and the largest noise seen.

    `bound` is what the singular values promise the attacker: a share that is recovered for certain given the noise
    that was really added; 0 where it promises nothing.
    """

    recovered: float
    deviation: float
    bound: float
    largest: float
    people: int
    queries: int

    def within(self, epsilon: float) -> bool:
        """Tell whether the share could come from an epsilon-private answerer: e^eps/(1+e^eps), and 3 deviations."""
        return self.recovered <= math.exp(epsilon) / (1 + math.exp(epsilon)) + 3 * self.deviation


def reconstruct(
    answer: Answerer, people: int, queries: int, trials: int = 5, noise: Noise | None = None
) -> Reconstruction:
    """Attack an answerer of subset sums: secret bits, random subsets, least squares, rounding.

    To a curator: why noise is needed. Noise well below sqrt(people) on `queries` >= people random sums gives nearly
    all bits away; epsilon-private answers give at most a share e^eps/(1+e^eps). The attacker knows the subsets, the
    answers and nothing else. All secrets are made up here. Time: one least-squares problem a trial.

    >>> found = reconstruct(lambda sums, noise: sums, people=32, queries=128, noise=Noise(insecure_seed=1))
    >>> found.recovered, found.bound
    (1.0, 1.0)
    """
    size, count = positive_integer(people, "people"), positive_integer(queries, "queries")
    source = Noise() if noise is None else noise
    shares, bounds, largest = [], [], 0.0
    for _ in range(positive_integer(trials, "trials")):
        secret = source.uniform(2, size)
        subsets = source.uniform(2, count * size).reshape(count, size)
        sums = subsets @ secret
        answers = np.asarray(answer(sums, source), dtype=np.float64)
        error = answers - sums
        guess = np.linalg.lstsq(subsets.astype(np.float64), answers, rcond=None)[0]
        shares.append(float(((guess >= 0.5) == (secret == 1)).mean()))
        bounds.append(_certain(subsets, error))
        largest = max(largest, float(np.abs(error).max()))
    # Bits of one trial share their noise, so trials, not bits, are what repeats.
    spread = float(np.std(shares, ddof=1)) if len(shares) > 1 else 0.5
    deviation = max(spread / math.sqrt(len(shares)), 0.5 / math.sqrt(size * len(shares)))
    return Reconstruction(float(np.mean(shares)), deviation, float(np.mean(bounds)), largest, size, count)


def _certain(subsets: NDArray[np.int64], error: NDArray[np.float64]) -> float:
    """Return the share that is recovered for certain: a wrong bit costs the estimate at least a half."""
    least = float(np.linalg.svd(subsets.astype(np.float64), compute_uv=False)[-1])
    if subsets.shape[0] < subsets.shape[1] or least <= 1e-9:
        return 0.0
    wrong = 4 * (float(np.linalg.norm(error)) / least) ** 2
    return float(max(0.0, 1 - wrong / subsets.shape[1]))
