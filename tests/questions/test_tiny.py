"""The plain view that promise cases enumerate hands out what the engine's view hands out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
import pytest

from sfumato.table.bounding import Bounding, Way
from sfumato.table.data import open_table
from sfumato.table.schema import Schema
from sfumato.table.sparse import sparse_totals
from sfumato.table.statistics import COUNT, Part, Power
from sfumato.table.where import read_where
from tests.imputed import integers
from tests.questions.tiny import People, TinyView, plain

MEASURES = [COUNT, Part(Power.SUM, "value", 1), Part(Power.SQUARE, "value", 1)]


def random_people(seed: int, most: int) -> People:
    draw = np.random.default_rng(seed)  # noqa: TID251
    return tuple(
        (who, tuple(tuple(draw.integers([0, 0, -1], [2, 2, 3]).tolist()) for _ in range(draw.integers(1, most + 1))))
        for who in range(3, 9)
    )


@pytest.mark.parametrize(
    ("rows", "groups", "way"),
    [(None, None, Way.ROWS), (2, None, Way.WEIGH), (2, 1, Way.WEIGH), (2, None, Way.PICK), (2, 1, Way.PICK)],
)
def test_the_plain_view_agrees_with_the_engine(rows: int | None, groups: int | None, way: Way) -> None:
    columns = {"key": integers(0, 1), "side": integers(0, 1), "value": integers(-1, 2)}
    schema = Schema(columns) if rows is None else Schema(columns, "person", rows, groups)
    for seed in range(2):
        people = random_people(seed, 1 if rows is None else 4)
        flat = [(who, *row) for who, listed in people for row in listed]
        arrow = pyarrow.table({name: [row[at] for row in flat] for at, name in enumerate(("person", *columns))})
        with open_table(arrow if rows else arrow.drop_columns(["person"]), schema) as table:
            rule = table.rule(whole=way is Way.PICK)
            tiny, view = TinyView(schema, rule, people), table.view(columns, rule)
            for where in (None, "side = 1"):
                predicate = read_where(where, schema)
                for keys in ((), ("key",), ("key", "side")):
                    found = view.totals(keys, MEASURES, where)
                    assert [plain(one) for one in tiny.totals(keys, MEASURES, where)] == [plain(one) for one in found]
                assert tiny.sparse_counts(("key",), where) == view.sparse_counts(("key",), where)
                both: list[Any] = [sparse_totals(one, ("key",), MEASURES, predicate) for one in (tiny, view)]  # type: ignore[arg-type]
                assert both[0] == both[1]
                assert plain(tiny.distribution("value", where)) == plain(view.distribution("value", where))


def test_a_person_without_rows_after_the_filter_is_in_no_cell() -> None:
    schema = Schema({"key": integers(0, 1), "side": integers(0, 1)})
    view = TinyView(schema, Bounding(Way.ROWS), ((3, ((1, 0),)),))
    assert view.sparse_counts(("key",), "side = 1") == {}
