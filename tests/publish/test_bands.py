"""Intervals of tables that are asked anew that hold for all rows of all periods at once (PB-BAND)."""

from __future__ import annotations

import csv
import json
from datetime import date
from fractions import Fraction

import pyarrow
import pytest
from pyarrow import parquet

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.publish.bands import looks
from sfumato.publish.layout import published_frame
from tests.publish.sample import FILE, prepare

FEBRUARY = date(2026, 2, 1)
ONE = FILE.split("[[table]]")[0] + "[[table]]" + FILE.split("[[table]]")[1]
BAND = ONE.replace('spend = "Concentrated(0.5)"', 'spend = "Concentrated(0.5)"\nband = "all periods"')
BAND += '\n[output]\nformats = ["csv", "json", "html", "parquet"]\n'
REVISED = '\n[revision.late]\nafter = "9 days"\ntables = ["countries"]\nspend = { countries = "Concentrated(0.1)" }\n'


@pytest.mark.parametrize("question", ["count by country", "count", "mean of pay by country", "sum of pay"])
def test_every_end_misses_as_much_as_its_share(tmp_path, question):
    """Compared with intervals of that share; the mutant divides by the periods only, or by the rows only."""
    path = prepare(tmp_path, text=BAND.replace("count by country", question))
    schema = tmp_path / "visits.schema.toml"
    schema.write_text(schema.read_text() + '\n[columns.pay]\ntype = "integer"\nlow = 0\nhigh = 9\n')
    for place in (tmp_path / "in").iterdir():
        rows = parquet.read_table(place)
        parquet.write_table(rows.append_column("pay", pyarrow.array([3] * len(rows), pyarrow.int64())), place)
    publication = sf.Publication.load(path)
    publication.run(today=FEBRUARY)
    (spec,) = publication.file.tables
    answer = publication.answers("2026-01-02")["countries"]
    shown = published_frame(answer, spec, looks(publication.file, spec)).columns
    apart = max(1, answer.question.separate_intervals(answer.released))
    wide = answer.interval(1 - Fraction(1, 20) / (4 * apart))
    ends = {"low": (wide[0],), "high": (wide[1],)} if isinstance(wide, tuple) else wide.columns
    for end in ("low", "high"):
        (own,) = [cells for name, cells in shown.items() if name.endswith(f"_all_{end}")]
        (wanted,) = [cells for name, cells in ends.items() if name.endswith(end)]
        assert tuple(own) == tuple(wanted)
        (single,) = [cells for name, cells in shown.items() if name.endswith(f"_{end}") and "_all_" not in name]
        assert all(wide <= one if end == "low" else wide >= one for one, wide in zip(single, own, strict=True))
        assert tuple(own) != tuple(single) or "mean" in question
    assert publication.verify()


def test_files_page_and_metadata_say_for_what_it_holds(tmp_path):
    publication = sf.Publication.load(prepare(tmp_path, text=BAND + REVISED))
    publication.run(today=FEBRUARY)
    home = tmp_path / "out/visits"
    said = "Ends with 'all' hold for all rows of all 8 releases that were declared at once, 95 % of the time."
    assert said in json.loads((home / "datapackage.json").read_text())["description"]
    assert said in json.loads((home / "countries.csv-metadata.json").read_text())["dc:description"]
    assert "releases that were declared at once" in (home / "index.html").read_text()
    assert "all low" not in (home / "index.html").read_text()
    for path in ("period=2026-01-01/countries.csv", "period=2026-01-01/revision=late/countries.csv"):
        (row, *_) = csv.DictReader((home / path).read_text().splitlines())
        assert int(row["count_all_low"]) < int(row["count_low"]) < int(row["count_high"]) < int(row["count_all_high"])
    assert publication.verify()


@pytest.mark.audit
def test_a_band_covers_everything_at_once_as_often_as_it_says(tmp_path):
    """Of 60 publications of four days and all rows; a band of single rows misses in most of them."""
    text = BAND.replace('formats = ["csv", "json", "html", "parquet"]', 'formats = ["json"]')
    missed = narrow = 0
    for turn in range(60):
        home = tmp_path / str(turn)
        home.mkdir()
        publication = sf.Publication.load(prepare(home, rows=[], text=text))
        publication.run(today=FEBRUARY)
        (spec,) = publication.file.tables
        days = [publication.answers(f"2026-01-0{day}")["countries"] for day in (1, 2, 3, 4)]
        shown = [published_frame(answer, spec, 4).columns for answer in days]
        missed += not all(held(one, "count_all") for one in shown)
        narrow += not all(held(one, "count") for one in shown)
    assert missed <= 12 and narrow > missed


def held(columns, name):
    """Tell whether nothing lies within all intervals of a table."""
    return all(low <= 0 <= high for low, high in zip(columns[f"{name}_low"], columns[f"{name}_high"], strict=True))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"all periods"', '"all rows"', "band of 'countries' is 'all periods'"),
        ('last = "2026-01-04"', "", "write last ="),
        ('question = "count by country"', 'question = "quantiles of at"', "leave it out of 'countries'"),
        ('question = "count by country"', 'running = "count by country"', "has its band already"),
    ],
)
def test_what_has_no_band_is_refused(tmp_path, old, new, said):
    path = prepare(tmp_path, text=BAND.replace(old, new), days=[])
    with pytest.raises(ParameterError, match=said):
        sf.Publication.load(path).plan()
