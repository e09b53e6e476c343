"""The curator with real engines and real ledgers: the story of docs/curator.md, its refusals, and what stays unspent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

import sfumato as sf
from sfumato import (
    ADD_REMOVE,
    Approximate,
    Concentrated,
    Count,
    GroupBy,
    Histogram,
    Mean,
    Pure,
    Quantiles,
    Sum,
    Truncated,
)
from sfumato.ask.prepared import Prepared, Several
from sfumato.errors import (
    BudgetExceeded,
    LedgerError,
    ParameterError,
    SchemaError,
    UnsupportedSpend,
)
from sfumato.table.data import Table
from sfumato.table.gauge import Basis
from tests import imputed

PEOPLE = 300
SCHEMA = sf.Schema(
    {
        "age": imputed.integers(17, 90),
        "sex": imputed.categories("Female", "Male"),
        "hours": imputed.integers(1, 99),
        "gain": imputed.fixed(0, 1000, step=0.01),
        "born": imputed.dates("1900-01-01", "2030-12-31"),
        "country": imputed.categories("United-States", "Mexico", other="elsewhere"),
        "note": imputed.text(max_bytes=40),
        "decade": sf.bins("age", step=10),
    },
    person="person",
    rows_per_person=1,
    dependencies=(("born", "age"),),
)


def people() -> pyarrow.Table:
    places = range(PEOPLE)
    return pyarrow.table(
        {
            "person": list(places),
            "age": [17 + place % 74 for place in places],
            "sex": ["Female" if place % 3 else "Male" for place in places],
            "hours": [1 + place % 99 for place in places],
            "gain": [float(place % 1000) / 4 for place in places],
            "born": [date(1950, 1, 1)] * PEOPLE,
            "country": ["Mexico" if place % 5 else "Peru" for place in places],
            "note": ["hello" if place % 2 else f"secret {place}" for place in places],
        }
    )


BUDGET = sf.Budget(person=Pure(3), each_attribute=Pure(1))


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    pyarrow.parquet.write_table(people(), path)
    return path


@pytest.fixture
def curator(parquet: Path) -> Iterator[sf.Curator]:
    with sf.curate(parquet, SCHEMA, BUDGET) as opened:
        yield opened


def test_the_story_of_the_page(parquet: Path, tmp_path: Path) -> None:
    place = tmp_path / "people.ledger"
    with sf.curate(parquet, SCHEMA, BUDGET, ledger=place, snapshot="2024") as curator:
        assert curator.count().value == PEOPLE and curator.count().loss.person.is_zero
        counted = curator.count("age > 40", spend=Pure(0.1))
        low, high = counted.interval(0.95)
        assert low <= counted.value <= high and counted.loss.at("age").epsilon == Fraction(1, 10)
        ages = curator.histogram("decade", spend=Pure(0.1))
        assert len(ages.value) == 9 and ages.to_arrow().num_rows == 9
        mean = curator.ask(Mean("hours", where="age > 40 AND sex = 'Female'"), spend=Pure(0.2))
        assert 1 <= mean.value <= 99 and not mean.reused
        assert mean.loss.person.epsilon == Fraction(1, 5) and mean.loss.at("country").is_zero
        assert {"person", "age + born", "sex", "hours"} <= set(mean.remaining)
        for answer in (
            curator.sum("gain", spend=Pure(0.1)),
            curator.variance("gain", where="sex = 'Male'", spend=Pure(0.1)),
            curator.quantiles("hours", spend=Pure(0.1)),
            curator.group_by("sex", [Count(), Mean("hours")], spend=Pure(0.1)),
        ):
            again = curator.answer_from_json(json.loads(json.dumps(answer.to_json())))
            assert again == answer and again.value == answer.value
        assert curator.guarantee() == Pure(3) and curator.guarantee("sex") == Pure(1)
    # Another process, another day: what was answered is still there, and free.
    with sf.curate(parquet, SCHEMA, ledger=place, snapshot="2024") as later:
        spent = later.ledger.spent().left
        again = later.ask(Mean("hours", where="NOT (age <= 40 OR sex <> 'Female')"), spend=Pure("1/5"))
        assert again.reused and again.value == mean.value and later.ledger.spent().left == spent
        assert not later.ask(Mean("hours", where="age > 40 AND sex = 'Female'"), spend=Pure(0.25)).reused
        assert later.ledger.verify().ok
    with sf.curate(parquet, SCHEMA, ledger=place, snapshot="2025") as new:
        assert not new.ask(Mean("hours", where="age > 40 AND sex = 'Female'"), spend=Pure("0.01")).reused


def test_sources_of_all_kinds_give_the_same_exact_numbers(parquet: Path, tmp_path: Path) -> None:
    database = str(tmp_path / "people.duckdb")
    with duckdb.connect(database) as connection:
        connection.execute(f"CREATE TABLE people AS SELECT * FROM '{parquet}'")
    for source, table in ((parquet, None), (people(), None), (people().to_pandas(), None), (database, "people")):
        with sf.curate(source, SCHEMA, Pure(10**6), table=table) as curator:
            # So much is spent that the noise is next to nothing.
            found = curator.histogram("sex", spend=Pure(1000)).value
            assert found["count"] == (200, 100)
            assert curator.count(spend=None).value == PEOPLE


def test_a_refusal_names_the_limits_and_the_largest_spend_that_fits(curator: sf.Curator) -> None:
    curator.histogram("sex", spend=Pure(0.75))
    with pytest.raises(BudgetExceeded, match="sex") as refused:
        curator.histogram("sex", where="age > 30", spend=Pure(0.5))
    assert refused.value.largest == Pure("1/4")
    assert [row.limit.name for row in refused.value.breaks] == ["sex"]
    assert not curator.preview(Histogram("sex"), Pure(0.5)).fits
    assert curator.largest(Histogram("sex"), Pure(0.5)) == Pure("1/4")
    assert curator.preview(Histogram("hours"), Pure(0.5)).fits
    before = curator.ledger.spent().left
    curator.histogram("sex", where="age > 30", spend=refused.value.largest)
    assert curator.ledger.spent().left != before
    with pytest.raises(BudgetExceeded) as closed:
        curator.histogram("sex", where="age > 31", spend=Pure(0.5))
    assert closed.value.largest is None
    # What was answered stays answered when nothing is left.
    assert curator.histogram("sex", spend=Pure(0.75)).reused


def test_a_list_is_one_release(curator: sf.Curator) -> None:
    questions = [Count(), Histogram("sex"), Mean("hours")]
    assert curator.loss(questions, Pure(1)).person.epsilon == 1
    answers = curator.ask(questions, Pure(1))
    assert [answer.loss.person.epsilon for answer in answers] == [0, Fraction(1, 2), Fraction(1, 2)]
    assert answers[0].value == PEOPLE
    assert curator.ledger.spent().left[1] == 2
    again = curator.ask(questions, Pure(1))
    assert [answer.value for answer in again] == [answer.value for answer in answers]
    assert all(answer.reused for answer in again)
    # Nothing of a list that does not fit is asked: the first question alone would.
    with pytest.raises(BudgetExceeded) as refused:
        curator.ask([Histogram("hours"), Histogram("sex", "age > 20")], Pure(2))
    assert curator.ledger.spent().left[1] == 2
    assert refused.value.largest == Pure(1)
    for wrong in ([], ["Count"], "Count"):
        with pytest.raises(ParameterError, match="list of questions"):
            curator.ask(wrong, Pure(1))  # type: ignore[call-overload]


def test_spends_of_every_kind(parquet: Path) -> None:
    with sf.curate(parquet, SCHEMA, Approximate(10, 1e-4)) as curator:
        for spend in (Pure(0.1), Concentrated("0.001"), Truncated("0.001", 20), Approximate(0.1, 1e-7)):
            answer = curator.ask(GroupBy("sex", [Count(), Mean("hours")]), spend)
            assert answer.loss.person.within(spend)
        found = curator.histogram("note", keys="private", spend=Approximate(2, 1e-12))
        assert found.value["note"] == ("hello",), "what one person wrote is not published"
        by_note = curator.group_by("note", [Count(), Sum("hours")], keys="private", spend=Approximate(4, 1e-12))
        assert by_note.value["note"] == ("hello",)
        sure = by_note.interval("0.99999999")
        low, high = sure["sum of hours, low"][0], sure["sum of hours, high"][0]
        assert low <= sum(1 + place % 99 for place in range(1, PEOPLE, 2)) <= high
    with sf.curate(parquet, SCHEMA, Concentrated(1)) as curator:
        answer = curator.ask(Histogram("sex", "age > 40"), Concentrated("0.01").per_attribute())
        assert answer.loss.at("sex").rho() == Fraction(1, 100) and answer.loss.at("age").rho() <= Fraction(1, 100)
        assert answer.loss.person.rho() >= answer.loss.at("sex").rho()
        wide = curator.histogram("gain", keys="private", spend=Concentrated("0.1"))
        assert all(count > 5 for count in wide.value["count"])


@pytest.mark.parametrize(
    ("ask", "kind", "words"),
    [
        (lambda curator: curator.count("agee > 3", spend=Pure(1)), SchemaError, "'age'"),
        (lambda curator: curator.mean("hour", spend=Pure(1)), SchemaError, "'hours'"),
        (lambda curator: curator.count("length(note) > 3", spend=Pure(1)), ParameterError, "where="),
        (lambda curator: curator.count("age > (SELECT 1)", spend=Pure(1)), ParameterError, "where="),
        (lambda curator: curator.count("age > 30", spend=0.1), ParameterError, "Pure"),
        (lambda curator: curator.count("age > 30", spend="Pure(1)"), ParameterError, "Pure"),
        (lambda curator: curator.count("age > 30"), ParameterError, "share"),
        (lambda curator: curator.histogram("note", keys="private", spend=Pure(1)), UnsupportedSpend, "delta"),
        (lambda curator: curator.histogram("sex", "sex", spend=Pure(1)), ParameterError, "twice"),
        (lambda curator: curator.count("age > 30", spend=Pure(0)), UnsupportedSpend, "above zero"),
        (lambda curator: curator.share(0), ParameterError, "tenth"),
        (lambda curator: curator.share(2), ParameterError, "tenth"),
    ],
)
def test_bad_questions_cost_nothing(curator: sf.Curator, ask: Any, kind: type[Exception], words: str) -> None:
    before = curator.ledger.head
    with pytest.raises(kind, match=words):
        ask(curator)
    assert curator.ledger.head == before


def test_a_ledger_takes_a_schema_that_only_adds_bins(parquet: Path, tmp_path: Path) -> None:
    place = tmp_path / "people.ledger"
    with sf.curate(parquet, SCHEMA, BUDGET, ledger=place) as curator:
        first = curator.histogram("sex", spend=Pure(0.1))
    wider = SCHEMA.with_columns(age_by_five=sf.bins("age", step=5))
    for step in (5, 7):  # the same name with other bins is another question, with noise of its own
        binned = SCHEMA.with_columns(age_by_five=sf.bins("age", step=step))
        with sf.curate(parquet, binned, ledger=place) as curator:
            asked = curator.histogram("age_by_five", spend=Pure(0.1))
            assert not asked.reused and asked.loss.at("age").epsilon == asked.loss.person.epsilon
            assert curator.histogram("age_by_five", spend=Pure(0.1)).reused
            assert curator.ledger.schema == SCHEMA.fingerprint
    with sf.curate(parquet, SCHEMA, ledger=place) as curator:
        again = curator.histogram("sex", spend=Pure(0.1))
        assert again.reused and again.value == first.value
    sf.curate(parquet, wider, BUDGET, ledger=tmp_path / "other.ledger").close()
    for changed in (SCHEMA, SCHEMA.with_columns(age_by_five=sf.bins("age", step=7))):
        with pytest.raises(LedgerError, match="another schema"):
            sf.curate(parquet, changed, ledger=tmp_path / "other.ledger")


def test_what_is_opened_wrongly_is_refused(parquet: Path, tmp_path: Path) -> None:
    place = tmp_path / "people.ledger"
    sf.curate(parquet, SCHEMA, BUDGET, ledger=place).close()
    other = sf.Schema({"age": imputed.integers(0, 99)}, person="person")
    with pytest.raises(LedgerError, match="another schema"):
        sf.curate(parquet, other, ledger=place)
    with sf.Ledger(None, sf.Budget(Pure(1), each_attribute=Pure(1), secrets=SCHEMA.secrets)) as book:
        with pytest.raises(LedgerError, match="other attributes"):
            sf.curate(parquet, other, ledger=book)
        with pytest.raises(ParameterError, match="budget already"):
            sf.curate(parquet, SCHEMA, Pure(1), ledger=book)
        assert sf.curate(parquet, SCHEMA, ledger=book).count().value == PEOPLE
    with pytest.raises(ParameterError, match="needs limits"):
        sf.curate(parquet, SCHEMA)
    with pytest.raises(ParameterError, match="Pure"):
        sf.curate(parquet, SCHEMA, 3)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="Schema"):
        sf.curate(parquet, 3, Pure(1))  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="wage"):
        sf.curate(parquet, {"wage": imputed.integers(0, 9)}, Pure(1))
    with pytest.raises(LedgerError, match="REPLACE_ONE"):
        sf.curate(parquet, SCHEMA, ledger=place, relation=ADD_REMOVE)


def test_schemas_come_from_files_and_mappings(parquet: Path, tmp_path: Path) -> None:
    described = tmp_path / "people.toml"
    described.write_text(SCHEMA.to_toml())
    with sf.curate(parquet, described, Pure(1)) as curator:
        assert curator.schema == SCHEMA
    with sf.curate(parquet, {"age": imputed.integers(0, 99)}, Pure(1)) as curator:
        assert curator.count().value == PEOPLE


def test_people_who_are_added_or_removed(parquet: Path) -> None:
    with sf.curate(parquet, SCHEMA, Pure(5), relation=ADD_REMOVE) as curator:
        with pytest.raises(ParameterError, match="costs something"):
            curator.count()
        answer = curator.mean("hours", spend=Pure(1))
        assert answer.loss.relation is ADD_REMOVE and answer.loss.person.epsilon == 1
        assert curator.count(spend=Pure(1)).released.parts[0].law is not None


def test_rows_of_one_person_count_as_one_person() -> None:
    rows = pyarrow.table({"person": [1] * 50 + [2, 3, None], "age": [5] * 50 + [7, 9, 9]})
    schema = sf.Schema({"age": imputed.integers(0, 9)}, person="person", rows_per_person=2)
    with sf.curate(rows, schema, Pure(10**9)) as curator:
        assert curator.count(spend=Pure(10**6)).value == 4, "two rows of the first, one of each other"
        with pytest.raises(ParameterError, match="costs something"):
            curator.count()
        found = curator.histogram("age", spend=Pure(10**6)).value
        assert dict(zip(found["age"], found["count"], strict=True))[5] == 2
        assert curator.quantiles("age", [0.5], spend=Pure(10**6)).value["age"][0] in (5, 6, 7)
    with sf.curate(rows, sf.Schema({"age": imputed.integers(0, 9)}, person="person"), Pure(10**9)) as curator:
        assert curator.count().value == 3, "with one row a person the number of people is public"


def test_analysts_have_budgets_of_their_own(parquet: Path) -> None:
    with sf.curate(parquet, SCHEMA, Pure(3), analysts={"ada": Pure(1), "bob": Pure(1)}) as curator:
        first = curator.histogram("sex", spend=Pure(1), analyst="ada")
        with pytest.raises(BudgetExceeded, match="ada") as refused:
            curator.mean("hours", spend=Pure(1), analyst="ada")
        assert refused.value.largest is None
        assert curator.mean("hours", spend=Pure(1), analyst="bob").loss.person.epsilon == 1
        # What one analyst paid for is there for the other.
        again = curator.histogram("sex", spend=Pure(1), analyst="bob")
        assert again.reused and again.value == first.value
        with pytest.raises(ParameterError, match="eve"):
            curator.count("age > 3", spend=Pure(1), analyst="eve")


def test_a_share_is_a_part_of_what_is_left(parquet: Path) -> None:
    with sf.curate(parquet, SCHEMA, Pure(2)) as curator:
        assert curator.share(0.1) == Pure("1/5")
        curator.histogram("sex", spend=curator.share(0.5))
        assert curator.share(1) == Pure(1)
        curator.histogram("sex", where="age > 3", spend=curator.share(1))
        assert curator.share(1) == Pure(1), "a filter that all rows pass is none, and the answer was free"
        curator.histogram("sex", where="age > 30", spend=curator.share(1))
        with pytest.raises(BudgetExceeded, match="Nothing is left"):
            curator.share(0.1)
    with sf.curate(parquet, SCHEMA, Concentrated(1)) as curator:
        assert curator.share(0.5) == Concentrated("1/2")
    with sf.curate(parquet, SCHEMA, Truncated(1, 9)) as curator:
        assert curator.share(0.5) == Truncated("1/2", 9)
    with sf.curate(parquet, SCHEMA, Approximate(1, 1e-6)) as curator:
        spend = curator.share(0.1)
        assert isinstance(spend, Approximate) and spend.epsilon == Fraction(1, 10)
        curator.histogram("sex", spend=spend)
        curator.ask(Mean("hours"), Concentrated("0.001"))
        assert isinstance(curator.share(0.1), Concentrated), "Gaussian noise has closed the way of epsilons"
        curator.ask(Mean("hours", "age > 30"), curator.share(1))


def test_a_rehearsal_reads_nothing_private_and_costs_nothing(curator: sf.Curator) -> None:
    def touched(*_: object) -> None:
        raise AssertionError("a private cell was read")

    head = curator.ledger.head
    curator.table.run = touched  # type: ignore[method-assign, assignment]
    curator.table.bounded = touched  # type: ignore[method-assign, assignment]
    for question in (Count("age > 40"), Histogram("sex"), Quantiles("hours"), GroupBy("sex", [Mean("gain")])):
        answer = curator.rehearse(question, Pure(1))
        assert answer.value is not None and answer.interval() is not None
        assert curator.preview(question, Pure(1)).fits
    assert curator.rehearse(Histogram("sex")).loss.person.epsilon == Fraction(3, 10), "a tenth of what is left"
    assert curator.ledger.head == head
    assert len(curator.rehearse(Histogram("note", keys="private"), Approximate(1, 1e-6), people=1000).value) == 8


def test_a_rehearsal_errs_as_much_as_the_answer_does() -> None:
    people = 4000
    table = pyarrow.table({"age": [place % 100 for place in range(people)]})
    schema = sf.Schema({"age": sf.integers(0, 99, missing=0)})
    with sf.curate(table, schema, Pure(9)) as curator:
        for question in (Mean("age"), sf.Variance("age"), Mean("age", where="age >= 50")):
            answers = (curator.ask(question, Pure(1)), curator.rehearse(question, Pure(1)))
            real, played = (float(high - low) for low, high in (one.interval(0.95) for one in answers))
            assert 0.8 < played / real < 1.25, question
        made = curator.rehearse(Mean("age"), Pure(1))
        assert "The made-up rows are of 4,000 people, as many as in your table, which is public." in str(made)
        few = curator.rehearse(Mean("age"), Pure(1), people=100)
        assert "The made-up rows are of 100 people, and your table has 4,000: real errors differ." in str(few)
    with sf.curate(table, schema, Pure(9), relation=sf.ADD_REMOVE) as curator:
        said = str(curator.rehearse(Mean("age"), Pure(1)))
    assert "The made-up rows are of 1,000 people; how many your table has is private, and real errors differ." in said
    assert "4,000" not in said


def test_what_dies_while_drawing_stays_spent_and_says_nothing(curator: sf.Curator, monkeypatch: Any) -> None:
    def dies(*_: object, **__: object) -> None:
        raise ValueError("the cell of person 17 is 'secret'")

    with monkeypatch.context() as patch:
        patch.setattr(Table, "view", dies)
        with pytest.raises(LedgerError) as died:
            curator.histogram("sex", spend=Pure(0.5))
    assert "secret" not in str(died.value) and died.value.__cause__ is None and died.value.__context__ is None
    assert "costs nothing more" in str(died.value)
    assert curator.ledger.spent().left[1] == Fraction(5, 2)
    # Nothing had been drawn, so asking again completes what was charged.
    assert not curator.histogram("sex", spend=Pure(0.5)).reused
    assert curator.ledger.spent().left[1] == Fraction(5, 2)
    with monkeypatch.context() as patch:
        patch.setattr(Several, "run", dies)
        with pytest.raises(LedgerError, match="ended without an answer") as died:
            curator.histogram("age", spend=Pure(0.5))
    assert "secret" not in str(died.value) and died.value.__cause__ is None and died.value.__context__ is None
    # What died while drawing is over: asking again is a new request, with a charge of its own.
    assert not curator.histogram("age", spend=Pure(0.5)).reused
    assert curator.ledger.spent().left[1] == Fraction(3, 2)


def test_the_data_are_touched_after_the_charge_only(curator: sf.Curator, monkeypatch: Any) -> None:
    order: list[str] = []
    read = Table.view
    monkeypatch.setattr(
        Table, "view", lambda *given: (order.append(f"read at {curator.ledger.spent().left[1]}"), read(*given))[1]
    )
    curator.histogram("sex", spend=Pure(0.5))
    assert order == ["read at 5/2"]


def test_a_question_without_a_filter_can_be_asked_too(curator: sf.Curator) -> None:
    class Constant(sf.questions.Question):  # type: ignore[name-defined, misc]
        """A question without columns."""

        kind = "Constant"

        def plan(self, setting: Basis, spend: sf.privacy.Bound) -> Prepared:
            return Count().plan(setting, spend)

        def value(self, released: Any) -> Any:
            return released.parts[0].released[0]

        def interval(self, released: Any, confidence: Fraction) -> Any:
            return released.parts[0].released * 2

    assert curator.ask(Constant()).value == PEOPLE


def test_the_page_says_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[1] / "docs" / "curator.md"
    monkeypatch.chdir(tmp_path)
    said: dict[str, Any] = {}
    for part in page.read_text(encoding="utf-8").split("```python\n")[1:]:
        exec(part.split("```")[0], said)
    assert said["found"].value["word"] == said["by_word"].value["word"] == ("tea", "coffee")
    assert said["found"].released.parts[0].threshold > 1
    assert (said["counted"].value, said["counted"].loss.person.epsilon) == (1000, 0)
    assert said["total"].loss.person.epsilon == said["variance"].loss.person.epsilon == Fraction(1, 10)
    assert said["rehearsed"].loss.person.epsilon == Fraction(1, 10)


def test_a_printed_ledger_tells_charged_requests_from_free_ones():
    with sf.curate(pyarrow.table({"x": [1, 2, 3]}), sf.Schema({"x": sf.domain.integers(0, 9)}), sf.Pure(3)) as curator:
        curator.people()
        curator.mean("x", spend=sf.Pure(1))
        assert "1 request charged, 1 free." in str(curator.ledger)
