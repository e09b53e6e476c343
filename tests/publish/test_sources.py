"""Where the rows of a period come from: a function, a mapping in place of a file, and Spark with the same numbers."""

from __future__ import annotations

import tomllib
from datetime import date, timedelta

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import sfumato as sf
from sfumato import Noise
from sfumato.errors import ParameterError
from sfumato.ledger import Ledger
from tests.publish.sample import FILE, ROWS, prepare
from tests.publish.test_found import TEXT, WORDS
from tests.table.cluster import SPARK_MARKS

FEBRUARY = date(2026, 2, 1)


@pytest.fixture
def quiet(monkeypatch):
    silent(monkeypatch)


def silent(monkeypatch):
    monkeypatch.setattr(Noise, "draw", lambda self, law, size=None: np.zeros(size, np.int64))


def test_a_function_may_hand_over_the_rows(tmp_path, monkeypatch):
    """It may hand over more than was asked for: rows of other days are left out."""
    silent(monkeypatch)
    everything = pyarrow.table(
        {
            "id": [row[0] for row in ROWS],
            "at": [date(2026, 1, row[1]) for row in ROWS],
            "country": [row[2] for row in ROWS],
        }
    )
    asked = []

    def rows(first, last):
        asked.append((first, last))
        return everything

    publication = sf.Publication.load(prepare(tmp_path, days=[]), source=rows)
    publication.run("2026-01-01", today=FEBRUARY)
    assert asked == [(date(2026, 1, 1), date(2026, 1, 1))]
    publication.run(today=FEBRUARY)
    assert publication.series("total").totals().values.sum(axis=1).tolist() == [24, 48, 72, 96]
    assert publication.answers("2026-01-02")["countries"].value["count"][0] == 16
    assert publication.verify()


def test_a_mapping_is_a_publication_too(tmp_path):
    path = prepare(tmp_path)
    declared = sf.Publication.declare(tomllib.loads(FILE), tmp_path)
    assert declared.file == sf.Publication.load(path).file
    declared.run("2026-01-01", today=FEBRUARY)
    assert sf.Publication.load(path).status(FEBRUARY)[0].state == "done"


@pytest.mark.parametrize(
    ("line", "said"),
    [('engine = "sparc"', "write one of duckdb, spark"), ('engine = "spark"', "Lists of people lie in memory here")],
)
def test_engines_that_cannot_are_said(tmp_path, line, said):
    text = FILE.replace('stamp = "at"', f'stamp = "at"\n{line}').replace('day = "Concentrated(1)"\n', "")
    text = text.replace('"none"', '"Concentrated(99)"').replace("windows = [2]", "periods_per_person = 2")
    with pytest.raises(ParameterError, match=said):
        sf.Publication.load(prepare(tmp_path, text=text, days=[]))


def frozen(publication, unit="day"):
    """Return the exact integers that would be frozen of the first period of a unit, and those of a running total."""
    from sfumato.ask.packing import pack
    from sfumato.publish.calendar import Slot
    from sfumato.publish.total import RunningTable

    slot = Slot.of(unit, date(2026, 1, 1))
    with publication._ledger() as book:
        listed = publication.file.anew(unit)
        asked = publication._tables.asked(book, listed)
        with publication._open(publication._source(book, slot), slot) as table:
            asked.check(table)
            found = [pack(asked.read(table))]
        for spec in publication.file.running() if unit == "day" else ():
            running = RunningTable(publication.file, spec, 0, lambda slot: [("tea",)])
            found.append(
                running._read(
                    slot,
                    lambda: publication._open(publication._source(book, slot), slot),
                    None,
                )
            )
    return found


TABLES = """
[[table]]
name = "monthly"
question = "count by country"
every = "month"
spend = "Concentrated(0.1)"

[[table]]
name = "sums"
running = "sum of pay by country"
spend = "Concentrated(0.1)"

[output]"""


