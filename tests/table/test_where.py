from __future__ import annotations

from itertools import product
from typing import Any

import ibis
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError, SchemaError, SfumatoError
from sfumato.table import EVERY_ROW, NO_ROW, Schema, open_table, read_where, where_table
from sfumato.table.predicate import columns, complement, every, from_json, holds, some, to_json
from tests.imputed import bins, booleans, categories, dates, fixed, integers, months, text, weekdays

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

SCHEMA = Schema(
    {
        "age": integers(0, 9),
        "my gain": fixed(0, 2, step="0.5"),
        "city": categories("Ayr", "Bath", "Cork"),
        "rank": categories(1, 2, 3),
        "ok": booleans(),
        "born": dates("2000-01-01", "2000-03-31"),
        "note": text(max_bytes=5),
        "pair": bins("age", step=2),
        "month": months("born"),
        "day": weekdays("born"),
    }
)

SAME = [
    (
        "age > 4",
        "NOT age <= 4",
        "4 < age",
        "age >= 5",
        "age BETWEEN 5 AND 9",
        "age > 4.5",
        "age IN (5,6,7,8,9)",
        "(((age > 4)))",
    ),
    ("age <> 3", "NOT age = 3", "age < 3 OR age > 3", "age NOT IN (3)", "age != 3", "age <> 3 -- a comment"),
    ("age > 100", "age = 0.5", "FALSE", "age < 3 AND age > 5", "NOT TRUE", "age > 3 AND FALSE"),
    ("age >= 0", "TRUE", "NOT FALSE", "age < 3 OR age >= 3", "ok OR NOT ok"),
    ("ok", "ok = TRUE", "ok = 'yes'", "ok = 1", "ok IS TRUE", "ok <> FALSE", "NOT (NOT ok)"),
    ("city = 'Ayr' AND ok", "ok AND city NOT IN ('Bath', 'Cork')", "ok AND 'Ayr' = city AND ok"),
    (
        "born >= '2000-02-01'",
        "born >= DATE '2000-02-01'",
        "month > DATE '2000-01-01'",
        "NOT born < DATE '2000-02-01'",
    ),
    ("note = 'a' OR note = 'b'", "note IN ('b', 'a')", "NOT (note <> 'a' AND note <> 'b')"),
    ('"my gain" > 0.5', '"my gain" >= 1', '"my gain" > 0.75'),
    ("pair = 4", "pair BETWEEN 3 AND 5", "pair >= 4 AND pair < 6"),
    ("rank = 2", "rank IN (2)", "NOT (rank = 1 OR rank = 3)"),
    ("day = 'Monday' OR age = 1", "age = 1 OR day = 'Monday'"),
]


@pytest.mark.parametrize("texts", SAME, ids=lambda texts: texts[0])
def test_equal_conditions_have_one_form(texts: tuple[str, ...]) -> None:
    forms = {repr(to_json(read_where(one, SCHEMA))) for one in texts if "month" not in one}
    assert len(forms) == 1
    predicate = read_where(texts[0], SCHEMA)
    assert from_json(to_json(predicate), SCHEMA) == predicate == read_where(predicate, SCHEMA)


def test_reads_are_the_columns_that_matter() -> None:
    assert columns(read_where("age > 3 AND (ok OR note = 'x')", SCHEMA)) == {"age", "ok", "note"}
    assert columns(read_where("age >= 0 AND ok", SCHEMA)) == {"ok"}
    assert read_where(None, SCHEMA) == EVERY_ROW and read_where("FALSE", SCHEMA) == NO_ROW


@pytest.mark.parametrize(
    ("given", "sql"),
    [
        (ibis._.age > 4, "age > 4"),
        ((ibis._.age > 4) & ~(ibis._.city == "Ayr") | ibis._.ok, "age > 4 AND city <> 'Ayr' OR ok"),
        (ibis._.age.between(2, 5), "age BETWEEN 2 AND 5"),
        (ibis._.city.isin(["Ayr", "Cork"]), "city IN ('Ayr', 'Cork')"),
        (ibis._.city.notin(["Ayr", "Cork"]), "city = 'Bath'"),
        (where_table(SCHEMA)["my gain"] <= 0.5, '"my gain" <= 0.5'),
        (where_table(SCHEMA).born > ibis.date("2000-02-01"), "born > '2000-02-01'"),
        (ibis._.note == "x", "note = 'x'"),
        (ibis._["rank"] == 2, "rank = 2"),
        (ibis._.age > 3, "age > 3"),
    ],
)
def test_ibis_expressions_mean_the_same(given: Any, sql: str) -> None:
    assert read_where(given, SCHEMA) == read_where(sql, SCHEMA)


