"""What is known of a model before it is paid for."""

from __future__ import annotations

import pyarrow
import pytest

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


@pytest.mark.audit
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


def test_a_tail_that_noise_hides_is_said_to_be_cut() -> None:
    """Five thousand incomes below 4,000 and five of nearly a million: the five are lost, and the notes say so."""
    schema = Schema({"pay": integers(0, 1_000_000, missing=0), "sex": categories("F", "M")})
    pays = [1_000 + row * 37 % 3_000 for row in range(5_000)] + [990_000] * 5
    rows = pyarrow.table({"pay": pays, "sex": ["F", "M", "F", "M", "F"] * 1_001})
    with curate(rows, schema, Pure(9)) as curator:
        answer = curator.synthesize(spend=Pure(1))
        (note,) = [one for one in answer.notes if "a thin tail of the data is cut off" in one]
        assert note.startswith("Of 'pay' ") and " up noise is all" in note
        limit = float(note.split(" from ")[1].split(" up")[0])
        beyond = sum(pay >= limit for pay in answer.value.sample(2_000).column("pay").to_pylist())
        assert 4_000 < limit < 990_000 and beyond < 40
