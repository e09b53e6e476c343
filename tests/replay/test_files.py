"""Nobody else's cell decides how an odd cell in a file is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ibis
import pyarrow
import pytest
from pyarrow import parquet

from sfumato import Pure
from sfumato.errors import SchemaError
from sfumato.privacy import REPLACE_ONE
from sfumato.questions import Count, GroupBy, Histogram, Mean, Question, Sum, Variance
from sfumato.table.data import open_table
from tests.replay import harness, seam
from tests.replay.extreme import PASSES, Neighbour
from tests.replay.worlds import HIGH, LOW, ODD, Row, World, arrow, worlds

WORLDS = {world.name: world for world in worlds()}
LINEAR: tuple[Question, ...] = (
    Count("pay > 1"), Count("pay is null"), Count("age > 3"), Count("job = 'a'"), Count("job <> 'a'"),
    Count("seen > '2020-02-01'"), Count("seen is null"), Count("town = 'A'"), Count("scar = true"), Sum("pay"),
    Mean("pay"), Variance("age"), Histogram(("job", "ward")), Histogram("month"), GroupBy("decade", [Sum("pay")]),
)  # fmt: skip
"""Sums over rows: what one row adds does not depend on any other row."""
SWEPT: tuple[Row, ...] = (
    LOW, HIGH, {**HIGH, "pay": float("inf"), "town": "", "job": "zz"},
    {name: None if name not in ("ward", "level") else cell for name, cell in LOW.items()},
)  # fmt: skip
"""What somebody else's row may be: both ends of every range, beyond them, and nothing."""
CLEAN = PASSES
FORMS: dict[str, dict[str, Any]] = {
    "statistics": {"write_statistics": True, "use_dictionary": True},
    "no statistics": {"write_statistics": False, "use_dictionary": True},
    "no dictionary": {"write_statistics": True, "use_dictionary": False},
    "several groups": {"write_statistics": True, "row_group_size": 2},
}


def odd_rows() -> list[Row]:
    """Return rows in which every cell is odd: the first, the second and the last odd cell of every column."""
    return [{name: cells[min(place, len(cells) - 1)] for name, cells in ODD.items()} for place in (0, 1, -1)]


def readings(world: World, place: Path, odd: Row, form: dict[str, Any]) -> Iterator[list[Any]]:
    """Yield what is read beside an odd row for each row that somebody else may have."""
    for swept in SWEPT:
        rows = [{"id": who, "visit": 0, **cells} for who, cells in (("v", odd), ("o", swept), ("w", CLEAN))]
        parquet.write_table(arrow(rows), place / "swept.parquet", **form)
        with open_table(place / "swept.parquet", world.schema) as table:
            plans = (seam.plan(question, world, 3, REPLACE_ONE, Pure(1)) for question in LINEAR)
            yield [[part.vector for part in plan.parts(plan.read(table))] for plan in plans]


def flips(place: Path, forms: list[str], rows: list[Row] | None = None) -> list[str]:
    """Return the questions of which somebody else's cell moves another amount beside an odd cell than beside none."""
    world, found = WORLDS["no person"], []
    for form in forms:
        plain = list(readings(world, place, CLEAN, FORMS[form]))
        for odd in rows or odd_rows():
            beside = list(readings(world, place, odd, FORMS[form]))
            for at in range(1, len(SWEPT)):
                for asked, *seen in zip(LINEAR, plain[0], plain[at], beside[0], beside[at], strict=True):
                    steps = [_steps(seen[0], seen[1]), _steps(seen[2], seen[3])]
                    if steps[0] != steps[1]:
                        found.append(f"{asked!r} beside {odd!r}, {form}: {steps}")
    return found


def _steps(one: list[seam.Vector], other: list[seam.Vector]) -> list[dict[Any, int]]:
    return [
        {key: b.get(key, 0) - a.get(key, 0) for key in {*a, *b} if b.get(key, 0) != a.get(key, 0)}
        for a, b in zip(one, other, strict=True)
    ]


LONG = [pytest.param(name, marks=pytest.mark.audit) for name in FORMS if name != "statistics"]


@pytest.mark.parametrize("form", ["statistics", *LONG])
def test_somebody_elses_cell_counts_the_same_beside_an_odd_one(form, tmp_path):
    told = flips(tmp_path, [form])
    assert not told, "\n".join(told[:5])


def test_missing_cells_that_statistics_answer_for_are_found(tmp_path, monkeypatch):
    """A file leaves NaN out of its statistics, and an engine believes these."""
    monkeypatch.setattr("sfumato.table.repair.real", lambda cell: ibis.ifelse(cell.isnan(), ibis.null("float64"), cell))
    assert flips(tmp_path, ["statistics"], odd_rows()[1:2])


def _with_ids(file: Path, rows: list[Row], ids: list[bytes]) -> Path:
    table = arrow(rows)
    stored = pyarrow.array(ids, pyarrow.binary()).view(pyarrow.string())  # a view is not validated
    parquet.write_table(table.set_column(table.schema.get_field_index("id"), "id", stored), file)
    return file


def test_a_scan_that_replaces_bad_bytes_is_found(tmp_path, monkeypatch):
    """Two people whose identities read alike become one, and the number of people, which is public, moves."""
    world = WORLDS["one row"]
    rows = [{"id": "", "visit": 0, **cells} for cells in (PASSES, LOW, HIGH)]
    files = [
        _with_ids(tmp_path / f"{place}.parquet", rows, [b"\xff", b"a", last])
        for place, last in enumerate((b"b", b"\xfe"))
    ]
    with pytest.raises(SchemaError, match="write the file again"):
        open_table(files[1], world.schema)
    monkeypatch.setattr("sfumato.table.source._PARQUET_SCAN", "read_parquet([{}], utf8_validation = 'replace')")
    another = Neighbour("another identity", rows, None, "replace")
    with open_table(files[0], world.schema) as one, open_table(files[1], world.schema) as other:
        assert harness.miscounted(harness.Tables(world, rows, one, [(another, other)]))
