"""What is known of a model before it is paid for."""

from __future__ import annotations

import pyarrow

from sfumato import Pure, Schema, Synthesize, bins, booleans, categories, curate, integers
from sfumato.curator.typed import read_request

SCHEMA = Schema(
    {"age": integers(0, 99), "decade": bins("age", step=10), "sex": categories("F", "M"), "ill": booleans()}
)


def people(count: int) -> pyarrow.Table:
    return pyarrow.table(
        {
            "age": [row % 100 for row in range(count)],
            "sex": ["F", "M"] * (count // 2),
            "ill": [True, False] * (count // 2),
        }
    )


def test_too_few_people_for_tables_of_two_columns_are_said_before_anything_is_paid() -> None:
    asked = Synthesize(columns=["decade", "sex", "ill"])
    with curate(people(20), SCHEMA, Pure(9)) as curator:
        foreseen = curator.preview(asked, Pure("1/100"))
        assert foreseen.fits and "People are too few for tables of two columns at this spend" in foreseen.error
        notes = curator.ask(asked, Pure("1/100")).notes
        assert any("People are too few for tables of two columns" in note for note in notes), "and so it came out"
    with curate(people(20_000), SCHEMA, Pure(9)) as curator:
        assert "too few" not in curator.preview(asked, Pure(1)).error


def test_without_columns_bins_stand_for_their_base() -> None:
    with curate(people(2_000), SCHEMA, Pure(9)) as curator:
        answer = curator.synthesize(spend=Pure(1))
        assert answer.question.columns == ("decade", "sex", "ill")
        assert answer.value.sample(3).column_names == ["age", "decade", "sex", "ill"]
        assert read_request("synthesize", SCHEMA).questions[0] == answer.question
    plain = Schema({"sex": categories("F", "M"), "ill": booleans()})
    assert read_request("synthesize", plain).questions[0].columns is None, "a stored model is found by what was asked"
