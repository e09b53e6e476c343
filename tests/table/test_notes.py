"""What was done to cells and people is said, from public facts alone (SM-NOTES)."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pytest

from sfumato import Budget, Histogram, Pure, Schema, curate
from sfumato.domain import bins, booleans, categories, fixed, integers, text
from sfumato.errors import AccuracyWarning
from sfumato.table.gauge import Basis
from sfumato.table.measure import Found, Ordered, People, Rows, Totals
from sfumato.table.statistics import COUNT, Part, Power
from sfumato.table.where import read_where

COLUMNS = {
    "age": integers(0, 99),
    "pay": fixed(0, 10, step="0.5", missing=0),
    "job": categories("nurse", "clerk"),
    "ill": booleans(),
}
ONE = Schema(COLUMNS)
MANY = Schema(COLUMNS, "id", 5, 2)
KEYED = Schema(COLUMNS, "id", 5, row_key=("visit",))


def notes(schema: Schema, measure: object) -> tuple[str, ...]:
    return Basis(schema, 9).gauge(measure).notes()  # type: ignore[arg-type]


def test_values_that_are_added_up_are_clamped_and_skipped() -> None:
    sums = Totals((), (Part(Power.SUM, "age"), Part(Power.SUM, "pay")), read_where("ill = true", ONE))
    assert notes(ONE, sums) == (
        "Only rows count where ill is true.",
        "Values of 'age' are clamped to 0 … 99.",
        "Values of 'pay' are clamped to 0 … 10.",
        "Cells of 'age' that are missing or cannot be read are left out.",
        "A row whose cell of 'ill' is missing fulfils no condition on it, except IS NULL.",
        "Missing cells of 'pay' count as 0, as the schema says.",
    )


def test_people_and_groups_are_limited() -> None:
    weighed = "A person counts as at most 5 rows; the rows of a person with more count 5 in all."
    limited = (
        "A person counts in at most 2 groups. If some are in more, counts and sums by group are too low by an unknown "
        "amount that the interval does not contain: write a larger groups_per_person in the schema."
    )
    assert notes(MANY, Totals(("job",))) == (
        f"{weighed} If some have more, counts of rows are too low, sums too near to 0 and means lean towards people "
        "with few rows, by an unknown amount that the interval does not contain: for rows write a larger "
        "rows_per_person in the schema; for people ask `people`.",
        limited,
        "Missing cells of 'job' are a value of their own.",
        "Values of 'job' that are not listed count as 'other'.",
    )
    assert notes(MANY, Ordered("age"))[0].startswith(f"{weighed} So it leans") and len(notes(MANY, Ordered("age"))) == 3
    assert notes(MANY, People(("ill",)))[:2] == ("A person counts once, however many rows they have.", limited)
    assert "row_key = []" in notes(Schema(COLUMNS, "id"), Totals(()))[0]


def test_that_the_truth_lies_outside_the_interval_is_said_next_to_it() -> None:
    people = [who for who in range(50) for _ in range(9)]
    rows = pyarrow.table({"id": people, "age": [30] * len(people)})
    schema = Schema({"age": integers(0, 99)}, "id", 4)
    with curate(rows, schema, Budget(Pure(99))) as curator:
        answer = curator.count(spend=Pure(50))
    low, high = answer.interval()
    assert low <= 200 <= high < len(people), "the rule cuts nine rows to four, and the interval is that of the noise"
    lines = str(answer).splitlines()
    said = next(place for place, line in enumerate(lines) if "(privacy noise only)" in line)
    assert "does not contain: for rows write a larger rows_per_person" in "".join(lines[said + 1 : said + 2])
    assert any("does not contain" in note for note in answer.to_json()["event"]["parameters"]["notes"])


def test_where_nothing_is_known_fewer_rows_a_person_are_advised() -> None:
    rows = pyarrow.table({"id": [who for who in range(50) for _ in range(4)], "age": [30] * 200})
    for most, said in ((4, True), (1, False)):
        with curate(rows, Schema({"age": integers(0, 99)}, "id", most), Budget(Pure(999))) as curator:
            answer = curator.mean("age", spend=Pure("0.001"))
            assert any("a smaller one in the schema, or a larger spend" in note for note in answer.notes) == said
            assert not any("a smaller one" in note for note in curator.mean("age", spend=Pure(500)).notes)


def test_rows_are_chosen_by_a_key_or_by_everything() -> None:
    assert notes(KEYED, Rows(("ill",)))[0].startswith(
        "At most 5 rows of a person are used, chosen by the row key 'visit'"
    )
    assert "every attribute is charged" in notes(MANY, Rows(("ill",)))[0]
    assert "groups" not in notes(MANY, Rows(("ill",)))[1] and "2 groups" in notes(MANY, Found(("ill",)))[1]
    assert "one row in which every cell is missing" in notes(Schema(COLUMNS, "id", row_key=()), Rows(("ill",)))[0]


def test_an_answer_carries_them_and_so_does_the_record() -> None:
    rows = pyarrow.table({"age": [30, None, 50, 70], "pay": [1.0] * 4, "job": ["nurse"] * 4, "ill": [True] * 4})
    with curate(rows, ONE, Budget(Pure(9))) as curator:
        answer = curator.mean("age", spend=Pure(1))
        assert answer.notes[0] == "Values of 'age' are clamped to 0 … 99." and "left out" in answer.notes[1]
        (entry,) = curator.ledger.history()
        *rules, doubt = answer.notes
        assert entry.event["parameters"]["notes"] == rules, "the record holds public rules, and nothing of the numbers"
        assert "no row to average" in doubt


def test_a_histogram_of_cents_is_warned_of_before_it_is_paid_for() -> None:
    rows = pyarrow.table({"pay": [1.0, 2.5, 3.25]})
    cents = Schema({"pay": fixed(0, 100, step="0.01")})
    with curate(rows, cents, Budget(Pure(9))) as curator:
        with pytest.warns(AccuracyWarning, match=r"10,002 cells for 3 people.*with_columns\(pay_bins=bins\('pay'"):
            curator.preview(Histogram("pay"), Pure(1))
        assert not curator.ledger.history()
    with curate(rows, cents.with_columns(pay_bins=bins("pay", step=10)), Budget(Pure(9))) as curator:
        assert len(curator.histogram("pay_bins", spend=Pure(1)).value) == 12


def test_the_mean_of_truth_values_is_a_share_and_moves_as_zeros_and_ones_do() -> None:
    rows = pyarrow.table({"ill": [True] * 10 + [False] * 20 + [None] * 10})
    with curate(rows, Schema({"ill": booleans()}), Budget(Pure(999))) as curator:
        answer = curator.mean("ill", spend=Pure(400))
    assert abs(answer.value - 1 / 3) < 0.01 and not any("clamped" in note for note in answer.notes)
    truth, number = (Schema({"ill": one}, "id", 3) for one in (booleans(), integers(0, 1)))
    part = Part(Power.SUM, "ill")
    for changed in (None, {"ill"}):
        moved = [Basis(one, 9).gauge(Totals((), (part,))).sensitivity(part, changed) for one in (truth, number)]
        assert moved[0] == moved[1] and moved[0].l1 > 0


def test_a_condition_is_said_and_so_is_what_becomes_of_numbers_beyond_the_range() -> None:
    counts = Totals((), (COUNT,), read_where("age > 64 AND (ill = true OR pay IS NULL)", ONE))
    said = notes(ONE, counts)
    assert said[0].startswith("Only rows count where ") and "age is 65 or more" in said[0]
    assert "Values of 'age' are clamped to 0 … 99." in said
    assert notes(ONE, Totals((), (COUNT,), read_where("age > 200", ONE)))[0] == "No row fulfils the condition."
    assert "Values of 'age' are clamped to 0 … 99." in notes(ONE, Totals(("age",)))


def test_an_empty_text_that_stands_for_missing_cells_is_seen() -> None:
    """It read "count as , as the schema says"."""
    for fill, seen in (("", "''"), (" ", "' '"), ("Ulm", "Ulm")):
        schema = Schema({"city": text(max_bytes=9, missing=fill)})
        told = notes(schema, Found(("city",)))
        assert f"Missing cells of 'city' count as {seen}, as the schema says." in told


def test_the_page_on_learning_says_what_becomes_of_people_with_several_rows() -> None:
    """It spoke of a row that is picked, which is true without `row_key = []` only."""
    page = " ".join((Path(__file__).parents[2] / "docs/jobs/learning.md").read_text(encoding="utf-8").split())
    alone = Schema(COLUMNS, "id", 1, row_key=())
    (said,) = [note for note in notes(alone, Rows(("ill",))) if "more than one row" in note]
    assert said.partition(" counts ")[2].removesuffix(".") in page.partition("with `row_key = []`")[2]
