"""Many processes at once, some of them killed: never overspent, never a lost commit, never two answers."""

from __future__ import annotations

import hashlib
import time
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato import Pure
from sfumato.ledger import Budget, Ledger

from .worker import EVENT, LOSS, context, make, race, race_naively, read_lines, write_many


def test_two_racing_for_the_last_of_a_budget(place, open_ledger, tmp_path):
    ledger = open_ledger(Budget(Pure("3/100")))
    ledger.reserve("a", EVENT, LOSS)
    ledger.reserve("b", EVENT, LOSS)
    _race(place, tmp_path, ["x", "y", "z"], None)
    assert len(read_lines(tmp_path / "won")) == 1
    assert len(read_lines(tmp_path / "lost")) == 2
    assert ledger.spent().sums[1] == Fraction(3, 100)
    assert ledger.verify().ok


def test_the_race_is_one_that_a_naive_ledger_loses(place, open_ledger, tmp_path):
    open_ledger(Budget(Pure("1/100")))
    gate = time.monotonic() + 2
    _run([context.Process(target=race_naively, args=(place, tmp_path, name, gate)) for name in "xyz"])
    assert len(read_lines(tmp_path / "won")) > 1


def test_one_reservation_is_started_once(place, open_ledger, tmp_path):
    ledger = open_ledger(Budget(Pure(1)))
    ledger.reserve("a", EVENT, LOSS)
    _race(place, tmp_path, ["x", "y", "z"], "a")
    assert len(read_lines(tmp_path / "won")) == 1
    assert ledger.verify().ok


def test_one_ledger_is_made_by_many(place, tmp_path):
    gate = time.monotonic() + 1
    processes = [context.Process(target=make, args=(place, tmp_path, name, gate)) for name in "wxyz"]
    _run(processes)
    assert sorted(read_lines(tmp_path / "won")) == [["w"], ["x"], ["y"], ["z"]]
    with Ledger(place) as ledger:
        assert ledger.spent().sums[1] == Fraction(4, 100)
        assert ledger.verify().ok


def _race(place: str, folder: Path, names: list[str], started: str | None) -> None:
    gate = time.monotonic() + 1
    _run([context.Process(target=race, args=(place, folder, name, gate, started)) for name in names])


def _run(processes) -> None:
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
        process.close()


def storm(place: str, folder: Path, *, writers: int, count: int, kills: int, limit: int) -> dict[str, int]:
    """Let writers spend while some are killed and started again; return what became of the requests."""
    with Ledger(place, Budget(Pure(Fraction(limit, 100)))):
        pass
    processes = {
        writer: context.Process(target=write_many, args=(place, folder, writer, count)) for writer in range(writers)
    }
    for process in processes.values():
        process.start()
    killed = 0
    moment = 0
    while any(process.is_alive() for process in processes.values()):
        moment += 1
        # Moments and victims from a hash: the same in every run, though what they hit is not.
        luck = hashlib.sha256(str(moment).encode()).digest()
        time.sleep(0.02 + luck[0] / 255 * 0.2)
        victim = luck[1] % writers
        if killed < kills and processes[victim].is_alive():
            processes[victim].kill()
            processes[victim].join()
            killed += 1
            processes[victim] = context.Process(target=write_many, args=(place, folder, victim, count))
            processes[victim].start()
    assert all(process.exitcode == 0 for process in processes.values())
    return {**check(place, folder, limit), "killed": killed}


def check(place: str, folder: Path, limit: int) -> dict[str, int]:
    lines = {
        name: [line for own in folder.iterdir() for line in read_lines(own / name)]
        for name in ("drawn", "shown", "refused", "left")
    }
    drawn = [request for request, _ in lines["drawn"]]
    assert len(drawn) == len(set(drawn)), "one charge bought two draws"
    shown: dict[str, str] = {}
    for request, value in lines["shown"]:
        assert shown.setdefault(request, value) == value, "two answers for one reservation"
    with Ledger(place) as ledger:
        assert ledger.verify().ok
        with ledger._journal.session(write=False) as session:
            stored = {reservation.id: reservation for reservation in session.reservations()}
        spent = ledger.spent().sums[1]
    assert spent == Fraction(len(stored), 100) <= Fraction(limit, 100)
    for request, value in shown.items():
        assert stored[request].state == "committed", "a commit was lost"
        assert stored[request].answer == value.encode()
    assert not set(shown) & {line[0] for line in lines["refused"]}
    return {"reserved": len(stored), **{name: len(found) for name, found in lines.items()}}


def test_four_writers_with_kills(place, tmp_path):
    folder = tmp_path / "storm"
    folder.mkdir()
    found = storm(place, folder, writers=4, count=50, kills=12, limit=150)
    assert found["killed"] > 0
    assert found["reserved"] == 150  # two hundred were asked for
    assert found["shown"] + found["left"] >= 150 - found["killed"]


@pytest.mark.audit
def test_sixteen_writers_with_kills(place, tmp_path):
    folder = tmp_path / "storm"
    folder.mkdir()
    found = storm(place, folder, writers=16, count=250, kills=200, limit=3500)
    print(found)
    assert found["killed"] > 50
    assert found["reserved"] == 3500
