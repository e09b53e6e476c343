"""Steps of a conversation are frozen: cut short anywhere, it goes on with the same draws, and loses nothing (SM-STORE)."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sfumato import Pure, errors
from sfumato.ledger import Ledger, frozen, lifecycle, running, stepping
from sfumato.ledger.frozen import KEY_BYTES, Directory
from sfumato.ledger.stepping import Stepwise
from sfumato.noise import new_key
from sfumato.questions.conversation import ApproximateChecking, Box, PureChecking
from sfumato.questions.conversation.learner import Learner
from sfumato.table.data import Table
from tests.ledger.faults import KINDS as FAULTS
from tests.ledger.faults import Disk, full
from tests.questions.conversation.cutting import (
    CALLS,
    Cut,
    Drawn,
    Killed,
    Told,
    begin,
    book,
    hold,
    people,
    was_frozen,
    watch,
)

KINDS = [ApproximateChecking, PureChecking]
ANOTHER = Box(("hours",), (1,), (3,))


@pytest.fixture(scope="module")
def tables() -> Iterator[tuple[Table, Table]]:
    """Return the table, and the same source when most of it has changed."""
    with people() as first, people(turned=True) as second:
        twin(first, 1), twin(second, 2)
        yield first, second


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """Return the list of all draws that are made."""
    return watch(monkeypatch, KINDS)


_twins: dict[Any, tuple[Told, Any, int]] = {}


def twin(table: Table, seed: int, **options: Any) -> tuple[Told, Any, int]:
    """Return what a conversation says that nobody cuts short, what it cost, and how many lines it takes."""
    key = (id(table), seed, *options.items())
    if key not in _twins:
        told: Told = {}
        with book() as ledger, Cut(0) as cut:
            conversation = begin(table, ledger, seed, **options)
            hold(conversation, told)
            conversation.close()
            _twins[key] = told, ledger.spent().sums, cut.lines
            assert conversation.progress.corrected >= 2 and not ledger._private.seals("talk")
    return _twins[key]


def redrawn(drawn: Drawn) -> list[str]:
    """Return the steps that were drawn in two ways."""
    found: dict[bytes, Any] = {}
    return [f"step {names!r} was drawn twice" for names, *rest in drawn if found.setdefault(names, rest) != rest]


def problems(ledger: Ledger, tables: tuple[Table, Table], told: Told, drawn: Drawn, **options: Any) -> list[str]:
    """Go on with a conversation that was cut short, with other data and other keys; return what is wrong."""
    sealed = was_frozen(ledger)
    said, cost, _ = twin(tables[0], 1, **options) if sealed else twin(tables[1], 2, **options)
    again: Told = {}
    conversation = begin(tables[1], ledger, 2, **options)
    hold(conversation, again)
    conversation.close()
    found = [] if ledger.spent().sums == cost else ["another charge"]
    found += [f"{query} was answered again" for query in told if told[query] != again[query]]
    for query, reply in again.items():
        # A model that is restored may differ in its last bits.
        if (reply.source, reply.error) != (said[query].source, said[query].error):
            found.append(f"{query} has another source")
        if abs(reply.value - said[query].value) > 1e-9:
            found.append(f"{query} has another value")
    last = list(said.values())[-1]
    if (conversation.progress.corrected, conversation.progress.left) != last.progress[2:]:
        found.append("a correction was lost")
    found += [] if ledger.verify().ok else ["the chain"]
    return found + redrawn(drawn) + _left(ledger)


def _left(ledger: Ledger) -> list[str]:
    if ledger.private is None:
        return list(ledger._private.seals("talk"))
    return [str(path) for path in (ledger.private / "now").rglob("*") if path.is_file()]


def killed_at(ledger: Ledger, table: Table, line: int, told: Told, **options: Any) -> str:
    """Cut a conversation short at a line; return where that was."""
    with Cut(line) as cut:
        try:
            conversation = begin(table, ledger, 1, **options)
            hold(conversation, told)
            conversation.close()
        except Killed:
            pass
    return cut.place


@pytest.mark.parametrize("part", [place / 11 for place in range(1, 11)])
def test_cut_short_at_a_line_nothing_is_lost_and_nothing_drawn_again(part, tables, drawn):
    line = round(part * twin(tables[0], 1)[2])
    told: Told = {}
    with book() as ledger:
        place = killed_at(ledger, tables[0], line, told)
        assert place and problems(ledger, tables, told, drawn) == [], place


@pytest.mark.audit
@pytest.mark.parametrize("spend", ["approximate", "pure"])
def test_cut_short_at_every_line(spend, tables, tmp_path, monkeypatch):
    options = {} if spend == "approximate" else {"spend": Pure(4), "method": "auto"}
    (*_, lines), _ = twin(tables[0], 1, **options), twin(tables[1], 2, **options)
    for line in range(1, lines + 1):
        told: Told = {}
        with monkeypatch.context() as patch, book() as ledger:
            noted = watch(patch, KINDS)
            place = killed_at(ledger, tables[0], line, told, **options)
            assert place and problems(ledger, tables, told, noted, **options) == [], place


@pytest.mark.parametrize("part", [place / 5 for place in range(1, 5)])
def test_the_same_conversation_goes_on_after_an_interrupt(part, tables, drawn):
    """Whoever presses Ctrl-C in a notebook asks again, and need not open anything."""
    said, cost, lines = twin(tables[0], 1)
    with book() as ledger:
        conversation = begin(tables[0], ledger, 1)
        told: Told = {}
        with pytest.raises(Killed), Cut(round(part * lines * 0.6)):
            hold(conversation, told)
        again: Told = {}
        hold(conversation, again)
        assert [reply.value for reply in again.values()] == pytest.approx([reply.value for reply in said.values()])
        assert all(again[query] == reply for query, reply in told.items()) and redrawn(drawn) == []
        conversation.close()
        assert ledger.spent().sums == cost and not ledger._private.seals("talk")


STAGES: dict[str, tuple[Any, str]] = {
    "standing": (Stepwise, "standing"),
    "reading": (running, "read_once"),
    "writing": (frozen, "_write"),
    "freezing": (lifecycle, "freeze_step"),
    "storing": (lifecycle, "save_state"),
    "saying": (Stepwise, "say"),
    "learning": (Learner, "learn"),
    "erasing": (frozen, "_overwrite"),
}
ENDS: list[Any] = [MemoryError, KeyboardInterrupt, SystemExit, lambda: OSError(errno.ENOSPC, "full")]


def _ends() -> list[Any]:
    """Return every stage with every end before and after it, of which the gate takes one each."""
    found = []
    for place, stage in enumerate(STAGES):
        for turn, end in enumerate(ENDS):
            for when in ("before", "after"):
                quick = turn == place % 4 and (when == "before") == (place % 3 == 0)
                name = f"{stage}-{getattr(end, '__name__', 'full')}-{when}"
                marks = [] if quick else [pytest.mark.audit]
                found.append(pytest.param(stage, end, when, marks=marks, id=name))
    return found


@pytest.mark.parametrize(("stage", "end", "when"), _ends())
def test_what_comes_from_outside_loses_nothing(stage, end, when, tables, drawn, tmp_path, monkeypatch):
    where, name = STAGES[stage]
    original, told = getattr(where, name), Told()

    def ends(*rest: Any, **more: Any) -> Any:
        if when == "after":
            original(*rest, **more)
        raise end()

    with book(tmp_path / "people.ledger") as ledger:
        conversation = None if stage in ("standing", "reading", "writing", "freezing") else begin(tables[0], ledger, 1)
        with monkeypatch.context() as patch:
            patch.setattr(where, name, ends)
            try:
                conversation = conversation or begin(tables[0], ledger, 1)
                hold(conversation, told)
                conversation.close()
            except (errors.LedgerError, MemoryError, KeyboardInterrupt, SystemExit, OSError):
                pass
    with book(tmp_path / "people.ledger") as ledger:
        assert problems(ledger, tables, told, drawn) == []


def test_a_full_disk_at_a_commit_loses_nothing(tables, drawn, monkeypatch):
    """The database cannot write, so nothing is said, and no coin is thrown."""
    with book() as ledger:
        conversation, told = begin(tables[0], ledger, 1), Told()
        with monkeypatch.context() as patch, pytest.raises(errors.LedgerError, match="full"):

            def full(*_: Any, **__: Any) -> None:
                raise errors.LedgerError("disk full")

            patch.setattr(lifecycle, "save_state", full)
            hold(conversation, told)
        hold(conversation, told)
        assert problems(ledger, tables, told, drawn) == []


def _dies(*_: Any, **__: Any) -> Any:
    raise Killed


def test_an_error_of_a_draw_costs_a_correction_and_shows_no_cause(tables, monkeypatch):
    with book() as ledger:
        conversation = begin(tables[0], ledger, 1)
        left = conversation.progress.left
        with monkeypatch.context() as patch:

            def fails(*_: Any) -> Any:
                raise ValueError("the cell of person 17")

            patch.setattr(ApproximateChecking, "_first", fails)
            with pytest.raises(errors.LedgerError, match="ended without an answer") as raised:
                conversation.ask(CALLS[0][0])
        assert raised.value.__context__ is None and "17" not in str(raised.value)
        assert conversation.progress.left == left - 1 and conversation.progress.asked == 1
        assert conversation.ask(ANOTHER).error is not None and ledger.verify().ok


def test_an_error_of_the_opening_draw_is_the_end(tables, monkeypatch):
    def fails(*_: Any) -> Any:
        raise ValueError("the cell of person 17")

    with book() as ledger:
        with monkeypatch.context() as patch, pytest.raises(errors.LedgerError, match="ended without an answer"):
            patch.setattr(ApproximateChecking, "start", fails)
            begin(tables[0], ledger, 1)
        with pytest.raises(errors.LedgerError, match="ended without an answer"):
            begin(tables[0], ledger, 1)
        assert not ledger._private.seals("talk") and ledger.verify().ok


# Where there is no private place, a step that was cut short is dead, and costs a correction.


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(frozen, "_write", full)


def test_without_room_a_lost_step_costs_one_correction(no_room, tables, drawn, tmp_path, monkeypatch):
    with book(tmp_path / "people.ledger") as ledger:
        conversation = begin(tables[0], ledger, 1)
        left = conversation.progress.left
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(lifecycle, "save_state", _dies)
            conversation.ask(CALLS[0][0])
        other = begin(tables[1], ledger, 2)
        assert other.progress.left == left - 1 and other.progress.corrected == 0
        assert other.progress.asked == 1 and redrawn(drawn) == []
        with pytest.raises(errors.Overtaken):
            conversation.ask(ANOTHER)  # it was interrupted, and could go on, if nobody else had
        assert other.ask(ANOTHER).error is not None and ledger.verify().ok


def test_without_room_the_same_process_goes_on(no_room, tables, drawn, tmp_path, monkeypatch):
    with book(tmp_path / "people.ledger") as ledger:
        conversation = begin(tables[0], ledger, 1)
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(lifecycle, "save_state", _dies)
            conversation.ask(CALLS[0][0])
        told: Told = {}
        hold(conversation, told)
        assert [reply.source for reply in told.values()] == [one.source for one in twin(tables[0], 1)[0].values()]
        assert redrawn(drawn) == []


def test_without_room_an_opening_that_was_cut_short_is_dead(no_room, tables, tmp_path, monkeypatch):
    with book(tmp_path / "people.ledger") as ledger:
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(lifecycle, "save_state", _dies)
            begin(tables[0], ledger, 1)
        with pytest.raises(errors.LedgerError, match="ended without an answer"):
            begin(tables[0], ledger, 1)


def test_what_lies_elsewhere_is_finished_there_or_given_up(tables, tmp_path, monkeypatch):
    place = tmp_path / "people.ledger"
    with book(place) as ledger:
        conversation = begin(tables[0], ledger, 1)
        hold(conversation, {})  # the last step is one of the model's, so nobody knows that it was shown
        left = conversation.progress.left
    elsewhere = Ledger(place, private=tmp_path / "elsewhere")
    with elsewhere as ledger, pytest.raises(errors.Unfinished, match=r"another private directory.*give_up=True"):
        begin(tables[0], ledger, 2)
    with Ledger(place) as ledger, monkeypatch.context() as patch:
        patch.setattr(running, "made_by", lambda: {"numpy": "9.9"})
        with pytest.raises(errors.Unfinished, match=r"begun with .*numpy .*give_up=True"):
            begin(tables[0], ledger, 2)
    with Ledger(place, private=tmp_path / "elsewhere") as ledger:
        other = begin(tables[0], ledger, 2, give_up=True)
        assert other.progress.left == left - 1
        other.close()
        # Nothing is under way now, so another version may go on.
        monkeypatch.setattr(running, "made_by", lambda: {"numpy": "9.9"})
        assert begin(tables[0], ledger, 2).progress.left == left - 1


def test_who_was_overtaken_draws_nothing_more(tables, drawn):
    with book() as ledger:
        first, told = begin(tables[0], ledger, 1), Told()
        hold(first, told)
        second, before = begin(tables[0], ledger, 2), len(drawn)
        with pytest.raises(errors.Overtaken, match="does not follow"):
            first.ask(ANOTHER)
        assert len(drawn) == before and first._exact is None
        with pytest.raises(errors.LedgerError, match="closed"):
            first.ask(ANOTHER)
        assert second.ask(ANOTHER).error is not None and second.progress.left == told[CALLS[3][0]].progress.left


def test_a_state_of_an_earlier_version_goes_on(tables):
    """It was not frozen, and wrote the number of queries ahead: going on costs one correction, as it did then."""
    from sfumato.questions.conversation.steps import state_bytes, state_from

    with book() as ledger:
        first = begin(tables[0], ledger, 1)
        first.close()
        found = ledger.load_state("talk")
        old = {**state_from(found.state), "clean": False, "mark": 2}
        with ledger._journal.session(write=True) as session:
            lifecycle.save_state(session, "talk", found.step, state_bytes(old), None)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lifecycle, "sealed", lambda *_: None)
            standing = begin(tables[0], ledger, 2)
        assert standing.progress.left == first.progress.left - 1 and standing.progress.asked == 2


def test_giving_a_conversation_up_erases_what_it_drew_from(tables, tmp_path):
    with book(tmp_path / "people.ledger") as ledger:
        conversation = begin(tables[0], ledger, 1)
        hold(conversation, {})
        assert _left(ledger)
        ledger.fail("talk")
        assert not _left(ledger) and ledger.verify().ok
        with pytest.raises(errors.Overtaken):
            conversation.ask(ANOTHER)
        with pytest.raises(errors.LedgerError, match="ended without an answer"):
            begin(tables[0], ledger, 1)


def test_the_last_correction_erases_what_it_was_drawn_from(tables, tmp_path):
    with book(tmp_path / "people.ledger") as ledger:
        conversation = begin(tables[0], ledger, 1, surprise=1e-6)
        assert _left(ledger)
        for age in range(8):
            for hours in range(4):
                conversation.ask(Box(("age", "hours"), (age, hours), (8, 4)))
        assert not conversation.progress.left and not _left(ledger)
        again = begin(tables[1], ledger, 2, surprise=1e-6)
        assert again.progress[2:] == conversation.progress[2:] and not _left(ledger)


def test_postgres_keeps_conversations(postgres, tables, drawn, tmp_path):
    from tests.ledger.conftest import schema_on

    place, told = schema_on(postgres), Told()
    with book(place, private=tmp_path / "side") as ledger:
        killed_at(ledger, tables[0], 500, told)
        assert _left(ledger)
    with Ledger(place, private=tmp_path / "side") as ledger:
        assert problems(ledger, tables, told, drawn) == []
    with Ledger(place) as ledger:  # without a private directory nothing is sealed
        conversation = begin(tables[0], ledger, 3)
        left = conversation.progress.left
        conversation.ask(ANOTHER)
        assert begin(tables[0], ledger, 4).progress.left in (left - 1, left - 2)


# Properties, and the mutants that they catch.


@cache
def _place(folder: Path) -> Path:
    return folder / "people.ledger"


def _retried(folder: Path, tables: tuple[Table, Table], drawn: Drawn) -> list[str]:
    """Cut a step short after its coins, and go on in another process' stead."""
    told: Told = {}
    with book(_place(folder)) as ledger, pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr(lifecycle, "save_state", _after(lifecycle.save_state, 2))
        hold(begin(tables[0], ledger, 1), told)
    with book(_place(folder)) as ledger:
        return problems(ledger, tables, told, drawn)


