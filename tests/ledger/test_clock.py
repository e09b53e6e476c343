"""A clock that is set back: rows have an order of their own, and nothing that is charged, drawn or found asks the time."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction

import pytest

from sfumato import Pure
from sfumato.ledger import Budget, Ledger, lifecycle
from sfumato.ledger.running import Work
from sfumato.ledger.sources import snapshot_of

from .worker import EVENT, LOSS, read_lines, sealed_work

YEARS = [2031, 2026, 1971, 2030]


@pytest.fixture
def clock(monkeypatch):
    """Return what sets the ledger's clock to a year."""

    def at(year: int) -> None:
        class Moved(datetime):
            @classmethod
            def now(cls, zone=None):
                return cls(year, 1, 1, tzinfo=zone)

        monkeypatch.setattr(lifecycle, "datetime", Moved)

    return at


def test_between_the_charge_and_the_answer(clock, tmp_path):
    clock(2031)
    work = sealed_work(tmp_path, b"private input 1")

    def interrupted(content: bytes, coins: object) -> bytes:
        work.draw(content, coins)
        raise KeyboardInterrupt

    with Ledger(tmp_path / "people.ledger", Budget(Pure(1))) as ledger, pytest.raises(KeyboardInterrupt):
        ledger.run_sealed("a", EVENT, LOSS, Work(work.read, interrupted), question_key="q")
    clock(1971)
    with Ledger(tmp_path / "people.ledger") as ledger:
        found = ledger.run_sealed("b", EVENT, LOSS, work, question_key="q")
        assert found.id == "a" and {value for (value,) in read_lines(tmp_path / "drawn")} == {found.answer.decode()}
        assert ledger.spent().sums[1] == Fraction(1, 100) and ledger.verify().ok


def test_between_two_openings(clock, tmp_path):
    for turn, year in enumerate(YEARS, 1):
        clock(year)
        with Ledger(tmp_path / "people.ledger", Budget(Pure(1)), keep_head=tmp_path / "head") as ledger:
            assert [snapshot_of(ledger, f"file {one}") for one in range(1, turn + 1)] == list(
                map(str, range(1, turn + 1))
            )
            for one in range(1, turn + 1):  # the same questions again, and a new one
                work = sealed_work(tmp_path, b"private input %d" % one)
                assert ledger.run_sealed(f"{year} {one}", EVENT, LOSS, work, question_key=f"q{one}").reused == (
                    one < turn
                )
            assert [entry.id for entry in ledger.history()] == [f"{y} {n}" for n, y in enumerate(YEARS[:turn], 1)]
            assert [entry.at[:4] for entry in ledger.history()] == list(map(str, YEARS[:turn]))
            assert ledger.spent().sums[1] == Fraction(turn, 100) and ledger.verify().ok
    assert len(read_lines(tmp_path / "drawn")) == len(YEARS)
