"""Small released tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.answer.exports import Exports
from sfumato.errors import ParameterError
from sfumato.show.views import SHOWN_ROWS, View, Viewed, released_table
from sfumato.words import nearest


@dataclass(frozen=True, repr=False)
class Frame(Exports, Viewed):
    """A small released table: named columns of equal length, the first `keys` of which say what a row is about."""

    keys: tuple[str, ...]
    columns: Mapping[str, tuple[Any, ...]]

    def __post_init__(self) -> None:
        if len({len(column) for column in self.columns.values()}) > 1:
            raise ParameterError("The columns of a released table have different lengths.")

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> tuple[Any, ...]:
        if name not in self.columns:
            raise ParameterError(f"This table has no column {name!r}; {nearest(str(name), self.columns)}")
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows in order."""
        return list(zip(*self.columns.values(), strict=True))

    def to_arrow(self) -> Any:
        """Return an Arrow table; exact fractions become floats, and with one float in it a whole column does."""
        import pyarrow

        return pyarrow.table({name: _column(column) for name, column in self.columns.items()})

    def view(self) -> View:
        """Return the first rows, with intervals beside the numbers."""
        more = f"The first {SHOWN_ROWS} of {len(self):,} rows." if len(self) > SHOWN_ROWS else ""
        return View("", (released_table("", self.keys, self.columns),), after=(more,))

    def __repr__(self) -> str:
        return str(self)


def _column(cells: tuple[Any, ...]) -> list[Any]:
    found = [number(cell) for cell in cells]
    if any(isinstance(cell, str) for cell in found):
        # Unlisted whole numbers are called 'other', and a column of Arrow is of one type.
        return [None if cell is None else str(cell) for cell in found]
    numbers = [cell for cell in found if isinstance(cell, (int, float)) and not isinstance(cell, bool)]
    wide = any(isinstance(cell, float) or not -(2**63) <= cell < 2**63 for cell in numbers)
    return [None if cell is None else float(cell) for cell in found] if numbers and wide else found


def number(cell: Any) -> Any:
    """Return an exact fraction as an int or a float; anything else as it is."""
    if isinstance(cell, Fraction):
        return int(cell) if cell.denominator == 1 else float(cell)
    return cell
