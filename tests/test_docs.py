"""Every Python block of the guide runs, page by page and top to bottom.

A block that must not run is fenced as ```python no-run. Cells of the gallery's notebooks run in the same way.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^```(?:python|\{code-cell\})[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
DOCS = ROOT / "docs"
FOLDERS = (".", "papers", "jobs", "gallery")
PAGES = [ROOT / "README.md", *sorted(page for folder in FOLDERS for page in (DOCS / folder).glob("*.md"))]


def blocks(page: Path) -> list[tuple[int, str]]:
    """Return the line and the text of every block that is to run."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, found.start(1)) + 1, found.group(1)) for found in FENCE.finditer(text)]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pages are read from the project's root, beside a reader's own file; what they write stays out of it."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    rows = (f"p{k},{20 + k % 60},{'FM'[k % 2]},{['Bern', 'Chur'][k % 2]}" for k in range(500))
    (tmp_path / "people.csv").write_text("\n".join(["name,age,sex,town", *rows]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.usefixtures("root")
def test_page_runs(page: Path) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    for line, block in blocks(page):
        # Empty lines first, so that a traceback names the line of the page.
        exec(compile("\n" * (line - 1) + block, str(page), "exec"), names)


def test_the_shell_block_of_the_readme_runs_as_printed(root: Path) -> None:
    """All lines of it, in one shell, where `sfumato` is on the path as after the first command of the page."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (root / "sfumato").write_text(f'#!/bin/sh\nexec {sys.executable} -m sfumato "$@"\n', encoding="utf-8")
    (root / "sfumato").chmod(0o755)
    found = subprocess.run(
        ["sh", "-e", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": f"{root}:{os.environ['PATH']}"},
    )
    assert found.returncode == 0, found.stderr
    assert script.count("sfumato ") == len(script.splitlines()) == 6
    assert (root / "made-up.csv").exists() and (root / "evidence" / "deployment.yaml").exists()


def test_fences_are_read_as_described() -> None:
    text = "```python\na = 1\n```\n```python no-run\nb = 2\n```\n```sh\nls\n```\n```python\nc = 3\n```\n"
    assert FENCE.findall(text) == ["a = 1\n", "c = 3\n"]


def test_every_paper_has_a_page_in_the_index() -> None:
    index = (DOCS / "papers" / "README.md").read_text(encoding="utf-8")
    rooms = sorted(room.name for room in (ROOT / "src/sfumato/papers").iterdir() if (room / "__init__.py").exists())
    assert rooms and all(f"({room.replace('_', '-')}.md)" in index for room in rooms)
