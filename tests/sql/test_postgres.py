"""Statements over tables of a server, and of one DuckDB file: the exact totals are those of tables in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from sfumato.table.own import open_database
from tests.sql.test_events import CARE
from tests.sql.test_events import STATEMENTS as LED
from tests.sql.test_events import tables as care
from tests.sql.test_found import DATABASE as NOTES
from tests.sql.test_spark import FOUND, NEWER, OTHERS, STATEMENTS, assert_alike, notes
from tests.sql.test_statements import DATABASE, tables, totals

TYPES = {pa.int64(): "bigint", pa.string(): "text", pa.bool_(): "boolean", pa.date32(): "date", pa.float64(): "float8"}


def _same(sources: Any) -> None:
    with open_database(tables(), DATABASE) as here, open_database(sources, DATABASE) as there:
        assert here.people == there.people and here.database.fingerprint == there.database.fingerprint
        for statement in STATEMENTS:
            assert totals(here, statement) == totals(there, statement), statement
        for statement in (*OTHERS, *NEWER):
            assert_alike(here, there, statement)


@contextmanager
def on_server(url: str, made: Mapping[str, pa.Table]) -> Iterator[dict[str, str]]:
    """Hold tables on a server, and return their sources; a test beside this one waits with tables of these names."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(19)")
        for name, table in made.items():
            typed = ", ".join(f"{field.name} {TYPES[field.type]}" for field in table.schema)
            connection.execute(f"DROP TABLE IF EXISTS {name}; CREATE TABLE {name} ({typed})")
            with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                for row in table.to_pylist():
                    copy.write_row(list(row.values()))
        try:
            yield dict.fromkeys(made, url)
        finally:
            connection.execute(f"DROP TABLE {', '.join(made)}")


def test_a_server_gives_the_same_totals(postgres: str) -> None:
    with on_server(postgres, tables()) as sources:
        _same(sources)


def test_on_a_server_the_same_groups_are_found(postgres: str) -> None:
    with (
        on_server(postgres, notes()) as sources,
        open_database(notes(), NOTES) as here,
        open_database(sources, NOTES) as there,
    ):
        for statement in FOUND:
            assert_alike(here, there, statement)


@pytest.mark.parametrize("text", [True, pytest.param(False, marks=pytest.mark.audit)])
def test_on_a_server_events_lead_to_the_same_events(postgres: str, text: bool) -> None:
    with (
        on_server(postgres, care(text)) as sources,
        open_database(care(text), CARE) as here,
        open_database(sources, CARE) as there,
    ):
        for statement in LED:
            assert_alike(here, there, statement)


def test_a_file_of_several_tables_gives_the_same_totals(tmp_path: Path) -> None:
    file = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(file)) as connection:
        for name, table in tables().items():
            connection.register("given", table)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    _same(dict.fromkeys(DATABASE.tables, file))
