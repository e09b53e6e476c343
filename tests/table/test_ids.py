"""One person is one person however the id is written, and no two people become one (SM-TOTAL)."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import dateutil.tz
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.domain import integers
from sfumato.errors import SchemaError
from sfumato.noise import Noise
from sfumato.privacy import Pure
from sfumato.table import Schema, open_table
from sfumato.table.database import Database
from sfumato.table.gauge import Basis
from sfumato.table.ids import object_identity
from sfumato.table.own import open_database
from sfumato.table.postgres import _CODECS

SCHEMA = Schema({"c": integers(0, 9)}, person="id", rows_per_person=1)


class Foreign(tzinfo):
    """A zone of somebody's own."""

    def utcoffset(self, _: datetime | None) -> timedelta:
        raise RuntimeError("asked")


def seen(source: Any, schema: Schema = SCHEMA, **options: Any) -> tuple[Any, ...]:
    """Return how many people there are, and answers of a frozen noise: people who are split or merged weigh otherwise."""
    with open_table(source, schema, **options) as table:
        found: list[Any] = [table.people]
        for question in (sf.Sum("c"), sf.Histogram("c")):
            prepared = question.canonical(schema).prepare(Basis(schema, table.people), Pure(1))
            raw = prepared.mechanism.run(prepared.exact(table), Noise(insecure_seed=7))
            found.append(repr(prepared.finish(raw)))
    return tuple(found)


def twin(people: Sequence[int | None]) -> pa.Table:
    """Return the same rows with ids that nobody can misread."""
    ids = [None if one is None else f"person {one}" for one in people]
    return pa.table({"id": pa.array(ids, pa.string()), "c": cells(len(ids))})


def cells(rows: int) -> list[int]:
    return [row % 10 for row in range(rows)]


BERLIN = ZoneInfo("Europe/Berlin")
ALIKE: list[list[Any]] = [
    [7, 7.0, np.float16(7), np.float32(7), np.float64(7), np.longdouble(7), Decimal("7.00"), Decimal("7e0")],
    [Fraction(70), np.int8(70), np.longlong(70), np.ulonglong(70), np.uint64(70), "70", b"70", np.str_("70")],
    ["7.0"],
    ["07"],
    [1, True, np.True_, 1.0],
    [0, -0.0, Decimal("-0.00"), False, np.float32(-0.0)],
    [0.5, np.float16(0.5), Decimal("0.50"), Fraction(1, 2), "0.5"],
    [0.1, Fraction(0.1), np.longdouble(0.1)],
    [Decimal("0.1"), Fraction(1, 10)],
    [np.float32(0.1), float(np.float32(0.1))],
    [np.longdouble(2) ** 70, 2**70],
    [np.longdouble(2) ** 60 + 1, 2**60 + 1],
    [Fraction(1, 3)],
    [10**40, Decimal(10) ** 40, "1" + "0" * 40],
    [10**40 + 1],
    [10**5000, Decimal("1e5000")],
    [10**5000 + 1],
    [Decimal("1" * 5000)],
    [Decimal("1" * 5000 + "1")],
    [Decimal("1e140000"), Decimal("100e139998")],
    [Decimal("-1e140000")],
    [Decimal("1e-400"), Fraction(1, 10**400)],
    [math.inf, Decimal("inf"), np.float32("inf"), np.longdouble("inf")],
    [-math.inf],
    [date(2020, 1, 1), datetime(2020, 1, 1), pd.Timestamp("2020-01-01"), np.datetime64("2020"), "2020-01-01"],
    [datetime(2020, 2, 1), np.datetime64("2020-02"), np.datetime64("2020-02-01"), np.datetime64("2020-02-01T00", "h")],
    [pd.Timestamp("2020-01-01 00:00:00.000000001"), np.datetime64("2020-01-01 00:00:00.000000001")],
    [pd.Timestamp("1970-01-02 00:00:00.000000002"), np.datetime64("1970-01-02 00:00:00.000000002000", "ps")],
    [np.datetime64("1970-01-02 00:00:00.000000002001", "ps")],
    [datetime(2020, 1, 1, 0, 0, 0, 500_000), pd.Timestamp("2020-01-01 00:00:00.5"), "2020-01-01T00:00:00.5"],
    [
        *(datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, 1, tzinfo=BERLIN), pd.Timestamp(2020, 1, 1, tz="UTC")),
        datetime(2019, 12, 31, 22, tzinfo=timezone(timedelta(hours=-2))),
        datetime(2020, 1, 1, 1, tzinfo=dateutil.tz.gettz("Europe/Berlin")),
        pd.Timestamp("2020-01-01 01:00", tz="Europe/Berlin"),
    ],
    [pd.Timestamp("2020-01-01 00:00:00.000000001", tz="UTC")],
    [pd.Timestamp(np.datetime64("20000-01-01", "s")), np.datetime64("20000-01-01"), np.datetime64("20000")],
    [pd.Timestamp(np.datetime64("24000-01-01", "s"))],
    [np.datetime64("-0044-03-15")],
    [datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))],
    [UUID(int=5), "00000000-0000-0000-0000-000000000005"],
    ["Ä"],
    ["A\u0308"],
]
NOBODY = [
    *(None, math.nan, np.float32("nan"), np.longdouble("nan"), Decimal("NaN"), Decimal("sNaN"), "", b""),
    *(pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64(7), timedelta(7), complex(7), [7], Foreign()),
    datetime(2020, 1, 1, tzinfo=Foreign()),
]


