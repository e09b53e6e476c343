"""Reading never raises on data: an odd cell changes nothing that an analyst sees; ways to get this wrong are caught."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.errors import SchemaError
from sfumato.table import Schema, cells, open_table, reading
from sfumato.table.predicate import Codes
from tests.imputed import Domain, integers
from tests.table.odd import CENTS, DAY, LABEL, NOTE, NUMBER, in_memory, moved, outcome

pytestmark = [
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:fetch_record_batch:DeprecationWarning"),
]

ODD = {odd.name: odd for odd in in_memory()}
GATE = [
    "string category",
    "string text",
    "dictionary",
    "float64",
    "decimal256",
    "uint64",
    "timestamp[s]",
    "date64",
    "null",
]


def chosen(names: Iterable[str], gate: Iterable[str]) -> list[Any]:
    """Return all names; those that are too many for the gate wait for the audit."""
    return [name if name in gate else pytest.param(name, marks=pytest.mark.audit) for name in names]


def codes(source: Any, domain: Domain, **options: Any) -> list[int]:
    with open_table(source, Schema({"c": domain}), **options) as table:
        return [int(code) for code in table.view(["c"]).sorted_codes("c")]


def same(table: pa.Table) -> pa.Table:
    return table


@pytest.mark.parametrize("name", chosen(ODD, GATE))
def test_odd_arrow_cells_move_nothing_but_the_noisy_values(name: str) -> None:
    assert not moved(ODD[name], same)


class Hostile(str):
    """A text that cannot be asked for anything."""

    def encode(self, *_: Any) -> bytes:
        raise RuntimeError("encoded")

    def __eq__(self, _: object) -> bool:
        raise RuntimeError("compared")

    __hash__ = None  # type: ignore[assignment]


class Liar:
    """A cell that raises when anybody looks at it."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("asked for its class")

    def __str__(self) -> str:
        raise RuntimeError("spelled")


OBJECTS = [
    *(
        1,
        "2",
        None,
        3.0,
        1e300,
        -1e300,
        math.nan,
        Decimal(4),
        Decimal("sNaN"),
        Decimal("1e500"),
        10**5000,
        True,
        b"\xff",
    ),
    *(
        b"5",
        "x\ud800",
        Hostile("6"),
        Liar(),
        [1],
        pd.NA,
        pd.NaT,
        np.int64(8),
        np.float32(9),
        np.datetime64("2020-01-01"),
    ),
]
NUMBERS = [0, 1, 2, 3, 4, 5, 6, *[7] * 11, 8, 9, 99, 99, 99]


def test_pandas_cells_of_any_class_are_read_without_asking_them() -> None:
    frame = pd.DataFrame({"c": pd.Series(OBJECTS, dtype=object)})
    assert codes(frame, NUMBER) == sorted(NUMBERS)
    clean = pd.DataFrame({"c": pd.Series([1] * len(OBJECTS), dtype=object)})
    for domain in (NUMBER, NOTE):
        assert outcome(frame, domain) == outcome(clean, domain)
    days = [date(2000, 1, 1), date(1, 1, 1), datetime(2000, 1, 2), pd.Timestamp("2000-01-03"), pd.NaT, "2000-01-04"]
    days.append(datetime(2000, 1, 1, tzinfo=UTC))
    found = codes(pd.DataFrame({"c": pd.Series(days, dtype=object)}), DAY)
    assert found == sorted([*(DAY.encode(day) for day in days[:-1]), DAY.missing_code])