class TestSpark:
    pytestmark = SPARK_MARKS

    @pytest.mark.parametrize(
        "text",
        [
            FILE.replace("[output]", TABLES),
            pytest.param(TEXT.replace("{spend}", "Concentrated(0.5)"), marks=pytest.mark.audit),
            pytest.param(
                FILE.replace("[limits]", '[unit]\nis = "country"\n\n[limits]').replace(
                    '"Concentrated(1)"', '"Concentrated(99)"'
                ),
                marks=pytest.mark.audit,
            ),
        ],
        ids=["listed", "found", "apart"],
    )
    def test_the_exact_integers_are_the_same(self, tmp_path, spark, text):
        """People with too many rows, rows of other days, cells that are no value, days on which nothing happened."""
        found = text.replace('last = "2026-01-04"', 'last = "2026-01-31"')
        path = prepare(tmp_path, text=found, days=[])
        if "found privately" in text:
            (tmp_path / "visits.schema.toml").write_text(WORDS)
        schema = tmp_path / "visits.schema.toml"
        schema.write_text(schema.read_text() + '\n[columns.pay]\ntype = "integer"\nlow = -3\nhigh = 900\n')
        for place in range(31):
            day = date(2026, 1, 1) + timedelta(days=place)
            rows = [
                (person % 40, day + timedelta(days=person % 11 == 3), ["CH", "DE", None, "tea", "x"][person % 5], pay)
                for person in range(0 if place == 7 else 150)
                for pay in [None if person % 7 == 0 else person * 13 - 20]
            ]
            columns = {
                "id": pyarrow.int64(),
                "at": pyarrow.date32(),
                "country": pyarrow.string(),
                "pay": pyarrow.int64(),
            }
            cells = zip(*rows, strict=True) if rows else [()] * 4
            table = {
                name: pyarrow.array(list(part), kind) for (name, kind), part in zip(columns.items(), cells, strict=True)
            }
            parquet.write_table(pyarrow.table(table), tmp_path / "in" / f"{day}.parquet")
        here = sf.Publication.load(path)
        path.write_text(found.replace('stamp = "at"', 'stamp = "at"\nengine = "spark"'))
        there = sf.Publication.load(path)
        assert here.file.edition == there.file.edition
        units = ["day", "month"] if "monthly" in text else ["day"]
        for unit in units:
            assert frozen(here, unit) == frozen(there, unit)
        assert len(frozen(here)) == (3 if "monthly" in text else 2)

    @pytest.mark.audit
    def test_a_publication_runs_on_it(self, tmp_path, spark, monkeypatch):
        text = FILE.replace('stamp = "at"', 'stamp = "at"\nengine = "spark"').replace("2026-01-04", "2026-01-02")
        publication = sf.Publication.load(prepare(tmp_path, text=text, days=[1]))
        publication.run("2026-01-01", today=FEBRUARY)
        with pytest.raises(ParameterError, match="There is no file for 2026-01-02"):
            publication.run("2026-01-02", today=FEBRUARY)
        assert [one.state for one in publication.status(FEBRUARY)] == ["done", "due"]
        silent(monkeypatch)
        other = tmp_path / "other"
        other.mkdir()
        handed = sf.Publication.load(
            prepare(other, days=[1, 2]),
            source=lambda first, last: spark.read.parquet(str(other / "in")),
        )
        handed.run("2026-01-01", today=FEBRUARY)
        assert handed.series("total").totals().values.sum() == 24


def one_row(home, name, person, at, country="CH"):
    """Write a file of one row."""
    place = home / "in" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    table = pyarrow.table({"id": [person], "at": [at], "country": [country]})
    parquet.write_table(table, place)


