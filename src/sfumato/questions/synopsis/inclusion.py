"""Approximate inclusion and exclusion: how to count rows without zeros from sets of few zeros (RL-AIE)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CAUTION = 2.0
"""How many standard deviations of noise weigh as much as the worst bias."""

DOUBT = 144.0
"""Queries differ by so much more, in squares, than a random chance for all columns alike makes them differ."""

TYPICAL_BIAS = 0.3
"""The part of the worst bias that tables of many different people have, about."""


@dataclass(frozen=True, eq=False)
class Inclusion:
    """Factors of sets by their number of plain and of negated columns, and what they make of a row at worst.

    `bias` is the largest distance of Σ_k c_k·C(j,k) from 1 at j = 0 and from 0 at j = 1 … width; `typical` about what
    is left of it in a table of many rows; `noise` the standard deviation of the noise in an answer.
    """

    factors: Floats
    bias: float
    typical: float
    noise: float


@dataclass(frozen=True)
class Prior:
    """What is known of the shares of columns before a query is answered: their mean and their variance."""

    mean: float = 0.4
    variance: float = 0.02

    @classmethod
    def of(cls, shares: Floats, deviation: float) -> Prior:
        """Return what noisy shares of all columns say, rounded, without the spread that noise gave them."""
        spread = max(0.0, float(shares.var()) - deviation**2)
        return cls(round(min(max(float(shares.mean()), 0.02), 0.98), 2), round(spread, 3))

    def rows(self, plain: int, negated: int) -> Floats:
        """Return E[b·bᵀ] for the law b of how many columns of a query fail in a row.

        That number is binomial with a random chance, which has a beta law: its mean is that of the columns, and its
        variance that of the mean of so many of them. The result is multiplied by DOUBT, which leaves the best factors
        without noise as they are, and trusts noisy numbers more than the prior.
        """
        width = plain + negated
        mean = (plain * (1 - self.mean) + negated * self.mean) / width
        variance = min(max(self.variance / width, 1e-3), 0.9 * mean * (1 - mean))
        total = mean * (1 - mean) / variance - 1
        first, second = mean * total, (1 - mean) * total
        log = math.lgamma
        whole = log(first) + log(second) - log(total)
        chances = [log(width + 1) - log(fails + 1) - log(width - fails + 1) for fails in range(width + 1)]
        found = np.empty((width + 1, width + 1))
        for i in range(width + 1):
            for j in range(width + 1):
                fails = log(first + i + j) + log(second + 2 * width - i - j) - log(total + 2 * width)
                found[i, j] = math.exp(chances[i] + chances[j] + fails - whole)
        return DOUBT * found


def factor_matrix(plain: int, negated: int, order: int) -> tuple[list[tuple[int, int]], Floats]:
    """Return which sets there are by their number of plain and negated columns, and the linear map from c to factors.

    A negated column fails where it is one, which is everything minus where it is zero: of a set with s negated columns
    the factor is (-1)^s·Σ_t C(negated-s, t-s)·c_(a+t).
    """
    kinds = [(a, s) for a in range(plain + 1) for s in range(negated + 1) if a + s <= order]
    found = np.zeros((len(kinds), order + 1))
    for row, (a, s) in enumerate(kinds):
        for t in range(s, negated + 1):
            if a + t <= order:
                found[row, a + t] += (-1.0) ** s * comb(negated - s, t - s)
    return kinds, found


@lru_cache(maxsize=4096)
def inclusion(
    plain: int,
    negated: int,
    order: int,
    deviations: tuple[float, ...],
    *,
    ones: bool = False,
    prior: Prior | None = None,
) -> Inclusion:
    """Return the factors for a query of so many plain and negated columns.

    Without a prior they have the least worst-case bias plus CAUTION times a bound on the noise: a linear program. With
    one they have the least mean squared error for rows like those. `deviations` are those of the noise in a share of
    each number of columns, from 0 to the order. The shares are those of rows in which sets are all zero, or with `ones`
    all one: then plain and negated columns change places.

    >>> round(inclusion(6, 0, 4, (0.0,) * 5).bias, 3), round(inclusion(6, 0, 3, (0.0,) * 4).bias, 3)
    (0.05, 0.125)
    """
    if ones:
        turned = None if prior is None else Prior(1 - prior.mean, prior.variance)
        found = inclusion(negated, plain, order, deviations, prior=turned)
        return Inclusion(found.factors.T, found.bias, found.typical, found.noise)
    width = plain + negated
    order = min(order, width)
    kinds, matrix = factor_matrix(plain, negated, order)
    loads = np.array([deviations[a + s] * math.sqrt(comb(plain, a) * comb(negated, s)) for a, s in kinds])
    rows = np.array([[comb(j, k) for k in range(order + 1)] for j in range(width + 1)], dtype=np.float64)
    target = np.zeros(width + 1)
    target[0] = 1
    if prior is None or width == 0:
        c = _worst_case(rows, target, matrix, loads)
        typical = TYPICAL_BIAS * float(np.abs(rows @ c - target).max())
    else:
        squares = prior.rows(plain, negated)
        c = _on_average(rows, target, squares, loads[:, None] * matrix)
        apart = rows @ c - target
        typical = math.sqrt(max(0.0, float(apart @ squares @ apart)))
    sizes = matrix @ c
    factors = np.zeros((order + 1, order + 1))
    for (a, s), factor in zip(kinds, sizes, strict=True):
        factors[a, s] = factor
    bias = float(np.abs(rows @ c - target).max())
    return Inclusion(factors, bias, typical, float(np.linalg.norm(loads * sizes)))


def _on_average(rows: Floats, target: Floats, squares: Floats, noise: Floats) -> Floats:
    """Minimise (rows·c - target)ᵀ·squares·(rows·c - target) + |noise·c|²."""
    normal = rows.T @ squares @ rows + noise.T @ noise
    # A trace of the worst case keeps apart what the prior thinks impossible.
    normal += 1e-9 * rows.T @ rows
    return np.asarray(np.linalg.solve(normal, rows.T @ squares @ target + 1e-9 * rows.T @ target), dtype=np.float64)


def _worst_case(rows: Floats, target: Floats, matrix: Floats, loads: Floats) -> Floats:
    """Minimise max |rows·c - target| + CAUTION·Σ loads·|matrix·c|."""
    from scipy.optimize import linprog

    count, order = rows.shape[0], rows.shape[1] - 1
    # Variables: c (free), the bias, one bound for the size of each factor.
    blank, unit = np.zeros((count, len(loads))), np.ones((count, 1))
    sized, none = np.eye(len(loads)), np.zeros((len(loads), 1))
    above = np.block([[rows, -unit, blank], [-rows, -unit, blank], [matrix, none, -sized], [-matrix, none, -sized]])
    limits = np.concatenate([target, -target, np.zeros(2 * len(loads))])
    # Where noise costs nothing, a trace of it keeps the factors as small as they can be.
    prices = np.concatenate([np.zeros(order + 1), [1.0], np.maximum(CAUTION * loads, 1e-9)])
    bounds = [(None, None)] * (order + 1) + [(0, None)] * (1 + len(loads))
    solved = linprog(prices, A_ub=above, b_ub=limits, bounds=bounds, method="highs")
    found = solved.x[: order + 1] if solved.success else (-1.0) ** np.arange(order + 1)
    return np.asarray(found, dtype=np.float64)
