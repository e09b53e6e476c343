from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato.domain import bins, categories, dates, fixed, integers, text, weekdays
from sfumato.errors import ParameterError, SchemaError
from sfumato.table import Schema, draft

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

FULL = Schema(
    {
        "age": integers(17, 90, missing=40),
        "sex": categories("Female", "Male"),
        "gain": fixed(0, 100_000, step=0.01),
        "born": dates("1900-01-01", "2030-12-31"),
        "country": categories("United-States", 'Côte "d’Ivoire"\n', "elsewhere", other="elsewhere"),
        "note": text(max_bytes=40),
        "region": integers(0, 9),
        "decade": bins("age", step=10),
        "stage": bins("gain", edges=[0, "0.5", 100_000]),
        "day of birth": weekdays("born"),
    },
    person="person",
    rows_per_person=3,
    groups_per_person=2,
    public=("region",),
    groups={"identity": ("sex", "country")},
    dependencies=(("born", "decade"),),
)


def test_round_trips_keep_the_fingerprint(tmp_path: Path) -> None:
    assert Schema.from_json(json.loads(json.dumps(FULL.to_json()))) == FULL
    again = Schema.from_toml(FULL.to_toml())
    assert again == FULL and hash(again) == hash(FULL) and again.fingerprint == FULL.fingerprint
    (tmp_path / "s.toml").write_text(FULL.to_toml(), encoding="utf-8")
    (tmp_path / "s.json").write_text(json.dumps(FULL.to_json()), encoding="utf-8")
    assert Schema.load(tmp_path / "s.toml") == Schema.load(tmp_path / "s.json") == FULL
    other = Schema(FULL.columns, person="person", rows_per_person=4)
    assert other != FULL and other.fingerprint != FULL.fingerprint


def test_attributes_reads_and_secrets() -> None:
    assert FULL.attributes == ("age", "sex", "gain", "born", "country", "note")
    assert FULL.reads(["decade", "stage", "region"]) == {"age", "gain"}
    assert FULL.secrets.closure("age") == {"age", "born"}
    assert FULL.secrets.closure("sex") == {"sex", "country"}
    assert FULL.domain("region").public and FULL.base("day of birth") == "born"
    assert Schema({"a": integers(0, 1, public=True), "b": integers(0, 1)}).attributes == ("b",)


def test_toml_as_the_guide_writes_it() -> None:
    schema = Schema.from_toml(
        """
        person = "person"
        [columns.age]
        type = "integer"
        low = 17
        high = 90
        [columns.gain]
        type = "fixed"
        low = 0
        high = 10.5
        step = 0.01
        [columns.born]
        type = "date"
        earliest = 1900-01-01
        latest = 2030-12-31
        public = true
        """
    )
    assert schema.domain("gain").highest == 1050 and schema.public == ("born",)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Schema({}), "needs columns"),
        (lambda: Schema({"age": 5}), "needs a domain"),
        (lambda: Schema({"age": integers(0, 9), "Age": integers(0, 9)}), "up to case"),
        (lambda: Schema({"id": integers(0, 9)}, person="ID"), "up to case"),
        (lambda: Schema({"sfumato_x": integers(0, 9)}), "taken"),
        (lambda: Schema({"": integers(0, 9)}), "no name"),
        (lambda: Schema({"age": integers(0, 9)}, rows_per_person=2), "person="),
        (lambda: Schema({"age": integers(0, 9)}, public=("aeg",)), "did you mean 'age'"),
        (lambda: Schema({"age": integers(0, 9), "d": bins("aeg", step=2)}), "did you mean 'age'"),
        (lambda: Schema({"age": integers(0, 9), "d": bins("age", step=2), "e": bins("d", step=2)}), "itself derived"),
        (lambda: Schema({"age": categories("a"), "d": bins("age", step=2)}), "does not fit its base"),
        (lambda: Schema({"age": integers(0, 2**63)}), "beyond 2"),
        (lambda: Schema({"age": integers(0, 9)}, dependencies=(("age", "bron"),)), "no column 'bron'"),
        (lambda: FULL.domain("sexx"), "did you mean 'sex'"),
        (lambda: Schema.from_toml("columns = ["), "no TOML"),
        (lambda: Schema.from_toml("colums = {}"), "did you mean 'columns'"),
        (lambda: Schema.from_json({"columns": {"age": {"type": "integer", "low": "x", "high": 3}}}), "cannot be read"),
        (lambda: Schema.load("nowhere.toml"), "cannot be read"),
    ],
)
def test_bad_schemas_are_refused_with_a_hint(make: Any, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        make()


def test_counts_of_rows_and_groups_are_whole_numbers() -> None:
    with pytest.raises(ParameterError, match="rows_per_person"):
        Schema({"age": integers(0, 9)}, person="id", rows_per_person=0)
    with pytest.raises(ParameterError, match="groups_per_person"):
        Schema({"age": integers(0, 9)}, person="id", groups_per_person=0)


def test_a_draft_reads_types_only_and_must_be_filled_in() -> None:
    kinds = {
        "id": pa.int64(),
        "age": pa.int8(),
        "gain": pa.float32(),
        "born": pa.date32(),
        "sex": pa.string(),
        "ok": pa.bool_(),
        "blob": pa.binary(),
    }
    empty = pa.table({name: pa.array([], kind) for name, kind in kinds.items()})
    full = pa.table({name: pa.array([None], kind) for name, kind in kinds.items()})
    made = draft(full)
    assert made == draft(empty)
    assert "blob" not in made.record["columns"]
    with pytest.raises(SchemaError, match=r"columns\.gain\.low") as refused:
        made.schema()
    assert all(place in str(refused.value) for place in made.missing) and "columns.sex.values" in made.missing
    with pytest.raises(SchemaError, match="fill in person"):
        Schema.from_toml(made.to_toml())
    filled = made.fill(
        person="id",
        age={"low": 0, "high": 99},
        gain={"low": 0, "high": 9, "step": "0.1"},
        born={"earliest": "1900-01-01", "latest": "2020-01-01"},
        sex={"type": "text", "max_bytes": 9},
    )
    assert filled.missing == ()
    assert filled.schema().person == "id" and filled.schema().names == ("age", "gain", "born", "sex", "ok")
    assert made.fill(person=None).record.get("person") is None
    with pytest.raises(SchemaError, match="did you mean 'age'"):
        made.fill(aeg={"low": 0})


@pytest.mark.parametrize("given", ["loans.toml", "data/my loans.toml ", Path("loans.toml")])
def test_a_file_given_for_its_text_is_told_how_files_are_read(given):
    with pytest.raises(SchemaError, match=r"not its file; write Schema\.load\('"):
        Schema.from_toml(given)
