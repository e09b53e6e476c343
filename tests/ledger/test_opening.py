"""Making and opening ledgers: what fits, and every way in which it does not."""

from __future__ import annotations

import sqlite3
import subprocess
import sys

import pytest

from sfumato import ADD_REMOVE, Concentrated, Cost, Event, Loss, Pure
from sfumato.errors import LedgerError, ParameterError, RelationMismatch, SchemaError
from sfumato.ledger import Budget, Ledger, Limit, Odometer
from sfumato.privacy import Secrets

from .conftest import SECRETS

EVENT = Event("Laplace", "QR-LAP", {"scale": 10})
BUDGET = Budget(person=Pure(3), each_attribute=Pure(1), secrets=SECRETS)
TENTH = Loss.flat(Cost.pure("1/10"), reads={"sex"})


def test_a_ledger_remembers(open_ledger):
    first = open_ledger(BUDGET, population="town", schema="s1", analysts={"ana": Budget(Pure(1))})
    first.run("one", EVENT, TENTH, lambda: b"42", analyst="ana")
    first.close()
    again = open_ledger()
    assert again.budget == BUDGET
    assert again.spent("sex").sums == again.spent("sex", analyst="ana").sums
    assert again.reserve("one", EVENT, TENTH, analyst="ana").answer == b"42"
    assert open_ledger(BUDGET, schema="s1").head == again.head


def test_a_budget_without_secrets_is_about_those_of_the_ledger(open_ledger):
    open_ledger(BUDGET)
    assert open_ledger(Budget(person=Pure(3), each_attribute=Pure(1))).budget == BUDGET


@pytest.mark.parametrize(
    ("words", "other"),
    [
        ("another budget", {"budget": Budget(person=Pure(4), each_attribute=Pure(1), secrets=SECRETS)}),
        ("another budget", {"budget": Budget(person=Pure(3))}),
        ("another schema.*derived columns may be added.*a new promise.*adds to it", {"schema": "s2"}),
        ("belongs to the population 'town2'", {"population": "village2"}),
        ("other analysts", {"analysts": {"bob": Budget(Pure(1))}}),
        ("other analysts", {"analysts": {"ana": Budget(Pure(2))}}),
        ("replace_one neighbours", {"relation": ADD_REMOVE}),
        ("odometer", {"odometer": Odometer(1e-9)}),
    ],
)
def test_what_does_not_match_is_refused_and_nothing_is_lost(open_ledger, words, other):
    first = open_ledger(BUDGET, population="town2", schema="s1", analysts={"ana": Budget(Pure(1))})
    first.run("one", EVENT, TENTH, lambda: b"42", analyst="ana")
    before = first.head
    with pytest.raises(LedgerError, match=words):
        open_ledger(**{"budget": None, **other})
    assert first.head == before
    assert first.verify(head=before).ok


def test_the_first_schema_that_is_named_stays(open_ledger):
    open_ledger(BUDGET)
    named = open_ledger(schema="s1")
    assert named.verify().ok
    with pytest.raises(LedgerError, match="another schema"):
        open_ledger(schema="s2")


def test_no_ledger_and_no_budget(open_ledger, place):
    with pytest.raises(LedgerError, match=r"There is no ledger at .*Budget"):
        open_ledger()
    assert open_ledger(BUDGET).verify().ok


def test_files_that_are_no_ledgers_stay_as_they_are(tmp_path):
    garbage = tmp_path / "letter.txt"
    garbage.write_text("Dear Sir or Madam, " * 100)
    before = garbage.read_bytes()
    with pytest.raises(LedgerError, match="not a ledger that can be read"):
        Ledger(garbage, BUDGET)
    assert garbage.read_bytes() == before

    foreign = tmp_path / "shop.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE goods (name TEXT)")
    connection.close()
    before = foreign.read_bytes()
    with pytest.raises(LedgerError, match="not a ledger that can be read"):
        Ledger(foreign, BUDGET)
    assert foreign.read_bytes() == before


def test_a_file_left_by_a_killed_maker_is_made_anew(tmp_path):
    path = tmp_path / "people.ledger"
    path.touch()
    with pytest.raises(LedgerError, match="There is no ledger"):
        Ledger(path)
    with Ledger(path, BUDGET) as ledger:
        assert ledger.verify().ok


def test_a_truncated_ledger_is_refused(tmp_path):
    path = tmp_path / "people.ledger"
    Ledger(path, BUDGET).close()
    path.write_bytes(path.read_bytes()[:9000])
    with pytest.raises(LedgerError):
        Ledger(path)


def test_a_newer_ledger_asks_for_an_upgrade(tmp_path):
    path = tmp_path / "people.ledger"
    Ledger(path, BUDGET).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE sfumato_head SET format = 99")
    connection.close()
    with pytest.raises(LedgerError, match=r"newer version of sfumato .*upgrade"):
        Ledger(path)


def test_places_that_cannot_be(tmp_path):
    with pytest.raises(LedgerError, match="could not be read or written"):
        Ledger(tmp_path / "nowhere" / "people.ledger", BUDGET)
    with pytest.raises(ParameterError, match="SQLite or PostgreSQL, not in mysql"):
        Ledger("mysql://localhost/x", BUDGET)
    with pytest.raises(ParameterError, match="no database URL"):
        Ledger("postgresql://host:port:port/x", BUDGET)
    with pytest.raises(LedgerError, match="could not be read or written"):
        Ledger("postgresql://nobody@127.0.0.1:1/none", BUDGET)


def test_a_second_ledger_on_the_same_people_is_refused(tmp_path):
    Ledger(tmp_path / "a", BUDGET, population="town").close()
    with pytest.raises(LedgerError, match="sum of both budgets"):
        Ledger(tmp_path / "b", BUDGET, population="town")
    Ledger(tmp_path / "a", population="town").close()


