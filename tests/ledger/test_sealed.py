"""One charge, one draw, never lost: what was read is frozen with a key before the first coin (SM-STORE, PB-RUN)."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato import Pure
from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger import Budget, Ledger, frozen, lifecycle, running
from sfumato.ledger.frozen import KEY_BYTES, Directory, hashed
from sfumato.ledger.running import Coins, Work
from sfumato.noise import new_key

from .worker import EVENT, LOSS, read_lines, run_process, sealed_work, spend_sealed

HUNDREDTH = Fraction(1, 100)

# transactions of a sealed spend: 1 reserve and start, 2 freeze, 3 commit
# point: (state found, hundredths spent, draws that exist, whether the second attempt reads the source again)
POINTS = {
    (1, "inside"): (None, 0, 0, True),
    (1, "after"): ("started", 1, 0, True),
    "read": ("started", 1, 0, True),
    "writing": ("started", 1, 0, True),
    "written": ("started", 1, 0, True),
    (2, "before"): ("started", 1, 0, True),
    (2, "inside"): ("started", 1, 0, True),
    (2, "after"): ("started", 1, 0, False),
    "key": ("started", 1, 0, False),
    "drawn": ("started", 1, 1, False),
    (3, "before"): ("started", 1, 1, False),
    (3, "inside"): ("started", 1, 1, False),
    (3, "after"): ("committed", 1, 1, False),
    "erasing": ("committed", 1, 1, False),
    "shown": ("committed", 1, 1, False),
}
ON_BOTH = {(2, "inside"), "drawn", (3, "inside")}
"""Where the gate kills on PostgreSQL too; the audit kills everywhere, and asks again in both ways."""


def _cases() -> list:
    found = []
    for number, (point, outcome) in enumerate(POINTS.items()):
        for database in ("sqlite", "postgres"):
            for turn, again in enumerate(("ask", "other")):
                quick = (database == "sqlite" and number % 2 == turn) or (point in ON_BOTH and turn)
                marks = [] if quick else [pytest.mark.audit]
                name = f"{database}-{point}-{again}"
                found.append(pytest.param(database, point, outcome, again, marks=marks, id=name))
    return found


@pytest.mark.parametrize(("place", "point", "outcome", "again"), _cases(), indirect=["place"])
def test_a_killed_draw_is_completed_as_it_was_begun(place, point, outcome, again, open_ledger, tmp_path):
    state, spent, draws, reads_again = outcome
    ledger = open_ledger(Budget(Pure(1)))
    assert run_process(spend_sealed, place, tmp_path, "ask", point, 1) == -9
    assert ledger.spent().sums[1] == spent * HUNDREDTH and ledger.verify().ok
    assert len(read_lines(tmp_path / "drawn")) == draws
    with ledger._journal.session(write=False) as session:
        stored = session.reservation("ask")
        assert (None if stored is None else stored.state) == state

    # The same request, or the same question under another id; the source has changed in between.
    assert run_process(spend_sealed, place, tmp_path, again, None, 2) == 0
    drawn = {value for (value,) in read_lines(tmp_path / "drawn")}
    shown = {value for (value,) in read_lines(tmp_path / "shown")}
    assert len(drawn) == 1 and shown == drawn, "a second draw"
    assert drawn.pop().startswith("32-" if reads_again else "31-"), "drawn from another state than the frozen one"
    assert len({key for (key,) in read_lines(tmp_path / "keys")}) == 1, "a second key"
    assert ledger.spent().sums[1] == HUNDREDTH and ledger.verify().ok
    _nothing_left(tmp_path)


def _nothing_left(folder: Path) -> None:
    # What a kill left after the commit goes when the ledger is opened.
    assert not [path for path in (folder / "private" / "now").rglob("*") if path.is_file()]


def test_the_same_question_twice_is_one_charge_and_one_draw(open_ledger, tmp_path):
    ledger = open_ledger(Budget(Pure(1)), private=tmp_path / "private")
    first = ledger.run_sealed("a", EVENT, LOSS, sealed_work(tmp_path, b"private input 1"), question_key="q")
    again = ledger.run_sealed("b", EVENT, LOSS, sealed_work(tmp_path, b"private input 2"), question_key="q")
    same = ledger.run_sealed("a", EVENT, LOSS, sealed_work(tmp_path, b"private input 3"), question_key="q")
    assert again.answer == first.answer == same.answer and again.reused and not same.reused
    assert ledger.spent().sums[1] == HUNDREDTH and len(read_lines(tmp_path / "drawn")) == 1


# What ends a draw from outside, and what is its own.


class _Killed(BaseException):
    """Stands for a kill, where a process of its own would be too slow."""


OUTSIDE = [MemoryError, KeyboardInterrupt, SystemExit, _Killed, lambda: OSError(errno.ENOSPC, "full"), ImportError]


def _raising(work: Work, error: Callable[[], BaseException], when: str) -> Work:
    def draw(content: bytes, coins: Coins) -> bytes:
        if when == "before":
            raise error()
        work.draw(content, coins)
        raise error()

    return Work(work.read, draw)


@pytest.mark.parametrize("error", OUTSIDE)
@pytest.mark.parametrize("when", ["before", "after"])
def test_what_comes_from_outside_loses_nothing(error, when, tmp_path):
    for place in (None, tmp_path / "people.ledger"):
        folder = tmp_path / str(place is None)
        folder.mkdir()
        with Ledger(place, Budget(Pure(1))) as ledger:
            work = sealed_work(folder, b"private input 1")
            with pytest.raises((LedgerError, KeyboardInterrupt, SystemExit, _Killed)) as raised:
                ledger.run_sealed("a", EVENT, LOSS, _raising(work, error, when), question_key="q")
            if isinstance(raised.value, LedgerError):
                assert "Nothing is lost" in str(raised.value) and raised.value.__context__ is None
            answer = ledger.run_sealed("b", EVENT, LOSS, work, question_key="q")
            assert (answer.id, answer.reused) == ("a", False)
            assert {line[0] for line in read_lines(folder / "drawn")} == {answer.answer.decode()}
            assert ledger.spent().sums[1] == HUNDREDTH and ledger.verify().ok


def test_an_error_of_the_draw_itself_is_the_end_of_it(tmp_path):
    with Ledger(tmp_path / "people.ledger", Budget(Pure(1))) as ledger:
        work = sealed_work(tmp_path, b"private input 1")
        with pytest.raises(LedgerError, match="ended without an answer"):
            ledger.run_sealed("a", EVENT, LOSS, _raising(work, ValueError, "after"), question_key="q")
        assert not list((ledger.private / "now").glob("*/*"))
        with pytest.raises(LedgerError, match="ended without an answer"):
            ledger.run_sealed("a", EVENT, LOSS, work, question_key="q")
        assert ledger.run_sealed("b", EVENT, LOSS, work, question_key="q").id == "b"
        assert ledger.spent().sums[1] == 2 * HUNDREDTH and ledger.verify().ok


def test_a_table_that_cannot_be_read_costs_once(tmp_path):
    def unreadable() -> bytes:
        raise ValueError("the cell of person 17")

    with Ledger(tmp_path / "people.ledger", Budget(Pure(1))) as ledger:
        work = sealed_work(tmp_path, b"private input 1")
        for _ in range(2):
            with pytest.raises(LedgerError, match="could not be read") as raised:
                ledger.run_sealed("a", EVENT, LOSS, Work(unreadable, work.draw), question_key="q")
            assert raised.value.__context__ is None and raised.value.__cause__ is None
        assert ledger.run_sealed("b", EVENT, LOSS, work, question_key="q").id == "a"
        assert ledger.spent().sums[1] == HUNDREDTH


def test_a_ledger_that_cannot_be_written_at_the_commit_loses_nothing(tmp_path, monkeypatch):
    with Ledger(tmp_path / "people.ledger", Budget(Pure(1))) as ledger:
        work = sealed_work(tmp_path, b"private input 1")
        with monkeypatch.context() as patch:

            def full(*_: object) -> None:
                raise LedgerError("disk full")

            patch.setattr(lifecycle, "settle", full)
            with pytest.raises(LedgerError, match="disk full"):
                ledger.run_sealed("a", EVENT, LOSS, work, question_key="q")
        ledger.run_sealed("b", EVENT, LOSS, work, question_key="q")
        assert len({value for (value,) in read_lines(tmp_path / "drawn")}) == 1
        assert ledger.spent().sums[1] == HUNDREDTH


# Without a private place there is no seal: a kill after the first coin is the end.


@pytest.fixture
def unsealed(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(frozen, "_write", full)
    with Ledger(tmp_path / "people.ledger", Budget(Pure(1))) as ledger:
        yield ledger


def test_without_room_a_draw_is_marked_before_its_first_coin(unsealed, tmp_path):
    work = sealed_work(tmp_path, b"private input 1")
    assert unsealed.run_sealed("good", EVENT, LOSS, work, question_key="good").answer is not None
    for number, error in enumerate([KeyboardInterrupt, MemoryError, _Killed]):
        with pytest.raises((LedgerError, KeyboardInterrupt, _Killed)):
            unsealed.run_sealed(f"a{number}", EVENT, LOSS, _raising(work, error, "before"), question_key="q")
        assert unsealed.stored(f"a{number}").state == "dead"
    assert unsealed.run_sealed("b", EVENT, LOSS, work, question_key="q").id == "b"  # a new charge
    assert unsealed.spent().sums[1] == 5 * HUNDREDTH and unsealed.verify().ok
    assert not list((unsealed.private / "now").glob("*/*"))


def test_whoever_finds_an_unsealed_draw_leaves_it_alone(unsealed, tmp_path, monkeypatch):
    work = sealed_work(tmp_path, b"private input 1")
    with monkeypatch.context() as patch, pytest.raises(_Killed):
        patch.setattr(running, "bury", lambda *_: None)  # killed: nobody could mark it
        unsealed.run_sealed("a", EVENT, LOSS, _raising(work, _Killed, "before"), question_key="q")
    with pytest.raises(LedgerError, match="no private place"):
        unsealed.run_sealed("a", EVENT, LOSS, work, question_key="q")
    assert unsealed.run_sealed("b", EVENT, LOSS, work, question_key="q").id == "b"
    assert unsealed.fail("a").state == "dead"


def test_postgres_has_a_private_place_only_if_one_is_named(postgres, tmp_path):
    from .conftest import schema_on

    address = schema_on(postgres)
    with Ledger(address, Budget(Pure(1))) as ledger:
        assert ledger.private is None
        assert ledger.run_sealed("a", EVENT, LOSS, sealed_work(tmp_path, b"private input 1")).answer
        with pytest.raises(KeyboardInterrupt):
            work = _raising(sealed_work(tmp_path, b"private input 1"), KeyboardInterrupt, "after")
            ledger.run_sealed("b", EVENT, LOSS, work)
        assert ledger.stored("b").state == "dead"
    with Ledger(address, private=tmp_path / "private") as ledger:
        assert ledger.private == tmp_path / "private"


# Who may go on with what was begun.


def _cut_short(ledger: Ledger, folder: Path, name: str = "a", content: bytes = b"private input 1") -> Work:
    work = sealed_work(folder, content)
    with pytest.raises(KeyboardInterrupt):
        ledger.run_sealed(name, EVENT, LOSS, _raising(work, KeyboardInterrupt, "after"), question_key="q")
    return work


def test_what_is_not_here_or_not_whole_is_not_drawn_again(tmp_path):
    with Ledger(tmp_path / "people.ledger", Budget(Pure(1))) as ledger:
        work = _cut_short(ledger, tmp_path)
    elsewhere = Ledger(tmp_path / "people.ledger", private=tmp_path / "elsewhere")
    with elsewhere as ledger, pytest.raises(LedgerError, match="another private directory"):
        ledger.run_sealed("b", EVENT, LOSS, work, question_key="q")
    with Ledger(tmp_path / "people.ledger") as ledger:
        (kept,) = (ledger.private / "now").glob("*/*")
        kept.write_bytes(kept.read_bytes() + b"!")
        with pytest.raises(LedgerError, match="its directory is lost"):
            ledger.run_sealed("a", EVENT, LOSS, work, question_key="q")
        ledger.fail("a")
        assert not list((ledger.private / "now").glob("*/*"))
        assert ledger.run_sealed("b", EVENT, LOSS, work, question_key="q").id == "b"


def test_what_an_earlier_version_left_is_swept(tmp_path):
    """It kept a directory for each draw, with a file for the input and one for the key."""
    with Ledger(tmp_path / "people.ledger", Budget(Pure(1))) as ledger:
        ledger.run_sealed("a", EVENT, LOSS, sealed_work(tmp_path, b"private input 1"), question_key="q")
        for name in ("a", "unknown"):
            home = ledger.private / "now" / hashed(name) / "0123"
            home.mkdir(parents=True)
            for part in ("input", "key"):
                (home / part).write_bytes(b"private input 1")
    with Ledger(tmp_path / "people.ledger") as ledger:
        assert [left.request for left in ledger._private.older()] == [hashed("unknown")]


def test_two_ledgers_may_share_a_directory_and_an_id(tmp_path):
    one, two = (Ledger(tmp_path / name, Budget(Pure(1)), private=tmp_path / "private") for name in ("one", "two"))
    with one, two:
        work = _cut_short(one, tmp_path)
        ran = []
        two.run_sealed("a", EVENT, LOSS, Work(lambda: b"other", lambda content, _: ran.append(content) or b"done"))
        assert ran == [b"other"]
        Ledger(tmp_path / "two", private=tmp_path / "private").close()  # and sweeps
        answer = one.run_sealed("b", EVENT, LOSS, work, question_key="q")
        assert answer.id == "a" and {line[0] for line in read_lines(tmp_path / "drawn")} == {answer.answer.decode()}
        assert not list((tmp_path / "private" / "now").glob("*/*"))


def test_a_draw_that_an_earlier_version_began_is_completed_by_its_own_ledger(tmp_path):
    """It wrote now/<request>.<seal>, whatever the ledger."""
    private = tmp_path / "private"
    with Ledger(tmp_path / "one", Budget(Pure(1)), private=private) as one:
        work = _cut_short(one, tmp_path)
        (kept,) = (private / "now").glob("*/*")
        kept.rename(private / "now" / kept.name)
    with Ledger(tmp_path / "two", Budget(Pure(1)), private=private) as two:
        two.run_sealed("a", EVENT, LOSS, Work(lambda: b"other", lambda *_: b"done"))
    Ledger(tmp_path / "two", private=private).close()
    with Ledger(tmp_path / "one", private=private) as one:
        answer = one.run_sealed("a", EVENT, LOSS, work, question_key="q")
        assert {line[0] for line in read_lines(tmp_path / "drawn")} == {answer.answer.decode()}
        assert not [path for path in (private / "now").rglob("*") if path.is_file()]


def test_what_an_earlier_version_left_of_a_done_request_is_swept_where_it_is_known_whose_it_is(tmp_path):
    private = tmp_path / "private"
    with Ledger(tmp_path / "one", Budget(Pure(1)), private=private) as one:
        work = _cut_short(one, tmp_path)
        (kept,) = (private / "now").glob("*/*")
        content = kept.read_bytes()
        one.run_sealed("a", EVENT, LOSS, work, question_key="q")
        (private / "now" / kept.name).write_bytes(content)
        (private / "now" / f"{hashed('a')}.{'0' * 64}").write_bytes(b"perhaps another ledger's")
    with Ledger(tmp_path / "one", private=private) as one:
        assert [left.seals for left in one._private.older()] == [{"0" * 64}]


def test_another_version_does_not_go_on(tmp_path, monkeypatch):
    with Ledger(tmp_path / "people.ledger", Budget(Pure(1))) as ledger:
        work = _cut_short(ledger, tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(running, "made_by", lambda: {"numpy": "9.9"})
            with pytest.raises(LedgerError, match=r"was begun with .*numpy .*ledger\.fail\('a'\)"):
                ledger.run_sealed("b", EVENT, LOSS, work, question_key="q")
        assert ledger.run_sealed("b", EVENT, LOSS, work, question_key="q").id == "a"


def test_other_public_facts_do_not_go_on(tmp_path):
    from sfumato import Event

    with Ledger(tmp_path / "people.ledger", Budget(Pure(1))) as ledger:
        work = _cut_short(ledger, tmp_path)
        with pytest.raises(LedgerError, match="other public facts"):
            ledger.run_sealed("b", Event("Laplace", "QR-LAP", {"scale": 11}), LOSS, work, question_key="q")
        assert ledger.spent().sums[1] == HUNDREDTH


def test_what_was_started_otherwise_is_never_drawn_again(tmp_path):
    with Ledger(tmp_path / "people.ledger", Budget(Pure(1))) as ledger:
        work = sealed_work(tmp_path, b"private input 1")
        ledger.reserve("a", EVENT, LOSS, "q")
        ledger.start("a")  # as earlier versions did, and then threw coins
        with pytest.raises(LedgerError, match="one charge buys one draw"):
            ledger.run_sealed("a", EVENT, LOSS, work, question_key="q")
        assert ledger.run_sealed("b", EVENT, LOSS, work, question_key="q").id == "b"
        ledger.reserve("c", EVENT, LOSS)
        assert ledger.run_sealed("c", EVENT, LOSS, work).answer  # reserved and not started: nothing was drawn


def test_opening_sweeps_what_is_done_and_nothing_else(tmp_path):
    with Ledger(tmp_path / "people.ledger", Budget(Pure(1))) as ledger:
        _cut_short(ledger, tmp_path)
        keeper = Directory(ledger.private, ledger._journal.mark)
        ledger.run_sealed("done", EVENT, LOSS, sealed_work(tmp_path, b"private input 1"))
        ledger.reserve("dead", EVENT, LOSS)
        ledger.fail("dead")
        for name in ("done", "dead", "unknown"):
            keeper.write(name, b"left behind", bytes(32))
    with Ledger(tmp_path / "people.ledger"):
        assert set(keeper.left()) == {frozen.hashed("a"), frozen.hashed("unknown")}


def test_whoever_may_not_look_there_can_open_the_ledger(tmp_path, monkeypatch):
    def forbidden(self):
        raise PermissionError(13, "not yours")

    monkeypatch.setattr(Directory, "left", forbidden)
    Ledger(tmp_path / "people.ledger", Budget(Pure(1))).close()


def test_files_are_for_nobody_else(tmp_path):
    keeper = Directory(tmp_path / "private", lambda: "own")
    keeper.write("a", b"input", bytes(32))
    for path in (tmp_path / "private").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) & 0o077 == 0
    for path in [path for path in (tmp_path / "private").rglob("*") if path.is_file()]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_an_id_that_no_database_stores_is_refused_before_anything_is_charged(open_ledger, name):
    ledger = open_ledger(Budget(Pure(1)))
    head = ledger.head
    with pytest.raises(ParameterError, match="that databases can store"):
        ledger.run_sealed(name, EVENT, LOSS, Work(lambda: b"input", lambda *_: b"drawn"))
    assert ledger.head == head


def test_ids_are_compared_as_they_are_written(open_ledger, tmp_path):
    ledger = open_ledger(Budget(Pure(1)), private=tmp_path / "private")
    names = ["ask", "ASK", "caf\u00e9", "cafe\u0301", "ask ", "../ask", "x" * 200]
    for name in names:
        ledger.run_sealed(name, EVENT, LOSS, Work(lambda: b"input", lambda *_, name=name: name.encode()))
    assert [ledger.stored(name).answer for name in names] == [name.encode() for name in names]
    assert ledger.spent().sums[1] == len(names) * HUNDREDTH


# Properties, and the mutants that they catch.


def _two_runners(folder: Path) -> list[str]:
    """Let two runners read before either freezes; return what is wrong."""
    place = folder / "people.ledger"
    Ledger(place, Budget(Pure(1))).close()
    both, answers = threading.Barrier(2), []

    def run(number: int) -> None:
        ready = sealed_work(folder, b"private input %d" % number)

        def read() -> bytes:
            both.wait(30)
            return ready.read()

        with Ledger(place) as ledger:
            answers.append(
                ledger.run_sealed(f"r{number}", EVENT, LOSS, Work(read, ready.draw), question_key="q").answer
            )

    runners = [threading.Thread(target=run, args=(number,)) for number in (1, 2)]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join(60)
    with Ledger(place) as ledger:
        problems = [] if len(set(answers)) == 1 and len(answers) == 2 else ["two answers"]
        problems += [] if ledger.spent().sums[1] == HUNDREDTH else ["two charges"]
        problems += [] if ledger.verify().ok else ["the chain"]
        problems += ["files"] if list((ledger.private / "now").glob("*/*")) else []
    drawn = {value for (value,) in read_lines(folder / "drawn")}
    return problems + (["two draws"] if len(drawn) != 1 else [])


def _retried(folder: Path) -> list[str]:
    """Cut a draw short after its coins and ask again; return what is wrong."""
    with Ledger(folder / "people.ledger", Budget(Pure(1))) as ledger:
        work = _cut_short(ledger, folder)
        ledger.run_sealed("b", EVENT, LOSS, work, question_key="q")
    drawn = {value for (value,) in read_lines(folder / "drawn")}
    return ["two draws"] if len(drawn) != 1 else []


def _secrets(folder: Path) -> list[str]:
    """Cut a draw short, look, complete it, look again; return where the key or the input was found."""
    with Ledger(folder / "people.ledger", Budget(Pure(1))) as ledger:
        work = _cut_short(ledger, folder)
        found = _leaks(folder)
        ledger.run_sealed("b", EVENT, LOSS, work, question_key="q")
        found += _leaks(folder)
    found += _leaks(folder)
    return found + [str(path) for path in (folder / "people.ledger.private" / "now").rglob("*") if path.is_file()]


def _leaks(folder: Path) -> list[str]:
    ((key,), *_) = read_lines(folder / "keys")
    wanted = [key.encode(), bytes.fromhex(key), b"private input"]
    files = [path for path in folder.glob("people.ledger*") if path.is_file()]
    assert any(path.name.endswith("ledger") for path in files)
    return [path.name for path in files if any(secret in path.read_bytes() for secret in wanted)]


@pytest.mark.parametrize("check", [_two_runners, _retried, _secrets])
def test_what_is_promised(check, tmp_path):
    assert check(tmp_path) == []


def _always_first(session, request_id, record):
    session.append("frozen", request_id, lifecycle.canonical(record))
    return True


def _key_in_the_ledger(session, request_id, record, original=lifecycle.freeze):
    (kept,) = (Path(os.environ["SFUMATO_TEST_PRIVATE"]) / "now").glob("*/*")
    return original(session, request_id, {**record, "key": kept.read_bytes()[:KEY_BYTES].hex()})


def _fresh_key(self, request_id, seal, original=Directory.read):
    content, _ = original(self, request_id, seal)
    return content, new_key()


def _keeps_everything(self, request_id):
    return None


MUTANTS = {
    "freeze without compare-and-set": (lifecycle, "freeze", _always_first, _two_runners),
    "key in the ledger": (lifecycle, "freeze", _key_in_the_ledger, _secrets),
    "fresh key at retry": (Directory, "read", _fresh_key, _retried),
    "nothing erased": (Directory, "erase", _keeps_everything, _secrets),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_caught(name, tmp_path, monkeypatch):
    where, attribute, mutant, check = MUTANTS[name]
    monkeypatch.setenv("SFUMATO_TEST_PRIVATE", str(tmp_path / "people.ledger.private"))
    monkeypatch.setattr(where, attribute, mutant)
    assert check(tmp_path) != []


def test_drawing_in_a_second_thread_is_refused(tmp_path):
    """Coins thrown by two threads would come in an order that no second attempt repeats."""

    def draw(content: bytes, coins: Coins) -> bytes:
        noise, failed = coins.noise(), []

        def other() -> None:
            try:
                noise.uniform(6)
            except RuntimeError as problem:
                failed.append(problem)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert failed
        raise failed[0]

    with Ledger(None, Budget(Pure(1))) as ledger, pytest.raises(LedgerError, match="ended without an answer"):
        ledger.run_sealed("a", EVENT, LOSS, Work(lambda: b"", draw))


def test_two_frozen_rows_are_noticed(tmp_path):
    with Ledger(None, Budget(Pure(1))) as ledger:
        ledger.run_sealed("a", EVENT, LOSS, sealed_work(tmp_path, b"private input 1"))
        assert ledger.verify().ok
        ledger.reserve("b", EVENT, LOSS)
        ledger.start("b")
        with ledger._journal.session(write=True) as session:
            for _ in range(2):
                session.append("frozen", "b", lifecycle.canonical({"seal": None, "made_by": {}}))
        assert "frozen before" in " ".join(ledger.verify().problems)


@pytest.mark.audit
@pytest.mark.parametrize("seed", range(3))
def test_many_kills_one_draw_each(seed, tmp_path):
    """Kill at random points again and again until each question is answered: one draw and one charge a question."""
    from sfumato import Noise

    dice, points = Noise(insecure_seed=seed), [*POINTS, None, None]
    place = str(tmp_path / "people.ledger")
    Ledger(place, Budget(Pure(1))).close()
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        kills = 0
        while True:
            point = points[dice.uniform(len(points))]
            code = run_process(spend_sealed, place, folder, f"{number}-{kills}", point, kills % 10, f"q{number}")
            kills += code == -9
            if code == 0:
                break
        assert len({value for (value,) in read_lines(folder / "drawn")}) == 1
        _nothing_left(folder)
    with Ledger(place) as ledger:
        assert ledger.spent().sums[1] == 20 * HUNDREDTH and ledger.verify().ok


# Copies of one ledger have its mark, and would take each other's draws for their own.


def _copied(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Cut a draw short in a ledger, and copy its file: in the copy the request is given up."""
    one, two, private = tmp_path / "one", tmp_path / "two", tmp_path / "private"
    with Ledger(one, Budget(Pure(1)), private=private) as ledger:
        _cut_short(ledger, tmp_path)
    shutil.copy(one, two)
    return one, two, private


