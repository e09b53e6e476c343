"""Case B of PB-UNIT: all tables of one person over two days and three shops, read by the code that ships.

Every world is a person of one table, told apart by a column, so one reading gives the exact integers of all of them.
"""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from itertools import product

import numpy as np
import pyarrow
import pytest

import sfumato as sf
from sfumato import ADD_REMOVE, REPLACE_ONE
from sfumato.domain import categories, dates
from sfumato.publish.calendar import Slot
from sfumato.publish.promised import Promised, values_of
from sfumato.table.bounding import SCALE
from sfumato.table.data import open_table
from sfumato.table.gauge import Basis
from sfumato.table.measure import Totals
from sfumato.table.periods import Span

DAYS = (date(2026, 1, 5), date(2026, 1, 6))
SHOPS = ("A", "B", None)
PLACES = list(product(range(len(DAYS)), range(len(SHOPS))))
WORLDS = np.array(list(product(range(3), repeat=len(PLACES))))
"""How many rows the person has on which day in which shop, for every world."""
NAMES = [f"w{number}" for number in range(len(WORLDS))]
SCHEMA = sf.Schema(
    {
        "at": dates("2025-01-01", "2030-01-01"),
        "shop": categories("A", "B", other="B"),
        "world": categories(*NAMES),
    },
    person="id",
    rows_per_person=1,
)


@lru_cache
def read(period, within):
    """Return what a release of a period reads of every world, by shop, in rows."""
    rows = [
        (NAMES[number], DAYS[day], SHOPS[shop])
        for number, world in enumerate(WORLDS)
        for (day, shop), count in zip(PLACES, world, strict=True)
        for _ in range(count)
    ]
    names, days, shops = (list(column) for column in zip(*rows, strict=True))
    table = pyarrow.table(
        {"id": names, "world": names, "at": pyarrow.array(days, pyarrow.date32()), "shop": pyarrow.array(shops)}
    )
    slot = Slot.of(period, DAYS[0])
    gauge = Basis(SCHEMA, None, ADD_REMOVE).gauge(Totals(("world", "shop")))
    with open_table(table, SCHEMA, span=Span("at", slot.first, slot.last, within=within)) as opened:
        found = np.asarray(gauge.read(opened)[0], float).reshape(-1, len(SHOPS))
    return found[: len(WORLDS)] / SCALE  # after the last world comes what is none of them


def slots_of(unit):
    """Return the places of every slot of a unit."""
    by = {
        "day": lambda place: place[0],
        "shop": lambda place: place[1],
        "day, shop": lambda place: place,
        "month": lambda place: 0,
    }[unit]
    found = {}
    for number, place in enumerate(PLACES):
        found.setdefault(by(place), []).append(number)
    return list(found.values())


def worst(unit, relation, values):
    """Return how far neighbours lie from each other at most, in l1 and in l2²."""
    l1 = l2 = 0.0
    for slot in slots_of(unit):
        rest = [number for number in range(len(PLACES)) if number not in slot]
        for others in product(range(3), repeat=len(rest)):
            same = (WORLDS[:, rest] == others).all(axis=1)
            near = values[same]
            empty = values[same & (WORLDS[:, slot] == 0).all(axis=1)]
            for one in near if relation is REPLACE_ONE else empty:
                moved = np.abs(near - one)
                l1, l2 = max(l1, moved.sum(axis=1).max()), max(l2, np.square(moved).sum(axis=1).max())
    return l1, l2


def promised(unit, within, relation):
    return Promised((unit,), (("shop", values_of(SCHEMA, "shop")),), within, relation)


