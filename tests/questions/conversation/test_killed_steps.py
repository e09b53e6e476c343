"""Conversations in processes that are really killed; apart from `test_steps`, because what a process reads is not known."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sfumato.table.data import Table
from tests.questions.conversation.cutting import book, watch
from tests.questions.conversation.test_steps import KINDS, problems, tables, twin

__all__ = ["tables"]

KILLED = """
import os, sys
from tests.questions.conversation.cutting import Cut, begin, book, die, hold, people

table, told = people(), {}
begin(table, book(), 1).close()  # plans are worked out once
for place, line in zip(sys.argv[1::2], sys.argv[2::2]):
    child = os.fork()
    if not child:
        with Cut(int(line), die):
            conversation = begin(table, book(place), 1)
            hold(conversation, told)
            conversation.close()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(os.WTERMSIG(status), flush=True)
"""


def _really_killed(folder: Path, lines: list[int], tables: tuple[Table, Table], monkeypatch: Any) -> None:
    root, places = Path(__file__).parents[3], [folder / f"{line}.ledger" for line in lines]
    given = [str(part) for pair in zip(places, lines, strict=True) for part in pair]
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
    command = [sys.executable, "-W", "ignore", "-c", KILLED, *given]
    ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["9"] * len(lines)
    for place in places:
        with monkeypatch.context() as patch, book(place) as ledger:
            assert problems(ledger, tables, {}, watch(patch, KINDS)) == [], place


@pytest.mark.audit
def test_processes_killed_at_many_lines_are_continued(tables, tmp_path, monkeypatch):
    _really_killed(tmp_path, list(range(1, twin(tables[0], 1)[2], 7)), tables, monkeypatch)
