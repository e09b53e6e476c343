"""The learner that is used where none is given: ridge regression on low-degree monomials of a query."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.exact import positive_integer

PENALTIES = np.logspace(-4, 5, 37)
"""Penalties that are tried; leave-one-out errors choose among them."""


class PolynomialRidge:
    """Ridge regression on all monomials up to a degree, by the kernel (1 + ⟨x, x'⟩)^degree, with `fit` and `predict`.

    The penalty is the one with the least leave-one-out error, which one decomposition gives for all of them; its mean
    square is `missed_`.
    """

    def __init__(self, degree: int = 2) -> None:
        self.degree = positive_integer(degree, "degree")

    def fit(self, X: Any, y: Any) -> PolynomialRidge:  # noqa: N803
        """Learn from queries and their noisy shares."""
        self.seen_ = np.asarray(X, dtype=np.float64)
        shares = np.asarray(y, dtype=np.float64)
        self.middle_ = float(shares.mean())
        values, vectors = np.linalg.eigh(self._kernel(self.seen_))
        values = np.maximum(values, 0.0)
        turned = vectors.T @ (shares - self.middle_)
        best = np.inf
        for penalty in PENALTIES:
            kept = 1 / (values + penalty)
            weights = vectors @ (kept * turned)
            # The residual without the row itself: weight over the diagonal of the inverse.
            missed = weights / np.einsum("ij,j,ij->i", vectors, kept, vectors)
            error = float(np.mean(missed**2))
            if error < best:
                best, self.weights_ = error, weights
        self.missed_ = best
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return a share for every query."""
        asked = np.asarray(X, dtype=np.float64)
        found = np.empty(len(asked))
        for start in range(0, len(asked), 1 << 14):
            part = asked[start : start + (1 << 14)]
            found[start : start + (1 << 14)] = self._kernel(part) @ self.weights_
        return found + self.middle_

    def _kernel(self, queries: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(
            (1 + queries @ self.seen_.T / max(1.0, float((self.seen_**2).sum(axis=1).mean()))) ** self.degree
        )
