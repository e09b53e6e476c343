"""The same on servers and clusters, and the longer sweeps."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.errors import SchemaError
from sfumato.table import Schema, open_table
from sfumato.table.database import Database
from sfumato.table.own import open_database
from tests.imputed import Domain
from tests.table.cluster import SPARK_MARKS
from tests.table.odd import CENTS, DAY, ENDS, LABEL, NOTE, NUMBER, TRUTH, in_memory, outcome

pytestmark = SPARK_MARKS

POSTGRES: dict[str, tuple[str, list[str], str, Domain]] = {
    "float8": ("float8", ["'NaN'", "'Infinity'", "'-Infinity'", "1e300", "NULL"], "5", CENTS),
    "numeric": ("numeric", ["'NaN'", "'Infinity'", "1e1000", "1e-1000", "NULL"], "5", NUMBER),
    "date": ("date", ["'infinity'", "'-infinity'", "'4713-01-01 BC'", "'5874897-01-01'", "NULL"], "'2000-02-29'", DAY),
    "timestamp": (
        "timestamp",
        ["'infinity'", "'-infinity'", "'4713-01-01 BC'", "'294276-01-01'", "NULL"],
        "'2000-02-29 23:59:59.999999'",
        DAY,
    ),
    "text": ("text", ["''", r"E'b\t\n\\\\N'", "repeat('x', 3000000)", r"E'\xff'", "NULL"], "'a'", NOTE),
    "bytea": ("bytea", [r"'\xff'", "''", "NULL"], "'a'", LABEL),
    "int8": ("int8", ["9223372036854775807", "-9223372036854775808", "NULL"], "5", NUMBER),
}


@pytest.fixture(scope="module")
def server(postgres: str) -> Iterator[str]:
    """A database of unchecked bytes: the one kind in which text can be no UTF-8."""
    import psycopg

    name = f"odd_cells_{os.getpid()}"  # every worker has its own
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        )
    yield re.sub(r"/postgres\?", f"/{name}?", postgres)
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


class TestPostgres:
    @pytest.mark.parametrize("name", list(POSTGRES))
    def test_odd_cells_move_nothing(self, server: str, name: str) -> None:
        import psycopg

        kind, odd, clean, domain = POSTGRES[name]
        seen = []
        with psycopg.connect(server, autocommit=True) as connection:
            for values in ([*odd, clean], [clean] * (len(odd) + 1)):
                connection.execute(f"DROP TABLE IF EXISTS people; CREATE TABLE people (c {kind})")
                connection.execute("INSERT INTO people VALUES " + ", ".join(f"({value})" for value in values))
                seen.append(outcome(server, domain, table="people"))
        assert seen[0] == seen[1] and not isinstance(seen[0][0], str), seen

    def test_views_and_unlisted_types_are_refused_and_ids_stay_apart(self, server: str) -> None:
        import psycopg

        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS base CASCADE")
            connection.execute("CREATE TABLE base (id numeric, name text, c text, odd json, many text[])")
            values = r"(100000000000000000001, E'\377'), (100000000000000000002, E'\376'), (NULL, '')"
            connection.execute(f"INSERT INTO base (id, name) VALUES {values}")
            connection.execute("CREATE VIEW casts AS SELECT CAST(c AS int) AS c FROM base")
            connection.execute("CREATE MATERIALIZED VIEW kept AS SELECT c FROM base")
        with pytest.raises(SchemaError, match="is a view"):
            open_table(server, Schema({"c": NUMBER}), table="casts")
        for column, kind in (("odd", "json"), ("many", "_text")):
            with pytest.raises(SchemaError, match=f"'{column}' is {kind}"):
                open_table(server, Schema({column: LABEL}), table="base")
        with open_table(server, Schema({"c": NUMBER}), table="kept") as table:
            assert table.people == 3
        for person in ("id", "name"):
            with open_table(server, Schema({"c": NUMBER}, person=person), table="base") as table:
                assert table.people == 2

    def test_what_decides_by_cells_which_rows_are_read_is_refused(self, server: str) -> None:
        """Row security, and foreign tables at any depth, are views by another name."""
        import psycopg

        role, user = f"sfumato_{os.getpid()}", re.compile("//[^:@]*")
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute("CREATE TABLE policed (c int); INSERT INTO policed VALUES (0), (5)")
            connection.execute(f"CREATE ROLE {role} LOGIN; GRANT SELECT ON policed TO {role}")
            connection.execute("ALTER TABLE policed ENABLE ROW LEVEL SECURITY")
            connection.execute(f"CREATE POLICY few ON policed TO {role} USING (10 / c > 0)")
            connection.execute("CREATE FOREIGN DATA WRAPPER far; CREATE SERVER far FOREIGN DATA WRAPPER far")
            connection.execute("CREATE TABLE parts (c int, d int) PARTITION BY LIST (c)")
            connection.execute("CREATE TABLE part PARTITION OF parts FOR VALUES IN (1) PARTITION BY LIST (d)")
            connection.execute("CREATE FOREIGN TABLE away PARTITION OF part FOR VALUES IN (1) SERVER far")
        try:
            with pytest.raises(SchemaError, match="row security"):
                open_table(user.sub(f"//{role}", server), Schema({"c": NUMBER}), table="policed")
            with pytest.raises(SchemaError, match="in part a foreign table"):
                open_table(server, Schema({"c": NUMBER}), table="parts")
            with open_table(server, Schema({"c": NUMBER}), table="policed") as table:
                assert table.people == 2  # the owner sees all rows
        finally:
            with psycopg.connect(server, autocommit=True) as connection:
                connection.execute(
                    f"DROP TABLE policed, parts; DROP ROLE {role}; DROP FOREIGN DATA WRAPPER far CASCADE"
                )

    def test_casts_of_others_are_not_used_and_equal_ids_are_one(self, server: str) -> None:
        import psycopg

        kinds = "id numeric, code char(3), m mood, c bool"
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS moods; DROP TYPE IF EXISTS mood CASCADE")
            connection.execute("CREATE TYPE mood AS ENUM ('a', 'b')")
            fails = "begin raise exception 'secret'; end"
            connection.execute(f"CREATE FUNCTION fails(mood) RETURNS text LANGUAGE plpgsql AS $$ {fails} $$")
            connection.execute("CREATE CAST (mood AS text) WITH FUNCTION fails(mood) AS ASSIGNMENT")
            connection.execute(f"CREATE TABLE moods ({kinds})")
            values = "(1, 'x', 'a', true), (1.0, 'x ', 'b', false), (1.00, 'X', 'b', null), (10, 'y', null, true)"
            connection.execute(f"INSERT INTO moods VALUES {values}")
        try:
            schema = Schema({"m": LABEL, "c": TRUTH})
            with open_table(server, schema, table="moods") as table:
                assert table.view(["m"]).sparse_counts(["m"]) == {(0,): 1, (1,): 2, (LABEL.missing_code,): 1}
                assert table.view(["c"]).sparse_counts(["c"]) == {(0,): 2, (1,): 2}
            for person, people in (("id", 2), ("code", 3)):
                with open_table(server, Schema({"m": LABEL}, person=person), table="moods") as table:
                    assert table.people == people
        finally:
            with psycopg.connect(server, autocommit=True) as connection:
                connection.execute("DROP TABLE moods; DROP TYPE mood CASCADE")


@pytest.mark.audit
class TestSpark:
    @pytest.mark.parametrize("name", ["string", "binary", "double", "date", "moment", "decimal"])
    def test_odd_cells_move_nothing(self, spark: Any, name: str, tmp_path: Path) -> None:
        texts = [b"\xff", b"", b"a\x00", b"nan", None]
        odd: dict[str, tuple[pa.Array, pa.Array, Domain]] = {
            "string": (pa.array(texts, pa.binary()).view(pa.string()), pa.array(["a"]), NOTE),
            "binary": (pa.array(texts, pa.binary()), pa.array([b"a"]), LABEL),
            "double": (pa.array([float("nan"), float("inf"), 1e308, None]), pa.array([1.0]), CENTS),
            "date": (pa.array([2**31 - 1, -(2**31), None], pa.int32()).view(pa.date32()), DAYS, DAY),
            "moment": (
                pa.array([*ENDS, None], pa.int64()).view(pa.timestamp("us")),
                DAYS.cast(pa.timestamp("us")),
                DAY,
            ),
            "decimal": (pa.array([10**18 - 1, None], pa.decimal128(38)), pa.array([1], pa.decimal128(38)), NUMBER),
        }
        cells, clean, domain = odd[name]
        seen = []
        for place, data in enumerate((pa.concat_arrays([cells, clean]), pa.concat_arrays([clean] * (len(cells) + 1)))):
            pq.write_table(pa.table({"c": data}), tmp_path / f"{place}.parquet")
            seen.append(outcome(spark.read.parquet(str(tmp_path / f"{place}.parquet")), domain))
        assert seen[0] == seen[1] and not isinstance(seen[0][0], str), seen

    def test_equal_decimals_of_two_tables_are_one_person(self, spark: Any) -> None:
        schema = Schema({"c": NUMBER}, person="id")
        ids = "VALUES (7, 1), (0.000000001, 1), (0, 1), (7.000, 2), (-100.5, 3) AS t(n, c)"
        kinds = ("decimal(20, 10)", "decimal(30, 12)")
        for ansi in ("true", "false"):  # which decides how Spark writes a small decimal
            spark.conf.set("spark.sql.ansi.enabled", ansi)
            try:
                frames = []
                for place, kind in enumerate(kinds):
                    name = f"sfumato_ids_{place}"
                    spark.sql(f"DROP TABLE IF EXISTS {name}")
                    spark.sql(f"CREATE TABLE {name} USING parquet AS SELECT CAST(n AS {kind}) AS id, c FROM {ids}")
                    frames.append(spark.table(name))
                with open_database(dict(zip("ab", frames, strict=True)), Database({"a": schema, "b": schema})) as found:
                    assert found.people == 4
            finally:
                spark.conf.unset("spark.sql.ansi.enabled")
                for place in range(len(kinds)):
                    spark.sql(f"DROP TABLE IF EXISTS sfumato_ids_{place}")

    def test_frames_that_compute_are_refused(self, spark: Any, tmp_path: Path) -> None:
        ids = pa.array([b"\xff", b"\xfe", b"", None], pa.binary()).view(pa.string())
        pq.write_table(pa.table({"c": ["1", "x", "2", "3"], "id": ids}), tmp_path / "a.parquet")
        frame = spark.read.parquet(str(tmp_path / "a.parquet"))
        frame.createOrReplaceTempView("plain")
        schema = Schema({"c": NUMBER})
        for computed in (frame.selectExpr("CAST(c AS INT) AS c"), frame.where("c > 1"), frame.groupBy("c").count()):
            with pytest.raises(SchemaError, match="write it to Parquet first"):
                open_table(computed, schema)
        for plain in (
            frame.select("c"),
            frame.cache(),
            spark.table("plain"),
            spark.createDataFrame([("1",)] * 4, "c string"),
        ):
            with open_table(plain, schema) as table:
                assert table.people == 4
        with open_table(frame, Schema({"c": NUMBER}, person="id")) as table:
            assert table.people == 2

    @pytest.mark.parametrize(
        ("setting", "to", "says"),
        [
            ("spark.sql.parquet.datetimeRebaseModeInRead", "EXCEPTION", "CORRECTED"),
            ("spark.sql.parser.escapedStringLiterals", "true", "to false"),
            ("spark.sql.groupByOrdinal", "false", "to true"),
        ],
    )
    def test_sessions_that_misread_are_refused(self, spark: Any, setting: str, to: str, says: str) -> None:
        frame = spark.createDataFrame([("1",)] * 4, "c string")
        spark.conf.set(setting, to)
        try:
            with pytest.raises(SchemaError, match=says):
                open_table(frame, Schema({"c": NUMBER}))
        finally:
            spark.conf.unset(setting)

    def test_readers_that_drop_rows_and_texts_that_compare_as_equal_are_refused(
        self, spark: Any, tmp_path: Path
    ) -> None:
        (tmp_path / "a.csv").write_text("1,a\nx,b\n2,c\n")
        read = spark.read.schema("c int, d string")
        for mode in ("DROPMALFORMED", "failfast"):
            with pytest.raises(SchemaError, match=mode.upper()):
                open_table(read.option("mode", mode).csv(str(tmp_path / "a.csv")), Schema({"c": NUMBER}))
        with open_table(spark.read.schema("c int").csv(str(tmp_path / "a.csv")), Schema({"c": NUMBER})) as table:
            assert table.people == 3
        for person in (None, "c"):
            frame = spark.createDataFrame([("A", 1), ("a", 2)], "c string collate UTF8_LCASE, d int")
            columns = {"d": NUMBER} if person else {"c": LABEL}
            with pytest.raises(SchemaError, match="string collate UTF8_LCASE"):
                open_table(frame, Schema(columns, person=person))


DAYS = pa.array([10_957], pa.int32()).view(pa.date32())


@pytest.mark.audit
@pytest.mark.parametrize("odd", list(in_memory()), ids=lambda odd: odd.name)
def test_each_odd_cell_is_read_alone_as_in_company(odd: Any, tmp_path: Path) -> None:
    """One cell a file, every file with and without statistics: nobody else's cell is part of a reading."""
    together = _codes(odd.table(odd=True), odd.domain)
    alone: list[Any] = []
    for place in range(len(odd.clean) + len(odd.cells)):
        data = odd.table(odd=True).slice(place, 1)
        found = _codes(data, odd.domain)
        alone += found
        for statistics in (True, False):
            path = tmp_path / "one.parquet"
            try:
                pq.write_table(data, path, write_statistics=statistics)
                again = _codes(path, odd.domain)
            except (pa.ArrowException, SchemaError):
                continue  # what Parquet cannot hold is refused when it is written or opened
            assert again == found or odd.name == "date64"  # which is written as another type
    assert sorted(alone) == sorted(together)


@pytest.mark.audit
def test_a_text_of_40_million_bytes_is_one_cell_like_any_other(tmp_path: Path) -> None:
    huge = pa.table({"c": pa.array(["a", "9" * 40_000_000])})
    small = pa.table({"c": ["a", "b"]})
    for domain in (LABEL, NOTE, NUMBER, DAY):
        seen = []
        for data in (huge, small):
            pq.write_table(data, tmp_path / "people.parquet")
            sources = (data, tmp_path / "people.parquet")
            seen.append([outcome(source, domain) for source in sources])
        assert seen[0] == seen[1] and not isinstance(seen[0][0][0], str)


def _codes(source: Any, domain: Domain) -> list[Any]:
    with open_table(source, Schema({"c": domain})) as table:
        counted = table.view(["c"]).sparse_counts(["c"])
    return list(itertools.chain.from_iterable([code] * times for code, times in counted.items()))
