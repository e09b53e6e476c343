"""A changed file: totals go on, what was published stays what it was, what was cut short is named (PB-PUBLISH, PB-RUN)."""

from __future__ import annotations

import json
from datetime import date

import pytest

import sfumato as sf
from sfumato.ask.asked import Asked
from sfumato.errors import LedgerError
from sfumato.ledger import Ledger
from sfumato.mechanism import Event
from sfumato.publish.total import RunningTable
from tests.publish.sample import FILE, prepare

FEBRUARY = date(2026, 2, 1)
HEAD, ANEW, TOTAL = FILE.split("[[table]]")
SMALL = HEAD + "[[table]]" + TOTAL.replace('licence = "CC-BY-4.0"', 'formats = ["csv", "json", "html"]')
PERIODS = HEAD + "[[table]]" + ANEW + '[output]\nto = "out"\nformats = ["csv", "json"]\n'
WAITS = 'last = "2026-01-04"\nwait = "1 days"\nfrom = "2026-01-02"'
MORE = '\n[[table]]\nname = "more"\nquestion = "count"\nspend = "Concentrated(0.25)"\n'


def states(publication, today=FEBRUARY):
    return {one.name: one.state for one in publication.status(today)}


def later(text: str) -> str:
    return text.replace('last = "2026-01-04"', WAITS)


def earlier_event(self: RunningTable) -> Event:
    """What versions wrote that named the whole file by its edition."""
    event = RunningTable.event.whole(self)
    said = {name: value for name, value in event.parameters.items() if name != "total"}
    return Event(event.name, event.spec, {**said, "edition": self.file.edition}, event.version)


@pytest.fixture
def as_earlier_versions_did(monkeypatch):
    earlier_event.whole = RunningTable.event
    monkeypatch.setattr(RunningTable, "event", earlier_event)
    return monkeypatch


def charged(home):
    with Ledger(home / "visits.ledger") as book:
        asked = [one for one in book.history() if one.event["name"] != "Days"]
        return [(one.id, one.person) for one in asked], book.spent_in("day", "2026-01-02").percent


@pytest.mark.parametrize(
    "changed",
    [later(SMALL), pytest.param(later(SMALL).replace("[output]", MORE + "\n[output]"), marks=pytest.mark.audit)],
)
def test_a_running_total_goes_on_under_another_edition(tmp_path, changed):
    path = prepare(tmp_path, text=SMALL)
    sf.Publication.load(path).run("2026-01-01", today=FEBRUARY)
    first, before = sf.Publication.load(path).series("total").totals().values, charged(tmp_path)
    path.write_text(changed)
    publication = sf.Publication.load(path)
    assert states(publication)["2026-01-02"] == "due"
    assert [one.state for one in publication.run(today=FEBRUARY)] == ["done"] * 3
    series = publication.series("total")
    assert len(series.periods) == 4 and (series.totals().values[0] == first[0]).all()
    assert publication.verify(), publication.verify().problems
    totals = [one for one in charged(tmp_path)[0] if "/running/" in one[0]]
    assert totals == [one for one in before[0] if "/running/" in one[0]]  # and nothing was charged again for it