REFUSED = [
    "", "age >", "age > 4)", "age > 4) OR (1=1", "1=1", "age > 4; DROP TABLE x", "age IN (SELECT 1)", "EXISTS (SELECT 1)",
    "age > 4 UNION SELECT 1", "age > 4) GROUP BY (age", "read_csv('x') = 1", "random() > 0.5", "error('x')", "age + 1 > 3",
    "age / 0 = 1", "CAST(age AS TEXT) = '3'", "CASE WHEN ok THEN TRUE END", "(age, ok) = (1, TRUE)", "age = ?", "age = :x",
    "t.age = 3", "age = pair", "age LIKE 'x'", "age IS 3", "age IS NOT 3", "3 IS NULL", "city = 5", "city = 'Pariss'",
    "age = '5'", "age = TRUE", "ok = 2", "ok = 'maybe'", "ok > FALSE", "city > 'Ayr'", "note < 'a'", "note = 5", "note = 'too long text'",
    "age = 1e999999999", "age", "born = 5", "born = '2000-02-30'", "born = 'yesterday'", "pair = 3", "day = 'Mon'", "rank = '1'",
    "rank = 1.5", "age > 99999999999999999999999999999999999999999999999999", "age BETWEEN SYMMETRIC 5 AND 1", "age IN ()",
    "age = -(-3)", "DATE '2000-01-01' = DATE '2000-01-01'", "x'00' = note", "age = NULL", "NOT", "age = ALL (SELECT 1)", "@x = 3",
    "age COLLATE x = 3", "INTERVAL 1 DAY > age", "(" * 60 + "ok" + ")" * 60, "ok AND " * 2_000 + "ok", "NOT " * 1_200 + "ok",
    "age = 3 LIMIT 1", "age = 3) LIMIT (1", "*", "age IN (1, age)", "age = 3 /* open", "age = 'a\x00b'",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        read_where(text, SCHEMA)


def test_unknown_columns_are_suggested() -> None:
    for where in ("agee > 3", ibis._.agee > 3, '"AGE" > 3'):
        with pytest.raises(SchemaError, match="age"):
            read_where(where, SCHEMA)


@pytest.mark.parametrize(
    "where",
    [
        ibis._.age + 1 > 3,
        ibis._.age.cast("string") == "3",
        ibis._.age == ibis._.rank,
        ibis._.city.upper() == "AYR",
        ibis._.age.fill_null(3) == 3,
        ibis._.age.sum() > 3,
        ibis.random() > 0.5,
        ibis._.city == 5,
        5,
        ["age > 3"],
    ],
    ids=range(10),
)
def test_other_expressions_are_refused(where: Any) -> None:
    with pytest.raises(SfumatoError):
        read_where(where, SCHEMA)


ATOMS = st.sampled_from(
    ["age > 3", "age IN (1, 5)", "age <> 2", "age BETWEEN 2 AND 6", "ok", "city = 'Ayr'", "city <> 'Cork'", "note = 'a'", "note IN ('a', 'b')", "note <> 'b'"]
)  # fmt: skip
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(
            lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})"
        ),
        inner.map(lambda part: f"NOT ({part})"),
    ),
    max_leaves=6,
)
ROWS = [
    {"age": age, "ok": ok, "city": city, "note": note}
    for age, ok, city, note in product(range(10), (0, 1), range(3), ("a", "b", "c"))
]


@settings(max_examples=60, deadline=None)
@given(condition=CONDITIONS, other=CONDITIONS)
def test_predicates_follow_two_valued_logic(condition: str, other: str) -> None:
    first, second = read_where(condition, SCHEMA), read_where(other, SCHEMA)
    for row in ROWS:
        one, two = holds(first, row), holds(second, row)
        assert holds(complement(first, SCHEMA), row) is not one
        assert holds(every([first, second], SCHEMA), row) is (one and two)
        assert holds(some([first, second], SCHEMA), row) is (one or two)


def test_the_engine_agrees_with_the_plain_meaning() -> None:
    cities = ("Ayr", "Bath", "Cork")
    data = pa.table(
        {
            "age": [row["age"] for row in ROWS],
            "ok": [bool(row["ok"]) for row in ROWS],
            "city": [cities[row["city"]] for row in ROWS],
            "note": [row["note"] for row in ROWS],
        }
    )
    schema = Schema({name: SCHEMA.columns[name] for name in ("age", "ok", "city", "note")})
    with open_table(data, schema) as table:
        view = table.view(schema.names)
        for condition in (
            "age > 3 AND NOT ok OR city = 'Ayr'", "note NOT IN ('a', 'c')", "age IN (1, 3, 5, 8) AND note <> 'a'", "FALSE", "TRUE",
            "NOT (age BETWEEN 2 AND 4 OR note = 'b') AND city <> 'Bath'",
        ):  # fmt: skip
            predicate = read_where(condition, schema)
            assert view.count(condition) == sum(holds(predicate, row) for row in ROWS)


@pytest.mark.parametrize("condition", ["age = NULL", "age <> NULL", "NULL = age", "age IN (3, NULL)"])
def test_a_comparison_with_null_says_what_to_write(condition: str) -> None:
    with pytest.raises(ParameterError, match="IS NULL"):
        read_where(condition, SCHEMA)


def test_columns_whose_names_are_words_of_sql_or_have_blanks() -> None:
    names = ("Alter", "order", "term months", "rate %")
    odd = Schema({name: integers(0, 99) for name in names})
    for name in names:
        assert read_where(f"{name} > 40", odd) == read_where(f'"{name}" > 40', odd)
    with pytest.raises(ParameterError):
        read_where("order > 40 AND 'order' = 'order'", odd)
