from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app

TOML = """
population = "patients"
[tables.patients]
person = "patient"
source = "patients.parquet"
columns.sex = {type = "category", values = ["f", "m"], missing = "skip"}
links.town = {to = "towns"}
[tables.visits]
person = "patient"
source = "visits.parquet"
rows_per_person = 4
columns.cost = {type = "fixed", low = 0, high = 500, step = "0.01", missing = "skip"}
[tables.towns]
public = true
key = "town"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    patients = {"patient": [1, 2, 3], "sex": ["f", "m", "f"], "town": ["Ayr", "Bath", None]}
    pq.write_table(pa.table(patients), tmp_path / "patients.parquet")
    pq.write_table(pa.table({"patient": [1, 1, 3], "cost": [2.5, 3.0, 99.0]}), tmp_path / "visits.parquet")
    (tmp_path / "towns.csv").write_text("town,people\nAyr,100\nBath,2000\n")
    (tmp_path / "clinic.toml").write_text(TOML)
    made = CliRunner().invoke(
        app, ["ledger", "create", str(tmp_path / "l"), "--person", "Pure(9)", "--schema", str(tmp_path / "clinic.toml")]
    )
    assert made.exit_code == 0, made.output
    return tmp_path


def run(place: Path, *more: str) -> Any:
    common = ["sql", str(place / "clinic.toml"), "--ledger", str(place / "l"), "--data", f"towns={place / 'towns.csv'}"]
    return CliRunner().invoke(app, [*common, *more])


def test_a_statement_is_answered_explained_and_refused(place: Path) -> None:
    text = (
        "SELECT people > 500 AS large, COUNT(*) AS n FROM patients JOIN towns ON patients.town = towns.town GROUP BY 1"
    )
    answered = run(place, text, "--spend", "Pure(1)", "--json", "--out", str(place / "answer.csv"))
    assert answered.exit_code == 0, answered.output
    found = json.loads(answered.output)
    assert found["table"]["large"] == [False, True] and not found["reused"]
    assert "large" in (place / "answer.csv").read_text()
    assert (place / "answer.notes.txt").read_text().splitlines() == found["notes"] and found["notes"]
    other = text.replace("500", "600")
    for name in ("answer.csv", "answer.txt"):
        refused = run(place, other, "--spend", "Pure(8)", "--out", str(place / name))
        assert refused.exit_code == 2, "before anything is charged, or nothing would be left for the next"
    forced = run(place, other, "--spend", "Pure(1)", "--out", str(place / "answer.csv"), "--force")
    assert forced.exit_code == 0, forced.output
    (place / "question.sql").write_text(text)
    assert json.loads(run(place, "-f", str(place / "question.sql"), "--spend", "Pure(1)", "--json").output)["reused"]
    told = run(place, text, "--spend", "Pure(1)", "--explain")
    assert told.exit_code == 0 and "patients.town" in told.output
    refused = run(place, "SELECT * FROM patients", "--spend", "Pure(1)")
    assert refused.exit_code == 2 and "not released" in refused.output + str(getattr(refused, "stderr", ""))
    assert run(place, "--spend", "Pure(1)").exit_code == 2


def test_numbers_of_a_statement_are_shown_with_their_intervals(place: Path) -> None:
    text = (
        "SELECT sex, COUNT(*) AS n, AVG(cost) AS paid FROM patients "
        "JOIN visits ON patients.patient = visits.patient GROUP BY sex ORDER BY sex DESC"
    )
    shown = run(place, text, "--spend", "Pure(1)").output
    assert "n, 95 %" in shown and "paid, 95 %" in shown
    assert shown.count("not known") >= 2  # three visits tell nothing of a mean at this spend
    assert "for each row on its own; with --together they hold for all rows at once" in shown
    apart, both = (
        json.loads(run(place, text, "--spend", "Pure(1)", "--json", *more).output)["table"]
        for more in ((), ("--together",))
    )
    assert [*apart] == ["sex", "n", "paid", "n, low", "n, high", "paid, low", "paid, high"]
    for low, n, high in zip(apart["n, low"], apart["n"], apart["n, high"], strict=True):
        assert low < n < high
    widths = [[high - low for low, high in zip(one["n, low"], one["n, high"], strict=True)] for one in (apart, both)]
    assert all(wide > narrow for narrow, wide in zip(*widths, strict=True))
    out = place / "answer.csv"
    assert run(place, text, "--spend", "Pure(1)", "--out", str(out)).exit_code == 0
    assert (
        out.read_text().splitlines()[0].replace('"', "") == "sex,n,paid,n, low,n, high,paid, low,paid, high,paid, known"
    )
    outer = "SELECT SUM(n) AS total FROM (SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex) AS t"
    told = run(place, outer, "--spend", "Pure(1)").output
    assert "An outer select has no intervals" in told and "95 %" not in told


def test_a_name_before_the_file_of_one_table_is_said_to_be_too_much(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text('[columns.sex]\ntype = "category"\nvalues = ["f", "m"]\n')
    pq.write_table(pa.table({"sex": ["f", "m"]}), tmp_path / "visits.parquet")
    create = ["ledger", "create", str(tmp_path / "l"), "--person", "Pure(9)", "--schema", str(tmp_path / "one.toml")]
    assert CliRunner().invoke(app, create).exit_code == 0
    common = ["sql", str(tmp_path / "one.toml"), "SELECT COUNT(*) FROM data", "--ledger", str(tmp_path / "l"), "--data"]
    refused = CliRunner().invoke(app, [*common, f"data={tmp_path / 'visits.parquet'}"])
    assert refused.exit_code == 2 and f"write --data {tmp_path / 'visits.parquet'}." in refused.stderr
    assert CliRunner().invoke(app, [*common, str(tmp_path / "visits.parquet")]).exit_code == 0


def test_of_one_table_the_file_may_stand_before_its_schema(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n" + "40\n" * 50)
    (tmp_path / "people.toml").write_text('[columns.age]\ntype = "integer"\nlow = 0\nhigh = 99\n')
    (tmp_path / "asked.sql").write_text("SELECT COUNT(*) FROM data WHERE age > 30")
    named = [str(tmp_path / "people.csv"), str(tmp_path / "people.toml")]
    paid = ["--ledger", str(tmp_path / "l"), "--spend", "Pure(1)", "--json"]
    made = CliRunner().invoke(app, ["ledger", "create", paid[1], "--person", "Pure(9)", "--schema", named[1]])
    assert made.exit_code == 0, made.output
    text = "SELECT COUNT(*) FROM data WHERE age > 30"
    found = [
        CliRunner().invoke(app, ["sql", *words, *paid])
        for words in ([*named, text], [named[1], text, "--data", named[0]], [*named, "-f", str(tmp_path / "asked.sql")])
    ]
    assert [one.exit_code for one in found] == [0, 0, 0], [one.output for one in found]
    assert [json.loads(one.output)["reused"] for one in found] == [False, True, True]
    twice = CliRunner().invoke(app, ["sql", *named, text, "--data", named[0], *paid])
    assert twice.exit_code == 2 and "written once" in twice.output


def test_a_database_is_checked_for_rows_of_nobody_and_links_that_lead_nowhere(place: Path) -> None:
    visits = {"patient": [1, 1, 3, 7, None], "cost": [2.5, 900.0, None, 1.0, 1.0]}
    pq.write_table(pa.table(visits), place / "visits.parquet")
    given = ["check", str(place / "clinic.toml"), "--data", f"towns={place / 'towns.csv'}"]
    told = CliRunner().invoke(app, [*given, "--json"])
    assert told.exit_code == 0, told.output
    found = json.loads(told.output)
    assert found["people"] == 3 and "protects nobody" in found["notice"]
    assert found["tables"]["patients"]["links_that_lead_nowhere"] == {"town": 1}
    told_visits = found["tables"]["visits"]
    assert told_visits["rows_without_person"] == 1 and told_visits["rows_of_people_outside_the_roster"] == 1
    assert told_visits["columns"] == [{"name": "cost", "missing": 1, "outside": 1}]
    shown = CliRunner().invoke(app, given).output
    assert "1 rows are of people outside of the roster." in shown and "1 rows lead nowhere by town." in shown
    alone = CliRunner().invoke(app, ["check", str(place / "visits.parquet")])
    assert alone.exit_code == 2 and "against its schema" in alone.output
