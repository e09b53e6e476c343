"""The page of a paper names every ID that its theory proves, shows each in an example, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"heavy-hitters.md": "## One report", "private-learning.md": "## Choices"}
"""Each page with the heading from which on its examples stand."""
ANCHOR = re.compile(r'<a id="([^"]+)"></a>')


def named(text: str) -> set[str]:
    """Return whatever looks like an ID: letters, digits, colons and hyphens."""
    return set(re.findall(r"[A-Z][\w:-]*[\w]", text))


def headings(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", PAGES)
def test_every_id_of_the_theory_is_in_the_table_and_in_an_example(name: str) -> None:
    page = (DOCS / "papers" / name).read_text(encoding="utf-8")
    proved = set(ANCHOR.findall((DOCS / "theory" / name).read_text(encoding="utf-8")))
    table, examples = page.split(PAGES[name])
    assert proved - set(re.findall(r"\.md#([^)]+)\)", table)) <= {"C-UNIF"}  # an older name of PL:C-UNIF
    assert proved - named(examples) <= {"C-UNIF"}


TRIED = {
    "partial-dp.md": ("partial-dp.md",),
    "truncated-cdp.md": ("truncated-cdp.md",),
    "query-release.md": ("query-release.md", "release-by-learning.md", "fairness.md"),
}
"""Pages whose examples stand under "Try it", with the pages of what they show."""


def short(name: str) -> str:
    """Return an ID as its own paper's page writes it: C-13 for PDP:C-13."""
    return name.rpartition(":")[2]


def tried(page: str) -> set[str]:
    """Return the IDs that are named, by link or in words, in those sections under "Try it" that run something."""
    begin, end = page.index("## Try it"), page.index("## What was wrong")
    found: set[str] = set()
    for section in re.split(r"^##+ ", page[begin:end], flags=re.MULTILINE):
        if "```python" in section:
            found |= {short(one) for one in re.findall(r"[A-Z][\w:+-]*[\w+←→]'?", section)}
            for kind, first, last in re.findall(r"([A-Z]+-)(\d+) to \1(\d+)", section):
                found |= {f"{kind}{place}" for place in range(int(first), int(last) + 1)}
    return found


def untried(name: str, more: str = "") -> set[str]:
    proved = {
        short(one)
        for theory in TRIED[name]
        for one in ANCHOR.findall((DOCS / "theory" / theory).read_text(encoding="utf-8") + more)
    }
    page = (DOCS / "papers" / name).read_text(encoding="utf-8")
    wrong = page[page.index("## What was wrong") :]  # there errors in print stand, each with the number that shows it
    return proved - tried(page) - set(re.findall(r"\bD[1-9]\b", wrong))


@pytest.mark.parametrize("name", TRIED)
def test_every_id_of_the_theory_stands_beside_an_example(name: str) -> None:
    assert untried(name) == set()
    assert untried(name, '<a id="NO:C-99"></a>') == {"C-99"}


@pytest.mark.parametrize("name", [*PAGES, *TRIED])
def test_every_link_leads_somewhere(name: str) -> None:
    broken = []
    for target, anchor in re.findall(
        r"\]\(([\w./-]+\.md)(#[^)]+)?\)", (DOCS / "papers" / name).read_text(encoding="utf-8")
    ):
        place = DOCS / "papers" / target
        text = place.read_text(encoding="utf-8") if place.exists() else ""
        if not place.exists() or (anchor and anchor[1:] not in {*ANCHOR.findall(text), *headings(text)}):
            broken.append(target + anchor)
    assert broken == []
