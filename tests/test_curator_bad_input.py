"""What the curator refuses, line by line: a typed error with a hint; nothing is spent, and nothing is lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

import sfumato as sf
from sfumato import ADD_REMOVE, Approximate, Concentrated, Count, GroupBy, Histogram, Mean, Pure, Quantiles, Sum
from sfumato.errors import LedgerError, ParameterError, SchemaError, SfumatoError, UnsupportedSpend
from tests import imputed

SCHEMA = sf.Schema(
    {"age": imputed.integers(17, 90), "sex": imputed.categories("Female", "Male"), "note": imputed.text(max_bytes=40)},
    person="person",
)
ROWS = pyarrow.table({"person": [1, 2, 3], "age": [30, 40, 50], "sex": ["Male", "Female", "Male"], "note": ["a"] * 3})


class House:
    """A file and its ledger, in which one question has been answered."""

    def __init__(self, place: Path) -> None:
        self.data, self.ledger = place / "people.parquet", place / "people.ledger"
        pyarrow.parquet.write_table(ROWS, self.data)
        with sf.curate(self.data, SCHEMA, sf.Budget(Pure(3), Pure(2)), ledger=self.ledger) as curator:
            self.answer = curator.histogram("sex", spend=Pure(1)).value
            self.head = curator.ledger.head

    @contextmanager
    def refuses(self, kind: type[SfumatoError], words: str) -> Iterator[None]:
        """Expect an error with a hint, and find everything as it was."""
        with pytest.raises(kind, match=words) as refused:
            yield
        said = str(refused.value)
        assert said.endswith((".", "?")) and "\n" not in said, said
        with sf.curate(self.data, SCHEMA, ledger=self.ledger) as curator:
            assert curator.ledger.head == self.head and curator.ledger.spent().left[1] == 2
            assert curator.ledger.verify(self.head).ok
            again = curator.histogram("sex", spend=Pure(1))
            assert again.reused and again.value == self.answer


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (sf.Schema({"agee": imputed.integers(0, 99)}, person="person"), "did you mean 'age'"),
        (sf.Schema({"age": imputed.dates("1990-01-01", "2000-01-01")}, person="person"), "'age' is int64"),
        (sf.Schema({"note": imputed.booleans(), "wage": imputed.integers(0, 9)}, person="person"), "wage"),
    ],
)
def test_a_schema_that_does_not_match_the_file(house: House, schema: sf.Schema, words: str) -> None:
    with house.refuses(SchemaError, words):
        sf.curate(house.data, schema, Pure(1), ledger=house.data.with_name("new.ledger"))
    assert not house.data.with_name("new.ledger").exists(), "no ledger is made for a file that cannot be read"


def test_a_missing_person_column(house: House) -> None:
    with house.refuses(SchemaError, "did you mean 'person'"):
        sf.curate(house.data, sf.Schema(SCHEMA.columns, person="persom"), Pure(1))


QUESTIONS: dict[str, tuple[Callable[[sf.Curator], Any], type[SfumatoError], str]] = {
    "unknown column": (lambda curator: curator.ask(Mean("agee"), Pure(1)), SchemaError, "did you mean 'age'"),
    "unknown key": (
        lambda curator: curator.ask(GroupBy("sexx", [Count()]), Pure(1)),
        SchemaError,
        "did you mean 'sex'",
    ),
    "unknown in a filter": (
        lambda curator: curator.count("agee > 3", spend=Pure(1)),
        SchemaError,
        "did you mean 'age'",
    ),
    "unknown in one of a list": (
        lambda curator: curator.ask([Count("age > 30"), Histogram("sexx")], Pure(1)),
        SchemaError,
        "did you mean 'sex'",
    ),
    "a function in a filter": (
        lambda curator: curator.count("length(note) > 3", spend=Pure(1)),
        ParameterError,
        "write",
    ),
    "a query in a filter": (
        lambda curator: curator.count("age > (SELECT 1)", spend=Pure(1)),
        ParameterError,
        "literal",
    ),
    "a second statement": (
        lambda curator: curator.count("age > 1); DROP TABLE x; (", spend=Pure(1)),
        ParameterError,
        "write",
    ),
    "a predicate of Python": (
        lambda curator: curator.count(lambda row: True, spend=Pure(1)),
        ParameterError,
        "SQL text",
    ),
    "a bare number": (lambda curator: curator.count("age > 30", spend=0.1), ParameterError, r"write Pure\(0.1\)"),
    "a text as spend": (
        lambda curator: curator.count("age > 30", spend="Pure(1)"),
        ParameterError,
        "without quotes",
    ),
    "no spend": (lambda curator: curator.count("age > 30"), ParameterError, "spend=Pure"),
    "a spend of zero": (lambda curator: curator.count("age > 30", spend=Pure(0)), UnsupportedSpend, "above zero"),
    "private keys without a delta": (
        lambda curator: curator.histogram("note", keys="private", spend=Pure(1)),
        UnsupportedSpend,
        "Approximate",
    ),
    "sums by private keys without a delta": (
        lambda curator: curator.group_by("note", [Sum("age")], keys="private", spend=Concentrated(1)),
        UnsupportedSpend,
        "Approximate",
    ),
    "quantiles per attribute": (
        lambda curator: curator.ask(Quantiles("age"), Approximate(1, 1e-6).per_attribute()),
        ParameterError,
        "per-attribute",
    ),
    "a mean of categories": (lambda curator: curator.mean("sex", spend=Pure(1)), SchemaError, "histogram"),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_bad_questions_and_spends(house: House, name: str) -> None:
    ask, kind, words = QUESTIONS[name]
    with sf.curate(house.data, SCHEMA, ledger=house.ledger) as curator, house.refuses(kind, words):
        ask(curator)


def test_an_unreadable_ledger_stays_as_it_is(house: House) -> None:
    broken = house.data.with_name("broken.ledger")
    broken.write_bytes(b"this is no database" * 100)
    with house.refuses(LedgerError, "give the path of a ledger"):
        sf.curate(house.data, SCHEMA, Pure(1), ledger=broken)
    assert broken.read_bytes() == b"this is no database" * 100


def test_a_foreign_database_stays_as_it_is(house: House) -> None:
    foreign = house.data.with_name("foreign.db")
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE customers (id INT)")
    connection.close()
    before = foreign.read_bytes()
    with house.refuses(LedgerError, "not a ledger.*give the path"):
        sf.curate(house.data, SCHEMA, Pure(1), ledger=foreign)
    assert foreign.read_bytes() == before


def test_a_newer_ledger_asks_for_an_upgrade(house: House) -> None:
    newer = house.data.with_name("newer.ledger")
    sf.Ledger(newer, sf.Budget(Pure(1))).close()
    with sqlite3.connect(newer) as connection:
        connection.execute("UPDATE sfumato_head SET format = 99")
    connection.close()
    with house.refuses(LedgerError, "pip install --upgrade"):
        sf.curate(house.data, SCHEMA, ledger=newer)


def test_no_ledger_and_no_budget(house: House) -> None:
    with house.refuses(LedgerError, "give its budget"):
        sf.curate(house.data, SCHEMA, ledger=house.data.with_name("none.ledger"))
    assert not house.data.with_name("none.ledger").exists()


def test_two_curators_with_different_schemas_on_one_ledger(house: House) -> None:
    wider = sf.Schema({**SCHEMA.columns, "age": imputed.integers(0, 120)}, person="person")
    with house.refuses(LedgerError, "another schema"):
        sf.curate(house.data, wider, ledger=house.ledger)
    with sf.Ledger(None, sf.Budget(Pure(1))) as book:
        assert book.schema is None
        first = sf.curate(house.data, SCHEMA, ledger=book)
        assert book.schema == SCHEMA.fingerprint
        head = book.head
        with house.refuses(LedgerError, "another schema"):
            sf.curate(house.data, wider, ledger=book)
        assert book.head == head and book.verify().ok
        assert first.count().value == 3


def test_neighbours_are_those_of_the_ledger(house: House) -> None:
    with house.refuses(LedgerError, "REPLACE_ONE"):
        sf.curate(house.data, SCHEMA, ledger=house.ledger, relation=ADD_REMOVE)
    with sf.Ledger(None, sf.Budget(Pure(1))) as book, house.refuses(LedgerError, "leave relation= out"):
        sf.curate(house.data, SCHEMA, ledger=book, relation=ADD_REMOVE)
    place = house.data.with_name("moving.ledger")
    sf.curate(house.data, SCHEMA, Pure(1), ledger=place, relation=ADD_REMOVE).close()
    with sf.curate(house.data, SCHEMA, ledger=place) as later:
        assert later.ledger.relation is ADD_REMOVE is later.basis.relation
        assert later.count("age > 30", spend=Pure(0.5)).loss.relation is ADD_REMOVE


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
@pytest.mark.parametrize("method", ["parities", "tree"])
def test_rows_of_nobody_are_refused_before_they_are_paid_for(method: str) -> None:
    """Their number is public; a count of them is still an answer."""
    with sf.curate(ROWS.slice(0, 0), SCHEMA, Pure(1)) as curator:
        with pytest.raises(ParameterError, match="nobody in this table"):
            curator.ask(sf.Synopsize(method, columns=("sex=Male",)), Pure(0.5))
        assert curator.count().value == 0 and curator.histogram("sex", spend=Pure(0.5)).loss.person.epsilon <= 0.5


@pytest.mark.parametrize("prior", [None, "even", "model"])
def test_nobody_is_talked_about_and_nothing_is_paid(prior: str | None) -> None:
    with sf.curate(ROWS.slice(0, 0), SCHEMA, Pure(1)) as curator:
        with pytest.raises(ParameterError, match="nobody in this table"):
            curator.converse(["sex"], spend=Pure(0.5), prior=prior)
        assert curator.ledger.history() == []