def test_equal_objects_are_one_person_and_different_ones_are_two() -> None:
    ids = [*(cell for group in ALIKE for cell in group), *NOBODY]
    people = [*(place for place, group in enumerate(ALIKE) for _ in group), *[None] * len(NOBODY)]
    column = np.empty(len(ids), dtype=object)
    column[:] = ids
    found = seen(pd.DataFrame({"id": pd.Series(column, dtype=object), "c": cells(len(ids))}))
    assert found[0] == len(ALIKE)
    assert found == seen(twin(people))


def test_categories_of_objects_are_the_same_people_as_the_objects() -> None:
    wide: list[Any] = [10**40, 10**40 + 1, 7, "a"]
    nanosecond = pd.Timestamp("2020-01-01 00:00:00.000000001")
    moments: list[Any] = [nanosecond, pd.Timestamp("2020-01-01"), nanosecond.tz_localize("UTC"), np.float32(7)]
    people = [0, 1, 2, 3, 0, 2, None]
    codes = [-1 if one is None else one for one in people]
    expected = seen(twin(people))
    for ids in (wide, moments):
        column = pd.Categorical.from_codes(codes, pd.Index(ids, dtype=object))
        assert seen(pd.DataFrame({"id": column, "c": cells(len(people))})) == expected


def test_moments_truth_values_and_real_numbers_are_refused_by_type_in_every_frame() -> None:
    moments, reals = pd.to_datetime(["2020-01-01", "2020-01-02"]), pa.array([0.5, 7.0])
    columns: list[Any] = [moments, pd.Categorical(moments), moments.tz_localize("UTC"), [0.5, 7], [True, False]]
    columns += [pd.Categorical([0.5, 7]), pd.array([0.5, 7], pd.ArrowDtype(pa.float32())), np.array([1, 2], "f2")]
    frames: list[Any] = [pd.DataFrame({"id": column, "c": [1, 2]}) for column in columns]
    arrows = [reals, reals.dictionary_encode(), pa.array([Decimal(7), Decimal(8)], pa.decimal256(50))]
    frames += [pa.table({"id": column, "c": [1, 2]}) for column in arrows]
    kinds = (pl.Object, pl.Int128, pl.Float64, pl.Datetime, pl.Boolean)
    frames += [pl.DataFrame({"id": pl.Series([None, None], dtype=kind), "c": [1, 2]}) for kind in kinds]
    for frame in frames:
        with pytest.raises(SchemaError, match=r"'id' is [\w<>\"\[]+"):
            open_table(frame, SCHEMA)


DECIMALS = [Decimal("7.00"), Decimal("7.25"), Decimal("0.50"), Decimal("-0.05"), Decimal("0.00"), Decimal("100.00")]


