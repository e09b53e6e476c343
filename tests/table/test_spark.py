"""The same questions on Spark and on DuckDB: bit for bit the same integers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import domain
from sfumato.table.bounding import Way
from sfumato.table.data import open_table
from sfumato.table.repair import repaired
from sfumato.table.schema import Schema
from sfumato.table.source import open_source
from sfumato.table.statistics import COUNT, Part, Power
from tests.table.cluster import SPARK_MARKS
from tests.table.hostile import CELLS, expected_codes, hostile_table
from tests.table.tables import visits, visits_schema
from tests.table.test_moments import SCHEMA as MOMENTS
from tests.table.test_moments import TEXTS

pytestmark = SPARK_MARKS


def on_spark(spark: Any, table: pa.Table, place: Path) -> Any:
    path = place / "table.parquet"
    pq.write_table(table, path)
    return spark.read.parquet(str(path))


@pytest.mark.parametrize("cells", list(CELLS))
def test_spark_repairs_every_hostile_cell_as_python_does(spark: Any, cells: str, tmp_path: Path) -> None:
    table, schema = hostile_table(cells)
    numbered = table.append_column("place", pa.array(range(table.num_rows)))
    frame = on_spark(spark, numbered, tmp_path)
    with_place = Schema({**schema.columns, "place": domain.integers(0, table.num_rows)})
    source = open_source(frame)
    answer = repaired(source.table, with_place).to_pyarrow().sort_by("place").to_pydict()
    source.close()
    expected = expected_codes(table, schema)
    for name in schema.names:
        raw = table.column(schema.base(name)).to_pylist()
        wrong = [
            (cell, got, want) for cell, got, want in zip(raw, answer[name], expected[name], strict=True) if got != want
        ]
        assert not wrong, (name, wrong)


def check_on_spark(spark: Any, cells: list[Any], kind: Any, names: Sequence[str], place: Path) -> None:
    """Compare what Spark makes of cells with what Python does."""
    schema = Schema({name: MOMENTS.columns[name] for name in names})
    bases = dict.fromkeys(schema.base(name) for name in names)
    table = pa.table({**{name: pa.array(cells, kind) for name in bases}, "place": range(len(cells))})
    source = open_source(on_spark(spark, table, place))
    with_place = Schema({**schema.columns, "place": domain.integers(0, len(cells))})
    answer = repaired(source.table, with_place).to_pyarrow().sort_by("place").to_pydict()
    source.close()
    for name in names:
        wanted = [schema.domain(name).encode(cell) for cell in cells]
        assert [pair for pair in zip(cells, answer[name], wanted, strict=True) if pair[1] != pair[2]] == [], name


def test_spark_reads_moments_and_formats_as_python_does(spark: Any, tmp_path: Path) -> None:
    names = ("second", "zoned", "halves", "filled", "named", "filled_month")
    check_on_spark(spark, TEXTS, pa.string(), names, tmp_path)


@pytest.mark.audit
@pytest.mark.parametrize(
    "names",
    [("filled", "filled_day"), ("named", "named_month", "named_year"), ("named", "named_day", "named_bin"), ("nano",)],
    ids=" ".join,
)
def test_spark_derives_from_formats_as_python_does(spark: Any, names: Sequence[str], tmp_path: Path) -> None:
    check_on_spark(spark, TEXTS, pa.string(), names, tmp_path)


@pytest.mark.audit
def test_spark_reads_its_own_moments_as_python_does(spark: Any, tmp_path: Path) -> None:
    cells = [
        None,
        datetime(1969, 12, 31, 23, 59, 59, 999_999),
        datetime(2020, 2, 29, 12, 7, 30),
        datetime(1700, 1, 1),
        datetime(2200, 1, 1),
    ]
    check_on_spark(spark, cells, pa.timestamp("us"), ("second", "quarter", "week", "nano", "iso"), tmp_path)
    zoned = [None if cell is None else cell.replace(tzinfo=UTC) for cell in cells]
    check_on_spark(spark, zoned, pa.timestamp("us", "UTC"), ("zoned",), tmp_path)
    check_on_spark(spark, [None, date(2020, 2, 29), date(9999, 12, 31)], pa.date32(), ("second", "iso"), tmp_path)


@pytest.mark.parametrize(("person", "way"), [("number", Way.WEIGH), ("name", Way.PICK)])
def test_spark_and_duckdb_count_the_same(spark: Any, person: str, way: Way, tmp_path: Path) -> None:
    data = visits(2_000, people=300, seed=5)
    schema = visits_schema(person, rows=3, groups=2)
    questions: list[tuple[tuple[str, ...], list[Part], Any]] = [
        ((), [COUNT], None),
        (("town", "decade"), [COUNT, Part(Power.SUM, "cost"), Part(Power.SQUARE, "age", 40)], None),
        (
            ("month",),
            [COUNT, Part(Power.SUM, "cost", center=2_500)],
            "age > 40 AND NOT town = 'Bath' OR note IN ('naïve')",
        ),
    ]
    with open_table(data, schema) as local, open_table(on_spark(spark, data, tmp_path), schema) as cluster:
        assert (local.engine, cluster.engine) == ("duckdb", "pyspark")
        assert local.people == cluster.people == 300
        here, there = (table.view(schema.names, table.rule(whole=way is Way.PICK)) for table in (local, cluster))
        for keys, measures, where in questions:
            for one, other in zip(here.totals(keys, measures, where), there.totals(keys, measures, where), strict=True):
                np.testing.assert_array_equal(one, other)
        assert here.sparse_counts(["note", "age"]) == there.sparse_counts(["note", "age"])
        if way is Way.PICK:
            np.testing.assert_array_equal(here.sorted_codes("cost"), there.sorted_codes("cost"))


def test_sums_beyond_63_bits_are_exact_on_spark(spark: Any, tmp_path: Path) -> None:
    schema = Schema({"size": domain.integers(-(2**61), 2**61)})
    data = pa.table({"size": pa.array([2**61] * 50 + [-(2**61) + 1, 5], pa.int64())})
    with open_table(on_spark(spark, data, tmp_path), schema) as table:
        assert int(table.view(["size"]).sums("size")) == 49 * 2**61 + 6
