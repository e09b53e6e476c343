"""What is missing in people's features or labels: features count as the median of the fit, labels are left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError, warn
from sfumato.fair.caution import FairnessWarning
from sfumato.fair.people import Column, cells, column_names, holds_numbers, is_absent, is_number

SHOWN = 5


def medians(table: Any) -> dict[str | int, float]:
    """Return the median of what is filled in, for each column of numbers; 0 where nothing is.

    >>> medians({"age": [20, None, 40], "town": ["a", "b", None]})
    {'age': 30.0}
    """
    found: dict[str | int, float] = {}
    for name in column_names(table):
        values = cells(table, name)
        if holds_numbers(values):
            known = [float(value) for value in values.tolist() if is_number(value) and np.isfinite(float(value))]
            found[name] = float(np.median(known)) if known else 0.0
    return found


def filled(table: Any, by: Mapping[str | int, float]) -> Any:
    """Return the table with every missing number at its column's value, and warn if there are any."""
    whole: dict[str | int, Column] = {}
    for name, value in by.items():
        values = cells(table, name)
        gaps = missing(values)
        if gaps.any():
            whole[name] = _plugged(values, gaps, value)
    if not whole:
        return table
    shown = ", ".join(repr(name) for name in list(whole)[:SHOWN]) + (", …" if len(whole) > SHOWN else "")
    place = "column" if len(whole) == 1 else "columns"
    warn(
        f"X has missing numbers in {place} {shown}; each counts as the median of its column in the fit (medians_), in "
        "fit and in predict. Fill them in yourself if they should count as something else.",
        FairnessWarning,
    )
    return _with_columns(table, whole)


def missing(values: Column) -> NDArray[np.bool_]:
    """Tell which cells of a column are missing.

    >>> missing(np.array([1.0, np.nan])).tolist(), missing(np.array(["a", None], dtype=object)).tolist()
    ([False, True], [False, True])
    """
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=np.bool_)
    return np.array([is_absent(value) for value in values.tolist()], dtype=np.bool_)


def labelled(labels: Column) -> NDArray[np.int64]:
    """Return the rows whose label is there, and warn of the others, as audits say whom they leave out."""
    gaps = missing(labels)
    if gaps.all() and len(gaps):
        raise ParameterError("y has no labels, every one is missing; give the class of each person, such as 0 or 1.")
    if gaps.any():
        warn(
            f"y has missing labels in {int(gaps.sum())} of {len(gaps)} rows; they are left out of the fit.",
            FairnessWarning,
        )
    return np.flatnonzero(~gaps)


def of_one_type(labels: Column) -> Column:
    """Return objects that are all words, or all numbers, as an array of these, which scikit-learn sorts.

    >>> of_one_type(np.array([0, 1], dtype=object)).dtype.kind, of_one_type(np.array([0, "a"], dtype=object)).dtype.kind
    ('i', 'O')
    """
    found = labels.tolist()
    if labels.dtype.kind == "O" and len({type(label) for label in found}) == 1:
        return np.array(found)
    return labels


def _plugged(values: Column, gaps: NDArray[np.bool_], value: float) -> Column:
    """Return the column without gaps; one that also holds words stays one of objects."""
    whole = values.astype(object)
    whole[gaps] = value
    return whole.astype(np.float64) if all(map(is_number, whole.tolist())) else whole


def _with_columns(table: Any, whole: Mapping[str | int, Column]) -> Any:
    if hasattr(table, "with_columns"):
        import polars

        return table.with_columns([polars.Series(str(name), values) for name, values in whole.items()])
    if hasattr(table, "columns"):
        changed = table.copy()
        for name, values in whole.items():
            changed[name] = values
        return changed
    matrix = np.array(table)
    for name, values in whole.items():
        matrix[:, int(name)] = values
    return matrix
