"""Results of long checks, kept as they come: a run that was cut short goes on where it stopped.

`SFUMATO_KEPT_RESULTS` names the file. A check that passed or was skipped there is not asked again; one that failed is. A
check that loads a module which it was not thought to reach (`tests.reach`) fails: its result would be kept for too long.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.reach import House

VARIABLE = "SFUMATO_KEPT_RESULTS"
Results = dict[str, tuple[str, float]]
"""The last outcome and the seconds of every check."""


def kept(path: Path) -> Results:
    """Return the results in a file, none if there is no such file."""
    found: Results = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        name, outcome, seconds = json.loads(line)
        found[name] = (outcome, seconds)
    return found


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is known, in every worker alike."""
    known = kept(Path(os.environ[VARIABLE]))
    done = [item for item in items if known.get(item.nodeid, ("failed", 0))[0] != "failed"]
    if done:
        config.hook.pytest_deselected(items=done)
        items[:] = [item for item in items if item not in set(done)]


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
