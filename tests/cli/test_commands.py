from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.table.names import FILL
from sfumato.table.schema import Schema
from tests.cli.conftest import Place, run


def test_init_drafts_without_looking_at_cells(place: Place, tmp_path: Path) -> None:
    shown = run("init", place.data)
    assert shown.code == 0 and f'low = "{FILL}"' in shown.out
    assert run("init", place.data, "--json").json["missing"][0] == "person"
    target = tmp_path / "draft.toml"
    written = run("init", place.data, "--out", target)
    assert written.code == 0 and "never what you see in the data" in written.out
    assert target.read_text().strip() == shown.out.strip()
    target.write_text("mine")
    again = run("init", place.data, "--out", target)
    assert again.code == 2 and "not overwritten; write another name after --out, or --force" in again.err
    assert target.read_text() == "mine"
    assert run("init", place.data, "--out", target, "--force").code == 0
    assert target.read_text().strip() == shown.out.strip()


def test_check_counts_repairs_and_says_that_it_protects_nobody(place: Place) -> None:
    found = run("check", place.data, place.schema, "--json").json
    assert "protects nobody" in found["notice"]
    assert (found["rows"], found["people"], found["rows_without_person"]) == (300, 300, 0)
    assert {column["name"]: (column["missing"], column["outside"]) for column in found["columns"]} == {
        "age": (0, 0),
        "sex": (0, 100),
        "hours": (0, 150),
    }
    assert "protects nobody" in run("check", place.data, place.schema).out


def test_check_reads_text_cells_dates_and_people(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "who,n,d,b,t\na,1,2020-01-02,yes,abc\na,x,1990-01-01,2,toolong\na,7.5,,true,\n,200,2020-02-30,0,ok\n"
    )
    (tmp_path / "t.toml").write_text(
        """person = "who"
        rows_per_person = 2
        [columns]
        n = {type = "fixed", low = 0, high = 100, step = 0.5}
        d = {type = "date", earliest = "2000-01-01", latest = "2030-12-31"}
        b = {type = "boolean"}
        t = {type = "text", max_bytes = 4}
        """
    )
    found = run("check", tmp_path / "t.csv", tmp_path / "t.toml", "--json").json
    assert (found["rows"], found["rows_without_person"], found["people"]) == (4, 1, 1)
    assert found["people_with_more_rows_than_count"] == 1
    counts = {column["name"]: (column["missing"], column["outside"]) for column in found["columns"]}
    assert counts == {"n": (1, 1), "d": (2, 1), "b": (1, 0), "t": (1, 1)}, (
        "a word that is neither true nor false is missing"
    )


@pytest.mark.parametrize(
    ("question", "columns"),
    [
        ("count where age > 40", {"value", "low", "high"}),
        ("sum of hours", {"value", "low", "high"}),
        ("Mean hours WHERE age > 40 AND sex = 'Female'", {"value", "low", "high"}),
        ("variance of hours", {"value", "low", "high"}),
        ("histogram of decade, sex", {"decade", "sex", "count", "count, low", "count, high"}),
        ("median of age", {"probability", "age", "rank error"}),
        ("quantiles 0.1, 0.9 of age where sex = 'Male'", {"probability", "age", "rank error"}),
        ("count, mean of hours by sex", {"sex", "count", "mean of hours", "count, low", "mean of hours, high"}),
        ("histogram of age, hours found privately", {"age", "hours", "count"}),
        ('{"question": "Count", "where": "age > 40"}', {"value", "low", "high"}),
    ],
)
def test_questions_of_all_kinds(place: Place, question: str, columns: set[str]) -> None:
    found = place.query(question, "--json", spend="Pure(0.5)")
    assert found.code == 0, found.err
    assert columns <= set(found.json["table"])
    shown = place.run("ledger", "show", place.ledger).out
    assert "in numbers" in shown and " of 2" in shown and "xperts" not in shown


