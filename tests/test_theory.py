"""Every ID that code names has a statement and a proof in docs/theory, and every link between those pages resolves."""

from __future__ import annotations

import re
from pathlib import Path

HOME = Path(__file__).parents[1]
PAGES = sorted((HOME / "docs" / "theory").glob("*.md"))
PREFIXES = ("AC", "PDP", "TCDP", "QR", "RL", "PL", "LF", "SM", "FA", "FO", "INF", "DEF", "MD", "LO", "SQ", "PB", "SY")
NAMED = re.compile(rf"(?<![\w:-])(?:{'|'.join(PREFIXES)})[-:][A-Z][A-Z0-9+-]*(?![\w-])")
"""IDs as code writes them: algorithms (`QR-LAP`) and rows of a calculus (`PDP:C-13`)."""
NOT_BUILT = {"QR-XXX", "LF-PARTITION", "LF-SMOOTH", "LF-TRUNC-GRID"}
"""Named where docs/papers.md says that they are not built, and one that a test makes up."""


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
