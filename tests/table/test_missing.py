"""What a missing cell becomes, and how conditions speak of it: against a three-valued reference and DuckDB's own SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from sfumato.domain import bins, booleans, categories, dates, fixed, integers, text
from sfumato.noise import Noise
from sfumato.table import Part, Power, Schema, open_table, read_where, where_table
from sfumato.table.predicate import EVERY_ROW, NO_ROW, from_json, holds, to_json
from sfumato.table.rehearsal import random_rows

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

SCHEMA = Schema(
    {
        "age": integers(0, 9),
        "city": categories("Ayr", "Bath"),
        "ok": booleans(),
        "note": text(max_bytes=5),
        "whole": integers(0, 3, missing=0),
    }
)
Cells = Mapping[str, Any]
Three = bool | None
Meaning = Callable[[Cells], Three]

ROWS: list[Cells] = [
    {"age": age, "city": city, "ok": ok, "note": note, "whole": whole}
    for age, city, ok, note, whole in [
        (None, "Ayr", True, "a", 0),
        (3, None, None, None, 1),
        (7, "other", False, "", 2),
        (None, None, None, None, 3),
        (0, "Bath", True, "b", 0),
        (9, "Ayr", False, "a", 1),
        (5, "other", None, None, 2),
        (5, "Bath", True, "", 3),
    ]
]


def compared(column: str, holds_for: Callable[[Any], bool]) -> Meaning:
    return lambda row: None if row[column] is None else holds_for(row[column])


LEAVES: list[tuple[str, Meaning]] = [
    ("age > 4", compared("age", lambda age: age > 4)),
    ("age <= 20", compared("age", lambda age: age <= 20)),
    ("age > 20", compared("age", lambda age: age > 20)),
    ("age <> 5", compared("age", lambda age: age != 5)),
    ("age BETWEEN 3 AND 6", compared("age", lambda age: 3 <= age <= 6)),
    ("age NOT IN (3, 9)", compared("age", lambda age: age not in (3, 9))),
    ("age IS NULL", lambda row: row["age"] is None),
    ("age IS NOT NULL", lambda row: row["age"] is not None),
    ("city = 'Ayr'", compared("city", lambda city: city == "Ayr")),
    ("city <> 'Ayr'", compared("city", lambda city: city != "Ayr")),
    ("city IN ('Ayr', 'other')", compared("city", lambda city: city in ("Ayr", "other"))),
    ("city IS NULL", lambda row: row["city"] is None),
    ("ok", compared("ok", bool)),
    ("ok = FALSE", compared("ok", lambda ok: not ok)),
    ("ok IS TRUE", lambda row: row["ok"] is True),
    ("ok IS NOT FALSE", lambda row: row["ok"] is not False),
    ("note = 'a'", compared("note", lambda note: note == "a")),
    ("note <> 'a'", compared("note", lambda note: note != "a")),
    ("note NOT IN ('a', 'b')", compared("note", lambda note: note not in ("a", "b"))),
    ("note IS NULL", lambda row: row["note"] is None),
    ("note IS NOT NULL", lambda row: row["note"] is not None),
    ("whole > 1", compared("whole", lambda whole: whole > 1)),
    ("whole IS NULL", lambda row: False),
    ("TRUE", lambda row: True),
]


def both(first: Three, second: Three) -> Three:
    return False if first is False or second is False else None if first is None or second is None else True


def opposite(value: Three) -> Three:
    return None if value is None else not value


def formula(noise: Noise, depth: int) -> tuple[str, Meaning]:
    """Return a random formula as SQL, and what it means row by row in Kleene's logic."""
    kind = noise.uniform(4) if depth else 0
    if kind == 0:
        return LEAVES[noise.uniform(len(LEAVES))]
    (one, first), (two, second) = formula(noise, depth - 1), formula(noise, depth - 1)
    if kind == 1:
        return f"NOT ({one})", lambda row: opposite(first(row))
    if kind == 2:
        return f"({one}) AND ({two})", lambda row: both(first(row), second(row))
    return f"({one}) OR ({two})", lambda row: opposite(both(opposite(first(row)), opposite(second(row))))


def coded(row: Cells) -> dict[str, Any]:
    return {name: row[name] if name == "note" else SCHEMA.domain(name).encode(row[name]) for name in SCHEMA.names}


