"""Tables that are counted where the data are: what `Records` would count, with less in memory and the same draws."""

from __future__ import annotations

from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import Concentrated, Pure, curate, workloads
from sfumato.ask.packing import pack, unpack
from sfumato.domain import bins, booleans, categories, integers
from sfumato.errors import SchemaError
from sfumato.noise import Noise
from sfumato.questions import Queries, Synthesize
from sfumato.table import Schema, open_table
from sfumato.table.gauge import Basis
from sfumato.table.marginals import ROOM, SETS_AT_ONCE, TOGETHER, count_sets, held_together
from sfumato.table.measure import Marginals, Numbered, Rows
from sfumato.workload import records
from sfumato.workload.records import Margins, Places, Records, all_tabled
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
@pytest.mark.parametrize(("at_once", "together"), [(2**20, TOGETHER), (64, TOGETHER), (64, ()), (2**20, (300,))])
def test_tables_are_those_of_the_rows(
    kind: str, at_once: int, together: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.table.data.ROWS_AT_ONCE", at_once)
    monkeypatch.setattr("sfumato.table.marginals.ROWS_AT_ONCE", 100)
    monkeypatch.setattr("sfumato.table.marginals.TOGETHER", together)
    with open_table(data(), SCHEMAS[kind]) as table:
        for expected, found in both(table, SCHEMAS[kind]):
            assert found.shape == expected.shape and found.dtype == np.int64
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", list(SCHEMAS))
def test_combinations_are_numbered_as_the_rows_are(kind: str) -> None:
    """Two numbers a row, however many columns it has, and the same tables of any of them."""
    schema = SCHEMAS[kind]
    with open_table(data(), schema) as table:
        space, basis = Space.of(schema), Basis(schema, table.people)
        listed = Records.of(space, basis.gauge(Rows(space.names)).read(table))
        found = basis.gauge(Numbered(space.names)).read(table)
        places = Places(space, *found)
        assert places.total == listed.total and (np.diff(found.codes) > 0).all()
        np.testing.assert_array_equal(found.counts, listed.counts)
        np.testing.assert_array_equal(
            np.stack(np.unravel_index(found.codes, space.sizes), axis=1), listed.codes.astype(np.int64)
        )
        for one in [*SETS, ("sex", "ill", "age"), ("decade", "one", "age")]:
            counted = places.table(one)
            np.testing.assert_array_equal(counted, listed.table(one))
            assert counted.dtype == np.int64
        assert pack(unpack(pack(places), schema)) == pack(places)


@pytest.mark.parametrize("at_once", [1, 100])
def test_places_are_looked_up_in_parts(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "PLACES_AT_ONCE", at_once)
    test_combinations_are_numbered_as_the_rows_are("rows")


def test_places_beyond_32_bits_are_those_of_the_cells() -> None:
    """Two columns of ten million values each: 10^14 places; and nobody, and one value everywhere."""
    schema = Schema({"a": integers(-(10**7), 0), "one": integers(4, 4, missing=4), "b": integers(5, 10**7, missing=5)})
    cells = pa.table({"a": [-3, -(10**7), None, -3], "one": [4, 4, 4, None], "b": [10**7, 6, None, 10**7]})
    with open_table(cells, schema) as table:
        space, basis = Space.of(schema), Basis(schema, table.people)
        found = basis.gauge(Numbered(space.names)).read(table)
        listed = Records.of(space, basis.gauge(Rows(space.names)).read(table))
        np.testing.assert_array_equal(np.stack(np.unravel_index(found.codes, space.sizes), axis=1), listed.codes)
        assert found.counts.tolist() == listed.counts.tolist() == [1, 2, 1]
        alone = basis.gauge(Numbered(("one",))).read(table)
        assert (alone.codes.tolist(), alone.counts.tolist()) == ([0], [4])
        with open_table(cells.slice(0, 0), schema) as empty:
            assert [len(part) for part in Basis(schema, 0).gauge(Numbered(("one",))).read(empty)] == [0, 0]
    wide = Schema({f"c{place}": integers(0, 10**6) for place in range(4)})
    refused = pytest.raises(SchemaError, match="less than 2\\^62")
    with open_table(pa.table({name: [1] for name in wide.names}), wide) as table, refused:
        Basis(wide, 1).gauge(Numbered(wide.names)).read(table)


@pytest.mark.parametrize(
    ("people", "names", "form"),
    [
        (100, ("age", "sex"), Records),
        (10**6, ("age", "sex"), Records),  # few cells
        (10**6, ("age", "pay"), Margins),
        (10**5, ("age", "pay"), Places),  # of fewer people than half the cells
        (None, ("pay", "plate"), Places),
        (10**6, ("pay", "plate", "phone", "card"), Records),  # more than 64 bits
    ],
)
def test_what_any_table_is_looked_up_in_follows_from_public_facts(people: Any, names: Any, form: Any) -> None:
    wide = {
        "pay": integers(0, 9_999),
        "plate": integers(0, 10**7),
        "phone": integers(0, 10**9),
        "card": integers(0, 10**9),
    }
    schema = Schema({**COLUMNS, **wide})
    basis = Basis(schema, people)
    gauge, arrange = all_tabled(basis.gauge(Rows(names)), Space.of(schema, names))
    kinds = {Rows: Records, Marginals: Margins, Numbered: Places}
    assert kinds[type(gauge.measure)] is form
    assert gauge.columns == basis.gauge(Rows(names)).columns and gauge.charged == basis.gauge(Rows(names)).charged
    if form is Places:
        assert isinstance(arrange((np.array([1]), np.array([1]))), Places)


def test_sets_are_counted_in_few_tables() -> None:
    """Every pair of 100 columns of two values needed a pass of its own over the rows, and there are 4,950 of them."""
    names = [f"c{place:02}" for place in range(100)]
    found = held_together(list(combinations(names, 2)), dict.fromkeys(names, 2), TOGETHER)
    assert len(set(found.values())) <= 100
    eight = {f"c{place}": 4 + 2 * place for place in range(8)}
    triples = held_together(list(combinations(eight, 3)), eight, TOGETHER)
    assert len(set(triples.values())) <= 14  # the fewest sets of four that hold all triples of eight


@pytest.mark.parametrize("seed", range(20))
def test_a_set_is_counted_in_one_that_holds_it(seed: int) -> None:
    draw = np.random.default_rng(seed)  # noqa: TID251
    sizes = {f"c{place}": int(draw.integers(1, 60)) for place in range(12)}
    chosen = {tuple(sorted(draw.choice(list(sizes), draw.integers(0, 5), replace=False).tolist())) for _ in range(40)}
    sets = sorted(chosen, key=lambda one: (-len(one), one))
    for together in (TOGETHER, (100,), ()):
        found = held_together(sets, sizes, together)
        assert set(found) == set(sets)
        assert all(set(one) <= set(held) for one, held in found.items())
        cells = {held: prod(sizes[name] for name in held) for held in found.values()}
        assert all(held in chosen or size <= max(together, default=0) for held, size in cells.items())
        assert sum(cells.values()) <= sum(prod(sizes[name] for name in one) for one in sets) + ROOM


def test_tables_that_take_too_much_room_together_are_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"c{place:02}" for place in range(40)]
    sets, sizes = list(combinations(names, 2)), dict.fromkeys(names, 2)
    monkeypatch.setattr("sfumato.table.marginals.ROOM", 2**17)
    cells = [2 ** len(held) for held in set(held_together(sets, sizes, TOGETHER).values())]
    assert sum(cells) <= 2**17 + 4 * len(sets) and len(cells) < len(sets) / 10


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
        for few, cells, form in ((2**16, 2**25, Records), (0, 2**25, Margins), (0, 0, Places)):
            monkeypatch.setattr(records, "FEW_ROWS", few)
            monkeypatch.setattr(records, "MOST_CELLS", cells)
            monkeypatch.setattr(records, "LISTED", cells)
            prepared = question.prepare(Basis(SCHEMAS[kind], table.people), spend)
            prepared.check(table)
            exact = prepared.exact(table)
            assert isinstance(exact, form) and exact.total == prepared.exact(table).total
            again = unpack(pack(exact), SCHEMAS[kind])
            assert pack(again) == pack(exact)
            drawn.append(pack(prepared.mechanism.run(again, Noise(insecure_seed=3))))
            prices.append((prepared.loss(), prepared.gauge.notes()))
    assert drawn[0] == drawn[1] == drawn[2] and prices[0] == prices[1] == prices[2]


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
