from __future__ import annotations

import gzip
import time
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from sfumato.errors import SchemaError
from sfumato.table import Schema, open_source, open_table, reading
from tests.imputed import booleans, categories, dates, fixed, integers, text

pytestmark = [
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:fetch_record_batch:DeprecationWarning"),
]

DATA = pa.table(
    {
        "id": pa.array([1, 1, 2, None, 3], pa.int64()),
        "age": pa.array([20, 30, 40, 50, 1_000], pa.int64()),
        "gain": pa.array([0.5, 1.25, float("nan"), 2.0, 1e30], pa.float64()),
        "city": pa.array(["Ayr", "Bath", "x", "Ayr", None], pa.string()),
        "ok": pa.array([True, False, None, True, True], pa.bool_()),
        "born": pa.array([date(2000, 1, 1), None, date(1700, 1, 1), date(2001, 1, 1), date(2002, 2, 2)], pa.date32()),
        "extra": pa.array([b"1"] * 5, pa.binary()),
    }
)
SCHEMA = Schema(
    {
        "age": integers(0, 99),
        "gain": fixed(0, 10, step="0.25", missing=5),
        "city": categories("Ayr", "Bath", other="?"),
        "ok": booleans(),
        "born": dates("1900-01-01", "2010-01-01"),
    },
    person="id",
    rows_per_person=2,
)


def answers(source: Any, **options: Any) -> tuple[Any, ...]:
    with open_table(source, SCHEMA, **options) as table:
        view = table.view(SCHEMA.names, table.rule(whole=True))
        return (
            table.people,
            view.counts(["city", "ok"]).tolist(),
            int(view.sums("age")),
            int(view.sums("gain")),
            view.sparse_counts(["born"]),
        )


EXPECTED = answers(DATA)


def test_the_answers_are_what_the_schema_says() -> None:
    days = SCHEMA.domain("born")
    first, late, last = (days.encode(day) for day in (None, date(2000, 1, 1), date(2002, 2, 2)))
    assert (
        3,
        [[0, 1], [1, 0], [1, 1]],
        20 + 30 + 40 + 99,
        2 + 5 + 20 + 40,
        {(first,): 2, (late,): 1, (last,): 1},
    ) == EXPECTED


