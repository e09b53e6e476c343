"""Pictures on the page of a publication: gaps, editions, second looks and values that are left out (PB-BAND)."""

from __future__ import annotations

import re
from datetime import date

import numpy as np
import pytest

from sfumato import Noise
from sfumato.ask.asked import Asked
from sfumato.publish import Publication

from .sample import FILE, ROWS, prepare

LATER = date(2026, 3, 1)


@pytest.fixture
def quiet(monkeypatch):
    monkeypatch.setattr(Noise, "draw", lambda self, law, size=None: np.zeros(size, np.int64))


def charts(publication):
    with publication._ledger() as book:
        return publication._layout(book)._charts()


def page(home):
    return (home / "out/visits/index.html").read_text()


def test_a_picture_breaks_where_a_period_died(tmp_path, monkeypatch):
    publication = Publication.load(prepare(tmp_path))
    publication.run(today=date(2026, 1, 3))
    with monkeypatch.context() as patched:
        patched.setattr(Asked, "draw", lambda self, content, coins: 1 / 0)
        with pytest.raises(Exception, match="ended without an answer"):
            publication.run("2026-01-03", today=LATER)
    publication.run(today=LATER)
    chart = charts(publication)["countries"]
    assert chart.periods == ("2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04") and chart.gaps == (2,)
    assert all(line.points[2] is None and line.points[3] is not None for line in chart.lines)
    assert chart.title.endswith("; no answer: 2026-01-03") and "no answer: 2026-01-03" in page(tmp_path)
    assert publication.verify()


def test_the_last_period_may_be_the_one_that_died(tmp_path, monkeypatch):
    publication = Publication.load(prepare(tmp_path))
    publication.run(today=date(2026, 1, 4))
    with monkeypatch.context() as patched:
        patched.setattr(Asked, "draw", lambda self, content, coins: 1 / 0)
        with pytest.raises(Exception, match="ended without an answer"):
            publication.run("2026-01-04", today=LATER)
    publication.run(today=LATER)
    chart = charts(publication)["countries"]
    assert chart.periods[-1] == "2026-01-04" and chart.gaps == (3,)


def test_numbers_are_drawn_as_they_are_published_and_small_ones_as_ticks(tmp_path, quiet):
    text = FILE.replace('[[table]]\nname = "total"', 'hide_below = 8\nround_to = 5\n\n[[table]]\nname = "total"', 1)
    text = text.replace("windows = [2]", "windows = [2]\nhide_below = 40")
    publication = Publication.load(prepare(tmp_path, text=text))
    publication.run(today=LATER)
    chart = charts(publication)["countries"]
    first, second, other = chart.lines
    assert [line.name for line in chart.lines] == ["CH", "DE", "other"] and chart.threshold == 8
    assert {point[0] for point in first.points} == {15} and {point[0] for point in second.points} == {10}
    assert other.points == (None,) * 4 and other.hidden == (0, 1, 2, 3)
    running = publication.series("total").plot(0, hide_below=40)
    assert "first below 40, last 64" in running.title and running.hide_below == 40
    assert page(tmp_path).count("first below 40") >= 4 and "first 16" not in page(tmp_path)
    assert running.svg() != publication.series("total").plot(0).svg() and chart.svg() == chart.svg()


def test_second_looks_are_drawn_beside_the_first(tmp_path, quiet):
    late = '[revision.late]\nafter = "1 days"\ntables = ["countries"]\nspend = { countries = "Concentrated(0.1)" }\n'
    text = FILE.replace("Concentrated(0.5)", "Concentrated(0.4)").replace("[output]", f"{late}\n[output]")
    publication = Publication.load(prepare(tmp_path, text=text))
    publication.run(today=date(2026, 1, 4))
    first = charts(publication)["countries"].lines[0]
    assert [place for place, _ in first.revised] == [0, 1] and first.revised[0][1][0] == first.points[0][0] == 16


def test_an_edition_is_marked_where_it_begins(tmp_path):
    path = prepare(tmp_path)
    Publication.load(path).run(today=date(2026, 1, 3))
    path.write_text(
        FILE.replace("last =", 'from = "2026-01-03"\nlast =').replace(
            '"count by country"\nspend = "Concentrated(0.5)"', '"count by country"\nspend = "Concentrated(0.4)"', 1
        )
    )
    publication = Publication.load(path)
    assert charts(publication) == {}  # of this edition nothing is published yet
    publication.run(today=LATER)
    chart = charts(publication)["countries"]
    assert chart.periods == ("2026-01-03", "2026-01-04") and chart.edition == 0
    assert "a new edition begins with 2026-01-03" in page(tmp_path) and publication.verify()


def test_one_period_makes_no_picture_and_neither_do_made_up_rows(tmp_path):
    text = FILE.replace('question = "count by country"', 'question = "synthesize country"', 1)
    publication = Publication.load(prepare(tmp_path, text=text))
    publication.run(today=date(2026, 1, 3))
    assert charts(publication) == {}
    other = tmp_path / "other"
    other.mkdir()
    single = Publication.load(prepare(other, ROWS))
    single.run(today=date(2026, 1, 2))
    assert charts(single) == {} and len(re.findall("<svg", page(other))) == 4
