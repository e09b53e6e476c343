"""Reports on ledgers that promise something for each day of a person and nothing for a lifetime (PB-UNIT)."""

from __future__ import annotations

import json

from sfumato import ADD_REMOVE, Budget, Concentrated, Ledger, Pure
from sfumato.report import evidence, threats


def test_a_ledger_without_a_limit_on_the_person_has_a_report():
    budget = Budget("none", units={"day": Concentrated("0.015"), "year": Concentrated(40)})
    with Ledger(None, budget, relation=ADD_REMOVE) as book:
        report = threats(book)
        assert report.person.promise is None and "For a person" in report.html()
        assert "right at most 54.4 % (Concentrated(0.015))" in " ".join(report.text().split())
        assert "not hidden (Concentrated(40))" in " ".join(report.text().split())
        assert "There is no bound over a lifetime" in report.units[-1]
        assert json.loads(json.dumps(report.to_json()))["units"] == list(report.units)
        assert "Each day of each person" in evidence(book).html()


def test_limits_on_periods_stand_beside_that_of_the_person():
    with Ledger(None, Budget(Pure(3), units={"month": Pure(1)}), relation=ADD_REMOVE) as book:
        report = threats(book)
        assert len(report.units) == 1 and report.person.promise is not None
    with Ledger(None, Budget(Pure(3))) as book:
        assert threats(book).units == () and "units" not in threats(book).to_json()