def test_a_public_count_is_free_and_a_question_asked_again_too(place: Place) -> None:
    assert place.query("count", "--json", spend=None).json["table"]["value"] == [300]
    first = place.query("count where age > 40", "--json").json
    second = place.query("count where NOT age <= 40", "--json").json
    assert (second["reused"], second["table"]) == (True, first["table"])
    assert "answered before" in place.query("count where age > 40").out


def test_a_file_that_changed_is_asked_again(place: Place) -> None:
    asked = "count where age > 40"
    assert place.query(asked, "--json", "--snapshot", "march").json["event"]["parameters"]["snapshot"] == "march"
    assert place.query(asked, "--json").json["event"]["parameters"]["snapshot"] == "march"  # the file has a name now
    found = place.data.stat()
    os.utime(place.data, ns=(found.st_atime_ns, found.st_mtime_ns + 10**9))
    fresh = place.query(asked, "--json").json
    assert (fresh["event"]["parameters"]["snapshot"], fresh["reused"]) == ("1", False)
    refused = place.query(asked, "--snapshot", "march")
    assert refused.code != 0 and "was used for another file" in refused.err
    assert place.query(asked, "--json", "--snapshot", "march", "--same-data").json["reused"]


def test_previews_and_rehearsals_cost_nothing(place: Place) -> None:
    before = place.spent()
    fits = place.query("histogram of age", "--preview")
    assert (
        fits.code == 0
        and fits.out.startswith("Fits. 95 % of the time")
        and "It would cost a person epsilon 0.1" in fits.out
    )
    assert (
        place.run(
            "ledger", "preview", place.ledger, place.data, place.schema, "sum of hours", "--spend", "Pure(5)"
        ).code
        == 1
    )
    played = place.query("histogram of sex", "--rehearse")
    assert played.code == 0 and "made-up rows" in played.out and "Nothing was spent" in played.out
    assert place.spent() == before


@pytest.mark.parametrize(
    "asked", ["median of age by sex", "histogram of age", "synthesize age, sex", "count, mean of hours by sex"]
)
@pytest.mark.parametrize("spend", ["Pure(0.5)", "Pure(1)"])
def test_a_preview_and_its_answer_name_one_price(place: Place, asked: str, spend: str) -> None:
    """A preview said 0.41 at delta 1e-6, a limit was charged 0.5, and the answer cost 0.5."""
    before = place.query(asked, "--preview", spend=spend).out
    assert " is charged " not in before
    (price,) = re.findall(r"would cost (a person epsilon [^;]*);", before)
    played = place.query(asked, "--rehearse", spend=spend).out
    assert "by sex" in asked or f"It would cost {price};" in played
    assert f"It cost {price};" in place.query(asked, spend=spend).out


@pytest.mark.parametrize("asked", ["histogram of age", "median of age by sex", "synthesize age, sex"])
def test_a_preview_of_what_was_answered_says_that_it_is_free(place: Place, asked: str) -> None:
    assert not place.query(asked, "--preview", "--json").json["free"]
    place.query(asked)
    before, again = place.spent(), place.query(asked, "--preview")
    assert "asking again costs nothing and gives the stored answer" in again.out and "would cost" not in again.out
    found = place.query(asked, "--preview", "--json").json
    assert found["free"] and found["fits"]
    shared = ("ledger", "preview", place.ledger, place.data, place.schema, asked, "--spend", "Pure(0.1)")
    assert "costs nothing" in place.run(*shared).out and "would cost" in place.run(*shared, "--snapshot", "other").out
    assert place.query(asked, "--json").json["reused"] and place.spent() == before


def test_a_refusal_ends_with_1_and_says_what_fits(place: Place) -> None:
    before = place.spent()
    refused = place.query("histogram of age", spend="Pure(3)")
    assert refused.code == 1 and refused.out == ""
    assert (
        refused.err.startswith("Error: Refused before the data were touched")
        and "The largest that fits is Pure(1)" in refused.err
    )
    assert place.spent() == before


