"""Moments and formats in Python; tests/table/test_moments.py holds the engines to them."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import domain
from sfumato.domain import column_from_json
from sfumato.domain.written import compiled, days_from_civil, month_length, read_moment
from sfumato.errors import ParameterError, SchemaError
from sfumato.table.schema import Schema


@settings(max_examples=200, deadline=None)
@given(day=st.dates(min_value=date(1000, 1, 1)))
def test_days_are_those_of_the_calendar(day: date) -> None:
    assert days_from_civil(day.year, day.month, day.day) == (day - date(1970, 1, 1)).days
    assert (
        month_length(day.year, day.month)
        == ((day.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)).day
    )
    for text in ("%d.%m.%Y", "%Y%m%d", "%b %d, %Y", "%Y/%j"):
        found = read_moment(day.strftime(text), compiled(text, clock=False))
        assert found is not None and found.days == (day - date(1970, 1, 1)).days, text


@settings(max_examples=150, deadline=None)
@given(
    moment=st.datetimes(min_value=datetime(1960, 1, 1), max_value=datetime(2040, 1, 1)),
    step=st.sampled_from(["1us", "1ms", "1s", "15min", "1h", "7d"]),
)
def test_a_code_is_the_step_in_which_a_moment_lies(moment: datetime, step: str) -> None:
    seen = domain.times("1950-01-01", "2050-01-01", step=step)
    code = seen.encode(moment)
    start, width = seen.decode(code), timedelta(microseconds=seen.nanoseconds / 1000)
    assert start <= moment < start + width and seen.code(start) == code
    assert seen.encode(moment.isoformat()) == seen.encode(moment.isoformat(sep=" ")) == code
    ahead = moment.replace(tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert seen.encode(ahead) == seen.missing_code and seen.encode(ahead.isoformat()) == seen.missing_code
    everywhere = domain.times("1950-01-01", "2050-01-01", step=step, zone="UTC")
    utc = ahead.astimezone(UTC)
    assert (
        everywhere.encode(ahead)
        == everywhere.encode(ahead.isoformat())
        == everywhere.encode(utc)
        == seen.encode(utc.replace(tzinfo=None))
    )


CASES: list[tuple[str, Any]] = [
    ("2020-02-30", None),
    ("2019-02-29", None),
    ("2020-02-29", datetime(2020, 2, 29)),
    ("2020-02-29T23:59", datetime(2020, 2, 29, 23, 59)),
    ("2020-02-29 24:00", None),
    ("2020-02-29 23:60", None),
    ("2020-02-29 23:59:60", None),
    (" 2020-02-29 23:59:59.123456789 ", datetime(2020, 2, 29, 23, 59, 59)),
    ("2020-02-29 23", None),
    ("20200229", None),
    ("1900-01-01", datetime(2000, 1, 1)),
    ("9999-12-31", datetime(2030, 1, 1)),
    ("0999-12-31", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "wanted"), CASES)
def test_iso_texts(text: str, wanted: Any) -> None:
    seen = domain.times("2000-01-01", "2030-01-01")
    assert seen.decode(seen.encode(text)) == wanted
    born = domain.dates("2000-01-01", "2030-01-01")
    assert born.decode(born.encode(text)) == (None if wanted is None else wanted.date())


def test_days_of_moments_are_the_written_ones_and_halves_of_days() -> None:
    born = domain.dates("2000-01-01", "2030-01-01")
    assert born.decode(born.encode("2020-01-01T00:30:00+02:00")) == date(2020, 1, 1)
    american = domain.times("2000-01-01", "2030-01-01", format="%m/%d/%Y %H:%M %p")
    shown = {"1/2/2020 12:05 AM": 5, "1/2/2020 1:05 pm": 785, "1/2/2020 12:05 PM": 725, "1/2/2020 13:05 PM": None}
    for text, minutes in shown.items():
        found = american.decode(american.encode(text))
        assert found == (None if minutes is None else datetime(2020, 1, 2) + timedelta(minutes=minutes)), text
    finest = domain.times("2020-01-01", "2021-01-01", step="1ns", zone="UTC")
    assert finest.decode(finest.encode("2020-05-17T10:30:00.000000001+00:30")) == "2020-05-17T10:00:00.000000001Z"
    spelled = (
        "10:30 +00:30",
        "10:30:00 +0030",
        "11:00+01",
        "11:00 +01",
        "10:00 UTC",
        "10:00UTC",
        "10:00 Z",
        "09:00 -01",
    )
    for text in spelled:
        assert finest.decode(finest.encode(f"2020-05-17 {text}")) == "2020-05-17T10:00:00Z", text
        assert born.decode(born.encode(f"2020-05-17 {text}")) == date(2020, 5, 17), text
    for text in ("10:30  +00:30", "10:30 +1", "10:30 + 01", "10:30 +01:3"):
        assert (
            finest.decode(finest.encode(f"2020-05-17 {text}")) is born.decode(born.encode(f"2020-05-17 {text}")) is None
        )
    assert finest.encode(float("nan")) == finest.encode(7) == finest.missing_code


@pytest.mark.parametrize(
    "one",
    [
        domain.times("2020-01-01", "2030-01-01T10:00", step=" 15 min "),
        domain.times(datetime(2020, 1, 1), date(2030, 1, 1), zone="UTC", missing="2020-01-01T00:00:01Z"),
        domain.times("2020-01-01", "2021-01-01", step="1ns", format="%Y-%j %H:%M:%S.%f", public=True),
        domain.dates("2020-01-01", "2030-01-01", format="%d.%m.%Y", missing="2020-01-02"),
    ],
)
def test_times_round_trip(one: domain.Domain) -> None:
    assert column_from_json(json.loads(json.dumps(one.to_json()))) == one
    schema = Schema({"x": one})
    assert Schema.from_toml(schema.to_toml()) == schema
    for code in (one.first, one.highest, one.missing_code):
        value = one.decode(code)
        assert value is None or one.code(value) == code


BAD: list[tuple[dict[str, Any], str]] = [
    ({"step": "0s"}, "above zero"),
    ({"step": "1.5s"}, "number and a unit"),
    ({"step": 1}, "number and a unit"),
    ({"step": "7ms"}, "divides one"),
    ({"step": "1ns", "earliest": "1000-01-01"}, "larger step"),
    ({"zone": "Europe/Nowhere"}, "zone is 'UTC' or left out"),
    ({"format": "%d.%m.%Y %Y"}, "twice"),
    ({"format": "%d.%m"}, "does not say one day"),
    ({"format": "%Y-%m-%d %b"}, "does not say one day"),
    ({"format": "%Y-%j %M"}, "no hour"),
    ({"format": "%Y-%m-%d %p"}, "no %H"),
    ({"format": "%Y-%m-%d %s"}, "made of"),
    ({"format": "%Y-%m-%d %"}, "percent"),
    ({"earliest": "soon"}, "like '2020-05-17"),
    ({"earliest": "2020-01-01T00:00Z"}, "offset only where"),
    ({"latest": "2010-01-01"}, "earlier first"),
    ({"missing": "2040-01-01"}, "outside"),
]


@pytest.mark.parametrize(("parts", "says"), BAD)
def test_bad_times_are_refused_with_a_sentence(parts: dict[str, Any], says: str) -> None:
    given = {"earliest": "2020-01-01", "latest": "2030-01-01", **parts}
    with pytest.raises(SchemaError, match=says):
        Schema.from_json({"columns": {"seen": {"type": "time", **given}}})
    with pytest.raises(ParameterError, match=says):
        domain.times(**given)


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ({"type": "integer", "low": 0, "high": 9, "missing": 10}, "outside"),
        ({"type": "category", "values": ["a"], "other": "b"}, "list it among them"),
        ({"type": "date", "earliest": "2020-01-01", "latest": "2030-01-01", "format": "%Y %Y"}, "twice"),
    ],
)
def test_bad_columns_of_a_schema_are_refused(column: dict[str, Any], says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        Schema.from_json({"columns": {"x": column}})
