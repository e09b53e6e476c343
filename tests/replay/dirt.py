"""Tables full of cells that no schema asked for, as files and frames hold them; each beside a clean one of its size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas
import pyarrow
from pyarrow import csv, parquet

from tests.replay.worlds import HIGH, LOW

PEOPLE = 3000
"""So many that no question is refused for want of people."""
CELLS = tuple(LOW)
NO_TEXT = (b"\xff", b"\xc3(", b"\xed\xa0\x80")
"""Bytes that are no UTF-8: a stray one, a torn letter, half of a pair of surrogates."""
ODD_TEXT = (
    "",
    " ",
    "\x00",
    "a\x00",
    "\u202eb",
    "e\u0301",
    "\u00e9",
    "\ufeff",
    "\U0001f642" * 9,
    "zz",
    "A",
    "\u0131",
    "N",
)
"""Blank, invisible, written backwards, composed and not, outside the basic plane, alike but for case."""
NO_NUMBER = (
    "",
    " ",
    "abc",
    "nan",
    "inf",
    "1e999",
    "-1e-999",
    "9" * 400,
    "0x10",
    "\u0665",
    "1,5",
    "--1",
    "\ufeff7",
    "7\x00",
)
NO_DAY = ("", "2020-02-30", "0000-01-01", "99999-01-01", "2020-13-01", "31.12.2020", "2020-01-01T25:00:00", "now")
NO_TRUTH = ("", "maybe", "2", "\u1e6fRUE", "truee")
FAR = (2**63 - 1, -(2**63), 2**62, -(2**62))
"""Moments before and after every calendar, in any unit."""
WRITTEN: dict[str, Sequence[str]] = {
    **dict.fromkeys(("age", "pay", "address", "caller", "called", "level"), NO_NUMBER),
    **dict.fromkeys(("job", "town", "ward"), ODD_TEXT), **dict.fromkeys(("ill", "scar"), NO_TRUTH), "seen": NO_DAY,
}  # fmt: skip
"""Odd cells of columns in which everything is text."""

Columns = dict[str, list[Any]]


def clean(dirty: bool, odd: Mapping[str, Sequence[Any]], people: int = PEOPLE) -> Columns:
    """Return people of one to three rows at the ends of every range; if it is to be dirty, four cells in ten are odd.

    Both have the same people, and rows of nobody; only what a schema reads differs.
    """
    owner = [str(place // 2 if place % 3 else place) for place in range(people)]
    found: Columns = {"id": [None if place % 97 == 5 else who for place, who in enumerate(owner)]}
    found["visit"] = [place % 3 for place in range(people)]
    for turn, name in enumerate(CELLS, 2):
        cells = [(HIGH if place * turn % 7 < 3 else LOW)[name] for place in range(people)]
        strange = [*odd.get(name, ()), None]
        found[name] = [
            strange[place % len(strange)] if dirty and (place * turn + place // 11) % 10 < 4 else cell
            for place, cell in enumerate(cells)
        ]
    return found


def typed(columns: Columns, kinds: Mapping[str, pyarrow.DataType]) -> pyarrow.Table:
    """Return columns of these types; text may hold any bytes, and moments any number: a view is not validated."""
    made = {}
    for name, cells in columns.items():
        kind = kinds.get(name, pyarrow.string())
        if pyarrow.types.is_string(kind):
            stored = [cell.encode() if isinstance(cell, str) else cell for cell in cells]
            made[name] = pyarrow.array(stored, pyarrow.binary()).view(kind)
        elif pyarrow.types.is_timestamp(kind):
            stored = [(cell - date(1970, 1, 1)).days * 86_400 if isinstance(cell, date) else cell for cell in cells]
            made[name] = pyarrow.array(stored, pyarrow.int64()).view(kind)
        else:
            whole = pyarrow.types.is_integer(kind)
            made[name] = pyarrow.array([int(cell) if whole and cell is not None else cell for cell in cells], kind)
    return pyarrow.table(made)


KINDS = {
    "visit": pyarrow.int64(), "age": pyarrow.int64(), "pay": pyarrow.float64(), "ill": pyarrow.bool_(),
    "scar": pyarrow.int8(), "seen": pyarrow.timestamp("s"), "address": pyarrow.uint64(),
    "caller": pyarrow.decimal128(38), "called": pyarrow.float32(), "level": pyarrow.int16(),
}  # fmt: skip
STRANGE: dict[str, Sequence[Any]] = {
    "age": (2**63 - 1, -(2**63), -5), "pay": (float("nan"), float("inf"), -float("inf"), 1e308, -0.0, 5e-324),
    "job": (*NO_TEXT, *ODD_TEXT), "town": (*NO_TEXT, *ODD_TEXT), "ward": (*NO_TEXT, *ODD_TEXT), "scar": (2, -1),
    "seen": FAR, "address": (2**64 - 1, 2**30), "caller": (Decimal("9" * 38), Decimal("-" + "9" * 38)),
    "called": (float("nan"), float("inf"), 3e38, -0.5), "level": (2**15 - 1, -(2**15)),
}  # fmt: skip


def _arrow(dirty: bool, people: int, _: Path) -> pyarrow.Table:
    return typed(clean(dirty, STRANGE, people), KINDS)


def _parquet(dirty: bool, people: int, place: Path) -> Path:
    """Return a file in which text is bytes: what is called text there must be UTF-8, or the file is not opened."""
    texts = dict.fromkeys(("job", "town", "ward"), pyarrow.binary())
    # Moments that Parquet can hold and an engine cannot are refused at opening, as bytes that are called text are.
    seen = {"seen": (date(1, 1, 1), date(9999, 12, 31))}
    kinds = {**KINDS, **texts, "seen": pyarrow.date32()}
    columns = clean(dirty, {**STRANGE, **seen}, people)
    columns |= {name: [c.encode() if isinstance(c, str) else c for c in columns[name]] for name in texts}
    file = place / f"people{dirty}{people}.parquet"
    parquet.write_table(typed(columns, kinds), file, row_group_size=1000)
    return file


def _texts(dirty: bool, people: int) -> pyarrow.Table:
    columns = clean(dirty, WRITTEN, people)
    return pyarrow.table(
        {
            name: pyarrow.array([None if c is None else str(c) for c in cells], pyarrow.string())
            for name, cells in columns.items()
        }
    )


def _csv(dirty: bool, people: int, place: Path) -> Path:
    file = place / f"people{dirty}{people}.csv"
    csv.write_csv(_texts(dirty, people), file)
    return file


def _objects(dirty: bool, people: int, _: Path) -> pandas.DataFrame:
    """Return a frame whose columns hold anything."""
    anything = (
        1,
        2.5,
        True,
        b"\xff",
        "x\ud800",
        Decimal("NaN"),
        Decimal("1e99"),
        10**400,
        float("nan"),
        object(),
        [],
        pandas.NaT,
    )
    return pandas.DataFrame(clean(dirty, dict.fromkeys(CELLS, anything), people), dtype=object)


SOURCES: dict[str, Callable[[bool, int, Path], Any]] = {
    "arrow": _arrow,
    "parquet": _parquet,
    "text": lambda dirty, people, _: _texts(dirty, people),
    "csv": _csv,
    "objects": _objects,
}
