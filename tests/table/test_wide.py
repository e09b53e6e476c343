"""Five hundred columns: which rows of a person are picked is one law on every engine, however wide a row is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2, kstest

from sfumato.domain import Text, integers, text
from sfumato.table import Schema, open_table
from sfumato.table.bounding import ORDER, ordered
from sfumato.table.data import Table
from sfumato.table.engine import Source
from sfumato.table.gauge import Basis
from sfumato.table.measure import Marginals, Rows
from sfumato.table.order import FAN, keyed_hash
from tests.table.cluster import SPARK_MARKS
from tests.table.reference import picked
from tests.table.test_row_key import in_engine

WIDE = [120, pytest.param(500, marks=pytest.mark.audit)]


def schema_of(wide: int) -> Schema:
    """Declare numbers, and a text for every tenth column."""
    kinds = [text(max_bytes=8, missing="") if place % 10 == 0 else integers(0, 9, missing=0) for place in range(wide)]
    return Schema({f"c{place}": kind for place, kind in enumerate(kinds)}, person="id", rows_per_person=2)


def rows_of(schema: Schema, people: int, each: int) -> list[dict[str, Any]]:
    draw = np.random.default_rng(5)  # noqa: TID251
    cells = draw.integers(0, 10, (people * each, len(schema.names))).tolist()
    kinds = [str if isinstance(schema.domain(name), Text) else int for name in schema.names]
    lines = [[kind(cell) for kind, cell in zip(kinds, row, strict=True)] for row in cells]
    return [{"id": place // each, **dict(zip(schema.names, row, strict=True))} for place, row in enumerate(lines)]


def arrow(rows: list[dict[str, Any]]) -> Any:
    return pa.table({name: [row[name] for row in rows] for name in rows[0]})


def read(table: Table, shown: tuple[str, ...]) -> list[Any]:
    found = Basis(table.schema, table.people).gauge(Rows(shown)).read(table)
    return sorted([cells, count] for cells, count in zip(found.codes.tolist(), found.counts.tolist(), strict=True))


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("way", ["memory", "engine"])
def test_the_rows_of_a_wide_table_are_picked_as_python_picks_them(
    way: str, wide: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = schema_of(wide)
    shown, rows = schema.names[::50], rows_of(schema, 6, 4)
    if way == "engine":
        monkeypatch.setattr(Table, "keep_first", in_engine)
    with open_table(arrow(rows), schema) as table:
        rule = Basis(schema, 6).gauge(Rows(shown)).rule
        kept = [row for who in range(6) for row in picked(schema, rule, who, [r for r in rows if r["id"] == who])]
        counts = Counter(tuple(schema.domain(n).encode(row[n]) for n in shown) for row in kept)
        assert read(table, shown) == sorted([list(cells), count] for cells, count in counts.items())
        # Of a wide table only what was read is kept.
        (held,) = {names for _, names in table._kept}
        assert held == set(shown)


def narrow_few(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let every row of a person have the same hash, and count how often the hash is written."""
    written = []

    def same(rows: Any, schema: Schema, rule: Any, source: Any) -> Any:
        written.append(1)
        return ordered(rows, schema, rule, source).mutate(**{ORDER: ibis.literal(7, "int32")})

    monkeypatch.setattr("sfumato.table.data.ordered", same)
    return written


@pytest.mark.parametrize("people_at_once", [2**18, 2])
@pytest.mark.parametrize("person", ["number", "text"])
def test_rows_that_hash_alike_are_told_apart_by_columns_that_nobody_reads(
    person: str, people_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read of a wide table are the columns of the question; of equal hashes the others decide."""
    written = narrow_few(monkeypatch)
    monkeypatch.setattr("sfumato.table.data.PEOPLE_AT_ONCE", people_at_once)
    schema = schema_of(40)
    rows = rows_of(schema, 6, 5)
    for place, row in enumerate(rows):
        row["id"] = row["id"] if person == "number" else f"p{row['id']}"
        row["c1"] = 0 if place % 5 < 3 else row["c1"]  # some are equal in what is read
    found = []
    for way in ("memory", "engine"):
        if way == "engine":
            monkeypatch.setattr(Table, "keep_first", in_engine)
        with open_table(arrow(rows), schema) as table:
            found.append([read(table, ("c1",)), read(table, ("c1", "c10")), read(table, ("c39",))])
        if way == "memory" and people_at_once > 6:
            assert len(written) == 1  # once for all questions
    assert found[0] == found[1]


def test_only_the_columns_of_a_question_leave_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    schema, fetched = schema_of(40), []
    plain = Source.fetched
    monkeypatch.setattr(Source, "fetched", lambda self, *how: fetched.append(how[0].columns) or plain(self, *how))
    with open_table(arrow(rows_of(schema, 6, 5)), schema) as table:
        read(table, ("c1", "c2"))
    assert max(map(len, fetched)) == 4  # these, the person and the order


def test_a_bare_count_of_a_wide_table_is_read() -> None:
    schema = schema_of(40)
    with open_table(arrow(rows_of(schema, 6, 5)), schema) as table:
        (found,) = Basis(schema, 6).gauge(Marginals(((),), ())).read(table)
        assert int(found) == 12


def wide_chance(position: int, limbs: int, key: str, mixer: Any = keyed_hash) -> float:
    """Return how likely counts at least this uneven are if each of ten values of one limb is equally likely first."""
    draw = np.random.default_rng(limbs * 1000 + position)  # noqa: TID251
    people = draw.integers(0, 2**31 - 1, (20_000, 1))
    others = draw.integers(0, 2**31 - 1, limbs)
    parts = [np.arange(10)[None, :] if place == position else others[place] for place in range(1, limbs)]
    counts = np.bincount(mixer([people, *parts], key).argmin(axis=1), minlength=10)
    return float(chi2.sf(((counts - 2_000) ** 2 / 2_000).sum(), 9))


def test_no_value_is_favoured_wherever_its_column_stands() -> None:
    places = [(place, limbs) for limbs in (2, FAN + 1, 70, 600) for place in {1, limbs // 2, limbs - 1} if place]
    chances = [wide_chance(place, limbs, str(key)) for place, limbs in places for key in range(3)]
    assert min(chances) > 1e-7 and kstest(chances, "uniform").pvalue > 1e-6
    # The test would see a tree that forgets to mix: the last limbs then decide alone.
    assert wide_chance(69, 70, "", lambda parts, key: (parts[0] * 0 + parts[-1]) % 7) < 1e-7


class TestOnSpark:
    pytestmark = SPARK_MARKS

    @pytest.mark.parametrize("wide", WIDE)
    def test_a_cluster_picks_the_same_rows_of_a_wide_table(self, spark: Any, wide: int, tmp_path: Path) -> None:
        schema = schema_of(wide)
        data = arrow(rows_of(schema, 3, 3))
        pq.write_table(data, tmp_path / "wide.parquet")
        frame = spark.read.parquet(str(tmp_path / "wide.parquet"))
        with open_table(data, schema) as local, open_table(frame, schema) as cluster:
            assert read(local, schema.names[::50]) == read(cluster, schema.names[::50])
