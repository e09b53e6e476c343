"""A disk that is full, or a kill, at every durable step of a question: charged once, drawn once, and the answer comes.

The steps are those of `tests.ledger.faults`, from the making of the ledger to the erasing of what was drawn from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sfumato import Budget, Count, Curator, Distribution, Histogram, Ledger, Mean, Pure, Quantiles, Schema
from sfumato.ask.asked import Asked
from sfumato.domain import categories, integers
from sfumato.errors import SfumatoError
from sfumato.ledger.sources import snapshot_of
from sfumato.table import Table, open_table

from .ledger.faults import KINDS, Disk, full
from .ledger.worker import read_lines, run_process, spend_by_number

SCHEMA = Schema({"age": integers(0, 99), "sex": categories("Female", "Male")})
BUDGET = Budget(Pure(1)).about(SCHEMA.secrets)
SPEND = Pure("1/10")
QUESTIONS = {
    "count": Count("age > 30"),
    "histogram": Histogram("sex"),
    "mean": Mean("age"),
    "quantiles": Quantiles("age", (0.25, 0.75)),
    "distribution": Distribution("age"),
    "several": [Count("age > 30"), Mean("age")],
}
"""A distribution is fitted, and what was fitted is kept in a transaction of its own."""


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Iterator[Table]:
    """A table that stays open, as only the ledger's way is of interest here."""
    path = tmp_path_factory.mktemp("data") / "people.csv"
    path.write_text("age,sex\n34,Male\n71,Female\n25,Male\n")
    with open_table(path, SCHEMA) as opened:
        yield opened


@pytest.fixture
def drawn(monkeypatch) -> list[tuple[bytes, bytes]]:
    """Everything that is drawn, with its key."""
    found: list[tuple[bytes, bytes]] = []
    draw = Asked.draw

    def noted(self, content, coins):
        found.append((coins.key, draw(self, content, coins)))
        return found[-1][1]

    monkeypatch.setattr(Asked, "draw", noted)
    return found


def _ask(home: Path, table: Table, question: Any) -> str:
    """Open the ledger as `curate` does, and ask."""
    with Ledger(home / "people.ledger", BUDGET, keep_head=home / "head") as ledger:
        table.snapshot = snapshot_of(ledger, table.identity)
        found = Curator(table, ledger, ledger.relation).ask(question, SPEND)
        return json.dumps([str(answer.value) for answer in (found if isinstance(found, list) else [found])])


def _attacked(home: Path, table: Table, question: Any, disk: Disk) -> str | None:
    """Ask with a disk that fails; every sentence is ours, and names no cell."""
    try:
        with full(disk):
            return _ask(home, table, question)
    except SfumatoError as error:
        assert "Male" not in str(error)
        return None


def _whole(home: Path, table: Table, drawn: list[tuple[bytes, bytes]]) -> None:
    """Require one charge, one draw, nothing left of it, a chain that holds, and a number that no other file gets."""
    with Ledger(home / "people.ledger", keep_head=home / "head") as ledger:
        assert len(ledger.history()) == 1 and ledger.verify().ok
        assert len(set(drawn)) == 1, "a second draw"
        assert not list((ledger.private / "now").glob("*/*"))
        assert snapshot_of(ledger, "another file") != table.snapshot


GATE = ("count", "from there on")
CASES = [
    pytest.param(name, kind, id=f"{name}-{kind}", marks=[] if (name, kind) == GATE else [pytest.mark.audit])
    for name in QUESTIONS
    for kind in KINDS
]


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_disk_that_is_full_at_any_step_costs_nothing_more(name, kind, table, drawn, tmp_path):
    at, reached = 0, True
    while reached:
        at += 1
        disk, home = Disk(at, kind), tmp_path / str(at)
        home.mkdir()
        drawn.clear()
        first = _attacked(home, table, QUESTIONS[name], disk)
        reached = disk.reached
        again = _ask(home, table, QUESTIONS[name])
        assert first in (None, again), disk.steps[at - 1]
        _whole(home, table, drawn)
    assert at > 40  # the ledger, the number, the charge, the key, the freezing, the answer


@pytest.mark.parametrize(
    "steps", [range(1, 10), pytest.param(range(10, 1000), marks=pytest.mark.audit)], ids=["number", "rest"]
)
def test_a_kill_at_any_step_from_the_number_to_the_answer_costs_nothing_more(steps, tmp_path):
    """Between the row that hands a number out and the line that says whose it is, too."""
    for at in steps:
        home = tmp_path / str(at)
        home.mkdir()
        Ledger(home / "people.ledger", Budget(Pure(1)), keep_head=home / "head").close()
        code = run_process(spend_by_number, home, at)
        assert code in (0, -9)
        assert run_process(spend_by_number, home, 0) == 0
        shown = read_lines(home / "shown")
        assert len({number for number, _ in shown}) == 1 == len({value for _, value in shown})
        assert len({key for (key,) in read_lines(home / "keys")}) == 1
        with Ledger(home / "people.ledger") as ledger:
            assert ledger.spent().sums[1] == Fraction(1, 100) and ledger.verify().ok
            assert snapshot_of(ledger, "a file") == shown[-1][0] != snapshot_of(ledger, "another file")
            assert not list((ledger.private / "now").glob("*/*"))
        if code == 0:
            return
    assert steps == range(1, 10)