def _passed_over(folder: Path, tables: tuple[Table, Table], drawn: Drawn) -> list[str]:
    """Cut a correction short and ask something else: what ended it may follow from it, so it must be paid for first."""
    first = CALLS[0][0]
    said = twin(tables[0], 1)[0][first]
    assert said.source == "data"
    found = []
    for again in (False, True):
        with book() as ledger:
            conversation = begin(tables[0], ledger, 1)
            with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
                patch.setattr(lifecycle, "save_state", _dies)
                conversation.ask(first)
            conversation = begin(tables[1], ledger, 2) if again else conversation
            conversation.ask(ANOTHER)
            found += [] if conversation.progress.asked == 2 else ["passed over"]
            found += [] if conversation.ask(first) == said else ["another answer"]
    return found + redrawn(drawn)


def _after(function: Any, calls: int) -> Any:
    """Return a function that dies at a call instead."""
    seen: list[int] = []

    def dies(*rest: Any) -> Any:
        seen.append(1)
        if len(seen) == calls:
            raise Killed
        return function(*rest)

    return dies


def _two_runners(folder: Path, tables: tuple[Table, Table], drawn: Drawn) -> list[str]:
    """Let two processes open one conversation and ask at once; each shows what it was told, or nothing."""
    both, shown, fallen = threading.Barrier(2), [], []
    book(_place(folder)).close()
    freeze = Stepwise.freeze

    def together(self: Stepwise, *rest: Any) -> Any:
        both.wait(30)
        return freeze(self, *rest)

    def run(number: int) -> None:
        with book(_place(folder)) as ledger:
            try:
                conversation = begin(tables[number], ledger, number + 1)
                shown.extend((query, conversation.ask(query)) for query in CALLS[0])
            except errors.LedgerError as problem:
                fallen.append(problem)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stepwise, "freeze", together)
        runners = [threading.Thread(target=run, args=(number,)) for number in (0, 1)]
        for runner in runners:
            runner.start()
        for runner in runners:
            runner.join(60)
    found = [] if len(shown) + len(fallen) == 2 and len(shown) <= 1 else ["two answers"]
    with book(_place(folder)) as ledger:
        again = begin(tables[0], ledger, 3)
        found += [] if all(again.ask(query) == reply for query, reply in shown) else ["another answer"]
        again.close()
        return found + redrawn(drawn) + _left(ledger) + ([] if ledger.verify().ok else ["the chain"])