@pytest.mark.parametrize(("formulas", "read"), [(200, 30), pytest.param(800, 60, marks=pytest.mark.audit)])
def test_conditions_are_those_of_kleene_and_of_sql(formulas: int, read: int) -> None:
    noise = Noise(insecure_seed=14)
    codes = [coded(row) for row in ROWS]
    data = pa.Table.from_pylist([dict(row) for row in ROWS])
    connection = duckdb.connect()
    connection.register("people", data)
    texts, wanted = [], []
    for _ in range(formulas):
        sql, meaning = formula(noise, 4)
        predicate = read_where(sql, SCHEMA) if len(sql) <= 5_000 else EVERY_ROW
        passes = [meaning(row) is True for row in ROWS]
        assert [holds(predicate, row) for row in codes] == passes, sql
        assert from_json(to_json(predicate), SCHEMA) == predicate
        texts.append(sql)
        wanted.append(sum(passes))
    counts = ", ".join(f"count(*) FILTER (WHERE {sql})" for sql in texts)
    assert list(connection.sql(f"SELECT {counts} FROM people").fetchall()[0]) == wanted
    with open_table(data, SCHEMA) as table:
        view = table.view(SCHEMA.names)
        assert [view.count(sql) for sql in texts[:read]] == wanted[:read]


def test_null_tests_without_a_level_and_in_ibis() -> None:
    assert read_where("whole IS NULL", SCHEMA) == NO_ROW and read_where("whole IS NOT NULL", SCHEMA) == EVERY_ROW
    shown = where_table(SCHEMA)
    for name in ("age", "city", "ok", "note"):
        assert read_where(shown[name].isnull(), SCHEMA) == read_where(f"{name} IS NULL", SCHEMA)
        assert read_where(~shown[name].isnull(), SCHEMA) == read_where(shown[name].notnull(), SCHEMA)
    assert read_where("age >= 0", SCHEMA) == read_where("age IS NOT NULL", SCHEMA) != EVERY_ROW
    assert read_where("NOT age > 20", SCHEMA) == read_where("age IS NOT NULL", SCHEMA)


def test_totals_pass_missing_cells_over() -> None:
    schema = Schema({"pay": fixed(-5, 10, step="0.5"), "job": categories("nurse", "clerk"), "note": text(max_bytes=4)})
    data = pa.table(
        {
            "pay": [1.0, None, float("nan"), -5.0, 99.0, 2.0],
            "job": ["nurse", "nurse", None, "smith", "clerk", None],
            "note": ["", None, "a", "b", None, ""],
        }
    )
    with open_table(data, schema) as table:
        view = table.view(schema.names)
        # nurse, clerk, other, missing; cells in halves: 2, 20, -10, 4
        assert view.counts(["job"]).tolist() == [2, 1, 1, 2]
        assert view.sums("pay", ["job"]).tolist() == [2, 20, -10, 4]
        assert view.presents("pay", ["job"]).tolist() == [1, 1, 1, 1]
        assert view.sums("pay", center=3).tolist() == 16 - 4 * 3
        assert view.squares("pay", center=3).tolist() == 1 + 17**2 + 13**2 + 1
        assert [int(view.presents(name)) for name in schema.names] == [4, 4, 4]
        assert view.distribution("pay")[0].tolist() == [-10, 2, 4, 20]
        assert [schema.domain("job").decode(code) for code in range(4)] == ["nurse", "clerk", "other", None]
        assert view.sparse_counts(["note"])[(0,)] == 2 and view.sparse_counts(["note"])[(1,)] == 2


def test_a_level_outside_the_type_of_the_cell_and_wide_sums() -> None:
    schema = Schema({"byte": integers(-128, 127), "wide": integers(-(2**61), 2**61)})
    data = pa.table(
        {
            "byte": pa.array([127, None, -128], pa.int8()),
            "wide": pa.array([2**61, None, 2**61], pa.int64()),
        }
    )
    with open_table(data, schema) as table:
        view = table.view(schema.names)
        assert view.counts(["byte"])[[0, 255, 256]].tolist() == [1, 1, 1]
        assert int(view.sums("wide")) == 2**62 and int(view.sums("wide", center=5)) == 2**62 - 10
        assert view.totals((), [Part(Power.PRESENT, "wide")])[0].tolist() == 2


def test_derived_columns_are_missing_with_their_base() -> None:
    schema = Schema({"age": integers(0, 99), "decade": bins("age", step=10), "born": dates("2000-01-01", "2000-12-31")})
    with open_table(pa.table({"age": [5, None, 95], "born": ["2000-02-30", "2000-02-29", "x"]}), schema) as table:
        counts = table.view(["decade", "born"]).counts(["decade"])
        assert counts.tolist() == [1, *[0] * 8, 1, 1] and schema.domain("decade").decode(10) is None
        assert table.view(["born"]).count("born IS NULL") == 2


def test_rehearsals_have_missing_cells() -> None:
    rows = random_rows(SCHEMA, 400, Noise(insecure_seed=2))
    missing = {name: rows.column(name).null_count for name in SCHEMA.names}
    assert all(missing[name] > 5 for name in ("age", "city", "ok", "note")) and missing["whole"] == 0
    with open_table(rows, SCHEMA) as table:
        found = table.view(SCHEMA.names).counts(["ok"])
        assert np.asarray(found).sum() == 400 and found[2] == missing["ok"]