def test_frames_hold_the_same_people_in_every_type_that_is_read() -> None:
    people = [0, 1, 2, 3, 4, 5, 0, None]
    numbers = [None if one is None else DECIMALS[one] for one in people]
    rows = {"c": cells(len(people))}
    chunks = pa.chunked_array([pa.array(part, pa.decimal128(9, 2)) for part in (numbers[:3], numbers[3:])])
    columns: list[Any] = [chunks, chunks.cast(pa.decimal128(30, 5)), chunks.dictionary_encode()]
    columns += [pa.array(numbers, pa.decimal64(9, 2)), pa.array(numbers, pa.decimal32(6, 3))]
    sources: list[Any] = [pa.table({"id": column, **rows}) for column in columns]
    sources += [pd.DataFrame({"id": pd.array(chunks, pd.ArrowDtype(chunks.type)), **rows})]
    sources += [pd.DataFrame({"id": pd.Series(numbers, dtype=object), **rows})]
    sources += [pl.DataFrame({"id": pl.Series(numbers, dtype=pl.Decimal(20, 4)), **rows})]
    expected = seen(twin(people))
    for source in sources:
        assert seen(source) == expected, source


def test_texts_of_dictionaries_are_one_person_across_chunks() -> None:
    people = [0, 1, 0, 1, 2, None]
    texts = [None if one is None else "bac"[one] for one in people]
    parts = [pa.array(part, pa.string()).dictionary_encode() for part in (texts[:2], texts[2:3], texts[3:])]
    rows = {"c": cells(len(people))}
    chunks = pa.chunked_array(parts)
    sources: list[Any] = [pa.table({"id": chunks, **rows}), pd.DataFrame({"id": pd.Categorical(texts), **rows})]
    sources += [pd.DataFrame({"id": pd.array(chunks, pd.ArrowDtype(chunks.type)), **rows})]
    sources += [pl.DataFrame({"id": pl.Series(texts, dtype=kind), **rows}) for kind in (pl.Categorical, pl.Enum("abc"))]
    expected = seen(twin(people))
    for source in sources:
        assert seen(source) == expected, source


def test_every_spelling_of_a_decimal_is_the_same_in_duckdb_and_in_python(tmp_path: Path) -> None:
    kinds = ["DECIMAL(9,2)", "DECIMAL(2,2)", "DECIMAL(38,0)", "HUGEINT"]
    values = ["0.5", "-0.5", "0", "0.25", "10", "100", "-7"]
    for kind in kinds:
        file = tmp_path / "ids.duckdb"
        file.unlink(missing_ok=True)
        with duckdb.connect(str(file)) as connection:
            connection.execute(f"CREATE TABLE t (id {kind}, c INTEGER)")
            fits = [one for one in values if _fits(connection, kind, one)]
            for one in fits:
                connection.execute(f"INSERT INTO t VALUES ('{one}'::{kind}, 1)")
        assert len(fits) > 2
        spelled = sorted(object_identity(Decimal(one)).decode() for one in fits)  # type: ignore[union-attr]
        with open_table(file, SCHEMA) as table:
            found = table.run(table.everybody()).column("sfumato_person").to_pylist()
        assert sorted(found) == spelled, kind


def _fits(connection: Any, kind: str, value: str) -> bool:
    ((same,),) = connection.execute(f"SELECT TRY_CAST('{value}' AS {kind}) = {value}").fetchall()
    return bool(same)


# Two tables of one database


def people_of(**ids: Any) -> int:
    """Return how many people occur in tables of these ids, each of which is a column or a whole source."""
    frames = (pd.Series, pa.Array, pa.ChunkedArray)
    sources = {
        name: pd.DataFrame({"id": one, "c": 1})
        if isinstance(one, pd.Series)
        else pa.table({"id": one, "c": [1] * len(one)})
        if isinstance(one, frames)
        else one
        for name, one in ids.items()
    }
    with open_database(sources, Database(dict.fromkeys(sources, SCHEMA))) as opened:
        return opened.people


NUMBERS: dict[str, Any] = {
    "int64": pa.array([7, 8]),
    "int16": pa.array([7, 8], pa.int16()),
    "uint64": pa.array([7, 8], pa.uint64()),
    "whole decimals": pa.array([Decimal(7), Decimal(8)], pa.decimal128(9, 0)),
    "decimals": pa.array([Decimal("7.00"), Decimal("8.00")], pa.decimal128(9, 2)),
    "wide decimals": pa.array([Decimal(7), Decimal(8)], pa.decimal128(38, 10)),
}
TEXTS: dict[str, Any] = {
    "texts": pa.array(["7", "8"]),
    "bytes": pa.array([b"7", b"8"]),
    "labels": pa.array(["7", "8"]).dictionary_encode(),
    "objects": pd.Series([Decimal("7.00"), np.float32(8)], dtype=object),
}


