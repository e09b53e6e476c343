"""From a question to a stored draw and what is shown of it: interrupts, fits that fail, earlier versions (SM-STORE)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato import Approximate, Concentrated, Count, Event, Histogram, Mean, Pure
from sfumato.ask.asked import Asked
from sfumato.ask.packing import is_packed, pack, unpack
from sfumato.ask.prepared import Several
from sfumato.curator.planning import key_of, planned
from sfumato.errors import FitError, LedgerError
from sfumato.ledger import Ledger, lifecycle, running
from sfumato.ledger.session import FORMAT
from sfumato.noise import Noise
from sfumato.noise.source import KeyedSource
from tests.questions.conversation.cutting import Cut
from tests.questions.every_question import BITS, QUESTIONS, SCHEMA, cells, rows, table

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[sf.Curator]:
    with sf.curate(rows(), SCHEMA, Approximate(30, 1e-3), ledger=tmp_path / "people.ledger") as found:
        yield found


def spent(curator: sf.Curator) -> Any:
    return curator.ledger.spent().sums


class Killed(BaseException):
    """Stands for a kill: nothing that is written for errors catches it."""


def _dies(*_: Any, **__: Any) -> Any:
    raise Killed


STAGES: dict[str, tuple[Any, str]] = {
    "reading": (Asked, "read"),
    "freezing": (lifecycle, "freeze"),
    "drawing": (Several, "run"),
    "committing": (lifecycle, "settle"),
    "erasing": (running.Directory, "erase"),
    "finishing": (Asked, "finish"),
}


@pytest.mark.parametrize("stage", STAGES)
def test_cut_short_anywhere_the_same_question_costs_nothing_more(stage, curator, monkeypatch):
    drawn: list[bytes] = []
    draw = Asked.draw

    def noted(self: Asked, *rest: Any) -> bytes:
        drawn.append(draw(self, *rest))
        return drawn[-1]

    monkeypatch.setattr(Asked, "draw", noted)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(*STAGES[stage], _dies)
        curator.ask(Histogram("age"), Pure(1))
    before = spent(curator)
    assert curator.preview(Histogram("age"), Pure(1)).free, "a preview looks where asking looks"
    answer = curator.ask([Histogram("age")][0], Pure(1))
    assert spent(curator) == before and answer.loss.person.epsilon == 1
    assert len(set(drawn)) == 1, "a second draw"
    assert curator.ask(Histogram("age"), Pure(1)).value == answer.value
    assert curator.ledger.verify().ok
    curator.ledger.close()
    with Ledger(curator.ledger.place) as ledger:  # opening sweeps what a kill left
        assert not list((ledger.private / "now").glob("*/*"))


LISTED = [Histogram("age"), Count("age > 1")]


@pytest.mark.parametrize("asked", [Histogram("age"), LISTED], ids=["one", "a list"])
def test_a_preview_says_that_what_was_answered_is_free(asked, curator):
    """It priced what asking again gives free."""
    first = curator.preview(asked, Pure(1))
    assert not first.free and "costs nothing" not in first.text
    curator.ask(asked, Pure(1))
    before = spent(curator)
    again = curator.preview(asked, Pure(1))
    assert (again.free, again.fits, again.expected) == (True, True, first.expected)
    assert again.text.startswith("It was answered before on the same data, so asking again costs nothing")
    assert str(again).startswith("It is free.") and again.errors == first.errors
    assert not curator.preview(asked, Pure("3/2")).free, "another spend is another question"
    assert curator.ask(asked, Pure(1)) and spent(curator) == before


def test_a_preview_of_what_was_answered_fits_where_nothing_is_left():
    with sf.curate(rows(), SCHEMA, Pure(1)) as curator:
        curator.ask(Histogram("age"), Pure(1))
        assert curator.preview(Histogram("age"), Pure(1)).fits and not curator.preview(LISTED, Pure(1)).fits


def test_a_preview_of_a_list_is_that_of_the_list(curator):
    """A list is one release with noise of its own: what was answered alone is not looked for, as asking does not."""
    curator.ask(Histogram("age"), Pure(1))
    seen, before = curator.preview(LISTED, Pure(1)), spent(curator)
    curator.ask(LISTED, Pure(1))
    assert not seen.free and spent(curator) != before


def test_explain_says_that_a_statement_was_answered(curator):
    statement = "SELECT COUNT(*) FROM data WHERE age > 1"
    curator.sql(statement, Pure(1))
    found = curator.explain(statement, Pure(1))
    assert (
        found.stored and "asking again costs nothing" in str(found) and "The stored answer cost a person" in str(found)
    )
    assert not curator.explain(statement, Pure(2)).stored


WALKED = ("ledger/running", "ledger/frozen", "ledger/lifecycle", "ledger/ledger", "ledger/session", "ask/asked")
"""The modules at whose lines a question is cut short."""


def _cut_at_line(line: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Cut a question short at a line and ask it again; False if it has no such line."""
    drawn: list[bytes] = []
    draw = Asked.draw

    def noted(self: Asked, *rest: Any) -> bytes:
        drawn.append(draw(self, *rest))
        return drawn[-1]

    with monkeypatch.context() as patch, sf.curate(rows(), SCHEMA, Pure(2)) as curator:
        patch.setattr(Asked, "draw", noted)
        with suppress(Killed), Cut(line, walked=WALKED, end=_dies) as cut:
            curator.ask(Histogram("age"), Pure(1))
        answer = curator.ask(Histogram("age"), Pure(1))
        assert spent(curator)[1] == 1 and len(set(drawn)) == 1, cut.place
        assert pack((answer.raw,)) == drawn[0] and curator.ledger.verify().ok, cut.place
        assert not curator.ledger._private.seals(answer.request), cut.place
        return cut.lines >= line