def test_a_picture_is_written(place: Place, tmp_path: Path) -> None:
    assert place.query("histogram of sex", "--plot", str(tmp_path / "p.svg")).code == 0
    assert "<svg" in (tmp_path / "p.svg").read_text()


def test_ledgers_are_made_shown_and_verified(place: Place, tmp_path: Path) -> None:
    new = tmp_path / "new.ledger"
    options = ["--attributes", "age+sex=Pure(1.5)", "--people", "4=Pure(6)", "--each-attribute", "Concentrated(0.1)"]
    made = run("ledger", "create", new, "--person", "Pure(3)", "--schema", place.schema, *options, "--json")
    assert made.code == 0, made.err
    assert [limit["limit"] for limit in made.json["limits"]] == [
        "person",
        "age",
        "sex",
        "hours",
        "age + sex",
        "4 people",
    ]
    shown = run("ledger", "show", new)
    assert "together satisfies Pure(3) for each person" in shown.out and "The guarantee is the limit" in shown.out
    checked = run("ledger", "verify", new, "--json")
    assert checked.code == 0 and checked.json["ok"]
    assert checked.json["compared_with"] is None and run("ledger", "verify", new, "--head", made.json["head"]).code == 0
    alone = run("ledger", "verify", new)
    assert "Not checked: that it is the newest one" in alone.out and f"--head {made.json['head']}" in alone.out
    elsewhere = f"{made.json['head'].split(':')[0]}:{'0' * 64}"
    rolled = run("ledger", "verify", new, "--head", elsewhere)
    assert rolled.code == 3 and "rolled back" in rolled.out and "or what was kept of it was mistyped" in rolled.out
    assert "4:deadbeef" in run("ledger", "verify", new, "--head", "4:deadbeef").out
    again = run("ledger", "create", new, "--person", "Pure(3)")
    assert again.code == 2 and "exists already" in again.err


def test_show_lists_every_request_that_was_charged(place: Place) -> None:
    assert place.query("mean of hours where age > 40", spend="Pure(0.1)").code == 0
    shown = run("ledger", "show", str(place.ledger))
    assert "Charged so far, in order" in shown.out and "mean of hours" in shown.out and "committed" in shown.out
    (entry,) = run("ledger", "show", str(place.ledger), "--json").json["history"]
    assert (entry["status"], entry["epsilon"], entry["attributes"]) == ("committed", "1/10", ["age", "hours"])
    assert entry["at"].endswith("+00:00") and entry["spend"]["bound"] == "Pure"


def test_a_changed_ledger_is_found_out(place: Place) -> None:
    import sqlite3

    place.query("count where age > 40")
    with sqlite3.connect(place.ledger) as raw:
        raw.execute("UPDATE sfumato_row SET body = replace(body, '1/10', '1/99') WHERE kind = 'reserved'")
    raw.close()
    found = run("ledger", "verify", place.ledger)
    assert found.code == 3 and "hash chain is broken" in found.out
    assert "End of the chain:" not in found.out and "none was verified" in found.out, "it looked like the good one's"
    assert run("ledger", "verify", place.ledger, "--json").json["head"] is None
    for shown in (run("ledger", "show", place.ledger), run("report", place.ledger)):
        assert "changed outside it" in shown.err and "`sfumato ledger verify LEDGER`" in shown.err
    report = run("report", place.ledger, "--out", place.ledger.parent / "report.html")
    assert report.code == 3 and report.out.index("does not verify") < report.out.index("at most")
    assert "changed outside of it" in (place.ledger.parent / "report.html").read_text("utf-8")
    packed = run("evidence", place.ledger)
    assert packed.code == 3 and packed.out.index("does not verify") < packed.out.index("satisfies")


