"""Released tables in other people's shapes: pandas, polars, CSV, Parquet, Excel, all by way of Arrow."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError


class Exports:
    """Whatever can be had as an Arrow table, can be had as everything else."""

    @abstractmethod
    def to_arrow(self) -> Any:
        """Return an Arrow table."""

    def to_pandas(self) -> Any:
        """Return a pandas data frame."""
        _require("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return a polars data frame."""
        return _require("polars").from_arrow(self.to_arrow())

    def to_csv(self, path: str | Path) -> Path:
        """Write a CSV file and return its path."""
        from pyarrow import csv

        target = Path(path)
        csv.write_csv(self.to_arrow(), target)
        return target

    def to_parquet(self, path: str | Path) -> Path:
        """Write a Parquet file and return its path."""
        from pyarrow import parquet

        target = Path(path)
        parquet.write_table(self.to_arrow(), target)
        return target

    def to_excel(self, path: str | Path) -> Path:
        """Write an Excel workbook with one sheet and return its path; it needs openpyxl."""
        target = Path(path)
        if target.suffix.lower() != ".xlsx":
            raise ParameterError(f"A workbook is written as .xlsx; write for example '{target.stem}.xlsx'.")
        book = _require("openpyxl").Workbook()
        arrow = self.to_arrow()
        book.active.append(arrow.column_names)
        for row in arrow.to_pylist():
            book.active.append(list(row.values()))
        for cell in (cell for row in book.active.iter_rows() for cell in row if isinstance(cell.value, str)):
            cell.data_type = "s"  # a key that begins with an equals sign is text, never a formula
        book.save(target)
        return target


def _require(package: str) -> Any:
    """Return a package that is not always there, or say how to get it."""
    from importlib import import_module

    try:
        return import_module(package)
    except ModuleNotFoundError:
        raise ParameterError(f"{package} is not installed here; write pip install {package}, or use to_csv.") from None
