"""Statements over tables of a cluster: the exact totals are those of DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from sfumato.table.own import open_database
from tests.sql.test_statements import DATABASE, tables, totals
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


pytestmark = SPARK_MARKS


def test_spark_gives_the_same_totals(spark: Any, tmp_path: Path) -> None:
    made = tables()
    frames: dict[str, Any] = {}
    for name, table in made.items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
        frames[name] = spark.read.parquet(str(tmp_path / f"{name}.parquet"))
    with open_database(made, DATABASE) as here, open_database(frames, DATABASE) as there:
        assert here.people == there.people
        for statement in STATEMENTS:
            assert totals(here, statement) == totals(there, statement), statement
