"""Another process, with other caches, threads and hash seeds, draws and fits the same.

Apart from `test_storing`, because what a process reads is not known.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_storing import QUESTIONS, digests


def _compare(wanted: set[str], threads: str) -> None:
    digests(wanted)  # warm: tables of all laws, compiled loops, caches of plans
    program = f"from tests.test_storing import digests; import json; print(json.dumps(digests({sorted(wanted)!r})))"
    env = {**os.environ, "PYTHONHASHSEED": "99", "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
    command, root = [sys.executable, "-W", "ignore", "-c", program], Path(__file__).parents[1]
    ran = subprocess.run(command, env=env, cwd=root, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == digests(wanted)


@pytest.mark.audit
def test_a_cold_process_draws_and_fits_the_same():
    _compare({"Histogram", "Quantiles auto", "Synthesize mwem", "Queries", "GroupBy private"}, "1")


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")  # 240 rows are few, and that is said
@pytest.mark.audit
@pytest.mark.parametrize("threads", ["1", "4"])
def test_every_question_is_drawn_and_fitted_the_same_elsewhere(threads):
    _compare(set(QUESTIONS), threads)
