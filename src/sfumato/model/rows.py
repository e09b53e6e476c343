"""Rows of a model: systematic rounding of probabilities to whole rows, and their values in Arrow."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import positive_integer
from sfumato.noise import Noise
from sfumato.workload.space import Space

BATCH = 2**20
"""Rows that are made at a time for a file."""

BYTES_A_CELL = 40
"""What a cell of a sampled row takes while it is made: codes, an order, the decoded value."""

LISTED = 2**16
"""Up to so many values of a column are written out to be chosen from."""

FINE = 2**53
"""Random fractions are drawn in steps of one part in this many."""


def checked_rows(rows: int, columns: int) -> int:
    """Return the number of rows, refusing what the memory of this machine cannot hold."""
    count = positive_integer(rows, "rows")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if count * columns * BYTES_A_CELL > memory:
        raise ParameterError(
            f"{count} rows of {columns} columns do not fit into the memory of this machine; write them to a file with "
            "to_parquet(path, rows), which makes them batch by batch."
        )
    return count


def systematic(probabilities: NDArray[np.float64], rows: int, noise: Noise) -> NDArray[np.int64]:
    """Return how many of `rows` rows each cell gets: rows·probability, rounded up or down by one random shift.

    Every cell, and every run of neighbouring cells, is off by less than one row.

    >>> systematic(np.array([0.5, 0.25, 0.25]), 8, Noise(insecure_seed=1)).tolist()
    [4, 2, 2]
    """
    shift = noise.uniform(FINE) / FINE
    ends = np.cumsum(probabilities)
    reached = np.floor(ends / ends[-1] * rows + shift).astype(np.int64)
    reached[-1] = rows
    return np.asarray(np.diff(np.minimum(reached, rows), prepend=0))


def shuffled(rows: int, noise: Noise) -> NDArray[np.int64]:
    """Return an order of 0 … rows - 1; equal keys, one pair in 2^62, stay in place."""
    return np.argsort(noise.uniform(2**62, rows), kind="stable")


def as_arrow(space: Space, codes: NDArray[np.int64]) -> Any:
    """Return rows of places as an Arrow table of values; exact fractions become floats."""
    import pyarrow

    columns = {}
    for at, (name, domain) in enumerate(zip(space.names, space.domains, strict=True)):
        listed: Any = range(space.sizes[at])
        if space.sizes[at] > LISTED:
            # Of a column of very many values those that occur, and the first two, which tell the type of all.
            listed = np.unique(np.concatenate(([0, 1], codes[:, at])))
        values = [domain.decode(domain.first + int(place)) for place in listed]
        places = codes[:, at] if len(listed) == space.sizes[at] else np.searchsorted(listed, codes[:, at])
        columns[name] = pyarrow.array(_plain(values)).take(pyarrow.array(places))
    return pyarrow.table(columns)


def _plain(values: list[Any]) -> list[Any]:
    """Return values that Arrow knows; the type is decided by all of them, so that every batch has the same one."""
    found = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in found):
        # Unlisted whole numbers are called 'other', and a column is of one type.
        return [None if value is None else str(value) for value in values]
    if not any(isinstance(value, Fraction) for value in found):
        return values
    whole = all(Fraction(value).denominator == 1 for value in found)
    return [None if value is None else int(value) if whole else float(value) for value in values]
