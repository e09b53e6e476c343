"""Statements over tables of a cluster: the exact totals are those of DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from sfumato.table.own import open_database
from tests.sql.test_statements import DATABASE, reading, tables, totals
from tests.table.cluster import SPARK_MARKS

STATEMENTS = (
    "SELECT sex, COUNT(*) FROM patients GROUP BY sex",
    "SELECT kind, COUNT(*), SUM(cost), COUNT(cost) FROM visits WHERE days > 2 GROUP BY kind",
    "SELECT beds, SUM(ROUND(cost * days, 1)) FROM visits LEFT JOIN clinics ON visits.clinic = clinics.clinic GROUP BY beds",
    "SELECT EXTRACT(QUARTER FROM born), COUNT(*) FROM patients JOIN regions ON patients.region = regions.region GROUP BY 1",
    "WITH per AS (SELECT patient, COUNT(*) AS n, LEAST(SUM(cost), 50) AS s, AVG(days) AS a, MEDIAN(days) AS m, "
    "COUNT(DISTINCT kind) AS k FROM visits WHERE days > -3 GROUP BY patient) SELECT sex, SUM(COALESCE(n, 0)), SUM(s), SUM(a), "
    "SUM(m), SUM(k) FROM patients LEFT JOIN per ON patients.patient = per.patient GROUP BY sex",
)


OTHERS = (
    "SELECT kind, SUM(cost, contribution_bounds_per_group => (0, 30)), COUNT(*, contribution_bounds_per_group => (0, 2)), "
    "SUM(cost * days * 100000, contribution_bounds_per_group => (-50000, 70000000)) FROM visits GROUP BY kind",
    "WITH per AS (SELECT patient, SUM(cost) AS s FROM visits GROUP BY patient) SELECT s + 0.0000001, COUNT(*), SUM(s) FROM per "
    "GROUP BY s + 0.0000001",
    "SELECT sex, COUNT(DISTINCT visits.patient) FROM visits JOIN patients ON visits.patient = patients.patient GROUP BY sex",
)


pytestmark = SPARK_MARKS


@contextmanager
def both(spark: Any, folder: Path) -> Iterator[tuple[Any, Any]]:
    """Open the same tables here and on a cluster."""
    made = tables()
    frames: dict[str, Any] = {}
    for name, table in made.items():
        pq.write_table(table, folder / f"{name}.parquet")
        frames[name] = spark.read.parquet(str(folder / f"{name}.parquet"))
    with open_database(made, DATABASE) as here, open_database(frames, DATABASE) as there:
        assert here.people == there.people
        yield here, there


def test_spark_gives_the_same_totals(spark: Any, tmp_path: Path) -> None:
    with both(spark, tmp_path) as (here, there):
        assert totals(here, STATEMENTS[1]) == totals(there, STATEMENTS[1])


@pytest.mark.audit
def test_spark_gives_the_same_totals_of_all_statements(spark: Any, tmp_path: Path) -> None:
    with both(spark, tmp_path) as (here, there):
        for statement in STATEMENTS:
            assert totals(here, statement) == totals(there, statement), statement
        for statement in OTHERS:
            assert reading(here, statement) == reading(there, statement), statement
