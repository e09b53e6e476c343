from __future__ import annotations

import json
import math
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import domain
from sfumato.domain import Derived, Domain, Rule, column_from_json
from sfumato.errors import ParameterError

FINITE: list[Domain] = [
    domain.integers(-3, 12, missing=5),
    domain.fixed("-1.5", "2.25", step="0.25"),
    domain.fixed(0, 7, step="7/3", missing="7/3"),
    domain.categories("b", "a", "ä", other="else", missing="a"),
    domain.categories(3, 1, 2),
    domain.booleans(missing=True),
    domain.dates("1999-12-25", "2000-03-05", missing="2000-02-29"),
]
RULES: list[tuple[Rule, Domain]] = [
    (domain.bins("x", step=10), domain.integers(-25, 47)),
    (domain.bins("x", edges=[0, 18, 65, 120]), domain.integers(0, 120)),
    (domain.bins("x", step="0.5"), domain.fixed("-1.5", "2.25", step="0.25")),
    (domain.bins("x", edges=["-1.5", "0.1", 2, "2.25"]), domain.fixed("-1.5", "2.25", step="0.25")),
    (domain.bins("x", step=7), domain.dates("1999-12-25", "2000-03-05")),
    (domain.bins("x", edges=["1999-01-01", "2000-01-01", "2001-01-01"]), domain.dates("1999-12-25", "2000-03-05")),
    (domain.months("x"), domain.dates("1969-11-30", "2000-03-05")),
    (domain.years("x"), domain.dates("1969-11-30", "2000-03-05")),
    (domain.weekdays("x"), domain.dates("1969-11-30", "1970-03-05")),
]
DERIVED: list[Domain] = [rule.on(base) for rule, base in RULES]


@pytest.mark.parametrize("one", FINITE + DERIVED, ids=lambda one: one.kind)
def test_codes_and_values_are_inverse(one: Domain) -> None:
    assert one.last is not None and one.size == one.last - one.first + 1
    values = [one.decode(code) for code in range(one.first, one.last + 1)]
    assert len(set(values)) == one.size
    assert [one.code(value) for value in values] == list(range(one.first, one.last + 1))
    if not isinstance(one, Derived):
        assert [one.encode(value) for value in values] == list(range(one.first, one.last + 1))
    assert one.encode(None) == one.missing_code
    for code in (one.first - 1, one.last + 1):
        with pytest.raises(ParameterError):
            one.decode(code)


@pytest.mark.parametrize("column", [*FINITE, domain.text(max_bytes=9, missing="?"), domain.integers(0, 1, public=True)])
def test_domains_round_trip_through_json(column: Domain) -> None:
    assert column_from_json(json.loads(json.dumps(column.to_json()))) == column
    assert domain.domain_from_json(column.to_json()) == column


@pytest.mark.parametrize(("rule", "base"), RULES)
def test_rules_round_trip_through_json(rule: Rule, base: Domain) -> None:
    assert column_from_json(json.loads(json.dumps(rule.to_json()))) == rule
    with pytest.raises(ParameterError, match="derived"):
        domain.domain_from_json(rule.to_json())


CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.dates(), st.datetimes(), st.binary(),
    st.decimals(), st.fractions(), st.lists(st.integers()), st.just(np.float32(2.5)), st.just(np.int8(3)), st.just(np.True_),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(cell=CELLS)
def test_no_cell_raises_and_every_code_is_in_the_domain(cell: Any) -> None:
    for one in [*FINITE, *DERIVED]:
        assert one.last is not None and one.first <= one.encode(cell) <= one.last
    text = domain.text(max_bytes=5)
    assert len(text.decode(text.encode(cell)).encode()) <= 5


@settings(max_examples=200, deadline=None)
@given(text=st.text(), most=st.integers(1, 12))
def test_text_is_cut_at_characters(text: str, most: int) -> None:
    one = domain.text(max_bytes=most)
    kept = one.decode(one.encode(text))
    clean = text.encode("utf-8", "ignore").decode()
    assert clean.startswith(kept) and len(kept.encode()) <= most
    assert kept == clean or len(clean[: len(kept) + 1].encode()) > most
    assert one.code(kept) == one.encode(text)


