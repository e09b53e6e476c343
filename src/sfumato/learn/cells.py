"""From what people hand over, arrays, lists and frames, to integer codes: each cell on its own, and never an error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Booleans, Categories, Domain, FixedPoint, Integers
from sfumato.domain.numbers import double_ends
from sfumato.errors import ParameterError, warn

Codes = NDArray[Any]
"""Integer codes, 64 bits wide where the domain allows it, Python integers elsewhere."""

TEXT_TYPES = ("str", "large_string", "utf8")
NUMBER_TYPES = ("int", "uint", "float", "double", "bool", "decimal", "halffloat")
FLOAT_TYPES = ("float", "double", "halffloat")
"""How the names of types begin, in numpy, pandas, Arrow and Polars."""

NARROW = 2**62
"""Codes below this are held in 64 bits."""


def feature_columns(rows: Any) -> list[NDArray[Any]]:
    """Return the columns of a two-dimensional array, a list of rows or a frame; only its shape is looked at.

    Cells of a list stay as they are: turning them into one common type would let a single odd cell change the others.
    """
    if hasattr(rows, "column_names"):
        return [_objects(rows.column(place).to_pylist()) for place in range(rows.num_columns)]
    if hasattr(rows, "columns") and hasattr(rows, "shape"):
        return [_frame_column(rows, place) for place in range(rows.shape[1])]
    if hasattr(rows, "tocsr"):
        raise ParameterError("Sparse rows are not read here; write X.toarray().")
    table = _array(rows)
    if table.ndim != 2:
        raise ParameterError(
            f"Expected 2D array, got {table.ndim}D array instead: one row a person and one column a feature. Reshape "
            "your data with X.reshape(-1, 1) if it has a single feature, or with X.reshape(1, -1) if it is one person."
        )
    return list(table.T)


def named_columns(rows: Any, features: Sequence[str], table: str = "The table") -> list[NDArray[Any]]:
    """Return the columns of these features: of a frame or an Arrow table by name, of arrays and lists by place.

    Other columns of a frame are left alone. Features that were learned from arrays have no names but x0, x1, …: of
    those a frame without such columns is read by place, too.
    """
    names = column_names(rows)
    unnamed = list(features) == [f"x{place}" for place in range(len(features))]
    if names is None or (unnamed and not set(features) & set(names)):
        return feature_columns(rows)
    require_columns(names, features, table)
    return feature_columns(rows.select(list(features)) if hasattr(rows, "select") else rows[list(features)])


def column_names(rows: Any) -> list[str] | None:
    """Return the names of the columns of a frame or an Arrow table; None of arrays, lists and columns without names."""
    if not hasattr(rows, "shape") or not hasattr(rows, "columns"):
        return None
    names = list(rows.column_names if hasattr(rows, "column_names") else rows.columns)
    return names if any(isinstance(name, str) for name in names) else None


def require_columns(names: Sequence[str], features: Sequence[str], table: str = "The table") -> None:
    """Refuse columns among which a rule does not find its features, or finds one twice."""
    for name in features:
        if names.count(name) != 1:
            found = f"has no column {name!r}" if name not in names else f"has more than one column {name!r}"
            raise ParameterError(f"{table} {found}, and the rule looks at {', '.join(features)}.")


def label_column(labels: Any) -> NDArray[Any]:
    """Return the labels in one dimension; only their shape is looked at."""
    if labels is None:
        raise ParameterError("fit requires y to be passed, but the target y is None; write fit(X, y).")
    if hasattr(labels, "to_pylist"):
        return _objects(labels.to_pylist())
    if not isinstance(labels, np.ndarray) and hasattr(labels, "to_numpy") and getattr(labels, "ndim", 1) == 1:
        return _series(labels)
    column = _objects(labels) if isinstance(labels, (list, tuple)) else _array(labels)
    if column.ndim == 2 and column.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warn("A column-vector y was passed when a 1d array was expected; write y.ravel().", DataConversionWarning)
        return column.ravel()
    if column.ndim != 1:
        raise ParameterError(f"y should be a 1d array, got an array of shape {column.shape} instead; one label a row.")
    return column


def check_label_type(labels: Any, wanted: Domain) -> None:
    """Refuse labels whose declared type can hold none of the classes, or no number; no cell is looked at.

    Lists and object arrays declare none. Truth values are read from text and from numbers.
    """
    name = _type_name(getattr(labels, "dtype", None) or getattr(labels, "type", ""))
    text, number = name.startswith(TEXT_TYPES), name.startswith(NUMBER_TYPES)
    if isinstance(wanted, Booleans):
        return
    words = isinstance(wanted, Categories) and wanted.is_text
    if not (number if words else text):
        return
    if not isinstance(wanted, Categories):
        raise ParameterError("The target is a number and y is declared as text; write y.astype(float), say.")
    meant, found = ("text", "numbers") if words else ("numbers", "text")
    example = "classes=(0, 1)" if words else "classes=('no', 'yes')"
    raise ParameterError(
        f"The classes are {meant} and y is declared as {found}, so that every label would count as the first class; "
        f"write the labels as they stand in y, for example {example}."
    )


def warn_of_text(rows: Any, domains: Sequence[Domain]) -> None:
    """Warn where features are numbers and X is declared as text; no cell is looked at.

    A domain that says how its numbers are written (decimal=",", thousands=, unit=) was made for text.
    """
    found = [
        place
        for place, (declared, domain) in enumerate(zip(column_types(rows, len(domains)), domains, strict=True))
        if _type_name(declared).startswith(TEXT_TYPES)
        and isinstance(domain, (Integers, FixedPoint))
        and domain.figures.plain
    ]
    if found:
        warn(
            f"Column {found[0]} of X is declared as text, and its domain is one of numbers: digits with '.' before "
            "decimals are read, and every other cell counts as the missing value. Write X.astype(float), or "
            "decimal=',' in the domain where numbers are written like 3,5."
        )


def warn_of_rounding(rows: Any, labels: Any, domains: Sequence[Domain], target: Domain) -> None:
    """Warn where whole numbers are meant and X or y is declared as one of floats; no cell is looked at.

    An array has one type for all of its columns: where one of them may have fractions, it says nothing of the others.
    """
    apart = hasattr(rows, "dtypes") or hasattr(rows, "column_names")
    whole = [isinstance(domain, Integers) for domain in domains]
    types = column_types(rows, len(domains)) if apart or all(whole) else ()
    found = [f"Column {place} of X" for place, declared in enumerate(types) if whole[place] and _is_float(declared)]
    if isinstance(target, Integers) and _is_float(getattr(labels, "dtype", None) or getattr(labels, "type", "")):
        found.append("y")
    if found:
        frame = hasattr(rows, "iloc")
        kind = "'Int64'" if frame else "int"
        nan = "" if frame else " where no cell is missing (NaN would become a number; keep such columns as floats)"
        warn(
            f"{found[0]} is declared as floats, and its domain is one of whole numbers: fractions are rounded. Write "
            f"fixed(0, 99, step=0.1) as its domain if they matter; if there are none, {found[0][-1]}.astype({kind})"
            f"{nan}."
        )


def _is_float(declared: Any) -> bool:
    return _type_name(declared).startswith(FLOAT_TYPES)


def column_types(rows: Any, columns: int) -> Sequence[Any]:
    """Return the declared type of each column; lists declare none."""
    if hasattr(rows, "column_names"):
        found: Sequence[Any] = rows.schema.types
    else:
        found = list(getattr(rows, "dtypes", [getattr(rows, "dtype", "")] * columns))
    return found


def _type_name(declared: Any) -> str:
    """Return how the type of an array or a column is called, in small letters."""
    return str(getattr(declared, "name", declared)).lower()


def encoded(column: NDArray[Any], domain: Domain) -> Codes:
    """Return the code of every cell, repaired one by one; what cannot be read at all becomes the missing value.

    >>> from sfumato.domain import integers
    >>> encoded(np.array([3.6, float("nan"), 900], dtype=object), integers(0, 99, missing=0)).tolist()
    [4, 0, 99]
    """
    narrow = is_narrow(domain)
    if narrow and column.dtype.kind == "f" and column.dtype.itemsize <= 8:
        quick = _from_doubles(column.astype(np.float64), domain)
        if quick is not None:
            return quick
    if narrow and column.dtype.kind in "iu" and column.dtype != np.uint64 and isinstance(domain, Integers):
        return np.clip(column.astype(np.int64), domain.low, domain.high)
    found = [_code(cell, domain) for cell in column.tolist()]
    return np.array(found, dtype=np.int64) if narrow else _objects(found)


def is_narrow(domain: Domain) -> bool:
    """Tell whether the codes of a domain fit 64 bits."""
    return domain.last is not None and max(abs(domain.first), abs(domain.last)) < NARROW


def label_domain(classes: Any, most: int = 2) -> Booleans | Categories:
    """Return the domain of the public labels: the first one is what all else becomes, of two the second is learned.

    >>> label_domain(("no", "yes")).encode("maybe")
    0
    """
    if classes is None or isinstance(classes, (str, bytes)) or not isinstance(classes, (Sequence, np.ndarray)):
        raise ParameterError(
            f"The {'two ' if most == 2 else ''}labels are public and are written down, never read from y; write "
            "classes=('no', 'yes'), the one that stands for an unreadable cell first."
        )
    labels = tuple(_label(label) for label in classes)
    if not 2 <= len(labels) <= most or len(set(labels)) < len(labels):
        many = "two" if most == 2 else f"from two to {most}"
        raise ParameterError(
            f"classes names {many} different labels, and {labels!r} does not; write classes=('no', 'yes')."
        )
    if all(isinstance(label, bool) for label in labels):
        if labels != (False, True):
            raise ParameterError("Truth values are listed as classes=(False, True).")
        return Booleans(missing=False)
    return Categories(labels, missing=labels[0])


def listed(labels: Domain) -> tuple[Any, ...]:
    """Return all labels, in the order of their codes."""
    assert labels.size is not None
    return tuple(labels.decode(labels.first + place) for place in range(labels.size))


def _label(label: Any) -> Any:
    plain = label.item() if isinstance(label, np.generic) else label
    return int(plain) if isinstance(plain, float) and plain.is_integer() else plain


def _from_doubles(column: NDArray[np.float64], domain: Domain) -> Codes | None:
    """Return what `Domain.encode` returns for doubles, by the same operations on whole columns."""
    if isinstance(domain, Integers):
        low, high = double_ends(Fraction(domain.low), Fraction(domain.high))
        with np.errstate(invalid="ignore"):
            codes = np.floor(np.clip(column, low, high) + 0.5)
    elif isinstance(domain, FixedPoint):
        low, high = double_ends(domain.low, domain.high)
        with np.errstate(invalid="ignore"):
            clamped = np.clip(column, low, high)
            codes = np.floor(clamped * float(domain.step.denominator) / float(domain.step.numerator) + 0.5)
    else:
        return None
    return np.where(np.isnan(codes), domain.missing_code, np.nan_to_num(codes)).astype(np.int64)


def _code(cell: Any, domain: Domain) -> int:
    try:
        return domain.encode(cell.item() if isinstance(cell, np.generic) else cell)
    except Exception:  # whatever a cell does when it is read, the others must not notice
        return domain.missing_code


def _array(rows: Any) -> NDArray[Any]:
    if isinstance(rows, np.ndarray):
        table = rows
    elif hasattr(rows, "__array__"):
        table = np.asarray(rows)
    else:
        table = _listed(rows)
    if table.dtype.kind == "c":
        raise ParameterError("Complex data not supported: there is no domain for them; write two features of reals.")
    return table


def _listed(rows: Any) -> NDArray[Any]:
    """Return a list of rows as a table; cells that are lists themselves stay cells, which numpy would look into."""
    listed = list(rows)
    if not listed or not all(isinstance(row, (list, tuple, np.ndarray)) for row in listed):
        return _objects(listed)
    if len({len(row) for row in listed}) != 1:
        raise ParameterError("The rows of X differ in length; every person has one cell for each feature.")
    table = np.empty((len(listed), len(listed[0])), dtype=object)
    for place, row in enumerate(listed):
        for other, cell in enumerate(row):
            table[place, other] = cell
    return table


def _frame_column(rows: Any, place: int) -> NDArray[Any]:
    return _series(rows.iloc[:, place] if hasattr(rows, "iloc") else rows.to_series(place))


def _series(column: Any) -> NDArray[Any]:
    values = column.to_numpy()
    return values if values.dtype.kind in "iuf" else _objects(column.to_list())


def _objects(cells: Sequence[Any]) -> NDArray[Any]:
    return np.fromiter(cells, dtype=object, count=len(cells))


def rounded_up(size: float) -> int:
    """Return a sample size as a whole number; what is beyond all numbers says so.

    >>> rounded_up(12.2)
    13
    """
    if not math.isfinite(size):
        raise ParameterError("No number of people is enough here; write a larger accuracy, or spend more.")
    return max(1, math.ceil(size))
