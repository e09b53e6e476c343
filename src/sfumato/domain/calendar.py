"""Days of the proleptic Gregorian calendar."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, ClassVar

from sfumato.domain.base import SKIP, Domain
from sfumato.domain.written import ISO, Written, compiled, read_moment
from sfumato.errors import ParameterError

_OFFSET_TEXT = "(?: ?(?:Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?))?"
_CLOCK_TEXT = rf"(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{{1,9}})?)?{_OFFSET_TEXT})?"
DATE_TEXT = rf" *([1-9][0-9]{{3}}-[0-9]{{2}}-[0-9]{{2}}){_CLOCK_TEXT} *"
"""The one grammar of a date in a text cell: a day, or a moment, of which the written day counts."""

EPOCH = date(1970, 1, 1)
_EPOCH_DAY = EPOCH.toordinal()


def day_number(day: date) -> int:
    """Return the days since 1970-01-01."""
    return day.toordinal() - _EPOCH_DAY


def day_of_number(number: int) -> date:
    """Return the day that lies `number` days after 1970-01-01."""
    return date.fromordinal(number + _EPOCH_DAY)


def as_date(value: Any, name: str = "the date") -> date:
    """Read a date that a person wrote: a `datetime.date` or text like 2020-05-17."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be a date like '2020-05-17', and {value!r} is none.") from None


@dataclass(frozen=True)
class Dates(Domain):
    """The days from `earliest` to `latest`; the code is the number of days since 1970-01-01.

    Text is read as ISO 8601, of a moment the written day, or by `format`.

    >>> born = Dates("1900-01-01", "2030-12-31")
    >>> born.encode("1970-01-03"), born.decode(-1), born.decode(born.encode("2020-02-30"))
    (2, datetime.date(1969, 12, 31), None)
    """

    kind: ClassVar[str] = "date"
    earliest: date
    latest: date
    format: str | None = None

    def __post_init__(self) -> None:
        for name in ("earliest", "latest"):
            object.__setattr__(self, name, as_date(getattr(self, name), name))
        if self.earliest > self.latest:
            raise ParameterError(f"earliest is {self.earliest} and latest is {self.latest}; write the earlier first.")
        if self.earliest.year < 1000:
            raise ParameterError(f"earliest is {self.earliest}; dates start with the year 1000.")
        self.written  # noqa: B018  reading it checks the format
        self._settle_missing()

    @property
    def written(self) -> Written:
        """How a text cell is read where there is a format; without one it is read as ISO 8601."""
        return ISO if self.format is None else compiled(self.format, clock=False)

    @property
    def first(self) -> int:
        """The number of the earliest day."""
        return day_number(self.earliest)

    @property
    def highest(self) -> int:
        """The number of the latest day."""
        return day_number(self.latest)

    def encode(self, value: Any) -> int:
        """Clamp a day into the range; what is no date becomes `missing`."""
        if isinstance(value, str) and self.format is not None:
            found = read_moment(value, self.written)
            return self.missing_code if found is None else min(max(found.days, self.first), self.highest)
        if isinstance(value, str):
            matched = re.fullmatch(DATE_TEXT, value)
            try:
                value = date.fromisoformat(matched[1]) if matched else None
            except ValueError:
                value = None
        if isinstance(value, datetime):
            # pandas' missing time is a datetime too, but it has no year.
            value = value.date() if isinstance(value.year, int) else None
        if not isinstance(value, date):
            return self.missing_code
        return min(max(day_number(value), self.first), self.highest)

    def decode(self, code: int) -> date | None:
        """Return the day."""
        return None if self.is_missing(code) else day_of_number(self._check_code(code))

    def code(self, value: Any) -> int:
        """Accept a day of the range, as a date or as text."""
        day = as_date(value)
        if not self.earliest <= day <= self.latest:
            raise ParameterError(f"{day} lies outside {self.earliest} to {self.latest}.")
        return day_number(day)

    def to_json(self) -> dict[str, Any]:
        """Return the ends and the missing day in ISO form."""
        ends = {"earliest": self.earliest.isoformat(), "latest": self.latest.isoformat()}
        if self.format is not None:
            ends["format"] = self.format
        return self._record(**ends, missing=SKIP if self.missing is None else self.missing.isoformat())
