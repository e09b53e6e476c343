"""Frames of other libraries as Arrow tables, so that DuckDB reads them without a copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.errors import SchemaError


def _from_arrow(data: Any) -> Any:
    import pyarrow
    import pyarrow.dataset

    if isinstance(data, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([data])
    if isinstance(data, pyarrow.RecordBatchReader):
        return data.read_all()  # a reader can be read once, and a table is asked many times
    if isinstance(data, (pyarrow.Table, pyarrow.dataset.Dataset)):
        return data
    raise SchemaError(f"An Arrow source is a table, a dataset or a reader of batches, not {type(data).__name__}.")


def _from_polars(frame: Any) -> Any:
    if hasattr(frame, "collect"):
        frame = frame.collect()
    if not hasattr(frame, "to_arrow") or not hasattr(frame, "columns"):
        raise SchemaError(f"A polars source is a DataFrame or a LazyFrame, not {type(frame).__name__}.")
    return frame.to_arrow()


def _from_pandas(frame: Any) -> Any:
    import pyarrow

    if not hasattr(frame, "columns"):
        raise SchemaError(f"A pandas source is a DataFrame, not {type(frame).__name__}.")
    columns = {}
    for name in frame.columns:
        column = frame[name]
        if column.dtype == object:
            # Cells of any type may sit in such a column; as text, one odd cell cannot fail the conversion of the rest.
            texts = [None if missing else _cell(cell) for cell, missing in zip(column, column.isna(), strict=True)]
            columns[str(name)] = pyarrow.array(texts, pyarrow.string())
        else:
            columns[str(name)] = pyarrow.array(column, from_pandas=True)
    return pyarrow.table(columns)


def _cell(cell: Any) -> str:
    text = cell if isinstance(cell, str) else str(cell)
    return text.encode("utf-8", "ignore").decode("utf-8")


ARROW: Mapping[str, Callable[[Any], Any]] = {
    "pyarrow": _from_arrow,
    "pandas": _from_pandas,
    "polars": _from_polars,
}
"""By the package of a frame's class, what turns it into an Arrow table."""
