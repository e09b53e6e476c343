"""Bins between edges cover all of the range of their base; ledgers of earlier versions keep the bins that they had."""

from __future__ import annotations

import pyarrow
import pytest

from sfumato import ADD_REMOVE, Pure, Schema, curate
from sfumato.answer import Answer
from sfumato.domain import Bins, bins, column_from_json, dates, fixed, integers
from sfumato.ledger import Ledger
from sfumato.publish.file import load_file
from sfumato.table.database import Database, accepted
from sfumato.table.schema import digest_of
from tests.publish.sample import SCHEMA as VISITS
from tests.publish.sample import prepare

SCHEMA = Schema({"fee": fixed(0, 50, step="0.01", missing=0), "part": bins("fee", edges=[1, 5, 10])})
FEES = pyarrow.table({"fee": ["0.99"] * 60 + ["1"] * 20 + ["4.99"] * 5 + ["5"] * 7 + ["10"] * 3 + ["99"] * 2})
EXACT = Pure(200)


def counted(answer: Answer) -> dict[str, int]:
    return dict(zip(answer.value.labelled()["part"], answer.value["count"], strict=True))


def test_what_is_beyond_the_edges_has_bins_of_its_own_that_say_so():
    with curate(FEES, SCHEMA, Pure(1000)) as curator:
        answer = curator.histogram("part", spend=EXACT)
        assert curator.count("part = 0", spend=EXACT).value == 60
        assert curator.count("part = 10", spend=EXACT).value == 5
    assert counted(answer) == {"below 1": 60, "1 to <5": 25, "5 to <10": 7, "10 and more": 5}
    assert answer.value["part"] == (0, 1, 5, 10)  # files keep where a bin begins
    assert "10 and more" in str(answer) and "10 and more" in answer.plot().svg()
    assert curator.answer_from_json(answer.to_json()).labels == answer.labels


@pytest.mark.parametrize(
    ("base", "column", "labels"),
    [
        (integers(0, 120), bins("x", edges=[18, 65]), ["below 18", "18 to 64", "65 and more"]),
        (integers(0, 120), bins("x", edges=[0, 18, 65, 120]), ["below 18", "18 to 64", "65 and more"]),
        (integers(17, 30), bins("x", step=10), ["17 to 19", "20 to 29", "30"]),
        (fixed(0, 2, step="0.5"), bins("x", step=1), ["0 to <1", "1 to <2", "2"]),
        (integers(0, 9), bins("x", edges=[0, 9]), ["0 to 9"]),
        (
            dates("2020-01-01", "2020-12-31"),
            bins("x", edges=["2020-02-01", "2020-03-01", "2020-12-31"]),
            ["below 2020-02-01", "2020-02-01 to 2020-02-29", "2020-03-01 and more"],
        ),
    ],
)
def test_labels_name_both_ends(base, column, labels):
    assert list(Schema({"x": base, "part": column}).domain("part").labels().values()) == labels


def test_edges_that_reach_over_the_base_stay_as_they_are():
    whole = bins("x", edges=[0, 18, 65, 200])
    schema = Schema({"x": integers(0, 120), "part": whole})
    assert schema.columns["part"] == whole and schema.earlier is None
    assert schema.fingerprints == accepted(schema)


def test_the_form_of_an_earlier_version_is_told_apart():
    earlier = SCHEMA.earlier
    assert earlier is not None and earlier.earlier is None
    written = SCHEMA.to_json()
    written["columns"]["part"]["edges"] = ["1", "5", "10"]
    assert earlier.fingerprint == digest_of(written) != SCHEMA.fingerprint
    assert Schema.from_json(written) == SCHEMA and Schema.as_stored(written) == earlier
    assert Schema.as_stored(SCHEMA.to_json()) == SCHEMA
    assert SCHEMA.as_kept(SCHEMA.fingerprint) is SCHEMA and SCHEMA.as_kept(earlier.fingerprint) == earlier
    fewer = Schema({"fee": SCHEMA.columns["fee"]})
    assert SCHEMA.as_kept(fewer.fingerprint) is SCHEMA  # the bins are new to it
    stored = column_from_json(written["columns"]["part"]).as_stored(SCHEMA.domain("fee"))
    assert stored.size == 2 and isinstance(stored.rule, Bins) and stored.rule.clipped


def test_a_ledger_of_an_earlier_version_opens_and_keeps_its_bins(tmp_path):
    place = tmp_path / "fees.ledger"
    Ledger(place, Pure(1000), schema=SCHEMA.earlier.fingerprint).close()
    with curate(FEES, SCHEMA, ledger=place, snapshot="now") as curator:
        first = curator.histogram("part", spend=EXACT)
    assert counted(first) == {"below 5": 85, "5 and more": 12}
    assert any("add a column under a new name" in note for note in first.notes)
    wider = SCHEMA.with_columns(whole=bins("fee", edges=[1, 10]))
    with curate(FEES, wider, ledger=place, snapshot="now") as curator:
        assert curator.histogram("whole", spend=EXACT).value["count"] == (60, 32, 5)
        assert counted(curator.histogram("part", spend=EXACT)) == counted(first)


def test_a_database_keeps_them_too(tmp_path):
    tables = Database({"visits": SCHEMA})
    place = tmp_path / "fees.ledger"
    Ledger(place, Pure(1000), schema=tables.earlier.fingerprint).close()
    statement = "SELECT part, COUNT(*) AS n FROM visits GROUP BY part"
    with curate({"visits": FEES}, tables, ledger=place) as curator:
        assert curator.sql(statement, spend=EXACT).frame["n"] == (85, 12)
    with curate({"visits": FEES}, tables, Pure(1000)) as curator:
        assert curator.sql(statement, spend=EXACT).frame["n"] == (60, 25, 7, 5)


def test_a_publication_that_was_begun_keeps_them(tmp_path):
    path = prepare(tmp_path, days=[])
    bounded = '\n[columns.fee]\ntype = "integer"\nlow = 0\nhigh = 50\n[columns.part]\ntype = "bins"\nof = "fee"\n'
    (tmp_path / "visits.schema.toml").write_text(f"{VISITS}{bounded}edges = [1, 5, 10]\n", encoding="utf-8")
    new = load_file(path)
    assert new.schema.domain("part").highest == 3
    earlier = new.schema.earlier.fingerprint
    Ledger(new.ledger, new.budget, relation=ADD_REMOVE, schema=earlier, private=new.private).close()
    begun = load_file(path)
    assert begun.schema.fingerprint == earlier and begun.schema.domain("part").highest == 1
    assert list(begun.schema.domain("part").labels().values()) == ["below 5", "5 and more"]
