"""How days and moments are written in text: ISO 8601, or a format from a short closed list.

A format becomes one anchored regular expression, the same for Python and for every engine, and its parts become
integers; nobody's `strptime` is asked. A text that matches but names no day, such as 30 February, is no date.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from sfumato.errors import ParameterError

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_YEAR, _TWO = "([1-9][0-9]{3})", "([0-9]{2})"
_CLOCK = r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?%s)?"
_OFFSET = "(?: ?(?:Z|UTC|([+-][0-9]{2}(?::?[0-9]{2})?)))?"

_DIRECTIVES = {
    # what stands behind the percent sign: (what it is, its pattern, its pattern next to another one)
    "Y": ("year", "[1-9][0-9]{3}", "[1-9][0-9]{3}"),
    "m": ("month", "[0-9]{1,2}", "[0-9]{2}"),
    "b": ("name", "|".join("".join(f"[{c.upper()}{c}]" for c in month) for month in MONTHS), ""),
    "d": ("day", "[0-9]{1,2}", "[0-9]{2}"),
    "j": ("ordinal", "[0-9]{1,3}", "[0-9]{3}"),
    "H": ("hour", "[0-9]{1,2}", "[0-9]{2}"),
    "M": ("minute", "[0-9]{1,2}", "[0-9]{2}"),
    "S": ("second", "[0-9]{1,2}", "[0-9]{2}"),
    "f": ("fraction", "[0-9]{1,9}", "[0-9]{9}"),
    "p": ("half", "[AaPp][Mm]", "[AaPp][Mm]"),
}
_EXAMPLE = "'%d.%m.%Y' or '%Y-%m-%d %H:%M:%S'"


@dataclass(frozen=True)
class Written:
    """A regular expression for a whole cell, and which of its groups holds which part."""

    pattern: str
    groups: Mapping[str, int]


class Moment(NamedTuple):
    """Days since 1970-01-01, seconds since midnight, less an offset and so perhaps of another day, and nanoseconds."""

    days: int
    seconds: int
    fraction: int


def _iso(offset: str) -> Written:
    parts = ["year", "month", "day", "hour", "minute", "second", "fraction"]
    parts += ["offset"] if offset else []
    pattern = f" *{_YEAR}-{_TWO}-{_TWO}{_CLOCK % offset} *"
    return Written(pattern, {name: place + 1 for place, name in enumerate(parts)})


ISO = _iso("")
"""A day, or a day and a time of day without an offset."""
ISO_ZONED = _iso(_OFFSET)
"""The same, and `Z`, `UTC` or an offset from UTC behind it, in hours or in hours and minutes, perhaps after a blank."""


def compiled(text: str, *, clock: bool) -> Written:
    """Return how a format reads a cell, for a column of days or, with `clock`, of moments.

    >>> compiled("%d.%m.%Y", clock=False).pattern
    ' *([0-9]{1,2})[.]([0-9]{1,2})[.]([1-9][0-9]{3}) *'
    """
    if not isinstance(text, str):
        raise ParameterError(f"A column has one format, a text such as {_EXAMPLE}, and {text!r} is none.")
    return _compiled(text, clock=clock)


@cache
def _compiled(text: str, *, clock: bool) -> Written:
    parts = re.findall(r"%.|[^%]", text)
    if "".join(parts) != text or not all(len(part) == 2 or " " <= part <= "~" for part in parts):
        raise ParameterError(f"The format {text!r} ends in a percent sign or holds an odd sign; write {_EXAMPLE}.")
    pattern = ""
    groups: dict[str, int] = {}
    for place, part in enumerate(parts):
        if len(part) == 1:
            pattern += part if part.isalnum() or part == " " else f"[{part}]" if part not in "^\\]" else f"\\{part}"
            continue
        if part[1] not in _DIRECTIVES:
            known = " ".join(f"%{one}" for one in _DIRECTIVES)
            raise ParameterError(f"A format has no {part!r}; it is made of {known} and the signs between them.")
        name, alone, beside = _DIRECTIVES[part[1]]
        if name in groups:
            raise ParameterError(f"The format {text!r} has {part!r} twice; write each part once.")
        groups[name] = len(groups) + 1
        touches = any(0 <= near < len(parts) and len(parts[near]) == 2 for near in (place - 1, place + 1))
        pattern += f"({beside if touches and beside else alone})"
    _check_parts(text, set(groups), clock)
    return Written(f" *{pattern} *", groups)


def _check_parts(text: str, found: set[str], clock: bool) -> None:
    dates = [{"year", "month", "day"}, {"year", "name", "day"}, {"year", "ordinal"}]
    if found & {"year", "month", "name", "day", "ordinal"} not in dates:
        raise ParameterError(f"The format {text!r} does not say one day; write %Y, a month and %d, or %Y and %j.")
    if "half" in found and "hour" not in found:
        raise ParameterError(f"The format {text!r} has %p and no %H; write both, as in '%H:%M %p'.")
    for finer, coarser in (("minute", "hour"), ("second", "minute"), ("fraction", "second")):
        if clock and finer in found and coarser not in found:
            raise ParameterError(f"The format {text!r} has a {finer} and no {coarser}; write both.")


def is_leap(year: int) -> bool:
    """Tell whether a year has 366 days."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_from_civil(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 of a day of the Gregorian calendar, in integers.

    >>> days_from_civil(1970, 1, 1), days_from_civil(2000, 2, 29), days_from_civil(1969, 12, 31)
    (0, 11016, -1)
    """
    shifted = year - (month <= 2)
    return (
        365 * shifted + shifted // 4 - shifted // 100 + shifted // 400
        + (153 * ((month + 9) % 12) + 2) // 5 + day - 719469
    )  # fmt: skip


def month_length(year: int, month: int) -> int:
    """Return how many days a month has."""
    return 29 if month == 2 and is_leap(year) else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def read_moment(cell: str, written: Written) -> Moment | None:
    """Return what a text says, or nothing if it is not written so or names no day or time.

    >>> read_moment("30.2.2020", compiled("%d.%m.%Y", clock=False)) is None
    True
    """
    matched = re.fullmatch(written.pattern, cell)
    if matched is None:
        return None
    found = {name: matched[place] for name, place in written.groups.items() if matched[place]}
    days = _day(found)
    hour, minute, second = (int(found.get(name, 0)) for name in ("hour", "minute", "second"))
    if "half" in written.groups:
        hour = hour % 12 + 12 * (found["half"][0] in "Pp") if 1 <= hour <= 12 else 24
    if days is None or hour > 23 or minute > 59 or second > 59:
        return None
    offset = found.get("offset", "+00")
    ahead = 3600 * int(offset[1:3]) + 60 * int(offset[3:].removeprefix(":") or 0)
    seconds = 3600 * hour + 60 * minute + second - (ahead if offset[0] == "+" else -ahead)
    return Moment(days, seconds, int(found.get("fraction", "0").ljust(9, "0")))


def _day(found: Mapping[str, str]) -> int | None:
    year = int(found["year"])
    if "ordinal" in found:
        ordinal = int(found["ordinal"])
        return days_from_civil(year, 1, 1) + ordinal - 1 if 1 <= ordinal <= 365 + is_leap(year) else None
    month = MONTHS.index(found["name"].lower()) + 1 if "name" in found else int(found["month"])
    if not 1 <= month <= 12 or not 1 <= int(found["day"]) <= month_length(year, month):
        return None
    return days_from_civil(year, month, int(found["day"]))
