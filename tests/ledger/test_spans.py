"""What limits on periods promise for some days in a row, and how a ledger that has such limits prints (PB-UNIT)."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from sfumato import ADD_REMOVE, Approximate, Budget, Concentrated, Cost, Event, Ledger, Loss, Pure
from sfumato.errors import ParameterError
from sfumato.ledger.guarantee import UNBOUNDED
from sfumato.ledger.slots import SlotCharge
from sfumato.ledger.units import most_met
from sfumato.publish.calendar import Slot


def ledger(person="none", **units):
    return Ledger(None, Budget(person, units=units), relation=ADD_REMOVE)


def charge(book, request, days, rho="0.001"):
    loss = Loss.flat(Cost.concentrated(rho), relation=ADD_REMOVE)
    book.reserve(request, Event("Test", "PB-UNIT"), loss, slots=[SlotCharge("day", tuple(days), (loss,))])


@pytest.mark.parametrize("unit", ["day", "week", "month", "quarter", "year"])
@pytest.mark.parametrize("days", [1, 2, 3, 7, 8, 28, 29, 30, 31, 59, 60, 90, 92, 93, 182, 365, 366, 367, 730])
def test_so_many_days_meet_no_more_periods_than_is_said(unit, days):
    """Compared with the calendar, wherever the days begin; one that counts from the first of a month is the mutant."""
    starts = [date(2025, 1, 1) + timedelta(days=place) for place in range(2 * 365)]
    met = max(len(Slot(unit, "", first, first + timedelta(days=days - 1)).meets(unit)) for first in starts)
    assert met <= most_met(unit, days) <= met + (days > 366)  # several years have leap days, which are left out


def test_days_of_a_person_cost_as_many_steps_and_not_as_many_days():
    """A release may read all of them, and then costs do not add up: the mutant multiplies rho by the days."""
    with ledger(day=Concentrated("0.015")) as book:
        assert book.guarantee(days=1) == Concentrated("0.015")
        assert book.guarantee(days=30) == Concentrated("13.5")
        assert book.guarantee(people=2, days=3) == Concentrated("0.54")
        assert book.guarantee() is UNBOUNDED
        charge(book, "one", ["2026-01-01"])
        assert book.guarantee_text(days=30) == (
            "Everything answered through this ledger, now and later, together satisfies Concentrated(13.5) for what each "
            "person did on any 30 days in a row, whatever is asked: implied by Concentrated(0.015) for each day. As long "
            "as every release reads one day only, as all did so far, it is Concentrated(0.45)."
        )
        charge(book, "two", ["2026-01-01", "2026-01-02"])
        assert book.guarantee(days=30) == Concentrated("13.5")
        assert book.guarantee_text(days=30).endswith("implied by Concentrated(0.015) for each day.")


def test_the_best_of_all_limits_is_said():
    with ledger(day=Concentrated("0.1"), week=Concentrated("0.5"), month=Concentrated(2)) as book:
        assert book.guarantee(days=2) == Concentrated("0.4")
        assert book.guarantee(days=8) == Concentrated(2)  # of two weeks
        assert "of which any 8 days in a row meet at most 2" in book.guarantee_text(days=8)
        assert book.guarantee(days=29) == Concentrated(8)  # of two months
    with ledger(Pure(1), day=Pure("0.4")) as book:
        assert book.guarantee(days=2) == Pure("0.8") and book.guarantee(days=3) == Pure(1)
        assert book.guarantee_text(days=3).endswith("That holds for any 3 days in a row too.")
        assert book.guarantee_text(days=1).endswith("on any day, whatever is asked: that is the limit on each day.")
    with ledger(day=Approximate(1, "1e-3")) as book:
        assert book.guarantee(days=20) is UNBOUNDED
        assert book.guarantee_text(days=20) == (
            "No limit of this ledger bounds what is learned about any 20 days in a row of each person."
        )


def test_days_that_are_none_and_ledgers_without_periods_are_refused():
    with ledger(day=Pure(1)) as book:
        for days in (0, -1, "3", 2.5, True):
            with pytest.raises(ParameterError, match="days must be"):
                book.guarantee(days=days)
    with Ledger(None, Budget(Pure(1))) as book, pytest.raises(ParameterError, match="leave days= out"):
        book.guarantee(days=3)


def test_a_ledger_prints_its_limits_on_periods():
    with ledger(day=Concentrated("0.015"), month=Concentrated(1)) as book:
        assert "no day yet" in str(book) and "Concentrated(0.015)" in str(book)
        loss = Loss.flat(Cost.concentrated("0.015"), relation=ADD_REMOVE)
        charges = [SlotCharge("day", ("2026-01-31",), (loss,)), SlotCharge("month", ("2026-01",), (loss,))]
        book.reserve("one", Event("Test", "PB-UNIT"), loss, slots=charges)
        said = " ".join(str(book).split())
        assert "Each day of each person on its own" in said and "There is no bound over a lifetime" in said
        assert (
            "1 day was charged, 2026-01-31" in said and "each month" in said and "No limit of this ledger" not in said
        )
        assert "each month" in book._repr_html_()
    with ledger(Pure(3), day=Pure(1)) as book:
        assert "satisfies Pure(3) for each person" in str(book) and "each day" in str(book)
    with Ledger(None, Budget(Pure(3))) as book:
        assert "each day" not in str(book)
