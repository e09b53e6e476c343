"""Rows that a declared key tells apart: which ones count depends on keys alone, in memory and in an engine."""

from __future__ import annotations

from typing import Any

import pyarrow
import pytest

from sfumato import Noise, Pure, curate
from sfumato.domain import categories, integers
from sfumato.errors import SchemaError
from sfumato.questions import Count, Histogram, Mean, Synthesize
from sfumato.table import data
from sfumato.table.bounding import pick_in_engine
from sfumato.table.data import Table, open_table
from sfumato.table.gauge import Basis
from sfumato.table.measure import Rows, Totals
from sfumato.table.schema import Schema
from tests.table.reference import picked

COLUMNS = {"age": integers(0, 9, missing=4), "job": categories("a", "b", missing="b")}
KEYED = Schema(COLUMNS, "id", 2, row_key=("visit", "place"))


def rows_of(noise: Noise, people: int = 40) -> list[dict[str, Any]]:
    """Draw visits, some with the same key, some without one."""
    found = []
    for who in range(people):
        for _ in range(1 + int(noise.uniform(6))):
            visit = None if noise.uniform(8) == 0 else int(noise.uniform(4))
            row = {"id": who, "visit": visit, "place": ("x", "xy", "")[int(noise.uniform(3))]}
            found.append({**row, "age": int(noise.uniform(10)), "job": "ab"[int(noise.uniform(2))]})
    return found


def arrow(rows: list[dict[str, Any]]) -> Any:
    return pyarrow.table({name: [row[name] for row in rows] for name in rows[0]})


def read(table: Table, schema: Schema) -> dict[tuple[int, ...], int]:
    found = Basis(schema, table.people).gauge(Rows(("age", "job"))).read(table)
    return {tuple(row): int(count) for row, count in zip(found.codes.tolist(), found.counts, strict=True)}


def in_engine(table: Table, rows: Any, place: Any, limit: int, ties: Any, hidden: Any) -> Any:
    """Pick as a cluster does."""
    return table._cached(pick_in_engine(place(rows), limit, tuple(ties)).drop(*hidden))


def expected(rows: list[dict[str, Any]], schema: Schema) -> dict[tuple[int, ...], int]:
    coded = [{**row, "job": "ab".index(row["job"])} for row in rows]
    rule = Basis(schema, 1).gauge(Rows(("age", "job"))).rule
    found: dict[tuple[int, ...], int] = {}
    for who in {row["id"] for row in coded}:
        for row in picked(schema, rule, who, [row for row in coded if row["id"] == who]):
            found[row["age"], row["job"]] = found.get((row["age"], row["job"]), 0) + 1
    return found


@pytest.mark.parametrize("way", ["memory", "shards", "engine"])
def test_the_same_rows_are_picked_everywhere(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "shards":
        monkeypatch.setattr(data, "PEOPLE_AT_ONCE", 8)
    rows = rows_of(Noise(insecure_seed=5))
    with open_table(arrow(rows), KEYED) as table:
        if way == "engine":
            monkeypatch.setattr(Table, "keep_first", in_engine)
        assert read(table, KEYED) == expected(rows, KEYED)


def test_no_cell_decides_which_rows_count() -> None:
    """All ages of one person change: the other columns of the rows that count stay what they were."""
    rows = rows_of(Noise(insecure_seed=6))
    schema = Schema(COLUMNS, "id", 1, row_key=("visit", "place"))
    gauge = Basis(schema, 40).gauge(Rows(("job",)))
    readings = []
    for age in range(10):
        changed = [{**row, "age": age if row["id"] == 7 else row["age"]} for row in rows]
        with open_table(arrow(changed), schema) as table:
            readings.append(gauge.read(table).counts.tolist())
    assert all(reading == readings[0] for reading in readings) and gauge.attributes == {"job"}
    # Without a key the age decides which of two rows counts.
    bare = Schema(COLUMNS, "id", 1)
    moved = []
    for age in range(10):
        pair = [{"id": 1, "age": age, "job": "a"}, {"id": 1, "age": 0, "job": "b"}]
        with open_table(arrow(pair), bare) as table:
            moved.append(Basis(bare, 1).gauge(Rows(("job",))).read(table).codes.tolist())
    assert len({str(one) for one in moved}) == 2
    assert Basis(bare, 1).gauge(Rows(("job",))).attributes == {"age", "job"}


def test_one_row_each_is_as_if_there_were_no_person_column() -> None:
    rows = [{"id": who, "age": who % 10, "job": "ab"[who % 2]} for who in range(30)]
    single, plain = Schema(COLUMNS, "id", row_key=()), Schema(COLUMNS)
    with open_table(arrow(rows), single) as one, open_table(arrow(rows), plain) as other:
        assert read(one, single) == read(other, plain) and one.people == other.people == 30
        for question in (Count("age > 3"), Mean("age"), Histogram("job"), Synthesize()):
            here, there = (question.prepare(Basis(schema, 30), Pure(1)) for schema in (single, plain))
            assert here.mechanism.event().to_json() == there.mechanism.event().to_json()
            assert here.loss() == there.loss() and here.gauge.unit == 1 and here.gauge.total == there.gauge.total
    # Who breaks the declaration is one empty row, so that there are as many rows as people.
    with open_table(arrow([*rows, {"id": 3, "age": 9, "job": "a"}]), single) as broken:
        gauge = Basis(single, broken.people).gauge(Totals(("age",)))
        counts = gauge.read(broken)[0].tolist()
        assert broken.people == 30 and sum(counts) == 30 and counts[3] == 2 and counts[4] == 4


def test_a_row_key_says_what_is_wrong_with_it() -> None:
    for options, words in (
        ({"row_key": "visit"}, "person="),
        ({"person": "id", "row_key": ("visit", "visit")}, "once"),
        ({"person": "id", "row_key": ("id",)}, "not the person"),
        ({"person": "id", "rows_per_person": 2, "row_key": ()}, "one row"),
    ):
        with pytest.raises(SchemaError, match=words):
            Schema(COLUMNS, **options)
    with pytest.raises(SchemaError, match="does not have"):
        open_table(pyarrow.table({"id": [1], "age": [1], "job": ["a"]}), KEYED)
    again = Schema.from_toml(KEYED.to_toml())
    assert again == KEYED and again.row_key == ("visit", "place")
    assert Schema.from_toml(Schema(COLUMNS, "id", row_key=()).to_toml()).row_key == ()


def test_a_keyed_table_is_asked_through_a_curator() -> None:
    rows = rows_of(Noise(insecure_seed=7))
    with curate(arrow(rows), KEYED, Pure(10)) as curator:
        answer = curator.ask(Synthesize(columns=("age",)), Pure(1))
        assert answer.loss.at("job").is_zero and 0.9999 < answer.loss.at("age").epsilon <= 1
    with curate(arrow(rows), Schema(COLUMNS, "id", 2), Pure(10)) as curator:
        answer = curator.ask(Synthesize(columns=("age",)), Pure(1))
        assert answer.loss.at("job") == answer.loss.at("age") == answer.loss.person
