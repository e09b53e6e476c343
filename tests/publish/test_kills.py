"""Real kills of real runners: every period is released once, nothing is lost, no key stays (PB-RUN)."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path

import pytest

import sfumato as sf
from sfumato import Noise
from sfumato.errors import SfumatoError
from sfumato.ledger import Ledger
from tests.ledger.conftest import schema_on
from tests.ledger.faults import KINDS, Disk, full
from tests.publish.sample import FILE, prepare

LATER = date(2027, 1, 1)


FOUND = (
    FILE.split("[limits]")[0]
    + """
[limits]
day = "Approximate(60, 1e-3)"
person = "none"

[[table]]
name = "pages"
question = "count by country found privately"
spend = "Approximate(20, 1e-5)"

[[table]]
name = "total"
running = "count by country found privately"
keys = "pages"
spend = "Concentrated(0.5)"

[[table]]
name = "pure"
running = "count by country found privately"
keys = "pages"
spend = "Pure(1)"

[output]
licence = "CC-BY-4.0"
"""
)
"""Groups that are found as it runs, with both kinds of noise."""
REMEMBERED = (
    FILE.split("[limits]")[0]
    + """
[limits]
person = "Approximate(9000, 1e-2)"

[[table]]
name = "pages"
question = "count by country found privately"
spend = "Approximate(20, 1e-5)"

[[table]]
name = "total"
running = "count by country found privately"
keys = "pages"
periods_per_person = 2
gap = 2
spend = "Concentrated(0.5)"

