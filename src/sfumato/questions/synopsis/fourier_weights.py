"""What a row adds to the Fourier coefficients of all conjunctions: exact integers from its number of zeros."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from sfumato.questions.synopsis.weighted import Table

Floats = NDArray[np.float64]

BALANCING = 400
"""Rounds in which the weights of the widths are balanced."""

FINEST = 20
"""The largest entry has so many bits, so that sums over 2^33 rows stay exact in doubles."""


@dataclass(frozen=True)
class FourierWeights:
    """The integers of a table, and what one step of a width is worth in rows."""

    table: Table
    units: tuple[float, ...]


def entries(size: int, degree: int, probability: float) -> Floats:
    """Return |coefficient| of a set of j zeros in a row of z: (1-p)^(z-j)·(p(1-p))^(j/2), rows by z, columns by j.

    >>> entries(2, 1, 0.5).tolist()
    [[1.0, 0.5], [0.5, 0.5], [0.25, 0.25]]
    """
    zeros, widths = np.arange(size + 1)[:, None], np.arange(degree + 1)[None, :]
    spread = math.sqrt(probability * (1 - probability))
    return np.asarray((1 - probability) ** np.maximum(zeros - widths, 0) * spread**widths, dtype=np.float64)


def balance(size: int, degree: int, values: Floats, zeros: tuple[int, int], squared: bool) -> Floats:
    """Return how many steps each width deserves: the least total variance for what one row moves.

    It minimises Σ_j C(size,j)/w_j² while Σ_j C(z,j)·(values·w_j)^(1 or 2) is at most 1 for every z, by weighing the
    rows z until those that matter fill it. Any result is private: what rows move is worked out from the integers.
    """
    numbers = np.array([comb(size, width) for width in range(degree + 1)], dtype=np.float64)
    possible = np.arange(zeros[0], zeros[1] + 1)
    power = 2 if squared else 1
    sets = np.array([[comb(int(z), width) for width in range(degree + 1)] for z in possible], dtype=np.float64)
    moved = sets * values[possible] ** power
    used = moved.max(axis=0) > 0
    weights = np.zeros(degree + 1)
    rows = np.ones(len(possible)) / len(possible)
    for _ in range(BALANCING):
        price = rows @ moved
        weights[used] = (numbers[used] / price[used]) ** (1 / (power + 2))
        usage = moved @ weights**power
        rows = rows * usage
        rows /= rows.sum()
    return np.asarray(np.where(used, weights / (moved @ weights**power).max() ** (1 / power), 1.0), dtype=np.float64)


def fourier_weights(
    size: int, degree: int, probability: float, zeros: tuple[int, int], *, squared: bool, bits: int = FINEST
) -> FourierWeights:
    """Return the table for a law of queries, its largest entry of so many bits; entries are cut towards zero.

    >>> fourier_weights(2, 1, 0.5, (0, 2), squared=False, bits=4).table
    ((16, 10), (8, 10), (4, 5))
    """
    values = entries(size, degree, probability)
    shares = balance(size, degree, values, zeros, squared)
    scaled = values * shares
    possible = scaled[zeros[0] : zeros[1] + 1]
    steps = 2.0**bits / possible.max()
    integers = np.floor(scaled * steps + 1e-9)
    impossible = np.ones(len(values), np.bool_)
    impossible[zeros[0] : zeros[1] + 1] = False
    integers[impossible] = 0
    table = tuple(tuple(int(entry) for entry in row) for row in integers)
    return FourierWeights(table, tuple((1 / (shares * steps)).tolist()))


def tail(size: int, degree: int, probability: float, zeros: tuple[int, int]) -> float:
    """Return the most that leaving out wider sets adds to the mean squared error: max_z (1-p)^z·P[Bin(z,p) > degree].

    >>> tail(16, 2, 0.5, (0, 16))
    0.01953125
    """
    worst = 0.0
    for z in range(zeros[0], zeros[1] + 1):
        kept = sum(
            comb(z, width) * probability**width * (1 - probability) ** (z - width) for width in range(degree + 1)
        )
        worst = max(worst, (1 - probability) ** z * max(0.0, 1 - kept))
    return worst