def write_csv(path: Path, divider: str = ",") -> None:
    lines = ["id,age,gain,city,ok,born,extra".replace(",", divider)]
    for row in DATA.to_pylist():
        cells = ["" if cell is None else str(cell) for cell in row.values()]
        lines.append(divider.join(cells))
    data = ("\ufeff" + "\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def test_every_source_gives_the_same_answers(tmp_path: Path) -> None:
    pq.write_table(DATA, tmp_path / "a.parquet")
    (tmp_path / "parts").mkdir()
    pq.write_table(DATA.slice(0, 2), tmp_path / "parts" / "1.parquet")
    pq.write_table(DATA.slice(2), tmp_path / "parts" / "2.parquet")
    for name in ("a.csv", "a.csv.gz", "a.tsv"):
        write_csv(tmp_path / name, "\t" if "tsv" in name else ",")
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.register("data", DATA)
        connection.execute("CREATE TABLE people AS SELECT * FROM data")
    sources: list[Any] = [
        tmp_path / "a.parquet",
        str(tmp_path / "parts"),
        str(tmp_path / "parts" / "*.parquet"),
        tmp_path / "a.csv",
        tmp_path / "a.csv.gz",
        tmp_path / "a.tsv",
        tmp_path / "a.duckdb",
        DATA.to_batches()[0],
        DATA.to_reader(),
        pa.dataset.dataset(tmp_path / "a.parquet"),
        DATA.to_pandas(types_mapper=pd.ArrowDtype),
        pl.from_arrow(DATA),
        pl.from_arrow(DATA).lazy(),  # type: ignore[union-attr]
    ]
    for source in sources:
        assert answers(source) == EXPECTED, source


def test_a_pandas_column_of_any_objects_is_text() -> None:
    frame = pd.DataFrame({"age": pd.Series([20, "30", None, [1], {"a": 1}, "x\ud800"], dtype=object)})
    with open_table(frame, Schema({"age": integers(0, 99, missing=7)})) as table:
        assert table.view(["age"]).sorted_codes("age").tolist() == [7, 7, 7, 7, 20, 30]


def test_ibis_tables_stay_open_and_other_engines_are_copied() -> None:
    connection = ibis.duckdb.connect()
    connection.con.register("frame", DATA)
    connection.con.execute("CREATE TABLE data AS SELECT * FROM frame")
    connection.con.unregister("frame")
    table = connection.table("data")
    assert answers(table) == EXPECTED == answers(table.drop("extra")) == answers(ibis.memtable(DATA))
    kept = connection.con.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    assert kept == [("data",)] and table.count().to_pyarrow().as_py() == 5
    assert not connection.con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    other = ibis.polars.connect({"data": pl.from_arrow(DATA)}).table("data")
    assert answers(other) == EXPECTED
    with pytest.raises(SchemaError, match="no connection"):
        open_source(ibis.table({"age": "int64"}, name="x"))
    with pytest.raises(SchemaError, match="is a table"):
        open_source(table.age)


def test_postgres_gives_the_same_answers(postgres: str) -> None:
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        kinds = "id bigint, age bigint, gain numeric, city text, ok boolean, born date"
        connection.execute(f"CREATE TABLE IF NOT EXISTS source_people ({kinds})")
        connection.execute("TRUNCATE source_people")
        names = kinds.replace(" bigint", "").split(", ")
        for row in DATA.drop_columns(["extra"]).to_pylist():
            values = ", ".join(["%s"] * len(names))
            connection.execute(f"INSERT INTO source_people VALUES ({values})", list(row.values()))
    assert answers(postgres, table="source_people") == EXPECTED
    with pytest.raises(SchemaError, match="did you mean 'source_people'"):
        open_source(postgres, table="source_peple")


def test_hostile_csv_lines_do_not_fail_the_others(tmp_path: Path) -> None:
    lines = [
        b"id,age,note",
        b'1,5,"a',
        b'b"',
        b"2",
        b"3,4,x,y,z",
        b"4,nan,q",
        b"5,1e1,\x00",
        b",8,nobody",
        b'7,"9",q',
        b"8,7,ok",
    ]
    (tmp_path / "h.csv").write_bytes(b"\n".join(lines) + b"\n")
    schema = Schema({"age": integers(0, 9), "note": text(max_bytes=5)}, person="id")
    with open_table(tmp_path / "h.csv", schema) as table:
        codes = table.view(["age"], table.rule(whole=True)).sorted_codes("age").tolist()
        assert table.people == len(codes) >= 5 and codes[-1] == 9


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        (b"Gyn\xe4k", "no UTF-8"),
        (b"\xc3", "no UTF-8"),
        (b'"' + b"short\n" * 11_500_000 + b'"', "more than 64 MB"),
        (b'"9"x', "a quote inside a cell"),
        (b'9"', "a quote inside a cell"),
        (b'"9\n3,4\n', "never closed"),
        (b"9\r3,4\n", "carriage return inside a line"),
    ],
    ids=["latin", "cut", "long", "after", "inch", "open", "return"],
)
def test_a_csv_file_of_which_a_line_would_be_left_out_is_refused(cell: bytes, says: str, tmp_path: Path) -> None:
    """Otherwise one cell of one person would change who is there."""
    (tmp_path / "h.csv").write_bytes(b"id,age\n1,5\n2," + cell)
    with pytest.raises(SchemaError, match=says):
        open_table(tmp_path / "h.csv", Schema({"age": integers(0, 9)}, person="id"))


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (Schema({"aeg": integers(0, 9)}), "did you mean 'age'"),
        (Schema({"age": integers(0, 9)}, person="idd"), "did you mean 'id'"),
        (Schema({"age": dates("2000-01-01", "2001-01-01")}), "'age' is int64"),
        (Schema({"born": integers(0, 9)}), "'born' is date"),
        (Schema({"city": categories(1, 2), "gain": categories("a")}), "'gain' is float64"),
        (Schema({"extra": integers(0, 3)}, person="born"), "person column 'born' is DATE"),
        (Schema({"age": integers(0, 9)}, person="gain"), "person column"),
    ],
)
def test_a_schema_that_does_not_match_is_refused_by_name(schema: Schema, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        open_table(DATA, schema)


def test_moments_with_time_zones_are_no_dates() -> None:
    data = pa.table({"born": pa.array([0], pa.timestamp("us", tz="Europe/Paris"))})
    with pytest.raises(SchemaError, match="born"):
        open_table(data, Schema({"born": dates("1960-01-01", "1980-01-01")}))


def test_sources_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"no parquet")
    (tmp_path / "a.duckdb").write_bytes(b"no database" * 1_000)
    (tmp_path / "a.xyz").write_bytes(b"")
    (tmp_path / "a.csv").write_bytes(b"age,Age\n1,2\n")
    with duckdb.connect(str(tmp_path / "two.duckdb")) as connection:
        connection.execute("CREATE TABLE one (x INT); CREATE TABLE two (x INT)")
    for source, says in [
        (tmp_path / "none.parquet", "no file"),
        (tmp_path / "a.parquet", "cannot be read"),
        (tmp_path / "a.duckdb", "no DuckDB file"),
        (tmp_path / "a.xyz", "ending"),
        (tmp_path / "a.csv", "name the columns"),
        (tmp_path / "two.duckdb", "2 tables"),
        ("postgresql://localhost:1/none", "does not answer"),
        (5, "not int"),
        (np.zeros(3), "not ndarray"),
    ]:
        with pytest.raises(SchemaError, match=says):
            open_source(source)
    assert open_source(tmp_path / "two.duckdb", table="two").table.columns == ("x",)


