"""Tables that are counted where the data are: what `Records` would count, with less in memory and the same draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import Concentrated, Pure, curate, workloads
from sfumato.ask.packing import pack, unpack
from sfumato.domain import bins, booleans, categories, integers
from sfumato.noise import Noise
from sfumato.questions import Queries, Synthesize
from sfumato.table import Schema, open_table
from sfumato.table.gauge import Basis
from sfumato.table.marginals import SETS_AT_ONCE, count_sets
from sfumato.table.measure import Marginals, Rows
from sfumato.workload import records
from sfumato.workload.records import Margins, Records
from sfumato.workload.space import Space
from tests.table.cluster import SPARK_MARKS

COLUMNS = {
    "age": integers(17, 90),
    "sex": categories("f", "m", missing="f"),
    "ill": booleans(),
    "one": integers(3, 3, missing=3),
    "decade": bins("age", step=10),
}
SCHEMAS = {
    "rows": Schema(COLUMNS),
    "picked": Schema(COLUMNS, "id", 2),
    "keyed": Schema(COLUMNS, "id", 2, row_key=("visit",)),
    "single": Schema(COLUMNS, "id", row_key=()),
}
SETS = [(), ("age",), ("sex", "age"), ("age", "sex"), ("ill", "one"), ("decade", "ill", "sex"), ("one",)]


def data(rows: int = 700) -> Any:
    draw = np.random.default_rng(2)  # noqa: TID251
    return pa.table(
        {
            "id": draw.integers(0, rows // 3, rows),
            "visit": draw.integers(0, 5, rows),
            "age": pa.array(draw.integers(10, 100, rows), mask=draw.random(rows) < 0.1),
            "sex": draw.choice(["f", "m", "x"], rows),
            "ill": pa.array(draw.random(rows) < 0.3, mask=draw.random(rows) < 0.1),
            "one": np.full(rows, 7),
        }
    )


def both(table: Any, schema: Schema) -> list[tuple[Any, Any]]:
    """Return every table as it is counted from rows, and where the rows are."""
    space, basis = Space.of(schema), Basis(schema, table.people)
    listed = Records.of(space, basis.gauge(Rows(space.names)).read(table))
    counted = basis.gauge(Marginals(tuple(SETS), space.names)).read(table)
    return [(listed.table(one), found) for one, found in zip(SETS, counted, strict=True)]


@pytest.mark.parametrize("kind", list(SCHEMAS))
@pytest.mark.parametrize("at_once", [2**20, 64])
def test_tables_are_those_of_the_rows(kind: str, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.table.data.ROWS_AT_ONCE", at_once)
    with open_table(data(), SCHEMAS[kind]) as table:
        for expected, found in both(table, SCHEMAS[kind]):
            assert found.shape == expected.shape and found.dtype == np.int64
            np.testing.assert_array_equal(found, expected)


QUESTIONS = [
    (Synthesize(columns=("age", "sex", "ill")), Concentrated(1)),
    (Synthesize(columns=("age", "sex", "ill")), Pure(5)),
    (Synthesize(columns=("sex", "ill", "decade")), Concentrated(50)),
    (Queries(workloads.marginals(SCHEMAS["rows"], width=2, columns=["sex", "ill", "decade"])), Pure(1)),
]


@pytest.mark.parametrize("place", range(len(QUESTIONS)))
@pytest.mark.parametrize("kind", ["rows", "keyed"])
def test_the_same_numbers_are_drawn_at_the_same_price(place: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    question, spend = QUESTIONS[place]
    drawn, prices = [], []
    with open_table(data(), SCHEMAS[kind]) as table:
        for few, form in ((2**16, Records), (0, Margins)):
            monkeypatch.setattr(records, "FEW_ROWS", few)
            prepared = question.prepare(Basis(SCHEMAS[kind], table.people), spend)
            prepared.check(table)
            exact = prepared.exact(table)
            assert isinstance(exact, form) and exact.total == prepared.exact(table).total
            again = unpack(pack(exact), SCHEMAS[kind])
            assert pack(again) == pack(exact)
            drawn.append(pack(prepared.mechanism.run(again, Noise(insecure_seed=3))))
            prices.append((prepared.loss(), prepared.gauge.notes()))
    assert drawn[0] == drawn[1] and prices[0] == prices[1]


def test_many_different_rows_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "FEW_ROWS", 0)
    monkeypatch.setattr("sfumato.table.view.View.distinct", lambda *_: pytest.fail("Rows were read."))
    with curate(data(), SCHEMAS["rows"], Concentrated(9)) as curator:
        assert curator.ask(*QUESTIONS[0]).value.marginal(["sex"]).shape == (2,)


class TestOnSpark:
    pytestmark = SPARK_MARKS

    @pytest.mark.audit
    @pytest.mark.parametrize("at_once", [SETS_AT_ONCE, 2])
    def test_a_cluster_counts_the_same_tables(
        self, spark: Any, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sfumato.table.marginals.SETS_AT_ONCE", at_once)
        pq.write_table(data(), tmp_path / "data.parquet")
        frame = spark.read.parquet(str(tmp_path / "data.parquet"))
        with open_table(frame, SCHEMAS["picked"]) as cluster:
            for expected, found in both(cluster, SCHEMAS["picked"]):
                np.testing.assert_array_equal(found, expected)
            alone = count_sets(cluster, cluster.bounded(cluster.rule(whole=True), ["age"]), [()])
            assert int(alone[0]) == int(both(cluster, SCHEMAS["picked"])[0][0])

    def test_what_is_larger_than_a_cluster_hands_over_comes_in_parts(
        self, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pq.write_table(data(), tmp_path / "data.parquet")
        frame = spark.read.parquet(str(tmp_path / "data.parquet"))
        with open_table(frame, SCHEMAS["rows"]) as cluster:
            whole = cluster.view(["age", "sex"]).distinct(["age", "sex"])
            monkeypatch.setattr("sfumato.table.engine.Source._room", lambda _: 2_000)
            parts = cluster.view(["age", "sex"]).distinct(["age", "sex"])
            for one, other in zip(whole, parts, strict=True):
                np.testing.assert_array_equal(one, other)