def test_a_copy_cannot_erase_what_its_original_is_drawing(tmp_path):
    one, two, private = _copied(tmp_path)
    with Ledger(two) as copy:  # a directory of its own, as a copy has by default
        copy.fail("a")
    for _ in range(2):
        with pytest.raises(LedgerError, match=r"one .* is a copy of .* private="):
            Ledger(two, private=private)
    with Ledger(one, private=private) as ledger:
        answer = ledger.run_sealed("a", EVENT, LOSS, sealed_work(tmp_path, b"private input 2"), question_key="q")
        assert {line[0] for line in read_lines(tmp_path / "drawn")} == {answer.answer.decode()}


def test_a_copy_that_was_open_before_is_refused_before_it_keeps_anything(tmp_path):
    one, two, private = tmp_path / "one", tmp_path / "two", tmp_path / "private"
    Ledger(one, Budget(Pure(1))).close()
    shutil.copy(one, two)
    with Ledger(one, private=private) as ledger, Ledger(two, private=private) as copy:
        work = _cut_short(ledger, tmp_path)
        with pytest.raises(LedgerError, match="is a copy of"):
            copy.run_sealed("a", EVENT, LOSS, work, question_key="q")
        assert ledger.run_sealed("a", EVENT, LOSS, work, question_key="q").answer
        assert len({key for (key,) in read_lines(tmp_path / "keys")}) == 1


