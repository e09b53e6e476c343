"""Blocks of several kinds together: exact against all pairs of rows of small spaces, never below them elsewhere."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import ADD_REMOVE, EVERYTHING, Schema, workloads
from sfumato.workload import Records, Workload, elimination, moves, reach
from sfumato.workload.elimination import largest_sum
from tests.imputed import booleans, categories, integers

SMALL = Schema(
    {
        "a": integers(0, 2),
        "b": booleans(),
        "c": booleans(),
        "d": integers(0, 3),
        "town": categories("x", "y", public=True),
    }
)
WIDE = Schema({"zip": integers(0, 99_999), "age": integers(0, 99), "sex": booleans(), "income": integers(0, 49)})
BITS = Schema({f"b{place}": booleans() for place in range(30)})

CONDITIONS = ["a > 0 AND b = true", "d IN (0, 2) OR town = 'x'", "c = false", "a = 1", "d > 1 AND d < 3", "b = true"]
PARTS = st.one_of(
    st.lists(st.sampled_from([("a",), ("a", "b"), ("c", "d"), ("d",), ("town", "b")]), min_size=1, max_size=2).map(
        lambda sets: workloads.marginals(SMALL, sets=sets)
    ),
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.booleans()).map(
        lambda cell: workloads.conjunctions(SMALL, cells=[{"d": cell[1], "a": cell[0]}, {"b": cell[2]}])
    ),
    st.tuples(st.sampled_from(["b", "c"]), st.booleans()).map(
        lambda made: workloads.parities(SMALL, sets=[("b", "c"), made[0]], signed=made[1])
    ),
    st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=3).map(lambda some: workloads.predicates(SMALL, some)),
    st.sampled_from(["a", "d"]).map(lambda name: workloads.ranges(SMALL, name)),
    st.sampled_from(["a", "d"]).map(lambda name: workloads.prefixes(SMALL, name)),
    st.lists(st.sampled_from([0, 0.5, 1]), min_size=8, max_size=8).map(
        lambda values: workloads.matrix(SMALL, "d", [values[:4], values[4:]], steps=2)
    ),
)
MIXED = st.lists(PARTS, min_size=2, max_size=4).map(lambda parts: workloads.together(*parts))
CHANGING = st.one_of(st.just(EVERYTHING), st.sets(st.sampled_from("abcd"), min_size=1, max_size=3).map(frozenset))


def vectors(workload: Workload) -> tuple[np.ndarray, np.ndarray]:
    """All rows of codes, and the answers of a table with one such row."""
    rows = np.array(list(product(*(range(size) for size in workload.space.sizes))))
    found = [np.concatenate(workload.answers(Records.from_rows(workload.space, [row]))) for row in rows]
    return rows, np.array(found)


def norms(apart: np.ndarray) -> tuple[int, ...]:
    sizes = np.abs(apart)
    l1, squares, changed = sizes.sum(axis=-1), (sizes**2).sum(axis=-1), (sizes > 0).sum(axis=-1)
    return int(l1.max()), int(squares.max()), int(sizes.max()), int(changed.max())


def brute(workload: Workload, changing) -> tuple[int, ...]:
    rows, answers = vectors(workload)
    fixed = [changing is not EVERYTHING and shown not in changing for shown in workload.space.attributes]
    best = (0, 0, 0, 0)
    for row, here in zip(rows, answers, strict=True):
        beside = answers[(rows[:, fixed] == row[fixed]).all(axis=1)]
        best = tuple(map(max, best, norms(beside - here)))
    return best


def four(found) -> tuple[int, ...]:
    return int(found.l1), int(found.l2_squared), int(found.largest), found.changed


def large(workload: Workload) -> Workload:
    """The same workload, as if its domain were too large to look at all pairs of its rows."""
    again = Workload(workload.space, workload.blocks)
    object.__setattr__(again, "_small", False)
    return again


@settings(max_examples=40, deadline=None, derandomize=True)
@given(MIXED, CHANGING)
def test_mixed_blocks_move_exactly_so_far_together(workload, changing):
    again = large(workload)
    assert four(again.sensitivity(changing=changing)) == brute(workload, changing)
    assert four(again.sensitivity(ADD_REMOVE)) == norms(vectors(workload)[1])


@settings(max_examples=25, deadline=None, derandomize=True)
@given(MIXED, CHANGING, st.sampled_from(["elimination", "pairs", "written", "tables", "everything"]))
def test_bounds_are_never_below_the_truth(workload, changing, hindered):
    """Every limit on work turned off in turn: what cannot be looked at must be covered."""
    limits = {
        "elimination": [(elimination, "WORK", 0), (elimination, "SMALL", 1)],
        "pairs": [(reach, "AT_ONCE", 0), (moves, "PAIRED", 0)],
        "written": [(reach, "ENTRIES", 8)],
        "tables": [(reach, "MOST_TABLES", 1)],
    }
    limits["everything"] = [limit for some in limits.values() for limit in some]
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in limits[hindered]:
            patch.setattr(module, name, value)
        again = large(workload)
        found, added = four(again.sensitivity(changing=changing)), four(again.sensitivity(ADD_REMOVE))
    assert all(bound >= true for bound, true in zip(found, brute(workload, changing), strict=True))
    assert all(bound >= true for bound, true in zip(added, norms(vectors(workload)[1]), strict=True))


def test_a_bound_below_the_truth_would_be_seen(monkeypatch):
    """Mutants of the maximum: one block forgotten, a column kept fixed, the smallest pair instead of the largest."""
    workload = workloads.together(
        workloads.predicates(SMALL, ["a > 0 AND b = true", "d > 1 AND b = false"]), workloads.prefixes(SMALL, "a")
    )
    truth = brute(workload, EVERYTHING)
    assert four(large(workload).sensitivity()) == truth
    right = reach.largest_sums
    mutants = {
        "a block forgotten": lambda factors: right(factors[1:]),
        "one code less": lambda factors: right(
            [elimination.Factor(one.columns, tuple(table[:-1] for table in one.sums)) for one in factors[:1]]
        ),
        "the nearest pair": lambda factors: (0, 0, 0),
    }
    for name, mutant in mutants.items():
        monkeypatch.setattr(reach, "largest_sums", mutant)
        assert four(large(workload).sensitivity())[0] < truth[0], name


def test_many_disjoint_conditions_over_a_large_domain_move_like_two():
    strips = workloads.predicates(WIDE, [f"zip >= {50 * k} AND zip < {50 * k + 50}" for k in range(400)])
    assert four(strips.sensitivity()) == (2, 2, 1, 2) and four(strips.sensitivity(ADD_REMOVE)) == (1, 1, 1, 1)
    squares = workloads.predicates(
        WIDE,
        [
            f"age >= {10 * i} AND age < {10 * i + 10} AND income >= {5 * j} AND income < {5 * j + 5}"
            for i in range(10)
            for j in range(10)
        ],
    )
    assert squares.queries * (100 * 50) ** 2 > moves.PAIRED
    assert four(squares.sensitivity()) == (2, 2, 1, 2)
    assert {name: four(found) for name, found in squares.by_attribute().items()} == {
        "age": (2, 2, 1, 2),
        "income": (2, 2, 1, 2),
    }
    nested = workloads.predicates(WIDE, [f"zip < {1000 * k}" for k in range(1, 81)])
    assert four(nested.sensitivity()) == (80, 80, 1, 80)


def test_columns_of_a_large_matrix_that_are_alike_are_one():
    values = np.zeros((5, 5000), dtype=int)
    values[np.arange(5000) % 5, np.arange(5000)] = 1
    schema = Schema({"age": integers(0, 99), "income": integers(0, 49)})
    assert four(workloads.matrix(schema, ("age", "income"), values).sensitivity()) == (2, 2, 1, 2)


def test_blocks_over_a_chain_of_columns_are_maximised_column_by_column():
    chain = workloads.conjunctions(BITS, cells=[{f"b{k}": True, f"b{k + 1}": False} for k in range(29)])
    # Ones and zeros in turn fulfil every second condition, the other way round the rest: all 29 change.
    assert four(chain.sensitivity()) == (29, 29, 1, 29) and chain.sensitivity(ADD_REMOVE).l1 == 15
    assert chain.by_attribute()["b3"].l1 == 2 and chain.by_attribute()["b0"].l1 == 1


def test_tables_beside_other_queries_are_moved_by_a_column_of_their_own():
    both = workloads.together(
        workloads.marginals(BITS, width=2),
        workloads.conjunctions(BITS, cells=[{"b0": True}, {"b0": False, "b1": True}]),
    )
    assert both.sensitivity().l1 == 2 * 435 + 2 and both.sensitivity(ADD_REMOVE).l1 == 435 + 1
    halves = [range(15), range(15, 30)]
    pairs = workloads.parities(BITS, sets=[(f"b{i}", f"b{j}") for half in halves for i in half for j in half if i < j])
    assert pairs.sensitivity().l1 == 2 * 7 * 8


def test_the_largest_sum_of_tables_is_that_of_all_combinations(monkeypatch):
    tables = [
        (("x", "y"), np.array([[0, 5], [3, 1], [2, 2]])),
        (("z", "y"), np.array([[4, 0], [0, 3]])),
        (("x", "z"), np.array([[1, 0], [0, 6], [2, 2]])),
    ]
    best = max(
        tables[0][1][x, y] + tables[1][1][z, y] + tables[2][1][x, z]
        for x, y, z in product(range(3), range(2), range(2))
    )
    assert largest_sum(tables) == best
    monkeypatch.setattr(elimination, "WORK", 0)
    monkeypatch.setattr(elimination, "SMALL", 1)
    assert largest_sum(tables) >= best