def test_frames_of_other_types_are_read_or_refused_by_name() -> None:
    assert codes(pd.DataFrame({"c": pd.array([1, None, 300], dtype="Int64")}), NUMBER) == [1, 7, 99]
    assert codes(pd.DataFrame({"c": pd.Categorical(["a", None, "zz"])}), LABEL) == [0, 2, 2]
    assert codes(pd.DataFrame({"c": pd.Categorical(["a", None, 5])}), LABEL) == [0, 2, 2]
    assert codes(pl.DataFrame({"c": ["a", None, "z"]}, schema={"c": pl.Categorical}), LABEL) == [0, 2, 2]
    odd = pd.Series(["x\ud800", "a"], dtype=pd.StringDtype("python"))
    assert codes(pd.DataFrame({"c": odd}), LABEL) == [0, 2]
    refused: list[tuple[Any, str]] = [
        (pd.DataFrame({"c": pd.cut([1, 2], 2), "x": 1}), "'c' is category"),
        (pd.DataFrame({"c": [1j], "x": 1}), "'c' is complex128"),
        (pl.DataFrame({"c": [object()], "x": [1]}, schema={"c": pl.Object, "x": pl.Int8}), "'c' is Object"),
        (pl.DataFrame({"c": [1], "x": [1]}, schema={"c": pl.Int128, "x": pl.Int8}), "'c' is Int128"),
        (pa.table({"c": pa.nulls(2, pa.uuid()), "x": [1, 2]}), "extension<arrow.uuid>"),
        (pa.table({"c": pa.nulls(2, pa.uuid())}), "no column of a type that is read: 'c' is extension"),
        (pa.table({"c": pa.array([[1]])}), "'c' is BIGINT"),
        (pa.table({"c": pa.array([{"a": 1}])}), "'c' is STRUCT"),
        (pa.table({"c": pa.array([0], pa.time64("us"))}), "'c' is TIME"),
        (pa.table({"c": pa.array([0], pa.duration("s"))}), "'c' is INTERVAL"),
        (pa.table({"c": pa.array([0], pa.timestamp("s", "UTC"))}), "'c' is timestamp"),
        (pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["c", "c"]), "same name"),
        *((pa.table({"c": one, "x": [1]}), f"'c' is {says}") for one, says in NAMELESS),
    ]
    for source, says in refused:
        with pytest.raises(SchemaError, match=says):
            open_table(source, Schema({"c": DAY}))


HUNDREDS = pa.array([Decimal(100)], pa.decimal128(5, -2))
NAMELESS = [
    (pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])]), "dense_union"),
    (pa.array([[1.0]], pa.list_(pa.float16())), "list"),
    (pa.nulls(1, pa.struct([("a", pa.decimal256(70, 3))])), "struct"),
    (HUNDREDS.dictionary_encode(), "dictionary"),
    (pa.RunEndEncodedArray.from_arrays([1], pa.array([{"a": 1}])), "run_end_encoded"),
    (pa.RunEndEncodedArray.from_arrays([1], pa.array([[1]])), "run_end_encoded"),
]
"""Columns of types that the engine cannot name, or loses."""


def test_a_column_that_nobody_declared_may_have_any_type() -> None:
    for column, _ in [*NAMELESS, (HUNDREDS, "")]:
        assert codes(pa.table({"y": column, "c": [5]}), NUMBER) == [5]
    assert codes(pa.table({"c": pa.array([Decimal(100), None], HUNDREDS.type)}), NUMBER) == [7, 99]


# DuckDB files

STORED = {
    "DATE": ("('infinity'), ('-infinity'), ('5877642-06-25 (BC)'), (NULL)", "('2000-02-29')", DAY),
    "TIMESTAMP_S": ("('infinity'), ('-infinity'), (NULL)", "('2000-02-29 12:00:00')", DAY),
    "TIMESTAMP_MS": ("('infinity'), ('-infinity'), (NULL)", "('2000-02-29 12:00:00')", DAY),
    "TIMESTAMP": ("('infinity'), ('-infinity'), (NULL)", "('2000-02-29 12:00:00')", DAY),
    "TIMESTAMP_NS": ("('infinity'), ('-infinity'), (NULL)", "('2000-02-29 12:00:00')", DAY),
    "HUGEINT": (f"({2**127 - 1}), ({-(2**127)}), (NULL)", "(5)", NUMBER),
    "UHUGEINT": (f"({2**128 - 1}), (NULL)", "(5)", NUMBER),
    "DOUBLE": ("('nan'), ('inf'), ('-inf'), (1e308), (NULL)", "(5)", CENTS),
    "ENUM('a', 'z')": ("('z'), (NULL)", "('a')", LABEL),
    "UUID": ("('00000000-0000-0000-0000-000000000000'), (NULL)", "(uuid())", LABEL),
    "BLOB": ("('\\xFF'::BLOB), (''::BLOB), (NULL)", "('a'::BLOB)", LABEL),
}


