"""Integer contrasts: what a table says beyond its smaller tables, in whole numbers.

A column of d codes has the matrix d·I - 1·1', or the single row (1, -1) when d is 2. Both are a multiple of the
projection that takes the mean away, so noise of equal width on all contrasts is noise of equal width in every
direction that the smaller tables leave open.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def squared_scale(size: int) -> int:
    """Return the squared length that a contrast gives to a unit vector without mean: 2 for a bit, else size²."""
    return 2 if size == 2 else size * size


def contrasted(table: NDArray[Any]) -> Integers:
    """Apply the contrasts of every axis to an integer table: a few passes over it, whatever the sizes.

    >>> contrasted(np.array([[3, 1], [0, 2]])).tolist(), contrasted(np.array([5, 1, 0])).tolist()
    ([[4]], [9, -3, -6])
    """
    found: NDArray[Any] = table
    for axis, size in enumerate(table.shape):
        if size == 2:
            first, second = np.split(found, 2, axis=axis)
            found = first - second
        else:
            found = size * found - found.sum(axis=axis, keepdims=True)
    return found


def restored(values: NDArray[Any], shape: tuple[int, ...]) -> Floats:
    """Return the centred table that has these contrasts; of noisy ones the nearest.

    >>> restored(np.array([[4]]), (2, 2)).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    found: Floats = np.asarray(values, dtype=np.float64)
    for axis, size in enumerate(shape):
        if size == 2:
            found = np.concatenate([found, -found], axis=axis) / 2
        else:
            found = (found - found.mean(axis=axis, keepdims=True)) / size
    return found


def centred(table: Floats) -> Floats:
    """Return a table less what its smaller tables say: the mean of every line is taken away, axis by axis.

    >>> centred(np.array([[3.0, 1.0], [0.0, 2.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    found = np.asarray(table, dtype=np.float64)
    for axis in range(found.ndim):
        found = found - found.mean(axis=axis, keepdims=True)
    return found
