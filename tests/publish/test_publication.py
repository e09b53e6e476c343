"""A publication from its file to its files: planned, tried, run, completed, verified (PB-PUBLISH, PB-RUN)."""

from __future__ import annotations

import csv
import json
import re
import shutil
from datetime import date, datetime

import pyarrow
import pytest
import yaml
from pyarrow import parquet

import sfumato as sf
from sfumato.ask.prepared import Prepared
from sfumato.errors import BudgetExceeded, LedgerError, ParameterError, SchemaError, SfumatoError, Unfinished
from sfumato.ledger import Ledger
from sfumato.publish.calendar import Slot, slots_between
from tests.publish.sample import FILE, ROWS, SCHEMA, prepare, write_day

FEBRUARY = date(2026, 2, 1)


def states(publication, today=FEBRUARY):
    return [(one.name, one.state) for one in publication.status(today)]


def files(home):
    kept = sorted(path for path in (home / "out").rglob("*") if path.is_file())
    return {str(path.relative_to(home)): path.read_bytes() for path in kept}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    home = tmp_path_factory.mktemp("visits")
    publication = sf.Publication.load(prepare(home))
    publication.run(today=FEBRUARY)
    return home, publication


def test_every_period_is_released_once_and_written(published):
    home, publication = published
    assert states(publication) == [(f"2026-01-0{day}", "done") for day in range(1, 5)]
    before = files(home)
    assert publication.run(today=FEBRUARY) == []
    assert files(home) == before
    with Ledger(home / "visits.ledger") as book:
        assert len(book.history()) == 5  # four days and one running total
        assert book.verify().ok
        for day in range(1, 5):
            assert book.spent_in("day", f"2026-01-0{day}").percent == 100
    assert publication.verify()
    table = before["out/visits/period=2026-01-02/countries.csv"].decode().splitlines()
    assert table[0] == "country,count,count_low,count_high" and table[1].startswith("CH,")


def test_what_is_written_says_what_it_is(published):
    home, _ = published
    package = json.loads((home / "out/visits/datapackage.json").read_text())
    assert package["licenses"] == [{"name": "CC-BY-4.0"}]
    paths = {resource["path"]: resource for resource in package["resources"]}
    assert paths["total.csv"]["schema"]["fields"][0] == {"name": "period", "type": "string"}
    assert "hidden" in package["description"]
    registry = yaml.safe_load((home / "out/visits/registry.yaml").read_text())
    assert registry["privacy_unit"] == "person-day" and registry["status"] == "Draft"
    assert registry["privacy_parameters"] == {"rho": 1.0}
    columns = json.loads((home / "out/visits/total.csv-metadata.json").read_text())["tableSchema"]["columns"]
    assert {"name": "total_all_high", "datatype": "number"} in columns
    page = (home / "out/visits/index.html").read_text()
    assert "<svg" in page and "no bound over a lifetime" in page and "never read" in page
    answer = json.loads((home / "out/visits/period=2026-01-02/answer.json").read_text())
    assert answer["tables"]["countries"]["loss"] and "duration" not in json.dumps(answer)


def test_the_page_prints_as_many_digits_as_intervals_leave_certain(published):
    home, publication = published
    frame = publication.answers("2026-01-04")["countries"].frame
    page = (home / "out/visits/index.html").read_text()
    assert f"{frame['count, low'][0]} to {frame['count, high'][0]}" in page and "count, 95 %" in page
    titles = re.findall(r"<title>(.*?)</title>", page)[1:]
    over_time = titles.pop()
    assert over_time.startswith("countries, count by period: CH first ") and "wide at most" in over_time
    assert (
        len(titles) == 4
        and titles[-1].startswith("missing: ")
        and all(re.search(r"first -?\d+, last -?\d+, within [\d.]+ every", one) for one in titles)
    )