@pytest.mark.parametrize(
    "names",
    [("int64", "int16"), ("int16", "decimals"), ("whole decimals", "decimals"), tuple(NUMBERS), tuple(TEXTS)],
    ids=" and ".join,
)
def test_a_person_of_several_tables_is_one_whatever_the_types(names: tuple[str, ...]) -> None:
    columns = {name.replace(" ", "_"): {**NUMBERS, **TEXTS}[name] for name in names}
    assert people_of(**columns) == 2


def test_wide_ids_of_two_tables_stay_apart() -> None:
    assert people_of(a=pa.array([2**64 - 1, 5], pa.uint64()), b=pa.array([-1, 5])) == 3


@pytest.mark.parametrize("number", ["int64", "decimals"])
def test_numbers_in_one_table_and_texts_in_another_are_refused_by_type(number: str) -> None:
    with pytest.raises(SchemaError, match="'a' holds numbers and that of 'b' texts; store the ids"):
        people_of(a=NUMBERS[number], b=pa.array(["007", "7.0"]))


# Several files


@pytest.mark.parametrize("reverse", [False, True])
def test_files_that_hold_ids_in_different_types_are_refused(reverse: bool, tmp_path: Path) -> None:
    kinds = {
        "BIGINT": pa.array([7]),
        "DOUBLE": pa.array([7.4]),
        "VARCHAR": pa.array(["07"]),
        "DECIMAL(9,1)": pa.array([Decimal("7.4")], pa.decimal128(9, 1)),
        "DECIMAL(9,0)": pa.array([Decimal(7)], pa.decimal128(9, 0)),
        "BLOB": pa.array([b"7"]),
    }
    for other, column in kinds.items():
        known = "VARCHAR" if other in ("BIGINT", "BLOB") else "DECIMAL(9,0)" if other == "DECIMAL(9,1)" else "BIGINT"
        if other == known:
            continue
        pair = [column, kinds[known]] if reverse else [kinds[known], column]
        for place, ids in enumerate(pair):
            pq.write_table(pa.table({"id": ids, "c": [1]}), tmp_path / f"{place}.parquet")
        with pytest.raises(SchemaError, match=r"'id' is (\S+ in one file and \S+ in another|DOUBLE)"):
            open_table(tmp_path, SCHEMA)


def test_files_that_hold_ids_in_whole_numbers_of_two_sizes_are_read(tmp_path: Path) -> None:
    for place, kind in enumerate((pa.int64(), pa.int32(), pa.uint64())):
        # What lies inside of another column is no id, whatever it is called.
        more = pa.array([{"id": "x"}] * 2) if place else pa.array([{"id": 1.5}] * 2)
        ids = pa.array([7, place], kind)
        pq.write_table(pa.table({"more": more, "id": ids, "c": [1, 2]}), tmp_path / f"{place}.parquet")
    assert seen(tmp_path)[0] == 4


@pytest.mark.parametrize("other", [pa.array(["08"]), pa.array([8.0]), pa.array([True])])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_dataset_of_arrow_whose_files_hold_ids_in_different_types_is_refused(
    other: pa.Array, reverse: bool, tmp_path: Path
) -> None:
    """Arrow would make one person of 08 and 8."""
    for place, ids in enumerate([other, pa.array([8])] if reverse else [pa.array([8]), other]):
        pq.write_table(pa.table({"id": ids, "c": [1]}), tmp_path / f"{place}.parquet")
    kind = pa.dataset.dataset(tmp_path).schema.field("id").type
    for schema in (None, pa.schema([("id", pa.int64()), ("c", pa.int64())])):
        if schema is None and reverse and not pa.types.is_string(kind):
            continue  # neither is an id, or Arrow refuses to read it
        with pytest.raises(SchemaError, match=r"'id' is .* in one file and .* in another; write all files with ids of"):
            open_table(pa.dataset.dataset(tmp_path, schema), SCHEMA)


def test_a_dataset_of_arrow_is_read_whose_ids_differ_in_size_alone(tmp_path: Path) -> None:
    for place, ids in enumerate((pa.array([7, 8]), pa.array([7, 9], pa.int32()))):
        pq.write_table(pa.table({"id": ids, "c": [1, 2]}), tmp_path / f"{place}.parquet")
    assert seen(pa.dataset.dataset(tmp_path))[0] == 3
    for place, kind in enumerate((pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()))):
        ids = pa.array(["7", str(place)], pa.string()).cast(kind)
        pq.write_table(pa.table({"id": ids, "c": [1, 2]}), tmp_path / f"{place}.parquet")
    assert seen(pa.dataset.dataset(tmp_path))[0] == 4