@pytest.mark.parametrize("kind", chosen(STORED, ["DATE", "TIMESTAMP_MS", "HUGEINT", "ENUM('a', 'z')"]))
def test_odd_cells_of_a_duckdb_file_move_nothing(kind: str, tmp_path: Path) -> None:
    odd, clean, domain = STORED[kind]
    seen = []
    for name, values in (("odd", f"{odd}, {clean}"), ("clean", ", ".join([clean] * (odd.count("), (") + 2)))):
        with duckdb.connect(str(tmp_path / f"{name}.duckdb")) as connection:
            connection.execute(f"CREATE TABLE people (c {kind}); INSERT INTO people VALUES {values}")
        seen.append(outcome(tmp_path / f"{name}.duckdb", domain))
    assert seen[0] == seen[1] and not isinstance(seen[0][0], str), seen


def test_what_is_computed_when_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE base (c VARCHAR, d INTEGER GENERATED ALWAYS AS (CAST(c AS INTEGER)) VIRTUAL)")
        connection.execute("CREATE VIEW casts AS SELECT CAST(c AS INTEGER) AS c FROM base")
    for table in ("casts", "base"):
        with pytest.raises(SchemaError, match="store it as a table first"):
            open_table(path, Schema({"c": NUMBER}), table=table)
    connection = ibis.duckdb.connect()
    connection.con.execute("CREATE TABLE people AS SELECT 'x' AS c; CREATE VIEW shown AS FROM people")
    people = connection.table("people")
    for computed in (
        people.mutate(c=people.c.cast("int64")),
        people.filter(people.c != "y"),
        connection.table("shown"),
    ):
        with pytest.raises(SchemaError, match="store it as a table first"):
            open_table(computed, Schema({"c": NUMBER}))
    assert codes(people, NUMBER) == codes(people.select("c"), NUMBER) == codes(people.rename(c="c"), NUMBER) == [7]


def spelled(place: Path, first: str, **options: Any) -> tuple[Any, Any]:
    """Return who is there and what a text column holds, in a file whose texts are stored without regard to case."""
    place.mkdir()
    with duckdb.connect(str(place / "a.duckdb")) as connection:
        connection.execute("CREATE TABLE people (id VARCHAR COLLATE NOCASE, visit INTEGER, c VARCHAR COLLATE NOCASE)")
        connection.execute(f"INSERT INTO people VALUES ('{first}', 1, 'FOO'), ('a', 1, 'foo'), ('c', 1, 'foo')")
    with open_table(place / "a.duckdb", Schema({"c": NOTE}, person="id", **options)) as table:
        return table.people, table.view(["c"], table.rule(whole=True)).sparse_counts(["c"])


@pytest.mark.parametrize("options", [{}, {"row_key": ()}, {"row_key": ("visit",)}], ids=str)
def test_texts_that_a_file_compares_without_regard_to_case_stay_apart(options: dict[str, Any], tmp_path: Path) -> None:
    """Otherwise all would show the spelling of whoever comes first, and two people of one id would become one."""
    foo, lower = NOTE.encode("FOO"), NOTE.encode("foo")
    for number, first in enumerate(("A", "x")):
        people, counts = spelled(tmp_path / str(number), first, **options)
        assert (people, counts) == (3, {(foo,): 1, (lower,): 2})


@pytest.mark.parametrize(
    ("setting", "instead"), [("default_collation = 'nocase'", "''"), ("arrow_lossless_conversion = true", "false")]
)
def test_a_connection_that_reads_texts_or_totals_differently_is_refused(setting: str, instead: str) -> None:
    connection, right = ibis.duckdb.connect(), f"SET {setting.split(maxsplit=1)[0]} = {instead}"
    connection.con.execute(f"CREATE TABLE people AS SELECT 'x' AS c; SET {setting}")
    with pytest.raises(SchemaError, match=right):
        open_table(connection.table("people"), Schema({"c": NOTE}))
    connection.con.execute(right)
    assert codes(connection.table("people"), NUMBER) == [7]


# Parquet

