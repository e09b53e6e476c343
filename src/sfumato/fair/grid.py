"""One grid for distances and probabilities, so that a certificate is arithmetic without rounding.

Distances are whole multiples of 2^-30 below 2^22 and probabilities whole multiples of 2^-52. Sums and differences of
such numbers are exact in float64, hence "treated within the distance" is decided exactly, not up to a tolerance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STEP = 2.0**-30
"""The finest distance that a metric tells from zero."""
LARGEST = 2.0**22
ONE = 1 << 52
"""Certainty, in units of probability."""
SUM_TOLERANCE = 1e-9


def on_grid(values: Floats) -> Floats:
    """Return the nearest multiples of `STEP`; infinite values stay."""
    return np.round(np.asarray(values, dtype=np.float64) / STEP) * STEP


def is_exact(probabilities: Floats) -> bool:
    """Return whether all are whole units of probability and every row sums to exactly one."""
    units = probabilities * float(ONE)
    return bool(np.all(units == np.rint(units)) and np.all(probabilities.sum(axis=1) == 1.0))


def check_probabilities(probabilities: object, people: int | None = None) -> Floats:
    """Return a matrix of one distribution a row; a vector is read as the probability of the second of two outcomes.

    >>> check_probabilities([0.25, 1.0])
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    array = np.asarray(probabilities, dtype=np.float64)
    if array.ndim == 1:
        array = np.stack([1.0 - array, array], axis=1)
    if array.ndim != 2 or array.shape[1] < 2:
        raise ParameterError(
            "Probabilities must have one row a person and one column an outcome (at least two), "
            "or be a vector with the probability of the favourable outcome."
        )
    if people is not None and len(array) != people:
        raise ParameterError(
            f"There are {len(array)} rows of probabilities for {people} people; give one row a person."
        )
    if not np.all(np.isfinite(array)) or array.min(initial=0.0) < -SUM_TOLERANCE:
        raise ParameterError("Probabilities must be finite and not negative; replace NaN and negative entries.")
    worst = float(np.abs(array.sum(axis=1) - 1.0).max(initial=0.0))
    if worst > SUM_TOLERANCE:
        raise ParameterError(
            f"Every row of probabilities must sum to one, and one row is off by {worst:.3g}; "
            "divide each row by its sum."
        )
    return np.maximum(array, 0.0)


def to_grid_rows(probabilities: Floats) -> Floats:
    """Return rows of whole units that sum to exactly one, each entry moved by less than a few units.

    What is cut off by rounding down goes to the row's largest entry, where it matters least.
    """
    units = np.floor(probabilities * float(ONE)).astype(np.int64)
    rest = ONE - units.sum(axis=1)
    units[np.arange(len(units)), units.argmax(axis=1)] += rest
    return units.astype(np.float64) / float(ONE)


def binary_rows(second: Floats) -> Floats:
    """Return rows (1 - p, p) with p rounded down to whole units; a Lipschitz p stays Lipschitz, exactly."""
    floor = np.floor(np.clip(second, 0.0, 1.0) * float(ONE)) / float(ONE)
    return np.stack([1.0 - floor, floor], axis=1)
