"""Days of a time zone: 23 and 25 hours long, no row in two of them or in none, the same for ever (PB-UNIT)."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import sfumato as sf
from sfumato import Noise
from sfumato.errors import ParameterError
from sfumato.ledger import Ledger
from sfumato.publish import zones
from sfumato.publish.zones import midnight, zone_named
from tests.publish.sample import FILE, prepare

BERLIN = zone_named("Europe/Berlin")
TEXT = (
    FILE.replace('stamp = "at"', 'stamp = "at"\nzone = "Europe/Berlin"')
    .replace("in/{date}.parquet", "visits.parquet")
    .replace("2026-01-01", "2026-03-28")
    .replace("2026-01-04", "2026-03-30")
)


def moments(home, stamps, kind):
    table = {
        "id": pyarrow.array(range(len(stamps)), pyarrow.int64()),
        "at": pyarrow.array(stamps, kind),
        "country": pyarrow.array(["CH"] * len(stamps)),
    }
    parquet.write_table(pyarrow.table(table), home / "visits.parquet")


def declared(home, stamps, kind=None, text=TEXT):
    path = prepare(home, text=text, days=[])
    kind = kind or pyarrow.timestamp("us", tz="UTC")
    moments(home, stamps, kind)
    return path


@pytest.fixture
def quiet(monkeypatch):
    monkeypatch.setattr(Noise, "draw", lambda self, law, size=None: np.zeros(size, np.int64) if size else 0)


def hours(first, last):
    """A moment every half hour from one day of UTC to another."""
    count = (last - first).days * 48
    return [
        datetime(first.year, first.month, first.day, tzinfo=UTC) + timedelta(minutes=30 * place)
        for place in range(count)
    ]


def test_days_are_as_long_as_they_are(tmp_path, quiet):
    publication = sf.Publication.load(declared(tmp_path, hours(date(2026, 3, 26), date(2026, 4, 2))))
    publication.run(today=date(2026, 5, 1))
    added = np.diff([0, *publication.series("total").totals().values[:, 0]])
    assert added.tolist() == [48, 46, 48]  # the clock goes forward on 29 March
    assert publication.verify()
    with Ledger(tmp_path / "visits.ledger") as book:
        assert book.verify().ok and book.entry("pub/visits/calendar/Europe/Berlin/2026") is not None
    assert "one day of Europe/Berlin" in (tmp_path / "out/visits/registry.yaml").read_text()


def test_a_day_that_is_longer(tmp_path, quiet):
    text = TEXT.replace("2026-03-28", "2026-10-24").replace("2026-03-30", "2026-10-26")
    publication = sf.Publication.load(declared(tmp_path, hours(date(2026, 10, 22), date(2026, 10, 29)), text=text))
    publication.run(today=date(2026, 12, 1))
    assert np.diff([0, *publication.series("total").totals().values[:, 0]]).tolist() == [48, 50, 48]


def test_every_moment_is_in_one_day_and_in_no_other(tmp_path, quiet):
    """Around midnight of Berlin, to the microsecond; and a moment that is missing is in none."""
    start = datetime.fromtimestamp(midnight(BERLIN, date(2026, 3, 29)), UTC)
    step = timedelta(microseconds=1)
    publication = sf.Publication.load(declared(tmp_path, [start - step, start, start + step, None]))
    publication.run(today=date(2026, 5, 1))
    assert np.diff([0, *publication.series("total").totals().values[:, 0]]).tolist() == [1, 2, 0]


@pytest.mark.parametrize("kind", [pyarrow.timestamp("us"), pyarrow.date32()])
def test_what_has_no_zone_is_the_day_that_it_says(tmp_path, quiet, kind):
    stamps = [datetime(2026, 3, 29, 23, 30), datetime(2026, 3, 29, 0, 30)]
    given = stamps if kind == pyarrow.timestamp("us") else [one.date() for one in stamps]
    publication = sf.Publication.load(declared(tmp_path, given, kind))
    publication.run(today=date(2026, 5, 1))
    assert np.diff([0, *publication.series("total").totals().values[:, 0]]).tolist() == [0, 2, 0]


def test_later_rules_do_not_move_a_boundary(tmp_path, quiet, monkeypatch):
    """The mutant cuts each period by the rules of its day: a row would be in two days, or in none."""
    start = datetime.fromtimestamp(midnight(BERLIN, date(2026, 3, 29)), UTC)
    publication = sf.Publication.load(
        declared(tmp_path, [start - timedelta(minutes=30), start + timedelta(minutes=30)])
    )
    publication.run("2026-03-28", today=date(2026, 5, 1))
    monkeypatch.setattr(zones, "midnight", lambda zone, day: midnight(zone, day) - 3600)
    later = sf.Publication.load(tmp_path / "visits.toml")
    later.run("2026-03-29", today=date(2026, 5, 1))
    assert np.diff([0, *later.series("total").totals().values[:, 0]]).tolist() == [1, 1]
    found = later.verify()
    assert found and "disagree with when days of 2026" in found.notes[-1]
    monkeypatch.undo()
    assert not [note for note in publication.verify().notes if "disagree" in note]


def test_a_midnight_that_is_skipped_or_comes_twice():
    cairo, beirut = zone_named("Africa/Cairo"), zone_named("Asia/Beirut")
    skipped = midnight(cairo, date(2026, 4, 24))  # 00:00 does not occur: the day begins at 01:00
    assert datetime.fromtimestamp(skipped, cairo).hour == 1
    assert midnight(beirut, date(2026, 3, 29)) > midnight(beirut, date(2026, 3, 28))


def test_it_is_another_edition_and_a_wrong_name_is_said(tmp_path):
    path = declared(tmp_path, [])
    zoned = sf.Publication.load(path).file.edition
    path.write_text(TEXT.replace("Europe/Berlin", "UTC"))
    assert sf.Publication.load(path).file.edition != zoned
    path.write_text(TEXT.replace("Europe/Berlin", "Europe/Berln"))
    with pytest.raises(ParameterError, match="is no time zone"):
        sf.Publication.load(path)


def test_moments_with_a_zone_need_one(tmp_path):
    path = declared(
        tmp_path, hours(date(2026, 3, 28), date(2026, 3, 29)), text=TEXT.replace('zone = "Europe/Berlin"', "")
    )
    with pytest.raises(sf.errors.SfumatoError, match="zone = 'Europe/Berlin'"):
        sf.Publication.load(path).run(today=date(2026, 5, 1))
