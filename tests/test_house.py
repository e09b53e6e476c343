"""Rules of the house that no single room can check: start-up time, map of the papers, size of modules."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src" / "sfumato").rglob("*.py"))
HEAVY = ("flint", "scipy", "matplotlib", "cryptography", "sqlalchemy", "ibis", "duckdb", "pyarrow", "pandas", "numba")


def fresh(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_sfumato_loads_nothing_heavy():
    loaded = fresh("import sys, sfumato; print(' '.join(name for name in sys.modules if '.' not in name))").split()
    assert not set(HEAVY) & set(loaded)


def test_importing_sfumato_is_quick():
    """CPU seconds of the import alone, best of three: a bound on work, not on a busy machine's clock."""
    timed = "import time; t = time.process_time(); import sfumato; print(time.process_time() - t)"
    assert min(float(fresh(timed)) for _ in range(3)) < 0.3


def test_every_public_name_can_be_loaded():
    import sfumato

    for name in sfumato.__all__:
        assert getattr(sfumato, name) is not None
    with pytest.raises(AttributeError, match="dir"):
        sfumato.nothing_of_the_kind  # noqa: B018


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_stay_small(path):
    assert len(path.read_text().splitlines()) <= 350


def test_the_map_of_the_papers_names_tests_that_exist():
    rows = [line for line in (ROOT / "docs" / "papers.md").read_text().splitlines() if line.startswith("| ")]
    for row in rows[1:]:
        for path in re.findall(r"tests/[\w/]+\.py", row):
            assert (ROOT / path).exists(), f"{path} is named in docs/papers.md and does not exist"