def test_what_is_left_out_is_said_on_the_page_and_not_called_missing(tmp_path):
    text = FILE.split('[[table]]\nname = "total"')[0] + "hide_below = 15\n"
    sf.Publication.load(prepare(tmp_path, text=text)).run("2026-01-01", today=FEBRUARY)
    page = (tmp_path / "out/visits/index.html").read_text()
    cells = re.findall(r"<td[^>]*>(.*?)</td>", page)
    assert cells[6:9] == ["other", "below 15", ""] and "for readability and not for privacy" in page


def test_a_running_total_is_a_series(published):
    _, publication = published
    series = publication.series("total")
    assert series.periods == tuple(f"2026-01-0{day}" for day in range(1, 5))
    found = series.totals()
    truth = sum(row[2] == "CH" for row in ROWS)
    assert abs(found.values[-1, 0] - truth) < 4 * found.band[-1]
    assert series.window(2).values.shape == (4, len(series.keys))
    with pytest.raises(ParameterError, match="total"):
        publication.series("countries")


def test_answers_are_read_back_free(published):
    _, publication = published
    answer = publication.answers("2026-01-03")["countries"]
    assert answer.reused and len(answer.frame) >= 2
    assert "Each person is protected for each day on its own" in str(answer)
    assert "There is no bound over a lifetime" in str(answer)
    with pytest.raises(ParameterError, match="no period"):
        publication.answers("2027-01-01")


def test_no_key_stays_on_disk(published):
    home, _ = published
    assert list((home / "visits.ledger.private" / "now").glob("*/*")) == []


def test_lost_files_are_written_again_and_changed_ones_are_found(tmp_path):
    publication = sf.Publication.load(prepare(tmp_path))
    publication.run("2026-01-01", today=FEBRUARY)
    before = files(tmp_path)
    lost = tmp_path / "out/visits/period=2026-01-01/countries.csv"
    lost.unlink()
    assert "not there" in publication.verify().problems[0]
    publication.run("2026-01-01", today=FEBRUARY)
    assert files(tmp_path) == before
    lost.write_text("country,count\nCH,1\n")
    assert "not what was stored" in publication.verify().problems[0]


def test_files_with_the_words_of_an_earlier_version_stay_as_they_are(tmp_path, monkeypatch):
    """That version spoke of protection also where a limit hides nothing."""
    text = FILE.replace("Concentrated(1)", "Concentrated(3)").replace("[output]", "[output]\nformats = ['json']")
    path = prepare(tmp_path, text=text)
    publication, words = sf.Publication.load(path), sf.Publication.words
    with monkeypatch.context() as then:
        then.setattr(sf.Publication, "words", lambda self, **_: words(self, earlier=True))
        publication.run("2026-01-01", today=FEBRUARY)
    stored = "out/visits/period=2026-01-01/answer.json"
    before = files(tmp_path)[stored]
    publication.run("2026-01-02", today=FEBRUARY)
    assert publication.series("total").promise.startswith("one day of one person is not hidden")
    assert b"is right not hidden" in before and files(tmp_path)[stored] == before and publication.verify()
    assert b"is right not hidden" not in files(tmp_path)["out/visits/period=2026-01-02/answer.json"]


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.audit)])
def test_what_readers_get_of_the_whole_is_verified_too(tmp_path, every):
    publication = sf.Publication.load(prepare(tmp_path))
    publication.run(today=FEBRUARY)
    before, home = files(tmp_path), tmp_path / "out/visits"
    assert publication.verify() and publication.verify().files == sum(name.startswith("out/") for name in before)
    copies = [path for path in home.glob("latest/*") if path.is_file()]
    about = [path for path in home.iterdir() if path.is_file() and path.suffix not in (".csv", ".parquet")]
    assert {"index.html", "datapackage.json", "registry.yaml"} < {path.name for path in about}
    for path in (*sorted(copies), *sorted(about))[::every]:
        whole = path.read_bytes()
        path.write_bytes(whole + b"x")
        (problem,) = publication.verify().problems
        assert path.name in problem and "publish run" in problem
        path.write_bytes(whole)
    (home / "latest/countries.csv").unlink()
    assert "not there" in publication.verify().problems[0]
    publication.run(today=FEBRUARY)
    assert files(tmp_path) == before


