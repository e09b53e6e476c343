"""Tables of people as users hold them: pandas, polars, dictionaries, matrices."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError, SchemaError
from sfumato.table.names import is_code

MOST_CATEGORIES = 50
_NUMBER = re.compile(r"\s*[-+]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][-+]?\d+)?\s*")
Column = NDArray[Any]


def column_names(table: Any) -> tuple[str | int, ...]:
    """Return the names of a table's columns; the columns of a matrix are numbered from 0.

    >>> column_names({"age": [30, 41]}), column_names([[1, 2], [3, 4]])
    (('age',), (0, 1))
    """
    if isinstance(table, Mapping):
        return tuple(table)
    if hasattr(table, "columns"):
        return tuple(table.columns)
    _require_rows(table)
    array = np.asarray(table)
    if array.ndim != 2:
        raise ParameterError(
            "People must come as a table or matrix with one row a person; reshape the array to (n, k)."
        )
    return tuple(range(array.shape[1]))


def people_count(table: Any) -> int:
    """Return the number of rows."""
    if isinstance(table, Mapping):
        return len(next(iter(table.values()))) if table else 0
    _require_rows(table)
    return len(table) if hasattr(table, "columns") else len(np.asarray(table))


def _require_rows(table: Any) -> None:
    """Refuse a path, a name or one number where a table of people is wanted."""
    if isinstance(table, (str, bytes, Path)):
        raise ParameterError(
            f"People come as a table with one row each, and {str(table)!r} is a word or a path; read the file first, "
            "pandas.read_csv('people.csv'), or write fair.audit_file('people.csv', 'sex', decision='approved')."
        )
    if not hasattr(table, "columns") and np.ndim(table) == 0:
        raise ParameterError(
            f"People come as a table with one row each, and this is of type {type(table).__name__}; write for "
            "example pandas.read_csv('people.csv')."
        )


def column(table: Any, name: str | int) -> Column:
    """Return one column as an array.

    >>> column({"age": [30, 41]}, "age")
    array([30, 41])
    """
    names = column_names(table)
    if name not in names:
        shown = ", ".join(repr(known) for known in names[:12])
        raise SchemaError(f"The table has no column {name!r}; it has {shown}. Write one of these names.")
    if isinstance(table, Mapping) or hasattr(table, "columns"):
        return np.asarray(table[name])
    return np.asarray(table)[:, int(name)]


def select_rows(table: Any, rows: NDArray[np.int64]) -> Any:
    """Return the given rows of a table, in the table's own kind."""
    if isinstance(table, Mapping):
        return {name: np.asarray(values)[rows] for name, values in table.items()}
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    return table[rows] if hasattr(table, "columns") else np.asarray(table)[rows]


def without(table: Any, names: set[str | int]) -> dict[str | int, Column]:
    """Return the table's columns except the named ones."""
    return {name: column(table, name) for name in column_names(table) if name not in names}


def is_numeric(values: Column) -> bool:
    """Return whether a column holds numbers that can be subtracted; booleans and text are categories."""
    if values.dtype.kind in "iuf":
        return True
    return values.dtype.kind == "O" and all(
        isinstance(value, (int, float, np.number)) and not isinstance(value, bool) for value in values
    )


def cells(table: Any, name: str | int) -> Column:
    """Return one column whose cells are what they were: NumPy makes text of all numbers in a list that holds a word.

    >>> cells({"age": [30, "n/a"]}, "age").tolist(), cells([[30, "a"], [41, "b"]], 0).tolist()
    ([30, 'n/a'], [30, 41])
    """
    found = column(table, name)
    if found.dtype.kind not in "US":
        return found
    if isinstance(table, Mapping):
        listed = table[name] if isinstance(table[name], (list, tuple)) else ()
    else:
        listed = [row[int(name)] for row in table] if isinstance(table, (list, tuple)) else ()
    typed = np.empty(len(listed), dtype=object)
    typed[:] = listed
    return found if all(isinstance(cell, str) for cell in typed) else typed


def holds_numbers(values: Column) -> bool:
    """Return whether a column is one of numbers: most of its cells that are filled in are.

    Text is none, also text of digits: whoever writes all codes as text means categories.

    >>> holds_numbers(np.array([30, None, "n/a", 41], dtype=object)), holds_numbers(np.array(["30", "41"]))
    (True, False)
    """
    if values.dtype.kind != "O":
        return is_numeric(values)
    filled = [value for value in values.tolist() if not is_absent(value)]
    return 2 * sum(map(is_number, filled)) > len(filled)


