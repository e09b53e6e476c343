"""What a row adds to the Fourier coefficients of all conjunctions, and how far answers from them are off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from sfumato.questions.synopsis.inclusion import Prior
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


def noise_steps(size: int, probability: float, units: Sequence[float], plain: int, negated: int) -> float:
    """Return how many times the noise of a step the noise in an answer is, in rows.

    A conjunction with more negations than the degree is answered by 0, which has no noise.
    """
    degree, odds = len(units) - 1, math.sqrt(probability / (1 - probability))
    absent, named = -odds, 1 / odds
    terms = np.zeros(degree + 1)  # elementary symmetric sums of the squared basis functions
    if negated <= degree:
        terms[negated] = (named - absent) ** (2 * negated)
    for square, times in ((named**2, plain), (absent**2, size - plain - negated)):
        factor = np.array([comb(times, width) * square**width for width in range(degree + 1)])
        terms = np.convolve(terms, factor)[: degree + 1]
    return math.sqrt(float(np.sum(terms * np.square(units))))


def left_out(size: int, degree: int, probability: float, shape: tuple[int, int], prior: Prior) -> float:
    """Return the root mean square of what is left out of a conjunction, if columns have nothing to do with each other.

    `shape` is how many columns are named as they are and how many negated, `prior` what the shares of columns are. A
    column that is zero with chance z has the factor (1 - pz) - (1-p)z·x where it is named, (1 - pz) + pz·x where it is
    not, and z·x where it is negated; an answer is their product without powers of x above the degree, at x = 1, and the
    truth is all of it (RL-PLAN).
    """
    (plain, negated), p, zero = shape, probability, 1 - prior.mean
    square = zero**2 + prior.variance
    constant, cross = 1 - 2 * p * zero + p * p * square, zero - p * square
    truth = square**negated * (1 - 2 * zero + square) ** plain
    if negated > degree:
        return math.sqrt(truth)
    kinds = (
        # Times, the step b of its factor b·z·x, and E[truth·constant], E[truth·step].
        (plain, -(1 - p), 1 - (1 + p) * zero + p * square, -(1 - p) * (zero - square)),
        (size - plain - negated, p, 1 - p * zero, p * zero),
    )
    beside, twice = np.zeros(degree + 1), np.zeros((degree + 1, degree + 1))
    beside[negated] = twice[negated, negated] = square**negated
    for times, step, first, second in kinds:
        for _ in range(times):
            beside = first * beside + second * _moved(beside, (1,))
            twice = (
                constant * twice
                + step * cross * (_moved(twice, (1, 0)) + _moved(twice, (0, 1)))
                + step**2 * square * _moved(twice, (1, 1))
            )
    return math.sqrt(max(0.0, truth - 2 * float(beside.sum()) + float(twice.sum())))


def _moved(terms: Floats, by: tuple[int, ...]) -> Floats:
    """Return a polynomial times some of its variables, without the powers above the degree."""
    kept = tuple(slice(0, length - step) for length, step in zip(terms.shape, by, strict=True))
    return np.pad(terms[kept], [(step, 0) for step in by])
