"""Running totals over groups that are found as they run: entries of the past, what is frozen, what is refused."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import sfumato as sf
from sfumato import Noise
from sfumato.errors import ParameterError, Unfinished
from sfumato.ledger import Ledger
from sfumato.ledger.stepping import Stepwise
from sfumato.noise import DiscreteLaplace, RoundedNormal
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


def test_without_an_end_a_group_has_its_past_in_every_horizon(tmp_path, quiet):
    """Horizons of one, two and four days: milk is found on the third, in the second horizon; its first day is there."""
    path = declared(tmp_path)
    path.write_text(path.read_text().replace('last = "2026-01-04"', "horizon = 1"))
    publication = sf.Publication.load(path)
    for day in (1, 2, 3, 4):
        publication.run(f"2026-01-0{day}", today=date(2026, 1, 5))
    series = publication.series("total")
    assert series.keys == (("tea",), ("milk",)) and [one.known for one in series.segments] == [1, 2, 1]
    assert np.allclose(series.totals().values, [[40, 0], [80, 0], [120, 60], [160, 60]])
    assert publication.verify()


def test_a_past_in_an_earlier_horizon_is_drawn_once_and_with_its_own_coins(tmp_path):
    path = declared(tmp_path)
    path.write_text(path.read_text().replace('last = "2026-01-04"', "horizon = 1"))
    publication = sf.Publication.load(path)
    publication.run(today=date(2026, 1, 4))
    before = publication.series("total").segments
    publication.run(today=date(2026, 1, 5))
    after = publication.series("total").segments
    assert all(np.array_equal(one.released, other.released) for one, other in zip(before, after[:2], strict=True))


PAID = WORDS + '\n[columns.pay]\ntype = "fixed"\nlow = 0\nhigh = 8\nstep = 0.5\n'


def write_paid(home, day, rows):
    """Rows of one day: whose, which word, and what was paid, None if nobody knows."""
    columns = {"id": [row[0] for row in rows], "at": [date(2026, 1, day)] * len(rows)}
    columns |= {"country": [row[1] for row in rows], "pay": [row[2] for row in rows]}
    parquet.write_table(pyarrow.table(columns), home / "in" / f"2026-01-0{day}.parquet")


@pytest.mark.parametrize("spend", ["Concentrated(0.5)", "Pure(1)"])
@pytest.mark.parametrize("what", ["sum", "mean"])
def test_sums_and_means_of_found_groups(tmp_path, monkeypatch, what, spend):
    drawn = Noise.draw

    def draw(self, law, size=None):
        running = isinstance(law, RoundedNormal) or (isinstance(law, DiscreteLaplace) and spend.startswith("Pure"))
        return np.zeros(size, np.int64) if running else drawn(self, law, size)

    path = declared(tmp_path, rows=[], spend=spend)
    text = path.read_text().replace('running = "count by', f'running = "{what} of pay by')
    path.write_text(text)
    (tmp_path / "visits.schema.toml").write_text(PAID)
    for day in range(1, 5):
        tea = [(person, "tea", 1.5 if day == 1 else None if person % 2 else 3.5) for person in range(40)]
        milk = [(100 + person, "milk", 8) for person in range(50)] if day > 2 else [(100, "milk", 2)]
        write_paid(tmp_path, day, tea + milk)
    publication = sf.Publication.load(path)
    assert "±" in publication.plan().tables[1].error
    monkeypatch.setattr(Noise, "draw", draw)
    publication.run(today=FEBRUARY)
    series = publication.series("total")
    assert set(series.keys) == {("tea",), ("milk",)} and publication.verify()
    found = series.totals().values[:, [series.keys.index(("tea",)), series.keys.index(("milk",))]]
    sums = np.array([[60, 2], [130, 4], [200, 404], [270, 804]])
    counts = np.array([[40, 1], [60, 2], [80, 52], [100, 102]])
    assert np.allclose(found, sums if what == "sum" else np.round(sums / counts, 4), atol=1e-3)


def test_a_group_may_be_a_number_with_a_fraction(tmp_path, quiet):
    path = declared(tmp_path, rows=[])
    path.write_text(path.read_text().replace("by country", "by pay"))
    (tmp_path / "visits.schema.toml").write_text(PAID)
    for day in range(1, 5):
        write_paid(tmp_path, day, [(person, "tea", 2.5) for person in range(40)])
    publication = sf.Publication.load(path)
    publication.run(today=FEBRUARY)
    assert publication.series("total").keys == ((Fraction(5, 2),),) and publication.verify()


@pytest.mark.parametrize("spend", ["Concentrated(0.5)", "Pure(5)"])
def test_at_most_so_many_periods_of_a_person_and_found_groups(tmp_path, quiet, spend):
    """Everybody comes every day and counts once; groups that are found later have a past of those who counted."""
    rows = [(person, day, "tea" if person < 40 else "milk") for day in range(1, 5) for person in range(40 + 10 * day)]
    path = declared(tmp_path, rows=rows, spend=spend)
    text = path.read_text().replace('keys = "pages"', 'keys = "pages"\nperiods_per_person = 1')
    path.write_text(text.replace('day = "Approximate(60, 1e-3)"\nperson = "none"', 'person = "Approximate(500, 1e-2)"'))
    publication = sf.Publication.load(path)
    publication.run(today=FEBRUARY)
    series = publication.series("total")
    assert set(series.keys) == {("tea",), ("milk",)} and publication.verify()
    if spend.startswith("Concentrated"):
        found = series.totals().values[:, [series.keys.index(("tea",)), series.keys.index(("milk",))]]
        assert np.allclose(found, [[40, 10], [40, 20], [40, 30], [40, 40]])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('keys = "pages"', 'keys = "page"', "names a table of the same file"),
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
