"""Reports on ledgers that promise something for each day of a person and nothing for a lifetime (PB-UNIT)."""

from __future__ import annotations

import json
import sqlite3

import pytest

from sfumato import ADD_REMOVE, Budget, Concentrated, Cost, Event, Ledger, Loss, Pure
from sfumato.errors import LedgerError
from sfumato.ledger.slots import SlotCharge
from sfumato.report import evidence, threats
from sfumato.report.review import reviewed


def charge(book, request, days, rho):
    """Reserve a request that reads some days, each at this price, and the months in which they lie."""
    loss = Loss.flat(Cost.concentrated(rho), relation=ADD_REMOVE)
    months = tuple(dict.fromkeys(day[:7] for day in days))
    slots = [SlotCharge("day", tuple(days), (loss,)), SlotCharge("month", months, (loss,))]
    book.reserve(request, Event("Test", "PB-UNIT", {"name": request}), loss, slots=slots)


def test_a_ledger_without_a_limit_on_the_person_has_a_report():
    budget = Budget("none", units={"day": Concentrated("0.015"), "year": Concentrated(40)})
    with Ledger(None, budget, relation=ADD_REMOVE) as book:
        report = threats(book)
        assert report.person.promise is None and "For a person" in report.html()
        assert "right at most 54.4 % (Concentrated(0.015))" in " ".join(report.text().split())
        assert "whether somebody was there is not hidden (Concentrated(40))" in " ".join(report.text().split())
        assert "There is no bound over a lifetime" in report.units[-1]
        assert json.loads(json.dumps(report.to_json()))["units"] == list(report.units)
        assert "Each day of each person" in evidence(book).html()


def test_limits_on_periods_stand_beside_that_of_the_person():
    with Ledger(None, Budget(Pure(3), units={"month": Pure(1)}), relation=ADD_REMOVE) as book:
        report = threats(book)
        assert len(report.units) == 1 and report.person.promise is not None
    with Ledger(None, Budget(Pure(3))) as book:
        assert threats(book).units == () and "units" not in threats(book).to_json()


def test_what_periods_have_used_is_said_beside_what_they_are_promised():
    budget = Budget("none", units={"day": Concentrated("0.5"), "month": Concentrated(8)})
    with Ledger(None, budget, relation=ADD_REMOVE) as book:
        assert [one.text for one in book.periods()] == ["No day was charged yet.", "No month was charged yet."]
        charge(book, "first", ["2026-01-31"], "0.25")
        assert book.periods()[0].text == ("1 day was charged, 2026-01-31: 0.25 of 0.5 is used (50 % of the limit).")
        charge(book, "second", ["2025-12-31", "2026-02-01", "2026-02-02"], "0.25")
        charge(book, "third", ["2026-02-01"], "0.25")
        days, months = book.periods()
        assert days.text == (
            "4 days were charged, 2025-12-31 to 2026-02-02; 1 of them has used the whole limit. The fullest, "
            "2026-02-01, has used 0.5 of 0.5 (100 %)."
        )
        assert days.to_json()["periods"] == {"2025-12-31": 50, "2026-01-31": 50, "2026-02-01": 100, "2026-02-02": 50}
        assert list(months.used) == ["2025-12", "2026-01", "2026-02"] and months.full == []
        for page in (threats(book).text(1000), threats(book).html(), evidence(book).html()):
            assert days.text in page and "Nothing was used" not in page
        assert days.text in json.dumps(threats(book).to_json()) and days.text in str(reviewed(evidence(book)))
    with Ledger(None, Budget(Pure(3))) as book:
        assert book.periods() == () and "periods" not in threats(book).to_json()


def test_periods_whose_sums_were_changed_are_not_shown(tmp_path):
    budget = Budget("none", units={"day": Concentrated(1), "month": Concentrated(8)})
    with Ledger(tmp_path / "a.ledger", budget, relation=ADD_REMOVE) as book:
        charge(book, "first", ["2026-01-31"], "0.25")
    with sqlite3.connect(tmp_path / "a.ledger") as file:
        (name,) = [
            row[0] for row in file.execute("SELECT name FROM sqlite_master WHERE type='table'") if "slot" in row[0]
        ]
        assert file.execute(f"UPDATE {name} SET content = replace(content, '1/4', '1/9')").rowcount == 2
    with Ledger(tmp_path / "a.ledger") as book, pytest.raises(LedgerError, match="changed outside the ledger"):
        book.periods()