def test_repairs_named_in_the_docs() -> None:
    gain = domain.fixed(0, 100, step="0.01")
    assert [gain.encode(cell) for cell in (math.nan, math.inf, -math.inf, 1e300, 0.005, Decimal("0.29"))] == [
        0,
        10_000,
        0,
        10_000,
        1,
        29,
    ]
    assert gain.encode(Fraction(1, 3)) == 33 and gain.encode("0.29") == 29 and gain.encode("0,29") == 0
    age = domain.integers(17, 90, missing=40)
    assert [age.encode(cell) for cell in (None, "x", 17.5, 10**30, -(2**70), True, np.int64(33))] == [
        40,
        40,
        18,
        90,
        17,
        17,
        33,
    ]
    born = domain.dates("1900-01-01", "2030-12-31")
    assert born.decode(born.encode(datetime(2000, 2, 29, 23, 59))) == date(2000, 2, 29)
    assert domain.categories("a", other="z").encode(5) == 1 and domain.categories("a", "b").encode("c") == 0
    assert domain.categories(1, 2, other=9).encode("2") == 1 and domain.categories(1, 2, other=9).encode(2.5) == 2


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: domain.integers(9, 0), "smaller one first"),
        (lambda: domain.integers(0.5, 3), "fixed"),  # type: ignore[arg-type]
        (lambda: domain.integers(0, 9, missing=10), "outside"),
        (lambda: domain.fixed(0, 1, step=0), "above zero"),
        (lambda: domain.fixed(0, "0.15", step="0.1"), "whole number of steps"),
        (lambda: domain.fixed(0, 10**18, step="0.01"), "larger step"),
        (lambda: domain.fixed(0, 1, step="0.1", missing="0.05"), "in steps of"),
        (lambda: domain.categories(), "needs its categories"),
        (lambda: domain.categories("a", "a"), "twice"),
        (lambda: domain.categories("a", 1), "one way"),
        (lambda: domain.categories(True), "booleans"),
        (lambda: domain.categories("Female", "Male").code("Mael"), "did you mean 'Male'"),
        (lambda: domain.categories("a", "b").code(1), "text"),
        (lambda: domain.booleans().code(1), "true or false"),
        (lambda: domain.dates("2020-01-01", "2019-01-01"), "earlier first"),
        (lambda: domain.dates("1.1.2020", "2021-01-01"), "like '2020-05-17'"),
        (lambda: domain.dates("0999-01-01", "2021-01-01"), "year 1000"),
        (lambda: domain.text(max_bytes=0), "at least 1"),
        (lambda: domain.text(max_bytes=2).code("abc"), "longer"),
        (lambda: domain.bins("x"), "either"),
        (lambda: domain.bins("x", step=1, edges=[0, 1]), "either"),
        (lambda: domain.bins("x", edges=[1, 0]), "in order"),
        (lambda: domain.bins("x", step="0.5").on(domain.integers(0, 9)), "whole number"),
        (lambda: domain.bins("x", edges=[0, 3, 99, 120]).on(domain.integers(0, 9)), "empty bin"),
        (lambda: domain.bins("x", step=5).on(domain.booleans()), "numbers or dates"),
        (lambda: domain.months("x").on(domain.integers(0, 9)), "dates"),
        (lambda: domain.bins("age", step=10).on(domain.integers(0, 99)).code(25), "lower ends"),
        (lambda: column_from_json({"type": "integr", "low": 0}), "did you mean 'integer'"),
        (lambda: column_from_json({"type": "integer", "low": 0}), "needs high"),
        (lambda: column_from_json({"type": "integer", "low": 0, "hgih": 3}), "did you mean 'high'"),
    ],
)
def test_what_a_person_wrote_wrongly_is_refused_with_a_hint(make: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        make()