LATE = 'stamp = "at"\nwait = "3 days"\nlateness = "2 days"'
ALONE = FILE.split('[[table]]\nname = "total"')[0]
RUNNING = FILE.split("[[table]]")[0] + "[[table]]" + FILE.split("[[table]]")[2].split("[output]")[0]


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("text", [ALONE, RUNNING], ids=["anew", "running"])
def test_rows_count_in_their_day_in_whichever_file_they_arrive(tmp_path, text):
    """Files are those of arrivals; a row of a day that arrives later than declared is in a file that is not read."""
    path = prepare(tmp_path, [], text.replace('stamp = "at"', LATE))
    first = date(2026, 1, 1)
    for arrived, person in (("2026-01-01", 1), ("2026-01-02", 2), ("2026-01-03", 3), ("2026-01-04", 4)):
        one_row(tmp_path, f"{arrived}.parquet", person, first)
    publication = sf.Publication.load(path)
    assert publication.run(today=date(2026, 1, 4)) == []  # the wait is longer
    publication.run(today=date(2026, 1, 5))
    assert [one.name for one in publication.status(date(2026, 1, 5)) if one.state == "done"] == ["2026-01-01"]
    found = (
        publication.answers("2026-01-01")["countries"].frame["count"][0]
        if text == ALONE
        else publication.series("total").totals().values[0, 0]
    )
    assert found == 3
    with Ledger(tmp_path / "visits.ledger") as book:
        assert [book.spent_in("day", f"2026-01-0{day}").percent > 0 for day in (1, 2)] == [True, text == RUNNING]
    plain = sf.Publication.load(prepare(tmp_path, [], text, days=[])).file.edition
    assert plain != publication.file.edition


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("second", ["folder", "empty"])
def test_days_that_are_files_and_folders_are_refused_and_none_is_passed_over(tmp_path, second):
    text = ALONE.replace('stamp = "at"', LATE).replace('"in/{date}.parquet"', '"in/{date}"')
    path = prepare(tmp_path, [], text)
    for day in (1, 2, 3):
        one_row(tmp_path, f"2026-01-0{day}/a.parquet", day, date(2026, 1, 1))
    place = tmp_path / "in/2026-01-02"
    (place / "a.parquet").unlink()
    if second == "folder":
        place.rmdir()
        parquet.write_table(pyarrow.table({"id": [2], "at": [date(2026, 1, 1)], "country": ["CH"]}), place)
    publication = sf.Publication.load(path)
    with pytest.raises(ParameterError, match="other days are folders" if second == "folder" else "2026-01-02"):
        publication.run("2026-01-01", today=date(2026, 1, 5))
    with Ledger(tmp_path / "visits.ledger") as book:
        assert book.spent_in("day", "2026-01-01").percent == 0


@pytest.mark.usefixtures("quiet")
def test_a_longer_period_reads_the_files_of_its_days_and_no_others(tmp_path):
    text = ALONE.replace('"in/{date}.parquet"', '"in/of={date}/a.parquet"').replace(
        "question", 'every = "month"\nquestion'
    )
    path = prepare(tmp_path, [], text.replace("2026-01-04", "2026-02-28").replace("(0.5)", "(0.1)"), days=[])
    for day in range(31):
        one_row(tmp_path, f"of={date(2026, 1, 1) + timedelta(days=day)}/a.parquet", day, date(2026, 1, 1))
    one_row(tmp_path, "of=2026-02-01/a.parquet", 99, date(2026, 1, 31))  # of another month, by its file
    (tmp_path / "in/of=notes").mkdir()
    (tmp_path / "in/of=notes/a.parquet").write_text("no table")
    publication = sf.Publication.load(path)
    publication.run("2026-01", today=date(2026, 2, 1))
    assert publication.answers("2026-01")["countries"].frame["count"][0] == 31


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('stamp = "at"', 'stamp = "at"\nlateness = "2 days"', "write wait = '2 days'"),
        ('source = "in/{date}.parquet"', 'source = "all.parquet"\nwait = "9 days"\nlateness = "2 days"', "one source"),
    ],
)
def test_what_is_wrong_about_arrivals_is_said(tmp_path, old, new, said):
    with pytest.raises(ParameterError, match=said):
        sf.Publication.load(prepare(tmp_path, text=FILE.replace(old, new), days=[]))
