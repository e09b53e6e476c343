"""Public value domains: what a cell may hold, and the integer that stands for it.

>>> from sfumato import domain
>>> age = domain.integers(17, 90)
>>> age.encode(44), age.decode(age.encode("n/a")), age.size
(44, None, 75)

A missing cell is a value of its own (`missing="skip"`) unless `missing=` says what it counts as:

>>> domain.integers(17, 90, missing=17).encode("n/a")
17
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, Literal

from sfumato.domain.base import SKIP, Domain
from sfumato.domain.calendar import Dates
from sfumato.domain.clock import Times
from sfumato.domain.derived import Bins, Derivation, Derived, Months, Weekdays, Years
from sfumato.domain.labels import Booleans, Categories, Label, Text
from sfumato.domain.numbers import FixedPoint, Integers
from sfumato.domain.records import column_from_json, column_keys, domain_from_json
from sfumato.exact import Number
from sfumato.moved import moved
from sfumato.words import nearest, understood

Skip = Literal["skip"]
"""The word that keeps missing cells missing."""


@understood
def integers(
    low: int,
    high: int,
    *,
    missing: int | Skip | None = SKIP,
    public: bool = False,
    decimal: str = ".",
    thousands: str = "",
    unit: str = "",
) -> Integers:
    """Whole numbers from `low` to `high`; null and what is no number stay missing, or become the number `missing`.

    Text such as 1 234 is read with `thousands=" "`; `decimal` and `unit` are those of `fixed`.
    """
    return Integers(low, high, missing=missing, public=public, decimal=decimal, thousands=thousands, unit=unit)


@understood
def fixed(
    low: Number,
    high: Number,
    *,
    step: Number,
    missing: Number | Skip | None = SKIP,
    public: bool = False,
    decimal: str = ".",
    thousands: str = "",
    unit: str = "",
) -> FixedPoint:
    """Real numbers from `low` to `high`, rounded to whole steps; null and NaN stay missing, or become `missing`.

    Text such as 1.234,5 € is read with `decimal=","`, `thousands="."` and `unit="€"`; a percentage is kept in
    hundredths, as it is written.

    >>> fixed(0, 1, step=0.1).encode(0.26), fixed(0, 100, step=1, decimal=",", unit="%").encode("12,4 %")
    (3, 12)
    """
    return FixedPoint(low, high, step, missing=missing, public=public, decimal=decimal, thousands=thousands, unit=unit)


@understood
def categories(
    *values: Label, other: Label | None = None, missing: Label | None = SKIP, public: bool = False
) -> Categories:
    """A list of categories; an unlisted cell becomes 'other', a level behind the list, and null stays missing.

    `other="c"` counts unlisted cells as the listed category c, `missing="c"` missing ones; `missing="other"` makes one
    level of both. With `missing="c"` and no `other=`, unlisted cells become the first category.

    >>> categories("Female", "Male").encode("Male")
    1
    """
    return Categories(tuple(values), other, missing=None if missing == SKIP else missing, public=public)


@understood
def booleans(*, missing: bool | Skip | None = SKIP, public: bool = False) -> Booleans:
    """False and true; null stays missing, or becomes `missing`."""
    return Booleans(missing=missing, public=public)


@understood
def dates(
    earliest: date | str,
    latest: date | str,
    *,
    format: str | None = None,
    missing: date | str | None = SKIP,
    public: bool = False,
) -> Dates:
    """Days from `earliest` to `latest`; null and text that is no date stay missing, or become `missing`.

    Text is ISO 8601, or as `format` says, made of %Y %m %b %d %j and the parts of `times`.

    >>> dates("1970-01-01", "2030-12-31", format="%d.%m.%Y").encode("3.1.1970")
    2
    """
    return Dates(earliest, latest, format, missing=missing, public=public)  # type: ignore[arg-type]


@understood
def times(
    earliest: datetime | date | str,
    latest: datetime | date | str,
    *,
    step: str = "1s",
    zone: str | None = None,
    format: str | None = None,
    missing: datetime | str | None = SKIP,
    public: bool = False,
) -> Times:
    """Moments from `earliest` to `latest`, cut to whole steps of '1ns' to days; null and what is no time stay missing.

    `zone="UTC"` where cells carry an offset, which is then subtracted. A `format` is made of
    %Y %m %b %d %j %H %M %S %f %p and the signs between them.

    >>> times("2020-01-01", "2030-01-01", step="1h").size
    87674
    """
    return Times(earliest, latest, step, zone, format, missing=missing, public=public)


@understood
def text(*, max_bytes: int, missing: str | None = SKIP, public: bool = False) -> Text:
    """Any text, cut to `max_bytes` bytes of UTF-8; null stays missing, which differs from '', or becomes `missing`."""
    return Text(max_bytes, missing=missing, public=public)


@understood
def bins(of: str, *, step: Number | None = None, edges: Sequence[Any] | None = None) -> Bins:
    """Parts of the column `of`: `step=10` makes age // 10, `edges=[0, 18, 65, 120]` three unequal parts."""
    return Bins(of, step, None if edges is None else tuple(edges))  # type: ignore[arg-type]


@understood
def months(of: str) -> Months:
    """The month of the date column `of`."""
    return Months(of)


@understood
def years(of: str) -> Years:
    """The year of the date column `of`."""
    return Years(of)


@understood
def weekdays(of: str) -> Weekdays:
    """The day of the week of the date column `of`."""
    return Weekdays(of)


__all__ = [
    "SKIP",
    "Bins",
    "Booleans",
    "Categories",
    "Dates",
    "Derivation",
    "Derived",
    "Domain",
    "FixedPoint",
    "Integers",
    "Label",
    "Months",
    "Skip",
    "Text",
    "Times",
    "Weekdays",
    "Years",
    "bins",
    "booleans",
    "categories",
    "column_from_json",
    "column_keys",
    "dates",
    "domain_from_json",
    "fixed",
    "integers",
    "months",
    "nearest",
    "text",
    "times",
    "weekdays",
    "years",
]

__getattr__ = moved(__name__, {"Rule": "sfumato.domain.Derivation"})
