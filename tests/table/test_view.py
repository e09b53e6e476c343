"""The exact statistics of DuckDB against a plain Python twin, on tables with bad cells and people of many rows."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato import domain
from sfumato.errors import DomainTooLarge, ParameterError, SchemaError
from sfumato.table.bounding import Bounding, Way
from sfumato.table.data import Table, open_table
from sfumato.table.schema import Schema
from sfumato.table.sparse import sparse_totals
from sfumato.table.statistics import COUNT, Part, Power
from sfumato.table.where import read_where
from tests.table.reference import picked, share
from tests.table.tables import visits, visits_schema

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

MEASURES = [
    COUNT,
    Part(Power.SUM, "cost"),
    Part(Power.SUM, "cost", center=5_000),
    Part(Power.SQUARE, "age", 40),
    Part(Power.SQUARE, "cost", 40),
    Part(Power.PRESENT, "cost"),
    Part(Power.PRESENT, "age"),
]
QUESTIONS = [
    ((), None),
    (("town",), None),
    (("decade", "town"), "age > 40"),
    (("month",), "town IN ('Ayr', 'elsewhere') OR NOT born < '1980-01-01'"),
    (("town",), "note = 'naïve' OR note = '🙂' OR age BETWEEN 10 AND 20"),
    (("town",), "NOT (note = 'naïve' OR cost > 50)"),
    ((), "cost IS NULL OR note IS NULL OR NOT (town <> 'Ayr' AND note IS NOT NULL)"),
]


def people(data: pa.Table, schema: Schema) -> dict[Any, list[dict[str, Any]]]:
    """Return each person's rows as codes, repaired by Python; text stays text."""
    rows = defaultdict(list)
    for number, cells in enumerate(data.to_pylist()):
        row = {}
        for name in schema.names:
            kind = schema.domain(name)
            code = kind.encode(cells[schema.base(name)])
            row[name] = kind.decode(code) if isinstance(kind, domain.Text) else code
        rows[number if schema.person is None else cells[schema.person]].append(row)
    return rows


def expected(rows: Any, schema: Schema, rule: Bounding, keys: Any, measure: Part, where: Any) -> Any:
    predicate = read_where(where, schema)
    return sum(share(schema, rule, who, mine, keys, measure, predicate) for who, mine in rows.items())


@pytest.mark.parametrize("person", [None, "number", "name"])
@pytest.mark.parametrize("groups", [None, 2])
@pytest.mark.parametrize("way", [Way.WEIGH, Way.PICK])
def test_totals_are_those_of_the_plain_twin(person: str | None, groups: int | None, way: Way) -> None:
    data = visits(400, people=60, seed=3)
    schema = visits_schema(person, rows=1 if person is None else 3, groups=groups if person else None)
    rows = people(data, schema)
    if way is Way.PICK:
        # The engine orders text before it is cut to bytes; a short note orders the same everywhere.
        data = data.set_column(data.column_names.index("note"), "note", pa.array(["a"] * data.num_rows))
        rows = people(data, schema)
    with open_table(data, schema) as table:
        view = table.view(schema.names, table.rule(whole=way is Way.PICK))
        assert view.people() == len(rows)
        for keys, where in QUESTIONS:
            found = view.totals(keys, MEASURES, where)
            for measure, total in zip(MEASURES, found, strict=True):
                np.testing.assert_array_equal(total, expected(rows, schema, view.rule, keys, measure, where))


def test_sparse_counts_merge_text_that_is_cut_to_the_same_bytes() -> None:
    schema = Schema({"note": domain.text(max_bytes=4), "side": domain.booleans()})
    data = pa.table({"note": ["naïve", "naïf", "nai", None, "a" * 5_000, "🙂!", "🙂"], "side": [True] * 6 + [False]})
    with open_table(data, schema) as table:
        view = table.view(["note", "side"])
        found = {
            (schema.domain("note").decode(note), side): count
            for (note, side), count in view.sparse_counts(["note", "side"]).items()
        }
        assert found == {("naï", 1): 2, ("nai", 1): 1, (None, 1): 1, ("aaaa", 1): 1, ("🙂", 1): 1, ("🙂", 0): 1}
        assert list(view.sparse_counts(["note", "side"])) == sorted(view.sparse_counts(["note", "side"]))
        assert view.count("note = 'naï'") == 2 and view.count("note <> 'aaaa'") == 5 and view.count("note = '🙂'") == 2


