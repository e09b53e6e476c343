"""Every ID that code names has a statement and a proof in docs/theory, and every link between those pages resolves."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
PAGES = sorted((HOME / "docs" / "theory").glob("*.md"))
PREFIXES = ("AC", "PDP", "TCDP", "QR", "RL", "PL", "LF", "SM", "FA", "FO", "INF", "DEF", "MD", "LO", "SQ", "PB", "SY")
NAMED = re.compile(rf"(?<![\w:-])(?:{'|'.join(PREFIXES)})[-:][A-Z][A-Z0-9+-]*(?![\w-])")
"""IDs as code writes them: algorithms (`QR-LAP`) and rows of a calculus (`PDP:C-13`)."""
NOT_BUILT = {"QR-XXX", "LF-PARTITION", "LF-SMOOTH", "LF-TRUNC-GRID"}
"""Named where docs/papers.md says that they are not built, and one that a test makes up."""

PAPERS = [HOME / "docs" / "papers" / f"{name}.md" for name in (
    "partial-dp", "truncated-cdp", "heavy-hitters", "private-learning", "query-release",
)]  # fmt: skip
NO_EXAMPLE: dict[str, str] = {}
"""IDs in the tables of the papers' pages that nothing can show, and why."""
ROW = re.compile(r"\]\(\.\./theory/[\w-]+\.md#([^)]+)\)")
RUN = re.compile(r"^```python[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


def anchors() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for page in PAGES:
        for name in re.findall(r'<a id="([^"]+)"></a>', page.read_text(encoding="utf-8")):
            found.setdefault(name, []).append(page.name)
    return found


def headings(page: Path) -> set[str]:
    """Return the anchors that a reader of Markdown makes of headings."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def named() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    places = [*(HOME / "src").rglob("*.py"), *(HOME / "docs").glob("*.md"), *(HOME / "tests").rglob("*.py")]
    for place in places:
        if place != Path(__file__):
            for name in NAMED.findall(place.read_text(encoding="utf-8")):
                found.setdefault(name, set()).add(str(place.relative_to(HOME)))
    return found


def test_every_id_has_a_statement() -> None:
    known = anchors()
    lacking = {name: sorted(places)[:3] for name, places in named().items() if name not in known}
    assert {name: places for name, places in lacking.items() if name not in NOT_BUILT} == {}


def test_no_id_is_stated_twice() -> None:
    assert {name: pages for name, pages in anchors().items() if len(pages) > 1} == {}


def test_every_link_between_the_pages_resolves() -> None:
    known = anchors()
    broken = []
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([\w./-]*\.md)?(#[^)]+)?\)", page.read_text(encoding="utf-8")):
            place = page.parent / (target or page.name)
            if not place.exists():
                broken.append(f"{page.name}: {target}")
            elif anchor and place.name not in known.get(anchor[1:], []) and anchor[1:] not in headings(place):
                broken.append(f"{page.name}: {target}{anchor}")
    assert broken == []


def listed(text: str) -> list[str]:
    """Return the IDs that the tables of a page link to, each once."""
    return list(dict.fromkeys(name for line in text.splitlines() if line.startswith("|") for name in ROW.findall(line)))


def comments(text: str) -> str:
    """Return the comments of the blocks that are run: an ID in a string or in a name is no example of it."""
    found = []
    for block in RUN.findall(text):
        tokens = tokenize.generate_tokens(io.StringIO(block).readline)
        found += [token.string for token in tokens if token.type == tokenize.COMMENT]
    return "\n".join(found)


def without_example(text: str) -> list[str]:
    """Return the IDs in the tables of a page that no comment of a run block names.

    A page may leave out the prefix of its paper (`C-13` for `PDP:C-13`) where that is said of one ID only.
    """
    names, said = listed(text), comments(text)
    short = [name.partition(":")[2] or name for name in names]
    lacking = []
    for name, last in zip(names, short, strict=True):
        words = {name, last} if short.count(last) == 1 else {name}
        if not any(re.search(rf"(?<![\w:'+-]){re.escape(word)}(?![\w'+-])", said) for word in words):
            lacking.append(name)
    return lacking


@pytest.mark.parametrize("page", PAPERS, ids=lambda page: page.stem)
def test_every_id_of_a_paper_has_a_runnable_example(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names = listed(text)
    assert len(names) > 30
    assert [name for name in without_example(text) if name not in NO_EXAMPLE] == []


def test_exemptions_from_examples_are_needed() -> None:
    lacking = {name for page in PAPERS for name in without_example(page.read_text(encoding="utf-8"))}
    assert set(NO_EXAMPLE) <= lacking and all(NO_EXAMPLE.values())


@pytest.mark.parametrize("page", PAPERS, ids=lambda page: page.stem)
def test_an_example_that_is_no_longer_named_is_missed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    bare = RUN.sub(lambda block: re.sub(r"#.*", "", block.group()), text)
    assert without_example(bare) == listed(text)


def test_only_comments_of_blocks_that_run_count_as_examples() -> None:
    row = "| [QR:C-5](../theory/query-release.md#QR:C-5), [C-50](../theory/query-release.md#QR:C-50) | | |\n"
    assert without_example(row + "```python\nx = 1  # C-50: so\n```\n") == ["QR:C-5"]
    assert without_example(row + "```python\nx = 'C-5'  # QR:C-50\n```\n") == ["QR:C-5"]
    assert without_example(row + "```python no-run\nx = 1  # C-5, C-50\n```\n") == ["QR:C-5", "QR:C-50"]
    assert without_example(row + "```python\nx = 1  # C-5, C-50\n```\n") == []