def test_engine_messages_that_quote_cells_do_not_leave() -> None:
    class Broken:
        def to_pyarrow(self) -> Any:
            raise duckdb.ConversionException("Could not convert string 'secret' to INT32")

    with open_table(DATA, SCHEMA) as table, pytest.raises(SchemaError, match="ConversionException") as error:
        table.run(Broken())
    assert "secret" not in str(error.value) and error.value.__cause__ is None and error.value.__context__ is None


@pytest.mark.parametrize("divider", [",", ";", "\t", "|"])
def test_the_first_line_says_what_divides_a_csv_file(tmp_path: Path, divider: str) -> None:
    rows = [["age", "sex", "a, note; here"], ["34", "F", "x"], ["71", "M", 'say "ah"']]
    text = "\n".join(divider.join(f'"{cell.replace(chr(34), 2 * chr(34))}"' for cell in row) for row in rows)
    (tmp_path / "a.csv").write_text("\ufeff" + text, encoding="utf-8")
    opened = open_source(tmp_path / "a.csv")
    assert opened.table.to_pyarrow().to_pylist()[1] == {"age": "71", "sex": "M", "a, note; here": 'say "ah"'}
    opened.close()


@pytest.mark.parametrize(
    ("name", "hint"), [("a.xlsx", "pandas.read_excel"), ("a.txt", "name it .csv"), ("a.json", "read_json")]
)
def test_other_endings_say_what_to_do(tmp_path: Path, name: str, hint: str) -> None:
    (tmp_path / name).write_text("age")
    with pytest.raises(SchemaError, match=hint):
        open_source(tmp_path / name)


def test_how_long_a_file_takes_to_open_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a pipe after two seconds; on a terminal it stands beside the bar."""
    pq.write_table(pa.table({"age": range(1000)}), tmp_path / "a.parquet")
    plain = reading._hashed
    monkeypatch.setattr(reading, "_hashed", lambda *how: (time.sleep(0.1), plain(*how)))
    monkeypatch.setattr("sfumato.show.progress.PATIENCE", 0.01)
    monkeypatch.setattr("sfumato.table.engine.Source.part_done", lambda _: 0.0001)
    with open_table(tmp_path / "a.parquet", Schema({"age": integers(0, 999)})):
        pass
    assert capsys.readouterr().err == "Opening takes about 2 minutes: every declared column is read once.\n"
