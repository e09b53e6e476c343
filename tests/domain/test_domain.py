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
from sfumato.domain import Derivation, Derived, Domain, column_from_json
from sfumato.errors import ParameterError

FINITE: list[Domain] = [
    domain.integers(-3, 12, missing=5),
    domain.fixed("-1.5", "2.25", step="0.25"),
    domain.fixed(0, 7, step="7/3", missing="7/3"),
    domain.categories("b", "a", "ä", other="else", missing="a"),
    domain.categories(3, 1, 2),
    domain.booleans(missing=True),
    domain.booleans(),
    domain.categories("a", "b", missing="other"),
    domain.categories("a", "skip"),
    domain.categories("a", "c", other="c"),
    domain.categories(1, 2, other="other", missing=1),
    domain.dates("1999-12-25", "2000-03-05", missing="2000-02-29"),
]
RULES: list[tuple[Derivation, Domain]] = [
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
    assert one.present is not None and one.present == range(one.first, one.last + 1 - one.may_be_missing)
    values = [one.decode(code) for code in one.present]
    assert len(set(values)) == len(values) and None not in values
    assert [one.code(value) for value in values] == list(one.present)
    if not isinstance(one, Derived):
        assert [one.encode(value) for value in values] == list(one.present)
    assert one.encode(None) == one.missing_code
    assert one.is_missing(one.missing_code) is one.may_be_missing is (one.decode(one.encode(None)) is None)
    for code in (one.first - 1, one.last + 1):
        with pytest.raises(ParameterError):
            one.decode(code)


@pytest.mark.parametrize("column", [*FINITE, domain.text(max_bytes=9, missing="?"), domain.integers(0, 1, public=True)])
def test_domains_round_trip_through_json(column: Domain) -> None:
    assert column_from_json(json.loads(json.dumps(column.to_json()))) == column
    assert domain.domain_from_json(column.to_json()) == column


@pytest.mark.parametrize(("rule", "base"), RULES)
def test_rules_round_trip_through_json(rule: Derivation, base: Domain) -> None:
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
    kept = text.decode(text.encode(cell))
    assert (kept is None) is not isinstance(cell, str) and len((kept or "").encode()) <= 5


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
    gain = domain.fixed(0, 100, step="0.01", missing=0)
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
    assert domain.categories("a", other="z", missing="z").encode(5) == 1
    assert domain.categories("a", "b", missing="b").encode("c") == 0
    numbers = domain.categories(1, 2, other=9, missing=9)
    assert numbers.encode("2") == 1 and numbers.encode(2.5) == 2


def test_the_two_levels_behind_the_values() -> None:
    job = domain.categories("nurse", "clerk")
    assert [job.encode(cell) for cell in ("clerk", "smith", 5, None, float("nan"), "other")] == [1, 2, 2, 3, 3, 2]
    assert (job.size, job.other_code, job.missing_code, job.decode(2), job.decode(3)) == (4, 2, 3, "other", None)
    merged = domain.categories("nurse", "clerk", missing="other")
    assert (merged.size, merged.encode(None), merged.encode("smith"), merged.may_be_missing) == (3, 2, 2, False)
    assert domain.categories("nurse", "clerk", other="clerk", missing="other").encode(None) == 1
    listed = domain.categories("nurse", "other")
    assert (listed.size, listed.encode("smith"), listed.encode("other"), listed.encode(None)) == (3, 1, 1, 2)
    year = domain.categories(1990, 1991)
    assert year.decode(year.encode(5)) == "other" and year.code("other") == 2 and year.size == 4
    note = domain.text(max_bytes=3)
    assert note.encode(None) == note.missing_code == 0 != note.encode("") and note.decode(0) is None
    assert domain.booleans().size == 3 and domain.integers(0, 9).size == 11
    assert domain.bins("x", step=10).on(domain.integers(0, 99)).decode(10) is None


def test_filled_keeps_every_other_code() -> None:
    for one in (domain.categories("a", "b"), domain.categories(1, 2), domain.integers(0, 9), domain.booleans()):
        filled = one.filled(one.decode(one.first))
        assert one.present is not None and not filled.may_be_missing
        assert [filled.decode(code) for code in one.present] == [one.decode(code) for code in one.present]
        assert filled.encode(None) == one.first and filled.size == len(one.present)


OLD: list[tuple[dict[str, Any], Domain]] = [
    ({"type": "integer", "low": 17, "high": 90, "missing": 17}, domain.integers(17, 90, missing=17)),
    (
        {"type": "fixed", "low": "0", "high": "1", "step": "1/10", "missing": "0"},
        domain.fixed(0, 1, step="0.1", missing=0),
    ),
    ({"type": "category", "values": ["a", "b"], "missing": "a"}, domain.categories("a", "b", missing="a")),
    (
        {"type": "category", "values": ["a", "b"], "other": "z", "missing": "z"},
        domain.categories("a", "b", other="z", missing="z"),
    ),
    (
        {"type": "category", "values": ["skip", "go"], "missing": "skip"},
        domain.Categories(("skip", "go"), missing="skip"),
    ),
    ({"type": "boolean", "missing": False}, domain.booleans(missing=False)),
    (
        {"type": "date", "earliest": "2000-01-01", "latest": "2001-01-01", "missing": "2000-01-01"},
        domain.dates("2000-01-01", "2001-01-01", missing="2000-01-01"),
    ),
    ({"type": "text", "max_bytes": 4, "missing": ""}, domain.text(max_bytes=4, missing="")),
]


@pytest.mark.parametrize(("record", "meant"), OLD)
def test_records_from_before_keep_their_form_and_codes(record: dict[str, Any], meant: Domain) -> None:
    """A schema that says what missing cells become is what it was: no level, the same JSON, the same fingerprint."""
    found = column_from_json(record)
    assert isinstance(found, Domain) and found == meant and found.to_json() == record
    assert not found.may_be_missing
    if found.size is not None:
        assert found.encode(None) == found.code(found.missing) and found.last == found.highest
    if isinstance(found, domain.Categories):
        assert found.labels == (*found.values, *(["z"] if found.other else [])) and found.encode("?") in (0, 2)


@pytest.mark.parametrize(
    "record",
    [
        {"type": "integer", "low": 0, "high": 9},
        {"type": "fixed", "low": "0", "high": "1", "step": "1/10"},
        {"type": "category", "values": ["a", "b"]},
        {"type": "boolean"},
        {"type": "date", "earliest": "2000-01-01", "latest": "2001-01-01"},
        {"type": "text", "max_bytes": 4},
    ],
)
def test_skip_is_the_default_and_is_written_down(record: dict[str, Any]) -> None:
    found = domain.domain_from_json(record)
    assert found.may_be_missing and found.decode(found.encode(None)) is None
    assert found.to_json() == {**record, "missing": "skip"}
    assert domain.domain_from_json(found.to_json()) == found
    called = domain.categories("skip", "go")
    assert called.to_json()["missing"] is False and domain.domain_from_json(called.to_json()) == called


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: domain.integers(9, 0), "smaller one first"),
        (lambda: domain.integers(0.5, 3), "fixed"),  # type: ignore[arg-type]
        (lambda: domain.integers(0, 9, missing=10), "outside"),
        (lambda: domain.integers(0, 9, missing="none"), "whole number"),
        (lambda: domain.categories("a", "b", missing="c"), "none of the categories"),
        (lambda: domain.categories("a", "b", other="c"), "list it among them"),
        (lambda: domain.categories("a", "b", other=3), "one way"),
        (lambda: domain.booleans(missing="perhaps"), "true or false"),
        (lambda: domain.dates("2020-01-01", "2021-01-01", missing="2030-01-01"), "outside"),
        (lambda: domain.text(max_bytes=2, missing="long"), "longer"),
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
        (lambda: domain.booleans().code(2), "true or false"),
        (lambda: domain.dates("2020-01-01", "2019-01-01"), "earlier first"),
        (lambda: domain.dates("1.1.2020", "2021-01-01"), "like '2020-05-17'"),
        (lambda: domain.dates("0999-01-01", "2021-01-01"), "year 1000"),
        (lambda: domain.text(max_bytes=0), "at least 1"),
        (lambda: domain.text(max_bytes=2).code("abc"), "longer than the 2 bytes that fit; cut it"),
        (lambda: domain.text(max_bytes=2).code(None), "None is no text; write the text itself"),
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


def test_truth_values_are_written_as_a_file_may_write_them():
    for word in ("yes", "Y", "true", "T", "1", 1, True):
        assert domain.booleans().code(word) == domain.booleans(missing=False).code(word) == 1
    for word in ("no", "N", "false", "F", "0", 0, False):
        assert domain.booleans().code(word) == domain.booleans(missing=True).code(word) == 0
    assert domain.booleans(missing="no") == domain.booleans(missing=False)
