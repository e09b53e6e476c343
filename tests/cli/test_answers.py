"""What a curator does in Python, the shell does too: files, models, rules, conversations."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

from sfumato.ask.phrases import read_phrase
from sfumato.cli.reading import load_answer
from sfumato.curator import curate
from sfumato.curator.typed import read_question, read_request
from sfumato.errors import ParameterError
from sfumato.ledger import Ledger
from sfumato.privacy import Approximate, Loss, Pure
from sfumato.table.schema import Schema
from tests.cli.conftest import SCHEMA, Place, run


def test_made_up_rows_are_written_and_read_again(place: Place, tmp_path: Path) -> None:
    rows, model, more = tmp_path / "rows.csv", tmp_path / "model.json", tmp_path / "more.parquet"
    asked = "synthesize decade, sex"
    first = place.query(asked, "--out", str(rows), "--rows", "50", spend="Pure(0.5)")
    assert first.code == 0 and "50 made-up rows" in first.out and "A model of decade, sex" in first.out
    made = pyarrow.csv.read_csv(rows)
    assert made.num_rows == 50 and set(made.column("sex").to_pylist()) <= {"Female", "Male"}
    assert made.column_names == ["age", "decade", "sex"]
    assert all(age // 10 * 10 == decade for age, decade, _ in zip(*made.to_pydict().values(), strict=True))
    head = place.spent()
    again = place.query(asked, "--out", str(model), spend="Pure(0.5)")
    assert again.code == 0 and place.spent() == head  # asked before: free
    assert run("read", model, "rows 400", "--out", more).code == 0
    assert pyarrow.parquet.read_table(more).num_rows == 400
    assert run("read", model, "rows 40 in bins", "--out", tmp_path / "bins.parquet").code == 0
    assert pyarrow.parquet.read_table(tmp_path / "bins.parquet").column_names == ["decade", "sex"]
    page = tmp_path / "model.html"
    assert run("read", model, "--out", page, "--plot", tmp_path / "model.svg").code == 0
    told = page.read_text(encoding="utf-8")
    assert "<svg" in told and "total variation" in told and "<svg" in (tmp_path / "model.svg").read_text()
    table = run("read", model, "table of sex", "--json").json["table"]
    assert table["sex"] == ["Female", "Male"] and abs(sum(table["count"]) - 300) < 1
    assert "A model of decade, sex" in run("read", model).out
    assert place.spent() == head


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_of_a_workload_are_written(place: Place, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"tables.{ending}"
    assert place.query("tables 2 of decade, sex", "--out", str(out), spend="Pure(0.5)").code == 0
    table = pyarrow.csv.read_csv(out) if ending == "csv" else pyarrow.parquet.read_table(out)
    said = ["table", "cell", "decade", "sex", "count", "count, low", "count, high"]
    assert table.column_names == said and table.num_rows == 20
    for asked in ("prefixes of decade", "ranges of decade"):
        assert place.query(asked, spend="Pure(0.2)").code == 0


def test_quantiles_of_every_group_are_one_release(place: Place, tmp_path: Path) -> None:
    out = tmp_path / "medians.csv"
    found = place.query("median of age by sex", "--out", str(out), "--json", spend="Pure(1)")
    assert found.code == 0, found.err
    table = found.json["table"]
    assert table["sex"] == ["Female", "Male"] and all(30 < age < 70 for age in table["age"])
    assert (found.json["person_epsilon"], found.json["at_delta"], len(found.json["groups"])) == (1, 0, 2)
    assert pyarrow.csv.read_csv(out).column("sex").to_pylist() == ["Female", "Male"]
    with Ledger(place.ledger) as ledger:
        assert len(ledger.history()) == 1
    assert place.query("median of age by sex", "--json", spend="Pure(1)").json["reused"]
    seen = place.query("median of age by sex", "--preview", "--json", spend="Pure(1)").json
    assert (
        seen["expected_error"]["unit"] == "rank"
        and seen["expected_error"]["size"] > 0
        and "off its rank" in seen["text"]
    )
    shown = place.query("median of age by sex", spend="Pure(1)").out
    assert shown.startswith("Quantiles of age by sex\n") and "with a condition" not in shown


def test_rank_errors_of_groups_are_said_to_hold_group_by_group_or_together(place: Place) -> None:
    asked = "quantiles 0.25, 0.5 of age by sex"
    apart, both = place.query(asked, spend="Pure(1)").out, place.query(asked, "--together", spend="Pure(1)").out
    assert "hold for each group on its own, 95 % of the time" in apart and "with --together they hold" in apart
    assert "for all rows at once" not in apart
    assert "hold for all rows at once, 95 % of the time" in both and "on its own" not in both
    tables = [place.query(asked, "--json", *more, spend="Pure(1)").json for more in ((), ("--together",))]
    with curate(str(place.data), SCHEMA, ledger=Ledger(place.ledger)) as curator:
        answers = curator.ask(read_request(asked, SCHEMA).asked, Pure(1))
        for found, chance in zip(tables, (Fraction(95, 100), 1 - Fraction(5, 100) / 2), strict=True):
            stated = [error for answer in answers for error in answer.interval(chance)["rank error"]]
            assert found["table"]["rank error"] == stated
    assert tables[0]["table"]["rank error"] != tables[1]["table"]["rank error"]
    alone = place.query("quantiles 0.25, 0.5 of hours", spend="Pure(0.5)").out
    assert "hold for all rows at once, 95 % of the time" in alone  # its quantiles do hold together


def test_groups_that_a_condition_rules_out_are_not_paid_for() -> None:
    asked = read_request("median of age by sex where sex = 'Male' and age > 40", SCHEMA)
    assert asked.groups == (("Male",),) and len(asked.questions) == 1
    with pytest.raises(ParameterError, match="leaves no group"):
        read_request("median of age by sex where age > 40 and age < 30", SCHEMA)


def test_a_rank_error_beyond_the_rows_is_said(place: Place) -> None:
    assert "the values tell nothing" in place.query("median of age by sex", spend="Pure(0.001)").out
    assert "tell nothing" not in place.query("median of age", spend="Pure(2)").out


def test_a_distribution_is_read_for_nothing(place: Place, tmp_path: Path) -> None:
    out = tmp_path / "ages.json"
    assert place.query("distribution of age with tree", "--out", str(out), spend="Pure(1)").code == 0
    median = run("read", out, "quantiles 0.5", "--json").json["table"]
    assert median["low"][0] <= median["quantile"][0] <= median["high"][0]
    between = run("read", out, "between 20 and 79", "--json").json["table"]["rows"][0]
    assert 200 < between <= 320
    assert len(run("read", out, "rows 7", "--json").json["table"]["age"]) == 7


def test_a_model_of_a_number_is_learned_by_its_own_command(place: Place, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    shared = ("--from", "age, sex", "--with", "regression", "--ledger", place.ledger)
    fine = place.run("learn", place.data, place.schema, "hours", *shared, "--spend", "Pure(0.5)", "--out", model)
    assert fine.code == 0, fine.err
    again = place.query("learn hours from age, sex with regression", spend="Pure(0.5)")
    assert again.code == 0 and "was answered before" in again.out
    some = place.run("learn", place.data, place.schema, "hours", *shared, "--where", "age > 30", "--spend", "Pure(0.5)")
    assert some.code == 0 and "rows, counted with noise" in some.out, some.err
    again = place.query("learn hours from age, sex with regression where age > 30", spend="Pure(0.5)")
    assert again.code == 0 and "was answered before" in again.out
    made = place.run("read", model, f"predict {place.data}", "--out", tmp_path / "predicted.csv")
    assert made.code == 0 and "predicted" in (tmp_path / "predicted.csv").read_text()


@pytest.mark.parametrize(
    "asked", ["sex from age, hours with linear", "decade from age, hours with linear(classes=0|30|60)"]
)
def test_a_model_with_probabilities_tells_them_beside_the_label(place: Place, tmp_path: Path, asked: str) -> None:
    out, told = tmp_path / "rule.json", tmp_path / "predicted.csv"
    learned = place.query(f"learn {asked}", "--out", str(out), spend="Pure(1)")
    assert learned.code == 0, learned.err
    (tmp_path / "new.csv").write_text("name,age,hours\na,30,40\nb,70,10\n")
    assert run("read", out, f"predict {tmp_path / 'new.csv'}", "--out", told).code == 0
    predicted = pyarrow.csv.read_csv(told)
    rule = load_answer(out).value
    shown = rule.classes[1:] if len(rule.classes) == 2 else rule.classes
    assert predicted.column_names == ["name", "age", "hours", "predicted", *(f"probability of {one}" for one in shown)]
    chances = rule.predict_proba([[30, 40], [70, 10]])[:, -1].tolist()
    assert predicted.column(f"probability of {shown[-1]}").to_pylist() == pytest.approx(chances)
    note = f"The probability is that of {shown[-1]}, the second of the two labels"
    assert (note in run("read", out, f"predict {tmp_path / 'new.csv'}").out) == (len(rule.classes) == 2)
    again = run("read", out, f"predict {told}")
    assert again.code == 2 and "has a column 'predicted' already" in again.err


def test_a_rule_is_learned_and_predicts(place: Place, tmp_path: Path) -> None:
    out, told = tmp_path / "rule.json", tmp_path / "predicted.csv"
    asked = "learn sex from age, hours with box(accuracy=0.2)"
    found = place.query(asked, "--out", str(out), spend="Pure(1)")
    assert found.code == 0 and "otherwise" in found.out, found.err
    assert found.err.startswith("Warning: ") and len(found.err.splitlines()) == 1
    (tmp_path / "new.csv").write_text("name,age,hours\na,30,40\nb,70,10\n")
    assert "Nothing measured how good this model is" in run("read", out).out
    assert run("read", out, f"predict {tmp_path / 'new.csv'}", "--out", told).code == 0
    predicted = pyarrow.csv.read_csv(told)
    assert predicted.column_names == ["name", "age", "hours", "predicted"] and predicted.num_rows == 2
    wrong = run("read", out, f"predict {place.schema}")
    assert wrong.code == 2 and len(wrong.err.splitlines()) == 1
    (tmp_path / "semicolons.csv").write_text("name;age;hours\na;30;40\nb;70;10\n")
    assert run("read", out, f"predict {tmp_path / 'semicolons.csv'}", "--out", tmp_path / "too.csv").code == 0
    assert pyarrow.csv.read_csv(tmp_path / "too.csv").column("predicted") == predicted.column("predicted")
    nowhere = run("read", out, "predict nosuch.csv")
    assert nowhere.code == 2 and "There is no file 'nosuch.csv'" in nowhere.err


def test_a_preview_says_how_near_a_model_will_come(place: Place) -> None:
    shared = (place.data, place.schema, "sex", "--from", "age, hours", "--ledger", place.ledger, "--preview")
    few = place.run("learn", *shared, "--spend", "Pure(0.5)")
    assert "it may be no better than a guess" in few.out and "rehearse" not in few.out
    near = place.run("learn", *shared, "--spend", "Pure(100)")
    assert (
        "The model will be mostly within about one point of area under the curve" in near.out
        and "rehearse" not in near.out
    )


def test_a_refusal_of_a_model_is_one_line(place: Place) -> None:
    shared = (place.data, place.schema, "hours", "--from", "age", "--with", "regression", "--ledger", place.ledger)
    refused = place.run("learn", *shared, "--spend", "Approximate(1, 1e-6)")
    assert refused.code != 0 and refused.err.count("this spend buys much noise") <= 1, refused.err


def test_a_synopsis_is_kept_and_asked(place: Place, tmp_path: Path) -> None:
    out = tmp_path / "synopsis.json"
    asked = "synopsis of sex=Male, age>=40, hours>=41 with marginals(width=2)"
    assert place.query(asked, "--out", str(tmp_path / "s.csv"), spend="Pure(1)").code == 2
    assert place.query(asked, "--out", str(out), spend="Pure(1)").code == 0
    share = run("read", out, "share of sex=Male, not age>=40", "--json").json["table"]
    assert 0 <= share["low"][0] <= share["share"][0] <= share["high"][0] <= 1


def test_popular_records(place: Place) -> None:
    found = place.query("popular decade, sex", "--json", spend="Pure(1)")
    assert found.code == 0 and "count" in found.json["table"]


def test_a_conversation_goes_on_by_its_name(place: Place, tmp_path: Path) -> None:
    out = tmp_path / "replies.csv"
    paid = ["--ledger", place.ledger, "--spend", "Pure(0.5)", "--columns", "sex,decade", "--name", "march"]
    asked = ["sex = 'Female'", "decade >= 40"]
    before = place.spent()
    wrong = run("converse", place.data, place.schema, "hours > 3", *paid)
    assert wrong.code == 2 and place.spent() == before, "a bad condition is said before anything is reserved"
    first = run("converse", place.data, place.schema, *asked, *paid, "--out", out, "--json")
    assert first.code == 0, first.err
    assert first.json["table"]["condition"] == asked and first.json["name"] == "march"
    with Ledger(place.ledger) as ledger:
        spent = str(ledger.spent().text)
    second = run("converse", place.data, place.schema, *asked, *paid, "--json")
    assert second.json["table"] == first.json["table"]
    with Ledger(place.ledger) as ledger:
        assert str(ledger.spent().text) == spent
    assert pyarrow.csv.read_csv(out).num_rows == 2


def test_a_stored_draw_is_finished_again(place: Place) -> None:
    first = place.query("count where age > 40", "--json").json
    again = run("refit", place.data, place.schema, first["request"], "--ledger", place.ledger, "--json")
    assert again.code == 0 and again.json["table"] == first["table"]
    unknown = run("refit", place.data, place.schema, "nothing", "--ledger", place.ledger)
    assert unknown.code == 2 and "no draw" in unknown.err


def test_quantiles_by_group_have_a_picture(place: Place, tmp_path: Path) -> None:
    found = place.query("median of age by sex", "--plot", tmp_path / "ages.svg", spend="Pure(1)")
    assert found.code == 0 and "Wrote a picture to" in found.out + found.err, found.err
    assert "</svg>" in (tmp_path / "ages.svg").read_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["histogram of sex", "--out", "x.txt"], ".csv, .parquet or .json"),
        (["histogram of sex", "--out", "/no/such/folder/x.csv"], "no folder"),
        (["histogram of sex", "--rows", "5"], "--out rows.csv"),
        (["histogram of sex", "--rows", "5", "--out", "x.csv"], "synthesize"),
        (["synthesize age, decade", "--plot", "x.svg"], "same attribute"),
        (["synopsis of sex", "--plot", "x.svg"], "no picture"),
        (["histogram of sex", "--out", "x.html"], "page is written of a model"),
        (["median of age by sex", "--plot", "/no/such/folder/x.svg"], "no folder"),
        (["median of age by sex", "--rehearse"], "single question"),
        (["tables of sex, decade"], "how many columns at a time"),
        (["learn sex"], "learn income from age"),
        (["learn sex from age with treshold"], "threshold"),
        (["synthesize sex with mwem(rounds)"], "mwem(rounds=3)"),
        (["mean of hours with tree"], "no 'with'"),
        (["mean of hours by"], "Nothing stands behind 'by'"),
        (["count by sex by decade"], "twice"),
        (["distribution of age with tree(depth=3)"], "no 'depth'"),
        (["median of age by hours, decade, age"], "more than 1000"),
    ],
)
def test_mistakes_are_one_sentence_and_cost_nothing(place: Place, options: list[str], said: str) -> None:
    before = place.spent()
    found = place.query(*options)
    assert found.code == 2 and len(found.err.splitlines()) == 1, found.out + found.err
    assert said.lower() in found.err.lower()
    assert place.spent() == before


def test_a_file_that_exists_is_not_overwritten(place: Place, tmp_path: Path) -> None:
    there = tmp_path / "there.json"
    there.write_text("{}")
    before = place.spent()
    assert "not overwritten" in place.query("count where age > 3", "--out", str(there)).err
    assert place.spent() == before and there.read_text() == "{}"
    assert "no answer that can be read" in run("read", there).err


def test_a_table_has_its_notes_beside_it_and_force_overwrites_both(place: Place, tmp_path: Path) -> None:
    out, notes = tmp_path / "ages.csv", tmp_path / "ages.notes.txt"
    found = place.query("mean of age by sex", "--out", str(out), "--json")
    assert found.code == 0, found.err
    told = notes.read_text().splitlines()
    assert "privacy noise only" in told[0] and "--together" in told[0] and set(found.json["notes"]) < set(told)
    spent = place.spent()
    refused = place.query("mean of age by sex", "--out", str(out))
    assert refused.code == 2 and "--force" in refused.err and place.spent() == spent
    out.unlink()
    assert "ages.notes.txt" in place.query("mean of age by sex", "--out", str(out)).err, "notes are somebody's, too"
    again = place.query("mean of age by sex", "--out", str(out), "--force")
    assert again.code == 0 and "ages.notes.txt" in again.out and out.exists() and place.spent() == spent


def test_reading_says_what_there_is(place: Place, tmp_path: Path) -> None:
    out = tmp_path / "answer.json"
    place.query("histogram of sex", "--out", str(out))
    assert "this answer is a table" in run("read", out, "rows 3").err.lower()
    assert run("read", out).code == 0
    model = tmp_path / "model.json"
    place.query("synthesize sex, decade", "--out", str(model))
    for what, said in (("quantiles 0.5", '"rows …"'), ("rows many", "rows 1000"), ("table of nothing", "nothing")):
        assert said in run("read", model, what).err
    assert run("read", model, "--out", tmp_path / "x.csv").code == 2


def test_phrases_know_their_clauses() -> None:
    phrase = read_phrase('learn "the income" from age, hours with box(accuracy=0.05, classes=no|yes) missing age=0')
    assert (phrase.columns, phrase.source, phrase.method) == (("the income",), ("age", "hours"), "box")
    assert (phrase.options, phrase.missing) == ({"accuracy": 0.05, "classes": ["no", "yes"]}, {"age": 0})
    assert read_question("synthesize sex with mwem(rounds=3)", SCHEMA).to_json()["options"] == [["rounds", 3]]
    assert [question.kind for question in read_request("median of age by sex", SCHEMA).questions] == ["Quantiles"] * 2
    assert json.dumps(read_question("popular sex, decade with tree(smallest=9)", SCHEMA).to_json()).count("9") == 1
    with pytest.raises(ParameterError, match="double quotes"):
        read_question("mean of missing", SCHEMA)


def test_questions_and_spends_are_completed(place: Place) -> None:
    from tests.cli.test_commands import command

    words = f"sfumato query x {place.schema} 'mean of h"
    told = command(_SFUMATO_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD="4").stdout
    assert "mean of hours" in told
    words = f"sfumato query x {place.schema} synt"
    assert command(_SFUMATO_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD="4").stdout.split() == ["synthesize"]
    told = command(_SFUMATO_COMPLETE="complete_bash", COMP_WORDS="sfumato query --spend Pu", COMP_CWORD="3").stdout
    assert told.split() == ["Pure(0.1)", "Pure(1)"]


def test_decisions_are_audited_privately_at_the_shell(place: Place, tmp_path: Path) -> None:
    # So many people that no noise hides which groups there are to compare.
    rows = pyarrow.parquet.read_table(place.data)
    pyarrow.parquet.write_table(pyarrow.concat_tables([rows] * 100), place.data)
    out = tmp_path / "audit.csv"
    asked = "audit of sex by decade with favourable=Female"
    found = place.query(asked, "--out", str(out), spend="Pure(1)")
    assert found.code == 0, found.err
    assert "less often" in found.out and "The favourable decision is 'Female'" in found.out
    assert "selection rate" in out.read_text() and (tmp_path / "audit.notes.txt").exists()
    assert place.query(asked, "--json", spend="Pure(1)").json["reused"]
    listed = run("ledger", "show", place.ledger)
    assert "fairness audit of sex by decade" in listed.out and "GroupAudit" not in listed.out
    for wrong, said in (("audit of sex", "by protected columns"), ("audit of sex by decade with labl=age", "label"),
                        ("audit of sex by decade", "write 'with favourable=")):  # fmt: skip
        assert said in place.query(wrong, spend="Pure(1)").err


def test_a_loss_in_json_is_told_without_a_delta_if_it_has_none(place: Place) -> None:
    for options in (("--preview",), ("--rehearse",), ()):
        found = place.query("count where age >= 40", "--json", *options, spend="Pure(0.2)").json
        assert (found["person_epsilon"], found["at_delta"]) == (0.2, 0)


def test_a_loss_in_json_is_told_at_the_delta_of_the_spend_or_of_the_limit(place: Place, tmp_path: Path) -> None:
    Ledger(tmp_path / "wide.ledger", Approximate(3, 1e-7), schema=Schema.load(place.schema).fingerprint).close()
    wide = replace(place, ledger=tmp_path / "wide.ledger")
    for spend, delta in (("Approximate(1, 1e-9)", "1e-9"), ("Concentrated(0.01)", "1e-7")):
        found = wide.query("ranges of age", "--json", "--preview", spend=spend).json
        exact = Loss.from_json(found["loss"]).person.epsilon_at(delta)
        assert found["at_delta"] == float(delta)
        assert exact <= Fraction(str(found["person_epsilon"])) < exact * Fraction("1.0001")
