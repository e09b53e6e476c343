"""Drafts of schemas: from types and names nothing is looked at; with consent, candidates that somebody confirms."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pyarrow.parquet
import pytest

import sfumato as sf
from sfumato import Pure
from sfumato.cli.checking import check_table
from sfumato.cli.columns import read_column
from sfumato.errors import SchemaError
from sfumato.table.candidates import RARE, candidate_of
from sfumato.table.names import FILL, is_person, names_somebody
from sfumato.table.proposed_bins import outward
from sfumato.table.schema import Schema

ROWS = 400
VISITS = {
    "patient_id": [f"P{row // 2:04}" for row in range(ROWS)],
    "age": [str(20 + row % 70) for row in range(ROWS)],
    "sex": ["FM"[row % 2] for row in range(ROWS)],
    "ward": ["surgery", "cardiology"] * (ROWS // 2 - 2) + ["a rare ward"] * 4,
    "admitted": [f"{1 + row % 28:02}.{1 + row % 12:02}.2025" for row in range(ROWS)],
    "cost": [f"{90 + row}.50" if row % 10 else "n/a" for row in range(ROWS)],
    "insured": ["yes", "no"] * (ROWS // 2),
    "e-mail": [f"p{row}@example.org" for row in range(ROWS)],
}


def write(path: Path, divider: str = ";") -> Path:
    lines = [divider.join(VISITS), *(divider.join(row) for row in zip(*VISITS.values(), strict=True))]
    path.write_text("\n".join(lines), encoding="utf-8-sig")
    return path


def test_types_and_names_are_all_that_is_read(tmp_path: Path) -> None:
    full = sf.draft(write(tmp_path / "visits.csv"))
    (tmp_path / "empty.csv").write_text(";".join(VISITS) + "\n")
    assert full == sf.draft(tmp_path / "empty.csv")
    columns = full.record["columns"]
    assert full.record["person"] == "patient_id" and "patient_id" not in columns
    assert (columns["age"]["low"], columns["age"]["high"]) == (0, 120), "everybody knows how old people get"
    kinds = {name: column["type"] for name, column in columns.items()}
    assert kinds == {
        "age": "integer",
        "sex": "category",
        "ward": "category",
        "admitted": "date",
        "cost": "fixed",
        "insured": "boolean",
        "e-mail": "category",
    }
    assert "columns.sex.values" in full.missing and not full.looked
    assert "no cell was looked at" in full.to_toml() and "remove it" in " ".join(full.notes["e-mail"])


def sources(tmp_path: Path) -> dict[str, Any]:
    table = pa.table(VISITS)
    pyarrow.parquet.write_table(table, tmp_path / "v.parquet")
    return {
        "semicolons": write(tmp_path / "v.csv"),
        "tabs": write(tmp_path / "v.tsv", "\t"),
        "parquet": tmp_path / "v.parquet",
        "arrow": table,
        "pandas": pandas.DataFrame(VISITS),
        "polars": polars.DataFrame(VISITS),
    }


@pytest.mark.parametrize("kind", ["semicolons", "tabs", "parquet", "arrow", "pandas", "polars"])
def test_a_look_gives_candidates_from_every_source(tmp_path: Path, kind: str) -> None:
    looked = sf.draft(sources(tmp_path)[kind], look=True)
    record = looked.record
    assert (record["person"], record["rows_per_person"]) == ("patient_id", 2)
    columns = {name: dict(column) for name, column in record["columns"].items()}
    for column in columns.values():
        assert column.pop("missing") == "skip"
    assert columns == {
        "age": {"type": "integer", "low": 0, "high": 120},
        "sex": {"type": "category", "values": ["F", "M"]},
        "ward": {"type": "category", "values": ["cardiology", "surgery"]},
        "admitted": {"type": "date", "earliest": "2025-01-01", "latest": "2025-12-31", "format": "%d.%m.%Y"},
        "cost": {"type": "fixed", "low": 0, "high": 500, "step": "0.1"},
        "insured": {"type": "boolean"},
    }
    assert any("e-mail" in said for said in looked.notes[""]), "what names somebody is left out, and that is said"


def test_a_look_is_said_loudly_and_must_be_confirmed(tmp_path: Path) -> None:
    looked = sf.draft(write(tmp_path / "v.csv"), look=True)
    text = looked.to_toml()
    assert "LOOKING AT THE DATA" in text and "a fact about somebody" in text and "LOOKING" in str(looked)
    with pytest.raises(SchemaError, match="remove the line that begins with confirm"):
        Schema.from_toml(text)
    with pytest.raises(SchemaError, match=r"write draft\.confirm\(\)\.schema\(\)"):
        looked.schema()
    by_hand = "\n".join(line for line in text.splitlines() if not line.startswith("confirm"))
    assert Schema.from_toml(by_hand) == looked.confirm().schema()
    schema = looked.confirm().fill(age={"high": 110}).drop("cost").schema()
    assert schema.domain("age").highest == 110 and "cost" not in schema.names
    with sf.curate(tmp_path / "v.csv", schema, Pure(1)) as curator:
        assert curator.people().value == ROWS // 2
        assert curator.count("admitted >= DATE '2025-01-01'", spend=Pure(0.9)).value > ROWS / 2, (
            "the format reads cells"
        )


def test_one_row_a_person_is_noticed() -> None:
    looked = sf.draft(pa.table({"customer": [f"c{row}" for row in range(50)], "age": list(range(50))}), look=True)
    assert looked.record["row_key"] == [] and looked.record["person"] == "customer"
    alone = sf.draft(pa.table({"age": [str(row % 7) for row in range(50)]}), look=True)
    assert "person" not in alone.record and any("every row is taken for one person" in said for said in alone.notes[""])


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([f"{row % 28 + 1}.03.24" for row in range(90)], "two digits for the year"),
        ([f"word {row}" for row in range(90)], "nearly every cell differs"),
        ([None] * 30, "every cell is missing"),
        ([None, "n/a"] * 30, "every cell is empty or says 'n/a'"),
    ],
)
def test_what_would_be_missing_is_left_out_and_said(cells: list[Any], words: str) -> None:
    found = candidate_of("x", cells)
    assert found.record is None and words in " ".join(found.notes)


@pytest.mark.parametrize(
    ("name", "cells", "expected"),
    [
        ("code", ["04103", "80331"] * 20, {"type": "category", "values": ["04103", "80331"]}),
        ("day", [f"2025030{1 + row % 9}" for row in range(40)], {"type": "date", "format": "%Y%m%d"}),
        ("day", [f"0{1 + row % 9}/13/2024" for row in range(40)], {"type": "date", "format": "%m/%d/%Y"}),
        ("day", ["01/02/2024", "03/04/2024"] * 20, {"type": "date", "format": FILL}),
        ("seen", ["2024-05-01T10:30:00"] * 20, {"type": "time", "step": "1min"}),
        ("n", [1.0, 2.0, float("nan")] * 20, {"type": "integer"}),
        ("x", [0.125, 0.5] * 20, {"type": "fixed", "step": "0.001"}),
        ("word", [f"w{row % 200}" for row in range(1000)], {"type": "text", "max_bytes": 8}),
        ("ok", [True, False] * 9, {"type": "boolean"}),
        ("purpose", ["car", "Car "] * 20, {"type": "category", "values": ["Car ", "car"]}),
    ],
)
def test_candidates(name: str, cells: list[Any], expected: dict[str, Any]) -> None:
    record = candidate_of(name, cells).record
    assert record is not None and {key: record[key] for key in expected} == expected


def test_outliers_do_not_stretch_a_range_and_rare_words_are_not_listed() -> None:
    wages = candidate_of("wage", [str(1000 + row) for row in range(999)] + ["99999999"])
    assert wages.record is not None and wages.record["high"] == 2000 and "clamped" in " ".join(wages.notes)
    jobs = candidate_of("job", ["nurse"] * 50 + ["king"] * (RARE - 1))
    assert jobs.record is not None and jobs.record["values"] == ["nurse"] and "other" in " ".join(jobs.notes)
    assert "king" not in " ".join(jobs.notes)
    assert "capitals" in " ".join(candidate_of("sex", ["F", "f"] * 20).notes)


@pytest.mark.parametrize(
    "ends", [(17, 88), (-3.2, 4.4), (1962, 2018), (5, 5), (0, 0), (99.9, 100.1), (-1e9, 1e9), (0.1, 0.2)]
)
def test_ranges_are_rounded_outward(ends: tuple[float, float]) -> None:
    low, high = outward(*ends)
    assert low <= ends[0] and ends[1] <= high and low < high and isinstance(low, int) and isinstance(high, int)


def test_names_that_tell_people_apart_and_names_that_name_them() -> None:
    assert all(map(is_person, ["patient_id", "PatientID", "customer", "User Id", "mrn", "employee-no"]))
    assert not any(map(is_person, ["visit_id", "id", "customer_rating", "patient age", ""]))
    assert all(map(names_somebody, ["email", "Last Name", "phone_number", "name", "IP"]))
    assert not any(map(names_somebody, ["product name", "department", "shipping"]))


WRONG = """
persn = "id"
person = "patient"
[columns.patient]
type = "category"
values = ["a"]
[columns.age]
type = "int"
low = 0
high = 9
[columns.sex]
type = "category"
[columns.cost]
type = "fixed"
low = 0
high = "you must fill this in"
step = "0.1"
[columns]
day = "date"
"""


def test_all_mistakes_of_a_schema_are_told_at_once() -> None:
    with pytest.raises(SchemaError) as refused:
        Schema.from_toml(WRONG)
    said = str(refused.value)
    assert said.startswith("The schema has 6 mistakes:")
    for words in (
        "did you mean 'person'",
        "remove [columns.patient]",
        "write type = 'integer'",
        "needs values; write values = …",
        "columns.cost.high: write high = …",
        "'day' cannot be read",
    ):
        assert words in said, said


def test_columns_that_do_not_fit_their_base_are_told_at_once() -> None:
    with pytest.raises(SchemaError) as refused:
        Schema(
            {"age": sf.integers(0, 9), "a": sf.bins("aeg", step=2), "b": sf.months("age"), "c": sf.integers(0, 2**63)}
        )
    assert "3 mistakes" in str(refused.value)
    with pytest.raises(SchemaError, match=r"2 mistakes(.|\n)*integers(.|\n)*categories\('F', 'M'\)"):
        Schema({"age": int, "sex": ["F", "M"]})


def test_the_hint_about_bins_is_toml_for_amounts_too(tmp_path):
    place = tmp_path / "größen.csv"
    place.write_text("kosten in €,alter\n" + "".join(f"{row % 90}.25,{row % 70}\n" for row in range(300)), "utf-8")
    text = sf.draft(str(place), look=True).confirm().to_toml()
    wanted = ("# [columns", '# type = "bins"', "# of =", "# step =")
    lines = [line.removeprefix("# ") if line.startswith(wanted) else line for line in text.splitlines()]
    schema = sf.Schema.from_toml("\n".join(lines))
    assert schema.domain("kosten in €_bins").size < 20 and schema.base("alter_bins") == "alter"


def test_a_word_between_numbers_or_days_is_a_missing_cell_however_often_it_stands_there() -> None:
    ages = candidate_of("Alter", [str(row % 90) for row in range(400)] + ["k.A."] * 80 + ["keine Angabe"] * 30)
    assert ages.record == {"type": "integer", "low": 0, "high": 120, "missing": "skip"}
    assert "Missing would be the cells with 'k.A.' or 'keine Angabe', 22 % of the cells." in ages.notes
    assert not any("are no numbers" in said for said in ages.notes), "the same cells are spoken of once"
    both = candidate_of(
        "Alter", [str(row % 90) for row in range(380)] + ["k.A."] * 10 + ["unknown"] * 10 + [None] * 600
    )
    assert [said for said in both.notes if "%" in said and "range" not in said] == [
        "Missing would be the cells with 'k.A.' or 'unknown', 2 % of the cells."
    ]
    days = candidate_of("Aufnahme", [f"{1 + row % 28:02}.03.2025" for row in range(200)] + ["offen"] * 40)
    assert days.record is not None and days.record["type"] == "date" and "'offen'" in " ".join(days.notes)
    floors = candidate_of("Stock", ["EG", "1", "2", "3", "4"] * 30)
    assert floors.record is not None and floors.record["values"] == ["1", "2", "3", "4", "EG"], (
        "a value like the others"
    )
    hours = candidate_of("Fehlstunden", (["1", "1,5", "2", "6,5"] * 30) + ["k.A."] * 20 + [""] * 10)
    assert hours.record == {"type": "fixed", "low": 0, "high": 7, "step": "0.1", "decimal": ",", "missing": "skip"}
    assert "Missing would be the cells with '' or 'k.A.', 20 % of the cells." in hours.notes, "however few the numbers"
    jobs = candidate_of("job", ["nurse"] * 90 + [f"team {row % 30}" for row in range(300)])
    assert jobs.record is not None and "nurse" in jobs.record["values"]


def test_a_word_that_may_mean_missing_is_shown_with_what_reading_makes_of_it() -> None:
    """A job called "none" is a category that a draft once left out without a word."""
    cells = {
        "job": ["nurse"] * 140 + ["none"] * 60,
        "pay": [str(row) for row in range(140)] + ["none"] * 60,
        "insured": ["yes", "no"] * 70 + ["none"] * 60,
        "team": [f"t{row % 100}" for row in range(140)] + ["none"] * 60,
    }
    draft = sf.draft(pa.table(cells), look=True)
    assert draft.record["columns"]["job"]["values"] == ["nurse"]
    for shown in (draft.to_toml(), " ".join(str(draft).split())):
        assert "Not listed is 'none', 30 % of the cells: it counts as 'other'" in shown.replace("\n# ", " ")
    assert "add it to values" in " ".join(draft.notes["job"])
    for name in ("pay", "insured"):
        assert "Missing would be the cells with 'none', 30 % of the cells." in draft.notes[name]
    assert "'none', 30 % of the cells, is a text like any other" in " ".join(draft.notes["team"])
    schema = draft.confirm().schema()
    job, pay, insured, team = check_table(pa.table(cells), schema).columns
    assert (job.missing, job.outside) == (0, 60) and (pay.missing, insured.missing) == (60, 60)
    assert (insured.outside, team.missing, team.outside) == (0, 0, 0)
    with sf.curate(pa.table(cells), schema, sf.Pure(10**4)) as curator:
        read = {name: curator.histogram(name, spend=sf.Pure(1000)).value for name in ("job", "insured")}
    assert dict(zip(read["job"]["job"], read["job"]["count"], strict=True)) == {"nurse": 140, "other": 60, None: 0}
    assert read["insured"]["count"] == (70, 70, 60), "false, true and missing, as the check counts them"
    assert candidate_of("x", ["unknown", None]).notes == ("every cell is empty or says 'unknown'.",)


def test_bins_are_added_to_a_draft_as_it_says_and_replaced_proposals_are_not_spoken_of(tmp_path: Path) -> None:
    place = tmp_path / "visits.csv"
    rows = "".join(f"P{row // 4},{row % 90},{row % 50}\n" for row in range(396)) + "P99,1,1\n"
    place.write_text("patient_id,age,days of stay\n" + rows, encoding="utf-8")
    looked = sf.draft(str(place), look=True)
    shown = " ".join(str(looked).split())
    assert "draft.fill(age_bins=" in shown and "draft.fill(**{'days" in shown and "[columns" not in shown
    assert "# [columns.age_bins]" in looked.to_toml(), "a file says it as TOML"
    filled = looked.fill(age={"high": 99}, age_bins={"type": "bins", "of": "age", "step": 10}, rows_per_person=4)
    assert filled.confirm().schema().domain("age_bins").size == 11
    assert "age" not in filled.notes
    with pytest.raises(SchemaError, match="no column 'Age'"):
        looked.fill(Age={"high": 99})


def test_what_fills_a_column_is_named_and_categories_are_a_list() -> None:
    blank = sf.draft(pa.table({"age": [3], "sex": ["F"]}))
    with pytest.raises(SchemaError, match=r"write age=\{'low': 0, 'high': 110\}"):
        blank.fill(age=(0, 110))  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match=r"write sex=\{'values': \['F', 'M'\]\}"):
        blank.fill(sex=["F", "M"])  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match=r'write values = \["F", "M"\]'):
        blank.fill(sex={"values": "F, M"})
    with pytest.raises(SchemaError, match=r'write values = \["F", "M"\]'):
        Schema.from_json({"columns": {"sex": {"type": "category", "values": "F, M"}}})
    with pytest.raises(SchemaError, match="the ends of its range are low and high"):
        Schema.from_json({"columns": {"age": {"type": "integer", "min": 0, "max": 110}}})


def test_a_look_says_which_rows_the_proposed_number_loses() -> None:
    people = [f"p{person}" for person in range(95) for _ in range(2)] + ["many"] * 10
    said = " ".join(sf.draft(pa.table({"patient_id": people, "age": [40] * 200}), look=True).notes[""])
    assert "rows_per_person = 2" in said and ": 4 % of all rows are lost, and none with 10" in said


def test_a_look_proposes_rows_a_person_that_lose_no_more_than_noise_moves() -> None:
    sizes = [1 + place % 8 for place in range(4000)]  # as many visits as a hospital's patients have
    people = [place for place, size in enumerate(sizes) for _ in range(size)]
    drafted = sf.draft(pa.table({"patient_id": people, "age": [40] * len(people)}), look=True)
    assert drafted.record["rows_per_person"] == 8
    # One with a thousand rows is not worth the noise for everybody.
    drafted = sf.draft(pa.table({"patient_id": [*people, *[-1] * 1000], "age": [40] * (len(people) + 1000)}), look=True)
    assert drafted.record["rows_per_person"] == 8


def visits(sizes: list[int], name: str = "patient_id") -> pa.Table:
    people = [f"p{person:05}" for person, size in enumerate(sizes) for _ in range(size)]
    return pa.table({name: people, "sex": ["FM"[row % 2] for row in range(len(people))]})


def test_a_look_proposes_what_99_of_100_people_have_and_says_what_other_numbers_lose() -> None:
    sizes = [1 + place % 6 for place in range(5400)] + [15] * 550 + [20] * 48 + [50] * 2
    drafted = sf.draft(visits(sizes), look=True)
    assert drafted.record["rows_per_person"] == 15, "noise is made for everybody"
    (said,) = [one for one in drafted.notes[""] if "are lost" in one]
    assert "all rows count of all but 1 in 120 people in patient_id: 1.1 % of all rows are lost" in said
    assert "8 loses 16 % of all rows, with 0.53 times the noise; 30 loses 0.14 %, 2 times; 50 loses 0 %" in said
    filled = drafted.fill(rows_per_person=10)
    (said,) = [one for one in filled.notes[""] if "are lost" in one]
    assert "With rows_per_person = 10 all rows count of 90 % of the people" in said
    assert [one for one in filled.confirm().notes[""] if "are lost" in one] == [said]
    assert not any("are lost" in one for one in drafted.fill(person=None).notes[""])


def test_a_column_that_may_tell_people_apart_is_asked_about_and_not_decided() -> None:
    rows = visits([1 + place % 5 for place in range(600)], "zper")
    drafted = sf.draft(rows, look=True)
    assert "person" not in drafted.record and "zper" in drafted.record["columns"]
    (said,) = [one for one in drafted.notes[""] if "zper" in one]
    assert said.startswith("zper repeats 1 to 5 times: is it the person?")
    assert "draft.fill(person='zper', rows_per_person=5)" in said
    assert 'is it the person? Then write person = "zper" and rows_per_person = 5.' in drafted.to_toml()
    filled = drafted.fill(person="zper", rows_per_person=5)
    assert filled.confirm().schema().person == "zper" and not any("is it the" in one for one in filled.notes[""])
    named = sf.draft(rows, look=True, person="zper")
    assert (named.record["person"], named.record["rows_per_person"]) == ("zper", 5)
    assert drafted.fill(person="zper").record["rows_per_person"] == 5, "the look knows how many rows there are"
    assert sf.draft(rows, person="zper").record["person"] == "zper"
    for look in (True, False):
        with pytest.raises(SchemaError, match="did you mean 'zper'"):
            sf.draft(rows, look=look, person="zpre")
    # Amounts, days and groups are nobody, whole numbers too where the name says so.
    other = pa.table(
        {
            "cost": [f"{row % 900}.50" for row in range(3000)],
            "ward": [row % 40 for row in range(3000)],
            "amount": [200 * (row % 900) for row in range(3000)],
            "loan_id": list(range(3000)),
        }
    )
    assert not any("is it the person" in one for one in sf.draft(other, look=True).notes[""])


def test_days_in_two_formats_are_days_and_a_look_says_so() -> None:
    iso = [f"2024-{1 + day % 12:02}-{1 + day % 28:02}" for day in range(200)]
    german = [f"{1 + day % 28:02}.{1 + day % 12:02}.2023" for day in range(100)]
    drafted = sf.draft(pa.table({"admitted": [*iso, *german], "age": [40] * 300}), look=True)
    column = drafted.record["columns"]["admitted"]
    assert column == {"type": "date", "earliest": "2023-01-01", "latest": "2024-12-31", "missing": "skip"}
    assert (
        "67 % are written 2024-12-31, 33 % 31.12.2024; a column has one format: make them alike before, or 33 % of the "
        "cells would be missing." in drafted.notes["admitted"]
    )
    mostly = sf.draft(pa.table({"admitted": [*iso[:50], *german], "age": [40] * 150}), look=True)
    assert mostly.record["columns"]["admitted"]["format"] == "%d.%m.%Y"
    words = sf.draft(pa.table({"said": [*iso, *[f"word {word}" for word in range(100)]], "age": [40] * 300}), look=True)
    assert words.record["columns"].get("said", {"type": "text"})["type"] != "date"


def test_a_draft_says_in_whole_words_what_to_fill_in(tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("number,age,sex,note,weight,born\n1,33,f,hello,70.5,1990-01-02\n")
    drafted = sf.draft(str(file)).fill(
        number={"type": "integer", "low": 0, "high": FILL}, born={"type": "date", "earliest": FILL, "latest": FILL}
    )
    text = " ".join(str(drafted).split())
    assert "must fill this in" not in text
    for said in (
        "It is not known whose row it is: write draft.fill(person='…') with the column that tells people apart, or "
        "draft.fill(person=None) if every row is one person.",
        "fill in its values",
        "fill in low, high and step",
        "fill in earliest and latest",
        "fill in max_bytes",
        "from 0; fill in high",
        "In Python draft.fill(weight={'low': 0, 'high': 99, 'step': '0.01'}) fills in a column.",
    ):
        assert said in text, said
    assert "if it is wrong, write category, text, integer, fixed, date, time or boolean." in text
    known = str(drafted.fill(person="number", rows_per_person=3))
    assert "The column 'number' says whose row it is; at most 3 rows count for each person." in known
    assert "Every row is one person." in str(drafted.fill(person=None))
    assert FILL in drafted.to_toml(), "files that were drafted before are read as they were"


@pytest.mark.parametrize("look", [False, True])
def test_the_number_of_rows_a_person_says_what_models_need(look: bool) -> None:
    said = sf.draft(pandas.DataFrame(VISITS), look=look).to_toml()
    assert "Models (`learn`) need rows_per_person = 1 here before the ledger is made." in said


def _odd_frame() -> pandas.DataFrame:
    return pandas.DataFrame(
        {
            "patient_id": [1.0, 2.0, None, 4.0] * 10,
            "sex": ["F", "M"] * 20,
            "stay": pandas.to_timedelta([3, 4] * 20, unit="D"),
            "month": pandas.period_range("2024-01", periods=40, freq="M"),
            "seen": pandas.date_range("2024-01-01", periods=40, tz="Europe/Berlin"),
        }
    )


@pytest.mark.parametrize("look", [False, True])
def test_columns_that_no_schema_reads_are_named_with_what_to_write_first(look: bool) -> None:
    drafted = sf.draft(_odd_frame(), look=look)
    for shown in (" ".join(str(drafted).split()), drafted.to_toml().replace("\n# ", " ")):
        assert "Left out is stay: its type, timedelta64[" in shown
        assert "write frame['stay'] = frame['stay'].dt.days first, or .dt.total_seconds()." in shown
        assert "Left out is month: its type, period[M]," in shown
        assert "write frame['month'] = frame['month'].dt.to_timestamp() first for its first day, or .astype(" in shown
        assert "write frame['seen'] = frame['seen'].dt.tz_localize(None) first, which keeps the local time." in shown
        assert "write frame['patient_id'] = frame['patient_id'].astype('Int64') first" in shown
    assert set(drafted.record["columns"]) == {"sex", "seen"}
    named = polars.DataFrame({"sex": ["F"] * 40, "stay": [timedelta(days=3)] * 40, "tags": [["a"]] * 40})
    said = sf.draft(named, look=look).to_toml()
    assert "polars.col('stay').dt.total_days()" in said
    assert "Left out is tags: its type, array<string>, is none that a schema can describe; store it as text" in said


def test_what_a_draft_says_to_write_first_is_enough_to_open_the_table() -> None:
    frame = _odd_frame()
    schema = sf.draft(frame, look=True).confirm().schema()
    with pytest.raises(SchemaError, match=r"person column 'patient_id' is DOUBLE.*\.astype\('Int64'\) first"):
        sf.curate(frame, schema, Pure(1))
    frame["patient_id"] = frame["patient_id"].astype("Int64")
    with pytest.raises(SchemaError, match=r"it has a time zone.*frame\['seen'\]\.dt\.tz_localize\(None\) first"):
        sf.curate(frame, schema, Pure(1))
    frame["seen"] = frame["seen"].dt.tz_localize(None)
    assert sf.draft(frame, look=True).record["columns"]["seen"] == schema.to_json()["columns"]["seen"]
    assert schema.to_json()["columns"]["seen"]["earliest"] == "2024-01-01", "a year of its own zone, not of UTC"
    with sf.curate(frame, schema, Pure(1)) as curator:
        assert curator.schema.names == ("sex", "seen")
    stays = sf.Schema({"stay": sf.integers(0, 99)})
    with pytest.raises(SchemaError, match=r"'stay' is timedelta64.*frame\['stay'\]\.dt\.days first"):
        sf.curate(frame, stays, Pure(1))


@pytest.mark.parametrize("look", [False, True])
def test_a_person_in_the_index_is_said_to_be_there(look: bool) -> None:
    frame = pandas.DataFrame(VISITS).set_index("patient_id")
    todo = "'patient_id' is the index of the frame, which is not read; write frame = frame.reset_index() first."
    assert todo in sf.draft(frame, look=look).to_toml()
    with pytest.raises(SchemaError, match=r"to tell people apart: 'patient_id' is the index.*reset_index\(\) first"):
        sf.draft(frame, look=look, person="patient_id")
    with pytest.raises(SchemaError, match=r"what is no column: 'patient_id' is the index.*reset_index\(\) first"):
        sf.curate(frame, sf.Schema({"sex": sf.categories("F", "M")}, person="patient_id"), Pure(1))
    assert "index" not in sf.draft(pandas.DataFrame(VISITS), look=look).to_toml()


def test_a_range_of_times_holds_all_of_its_last_day_and_says_what_only_dates_have(tmp_path: Path) -> None:
    moments = [f"2025-{1 + day % 12:02}-{1 + day % 28:02}T10:30:00" for day in range(300)]
    drafted = sf.draft(pa.table({"seen": moments, "age": [40] * 300}), look=True)
    column = drafted.record["columns"]["seen"]
    assert (column["earliest"], column["latest"], column["step"]) == ("2025-01-01", "2025-12-31T23:59:00", "1min")
    domain = sf.domain.column_from_json(column)
    assert domain.decode(domain.encode("2025-12-31T18:00:00")).day == 31
    assert domain.encode("2025-12-31T18:00:00") < domain.encode("2025-12-31T19:00:00") <= domain.highest
    (note,) = [one for one in drafted.notes["seen"] if "weekdays" in one]
    assert "take date 2025-01-01 2025-12-31 in place of time now, before the ledger is made" in note
    with pytest.raises(SchemaError, match=r"A ledger is made for one of the two: .* seen < '2025-02-01'"):
        sf.Schema({"seen": domain, "month": sf.months("seen")})


def test_the_last_day_that_somebody_types_is_all_of_it() -> None:
    assert read_column("time 2025-01-01 2025-12-31 1h")["latest"] == "2025-12-31T23:59:59"
    assert read_column("time 2025-01-01 2025-12-31T12:00:00 1h")["latest"] == "2025-12-31T12:00:00"
    assert read_column("date 2025-01-01 2025-12-31")["latest"] == "2025-12-31"


def test_truth_values_and_few_groups_tell_nobody_apart_whatever_they_are_called() -> None:
    frame = pandas.DataFrame(
        {
            "member": ["yes", "no"] * 300,
            "ward_id": [f"W{row % 6}" for row in range(600)],
            "household": [row % 6 + 1 for row in range(600)],
            "age": [row % 90 for row in range(600)],
        }
    )
    looked = sf.draft(frame, look=True)
    assert "person" not in looked.record and {"member", "ward_id", "household", "age"} == set(looked.record["columns"])
    assert looked.record["columns"]["member"]["type"] == "boolean"
    plain = frame.drop(columns="household").assign(member=frame.member == "yes")
    assert sf.draft(plain).record["person"] == FILL
    few = pandas.DataFrame({"patient_id": [f"P{row % 12}" for row in range(600)], "age": range(600)})
    assert sf.draft(few, look=True).record["person"] == "patient_id", "a name that is plain holds for few people, too"
    visits = pandas.DataFrame(
        {"case_no": [f"C{row // 4}" for row in range(600)], "age": [row % 90 for row in range(600)]}
    )
    assert sf.draft(visits, look=True).record["person"] == "case_no"


def test_numbers_below_what_an_instrument_measures_are_spoken_of_and_make_no_category_of_numbers() -> None:
    crp = ["<0.5", "<0.5", "<0.5", ">= 200", *(f"{row % 90 + 0.5:.1f}" for row in range(16))] * 30
    found = candidate_of("CRP", crp)
    assert found.record == {"type": "fixed", "low": 0, "high": 20, "step": "0.1", "missing": "skip"}
    (said,) = [note for note in found.notes if "limit" in note]
    assert said.startswith("20 % of the cells") and "('<0.5' or '>= 200')" in said and "half of the limit" in said
    assert not any("no numbers" in note for note in found.notes)
    few = candidate_of("CRP", [*(f"{row},5" for row in range(200)), "<0,5"])
    assert few.record is not None and few.record["decimal"] == "," and "'" not in few.notes[-1]
    ages = candidate_of("age", ["<18", "18-64", ">64"] * 40)
    assert ages.record is not None and ages.record["values"] == ["18-64", "<18", ">64"]
    alone = candidate_of("limit", ["<1", ">5"] * 40)
    assert alone.record is not None and alone.record["type"] == "category"


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_moments_with_a_fixed_offset_are_drafted_in_utc(kind: str) -> None:
    """An offset is no name of a zone, and was looked up as one."""
    seen = pandas.to_datetime(["2025-03-08T16:31:00+01:00", "2025-07-01T00:10:00+01:00"] * 250)
    ages = list(range(500))
    frame: Any = pandas.DataFrame({"seen": seen, "age": ages})
    if kind == "arrow":
        moments = pa.array(seen.tz_convert("UTC").tz_localize(None).to_list(), pa.timestamp("us"))
        frame = pa.table({"seen": moments.cast(pa.timestamp("us", "+01:00")), "age": ages})
    drafted = sf.draft(frame, look=True)
    found = drafted.record["columns"]["seen"]
    assert (found["type"], found["zone"], found["earliest"]) == ("time", "UTC", "2025-01-01")
    assert drafted.notes["seen"][0].startswith("Its moments are counted in UTC")
    assert not any("take date" in said for said in drafted.notes["seen"])
    with sf.curate(frame, drafted.confirm().schema(), Pure(10**6)) as curator:
        assert curator.count("seen < '2025-03-08T15:31:00Z'", spend=Pure(1000)).value == 0
        assert curator.count("seen <= '2025-03-08T15:31:00Z'", spend=Pure(1000)).value == 250


def test_written_moments_with_offsets_and_clocks_of_twelve_hours_are_times() -> None:
    """Both were called a key, a name or free text, and left out."""
    days = pandas.date_range("2025-01-01 00:20", periods=500, freq="7h13min")
    mixed = [f"{day:%Y-%m-%dT%H:%M:%S}{(' +01:00', ' UTC', '-0530', '')[place % 4]}" for place, day in enumerate(days)]
    cells = {"sent": mixed, "seen": [f"{day:%m/%d/%Y %I:%M %p}" for day in days], "age": list(range(500))}
    drafted = sf.draft(pa.table(cells), look=True)
    columns, said = drafted.record["columns"], " ".join(drafted.notes["sent"])
    assert (columns["sent"]["type"], columns["sent"]["zone"]) == ("time", "UTC")
    assert columns["sent"]["earliest"] == "2024-01-01", "an offset may lead into the year before"
    assert "25 % of the cells have no offset and would count as UTC" in said and "subtracted" in said
    assert columns["seen"]["format"] == "%m/%d/%Y %H:%M %p" and "zone" not in columns["seen"]
    with sf.curate(pa.table(cells), drafted.confirm().schema(), Pure(10**6)) as curator:
        for where, count in (
            ("sent IS NULL OR seen IS NULL", 0),
            ("seen < '2025-01-01 12:00:00'", sum(day < pandas.Timestamp("2025-01-01 12:00") for day in days)),
            ("sent < '2025-01-01T08:00:00Z'", sum(pandas.to_datetime(one, utc=True) < pandas.Timestamp("2025-01-01T08:00Z")
                                                  for one in mixed)),
        ):  # fmt: skip
            assert curator.count(where, spend=Pure(1000)).value == count
    last = candidate_of("sent", ["9999-12-31T23:59:00-01:00", "9998-12-31T23:59:00Z"] * 50).record
    assert last is not None and last["latest"] == "9999-12-31T23:59:00"
    two = [f"{day:%m/%d/%Y %I:%M %p}" if place % 3 else f"{day:%Y-%m-%d}" for place, day in enumerate(days)]
    assert any("12/31/2024 06:30 PM" in note for note in candidate_of("seen", two).notes)


@pytest.mark.parametrize("word", ["k.A.", "k. A.", "keine Angabe", "n. d.", "s/d", "ND"])
@pytest.mark.parametrize("cells", [RARE, 70, 700])
def test_a_category_that_may_mean_nothing_is_remarked_on_whatever_its_share(word: str, cells: int) -> None:
    """A word that is no English one was listed without a remark."""
    found = candidate_of("ward", ["north", "south"] * 500 + [word] * cells + [None] * 100)
    part = f"{100 * cells / (1000 + cells):.2g} %"
    assert found.record is not None and word in found.record["values"], (
        "it may be a category, and stays until somebody says"
    )
    (said,) = [note for note in found.notes if "nobody filled in the cell" in note]
    assert said.startswith(f"{word!r}, {part} of the cells") and "take it out of values" in said
    assert not candidate_of("ward", ["north", "south"] * 500).notes


def test_a_column_that_was_left_out_is_taken_in_with_its_type() -> None:
    """There was no column of that name, the draft said, and listed others."""
    table = pa.table({"remark": [f"seen by {row} and {row * 7}" for row in range(200)], "age": list(range(50)) * 4})
    drafted = sf.draft(table, look=True)
    assert "Left out is remark" in str(drafted)
    with pytest.raises(SchemaError, match=r"leaves 'remark' out; fill takes it in if you write its type too"):
        drafted.fill(remark={"max_bytes": 40})
    with pytest.raises(SchemaError, match="has no column 'remarks'"):
        drafted.fill(remarks={"type": "text", "max_bytes": 40})
    filled = drafted.fill(remark={"type": "text", "max_bytes": 40})
    assert "Left out" not in str(filled) and filled.confirm().schema().names == ("age", "remark")
    assert filled.drop("remark").fill(age={"high": 60}).record["columns"]["age"]["high"] == 60


@pytest.mark.parametrize("name", ["Schülernummer", "Kundennr", "N° lecteur", "id_patient", "Numéro adhérent", "código"])
def test_people_are_numbered_in_other_languages_too(name: str) -> None:
    table = pa.table({name: [f"K{row // 3}" for row in range(600)], "pay": list(range(600)), "full time?": ["Y"] * 600})
    drafted = sf.draft(table)
    assert drafted.record["person"] == (name if name != "código" else "you must fill this in")
    assert drafted.record["columns"]["full time?"]["type"] == "category", "no time of day"
