"""The same rows in another order, with their columns in another order, or in another engine, are read the same."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import ibis
import pyarrow
import pytest
from pyarrow import parquet

from sfumato.errors import SfumatoError
from sfumato.privacy import REPLACE_ONE
from sfumato.table import data
from sfumato.table.data import open_table
from sfumato.table.engine import Source
from tests.replay import dirt, harness, seam
from tests.replay.extreme import base
from tests.replay.questions import every_question
from tests.replay.worlds import Draws, Rows, World, arrow, worlds
from tests.table.cluster import SPARK_MARKS

WORLDS = {world.name: world for world in worlds()}
NAMES = ["one row", "two keyed", pytest.param("no person", marks=pytest.mark.audit)]


MEASURES = (
    "Count(missing)", "People by", "Variance", "Mean(where)", "Histogram of two", "Histogram of a month",
    "Histogram private text", "GroupBy", "GroupBy private", "Quantiles where", "Distribution large", "Queries",
    "Learn PrivateThreshold",
)  # fmt: skip
"""Questions that together read every kind of column by every kind of measure."""


def plans(world: World, names: Sequence[str] | None = None) -> Iterator[tuple[str, seam.Plan]]:
    """Yield every question at the first spend that it takes."""
    for name, question in every_question(world.schema).items():
        if names is not None and name not in names:
            continue
        for spend in harness.chosen_spends(name, world, REPLACE_ONE, len(harness.SPENDS)):
            with suppress(SfumatoError):
                yield name, seam.plan(question, world, harness.CROWD, REPLACE_ONE, spend)
                break


def differing(world: World, one: Any, other: Any, names: Sequence[str] | None = None, **options: Any) -> list[str]:
    """Return the questions of which two sources give different numbers."""
    found = []
    with (
        seam.remembering(shared=False),
        open_table(one, world.schema) as first,
        open_table(other, world.schema, **options) as second,
    ):
        for name, plan in plans(world, names):
            laid = [[dict(part.vector) for part in plan.parts(plan.read(table))] for table in (first, second)]
            if laid[0] != laid[1]:
                found.append(name)
    return found


def rows_of(world: World) -> Rows:
    """Return a base table, in which some rows are there twice."""
    rows = base(Draws(80), world)
    return rows if world.schema.row_key is not None else [*rows, *rows[:4]]


@pytest.mark.parametrize("world", NAMES)
def test_rows_and_columns_in_another_order_are_read_the_same(world):
    rows = arrow(rows_of(WORLDS[world]))
    order = sorted(range(len(rows)), key=lambda place: place * 7 % len(rows) if len(rows) % 7 else -place)
    turned = rows.take(pyarrow.array(order)).select(rows.column_names[::-1])
    assert differing(WORLDS[world], rows, turned) == []


def test_queries_of_only_the_columns_that_are_read_give_the_same(monkeypatch):
    """What is planned before it is charged binds few columns; the replay reads what nobody planned, and all of them."""
    world, narrowed = WORLDS["no person"], []
    narrow = Source._narrow

    def counted(source, query, read):
        found = narrow(source, query, read)
        narrowed.append(found != query)
        return found

    monkeypatch.setattr(Source, "_narrow", counted)
    rows = arrow(rows_of(world))
    with open_table(rows, world.schema) as first, open_table(rows, world.schema) as second:
        for name, plan in plans(world):
            plan.prepared.check(first)
            laid = [[dict(part.vector) for part in plan.parts(plan.read(table))] for table in (first, second)]
            assert laid[0] == laid[1], name
    assert sum(narrowed) > len(narrowed) / 4


def test_rows_in_another_order_are_found_where_the_first_ones_count(monkeypatch):
    """Rows picked by their place in the table."""

    def as_found(coded, schema, rule, engine):
        return coded.mutate(sfumato_order=ibis.row_number().cast("int32"))

    world = WORLDS["one row"]
    rows = arrow(rows_of(world))
    monkeypatch.setattr(data, "ordered", as_found)
    assert differing(world, rows, rows.take(pyarrow.array(range(len(rows) - 1, -1, -1))))


KINDS = {"id": "text", "job": "text", "town": "text", "ward": "text", "pay": "float8", "ill": "boolean",
         "scar": "boolean", "seen": "date"}  # fmt: skip


@contextmanager
def stored(postgres: str, rows: pyarrow.Table, kinds: Mapping[str, str]) -> Iterator[str]:
    """Store rows in a table of a server, of bigint where nothing else is said, and yield its name."""
    import psycopg

    name = f"replay_{os.getpid()}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        typed = ", ".join(f"{column} {kinds.get(column, 'bigint')}" for column in rows.column_names)
        connection.execute(f"DROP TABLE IF EXISTS {name}; CREATE TABLE {name} ({typed})")
        with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in rows.to_pylist():
                copy.write_row(list(row.values()))
        try:
            yield name
        finally:
            connection.execute(f"DROP TABLE {name}")


@pytest.mark.parametrize("world", ["two keyed", pytest.param("no person", marks=pytest.mark.audit)])
def test_a_server_reads_the_same(world, postgres):
    rows = arrow(rows_of(WORLDS[world]))
    with stored(postgres, rows, KINDS) as name:
        assert differing(WORLDS[world], rows, postgres, table=name) == []


def test_a_server_reads_odd_texts_the_same(postgres, tmp_path):
    """Every column is text, in the collation of the server, some of them padded, and one cell in three is odd."""
    rows = dirt.SOURCES["text"](True, 400, tmp_path)
    for place, name in enumerate(rows.column_names):
        # What PostgreSQL cannot hold in a text.
        cells = [None if cell is None else cell.replace("\x00", "?") for cell in rows.column(name).to_pylist()]
        rows = rows.set_column(place, name, pyarrow.array(cells, pyarrow.string()))
    world = WORLDS["two rows"]
    with stored(postgres, rows, dict.fromkeys(rows.column_names, "text")) as name:
        assert differing(world, rows, postgres, MEASURES, table=name) == []


@pytest.mark.audit
class TestSpark:
    pytestmark = SPARK_MARKS

    def test_a_cluster_reads_the_same(self, spark: Any, tmp_path: Any) -> None:
        rows = arrow(rows_of(WORLDS["two keyed"]))
        parquet.write_table(rows, tmp_path / "rows.parquet")
        frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
        assert differing(WORLDS["two keyed"], rows, frame) == []

    @pytest.mark.parametrize("ansi", ["true", "false"])
    def test_a_cluster_reads_odd_cells_the_same(self, spark: Any, tmp_path: Any, ansi: str) -> None:
        """Whatever the zone of the session, its ANSI mode, and whether it tells names apart by case."""
        file = dirt.SOURCES["parquet"](True, 400, tmp_path)
        settings = {
            "spark.sql.ansi.enabled": ansi,
            "spark.sql.caseSensitive": ansi,
            "spark.sql.session.timeZone": "Asia/Kathmandu" if ansi == "true" else "America/New_York",
        }
        before = {setting: spark.conf.get(setting) for setting in settings}
        try:
            for setting, to in settings.items():
                spark.conf.set(setting, to)
            assert differing(WORLDS["two rows"], file, spark.read.parquet(str(file)), MEASURES) == []
        finally:
            for setting, to in before.items():
                spark.conf.set(setting, to)
