"""An answer is given again where nothing that its query names differs, and nowhere else."""

from __future__ import annotations

import pytest

from sfumato.table.data import open_table
from tests.replay import seam
from tests.replay.shared import Shared, read_text
from tests.replay.worlds import HIGH, LOW, arrow, worlds

WORLD = next(world for world in worlds() if world.name == "no person")


def test_what_a_query_names():
    plain = read_text('SELECT "t0"."age" + 1 AS "older", "t0"."ill" AS "ill" FROM "sfumato_1" AS "t0"')
    assert plain is not None and plain.tables == {"sfumato_1"} and not plain.every
    assert plain.cells is not None and "age" in plain.cells["older"] and "age" not in plain.cells["ill"]
    passed_on = read_text('SELECT "age" AS "age" FROM (SELECT * FROM "sfumato_1") AS raw')
    assert passed_on is not None and not passed_on.every and passed_on.cells == {"age": '"age"'}
    counted = read_text('SELECT COUNT(*) AS "n" FROM "sfumato_1" AS "t0" WHERE "t0"."ill"')
    assert counted is not None and not counted.every and counted.cells is None
    for whole in ('SELECT * FROM "sfumato_1"', 'SELECT hash("t0") AS "h" FROM "sfumato_1" AS "t0"'):
        found = read_text(whole)
        assert found is not None and found.every
    assert read_text("SELECT age FROM read_parquet(['people.parquet'])") is None
    assert read_text('SELECT "age" FROM "other"."people"') is None


@pytest.mark.parametrize(
    ("changed", "cell", "again"), [("job", "c", True), ("pay", -0.0, True), ("age", 3, False), (None, None, False)]
)
def test_only_what_is_not_read_may_differ(changed, cell, again, monkeypatch):
    rows = [{"id": f"{at}", "visit": at, **(LOW if at % 2 else HIGH), "pay": 0.0} for at in range(6)]
    other = rows[:-1] if changed is None else [{**rows[0], changed: cell}, *rows[1:]]
    made = []
    monkeypatch.setattr(seam, "Shared", lambda: made.append(Shared()) or made[0])
    read = []
    for sharing in (True, False):
        with (
            seam.remembering(shared=sharing),
            open_table(arrow(rows), WORLD.schema) as first,
            open_table(arrow(other), WORLD.schema) as second,
        ):
            read.append([table.view(["age"]).counts(["age"]).tolist() for table in (first, second)])
    (shared,) = made
    assert read[0] == read[1] and shared.asked == 2 and shared.given == int(again)
