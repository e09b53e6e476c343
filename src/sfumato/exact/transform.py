"""The fast Walsh–Hadamard transform, in place."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_BLOCK = 1 << 12
"""So many cells of four bytes stay in the first cache while their small steps are done."""


@numba.njit(cache=True, nogil=True)
def _steps(cells, first, last):  # type: ignore[no-untyped-def]
    """Do the steps of the half-widths from `first` up to, not including, `last`, two at a time where possible."""
    half = first
    size = len(cells)
    while half < last:
        if 2 * half < last:
            for start in range(0, size, 4 * half):
                for at in range(start, start + half):
                    a, b, c, d = cells[at], cells[at + half], cells[at + 2 * half], cells[at + 3 * half]
                    both, apart, more, less = a + b, a - b, c + d, c - d
                    cells[at], cells[at + half] = both + more, apart + less
                    cells[at + 2 * half], cells[at + 3 * half] = both - more, apart - less
            half *= 4
        else:
            for start in range(0, size, 2 * half):
                for at in range(start, start + half):
                    a, b = cells[at], cells[at + half]
                    cells[at], cells[at + half] = a + b, a - b
            half *= 2


@numba.njit(cache=True, nogil=True)
def _transform(cells):  # type: ignore[no-untyped-def]
    size = len(cells)
    block = min(size, _BLOCK)
    for start in range(0, size, block):
        _steps(cells[start : start + block], 1, block)
    _steps(cells, block, size)


def walsh_hadamard(cells: Any) -> Any:
    """Return the transform along the last axis: of counts as float32 while they are exact in it, else as float64.

    Entry j is the sum over i of cells[i] · (-1)^(number of common one-bits of i and j); time n·log n.

    >>> walsh_hadamard(np.array([1.0, 0.0, 0.0, 2.0]))
    array([ 3., -1., -1.,  3.])
    """
    whole = np.issubdtype(cells.dtype, np.integer)
    exact = np.float32 if whole and np.abs(cells).sum(axis=-1).max(initial=0) < 2**24 else np.float64
    work = np.array(cells, dtype=exact, order="C", copy=True)
    for row in work.reshape(-1, work.shape[-1]):
        _transform(row)
    return work