# PostgreSQL


@pytest.fixture(scope="module")
def servers(postgres: str) -> Iterator[dict[str, str]]:
    """Databases of three encodings, by the name of the encoding."""
    import psycopg

    names = {encoding: f"ids_{encoding.lower()}_{os.getpid()}" for encoding in ("UTF8", "LATIN1", "EUC_JP")}
    with psycopg.connect(postgres, autocommit=True) as connection:
        for encoding, name in names.items():
            connection.execute(
                f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
            )
    yield {encoding: re.sub(r"/postgres\?", f"/{name}?", postgres) for encoding, name in names.items()}
    with psycopg.connect(postgres, autocommit=True) as connection:
        for name in names.values():
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def fill(server: str, table: str, kind: str, values: str) -> str:
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (id {kind}, c int)")
        connection.execute(f"INSERT INTO {table} SELECT unnest(ARRAY[{values}]::{kind}[]), 1")
    return server


def test_numbers_of_a_server_are_the_people_of_other_sources(servers: dict[str, str]) -> None:
    fill(servers["UTF8"], "a", "numeric", "'7', '7.00', '0.50', '1e200', '1e-300', 'NaN', NULL, 'Infinity'")
    source = servers["UTF8"]
    people = [0, 0, 1, 2, 3, None, None, 4]
    with open_table(source, SCHEMA, table="a") as table:
        assert table.people == 5
        found = set(table.run(table.everybody()).column("sfumato_person").to_pylist())
    alike = (7, 0.5, Decimal("1e200"), Decimal("1e-300"), math.inf)
    assert found == {object_identity(one).decode() for one in alike}  # type: ignore[union-attr]
    fill(source, "a", "numeric", "'7', '7.00', '0.50', '8', '9', 'NaN', NULL, '10'")
    rows = twin(people).set_column(1, "c", pa.array([1] * 8))
    assert seen(source, table="a") == seen(rows)
    for name, kind in {"b": "bigint", "d": "numeric(9, 2)", "e": "smallint"}.items():
        fill(source, name, kind, "'7', '11'")
        assert people_of(**{"a": source, name: source}) == 6
    fill(source, "f", "text", "'7', '11'")
    with pytest.raises(SchemaError, match="'a' holds numbers and that of 'f' texts"):
        people_of(a=source, f=source)


def test_an_encoding_that_python_reads_otherwise_is_refused(servers: dict[str, str]) -> None:
    # Two ids, which Python's decoder takes for one.
    fill(servers["EUC_JP"], "a", "text", r"convert_from('\x8fa2b7', 'EUC_JP'), '~'")
    with pytest.raises(SchemaError, match="encoded in EUC_JP, which is not read here; export it to Parquet"):
        open_table(servers["EUC_JP"], SCHEMA, table="a")


def test_texts_of_servers_in_two_encodings_are_the_same_people(servers: dict[str, str]) -> None:
    values = "U&'\\00e9', U&'e\\0301', 'e'"
    left = fill(servers["UTF8"], "x", "text", values)
    right = fill(servers["LATIN1"], "y", "char(3)", "U&'\\00e9', 'e', U&'\\00e8'")
    assert people_of(x=left, y=right) == 4


def test_the_server_reads_every_encoding_as_we_do_and_no_two_signs_are_one(servers: dict[str, str]) -> None:
    import psycopg

    with psycopg.connect(servers["UTF8"], client_encoding="UTF8") as connection:
        for encoding, codec in _CODECS.items():
            if codec == "utf-8":
                continue
            known = [one for one in (bytes([place]) for place in range(128, 256)) if _decoded(one, codec)]
            asked = connection.execute(f"SELECT convert(%b, '{encoding}', 'UTF8')", [b"".join(known)]).fetchone()
            read = [_decoded(one, codec) for one in known]
            assert asked is not None and bytes(asked[0]).decode() == "".join(read), encoding
            assert len(set(read)) == len(read) > 100, encoding


def _decoded(cell: bytes, codec: str) -> str:
    try:
        return cell.decode(codec)
    except UnicodeDecodeError:
        return ""
