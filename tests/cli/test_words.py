"""What a shell prints in a first hour speaks of what is typed there, not of Python."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sfumato.table.names import MODELS_NEED_ONE
from sfumato.table.repeats import rows_told

from .conftest import Place

PYTHON = ("()", "missing= ", "one_hot", "spend=", "curator.", "Select", " rehearse ")


@pytest.mark.parametrize(
    ("command", "question", "options", "said"),
    [
        ("query", "synthesize age, sex", ("--preview", "--spend", "Pure(0.1)"), "--rehearse shows it"),
        ("query", "synopsis of sex", ("--spend", "Pure(0.1)"), "name one of its values as 'sex="),
        (
            "query",
            "mean of age",
            (),
            'This question depends on people, so it costs something; write --spend "Pure(0.1)"',
        ),
    ],
)
def test_hints_name_what_is_typed(
    place: Place, command: str, question: str, options: tuple[str, ...], said: str
) -> None:
    found = place.run(command, place.data, place.schema, question, "--ledger", place.ledger, *options)
    told = found.out + found.err
    assert said in told and not any(word in told for word in PYTHON), told


def test_a_hint_on_missing_cells_points_to_the_schema(place: Place) -> None:
    written = place.schema.read_text()
    place.schema.write_text(re.sub(r"(?m)^missing = .*$", 'missing = "skip"', written))
    ledger = place.ledger.with_name("other.ledger")
    assert place.run("ledger", "create", ledger, "--person", "Pure(1)", "--schema", place.schema).code == 0
    asked = ("learn", place.data, place.schema, "sex", "--from", "age, hours", "--spend", "Pure(0.1)")
    told = place.run(*asked, "--ledger", ledger).err
    assert "or missing = … in the schema" in told and not any(word in told for word in PYTHON), told


def test_a_statement_is_headed_by_itself(place: Place) -> None:
    asked = ("sql", place.schema, "SELECT sex, COUNT(*) FROM data GROUP BY sex", "--data", place.data)
    found = place.run(*asked, "--ledger", place.ledger, "--spend", "Pure(0.1)")
    assert found.out.startswith("SELECT data.sex, COUNT(*) FROM data GROUP BY data.sex"), found.out + found.err
    refused = place.run(*asked, "--ledger", place.ledger)
    assert "This question depends on people" in refused.err


def test_a_draft_names_questions_and_no_methods() -> None:
    assert "()" not in MODELS_NEED_ONE + rows_told("patient", 2, {1: 10, 2: 5})


MISTAKES: list[tuple[tuple[str, ...], str]] = [
    # what is typed, D, S and L for the data, the schema and the ledger; the word that the sentence says
    (("query", "S", "D", "count where age > 60", "--ledger", "L", "--spend", "Pure(0.1)"), "the two were swapped"),
    (("sql", "SELECT COUNT(*) FROM data", "D", "S", "--ledger", "L", "--spend", "Pure(0.1)"), "comes last"),
    (("sql", "S", "D", "SELECT COUNT(*) FROM data", "--ledger", "L", "--spend", "Pure(0.1)"), "the two were swapped"),
    (("query", "D", "nowhere.toml", "count", "--ledger", "L", "--spend", "Pure(0.1)"), "sfumato init people.csv"),
    (("query", "D", "S", "count", "--ledger", "no.ledger", "--spend", "Pure(0.1)"), '--person "Pure(3)" --schema'),
    (("query", "D", "S", "distribution of sex", "--ledger", "L", "--spend", "Pure(0.1)"), "'histogram of sex'"),
    (("learn", "D", "S", "sex", "--from", "age,sex", "--ledger", "L", "--spend", "Pure(0.1)"), "--from age,hours"),
    (("sql", "D", "S", "SELECT sex, MEDIAN(age) FROM data GROUP BY sex", "--ledger", "L", "--spend", "Pure(0.1)"),
     "'quantiles of age by sex'"),
    (("query", "D", "S", "histogram of sex", "--ledger", "L", "--spend", "Pure(0.1)", "--plot", "nowhere/a.svg"),
     "There is no folder"),
    (("help",), "write sfumato --help"),
    (("mean",), "sfumato query people.csv people.toml"),
    (("ledger", "delete", "L"), "sfumato ledger create"),
    (("ledger", "shwo", "L"), "did you mean 'show'?"),
    (("publish", "nothing"), "run"),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "said"), MISTAKES, ids=[" ".join(typed)[:60] for typed, _ in MISTAKES])
def test_a_first_mistake_is_one_sentence_with_the_line_to_write(
    place: Place, typed: tuple[str, ...], said: str
) -> None:
    csv = place.data.with_suffix(".csv")
    csv.write_text("age,sex,hours\n30,Female,20\n40,Male,30\n")
    before = place.spent()
    meant = {"D": csv, "S": place.schema, "L": place.ledger}
    found = place.run(*(meant.get(word, word) for word in typed))
    assert found.code == 2 and said in found.err, found.err
    told = found.err.removeprefix("Error: ").strip()
    assert "\n" not in told and told.endswith((".", "?")) and "Errno" not in told
    assert not any(word in told for word in ("Budget(", "features=", "curator.")), told
    assert place.spent() == before


def test_a_picture_is_announced_and_speaks_the_words_of_the_shell(place: Place) -> None:
    drawn = place.data.with_name("sex.svg")
    found = place.query("histogram of sex", "--plot", str(drawn), spend="Pure(1)")
    assert found.out.rstrip().endswith(f"Wrote a picture to {drawn}.") and drawn.exists()
    saved = place.data.with_name("age.json")
    assert place.query("mean of hours", "--out", str(saved)).code == 0
    again = place.run("read", saved, "--plot", drawn.with_name("age.svg"))
    assert f"Wrote a picture to {drawn.with_name('age.svg')}." in again.out


def test_captions_of_pictures_carry_no_line_of_python_or_of_the_shell(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.show.bars import BarChart

    captions: list[str] = []
    monkeypatch.setattr(BarChart, "save", lambda self, path: captions.append(self.caption))
    place.query("histogram of sex", "--plot", str(place.data.with_name("sex.svg")), spend="Pure(1)")
    assert len(captions) == 1 and "for each row on its own." in captions[0]
    assert "--together" not in captions[0] and "interval(" not in captions[0]


def test_predictions_are_in_the_words_of_the_file(tmp_path: Path, place: Place) -> None:
    data, schema, ledger = (tmp_path / name for name in ("loans.csv", "loans.toml", "loans.ledger"))
    data.write_text(
        "age,defaulted\n" + "".join(f"{20 + row % 60},{'yes' if row % 60 > 30 else 'no'}\n" for row in range(900))
    )
    schema.write_text(
        '[columns.age]\ntype = "integer"\nlow = 0\nhigh = 99\nmissing = 0\n[columns.defaulted]\ntype = "boolean"\nmissing = false\n'
    )
    model, out = tmp_path / "model.json", tmp_path / "predicted.csv"
    assert place.run("ledger", "create", ledger, "--person", "Pure(9)", "--schema", schema).code == 0
    asked = ("learn", data, schema, "defaulted", "--from", "age", "--with", "linear", "--ledger", ledger)
    learned = place.run(*asked, "--spend", "Pure(5)", "--out", model)
    assert learned.code == 0, learned.err
    assert place.run("read", model, "predict " + str(data), "--out", out).code == 0
    lines = out.read_text().splitlines()
    assert lines[0].split(",")[2:] == ['"predicted"', '"probability of yes"']
    assert {line.split(",")[2] for line in lines[1:]} <= {'"yes"', '"no"'}
    bare = tmp_path / "ages.csv"
    bare.write_text("age\n30\n")
    assert place.run("read", model, "predict " + str(bare), "--out", tmp_path / "bare.csv").code == 0
    assert '"probability of True"' in (tmp_path / "bare.csv").read_text()


def test_the_note_on_quantiles_by_group_offers_what_is_typed(place: Place) -> None:
    found = place.query("median of age by sex", spend="Pure(0.01)")
    told = " ".join(found.out.split())
    assert "[columns.age_bins] with the lines type" in told and "'histogram of sex, age_bins'" in told, told
    assert "not known" in told and not any(word in told for word in PYTHON), told


def test_a_question_without_quotes_is_told_to_have_some(place: Place) -> None:
    asked = ("query", place.data, place.schema, "count", "where", "age", ">", "28", "--ledger", place.ledger)
    found = place.run(*asked, "--spend", "Pure(0.1)")
    assert found.code == 2 and "'where age > 28' stands behind it; put all of it in double quotes" in found.err