BROKEN = {
    "text": pa.array([b"a", b"\xff"], pa.binary()).view(pa.string()),
    "other text": pa.array([b"secret \xc3("], pa.binary()).view(pa.string()),
    "moments": pa.array([2**62], pa.int64()).view(pa.timestamp("ms")),
}


def written(place: Path) -> Callable[[pa.Table], Path]:
    def write(table: pa.Table) -> Path:
        pq.write_table(table, place / "people.parquet")
        return place / "people.parquet"

    return write


def refusals(place: Path) -> set[str]:
    """Open files that break their own format; return what is said, or what went wrong instead."""
    said = set()
    for name, broken in BROKEN.items():
        ledger = place / f"{name}.ledger"
        data = pa.table({"x": pa.array([1] * len(broken)), "c": broken})
        domain = DAY if name == "moments" else LABEL
        said.add(repr(outcome(written(place)(data), domain, ledger)))
        if ledger.exists():
            said.add("a ledger was made")
    return said


SENTENCE = (
    "('SchemaError', \"The column 'c' breaks the format of its own file: it holds bytes that are no UTF-8, a moment beyond "
    'the calendar, a damaged page, or another type in another file; write the file again.")'
)


def test_a_parquet_file_that_breaks_its_format_is_refused_at_opening_by_one_sentence(tmp_path: Path) -> None:
    assert refusals(tmp_path) == {SENTENCE}
    with open_table(tmp_path / "people.parquet", Schema({"x": integers(0, 9)})) as table:
        assert table.people == 1  # a column that nobody declared is nobody's business


STORABLE = [name for name in ODD if name.startswith(("float", "date3", "int64", "binary", "null"))]


@pytest.mark.parametrize("name", chosen(STORABLE, ["float64", "binary"]))
def test_odd_parquet_cells_move_nothing(name: str, tmp_path: Path) -> None:
    assert not moved(ODD[name], written(tmp_path))


SWEPT: dict[str, tuple[pa.DataType, Any, list[Any], Domain]] = {
    "NaN": (pa.float64(), math.nan, [0.0, 4.0, 99.0, math.inf, -math.inf, None], CENTS),
    "no text": (pa.binary(), b"\xff", [b"a", b"b", b"", b"zz", None], LABEL),
}


def flips(place: Path, kinds: Iterable[str] = SWEPT, written: Iterable[bool] = (True, False)) -> list[Any]:
    """Sweep somebody else's cell beside an odd one; return where the odd one did not count the same each time.

    The cells of a file decide its statistics, and an engine that believes these reads one person's cell by another's.
    """
    found = []
    for kind, statistics in itertools.product(kinds, written):
        arrow, odd, swept, domain = SWEPT[kind]
        seen = set()
        for cell in swept:
            data = pa.table({"c": pa.array([odd, cell], arrow)})
            pq.write_table(data, place / "swept.parquet", write_statistics=statistics, use_dictionary=statistics)
            other = domain.encode(cell.decode() if isinstance(cell, bytes) else cell)
            with open_table(place / "swept.parquet", Schema({"c": domain})) as table:
                view = table.view(["c"])
                counted = [int(code) for code in view.sorted_codes("c")]
                counted.remove(other)
                asked = [code for code in (domain.missing_code, domain.first, domain.last) if code != other]
                filtered = {code: int(view.count(Codes("c", ((code, code),)))) for code in asked}
            seen.add(tuple(counted))
            if any(times != counted.count(code) for code, times in filtered.items()):
                found.append((kind, statistics, cell, filtered))
        if len(seen) != 1:
            found.append((kind, statistics, seen))
    return found


def test_nobody_elses_cell_decides_how_an_odd_one_is_read(tmp_path: Path) -> None:
    assert not flips(tmp_path)


# Mutants: each way to get it wrong must be seen by one of the above


def _counting(source: Any, names: Any) -> None:
    counted = ", ".join(f"count({name})" for name in names)
    source.engine.con.execute(f"SELECT {counted} FROM ({source.engine.compile(source.table)})").fetchall()


def test_without_the_pass_and_with_a_pass_that_counts_the_breach_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mutant in (lambda *_: None, _counting):
        monkeypatch.setattr(reading, "_hashed", mutant)
        assert refusals(tmp_path) - {SENTENCE}