@pytest.mark.parametrize("line", range(20, 260, 40))
def test_cut_short_at_a_line_the_same_answer_comes_out(line, monkeypatch):
    assert _cut_at_line(line, monkeypatch)


@pytest.mark.audit
def test_cut_short_at_every_line_the_same_answer_comes_out(monkeypatch):
    line = 1
    while _cut_at_line(line, monkeypatch):
        line += 1
    assert line > 250


def test_an_interrupt_in_memory_loses_nothing_either(monkeypatch):
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    with sf.curate(rows(), SCHEMA, Pure(1)) as curator:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Several, "run", interrupted)
            curator.ask(Histogram("age"), Pure(1))
        assert curator.ask(Histogram("age"), Pure(1)).value is not None
        assert not curator.ledger._private._kept


def test_a_list_is_one_draw_with_coins_for_each_part(curator):
    one, other = curator.ask([Histogram("age"), Histogram("age", "sex = 'Male'")], Pure(1))
    assert one.request == other.request and one.raw[0].tolist() != other.raw[0].tolist()
    again = curator.refit(one.request)
    assert [answer.value for answer in again] == [one.value, other.value]


def test_the_ledger_stores_the_raw_draw(curator):
    answer = curator.ask(Histogram("age"), Pure(1))
    kept = curator.ledger.stored(answer.request)
    assert is_packed(kept.answer) and kept.state == "committed"
    (raw,) = unpack(kept.answer, SCHEMA)
    assert raw[0].tolist() == answer.raw[0].tolist() == list(answer.released.parts[0].released)
    again = curator.ask(Histogram("age"), Pure(1))
    assert again.reused and again == sf.answer.Answer(**{**vars(answer), "reused": True, "remaining": again.remaining})
    assert "raw" not in answer.to_json() and "raw" not in repr(answer)


def test_a_fit_that_fails_can_be_repeated(curator, monkeypatch):
    question, fits = sf.Synthesize(columns=BITS[:3]), []

    def fails(*_: Any, **__: Any) -> Any:
        fits.append(1)
        raise ImportError("a package of the fit is missing: secret")

    with monkeypatch.context() as patch:
        patch.setattr("sfumato.questions.synthesis.question.gather", fails)
        for _ in range(2):
            with pytest.raises(FitError, match=r"curator\.refit\('[0-9a-f]{32}'\)") as failed:
                curator.ask(question, Concentrated("0.1"))
    assert len(fits) == 2 and "secret" not in str(failed.value) and failed.value.__context__ is None
    before = spent(curator)
    answer = curator.refit(failed.value.request)
    assert pack(answer.raw) == pack(failed.value.raw[0])
    assert curator.ask(question, Concentrated("0.1")).value.to_json() == answer.value.to_json()
    assert spent(curator) == before


def test_what_took_computing_is_kept_outside_the_chain(curator, monkeypatch):
    question = sf.Synthesize(columns=BITS[:3])
    answer, head = curator.ask(question, Concentrated("0.1")), curator.ledger.head
    with monkeypatch.context() as patch:
        patch.setattr(Asked, "finish", _dies)
        assert curator.ask(question, Concentrated("0.1")).value.to_json() == answer.value.to_json()
        with pytest.raises(Killed):
            curator.refit(answer.request)
    assert curator.refit(answer.request).value.to_json() == answer.value.to_json()
    assert curator.ledger.head == head and curator.ledger.verify().ok
    plain = curator.ask(Count("age > 30"), Pure(1))
    assert curator.ledger.finished(plain.request) is None  # read off the draw as quickly