def test_all_that_is_asked_of_a_period_opens_it_once(tmp_path, monkeypatch):
    opened, true = [], sf.Publication._open
    monkeypatch.setattr(sf.Publication, "_open", lambda *of: opened.append(of[-1].name) or true(*of))
    publication = sf.Publication.load(prepare(tmp_path, days=[1, 2]))
    publication.run("2026-01-01", today=FEBRUARY)
    publication.run("2026-01-02", today=FEBRUARY)
    assert opened == ["2026-01-01", "2026-01-02"]
    assert publication.run("2026-01-02", today=FEBRUARY) == [] and len(opened) == 2  # what is done opens nothing


def test_late_rows_are_never_read(tmp_path):
    publication = sf.Publication.load(prepare(tmp_path))
    publication.run("2026-01-01", today=FEBRUARY)
    before = files(tmp_path)
    write_day(tmp_path, 1, [])
    publication.run("2026-01-01", today=FEBRUARY)
    assert files(tmp_path) == before


def test_periods_become_due_by_the_clock_and_the_wait(tmp_path):
    path = prepare(tmp_path, text=FILE.replace('last = "2026-01-04"', 'last = "2026-01-04"\nwait = "2 days"'))
    publication = sf.Publication.load(path)
    assert states(publication, date(2026, 1, 3)) == [("2026-01-01", "not due")]
    assert states(publication, date(2026, 1, 4))[0] == ("2026-01-01", "due")
    assert publication.run(today=date(2026, 1, 3)) == []


def test_a_missing_file_stops_before_anything_is_charged(tmp_path):
    publication = sf.Publication.load(prepare(tmp_path, days=[1]))
    with pytest.raises(ParameterError, match="no file for 2026-01-02"):
        publication.run(today=FEBRUARY)
    assert states(publication)[:2] == [("2026-01-01", "done"), ("2026-01-02", "due")]
    assert (tmp_path / "out/visits/period=2026-01-01/countries.csv").exists()
    write_day(tmp_path, 2, [])
    publication.run("2026-01-02", today=FEBRUARY)
    assert states(publication)[1] == ("2026-01-02", "done")


def test_running_totals_go_in_order(tmp_path):
    publication = sf.Publication.load(prepare(tmp_path))
    with pytest.raises(ParameterError, match="goes on with 2026-01-01"):
        publication.run("2026-01-03", today=FEBRUARY)
    done = publication.backfill("2026-01-01", "2026-01-02", today=FEBRUARY)
    assert [one.name for one in done] == ["2026-01-01", "2026-01-02"]


def test_no_period_is_published_under_two_editions(tmp_path):
    path = prepare(tmp_path, text=FILE.split("[[table]]")[0] + "[[table]]" + FILE.split("[[table]]")[1])
    sf.Publication.load(path).run("2026-01-01", today=FEBRUARY)
    before = files(tmp_path)
    path.write_text(path.read_text().replace("Concentrated(0.5)", "Concentrated(0.25)"))
    changed = sf.Publication.load(path)
    assert states(changed)[0] == ("2026-01-01", "other edition")
    changed.run("2026-01-02", today=FEBRUARY)
    after = files(tmp_path)
    name = "out/visits/period=2026-01-01/countries.csv"
    assert after[name] == before[name]


def test_a_limit_refuses_and_the_plan_says_when(tmp_path):
    text = FILE.replace('person = "none"', 'month = "Concentrated(1.2)"\nperson = "none"').split("[[table]]")
    path = prepare(tmp_path, text=text[0] + "[[table]]" + text[1])
    publication = sf.Publication.load(path)
    plan = publication.plan()
    assert plan.refused is not None and plan.refused.startswith("2026-01-03") and "month 2026-01" in plan.refused
    with pytest.raises(BudgetExceeded, match="month 2026-01"):
        publication.run(today=FEBRUARY)
    assert [state for _, state in states(publication)] == ["done", "done", "due", "due"]


