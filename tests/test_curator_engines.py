"""The same story on every kind of source, with ledgers in SQLite and PostgreSQL: asked, refused, reported, reopened."""

from __future__ import annotations

import itertools
from collections import Counter
from datetime import date
from fractions import Fraction
from pathlib import Path
from statistics import mean, pvariance
from typing import Any

import duckdb
import ibis
import polars
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

import sfumato as sf
from sfumato import Approximate, Count, GroupBy, Histogram, Mean, Pure, Quantiles, Sum, Variance
from sfumato.answer import Answer, Frame
from sfumato.errors import BudgetExceeded, LedgerError, SchemaError
from tests import imputed
from tests.ledger.conftest import schema_on
from tests.table.cluster import SPARK_MARKS

PEOPLE = 240
DRAWN = Pure(10**7)
"""So large a spend that counts have no noise but for a chance far below 1e-100, and sums next to none."""

SCHEMA = sf.Schema(
    {
        "age": imputed.integers(17, 90),
        "decade": sf.bins("age", step=10),
        "sex": imputed.categories("Female", "Male"),
        "gain": imputed.fixed(0, 1000, step="0.25"),
        "born": imputed.dates("1900-01-01", "2030-12-31"),
        "year": sf.years("born"),
        "citizen": imputed.booleans(),
        "note": imputed.text(max_bytes=40),
    },
    person="person",
    dependencies=(("born", "age"),),
)
BUDGET = sf.Budget(person=Approximate(10**9, "1e-3"), attributes={"sex": Approximate("4.5e7", "1e-3")})


def people() -> pyarrow.Table:
    places = range(PEOPLE)
    return pyarrow.table(
        {
            "person": [f"p{place}" for place in places],
            "age": [17 + place % 74 for place in places],
            "sex": ["Female" if place % 3 else "Male" for place in places],
            "gain": [place % 400 / 4 for place in places],
            "born": [date(1950 + place % 60, 1, 1) for place in places],
            "citizen": [place % 4 == 0 for place in places],
            "note": ["hello" if place % 2 else f"secret {place}" for place in places],
        }
    )


QUESTIONS = (
    Count("age > 40 AND citizen"),
    Sum("gain", "sex = 'Female'"),
    Mean("gain"),
    Variance("age", where="born >= DATE '1960-01-01'"),
    Histogram("decade"),
    Histogram(["sex", "citizen"]),
    Quantiles("age", [Fraction(1, 2)]),
    GroupBy("sex", [Count(), Mean("gain")]),
    Histogram("year", where=ibis._.sex == "Male"),
)


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    pyarrow.parquet.write_table(people(), path)
    return path


def numbers(answer: Answer) -> list[Any]:
    """Return the rows of an answer without its intervals, numbers to be compared up to what noise is left."""
    value = answer.value
    rows = value.rows() if isinstance(value, Frame) else [(value,)]
    return [tuple(pytest.approx(cell, abs=1e-2) if isinstance(cell, float) else cell for cell in row) for row in rows]


@pytest.fixture(scope="module")
def expected() -> list[Any]:
    """The answers worked out in Python."""
    rows = people().to_pylist()
    for row in rows:
        row["decade"], row["year"] = row["age"] // 10 * 10, row["born"].year
    women = [row["gain"] for row in rows if row["sex"] == "Female"]
    men = [row["gain"] for row in rows if row["sex"] == "Male"]
    late = [row["age"] for row in rows if row["born"] >= date(1960, 1, 1)]
    years = Counter(row["year"] for row in rows if row["sex"] == "Male")
    decades = Counter(row["decade"] for row in rows)
    cells = Counter((row["sex"], row["citizen"]) for row in rows)
    return [
        [(sum(row["age"] > 40 and row["citizen"] for row in rows),)],
        [(sum(women),)],
        [(mean(row["gain"] for row in rows),)],
        [(pvariance(late),)],
        [(decade, decades[decade]) for decade in range(10, 100, 10)],
        [(*cell, cells[cell]) for cell in itertools.product(("Female", "Male"), (False, True))],
        None,
        [("Female", len(women), mean(women)), ("Male", len(men), mean(men))],
        [(year, years[year]) for year in range(1900, 2031)],
    ]


