"""Reports in tables: DuckDB, Spark and the collector give the same sketch, to the last bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import Noise, local
from sfumato.errors import ParameterError, SchemaError
from tests.local.collecting import COLOURS, OTHER, PLAN, SMALL, counts_of, reports
from tests.table.cluster import SPARK_MARKS

pytestmark = SPARK_MARKS


def hostile(plan: local.Plan, seed: int) -> list[tuple[bytes | None, bytes | None]]:
    """Return pairs of id and report: good ones, copies, quarrels under one id, and everything that is wrong."""
    noise = Noise(insecure_seed=seed)
    good = [row.tobytes() for row in reports(400, seed, plan)]
    ids = [bytes([place % 256, place // 256]) * 8 for place in range(len(good))]
    pairs: list[tuple[bytes | None, bytes | None]] = list(zip(ids, good, strict=True))
    pairs += pairs[:50]
    pairs += [(ids[place % 20], good[-1 - place]) for place in range(100)]
    one = good[0]
    foreign = one[:2] + bytes([one[2] ^ 1]) + one[3:]
    wrong = [None, b"", foreign, one[:-1], one + b"\x00", b"\x02" + one[1:], OTHER.client().report(1), bytes(len(one))]
    wrong += [one[:5] + b"\xff" * (len(one) - 5), one[:5] + plan.offsets[-1].to_bytes(len(one) - 5, "big")]
    pairs += [(bytes([7, place]) * 8, report) for place, report in enumerate(wrong)]
    pairs += [(None, one), (b"", one), (b"short", one), (bytes(17), one), (None, None)]
    pairs += [(bytes(16), noise.uniform(256, len(one)).astype(np.uint8).tobytes()) for _ in range(50)]
    return pairs


def stored(path: Path, pairs: list[Any]) -> Path:
    path.parent.mkdir(exist_ok=True)
    columns = [pa.array([pair[place] for pair in pairs], pa.binary()) for place in (0, 1)]
    pq.write_table(pa.table(columns, ["id", "report"]), path)
    return path


def same(one: local.Collected, other: local.Collected) -> bool:
    return bool((one.server.counts == other.server.counts).all()) and one.intake == other.intake


def checked(plan: local.Plan, place: Path) -> tuple[local.Collected, Path]:
    """Count hostile reports by the collector and by DuckDB, in several orders and files, and compare."""
    pairs = hostile(plan, 5)
    whole = stored(place / "a.parquet", pairs)
    with local.Collector(place / "c", plan) as collector:
        collector.add_file(whole)
    expected = local.read_collection(place / "c")
    assert expected.intake.duplicates >= 150 and expected.intake.envelope >= 6
    assert min(vars(expected.intake.refused).values()) >= 1
    assert same(local.aggregate(plan, whole), expected)
    for part in range(3):
        stored(place / "parts" / f"{part}.parquet", pairs[::-1][part::3])
    assert same(local.aggregate(plan, place / "parts" / "*.parquet"), expected)
    assert same(local.aggregate(plan, place / "parts"), expected)
    assert expected.server.save(place / "1").read_bytes() == (
        local.aggregate(plan, whole).server.save(place / "2").read_bytes()
    )
    return expected, place / "parts"


@pytest.mark.parametrize("plan", [COLOURS, SMALL], ids=["list of three", "list"])
def test_duckdb_and_the_collector_give_the_same_bits(plan: local.Plan, tmp_path: Path) -> None:
    checked(plan, tmp_path)


@pytest.mark.audit
def test_spark_duckdb_and_the_collector_give_the_same_bits(spark: Any, tmp_path: Path) -> None:
    expected, parts = checked(PLAN, tmp_path)
    assert same(local.aggregate(PLAN, spark.read.parquet(str(parts))), expected)


def test_without_ids_every_row_counts(spark: Any, tmp_path: Path) -> None:
    rows = reports(300)
    table = pa.table({"what": [row.tobytes() for row in rows] * 2 + [None, b"x"]})
    pq.write_table(table, tmp_path / "a.parquet")
    for source in (table, spark.read.parquet(str(tmp_path / "a.parquet"))):
        found = local.aggregate(PLAN, source, report="what", id=None)
        assert (found.server.counts == 2 * counts_of(rows)).all()
        assert (found.intake.accepted, found.intake.envelope, found.intake.refused.length) == (600, 1, 1)


def test_the_sketch_of_a_table_can_be_decoded_and_merged() -> None:
    rows = reports(2000, plan=COLOURS)
    found = local.aggregate(COLOURS, pa.table({"report": [row.tobytes() for row in rows]}), id=None)
    other = COLOURS.server()
    other.ingest(rows)
    assert [item.share for item in found.server.shares()] == [item.share for item in other.shares()]
    found.server.merge(other)
    assert found.server.accepted == 4000


def test_strange_names_of_columns(spark: Any, tmp_path: Path) -> None:
    rows = reports(10)
    table = pa.table(
        {'i"d `': [bytes([place]) * 16 for place in range(10)], "re port": [row.tobytes() for row in rows]}
    )
    assert local.aggregate(PLAN, table, report="re port", id='i"d `').server.accepted == 10
    frame = spark.createDataFrame(table.to_pandas())
    assert local.aggregate(PLAN, frame, report="re port", id='i"d `').server.accepted == 10


def test_wrong_tables_are_refused(tmp_path: Path) -> None:
    text = pa.table({"id": ["a"], "report": ["b"]})
    for source, options in ((text, {}), (pa.table({"report": [b"x"]}), {}), (text, {"id": None, "report": "nothing"})):
        with pytest.raises(ParameterError, match="of bytes"):
            local.aggregate(PLAN, source, **options)
    with pytest.raises(SchemaError, match="no file"):
        local.aggregate(PLAN, tmp_path / "none.parquet")
    import ibis

    source = ibis.sqlite.connect()
    source.raw_sql("CREATE TABLE t (id BLOB, report BLOB)").close()
    with pytest.raises(ParameterError, match="DuckDB or Spark"):
        local.aggregate(PLAN, source.table("t"))
    source.disconnect()


def test_an_empty_table_is_an_empty_sketch() -> None:
    columns = [pa.array([], pa.binary()), pa.array([], pa.binary())]
    found = local.aggregate(PLAN, pa.table(columns, ["id", "report"]))
    assert found.intake == local.Intake() and not found.server.counts.any()
    assert replace(found.intake, accepted=1).total == 1
