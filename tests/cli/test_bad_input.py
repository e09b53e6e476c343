"""Bad input of every kind: one sentence with a hint, exit code 2, and nothing spent."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from sfumato.cli.hints import in_shell
from sfumato.curator.typed import read_question
from sfumato.errors import ParameterError
from sfumato.ledger import Budget, Ledger
from sfumato.ledger.typed import read_bound, read_budget
from sfumato.privacy import Pure
from sfumato.table.schema import Schema
from tests.cli.conftest import SCHEMA, Place, run


def one_sentence(said: str) -> bool:
    return said.startswith("Error: ") and said.count("\n") == 1 and "Traceback" not in said


@pytest.mark.parametrize(
    ("question", "spend", "hint"),
    [
        ("mean of agee", "Pure(0.1)", "did you mean 'age'?"),
        ("mean of hours by sexx", "Pure(0.1)", "did you mean 'sex'?"),
        ("mean of hours where agee > 3", "Pure(0.1)", "did you mean 'age'?"),
        ("count where age > (SELECT 1)", "Pure(0.1)", "`SELECT`"),
        ("count where age LIKE 'x%'", "Pure(0.1)", "list the values"),
        ("count where", "Pure(0.1)", "write"),
        ("counnt", "Pure(0.1)", "did you mean 'count'?"),
        ("", "Pure(0.1)", "Write 'count where"),
        ("mean of hours, age", "Pure(0.1)", "write"),
        ("mean of", "Pure(0.1)", "double quotes"),
        ("histogram of age by sex", "Pure(0.1)", "leave out 'by'"),
        ("count found privately", "Pure(0.1)", "add 'by COLUMN'"),
        ("count, mean of hours", "Pure(0.1)", "add 'by COLUMN'"),
        ("median of age, hours", "Pure(0.1)", "'median of age'"),
        ('count "', "Pure(0.1)", "cannot be read"),
        ('{"question": "Count"', "Pure(0.1)", "no JSON"),
        ('{"question": "Median"}', "Pure(0.1)", "the questions are"),
        ("mean of sex", "Pure(0.1)", "ask for a histogram"),
        ("count where age > 40", "0.1", "write Pure(0.1)"),
        ("count where age > 40", "Laplace(1)", "write Pure(0.1)"),
        ("count where age > 40", "Pure(0.1, 2)", "takes 1 number"),
        ("count where age > 40", "Approximate(1)", "takes 2 numbers"),
        ("count where age > 40", "Pure(x)", "finite number"),
        ("count where age > 40", "Pure(-1)", "zero or more"),
        ("count where age > 40", "__import__('os')", "write Pure(0.1)"),
        ("count where age > 40", "Approximate(1, 1e-6).per_attribute()", "per-attribute"),
        ("count where age > 40", None, 'write --spend "Pure(0.1)"'),
    ],
)
def test_bad_questions_and_spends(place: Place, question: str, spend: str | None, hint: str) -> None:
    before = place.spent()
    found = place.query(question, spend=spend)
    assert (found.code, found.out) == (2, "")
    assert one_sentence(found.err), found.err
    assert hint in found.err
    assert place.spent() == before


def test_a_schema_that_does_not_match_the_file(place: Place, tmp_path: Path) -> None:
    before = place.spent()
    other = tmp_path / "other.toml"
    for text, hint in (
        ('columns.aeg = {type = "integer", low = 0, high = 9}', "did you mean 'age'?"),
        ('person = "whoo"\ncolumns.age = {type = "integer", low = 0, high = 9}', "'whoo'"),
        ('columns.age = {type = "date", earliest = "2000-01-01", latest = "2001-01-01"}', "does not match the types"),
        ('columns.age = {type = "integer", low = "you must fill this in", high = 9}', "fill in columns.age.low"),
        ("columns = [", "no TOML"),
        ('columns.age = {type = "integr", low = 0, high = 9}', "integr"),
    ):
        other.write_text(text)
        for found in (
            run("check", place.data, other),
            run("query", place.data, other, "count where age > 4", "--ledger", tmp_path / "none", "--spend", "Pure(1)"),
        ):
            assert (found.code, found.out) == (2, ""), text
            assert one_sentence(found.err), found.err
        assert hint in run("check", place.data, other).err
    assert place.spent() == before
    assert not (tmp_path / "none").exists()


def test_files_that_are_not_there(place: Place, tmp_path: Path) -> None:
    assert run("init", tmp_path / "no.parquet").code == 2
    assert run("check", place.data, tmp_path / "no.toml").code == 2
    (tmp_path / "x.parquet").write_text("not parquet")
    found = run("check", tmp_path / "x.parquet", place.schema)
    assert found.code == 2 and one_sentence(found.err)


def test_ledgers_that_cannot_be_used(place: Place, tmp_path: Path) -> None:
    garbage, foreign, newer = (tmp_path / name for name in ("garbage", "foreign", "newer"))
    garbage.write_text("this is no database, and long enough to be read as one " * 40)
    with sqlite3.connect(foreign) as raw:
        raw.execute("CREATE TABLE other (a INTEGER)")
    raw.close()
    newer.write_bytes(place.ledger.read_bytes())
    with sqlite3.connect(newer) as raw:
        raw.execute("UPDATE sfumato_head SET format = 99")
    raw.close()
    hints = {"missing": "There is no ledger", "garbage": "not a ledger", "foreign": "ledger", "newer": "--upgrade"}
    for name, hint in hints.items():
        before = (tmp_path / name).read_bytes() if (tmp_path / name).exists() else None
        for arguments in (
            ("ledger", "show", tmp_path / name),
            ("report", tmp_path / name),
            (
                "query",
                place.data,
                place.schema,
                "count where age > 4",
                "--ledger",
                tmp_path / name,
                "--spend",
                "Pure(1)",
            ),
        ):
            found = run(*arguments)
            assert (found.code, found.out) == (2, ""), (name, found)
            assert one_sentence(found.err) and hint in found.err, found.err
        after = (tmp_path / name).read_bytes() if (tmp_path / name).exists() else None
        assert before == after


def test_a_ledger_made_for_another_schema(place: Place, tmp_path: Path) -> None:
    before = place.spent()
    other = tmp_path / "other.toml"
    other.write_text(place.schema.read_text().replace("high = 99", "high = 98"))
    found = run("query", place.data, other, "count where age > 4", "--ledger", place.ledger, "--spend", "Pure(0.1)")
    assert found.code == 2 and "another schema" in found.err
    assert place.spent() == before


def test_other_options(place: Place, tmp_path: Path) -> None:
    before = place.spent()
    assert "ends in neither" in place.query("histogram of sex", "--plot", "x.pdf").err
    assert "A preview needs a spend" in place.query("histogram of sex", "--preview", spend=None).err
    assert "yes and with no" in run("report", place.ledger, "--yes", "bits", "--no", "bits").err
    assert "did you mean 'bits'" in run("report", place.ledger, "--yes", "bitz").err
    assert "agee" in run("report", place.ledger, "--attributes", "agee+sex").err
    assert "no TOML" in run("report", place.ledger, "--answers", place.data).err
    assert run("report", place.ledger, "--out", tmp_path / "r.pdf").code == 2
    assert "4=Pure(10)" in run("ledger", "create", tmp_path / "n", "--person", "Pure(1)", "--people", "four").err
    assert (
        "number of people"
        in run("ledger", "create", tmp_path / "n", "--person", "Pure(1)", "--people", "x=Pure(1)").err
    )
    assert (
        "must know them all"
        in run("ledger", "create", tmp_path / "n", "--person", "Pure(1)", "--attributes", "a=Pure(1)").err
    )
    assert not (tmp_path / "n").exists()
    assert run("query").code == 2
    assert place.spent() == before


def test_errors_are_json_where_json_was_asked_for(place: Place) -> None:
    found = place.query("mean of agee", "--json")
    assert found.out == ""
    assert json.loads(found.err) == {
        "error": "There is no column 'agee' in the schema; did you mean 'age'?",
        "code": 2,
    }


def test_a_bug_is_one_sentence_too(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("a private cell")

    monkeypatch.setattr("sfumato.cli.asking.ask", broken)
    found = place.query("count")
    assert found.code == 70 and one_sentence(found.err)
    assert "private cell" not in found.err and "SFUMATO_DEBUG=1" in found.err


def test_spends_are_read_and_never_evaluated() -> None:
    assert repr(read_bound(" truncated( 0.02 , 20 ) ")) == "Truncated(1/50, 20)"
    for text in ("Pure(1+1)", "Pure(Pure(1))", "Pure", "Pure()", "", "Pure(1);Pure(2)", "Pure(nan)", "Pure(inf)"):
        with pytest.raises(ParameterError):
            read_bound(text)
    with pytest.raises(ParameterError, match="--person"):
        read_budget("3", None, (), (), None)


def test_names_with_blanks_and_keywords_are_quoted() -> None:
    from sfumato.table.schema import Schema
    from tests.imputed import integers

    schema = Schema({"hours by week": integers(0, 9), "where": integers(0, 9)})
    question = read_question('mean of "hours by week" where "hours by week" > 3', schema)
    assert question.to_json()["column"] == "hours by week"
    assert read_question('sum of "where"', schema).to_json()["column"] == "where"
    assert read_question("count", SCHEMA).to_json()["question"] == "Count"


@pytest.mark.parametrize("option", ["--epsilon", "--eps", "--rho", "--delta"])
def test_a_spend_that_is_written_as_elsewhere_is_told_how(place: Place, option: str) -> None:
    found = place.query("count", option, "0.1", spend=None)
    assert found.code == 2 and one_sentence(found.err) and '--spend "Pure(0.1)"' in found.err


@pytest.mark.parametrize(("typed", "written"), [("0.2", "Pure(0.2)"), ("epsilon=1", "Pure(1)"), ("1/4", "Pure(1/4)")])
def test_a_spend_that_is_a_bare_number_is_told_its_measure(place: Place, typed: str, written: str) -> None:
    found = place.query("count", spend=typed)
    assert found.code == 2 and one_sentence(found.err) and f"write {written}" in found.err


def test_who_has_no_ledger_is_told_how_to_make_one(place: Place) -> None:
    found = place.run("query", place.data, place.schema, "count", "--spend", "Pure(0.1)")
    assert found.code == 2 and one_sentence(found.err) and "sfumato ledger create people.ledger" in found.err
    assert place.run("query", "--help").code == 0


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("average of age", "'mean of age'"),
        ("avg(age)", "'mean of age'"),
        ("average hours", "'mean of hours'"),
        ("percentile of hours", "'quantiles 0.25, 0.5, 0.75 of hours'"),
        ("max of age", "quantiles 0.01, 0.99"),
        ("std of age", "variance of age"),
    ],
)
def test_words_of_other_tools_are_answered_with_ours(place: Place, typed: str, written: str) -> None:
    found = place.query(typed)
    assert found.code == 2 and one_sentence(found.err) and written in found.err


def test_a_learner_speaks_the_shell_to_a_shell() -> None:
    assert in_shell("say which two by classes=('no', 'yes').") == "say which two by 'with threshold(classes=no|yes)'."
    assert in_shell("missing={'age': 0} where it is learned.") == "'missing age=0' behind the question."
    told = "for a number take PrivateLinearRegressor, or say which are (from two to 32) meant by classes=(0, 9), say."
    assert in_shell(told, "learn") == (
        'for a number write --with regression, or say which are (from two to 32) meant by --with "linear(classes=0|9)", '
        "say."
    )
    assert "write 'with regression', or say" in in_shell(told) and "'with linear(classes=0|9)'" in in_shell(told)


def test_the_command_that_learns_is_told_its_own_options(place: Place) -> None:
    place.schema.write_text(place.schema.read_text().replace("missing = 0", 'missing = "skip"'))
    ledger = place.ledger.with_name("skip.ledger")
    Ledger(ledger, Budget(Pure(2)), schema=Schema.load(place.schema).fingerprint).close()
    asked = ("sex", "--from", "hours", "--ledger", ledger, "--spend", "Pure(1)")
    found = place.run("learn", place.data, place.schema, *asked)
    assert found.code == 2 and '--missing "hours=30"' in found.err and "behind the question" not in found.err


@pytest.mark.parametrize("more", [(), ("--workers", "2"), ("--port", "0")])
def test_a_house_that_is_not_there_ends_at_once(tmp_path: Path, more: tuple[str, ...]) -> None:
    said = run("serve", tmp_path / "nope.toml", *more)
    assert said.code == 2 and one_sentence(said.err) and "write the path of a house.toml" in said.err, said.err
