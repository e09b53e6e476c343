"""A small publication for tests: visits of a few people on some days of January 2026."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

SCHEMA = """
person = "id"
rows_per_person = 2

[columns.at]
type = "date"
earliest = 2025-12-01
latest = 2030-12-31

[columns.country]
type = "category"
values = ["CH", "DE"]
"""

FILE = """
[publication]
name = "visits"
schema = "visits.schema.toml"
source = "in/{date}.parquet"
stamp = "at"
period = "day"
first = "2026-01-01"
last = "2026-01-04"

[limits]
day = "Concentrated(1)"
person = "none"

[[table]]
name = "countries"
question = "count by country"
spend = "Concentrated(0.5)"

[[table]]
name = "total"
running = "count by country"
windows = [2]
spend = "Concentrated(0.5)"

[output]
to = "out"
licence = "CC-BY-4.0"
"""

Row = tuple[int, int, str]
"""Whose row it is, on which day of January, and where."""

ROWS: list[Row] = [
    (person, day, "CH" if (person + day) % 3 else "DE") for day in range(1, 5) for person in range(12) for _ in range(2)
]


def prepare(home: Path, rows: Iterable[Row] = ROWS, text: str = FILE, days: Sequence[int] = range(1, 5)) -> Path:
    """Write schema, publication and data, and return the path of the publication."""
    (home / "visits.schema.toml").write_text(SCHEMA, encoding="utf-8")
    path = home / "visits.toml"
    path.write_text(text, encoding="utf-8")
    listed = list(rows)
    (home / "in").mkdir(exist_ok=True)
    for day in days:
        write_day(home, day, [row for row in listed if row[1] == day])
    return path


def write_day(home: Path, day: int, rows: Sequence[Row]) -> None:
    """Write the file of one day."""
    table: Any = pyarrow.table(
        {
            "id": pyarrow.array([row[0] for row in rows], pyarrow.int64()),
            "at": pyarrow.array([date(2026, 1, row[1]) for row in rows], pyarrow.date32()),
            "country": pyarrow.array([row[2] for row in rows], pyarrow.string()),
        }
    )
    parquet.write_table(table, home / "in" / f"2026-01-{day:02}.parquet")
