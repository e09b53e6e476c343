"""Moments: a day and a time of day, in steps from a nanosecond to days."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Any, ClassVar

from sfumato.domain.base import SKIP, Domain
from sfumato.domain.calendar import day_number
from sfumato.domain.written import ISO, ISO_ZONED, Written, compiled, read_moment
from sfumato.errors import ParameterError

SECOND = 10**9
"""Moments are counted in nanoseconds."""

UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": SECOND, "min": 60 * SECOND, "h": 3600 * SECOND, "d": 86_400 * SECOND}
LARGEST_CODE = 2**62


@dataclass(frozen=True)
class Times(Domain):
    """The moments from `earliest` to `latest`; the code counts steps since 1970, floor((t - 1970)/step).

    Text is read as ISO 8601 or by `format`. With `zone="UTC"` a written offset is subtracted; without a zone times
    are what a clock on the wall shows, and a text with an offset is missing.

    >>> seen = Times("2020-01-01", "2030-01-01", "1min")
    >>> seen.decode(seen.encode("2020-02-29 10:20:59")), seen.decode(seen.encode("2021-02-29 10:20"))
    (datetime.datetime(2020, 2, 29, 10, 20), None)
    """

    kind: ClassVar[str] = "time"
    earliest: Any
    latest: Any
    step: str = "1s"
    zone: str | None = None
    format: str | None = None

    def __post_init__(self) -> None:
        if self.zone not in (None, "UTC"):
            raise ParameterError(
                f"zone is 'UTC' or left out, and {self.zone!r} is neither; write zone='UTC' where cells carry an "
                "offset, and convert other zones before."
            )
        object.__setattr__(self, "step", _step_text(self.step))
        for name in ("earliest", "latest"):
            object.__setattr__(self, name, _iso_text(self.instant(getattr(self, name), name), self.zone))
        if self.first > self.highest:
            raise ParameterError(f"earliest is {self.earliest} and latest is {self.latest}; write the earlier first.")
        if max(abs(self.first), abs(self.highest) + 1) >= LARGEST_CODE:
            raise ParameterError(f"The range has more than 2^62 steps of {self.step}; write a larger step.")
        self.written  # noqa: B018  reading it checks the format
        self._settle_missing()

    @property
    def nanoseconds(self) -> int:
        """The length of a step."""
        return _nanoseconds(self.step)

    @property
    def written(self) -> Written:
        """How a text cell is read."""
        if self.format is not None:
            return compiled(self.format, clock=True)
        return ISO if self.zone is None else ISO_ZONED

    @cached_property
    def _ends(self) -> tuple[int, int]:
        return self.instant(self.earliest) // self.nanoseconds, self.instant(self.latest) // self.nanoseconds

    @property
    def first(self) -> int:
        """The step of the earliest moment."""
        return self._ends[0]

    @property
    def highest(self) -> int:
        """The step of the latest moment."""
        return self._ends[1]

    def encode(self, value: Any) -> int:
        """Take the step that a moment lies in, clamped into the range; what is no moment becomes `missing`."""
        found = self._read(value)
        if found is None:
            return self.missing_code
        return min(max(found // self.nanoseconds, self.first), self.highest)

    def _read(self, value: Any) -> int | None:
        """Return a cell as nanoseconds since 1970, or nothing."""
        if isinstance(value, str):
            found = read_moment(value, self.written)
            return None if found is None else (found.days * 86_400 + found.seconds) * SECOND + found.fraction
        if isinstance(value, datetime):
            year: Any = value.year
            if not isinstance(year, int) or (value.tzinfo is not None and self.zone is None):
                return None  # pandas' missing time is a datetime too, but it has no year
            moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
            rest = moment - datetime(moment.year, moment.month, moment.day)
            return (day_number(moment) * 86_400 + rest.seconds) * SECOND + rest.microseconds * 1000
        return day_number(value) * 86_400 * SECOND if isinstance(value, date) else None

    def instant(self, value: Any, name: str = "the time") -> int:
        """Return nanoseconds since 1970 of a moment that a person wrote, in ISO 8601 or as a datetime."""
        found = read_moment(value, ISO_ZONED if self.zone else ISO) if isinstance(value, str) else None
        if found is not None:
            return (found.days * 86_400 + found.seconds) * SECOND + found.fraction
        moment = None if isinstance(value, str) else self._read(value)
        if moment is None:
            zone = " and with an offset only where zone='UTC'"
            raise ParameterError(f"{name} must be a time like '2020-05-17 10:30:00'{zone}, and {value!r} is none.")
        return moment

    def decode(self, code: int) -> datetime | str | None:
        """Return the moment at which a step begins; text in ISO form where a step is finer than a microsecond."""
        if self.is_missing(code):
            return None
        instant = self._check_code(code) * self.nanoseconds
        if self.nanoseconds % 1000:
            return _iso_text(instant, self.zone)
        moment = datetime(1970, 1, 1) + timedelta(microseconds=instant // 1000)
        return moment if self.zone is None else moment.replace(tzinfo=UTC)

    def code(self, value: Any) -> int:
        """Accept a moment of the range."""
        found = self.instant(value) // self.nanoseconds
        if not self.first <= found <= self.highest:
            raise ParameterError(f"{value} lies outside {self.earliest} to {self.latest}.")
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the ends in ISO form, the step, and zone and format where they are given."""
        given = {name: getattr(self, name) for name in ("zone", "format") if getattr(self, name) is not None}
        missing = SKIP if self.missing is None else _iso_text(self.instant(self.missing), self.zone)
        return self._record(earliest=self.earliest, latest=self.latest, step=self.step, **given, missing=missing)


def _step_text(step: Any) -> str:
    found = re.fullmatch(r" *([0-9]{1,18}) *(ns|us|ms|s|min|h|d) *", step) if isinstance(step, str) else None
    if found is None:
        raise ParameterError(
            f"step is a number and a unit such as '1s', '15min', '1ms' or '1ns', and {step!r} is none."
        )
    text = f"{int(found[1])}{found[2]}"
    if int(found[1]) == 0:
        raise ParameterError("step is above zero; write for example step='1s'.")
    if SECOND % _nanoseconds(text) and _nanoseconds(text) % SECOND:
        raise ParameterError(f"step is whole seconds or divides one, and {step!r} does not; write for example '100ms'.")
    return text


def _nanoseconds(step: str) -> int:
    number, unit = re.findall(r"[0-9]+|[a-z]+", step)
    return int(number) * UNITS[unit]


def _iso_text(instant: int, zone: str | None) -> str:
    seconds, fraction = divmod(instant, SECOND)
    moment = datetime(1970, 1, 1) + timedelta(seconds=seconds)
    tail = f".{fraction:09d}".rstrip("0") if fraction else ""
    return moment.isoformat(timespec="seconds") + tail + ("Z" if zone else "")
