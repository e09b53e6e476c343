"""A ledger takes a schema with more derived columns, and finds what was asked before they were there."""

from __future__ import annotations

import pyarrow
import pytest

from sfumato import Concentrated, Pure, Schema, curate
from sfumato.domain import bins, categories, integers
from sfumato.ledger import Ledger
from sfumato.questions import Count, Histogram, Mean, Quantiles, Synthesize

SCHEMA = Schema({"age": integers(0, 99), "sex": categories("F", "M")}, person="id", rows_per_person=2)
ROWS = pyarrow.table({"id": [*range(40)] * 2, "age": [*range(80)], "sex": ["F", "M"] * 40})
LONGER = SCHEMA.with_columns(decade=bins("age", step=10))
LONGEST = LONGER.with_columns(stage=bins("age", edges=[18, 65]), half=bins("age", step=50))
ASKED = [
    Mean("age"),
    Count("age > 30"),
    Histogram(["sex"]),
    Quantiles("age"),
    [Mean("age", "sex = 'F'"), Count()],
]


@pytest.mark.parametrize("question", ASKED, ids=str)
def test_what_names_none_of_the_added_columns_is_free(tmp_path, question):
    place = tmp_path / "people.ledger"
    with curate(ROWS, SCHEMA, Pure(10), ledger=place, snapshot="now") as curator:
        first = curator.ask(question, Pure(1))
        left = curator.remaining()
    for schema in (LONGER, LONGEST):
        with curate(ROWS, schema, ledger=place, snapshot="now") as curator:
            assert curator.preview(question, Pure(1)).free
            again = curator.ask(question, Pure(1))
            assert curator.remaining() == left
            for one, other in zip(*(x if isinstance(x, list) else [x] for x in (first, again)), strict=True):
                assert other.reused and str(other.value) == str(one.value) and other.loss == one.loss
            kept = curator.stored((again[0] if isinstance(again, list) else again).request)
            assert str(kept) == str(again) or kept == again


def test_only_a_schema_with_derived_columns_is_looked_up_before_the_charge(monkeypatch):
    looked: list[str] = []
    knows = Ledger.knows
    monkeypatch.setattr(Ledger, "knows", lambda self, key: looked.append(key) or knows(self, key))
    for schema, times in ((SCHEMA, 0), (LONGER, 2)):
        with curate(ROWS, schema, Pure(10), snapshot="now") as curator:
            first = curator.mean("age", spend=Pure(1))
            assert len(looked) == times
            again = curator.mean("age", spend=Pure(1))
            assert again.reused and again.value == first.value


def test_what_names_an_added_column_is_a_question_of_its_own(tmp_path):
    place = tmp_path / "people.ledger"
    with curate(ROWS, LONGER, Pure(10), ledger=place, snapshot="now") as curator:
        curator.histogram("decade", spend=Pure(1))
    wider = SCHEMA.with_columns(decade=bins("age", step=20), stage=bins("age", edges=[18, 65]))
    with curate(ROWS, LONGEST, ledger=place, snapshot="now") as curator:
        assert curator.histogram("decade", spend=Pure(1)).reused  # it is in both, by the same rule
        assert not curator.preview(Histogram("stage"), Pure(1)).free
        assert not curator.ask(Count("stage = 18"), Pure(1)).reused
    with curate(ROWS, wider, Pure(10), snapshot="now") as curator:
        assert not curator.histogram("decade", spend=Pure(1)).reused
    assert LONGER.fingerprint not in wider.fingerprints  # another rule under the same name


def test_another_state_spend_or_model_is_paid(tmp_path):
    place = tmp_path / "people.ledger"
    with curate(ROWS, SCHEMA, Concentrated(10), ledger=place, snapshot="now") as curator:
        curator.mean("age", spend=Concentrated(1))
        curator.ask(Synthesize(), Concentrated(1))
    with curate(ROWS, LONGER, ledger=place, snapshot="later") as curator:
        assert not curator.mean("age", spend=Concentrated(1)).reused
    with curate(ROWS, LONGER, ledger=place, snapshot="now") as curator:
        assert curator.mean("age", spend=Concentrated(1)).reused
        assert not curator.mean("age", spend=Concentrated("1/2")).reused
        assert not curator.preview(Synthesize(["age", "sex"]), Concentrated(1)).free
