"""Whose rows they are: every row belongs to its id, whatever the ids look like and however often rows are read."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.domain import integers
from sfumato.table import Schema, open_table
from sfumato.table.owners import Owners, owners_of
from sfumato.table.repair import PERSON

ENDS = {pa.int8(): 2**7, pa.int32(): 2**31, pa.int64(): 2**63}


def owned(cells: list[Any], kind: pa.DataType, *cuts: int) -> tuple[pa.ChunkedArray, Owners]:
    places = [0, *sorted(min(cut, len(cells)) for cut in cuts), len(cells)]
    parts = [pa.array(cells[start:stop], kind) for start, stop in pairwise(places)]
    ids = pa.chunked_array(parts, kind)
    found = owners_of(ids)
    assert found is not None
    return ids, found


def check(cells: list[Any], kind: pa.DataType, *cuts: int) -> None:
    ids, found = owned(cells, kind, *cuts)
    people = found.people.to_pylist()
    assert [people[place] for place in found.places.to_pylist()] == cells
    assert dict(zip(people, found.counts.tolist(), strict=True)) == Counter(cells)
    assert found.people.type == kind and len(set(people)) == len(people)
    assert found.counted().column(PERSON).to_pylist() == people
    assert found.own(ids) and found.own(pa.chunked_array([pa.array(cells, kind)]))


@settings(deadline=None)
@given(st.sampled_from(sorted(ENDS, key=str)), st.data(), st.integers(0, 20))
def test_whole_numbers_are_told_apart_at_any_size(kind: pa.DataType, data: st.DataObject, cut: int) -> None:
    end = ENDS[kind]
    near = st.sampled_from([-end, -3, 0, 7, end - 9]).flatmap(lambda low: st.integers(low, low + 8))
    check(data.draw(st.lists(near | st.integers(-end, end - 1), max_size=30)), kind, cut)


@settings(deadline=None)
@given(st.sampled_from([-(2**63), -5, 0, 2**63 - 12]), st.lists(st.integers(0, 11), max_size=30), st.integers(0, 20))
def test_serial_numbers_are_told_apart(first: int, steps: list[int], cut: int) -> None:
    check([first + step for step in steps], pa.int64(), cut, cut)


@settings(deadline=None)
@given(st.lists(st.text(max_size=3), max_size=30), st.integers(0, 20))
def test_texts_are_told_apart(cells: list[str], cut: int) -> None:
    check(cells, pa.string(), cut)


@pytest.mark.parametrize(("kind", "names"), [(pa.int64(), [4, 5, 6]), (pa.string(), ["a", "b", "c"])])
def test_rows_in_another_order_are_noticed(kind: pa.DataType, names: list[Any]) -> None:
    a, b, c = names
    _, found = owned([a, b, a, c], kind, 2)
    assert found.own(pa.chunked_array([pa.array([a, b, a], kind), pa.array([c], kind)]))
    for other in ([b, a, a, c], [a, b, a], [a, b, a, c, c], [a, b, a, a]):
        assert not found.own(pa.chunked_array([pa.array(other, kind)]))


@pytest.mark.parametrize("spread", [1, 2**40])
def test_rows_that_come_in_another_order_later_weigh_the_same(spread: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(5)  # noqa: TID251
    columns = {"id": draw.integers(0, 40, 900) * spread, "age": draw.integers(0, 99, 900)}
    schema = Schema({"age": integers(0, 99)}, person="id", rows_per_person=9)
    found = []
    for turned in (False, True):
        with open_table(pa.table(columns), schema) as table:
            if turned:
                monkeypatch.setattr(table, "run", lambda query, *more, run=table.run: _turned(run(query, *more)))
            found.append((table.people, table.view(["age"]).counts(["age"]).tolist()))
    assert found[0] == found[1] and found[0][0] == 40


def test_ids_too_long_for_one_array_are_left_to_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema({"age": integers(0, 9)}, person="id", rows_per_person=2)
    data = pa.table({"id": [*"aaabbc"], "age": [1, 2, 3, 4, 5, 6]})
    found = []
    for full in (False, True):
        if full:
            monkeypatch.setattr("pyarrow.compute.dictionary_encode", _full)
        with open_table(data, schema) as table:
            found.append((table.people, table.view(["age"]).counts(["age"]).tolist()))
    assert found[0] == found[1] and found[0][0] == 3


def _turned(rows: pa.Table) -> pa.Table:
    return rows.take(pa.array(range(len(rows) - 1, -1, -1)))


def _full(*_: Any) -> Any:
    raise pa.ArrowCapacityError("array cannot contain more bytes")
