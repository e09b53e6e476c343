"""The site: every link and anchor leads somewhere, every page can be reached, and the long check builds all of it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")])
FENCE = re.compile(r"^(```+|~~~+).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+[ \t]+(.*?)[ \t]*#*$", re.MULTILINE)
ANCHOR = re.compile(r"<a (?:id|name)=\"([^\"]+)\"")
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)


def links(page: Path) -> list[str]:
    text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))
    return [target for target in LINK.findall(text) if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page: of its headings as GitHub and MyST make them, and those that it sets itself."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = (re.sub(r"[^\w\- ]", "", title.replace("`", "").lower()).strip() for title in HEADING.findall(text))
    return {heading.replace(" ", "-") for heading in headings} | set(ANCHOR.findall(text))


def listed(page: Path) -> set[Path]:
    """Return the pages that the tables of contents of a page name."""
    found = set()
    for body in TOCTREE.findall(page.read_text(encoding="utf-8")):
        for line in body.splitlines():
            if line.strip() and not line.startswith(":"):
                name = re.sub(r".*<(.*)>", r"\1", line.strip())
                found.add((page.parent / f"{name}.md").resolve())
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in links(page):
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{target} is linked, and there is no such file"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{target} is linked, and there is no such place on that page"


def test_every_page_is_reached_from_the_first_one() -> None:
    seen: set[Path] = set()
    ahead = [DOCS / "index.md"]
    while ahead:
        page = ahead.pop()
        if page in seen:
            continue
        seen.add(page)
        assert page.exists(), f"{page.name} is in a table of contents, and there is no such page"
        ahead += listed(page)
    assert {page for page in PAGES if DOCS in page.parents} == seen


def test_links_and_anchors_that_are_wrong_are_seen(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# One `two`, three!\n[x](b.md) [y](#one-two-three) [z](#four)\n```\n[n](c.md)\n```\n"
    )
    assert links(tmp_path / "a.md") == ["b.md", "#one-two-three", "#four"]
    assert anchors(tmp_path / "a.md") == {"one-two-three"}


class Loads(HTMLParser):
    """Collects what a page loads by itself when it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "img", "iframe") and given.get("src"):
            self.found.append(str(given["src"]))
        if tag == "link" and given.get("rel") in ("stylesheet", "preload", "icon"):
            self.found.append(str(given["href"]))


@pytest.mark.audit
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    """About two minutes: the notebooks of the gallery run, and warnings are errors."""
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(DOCS), str(tmp_path / "site")],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        reader = Loads()
        reader.feed(page.read_text(encoding="utf-8"))
        assert not [found for found in reader.found if re.match(r"(https?:)?//", found)], page
    for name in ("hospital", "salaries", "words", "loans"):
        assert "cell_output" in (tmp_path / "site" / "gallery" / f"{name}.html").read_text(encoding="utf-8")
    shutil.rmtree(DOCS / "reference" / "generated", ignore_errors=True)
