"""Statements over tables of a cluster: the exact totals are those of DuckDB."""

from __future__ import annotations

import random  # noqa: TID251  tables to read, not noise
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import Database
from sfumato.sql.statement import read_statement
from sfumato.table.own import open_database
from tests.sql.test_events import CARE
from tests.sql.test_events import STATEMENTS as LED
from tests.sql.test_events import tables as care
from tests.sql.test_found import DATABASE as NOTES
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


OPTION = "WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = {}) "
NEWER = (
    "WITH per AS (SELECT patient, kind, LEAST(SUM(cost), 60) AS s FROM visits WHERE days > -3 GROUP BY patient, kind) "
    "SELECT kind, SUM(s) AS paid, SUM(s) FROM per GROUP BY kind",
    "WITH per AS (SELECT patient, kind, days, COUNT(cost) AS n FROM visits GROUP BY patient, kind, days) "
    "SELECT kind, days, SUM(n) FROM per GROUP BY kind, days",
    f"SELECT {OPTION.format(1)}kind, SUM(cost, contribution_bounds_per_group => (0, 60)) FROM visits GROUP BY kind",
    f"SELECT {OPTION.format(2)}kind, COUNT(DISTINCT visits.patient) FROM visits GROUP BY kind",
    f"SELECT {OPTION.format(2)}kind, beds, COUNT(*, contribution_bounds_per_group => (0, 2)) FROM visits LEFT JOIN clinics "
    "ON visits.clinic = clinics.clinic WHERE days BETWEEN -3 AND 15 GROUP BY kind, beds",
)
"""By person and key, and with a limit on the groups of a person: which of them count must not depend on the engine."""

FOUND = (
    f"SELECT {OPTION.format(1)}note, SUM(cost, contribution_bounds_per_group => (0, 7)) FROM visits GROUP BY note",
    f"SELECT {OPTION.format(2)}note, COUNT(DISTINCT id) FROM visits WHERE cost > 1 GROUP BY note",
    f"SELECT {OPTION.format(3)}note, COUNT(*, contribution_bounds_per_group => (0, 1)), "
    "SUM(cost, contribution_bounds_per_group => (1, 9)) FROM visits JOIN people ON people.id = visits.id GROUP BY note",
    "SELECT town, SUM(cost, contribution_bounds_per_group => (0, 5)) FROM visits JOIN people ON people.id = visits.id "
    "GROUP BY town",
    "SELECT town, COUNT(*), SUM(age) FROM people GROUP BY town",
)
"""Keys that nobody can list, of events and of people."""

pytestmark = SPARK_MARKS


def notes() -> dict[str, pa.Table]:
    """Return people with up to six visits each, of nobody too; towns and notes are cut, odd, empty or missing."""
    rng = random.Random(3)
    towns, words = ["Ayr", "Bath", "Århus-Nord", "", None], ["x", "y ", "éa", "éb", "日本", "abcdef", "", "x\n", None]
    owners = [one for one in range(60) for _ in range(rng.randrange(7))] + [None, 99]
    people = {
        "id": list(range(60)),
        "town": [rng.choice(towns) for _ in range(60)],
        "age": [one % 10 for one in range(60)],
    }
    visits = {
        "id": owners,
        "note": [rng.choice(words) for _ in owners],
        "cost": [rng.choice([None, *range(12)]) for _ in owners],
    }
    return {"people": pa.table(people), "visits": pa.table(visits)}


@contextmanager
def both(
    spark: Any, folder: Path, made: Mapping[str, pa.Table] | None = None, database: Database = DATABASE
) -> Iterator[tuple[Any, Any]]:
    """Open the same tables here and on a cluster."""
    made = tables() if made is None else made
    frames: dict[str, Any] = {}
    for name, table in made.items():
        pq.write_table(table, folder / f"{name}.parquet")
        frames[name] = spark.read.parquet(str(folder / f"{name}.parquet"))
    with open_database(made, database) as here, open_database(frames, database) as there:
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
        for statement in (*OTHERS, *NEWER):
            assert_alike(here, there, statement)


def test_spark_keeps_the_same_groups_of_a_person(spark: Any, tmp_path: Path) -> None:
    with both(spark, tmp_path) as (here, there):
        assert_alike(here, there, NEWER[2])


@pytest.mark.audit
def test_spark_finds_the_same_groups(spark: Any, tmp_path: Path) -> None:
    with both(spark, tmp_path, notes(), NOTES) as (here, there):
        for statement in FOUND:
            assert_alike(here, there, statement)


def test_spark_leads_events_to_the_same_events(spark: Any, tmp_path: Path) -> None:
    with both(spark, tmp_path, care(), CARE) as (here, there):
        assert totals(here, LED[4]) == totals(there, LED[4])


@pytest.mark.audit
@pytest.mark.parametrize("text", [False, True])
def test_spark_gives_the_same_totals_of_events_that_lead_to_events(spark: Any, tmp_path: Path, text: bool) -> None:
    with both(spark, tmp_path, care(text), CARE) as (here, there):
        for statement in LED:
            assert_alike(here, there, statement)


def assert_alike(here: Any, there: Any, statement: str) -> None:
    """Compare all that the questions of a statement read, and that it is something."""
    selects = read_statement(statement, here.database).selects
    assert selects == read_statement(statement, there.database).selects
    for select in selects:
        found = reading(here, select.statement)
        assert found == reading(there, select.statement), statement
        assert any(map(any, found.values())), statement