def test_a_total_that_an_earlier_version_began_goes_on(tmp_path, as_earlier_versions_did):
    path = prepare(tmp_path, text=SMALL)
    sf.Publication.load(path).run("2026-01-01", today=FEBRUARY)
    with Ledger(tmp_path / "visits.ledger") as book:
        assert any("edition" in one.event["parameters"] for one in book.history())
    as_earlier_versions_did.undo()
    before = charged(tmp_path)
    sf.Publication.load(path).run("2026-01-02", today=FEBRUARY)
    path.write_text(later(SMALL))
    publication = sf.Publication.load(path)
    publication.run(today=FEBRUARY)
    assert len(publication.series("total").periods) == 4 and publication.verify()
    assert charged(tmp_path) == before
    # What it was cannot be told from one digest where another column may have been the stamp, or another zone held.
    path.write_text(later(SMALL).replace('stamp = "at"', 'stamp = "at"\nzone = "Europe/Berlin"'))
    publication = sf.Publication.load(path)
    with pytest.raises(LedgerError, match="begun as another one"):
        publication.series("total")
    assert states(publication)["running/total"] == "other edition" and publication.run(today=FEBRUARY) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('running = "count by country"', 'running = "count"'),
        pytest.param('spend = "Concentrated(0.5)"', 'spend = "Concentrated(0.25)"', marks=pytest.mark.audit),
        pytest.param('last = "2026-01-04"', 'last = "2026-01-05"', marks=pytest.mark.audit),
    ],
)
def test_another_total_of_the_same_name_is_shown_as_it_stands(tmp_path, old, new):
    path = prepare(tmp_path, text=SMALL)
    sf.Publication.load(path).run("2026-01-01", today=FEBRUARY)
    before, shown = charged(tmp_path), (tmp_path / "out/visits/total.csv").read_bytes()
    path.write_text(SMALL.replace(old, new) + MORE)
    publication = sf.Publication.load(path)
    (said,) = [one for one in publication.status(FEBRUARY) if one.name == "running/total"]
    assert said.state == "other edition" and "takes no further step" in said.to_json()["note"]
    publication.run("2026-01-02", today=FEBRUARY)  # the other tables go on
    assert publication.answers("2026-01-02")["more"]
    assert publication.series("total").periods == ("2026-01-01",)
    assert (tmp_path / "out/visits/total.csv").read_bytes() == shown
    assert "takes no further step" in (tmp_path / "out/visits/index.html").read_text()
    found = publication.verify()
    assert found and any("takes no further step" in one for one in found.notes)
    path.write_text(SMALL)
    sf.Publication.load(path).run(today=FEBRUARY)
    assert len(sf.Publication.load(path).series("total").periods) == 4
    assert [one for one in charged(tmp_path)[0] if "/running/" in one[0]] == before[0]


def test_a_total_takes_the_steps_of_periods_that_an_earlier_edition_left(tmp_path):
    path = prepare(tmp_path, text=SMALL)
    sf.Publication.load(path).run("2026-01-01", today=FEBRUARY)
    path.write_text(later(SMALL).replace('from = "2026-01-02"', 'from = "2026-01-04"'))
    publication = sf.Publication.load(path)
    publication.run(today=FEBRUARY)
    assert publication.series("total").periods == tuple(f"2026-01-0{day}" for day in range(1, 5))


def test_a_total_that_was_taken_out_of_the_file_is_named(tmp_path):
    path = prepare(tmp_path, text=SMALL)
    sf.Publication.load(path).run("2026-01-01", today=FEBRUARY)
    path.write_text(later(HEAD) + MORE)
    publication = sf.Publication.load(path)
    publication.run(today=FEBRUARY)
    assert states(publication)["running/total"] == "other edition" and publication.verify()
    kept = tmp_path / "out/visits/total.csv"
    kept.write_text(kept.read_text() + "x")
    assert "total.csv is of another edition" in publication.verify().problems[0]


def test_what_a_total_that_ended_had_published_stays(tmp_path):
    path = prepare(tmp_path, text=SMALL)
    publication = sf.Publication.load(path)
    publication.run("2026-01-01", today=FEBRUARY)
    shown = (tmp_path / "out/visits/total.csv").read_bytes()
    publication.give_up("running/total")
    publication.run(today=FEBRUARY)
    assert (tmp_path / "out/visits/total.csv").read_bytes() == shown and publication.verify()
    assert "has ended" in (tmp_path / "out/visits/index.html").read_text()


@pytest.mark.parametrize("kept", [True, False])
def test_a_changed_file_of_an_earlier_edition_is_never_blessed(tmp_path, monkeypatch, kept):
    """`kept`: the ledger has its digest; versions before had it in the data package only."""
    if not kept:
        monkeypatch.setattr("sfumato.publish.digests.Digests.save", lambda *_: None)
    path = prepare(tmp_path, text=PERIODS)
    sf.Publication.load(path).run("2026-01-01", today=FEBRUARY)
    monkeypatch.undo()
    path.write_text(later(PERIODS))
    publication = sf.Publication.load(path)
    changed = tmp_path / "out/visits/period=2026-01-01/countries.csv"
    whole = changed.read_bytes()
    changed.write_bytes(whole + b"XX,999,0,0\n")
    for day in (2, 3):
        assert "2026-01-01/countries.csv is of another edition" in publication.verify().problems[0]
        publication.run(f"2026-01-0{day}", today=FEBRUARY)
    (problem,) = publication.verify().problems
    assert "2026-01-01/countries.csv" in problem
    changed.unlink()
    assert "is not there and is of another edition" in publication.verify().problems[0]
    changed.write_bytes(whole)
    assert publication.verify()
    (changed.parent / "extra.csv").write_text("a\n1\n")
    publication.run("2026-01-04", today=FEBRUARY)
    (problem,) = publication.verify().problems
    assert problem.startswith("period=2026-01-01/extra.csv is no file that was published")


