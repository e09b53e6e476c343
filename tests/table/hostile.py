"""Cells that try to make an engine raise or two engines disagree, with the domains that must repair them."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from sfumato import domain
from sfumato.table.schema import Schema

BIG = 2**63 - 1
DOUBLES = [
    None, math.nan, math.inf, -math.inf, 1e300, -1e300, 0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 0.49999999999999994,
    0.29, 0.005, 0.015, 1.005, 99.995, 2.0**53, 2.0**63, -(2.0**63), 5e-324, 1 / 3, 89.5, 90.49, 16.5, 17.0,
]  # fmt: skip
INTEGERS = [None, 0, 1, -1, 16, 17, 18, 89, 90, 91, BIG, -BIG - 1, 2**31, -(2**31) - 1, 2**53 + 1, 10, 20, 45, -7, -10]
UNSIGNED = [None, 0, 1, 17, 90, 91, 2**63, 2**64 - 1, 45]
TEXTS = [
    None, "", " ", "5", " 5 ", "5.5", "-7", "+8", "1e2", "1e999", "1e-99", "nan", "NaN", "inf", "Infinity", "0x10",
    "5d", "1_000", "1,5", "5\n", "\n5", "5\x00", "\x00", "٥", "９", "17", "90", "true", "TRUE", "tRuE", "yes", "yeſ", "No",
    "0", "1", "f", "2020-02-29", "2020-02-30", " 1999-12-31 ", "0000-01-01", "9999-12-31", "10000-01-01", "1999-1-1", "Female",
    "Male", "male", " Male", "Ünïcode", "naïve🙂", "é" * 30, "🙂" * 30, "a" * 100_000, "9" * 30,
    "9" * 31, "1" * 400, "z", "0.29", "0.005", "elsewhere", "\t5", "5\t",
    "1.234,5", "1,234", "12,34", "1.234", "0.123", "1'234", "1’234.5", "1 234", "1\u202f234,5", "1\u00a0234", "-1.234,5e1",
    "12 %", "12%", "% 12", "%12%", "12,5\u00a0%", "12.5 %", "%", "$5", "-$5", "$-5", "5^]\\", "1.234.5", "1.2345", ",5", "5,",
]  # fmt: skip
DATES = [None, date(1, 1, 1), date(1899, 12, 31), date(1900, 1, 1), date(1969, 12, 31), date(1970, 1, 1),
         date(2000, 2, 29), date(2030, 12, 31), date(2031, 1, 1), date(9999, 12, 31), date(1600, 2, 29)]  # fmt: skip
TIMES = [None if day is None else datetime(day.year, day.month, day.day, 23, 59, 59, 999_999) for day in DATES]
DECIMALS = [
    None,
    *(Decimal(text) for text in ("0.005", "0.015", "-0.005", "99.995", "1234567.891", "-99999.999", "17", "90.5")),
]
BOOLEANS = [None, True, False]

CELLS: dict[str, tuple[list[Any], pa.DataType]] = {
    # Without infinities next to it, NaN is left out of a Parquet file's statistics, and DuckDB believes these.
    "finite": ([0.5, math.nan, 2.0, 17.0, None], pa.float64()),
    "double": (DOUBLES, pa.float64()),
    "single": ([cell for cell in DOUBLES if cell is None or not 1e39 < abs(cell) < math.inf], pa.float32()),
    "integer": (INTEGERS, pa.int64()),
    "small": ([cell for cell in INTEGERS if cell is None or abs(cell) < 128], pa.int8()),
    "text": (TEXTS, pa.string()),
    "date": (DATES, pa.date32()),
    "time": (TIMES, pa.timestamp("us")),
    "decimal": (DECIMALS, pa.decimal128(12, 3)),
    "boolean": (BOOLEANS, pa.bool_()),
}
UNSIGNED_CELLS = {"unsigned": (UNSIGNED, pa.uint64())}

NUMBERS: dict[str, domain.Domain] = {
    "narrow": domain.integers(17, 90),
    "signed": domain.integers(-50, 50, missing=7),
    "wide": domain.integers(-(2**62), 2**62, missing=2**61 + 1),
    "odd": domain.integers(-(2**53) - 1, 2**53 + 1),
    "cents": domain.fixed(-100, 100, step="0.01"),
    "thirds": domain.fixed(0, 30, step="1/3", missing=10),
    "sevens": domain.fixed(-70, 70, step=7, missing=7),
    "tiny": domain.fixed(0, "0.1", step="0.001"),
    "byte": domain.integers(-128, 127),
}
WRITTEN: dict[str, domain.Domain] = {
    "commas": domain.fixed(-100, 3000, step="0.01", decimal=","),
    "dotted": domain.integers(0, 2000, decimal=",", thousands=".", missing=3),
    "english": domain.fixed(0, 5000, step="0.5", thousands=","),
    "swiss": domain.fixed(0, 5000, step="0.5", thousands="'"),
    "narrow_blanks": domain.fixed(0, 5000, step="0.5", decimal=",", thousands=" "),
    "percent": domain.fixed(0, 100, step="0.1", unit="%"),
    "anteil": domain.fixed(0, 100, step="0.1", decimal=",", unit="%"),
    "dollars": domain.integers(-9, 9, unit="$"),
    "odd_unit": domain.integers(0, 9, unit="^]\\"),
}
LABELS: dict[str, domain.Domain] = {
    "sex": domain.categories("Female", "Male"),
    "many": domain.categories(*"abcdefghij", "Male", "Ünïcode", "naïve🙂", other="elsewhere", missing="b"),
    "flag": domain.booleans(missing=True),
    "maybe": domain.booleans(),
    "named": domain.categories("Female", "z", other="z"),
}
WHOLE_LABELS: dict[str, domain.Domain] = {
    "codes": domain.categories(1, 17, 90, 5, -7, 45, other=0, missing=90),
    "levels": domain.categories(1, 17, 90, 5, -7),
}
FLAGS = {name: LABELS[name] for name in ("flag", "maybe")}
DAYS: dict[str, domain.Domain] = {
    "century": domain.dates("1900-01-01", "2030-12-31", missing="1970-01-01"),
    "ages": domain.dates("1500-01-01", "9999-12-31"),
}
DERIVED: dict[str, dict[str, domain.Derivation]] = {
    "narrow": {"decade": domain.bins("narrow", step=10), "stage": domain.bins("narrow", edges=[0, 18, 65, 120])},
    "signed": {"tens": domain.bins("signed", step=10), "threes": domain.bins("signed", step=3)},
    "cents": {
        "halves": domain.bins("cents", step="0.5"),
        "uneven": domain.bins("cents", edges=[-100, 0, "0.29", 50, 100]),
    },
    "century": {
        "month": domain.months("century"),
        "year": domain.years("century"),
        "weekday": domain.weekdays("century"),
        "week": domain.bins("century", step=7),
        "era": domain.bins("century", edges=["1900-01-01", "1970-01-01", "2000-01-01", "2030-12-31"]),
    },
    "ages": {"long_month": domain.months("ages"), "long_weekday": domain.weekdays("ages")},
}  # fmt: skip


def domains_for(cells: str) -> dict[str, domain.Domain]:
    """Return the domains that can read cells of this type."""
    if cells in ("double", "single", "finite", "decimal"):
        return NUMBERS
    if cells in ("integer", "small", "unsigned"):
        return {**NUMBERS, **WHOLE_LABELS, **FLAGS}
    if cells == "boolean":
        return {**NUMBERS, **FLAGS}
    if cells == "text":
        return {**NUMBERS, **WRITTEN, **LABELS, **WHOLE_LABELS, **DAYS}
    return DAYS


def hostile_table(cells: str) -> tuple[pa.Table, Schema]:
    """Return a table whose columns all hold the same cells, and a schema that reads each with another domain."""
    values, kind = {**CELLS, **UNSIGNED_CELLS}[cells]
    domains = domains_for(cells)
    columns: dict[str, Any] = dict(domains)
    for base in domains:
        columns |= DERIVED.get(base, {})
    table = pa.table({name: pa.array(values, kind) for name in domains})
    return table, Schema(columns)


def expected_codes(table: pa.Table, schema: Schema) -> dict[str, list[int]]:
    """Return what Python's own encoders make of the cells."""
    return {
        name: [schema.domain(name).encode(cell) for cell in table.column(schema.base(name)).to_pylist()]
        for name in schema.names
    }