def test_a_scan_that_replaces_bad_bytes_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.table.source._PARQUET_SCAN", "read_parquet([{}], utf8_validation = 'replace')")
    assert refusals(tmp_path) - {SENTENCE}


def test_isnan_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.table.repair.real", lambda cell: ibis.ifelse(cell.isnan(), ibis.null("float64"), cell))
    assert flips(tmp_path, ["NaN"], [True])


@pytest.mark.parametrize(
    ("kind", "sql", "odd"),
    [
        ("TIMESTAMP_S", "CAST({0} AS TIMESTAMP)", "timestamp[s]"),
        ("TIMESTAMP_MS", "CAST({0} AS TIMESTAMP)", "timestamp[ms]"),
        ("UBIGINT", "CAST({0} AS BIGINT)", "uint64"),
        ("BLOB", "decode({0})", "string text"),
    ],
)
def test_casts_before_clamps_and_decoding_without_try_are_seen(
    kind: str, sql: str, odd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mutant(cell: str, found: str) -> str | None:
        return sql.format(cell) if found == kind else cells.duckdb_cell(cell, found)

    monkeypatch.setattr(reading, "_DUCKDB", (mutant, mutant, cells.duckdb_identity))
    assert moved(ODD[odd], same)


# Whose row it is


@pytest.mark.parametrize(
    ("ids", "people"),
    [
        (pa.array([b"\xff", b"\xfe", b"a", b"", None], pa.binary()).view(pa.string()), 3),
        (pa.array([b"\xff", b"\x00FF", b"\x00", b"\xff", b""], pa.binary()), 3),
        (pa.array([2**64 - 1, 2**64 - 2, None], pa.uint64()), 2),
        (pa.array([Decimal(10**37), Decimal(10**37 + 1)], pa.decimal128(38)), 2),
        (pd.Series([10**5000, 10**5000 + 1, 1, "1", None, math.nan, "", Liar()], dtype=object), 3),
        (pd.Series([7, 7.0, Decimal("7.00"), np.int32(7), -0.0, 0, 0.5, Decimal("0.50"), 0.1, Decimal("0.1")]), 5),
        (pd.Series(["x\ud800", "x\ud801", "x"], dtype=object), 3),
    ],
)
def test_ids_are_never_merged_and_nobody_has_no_rows(ids: Any, people: int) -> None:
    columns = {"id": ids, "c": [1] * len(ids)}
    source = pd.DataFrame(columns) if isinstance(ids, pd.Series) else pa.table(columns)
    with open_table(source, Schema({"c": NUMBER}, person="id")) as table:
        assert table.people == people
        assert int(table.view(["c"], table.rule(whole=True)).count()) == people


# What is said when an engine fails


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (duckdb.OutOfMemoryException("secret"), "ran out of memory"),
        (MemoryError("secret"), "ran out of memory"),
        (duckdb.IOException("secret"), "a disk is full"),
        (PermissionError("secret"), "permissions"),
        (duckdb.PermissionException("secret"), "permissions"),
        (duckdb.InterruptException("secret"), "stopped"),
        (duckdb.InternalException("secret"), "error of the engine"),
        (duckdb.InvalidInputException("secret"), "is damaged"),
        (duckdb.SerializationException("secret"), "is damaged"),
    ],
)
def test_the_kind_of_a_failure_leaves_and_its_text_does_not(error: Exception, says: str) -> None:
    def work() -> None:
        raise error

    with pytest.raises(SchemaError, match=says) as raised:
        reading.guarded(work)
    assert "secret" not in str(raised.value) and raised.value.__context__ is None


def test_a_csv_cell_changes_nothing(tmp_path: Path) -> None:
    seen = []
    for cell in (b"5", b"\x00", b"9" * 100_000, b'"5"'):
        (tmp_path / "people.csv").write_bytes(b"id,c\n1,5\n2," + cell + b"\n")
        seen.append(outcome(tmp_path / "people.csv", NUMBER))
    assert len(set(map(repr, seen))) == 1 and not isinstance(seen[0][0], str)
