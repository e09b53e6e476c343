"""The wizard: answers that are piped in end with a schema, a ledger and a first answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sfumato import Pure
from sfumato.cli import app
from sfumato.cli.columns import column_text, corrected, read_column
from sfumato.curator.typed import read_question
from sfumato.domain import categories, integers
from sfumato.errors import ParameterError
from sfumato.ledger import Ledger
from sfumato.table.names import FILL
from sfumato.table.proposed_bins import BINS, bins_toml, with_bins_later
from sfumato.table.schema import Schema

LINES = ["member;age;sex;visited;cost"] + [
    f"m{row // 2};{20 + row % 60};{'FM'[row % 2]};{1 + row % 28:02}.03.2025;{row}.25" for row in range(200)
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text("\n".join(LINES))
    return tmp_path


def walked(*answers: str, data: str | None = "visits.csv") -> tuple[int, str]:
    found = CliRunner().invoke(app, ["start", *([data] if data else [])], input="\n".join(answers) + "\n")
    return found.exit_code, found.output


def test_with_a_look_everything_is_proposed(here: Path) -> None:
    code, said = walked("y", "", "", "", "", "", "", "", "y", "", "", "")
    assert code == 0, said
    schema = Schema.load("visits.toml")
    assert (schema.person, schema.rows_per_person, schema.names) == ("member", 2, ("age", "sex", "visited", "cost"))
    assert "LOOKING AT PRIVATE CELLS" in said and "95 % interval (privacy noise only)" in said
    with Ledger("visits.ledger") as ledger:
        assert ledger.guarantee() == Pure(3) and len(ledger.history()) == 1
    assert "sfumato query visits.csv visits.toml" in said and "spend=" not in said


def test_without_a_look_everything_is_asked_and_wrong_answers_are_asked_again(here: Path) -> None:
    code, said = walked("nowhere.csv", data=None)
    assert code == 2 and "There is no file" in said
    code, said = walked(
        *("n", "memer", "none", "", "category F, M", "date 2025-01-01 2025-12-31 %d.%m.%Y"),
        *("fixed 0 100", "fixed 0 500 0.01", "mine.toml", "lots", "Approximate(2, 1e-6)", "mine.ledger"),
        *("meen of cost", "mean of cost by sex"),
    )
    assert code == 0, said
    assert "did you mean 'mean'" in said and "needs step" in said and "no column 'memer'" in said
    schema = Schema.load("mine.toml")
    assert schema.person is None and schema.names == ("age", "sex", "visited", "cost")
    assert "Mean of cost by sex" in said


def test_candidates_that_nobody_compared_stay_a_draft(here: Path) -> None:
    code, said = walked("y", "", "", "", "", "", "", "", "n")
    assert code == 0 and "Wrote the draft visits.toml" in said and not Path("visits.ledger").exists()
    assert "confirm = " in Path("visits.toml").read_text()


def test_a_draft_that_was_finished_is_gone_on_from(here: Path) -> None:
    walked("y", "", "", "", "", "", "", "", "n")
    code, said = walked("n")
    assert code == 1 and "is no finished schema" in said and "run sfumato start again" in " ".join(said.split())
    text = Path("visits.toml").read_text()
    Path("visits.toml").write_text("\n".join(line for line in text.splitlines() if not line.startswith("confirm")))
    code, said = walked("", "", "", "")
    assert code == 0 and "visits.toml describes the columns age, sex, visited, cost" in said
    assert "May I look" not in said and Path("visits.ledger").exists()


def test_a_draft_of_another_name_is_called_by_the_usual_one(here: Path) -> None:
    code, said = walked("y", "", "", "", "", "", "", "mine.toml", "n")
    assert code == 0 and "sfumato start again, once it is called visits.toml" in " ".join(said.split())


def test_an_empty_line_without_a_proposal_is_told_what_to_write(here: Path) -> None:
    code, said = walked("", data=None)
    assert code == 1 and "Nothing is proposed here; write for example people.csv." in said
    code, said = walked("n", "none", "", "", "drop", "", "drop")
    assert code == 1 and "write for example category F, M, or drop to leave the column out." in said
    assert said.count("Nothing is proposed here") == 2


def test_input_that_ends_early_ends_the_walk(here: Path) -> None:
    code, _ = walked("y")
    assert code == 1 and not Path("visits.toml").exists()


def test_nothing_is_overwritten(here: Path) -> None:
    Path("visits.toml").write_text("mine")
    code, said = walked("y", "", "", "", "", "", "", "", "other.toml", "y", "", "", "")
    assert code == 0 and "not overwritten" in said and Path("visits.toml").read_text() == "mine"


@pytest.mark.parametrize(
    "line",
    ["integer 0 120", "fixed 0 9 0.01", "category F, M", "boolean", "date 2020-01-01 2020-12-31 %d/%m/%Y", "text 40"],
)
def test_a_column_in_one_line(line: str) -> None:
    assert column_text(read_column(line)) == line


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("int 0 9", "did you mean 'integer'"),
        ("integer 0", "needs high"),
        ("category", "category"),
        ("text x", "whole"),
        ("", "type of column"),
    ],
)
def test_a_column_that_is_none(line: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        read_column(line)


EURO = ["id;Kosten"] + [f"p{row};1.{100 + row},50 €" for row in range(200)]


def test_a_corrected_range_keeps_how_the_cells_are_written(here: Path) -> None:
    Path("euro.csv").write_text("\n".join(EURO), encoding="utf-8")
    code, said = walked("y", "", "fixed 0 20000 0.01", "", "y", "", "", "", data="euro.csv")
    assert code == 0, said
    assert "Kept from the proposal: decimal=, thousands=. unit=€." in said and "can read: Kosten 200." in said
    column = Schema.load("euro.toml").to_json()["columns"]["Kosten"]
    assert (column["high"], column["decimal"], column["thousands"], column["unit"]) == ("20000", ",", ".", "€")


def test_a_column_that_reads_far_fewer_cells_than_proposed_is_asked_about(here: Path) -> None:
    Path("euro.csv").write_text("\n".join(EURO), encoding="utf-8")
    wrong = "fixed 0 20000 0.01 decimal=. thousands=none unit=none"
    code, said = walked("y", "", wrong, "", "fixed 0 9000 0.01", "", "y", "", "", "", data="euro.csv")
    assert code == 0, said
    assert "Kosten reads 0 cells as you wrote it, and 200 as it was proposed" in said
    assert Schema.load("euro.toml").to_json()["columns"]["Kosten"]["unit"] == "€"


def test_a_correction_must_say_what_the_cells_do_not_tell() -> None:
    before = {"type": "fixed", "low": FILL, "high": FILL, "step": FILL, "decimal": FILL, "missing": "skip"}
    with pytest.raises(ParameterError, match="two ways"):
        corrected("fixed 0 9 0.01", before)
    assert corrected("fixed 0 9 0.01 decimal=,", before)[0]["decimal"] == ","
    assert "format" not in corrected("category a, b", {"type": "date", "format": "%d.%m.%Y"})[0]


def test_a_ledger_that_is_there_is_gone_on_with(here: Path) -> None:
    Path("visits.toml").write_text(Schema({"age": integers(0, 99)}).to_toml())
    walked("", "", "", "")
    code, said = walked("", "", "")
    assert code == 0, said
    assert "visits.ledger is there. Used so far" in said and "Go on with it?" in said
    assert "How much may all answers" not in said
    code, said = walked("", "n", "1", "second.ledger", "")
    assert code == 0 and "what both tell about one person adds up" in " ".join(said.split())
    with Ledger("second.ledger") as ledger:
        assert ledger.guarantee() == Pure(1)


def test_a_bare_list_is_one_of_categories_where_one_is_asked_for() -> None:
    assert corrected("w,m,d", {"type": "category", "values": [FILL]})[0]["values"] == ["w", "m", "d"]


def test_bins_and_group_by_as_people_type_them() -> None:
    schema = Schema({"age": integers(0, 99), "sex": categories("F", "M")})
    for typed in ("histogram of age bins=10", "histogram of age with bins(10)"):
        with pytest.raises(ParameterError, match=r"add \[columns.age_bins\]"):
            read_question(typed, schema)
    assert read_question("mean of age group by sex", schema) == read_question("mean of age by sex", schema)
    assert with_bins_later(["a", BINS, *bins_toml("age", 10), "b"])[1].startswith("For a histogram add bins to the")


def test_a_preview_says_what_is_charged_and_a_rehearsal_of_how_many_people_it_is(here: Path) -> None:
    Path("visits.toml").write_text(Schema({"age": integers(0, 99), "sex": categories(*"FMabcdefghijklmnop")}).to_toml())
    walked("", "", "", "")
    asked = ["query", "visits.csv", "visits.toml", "median of age by sex", "--ledger", "visits.ledger"]
    found = CliRunner().invoke(app, [*asked, "--spend", "Pure(0.3)", "--preview"])
    assert found.exit_code == 0 and "It would cost a person epsilon 0.3;" in " ".join(found.output.split()), (
        found.output
    )
    asked[3] = "mean of age"
    found = CliRunner().invoke(app, [*asked, "--spend", "Pure(0.3)", "--rehearse"])
    assert found.exit_code == 0 and "are of 200 people" in found.output, found.output


def test_blanks_before_settings_are_no_part_of_a_step() -> None:
    assert read_column("fixed 0 9 0.01  decimal=, unit=€")["step"] == "0.01"


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("fixed 0 100.000 0.01", "write 100000, or 100 if that is meant"),
        ("fixed 0 1.255 0.001", "write 1255, or 1.2550 if that is meant"),
        ("fixed 0 1.000.000 0.01", "write 1000000."),
        ("fixed 0 100,000 0.01", "write 100000, or 100 if"),
        ("fixed 0 1.000,50 0.01", "write 1000.50 in place of 1.000,50"),
        ("fixed 0 5,5 0,01", "write 5.5 in place of 5,5"),
    ],
)
def test_a_number_typed_as_cells_write_it_is_asked_about(typed: str, words: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(words)):
        corrected(typed, {"type": "fixed", "decimal": ",", "thousands": "."})
    assert corrected("fixed 0 0.125 0.001", {"type": "fixed", "decimal": ","})[0]["high"] == "0.125"
    assert read_column("fixed 0 1.255 0.001")["high"] == "1.255"
    with pytest.raises(ParameterError, match="write 1000"):
        read_column("integer 0 1.000")


def test_cells_outside_of_a_typed_range_are_said_and_what_was_typed_is_proposed_again(here: Path) -> None:
    Path("euro.csv").write_text("\n".join(EURO), encoding="utf-8")
    answers = ["y", "", "fixed 0 100.000 0.01", "fixed 0 100 0.01", "maybe", "n", "", "y", "", "y", "", "", ""]
    code, said = walked(*answers, data="euro.csv")
    assert code == 0, said
    assert "write 100000, or 100 if that is meant" in said
    assert "count as its nearest end: Kosten 200." in said and "outside of the range as you wrote it" in said
    assert "Write y for yes or n for no." in said and "invalid input" not in said
    assert "[fixed 0 100 0.01 decimal=, thousands=. unit=€]" in said
    assert Schema.load("euro.toml").to_json()["columns"]["Kosten"]["high"] == "100"


def test_a_bare_range_is_one_of_the_type_that_was_proposed() -> None:
    """At `[integer 0 40]` people type 0 60."""
    assert corrected("0 60", {"type": "integer", "low": 0, "high": 40})[0] == read_column("integer 0 60")
    money = {"type": "fixed", "low": 0, "high": 40, "step": "0.01", "decimal": ","}
    assert corrected("0 60", money)[0] == read_column("fixed 0 60 0.01 decimal=,")
    assert corrected("0 60 0.1", money)[0]["step"] == "0.1"
    days = {"type": "date", "earliest": "2024-01-01", "latest": "2024-12-31", "format": "%d.%m.%Y"}
    assert corrected("2020-01-01 2025-12-31", days)[0] == read_column("date 2020-01-01 2025-12-31 %d.%m.%Y")
    with pytest.raises(ParameterError, match="no type of column"):
        corrected("0 60", {"type": "category", "values": ["a", "b"]})


def test_values_that_a_blank_tells_apart_are_in_quotes_and_may_be_typed_so() -> None:
    column = {"type": "category", "values": ["Hafen", "Hafen ", "Nord"], "missing": "skip"}
    assert column_text(column) == 'category Hafen, "Hafen ", Nord'
    assert read_column(column_text(column))["values"] == column["values"]


def test_notes_stand_under_their_column_and_a_mistake_is_shown_beside_the_first_proposal(here: Path) -> None:
    Path("euro.csv").write_text("\n".join(EURO), encoding="utf-8")
    wrong = "fixed 0 20000 0.01 decimal=. thousands=none unit=none"
    code, said = walked("y", "", wrong, "", "fixed 0 9000 0.01", "", "y", "", "", "", data="euro.csv")
    assert code == 0 and "\nKosten:\n  " in said, said
    assert said.count("  Proposed at first: fixed ") == 1 and "unit=€" in said.split("Proposed at first")[1]
