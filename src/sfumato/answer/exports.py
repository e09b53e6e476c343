"""Released tables in other people's shapes: pandas, polars, CSV, Parquet, Excel, all by way of Arrow.

What a reader should know of the numbers, the notes, travels with them: in the metadata of Arrow and Parquet, in `attrs`
of pandas, on a second sheet of a workbook, and beside a CSV file, which has no place for them, in `….notes.txt`.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfumato.durable import require_new
from sfumato.errors import ParameterError
from sfumato.words import understood

NOTES = "notes"


class Exports:
    """Whatever can be had as an Arrow table, can be had as everything else."""

    @abstractmethod
    def to_arrow(self) -> Any:
        """Return an Arrow table."""

    def to_pandas(self) -> Any:
        """Return a pandas data frame; its `attrs["notes"]` say what to know of it."""
        _require("pandas")
        table = self.to_arrow()
        found = table.to_pandas()
        if notes_in(table):
            found.attrs[NOTES] = notes_in(table)
        return found

    def to_polars(self) -> Any:
        """Return a polars data frame."""
        return _require("polars").from_arrow(self.to_arrow())

    def to_csv(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write a CSV file, and its notes beside it as `….notes.txt`; return the path of the former."""
        from pyarrow import csv

        target = require_new(_of_kind(path, ".csv"), overwrite=overwrite, in_folder=True)
        require_new(notes_path(path), overwrite=overwrite)
        table = self.to_arrow()
        csv.write_csv(table, target)
        write_notes(target, notes_in(table))
        return target

    def to_parquet(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write a Parquet file with the notes in its metadata, and return its path."""
        from pyarrow import parquet

        target = require_new(_of_kind(path, ".parquet"), overwrite=overwrite, in_folder=True)
        parquet.write_table(self.to_arrow(), target)
        return target

    @understood
    def to_excel(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write an Excel workbook, the notes on a second sheet, and return its path; it needs openpyxl."""
        target = require_new(_of_kind(path, ".xlsx"), overwrite=overwrite, in_folder=True)
        if target.suffix.lower() != ".xlsx":
            raise ParameterError(f"A workbook is written as .xlsx; write for example '{target.stem}.xlsx'.")
        book = _require("openpyxl").Workbook()
        arrow = self.to_arrow()
        book.active.append(arrow.column_names)
        for row in arrow.to_pylist():
            book.active.append(list(row.values()))
        sheets = [book.active]
        if notes_in(arrow):
            sheets.append(book.create_sheet(NOTES))
            for note in notes_in(arrow):
                sheets[-1].append([note])
        for sheet in sheets:
            for cell in (cell for row in sheet.iter_rows() for cell in row if isinstance(cell.value, str)):
                cell.data_type = "s"  # a key that begins with an equals sign is text, never a formula
        book.save(target)
        return target


KINDS = {".csv": "to_csv", ".parquet": "to_parquet", ".xlsx": "to_excel"}
"""The call that writes files of an ending."""


def _of_kind(path: str | Path, ending: str) -> str | Path:
    """Refuse a name whose ending promises another kind of file."""
    found = Path(path).suffix.lower() if isinstance(path, (str, Path)) else ""
    if found in KINDS and found != ending:
        raise ParameterError(
            f"{Path(path).name!r} would not be a file of that kind; write {KINDS[found]}, or end the name in {ending}."
        )
    return path


def noted(table: Any, notes: Sequence[str]) -> Any:
    """Return an Arrow table whose metadata hold the notes, as a JSON list."""
    if not notes:
        return table
    return table.replace_schema_metadata({**(table.schema.metadata or {}), NOTES: json.dumps([*notes])})


def notes_in(table: Any) -> list[str]:
    """Return the notes that an Arrow table carries."""
    found: list[str] = json.loads((table.schema.metadata or {}).get(NOTES.encode(), "[]"))
    return found


def notes_path(path: str | Path) -> Path:
    """Return where the notes of a file go that has no place for them.

    >>> notes_path("costs.csv").name
    'costs.notes.txt'
    """
    return Path(path).with_suffix(".notes.txt")


def write_notes(path: str | Path, notes: Sequence[str]) -> None:
    """Write what a reader of the file should know beside it; where there is nothing, no older notes stay there."""
    target = notes_path(path)
    if notes:
        target.write_text("".join(f"{note}\n" for note in notes), encoding="utf-8")
    else:
        target.unlink(missing_ok=True)


def _require(package: str) -> Any:
    """Return a package that is not always there, or say how to get it."""
    from importlib import import_module

    try:
        return import_module(package)
    except ModuleNotFoundError:
        raise ParameterError(f"{package} is not installed here; write pip install {package}, or use to_csv.") from None
