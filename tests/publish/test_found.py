"""Running totals over groups that are found as they run: entries of the past, what is frozen, what is refused."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

import sfumato as sf
from sfumato import Noise
from sfumato.errors import ParameterError, Unfinished
from sfumato.ledger import Ledger
from sfumato.ledger.stepping import Stepwise
from sfumato.noise import RoundedNormal
from tests.publish.sample import FILE, SCHEMA, prepare, write_day

FEBRUARY = date(2026, 2, 1)
WORDS = SCHEMA.replace('type = "category"\nvalues = ["CH", "DE"]', 'type = "text"\nmax_bytes = 20')
TEXT = (
    FILE.split("[limits]")[0]
    + """
[limits]
day = "Approximate(60, 1e-3)"
person = "none"

[[table]]
name = "pages"
question = "count by country found privately"
spend = "Approximate(20, 1e-5)"

[[table]]
name = "total"
running = "count by country found privately"
keys = "pages"
windows = [2]
spend = "{spend}"
"""
)
ROWS = [
    (1000 * place + 100 * day + person, day, word)
    for day in range(1, 5)
    for place, (word, first, count) in enumerate((("tea", 1, 40), ("milk", 3, 60), ("rare", 2, 1)))
    for person in range(count)
    if day >= first and (word != "milk" or day != 4)
]


def declared(home, rows=ROWS, spend="Concentrated(0.5)"):
    path = prepare(home, rows=rows, text=TEXT.replace("{spend}", spend))
    (home / "visits.schema.toml").write_text(WORDS)
    return path


@pytest.fixture
def quiet(monkeypatch):
    """No noise on the running total; the search keeps its own."""
    drawn = Noise.draw

    def draw(self, law, size=None):
        return np.zeros(size, np.int64) if isinstance(law, RoundedNormal) else drawn(self, law, size)

    monkeypatch.setattr(Noise, "draw", draw)


def test_a_group_that_is_found_late_has_its_past(tmp_path, quiet):
    publication = sf.Publication.load(declared(tmp_path))
    publication.run(today=FEBRUARY)
    series = publication.series("total")
    assert series.keys == (("tea",), ("milk",))  # never the rare one
    found = series.totals().values
    assert np.allclose(found[:, 0], [40, 80, 120, 160]) and np.allclose(found[:, 1], [0, 0, 60, 60])
    assert np.allclose(series.window(2).values[:, 1], [0, 0, 60, 60])
    assert publication.verify()
    assert "rare" not in (tmp_path / "out/visits/total.csv").read_text()
    with Ledger(tmp_path / "visits.ledger") as book:
        assert book.verify().ok
    assert "periods of a group" in (tmp_path / "out/visits/total.csv-metadata.json").read_text()


def test_under_pure_spends_too(tmp_path, monkeypatch):
    publication = sf.Publication.load(declared(tmp_path, spend="Pure(5)"))
    publication.run(today=FEBRUARY)
    found = publication.series("total").totals()
    assert np.all(np.abs(found.values[-1] - [160, 60]) <= 2 * found.band[-1])
    assert publication.verify()


def test_bands_hold_for_one_group_since_their_number_was_not_known(tmp_path):
    publication = sf.Publication.load(declared(tmp_path))
    publication.run("2026-01-01", today=FEBRUARY)
    before = publication.series("total").totals().band[0]
    for day in (2, 3):
        publication.run(f"2026-01-0{day}", today=FEBRUARY)
    series = publication.series("total")
    assert len(series.keys) == 2 and series.totals().band[0] == before


def test_what_was_read_is_never_read_again_when_a_group_is_found(tmp_path, quiet):
    """The mutant would take yesterday's rows from the source as it is now: they were corrected to the new group."""
    publication = sf.Publication.load(declared(tmp_path))
    for day in (1, 2):
        publication.run(f"2026-01-0{day}", today=FEBRUARY)
    write_day(tmp_path, 1, [(person, 1, "milk") for person in range(90)])
    publication.run("2026-01-03", today=FEBRUARY)
    assert np.allclose(publication.series("total").totals().values[:, 1], [0, 0, 60])


def test_killed_after_the_seal_the_same_groups_are_drawn(tmp_path, monkeypatch):
    twins = []
    for name in ("killed", "whole"):
        home = tmp_path / name
        home.mkdir()
        publication = sf.Publication.load(declared(home))
        if name == "killed":
            with monkeypatch.context() as patch:
                patch.setattr(Stepwise, "draw", lambda self, draw: (_ for _ in ()).throw(Unfinished("killed")))
                with pytest.raises(Unfinished):
                    publication.run("2026-01-01", today=FEBRUARY)
            write_day(home, 1, [])
        publication.run("2026-01-01", today=FEBRUARY)
        twins.append(publication.series("total"))
    assert twins[0].keys == twins[1].keys == (("tea",),)
    assert abs(twins[0].totals().values[0, 0] - 40) < 3 * twins[0].totals().band[0]


def test_without_any_group_there_is_an_empty_series(tmp_path):
    publication = sf.Publication.load(declared(tmp_path, rows=[]))
    publication.run(today=FEBRUARY)
    series = publication.series("total")
    assert series.keys == () and series.totals().values.shape == (4, 0) and publication.verify()


def test_the_plan_says_how_far_off_it_is(tmp_path):
    plan = sf.Publication.load(declared(tmp_path)).plan()
    assert "±" in plan.tables[1].error and plan.refused is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('keys = "pages"', 'keys = "page"', "names a table of the same file"),
        ('last = "2026-01-04"', "horizon = 9", "its end is known"),
        ('running = "count by country found privately"', 'running = "count"', "adds up one column"),
        ('keys = "pages"\n', "", "keys = 'pages'"),
        ('question = "count by country found privately"', 'question = "count"', "does not find the groups"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, old, new, said):
    path = declared(tmp_path)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ParameterError, match=said):
        sf.Publication.load(path).plan()
