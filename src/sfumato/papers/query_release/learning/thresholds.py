"""Polynomial threshold functions by linear programming: a learner of thresholds of counting queries (RL-PTF)."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DomainTooLarge
from sfumato.exact import Number, between_zero_and_one, positive_integer

MOST_MONOMIALS = 5000
LEAN = 1e-6
"""How much a unit of coefficient costs beside a unit of error: just enough to leave useless ones out."""


class PolynomialThreshold:
    """A classifier 1[A(q) >= 0] with a polynomial A of a degree, found by one linear program; `fit` and `predict`.

    Thresholds of conjunctions of width w are such functions for a degree of about √(w·log n): give it to
    `Labelled.fit(learner, method="threshold")`. Time: a sparse linear program with a column for each monomial.
    """

    def __init__(self, degree: int = 2) -> None:
        self.degree = positive_integer(degree, "degree")

    def fit(self, X: Any, y: Any) -> PolynomialThreshold:  # noqa: N803
        """Find the polynomial with the least sum of errors on queries and labels 0 or 1."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, eye_array, hstack

        queries = np.asarray(X, dtype=np.float64)
        signs = 2.0 * np.asarray(y, dtype=np.float64) - 1.0
        self.sets_ = monomial_sets(queries.shape[1], self.degree)
        signed = csr_array(signs[:, None] * monomials(queries, self.sets_))
        count, size = len(queries), len(self.sets_)
        costs = np.concatenate((np.full(2 * size, LEAN), np.ones(count)))
        held = hstack([-signed, signed, -eye_array(count)], format="csr")
        solved = linprog(costs, A_ub=held, b_ub=-np.ones(count), bounds=(0, None), method="highs")
        self.coefficients_ = solved.x[:size] - solved.x[size : 2 * size]
        self.hinge_ = float(solved.x[2 * size :].sum())
        return self

    def decide(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the value of the polynomial for every query."""
        return np.asarray(monomials(np.asarray(X, dtype=np.float64), self.sets_) @ self.coefficients_)

    def predict(self, X: Any) -> NDArray[np.int64]:  # noqa: N803
        """Return 1 where the polynomial is zero or more."""
        return (self.decide(X) >= 0).astype(np.int64)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the classes as probabilities of 0 and 1."""
        found = self.predict(X).astype(np.float64)
        return np.stack((1 - found, found), axis=1)


def monomial_sets(size: int, degree: int) -> list[tuple[int, ...]]:
    """Return all sets of up to `degree` out of `size` variables, refusing more than a linear program takes."""
    count = sum(math.comb(size, width) for width in range(min(degree, size) + 1))
    if count > MOST_MONOMIALS:
        fits = max(
            width
            for width in range(size + 1)
            if sum(math.comb(size, one) for one in range(width + 1)) <= MOST_MONOMIALS
        )
        raise DomainTooLarge(
            f"There are {count} monomials of degree {degree} in {size} columns, more than {MOST_MONOMIALS}; write "
            f"degree={fits}, or choose fewer columns.",
            method=f"degree={fits}",
        )
    return [one for width in range(min(degree, size) + 1) for one in combinations(range(size), width)]


def monomials(queries: NDArray[np.float64], sets: list[tuple[int, ...]]) -> NDArray[np.float64]:
    """Return the product of the variables of each set, one row for each query."""
    return np.stack([np.prod(queries[:, list(one)], axis=1) for one in sets], axis=1)


def needed_queries(size: int, degree: int, bad_fraction: Number, failure: Number) -> int:
    """Return how many labelled queries learn a polynomial threshold function, all but so many queries right (PAC).

    >>> needed_queries(10, 2, 0.1, 0.05)
    31674
    """
    bad, risk = (float(between_zero_and_one(part, "a fraction")) for part in (bad_fraction, failure))
    dimension = sum(math.comb(size, width) for width in range(degree + 1))
    return math.ceil((4 * math.log2(2 / risk) + 8 * dimension * math.log2(13 / bad)) / bad)
