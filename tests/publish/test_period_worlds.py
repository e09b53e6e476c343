"""What a slot of any limit can move in an answer about one period: all tiny people, read through a curator (PB-UNIT).

Every world is a person of one table, told apart by a column, so that one reading gives the exact integers of all. The
neighbours of a limit are the worlds that differ in the rows of one of its slots, in one of which that slot has none.
"""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pyarrow
import pytest

import sfumato as sf
from sfumato import ADD_REMOVE, Budget, Concentrated
from sfumato.domain import categories
from sfumato.ledger.units import Unit
from sfumato.privacy import Cost, Loss
from sfumato.publish.calendar import Slot
from sfumato.publish.charges import charges_of
from sfumato.publish.promised import Promised
from sfumato.questions import Count
from sfumato.table.gauge import Basis
from sfumato.table.measure import Totals

# The first two days are of one week, the last two of one month.
DAYS = date(2026, 1, 31), date(2026, 2, 1), date(2026, 2, 2)
ROWS = tuple(product(DAYS, "AB"))
FEW = [own for count in range(4) for own in combinations_with_replacement(ROWS, count)]
# So many rows that next to nothing of another one is left to count.
MANY = [tuple(sorted([*own, *[(DAYS[2], "B")] * 12])) for own in FEW if len(own) <= 1]
WORLDS = [*FEW, *MANY]
UNITS = ("day", "week", "month", "every 2 days from 2026-02-01", "shop", "day, shop", "month, shop")
PERIODS = ("2026-02-01", "2026-01", "2026-02", "2026-W05", "2026-01-31--2026-02-01", "2026")


def names():
    return [f"w{number}" for number in range(len(WORLDS))]


@pytest.fixture(scope="module", params=[1, 2])
def curator(request):
    columns = {
        "at": sf.dates("2025-12-01", "2027-12-31"),
        "shop": categories("A", "B", missing="A", other="B"),
        "world": categories(*names(), missing="w0", other="w0"),
    }
    schema = sf.Schema(columns, person="id", rows_per_person=request.param)
    listed = [(name, day, shop) for name, own in zip(names(), WORLDS, strict=True) for day, shop in own]
    ids, days, shops = (list(one) for one in zip(*listed, strict=True))
    table = pyarrow.table({"id": ids, "world": ids, "at": pyarrow.array(days, pyarrow.date32()), "shop": shops})
    units = {unit: Concentrated(100) for unit in UNITS}
    with sf.curate(table, schema, Budget(person=Concentrated(100), units=units), relation=ADD_REMOVE) as opened:
        yield opened


def moved(curator, period):
    """Return the exact integers of every world in each shop, and how far one who comes moves them."""
    asked = curator.of(period, stamp="at")
    basis = Basis(curator.schema, None, ADD_REMOVE)
    gauge = basis.gauge(Totals(("world", "shop")))
    each = np.asarray(gauge.read(asked.table)[0]).reshape(len(WORLDS), -1)
    return asked, each, basis.gauge(Totals(("shop",))).sensitivity(Count().terms(curator.schema)[0].part)


def slot_of(unit, row):
    return unit.slot(Slot.of(unit.period, row[0]).name if unit.period else "", row[1] if unit.column else "")


def neighbours(unit, slot):
    """Return the pairs of worlds that agree outside of a slot, in the first of which it has no rows."""
    found = {}
    for place, own in enumerate(WORLDS):
        rest = tuple(row for row in own if slot_of(unit, row) != slot)
        found.setdefault(rest, []).append((len(rest) == len(own), place))
    for same in found.values():
        empty = [place for without, place in same if without]
        yield from ((one, place) for one in empty for _, place in same)


@pytest.mark.parametrize("period", PERIODS)
def test_no_slot_of_any_limit_moves_an_answer_further_than_it_is_charged(curator, period):
    asked, each, comes = moved(curator, period)
    dearest = {}
    for charge in charges_of(Promised.by(UNITS, curator.schema), asked.slot, [loss_of(1)]):
        unit, (loss,) = Unit.read(charge.unit), charge.losses
        times = rho(loss.person)
        for slot in sorted({slot_of(unit, row) for row in ROWS}):
            pairs = np.array(list(neighbours(unit, slot)))
            far = np.square(each[pairs[:, 0]] - each[pairs[:, 1]]).sum(axis=1).max()
            if slot in charge.slots:
                assert far <= times * comes.l2_squared, (charge.unit, slot)
                dearest[charge.unit] = max(dearest.get(charge.unit, 0), Fraction(int(far)) / comes.l2_squared)
            else:
                assert far == 0, (charge.unit, slot)
    assert max(dearest.values()) >= 1  # what is charged is reached
    if period == "2026-02" and curator.schema.rows_per_person == 1:
        # The mutant charges days of a month what the month costs: one day decides how much of another one counts.
        assert min(dearest[unit] for unit in ("day", "day, shop", "shop")) > 1.6 and dearest["month"] == 1


def loss_of(rho):
    return Loss.flat(Cost.gaussian(Fraction(2 * rho)), relation=ADD_REMOVE)


def rho(cost):
    return cost.rho()


def test_a_cut_over_all_periods_would_let_one_day_move_another(curator):
    """The mutant cuts what a person counts over the whole table, and takes the period out afterwards."""
    if curator.schema.rows_per_person > 1:
        pytest.skip("one row a person shows it")
    day = curator.of("2026-02-01", stamp="at")
    _, each, _ = moved(curator, "2026-02-01")
    gauge = Basis(curator.schema, None, ADD_REMOVE).gauge(Totals(("world", "at")))
    whole = np.asarray(gauge.read(curator.table)[0]).reshape(len(WORLDS), -1)
    place = (day.slot.first - date(2025, 12, 1)).days
    pairs = np.array(list(neighbours(Unit.read("day"), "2026-02-02")))
    assert (each[pairs[:, 0]] == each[pairs[:, 1]]).all()
    assert (whole[pairs[:, 0], place] != whole[pairs[:, 1], place]).any()
