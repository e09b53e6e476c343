"""The asker's own id for a request: a retry is known as one; and stored answers that are shown again."""

from __future__ import annotations

import pyarrow
import pytest

import sfumato as sf
from sfumato import Pure
from sfumato.errors import LedgerError, ParameterError

SCHEMA = sf.Schema({"age": sf.integers(0, 99), "sex": sf.categories("F", "M")})
PEOPLE = pyarrow.table({"age": [n % 90 for n in range(200)], "sex": ["FM"[n % 2] for n in range(200)]})


@pytest.fixture
def curator(tmp_path):
    with sf.curate(PEOPLE, SCHEMA, Pure(1), ledger=tmp_path / "book", snapshot="1") as found:
        yield found


def test_a_retry_is_the_same_request_and_another_question_is_refused(curator):
    first = curator.ask(sf.Count("age > 40"), Pure(0.1), request="mine")
    again = curator.ask(sf.Count("age > 40"), Pure(0.1), request="mine")
    assert first.request == again.request == "mine" and first.value == again.value
    assert len(curator.ledger.history()) == 1 and curator.ledger.entry("mine").spend == Pure(0.1)
    with pytest.raises(LedgerError, match="belongs to another request"):
        curator.ask(sf.Count("age > 41"), Pure(0.1), request="mine")
    with pytest.raises(ParameterError, match="A request id is a text"):
        curator.ask(sf.Count("age > 41"), Pure(0.1), request="x" * 300)
    rows = curator.sql("SELECT sex, COUNT(*) AS n FROM data GROUP BY sex", Pure(0.1), request="rows")
    assert curator.ledger.entry("rows") is not None and rows.request == "rows"


def test_a_stored_answer_is_shown_again_and_never_charged(curator):
    one = curator.ask(sf.Histogram("sex"), Pure(0.1))
    two = curator.ask([sf.Count("age > 3"), sf.Mean("age")], Pure(0.1))
    spent = curator.ledger.spent().sums
    assert curator.stored(one.request).frame.columns == one.frame.columns
    assert [part.value for part in curator.stored(two[0].request)] == [part.value for part in two]
    model = curator.synthesize(spend=Pure(0.3))
    assert curator.stored(model.request).value.total == model.value.total
    assert curator.ledger.spent().sums[1] == spent[1] + model.loss.person.epsilon  # once
    with pytest.raises(LedgerError, match="holds no draw"):
        curator.stored("nothing")
    assert curator.ledger.entry("nothing") is None


def test_numbers_that_json_has_no_word_for_are_left_out():
    from sfumato.answer import Frame

    assert Frame((), {"a": (float("nan"), 1.5, float("inf"))}).to_json() == {"a": [None, 1.5, None]}
