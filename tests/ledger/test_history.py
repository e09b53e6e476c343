"""The history of a ledger: every charge in order, whatever became of it; the same on both databases."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from sfumato import ADD_REMOVE, EVERYTHING, Concentrated, Cost, Event, Loss, Pure
from sfumato.errors import BudgetExceeded, LedgerError
from sfumato.ledger import Budget, Ledger
from sfumato.privacy import Cover, PerAttribute
from tests.ledger.conftest import SECRETS

EVENT = Event("Laplace", "QR-LAP", {"scale": 10})
ASKED = Event("Laplace", "QR-LAP", {"question": {"question": "Count", "where": None}, "snapshot": ""})


def flat(epsilon, *reads):
    return Loss.flat(Cost.pure(epsilon), reads=set(reads)) if reads else Loss.flat(Cost.pure(epsilon))


def test_every_charge_is_there_in_order(open_ledger):
    ledger = open_ledger(Budget(Pure(3), secrets=SECRETS), analysts={"ana": Budget(Pure(2)), "cat": Budget(Pure(3))})
    assert ledger.history() == []
    started = datetime.now(UTC) - timedelta(seconds=2)
    ledger.run("first", ASKED, flat("1/10", "age"), lambda: b"42", question_key="q", analyst="cat", spend=Pure("1/10"))
    ledger.reserve("second", EVENT, flat("1/5"), analyst="ana")
    ledger.reserve("third", EVENT, flat("1/4", "sex", "race"), analyst="cat")
    ledger.start("third")
    with pytest.raises(LedgerError):
        ledger.run("fourth", EVENT, flat("1/3", "sex"), lambda: 1 / 0, analyst="cat")
    # What is refused, and what is answered from the store, is charged to nobody.
    with pytest.raises(BudgetExceeded):
        ledger.reserve("fifth", EVENT, flat(9, "sex"), analyst="cat")
    assert ledger.reserve("sixth", ASKED, flat("1/10", "age"), question_key="q", analyst="cat").reused
    found = ledger.history()
    assert [entry.id for entry in found] == ["first", "second", "third", "fourth"]
    assert [entry.state for entry in found] == ["committed", "reserved", "started", "dead"]
    assert [entry.number for entry in found] == sorted(entry.number for entry in found)
    assert [entry.name for entry in found] == ["Count (Laplace)", "Laplace", "Laplace", "Laplace"]
    assert [entry.analyst for entry in found] == ["cat", "ana", "cat", "cat"]
    assert [entry.spend for entry in found] == [Pure("1/10"), None, None, None]
    assert [entry.attributes for entry in found] == [{"age"}, EVERYTHING, {"sex", "race"}, {"sex"}]
    total = sum(entry.person.epsilon for entry in found)
    assert ledger.spent().sums[1] == total, "the history adds up to the meter"
    for entry in found:
        assert started <= datetime.fromisoformat(entry.at) <= datetime.now(UTC)
        record = json.loads(json.dumps(entry.to_json()))
        assert record["status"] == entry.state and Cost.from_json(record["person"]) == entry.person
    assert ledger.verify().ok
    again = open_ledger()
    assert again.history() == found


def test_a_retry_with_another_spend_is_the_same_request(open_ledger):
    ledger = open_ledger(Budget(Pure(3)))
    ledger.reserve("one", EVENT, flat("1/10"), spend=Pure("1/10"))
    ledger.reserve("one", EVENT, flat("1/10"), spend=Pure("1/5"))
    assert [entry.spend for entry in ledger.history()] == [Pure("1/10")]


def test_a_release_that_reads_everything_in_one_part_touches_everything(open_ledger):
    ledger = open_ledger(Budget(Concentrated(3)))
    parts = ((frozenset({"age"}), Cost.concentrated("1/10")), (EVERYTHING, Cost.concentrated("1/20")))
    ledger.reserve("cover", EVENT, Loss(Cover(parts)))
    singles = (("age", Cost.concentrated("1/10")), ("sex", Cost.concentrated("1/10")))
    ledger.reserve("single", EVENT, Loss(PerAttribute(singles, Cost.concentrated("1/5"))))
    assert [entry.attributes for entry in ledger.history()] == [EVERYTHING, {"age", "sex"}]


def test_schema_and_relation_are_public(open_ledger):
    ledger = open_ledger(Budget(Pure(3)), relation=ADD_REMOVE)
    assert ledger.schema is None and ledger.relation is ADD_REMOVE
    ledger.use_schema("print")
    ledger.use_schema("print")
    assert ledger.schema == "print" == open_ledger().schema
    with pytest.raises(LedgerError, match="another schema"):
        ledger.use_schema("other")
    assert ledger.verify().ok


def test_a_history_that_was_tampered_with_says_so(tmp_path):
    place = tmp_path / "people.ledger"
    with Ledger(place, Budget(Pure(3))) as ledger:
        ledger.run("one", EVENT, flat("1/10"), lambda: b"42")
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute("DELETE FROM sfumato_reservation")
    with Ledger(place) as ledger, pytest.raises(LedgerError, match="verify"):
        ledger.history()
