"""Results of long checks, kept as they come: a run that was cut short goes on where it stopped.

`SFUMATO_KEPT_RESULTS` names the file. A check that passed or was skipped there is not asked again; one that failed is. A
check that loads a module which it was not thought to reach (`tests.reach`) fails: its result would be kept for too long.

The longest begin first, so that no core waits at the end for another one's last check.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.reach import House

VARIABLE = "SFUMATO_KEPT_RESULTS"
Results = dict[str, tuple[str, float]]
"""The last outcome and the seconds of every check."""
LONG = 40.0
"""From so many seconds on a check begins before the others, which stay in order: neighbours share what they open."""
USUAL = {
    "tests/replay/test_search.py::": 600,
    "tests/replay/test_law.py::test_all_laws": 250,
    "tests/replay/test_databases.py::test_statements_tell": 250,
    "tests/sql/test_statements.py::test_totals_of_many": 150,
    "tests/local/test_all_reports.py::": 150,
    "tests/questions/conversation/test_steps.py::test_cut_short_at_every_line": 120,
    "tests/replay/test_databases.py::test_any_two": 100,
    "tests/replay/test_moves.py::test_two_attributes": 100,
    "tests/replay/test_moves.py::test_no_answer": 80,
    "tests/replay/test_frozen.py::test_all_but": 80,
}
"""What checks take of which nobody remembers it; by how their names begin, and only to put them in order."""
YOUNG = 50_000
"""How many new objects Python waits for before it looks for rings of unused ones; by itself it looks after 700."""


def kept(path: Path) -> Results:
    """Return the results in a file, none if there is no such file."""
    found: Results = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        name, outcome, seconds = json.loads(line)
        found[name] = (outcome, seconds)
    return found


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is known, and put the longest first; in every worker alike."""
    path = Path(os.environ[VARIABLE])
    known = kept(path)
    done = [item for item in items if known.get(item.nodeid, ("failed", 0))[0] != "failed"]
    if done:
        config.hook.pytest_deselected(items=done)
        left = set(items) - set(done)
        items[:] = [item for item in items if item in left]
    place = {name: at for at, name in enumerate(longest_first([item.nodeid for item in items], remembered(path)))}
    items.sort(key=lambda item: place[item.nodeid])


def remembered(path: Path) -> dict[str, float]:
    """Return the seconds of all checks that were ever kept beside a file, of whatever content."""
    found = sorted(path.parent.glob("*.jsonl"), key=lambda one: one.stat().st_mtime)
    return {name: seconds for one in found for name, (_, seconds) in kept(one).items()}


def longest_first(names: Sequence[str], seconds: Mapping[str, float]) -> list[str]:
    """Return names with the long ones in front, the longest first, and all others as they were."""

    def takes(name: str) -> float:
        usual = next((guess for start, guess in USUAL.items() if name.startswith(start)), 0)
        return seconds.get(name, usual)

    return sorted(names, key=lambda name: -takes(name) if takes(name) >= LONG else 0)


def pytest_collection_finish() -> None:
    """Let Python look for unused objects less often, and never among the modules: it took a part of every check."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 20)


@cache
def _house() -> House:
    return House(Path(__file__).resolve().parent.parent)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Compare what a check loads with what it is thought to reach."""
    before = set(sys.modules)
    yield
    reached, modules = _house().reached(item.nodeid.partition("::")[0]), _house().modules
    strays = [name for name in set(sys.modules) - before if name in modules and modules[name] not in reached]
    assert not strays, f"tests.reach does not see that this check reaches {', '.join(sorted(strays))}"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write what a check came to; a worker's own report reaches the process that handed it out, which writes."""
    if "PYTEST_XDIST_WORKER" in os.environ or not (report.when == "call" or report.outcome != "passed"):
        return
    with Path(os.environ[VARIABLE]).open("a", encoding="utf-8") as file:
        file.write(json.dumps([report.nodeid, report.outcome, report.duration]) + "\n")
