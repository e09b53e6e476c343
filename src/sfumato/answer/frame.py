"""Small released tables."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.answer.exports import Exports, noted
from sfumato.errors import ParameterError
from sfumato.show.tables import Table
from sfumato.show.views import SHOWN_ROWS, View, Viewed, released_table
from sfumato.words import guide, nearest, unknown

MISSING = "missing"
CURVE_ROWS = 24
"""So many points of a longer curve are shown."""


_INSTEAD = guide(
    {
        "plot hist bar show": "write answer.plot('answer.svg')",
        "mean sum min max std median describe sort_values head tail iloc loc shape values query groupby merge": "write "
        "answer.to_pandas(), which is a data frame that has it",
        "index": "the first columns say what a row is about; write answer.value.keys",
    }
)


@dataclass(frozen=True, repr=False)
class Frame(Exports, Viewed):
    """A small released table: named columns of equal length, the first `keys` of which say what a row is about."""

    keys: tuple[str, ...]
    columns: Mapping[str, tuple[Any, ...]]
    curve: bool = field(default=False, kw_only=True)
    """Whether its rows are points of one curve, of which a few tell more than the first ones."""
    unknown: Mapping[str, tuple[bool, ...]] = field(default_factory=dict, kw_only=True, compare=False)
    """Of which cells nothing is known, by the name of their column, from what was released and what is public."""
    labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict, kw_only=True, compare=False, repr=False)
    """What people read in place of a key, by column: both ends of a bin, whose value is only where it begins."""
    vouched: bool = field(default=True, kw_only=True, compare=False)
    """Whether something is known of all other cells; of quantiles it is not, since no count of rows is released."""
    unprinted: tuple[str, ...] = field(default=(), kw_only=True, compare=False)
    """Columns that exports have and print leaves out, because another column tells the same in fewer letters."""
    notes: tuple[str, ...] = field(default=(), kw_only=True, compare=False)
    """What a reader should know of the numbers; exports keep it."""

    def __post_init__(self) -> None:
        if len({len(column) for column in self.columns.values()}) > 1:
            raise ParameterError("The columns of a released table have different lengths.")

    if not TYPE_CHECKING:  # or every name would pass a type checker

        def __getattr__(self, name: str) -> Any:
            if name in _INSTEAD:
                raise unknown("A released table", repr(name), (), {repr(name): _INSTEAD[name]})
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> tuple[Any, ...]:
        if name not in self.columns:
            raise ParameterError(f"This table has no column {name!r}; {nearest(str(name), self.columns)}")
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows in order; exact fractions become numbers, as in all exports."""
        return [tuple(map(number, row)) for row in zip(*self.columns.values(), strict=True)]

    def to_json(self) -> dict[str, list[Any]]:
        """Return the columns as JSON; exact fractions become numbers, what JSON has no word for becomes text."""
        return {name: [_json(cell) for cell in column] for name, column in self.columns.items()}

    def to_arrow(self) -> Any:
        """Return an Arrow table; exact fractions become floats, and with one float in it a whole column does.

        Of numbers that print leaves out where nothing is known of them, a last column says which are known; where
        nobody can vouch for the others, it says of which nothing is known, and is empty elsewhere.
        """
        import pyarrow

        columns = {name: _column(column) for name, column in self.columns.items()}
        for name, marks in self.unknown.items():
            if self.vouched or any(marks):
                told = True if self.vouched else None
                columns[f"{name}, known"] = pyarrow.array([False if mark else told for mark in marks], pyarrow.bool_())
        return noted(pyarrow.table(columns), self.notes)

    def to_csv(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write a CSV file and return its path; a key that is missing is called so, as it is in print."""
        named = {name: called(cells) if name in self.keys else cells for name, cells in self.columns.items()}
        return super(Frame, replace(self, columns=named)).to_csv(path, overwrite=overwrite)

    def shown(self) -> tuple[Frame, str]:
        """Return the rows that are shown, and which of all of them these are: the first, or points of a curve."""
        if len(self) <= SHOWN_ROWS:
            return self, ""
        if not self.curve:
            rows, said = slice(SHOWN_ROWS), f"The first {SHOWN_ROWS} of {len(self):,} rows."
        else:
            apart = -(-len(self) // CURVE_ROWS)
            # Counted from the end, so that the curve is shown up to its last point.
            rows, said = slice((len(self) - 1) % apart, None, apart), f"Of {len(self):,} rows, one in {apart} is shown."
        unknown = {name: marks[rows] for name, marks in self.unknown.items()}
        return replace(self, columns={name: cells[rows] for name, cells in self.columns.items()}, unknown=unknown), said

    def table(self) -> Table:
        """Return it for people: numbers with their intervals beside them."""
        printed = {name: cells for name, cells in self.labelled().items() if name not in self.unprinted}
        return released_table("", self.keys, printed, unknown=self.unknown)

    def labelled(self) -> dict[str, tuple[Any, ...]]:
        """Return the columns with what people read in place of the keys."""
        columns = dict(self.columns)
        for name in {*self.keys} & {*self.labels} & {*columns}:
            said = self.labels[name]
            columns[name] = tuple(said.get(cell, cell) for cell in columns[name])
        return columns

    def view(self) -> View:
        """Return the first rows, with intervals beside the numbers, and what to know of them."""
        frame, more = self.shown()
        return View("", (frame.table(),), after=(more, *self.notes))

    def __repr__(self) -> str:
        return str(self)


def called(cells: tuple[Any, ...]) -> tuple[Any, ...]:
    """Call a key that is missing by the word for it, unless a value has that name."""
    return cells if MISSING in cells else tuple(MISSING if cell is None else cell for cell in cells)


def _column(cells: tuple[Any, ...]) -> list[Any]:
    found = [number(cell) for cell in cells]
    if any(isinstance(cell, str) for cell in found):
        # Unlisted whole numbers are called 'other', and a column of Arrow is of one type.
        return [None if cell is None else str(cell) for cell in found]
    numbers = [cell for cell in found if isinstance(cell, (int, float)) and not isinstance(cell, bool)]
    wide = any(isinstance(cell, float) or not -(2**63) <= cell < 2**63 for cell in numbers)
    return [None if cell is None else float(cell) for cell in found] if numbers and wide else found


def _json(cell: Any) -> Any:
    plain = number(cell)
    if isinstance(plain, float) and not math.isfinite(plain):
        return None  # JSON has no word for it
    return plain if isinstance(plain, (int, float, str, bool)) else json.loads(json.dumps(plain, default=str))


def number(cell: Any) -> Any:
    """Return an exact fraction as an int or a float; anything else as it is."""
    if isinstance(cell, Fraction):
        return int(cell) if cell.denominator == 1 else float(cell)
    return cell
