"""How far people who are exchanged move a running total: all tiny people, read by the code that ships (PB-CONTINUAL).

Every world is a person of one table, told apart by a column, so that one reading gives the exact integers of all.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations_with_replacement, product

import numpy as np
import pyarrow
import pytest

import sfumato as sf
from sfumato import ADD_REMOVE
from sfumato.domain import categories, integers
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.publish.measured import Measured
from sfumato.questions import Count, Mean, Sum
from sfumato.table.data import open_table
from sfumato.table.gauge import Basis
from sfumato.table.measure import Totals

RANGES = {"above": (1, 3), "below": (-3, -1), "both": (-1, 2), "zero": (0, 2)}
FACTORS = np.array([[2, 0], [1, 2]]), np.array([[2, 0], [0, 2]])
"""Totals of two periods: what is released of each, from what was read in them."""
UNITS = 4
"""How many units a row may count: with two rows of a person, halves."""


def worlds(column):
    """Return all that a person may have: up to two rows, each in one of two kinds with a value or none."""
    low, high = RANGES[column]
    rows = tuple(product("AB", (low, high, None)))
    return [own for count in range(3) for own in combinations_with_replacement(rows, count)]


def schema_of(column):
    names = [f"w{number}" for number in range(len(worlds(column)))]
    domains = {"kind": categories("A", "B", other="B"), column: integers(*RANGES[column]), "world": categories(*names)}
    return sf.Schema(domains, person="id", rows_per_person=1)


@lru_cache
def read(aggregate, keys, column):
    """Return what is added up, how far one who comes moves it, and the exact integers of all worlds without a grid."""
    schema = schema_of(column)
    parts = tuple(term.part for term in aggregate.terms(schema))
    asked = Measured(schema, aggregate, Totals(keys, parts))
    basis = Basis(schema, None, ADD_REMOVE, scale=UNITS)
    listed = [(f"w{number}", kind, value) for number, own in enumerate(worlds(column)) for kind, value in own]
    names, kinds, values = (list(one) for one in zip(*listed, strict=True))
    table = pyarrow.table({"id": names, "world": names, "kind": kinds, column: pyarrow.array(values, pyarrow.int64())})
    every = Measured(schema, aggregate, Totals(("world", *keys), parts))
    with open_table(table, schema) as opened:
        exact = every.exact(basis.gauge(every.measure).read(opened), 1)
    cells = len(asked.cells)
    each = exact.reshape(asked.parts, -1, cells)[:, : len(worlds(column))]
    return asked, asked.moves(basis.gauge(asked.measure)), each.transpose(1, 0, 2).reshape(len(worlds(column)), -1)


CASES = [
    (Count(), "zero"),
    *((Sum(column), column) for column in RANGES),
    (Mean("above"), "above"),
    (Mean("both"), "both"),
]


def within(moves: Sensitivity, moved: np.ndarray) -> bool:
    """Tell whether differences lie within all four bounds."""
    far = np.abs(moved)
    return bool(
        far.sum(axis=-1).max() <= moves.l1
        and np.square(moved).sum(axis=-1).max() <= moves.l2_squared
        and far.max() <= moves.largest
        and (far > 0).sum(axis=-1).max() <= moves.changed
    )


@pytest.mark.parametrize("keys", [(), ("kind",)])
@pytest.mark.parametrize(("aggregate", "column"), CASES, ids=str)
@pytest.mark.parametrize("grid", [1, 3])
def test_rows_in_place_of_others_move_a_total_no_further_than_is_charged(aggregate, column, keys, grid):
    asked, comes, each = read(aggregate, keys, column)
    moves = comes if grid == 1 else comes.coarser(grid)
    claimed = asked.exchanged(moves, at_other_times=False)
    # What other people add decides where a grid cuts.
    for others in range(grid):
        read_so = (each + others + grid // 2) // grid
        assert within(moves, read_so - read_so[:1]), "who comes"
        assert within(claimed, read_so[:, None] - read_so[None, :])
    if grid == 1:
        reached = np.square(each[:, None] - each[None, :]).sum(axis=-1).max()
        assert reached >= claimed.l2_squared / 2
        # The mutant takes an exchange for one who comes: seen wherever signs or cells differ.
        assert within(moves, each[:, None] - each[None, :]) is (claimed == moves)


@pytest.mark.parametrize("keys", [(), ("kind",)])
@pytest.mark.parametrize(("aggregate", "column"), CASES, ids=str)
def test_who_counts_at_another_time_moves_it_no_further_either(aggregate, column, keys):
    """With lists of people one world may show a person in the first period and the other one in the second."""
    asked, comes, each = read(aggregate, keys, column)
    claimed = asked.exchanged(comes, at_other_times=True)
    for factor in FACTORS:
        longest = np.square(factor).sum(axis=0).max()
        first, second = (np.multiply.outer(factor[:, place], each) for place in range(2))
        moved = np.square(first[:, :, None] - second[:, None, :]).sum(axis=(0, -1))
        assert moved.max() <= longest * claimed.l2_squared
    # The mutant charges one who comes: seen where nothing of the first period is in the second.
    assert moved.max() > longest * comes.l2_squared
