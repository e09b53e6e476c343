"""Rows that fix limits are believed as they were sealed only: an edited one opens no limit, and draws nothing twice."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from sfumato import EVERYTHING, Approximate, Budget, Count, Curator, Pure, Schema, curate, integers
from sfumato.errors import BudgetExceeded, LedgerError
from sfumato.privacy import Bound

SCHEMA = Schema({"age": integers(0, 99)})
AGES = {"age": list(range(100))}
OTHER_LIMITS = "are not those that it was made with"


def _opened(place: Path, budget: Budget | None = None) -> Curator:
    import pyarrow

    return curate(pyarrow.table(AGES), SCHEMA, budget, ledger=str(place), snapshot="x")


def _edit(place: Path, *statements: str) -> None:
    with sqlite3.connect(place) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


def _spent(place: Path, bound: Bound, *, lowered: bool = False) -> None:
    with _opened(place, Budget(person=Pure(10) if lowered else bound)) as curator:
        if lowered:
            curator.ledger.lower(EVERYTHING, bound)
        curator.ask(Count("age > 1"), bound, request="r")
        with pytest.raises(BudgetExceeded):
            curator.ask(Count("age > 50"), Pure("1/10"))


@pytest.mark.parametrize(
    "change",
    [
        "update sfumato_row set kind = 'Settled' where kind = 'settled'",
        "delete from sfumato_row where kind = 'settled'",
        "update sfumato_row set body = replace(body, '1/1000000', '1/1000') where kind = 'created'",
    ],
)
def test_a_spent_limit_is_not_opened_by_an_edit(place: Path, change: str) -> None:
    _spent(place, Approximate(1, "1e-6"))
    _edit(place, change)
    with pytest.raises(LedgerError, match=OTHER_LIMITS):
        _opened(place)


def test_nor_where_the_number_of_rules_is_edited_too(place: Path) -> None:
    _spent(place, Approximate(1, "1e-6"))
    _edit(
        place,
        "update sfumato_row set kind = 'Settled' where kind = 'settled'",
        "update sfumato_head set rules = rules - 1",
    )
    with pytest.raises(LedgerError, match=OTHER_LIMITS):
        _opened(place)


def test_nor_is_a_lowered_one(place: Path) -> None:
    _spent(place, Pure(1), lowered=True)
    _edit(place, """update sfumato_row set body = replace(body, '"ceiling":"1"', '"ceiling":"9"') where kind = 'cap'""")
    with pytest.raises(LedgerError, match=OTHER_LIMITS):
        _opened(place)


def test_what_is_wrong_can_still_be_looked_at(place: Path) -> None:
    from sfumato import Ledger

    _spent(place, Approximate(1, "1e-6"))
    _edit(place, "update sfumato_row set kind = 'Settled' where kind = 'settled'")
    with Ledger(place) as ledger:
        assert "hash chain is broken" in ledger.verify().problems[0]
        with pytest.raises(LedgerError, match=OTHER_LIMITS):
            ledger.guarantee()


def test_nothing_is_drawn_twice_where_rows_were_moved(place: Path) -> None:
    with _opened(place, Budget(person=Pure(3))) as curator:
        curator.ask(Count("age > 1"), Pure(1), request="r")
        curator.ask(Count("age > 2"), Pure(1))  # the last row is looked at by everybody
    _edit(
        place,
        "update sfumato_reservation set state = 'started', answer = null where id = 'r'",
        "update sfumato_row set reservation = 'other' where kind in ('frozen', 'committed') and reservation = 'r'",
    )
    with _opened(place) as curator, pytest.raises(LedgerError, match="which row was changed"):
        curator.ask(Count("age > 1"), Pure(1), request="r")


@pytest.mark.parametrize(
    "change",
    [
        "update sfumato_row set kind = 'Created' where kind = 'created'",
        "update sfumato_head set format = 'x'",
        "update sfumato_head set length = x'00'",
        "update sfumato_head set rules = null",
        "update sfumato_reservation set answer = 7",
        "update sfumato_row set body = 'x' where kind = 'created'",
    ],
)
def test_a_damaged_cell_is_answered_by_a_sentence(place: Path, change: str) -> None:
    _spent(place, Pure(1))
    try:
        _edit(place, change)
    except sqlite3.IntegrityError:
        return  # the file itself refuses it
    with pytest.raises(LedgerError), _opened(place) as curator:
        curator.ask(Count("age > 1"), Pure(1))


def test_verification_looks_at_an_answer_that_is_no_text(place: Path) -> None:
    from sfumato import Ledger

    _spent(place, Pure(1))
    _edit(place, "update sfumato_reservation set answer = 7")
    with Ledger(place) as ledger:
        assert any("not the one that was committed" in problem for problem in ledger.verify().problems)
