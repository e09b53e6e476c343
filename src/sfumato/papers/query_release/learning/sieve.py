"""Boosted parities: a learner of thresholds of parities from random examples alone (RL-SIEVE)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.exact import positive_integer
from sfumato.exact.transform import walsh_hadamard

MOST_COLUMNS = 20


class HarmonicSieve:
    """A classifier by smooth boosting, each weak hypothesis the parity that agrees best; `fit` and `predict`.

    All 2^columns parities are compared at once by a Walsh-Hadamard transform, so nothing need be asked beyond the
    examples. `edge` is the advantage that weak hypotheses are expected to have, `error` the share of examples that may
    stay wrong. For up to 20 columns; a demonstration: the synopsis "parities" answers parities better.
    """

    def __init__(self, edge: float = 0.1, error: float = 0.02, rounds: int = 500) -> None:
        if not 0 < edge < 1 or not 0 < error < 1:
            raise ParameterError("edge and error lie between 0 and 1; write for example edge=0.1, error=0.02.")
        self.edge, self.error, self.rounds = float(edge), float(error), positive_integer(rounds, "rounds")

    def fit(self, X: Any, y: Any) -> HarmonicSieve:  # noqa: N803
        """Learn from queries of zeros and ones and labels 0 or 1."""
        bits = (np.asarray(X) != 0).astype(np.int64)
        size = bits.shape[1]
        if size > MOST_COLUMNS:
            raise DomainTooLarge(
                f"The sieve lists 2^{size} parities; choose at most {MOST_COLUMNS} columns, or ask for the synopsis "
                "'parities', which lists none.",
                method="parities",
            )
        self.columns_ = size
        places = bits @ (1 << np.arange(size))
        signs = 2.0 * np.asarray(y, dtype=np.float64) - 1.0
        margin, weights = np.zeros(len(bits)), np.ones(len(bits))
        slack = self.edge / (2 + self.edge)
        self.parities_: list[tuple[int, int]] = []
        for _ in range(self.rounds):
            signed = np.bincount(places, weights=weights * signs, minlength=1 << size).astype(np.float64)
            agreement = walsh_hadamard(signed)
            best = int(np.argmax(np.abs(agreement)))
            direction = 1 if agreement[best] >= 0 else -1
            self.parities_.append((best, direction))
            margin += signs * direction * _signs(places & best) - slack
            weights = np.minimum(1.0, (1 - self.edge) ** (margin / 2))
            if weights.mean() < self.error:
                break
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:  # noqa: N803
        """Return 1 where most parities that were found say so."""
        places = (np.asarray(X) != 0).astype(np.int64) @ (1 << np.arange(self.columns_))
        votes = np.zeros(len(places))
        for parity, direction in self.parities_:
            votes += direction * _signs(places & parity)
        return (votes >= 0).astype(np.int64)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the classes as probabilities of 0 and 1."""
        found = self.predict(X).astype(np.float64)
        return np.stack((1 - found, found), axis=1)


def _signs(bits: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (-1) to the number of ones."""
    return np.asarray(1.0 - 2.0 * (np.bitwise_count(bits) & 1), dtype=np.float64)
