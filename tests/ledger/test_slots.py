"""Limits that hold for each period on its own: sums by slot, sealed, refused slot by slot, verified (PB-UNIT)."""

from __future__ import annotations

import sqlite3

import pytest

from sfumato import ADD_REMOVE, REPLACE_ONE, Budget, Concentrated, Cost, Event, Ledger, Loss, Pure
from sfumato.errors import BudgetExceeded, LedgerError, ParameterError, RelationMismatch
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
        (lambda: Budget(Pure(1), units={"months": Pure(1)}), "did you mean 'month'"),
        (lambda: Budget(Pure(1), units={"hour": Pure(1)}), "nothing finer"),
        (lambda: Budget(Pure(1), units={"every 14 days": Pure(1)}), "every 14 days from 2026-01-01"),
        (lambda: Budget(Pure(1), units={"every 1 days from 2026-01-01": Pure(1)}), "2 to 366 days"),
        (lambda: Budget(Pure(1), units={"every 2 days from 2026-02-30": Pure(1)}), "begins on no day"),
        (lambda: Budget(Pure(1), units={"day, week": Pure(1)}), "one of each"),
        (lambda: Budget(Pure(1), units={"shop, page": Pure(1)}), "one of each"),
        (lambda: Budget(Pure(1), units={"person": Pure(1)}), "write person= for it"),
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


def test_periods_come_in_order_of_their_length_and_columns_last(tmp_path):
    units = {"shop": Pure(4), "month": Pure(3), "shop, day": Pure(1), "every 14 days from 2026-01-05": Pure(2)}
    budget = Budget("none", units=units)
    assert [unit for unit, _ in budget.units] == ["day, shop", "every 14 days from 2026-01-05", "month", "shop"]
    assert Budget.from_json(budget.to_json()) == budget


def test_each_shop_and_each_day_in_a_shop_has_its_own_limit(tmp_path):
    place = tmp_path / "shops.ledger"
    with ledger(place, **{"day, shop": Pure(1), "shop": Pure(2)}) as book:
        for day in ("2026-01-01", "2026-01-02"):
            for shop in ("A", "B"):
                slots = [
                    SlotCharge("day, shop", (f"{day}, {shop}",), (loss("1"),)),
                    SlotCharge("shop", (shop,), (loss("1"),)),
                ]
                ask(book, f"{day} {shop}", slots, "1")
        assert book.spent_in("day, shop", "2026-01-02, B").percent == book.spent_in("shop", "A").percent == 100
        third = [SlotCharge("day, shop", ("2026-01-03, A",), (loss("1"),)), SlotCharge("shop", ("A",), (loss("1"),))]
        with pytest.raises(BudgetExceeded, match="shop A"):
            ask(book, "third", third, "1")
        assert "4 pairs of day and shop were charged, 2026-01-01, A to 2026-01-02, B; all of them have" in str(book)
        assert "2 values of shop were charged" in str(book)
        assert "No limit of this ledger bounds" in book.guarantee_text(days=3)  # of any shops: nobody says how many
    with Ledger(place) as book:
        assert book.verify().ok and dict(book.budget.units)["day, shop"] == Pure(1)


def test_a_ledger_of_people_who_are_exchanged_says_so():
    exchanged = Loss.flat(Cost.pure("1/2"))
    with Ledger(None, Budget("none", units={"day": Pure(1)}), relation=REPLACE_ONE) as book:
        for number in range(2):
            charge = SlotCharge("day", ("2026-01-01",), (exchanged,))
            book.run(f"{number}", EVENT, exchanged, lambda: b"42", slots=[charge])
        assert book.spent_in("day", "2026-01-01").percent == 100
        assert "whoever guesses a fact about what somebody did there, 50:50 before, is right at most" in str(book)
        assert book.guarantee(days=2) == Pure(2)
        with pytest.raises(RelationMismatch):
            ask(book, "left out", charged("2026-01-02")[:1])