def test_a_damaged_ledger_is_a_sentence_that_quotes_nothing_of_it(place: Place) -> None:
    """The database's own words quote a cell that it cannot read, and states of conversations are secret."""
    import sqlite3
    import traceback

    from sfumato.errors import DamagedLedger
    from sfumato.ledger import Ledger
    from sfumato.serve.wire import problem_of

    place.query("count where age > 40")
    with sqlite3.connect(place.ledger) as raw:
        raw.execute("UPDATE sfumato_reservation SET answer = CAST(X'736563726574ff' AS TEXT)")
    raw.close()
    found = run("ledger", "verify", place.ledger)
    assert found.code == 3 and "was damaged" in found.err and "newest copy" in found.err
    assert "secret" not in found.err + found.out
    with pytest.raises(DamagedLedger) as caught, Ledger(place.ledger) as book:
        book.verify()
    said = "".join(traceback.format_exception(caught.value))
    assert "Could not decode" in said and "secret" not in said and caught.value.__context__ is None
    assert place.ledger.name not in problem_of(caught.value)["detail"]


def test_a_row_that_is_no_json_any_more_is_a_sentence(place: Place, tmp_path: Path) -> None:
    import sqlite3

    place.query("count where age > 40")
    with sqlite3.connect(place.ledger) as raw:
        raw.execute("UPDATE sfumato_row SET body = 'x' || body WHERE kind = 'reserved'")
    raw.close()
    out = tmp_path / "t.html"
    for shown in (run("ledger", "show", place.ledger), run("report", place.ledger, "--out", out)):
        assert shown.code == 2 and "The history cannot be read; `sfumato ledger verify LEDGER` says" in shown.err
    assert not out.exists()


def test_the_report_is_printed_and_written(place: Place, tmp_path: Path) -> None:
    place.query("count, mean of hours by sex")
    page = tmp_path / "report.html"
    answered = tmp_path / "answers.toml"
    answered.write_text("bits = false\nmembership = false\n")
    found = run(
        "report", place.ledger, "--out", page, "--no", "repeated", "--yes", "identity", "--answers", answered,
        "--attributes", "age+sex", "--family", 3, "--delta", "1e-9",
    )  # fmt: skip
    assert found.code == 0, found.err
    assert "any 3 people" in found.out and "age + sex" in found.out and page.read_text().startswith("<!DOCTYPE")
    again = run("report", place.ledger, "--out", page)
    assert again.code == 2 and "exists already and is not overwritten; write another name after --out, or" in again.err
    listed = run("report", place.ledger, "--out", page, "--force", "--no", "repeated, bits", "--yes", "identity")
    assert listed.code == 0 and "Is the same secret visible" not in listed.out, "both of the list were answered"
    blocked = run("report", place.ledger, "--yes", "membership", "--json").json
    assert blocked["blocked_by"] == ["membership"] and blocked["attributes"] == []
    assert set(run("report", place.ledger, "--questions", "--json").json) >= {"membership", "identity"}


def test_the_demo_and_the_doctor_run(tmp_path: Path) -> None:
    told = run("demo", "--out", tmp_path / "demo")
    assert told.code == 0, told.err
    assert "Refused before the data were touched: the limit on age" in told.out
    assert (tmp_path / "demo" / "report.html").exists() and (tmp_path / "demo" / "decades.svg").exists()
    examined = run("doctor", "--json")
    assert examined.code == 0, examined.out
    assert {test["name"]: test["ok"] for test in examined.json}["noise"]


def test_the_doctor_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.cli import doctor

    def broken() -> str:
        raise RuntimeError("the draws are all 7")

    monkeypatch.setattr(doctor, "_noise", broken)
    monkeypatch.setattr(doctor, "PACKAGES", ("no-such-package",))
    monkeypatch.setattr("shutil.which", lambda name: None)
    found = run("doctor")
    assert found.code == 3 and "the draws are all 7" in found.out and "only Spark needs it" in found.out


