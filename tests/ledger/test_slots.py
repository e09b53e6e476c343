"""Limits that hold for each period on its own: sums by slot, sealed, refused slot by slot, verified (PB-UNIT)."""

from __future__ import annotations

import sqlite3

import pytest

from sfumato import ADD_REMOVE, Budget, Concentrated, Cost, Event, Ledger, Loss, Pure
from sfumato.errors import BudgetExceeded, LedgerError, ParameterError
from sfumato.ledger.slots import SlotCharge

EVENT = Event("Laplace", "QR-LAP")


def loss(epsilon: str) -> Loss:
    return Loss.flat(Cost.pure(epsilon), relation=ADD_REMOVE)


def ledger(place=None, **units):
    budget = Budget(person="none", units=units or {"day": Pure(1), "month": Pure(2)})
    return Ledger(place, budget, relation=ADD_REMOVE)


def charged(day, epsilon="1/2", month=None):
    one = (loss(epsilon),)
    return [SlotCharge("day", (day,), one), SlotCharge("month", (month or day[:7],), one)]


def ask(book, name, slots, epsilon="1/2"):
    return book.run(name, EVENT, loss(epsilon), lambda: b"42", slots=slots)


def test_each_day_has_its_own_limit_and_a_month_adds_its_days_up():
    book = ledger()
    for day in ("2026-11-01", "2026-11-02"):
        for number in range(2):
            ask(book, f"{day}/{number}", charged(day))
    assert book.spent_in("day", "2026-11-01").left[1] == 0
    assert book.spent_in("month", "2026-11").left[1] == 0
    assert book.spent_in("day", "2026-11-03").left[1] == 1
    with pytest.raises(BudgetExceeded, match="month 2026-11"):
        ask(book, "third", charged("2026-11-03"))
    ask(book, "december", charged("2026-12-01"))
    assert book.verify().ok
    assert book.guarantee_text() and book.one_slot_each("day")


def test_a_refused_request_changes_no_slot():
    book = ledger(day=Pure(1))
    ask(book, "one", [SlotCharge("day", ("2026-01-02",), (loss("1"),))], "1")
    with pytest.raises(BudgetExceeded, match="day 2026-01-02"):
        ask(book, "two", [SlotCharge("day", ("2026-01-01", "2026-01-02"), (loss("1/4"),))], "1/4")
    assert book.spent_in("day", "2026-01-01").left[1] == 1
    assert book.one_slot_each("day")


def test_a_release_over_several_slots_is_charged_to_each_and_remembered():
    book = ledger(day=Pure(1))
    ask(book, "one", [SlotCharge("day", ("2025-12-31", "2026-01-01"), (loss("1/4"),))], "1/4")
    assert [book.spent_in("day", day).left[1] * 4 for day in ("2025-12-31", "2026-01-01")] == [3, 3]
    assert not book.one_slot_each("day")


def test_a_request_that_does_not_say_what_it_reads_is_refused():
    book = ledger()
    with pytest.raises(ParameterError, match="which periods it reads"):
        ask(book, "silent", None)
    with pytest.raises(ParameterError, match="which periods it reads"):
        ask(book, "half", charged("2026-11-01")[:1])
    with pytest.raises(ParameterError, match="twice"):
        ask(book, "twice", [*charged("2026-11-01"), SlotCharge("day", ("2026-11-01",), (loss("1"),))])
    with pytest.raises(ParameterError, match="no unit of time"):
        Ledger(None, Pure(1), relation=ADD_REMOVE).run("x", EVENT, loss("1"), lambda: b"", slots=charged("2026-11-01"))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Budget(person="none"), "only beside a limit on each"),
        (lambda: Budget(Pure(1), units={"dya": Pure(1)}), "did you mean 'day'"),
        (lambda: Ledger(None, Budget(Pure(1), units={"day": Pure(1)})), "relation=ADD_REMOVE"),
    ],
)
def test_what_cannot_be_promised_is_refused(make, said):
    with pytest.raises(ParameterError, match=said):
        make()


def test_sums_survive_and_changed_ones_refuse_everything(tmp_path):
    place = tmp_path / "days.ledger"
    with ledger(place, day=Concentrated("0.01")) as book:
        for day in ("2026-01-01", "2026-01-02"):
            cost = Loss.flat(Cost.concentrated("1/100"), relation=ADD_REMOVE)
            book.run(day, EVENT, cost, lambda: b"1", slots=[SlotCharge("day", (day,), (cost,))])
    with Ledger(place) as book:
        assert book.budget.units == (("day", Concentrated("0.01")),)
        assert book.spent_in("day", "2026-01-02").left[1] == 0
        assert book.verify().ok
    with sqlite3.connect(place) as file:
        file.execute("UPDATE sfumato_slot SET content = '{}'")
    with Ledger(place) as book:
        assert not book.verify().ok
        with pytest.raises(LedgerError, match="changed outside the ledger"):
            book.spent_in("day", "2026-01-01")
        with pytest.raises(LedgerError, match="changed outside the ledger"):
            book.run("x", EVENT, cost, lambda: b"1", slots=[SlotCharge("day", ("2026-01-01",), (cost,))])


def test_units_are_the_same_in_any_order(tmp_path):
    units = {"year": Pure(4), "week": Pure(2), "day": Pure(1), "month": Pure(3)}
    assert [unit for unit, _ in Budget("none", units=units).units] == ["day", "week", "month", "year"]
    Ledger(tmp_path / "four.ledger", Budget("none", units=units), relation=ADD_REMOVE).close()
    Ledger(tmp_path / "four.ledger", Budget("none", units=dict(reversed(units.items()))), relation=ADD_REMOVE).close()


def test_a_charge_that_was_made_smaller_is_found(tmp_path):
    place = tmp_path / "days.ledger"
    with ledger(place) as book:
        ask(book, "one", charged("2026-11-01"))
    with sqlite3.connect(place) as file:
        file.execute("UPDATE sfumato_row SET body = replace(body, '1/2', '1/3')")
    with Ledger(place) as book:
        assert not book.verify().ok