def duckdb_file(place: Path) -> str:
    database = str(place / "people.duckdb")
    rows = people()
    with duckdb.connect(database) as connection:
        connection.register("rows", rows)
        connection.execute("CREATE TABLE people AS SELECT * FROM rows; CREATE TABLE others (id INT)")
    return database


MEDIAN = sorted(people().column("age").to_pylist())[PEOPLE // 2 - 1]
_tables = itertools.count()


def postgres_table(server: str) -> str:
    """Fill a table of its own and return its name."""
    import psycopg

    name = f"people_{next(_tables)}"
    kinds = "person text, age bigint, sex text, gain numeric, born date, citizen boolean, note text"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute(f"CREATE TABLE {name} ({kinds})")
        with connection.cursor() as cursor:
            rows = [tuple(row.values()) for row in people().to_pylist()]
            cursor.executemany(f"INSERT INTO {name} VALUES (%s, %s, %s, %s, %s, %s, %s)", rows)
    return name


SOURCES = {
    "parquet": lambda place: (write_parquet(place), None),
    "csv": lambda place: (write_csv(place), None),
    "arrow": lambda _: (people(), None),
    "pandas": lambda _: (people().to_pandas(), None),
    "polars": lambda _: (polars.from_arrow(people()), None),
    "duckdb": lambda place: (duckdb_file(place), "people"),
}


def write_parquet(place: Path) -> Path:
    pyarrow.parquet.write_table(people(), place / "people.parquet")
    return place / "people.parquet"


def write_csv(place: Path) -> Path:
    pyarrow.csv.write_csv(people(), place / "people.csv")
    return place / "people.csv"


def assert_alike(answers: list[Any], expected: list[Any]) -> None:
    for answer, wanted in zip(answers, expected, strict=True):
        if wanted is not None:
            assert numbers(answer) == wanted, answer.question
        else:
            assert answer.value["age"][0] in (MEDIAN, MEDIAN + 1)


def tell_the_story(source: Any, table: str | None, ledger: str, expected: list[Any], engine: str = "duckdb") -> None:
    """Ask all kinds of questions, be refused, report, close, open again, and ask again for nothing."""
    with sf.curate(source, SCHEMA, BUDGET, ledger=ledger, snapshot="2024", table=table) as curator:
        assert curator.table.engine == engine
        assert curator.count().value == PEOPLE and curator.count().loss.person.is_zero
        answers = [curator.ask(question, DRAWN) for question in QUESTIONS]
        assert_alike(answers, expected)
        assert not any(answer.reused for answer in answers)
        found = curator.histogram("note", keys="private", spend=Approximate(100, "1e-9"))
        assert found.value.rows() == [("hello", PEOPLE // 2)], "what one person wrote is not published"
        listed = curator.ask([Count("age > 50"), Mean("age")], Pure(2 * 10**7))
        assert [answer.loss.person.epsilon for answer in listed] == [10**7, 10**7]
        for answer in answers:
            assert answer.to_arrow().num_rows == len(answer.frame) and answer.interval() is not None
        head = curator.ledger.head
        with pytest.raises(BudgetExceeded, match="sex") as refused:
            curator.histogram("sex", where="age > 40", spend=DRAWN)
        assert refused.value.largest is None or refused.value.largest.epsilon < DRAWN.epsilon
        assert curator.ledger.head == head
        report = curator.report({"membership": False})
        assert report.person.guaranteed == BUDGET.person and report.person.used is not None
        assert "Used so far" in report.text() and "<svg" in report.html()
        used = curator.ledger.spent().sums
    with sf.curate(source, SCHEMA, ledger=ledger, snapshot="2024", table=table) as again:
        repeated = [again.ask(question, DRAWN) for question in QUESTIONS]
        assert all(answer.reused for answer in repeated)
        assert [answer.value for answer in repeated] == [answer.value for answer in answers]
        assert again.ledger.spent().sums == used and again.ledger.verify().ok
        assert not again.ask(Count("age > 41"), Pure(1)).reused
        assert again.ledger.spent().sums != used


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_tells_the_same_story(kind: str, tmp_path: Path, expected: list[Any]) -> None:
    source, table = SOURCES[kind](tmp_path)
    tell_the_story(source, table, str(tmp_path / "people.ledger"), expected)


def test_a_postgres_source_with_a_postgres_ledger(postgres: str, expected: list[Any]) -> None:
    tell_the_story(postgres, postgres_table(postgres), schema_on(postgres), expected)


def test_two_curators_share_a_postgres_ledger(postgres: str, parquet: Path) -> None:
    ledger = schema_on(postgres)
    # Without a private directory in common the two cannot tell that it is the same file; a name says so.
    named = {"ledger": ledger, "snapshot": "autumn"}
    with sf.curate(parquet, SCHEMA, Pure(2), **named) as first, sf.curate(parquet, SCHEMA, **named) as last:
        answer = first.histogram("sex", spend=Pure(1))
        again = last.histogram("sex", spend=Pure(1))
        assert again.reused and again.value == answer.value
        last.mean("age", spend=Pure(1))
        with pytest.raises(BudgetExceeded):
            first.mean("gain", spend=Pure("1/100"))
        assert first.ledger.verify().ok
    other = sf.Schema({"age": imputed.integers(0, 99)}, person="person")
    with pytest.raises(LedgerError, match="another schema"):
        sf.curate(parquet, other, ledger=ledger)


def test_a_postgres_source_that_does_not_match_costs_nothing(postgres: str, tmp_path: Path) -> None:
    table = postgres_table(postgres)
    wrong = sf.Schema({"agee": imputed.integers(0, 99)}, person="person")
    with pytest.raises(SchemaError, match="did you mean 'age'"):
        sf.curate(postgres, wrong, Pure(1), ledger=tmp_path / "new.ledger", table=table)
    assert not (tmp_path / "new.ledger").exists()


class TestSpark:
    """One session for all."""

    pytestmark = SPARK_MARKS

    def test_a_spark_source_with_a_sqlite_ledger(
        self, spark: Any, parquet: Path, tmp_path: Path, expected: list[Any]
    ) -> None:
        frame = spark.read.parquet(str(parquet))
        tell_the_story(frame, None, str(tmp_path / "people.ledger"), expected, engine="pyspark")

    def test_a_spark_source_with_a_postgres_ledger(
        self, spark: Any, parquet: Path, postgres: str, expected: list[Any]
    ) -> None:
        frame = spark.read.parquet(str(parquet))
        ledger = schema_on(postgres)
        with sf.curate(frame, SCHEMA, BUDGET, ledger=ledger, snapshot="2024") as curator:
            assert_alike([curator.ask(question, DRAWN) for question in QUESTIONS[4:6]], expected[4:6])
        # The same people, read by another engine: what was answered on Spark is there on DuckDB, free.
        with sf.curate(parquet, SCHEMA, ledger=ledger, snapshot="2024") as local:
            assert all(local.ask(question, DRAWN).reused for question in QUESTIONS[4:6])
            assert not local.ask(QUESTIONS[0], DRAWN).reused

    def test_people_with_many_rows_on_spark(self, spark: Any, tmp_path: Path) -> None:
        rows = pyarrow.table({"person": [1] * 50 + [2, 3, None], "age": [5] * 50 + [7, 9, 9]})
        pyarrow.parquet.write_table(rows, tmp_path / "rows.parquet")
        schema = sf.Schema({"age": imputed.integers(0, 9)}, person="person", rows_per_person=2)
        with sf.curate(spark.read.parquet(str(tmp_path / "rows.parquet")), schema, Pure(10**9)) as curator:
            assert curator.count(spend=Pure(10**6)).value == 4, "two rows of the first, one of each other"
            assert curator.quantiles("age", [0.5], spend=Pure(10**6)).value["age"][0] in (5, 6, 7)