def _secrets(folder: Path, tables: tuple[Table, Table], drawn: Drawn) -> list[str]:
    """Look for the key and for the rows in every file of the ledger, while a step is cut short and afterwards."""
    keys: list[bytes] = []
    write = Directory.write

    def noted(self: Directory, request: str, content: bytes, key: bytes) -> str:
        keys.extend([key, key.hex().encode(), content[-200:]])
        return write(self, request, content, key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Directory, "write", noted)
        with book(_place(folder)) as ledger:
            conversation = begin(tables[0], ledger, 1)
            conversation.ask_all(CALLS[0])
            found = _leaks(folder, keys)
            conversation.close()
            found += _leaks(folder, keys) + _left(ledger)
    assert keys
    return found + _leaks(folder, keys)


def _leaks(folder: Path, secrets: list[bytes]) -> list[str]:
    files = [path for path in folder.glob("people.ledger*") if path.is_file()]
    assert files
    return [path.name for path in files if any(secret in path.read_bytes() for secret in secrets)]


CHECKS = [_retried, _passed_over, _two_runners, _secrets]


@pytest.mark.parametrize("check", CHECKS)
def test_what_is_promised(check, tables, drawn, tmp_path):
    assert check(tmp_path, tables, drawn) == []


def _always_first(session, request_id, step, record):
    session.append("frozen", request_id, lifecycle.canonical({**record, "step": step}))
    return True


