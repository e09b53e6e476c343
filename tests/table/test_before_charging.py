"""What could not run is refused before anything is charged, from public facts; what stopped an engine is told apart."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import ADD_REMOVE, REPLACE_ONE, Approximate, Pure, Relation, curate
from sfumato.domain import categories, integers
from sfumato.errors import EngineError, ParameterError, SchemaError, TooLarge, Unfinished
from sfumato.questions import GroupBy, Histogram, Mean, Quantiles, Synthesize
from sfumato.questions.synopsis import Synopsize, one_hot
from sfumato.table import Schema, data, open_table
from sfumato.table.engine import Source
from sfumato.table.failures import REASONS, cause_of, guarded
from sfumato.table.gauge import Basis
from sfumato.table.measure import Ordered, Rows, Totals
from sfumato.table.planned import PlannedTable
from sfumato.table.resources import Resources, in_bytes, machine_memory
from sfumato.table.statistics import COUNT, Part, Power
from sfumato.table.where import read_where

SCHEMA = Schema({"age": integers(0, 99), "job": categories("a", "b"), "pay": integers(0, 10**9)}, "id", 2)
QUESTIONS = (
    Histogram("age"),
    GroupBy("job", [Mean("age")]),
    Quantiles("pay"),
    Histogram("pay", keys="private"),
    Synthesize(columns=("age", "job")),
)


def table_of(people: int = 30) -> Any:
    draw = np.random.default_rng(1)  # noqa: TID251
    rows = 3 * people
    return pa.table(
        {
            "id": draw.integers(0, people, rows),
            "age": draw.integers(0, 100, rows),
            "job": draw.choice(["a", "b"], rows),
            "pay": draw.integers(0, 10**9, rows),
        }
    )


def test_a_sketch_plans_every_query_and_reads_no_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_table(table_of(), SCHEMA) as table:
        monkeypatch.setattr(Source, "fetched", lambda *_: pytest.fail("The data were read."))
        monkeypatch.setattr(Source, "stored", lambda *_: pytest.fail("The data were read."))
        planned: list[Any] = []
        plan = Source.planned
        monkeypatch.setattr(
            Source, "planned", lambda source, query, *more: planned.append(query) or plan(source, query, *more)
        )
        basis = Basis(SCHEMA, table.people)
        for question in QUESTIONS:
            question.prepare(basis, Approximate(1, 1e-6)).check(table)
        assert len(planned) >= len(QUESTIONS)
        assert not table._kept
        # What was planned once is not planned again.
        before = len(planned)
        for question in QUESTIONS:
            question.prepare(basis, Approximate(1, 1e-6)).check(table)
        assert len(planned) == before


def test_a_question_binds_the_columns_that_it_reads_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema({name: integers(0, 10**9, missing=0) for name in ("age", "pay", "age_of_pay")})
    rows = pa.table({name: [1, 5, None, 7] for name in schema.names})
    queries: list[str] = []
    narrow = Source._narrow
    monkeypatch.setattr(Source, "_narrow", lambda *given: queries.append(narrow(*given)) or queries[-1])
    with open_table(rows, schema) as table:
        gauge = Basis(schema, 4).gauge(Totals((), (COUNT, Part(Power.SUM, "pay")), read_where("age > 1", schema)))
        gauge.check(table)
        assert [int(one) for one in gauge.read(table)] == [2, 12]
        (query,) = queries
        assert 'AS "age"' in query and 'AS "pay"' in query
        assert '"age_of_pay"' not in query
        # Without knowing what is read, all of it is.
        assert narrow(table.source, query, frozenset()) == query


def test_what_does_not_fit_memory_is_refused_and_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Resources, "memory", 200 * 2**10)
    with curate(table_of(2000), SCHEMA, Approximate(9, 1e-3)) as curator:
        with pytest.raises(TooLarge, match="nothing was spent; ask about fewer columns") as refused:
            curator.ask(Histogram("pay", keys="private"), Approximate(1, 1e-6))
        assert refused.value.needs > refused.value.has == 200 * 2**10
        assert curator.ledger.history() == []
        # What is surely small is answered.
        assert len(curator.ask(Histogram("job"), Pure(1)).value) == 4


def test_the_bound_is_public() -> None:
    with open_table(table_of(), SCHEMA) as table:
        public = Basis(SCHEMA, table.people).gauge(Rows(("pay",)))
        view = PlannedTable(table, public.people).view(("pay",), public.rule)
        assert view._most(("pay",)) == 2 * table.people and view._most(("job",)) == 4
        # Nobody knows how many rows there are of people who come and go, nor how many rows are weighed.
        assert PlannedTable(table, None).view(("pay",), public.rule)._most(("pay",)) is None
        weighed = Basis(SCHEMA, table.people).gauge(Ordered("pay"))
        assert PlannedTable(table, table.people).view(("pay",), weighed.rule)._most(("pay",)) is None


def test_what_somebody_said_about_the_rows_bounds_what_nothing_else_does() -> None:
    with open_table(table_of(), SCHEMA, resources=Resources(most_rows=50)) as table:
        weighed, picked = Basis(SCHEMA, table.people).gauge(Ordered("pay")), Basis(SCHEMA, None).gauge(Rows(("pay",)))
        known, unknown = PlannedTable(table, table.people), PlannedTable(table, None)
        assert known.view(("pay",), weighed.rule)._most(("pay",)) == 50
        assert known.view(("pay",), picked.rule)._most(("pay",)) == 50 < 2 * table.people
        assert unknown.view(("pay",), picked.rule)._most(("pay",)) == 50
        assert unknown.view(("job",), picked.rule)._most(("job",)) == 4
        # Each person counts in a few groups, of which no more are found than that.
        assert known.view(("pay",), weighed.rule)._at_most(("pay",), 1) == table.people
    # A statement joins rows: there may be more of them than in its tables.
    with open_table(table_of(), SCHEMA, resources=Resources(most_rows=50)) as table:
        table.flat = True  # type: ignore[misc]
        assert PlannedTable(table, None).public_rows is None


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_weighed_readings_and_people_who_come_and_go_are_refused_before_they_are_charged(
    relation: Relation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their number of rows is private, so only what somebody said of it bounds them."""
    monkeypatch.setattr(Resources, "memory", 10**6)
    limit = Approximate(60, 1e-3)
    asked = (Quantiles("pay"), Histogram("pay", keys="private"))
    for most in (None, 10**6):
        with curate(table_of(), SCHEMA, limit, relation=relation, most_rows=most) as curator:
            for question in asked:
                if most is None:
                    curator.ask(question, Approximate(1, 1e-6))
                    continue
                # Rows that are picked are few where the number of people is public.
                if relation is REPLACE_ONE and question is asked[1]:
                    continue
                with pytest.raises(TooLarge, match="lower most_rows=") as refused:
                    curator.ask(question, Approximate(1, 1e-6))
                assert refused.value.needs == 4 * 16 * 10**6
            assert len(curator.ledger.history()) == (len(asked) if most is None else 0)


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_conversations_and_synopses_are_refused_before_they_are_charged(
    relation: Relation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with curate(table_of(500), SCHEMA, Approximate(9, 1e-3), relation=relation) as curator:
        monkeypatch.setattr(Resources, "memory", 5_000)
        spend = Approximate(1, 1e-6)
        with pytest.raises(TooLarge, match="nothing was spent; ask about fewer columns"):
            curator.converse(domain=["age", "job"], spend=spend)
        with pytest.raises(TooLarge, match="nothing was spent; ask about fewer columns"):
            curator.ask(Synopsize(columns=one_hot(SCHEMA, ["age", "job"]), options={"width": 1}), spend)
        assert curator.ledger.history() == []


def test_a_query_that_nests_too_deeply_is_refused_before_it_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    def deep(source: Source, query: Any, *more: Any) -> None:
        raise RecursionError

    monkeypatch.setattr(Source, "planned", deep)
    with curate(table_of(), SCHEMA, Pure(9)) as curator:
        with pytest.raises(TooLarge, match="nested too deeply"):
            curator.ask(Histogram("age"), Pure(1))
        assert curator.ledger.history() == []
        with pytest.raises(TooLarge, match="nested too deeply"):
            curator.converse(domain=["age"], spend=Approximate(1, 1e-6))
        assert curator.ledger.history() == []


def test_an_answer_that_is_stored_is_shown_where_it_could_not_be_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    with curate(table_of(), SCHEMA, Pure(9)) as curator:
        first = curator.ask(Histogram("age"), Pure(1))
        monkeypatch.setattr(PlannedTable, "run", lambda *_: (_ for _ in ()).throw(TooLarge("No.")))
        curator.table.planned.clear()
        again = curator.ask(Histogram("age"), Pure(1))
        assert again.reused and again.value == first.value


def test_a_failure_while_reading_keeps_what_was_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    with curate(table_of(), SCHEMA, Pure(9)) as curator:
        fetch = Source.fetched
        monkeypatch.setattr(Source, "fetched", lambda *_: (_ for _ in ()).throw(MemoryError()))
        with pytest.raises(Unfinished, match="ran out of memory"):
            curator.ask(Histogram("age"), Pure(1))
        monkeypatch.setattr(Source, "fetched", fetch)
        assert len(curator.ask(Histogram("age"), Pure(1)).value) == 101
        assert len(curator.ledger.history()) == 1


def test_what_rows_take_once_they_are_arranged_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred thresholds on one column: few different rows are read, and each becomes a hundred bits."""
    schema = Schema({"age": integers(0, 99), "work": integers(0, 9)})
    rows = pa.table({"age": list(range(100)) * 10, "work": list(range(10)) * 100})
    spend = Approximate(1, 1e-6)
    with curate(rows, schema, Approximate(9, 1e-3)) as curator:
        many = Synopsize(columns=[f"age>={age}" for age in range(1, 100)] + ["work>=5"], options={"width": 1})
        few = Synopsize(columns=["age>=50", "work>=5"], options={"width": 1})
        most, read, kept = 1000, 4 * 3 * 8, 4 * 100 + 256
        monkeypatch.setattr(Resources, "memory", most * (read + kept) - 1)
        with pytest.raises(TooLarge, match="nothing was spent") as refused:
            curator.ask(many, spend)
        assert refused.value.needs == most * (read + kept) and curator.ledger.history() == []
        assert curator.ask(few, spend).value.columns == ("age>=50", "work>=5")
        monkeypatch.setattr(Resources, "memory", most * (read + kept))
        assert len(curator.ask(many, spend).value.columns) == 100


class Java:
    """A failure as a Java process tells it."""

    def __init__(self, kind: str, text: str, cause: Java | None = None) -> None:
        self.kind, self.text, self.cause = kind, text, cause

    def getClass(self) -> Any:
        return SimpleNamespace(getSimpleName=lambda: self.kind)

    def getMessage(self) -> str:
        return self.text

    def getCause(self) -> Java | None:
        return self.cause


class Py4JJavaError(Exception):
    def __init__(self, java: Java) -> None:
        super().__init__("An error occurred while calling o1.collect")
        self.java_exception = java


STAGE = "Job aborted due to stage failure: "
LOST = "Task 0 in stage 1.0 failed 4 times, most recent failure: Lost task 0.3 in stage 1.0 (TID 4) (host executor 2): "


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (MemoryError(), "memory"),
        (RecursionError(), "depth"),
        (PermissionError(), "permission"),
        (OSError(), "file"),
        (ValueError("anything"), "unknown"),
        (duckdb.BinderException("anything"), "unknown"),
        (duckdb.NotImplementedException("anything"), "unknown"),
        (duckdb.InvalidInputException("anything"), "damaged"),
        (duckdb.ConversionException("anything"), "damaged"),
        (duckdb.Error("anything"), "damaged"),
        (duckdb.IOException("anything"), "file"),
        (duckdb.HTTPException("anything"), "connection"),
        (duckdb.TransactionException("anything"), "engine"),
        (ConnectionResetError(), "connection"),
        (UnicodeDecodeError("utf-8", b"", 0, 1, "anything"), "damaged"),
        (Py4JJavaError(Java("SparkException", STAGE + "x", Java("OutOfMemoryError", ""))), "memory"),
        (Py4JJavaError(Java("StackOverflowError", "")), "depth"),
        (
            Py4JJavaError(Java("SparkException", STAGE + "Total size of serialized results of 9 tasks (1 GiB)")),
            "result size",
        ),
        (Py4JJavaError(Java("SparkException", STAGE + LOST + "ExecutorLostFailure (executor 2 exited)")), "executors"),
        (Py4JJavaError(Java("SparkException", "Job 3 cancelled because SparkContext was shut down")), "connection"),
        # A cell that reads like a failure decides nothing: it stands behind what Spark writes first.
        (
            Py4JJavaError(Java("SparkException", STAGE + LOST + "BadCell: Total size of serialized results of ")),
            "unknown",
        ),
        (Py4JJavaError(Java("SparkException", "The value 'ExecutorLostFailure' cannot be cast")), "unknown"),
        (Py4JJavaError(Java("SparkException", "[CAST_INVALID_INPUT] The value '[FAILED_READ_FILE]'")), "unknown"),
        # Spark wraps what went wrong with a file; what is inside says more.
        (Py4JJavaError(Java("SparkException", "[FAILED_READ_FILE.NO_HINT] x", Java("IOException", ""))), "damaged"),
        (
            Py4JJavaError(Java("SparkException", "[FAILED_READ_FILE.FILE_NOT_EXIST] x", Java("IOException", ""))),
            "file",
        ),
        (Py4JJavaError(Java("SparkException", "[FAILED_READ_FILE] x", Java("SocketException", ""))), "connection"),
        (Py4JJavaError(Java("SparkException", STAGE + "x", Java("FetchFailedException", ""))), "executors"),
        (Py4JJavaError(Java("SparkException", "[CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND] x")), "executors"),
        (Py4JJavaError(Java("SparkException", "[SPARK_JOB_CANCELLED] Job 3 cancelled part of group")), "stopped"),
    ],
)
def test_failures_are_told_apart_by_their_kind(error: Exception, cause: str) -> None:
    assert cause_of(error) == cause
    with pytest.raises(EngineError, match=REASONS[cause].split(";")[0]) as raised:
        guarded(lambda: (_ for _ in ()).throw(error))
    assert raised.value.cause == cause and "anything" not in str(raised.value)


def test_a_damaged_file_is_called_so_wherever_it_is_damaged(tmp_path: Path) -> None:
    """Of each kind of damage DuckDB says so with another class, one of them with none."""
    whole = tmp_path / "whole.parquet"
    numbers = np.random.default_rng(3).integers(0, 100, 20_000)  # noqa: TID251
    pq.write_table(pa.table({"age": numbers}), whole)
    content, schema = whole.read_bytes(), Schema({"age": integers(0, 99)})
    damaged = {
        "cut": content[: len(content) // 2],
        "none": b"no parquet at all" * 20,
        "page": content[:4] + bytes(reversed(range(60))) + content[64:],
        "cells": content[:2000] + b"x" * 4000 + content[6000:],
    }
    for name, made in damaged.items():
        (tmp_path / f"{name}.parquet").write_bytes(made)
        with pytest.raises(SchemaError) as told:
            open_table(tmp_path / f"{name}.parquet", schema).close()
        assert "why is not known" not in str(told.value), name


def test_what_is_not_known_is_not_called_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(source: Source, query: Any, *more: Any) -> None:
        raise duckdb.BinderException("secret")

    monkeypatch.setattr(Source, "planned", wrong)
    with curate(table_of(), SCHEMA, Pure(9)) as curator:
        with pytest.raises(TooLarge, match=r"\(BinderException\): why is not known") as told:
            curator.ask(Histogram("age"), Pure(1))
        assert "damaged" not in str(told.value) and "secret" not in str(told.value)
        assert curator.ledger.history() == []


def test_temporary_files_lie_where_they_were_told_and_are_removed(tmp_path: Path) -> None:
    with open_table(table_of(), SCHEMA, resources=Resources("1GB", tmp_path)) as table:
        (place,) = tmp_path.iterdir()
        assert place.stat().st_mode & 0o777 == 0o700
        settings = "SELECT current_setting('temp_directory'), current_setting('memory_limit')"
        assert table.source.engine.con.execute(settings).fetchall() == [(str(place), "1.0 GiB")]
    assert list(tmp_path.iterdir()) == []


def test_resources_say_what_to_write() -> None:
    assert in_bytes("8GB") == 8 * 2**30 and in_bytes(5) == 5 and machine_memory() > 2**28
    for wrong in ({"memory_limit": "much"}, {"temp_directory": "/nowhere/at/all"}, {"storage": "TAPE"}):
        with pytest.raises(ParameterError):
            Resources(**wrong)


def test_only_what_is_read_of_a_wide_table_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "NARROW", 2)
    with open_table(table_of(), SCHEMA) as table:
        assert not table._kept
        view = table.view(SCHEMA.names)
        assert view.count() and view.counts(["age"], "job = 'a'").sum() > 0 and view.counts(["job"]).sum() > 0
        assert {names for _, names in table._kept} == {frozenset(), frozenset({"age", "job"})}


@pytest.mark.parametrize("kind", [pa.lib.ArrowTypeError, pa.lib.ArrowNotImplementedError])
def test_what_arrow_says_about_a_cell_stays_inside(kind: type[Exception]) -> None:
    """Arrow's errors are TypeErrors and NotImplementedErrors too, and name the value that did not fit."""
    with pytest.raises(EngineError) as told:
        guarded(lambda: (_ for _ in ()).throw(kind("cannot convert 'Mrs Smith' to int64")))
    assert "Smith" not in str(told.value) and told.value.__cause__ is None and told.value.__context__ is None