@pytest.mark.parametrize("instead", [None, b"something else", "ledger", "link"])
def test_a_ledger_that_was_moved_goes_on(tmp_path, instead):
    one, two, private = _copied(tmp_path)
    one.unlink()
    if instead == "ledger":
        Ledger(one, Budget(Pure(1))).close()
    elif instead == "link":
        one.hardlink_to(two)  # the same file by another name is no copy
    elif instead is not None:
        one.write_bytes(instead)
    for _ in range(2):
        with Ledger(two, private=private) as ledger:
            answer = ledger.run_sealed("a", EVENT, LOSS, sealed_work(tmp_path, b"private input 2"), question_key="q")
    assert {line[0] for line in read_lines(tmp_path / "drawn")} == {answer.answer.decode()}
    assert not list((private / "now").glob("*/*"))


def test_whoever_copies_the_directory_too_has_one_of_their_own(tmp_path):
    _copied(tmp_path)
    for name in ("one", "two", "private"):
        path, target = tmp_path / name, tmp_path / "elsewhere" / name
        (tmp_path / "elsewhere").mkdir(exist_ok=True)
        (shutil.copytree if path.is_dir() else shutil.copy)(path, target)
    answers = set()
    for home in (tmp_path, tmp_path / "elsewhere"):
        with Ledger(home / "one", private=home / "private") as ledger:
            work = sealed_work(tmp_path, b"private input 2")
            answers.add(ledger.run_sealed("a", EVENT, LOSS, work, question_key="q").answer)
    assert len(answers) == 1