def test_the_plan_reads_no_data_and_says_the_promise(tmp_path):
    plan = sf.Publication.load(prepare(tmp_path, days=[])).plan()
    said = str(plan)
    assert "Each person is protected for each day on its own" in said
    assert "There is no bound over a lifetime" in said and "not hidden" in said
    assert plan.refused is None and [one.name for one in plan.tables] == ["countries", "total"]
    assert "±" in plan.tables[0].error and "all periods at once" in plan.tables[1].error
    assert not (tmp_path / "visits.ledger").exists()


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ('last = "2026-01-04"', "after all 4 "),
        ("horizon = 10", "after the 10 of the declared horizon "),
        ("horizon = 400", "after 30 of them not hidden (Concentrated(900)); after 365 "),
    ],
)
def test_the_plan_speaks_of_as_many_periods_as_are_declared(tmp_path, end, words):
    publication = sf.Publication.load(prepare(tmp_path, days=[], text=FILE.replace('last = "2026-01-04"', end)))
    assert f"Somebody who comes every day: {words}" in str(publication.plan())


def test_notes_in_other_words_make_no_other_edition(tmp_path, monkeypatch):
    text = FILE.split("[[table]]")[0] + "[[table]]" + FILE.split("[[table]]")[1]
    path = prepare(tmp_path, text=text)
    sf.Publication.load(path).run("2026-01-01", today=FEBRUARY)
    monkeypatch.setattr(Prepared, "notes", lambda prepared: ("the same, in other words",))
    later = sf.Publication.load(path)
    assert states(later)[0] == ("2026-01-01", "done") and later.answers("2026-01-01")["countries"].value


def test_a_preview_is_made_up_and_says_so(tmp_path):
    publication = sf.Publication.load(prepare(tmp_path, days=[]))
    place = publication.preview()
    page = (place / "visits/index.html").read_text()
    assert "Made up" in page and (place / "visits/period=2026-01-01/countries.csv").exists()
    assert not (tmp_path / "visits.ledger").exists()


def test_a_spend_for_each_attribute_is_charged_as_what_a_person_costs(tmp_path):
    text = FILE.split("[[table]]")[0].replace("Concentrated(1)", "Approximate(2, 1e-5)")
    text += """
[[table]]
name = "pay"
question = "sum pay"
spend = "Pure(1).per_attribute()"

[[table]]
name = "rows"
question = "count"
spend = "Approximate(0.5, 1e-6)"
"""
    path = prepare(tmp_path, text=text)
    pay = '[columns.pay]\ntype = "integer"\nlow = 100\nhigh = 101\nmissing = 100\n'
    (tmp_path / "visits.schema.toml").write_text(SCHEMA + pay)
    # Another pay moves the sum by 1 for every row, and a person who is there or not by 101.
    plan = sf.Publication.load(path).plan()
    assert plan.tables[0].spend == "day: epsilon 101"
    assert plan.refused is not None and "epsilon 102 asked, 2 left" in plan.refused


def test_made_up_rows_and_keys_that_are_found(tmp_path):
    text = FILE.split("[[table]]")[0].replace("Concentrated(1)", "Approximate(2, 1e-6)")
    text += """
[[table]]
name = "found"
question = "count by country found privately"
spend = "Approximate(0.5, 1e-8)"

[[table]]
name = "rows"
question = "synthesize country"
every = "month"
spend = "Concentrated(0.01)"
"""
    path = prepare(tmp_path, text=text.replace("2026-01-04", "2026-01-31"))
    for day in range(5, 32):
        write_day(tmp_path, day, [])
    publication = sf.Publication.load(path)
    publication.run("2026-01-01", today=FEBRUARY)
    publication.run("2026-01", today=FEBRUARY)
    assert (tmp_path / "out/visits/period=2026-01/rows.csv").read_text().startswith("country\n")
    assert publication.verify()
    with Ledger(tmp_path / "visits.ledger") as book:
        assert book.spent_in("day", "2026-01-31").percent > 0  # a month is charged to each of its days
    path.write_text(text.replace("synthesize country", "synopsis of country"))
    with pytest.raises(sf.errors.SfumatoError):
        sf.Publication.load(path).plan()