@pytest.mark.parametrize(
    ("error", "words", "make"),
    [
        (ParameterError, "needs a limit for the whole person", lambda: Budget()),
        (ParameterError, "needs a limit for the whole person", lambda: Budget(each_attribute=Pure(1))),
        (ParameterError, "person must be a bound, not the bare number 3", lambda: Budget(person=3)),
        (ParameterError, "leave .per_attribute", lambda: Budget(person=Pure(1).per_attribute())),
        (SchemaError, "did you mean 'race'", lambda: Budget(Pure(1), attributes={"rase": Pure(1)}, secrets=SECRETS)),
        (ParameterError, "at least one attribute", lambda: Budget(Pure(1), attributes={(): Pure(1)}, secrets=SECRETS)),
        (ParameterError, "people must be at least 1", lambda: Budget(Pure(1), people={0: Pure(1)})),
        (ParameterError, "secrets=Secrets", lambda: Ledger(None, Budget(Pure(1), each_attribute=Pure(1)))),
        (ParameterError, "needs a Budget, not float", lambda: Ledger(None, 1.0)),
        (ParameterError, "must be a Budget", lambda: Ledger(None, BUDGET, analysts={"ana": Pure(1)})),
        (ParameterError, "orders above|order above 1", lambda: Odometer(1e-6, orders=((1, 1),))),
        (LedgerError, "A head looks like", lambda: Ledger(None, BUDGET, head="yesterday")),
    ],
)
def test_bad_budgets(error, words, make):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize(
    ("error", "words", "ask"),
    [
        (ParameterError, "charged by a Loss, not by a bound", lambda ledger: ledger.reserve("x", EVENT, Pure(1))),
        (ParameterError, "charged by a Loss, not by float", lambda ledger: ledger.preview(0.1)),
        (ParameterError, "charged by a Loss", lambda ledger: ledger.preview([])),
        (ParameterError, "An event is needed", lambda ledger: ledger.reserve("x", "count", TENTH)),
        (ParameterError, "A request id is a text", lambda ledger: ledger.reserve("", EVENT, TENTH)),
        (ParameterError, "A request id is a text", lambda ledger: ledger.reserve(7, EVENT, TENTH)),
        (ParameterError, "storable as JSON", lambda ledger: ledger.reserve("x", Event("a", "b", {"c": 1j}), TENTH)),
        (
            SchemaError,
            "did you mean 'age'",
            lambda ledger: ledger.reserve("x", EVENT, Loss.flat(Cost.pure(1), reads={"agee"})),
        ),
        (SchemaError, "did you mean 'sex'", lambda ledger: ledger.guarantee("sexx")),
        (SchemaError, "The attributes are age, born", lambda ledger: ledger.spent("height")),
        (ParameterError, "at least one attribute", lambda ledger: ledger.guarantee(())),
        (ParameterError, "people must be at least 1", lambda ledger: ledger.guarantee("age", people=0)),
        (ParameterError, "'bob' has no budget", lambda ledger: ledger.reserve("x", EVENT, TENTH, analyst="bob")),
        (ParameterError, "those who have a budget are ana", lambda ledger: ledger.reserve("x", EVENT, TENTH)),
        (ParameterError, "Say who asks", lambda ledger: ledger.run("x", EVENT, TENTH, lambda: b"42")),
        (ParameterError, "Say who asks", lambda ledger: ledger.preview(TENTH)),
        (LedgerError, "No request has the id 'y'", lambda ledger: ledger.start("y")),
        (ParameterError, "spend must be a bound", lambda ledger: ledger.largest(lambda spend: TENTH, 0.1)),
        (ParameterError, "A limit must be a bound", lambda ledger: ledger.lower("age", 0.5)),
        (ParameterError, "No limit stands on", lambda ledger: ledger.lower(("age", "sex"), Pure(1))),
        (ParameterError, "is not below", lambda ledger: ledger.lower("age", Pure(2))),
        (ParameterError, "is not below", lambda ledger: ledger.lower("age", Concentrated("1/100"))),
        (
            RelationMismatch,
            "neighbours",
            lambda ledger: ledger.reserve("x", EVENT, Loss.flat(Cost.pure(1), relation=ADD_REMOVE)),
        ),
    ],
)
def test_bad_requests_spend_nothing(error, words, ask):
    quotas = {"ana": Budget(Pure(1))} if "budget" in words or "who asks" in words else None
    with Ledger(None, BUDGET, analysts=quotas) as ledger:
        before = ledger.head
        with pytest.raises(error, match=words):
            ask(ledger)
        assert ledger.head == before


def test_budgets_round_trip_and_close_over_dependencies():
    secrets = Secrets(("a", "b", "c", "d"), groups={"place": ["c", "d"]}, dependencies=(("a", "b"),))
    budget = Budget(
        Pure(3),
        Pure(1).per_attribute(),
        {"a": Pure("1/2"), ("b", "c"): Concentrated("1/3")},
        {2: Pure(5)},
        more=[Limit("d", Pure(2), people=3)],
        secrets=secrets,
    )
    assert Budget.from_json(budget.to_json()) == budget
    assert [limit.name for limit in budget.limits()] == [
        "person",
        "a + b",
        "c + d",
        "a + b",
        "a + b + c + d",
        "2 people",
        "c + d of 3 people",
    ]
    assert all(limit.bound.unit == "person" for limit in budget.limits())
    assert [Limit.from_json(limit.to_json()) for limit in budget.limits()] == list(budget.limits())


def test_nothing_heavy_is_imported_before_a_ledger_is_opened():
    code = "import sys, sfumato.ledger; assert 'sqlalchemy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