def test_a_changed_file_is_neither_listed_nor_copied(tmp_path):
    publication = sf.Publication.load(prepare(tmp_path, text=PERIODS))
    publication.run("2026-01-01", today=FEBRUARY)
    home = tmp_path / "out/visits"
    listed, copy = (home / "datapackage.json").read_bytes(), (home / "latest/countries.csv").read_bytes()
    changed = home / "period=2026-01-01/countries.csv"
    changed.write_bytes(changed.read_bytes() + b"XX,999,0,0\n")
    publication.run("2026-01-01", today=FEBRUARY)
    assert (home / "datapackage.json").read_bytes() == listed
    assert (home / "latest/countries.csv").read_bytes() == copy


def test_metadata_are_those_of_the_table_of_that_name(tmp_path):
    text = PERIODS.replace('name = "countries"', 'name = "subtotal"').replace("Concentrated(0.5)", "Concentrated(0.25)")
    more = MORE.replace('name = "more"', 'name = "total"')
    publication = sf.Publication.load(prepare(tmp_path, text=text.replace("[output]", more + "\n[output]")))
    publication.run("2026-01-01", today=FEBRUARY)
    for name in ("total", "subtotal"):
        columns = json.loads((tmp_path / f"out/visits/{name}.csv-metadata.json").read_text())["tableSchema"]["columns"]
        first = (tmp_path / f"out/visits/period=2026-01-01/{name}.csv").read_text().splitlines()[0]
        assert ",".join(one["name"] for one in columns) == first


def cut_short(publication, monkeypatch, period):
    monkeypatch.setattr(Asked, "draw", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        publication.run(period, today=FEBRUARY)
    monkeypatch.undo()


@pytest.mark.parametrize("since", ["2026-01-01", "2026-01-03"])
@pytest.mark.parametrize("ends", ["restored", "given up"])
def test_a_period_cut_short_under_an_earlier_edition_is_named_and_blocks_nothing(tmp_path, monkeypatch, since, ends):
    path = prepare(tmp_path, text=PERIODS)
    old = sf.Publication.load(path)
    old.run("2026-01-01", today=FEBRUARY)
    cut_short(old, monkeypatch, "2026-01-02")
    before = charged(tmp_path)
    said = 'last = "2026-01-04"\nfrom = "' + since + '"'
    path.write_text(PERIODS.replace('last = "2026-01-04"', said).replace("[output]", MORE + "\n[output]"))
    publication = sf.Publication.load(path)
    assert states(publication)["2026-01-02"] == "begun under another edition"
    done = publication.run(today=FEBRUARY)
    assert [(one.name, one.state) for one in done] == [("2026-01-03", "done"), ("2026-01-04", "done")]
    (problem,) = publication.verify().problems
    assert "2026-01-02 was begun under an earlier edition of the file: restore that file to finish it" in problem
    if since == "2026-01-01":
        with pytest.raises(LedgerError, match="restore that file"):
            publication.run("2026-01-02", today=FEBRUARY)
    assert charged(tmp_path)[0][: len(before[0])] == before[0] and charged(tmp_path)[1] == before[1]
    if ends == "restored":
        assert [one.state for one in old.run("2026-01-02", today=FEBRUARY)] == ["done"]
    else:
        publication.give_up("2026-01-02")
    assert states(publication).get("2026-01-02") != "begun under another edition"
    assert charged(tmp_path)[1] == before[1]
    assert not any("2026-01-02" in one for one in publication.verify().problems)


def test_a_total_steps_past_a_table_that_was_cut_short(tmp_path, monkeypatch):
    text = FILE.replace('day = "Concentrated(1)"', 'day = "Concentrated(2)"')
    path = prepare(tmp_path, text=text)
    old = sf.Publication.load(path)
    old.run("2026-01-01", today=FEBRUARY)
    cut_short(old, monkeypatch, "2026-01-02")
    path.write_text(later(text).replace('\nfrom = "2026-01-02"', ""))
    publication = sf.Publication.load(path)
    publication.run(today=FEBRUARY)
    assert len(publication.series("total").periods) == 4
    assert states(publication)["2026-01-02"] == "begun under another edition"
