"""The same rows in another order, with their columns in another order, or in another engine, are read the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import ibis
import pyarrow
import pytest
from pyarrow import parquet

from sfumato.errors import SfumatoError
from sfumato.privacy import REPLACE_ONE
from sfumato.table import data
from sfumato.table.data import open_table
from tests.replay import harness, seam
from tests.replay.extreme import base
from tests.replay.questions import every_question
from tests.replay.worlds import Draws, Rows, World, arrow, worlds
from tests.table.cluster import SPARK_MARKS

WORLDS = {world.name: world for world in worlds()}
NAMES = ["one row", "two keyed", pytest.param("no person", marks=pytest.mark.audit)]


def plans(world: World) -> Iterator[tuple[str, seam.Plan]]:
    """Yield every question at the first spend that it takes."""
    for name, question in every_question(world.schema).items():
        for spend in harness.chosen_spends(name, world, REPLACE_ONE, len(harness.SPENDS)):
            with suppress(SfumatoError):
                yield name, seam.plan(question, world, harness.CROWD, REPLACE_ONE, spend)
                break


def differing(world: World, one: Any, other: Any, **options: Any) -> list[str]:
    """Return the questions of which two sources give different numbers."""
    patch, found = seam.remembering(), []
    with open_table(one, world.schema) as first, open_table(other, world.schema, **options) as second:
        for name, plan in plans(world):
            laid = [[dict(part.vector) for part in plan.parts(plan.read(table))] for table in (first, second)]
            if laid[0] != laid[1]:
                found.append(name)
    patch.undo()
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


@pytest.mark.parametrize("world", ["two keyed", pytest.param("no person", marks=pytest.mark.audit)])
def test_a_server_reads_the_same(world, postgres):
    import psycopg

    rows, name = rows_of(WORLDS[world]), f"replay_{os.getpid()}"
    columns = arrow(rows).column_names
    with psycopg.connect(postgres, autocommit=True) as connection:
        typed = ", ".join(f"{column} {KINDS.get(column, 'bigint')}" for column in columns)
        connection.execute(f"DROP TABLE IF EXISTS {name}; CREATE TABLE {name} ({typed})")
        with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in rows:
                copy.write_row([row[column] for column in columns])
    try:
        assert differing(WORLDS[world], arrow(rows), postgres, table=name) == []
    finally:
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute(f"DROP TABLE {name}")


@pytest.mark.audit
class TestSpark:
    pytestmark = SPARK_MARKS

    def test_a_cluster_reads_the_same(self, spark: Any, tmp_path: Any) -> None:
        rows = arrow(rows_of(WORLDS["two keyed"]))
        parquet.write_table(rows, tmp_path / "rows.parquet")
        frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
        assert differing(WORLDS["two keyed"], rows, frame) == []