# A draw that nobody else can complete is kept by whoever drew it, until the ledger has it.


def _full_at_the_commit(ledger: Ledger, work: Work, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise LedgerError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(lifecycle, "settle", full)
        for name in ("a", "c"):  # nothing else is charged meanwhile
            with pytest.raises(LedgerError, match="disk full"):
                ledger.run_sealed(name, EVENT, LOSS, work, question_key=f"question of {name}")


@pytest.mark.parametrize("again", ["a", "b"])
def test_a_commit_that_fails_loses_no_draw_without_a_private_place(again, unsealed, tmp_path, monkeypatch):
    work = sealed_work(tmp_path, b"private input 1")
    _full_at_the_commit(unsealed, work, monkeypatch)
    found = unsealed.run_sealed(again, EVENT, LOSS, work, question_key="question of a")
    assert {value for (value,) in read_lines(tmp_path / "drawn")} == {found.answer.decode()}
    assert unsealed.spent().sums[1] == HUNDREDTH and unsealed.verify().ok


def test_whoever_closes_the_ledger_stores_what_it_could_not_take(unsealed, tmp_path, monkeypatch):
    work = sealed_work(tmp_path, b"private input 1")
    _full_at_the_commit(unsealed, work, monkeypatch)
    unsealed.close()
    with Ledger(tmp_path / "people.ledger") as ledger:
        assert ledger.run_sealed("b", EVENT, LOSS, work, question_key="question of a").reused
        assert ledger.spent().sums[1] == HUNDREDTH and len(read_lines(tmp_path / "drawn")) == 1


def test_what_was_given_up_meanwhile_stays_given_up(unsealed, tmp_path, monkeypatch):
    work = sealed_work(tmp_path, b"private input 1")
    _full_at_the_commit(unsealed, work, monkeypatch)
    unsealed.fail("a")
    assert unsealed.run_sealed("b", EVENT, LOSS, work, question_key="question of a").id == "b"
    assert unsealed.stored("a").state == "dead" and unsealed.verify().ok
