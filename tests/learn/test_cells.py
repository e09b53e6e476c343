"""Cells become codes one by one: what one cell holds never changes another, and nothing in a cell raises."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from sfumato.errors import ParameterError
from sfumato.learn.cells import encoded, feature_columns, label_column, label_domain
from tests.imputed import booleans, categories, dates, fixed, integers, text

DOMAINS = [
    integers(-5, 90),
    integers(0, 2**64),
    integers(-(2**61), 2**61),
    fixed(-1, 1, step=0.01),
    fixed(0, 3, step="1/3", missing=1),
    categories("no", "yes", other="else"),
    categories(1, 2),
    booleans(),
    dates("2000-01-01", "2030-12-31"),
    text(max_bytes=3),
]
doubles = some.floats(allow_nan=True, allow_infinity=True)
odd = some.one_of(
    some.none(), doubles, some.integers(), some.text(max_size=5), some.booleans(), some.dates(), some.lists(some.none())
)


class Spiteful:
    """A cell that raises whatever is done to it."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    def __hash__(self) -> int:
        raise RuntimeError("no")

    def __float__(self) -> float:
        raise RuntimeError("no")


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.kind)
@settings(max_examples=25, deadline=None)
@given(values=some.lists(doubles, min_size=1, max_size=8))
def test_whole_columns_of_doubles_give_the_codes_of_single_cells(domain, values):
    wanted = [domain.encode(value) for value in values]
    assert encoded(np.array(values), domain).tolist() == wanted
    assert encoded(np.fromiter(values, dtype=object), domain).tolist() == wanted


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.kind)
@settings(max_examples=25, deadline=None)
@given(values=some.lists(odd, min_size=1, max_size=6), other=odd)
def test_a_cell_never_raises_and_never_changes_another(domain, values, other):
    (alone,) = feature_columns([[value] for value in values])
    (beside,) = feature_columns([[value] for value in [*values, other]])
    codes = encoded(alone, domain).tolist()
    assert encoded(beside, domain).tolist()[:-1] == codes
    assert all(domain.first <= code and (domain.last is None or code <= domain.last) for code in codes)


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.kind)
def test_even_a_cell_that_raises_is_repaired(domain):
    column = np.fromiter([Spiteful(), float("1e300"), 10**400, np.bool_(True), b"x", {}], dtype=object)
    codes = encoded(column, domain)
    assert codes[0] == domain.missing_code and len(codes) == 6


@settings(max_examples=25, deadline=None)
@given(values=some.lists(some.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8))
def test_whole_columns_of_integers_give_the_codes_of_single_cells(values):
    for domain in DOMAINS[:3]:
        assert encoded(np.array(values, dtype=np.int64), domain).tolist() == [domain.encode(value) for value in values]


def test_frames_of_all_kinds_are_read_alike():
    rows = {
        "age": [3, None, 7],
        "day": [datetime.date(2020, 1, 2), None, datetime.date(1990, 1, 1)],
        "on": [True, None, False],
    }
    domains = [integers(0, 9), dates("2000-01-01", "2030-12-31"), booleans()]
    frames = [
        pyarrow.table(rows),
        pandas.DataFrame(rows),
        polars.DataFrame(rows),
        [list(row) for row in zip(*rows.values(), strict=True)],
    ]
    found = [
        [encoded(column, domain).tolist() for column, domain in zip(feature_columns(frame), domains, strict=True)]
        for frame in frames
    ]
    assert found[0] == [[3, 0, 7], [18263, 10957, 10957], [1, 0, 0]]
    assert all(columns == found[0] for columns in found)


def test_labels_of_all_kinds_are_read_alike():
    labels = label_domain(("no", "yes"))
    for given_labels in (
        ["no", "yes", "maybe"],
        np.array(["no", "yes", "maybe"]),
        pandas.Series(["no", "yes", "maybe"]),
        polars.Series(["no", "yes", "maybe"]),
        pyarrow.array(["no", "yes", "maybe"]),
        pyarrow.chunked_array([["no"], ["yes", None]]),
    ):
        assert encoded(label_column(given_labels), labels).tolist() == [0, 1, 0]
    numbers = label_domain(np.array([-1.0, 1.0]))
    assert encoded(label_column([1, 1.0, "1", "1.0", math.nan, "yes"]), numbers).tolist() == [1, 1, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("classes", "hint"),
    [
        (None, "never read from y"),
        ("no", "never read from y"),
        (("no",), "two different labels"),
        (("no", "no"), "two different labels"),
        (("no", "yes", "maybe"), "two different labels"),
        ((True, False), r"classes=\(False, True\)"),
        ((0.5, 1), "no category"),
        (("no", 1), "all text or all whole numbers"),
    ],
)
def test_labels_that_are_no_labels_are_refused(classes, hint):
    with pytest.raises(ParameterError, match=hint):
        label_domain(classes)