def _key_in_the_ledger(session, request_id, step, record, original=lifecycle.freeze_step):
    (kept,) = (Path(os.environ["SFUMATO_TEST_PRIVATE"]) / "now").glob("*/*")
    return original(session, request_id, step, {**record, "key": kept.read_bytes()[:KEY_BYTES].hex()})


def _fresh_key(self, request_id, seal, original=Directory.read):
    content, _ = original(self, request_id, seal)
    return content, new_key()


def _keeps_everything(self, request_id, seal):
    return None


def _nothing_pending(self):
    return None


MUTANTS: dict[str, tuple[Any, str, Any, Any]] = {
    "freeze without compare-and-set": (lifecycle, "freeze_step", _always_first, _two_runners),
    "key in the ledger": (lifecycle, "freeze_step", _key_in_the_ledger, _secrets),
    "fresh key at retry": (Directory, "read", _fresh_key, _retried),
    "a step that was cut short is passed over": (
        stepping.Standing,
        "pending",
        property(_nothing_pending),
        _passed_over,
    ),
    "nothing erased": (Directory, "discard", _keeps_everything, _secrets),
    "steps are not said before they are drawn": (Stepwise, "say", lambda *_, **__: None, _passed_over),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_caught(name, tables, drawn, tmp_path, monkeypatch):
    where, attribute, mutant, check = MUTANTS[name]
    monkeypatch.setenv("SFUMATO_TEST_PRIVATE", f"{_place(tmp_path)}.private")
    monkeypatch.setattr(where, attribute, mutant)
    assert check(tmp_path, tables, drawn) != []


# A disk that is full.


@pytest.mark.audit
@pytest.mark.parametrize("kind", FAULTS)
def test_a_disk_that_is_full_at_any_step_loses_nothing(kind, tables, drawn, tmp_path):
    """From the opening to the closing; where it fails, the disk is freed and the conversation goes on."""
    at, reached = 0, True
    while reached:
        at += 1
        told: Told = {}
        disk, place = Disk(at, kind), tmp_path / f"{at}.ledger"
        book(place).close()
        drawn.clear()
        with full(disk), suppress(errors.SfumatoError), book(place) as ledger:
            conversation = begin(tables[0], ledger, 1)
            hold(conversation, told)
            conversation.close()
        reached = disk.reached
        with book(place) as ledger:
            entry = ledger.entry("talk")
            if entry is not None and entry.state == "committed":
                assert redrawn(drawn) + _left(ledger) == [] and ledger.verify().ok, disk.steps[at - 1]
            else:
                assert problems(ledger, tables, told, drawn) == [], disk.steps[at - 1 :]
    assert at > 40