def test_an_end_that_nobody_knows(tmp_path):
    text = FILE.replace('last = "2026-01-04"', "horizon = 1")
    publication = sf.Publication.load(prepare(tmp_path, text=text))
    publication.run(today=date(2026, 1, 5))
    series = publication.series("total")
    assert [len(one.released) for one in series.segments] == [1, 2, 1]
    assert [one.factor.periods for one in series.segments] == [1, 2, 4]
    assert series.totals().half[3] > series.totals().half[0]
    lines = (tmp_path / "out/visits/total.csv").read_text().splitlines()
    assert "last_2_low" in lines[0] and all(map(float, lines[-1].split(",")[-5:]))
    assert "a new horizon begins at 2026-01-02, 2026-01-04" in (tmp_path / "out/visits/index.html").read_text()
    assert publication.verify()


def test_a_lost_reading_ends_a_running_total_and_is_never_read_again(tmp_path):
    publication = sf.Publication.load(prepare(tmp_path))
    publication.run("2026-01-01", today=FEBRUARY)
    (kept,) = (tmp_path / "visits.ledger.private" / "read").iterdir()
    kept.write_bytes(b"another")
    with pytest.raises(LedgerError, match="it has ended"):
        publication.run("2026-01-02", today=FEBRUARY)
    assert states(publication)[1] == ("2026-01-02", "dead")
    publication.run("2026-01-03", today=FEBRUARY)  # the tables that are asked anew go on
    assert states(publication)[2] == ("2026-01-03", "dead")
    assert publication.answers("2026-01-03")


def test_a_private_place_that_is_not_mounted_ends_nothing(tmp_path):
    publication = sf.Publication.load(prepare(tmp_path))
    publication.run(today=date(2026, 1, 3))
    private, before = tmp_path / "visits.ledger.private", files(tmp_path)
    private.rename(tmp_path / "elsewhere")
    with pytest.raises(Unfinished, match=r"mount it or put it back.*--give-up running/total;"):
        publication.run(today=date(2026, 1, 4))
    (private / "read").mkdir()  # what is left where a disk was mounted
    with pytest.raises(Unfinished, match=r"or it is empty.*mount it or put it back"):
        publication.run(today=date(2026, 1, 4))
    with Ledger(tmp_path / "visits.ledger") as book:
        assert "pub/visits/2026-01-03" not in {entry.id for entry in book.history()}  # nothing was charged
    shutil.rmtree(private)
    (tmp_path / "elsewhere").rename(private)
    assert files(tmp_path) == before
    publication.run(today=date(2026, 1, 4))
    assert states(publication, date(2026, 1, 4))[:3] == [(f"2026-01-0{day}", "done") for day in (1, 2, 3)]
    shutil.rmtree(private)
    publication.give_up("running/total")
    assert [one.name for one in publication.run(today=date(2026, 1, 5))] == ["2026-01-04"]


def test_a_total_that_nobody_released_yet_may_begin(tmp_path):
    """A run with nothing due writes its files without a row; a file with one is of another ledger."""
    text = FILE.split("[[table]]")[0] + "[[table]]" + FILE.split("[[table]]")[2]
    publication = sf.Publication.load(prepare(tmp_path, text=text))
    assert publication.run(today=date(2026, 1, 1)) == [] and (tmp_path / "out/visits/total.csv").exists()
    assert [one.name for one in publication.run(today=date(2026, 1, 2))] == ["2026-01-01"]
    (tmp_path / "visits.ledger").unlink()
    for kind in ("parquet", "csv"):
        with pytest.raises(LedgerError, match=f"total.{kind} was published, and the ledger"):
            publication.run(today=date(2026, 1, 3))
        (tmp_path / f"out/visits/total.{kind}").unlink()
    alone = sf.Publication.load(prepare(tmp_path, text=FILE.split('[[table]]\nname = "total"')[0]))
    (tmp_path / "out/visits/period=2026-01-01").mkdir()
    (tmp_path / "out/visits/period=2026-01-01/answer.json").write_text("{}")
    with pytest.raises(LedgerError, match=r"answer\.json was published, and the ledger"):
        alone.run(today=date(2026, 1, 3))


