"""Postcodes and other codes of digits: drafted as categories or text, with the sentence why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import pytest

import sfumato as sf
from sfumato.table.candidates import candidate_of
from sfumato.table.names import CODE

PLACES = [10115, 20095, 80331] * 40


@pytest.mark.parametrize(
    "name", ["zip", "ZIP", "zip_code", "plz", "PLZ", "Postleitzahl", "postcode", "postal code", "code postal", "cap"]
)
def test_a_postcode_is_no_number(name: str, tmp_path: Path) -> None:
    frame = pandas.DataFrame({name: PLACES, "cost": range(len(PLACES))})
    frame.to_csv(tmp_path / "a.csv", index=False)
    for source in (frame, tmp_path / "a.csv"):
        by_name, looked = sf.draft(source), sf.draft(source, look=True)
        for drafted in (by_name, looked):
            assert drafted.record["columns"][name]["type"] == "category" and CODE in drafted.notes[name]
        assert [str(one) for one in looked.record["columns"][name]["values"]] == ["10115", "20095", "80331"]
    schema = sf.draft(frame, look=True).fill(person=None).confirm().schema()
    with sf.curate(frame, schema, sf.Pure(100)) as curator:
        counts = dict(zip(*curator.histogram(name, spend=sf.Pure(50)).value.columns.values(), strict=True))
    assert counts[10115] == 40


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("town", ["01067", "20095", "80331"] * 20, "category"),  # a leading zero
        ("case", ["4711001", "4711002", "4711003"] * 20, "category"),  # long, and equally so
        ("zip", [f"{10000 + place}" for place in range(300)] * 2, "text"),  # too many to list
        ("market cap", ["12", "80", "4"] * 20, "integer"),
        ("amount", ["12", "1200", "4"] * 20, "integer"),
    ],
)
def test_what_looks_like_a_code(name: str, cells: list[Any], kind: str) -> None:
    found = candidate_of(name, cells)
    assert found.record is not None and found.record["type"] == kind
    assert (CODE in found.notes) == (kind != "integer")


def test_a_code_in_decimals_says_what_to_do() -> None:
    frame = pandas.DataFrame({"zip": [10115.0, None] * 20})
    for look in (False, True):
        assert "turn them into text before" in " ".join(sf.draft(frame, look=look).notes["zip"])


def test_rows_are_said_to_be_lost_only_where_some_are() -> None:
    frame = pandas.DataFrame({"patient_id": [1, 1, 2, 2, 3, 3] * 1, "age": range(6)})
    told = " ".join(sf.draft(frame, look=True).notes[""])
    assert "none is lost" in told and "too low" not in told
    many = pandas.DataFrame({"patient_id": [*range(40), *[0] * 9], "age": range(49)})
    assert "too low" in " ".join(sf.draft(many, look=True).notes[""])