def test_postgres_keeps_draws_and_fits(postgres, tmp_path, monkeypatch):
    from tests.ledger.conftest import schema_on

    question = sf.Synthesize(columns=BITS[:2])
    with sf.curate(rows(), SCHEMA, Pure(2), ledger=schema_on(postgres), private=tmp_path / "side") as curator:
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(lifecycle, "settle", _dies)
            curator.ask(question, Pure(1))
        assert len(list((tmp_path / "side" / "now").glob("*/*"))) == 1
        first = curator.ask(question, Pure(1))
        again = curator.ask(question, Pure(1))
        assert again.reused and again.value.to_json() == first.value.to_json()
        assert curator.ledger.finished(first.request) is not None
        assert spent(curator)[1] == first.loss.person.epsilon
        assert not list((tmp_path / "side" / "now").glob("*/*"))


def test_only_answers_can_be_fitted_again(curator):
    with pytest.raises(LedgerError, match="holds no draw"):
        curator.refit("nobody")
    curator.ledger.run("other", Event("Laplace", "QR-LAP"), sf.Loss.flat(sf.Cost.pure("1/10")), lambda: b"[]")
    with pytest.raises(LedgerError, match="ask a question"):
        curator.refit("other")


def test_a_draw_is_not_read_by_another_mechanism(curator, monkeypatch):
    answer = curator.ask(Histogram("age"), Pure(1))
    monkeypatch.setattr(Several, "version", 9)
    with pytest.raises(LedgerError, match="another version"):
        curator.refit(answer.request)


def test_answers_of_earlier_versions_are_read_back(curator):
    """They stored what they had finished, as JSON; the ledger's format said 1."""
    spend, questions = Pure(1), [Histogram("age"), Mean("age")]
    asked = planned(curator.basis, questions, spend)
    raw = unpack(asked.draw(asked.work(curator.table).read(), running.Coins("old", bytes(32))), SCHEMA)
    stored = json.dumps([released.to_json() for released in asked.finish(raw)]).encode()
    key = key_of(curator.basis, asked, spend, curator.table.snapshot)
    event, loss = asked.event(curator.table.snapshot), asked.loss()
    curator.ledger.run("old", event, loss, lambda: stored, question_key=key, spend=spend)
    answers = curator.ask(questions, spend)
    assert [answer.reused for answer in answers] == [True, True] and answers[0].raw is None
    assert [answer.released for answer in answers] == list(asked.finish(raw))
    assert [answer.value for answer in curator.refit("old")] == [answer.value for answer in answers]


def test_a_ledger_of_an_earlier_version_goes_on(tmp_path):
    import sqlite3

    place = tmp_path / "people.ledger"
    Ledger(place, sf.Budget(Pure(5))).close()
    with sqlite3.connect(place) as file:
        file.execute("DROP TABLE sfumato_finished")
        file.execute("UPDATE sfumato_head SET format = 1")
    file.close()
    question = sf.Synthesize(columns=BITS[:2])
    with sf.curate(rows(), SCHEMA, ledger=place) as curator:
        first = curator.ask(question, Pure(1))
        assert curator.ask(question, Pure(1)).value.to_json() == first.value.to_json()
        assert curator.ledger.finished(first.request) is not None and curator.ledger.verify().ok
    with sqlite3.connect(place) as file:
        assert file.execute("SELECT format FROM sfumato_head").fetchone() == (FORMAT,)
    file.close()


def test_no_key_and_no_exact_number_enters_the_ledger(curator, tmp_path, monkeypatch):
    keys: list[bytes] = []
    coins = running.Coins.noise

    def noted(self: running.Coins, *rest: Any) -> Noise:
        keys.append(self.key)
        return coins(self, *rest)

    monkeypatch.setattr(running.Coins, "noise", noted)
    exact = pack(Asked.read(planned(curator.basis, Histogram("caller"), Pure(1)), curator.table))
    curator.ask(Histogram("caller"), Pure(1))
    curator.close()
    assert keys and len(exact) > 1000
    for path in tmp_path.glob("people.ledger*"):
        if path.is_file():
            content = path.read_bytes()
            assert keys[0] not in content and keys[0].hex().encode() not in content and exact not in content


def test_private_is_for_a_ledger_that_is_opened_here(tmp_path):
    with sf.curate(rows(), SCHEMA, Pure(1), ledger=tmp_path / "a", private=tmp_path / "side") as curator:
        assert curator.ledger.private == tmp_path / "side"
        with pytest.raises(sf.errors.ParameterError, match="private"):
            sf.curate(rows(), SCHEMA, ledger=curator.ledger, private=tmp_path / "side")


