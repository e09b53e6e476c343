from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy.stats import chi2, kstest

from sfumato.domain import categories, integers
from sfumato.errors import ParameterError
from sfumato.table import Bounding, Schema, Way, bounding_of, open_source, open_table
from sfumato.table.bounding import ORDER, one_each, pick_in_engine, pick_in_memory, pick_shown
from sfumato.table.order import keyed_hash, limbs, person_limbs
from sfumato.table.repair import PERSON
from tests.table.tables import visits, visits_schema

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")


def chance(persons: Any, keys: Any, kept: int, key: str, mixer: Any = keyed_hash) -> float:
    """Return how likely counts of kept groups at least this uneven are when every group is equally likely."""
    grid = np.meshgrid(persons, keys, indexing="ij")
    order = mixer([*person_limbs(grid[0]), grid[1]], key)
    first = np.argsort(order, axis=1, kind="stable")[:, :kept]
    counts = np.bincount(first.ravel(), minlength=len(keys))
    mean = len(persons) * kept / len(keys)
    # Groups are kept without repetition, so their counts spread less than those of independent draws.
    statistic = ((counts - mean) ** 2 / mean).sum() * (len(keys) - 1) / (len(keys) - kept)
    return float(chi2.sf(statistic, len(keys) - 1))


PERSONS = [np.arange(20_000), np.arange(20_000) * 1_000, np.arange(20_000) + 10**12, np.arange(20_000) << 20]
KEYS = [np.arange(10), np.arange(40) * 7, np.arange(16) << 10]


def linear(parts: Any, key: str) -> Any:
    """The same rounds with sums instead of exclusive or: the hash that the finding measured as uneven."""
    state: Any = 12_345
    for place, part in enumerate(parts):
        state = ((part + state) % (2**31 - 1)) * (1_000_003 + 2 * place) % (2**31 - 1)
    return state


def test_no_group_is_favoured_and_the_test_would_see_it() -> None:
    chances = [chance(who, keys, 3, str(key)) for key in range(3) for who, keys in product(PERSONS, KEYS)]
    assert min(chances) > 1e-7
    assert kstest(chances, "uniform").pvalue > 1e-6
    assert max(chance(who, keys, 3, "", linear) for who, keys in product(PERSONS[:2], KEYS[:2])) < 1e-7


def test_the_hash_is_one_function_on_integers_arrays_and_engines() -> None:
    persons = [0, 1, -1, 2**63 - 1, -(2**63), 10**12]
    codes = [0, 5, 2**40, 2**61, 1, 7]
    source = open_source(pa.table({"p": pa.array(persons, pa.int64()), "c": pa.array(codes, pa.int64())}))
    engine = source.table.select(h=keyed_hash([*person_limbs(source.table.p), *limbs(source.table.c, 0, 2**62)], "k"))
    arrays = keyed_hash([*person_limbs(np.array(persons)), *limbs(np.array(codes), 0, 2**62)], "k")
    plain = [keyed_hash([*person_limbs(p), *limbs(c, 0, 2**62)], "k") for p, c in zip(persons, codes, strict=True)]
    assert engine.to_pyarrow().column("h").to_pylist() == arrays.tolist() == plain
    assert len(set(plain)) == len(plain) and all(0 <= one < 2**31 for one in plain)
    source.close()


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_both_ways_to_pick_keep_the_same_rows_even_under_ties(limit: int) -> None:
    draw = np.random.default_rng(7)  # noqa: TID251
    data = pa.table(
        {
            PERSON: pa.array([f"p{who}" for who in draw.integers(0, 40, 600)]),
            # Three orders only: almost every row is tied with others, some of them equal in everything.
            ORDER: pa.array(draw.integers(0, 3, 600), pa.int64()),
            "a": pa.array(draw.integers(0, 4, 600), pa.int8()),
            "b": pa.array(draw.choice(["x", "é", "🙂", "z"], 600)),
        }
    )
    source = open_source(data)
    inside = pick_in_engine(source.table, limit, ["a", "b"]).to_pyarrow()
    outside = pick_in_memory(data, limit, ["a", "b"])

    def rows(table: pa.Table) -> list[Any]:
        return sorted(zip(*(table.column(name).to_pylist() for name in (PERSON, "a", "b")), strict=True))

    assert rows(inside) == rows(outside)
    counts = np.unique(outside.column(PERSON).to_pylist(), return_counts=True)[1]
    assert counts.max() == limit and len(counts) == 40
    source.close()


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_people_whose_rows_lack_what_tells_them_apart_are_left_out_as_a_whole(limit: int) -> None:
    draw = np.random.default_rng(8)  # noqa: TID251
    data = pa.table(
        {
            PERSON: pa.array(draw.integers(0, 40, 300)),
            ORDER: pa.array(draw.integers(0, 60, 300), pa.int64()),
            "a": pa.array(draw.integers(0, 2, 300), pa.int8()),
            "b": pa.array(draw.integers(0, 9, 300), pa.int8()),
        }
    )
    whole = pick_in_memory(data, limit, ["a", "b"])
    shown = data.drop_columns(["b"])
    found, left = pick_shown(shown, limit, ["a", "b"], one_each(shown.column(PERSON)))
    assert 0 < len(left) < 40 and not set(left.to_pylist()) & set(found.column(PERSON).to_pylist())
    others = whole.filter(pc.invert(pc.is_in(whole.column(PERSON), value_set=left)))

    def rows(table: pa.Table) -> list[Any]:
        return sorted(zip(table.column(PERSON).to_pylist(), table.column("a").to_pylist(), strict=True))

    assert rows(found) == rows(others)


