"""Statements over tables of a server, and of one DuckDB file: the exact totals are those of tables in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from sfumato.table.own import open_database
from tests.sql.test_spark import STATEMENTS
from tests.sql.test_statements import DATABASE, tables, totals

TYPES = {pa.int64(): "bigint", pa.string(): "text", pa.bool_(): "boolean", pa.date32(): "date", pa.float64(): "float8"}


def _same(sources: Any) -> None:
    with open_database(tables(), DATABASE) as here, open_database(sources, DATABASE) as there:
        assert here.people == there.people and here.database.fingerprint == there.database.fingerprint
        for statement in STATEMENTS:
            assert totals(here, statement) == totals(there, statement), statement


def test_a_server_gives_the_same_totals(postgres: str) -> None:
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        for name, table in tables().items():
            typed = ", ".join(f"{field.name} {TYPES[field.type]}" for field in table.schema)
            connection.execute(f"DROP TABLE IF EXISTS {name}; CREATE TABLE {name} ({typed})")
            with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                for row in table.to_pylist():
                    copy.write_row(list(row.values()))
        try:
            _same(dict.fromkeys(DATABASE.tables, postgres))
        finally:
            connection.execute(f"DROP TABLE {', '.join(DATABASE.tables)}")


def test_a_file_of_several_tables_gives_the_same_totals(tmp_path: Path) -> None:
    file = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(file)) as connection:
        for name, table in tables().items():
            connection.register("given", table)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    _same(dict.fromkeys(DATABASE.tables, file))