@pytest.mark.parametrize("kinds", ['["parquet", "csv"]', '["parquet"]', '["csv"]'])
def test_an_older_copy_of_the_ledger_draws_no_step_of_a_total_again(tmp_path, kinds):
    text = FILE.split("[[table]]")[0] + "[[table]]" + FILE.split("[[table]]")[2]
    formats = text.replace("[output]", f"[output]\nformats = {kinds}")
    publication = sf.Publication.load(prepare(tmp_path, text=formats))
    publication.run(today=date(2026, 1, 2))
    book = tmp_path / "visits.ledger"
    older = book.read_bytes()
    publication.run(today=date(2026, 1, 3))
    newest, before = book.read_bytes(), files(tmp_path)
    book.write_bytes(older)
    with pytest.raises(LedgerError, match=r"total\.\w+ was published, and the ledger"):
        publication.run(today=date(2026, 1, 4))
    book.write_bytes(newest)
    assert files(tmp_path) == before and publication.run(today=date(2026, 1, 3)) == []


def test_a_lost_ledger_is_noticed_whatever_is_due(tmp_path):
    text = FILE.split('[[table]]\nname = "total"')[0]
    publication = sf.Publication.load(prepare(tmp_path, text=text))
    publication.run(today=date(2026, 1, 2))
    (tmp_path / "visits.ledger").unlink()
    with pytest.raises(LedgerError, match="was published, and the ledger"):
        publication.run("2026-01-02", today=date(2026, 1, 4))


