"""Every Python block of the guide runs, page by page and top to bottom.

A block that must not run is fenced as ```python no-run.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^```python[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
DOCS = ROOT / "docs"
PAGES = sorted(page for page in [ROOT / "README.md", *DOCS.glob("*.md"), *DOCS.glob("papers/*.md")] if page.exists())


def blocks(page: Path) -> list[tuple[int, str]]:
    """Return the line and the text of every block that is to run."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, found.start(1)) + 1, found.group(1)) for found in FENCE.finditer(text)]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: str(page.relative_to(ROOT)))
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Pages are read from the project's root; what they write stays out of it.
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for line, block in blocks(page):
        # Empty lines first, so that a traceback names the line of the page.
        exec(compile("\n" * (line - 1) + block, str(page), "exec"), names)


def test_fences_are_read_as_described() -> None:
    text = "```python\na = 1\n```\n```python no-run\nb = 2\n```\n```sh\nls\n```\n```python\nc = 3\n```\n"
    assert FENCE.findall(text) == ["a = 1\n", "c = 3\n"]


def test_every_paper_has_a_page_in_the_index() -> None:
    index = (DOCS / "papers" / "README.md").read_text(encoding="utf-8")
    rooms = sorted(room.name for room in (ROOT / "src/sfumato/papers").iterdir() if (room / "__init__.py").exists())
    assert rooms and all(f"({room.replace('_', '-')}.md)" in index for room in rooms)
