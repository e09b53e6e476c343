"""Spark as a cluster is: executors that are processes of their own, and a driver that holds little."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2]


@pytest.mark.audit
@pytest.mark.parametrize("world", ["people", "come and go"])
def test_every_kind_of_question_is_answered_by_executors_apart(world: str) -> None:
    """The driver has 600 MB and takes 16 MB at once; a process of its own, because a process has one Spark."""
    pytest.importorskip("pyspark")
    command = [sys.executable, "-m", "bench.scale_matrix", "--engines", "spark", "--worlds", world]
    command += ["--rows", "20000", "--master", "local-cluster[2,1,512]"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HOME)
    assert not done.returncode, done.stdout[-2_000:] + done.stderr[-2_000:]
    outcomes = [line.split("|")[-2].strip() for line in done.stdout.splitlines() if line.startswith("| 20,000")]
    assert outcomes[0] == "opened" and outcomes[1:] == ["answered"] * 9
    assert done.stdout.endswith("9 questions asked, 0 charged and lost.\n")
