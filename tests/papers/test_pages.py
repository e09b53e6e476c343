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


@pytest.mark.parametrize("name", PAGES)
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