def test_given_up_is_dead_and_stays_spent(tmp_path, monkeypatch):
    from sfumato.ask.asked import Asked

    path = prepare(tmp_path, text=FILE.split("[[table]]")[0] + "[[table]]" + FILE.split("[[table]]")[1])
    publication = sf.Publication.load(path)
    monkeypatch.setattr(Asked, "draw", lambda *_: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(sf.errors.Unfinished):
        publication.run("2026-01-01", today=FEBRUARY)
    monkeypatch.undo()
    assert states(publication)[0] == ("2026-01-01", "begun")
    publication.give_up("2026-01-01")
    assert states(publication)[0] == ("2026-01-01", "dead")
    said = "2026-01-01 has no answer: it was given up, or its draw failed. It stays a gap."
    assert said in (tmp_path / "out/visits/index.html").read_text() and publication.verify()
    with Ledger(tmp_path / "visits.ledger") as book:
        assert book.spent_in("day", "2026-01-01").percent == 50


def test_a_dead_period_is_charged_anew_if_asked_for(tmp_path, monkeypatch):
    """It has another request, in full; cut short it is completed like any other, and a limit refuses the third."""
    from sfumato.ask.asked import Asked

    path = prepare(tmp_path, text=FILE.split("[[table]]")[0] + "[[table]]" + FILE.split("[[table]]")[1])
    publication = sf.Publication.load(path)
    with pytest.raises(ParameterError, match="Only a period whose tables are dead"):
        publication.run("2026-01-01", today=FEBRUARY, again=True)
    for again in (False, True):
        with monkeypatch.context() as patch:
            patch.setattr(Asked, "draw", lambda *_: (_ for _ in ()).throw(MemoryError()))
            with pytest.raises(sf.errors.Unfinished):
                publication.run("2026-01-01", today=FEBRUARY, again=again)
        assert states(publication)[0] == ("2026-01-01", "begun")
        if not again:
            publication.give_up("2026-01-01")
            publication.run(today=FEBRUARY)
            assert states(publication)[0] == ("2026-01-01", "dead") and publication.answers("2026-01-01") == {}
    publication.run(today=FEBRUARY)
    assert {state for _, state in states(publication)} == {"done"} and publication.verify()
    assert (tmp_path / "out/visits/period=2026-01-01/countries.csv").exists()
    assert len(publication.answers("2026-01-01")["countries"].frame) >= 2
    with Ledger(tmp_path / "visits.ledger") as book:
        assert book.spent_in("day", "2026-01-01").percent == 100 and len(book.history()) == 5
    with pytest.raises(ParameterError, match="Only a period whose tables are dead"):
        publication.run("2026-01-01", today=FEBRUARY, again=True)


def test_a_dead_period_that_has_no_room_is_refused(tmp_path, monkeypatch):
    from sfumato.ask.asked import Asked

    text = FILE.split("[[table]]")[0].replace("Concentrated(1)", "Concentrated(0.7)") + "[[table]]"
    publication = sf.Publication.load(prepare(tmp_path, text=text + FILE.split("[[table]]")[1]))
    with monkeypatch.context() as patch:
        patch.setattr(Asked, "draw", lambda *_: 1 / 0)
        with pytest.raises(SfumatoError):
            publication.run("2026-01-01", today=FEBRUARY)
    assert states(publication)[0] == ("2026-01-01", "dead")
    with pytest.raises(BudgetExceeded):
        publication.run("2026-01-01", today=FEBRUARY, again=True)
    assert states(publication)[0] == ("2026-01-01", "dead")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('stamp = "at"', 'stmap = "at"', "did you mean 'stamp'"),
        ('stamp = "at"', 'stamp = "country"', "declare it by dates"),
        ('first = "2026-01-01"', 'first = "2025-12-01"', "begins before"),
        ('last = "2026-01-04"', 'last = "2025-12-31"', "write the earlier day first"),
        ('last = "2026-01-04"', "", "horizon = 400"),
        ('period = "day"', 'period = "hour"', "write one of day"),
        ('person = "none"', "", "what holds for a whole person"),
        (
            'spend = "Concentrated(0.5)"\n\n[output]',
            'spend = "Approximate(1, 1e-6)"\n\n[output]',
            "paid by Concentrated",
        ),
        ('running = "count by country"', 'running = "mean of at"', "counts rows|mean"),
        ('name = "visits"', 'name = "My Visits"', "small letters"),
        ("windows = [2]", "windows = [0]", "from 1 on"),
        ("windows = [2]", 'monotone = "yes"', "write monotone = true"),
        ('question = "count by country"', 'question = "count by country"\nmonotone = true', "counts that run on"),
        ("[output]", "[outputs]", "did you mean 'output'"),
        ('name = "total"', 'name = "countries"', "same name"),
        (
            'question = "count by country"',
            'question = "count by country"\nevery = "month"\nwindows = [7]',
            "no windows",
        ),
        ('licence = "CC-BY-4.0"', 'formats = ["xlsx"]', "No format is called"),
        ('person = "none"', 'person = "none"\nhousehold = "Pure(1)"', "the schema's person = 'household'"),
        ('person = "none"', 'person = "none"\nweak = "Pure(1)"', "did you mean 'week'"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, old, new, said):
    assert old in FILE
    path = prepare(tmp_path, text=FILE.replace(old, new), days=[])
    with pytest.raises((ParameterError, SchemaError), match=said):
        sf.Publication.load(path).plan()


def test_a_stamp_that_takes_bad_cells_for_a_day_is_refused(tmp_path):
    path = prepare(tmp_path, days=[])
    schema = SCHEMA.replace("latest = 2030-12-31", "latest = 2030-12-31\nmissing = 2026-01-02")
    (tmp_path / "visits.schema.toml").write_text(schema)
    with pytest.raises(SchemaError, match="belong to no day"):
        sf.Publication.load(path)


def test_periods_by_name():
    assert [slot.name for slot in slots_between("week", date(2026, 12, 20), date(2027, 1, 20))] == [
        "2026-W52",
        "2026-W53",
        "2027-W01",
        "2027-W02",
    ]
    assert Slot.of("month", date(2024, 2, 5)).last == date(2024, 2, 29)
    assert [slot.name for slot in Slot.of("week", date(2026, 12, 30)).meets("month")] == ["2026-12", "2027-01"]
    assert Slot.of("quarter", date(2026, 5, 5)).name == "2026-Q2" and Slot.of("year", date(2026, 5, 5)).name == "2026"
    with pytest.raises(ParameterError, match="write one of"):
        Slot.of("decade", date(2026, 1, 1))


def test_a_clock_that_is_set_back_takes_nothing_out_of_a_publication(tmp_path, monkeypatch):
    """What was released stays released, also where the file names no last period."""
    text = FILE.replace('last = "2026-01-04"', "horizon = 1")
    path = prepare(tmp_path, text=text)
    publication = sf.Publication.load(path)
    publication.run(today=date(2026, 1, 4))
    before = files(tmp_path)
    assert "out/visits/period=2026-01-03/countries.csv" in before and publication.verify()

    class SetBack(datetime):
        @classmethod
        def now(cls, zone=None):
            return cls(2026, 1, 2, tzinfo=zone)

    monkeypatch.setattr("sfumato.publish.publication.datetime", SetBack)
    assert publication.run() == []
    assert publication.verify() and files(tmp_path) == before
    assert publication.answers("2026-01-03")["countries"].reused
    with Ledger(tmp_path / "visits.ledger") as book:
        charged = len(book.history())
    publication.run(today=date(2026, 1, 4))
    with Ledger(tmp_path / "visits.ledger") as book:
        assert len(book.history()) == charged and book.verify().ok


def test_a_mean_of_nobody_is_called_not_known_in_files_and_on_the_page(tmp_path):
    """Pure noise between the ends of a range was once published as a mean like any other."""
    text = FILE.split("[[table]]")[0].replace("Concentrated(1)", "Concentrated(90)")
    text += """
[[table]]
name = "pay"
question = "mean of pay by country"
spend = "Concentrated(40)"

[[table]]
name = "so_far"
running = "mean of pay by country"
spend = "Concentrated(40)"

[output]
to = "out"
formats = ["csv", "parquet", "html"]
"""
    path = prepare(tmp_path, text=text)
    pay = '[columns.pay]\ntype = "integer"\nlow = 0\nhigh = 100\n'
    (tmp_path / "visits.schema.toml").write_text(SCHEMA + pay)
    for place in (tmp_path / "in").iterdir():
        table = parquet.read_table(place)
        parquet.write_table(table.append_column("pay", pyarrow.array([50] * len(table))), place)
    publication = sf.Publication.load(path)
    publication.run("2026-01-01", today=FEBRUARY)
    home = tmp_path / "out/visits"
    rows = list(csv.DictReader((home / "period=2026-01-01/pay.csv").read_text().splitlines()))
    known = {row["country"]: row["mean_of_pay_known"] for row in rows}
    # A missing key is called so, as in the files of query.
    assert known == {"CH": "true", "DE": "true", "other": "false", "missing": "false"}
    stored = parquet.read_table(home / "period=2026-01-01/pay.parquet").to_pydict()
    assert stored["country"][-1] is None and stored["mean_of_pay_known"] == [True, True, False, False]
    rows = list(csv.DictReader((home / "so_far.csv").read_text().splitlines()))
    assert {row["country"]: row["mean_known"] for row in rows} == known
    page = (home / "index.html").read_text()
    assert page.count("not known") == 2 and "the interval is all that is known" in page
    about = json.loads((home / "pay.csv-metadata.json").read_text())
    assert about["tableSchema"]["columns"][-1] == {"name": "mean_of_pay_known", "datatype": "boolean"}
    assert "noise alone" in about["dc:description"] and publication.verify()
    # Files of earlier versions, which had no such column, are as they were stored too; the next run keeps them.
    for name in ("period=2026-01-01/pay.csv", "so_far.csv"):
        lines = [line.rpartition(",")[0] for line in (home / name).read_text().splitlines()]
        (home / name).write_text("".join(f"{line}\n" for line in lines).replace("missing,", ","))
    before = [one for one in publication.verify().problems if "period=" in one or "so_far.csv " in one]
    assert before == []
    (home / "period=2026-01-01/pay.csv").write_text("country,mean_of_pay\nCH,7\n")
    assert any("period=2026-01-01/pay.csv is not what was stored" in one for one in publication.verify().problems)
