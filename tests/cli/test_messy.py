"""What somebody with messy files meets at the shell: each sentence says what is true, and what to write."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pyarrow
import pytest

from sfumato import Approximate, Pure, Schema, curate
from sfumato.cli.hints import in_shell
from sfumato.curator import Curator
from sfumato.curator.grouped import divided
from sfumato.curator.typed import read_question, read_request
from sfumato.domain import categories, fixed, integers
from sfumato.errors import ParameterError
from sfumato.questions.conversation import plan_conversation
from tests.cli.conftest import Result, run

REGIONS = (
    'person = "id"\nrows_per_person = {rows}\n[columns.r]\ntype = "category"\nvalues = ["a", "b"]\nmissing = "skip"\n'
)


def opened(here: Path, rows: int, spend: str = "Approximate(30, 1e-5)") -> list[str]:
    """Write people with so many rows each, their schema and a ledger; return what a command begins with."""
    lines = [f"{person};{'ab'[person % 2]}" for person in range(1000) for _ in range(rows)]
    (here / "t.csv").write_text("\n".join(["id;r", *lines]))
    (here / "t.toml").write_text(REGIONS.format(rows=rows))
    made = run("ledger", "create", here / "t.ledger", "--person", spend, "--schema", here / "t.toml")
    assert made.code == 0, made.err
    return [str(here / "t.csv"), str(here / "t.toml")]


def conversed(here: Path, rows: int) -> tuple[Result, str]:
    places = opened(here, rows)
    paid = ["--ledger", here / "t.ledger", "--spend", "Approximate(8, 1e-9)", "--columns", "r", "--name", "x"]
    found = run("converse", *places, "r = 'a'", *paid, "--out", here / "talk.csv")
    assert found.code == 0, found.err
    return found, (here / "talk.csv").read_text().splitlines()[0]


@pytest.mark.parametrize(("rows", "counted", "other"), [(3, "rows", "people"), (1, "people", "rows")])
def test_a_conversation_counts_people_only_where_each_has_one_row(
    tmp_path: Path, rows: int, counted: str, other: str
) -> None:
    found, header = conversed(tmp_path, rows)
    assert counted in header and other not in header
    assert f"a share of the {counted}" in found.out and f"  {other}  " not in found.out


def test_advice_against_a_conversation_is_written_for_the_shell() -> None:
    few = plan_conversation(Approximate(1, 1e-6), people=1841, cells=64, queries=42)
    said = in_shell(few.advice)
    assert few.verdict == "answer" and "curator" not in said and 'sfumato query … "tables 2 of' in said
    rows = plan_conversation(Approximate(1, 1e-6), people=50, cells=64, queries=10**6, sensitivity=3)
    said = in_shell(rows.advice)
    assert rows.verdict == "synthesize" and "curator" not in said and "people" not in said


def test_no_quantile_is_called_known_since_no_count_is_released(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\n".join(["r;x", *(f"a;{row}" for row in range(300))]))
    (tmp_path / "t.toml").write_text(
        '[columns.r]\ntype = "category"\nvalues = ["a", "b"]\n[columns.x]\ntype = "integer"\nlow = 0\nhigh = 1000\n'
        'missing = "skip"\n'
    )
    places = [tmp_path / "t.csv", tmp_path / "t.toml"]
    assert run("ledger", "create", tmp_path / "l", "--person", "Pure(30)", "--schema", places[1]).code == 0

    def asked(question: str, spend: str) -> str:
        out = tmp_path / "out.csv"
        found = run("query", *places, question, "--ledger", tmp_path / "l", "--spend", spend, "--out", out, "--force")
        assert found.code == 0, found.err
        return out.read_text()

    assert "known" not in asked("median of x by r", "Pure(3)")
    poor = asked("median of x by r", "Pure(0.01)")
    assert "x, known" in poor and "true" not in poor and "false" in poor
    assert "true" in asked("mean of x by r", "Pure(3)")


LOANS = Schema(
    {"Zinssatz %": fixed(0, 20, step=0.1), "x": integers(0, 1000), "r": categories("a", "b")},
    person="id",
    rows_per_person=3,
)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ('quantile 0.9 of "Zinssatz %"', "'quantiles 0.9 of \"Zinssatz %\"'"),
        ("percentiles 10, 90 of x", "'quantiles 0.1, 0.9 of x'"),
        ("quartiles of x", "'quantiles 0.25, 0.5, 0.75 of x'"),
        ("learn r from x missing Zinssatz %=5,3, x=4", "write Zinssatz %=5.3 in place of Zinssatz %=5,3"),
    ],
)
def test_what_to_write_names_the_numbers_and_the_column_that_were_typed(asked: str, words: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(words)):
        read_question(asked, LOANS)


def test_a_preview_of_means_and_quantiles_by_group_says_what_it_assumes() -> None:
    curator = rehearsed_curator()
    means = curator.preview(read_question("mean of x by r", LOANS), Pure(1)).error
    assert "if everybody has one row, all rows count and all 4 groups are equally large, by less if people" in means
    assert "if everybody has one row, by less" in curator.preview(read_question("mean of x", LOANS), Pure(1)).error
    assert "if" not in curator.preview(read_question("count", LOANS), Pure(1)).error
    groups = curator.preview(read_request("median of x by r", LOANS).asked, Pure(1)).expected
    assert groups is not None
    (compared, _) = divided(3, replace(groups, size=20))
    assert compared == "If all groups were equally large, each had at most 100 rows."
    (compared, _) = divided(3, replace(groups, size=50))
    assert compared.endswith("100 rows, and their values would tell nothing.")


def rehearsed_curator() -> Curator:
    table = pyarrow.table({"id": range(100), "Zinssatz %": [5.5] * 100, "x": range(100), "r": ["a"] * 100})
    return curate(table, LOANS, Pure(30))


def learned(here: Path, *options: str, rows: int = 1) -> Result:
    """Preview learning a column whose name holds a blank and a sign, from a file of a bank."""
    lines = [f"{row};{row % 20},5;{'abc'[row % 3]};{row % 9}" for row in range(300)]
    (here / "k.csv").write_text("\n".join(["id;Zinssatz %;r;x", *lines]))
    (here / "k.toml").write_text(
        f'person = "id"\nrows_per_person = {rows}\n'
        '[columns."Zinssatz %"]\ntype = "fixed"\nlow = 0\nhigh = 20\nstep = "0.1"\ndecimal = ","\nmissing = 0\n'
        '[columns.r]\ntype = "category"\nvalues = ["a", "b", "c"]\n'
        '[columns.x]\ntype = "integer"\nlow = 0\nhigh = 9\nmissing = 0\n'
    )
    made = run("ledger", "create", here / "k.ledger", "--person", "Pure(3)", "--schema", here / "k.toml")
    assert made.code == 0, made.err
    return run(
        "learn", here / "k.csv", here / "k.toml", *options, "--ledger", here / "k.ledger", "--spend", "Pure(1)",
        "--preview",
    )  # fmt: skip


def test_a_model_is_learned_of_columns_named_as_they_are_in_the_schema(tmp_path: Path) -> None:
    found = learned(tmp_path, "Zinssatz %", "--from", "x", "--with", "regression")
    assert found.code == 0, found.err


def test_what_other_values_of_a_label_count_as_is_said_before_it_is_paid_for(tmp_path: Path) -> None:
    found = learned(tmp_path, "r", "--from", "Zinssatz %, x", "--missing", "r=c")
    assert found.code == 0, found.err
    assert "Values of 'r' that are none of 'a', 'b', 'c' count as 'a'." in found.out
    assert "Missing cells of 'r' count as 'c'" in found.out


def test_two_labels_of_three_say_what_the_third_counts_as() -> None:
    schema = Schema({"r": categories("a", "b", "c", missing="c"), "x": integers(0, 9, missing=0)})
    table = pyarrow.table({"r": ["a", "b", "c"] * 100, "x": [1, 2, 3] * 100})
    asked = read_question("learn r from x with linear(classes=b|a)", schema)
    assert "are none of 'b', 'a' count as 'b'" in curate(table, schema, Pure(3)).preview(asked, Pure(1)).text


def test_another_ledger_for_a_model_is_said_to_add_up(tmp_path: Path) -> None:
    found = learned(tmp_path, "r", "--from", "x", "--with", "threshold", rows=3)
    assert found.code != 0 and "about the same people adds up" in found.err


def test_a_ledger_shows_the_name_of_a_conversation_and_how_it_ends(tmp_path: Path) -> None:
    conversed(tmp_path, 1)
    shown = run("ledger", "show", tmp_path / "t.ledger").out
    assert "conversation x" in shown and "sfumato ledger give-up LEDGER NAME" in shown
    assert run("ledger", "give-up", tmp_path / "t.ledger", "x").code == 0


def test_a_file_that_is_no_answer_names_both_commands_that_write_one(tmp_path: Path) -> None:
    (tmp_path / "reg.json").write_text("{}")
    assert "sfumato learn … --out model.json" in run("read", tmp_path / "reg.json").err
