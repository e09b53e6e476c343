"""How one person moves the answers: the generators of the sensitivity body, exact integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.privacy import ADD_REMOVE, Relation

Vectors = tuple[tuple[int, ...], ...]

MOST_CELLS = 2**16
"""Up to so many cells the matrix of a workload is written out."""
MOST_COLUMNS = 1500
"""Up to so many distinct columns all of their differences are listed."""
LARGEST = 2**31


def matrix_of(workload: Any) -> NDArray[np.int64]:
    """Return the integer matrix of a workload, one row a query and one column a cell.

    Takes a matrix as it is, or a `Workload`, whose blocks are spread over the cells of the columns that they read.

    >>> matrix_of([[1, 1, 0], [0, 1, 1]]).shape
    (2, 3)
    """
    if hasattr(workload, "blocks") and hasattr(workload, "space"):
        return _spread(workload)
    given = np.asarray(workload)
    if given.ndim != 2 or given.size == 0:
        raise ParameterError(
            "A workload is a matrix with one row for each query and one column for each cell; write for example "
            "[[1, 1, 0], [0, 1, 1]]."
        )
    whole = given.dtype.kind == "f" and bool(np.isfinite(given).all()) and bool((given == np.rint(given)).all())
    if given.dtype.kind not in "iub" and not whole:
        raise ParameterError(
            "The coefficients of a workload are whole numbers, finite and exact; multiply each query by its "
            "denominator, and divide its answer afterwards."
        )
    if np.abs(given.astype(np.float64)).max() >= LARGEST:
        raise ParameterError("A coefficient of the workload is 2^31 or more; measure in larger units.")
    return np.asarray(given, dtype=np.int64)


def body_generators(matrix: NDArray[np.int64], relation: Relation) -> Vectors:
    """Return the vectors by which one person moves the answers, each up to its sign (QR, section 2).

    Adding or removing somebody moves them by a column; replacing somebody by a difference of two columns.

    >>> body_generators(matrix_of([[1, 1, 0], [0, 1, 1]]), ADD_REMOVE)
    ((0, 1), (1, 0), (1, 1))
    """
    columns = np.unique(matrix.T, axis=0)
    if relation is ADD_REMOVE:
        return _signless(columns)
    if len(columns) > MOST_COLUMNS:
        raise DomainTooLarge(
            f"The workload has {len(columns)} different columns, and all differences of more than {MOST_COLUMNS} "
            "cannot be listed; use Laplace noise by the workload's sensitivity, or relation=ADD_REMOVE.",
            "perturb.calibrate",
        )
    differences = np.concatenate([columns[place + 1 :] - columns[place] for place in range(len(columns))])
    return _signless(differences)


def _signless(vectors: NDArray[np.int64]) -> Vectors:
    """Return every vector but zero once, with its first entry that is not zero above zero."""
    moving = vectors[(vectors != 0).any(axis=1)]
    if not len(moving):
        raise ParameterError(
            "No person moves any answer of this workload: every query is constant. Its answers need no noise; "
            "leave those queries out."
        )
    leading = moving[np.arange(len(moving)), (moving != 0).argmax(axis=1)]
    return tuple(map(tuple, np.unique(moving * np.sign(leading)[:, None], axis=0).tolist()))


def _spread(workload: Any) -> NDArray[np.int64]:
    space = workload.space
    read = [name for name in space.names if any(name in block.columns for block in workload.blocks)]
    shape = space.shape(read)
    cells = int(np.prod([int(size) for size in shape], dtype=object))
    if cells > MOST_CELLS:
        raise DomainTooLarge(
            f"The columns of this workload have {cells} cells together, and shaped noise writes out at most "
            f"{MOST_CELLS}; ask fewer columns at once, or use curator.answer, which needs no such matrix.",
            "curator.answer",
        )
    places = np.unravel_index(np.arange(cells), shape)
    rows = []
    for block in workload.blocks:
        own = tuple(places[read.index(name)] for name in block.columns)
        rows.append(block.matrix(space)[:, np.ravel_multi_index(own, space.shape(block.columns))])
    return np.concatenate(rows).astype(np.int64)
