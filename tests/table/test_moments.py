"""Moments, formats and days inside DuckDB against Python's own reading of the same cells."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import domain
from sfumato.errors import ParameterError, SchemaError
from sfumato.noise import Noise
from sfumato.table import Schema, open_table, read_where
from sfumato.table.repair import repaired
from sfumato.table.source import open_source

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

TEXTS = [
    None, "", "x", "2020-02-29", "2020-02-30", "2019-02-29", "1900-02-29", "2000-02-29", " 2020-12-31T23:59:59.999999999 ",
    "2020-01-01 00:00", "2020-01-01 24:00", "2020-01-01T10:60", "2020-01-01T10:00:60", "2020-01-01T10:00:00+05:30",
    "2020-01-01T10:00:00-1130", "2020-01-01T10:00Z", "2020-01-01Z", "0999-01-01", "1000-01-01", "9999-12-31 23:59:59",
    "2020-01-01 10:00 +01:00", "2020-01-01 10:00:00.5 +0130", "2020-01-01 10:00:00+01", "2020-01-01T10:00 -07",
    "2020-01-01 10:00:00 UTC", "2020-01-01 10:00 Z", "2020-01-01 10:00  +01:00", "2020-01-01 +01:00", "2020-01-01 10:00 +1",
    "1969-12-31 23:59:59.5", "2020-13-01", "2020-00-10", "2020-01-00", "2020-01-01\n", "٢٠٢٠-01-01",
    "29.2.2020 5:07 PM", "29.02.2020 12:00 am", "29.02.2019 12:00 am", "31.4.2020 1:00 AM", "1.1.2020 0:00 AM", "1.1.2020 13:00 PM",
    "31.12.9999 11:59 pm", "2020366", "2019366", "2020060", "2019060", "2020000", "1968001", "FEB 29, 2024", "feb 29, 2023",
    "Sep 31, 2020", "Dec 31, 1999", "Foo 1, 2000",
]  # fmt: skip
DOMAINS: dict[str, domain.Domain] = {
    "second": domain.times("1960-01-01", "2040-01-01"),
    "zoned": domain.times("1960-01-01", "2040-01-01", step="1ms", zone="UTC", missing="1970-01-01"),
    "nano": domain.times("1960-01-01", "2040-01-01", step="1ns"),
    "quarter": domain.times("1960-01-01T00:07", "2040-01-01", step="15min"),
    "week": domain.times("1960-01-01", "2040-01-01", step="7d"),
    "halves": domain.times("1960-01-01", "2040-01-01", step="1min", format="%d.%m.%Y %H:%M %p"),
    "iso": domain.dates("1960-01-01", "2040-01-01"),
    "filled": domain.dates("1960-01-01", "2040-01-01", missing="2000-01-01", format="%Y%j"),
    "named": domain.dates("1960-01-01", "2040-01-01", format="%b %d, %Y"),
}
DERIVED: dict[str, domain.Derivation] = {
    "filled_month": domain.months("filled"),
    "filled_day": domain.weekdays("filled"),
    "named_month": domain.months("named"),
    "named_year": domain.years("named"),
    "named_day": domain.weekdays("named"),
    "named_bin": domain.bins("named", step=7),
}
SCHEMA = Schema({**DOMAINS, **DERIVED})


def codes(cells: list[Any], kind: Any, schema: Schema) -> dict[str, list[int]]:
    bases = dict.fromkeys(schema.base(name) for name in schema.names)
    source = open_source(pa.table({name: pa.array(cells, kind) for name in bases}))
    try:
        found: dict[str, list[int]] = repaired(source.table, schema).to_pyarrow().to_pydict()
    finally:
        source.close()
    return found


def check(cells: list[Any], kind: Any, schema: Schema) -> None:
    found = codes(cells, kind, schema)
    for name in schema.names:
        wanted = [schema.domain(name).encode(cell) for cell in cells]
        differ = [(cell, got, want) for cell, got, want in zip(cells, found[name], wanted, strict=True) if got != want]
        assert not differ, name


def test_texts_are_read_as_python_reads_them() -> None:
    noise = Noise(insecure_seed=4)
    days = [f"{1000 + noise.uniform(9000)}-{noise.uniform(14):02d}-{noise.uniform(33):02d}" for _ in range(40)]
    clocks = [
        f"{noise.uniform(26):02d}:{noise.uniform(62):02d}:{noise.uniform(62):02d}.{noise.uniform(10**9)}" for _ in days
    ]
    ordinals = [f"{1960 + noise.uniform(80)}{noise.uniform(368):03d}" for _ in range(40)]
    check(
        [*TEXTS, *days, *(f"{day}T{clock}" for day, clock in zip(days, clocks, strict=True)), *ordinals],
        pa.string(),
        SCHEMA,
    )


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_moments_of_the_engine(unit: str) -> None:
    schema = Schema({name: DOMAINS[name] for name in ("second", "quarter", "week", "nano", "iso")})
    cells = [
        None,
        datetime(1969, 12, 31, 23, 59, 59),
        datetime(2020, 2, 29, 12, 7, 30),
        datetime(1700, 1, 1),
        datetime(2200, 1, 1),
    ]
    if unit in ("us", "ns"):
        cells.append(datetime(1969, 12, 31, 23, 59, 59, 999_999))
    check(cells, pa.timestamp(unit), schema)


def test_days_zones_and_types() -> None:
    check(
        [None, date(2020, 2, 29), date(1, 1, 1), date(9999, 12, 31)], pa.date32(), Schema({"second": DOMAINS["second"]})
    )
    zoned = Schema({"zoned": DOMAINS["zoned"]})
    check(
        [None, datetime(2020, 2, 29, 12, tzinfo=UTC), datetime(1800, 1, 1, tzinfo=UTC)],
        pa.timestamp("us", "UTC"),
        zoned,
    )
    with pytest.raises(SchemaError, match="second"):
        codes([], pa.timestamp("us", "UTC"), Schema({"second": DOMAINS["second"]}))
    with pytest.raises(SchemaError, match="second"):
        codes([], pa.int64(), Schema({"second": DOMAINS["second"]}))


def test_conditions_on_moments() -> None:
    schema = Schema(
        {
            "seen": domain.times("2020-01-01", "2021-01-01", step="1min"),
            "fine": domain.times("2020-01-01", "2021-01-01", step="1ns"),
        }
    )
    cells = ["2020-05-17 10:30:59", "2020-05-17 10:31", None, "2020-05-18T00:00:00.000000001"]
    with open_table(pa.table({"seen": cells, "fine": cells}), schema) as table:
        view = table.view(schema.names)
        assert view.count("seen >= '2020-05-17 10:31'") == 2 and view.count("seen <= TIMESTAMP '2020-05-17 10:30'") == 1
        assert view.count("seen = '2020-05-17 10:30:00'") == 1 and view.count("seen IS NULL") == 1
        assert view.count("fine > '2020-05-18'") == 1 and view.count("NOT fine > '2020-05-18'") == 2
    assert read_where("seen BETWEEN '2020-01-01' AND '2022-01-01'", schema) == read_where("seen IS NOT NULL", schema)
    for odd in ("seen > 5", "seen = 'noon'", "seen = '2020-01-01T00:00Z'"):
        with pytest.raises(ParameterError, match="holds times"):
            read_where(odd, schema)


@pytest.mark.parametrize("fraction", ["000000000", "000000001", "499999999", "500000000", "999999499", "999999999"])
def test_the_last_moment_of_a_year_belongs_to_it_from_every_source(fraction: str, tmp_path: Path) -> None:
    """DuckDB rounds billionths when it makes a day of them: 23:59:59.9999995 would be the next day."""
    seconds = [datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC) for year in (1965, 1969, 1971, 2031)]
    cells = pa.array([10**9 * int(one.timestamp()) + int(fraction) for one in seconds]).view(pa.timestamp("ns"))
    days = domain.dates("1960-01-01", "2040-01-01")
    schema = Schema({"x": days, "y": domain.years("x"), "m": domain.months("x"), "w": domain.weekdays("x")})
    pq.write_table(pa.table({"x": cells}), tmp_path / "a.parquet")
    with duckdb.connect(tmp_path / "a.duckdb") as file:
        file.execute(f"CREATE TABLE t AS SELECT x FROM '{tmp_path / 'a.parquet'}'")
        assert file.execute("SELECT typeof(x) FROM t").fetchone() == ("TIMESTAMP_NS",)
    sources = [
        pa.table({"x": cells}),
        pa.table({"x": cells}).to_pandas(),
        tmp_path / "a.parquet",
        tmp_path / "a.duckdb",
    ]
    wanted = {
        "x": [days.encode(one.date()) for one in seconds],
        "y": [one.year for one in seconds],
        "m": [12 * (one.year - 1970) + 11 for one in seconds],
        "w": [one.weekday() for one in seconds],
    }
    for source in sources:
        with open_table(source, schema) as table:
            found = {name: table.view([name]).sorted_codes(name).tolist() for name in schema.names}
        assert found == {name: sorted(codes) for name, codes in wanted.items()}
