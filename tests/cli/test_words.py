"""What a shell prints in a first hour speaks of what is typed there, not of Python."""

from __future__ import annotations

import re

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
