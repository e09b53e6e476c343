"""Days without a file: refused, or published as days without rows where that was declared (PB-PUBLISH)."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato import Noise
from sfumato.cli.app import app
from sfumato.errors import ParameterError
from sfumato.ledger import Ledger
from sfumato.publish.layout import published_frame
from tests.publish.sample import FILE, prepare, write_day

FEBRUARY = date(2026, 2, 1)


def test_a_day_without_a_file_is_refused_and_never_taken_for_an_empty_one(tmp_path):
    """The mutant takes a file that is late for a day on which nothing happened."""
    publication = sf.Publication.load(prepare(tmp_path, days=[1, 3, 4]))
    with pytest.raises(ParameterError, match=r"no file for 2026-01-02: .* write --empty 2026-01-02"):
        publication.run(today=FEBRUARY)
    assert [one.state for one in publication.status(FEBRUARY)][:2] == ["done", "due"]
    with Ledger(tmp_path / "visits.ledger") as book:
        assert book.entry("pub/visits/2026-01-02") is None


def test_a_declared_day_is_published_like_one_whose_file_has_no_rows(tmp_path, monkeypatch):
    """Same numbers, same charges, same files; a running total goes on."""
    seen = []
    for name in ("declared", "file"):
        home = tmp_path / name
        home.mkdir()
        publication = sf.Publication.load(prepare(home, days=[1, 3, 4]))
        if name == "file":
            write_day(home, 2, [])
        with monkeypatch.context() as patch:
            patch.setattr(Noise, "draw", lambda self, law, size=None: np.zeros(size, np.int64))
            publication.run(today=FEBRUARY, empty=["2026-01-02"] if name == "declared" else [])
        assert all(one.state == "done" for one in publication.status(FEBRUARY)) and publication.verify()
        spec = publication.file.tables[0]
        shown = published_frame(publication.answers("2026-01-02")["countries"], spec).columns
        assert set(shown["count"]) == {0}
        totals = publication.series("total").totals().values
        assert (totals[0] == totals[1]).all() and (totals[2] > totals[1]).any()
        with Ledger(home / "visits.ledger") as book:
            spent = [book.spent_in("day", f"2026-01-0{day}").percent for day in (1, 2, 3, 4)]
        page, package = ((home / "out/visits" / file).read_text() for file in ("index.html", "datapackage.json"))
        told = "Of 2026-01-02 there was no file; it was declared to be without rows."
        assert (told in page) == (told in json.loads(package)["description"]) == (name == "declared")
        seen.append((shown, totals.tolist(), spent, sorted(path.name for path in (home / "out").rglob("*"))))
    assert seen[0] == seen[1]


def test_what_was_declared_holds_for_whoever_runs_next(tmp_path, monkeypatch):
    """Also after a kill, without the word; and nothing is charged for it."""
    path = prepare(tmp_path, days=[1, 3, 4])
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "run_sealed", lambda *args, **options: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            sf.Publication.load(path).run(today=FEBRUARY, empty=[date(2026, 1, 2)])
    publication = sf.Publication.load(path)
    assert [one.state for one in publication.run(today=FEBRUARY)] == ["done"] * 4
    assert publication.run(today=FEBRUARY, empty=["2026-01-02"]) == [] and publication.verify()
    with Ledger(tmp_path / "visits.ledger") as book:
        assert book.entry("pub/visits/empty/2026-01-02").person.is_zero and book.verify().ok


def test_longer_periods_and_late_rows_leave_the_day_out(tmp_path, monkeypatch):
    text = FILE.replace('day = "Concentrated(1)"', 'day = "Concentrated(9)"').replace("2026-01-04", "2026-01-31")
    text = text.replace('question = "count by country"', 'question = "count by country"\nevery = "month"')
    path = prepare(tmp_path, text=text.split('[[table]]\nname = "total"')[0], days=range(1, 32))
    for day in (2, 30, 31):
        (tmp_path / "in" / f"2026-01-{day:02}.parquet").unlink()
    monkeypatch.setattr(Noise, "draw", lambda self, law, size=None: np.zeros(size, np.int64))
    publication = sf.Publication.load(path)
    with pytest.raises(ParameterError, match="no file for 2026-01-02"):
        publication.run(today=FEBRUARY, empty=["2026-01-30", "2026-01-31"])
    publication.run(today=FEBRUARY, empty=["2026-01-02"])
    frame = published_frame(publication.answers("2026-01")["countries"], publication.file.tables[0])
    assert sum(frame["count"]) > 0


def test_what_makes_no_sense_is_refused_before_anything_is_kept(tmp_path):
    path = prepare(tmp_path, days=[1, 3])
    publication = sf.Publication.load(path)
    for days, said in (
        (["2026-01-02", "2026-01-03"], "There is a file for 2026-01-03"),
        (["2025-12-31"], "before the first day"),
        (["soon"], "no day"),
    ):
        with pytest.raises(ParameterError, match=said):
            publication.run(today=FEBRUARY, empty=days)
    with Ledger(tmp_path / "visits.ledger") as book:
        assert not [one for one in book.history() if "/empty/" in one.id]
    whole = prepare(tmp_path, text=FILE.replace("{date}", "2026-01-01"))
    with pytest.raises(ParameterError, match="leave --empty out"):
        sf.Publication.load(whole).run(today=FEBRUARY, empty=["2026-01-02"])
    handed = sf.Publication.load(prepare(tmp_path), source=lambda first, last: None)
    with pytest.raises(ParameterError, match="leave --empty out"):
        handed.backfill("2026-01-01", "2026-01-02", FEBRUARY, empty=["2026-01-02"])


def test_the_shell_takes_several_days(tmp_path):
    path = prepare(tmp_path, days=[1, 4])
    refused = CliRunner().invoke(app, ["publish", "run", str(path), "--today", "2026-02-01"])
    assert refused.exit_code == 2 and "--empty 2026-01-02" in refused.stderr
    days = ["--empty", "2026-01-02", "--empty", "2026-01-03"]
    done = CliRunner().invoke(app, ["publish", "run", str(path), "--today", "2026-02-01", *days])
    assert done.exit_code == 0 and done.stdout.count(": done") == 3


@pytest.mark.parametrize("rule", ["", "periods_per_person = 2\n"], ids=["plain", "people"])
@pytest.mark.parametrize("cut", ["table", "total"])
def test_what_was_frozen_is_completed_without_its_file(tmp_path, monkeypatch, cut, rule):
    """Files of days are moved away; the mutant asks for the file again, or takes the day for an empty one."""
    from sfumato.ask.asked import Asked
    from sfumato.publish.running import RunningTotals

    text = FILE
    if rule:
        text = FILE.replace('day = "Concentrated(1)"\nperson = "none"', 'person = "Concentrated(9)"')
        text = text.replace("windows = [2]\n", rule)
    publication = sf.Publication.load(prepare(tmp_path, text=text))
    kind, name = (Asked, "draw") if cut == "table" else (RunningTotals, "entry")
    with monkeypatch.context() as patch:
        patch.setattr(kind, name, lambda *_: (_ for _ in ()).throw(MemoryError()))
        with pytest.raises(sf.errors.Unfinished):
            publication.run("2026-01-01", today=FEBRUARY)
    place = tmp_path / "in/2026-01-01.parquet"
    kept = place.read_bytes()
    place.unlink()
    with pytest.raises(ParameterError, match=r"was read for 2026-01-01, so its file was there"):
        publication.run(today=FEBRUARY, empty=["2026-01-01"])
    if cut == "table":  # what the total reads was not frozen yet
        with pytest.raises(ParameterError, match="no file for 2026-01-01"):
            publication.run("2026-01-01", today=FEBRUARY)
        assert sum(publication.answers("2026-01-01")["countries"].frame["count"]) != 0
        place.write_bytes(kept)
    publication.run("2026-01-01", today=FEBRUARY)
    assert publication.series("total").periods == ("2026-01-01",) and publication.verify()
    with Ledger(tmp_path / "visits.ledger") as book:
        assert not [one for one in book.history() if "/empty/" in one.id or one.state == "dead"]


def test_a_period_that_was_not_begun_reserves_nothing_without_its_file(tmp_path):
    publication = sf.Publication.load(prepare(tmp_path, days=[1, 3]))
    publication.run("2026-01-01", today=FEBRUARY)
    with Ledger(tmp_path / "visits.ledger") as book:
        before = [(one.id, one.state) for one in book.history()]
    with pytest.raises(ParameterError, match="no file for 2026-01-02"):
        publication.run(today=FEBRUARY)
    with Ledger(tmp_path / "visits.ledger") as book:
        assert [(one.id, one.state) for one in book.history()] == before