def test_ids_too_long_for_one_array_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = pc.dictionary_encode

    def narrow(ids: Any) -> Any:
        if ids.type == pa.string():
            raise pa.ArrowCapacityError("too long")
        return plain(ids)

    monkeypatch.setattr(pc, "dictionary_encode", narrow)
    found = one_each(pa.chunked_array([["x", "y"], ["x", "z"]], pa.string()))
    assert found.places.to_pylist() == [0, 1, 0, 2] and found.people.to_pylist() == ["x", "y", "z"]


def test_which_rows_are_picked_depends_on_the_key_and_on_nobody_else() -> None:
    schema = Schema({"town": categories(*"abcdefgh"), "age": integers(0, 99)}, person="id", rows_per_person=2)
    draw = np.random.default_rng(3)  # noqa: TID251
    columns = {
        "id": draw.integers(0, 30, 400),
        "town": draw.choice(list("abcdefgh"), 400),
        "age": draw.integers(0, 99, 400),
    }
    data = pa.table(columns)

    def kept(table: pa.Table, key: str) -> Any:
        with open_table(table, schema, order_key=key) as opened:
            return opened.view(["town", "age"], opened.rule(whole=True)).sparse_counts(["town", "age"])

    assert kept(data, "one") == kept(data.take(draw.permutation(400)), "one") != kept(data, "two")
    others = data.filter(pa.compute.not_equal(data.column("id"), 4))
    mine = data.filter(pa.compute.equal(data.column("id"), 4))
    together, apart = kept(data, "one"), (kept(others, "one"), kept(mine, "one"))
    assert together == {cell: apart[0].get(cell, 0) + apart[1].get(cell, 0) for cell in sorted({*apart[0], *apart[1]})}


def test_people_are_arranged_in_shards_without_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = visits_schema("name", rows=2, groups=1)
    found = []
    for at_once in (2**18, 7):
        monkeypatch.setattr("sfumato.table.data.PEOPLE_AT_ONCE", at_once)
        with open_table(visits(500, 60, 2), schema) as table:
            found.append(
                [
                    table.view(schema.names, table.rule(whole=whole)).counts(["town", "decade"]).tolist()
                    for whole in (False, True)
                ]
            )
            kept = table._source.engine.con.execute(
                "SELECT view_name FROM duckdb_views() WHERE NOT internal"
            ).fetchall()
            # Source, readable and repaired cells, people, picked rows: groups go with their question.
            assert len(kept) <= 5
    assert found[0] == found[1]


@pytest.mark.parametrize("person", ["number", "name"])
def test_rows_weigh_the_same_in_memory_and_in_the_engine(person: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = visits_schema(person, rows=3)
    found = []
    for at_once in (2**26, 0):
        monkeypatch.setattr("sfumato.table.data.CELLS_AT_ONCE", at_once)
        with open_table(visits(900, 70, 4), schema) as table:
            found.append((table.people, table.view(schema.names).sparse_counts(["town", "age", "month"])))
    assert found[0] == found[1] and found[0][0] == 70


def test_rules_are_checked() -> None:
    schema = Schema({"age": integers(0, 9)}, person="id", rows_per_person=3, groups_per_person=2)
    assert bounding_of(schema, whole=False).to_json() == {
        "way": "weigh",
        "rows": 3,
        "groups": 2,
        "scale": 2**20,
        "key": "",
    }
    assert bounding_of(Schema({"age": integers(0, 9)}), whole=True) == Bounding(Way.ROWS)
    for make in (
        lambda: Bounding(Way.PICK, scale=2),
        lambda: Bounding(Way.WEIGH, rows=2**40, scale=2**20),
        lambda: Bounding(Way.WEIGH, rows=0),
    ):
        with pytest.raises(ParameterError):
            make()