CASES = [
    # what is read, limit, cut apart by, the largest l1 (in shares) that some neighbours reach
    ("day", "day", "", 1, 2),
    ("day", "month", "", 1, 2),
    ("day", "shop", "", 4 / 3, 4 / 3),
    ("day", "day, shop", "", 4 / 3, 4 / 3),
    ("month", "day", "", 8 / 5, 2),
    ("month", "month", "", 1, 2),
    ("day", "shop", "shop", 1, 1),
    ("day", "day, shop", "shop", 1, 1),
    ("day", "day", "shop", 3, 3),
    ("month", "shop", "shop", 1, 1),
    ("month", "day", "shop", 3, 3),
]


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize(("period", "unit", "within", "left", "exchanged"), CASES)
def test_no_neighbours_lie_further_apart_than_is_charged(period, unit, within, left, exchanged, relation):
    claim = promised(unit, within, relation)
    _, share = claim.met(unit, Slot.of(period, DAYS[0]))
    changes = claim.changes(share)
    l1, l2 = worst(unit, relation, read(period, within))
    assert l1 <= changes + 1e-5 and l2 <= changes**2 + 1e-5
    assert l1 == pytest.approx(left if relation is ADD_REMOVE else exchanged, abs=1e-5)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize(("period", "unit", "within"), [case[:3] for case in CASES])
def test_counts_that_are_exchanged_lie_no_further_apart_than_both_are_long(period, unit, within, relation):
    claim = promised(unit, within, relation)
    _, share = claim.met(unit, Slot.of(period, DAYS[0]))
    if claim.changes(share) != 2 * share.units:
        return  # nothing is exchanged
    _, l2 = worst(unit, relation, read(period, within))
    assert l2 <= 2 * share.units**2 + 1e-5
    if unit == "month":
        assert l2 == pytest.approx(2, abs=1e-5)  # as long as one of them would be too short
    if not within:
        assert np.ptp(read(period, within).sum(axis=1)) <= 1 + 1e-5  # but a single number moves no further than one


@pytest.mark.parametrize("place", range(3))
def test_what_one_slot_does_moves_no_other_cell_where_rows_are_cut_apart(place):
    values = read("day", "shop")
    slot = slots_of("shop")[place]
    same = [number for number in range(len(PLACES)) if number not in slot]
    for others in product(range(3), repeat=len(same)):
        near = values[(WORLDS[:, same] == others).all(axis=1)]
        assert (np.delete(near, place, axis=1) == np.delete(near[:1], place, axis=1)).all()


@pytest.mark.parametrize(
    ("period", "unit", "within", "relation", "mutant"),
    [
        # A part of a slot at the price of a whole one.
        ("day", "shop", "", ADD_REMOVE, lambda share: replace_share(share, whole=True)),
        ("day", "day, shop", "", ADD_REMOVE, lambda share: replace_share(share, whole=True)),
        ("month", "day", "", ADD_REMOVE, lambda share: replace_share(share, whole=True)),
        # All shops of a day at the price of one.
        ("day", "day", "shop", ADD_REMOVE, lambda share: replace_share(share, units=1)),
        # An exchange at the price of a leave.
        ("day", "day", "", REPLACE_ONE, None),
        ("day", "month", "", REPLACE_ONE, None),
    ],
)
def test_a_cheaper_price_is_caught(period, unit, within, relation, mutant):
    claim = promised(unit, within, relation if mutant else ADD_REMOVE)
    _, share = claim.met(unit, Slot.of(period, DAYS[0]))
    changes = claim.changes(mutant(share) if mutant else share)
    l1, _ = worst(unit, relation, read(period, within))
    assert l1 > 1.3 * changes


def test_rows_that_are_cut_over_all_shops_at_the_price_of_cut_apart_are_caught():
    """The mutant: `is = "shop"` is believed, and rows are cut together."""
    share = promised("shop", "shop", ADD_REMOVE).met("shop", Slot.of("day", DAYS[0]))[1]
    assert promised("shop", "shop", ADD_REMOVE).changes(share) == 1
    assert worst("shop", ADD_REMOVE, read("day", ""))[0] > 1.3


def replace_share(share, **changed):
    """Return what a mutant takes a share for."""
    return share._replace(**changed)
