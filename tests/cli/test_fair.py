"""`sfumato fair audit` from a shell."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from pyarrow import csv

from sfumato.noise import Noise
from tests.cli.conftest import Result, run

PEOPLE = 300


@pytest.fixture
def decisions(tmp_path: Path) -> Path:
    """Women with the same experience are refused more often."""
    noise = Noise(insecure_seed=1)
    experience, coin = noise.uniform(20, PEOPLE), noise.uniform(1000, PEOPLE)
    woman = noise.uniform(5, PEOPLE) < 2
    table = {
        "sex": ["f" if here else "m" for here in woman],
        "experience": experience,
        "town": [f"t{place}" for place in noise.uniform(8, PEOPLE)],
        "decision": (coin < 300 + 25 * experience - 280 * woman).astype(int),
        "chance": (300 + 15 * experience) / 1000,
        "said": ["yes" if good else "no" for good in coin < 500],
        "merit": (coin < 300 + 25 * experience).astype(int),
    }
    csv.write_csv(pyarrow.table(table), tmp_path / "decisions.csv")
    pyarrow.parquet.write_table(pyarrow.table(table), tmp_path / "decisions.parquet")
    (tmp_path / "metric.toml").write_text("cap = 1.0\n[weights]\nexperience = 0.1\n")
    return tmp_path


def audit(place: Path, *options: object, file: str = "decisions.csv", protected: str = "sex") -> Result:
    given = () if "--metric" in options else ("--metric", place / "metric.toml")
    chances = "chance" in options or "--favourable" in options
    return run(
        "fair", "audit", place / file, "--protected", protected, *given, *options,
        *(() if chances else ("--favourable", "1")),
    )  # fmt: skip


def test_an_unfair_file_is_raised_and_ends_with_three(decisions: Path) -> None:
    found = audit(decisions)
    assert found.code == 3 and found.err == ""
    assert "E1, E2" in found.out.splitlines()[0] and "Nine checks" in found.out


def test_one_json_document_and_one_page(decisions: Path) -> None:
    page = decisions / "audit.html"
    found = audit(
        decisions, "--json", "--html", page, "--label", "merit", "--segments", "town", file="decisions.parquet"
    )
    record = found.json
    assert found.code == 3 and record["ok"] is False and record["warnings"] == []
    assert {one["code"] for one in record["findings"] if one["ran"]} >= {"E1", "E2", "E3", "E4", "E5", "E7", "E8", "E9"}
    assert page.read_text().startswith("<!doctype html>")
    assert f"Wrote {page}." in audit(decisions, "--html", page).out


def test_a_fair_file_ends_with_zero(decisions: Path) -> None:
    found = audit(decisions, "--decision", "chance")
    assert found.code == 0 and "Nothing was raised." in found.out


def test_words_as_qualification_and_named_features(decisions: Path) -> None:
    refused = audit(decisions, "--label", "said")
    assert refused.code == 2 and "with --deserving; they are no, yes." in refused.err
    page = decisions / "audit.html"
    found = audit(decisions, "--label", "said", "--deserving", "yes", "--json", "--html", page)
    assert "E5" not in found.json["not_run"] and "said" not in str(found.json["findings"])
    written = page.read_text()
    assert written.index("Not differentially private") < written.index("Rates by sex")
    assert "good decisions among those around" in written
    assert "did you mean 'town'?" in audit(decisions, "--features", "twon").err
    named = audit(decisions, "--features", "experience,town", "--json").json["findings"]
    assert not any(word in str(named) for word in ("merit ≤", "merit >", "chance ≤", "chance >", "said ="))


@pytest.mark.parametrize(
    ("column", "line"), [("decision", "--favourable 1 if it is 1"), ("said", "--favourable 'no' if")]
)
def test_which_decision_is_good_is_never_guessed(decisions: Path, column: str, line: str) -> None:
    found = run("fair", "audit", decisions / "decisions.csv", "--protected", "sex", "--decision", column)
    assert found.code == 2 and line in found.err and found.err.count("\n") == 1


def test_people_without_a_decision_were_not_refused(decisions: Path) -> None:
    noise = Noise(insecure_seed=4)
    rows = ["sex,experience,decision\n"]
    for experience, coin, pending in zip(
        noise.uniform(20, 900), noise.uniform(10, 900), noise.uniform(10, 900), strict=True
    ):
        sex = "fm"[len(rows) % 2]
        decision = "" if sex == "f" and pending < 4 else "approved" if coin < 6 else "refused"
        rows.append(f"{sex},{experience},{decision}\n")
    (decisions / "pending.csv").write_text("".join(rows))
    found = audit(decisions, "--favourable", "approved", file="pending.csv")
    assert found.code == 0 and "of 900 people have no decision (f " in found.out and ", m 0); everything" in found.out
    record = audit(decisions, "--favourable", "approved", "--json", file="pending.csv").json
    assert record["by_group"]["without_decision"] == 900 - record["people"] > 100
    numbers = "".join(rows).replace("approved", "1").replace("refused", "0")
    (decisions / "numbers.csv").write_text(numbers)
    again = audit(decisions, "--favourable", "1", "--json", file="numbers.csv").json
    assert again["parity"] == record["parity"] and again["rates"] == record["rates"]


def test_words_as_decisions(decisions: Path) -> None:
    found = audit(decisions, "--decision", "said", "--favourable", "yes", "--group", "f", "--json")
    assert found.code == 0 and found.json["groups"] == ["f", "m"]


def test_a_metric_that_reads_the_protected_column_is_warned_about(decisions: Path) -> None:
    (decisions / "sexist.toml").write_text("[weights]\nexperience = 0.1\nsex = 0.5\n")
    found = audit(decisions, "--metric", decisions / "sexist.toml")
    assert found.out.startswith("Warning: The metric itself reads the protected column 'sex'")
    assert len(audit(decisions, "--metric", decisions / "sexist.toml", "--json").json["warnings"]) == 1


@pytest.mark.parametrize(
    ("file", "protected", "options", "hint"),
    [
        ("decisions.csv", "sexx", (), "did you mean 'sex'?"),
        ("decisions.csv", "sex", ("--decision", "decison"), "did you mean 'decision'?"),
        ("decisions.csv", "decision", (), "name two columns"),
        ("decisions.csv", "town", (), "with --group."),
        ("decisions.csv", "sex,town", (), "one protected column at a time; run it once with each: sex, then town."),
        ("decisions.csv", "sex", ("--decision", "said", "--favourable", "Yes"), "did you mean 'yes'?"),
        ("decisions.csv", "sex", ("--group", "x"), "at least 2 people"),
        ("decisions.csv", "sex", ("--label", "town"), "holds text"),
        ("decisions.csv", "sex", ("--label", "merrit"), "'merrit'"),
        ("decisions.csv", "sex", ("--segments", "county"), "'county'"),
        ("decisions.csv", "sex", ("--alpha", "2"), "between 0 and 1"),
        ("decisions.csv", "sex", ("--html", "audit.pdf"), "write audit.html"),
        ("decisions.csv", "sex", ("--metric", "none.toml"), "none.toml"),
        ("no.csv", "sex", (), "There is no file"),
        ("metric.toml", "sex", (), ".csv or .parquet"),
    ],
)
def test_bad_input_is_one_sentence(
    decisions: Path, file: str, protected: str, options: tuple[str, ...], hint: str
) -> None:
    found = audit(decisions, *options, file=file, protected=protected)
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith("Error: ") and found.err.count("\n") == 1
    assert hint in found.err
    again = audit(decisions, *options, "--json", file=file, protected=protected)
    assert json.loads(again.err)["code"] == 2


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("ragged.csv", "sex,decision\nf,1\nm\n", "as many columns"),
        ("empty.csv", "", "cannot be read"),
        ("head.csv", "sex,decision\n", "no rows"),
        ("twice.csv", "sex,sex,decision\nf,f,1\n", "same name"),
        ("odd.parquet", "not parquet", "cannot be read as PARQUET"),
        ("holes.csv", "sex,experience,decision\nf,1,1\nm,,0\nf,2,0\nm,3,1\n", "missing"),
        ("word.csv", "sex,experience,decision\nf,1,1\nm,few,0\nf,2,0\nm,3,1\n", "that of row 2 is none"),
        ("comma.csv", 'sex,experience,decision\nf,"1,5",1\nm,2,0\nf,2,0\nm,3,1\n', "that of row 1 is none"),
        ("semi.csv", "sex;experience;decision\nf;1,5;1\nm;2,5;0\nf;few;0\nm;3,1;1\n", "that of row 3 is none"),
        ("unknown.csv", "sex,experience,decision\nf,1,1\nm,2,\nf,2,0.5\nm,3,1\n", "2 of f and 1 of m have a decision"),
        ("sure.csv", "sex,experience,decision\nf,1,1.5\nm,2,0\nf,2,0.5\nm,3,1\n", "between them"),
    ],
)
def test_bad_files(decisions: Path, name: str, content: str, hint: str) -> None:
    (decisions / name).write_text(content)
    found = audit(decisions, file=name)
    assert found.code == 2 and found.err.count("\n") == 1 and hint in found.err, found


def test_semicolons_and_decimal_commas_are_read(tmp_path: Path) -> None:
    rows = "".join(f"{'fm'[place % 2]};{place % 5},{place % 3}5;{place // 2 % 2}\n" for place in range(80))
    (tmp_path / "excel.csv").write_text("sex;experience;decision\n" + rows)
    (tmp_path / "metric.toml").write_text("[weights]\nexperience = 0.1\n")
    found = audit(tmp_path, "--json", file="excel.csv")
    assert found.code in (0, 3) and found.json["people"] == 80
    assert "decimal commas in experience" in found.json["warnings"][0]


def test_a_second_protected_column_is_not_dropped(decisions: Path) -> None:
    found = audit(decisions, "--protected", "town")
    assert found.code == 2 and "one protected column at a time; run it once with each: sex, then town" in found.err


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("weights = [", "no TOML"),
        ("[weight]\nexperience = 1\n", "[weights]"),
        ("[weights]\nexperience = -1\n", "not negative"),
        ('[weights]\nexperience = "much"\n', "number"),
        ("[weights]\nexperiense = 1\n", "'experiense'"),
        ('norm = "odd"\n[weights]\nexperience = 1\n', "norm"),
        ('cap = "one"\n[weights]\nexperience = 1\n', "cap"),
        ("cap = -1\n[weights]\nexperience = 1\n", "cap"),
    ],
)
def test_bad_metrics(decisions: Path, content: str, hint: str) -> None:
    (decisions / "bad.toml").write_text(content)
    found = audit(decisions, "--metric", decisions / "bad.toml")
    assert found.code == 2 and found.err.count("\n") == 1 and hint in found.err, found


def test_help_names_the_command() -> None:
    assert "audit" in run("fair", "--help").out and "--protected" in run("fair", "audit", "--help").out


def test_how_long_many_pairs_take_is_said_before() -> None:
    from sfumato.fair.audits.files import work_ahead

    assert work_ahead(300) == "" and "all 49,995,000 pairs of 10,000 people, about " in work_ahead(10_000)
    assert "a sample of the pairs" in work_ahead(100_000)


def test_the_old_word_is_answered_with_the_new_one(decisions: Path) -> None:
    refused = audit(decisions, "--qualification", "merit")
    assert refused.code == 2 and "write --label merit" in refused.err


def test_groups_of_several_columns_are_compared_and_what_is_left_out_is_said(tmp_path: Path) -> None:
    """The shell and its Python twin say the same: rates that were planted, who has no group, who has no decision."""
    from sfumato.fair import compare_file

    rows = ["age,home,said,paid"]
    for age, home, good in (("old", "hill", 20), ("old", "sea", 60), ("young", "hill", 60), ("young", "sea", 80)):
        rows += [
            f"{age},{home},{'yes' if place < good else 'no'},{'back' if place < 50 else ''}" for place in range(100)
        ]
    rows += ["old,,yes,back"] * 7 + [",sea,no,lost"] * 5 + ["young,hill,,lost"] * 3
    file, page = tmp_path / "flats.csv", tmp_path / "groups.html"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    given = ("fair", "compare", file, "--by", "age,home", "--decision", "said", "--favourable", "yes")
    found = run(*given, "--out", page)
    twin = compare_file(file, ["age", "home"], decision="said", favourable="yes")
    assert found.code == 3 and str(twin) in found.out, "the shell and Python differ"
    assert twin.left_out() == {("age",): 5, ("home",): 7, ("age", "home"): 12}
    assert "Of 412 people with a decision" in found.out and "by age 5, by home 7, by age and home 12" in found.out
    assert "by age old 0, unknown 0, young 3; by home hill 3, sea 0, unknown 0" in found.out
    assert "By age and home together it is lower still. Selection rate of old, hill is 0.25 of that" in found.out
    assert twin.lowest_together() in page.read_text("utf-8") and "by age 5" in page.read_text("utf-8")
    assert run(*given, "--json").json["left_out"] == {"age": 5, "home": 7, "age and home": 12}
    labelled = run(*given, "--label", "paid", "--deserving", "back", "--json").json
    assert labelled["without_label"] == 200 and twin.to_json()["without_label"] == 0


def test_a_comparison_says_what_to_write(decisions: Path) -> None:
    file = decisions / "decisions.csv"
    several = audit(decisions, protected="sex,town")
    assert several.code == 2 and "write sfumato fair compare decisions.csv --by sex,town" in several.err
    wrong = run("fair", "compare", file, "--by", "sex,twn", "--favourable", "1")
    assert wrong.code == 2 and "did you mean 'town'" in wrong.err
    unsaid = run("fair", "compare", file, "--by", "sex", "--favourable", "1", "--label", "said")
    assert unsaid.code == 2 and "no, yes" in unsaid.err
    fine = run("fair", "compare", file, "--by", "sex", "--favourable", "1", "--reference", "m")
    assert fine.code in (0, 3) and "leave out those" not in fine.out, "no cell is missing, and it is said that some are"
