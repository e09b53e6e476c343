"""Requests that are answered in steps: one runner wins, what was said is kept, and the chain tells of every seal."""

from __future__ import annotations

import sqlite3

import pytest

from sfumato import Pure
from sfumato.errors import LedgerError, Overtaken, Unfinished
from sfumato.ledger import Budget, Ledger, lifecycle
from sfumato.ledger.session import FORMAT
from sfumato.ledger.stepping import DeadStep, Stepwise

from .worker import EVENT, LOSS

KEY = bytes(32)


def begun(ledger: Ledger) -> Stepwise:
    steps = ledger.open("talk", EVENT, LOSS)
    steps.freeze(0, b"rows", KEY)
    assert steps.save(0, b"state") == 1
    return steps


def test_the_life_of_a_request_in_steps(open_ledger, tmp_path):
    ledger = open_ledger(Budget(Pure(1)), private=tmp_path / "private")
    steps = begun(ledger)
    steps.say(1, 1, b"first question")
    again = open_ledger(private=tmp_path / "private").open("talk", EVENT, LOSS)
    found = again.standing()
    assert (found.step, found.state, found.pending.asked) == (1, b"state", b"first question")
    assert again.thaw(found.seal).content == b"rows" and again.thaw(found.seal).coins.key == KEY
    steps.say(1, 2, b"second question", last=b"below")
    assert steps.save(1, b"later", b"42", number=2, outcome=b"above") == 2
    asked = [(step.number, step.asked, step.outcome) for step in again.standing().steps]
    assert asked == [(1, b"first question", b"below"), (2, b"second question", b"above")]
    assert again.standing().pending is None and ledger.verify().ok
    assert ledger.spent().sums[1] == LOSS.person.epsilon
    steps.bury()
    with pytest.raises(LedgerError, match="ended without an answer"):
        again.standing()
    assert not list((tmp_path / "private" / "now").glob("*/*")) and ledger.verify().ok
    with ledger._journal.session(write=False) as session:
        assert session.asked_steps("talk") == []


def test_of_two_runners_one_wins(open_ledger, tmp_path):
    ledger = open_ledger(Budget(Pure(1)), private=tmp_path / "private")
    one, other = begun(ledger), ledger.open("talk", EVENT, LOSS)
    one.say(1, 1, b"mine")
    for step, number in ((1, 1), (1, 3), (0, 2), (2, 2)):
        with pytest.raises(Overtaken, match="does not follow"):
            other.say(step, number, b"mine too")
    with pytest.raises(Overtaken, match="does not follow"):
        other.save(0, b"another state")
    with pytest.raises(Overtaken):
        other.freeze(0, b"other rows", bytes([1] * 32))
    assert ledger._private.seals("talk") == [lifecycle_seal(ledger)]  # the loser took its directory away
    assert one.save(1, b"later") == 2
    other.freeze(2, b"other rows", bytes([1] * 32))
    with pytest.raises(Overtaken):
        one.freeze(2, b"rows", KEY)
    assert ledger.verify().ok


def lifecycle_seal(ledger: Ledger) -> str | None:
    with ledger._journal.session(write=False) as session:
        found = lifecycle.sealed(session, "talk")
    return None if found is None else found.seal


def test_what_need_not_be_kept_goes_with_the_next(tmp_path):
    with Ledger(None, Budget(Pure(1))) as ledger:
        steps = begun(ledger)
        steps.say(1, 1, b"kept")
        steps.say(1, 2, b"not kept", last=b"x", keep=False)
        assert [step.asked for step in steps.standing().steps] == [b"kept", b"not kept"]
        steps.say(1, 3, b"not kept either", last=b"x", keep=False)
        assert [step.asked for step in steps.standing().steps] == [b"kept", b"not kept either"]


def test_errors_of_a_draw_are_told_from_what_ends_it(caplog):
    with Ledger(None, Budget(Pure(1))) as ledger:
        steps = begun(ledger)

        secret = "-".join(["person", "seventeen"])  # the line of code is logged, and must not hold it

        def fails(error: type[BaseException]):
            def draw():
                raise error(secret)

            return draw

        for error, seen in ((ValueError, DeadStep), (MemoryError, Unfinished), (KeyboardInterrupt, KeyboardInterrupt)):
            with pytest.raises(seen) as raised:
                steps.draw(fails(error))
            assert seen is KeyboardInterrupt or raised.value.__context__ is None
        assert secret not in caplog.text and "ValueError" in caplog.text


def test_two_seals_after_one_state_are_noticed():
    for step in (1, 0, 7):
        with Ledger(None, Budget(Pure(1))) as ledger:
            steps = begun(ledger)
            steps.freeze(1, b"rows", KEY)
            assert ledger.verify().ok
            with ledger._journal.session(write=True) as session:
                record = {"seal": None, "made_by": {}, "step": step}
                session.append("frozen", "talk", lifecycle.canonical(record))
            assert "frozen before" in " ".join(ledger.verify().problems)


def test_a_request_that_was_answered_has_no_steps():
    with Ledger(None, Budget(Pure(1))) as ledger:
        ledger.run("talk", EVENT, LOSS, lambda: b"42")
        with pytest.raises(LedgerError, match="belongs to an answer"):
            ledger.open("talk", EVENT, LOSS).standing()


def test_a_ledger_of_the_version_before_gets_its_table(tmp_path):
    place = tmp_path / "people.ledger"
    Ledger(place, Budget(Pure(1))).close()
    with sqlite3.connect(place) as file:
        file.execute("DROP TABLE sfumato_step")
        file.execute("UPDATE sfumato_head SET format = 3")
    file.close()
    with Ledger(place) as ledger:
        begun(ledger).say(1, 1, b"first question")
        assert ledger.verify().ok and not [row for row in _kinds(ledger) if row == "sealed"]
    with sqlite3.connect(place) as file:
        assert file.execute("SELECT format FROM sfumato_head").fetchone() == (FORMAT,)
    file.close()


def _kinds(ledger: Ledger) -> list[str]:
    with ledger._journal.session(write=False) as session:
        return [row.kind for row, _ in session.rows()]