def typed(values: Column, name: str | int = "", digits: bool = False) -> Column:
    """Return numbers for the text of a column most of whose cells are numbers; a cell that is none stays as it is.

    This is the one rule about words in a column of numbers: a single word makes text of all of it, in CSV and in
    pandas, where nobody meant that. Text of digits alone, and of a column named like one of codes, is left as it is,
    because codes may be text on purpose, unless `digits` says that it comes from a file, which cannot say so. A
    decimal comma is read only beside a word, so that the word is what is found; elsewhere it counts as none, because
    it may divide thousands.

    >>> typed(np.array(["30", "41", "k.A."])).tolist(), typed(np.array(["30", "41"])).tolist()
    ([30.0, 41.0, 'k.A.'], ['30', '41'])
    """
    if values.dtype.kind not in "OU" or (not digits and _named_like_codes(name)):
        return values
    cells_ = values.tolist()
    if not all(isinstance(cell, str) or is_absent(cell) for cell in cells_):
        return values
    words = Counter(cell for cell in cells_ if isinstance(cell, str) and cell.strip())
    written = {word for word in words if _NUMBER.fullmatch(word)}
    if len(written) == len(words):
        written = {word for word in written if "," not in word}
        if len(written) == len(words) and not digits:
            return values
    if 2 * sum(words[word] for word in written) <= words.total():
        return values
    numbers: dict[Any, Any] = {word: float(word.replace(",", ".")) for word in written}
    found = np.empty(len(values), dtype=object)
    found[:] = [numbers.get(cell, cell) if cell in words else None for cell in cells_]
    return found


def _named_like_codes(name: str | int) -> bool:
    return isinstance(name, str) and bool(name.strip()) and is_code(name)


def strays(values: Column) -> NDArray[np.int64]:
    """Return the places of cells that are filled in and no numbers, of a column of numbers."""
    if values.dtype.kind != "O":
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero([not is_number(value) and not is_absent(value) for value in values.tolist()])


def as_floats(values: Column) -> NDArray[np.float64]:
    """Return a column of numbers, NaN where one is missing or none."""
    if values.dtype.kind != "O":
        return values.astype(np.float64)
    return np.array([float(value) if is_number(value) else np.nan for value in values.tolist()], dtype=np.float64)


def is_number(value: object) -> bool:
    """Return whether a cell is a number that can be subtracted."""
    return isinstance(value, (Real, Decimal)) and not isinstance(value, bool)


def is_absent(value: object) -> bool:
    """Return whether a cell is missing, in the words of Python, NumPy or pandas."""
    return _is_missing(value) or str(value) == "<NA>"


def as_text(values: Column) -> NDArray[np.str_]:
    """Return categories as text; a missing one is the category 'missing'."""
    return np.array(["missing" if _is_missing(value) else str(value) for value in values.tolist()], dtype=np.str_)


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def as_numbers(table: Any) -> NDArray[np.float64]:
    """Return all columns as numbers: numeric ones as they are, categories as one 0/1 column a category but the first.

    Of a column with more than 50 categories the 50 most common have a column: a name or a number of an account that one
    person has tells nothing about others, and would take memory of people² and time of people³.

    >>> as_numbers({"age": [30, 41], "town": ["a", "b"]})
    array([[30.,  0.],
           [41.,  1.]])
    """
    parts: list[NDArray[np.float64]] = []
    for name in column_names(table):
        values = typed(cells(table, name), name)
        if holds_numbers(values):
            numbers = as_floats(values)
            known = numbers[np.isfinite(numbers)]
            parts.append(np.where(np.isfinite(numbers), numbers, known.mean() if len(known) else 0.0)[:, None])
        else:
            labels, codes, sizes = np.unique(as_text(values), return_inverse=True, return_counts=True)
            several = np.arange(1, len(labels))
            if len(several) > MOST_CATEGORIES:
                several = np.sort(np.argsort(-sizes, kind="stable")[:MOST_CATEGORIES])
            parts.append((codes[:, None] == several).astype(np.float64))
    return np.hstack(parts) if parts else np.zeros((people_count(table), 0))