def command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the real program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "sfumato.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_the_program_itself(place: Place) -> None:
    asked = command(
        "query", place.data, place.schema, "count where age > 40", "--ledger", place.ledger, "--spend", "Pure(0.1)"
    )
    assert asked.returncode == 0 and "It cost a person epsilon 0.1" in asked.stdout and asked.stderr == ""
    wrong = command("query", place.data, place.schema, "mean of agee", "--ledger", place.ledger, "--spend", "Pure(0.1)")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == "Error: There is no column 'agee' in the schema; did you mean 'age'?\n"
    shown = command("query", place.data, place.schema, "mean of agee", "--ledger", place.ledger, SFUMATO_DEBUG="1")
    assert "Traceback" in shown.stderr


def test_help_is_quick_and_loads_nothing_heavy() -> None:
    code = (
        "import sys, time; start = time.process_time()\n"
        "from typer.testing import CliRunner\nfrom sfumato.cli import app\n"
        "out = CliRunner().invoke(app, ['--help'])\n"
        "heavy = {'flint', 'scipy', 'matplotlib', 'ibis', 'duckdb', 'pyarrow', 'sqlalchemy', 'numpy'} & set(sys.modules)\n"
        "print(out.exit_code, sorted(heavy), time.process_time() - start)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(3)
    ]
    assert all(line.startswith("0 [] ") for line in runs)
    assert min(float(line.split()[-1]) for line in runs) < 0.4


def test_version_and_completion() -> None:
    assert run("--version").out.strip() == "0.1.0"
    told = command(_SFUMATO_COMPLETE="complete_bash", COMP_WORDS="sfumato le", COMP_CWORD="1")
    assert told.stdout.split() == ["learn", "ledger"]
    named = command(_SFUMATO_COMPLETE="complete_bash", COMP_WORDS="sfumato report x --yes mem", COMP_CWORD="4")
    assert named.stdout.split() == ["membership"]


def test_the_schema_of_the_example_describes_its_file() -> None:
    data = Path(__file__).resolve().parents[2] / "examples" / "data"
    assert Schema.load(data / "adult.toml").names[0] == "age"
    found = run("check", data / "adult.parquet", data / "adult.toml", "--json").json
    assert found["rows"] == 48842


def test_what_was_cut_short_is_finished_or_given_up(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError("3 GiB for the cell of person 17")

    with monkeypatch.context() as patch:
        patch.setattr("sfumato.ask.prepared.Several.run", full)
        cut = place.query("count where age > 40")
    assert cut.code == 4 and "Nothing is lost" in cut.err and "17" not in cut.err
    assert place.query("count where age > 40").code == 0  # free: it completes what was begun
    with monkeypatch.context() as patch:
        patch.setattr("sfumato.ask.prepared.Several.run", full)
        place.query("count where age > 50")
    (begun,) = [
        entry for entry in run("ledger", "show", place.ledger, "--json").json["history"] if entry["status"] == "started"
    ]
    given = run("ledger", "give-up", place.ledger, begun["id"], "--json")
    assert given.code == 0 and given.json["state"] == "dead"
    assert place.query("count where age > 50").code == 0
    assert [entry["status"] for entry in run("ledger", "show", place.ledger, "--json").json["history"]] == [
        "committed", "dead", "committed",
    ]  # fmt: skip


def test_a_head_that_is_kept_shows_an_older_copy(place: Place, tmp_path: Path) -> None:
    head, older = tmp_path / "head", tmp_path / "older"
    assert place.query("count where age > 40", "--keep-head", str(head)).code == 0
    older.write_bytes(place.ledger.read_bytes())
    assert place.query("count where age > 50", "--keep-head", str(head)).code == 0
    place.ledger.write_bytes(older.read_bytes())
    refused = place.query("count where age > 60", "--keep-head", str(head))
    assert refused.code == 2 and "rolled back" in refused.err