[output]
licence = "CC-BY-4.0"
"""
)
"""The same, in which a person counts in two periods only."""


def declared(home: Path, days: int, ledger: str = "visits.ledger", declares: str = FILE) -> Path:
    """Write a publication of so many days, whose rows are made while it is killed."""
    last = date(2026, 1, 1) + timedelta(days=days - 1)
    text = declares.replace("2026-01-04", last.isoformat())
    text = text.replace('stamp = "at"', f'stamp = "at"\nledger = "{ledger}"\nprivate = "secret"')
    path = prepare(home, text=text.replace('licence = "CC-BY-4.0"', 'formats = ["csv"]'), days=[])
    for place in range(days):
        write(home, date(2026, 1, 1) + timedelta(days=place), place)
    return path


def write(home: Path, day: date, seed: int) -> None:
    import pyarrow
    from pyarrow import parquet

    people = [seed % 7 + person for person in range(20)]
    table = pyarrow.table({"id": people, "at": [day] * 20, "country": ["CH", "DE"] * 10})
    beside = home / "in" / f"{day}.parquet.part"
    parquet.write_table(table, beside)
    beside.replace(home / "in" / f"{day}.parquet")


def runner(path: Path) -> int:
    """Start a runner in a process of its own, which goes on until nothing is due."""
    child = os.fork()
    if child:
        return child
    try:
        sf.Publication.load(path).run(today=LATER)
        os._exit(0)
    except SfumatoError:
        os._exit(4)
    except BaseException:
        os._exit(70)


def killed(path: Path, home: Path, days: int, kills: int, seed: int, longest: float = 2.0) -> int:
    """Run two runners at a time, kill them at random and change the source; return how many were killed."""
    chance = Noise(insecure_seed=seed)
    done = 0
    while True:
        running = [runner(path), runner(path)]
        write(home, date(2026, 1, 1) + timedelta(days=chance.uniform(days)), chance.uniform(1000))
        if done >= kills:
            ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in running]
            assert ends == [0, 0], ends
            return done
        before = done
        for child in running:
            time.sleep(chance.uniform(1000) * longest / 2000)
            os.kill(child, signal.SIGKILL)
            done += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        # Where a whole run takes less than the wait, nobody would ever be killed.
        longest = longest / 2 if done == before else longest


def check(path: Path, home: Path, days: int) -> None:
    """Every day has one answer and one charge, nothing is dead, the files are those stored, no key is left."""
    publication = sf.Publication.load(path)
    found = publication.status(LATER)
    assert [one.state for one in found] == ["done"] * days
    with Ledger(publication.file.ledger) as book:
        history, totals = book.history(), publication.file.running()
        assert len(history) == len({entry.id for entry in history}) == days + len(totals) + 1
        assert not [entry for entry in history if entry.state == "dead"]
        # The table of a day and the running total, and nothing twice.
        if [unit for unit, _ in publication.file.budget.units] == ["day"]:
            (spent,) = {book.spent_in("day", one.name).percent for one in found}
            assert spent == 100 or totals[0].keys is not None
    assert publication.verify(), publication.verify().problems
    assert {len(publication.series(one.name).periods) for one in totals} == {days}
    assert not list((home / "secret" / "now").glob("*/*"))


@pytest.mark.audit
def test_kills_lose_nothing_and_repeat_nothing(tmp_path):
    path = declared(tmp_path, 10)
    assert killed(path, tmp_path, 10, kills=12, seed=1) >= 12
    check(path, tmp_path, 10)


@pytest.mark.audit
@pytest.mark.parametrize("declares", [FOUND, REMEMBERED], ids=["found", "remembered"])
def test_kills_lose_nothing_of_groups_that_are_found_and_of_lists_of_people(tmp_path, declares):
    path = declared(tmp_path, 6, declares=declares)
    assert killed(path, tmp_path, 6, kills=10, seed=4) >= 10
    check(path, tmp_path, 6)


@pytest.mark.audit
@pytest.mark.parametrize("declares", [FOUND, REMEMBERED], ids=["found", "remembered"])
def test_found_groups_and_lists_of_people_in_postgres(tmp_path, postgres, declares):
    path = declared(tmp_path, 4, schema_on(postgres), declares)
    assert killed(path, tmp_path, 4, kills=4, seed=5) >= 4
    check(path, tmp_path, 4)


@pytest.mark.audit
def test_kills_lose_nothing_in_postgres(tmp_path, postgres):
    path = declared(tmp_path, 5, schema_on(postgres))
    assert killed(path, tmp_path, 5, kills=6, seed=2) >= 6
    check(path, tmp_path, 5)


@pytest.mark.parametrize("point", ["freeze", "draw", "keep", "save", "release"])
def test_a_step_that_is_cut_short_anywhere_gives_the_same_bytes(tmp_path, monkeypatch, point):
    """An interrupt at every line of a step; afterwards it is completed, or was, and never drawn from new coins."""
    from sfumato.ledger.stepping import Stepwise
    from sfumato.publish.running import RunningTotals
    from sfumato.publish.shelves import Shelf

    text = FILE.split("[[table]]")
    path = prepare(tmp_path, text=text[0].replace("2026-01-04", "2026-01-01") + "[[table]]" + text[2], days=[1])
    drawn = []
    true = RunningTotals.entry

    def entry(self, read, noise):
        found = true(self, read, noise)
        drawn.append(found.tolist())
        return found

    class Cut(BaseException):
        pass

    def cut(*_, **__):
        raise Cut

    monkeypatch.setattr(RunningTotals, "entry", entry)
    holder, name = {
        "freeze": (Stepwise, "freeze"),
        "draw": (Stepwise, "draw"),
        "keep": (Shelf, "keep"),
        "save": (Stepwise, "save"),
        "release": (Stepwise, "release"),
    }[point]
    whole = getattr(holder, name)
    monkeypatch.setattr(holder, name, cut)
    publication = sf.Publication.load(path)
    with pytest.raises(Cut):
        publication.run(today=LATER)
    monkeypatch.setattr(holder, name, whole)
    (tmp_path / "in" / "2026-01-01.parquet").rename(tmp_path / "was.parquet")
    write(tmp_path, date(2026, 1, 1), 500)  # another source meanwhile
    publication.run(today=LATER)
    assert len({json.dumps(one) for one in drawn}) == 1
    assert not list((tmp_path / "visits.ledger.private" / "now").glob("*/*"))
    assert publication.verify()


@pytest.mark.audit
@pytest.mark.parametrize("kind", KINDS)
def test_a_disk_that_is_full_at_a_step_loses_nothing(tmp_path, monkeypatch, kind):
    """Two days with a running total; where a step fails, the disk is freed and the publication is run again."""
    from sfumato.ask.asked import Asked
    from sfumato.ledger.running import Coins
    from sfumato.publish.running import RunningTotals

    drawn: dict[object, set[bytes]] = {}
    steps: list[object] = []
    draw, entry, noise = Asked.draw, RunningTotals.entry, Coins.noise

    def asked(self, content, coins):
        found = draw(self, content, coins)
        drawn.setdefault(coins.request, set()).add(found)
        return found

    def stepped(self, *rest):
        found = entry(self, *rest)
        drawn.setdefault(steps[-1], set()).add(found.tobytes())
        return found

    def named(self, part=0, step=0):
        steps.append((self.request, part, step))
        return noise(self, part, step)

    monkeypatch.setattr(Asked, "draw", asked)
    monkeypatch.setattr(RunningTotals, "entry", stepped)
    monkeypatch.setattr(Coins, "noise", named)
    at, reached = KINDS.index(kind) + 1, True
    while reached:
        at += 9  # a run has some hundred steps; all of them were tried once, and take ten minutes
        home, disk = tmp_path / str(at), Disk(at, kind)
        home.mkdir()
        path = declared(home, 2)
        drawn.clear()
        with full(disk), suppress(SfumatoError, OSError):
            sf.Publication.load(path).run(today=LATER)
        reached = disk.reached
        sf.Publication.load(path).run(today=LATER)
        assert len(drawn) == 4 and all(len(found) == 1 for found in drawn.values()), at
        check(path, home, 2)
    assert at > 100
