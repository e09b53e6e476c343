"""Verification: whatever is changed behind the ledger's back is seen."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3

import pytest
import sqlalchemy as sa

from sfumato import EVERYTHING, Cost, Event, Loss, Pure
from sfumato.errors import DamagedLedger, LedgerError
from sfumato.ledger import Budget, Ledger, Limit
from sfumato.ledger.chain import FIRST, Row, canonical
from sfumato.ledger.stepping import Stepwise

from .conftest import SECRETS

EVENT = Event("Laplace", "QR-LAP")
BUDGET = Budget(Pure(3), each_attribute=Pure(1), secrets=SECRETS)


def filled(path) -> Ledger:
    ledger = Ledger(path, BUDGET)
    for number, name in enumerate(("age", "sex", "race")):
        ledger.run(str(number), EVENT, Loss.flat(Cost.pure("1/10"), reads={name}), lambda: b"42")
    ledger.reserve("talk", EVENT, Loss.flat(Cost.pure("1/10")))
    ledger.start("talk")
    ledger.save_state("talk", 0, b"coins")
    ledger.save_state("talk", 1, b"coins", b"below")
    ledger.add_limit(Limit({"sex", "race"}, Pure(1)))
    ledger.reserve("late", EVENT, Loss.flat(Cost.pure("1/10"), reads={"sex"}))
    ledger.fail("late")
    return ledger


def edit(ledger: Ledger, statement: str, *values) -> None:
    with ledger._journal.store.connection(write=True) as connection:
        connection.exec_driver_sql(statement, values)


def reseal(ledger: Ledger) -> None:
    """Write a new, consistent chain over whatever the rows say now: the best that a forger can do."""
    with ledger._journal.store.connection(write=True) as connection:
        seal = FIRST
        rows = connection.execute(sa.text("SELECT number, kind, reservation, body FROM sfumato_row ORDER BY number"))
        for line in rows.all():
            seal = Row(*line).seal(seal)
            connection.exec_driver_sql("UPDATE sfumato_row SET seal = ? WHERE number = ?", (seal, line[0]))
        connection.exec_driver_sql("UPDATE sfumato_head SET seal = ?", (seal,))
    ledger._journal._seen = type(ledger._journal._seen)(0, FIRST)


def test_an_honest_ledger_verifies(tmp_path):
    with filled(tmp_path / "l") as ledger:
        found = ledger.verify()
        assert found.ok and bool(found) and not found.problems
        assert (found.rows, found.reservations, found.head) == (17, 5, ledger.head)


@pytest.mark.parametrize(
    ("words", "statement", "values"),
    [
        ("hash chain is broken", "UPDATE sfumato_row SET body = replace(body, '1/10', '1/99') WHERE number = 2", ()),
        ("hash chain is broken", "DELETE FROM sfumato_row WHERE number = 5", ()),
        ("does not end", "DELETE FROM sfumato_row WHERE number = 17", ()),
        ("smaller than what was charged", "UPDATE sfumato_sums SET sums = replace(sums, '3/10', '1/10')", ()),
        ("another number of limits", "UPDATE sfumato_sums SET sums = '[]'", ()),
        ("passed its limit", "UPDATE sfumato_sums SET sums = replace(sums, '1/2', '999')", ()),
        ("states of the reservations", "UPDATE sfumato_reservation SET state = 'reserved' WHERE id = 'late'", ()),
        ("states of the reservations", "DELETE FROM sfumato_reservation WHERE id = '1'", ()),
        ("not the one that was committed", "UPDATE sfumato_reservation SET answer = ? WHERE id = '1'", (b"43",)),
        ("not the one that was asked", "UPDATE sfumato_reservation SET question = 'f00d' WHERE id = '1'", ()),
        ("belongs to another request", "UPDATE sfumato_reservation SET request = 'f00d' WHERE id = '1'", ()),
        ("belongs to another request", "UPDATE sfumato_reservation SET row = 2 WHERE id = '1'", ()),
        ("not the one that was stored", "UPDATE sfumato_reservation SET memory = ? WHERE id = 'talk'", (b"more",)),
        ("not the one last answered from", "UPDATE sfumato_reservation SET step = 1 WHERE id = 'talk'", ()),
    ],
)
def test_what_was_changed_is_seen(tmp_path, words, statement, values):
    with filled(tmp_path / "l") as ledger:
        edit(ledger, statement, *values)
        found = ledger.verify()
        assert not found.ok
        assert any(words in problem for problem in found.problems), found.problems


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE sfumato_reservation SET answer = CAST('43' AS BLOB) WHERE id = 'a'",
        "UPDATE sfumato_reservation SET answer = NULL WHERE id = 'a'",
        "UPDATE sfumato_row SET body = replace(body, 'answer', 'replay') WHERE reservation = 'a'",
        "UPDATE sfumato_row SET body = '{\"answer\":\"' || body WHERE reservation = 'a' AND kind = 'committed'",
        "DELETE FROM sfumato_row WHERE reservation = 'a' AND kind = 'committed'",
        "UPDATE sfumato_reservation SET question = (SELECT question FROM sfumato_reservation WHERE id = 'b') "
        "WHERE id = 'a'",
    ],
)
def test_an_edited_answer_is_not_handed_out(tmp_path, statement):
    loss = Loss.flat(Cost.pure("1/10"))
    with Ledger(tmp_path / "l", BUDGET) as ledger:
        for name in ("a", "b"):
            ledger.run(name, EVENT, loss, lambda: b"42", question_key=f"question of {name}")
        moved = "question" in statement
        again = ("again", EVENT, loss, lambda: b"no draw")
        key = "question of b" if moved else "question of a"
        assert ledger.run(*again, question_key=key).answer == b"42"
        edit(ledger, statement)
        with pytest.raises(LedgerError, match="run sfumato ledger verify"):
            ledger.run(*again, question_key=key)
        if not moved:
            with pytest.raises(LedgerError, match="somebody changed it in the ledger's file"):
                ledger.stored("a")
            with pytest.raises(LedgerError, match="run sfumato ledger verify"):
                ledger.run("a", EVENT, loss, lambda: b"no draw", question_key="question of a")
            other = ("again", EVENT, loss, lambda: b"no draw")
            if statement.startswith("DELETE"):  # a row is sealed by the one before it, which is gone
                with pytest.raises(LedgerError, match="run sfumato ledger verify"):
                    ledger.run(*other, question_key="question of b")
            else:
                assert ledger.run(*other, question_key="question of b").answer == b"42"
        assert not ledger.verify().ok


def test_an_answer_that_was_moved_to_another_request_is_not_handed_out(tmp_path):
    loss, other = Loss.flat(Cost.pure("1/10")), Loss.flat(Cost.pure("1/5"))
    taken = "(SELECT {0} FROM sfumato_reservation WHERE id = 'b')"
    with Ledger(tmp_path / "l", BUDGET) as ledger:
        ledger.run("a", EVENT, loss, lambda: b"of a", question_key="question of a")
        ledger.run("b", EVENT, other, lambda: b"of b", question_key="question of b")
        edit(ledger, f"UPDATE sfumato_reservation SET request = {taken.format('request')} WHERE id = 'a'")
        with pytest.raises(LedgerError, match="run sfumato ledger verify"):
            ledger.run("a", EVENT, other, lambda: b"no draw", question_key="question of b")
        edit(ledger, f"UPDATE sfumato_reservation SET row = {taken.format('row')} WHERE id = 'a'")
        for read in (ledger.stored, ledger.entry):
            with pytest.raises(LedgerError, match="run sfumato ledger verify"):
                read("a")


def test_an_edited_state_of_a_conversation_is_not_opened(tmp_path):
    with filled(tmp_path / "l") as ledger:
        assert ledger.load_state("talk").state == b"coins"
        edit(ledger, "UPDATE sfumato_reservation SET memory = ? WHERE id = 'talk'", b"many more")
        steps = Stepwise(ledger._journal, None, "talk")
        for read in (ledger.load_state, lambda _: steps.standing()):
            with pytest.raises(LedgerError, match="not the one that the chain names"):
                read("talk")


def test_a_later_limit_does_not_believe_a_row_that_was_edited(tmp_path):
    with Ledger(tmp_path / "l", Budget(Pure(3))) as ledger:
        ledger.run("a", EVENT, Loss.flat(Cost.pure(2), reads={"age"}), lambda: b"42")
        ledger.run("b", EVENT, Loss.flat(Cost.pure("1/2"), reads={"sex"}), lambda: b"42")
        edit(ledger, "UPDATE sfumato_row SET body = replace(body, '\"2\"', '\"1/9\"') WHERE reservation = 'a'")
        for decide in (lambda: ledger.add_limit(Limit("age", Pure(1))), lambda: ledger.lower(EVERYTHING, Pure(2))):
            with pytest.raises(LedgerError, match="verify"):
                decide()
        assert not ledger.verify().ok


def test_a_forged_digest_of_an_answer_is_seen_by_its_seal(tmp_path):
    with filled(tmp_path / "l") as ledger:
        honest, forged = (hashlib.sha256(content).hexdigest() for content in (b"42", b"43"))
        edit(ledger, "UPDATE sfumato_reservation SET answer = ? WHERE id = '1'", b"43")
        edit(ledger, f"UPDATE sfumato_row SET body = replace(body, '{honest}', '{forged}') WHERE reservation = '1'")
        with pytest.raises(LedgerError, match="run sfumato ledger verify"):
            ledger.stored("1")


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("too small", lambda body: {**body, "charges": {}}),
        ("too small", lambda body: {**body, "charges": {"0 1/11": "0-1"}}),
        ("does not exist", lambda body: {**body, "charges": {"0 1/10": "0-77"}}),
    ],
)
def test_a_forged_chain_still_has_to_add_up(tmp_path, words, change):
    with filled(tmp_path / "l") as ledger:
        with ledger._journal.store.session(write=False) as session:
            body = json.loads(session.body(2))
        edit(ledger, "UPDATE sfumato_row SET body = ? WHERE number = 2", canonical(change(body)))
        reseal(ledger)
        assert any(words in problem for problem in ledger.verify().problems)


@pytest.mark.parametrize(
    ("words", "statement"),
    [
        ("must not have happened", "UPDATE sfumato_row SET kind = 'started' WHERE number = 4"),
        (
            "leave out some of the history",
            "UPDATE sfumato_row SET body = replace(body, '\"0 3/10\"', '\"0 0\"') WHERE kind = 'late'",
        ),
        ("skips or repeats", "UPDATE sfumato_row SET body = '{\"step\":5}' WHERE number = 14"),
    ],
)
def test_a_forged_history_still_has_to_make_sense(tmp_path, words, statement):
    with filled(tmp_path / "l") as ledger:
        edit(ledger, statement)
        reseal(ledger)
        problems = ledger.verify().problems
        assert any(words in problem for problem in problems), problems


def flipped(path, index: str, word: bytes) -> None:
    """Change one bit of a word in a SQLite index, which no row seals."""
    connection = sqlite3.connect(path)
    (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (index,)).fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    held = bytearray(path.read_bytes())
    held[held.index(word, (page - 1) * size) + len(word) - 1] ^= 1
    path.write_bytes(bytes(held))


def test_a_release_that_an_index_hides_is_missed(tmp_path):
    """What was charged is found by an index: one bit of it would leave a release out of lists and evidence."""
    path = tmp_path / "people.ledger"
    ledger = filled(path)
    kept = ledger.head
    ledger.close()
    flipped(path, "ix_sfumato_row_kind", b"reserved")
    found = Ledger(path).verify(kept)
    assert not found and "The file itself is damaged" in found.problems[0]


def test_a_damaged_file_is_called_damaged(tmp_path):
    path = tmp_path / "people.ledger"
    filled(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'sfumato_row'").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    held = bytearray(path.read_bytes())
    held[(page - 1) * size : (page - 1) * size + 8] = b"\xff" * 8
    path.write_bytes(bytes(held))
    with pytest.raises(DamagedLedger, match=r"was damaged, or changed by something else .* newest copy"):
        Ledger(path).verify()


def test_a_rolled_back_ledger_is_noticed_by_its_head(tmp_path):
    with filled(tmp_path / "l") as ledger:
        edit(ledger, "PRAGMA user_version")
    shutil.copy(tmp_path / "l", tmp_path / "older")
    with Ledger(tmp_path / "l") as ledger:
        ledger.run("new", EVENT, Loss.flat(Cost.pure("1/10")), lambda: b"1")
        head = ledger.head
        assert ledger.verify(head=head).ok
    with Ledger(tmp_path / "older") as older:
        assert older.verify().ok
        assert "rolled back" in older.verify(head=head).problems[0]
    with pytest.raises(LedgerError, match="rolled back"):
        Ledger(tmp_path / "older", head=head)
    with Ledger(tmp_path / "l", head=head) as ledger:
        assert ledger.guarantee() == Pure(3)


def test_an_open_ledger_notices_that_its_file_was_exchanged(tmp_path):
    with filled(tmp_path / "l"):
        pass
    shutil.copy(tmp_path / "l", tmp_path / "older")
    ledger = Ledger(tmp_path / "l")
    ledger.reserve("new", EVENT, Loss.flat(Cost.pure("1/10")))
    ledger._journal.store.close()
    (tmp_path / "l").unlink()
    for leftover in tmp_path.glob("l-*"):
        leftover.unlink()
    shutil.copy(tmp_path / "older", tmp_path / "l")
    with pytest.raises(LedgerError, match="was rolled back"):
        ledger.reserve("newer", EVENT, Loss.flat(Cost.pure("1/10")))
    ledger.close()


def test_both_databases_verify(open_ledger):
    ledger = open_ledger(BUDGET)
    ledger.run("a", EVENT, Loss.flat(Cost.pure("1/10"), reads={"age"}), lambda: b"1")
    head = ledger.head
    assert ledger.verify(head=head).ok
    assert open_ledger(head=head).verify(head=head).ok