def test_lists_and_grids() -> None:
    schema = Schema({"age": domain.integers(0, 2**40)})
    data = pa.table({"age": [5, 3, 3, None, 2**50, 7]})
    with open_table(data, schema) as table:
        view = table.view(["age"])
        assert view.sorted_codes("age").tolist() == [3, 3, 5, 7, 2**40]
        assert view.grid_counts("age", [3, 6]).tolist() == [0, 3, 2]
        assert view.grid_counts("age", []).tolist() == [5]
        with pytest.raises(DomainTooLarge) as refused:
            view.counts(["age"])
        assert refused.value.method == "sparse_counts"
        assert view.sparse_counts(["age"])[(3,)] == 2
        with pytest.raises(ParameterError, match="grow"):
            view.grid_counts("age", [3, 3])


@pytest.mark.parametrize("name", ["part_0", "part_1", "part_1_high", "cell", "rows"])
def test_a_column_may_be_called_as_a_total_was(name: str) -> None:
    # A sum in two halves has no column of its own name: a key of that name was read in its place.
    schema = Schema({name: domain.text(max_bytes=4), "pay": domain.integers(0, 2**40, missing=0)})
    with open_table(pa.table({name: ["a", "b", "a"], "pay": [2**40, 7, 1]}), schema) as table:
        found = sparse_totals(
            table.view([name, "pay"]), [name], [COUNT, Part(Power.SUM, "pay")], read_where(None, schema)
        )
        assert [total.tolist() for total in found.totals] == [[2, 1], [2**40 + 1, 7]]


def test_sums_beyond_63_bits_are_exact() -> None:
    schema = Schema({"size": domain.integers(-(2**61), 2**61), "side": domain.integers(0, 1, missing=0)})
    data = pa.table(
        {"size": pa.array([2**61] * 50 + [-(2**61) + 1, 5], pa.int64()), "side": pa.array([0] * 50 + [1, 1])}
    )
    with open_table(data, schema) as table:
        view = table.view(["size", "side"])
        assert view.sums("size", ["side"]).tolist() == [50 * 2**61, -(2**61) + 6]
        assert int(view.sums("size", center=-(2**61))) == 49 * 2**61 + 6 + 52 * 2**61
        with pytest.raises(SchemaError, match="too large"):
            view.squares("size")


def test_a_view_hands_out_declared_columns_only() -> None:
    with open_table(visits(50, 10, 1), visits_schema("number", 2), snapshot="monday") as table:
        view = table.view(["town", "decade"])
        assert view.snapshot == "monday"
        for ask in (
            lambda: view.counts(["age"]),
            lambda: view.sums("cost"),
            lambda: view.count("age > 3"),
            lambda: view.distribution("month"),
            lambda: view.sparse_counts(["note"]),
        ):
            with pytest.raises(SchemaError, match="declared to read"):
                ask()
        assert view.reads == {"town", "age"}
        assert table.view(["town"], table.rule(whole=True)).reads == set(table.schema.attributes)
        with pytest.raises(SchemaError, match="did you mean 'town'"):
            table.view(["twon"])
        with pytest.raises(ParameterError, match="Weighed rows"):
            view.sorted_codes("decade")
        with pytest.raises(ParameterError, match="list of columns"):
            view.counts("town")


def test_rows_without_a_person_are_left_out_and_an_empty_table_is_no_error() -> None:
    schema = Schema({"age": domain.integers(0, 9)}, person="who", rows_per_person=2)
    for who, rows in ((["a", "", None, "a"], 2), ([], 0)):
        data = pa.table({"who": pa.array(who, pa.string()), "age": pa.array([1] * len(who), pa.int64())})
        with open_table(data, schema) as table:
            for way in (Way.WEIGH, Way.PICK):
                view = table.view(["age"], table.rule(whole=way is Way.PICK))
                assert view.count() == rows * view.scale
                assert view.counts(["age"]).sum() == rows * view.scale
            assert table.people == min(rows, 1)


def test_every_person_counts_at_most_what_the_schema_says() -> None:
    schema = visits_schema("number", rows=4)
    rows = people(visits(3_000, 40, 9), schema)
    with open_table(visits(3_000, 40, 9), schema) as table:
        assert isinstance(table, Table)
        counts = [len(mine) for mine in rows.values()]
        assert table.view(["town"], table.rule(whole=True)).count() == sum(min(count, 4) for count in counts)
        units = [count * (2**20 if count <= 4 else 4 * 2**20 // count) for count in counts]
        assert table.view(["town"]).count() == sum(units) and max(units) <= 4 * 2**20
        rule = table.rule(whole=True)
        assert all(len(picked(schema, rule, who, mine)) <= 4 for who, mine in rows.items())