def digests(wanted: set[str]) -> dict[str, str]:
    """Return the hash of what is drawn and shown for every wanted question."""
    found = {}
    with table() as opened:
        for name, prepared in cells(opened, wanted=wanted):
            for one in islice(prepared, 1):
                asked = Asked((QUESTIONS[name],), (one,), SCHEMA)
                drawn = asked.draw(pack(asked.read(opened)), running.Coins(name, bytes(32)))
                shown = json.dumps([released.to_json() for released in asked.finish(unpack(drawn, SCHEMA))])
                found[name] = hashlib.sha256(drawn + shown.encode()).hexdigest()
    return found


# Mechanisms of several steps, whose later draws follow from the earlier ones: one key is enough. A run that was cut short
# between two steps makes the first ones again, with the same bytes, and goes on; nothing but time is lost.

STAGED = (
    "Synthesize mwem",
    "Synthesize pdp-mwem",
    "Synthesize agnostic",
    "Synopsize tree",
    "Synopsize cuts",
    "Distribution medians",
    "Popular tree",
    "Learn PrivateBox",
    "Learn PrivateThreshold",
)


def _cut_at(patch: pytest.MonkeyPatch, call: int) -> list[int]:
    """Kill whatever draws with a key at a call of its source, counted from 1; return the calls that were made."""
    calls: list[int] = []
    stream = KeyedSource.stream

    def counted(self: KeyedSource) -> Any:
        calls.append(1)
        if len(calls) == call:
            raise Killed
        return stream(self)

    patch.setattr(KeyedSource, "stream", counted)
    return calls


def _cut_everywhere(asked: Asked, content: bytes, monkeypatch: pytest.MonkeyPatch, most: int = 10**6) -> int:
    """Cut a draw short before each of its draws, or as many, and draw again; return how many there were."""
    coins = running.Coins("a", bytes(32))
    with monkeypatch.context() as patch:
        calls = _cut_at(patch, 0)
        whole = asked.draw(content, coins)
    for call in range(1, len(calls) + 1, max(1, -(-len(calls) // most))):
        with monkeypatch.context() as patch, pytest.raises(Killed):
            _cut_at(patch, call)
            asked.draw(content, coins)
        assert asked.draw(content, coins) == whole, call
    return len(calls)


@pytest.mark.parametrize("name", STAGED)
def test_a_staged_mechanism_cut_short_between_its_steps_draws_the_same(name, monkeypatch):
    with table() as opened:
        for _, prepared in cells(opened, wanted={name}):
            for one in islice(prepared, 1):
                asked = Asked((QUESTIONS[name],), (one,), SCHEMA)
                content = pack(asked.read(opened))
                assert _cut_everywhere(asked, content, monkeypatch, most=6) > 1
                # Fresh coins would not do, so the comparison can fail.
                assert len({asked.draw(content, running.Coins("a", bytes([key] * 32))) for key in range(8)}) > 1


@pytest.mark.audit
@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_cut_short_between_its_draws_draws_the_same(name, monkeypatch):
    with table() as opened:
        for _, prepared in cells(opened, wanted={name}):
            for one in prepared:
                asked = Asked((QUESTIONS[name],), (one,), SCHEMA)
                _cut_everywhere(asked, pack(asked.read(opened)), monkeypatch)


def test_a_staged_question_killed_at_every_step_is_charged_once(curator, monkeypatch):
    question, spend = QUESTIONS["Synthesize mwem"], Pure(1)
    call, before = 0, None
    while True:
        call += 1
        with monkeypatch.context() as patch:
            calls = _cut_at(patch, call)
            try:
                answer = curator.ask(question, spend)
            except Killed:
                before = before or spent(curator)
                assert spent(curator) == before
            else:
                break
    assert call == len(calls) + 1 > 3 and spent(curator) == before
    (kept,) = curator.ledger.history()
    assert kept.id == answer.request and curator.ledger.verify().ok


def test_fractions_of_a_spend_are_charged_once(curator):
    curator.ask(Count("age > 30"), Pure("1/10"))
    curator.ask(Count("age > 30"), Pure("1/10"))
    assert spent(curator)[1] == Fraction(1, 10)


def test_threads_are_given_back():
    from threadpoolctl import threadpool_info

    from sfumato.ask.one_thread import one_thread

    def threads() -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    with one_thread():
        pass
    before = threads()
    with one_thread():
        with one_thread():
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == before
